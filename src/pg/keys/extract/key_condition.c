/*
 * key_condition.c - conditions on keys, put together (extract.h).
 *
 * What says nothing and what nothing meets leave the conditions that they are a
 * part of.
 */
#include "pg/keys/extract/extract.h"

#include "miscadmin.h"

KeyCondition *
CombineConditions(KeyConditionKind kind, KeyCondition **parts, uint32 n)
{
	/* the part that decides alone, and the one that adds nothing */
	KeyConditionKind decides = kind == HAS_ALL ? NO_VALUE : ANY_VALUE;
	KeyConditionKind nothing = kind == HAS_ALL ? ANY_VALUE : NO_VALUE;
	KeyCondition *all = MakeKeyCondition(kind, n);

	all->n = 0;
	for (uint32 i = 0; i < n; i++)
		if (parts[i]->kind == decides)
			return parts[i];
		else if (parts[i]->kind != nothing)
			all->parts[all->n++] = parts[i];
	if (all->n == 0)
		return MakeKeyCondition(nothing, 0);
	return all->n == 1 ? all->parts[0] : all;
}

/*
 * A condition on many keys keeps to work_mem.  If a value must have all of them, the
 * first ones say enough.  If it may have any of too many, the condition says nothing.
 */
#define BYTES_PER_KEY 256

KeyCondition *
ConditionOfKeys(KeyConditionKind kind, const KeyHashes *keys)
{
	uint32		most = (uint32) Min(work_mem * (Size) 1024 / BYTES_PER_KEY, PG_UINT32_MAX),
				n = Min(keys->n, most);
	KeyCondition **parts;

	if (kind == HAS_ANY && n < keys->n)
		return MakeKeyCondition(ANY_VALUE, 0);
	parts = palloc_extended(sizeof(KeyCondition *) * Max(n, 1), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < n; i++)
		parts[i] = ConditionOfKey(keys->hash[i]);
	return CombineConditions(kind, parts, n);
}

bool
MayMeet(KeyCondition *condition, bool (*has_key) (KeyCondition *leaf, void *arg), void *arg)
{
	bool		all = condition->kind == HAS_ALL;

	switch (condition->kind)
	{
		case ANY_VALUE:
			return true;
		case NO_VALUE:
			return false;
		case HAS_KEY:
		case HAS_BIT:
			return has_key(condition, arg);
		case HAS_ALL:
		case HAS_ANY:
			break;
	}
	/* the first part that decides */
	for (uint32 i = 0; i < condition->n; i++)
		if (MayMeet(condition->parts[i], has_key, arg) != all)
			return !all;
	return all;
}
