/*
 * pagelist.c - the pages on which an index finds the keys of a set.
 *
 * If the keys are few, an index on the column says faster than the table where their rows are.  It is searched
 * for all keys, and the scan reads the pages that it names.  All else stays as it is: the scan finds out
 * which rows are visible, and tests them.
 *
 * No row is missed.  One that the snapshot sees has had an entry since it was written, or since the index
 * was built, in an index that the planner would use (OpenTrustworthyIndex); VACUUM removes entries only of rows that
 * nobody sees; and a HOT update keeps the columns of the index, and the page.
 *
 * Nobody knows in advance whether that pays: a key may have a million rows, and the rows of a thousand keys may be on
 * one page or on all.  So a few keys are searched for first, and what they took and how many pages they have
 * is taken for that of all.  A search that would not pay is given up, and so is one that takes longer than it was
 * expected to.
 */
#include "postgres.h"

#include <math.h>

#include "access/amapi.h"
#include "access/relscan.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "runtimefilter/exec/budget.h"
#include "runtimefilter/exec/pagelist.h"
#include "runtimefilter/exec/rangeindex.h"
#include "runtimefilter/query/volatility.h"
#include "pg/base/indexscans.h"

/* Nanoseconds to open an index, and to find a key in it: of a btree in memory.  They only tell what is worth a trial. */
#define OPEN_COST 40000
#define KEY_COST 4000

/* Nanoseconds to start a run of one page, which most pages of a list are. */
#define RUN_COST 2000

/* A search goes on if it leaves that part of the scan, and may take that part of it. */
#define WORTH_LEFT 0.7
#define MOST_SPENT 0.25

/* The keys that are searched for at once: more each time.  And the groups of neighbours of which a sample consists. */
#define FIRST_BATCH 8
#define LARGEST_BATCH 256
#define SAMPLE_GROUPS 4

/* Rows of a condition between two looks at the clock: if there are fewer, what they took is seen afterwards. */
#define ROWS_PER_LOOK 1024

struct PageSearch
{
	AppliedFilter *applied;
	Relation	table;
	Node	   *key;			/* of the table */
	const KeyCoder *coder;
	const KeySet *set;

	uint64		serial;			/* of the set that was searched for last */
	bool		is_listed;		/* and whose pages are known */

	/* the pages: a bit for each group of 2^shift pages */
	BlockNumber n_blocks;
	int			shift;
	uint64	   *bits;
	uint64		n_words;
	uint64		listed;			/* pages, of whole groups */

	/* while it runs */
	IndexScanDesc scan;
	ScanKeyData condition;		/* its argument changes */
	bool		takes_arrays;	/* many keys at once */
	int16		length;			/* of the type */
	bool		by_value;
	char		alignment;
};

/* ---- which index ---- */

/* The key's place among the index's columns, from 0, if that index could be searched for it; otherwise -1. */
static int
ColumnToSearch(HeapTuple index, Oid method, const Var *key)
{
	Form_pg_index form = (Form_pg_index) GETSTRUCT(index);

	if (method == BRIN_AM_OID || method == GIN_AM_OID || method == GIST_AM_OID || method == SPGIST_AM_OID)
		return -1;
	/* a tree that is sorted by another column first would be read as a whole */
	for (int i = 0; i < (method == BTREE_AM_OID ? 1 : form->indnkeyatts); i++)
		if (form->indkey.values[i] == key->varattno)
			return i;
	return -1;
}

static bool
HasKey(Oid oid, const Var *key)
{
	HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(oid)),
				index = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));
	bool		has_key = HeapTupleIsValid(class) && HeapTupleIsValid(index) &&
		ColumnToSearch(index, ((Form_pg_class) GETSTRUCT(class))->relam, key) >= 0;

	if (HeapTupleIsValid(class))
		ReleaseSysCache(class);
	if (HeapTupleIsValid(index))
		ReleaseSysCache(index);
	return has_key;
}

PageSearch *
NewPageSearch(AppliedFilter *applied, Relation table, int i)
{
	PageSearch *search;
	Var		   *key = applied->keys[i].of_table != NULL ? PlainColumn(applied->keys[i].of_table) : NULL;
	List	   *indexes = key != NULL && bloomx_runtime_filter_index_pages ? RelationGetIndexList(table) : NIL;
	bool		found = false;
	ListCell   *lc;

	foreach(lc, indexes)
		found = found || HasKey(lfirst_oid(lc), key);
	list_free(indexes);
	if (!found)
		return NULL;
	search = palloc0(sizeof(PageSearch));
	search->applied = applied;
	search->table = table;
	search->key = applied->keys[i].of_table;
	search->coder = &applied->row_keys[i].coder;
	search->set = &applied->keys[i].build->set;
	return search;
}

