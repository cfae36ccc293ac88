# The files of the core, floor by floor: what the module, the library, tests and benchmarks are made of.
CORE_SOURCES = \
	base/base.c base/identity.c base/sort.c \
	kernels/paths.c kernels/scalar.c kernels/avx2.c kernels/avx512.c kernels/avx512_vbmi.c kernels/neon.c \
	theory/loads.c theory/occupancy.c theory/theory.c \
	layouts/table.c layouts/geometry.c layouts/groups.c \
	$(patsubst %,layouts/fixed/%.c, flat standard partitioned blocked grouped partitioned_blocked counting) \
	$(patsubst %,layouts/growing/%.c, hashes scalable age_partitioned) \
	$(patsubst %,layouts/sealed/%.c, fuse_sizes seal binary_fuse) \
	$(patsubst %,layouts/research/%.c, hybrid fractional dynamic_blocked dynamic_blocked_plan) \
	$(patsubst %,filter/%.c, options sizing filter estimate growth format slices) \
	$(patsubst %,filter/algebra/%.c, algebra union resize compare pair)

CORE_HEADERS = \
	bloomx.h base/base.h base/hash.h base/words.h \
	kernels/kernels.h kernels/block.h kernels/template.h kernels/mulx.h kernels/avx512.h \
	theory/loads.h theory/occupancy.h theory/theory.h \
	layouts/layout.h layouts/geometry.h layouts/traits.h layouts/groups.h layouts/digits.h \
	layouts/fixed/flat.h layouts/fixed/grouped.h layouts/counters.h layouts/growing/hashes.h layouts/growing/chain.h layouts/research/dynamic_stage.h \
	layouts/sealed/fuse_sizes.h layouts/sealed/fuse_slots.h \
	filter/filter.h filter/growth.h filter/inline.h filter/slices.h
