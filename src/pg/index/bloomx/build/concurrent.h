/*
 * concurrent.h - the rows of a concurrent build.
 */
#ifndef BLOOMX_CONCURRENT_H
#define BLOOMX_CONCURRENT_H

#include "pg/base/base.h"

#include "access/genam.h"
#include "storage/buffile.h"
#include "utils/relcache.h"

#pragma GCC visibility push(hidden)

/* The TIDs of the rows from which a concurrent build makes the index: begins a file of them, adds one, adds another file's, hands on all. */
extern BufFile *BloomxStartTidFile(Relation index);
extern void BloomxNoteTid(BufFile *file, const ItemPointerData *tid);
extern void BloomxCopyTids(BufFile *to, BufFile *from);
extern void BloomxReportTidFile(Relation index, IndexBulkDeleteCallback callback, void *state);

#pragma GCC visibility pop

#endif							/* BLOOMX_CONCURRENT_H */
