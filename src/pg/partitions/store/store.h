/*
 * store.h - the relation, its directory, and changes of it.
 */
#pragma once

#include "pg/base/base.h"

#include "access/amapi.h"
#include "access/generic_xlog.h"

#include "pg/partitions/store/store_format.h"

/* The directory, as this backend last read it. */
typedef struct Store
{
	uint64		changes;
	bool		is_fed;			/* otherwise inserts may feed another store */
	uint32		nslots;
	StoreSlot  *slots;
	uint32	   *next;			/* of a leaf: its newest open filter; of an open filter: the one before it; NO_SLOT */
	struct HTAB *leaves;		/* leaf -> slot; made when it is needed */
	MemoryContext memory;		/* all of it, and what others derive from it */
	struct StoreRoot *roots;	/* candidates.c */
} Store;

/* The store, or NULL if there is none. */
extern Relation OpenStore(LOCKMODE mode);

/* The directory as it is now, valid until the next call; NULL if it is damaged. */
extern Store *ReadStore(Relation rel);

/*
 * From now on each partition is a candidate, on standbys, too, until somebody makes the store anew: for
 * who has a key and finds a store that is damaged.
 */
extern void GiveUpStore(Relation rel);
extern void ReportDamage(Relation rel, int level);

/* The metapage; and a page, locked, or InvalidBuffer if it is not that one.  Neither fails because of wrong checksums. */
extern Buffer ReadStoreMeta(Relation rel);
extern Buffer ReadStorePage(Relation rel, BlockNumber block, BloomxPageKind kind, uint64 generation, int mode);

/* The same as it was read last, or as it is now: for who looks whether it is current afterwards. */
extern Store *LastStore(Relation rel);

/* True if the directory has not changed since it was read.  Takes no lock. */
extern bool StoreIsCurrent(Relation rel, const Store *store);

/* False as long as there may be inserts that feed a store which this one has replaced. */
extern bool StoreIsFed(Relation rel);

/* Of one that is about to be replaced. */
extern void CloseStore(Relation rel);

/* The slot of a leaf, or NULL.  There is none in a store that is NULL. */
extern StoreSlot *FindLeaf(Store *store, Oid leaf);

/*
 * The slot of the open filter of a leaf into which keys go, or NO_SLOT.  One below the leaf's
 * generation has been superseded, or is about to be: a key that goes there is lost.
 */
extern uint32 NewestOpenFilter(const Store *store, const StoreSlot *leaf);

/* True if each row has its keys in the leaf's filters. */
static inline bool
LeafIsComplete(const Store *store, const StoreSlot *leaf)
{
	return store->is_fed && (leaf->state & LEAF_COMPLETE) != 0 && leaf->main < store->nslots;
}

static inline uint32
NumberOfSlot(const Store *store, const StoreSlot *slot)
{
	return (uint32) (slot - store->slots);
}

/* ---- changes ---- */

/* The metapage and up to three pages of the directory, locked exclusively, and changed by one WAL record. */
typedef struct StoreEdit
{
	Relation	rel;
	GenericXLogState *state;
	StoreMeta  *meta;
	int			n;
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	Page		pages[MAX_GENERIC_XLOG_PAGES];
	uint32		directory[MAX_GENERIC_XLOG_PAGES];	/* which page of it */
} StoreEdit;

extern void StartEdit(StoreEdit *edit, Relation rel);
extern StoreSlot *EditSlot(StoreEdit *edit, uint32 number);
extern void FinishEdit(StoreEdit *edit);

/* Of the metapage and of pages of the directory. */
extern void SetStoreChecksum(Page page);
extern void AbortEdit(StoreEdit *edit);

/* Starts an edit and returns the slot, if it is still that leaf's; otherwise NULL, and there is nothing to finish. */
extern StoreSlot *EditLeaf(StoreEdit *edit, Relation rel, uint32 number, Oid leaf);

/*
 * The lock of whoever takes pages or slots, or frees them: a heavyweight one, which nobody
 * keeps while it writes filters.  Under it, the slots that are free stay free.
 */
extern void LockStore(Relation rel);

/*
 * So many milliseconds a statement waits for others before it does without a filter, which only makes lookups slower until the
 * next VACUUM: a hundred changes of the directory, and less than a person notices.
 */
#define PATIENCE 100
extern bool TryLockStore(Relation rel, int milliseconds);
extern void UnlockStore(Relation rel);

/*
 * Makes room for a filter, whose width and blocks are set, and returns its slot, which nobody
 * frees until UnlockReserved or the end of the transaction; NO_SLOT if there is none.  *filter
 * gets the other fields.
 */
extern uint32 ReserveFilter(Relation rel, StoreSlot *filter);
extern void UnlockReserved(Relation rel, const StoreSlot *filter);

/* A new leaf; NO_SLOT if there is no room.  Needs the store's lock. */
extern uint32 AddLeaf(Relation rel, const StoreSlot *leaf);

/* Frees what nothing refers to any more, and what was reserved by processes that are gone. */
extern void FreeUnused(Relation rel);

/* A leaf may hold anything from now on, if the slot is still its own; it may be built again, or it is taken out. */
extern void GiveUpLeaf(Relation rel, uint32 number, Oid leaf);
extern void RemoveLeaf(Relation rel, uint32 number, Oid leaf);

/* ---- for the access method ---- */

/* The error for whoever wants to have rows in it, and the insert, which raises it. */
pg_noreturn extern void RefuseRows(Relation index);
extern bool bloomx_storeinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
							   IndexUniqueCheck unique, bool unchanged, struct IndexInfo *info);
