/*
 * base.h - what every file of the SQL half stands on: PostgreSQL and the core,
 * the module's settings, errors of the core, and filters in palloc's memory.
 *
 *   settings.c  the settings bloomx.*
 *   error.c     an error of the core as an ERROR
 *   plans.c     the default layout's geometries, planned once
 *   memory.c    filters in the current memory context
 *   objects.c   the OIDs of the extension's own objects (objects.h)
 *   compat.h    every difference between the supported versions of PostgreSQL
 */
#pragma once

#include "pg/base/compat.h"

#include "core/filter/filter.h"

/* ---- settings.c ---- */

/* bloomx.overfill: what to do with a filter that holds more keys than its capacity. */
typedef enum OverfillAction
{
	OVERFILL_OFF,
	OVERFILL_NOTICE,
	OVERFILL_ERROR
} OverfillAction;

extern int	bloomx_overfill;

#define BLOOMX_VERSION CppAsString2(BLX_VERSION_MAJOR) "." CppAsString2(BLX_VERSION_MINOR) "." CppAsString2(BLX_VERSION_PATCH)

/* bloomx.build_mem in kB; -1 = as much as a hash table may take. */
extern int	bloomx_build_mem;

/* Its smallest value: a set of a few thousand hashes. */
#define MIN_BUILD_MEM 64

/* Defines the settings, when the module is loaded. */
extern void DefineSettings(void);

/* ---- error.c ---- */

/* What a function of the core says if it fails, where that is thrown at once. */
extern blx_error core_error;

pg_noreturn extern void ThrowCoreError(const blx_error *error);

static inline void
CheckCore(bool done)
{
	if (!done)
		ThrowCoreError(&core_error);
}

/* ---- plans.c ---- */

/* The geometry of the default layout for that capacity and rate, or an error. */
extern blx_geometry PlanDefaultLayout(uint64 capacity, double fpr);

/* The geometry of any layout for that capacity, rate and options, or an error. */
extern blx_geometry PlanLayout(uint8 layout, uint64 capacity, double fpr, const blx_options *options);

/* ---- memory.c: every filter is made in the current memory context ---- */

/* Filters from palloc, for functions of the core. */
extern const blx_memory FilterMemory;

/* The filter that a function of the core gave. */
static inline blx_filter *
CheckResult(blx_filter *f)
{
	CheckCore(f != NULL);
	return f;
}

/* What functions of the core call now and then: a statement can be cancelled there. */
extern void PollInterrupts(void);

/* Memory for a filter of `size` bytes, with its varlena length set. */
extern blx_filter *AllocFilter(uint64 size);

/* Asks the kernel for huge pages, if the memory is large enough for them. */
extern void AskForHugePages(void *memory, uint64 size);

/*
 * Moves f within its memory, which grows if it must, so that every block of a
 * large filter stands in one line.  A block that straddles two takes a third
 * longer to find, and twice as long when the memory is the limit.  *chunk is
 * what pfree takes.
 */
extern blx_filter *AlignFilter(blx_filter *f, void **chunk);

/* An empty filter. */
extern blx_filter *NewFilter(const blx_geometry *geometry, const blx_identity *identity, uint64 capacity);

/* The smallest empty filter, which stands for "no keys at all". */
extern blx_filter *NewEmptyFilter(const blx_identity *identity);

extern blx_filter *CopyFilter(const blx_filter *f);

/* The keys of f in another geometry, one that a function of the core gave for f. */
extern blx_filter *ResizeFilter(const blx_filter *f, const blx_geometry *geometry);
