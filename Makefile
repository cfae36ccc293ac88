# Ordinary PGXS: make, make install, make installcheck.
# `make check-all` runs every test (scripts/test), `make dist` makes the PGXN zip.

EXTENSION = bloomx
EXTVERSION = 1.0
DISTVERSION = 1.0.0
DISTDIR = dist
MODULE_big = bloomx
DATA = bloomx--$(EXTVERSION).sql

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard $(srcdir)/src/core/*.c) $(wildcard $(srcdir)/src/pg/*.c)))

REGRESS = install types build versions keys key_pairs seeds membership stored simd probe aggregates open_sets overfill algebra inspect theory \
	planner hostile_names prefilter brin gist index_bloomx errors golden \
	$(notdir $(basename $(sort $(wildcard $(srcdir)/sql/layout_*.sql))))
REGRESS_OPTS = --inputdir=. --outputdir=.
# The tests' database is the same on every machine, also on one without a locale.
ENCODING = UTF8
NO_LOCALE = 1

# xxHash is inlined from its header: nothing to link
PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -std=gnu11 -Wno-declaration-after-statement

PG_CONFIG ?= pg_config
srcdir ?= .
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# PGXS follows no headers: a changed one remakes every object
$(OBJS): $(wildcard $(srcdir)/src/core/*.h $(srcdir)/src/pg/*.h)

.PHONY: dist check-all
check-all:
	scripts/test

dist:
	mkdir -p $(DISTDIR)
	git archive --format zip --prefix=$(EXTENSION)-$(DISTVERSION)/ -o $(DISTDIR)/$(EXTENSION)-$(DISTVERSION).zip HEAD
