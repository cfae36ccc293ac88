/*
 * partitions.c - asks whether a partition may have a matching row.
 *
 * Each bound of a partition, and of the partitions that it is a part of, limits the
 * values of a column.  If a filter on that column has no key within a bound, no row
 * of the partition matches.  Only the first column of a key of several columns is
 * looked at, and a default partition may have anything.
 *
 * Keys that are no integers: a list's values are tested as rows are, if its equality
 * is that of the join.  Of a range, and for hash partitions, the different keys must be
 * known, which are kept if they are not too many (keyvalues.c).
 *
 * To read bounds takes time, which is measured.  It is spent as long as it is a small part
 * of what the partitions cost.  The bounds of the others are not read.
 *
 * The query's lock of the partition keeps others from giving it other bounds, and
 * bounds that are younger than the query's snapshot are not used.  So they hold for
 * all rows that the query sees.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "partitioning/partbounds.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/collect.h"
#include "runtimefilter/exec/scans.h"
#include "runtimefilter/query/volatility.h"

/*
 * Nanoseconds that may be spent on bounds whatever the scans cost.  To read the bounds of a
 * partition takes some ten microseconds.
 */
#define FIRST_BOUNDS 50000

/* What one bound says about a column of the partition. */
typedef struct Bound
{
	char		strategy;
	AttrNumber	column;
	Oid			type;
	bool		is_integer;
	CodeKind	kind;			/* of integers */
	Oid			equality;		/* of others */
	Oid			collation;

	int64		low,
				high;			/* range of integers: both are included */
	Const	   *low_value,
			   *high_value;		/* range of others; neither is NULL */
	List	   *values;			/* list: of Const */
	int			modulus,
				remainder;		/* hash */
	FmgrInfo	hash;
} Bound;

struct PartitionBounds
{
	List	   *bounds;
	uint64		asked_at;		/* query->completions at the last answer */
	uint64		asked_of;		/* the state of the point's filters then */
	bool		is_excluded;
};

/*
 * True if the snapshot sees only rows within the bounds that this row of pg_class
 * has.  Bounds that are younger than the snapshot limit the rows that are there now;
 * a snapshot may still see others, which were deleted before the bounds came.
 */
static bool
HoldsForSnapshot(HeapTuple tuple, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	return IsMVCCSnapshot(snapshot) && !TransactionIdIsCurrentTransactionId(xmin) && !XidInMVCCSnapshot(xmin, snapshot);
}

/* The bounds of a partition; NULL if it has none that hold. */
static PartitionBoundSpec *
ReadBoundSpec(Oid partition, Snapshot snapshot)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(partition));
	PartitionBoundSpec *spec = NULL;
	bool		is_null;
	Datum		bound;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &is_null);
	if (!is_null && HoldsForSnapshot(tuple, snapshot))
		spec = stringToNode(TextDatumGetCString(bound));
	ReleaseSysCache(tuple);
	return spec;
}

/*
 * The ends of a range; false if that is of no use.  (Of several columns the first may
 * equal the upper end.)  A range of other types than integers must have two ends.
 */
static bool
ReadRange(Bound *bound, const PartitionBoundSpec *spec, int columns)
{
	PartitionRangeDatum *low = linitial_node(PartitionRangeDatum, spec->lowerdatums);
	PartitionRangeDatum *high = linitial_node(PartitionRangeDatum, spec->upperdatums);

	if (!bound->is_integer)
	{
		if (low->kind != PARTITION_RANGE_DATUM_VALUE || high->kind != PARTITION_RANGE_DATUM_VALUE)
			return false;
		bound->low_value = castNode(Const, low->value);
		bound->high_value = castNode(Const, high->value);
		return true;
	}
	bound->low = PG_INT64_MIN;
	bound->high = PG_INT64_MAX;
	if (low->kind == PARTITION_RANGE_DATUM_VALUE)
		bound->low = IntegerOf(bound->kind, castNode(Const, low->value)->constvalue);
	if (high->kind == PARTITION_RANGE_DATUM_VALUE)
	{
		bound->high = IntegerOf(bound->kind, castNode(Const, high->value)->constvalue);
		if (columns == 1 && bound->high > PG_INT64_MIN)
			bound->high--;
	}
	return bound->low != PG_INT64_MIN || bound->high != PG_INT64_MAX;
}

/* True if the partitions are made by what the join can be asked about: the order, or the equality, of the type. */
static bool
ReadType(Bound *bound, const PartitionKeyData *key)
{
	bool		is_hash = key->strategy == PARTITION_STRATEGY_HASH;
	Oid			family = key->partopfamily[0];
	TypeCacheEntry *type;

	bound->type = key->parttypid[0];
	bound->collation = key->partcollation[0];
	bound->is_integer = IntegerKind(bound->type, &bound->kind);
	if (!bound->is_integer)
	{
		/* varchar is text there */
		bound->type = key->partopcintype[0];
		bound->equality = get_opfamily_member(family, bound->type, bound->type,
											  is_hash ? HTEqualStrategyNumber : BTEqualStrategyNumber);
		if (key->strategy != PARTITION_STRATEGY_RANGE)
			return OidIsValid(bound->equality);
	}
	type = lookup_type_cache(bound->type, TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY);
	return family == (is_hash ? type->hash_opf : type->btree_opf);
}

