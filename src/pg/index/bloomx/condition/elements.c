/*
 * elements.c - `column = ANY (array)` with a long array: the scan looks for the rows
 * in the blocks that it has found.
 *
 * An index of values finds blocks of the table, and the executor would check all of
 * their rows again.  It hashes an array of constants for that, but searches any other
 * one from its beginning for each row: of 10,000 keys the recheck took a thousand
 * times as long as the rest.  The scan has the hashes of the elements already.  So it
 * reads the blocks, hashes the values of the rows that its snapshot sees, and returns
 * the rows that meet all of its conditions, which are not rechecked.
 *
 * It sees what a bitmap heap scan sees in a block of which it knows no more than the
 * number: the rows that are visible, whatever the index has of them.  So it does for a
 * serializable transaction what is done there.
 */
#include "pg/index/bloomx/condition/elements.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* ---- the elements ---- */

typedef struct Element
{
	uint64		hash;
	Datum		value;
	uint32		next;			/* number of another element of the same hash, from 1 on; 0: there is none */
} Element;

struct BloomxElements
{
	uint32		words;			/* a power of two, of more than 8 bits per element */
	uint64	   *bits;			/* three in one word for each element: most values need no more */
	uint32		size;			/* a power of two, more than twice the elements */
	uint32	   *first;			/* open addressing: the number of an element, from 1 on; 0: a free slot */
	uint32		n;
	Element    *elements;
};

