/*
 * store.c - the directory of the store, and changes of it.
 *
 * A change of the directory locks the metapage, then pages of the directory, and raises
 * the count of changes, all in one WAL record.  So whoever reads the count before and after
 * it has looked at filters knows that they were those of the directory all the time.
 */
#include "pg/partitions/store/store.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/transam.h"
#include "access/xloginsert.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "pg/base/objects.h"

/* ---- the store is no index of rows, and known by what refuses them ---- */

void
RefuseRows(Relation index)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("index \"%s\" is not for rows", RelationGetRelationName(index)),
			 errdetail("It has the keys of partitions; its table stays empty."),
			 errhint("Use bloomx_partitions to see what is in it.")));
}

bool
bloomx_storeinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
			IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info)
{
	RefuseRows(index);
}

static bool
IsStore(Relation rel)
{
	return rel->rd_indam != NULL && rel->rd_indam->aminsert == bloomx_storeinsert && RelationIsPermanent(rel);
}

/* ---- reading ---- */

/* As it was read last, of that relation. */
static Store *store = NULL;
static Oid	store_of = InvalidOid;

/* Cheap, and enough for who compares the count of changes with one that was read together with a checksum. */
static bool
IsMeta(Page page)
{
	return BloomxPageIs(page, META_PAGE, 0) && StoreMetaOf(page)->magic == STORE_MAGIC && StoreMetaOf(page)->version == STORE_VERSION;
}

void
SetStoreChecksum(Page page)
{
	BloomxGetPageOpaque(page)->extra = BloomxChecksum(StoreContents(page), PAGE_BYTES);
}

static bool
IsSound(Page page)
{
	return BloomxGetPageOpaque(page)->extra == BloomxChecksum(StoreContents(page), PAGE_BYTES);
}

/* A page whose checksum is wrong is read as an empty one, with a warning. */
Buffer
ReadStoreMeta(Relation rel)
{
	return ReadBufferExtended(rel, MAIN_FORKNUM, META_BLOCK, RBM_ZERO_ON_ERROR, NULL);
}

Buffer
ReadStorePage(Relation rel, BlockNumber block, BloomxPageKind kind, uint64 generation, int mode)
{
	Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_ON_ERROR, NULL);

	LockBuffer(buffer, mode);
	if (BloomxPageIs(BufferGetPage(buffer), kind, generation))
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

Relation
OpenStore(LOCKMODE mode)
{
	Relation	rel;
	Oid			oid;

	/* a transaction that has it locked hears of a REINDEX CONCURRENTLY only if it asks */
	AcceptInvalidationMessages();
	oid = PartitionStoreOid();
	if (mode != AccessShareLock && OidIsValid(oid))
	{
		/* before the old index is dropped, those who have the table locked are waited for */
		LockRelationOid(IndexGetRelation(oid, false), mode);
		oid = PartitionStoreOid();
	}
	rel = OidIsValid(oid) ? try_relation_open(oid, mode) : NULL;
	if (rel == NULL)
		return NULL;
	if (IsStore(rel))
		return rel;
	relation_close(rel, mode);
	return NULL;
}

bool
StoreIsCurrent(Relation rel, const Store *store)
{
	Buffer		buffer = ReadStoreMeta(rel);
	bool		same;

	/* what the caller has read must not be read after this, nor what it reads next before */
	pg_memory_barrier();
	same = IsMeta(BufferGetPage(buffer)) &&
		*(volatile uint64 *) &StoreMetaOf(BufferGetPage(buffer))->changes == store->changes;

	pg_memory_barrier();
	ReleaseBuffer(buffer);
	return same;
}

/* A file that is too short has been damaged. */
static bool
FiltersAreInFile(const Store *read, BlockNumber blocks)
{
	for (uint32 i = 0; i < read->nslots; i++)
		if (read->slots[i].kind == SLOT_FILTER && (uint64) read->slots[i].start + PagesOfFilter(&read->slots[i]) > blocks)
			return false;
	return true;
}

/* Links the open filters of each leaf, the newest first. */
static void
LinkOpenFilters(Store *read)
{
	for (uint32 i = 0; i < read->nslots; i++)
		read->next[i] = NO_SLOT;
	for (uint32 i = 0; i < read->nslots; i++)
	{
		const StoreSlot *filter = &read->slots[i];
		uint32	   *link;

		/* the slot of a leaf that was removed may be another leaf's by now */
		if (filter->kind != SLOT_FILTER || filter->owner >= read->nslots || read->slots[filter->owner].kind != SLOT_LEAF ||
			read->slots[filter->owner].leaf != filter->leaf)
			continue;
		for (link = &read->next[filter->owner]; *link != NO_SLOT && read->slots[*link].generation > filter->generation; link = &read->next[*link])
			;
		read->next[i] = *link;
		*link = i;
	}
}

