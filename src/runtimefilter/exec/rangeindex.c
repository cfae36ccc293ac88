/*
 * rangeindex.c - asks a BRIN index whether a page range may hold a key of a set.
 *
 * The index's own scan answers for one key, and reads the whole index each time.
 * Here ranges are asked about one by one, as the table's scan gets there, for all
 * keys of the set:
 *
 *   - min/max classes: a search for a key between the two, in the sorted keys or in
 *     their bitmap, which costs no more than one key would.
 *   - this extension's classes: the range's filter is looked at once, and tested
 *     with the hashes of the keys, which are computed once per set.
 *   - other classes (minmax_multi, bloom): their consistent function, per key.
 *
 * A range without a summary, or one that is being summarised, may hold anything.
 * Rows that the query's snapshot sees are in a summary that was made before: an insert adds
 * them to it before it commits.  One that is made afterwards may lack some of them: from
 * PostgreSQL 16 on the old values of HOT updates, and on a standby all that is dead for the
 * primary.  So a summary that may be younger than the snapshot is believed only if all
 * pages of the range are marked as visible to everybody.
 */
#include "postgres.h"

#include <math.h>

#include "access/brin_internal.h"
#include "access/brin_revmap.h"
#include "access/brin_tuple.h"
#include "access/htup_details.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/rangeindex.h"
#include "runtimefilter/query/volatility.h"
#include "pg/keys/keys.h"

/*
 * Rough nanoseconds: to find, copy and read a summary with its bounds; to test one
 * key in a filter of this extension; to call another class's function for one key.
 * The first and the last are rounded from a trial on one machine, where such calls
 * took 70 to 500; the second is that of the core's single test with a cold block.
 * They only weigh a question against the pages that it may save before it is asked.  How
 * long it really takes is measured (pageruns.c): some functions decode the whole summary at
 * each call.
 */
#define SUMMARY_COST 150
#define FILTER_KEY_COST 10
#define FUNCTION_KEY_COST 400

/* To search keys that are no integers takes some ten comparisons, of a hundred nanoseconds each. */
#define VALUE_SEARCH_COST 1000

typedef enum RangeMethod
{
	BY_BOUNDS,
	BY_FILTER,
	BY_FUNCTION
} RangeMethod;

struct RangeIndex
{
	Relation	index;
	int			column;			/* of the index, from 0 */
	RangeMethod method;
	Oid			type;
	bool		is_integer;
	CodeKind	kind;			/* of an integer */
	const FilteredQuery *query;

	BrinRevmap *revmap;
	BrinDesc   *desc;
	BlockNumber pages_per_range;
	Buffer		buffer;
	BrinTuple  *tuple;			/* a copy of the last summary */
	Size		tuple_size;
	BrinMemTuple *summary;
	XLogRecPtr	changed;		/* when the page of the last summary was */
	MemoryContext range;		/* of one question */

	Relation	table;
	Buffer		visibility;		/* a page of its visibility map */

	FmgrInfo	consistent;
	ScanKeyData key;			/* equality; its argument changes */

	/* the hashes of the keys of the set with that serial */
	KeyType		key_type;
	uint64		serial;
	uint64	   *hashes;
	MemoryContext context;
};

/* This extension's function, which says that a summary is a filter of the values. */
static PGFunction filter_function;

void
SetFilterFunction(PGFunction function)
{
	filter_function = function;
}

static bool
IsBrin(Oid index)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	bool		is_brin;

	if (!HeapTupleIsValid(tuple))
		return false;
	is_brin = ((Form_pg_class) GETSTRUCT(tuple))->relam == BRIN_AM_OID;
	ReleaseSysCache(tuple);
	return is_brin;
}

/* The expressions of an index, given its row of pg_index, as the planner has them. */
static List *
IndexExpressions(HeapTuple index)
{
	bool		is_null;
	Datum		expressions = SysCacheGetAttr(INDEXRELID, index, Anum_pg_index_indexprs, &is_null);

	return is_null ? NIL : (List *) eval_const_expressions(NULL, stringToNode(TextDatumGetCString(expressions)));
}

/* The place of a table's key among the index's columns, given its row of pg_index; -1 if it is not there. */
static int
ColumnOfIndex(HeapTuple index, Node *key)
{
	Form_pg_index form = (Form_pg_index) GETSTRUCT(index);
	Var		   *column = PlainColumn(key);
	List	   *expressions = column == NULL ? IndexExpressions(index) : NIL;
	int			n = 0;

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		if (form->indkey.values[i] != 0)
		{
			if (column != NULL && form->indkey.values[i] == column->varattno)
				return i;
		}
		else if (column == NULL && equal(list_nth(expressions, n++), key))
			return i;
	}
	return -1;
}

