/*
 * sentkeys.c - the keys of a join as a value of type bloomfilter, to be sent to
 * another server.
 *
 * The codes of keycode.c mean something only in this process, and only to this join.
 * A remote server knows the hashes of the SQL type (docs/internals/FORMAT.md), which are the
 * same everywhere.  So the keys are collected a second time, by those hashes.
 *
 * Values that the join calls equal must have equal hashes.  That holds if the join's
 * operator is the equality of a type, or compares integers of any size, and if the
 * type's canonical form is our own: types that are hashed by their own functions
 * may have other hashes there.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "core/filter/growth.h"
#include "core/layouts/growing/hashes.h"
#include "pg/keys/keys.h"
#include "runtimefilter/remote/sentkeys.h"

int			bloomx_runtime_filter_remote_size;

/* A filter that says yes to more of the keys that it does not hold is not worth its bytes. */
#define WORST_RATE 0.1

struct SentKeys
{
	RuntimeFilter *filter;
	KeyType		type;
	blx_filter *set;			/* in the memory of the runtime filter's sets */
	uint64		hashes[KEY_BATCH];	/* that are not in it yet */
	int			n_hashes;
};

bool
KeysCanBeSent(const KeyCoder *inner, const KeyCoder *outer, Oid column)
{
	Oid			base = getBaseType(column);
	uint8		code = OwnCodeOf(base);

	/* the same amount of money is another number if the locales have other fractions */
	if (code == BLX_KEY_NONE || code == BLX_KEY_MONEY ||
		(OidIsValid(inner->collation) && !get_collation_isdeterministic(inner->collation)))
		return false;
	/* integers of all sizes have one code */
	if (IsInteger(inner))
		return outer->type == base && OwnCodeOf(inner->type) == code;
	/* both sides of enum_eq are of one type, so the column's */
	if (code == BLX_KEY_ENUM)
		return get_opcode(inner->operator) == F_ENUM_EQ;
	return outer->type == inner->type && OwnCodeOf(inner->type) == code &&
		lookup_type_cache(inner->type, TYPECACHE_EQ_OPR)->eq_opr == inner->operator;
}

SentKeys *
NewSentKeys(RuntimeFilter *filter, int key, Oid column)
{
	SentKeys   *keys = palloc0(sizeof(SentKeys));
	Oid			inner = filter->keys[key].row.coder.type;

	keys->filter = filter;
	LookupKeyType(&keys->type, inner == ANYENUMOID ? column : inner, InvalidOid, CurrentMemoryContext);
	return keys;
}

bool
KeysDependOnEncoding(const SentKeys *keys)
{
	uint8		code = keys->type.identity.key_type;

	return code == BLX_KEY_TEXT || code == BLX_KEY_BPCHAR || code == BLX_KEY_ENUM;
}

/* ---- collecting ---- */

/*
 * The set of hashes takes as much memory as a set of codes may.  Then the largest
 * filter that may be sent takes over.
 */
static void
AddBatch(SentKeys *keys)
{
	blx_growth	growth = {
		.memory = &FilterMemory,
		.early_bytes = keys->filter->budget,
		.set_bytes = keys->filter->budget,
		.filter_bytes = Max(keys->filter->budget, (uint64) bloomx_runtime_filter_remote_size * 1024),
		.expected = keys->filter->expected,
		.poll = PollInterrupts
	};
	MemoryContext old = MemoryContextSwitchTo(keys->filter->sets);
	blx_filter *grown = CheckResult(blx_add_growing(keys->set, keys->hashes, keys->n_hashes, &growth, &core_error));

	if (grown != keys->set)
		pfree(keys->set);
	keys->set = grown;
	keys->n_hashes = 0;
	MemoryContextSwitchTo(old);
}

void
StartSentKeys(SentKeys *keys)
{
	MemoryContext old = MemoryContextSwitchTo(keys->filter->sets);

	keys->set = CheckResult(blx_open_expecting(NULL, &keys->type.identity, 0, keys->filter->expected, &FilterMemory, &core_error));
	keys->n_hashes = 0;
	MemoryContextSwitchTo(old);
}

void
AddSentKey(SentKeys *keys, Datum value)
{
	keys->hashes[keys->n_hashes++] = HashKey(&keys->type, value, 0);
	if (keys->n_hashes == KEY_BATCH)
		AddBatch(keys);
}

void
FinishSentKeys(SentKeys *keys)
{
	if (keys->n_hashes > 0)
		AddBatch(keys);
}

/* ---- the value ---- */

double
CountSentKeys(const SentKeys *keys)
{
	return keys->set->layout == BLX_HASHES ? blx_hashes_count(keys->set) : blx_cardinality(keys->set);
}

blx_filter *
FilterOfSentKeys(const SentKeys *keys, double rate, uint64 max_bytes)
{
	blx_filter *f;

	if (CountSentKeys(keys) == 0)
		return NewEmptyFilter(&keys->type.identity);
	f = CheckResult(blx_finish(keys->set, rate, &FilterMemory, &core_error));
	return blx_size(f) <= max_bytes && blx_fpr(f) <= WORST_RATE ? f : NULL;
}