/* The metapage is locked.  False if something is damaged. */
static bool
ReadDirectory(Store *read, Relation rel, Page metapage)
{
	const StoreMeta *meta = StoreMetaOf(metapage);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	if (!IsMeta(metapage) || !IsSound(metapage))
		return false;
	read->is_fed = meta->fed_from == FED;
	read->nslots = meta->slots;
	read->slots = MemoryContextAllocHuge(read->memory, (read->nslots + 1) * sizeof(StoreSlot));
	read->next = MemoryContextAllocHuge(read->memory, (read->nslots + 1) * sizeof(uint32));
	for (uint32 i = 0; i * SLOTS_PER_PAGE < read->nslots; i++)
	{
		Buffer		buffer = meta->directory[i] < blocks ?
			ReadStorePage(rel, meta->directory[i], DIRECTORY_PAGE, i, BUFFER_LOCK_SHARE) : InvalidBuffer;
		bool		sound;

		if (!BufferIsValid(buffer))
			return false;
		sound = IsSound(BufferGetPage(buffer));
		memcpy(read->slots + i * SLOTS_PER_PAGE, StoreContents(BufferGetPage(buffer)), SLOTS_PER_PAGE * sizeof(StoreSlot));
		UnlockReleaseBuffer(buffer);
		if (!sound)
			return false;
	}
	if (!FiltersAreInFile(read, blocks))
		return false;
	read->changes = meta->changes;
	return true;
}

Store *
LastStore(Relation rel)
{
	return store != NULL && store_of == RelationGetRelid(rel) ? store : ReadStore(rel);
}

Store *
ReadStore(Relation rel)
{
	MemoryContext memory;
	Store	   *read;
	Buffer		buffer;
	bool		done;

	if (store != NULL && StoreIsCurrent(rel, store))
		return store;
	if (store != NULL)
		MemoryContextDelete(store->memory);
	store = NULL;
	if (RelationGetNumberOfBlocks(rel) == 0)
		return NULL;
	memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx partition store", ALLOCSET_DEFAULT_SIZES);
	read = MemoryContextAllocZero(memory, sizeof(Store));
	read->memory = memory;
	buffer = ReadStoreMeta(rel);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	done = ReadDirectory(read, rel, BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	if (!done)
	{
		MemoryContextDelete(memory);
		return NULL;
	}
	LinkOpenFilters(read);
	MemoryContextSetParent(memory, CacheMemoryContext);
	store_of = RelationGetRelid(rel);
	return store = read;
}

typedef struct LeafEntry
{
	Oid			leaf;
	uint32		slot;
} LeafEntry;

StoreSlot *
FindLeaf(Store *store, Oid leaf)
{
	LeafEntry  *entry;

	if (store == NULL)
		return NULL;
	if (store->leaves == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(LeafEntry), .hcxt = store->memory};
		HTAB	   *leaves = hash_create("bloomx leaves", store->nslots + 1, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

		for (uint32 i = 0; i < store->nslots; i++)
			if (store->slots[i].kind == SLOT_LEAF)
				((LeafEntry *) hash_search(leaves, &store->slots[i].leaf, HASH_ENTER, NULL))->slot = i;
		store->leaves = leaves;
	}
	entry = hash_search(store->leaves, &leaf, HASH_FIND, NULL);
	return entry != NULL ? &store->slots[entry->slot] : NULL;
}

uint32
NewestOpenFilter(const Store *directory, const StoreSlot *leaf)
{
	uint32		newest = directory->next[NumberOfSlot(directory, leaf)];

	return newest != NO_SLOT && directory->slots[newest].generation >= leaf->generation ? newest : NO_SLOT;
}

/* ---- damage ---- */

static bool
IsGivenUp(Page page)
{
	return BloomxPageIs(page, META_PAGE, 0) && StoreMetaOf(page)->magic == STORE_GIVEN_UP;
}

/*
 * The whole page is in the WAL record: a standby's store may be sound, and it gets none of the keys
 * that come from now on.
 */
void
GiveUpStore(Relation rel)
{
	Buffer		buffer;
	bool		before;

	LockRelationForExtension(rel, ExclusiveLock);
	buffer = RelationGetNumberOfBlocks(rel) > 0 ? ReadStoreMeta(rel) : ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_NORMAL, NULL);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	UnlockRelationForExtension(rel, ExclusiveLock);
	before = IsGivenUp(BufferGetPage(buffer));
	if (!before)
	{
		GenericXLogState *state = GenericXLogStart(rel);
		Page		page = GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE);

		BloomxInitPage(page, META_PAGE, 0);
		StoreMetaOf(page)->magic = STORE_GIVEN_UP;
		GenericXLogFinish(state);
	}
	UnlockReleaseBuffer(buffer);
	if (!before)
		ReportDamage(rel, WARNING);
}

