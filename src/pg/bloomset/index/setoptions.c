/*
 * setoptions.c - the options of a set (CREATE INDEX ... USING bloomset ... WITH).
 */
#include "pg/bloomset/index/bloomset.h"

#include "access/reloptions.h"
#include "utils/rel.h"

#include "pg/bloomset/stages/stageplan.h"

/* In kB.  A checkpoint can cost as much in images of pages. */
#define DEFAULT_STAGE_SIZE 65536
#define MIN_STAGE_SIZE 64
#define MAX_STAGE_SIZE (1024 * 1024 * 1024)

static relopt_kind option_kind;

static const BloomsetOptions default_options = {.capacity = 0, .fpr = BLX_DEFAULT_FPR, .stage_size = DEFAULT_STAGE_SIZE};

void
BloomsetInitOptions(void)
{
	option_kind = add_reloption_kind();
	add_real_reloption(option_kind, "capacity", "Keys that the set is planned for, or 0: it grows in stages",
					   default_options.capacity, 0, SET_MAX_CAPACITY, AccessExclusiveLock);
	add_real_reloption(option_kind, "fpr", "False positive rate of the set",
					   default_options.fpr, 1e-15, 0.5, AccessExclusiveLock);
	add_int_reloption(option_kind, "stage_size", "Largest stage that a growing set adds, in kilobytes",
					  default_options.stage_size, MIN_STAGE_SIZE, MAX_STAGE_SIZE, AccessExclusiveLock);
}

bytea *
bloomsetoptions(Datum reloptions, bool validate)
{
	const relopt_parse_elt table[] = {
		{.optname = "capacity", .opttype = RELOPT_TYPE_REAL, .offset = offsetof(BloomsetOptions, capacity)},
		{.optname = "fpr", .opttype = RELOPT_TYPE_REAL, .offset = offsetof(BloomsetOptions, fpr)},
		{.optname = "stage_size", .opttype = RELOPT_TYPE_INT, .offset = offsetof(BloomsetOptions, stage_size)},
	};
	BloomsetOptions *options = build_reloptions(reloptions, validate, option_kind, sizeof(BloomsetOptions), table, lengthof(table));

	/* raises an error if no relation has room for such a set */
	if (validate && options != NULL && options->capacity >= 1)
		(void) PlanOneStage(options->capacity, options->fpr);
	return (bytea *) options;
}

BloomsetOptions
BloomsetGetOptions(Relation index)
{
	return index->rd_options ? *(BloomsetOptions *) index->rd_options : default_options;
}