/* What the bound says of the first column of the key; NULL if that is of no use. */
static Bound *
ReadBound(Oid leaf, Relation parent, const PartitionBoundSpec *spec)
{
	PartitionKey key = RelationGetPartitionKey(parent);
	Bound	   *bound = palloc0(sizeof(Bound));

	bound->strategy = key->strategy;
	if (spec->is_default || key->partattrs[0] == 0 || !ReadType(bound, key))
		return NULL;
	bound->column = get_attnum(leaf, get_attname(RelationGetRelid(parent), key->partattrs[0], false));
	switch (bound->strategy)
	{
		case PARTITION_STRATEGY_RANGE:
			return ReadRange(bound, spec, key->partnatts) ? bound : NULL;
		case PARTITION_STRATEGY_LIST:
			bound->values = spec->listdatums;
			return bound;
		case PARTITION_STRATEGY_HASH:
			bound->modulus = spec->modulus;
			bound->remainder = spec->remainder;
			fmgr_info(key->partsupfunc[0].fn_oid, &bound->hash);
			/* strings that it calls equal may be in different partitions */
			if (OidIsValid(bound->collation) && !get_collation_isdeterministic(bound->collation))
				return NULL;
			return key->partnatts == 1 ? bound : NULL;
	}
	return NULL;
}

/*
 * An asynchronous scan has asked for its rows before it is called, and one that locks
 * rows would lock fewer.
 */
static bool
ScanCanBeSkipped(PlanState *ps)
{
	return !IsA(ps, ForeignScanState) || (!ps->async_capable && ps->state->es_plannedstmt->rowMarks == NIL);
}

/* True if the bound is about the point's i-th key. */
static bool
IsAbout(const Bound *bound, const AppliedFilter *applied, int i)
{
	const KeyCoder *coder = &applied->row_keys[i].coder;

	return bound->column == applied->keys[i].column && bound->type == coder->type && bound->is_integer == IsInteger(coder) &&
		(bound->is_integer || (bound->equality == coder->operator && bound->collation == coder->collation));
}

/* Has the keys' values kept where a bound needs them. */
static void
KeepValues(FilterPoint *point)
{
	for (int i = 0; i < point->n_filters; i++)
		for (int j = 0; j < point->filters[i]->n_keys; j++)
		{
			AppliedFilter *applied = point->filters[i];
			BuildKey   *key = applied->keys[j].build;
			ListCell   *lc;

			foreach(lc, point->bounds->bounds)
			{
				Bound	   *bound = lfirst(lc);

				if (key->order == NULL && !bound->is_integer && bound->strategy != PARTITION_STRATEGY_LIST && IsAbout(bound, applied, j))
					key->order = MakeValueOrder(&applied->row_keys[j].coder);
			}
		}
}

void
ConsiderPartition(FilterPoint *point)
{
	FilteredQuery *query = point->query;
	instr_time	start;
	Relation	table;
	Oid			leaf,
				partition;
	List	   *bounds = NIL;
	bool		has_column = false;

	for (int i = 0; i < point->n_filters; i++)
		for (int j = 0; j < point->filters[i]->n_keys; j++)
			has_column = has_column || point->filters[i]->keys[j].column != 0;
	if (!has_column)
		return;
	table = ((ScanState *) point->ps)->ss_currentRelation;
	/* what the scan computes with side effects has to be computed for all rows */
	if (!table->rd_rel->relispartition || !ScanCanBeSkipped(point->ps) ||
		IsVolatile((Node *) point->ps->plan->qual) || IsVolatile((Node *) point->ps->plan->targetlist))
		return;
	query->for_bounds += point->ps->plan->total_cost * COST_UNIT / SPENT_PART;
	if (query->on_bounds > FIRST_BOUNDS + query->for_bounds && bloomx_runtime_filter_min_removed > 0)
		return;
	INSTR_TIME_SET_CURRENT(start);
	leaf = partition = RelationGetRelid(table);
	while (get_rel_relispartition(partition))
	{
		Oid			parent_oid = get_partition_parent(partition, true);
		Relation	parent;
		PartitionBoundSpec *spec;
		Bound	   *bound;

		/*
		 * A query of the partition alone has no lock on the parent, and neither has
		 * a parallel worker.  Nobody waits for one here: whoever changes the parent
		 * may be waiting for the partition.
		 */
		if (!ConditionalLockRelationOid(parent_oid, AccessShareLock))
			break;
		parent = try_table_open(parent_oid, NoLock);
		spec = parent == NULL ? NULL : ReadBoundSpec(partition, point->query->estate->es_snapshot);
		bound = spec == NULL ? NULL : ReadBound(leaf, parent, spec);
		if (bound != NULL)
			bounds = lappend(bounds, bound);
		if (parent != NULL)
			table_close(parent, NoLock);
		UnlockRelationOid(parent_oid, AccessShareLock);
		partition = parent_oid;
	}
	query->on_bounds += NanosecondsSince(start);
	if (bounds == NIL)
		return;
	point->bounds = palloc0(sizeof(PartitionBounds));
	point->bounds->bounds = bounds;
	KeepValues(point);
}