void
ReportDamage(Relation rel, int level)
{
	ereport(level,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("the store of partitions' keys is damaged"),
			 errdetail("Queries read all partitions of indexes with partition_lookup."),
			 errhint("REINDEX INDEX \"%s\", and call bloomx_seal for each such index.", RelationGetRelationName(rel))));
}

/* ---- changes ---- */

/* An insert has looked at the page before, so that it fails in the first statement at most after a page has changed in memory. */
pg_noreturn static void
RefuseEdit(StoreEdit *edit, BlockNumber block)
{
	Relation	rel = edit->rel;

	AbortEdit(edit);
	GiveUpStore(rel);
	BloomxReportCorruption(rel, block, "It is not as it was written.");
}

void
StartEdit(StoreEdit *edit, Relation rel)
{
	edit->rel = rel;
	edit->n = 1;
	edit->buffers[0] = ReadStoreMeta(rel);
	LockBuffer(edit->buffers[0], BUFFER_LOCK_EXCLUSIVE);
	edit->state = GenericXLogStart(rel);
	edit->pages[0] = GenericXLogRegisterBuffer(edit->state, edit->buffers[0], 0);
	edit->directory[0] = NO_SLOT;
	edit->meta = StoreMetaOf(edit->pages[0]);
	if (!IsMeta(edit->pages[0]) || !IsSound(edit->pages[0]))
		RefuseEdit(edit, META_BLOCK);
}

StoreSlot *
EditSlot(StoreEdit *edit, uint32 number)
{
	uint32		page = number / SLOTS_PER_PAGE;
	int			i = 1;

	while (i < edit->n && edit->directory[i] != page)
		i++;
	if (i == edit->n)
	{
		Assert(i < MAX_GENERIC_XLOG_PAGES && number < edit->meta->slots);
		edit->buffers[i] = ReadStorePage(edit->rel, edit->meta->directory[page], DIRECTORY_PAGE, page, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(edit->buffers[i]))
			RefuseEdit(edit, edit->meta->directory[page]);
		edit->pages[i] = GenericXLogRegisterBuffer(edit->state, edit->buffers[i], 0);
		edit->directory[i] = page;
		edit->n++;
		if (!IsSound(edit->pages[i]))
			RefuseEdit(edit, edit->meta->directory[page]);
	}
	return (StoreSlot *) StoreContents(edit->pages[i]) + number % SLOTS_PER_PAGE;
}

StoreSlot *
EditLeaf(StoreEdit *edit, Relation rel, uint32 number, Oid leaf)
{
	StoreSlot  *slot;

	StartEdit(edit, rel);
	slot = EditSlot(edit, number);
	if (slot->kind == SLOT_LEAF && slot->leaf == leaf)
		return slot;
	AbortEdit(edit);
	return NULL;
}

static void
ReleaseEdit(StoreEdit *edit)
{
	while (edit->n > 0)
		UnlockReleaseBuffer(edit->buffers[--edit->n]);
}

void
FinishEdit(StoreEdit *edit)
{
	edit->meta->changes++;
	for (int i = 0; i < edit->n; i++)
		SetStoreChecksum(edit->pages[i]);
	GenericXLogFinish(edit->state);
	ReleaseEdit(edit);
}

void
AbortEdit(StoreEdit *edit)
{
	GenericXLogAbort(edit->state);
	ReleaseEdit(edit);
}

