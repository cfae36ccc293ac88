/*
 * append.h - INSERT makes a row a pending row.
 */
#ifndef BLOOMX_APPEND_H
#define BLOOMX_APPEND_H

#include "pg/base/base.h"

#include "pg/index/bloomx/pending/list.h"

#pragma GCC visibility push(hidden)

/* Makes a row of n words a pending row; returns the step of a merge that is due then, or 0. */
extern uint32 BloomxAppendRow(Relation index, BloomxTarget *target, const uint64 *row, uint32 n);

#pragma GCC visibility pop

#endif							/* BLOOMX_APPEND_H */