static bool
IsRangeIndexOn(Oid index, Node *key)
{
	HeapTuple	tuple = IsBrin(index) ? SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index)) : NULL;
	bool		has_key;

	if (!HeapTupleIsValid(tuple))
		return false;
	has_key = ColumnOfIndex(tuple, key) >= 0;
	ReleaseSysCache(tuple);
	return has_key;
}

bool
HasRangeIndex(Relation table, Node *key)
{
	List	   *indexes = RelationGetIndexList(table);
	bool		found = false;
	ListCell   *lc;

	foreach(lc, indexes)
		found = found || IsRangeIndexOn(lfirst_oid(lc), key);
	list_free(indexes);
	return found;
}

static bool
IndexIsTrustworthy(Relation index)
{
	Form_pg_index form = index->rd_index;

	return form->indisvalid && form->indisready && form->indislive &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
		(!form->indcheckxmin ||
		 TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), TransactionXmin));
}

/*
 * A list of indexes may be of long ago.  On a primary nobody drops an index of a table that is being read, but a standby
 * only has locks of the index itself.
 */
Relation
OpenTrustworthyIndex(Oid oid)
{
	Relation	index;

	if (!ConditionalLockRelationOid(oid, AccessShareLock))
		return NULL;
	index = try_relation_open(oid, NoLock);
	if (index != NULL && IndexIsTrustworthy(index))
		return index;
	if (index != NULL)
		relation_close(index, NoLock);
	UnlockRelationOid(oid, AccessShareLock);
	return NULL;
}

/*
 * How to ask the index.  Its class must order, or compare, values as their type
 * does: somebody may have made a class that does otherwise.  (So does the join, or
 * the values of its keys would not be known: MakeValueOrder.)  Under another
 * collation other texts may be equal, and they are in another order.
 */
