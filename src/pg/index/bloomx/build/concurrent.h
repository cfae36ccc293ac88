/*
 * concurrent.h - the rows of a concurrent build.
 */
#pragma once

#include "pg/base/base.h"

#include "access/genam.h"
#include "storage/buffile.h"
#include "utils/relcache.h"

/* The TIDs of the rows from which a concurrent build makes the index: begins a file of them, adds one, adds another file's, hands on all. */
extern BufFile *BloomxStartTidFile(Relation index);
extern void BloomxNoteTid(BufFile *file, const ItemPointerData *tid);
extern void BloomxCopyTids(BufFile *to, BufFile *from);
extern void BloomxReportTidFile(Relation index, IndexBulkDeleteCallback callback, void *state);
