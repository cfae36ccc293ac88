/*
 * setclaim.h - the claims of this transaction.
 */
#pragma once

#include "pg/base/base.h"

/* True if this transaction has claimed the key. */
extern bool IsClaimedHere(Oid set, uint64 hash);