static bool
ChooseMethod(RangeIndex *index, const KeyCoder *coder)
{
	int			i = index->column;
	Oid			family = index->index->rd_opfamily[i];
	TypeCacheEntry *type = lookup_type_cache(index->type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	int			equality = get_op_opfamily_strategy(type->eq_opr, family);

	if (index->index->rd_opcintype[i] != index->type || equality == 0)
		return false;
	if (!index->is_integer && coder->collation != index->index->rd_indcollation[i])
		return false;
	fmgr_info_copy(&index->consistent, index_getprocinfo(index->index, i + 1, BRIN_PROCNUM_CONSISTENT),
				   CurrentMemoryContext);
	if (index->consistent.fn_oid == F_BRIN_MINMAX_CONSISTENT)
	{
		index->method = BY_BOUNDS;
		return get_opfamily_member(family, index->type, index->type, BTLessStrategyNumber) == type->lt_opr;
	}
	if (index->consistent.fn_addr == filter_function)
	{
		index->method = BY_FILTER;
		if (OidIsValid(coder->collation) && !get_collation_isdeterministic(coder->collation))
			return false;
		LookupKeyType(&index->key_type, index->type, index->is_integer ? InvalidOid : coder->collation, index->context);
		return true;
	}
	index->method = BY_FUNCTION;
	ScanKeyEntryInitialize(&index->key, 0, i + 1, equality, index->type,
						   index->index->rd_indcollation[i], get_opcode(type->eq_opr), (Datum) 0);
	return true;
}

/* Opens one index; NULL if it cannot be used. */
static RangeIndex *
OpenRangeIndex(const FilteredQuery *query, Relation table, Oid oid, Node *key, const KeyCoder *coder)
{
	RangeIndex *index;
	Relation	relation = IsBrin(oid) ? OpenTrustworthyIndex(oid) : NULL;

	if (relation == NULL)
		return NULL;
	index = palloc0(sizeof(RangeIndex));
	index->index = relation;
	index->table = table;
	index->column = ColumnOfIndex(relation->rd_indextuple, key);
	index->type = coder->type;
	index->is_integer = IsInteger(coder);
	index->kind = coder->kind;
	index->query = query;
	index->context = CurrentMemoryContext;
	if (index->column < 0 || !ChooseMethod(index, coder))
	{
		index_close(relation, AccessShareLock);
		pfree(index);
		return NULL;
	}
	index->revmap = BrinRevmapInitialize(relation, &index->pages_per_range, query->estate->es_snapshot);
	index->desc = brin_build_desc(relation);
	index->summary = brin_new_memtuple(index->desc);
	index->range = AllocSetContextCreate(CurrentMemoryContext, "runtime filter page range", ALLOCSET_DEFAULT_SIZES);
	return index;
}

List *
OpenRangeIndexes(const FilteredQuery *query, Relation table, Node *key, const KeyCoder *coder)
{
	List	   *oids = RelationGetIndexList(table),
			   *opened = NIL;
	ListCell   *lc;

	foreach(lc, oids)
	{
		RangeIndex *index = OpenRangeIndex(query, table, lfirst_oid(lc), key, coder);

		if (index != NULL)
			opened = lappend(opened, index);
	}
	list_free(oids);
	return opened;
}

void
CloseRangeIndex(RangeIndex *index)
{
	ReleaseRangePage(index);
	brinRevmapTerminate(index->revmap);
	brin_free_desc(index->desc);
	index_close(index->index, NoLock);
}

void
ReleaseRangePage(RangeIndex *index)
{
	if (BufferIsValid(index->buffer))
		ReleaseBuffer(index->buffer);
	index->buffer = InvalidBuffer;
	if (BufferIsValid(index->visibility))
		ReleaseBuffer(index->visibility);
	index->visibility = InvalidBuffer;
}

BlockNumber
PagesPerRange(const RangeIndex *index)
{
	return index->pages_per_range;
}

double
RangeQuestionCost(const RangeIndex *index, const KeySet *set)
{
	uint32		keys;

	if (KeySetIsEmpty(set) || (index->method == BY_BOUNDS && index->is_integer))
		return SUMMARY_COST;
	keys = KeySetKnownKeys(set);
	if (keys == UINT32_MAX)
		return INFINITY;
	if (index->method == BY_BOUNDS)
		return SUMMARY_COST + VALUE_SEARCH_COST;
	return SUMMARY_COST + (double) keys * (index->method == BY_FILTER ? FILTER_KEY_COST : FUNCTION_KEY_COST);
}

/* The values of the index's column in that range; NULL if nothing is known of it. */
static BrinValues *
ReadSummary(RangeIndex *index, BlockNumber start)
{
	OffsetNumber offset;
	Size		size;
	BrinTuple  *tuple = BrinGetTupleForHeapBlock(index->revmap, start, &index->buffer, &offset, &size,
												 BUFFER_LOCK_SHARE, index->query->estate->es_snapshot);

	if (tuple == NULL)
		return NULL;
	index->tuple = brin_copy_tuple(tuple, size, index->tuple, &index->tuple_size);
	index->changed = BufferGetLSNAtomic(index->buffer);
	LockBuffer(index->buffer, BUFFER_LOCK_UNLOCK);
	index->summary = brin_deform_tuple(index->desc, index->tuple, index->summary);
	return index->summary->bt_placeholder ? NULL : &index->summary->bt_columns[index->column];
}

/* The hashes of the set's keys, as this extension's classes make them. */
static const uint64 *
HashesOf(RangeIndex *index, const KeySet *set)
{
	if (index->serial == set->serial)
		return index->hashes;
	if (index->hashes != NULL)
		pfree(index->hashes);
	index->hashes = MemoryContextAlloc(index->context, KeySetKnownKeys(set) * sizeof(uint64));
	for (uint32 i = 0; i < KeySetKnownKeys(set); i++)
		index->hashes[i] = HashKey(&index->key_type, KeySetKnownKey(set, index->kind, i), 0);
	index->serial = set->serial;
	return index->hashes;
}

/* Asks a filter of this extension. */
static bool
FilterMayHold(RangeIndex *index, const KeySet *set, Datum value)
{
	const blx_filter *f = (const blx_filter *) PG_DETOAST_DATUM(value);
	const uint64 *hashes = HashesOf(index, set);
	uint32		n = KeySetKnownKeys(set);
	blx_identity identity;

	if (!blx_check(f, VARSIZE(f), NULL))
		return true;
	identity = blx_identity_of(f);
	if (!blx_key_check(&identity, &index->key_type.identity, NULL))
		return true;
	for (uint32 i = 0; i < n; i++)
		if (blx_test_inline(f, hashes[i]))
			return true;
	return false;
}

/* Calls of a function between two looks at the clock, if they take less than a microsecond. */
#define CALLS_PER_LOOK 16

/* Asks the class's function about each key.  It gets an array of conditions since PostgreSQL 14, one of them here. */
static bool
FunctionMayHold(RangeIndex *index, const KeySet *set, BrinValues *values, double limit, bool *gave_up)
{
	ScanKey		keys = &index->key;
	uint32		look = 0;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (uint32 i = 0; i < KeySetKnownKeys(set); i++)
	{
		Datum		answer;

		index->key.sk_argument = KeySetKnownKey(set, index->kind, i);
		if (index->consistent.fn_nargs >= 4)
			answer = FunctionCall4Coll(&index->consistent, index->key.sk_collation, PointerGetDatum(index->desc),
									   PointerGetDatum(values), PointerGetDatum(&keys), Int32GetDatum(1));
		else
			answer = FunctionCall3Coll(&index->consistent, index->key.sk_collation, PointerGetDatum(index->desc),
									   PointerGetDatum(values), PointerGetDatum(keys));
		if (DatumGetBool(answer))
			return true;
		CHECK_FOR_INTERRUPTS();
		if (i == look)
		{
			double		spent = NanosecondsSince(start);

			if (spent > limit)
			{
				*gave_up = true;
				return true;
			}
			look += spent < 1000.0 * (i + 1) ? CALLS_PER_LOOK : 1;
		}
	}
	return false;
}

static bool
SummaryMayHold(RangeIndex *index, const KeySet *set, BrinValues *values, double limit, bool *gave_up)
{
	/* NULL matches nothing */
	if (values->bv_allnulls || KeySetIsEmpty(set))
		return false;
	if (index->method == BY_BOUNDS && index->is_integer)
		return KeySetMeetsRange(set, IntegerOf(index->kind, values->bv_values[0]),
								IntegerOf(index->kind, values->bv_values[1]));
	if (KeySetKnownKeys(set) == UINT32_MAX)
		return true;
	if (index->method == BY_BOUNDS)
		return KeyValuesMeetRange(set->values, values->bv_values[0], values->bv_values[1]);
	return index->method == BY_FILTER ? FilterMayHold(index, set, values->bv_values[0]) :
		FunctionMayHold(index, set, values, limit, gave_up);
}

static bool
AreSame(const TransactionId *a, const TransactionId *b, uint32 n)
{
	return n == 0 || memcmp(a, b, n * sizeof(TransactionId)) == 0;
}

/* True if the snapshot sees what one would see that is taken now. */
static bool
SeesAllOfNow(Snapshot snapshot)
{
	static SnapshotData now = {.snapshot_type = SNAPSHOT_MVCC};

	GetSnapshotData(&now);
	return snapshot->xmin == now.xmin && snapshot->xmax == now.xmax &&
		snapshot->xcnt == now.xcnt && snapshot->subxcnt == now.subxcnt && snapshot->suboverflowed == now.suboverflowed &&
		AreSame(snapshot->xip, now.xip, now.xcnt) && AreSame(snapshot->subxip, now.subxip, now.subxcnt);
}

XLogRecPtr
PositionOfSnapshot(Snapshot snapshot)
{
	XLogRecPtr	position = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) : GetXLogInsertRecPtr();

	return SeesAllOfNow(snapshot) ? position : InvalidXLogRecPtr;
}

