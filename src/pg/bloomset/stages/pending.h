/*
 * pending.h - keys of inserted rows that are to go into a set before anybody needs them
 * there.
 */
#pragma once

#include "pg/bloomset/stages/view.h"

/* At load time. */
extern void InitPendingKeys(void);

/* Adds the key of a row that the transaction has inserted: now, or with others. */
extern void AddKeyOfRow(SetView *view, Relation index, uint64 hash);

/* The index is built anew, from all rows that the transaction has inserted. */
extern void ForgetPendingKeys(Oid set);
