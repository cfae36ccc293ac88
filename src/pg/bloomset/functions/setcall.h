/*
 * setcall.h - a function is called for a set: whether it may be, and what the call site
 * keeps between rows.
 */
#pragma once

#include "pg/base/base.h"

#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "utils/rel.h"

#include "pg/bloomset/keys/setkeys.h"
#include "pg/bloomset/stages/view.h"
#include "pg/value/callsite.h"

/* Stands in fn_extra. */
typedef struct SetCall
{
	MemoryContext memory;		/* of what follows; reset when the set becomes another one */
	Relation	rel;			/* open during a call only; NULL if it was not needed */
	Oid			id;
	SetView    *view;			/* NULL: a table without keys */
	SetKeys    *keys;			/* of an index; NULL: the set is a table */
	/* whose call was allowed, and the transaction that has the locks */
	Oid			user;
	LocalTransactionId transaction;
	SubTransactionId subtransaction;
	bool		always_checked; /* the snapshot matters, too */
	/* the key argument */
	MemoryContext row_memory;	/* reset with every row */
	CallCache	argument;
	Oid			type;			/* of the argument, or of its elements; InvalidOid = not looked up yet */
} SetCall;

/*
 * Opens the set that argument 0 names, to be read (ACL_SELECT) or to be added to
 * (ACL_INSERT, only tables); an error says why it cannot be.
 */
extern SetCall *OpenSet(FunctionCallInfo fcinfo, AclMode mode);

/* The same to test keys: if nothing can have changed since the last call, the relation is not opened. */
extern SetCall *OpenSetToTest(FunctionCallInfo fcinfo);

/* To be called at the end, unless there was an error. */
extern void CloseSet(SetCall *call);

/* Looks up the type of argument 1, a key or an array of keys. */
extern void LookupSetArgument(SetCall *call, FunctionCallInfo fcinfo, bool is_array);

/* The hash of that argument, or of an element.  False if a column of a row is NULL.  To add a key, the set must have a view. */
extern bool HashSetArgument(SetCall *call, Datum value, uint64 *hash);

/* True if the index has all rows: its creation is over. */
extern bool IsComplete(Relation index);

/* True if the snapshot may see rows that were dead when the index was built. */
extern bool IsTooNewFor(Relation index, const SetView *view, Snapshot snapshot);

/* The table whose keys these are. */
extern Relation OpenTableOfSet(const SetCall *call);

/* Opens the set for the SQL function of that name, which is refused where nothing can be written. */
extern SetCall *OpenSetToAdd(FunctionCallInfo fcinfo, const char *function);

/* As HashSetArgument; the first key fixes the type of the set's keys. */
extern bool HashKeyToAdd(SetCall *call, Datum value, uint64 *hash);

/* True if this transaction has claimed the key (setclaim.c). */
extern bool IsClaimedHere(Oid set, uint64 hash);