AppliedFilter *
FilterOfSearch(const PageSearch *search)
{
	return search->applied;
}

/*
 * True if the index has been as it is since the snapshot was taken.  On a standby it may have been built afterwards,
 * without rows that were dead for the primary; who builds it anew changes its row in pg_class.
 */
static bool
IsOfSnapshot(Relation index, Snapshot snapshot)
{
	HeapTuple	class;
	bool		is_older;

	if (!snapshot->takenDuringRecovery)
		return true;
	class = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(index)));
	is_older = HeapTupleIsValid(class) && TransactionIdPrecedes(HeapTupleHeaderGetXmin(class->t_data), snapshot->xmin) &&
		TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data), snapshot->xmin);
	if (HeapTupleIsValid(class))
		ReleaseSysCache(class);
	return is_older;
}

/*
 * How to search the index.  Its class must know the equality of the key's type.  (That is the join's, or the
 * values of its keys would not be known: MakeValueOrder.)  Under another collation other texts may be equal.
 */
static bool
ChooseCondition(PageSearch *search, Relation index)
{
	int			column = ColumnToSearch(index->rd_indextuple, index->rd_rel->relam, PlainColumn(search->key));
	Oid			type = search->coder->type,
				equality = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	int			strategy = column < 0 ? 0 : get_op_opfamily_strategy(equality, index->rd_opfamily[column]);

	if (strategy == 0 || index->rd_opcintype[column] != type ||
		(!IsInteger(search->coder) && search->coder->collation != index->rd_indcollation[column]))
		return false;
	search->takes_arrays = index->rd_indam->amsearcharray;
	if (index->rd_indam->amgettuple == NULL && (index->rd_indam->amgetbitmap == NULL || !search->takes_arrays))
		return false;
	ScanKeyEntryInitialize(&search->condition, search->takes_arrays ? SK_SEARCHARRAY : 0, column + 1, strategy, type,
						   index->rd_indcollation[column], get_opcode(equality), (Datum) 0);
	get_typlenbyvalalign(type, &search->length, &search->by_value, &search->alignment);
	return true;
}

/* Opens an index that can be searched; NULL if there is none. */
static Relation
OpenIndex(PageSearch *search)
{
	Snapshot	snapshot = search->applied->filter->query->estate->es_snapshot;
	List	   *indexes = RelationGetIndexList(search->table);
	Relation	index = NULL;
	ListCell   *lc;

	foreach(lc, indexes)
	{
		index = HasKey(lfirst_oid(lc), PlainColumn(search->key)) ? OpenTrustworthyIndex(lfirst_oid(lc)) : NULL;
		if (index == NULL)
			continue;
		if (IsOfSnapshot(index, snapshot) && ChooseCondition(search, index))
			break;
		index_close(index, AccessShareLock);
		index = NULL;
	}
	list_free(indexes);
	return index;
}

/* ---- what it is worth ---- */

static uint32
NumberOfKeys(const PageSearch *search)
{
	if (IsInteger(search->coder))
		return KeySetCountIntegers(search->set);
	return KeySetIsEmpty(search->set) ? 0 : search->set->values != NULL ? search->set->values->n : UINT32_MAX;
}

uint32
KeysToSearch(const PageSearch *search)
{
	return FilterIsReady(search->applied->filter) && search->serial != search->set->serial ? NumberOfKeys(search) : UINT32_MAX;
}

double
SearchCost(uint32 keys)
{
	return OPEN_COST + (double) keys * KEY_COST;
}

bool
SearchPays(uint32 keys, const SearchLimits *limits)
{
	if (keys == UINT32_MAX)
		return false;
	return bloomx_runtime_filter_min_removed == 0 ||
		(limits->rest > (double) OPEN_COST * SPENT_PART && SearchCost(keys) < limits->rest * MOST_SPENT);
}

/* ---- the pages ---- */

