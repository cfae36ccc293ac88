/*
 * setvalue.c - bloomset_value: the set as a bloomfilter.
 *
 * The one stage of a set with a capacity is a filter of the default layout, the one
 * that bloom_agg(key, capacity, fpr) makes.  A chain is a scalable filter.
 */
#include "pg/bloomset/functions/setcall.h"

#include "core/base/words.h"
#include "core/layouts/growing/chain.h"
#include "pg/bloomset/table/settable.h"

static void
RefuseValue(SetCall *call, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("bloomset \"%s\" has no value of type bloomfilter", RelationGetRelationName(call->rel)),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

static void
CheckHasValue(SetCall *call)
{
	const SetMeta *meta = call->view->meta;
	uint64		words = 0;

	if (call->keys != NULL && !ArePortable(call->keys))
		RefuseValue(call, "Enums, and rows of composite types, are hashed otherwise in an index.",
					"Use bloomset_contains, or index the values cast to text.");
	for (uint32 i = 0; i < meta->stages; i++)
	{
		if ((meta->stage[i].blocks & (meta->stage[i].blocks - 1)) != 0)
			RefuseValue(call, "A set of so low a rate, or so large, has a number of blocks that no filter has.",
						"Use bloomset_contains, or create the set without a capacity: the stages of a set that grows are those of a filter.");
		words += meta->stage[i].blocks * meta->stage[i].parts;
	}
	/* the largest header, and the records of a chain */
	if (words > (BLX_MAX_BYTES - BLX_HEAD_BYTES) / sizeof(uint64))
		RefuseValue(call, "A filter has at most 1 GB.", "Use bloomset_contains.");
	if (meta->stages > BLX_MAX_CHAIN)
		RefuseValue(call, psprintf("It has %u stages, a filter at most %d.", meta->stages, BLX_MAX_CHAIN), "Use bloomset_contains, or REINDEX the set.");
}

/* The stages of a scalable filter are in the order of their sizes, the largest first. */
static blx_filter *
Chain(SetCall *call, const blx_identity *identity)
{
	const SetMeta *meta = call->view->meta;
	blx_stage	stages[BLX_MAX_CHAIN];
	uint32		order[BLX_MAX_CHAIN];
	blx_filter *f;

	for (uint32 i = 0; i < meta->stages; i++)
	{
		uint32		place = i;

		for (; place > 0 && meta->stage[order[place - 1]].blocks <= meta->stage[i].blocks; place--)
			order[place] = order[place - 1];
		order[place] = i;
	}
	for (uint32 i = 0; i < meta->stages; i++)
		stages[i] = (blx_stage) {.blocks = meta->stage[order[i]].blocks, .parts = meta->stage[order[i]].parts};
	f = AllocFilter(blx_chain_bytes(stages, meta->stages, identity->name_len));
	blx_chain_init(f, stages, meta->stages, identity);
	for (uint32 i = 0; i < meta->stages; i++)
		CopyStage(call->view, call->rel, order[i], blx_chain_words(f, i));
	blx_chain_count(f);
	return f;
}

/* bloomset_value(set regclass) */
PG_FUNCTION_INFO_V1(bloomset_value);
Datum
bloomset_value(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSet(fcinfo, ACL_SELECT);
	blx_identity identity;
	blx_filter *f;

	if (call->view == NULL)
	{
		CloseSet(call);
		PG_RETURN_POINTER(NewEmptyFilter(&(blx_identity) {0}));
	}
	/* a stage may have been added since the call site read the metapage */
	(void) RefreshSetView(call->view, call->rel);
	identity = blx_identity_of(call->view->keys);
	CheckHasValue(call);
	if (call->view->meta->stages == 0)
		f = NewEmptyFilter(&identity);
	else if (call->view->meta->capacity > 0 && call->view->meta->stages == 1)
		f = FilterOfStage(call->view, call->rel, 0);
	else
		f = Chain(call, &identity);
	CloseSet(call);
	PG_RETURN_POINTER(f);
}