BloomxElements *
BloomxNewElements(uint32 most)
{
	BloomxElements *set = palloc0(sizeof(BloomxElements));

	set->words = pg_nextpower2_32(most / 8 + 1);
	set->bits = MemoryContextAllocExtended(CurrentMemoryContext, set->words * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	set->size = pg_nextpower2_32(2 * most + 2);
	set->first = MemoryContextAllocExtended(CurrentMemoryContext, set->size * sizeof(uint32), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	set->elements = MemoryContextAllocHuge(CurrentMemoryContext, most * sizeof(Element));
	return set;
}

static inline uint64 *
WordOf(const BloomxElements *set, uint64 hash)
{
	return &set->bits[hash >> 32 & (set->words - 1)];
}

static inline uint64
BitsOf(uint64 hash)
{
	return UINT64CONST(1) << hash % 64 | UINT64CONST(1) << hash / 64 % 64 | UINT64CONST(1) << hash / 4096 % 64;
}

/* The slot of the elements of a hash. */
static uint32 *
SlotOf(const BloomxElements *set, uint64 hash)
{
	uint32		slot = (uint32) hash & (set->size - 1);

	while (set->first[slot] > 0 && set->elements[set->first[slot] - 1].hash != hash)
		slot = (slot + 1) & (set->size - 1);
	return &set->first[slot];
}

void
BloomxAddElement(BloomxElements *set, uint64 hash, Datum value)
{
	uint32	   *slot = SlotOf(set, hash);

	set->elements[set->n++] = (Element) {.hash = hash, .value = value, .next = *slot};
	*slot = set->n;
	*WordOf(set, hash) |= BitsOf(hash);
}

/* The number of the first element of a hash; 0: there is none. */
static inline uint32
FirstOf(const BloomxElements *set, uint64 hash)
{
	return (BitsOf(hash) & ~*WordOf(set, hash)) == 0 ? *SlotOf(set, hash) : 0;
}

bool
BloomxHasElement(const BloomxElements *set, uint64 hash)
{
	return FirstOf(set, hash) > 0;
}

/* ---- the rows of the blocks ---- */

/* A scan key of the search. */
typedef struct Test
{
	ScanKeyData *key;
	const BloomxElements *elements; /* of its array; NULL: it has none */
	AttrNumber	column;			/* of the table; 0: it is computed */
	ExprState  *expression;
} Test;

typedef struct RowSearch
{
	Relation	heap;
	Snapshot	snapshot;
	BloomxColumns *columns;
	Test	   *tests;
	int			n;
	ExprState  *predicate;
	EState	   *estate;			/* of the predicate and of expressions; NULL: there are none */
	TupleTableSlot *slot;
	MemoryContext memory;		/* of the rows of a block */
	TIDBitmap  *bitmap;
	bool		recheck;		/* there are conditions that are not tested */
	int64		found;
} RowSearch;

/*
 * A query that implies the predicate of the index does not run it.  So functions of it that the
 * table's owner may have made must not run here, with the privileges of another user.
 */
bool
BloomxCanFindRows(Relation heap, Relation index, Snapshot snapshot, BlockNumber blocks)
{
	return heap->rd_rel->relam == HEAP_TABLE_AM_OID && snapshot != NULL && IsMVCCSnapshot(snapshot) &&
		blocks / 8 <= work_mem * (uint64) 1024 && !contain_leaked_vars((Node *) RelationGetIndexPredicate(index));
}

/* As the executor calls an operator: NULL, which is what @? and @@ make of a failing jsonpath, is not true. */
static bool
OperatorHolds(const Test *test, Datum value, Datum argument)
{
	LOCAL_FCINFO(call, 2);
	Datum		result;

	InitFunctionCallInfoData(*call, &test->key->sk_func, 2, test->key->sk_collation, NULL, NULL);
	call->args[0] = (NullableDatum) {.value = value};
	call->args[1] = (NullableDatum) {.value = argument};
	result = FunctionCallInvoke(call);
	return !call->isnull && DatumGetBool(result);
}

/* True if some element with a hash of the value's meets the condition with it. */
static bool
MeetsElements(RowSearch *search, const Test *test, Datum value)
{
	int			column = test->key->sk_attno - 1;
	KeyHashes  *hashes = &search->columns->hashes;

	hashes->n = 0;
	search->columns->extractors[column]->value(search->columns->extractors[column], value, hashes);
	for (uint32 i = 0; i < hashes->n; i++)
		for (uint32 number = FirstOf(test->elements, BloomxHashInColumn(hashes->hash[i], column)); number > 0;
			 number = test->elements->elements[number - 1].next)
			if (OperatorHolds(test, value, test->elements->elements[number - 1].value))
				return true;
	return false;
}

static bool
Meets(RowSearch *search, const Test *test, HeapTuple tuple)
{
	bool		isnull;
	Datum		value = test->column > 0 ? heap_getattr(tuple, test->column, RelationGetDescr(search->heap), &isnull) :
		ExecEvalExprSwitchContext(test->expression, GetPerTupleExprContext(search->estate), &isnull);

	if (test->key->sk_flags & SK_SEARCHNULL)
		return isnull;
	if (test->key->sk_flags & SK_SEARCHNOTNULL)
		return !isnull;
	if (isnull || test->key->sk_flags & SK_ISNULL)
		return false;
	if (test->elements != NULL)
		return MeetsElements(search, test, value);
	return OperatorHolds(test, value, test->key->sk_argument);
}

static bool
MeetsAll(RowSearch *search, HeapTuple tuple, Buffer buffer)
{
	if (search->slot != NULL)
		ExecStoreBufferHeapTuple(tuple, search->slot, buffer);
	if (search->predicate != NULL && !ExecQual(search->predicate, GetPerTupleExprContext(search->estate)))
		return false;
	for (int i = 0; i < search->n; i++)
		if (!Meets(search, &search->tests[i], tuple))
			return false;
	return true;
}

/* Sets tuple to the row at a line pointer; false if there is none. */
static bool
GetTuple(const RowSearch *search, Page page, BlockNumber block, OffsetNumber offset, HeapTuple tuple)
{
	ItemId		item = PageGetItemId(page, offset);

	if (!ItemIdIsNormal(item))
		return false;
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	tuple->t_tableOid = RelationGetRelid(search->heap);
	ItemPointerSet(&tuple->t_self, block, offset);
	return true;
}

/* The visible rows of a locked block; roots gets the first line pointer of each one's chain, by which the executor finds it. */
static int
VisibleRows(const RowSearch *search, Buffer buffer, BlockNumber block, OffsetNumber *offsets, OffsetNumber *roots)
{
	Page		page = BufferGetPage(buffer);
	bool		all = PageIsAllVisible(page) && !search->snapshot->takenDuringRecovery,
				chains = false;
	int			n = 0;
	HeapTupleData tuple;

	CheckForOldSnapshot(search->snapshot, search->heap, page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		bool		visible;

		if (!GetTuple(search, page, block, offset, &tuple))
			continue;
		visible = all || HeapTupleSatisfiesVisibility(&tuple, search->snapshot, buffer);
		HeapCheckForSerializableConflictOut(visible, search->heap, &tuple, buffer, search->snapshot);
		if (!visible)
			continue;
		chains |= HeapTupleIsHeapOnly(&tuple);
		offsets[n++] = offset;
	}
	if (chains)
		heap_get_root_tuples(page, roots);
	for (int i = 0; i < n && !chains; i++)
		roots[offsets[i] - 1] = offsets[i];
	return n;
}

/* The rows are tested without a lock, since operators may do anything; what is visible stays where it is while the page is pinned. */
static void
FindRowsOfBlock(RowSearch *search, BlockNumber block, Buffer buffer)
{
	OffsetNumber offsets[MaxHeapTuplesPerPage],
				roots[MaxHeapTuplesPerPage];
	ItemPointerData tids[MaxHeapTuplesPerPage];
	int			visible,
				found = 0;
	MemoryContext old = MemoryContextSwitchTo(search->memory);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	visible = VisibleRows(search, buffer, block, offsets, roots);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	for (int i = 0; i < visible; i++)
	{
		OffsetNumber root = roots[offsets[i] - 1];
		HeapTupleData tuple;

		(void) GetTuple(search, BufferGetPage(buffer), block, offsets[i], &tuple);
		if (OffsetNumberIsValid(root) && MeetsAll(search, &tuple, buffer))
		{
			ItemPointerSet(&tids[found], block, root);
			found++;
		}
		if (search->estate != NULL)
			ResetPerTupleExprContext(search->estate);
	}
	if (search->slot != NULL)
		ExecClearTuple(search->slot);
	ReleaseBuffer(buffer);
	MemoryContextSwitchTo(old);
	MemoryContextReset(search->memory);
	tbm_add_tuples(search->bitmap, tids, found, search->recheck);
	search->found += found;
}

static bool
IsIn(const uint8 *in, BlockNumber block)
{
	return in[block / 8] >> block % 8 & 1;
}

/* The first block of the set from `block` on. */
static BlockNumber
NextBlock(const uint8 *in, BlockNumber block, BlockNumber blocks)
{
	while (block < blocks && !IsIn(in, block))
		block += in[block / 8] >> block % 8 == 0 ? 8 - block % 8 : 1;
	return Min(block, blocks);
}

/* Pins a block, and fetches it into the processor's cache while the one before it is looked at: of integers a quarter of the time. */
static Buffer
PinBlock(const RowSearch *search, BlockNumber block, BlockNumber blocks)
{
	Buffer		buffer = block < blocks ? ReadBuffer(search->heap, block) : InvalidBuffer;

	for (int i = 0; i < BLCKSZ && BufferIsValid(buffer); i += 64)
		__builtin_prefetch((const char *) BufferGetPage(buffer) + i);
	return buffer;
}

/* Prefetches blocks as far ahead as a bitmap heap scan does, but for those of which the system knows that they follow. */
static void
FindRowsOfBlocks(RowSearch *search, const uint8 *in, BlockNumber blocks)
{
	int			distance = get_tablespace_io_concurrency(search->heap->rd_rel->reltablespace);
	BlockNumber block = NextBlock(in, 0, blocks),
				ahead = block;
	Buffer		buffer = PinBlock(search, block, blocks);

	for (int i = 0; i < distance; i++)
		ahead = NextBlock(in, ahead + 1, blocks);
	while (block < blocks)
	{
		BlockNumber next = NextBlock(in, block + 1, blocks);
		Buffer		next_buffer;

		CHECK_FOR_INTERRUPTS();
		if (distance > 1 && ahead < blocks && !IsIn(in, ahead - 1))
			PrefetchBuffer(search->heap, MAIN_FORKNUM, ahead);
		ahead = NextBlock(in, ahead + 1, blocks);
		next_buffer = PinBlock(search, next, blocks);
		FindRowsOfBlock(search, block, buffer);
		block = next;
		buffer = next_buffer;
	}
}

/* What is computed for each row: the predicate, since a block has rows that are not in the index, and columns. */
static void
PrepareExpressions(RowSearch *search, Relation index)
{
	List	   *expressions = RelationGetIndexExpressions(index),
			   *predicate = RelationGetIndexPredicate(index);
	int			number = 0;

	if (expressions == NIL && predicate == NIL)
		return;
	search->estate = CreateExecutorState();
	search->slot = table_slot_create(search->heap, NULL);
	GetPerTupleExprContext(search->estate)->ecxt_scantuple = search->slot;
	search->predicate = ExecPrepareQual(predicate, search->estate);
	for (int column = 1; column <= index->rd_index->indnkeyatts; column++)
	{
		Expr	   *expression;

		if (index->rd_index->indkey.values[column - 1] > 0)
			continue;
		expression = list_nth(expressions, number++);
		for (int i = 0; i < search->n; i++)
			if (search->tests[i].key->sk_attno == column)
				search->tests[i].expression = ExecPrepareExpr(expression, search->estate);
	}
}

int64
BloomxFindRows(const BloomxRowsAsked *asked, TIDBitmap *bitmap)
{
	RowSearch	search = {.heap = asked->heap, .snapshot = asked->snapshot, .columns = asked->columns, .bitmap = bitmap};

	search.memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx rows", ALLOCSET_DEFAULT_SIZES);
	search.tests = palloc(asked->nkeys * sizeof(Test));
	for (int i = 0; i < asked->nkeys; i++)
		if (asked->elements[i] == NULL && asked->keys[i]->sk_flags & SK_SEARCHARRAY)
			search.recheck = true;
		else
			search.tests[search.n++] = (Test) {.key = asked->keys[i], .elements = asked->elements[i],
			.column = asked->index->rd_index->indkey.values[asked->keys[i]->sk_attno - 1]};
	PrepareExpressions(&search, asked->index);
	FindRowsOfBlocks(&search, asked->in, asked->blocks);
	if (search.slot != NULL)
		ExecDropSingleTupleTableSlot(search.slot);
	if (search.estate != NULL)
		FreeExecutorState(search.estate);
	MemoryContextDelete(search.memory);
	return search.found;
}
