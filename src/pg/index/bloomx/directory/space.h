/*
 * space.h - which pages of the index are used.
 */
#ifndef BLOOMX_SPACE_H
#define BLOOMX_SPACE_H

#include "pg/base/base.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

/* For each block, true if the directory says that it is used; an error if it is used twice. */
extern bool *BloomxMapPages(Relation index, const BloomxDirectory *directory);

/* Makes pages that nothing refers to free pages; returns how many are free.  Needs the directory lock. */
extern uint32 BloomxCollectFreePages(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_SPACE_H */