bool
StoreIsFed(Relation rel)
{
	Oid			table = rel->rd_index->indrelid;
	/* nobody is about to replace a store: if it is still the one in use, whoever has closed it has failed */
	bool		is_locked = ConditionalLockRelationOid(table, ShareUpdateExclusiveLock),
				is_kept = is_locked && PartitionStoreOid() == RelationGetRelid(rel);
	StoreEdit	edit;
	uint64		from;

	StartEdit(&edit, rel);
	from = edit.meta->fed_from;
	/* who has opened the old store has a number below this one by now */
	if (from == SWAPPED)
		edit.meta->fed_from = U64FromFullTransactionId(ReadNextFullTransactionId());
	else if (from == CLOSED ? is_kept : from != FED && !TransactionIdPrecedes(GetOldestNonRemovableTransactionId(NULL),
															   XidFromFullTransactionId(FullTransactionIdFromU64(from))))
		edit.meta->fed_from = FED;
	if (edit.meta->fed_from == from)
		AbortEdit(&edit);
	else
	{
		from = edit.meta->fed_from;
		FinishEdit(&edit);
	}
	if (is_locked)
		UnlockRelationOid(table, ShareUpdateExclusiveLock);
	return from == FED;
}

void
CloseStore(Relation rel)
{
	StoreEdit	edit;

	StartEdit(&edit, rel);
	edit.meta->fed_from = CLOSED;
	FinishEdit(&edit);
}

void
LockStore(Relation rel)
{
	LockPage(rel, META_BLOCK, ExclusiveLock);
}