/* An empty list.  It keeps to work_mem: if a bit for each page does not fit, there is one for two or more. */
static void
StartList(PageSearch *search, BlockNumber n_blocks)
{
	uint64		most = (uint64) work_mem * 1024 * 8;

	if (search->bits != NULL)
		pfree(search->bits);
	search->n_blocks = n_blocks;
	for (search->shift = 0; (n_blocks >> search->shift) >= most; search->shift++)
		;
	search->n_words = ((uint64) n_blocks >> search->shift) / 64 + 1;
	search->bits = MemoryContextAllocExtended(search->applied->filter->query->context, search->n_words * sizeof(uint64),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	search->listed = 0;
}

static inline void
ListPage(PageSearch *search, BlockNumber page)
{
	uint32		group = page >> search->shift;
	uint64		bit = UINT64CONST(1) << (group & 63);

	/* what came after the scan began is not for its snapshot */
	if (page >= search->n_blocks || (search->bits[group / 64] & bit) != 0)
		return;
	search->bits[group / 64] |= bit;
	search->listed += UINT64CONST(1) << search->shift;
}

bool
PagesAreListed(const PageSearch *search)
{
	return search->is_listed && FilterIsReady(search->applied->filter) && search->serial == search->set->serial;
}

/* The first group from that one on that is listed, or the end of the table. */
static uint64
NextListedGroup(const PageSearch *search, uint64 group)
{
	uint64		i = group / 64,
				word = i < search->n_words ? search->bits[i] & (~UINT64CONST(0) << (group & 63)) : 0;

	while (word == 0 && ++i < search->n_words)
		word = search->bits[i];
	return word == 0 ? search->n_words * 64 : i * 64 + pg_rightmost_one_pos64(word);
}

bool
PageIsListed(const PageSearch *search, BlockNumber page, BlockNumber *until)
{
	uint64		group = page >> search->shift,
				next = NextListedGroup(search, group);
	bool		is_listed = next == group || page >= search->n_blocks;

	if (is_listed)
		next = group + 1;
	*until = (BlockNumber) Min(next << search->shift, (uint64) *until);
	return is_listed;
}

/* ---- the search ---- */

/* The set's i-th key.  False if it is an integer that the column's type has not. */
static bool
KeyToSearch(const PageSearch *search, uint32 i, Datum *key)
{
	int64		integer;

	if (!IsInteger(search->coder))
	{
		*key = search->set->values->values[i];
		return true;
	}
	integer = KeySetIntegers(search->set)[i];
	*key = DatumOfInteger(search->coder->kind, integer);
	return IntegerOf(search->coder->kind, *key) == integer;
}

static void
ListBitmap(PageSearch *search)
{
	TIDBitmap  *bitmap = tbm_create((long) work_mem * 1024, NULL);
	BitmapPages *pages;
	BlockNumber page;

	(void) index_getbitmap(search->scan, bitmap);
	pages = BeginBitmapPages(bitmap);
	while (NextBitmapPage(pages, &page))
		ListPage(search, page);
	EndBitmapPages(pages);
	tbm_free(bitmap);
}

/* Lists the pages of the condition.  False if that takes longer than until a time after the start. */
static bool
ListCondition(PageSearch *search, Datum argument, instr_time start, double limit)
{
	ItemPointer row;
	uint32		n = 0;

	search->condition.sk_argument = argument;
	index_rescan(search->scan, &search->condition, 1, NULL, 0);
	if (search->scan->indexRelation->rd_indam->amgettuple == NULL)
	{
		ListBitmap(search);
		return true;
	}
	while ((row = index_getnext_tid(search->scan, ForwardScanDirection)) != NULL)
	{
		ListPage(search, ItemPointerGetBlockNumber(row));
		if (++n % ROWS_PER_LOOK != 0)
			continue;
		if (NanosecondsSince(start) > limit)
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* The same for n of the set's keys. */
static bool
ListKeys(PageSearch *search, uint32 first, uint32 n, double limit)
{
	Datum		keys[LARGEST_BATCH];
	int			n_keys = 0;
	bool		in_time = true;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (uint32 i = first; i < first + n; i++)
		n_keys += KeyToSearch(search, i, &keys[n_keys]);
	if (search->takes_arrays && n_keys > 0)
		in_time = ListCondition(search, PointerGetDatum(construct_array(keys, n_keys, search->coder->type, search->length,
																		  search->by_value, search->alignment)), start, limit);
	for (int i = 0; i < n_keys && in_time && !search->takes_arrays; i++)
		in_time = ListCondition(search, keys[i], start, limit);
	CHECK_FOR_INTERRUPTS();
	return in_time;
}

/* What is known of the search so far. */
typedef struct Progress
{
	const SearchLimits *limits;
	instr_time	start;
	uint32		done;			/* keys, those of a sample too */
	double		last;			/* nanoseconds per key of the last batch */
} Progress;

/*
 * True if all keys will pay, as it seems from those that were searched for; `left` are not yet.  Some batch may have waited
 * for a processor: the last one counts, if it was faster than the average.
 */
static bool
StillPays(const PageSearch *search, const Progress *progress, uint32 left)
{
	double		spent = NanosecondsSince(progress->start),
				to_spend = Min(spent / progress->done, progress->last) * left,
				pages = search->listed + (double) search->listed / progress->done * left;

	return bloomx_runtime_filter_min_removed == 0 ||
		(spent + to_spend < progress->limits->rest * MOST_SPENT &&
		 to_spend + pages * (progress->limits->page + RUN_COST) < progress->limits->rest * WORTH_LEFT);
}

/* How long n more keys may take: four times of what they should, since some have more rows; or what may always be spent. */
static double
TimeFor(const Progress *progress, uint32 n)
{
	double		always = progress->limits->rest / SPENT_PART;

	if (bloomx_runtime_filter_min_removed == 0)
		return INFINITY;
	return progress->done == 0 ? always : Max(always, 4 * NanosecondsSince(progress->start) / progress->done * n);
}

/* Lists the pages of n more keys.  False if some has so many rows that it takes too long. */
static bool
ListBatch(PageSearch *search, uint32 first, uint32 n, Progress *progress)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (!ListKeys(search, first, n, TimeFor(progress, n)))
		return false;
	progress->done += n;
	progress->last = NanosecondsSince(start) / n;
	return true;
}

/* Keys of a sorted set that are neighbours may have neighbouring rows: so there are groups of both. */
static bool
SampleKeys(PageSearch *search, uint32 n_keys, Progress *progress)
{
	for (uint32 i = 0; i < SAMPLE_GROUPS; i++)
		if (!ListBatch(search, (uint32) ((uint64) n_keys * i / SAMPLE_GROUPS), FIRST_BATCH, progress))
			return false;
	return StillPays(search, progress, n_keys);
}

static bool
ListAllKeys(PageSearch *search, const SearchLimits *limits)
{
	uint32		n_keys = NumberOfKeys(search),
				batch = FIRST_BATCH;
	Progress	progress = {.limits = limits};

	INSTR_TIME_SET_CURRENT(progress.start);
	if (n_keys > FIRST_BATCH * SAMPLE_GROUPS * SAMPLE_GROUPS && !SampleKeys(search, n_keys, &progress))
		return false;
	for (uint32 i = 0, n; i < n_keys; i += n)
	{
		n = Min(batch, n_keys - i);
		if (!ListBatch(search, i, n, &progress) || !StillPays(search, &progress, n_keys - i - n))
			return false;
		batch = Min(batch * 2, LARGEST_BATCH);
	}
	return true;
}

/* Begins and ends the scan of the index: no page is pinned, and no memory kept, between two searches. */
static bool
SearchIndex(PageSearch *search, Relation index, const SearchLimits *limits)
{
	Snapshot	snapshot = search->applied->filter->query->estate->es_snapshot;
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "runtime filter index search", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);
	bool		found;

	search->scan = index->rd_indam->amgettuple != NULL ? BeginIndexScan(search->table, index, snapshot, 1) :
		BeginBitmapScan(index, snapshot, 1);
	found = ListAllKeys(search, limits);
	index_endscan(search->scan);
	search->scan = NULL;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return found;
}

bool
SearchPages(PageSearch *search, BlockNumber n_blocks, const SearchLimits *limits)
{
	Relation	index = OpenIndex(search);

	search->serial = search->set->serial;
	search->is_listed = false;
	if (index == NULL)
		return false;
	StartList(search, n_blocks);
	search->is_listed = SearchIndex(search, index, limits);
	if (search->is_listed)
	{
		search->applied->counts[INDEX_SEARCHES]++;
		search->applied->searched = RelationGetRelid(index);
	}
	index_close(index, NoLock);
	return search->is_listed;
}
