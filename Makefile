# Ordinary PGXS: make, make install, make installcheck.
# `make check-all` runs every test (scripts/test), `make dist` makes the PGXN zip.

srcdir ?= .
EXTENSION = bloomx
EXTVERSION = 1.0
DISTVERSION = 1.0.0
MODULE_big = bloomx
DATA = bloomx--$(EXTVERSION).sql

include $(srcdir)/src/core/sources.mk
OBJS = $(CORE_SOURCES:%.c=src/core/%.o) \
	src/pg/module.o \
	src/pg/keys/keys.o \
	$(patsubst %,src/pg/value/%.o, value expanded versions growth io compare) \
	$(patsubst %,src/pg/functions/%.o, build remove membership aggregates algebra inspect theory probe) \
	$(patsubst %,src/pg/planner/%.o, support facts selectivity statistics) \
	$(patsubst %,src/pg/index/%.o, brin gist) \
	$(patsubst %,src/pg/index/bloomx/%.o, handler pages signature segment pending merge build scan vacuum cost check)

REGRESS = install types build versions keys membership stored simd probe aggregates algebra inspect theory planner brin gist index_bloomx errors golden \
	$(notdir $(basename $(sort $(wildcard $(srcdir)/sql/layout_*.sql))))
REGRESS_OPTS = --inputdir=. --outputdir=.

# xxHash is inlined from its header: nothing to link
PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -std=gnu11 -Wno-declaration-after-statement

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS follows no headers: a changed one remakes every object
$(OBJS): $(CORE_HEADERS:%=$(srcdir)/src/core/%) $(wildcard $(srcdir)/src/pg/*/*.h $(srcdir)/src/pg/*/*/*.h)

.PHONY: dist check-all
check-all:
	scripts/test

dist:
	mkdir -p dist
	git archive --format zip --prefix=$(EXTENSION)-$(DISTVERSION)/ -o dist/$(EXTENSION)-$(DISTVERSION).zip HEAD
