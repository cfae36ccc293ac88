/*
 * append.h - INSERT makes a row a pending row.
 */
#ifndef BLOOMX_APPEND_H
#define BLOOMX_APPEND_H

#include "pg/base/base.h"

#include "pg/index/bloomx/pending/list.h"

#pragma GCC visibility push(hidden)

/*
 * Makes a row a pending row.  *step is the step of a merge that is due then.  False
 * if the index has other keys by now than those that the row was made for.
 */
extern bool BloomxAppendRow(Relation index, BloomxTarget *target, const BloomxKeys *keys, const uint64 *row, uint32 *step);

#pragma GCC visibility pop

#endif							/* BLOOMX_APPEND_H */
