/*
 * setclaim.h - the claims of this transaction.
 */
#ifndef BLOOMX_SETCLAIM_H
#define BLOOMX_SETCLAIM_H

#include "pg/base/base.h"

#pragma GCC visibility push(hidden)

/* True if this transaction has claimed the key. */
extern bool IsClaimedHere(Oid set, uint64 hash);

#pragma GCC visibility pop

#endif							/* BLOOMX_SETCLAIM_H */
