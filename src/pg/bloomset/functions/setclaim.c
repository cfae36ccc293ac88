/*
 * setclaim.c - bloomset_claim: a key is new, and is remembered only if the transaction
 * commits.
 *
 * The session keeps the claimed hashes, and sets their bits just before the commit record
 * is written, or that of PREPARE TRANSACTION.  Until the transaction ends it holds an
 * lock of each hash: so another session that claims or adds the key waits, and then
 * finds it, or may have it.  A subtransaction that is rolled back takes its claims away.
 *
 * If an error comes between these bits and the commit record (a serialization failure,
 * say), or a prepared transaction is rolled back, the key stays remembered.
 */
#include "pg/bloomset/functions/setcall.h"

#include "access/relation.h"
#include "access/xact.h"
#include "utils/memutils.h"

#include "pg/bloomset/stages/adding.h"
#include "pg/bloomset/table/settable.h"

typedef struct Claim
{
	Oid			set;
	SubTransactionId subtransaction;
	uint64		hash;
} Claim;

static Claim *claims = NULL;	/* in TopTransactionContext */
static uint32 n_claims = 0,
			room = 0;

/* Set by set, however they alternate: each is opened once. */
static void
AddClaims(void)
{
	for (uint32 i = 0; i < n_claims; i++)
	{
		Oid			set = claims[i].set;
		/* it may have been dropped, or emptied, by this transaction */
		Relation	rel = OidIsValid(set) ? try_relation_open(set, RowExclusiveLock) : NULL;
		SetView    *view = rel != NULL && IsSetTable(rel) && HasMetaPage(rel) ? OpenSetView(rel, false) : NULL;

		for (uint32 j = i; j < n_claims && view != NULL; j++)
			if (claims[j].set == set)
			{
				(void) AddKeyToSet(view, rel, claims[j].hash);
				claims[j].set = InvalidOid;
			}
		if (rel != NULL)
			relation_close(rel, NoLock);
	}
}

static void
ForgetClaims(void)
{
	claims = NULL;
	n_claims = room = 0;
}

static void
AtTransactionEnd(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		AddClaims();
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		ForgetClaims();
}

static void
AtSubtransactionEnd(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	uint32		kept = 0;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	for (uint32 i = 0; i < n_claims; i++)
	{
		Claim		claim = claims[i];

		if (claim.subtransaction == mine && event == SUBXACT_EVENT_ABORT_SUB)
			continue;
		if (claim.subtransaction == mine)
			claim.subtransaction = parent;
		claims[kept++] = claim;
	}
	n_claims = kept;
}

bool
IsClaimedHere(Oid set, uint64 hash)
{
	for (uint32 i = 0; i < n_claims; i++)
		if (claims[i].hash == hash && claims[i].set == set)
			return true;
	return false;
}

static void
RememberClaim(Oid set, uint64 hash)
{
	static bool is_registered = false;

	if (!is_registered)
	{
		RegisterXactCallback(AtTransactionEnd, NULL);
		RegisterSubXactCallback(AtSubtransactionEnd, NULL);
		is_registered = true;
	}
	if (n_claims == room)
	{
		room = Max(64, 2 * room);
		claims = claims == NULL ? MemoryContextAlloc(TopTransactionContext, room * sizeof(Claim)) : repalloc_huge(claims, room * sizeof(Claim));
	}
	(void) GetCurrentTransactionId();	/* so that the WAL is flushed at COMMIT */
	claims[n_claims++] = (Claim) {.set = set, .subtransaction = GetCurrentSubTransactionId(), .hash = hash};
}

/* bloomset_claim(set regclass, key anycompatible) */
PG_FUNCTION_INFO_V1(bloomset_claim);
Datum
bloomset_claim(PG_FUNCTION_ARGS)
{
	SetCall    *call = OpenSetToAdd(fcinfo, "bloomset_claim()");
	MemoryContext old = MemoryContextSwitchTo(call->row_memory);
	uint64		hash;
	bool		is_new = false;

	LookupSetArgument(call, fcinfo, false);
	if (HashKeyToAdd(call, PG_GETARG_DATUM(1), &hash) && !TestSetToAdd(call->view, call->rel, hash))
	{
		ExpectClaims(call->view, call->rel);
		is_new = (LockKey(call->rel, hash) || !IsClaimedHere(call->id, hash)) && !TestSetToAdd(call->view, call->rel, hash);
		if (is_new)
			RememberClaim(call->id, hash);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(call->row_memory);
	CloseSet(call);
	PG_RETURN_BOOL(is_new);
}
