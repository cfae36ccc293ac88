# The files of the core, floor by floor: what the module, the library, tests and benchmarks are made of.
CORE_SOURCES = \
	base/error.c base/identity.c base/hash.c base/memory.c base/sort.c \
	kernels/paths.c kernels/scalar.c kernels/avx2.c kernels/avx512.c kernels/avx512_vbmi.c kernels/neon.c \
	theory/loads.c theory/occupancy.c theory/overlap.c theory/theory.c \
	layouts/table.c layouts/geometry.c layouts/hashes.c layouts/flat.c layouts/groups.c \
	layouts/standard.c layouts/partitioned.c layouts/hybrid.c layouts/rational.c \
	layouts/blocked.c layouts/partitioned_blocked.c layouts/counting.c layouts/variable_blocked.c \
	layouts/scalable.c layouts/dynamic_blocked.c layouts/dynamic_blocked_plan.c layouts/age_partitioned.c \
	filter/options.c filter/sizing.c filter/filter.c filter/growth.c filter/algebra.c filter/union.c filter/resize.c filter/compare.c filter/estimate.c filter/pair.c filter/format.c filter/slices.c

CORE_HEADERS = \
	bloomx.h base/error.h base/identity.h base/hash.h base/words.h base/memory.h base/sort.h \
	kernels/kernels.h kernels/block.h kernels/template.h kernels/mulx.h kernels/avx512.h \
	theory/loads.h theory/occupancy.h theory/theory.h \
	layouts/layout.h layouts/geometry.h layouts/traits.h layouts/hashes.h layouts/flat.h layouts/groups.h layouts/counters.h layouts/dynamic_stage.h \
	filter/filter.h filter/growth.h filter/union.h filter/inline.h filter/slices.h