bool
TryLockStore(Relation rel, int milliseconds)
{
	while (!ConditionalLockPage(rel, META_BLOCK, ExclusiveLock))
	{
		if (milliseconds-- <= 0)
			return false;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	return true;
}

void
UnlockStore(Relation rel)
{
	UnlockPage(rel, META_BLOCK, ExclusiveLock);
}

/* ---- slots and pages ---- */

static BlockNumber
ExtendStore(Relation rel, uint32 pages)
{
	BlockNumber first = InvalidBlockNumber;

	for (uint32 i = 0; i < pages; i++)
	{
		Buffer		buffer = ReadBufferExtended(rel, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);

		if (i == 0)
			first = BufferGetBlockNumber(buffer);
		BloomxInitPage(BufferGetPage(buffer), FREE_PAGE, 0);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
	/* recovery, and a standby, make the file as long: one that takes over has no pages beyond its end */
	if (RelationNeedsWAL(rel))
		log_newpage_range(rel, MAIN_FORKNUM, first + pages - 1, first + pages, true);
	return first;
}

static BlockNumber
TakePages(Relation rel, uint32 pages)
{
	StoreEdit	edit;
	BlockNumber start;

	StartEdit(&edit, rel);
	start = BloomxTakeRun(edit.meta->free, &edit.meta->free_runs, pages);
	if (start == InvalidBlockNumber)
	{
		AbortEdit(&edit);
		return ExtendStore(rel, pages);
	}
	FinishEdit(&edit);
	return start;
}

/* Makes the directory longer by a page. */
static void
ExtendDirectory(Relation rel)
{
	BlockNumber block = TakePages(rel, 1);
	Buffer		buffer = ReadBuffer(rel, block);
	StoreEdit	edit;
	uint32		page;

	StartEdit(&edit, rel);
	page = edit.meta->slots / SLOTS_PER_PAGE;
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	edit.buffers[edit.n] = buffer;
	edit.pages[edit.n] = GenericXLogRegisterBuffer(edit.state, buffer, GENERIC_XLOG_FULL_IMAGE);
	BloomxInitPage(edit.pages[edit.n++], DIRECTORY_PAGE, page);
	edit.meta->directory[page] = block;
	edit.meta->slots += SLOTS_PER_PAGE;
	FinishEdit(&edit);
}

/* A slot that is free, and stays so under the store's lock; NO_SLOT if there are too many. */
static uint32
FreeSlot(Relation rel)
{
	for (;;)
	{
		const Store *store = ReadStore(rel);

		if (store == NULL)
			BloomxReportCorruption(rel, META_BLOCK, "The directory is damaged.");
		for (uint32 i = 0; i < store->nslots; i++)
			if (store->slots[i].kind == SLOT_FREE)
				return i;
		if (store->nslots >= STORE_DIRECTORY_PAGES * SLOTS_PER_PAGE)
		{
			ereport(WARNING,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("the store of partitions' keys has room for no more partitions"),
					 errdetail("Queries read the partitions that are not in it.  There is room for about %u.", (uint32) (STORE_DIRECTORY_PAGES * SLOTS_PER_PAGE / 2)),
					 errhint("Drop indexes with partition_lookup that are not needed.")));
			return NO_SLOT;
		}
		ExtendDirectory(rel);
	}
}

uint32
ReserveFilter(Relation rel, StoreSlot *filter)
{
	uint32		number;
	StoreEdit	edit;

	LockStore(rel);
	number = FreeSlot(rel);
	if (number != NO_SLOT)
	{
		filter->kind = SLOT_FILTER;
		filter->owner = NO_SLOT;
		filter->start = TakePages(rel, PagesOfFilter(filter));
		LockPage(rel, filter->start, ExclusiveLock);
		StartEdit(&edit, rel);
		filter->generation = edit.meta->next_generation++;
		*EditSlot(&edit, number) = *filter;
		FinishEdit(&edit);
	}
	UnlockStore(rel);
	return number;
}

void
UnlockReserved(Relation rel, const StoreSlot *filter)
{
	UnlockPage(rel, filter->start, ExclusiveLock);
}

uint32
AddLeaf(Relation rel, const StoreSlot *leaf)
{
	uint32		number = FreeSlot(rel);
	StoreEdit	edit;

	if (number == NO_SLOT)
		return NO_SLOT;
	StartEdit(&edit, rel);
	*EditSlot(&edit, number) = *leaf;
	FinishEdit(&edit);
	return number;
}

void
GiveUpLeaf(Relation rel, uint32 number, Oid leaf)
{
	StoreEdit	edit;
	StoreSlot  *slot = EditLeaf(&edit, rel, number, leaf);

	if (slot == NULL)
		return;
	slot->state = 0;
	FinishEdit(&edit);
}

void
RemoveLeaf(Relation rel, uint32 number, Oid leaf)
{
	StoreEdit	edit;
	StoreSlot  *slot = EditLeaf(&edit, rel, number, leaf);

	if (slot == NULL)
		return;
	*slot = (StoreSlot) {.kind = SLOT_FREE};
	FinishEdit(&edit);
}

/* ---- what is no longer used ---- */

/* True if the process that made it is gone. */
static bool
IsAbandoned(Relation rel, const StoreSlot *filter)
{
	if (!ConditionalLockPage(rel, filter->start, ExclusiveLock))
		return false;
	UnlockPage(rel, filter->start, ExclusiveLock);
	return true;
}

static bool
IsUnused(Relation rel, const Store *directory, const bool *is_main, uint32 number)
{
	const StoreSlot *filter = &directory->slots[number],
			   *leaf;

	if (filter->kind != SLOT_FILTER || is_main[number])
		return false;
	if (filter->owner == NO_SLOT)	/* no leaf is left, unless it is just being made */
		return IsAbandoned(rel, filter);
	/* a leaf's slot may have become another leaf's */
	leaf = filter->owner < directory->nslots ? &directory->slots[filter->owner] : NULL;
	return leaf == NULL || leaf->kind != SLOT_LEAF || leaf->leaf != filter->leaf ||
		((leaf->state & LEAF_BUILDING) == 0 && filter->generation < leaf->generation);
}

/*
 * Whoever made a filter may just have given it to a leaf, and released its lock.  So the
 * directory must still be the one in which nothing referred to the filter.
 */
static bool
FreeFilter(Relation rel, uint32 number, uint64 changes)
{
	StoreEdit	edit;
	StoreSlot  *slot;

	StartEdit(&edit, rel);
	if (edit.meta->changes != changes)
	{
		AbortEdit(&edit);
		return false;
	}
	slot = EditSlot(&edit, number);
	BloomxAddRun(edit.meta->free, &edit.meta->free_runs, STORE_FREE_RUNS,
				 (BloomxRun) {.start = slot->start, .pages = PagesOfFilter(slot)}, false);
	*slot = (StoreSlot) {.kind = SLOT_FREE};
	FinishEdit(&edit);
	return true;
}

/* False if others have changed the directory meanwhile. */
static bool
FreeUnusedOf(Relation rel, const Store *directory)
{
	bool	   *is_main = palloc0(directory->nslots + 1);
	uint64		changes = directory->changes;
	bool		done = true;

	for (uint32 i = 0; i < directory->nslots; i++)
		if (directory->slots[i].kind == SLOT_LEAF && directory->slots[i].main < directory->nslots)
			is_main[directory->slots[i].main] = true;
	for (uint32 i = 0; i < directory->nslots && done; i++)
		if (IsUnused(rel, directory, is_main, i))
			done = FreeFilter(rel, i, changes++);
	pfree(is_main);
	return done;
}

void
FreeUnused(Relation rel)
{
	const Store *directory;

	LockStore(rel);
	while ((directory = ReadStore(rel)) != NULL && !FreeUnusedOf(rel, directory))
		CHECK_FOR_INTERRUPTS();
	UnlockStore(rel);
}
