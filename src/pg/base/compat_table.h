/*
 * compat_table.h - differences between the supported PostgreSQL versions that only a
 * table access method meets, and who looks at a table's files.
 */
#pragma once

#include "pg/base/compat.h"

#include "access/tableam.h"
#include "commands/vacuum.h"

#if PG_VERSION_NUM < 160000
#define relation_set_new_filelocator relation_set_new_filenode
#define NEW_FILE_SUBID(relation) ((relation)->rd_firstRelfilenodeSubid)
#else
#define NEW_FILE_SUBID(relation) ((relation)->rd_firstRelfilelocatorSubid)
#endif

/* VACUUM counts frozen pages, too; sets have neither these nor visible ones */
#if PG_VERSION_NUM < 180000
#define UpdateTableStatistics(rel, pages, tuples, xid, multi) vac_update_relstats(rel, pages, tuples, 0, false, xid, multi, NULL, NULL, false)
#else
#define UpdateTableStatistics(rel, pages, tuples, xid, multi) vac_update_relstats(rel, pages, tuples, 0, 0, false, xid, multi, NULL, NULL, false)
#endif

/* bitmap scans read a block and then its tuples */
#if PG_VERSION_NUM < 180000
#define RefuseBitmapScans(routine) ((routine)->scan_bitmap_next_block = NULL, (routine)->scan_bitmap_next_tuple = NULL)
#else
#define RefuseBitmapScans(routine) ((routine)->scan_bitmap_next_tuple = NULL)
#endif

#if PG_VERSION_NUM >= 190000
#define InsertOptions uint32
#define CLUSTER_PARAMETERS bool sort, TransactionId oldest, Snapshot snapshot
#else
#define InsertOptions int
#define CLUSTER_PARAMETERS bool sort, TransactionId oldest
#endif