/* ---- questions ---- */

static bool
RangeMeets(const Bound *bound, const KeySet *set)
{
	if (bound->is_integer)
		return KeySetMeetsRange(set, bound->low, bound->high);
	/* the upper end is not in the range, but to take it for a part of it is right, too */
	return set->values == NULL || KeyValuesMeetRange(set->values, bound->low_value->constvalue, bound->high_value->constvalue);
}

static bool
ListMeets(const Bound *bound, const KeySet *set, KeyCoder *coder)
{
	ListCell   *lc;

	foreach(lc, bound->values)
	{
		Const	   *constant = lfirst_node(Const, lc);
		uint64		code;

		if (constant->constisnull)
			continue;
		code = CodeOf(coder, constant->constvalue);
		if (KeySetMayHold(set, code) && (!bound->is_integer || KeySetMeetsRange(set, (int64) code, (int64) code)))
			return true;
	}
	return false;
}

static bool
HashMeets(Bound *bound, const KeySet *set)
{
	uint32		n = KeySetKnownKeys(set);

	if (n == UINT32_MAX)
		return true;
	for (uint32 i = 0; i < n; i++)
	{
		Datum		key = KeySetKnownKey(set, bound->kind, i);
		bool		is_null = false;

		if (compute_partition_hash_value(1, &bound->hash, &bound->collation, &key, &is_null) % bound->modulus == bound->remainder)
			return true;
	}
	return false;
}

/* True if a key of the filter may lie within the bound. */
static bool
BoundMeets(Bound *bound, const AppliedFilter *applied, int i)
{
	const KeySet *set = &applied->keys[i].build->set;
	MemoryContext old;
	bool		meets;

	if (KeySetIsEmpty(set))
		return false;
	old = MemoryContextSwitchTo(applied->filter->scratch);
	meets = bound->strategy == PARTITION_STRATEGY_RANGE ? RangeMeets(bound, set) :
		bound->strategy == PARTITION_STRATEGY_LIST ? ListMeets(bound, set, &applied->row_keys[i].coder) : HashMeets(bound, set);
	MemoryContextSwitchTo(old);
	MemoryContextReset(applied->filter->scratch);
	return meets;
}

/* True if the filter has no key within one of the bounds. */
static bool
FilterExcludes(PartitionBounds *bounds, const AppliedFilter *applied)
{
	for (int i = 0; i < applied->n_keys; i++)
	{
		ListCell   *lc;

		foreach(lc, bounds->bounds)
			if (IsAbout(lfirst(lc), applied, i) && !BoundMeets(lfirst(lc), applied, i))
				return true;
	}
	return false;
}

/* A number that changes whenever a filter of the point becomes ready, gets other keys, or is no longer ready. */
static uint64
StateOfFilters(const FilterPoint *point)
{
	uint64		state = 0;

	/* in any order: filters change places */
	for (int i = 0; i < point->n_filters; i++)
	{
		const RuntimeFilter *filter = point->filters[i]->filter;

		if (FilterIsReady(filter))
			state += MixCode(CombineCodes((uintptr_t) filter, filter->generation));
	}
	return state;
}

bool
PartitionIsExcluded(FilterPoint *point)
{
	PartitionBounds *bounds = point->bounds;
	uint64		state;

	CompleteSharedFor(point);
	/* the common case, for each row: a filter that is no longer ready could only exclude less */
	if (!bounds->is_excluded && bounds->asked_at == point->query->completions)
		return false;
	bounds->asked_at = point->query->completions;
	state = StateOfFilters(point);
	if (state == bounds->asked_of)
		return bounds->is_excluded;
	bounds->asked_of = state;
	bounds->is_excluded = false;
	for (int i = 0; i < point->n_filters && !bounds->is_excluded; i++)
	{
		AppliedFilter *applied = point->filters[i];

		if (!UseFilter(applied->filter))
			continue;
		applied->counts[PARTITIONS]++;
		bounds->is_excluded = FilterExcludes(bounds, applied);
		applied->counts[PARTITIONS_SKIPPED] += bounds->is_excluded;
	}
	return bounds->is_excluded;
}
