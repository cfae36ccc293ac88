/*
 * setinfo.c - bloomset_info: how many keys a set has, and what it costs.
 *
 * A set has no counter, which all writers would have to change.  A sample of its pages
 * tells the number of keys to within half a percent.
 */
#include "pg/bloomset/functions/setcall.h"

#include <math.h>

#include "access/table.h"
#include "common/pg_prng.h"

#include "pg/bloomset/stages/stageplan.h"
#include "pg/functions/functions.h"

/* Of each stage; eight times as many as decide whether one is full. */
#define PAGES 512

static double
KeysInStage(SetCall *call, uint32 i)
{
	uint64		random = pg_prng_uint64(&pg_global_prng_state);

	return KeysOfShare(&call->view->meta->stage[i], ShareOfBits(call->view, call->rel, i, PAGES, random));
}

/* The rate of a set that is built anew of that many keys. */
static double
RateWhenRebuilt(const SetMeta *meta, double keys)
{
	SetMeta		empty = *meta;
	SetStage	stage;

	empty.stages = 0;
	if (keys < 1)
		return 0;
	stage = meta->capacity > 0 ? PlanOneStage(meta->capacity, meta->fpr) : PlanBuiltStage(&empty, (uint64) ceil(keys));
	return Max(RateOfStage(&stage, keys), keys > stage.keys && meta->capacity == 0 ? stage.fpr : 0);
}

/*
 * bloomset_info(set regclass, OUT keys, OUT fpr, OUT rebuilt_fpr, OUT stages, OUT capacity,
 * OUT bytes, OUT checkpoint_bytes)
 */
PG_FUNCTION_INFO_V1(bloomset_info);
Datum
bloomset_info(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSet(fcinfo, ACL_SELECT);
	const SetMeta none = {0},
			   *meta = call->view != NULL ? call->view->meta : &none;
	Relation	table = OpenTableOfSet(call);
	double		keys = 0,
				miss = 1,
				rows = table->rd_rel->reltuples,
				capacity = 0;
	Datum		values[7];
	bool		nulls[7] = {false};

	if (call->view != NULL)
		(void) RefreshSetView(call->view, call->rel);
	for (uint32 i = 0; i < meta->stages; i++)
	{
		double		of_stage = KeysInStage(call, i);

		keys += of_stage;
		capacity += meta->stage[i].keys;
		miss *= 1 - RateOfStage(&meta->stage[i], rint(of_stage));
	}
	values[0] = Int64GetDatum((int64) rint(keys));
	values[1] = Float8GetDatum(1 - miss);
	nulls[2] = rows < 0 || call->keys == NULL;
	values[2] = Float8GetDatum(nulls[2] ? 0 : RateWhenRebuilt(meta, Min(rows, keys)));
	values[3] = Int32GetDatum(meta->stages);
	values[4] = Int64GetDatum(meta->capacity > 0 ? (int64) meta->capacity : (int64) capacity);
	values[5] = Int64GetDatum((int64) RelationGetNumberOfBlocks(call->rel) * BLCKSZ);
	values[6] = Int64GetDatum(meta->stages == 0 ? 0 : (int64) SetPagesOf(&meta->stage[meta->stages - 1]) * BLCKSZ);
	table_close(table, NoLock);
	CloseSet(call);
	return MakeRow(fcinfo, values, nulls);
}