/*
 * True if the summary that has just been read has all rows of the range that the snapshot
 * sees.  Whoever makes a summary leaves out only what a transaction that had ended has
 * updated or deleted.  So there are two proofs:
 *
 *   - The summary's page was last changed at a position in the WAL at which the snapshot
 *     saw all transactions that had ended.  (A page of 0 may have been written without WAL,
 *     if the level is minimal.)
 *   - All pages of the range are marked as visible to everybody.  Such a mark vanishes with
 *     an update, and does not return while the snapshot sees the row of before.
 */
static bool
SummaryIsOfSnapshot(RangeIndex *index, BlockNumber start)
{
	BlockNumber end;

	/* before 16 nothing that the snapshot sees is left out on a primary; and nobody else ends a transaction in a temporary table */
	if ((!BRIN_ALLOWS_HOT_UPDATES && !index->query->estate->es_snapshot->takenDuringRecovery) ||
		RelationUsesLocalBuffers(index->table))
		return true;
	if (RelationNeedsWAL(index->index) && !XLogRecPtrIsInvalid(index->changed) && index->changed <= index->query->position)
		return true;
	end = RelationGetNumberOfBlocks(index->table);
	end = end - start <= index->pages_per_range ? end : start + index->pages_per_range;
	for (BlockNumber page = start; page < end; page++)
		if (!VM_ALL_VISIBLE(index->table, page, &index->visibility))
			return false;
	return true;
}

bool
RangeMayHold(RangeIndex *index, const KeySet *set, BlockNumber start, double limit, bool *gave_up)
{
	MemoryContext old;
	BrinValues *values;
	bool		may_hold;

	/* the copy of the tuple is kept from one question to the next, all else is not */
	values = ReadSummary(index, start);
	if (values == NULL)
		return true;
	old = MemoryContextSwitchTo(index->range);
	may_hold = SummaryMayHold(index, set, values, limit, gave_up);
	MemoryContextSwitchTo(old);
	MemoryContextReset(index->range);
	return may_hold || !SummaryIsOfSnapshot(index, start);
}
