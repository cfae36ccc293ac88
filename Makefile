# The usual targets of PGXS: make, make install, make installcheck.
# `make check-all` runs every test (scripts/test), `make dist` makes the archive for PGXN.

# VPATH: the tree, if the build has a directory of its own
srcdir ?= $(or $(VPATH),.)
# of the same library: bloomx_theory has the papers' formulas, the others have operator classes for other extensions' types
EXTENSION = bloomx bloomx_citext bloomx_hstore bloomx_theory
EXTVERSION = 1.0
DISTVERSION = 1.0.0
DISTDIR = dist
MODULE_big = bloomx
# this version's scripts, and the ways from published ones
DATA = $(sort $(notdir $(wildcard $(EXTENSION:%=$(srcdir)/%--*.sql))))
HEADERS_bloomx = src/core/bloomx.h

include $(srcdir)/src/core/sources.mk
OBJS = $(CORE_SOURCES:%.c=src/core/%.o) \
	src/pg/module.o \
	$(patsubst %,src/pg/base/%.o, settings error plans memory objects totals) \
	$(patsubst %,src/pg/keys/%.o, lookup canonical containers indexed match reading) \
	$(patsubst %,src/pg/keys/extract/%.o, extract key_condition extract_array extract_jsonb extract_tsvector extract_hstore letters extract_text extract_regex) \
	$(patsubst %,src/runtimefilter/%.o, \
		$(patsubst %,keys/%, keycode keyvalues keyset) \
		$(patsubst %,query/%, filter_settings optional registry volatility) \
		$(patsubst %,exec/%, collect probe heapscan rangeindex pagelist pageruns partitions) \
		$(patsubst %,plan/%, grouping pushdown joins) \
		$(patsubst %,report/%, report explain) \
		$(patsubst %,loops/%, rowtable lookupkeys nestloop) \
		$(patsubst %,parallel/%, sharedbuild workers) \
		$(patsubst %,remote/%, sentkeys remotesql remote) \
		inner/keyedscan \
		hooks) \
	$(patsubst %,src/pg/value/%.o, value stored callsite expanded growth estimate) \
	$(patsubst %,src/pg/functions/%.o, typmod io compare contains probe_set algebra inspect theory) \
	$(patsubst %,src/pg/functions/build/%.o, construct remove aggregates map aggplan) \
	$(patsubst %,src/pg/planner/%.o, statistics membership index_condition facts selectivity overlap support) \
	$(patsubst %,src/pg/index/brin/%.o, opclass cost) \
	$(patsubst %,src/pg/index/pages/%.o, page runs wal heaprows) \
	$(patsubst %,src/pg/index/bloomx/%.o, \
		$(patsubst %,format/%, geometry options metapage) \
		$(patsubst %,condition/%, columns elements scan_condition) \
		$(patsubst %,pending/%, list reader append) \
		$(patsubst %,directory/%, snapshot update space) \
		$(patsubst %,segment/%, segment entries flush merge) \
		$(patsubst %,build/%, concurrent build_filters build_values build_scan build_parallel build insert) \
		$(patsubst %,inspect/%, info check_places check_filters check_values check) \
		scan rebuild vacuum nulls cost handler) \
	$(patsubst %,src/pg/partitions/%.o, \
		$(patsubst %,store/%, store storeindex filters candidates leaf seal feeding storeinfo) \
		$(patsubst %,lookup/lookup_%, level clause prune replan rescan attach cost counts explain install) \
		unique/unique unique/unique_leaf) \
	$(patsubst %,src/pg/bloomset/%.o, \
		$(patsubst %,stages/%, stageplan view adding pending) \
		keys/setkeys \
		$(patsubst %,index/%, setoptions build insert vacuum handler) \
		$(patsubst %,table/%, settable stage handler) \
		$(patsubst %,functions/%, setcall setprobe setlookup setsupport setadd setclaim setvalue setinfo setcheck))

REGRESS = install types build versions test_and_add maintain keys key_pairs rows seeds membership untyped stored simd probe aggregates open_sets overfill algebra inspect typmod theory \
	planner hostile_names prefilter runtime_filter runtime_filter_more runtime_filter_pages runtime_filter_index runtime_filter_index_scans runtime_filter_parallel runtime_filter_harm runtime_filter_roles runtime_filter_explain runtime_lookup brin extract letters index_bloomx index_rows index_bounds index_parallel index_mixed partition_lookup partition_unique bloomset bloomset_table partition_store errors golden \
	$(notdir $(basename $(sort $(wildcard $(srcdir)/sql/layout_*.sql))))
REGRESS_OPTS = --inputdir=. --outputdir=.
# The test database is the same on every machine, even on one without a locale.
ENCODING = UTF8
NO_LOCALE = 1

# xxHash is inlined from its header: nothing to link
PG_CPPFLAGS = -I$(srcdir)/src -DBLX_INSIDE
# What PostgreSQL does not look for by name stays within the library: no other one's symbols can replace it (compat.h, core/bloomx.h).
PG_CFLAGS = -std=gnu11 -Wno-declaration-after-statement -fvisibility=hidden
# No bitcode for the JIT compiler: a function inlined from it calls others by names that the library hides, and the
# server ends the session.  It calls functions instead, as without inlining; and no clang is needed.
override with_llvm := no

# the major version of PostgreSQL for which the objects were compiled
BUILT_FOR = src/.built-for
EXTRA_CLEAN = $(BUILT_FOR)

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(PGXS),)
$(error no pg_config at "$(PG_CONFIG)": install PostgreSQL's headers for servers (README.md), or set PG_CONFIG)
endif
ifeq ($(wildcard $(PGXS)),)
$(error no $(PGXS), which $(PG_CONFIG) names: install PostgreSQL's headers for servers (README.md), or set PG_CONFIG)
endif
include $(PGXS)

# PGXS does not track headers: a changed header rebuilds every object
$(OBJS): $(CORE_HEADERS:%=$(srcdir)/src/core/%) $(wildcard $(srcdir)/src/pg/*/*.h $(srcdir)/src/pg/*/*/*.h $(srcdir)/src/pg/*/*/*/*.h $(srcdir)/src/runtimefilter/*.h $(srcdir)/src/runtimefilter/*/*.h)

# Nor does it know for which PostgreSQL an object was compiled: without this, "make install PG_CONFIG=..." would give one
# version's library to another, which cannot load it.
ifneq ($(shell cat $(BUILT_FOR) 2>/dev/null),$(MAJORVERSION))
$(shell mkdir -p $(sort $(dir $(OBJS))) && echo $(MAJORVERSION) >$(BUILT_FOR))
endif
$(OBJS) $(OBJS:.o=.bc): $(BUILT_FOR)

# PGXS removes the header, but not its folder
.PHONY: uninstall-headers
uninstall: uninstall-headers
uninstall-headers:
	rm -f '$(DESTDIR)$(includedir_server)/$(incmoduledir)/bloomx/bloomx.h'
	! test -d '$(DESTDIR)$(includedir_server)/$(incmoduledir)/bloomx' || rmdir '$(DESTDIR)$(includedir_server)/$(incmoduledir)/bloomx'

.PHONY: dist check-all
check-all:
	scripts/test

dist:
	mkdir -p $(DISTDIR)
	git archive --format zip --prefix=bloomx-$(DISTVERSION)/ -o $(DISTDIR)/bloomx-$(DISTVERSION).zip HEAD
