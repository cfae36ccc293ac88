/*
 * provisional.h - the geometry of filters before there is a segment.
 */
#ifndef BLOOMX_PROVISIONAL_H
#define BLOOMX_PROVISIONAL_H

#include "pg/base/base.h"

#include "pg/index/bloomx/format/metapage.h"

#pragma GCC visibility push(hidden)

/* The blocks and parts that a row's filter has by itself; 0 parts if it has no signature. */
extern blx_geometry BloomxOwnGeometry(const blx_filter *f);

/* Makes a provisional geometry, perhaps of 0 parts, one that holds such filters as well. */
extern void BloomxWidenKeys(Relation index, BloomxKeys *keys, const blx_geometry *own);

/*
 * Makes the index's provisional geometry, which is in keys, one that holds such
 * filters.  False if it does already.  Waits for the directory lock.
 */
extern bool BloomxWidenPending(Relation index, const BloomxKeys *keys, const blx_geometry *own);

/* Chooses the geometry, if it is provisional.  Needs the directory lock. */
extern void BloomxSettleGeometry(Relation index);

#pragma GCC visibility pop

#endif							/* BLOOMX_PROVISIONAL_H */
