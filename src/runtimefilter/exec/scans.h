/*
 * scans.h - scans that read less: rows of a page together, runs of pages, partitions.
 */
#pragma once

#include "runtimefilter/query/registry.h"

/* ---- heapscan.c ---- */

/* Prepares a sequential scan of a heap.  False if the point is something else. */
extern bool ConsiderHeapScan(FilterPoint *point);

/* ---- pageruns.c ---- */

/* Prepares a sequential scan of a heap to skip pages.  Does nothing where that is not possible. */
extern void ConsiderPages(FilterPoint *point);

/* A scan of the table begins: decides how.  False if it has no page to read. */
extern bool BeginPages(FilterPoint *point);

/* Limits a scan that is in runs of pages to the next one.  False if there is none. */
extern bool NextRun(FilterPoint *point);

/* Gives back what the scan's questions hold. */
extern void EndPages(FilterPoint *point);

/* The pages of the scans in which the filter asked about page ranges. */
extern uint64 PagesSeen(const AppliedFilter *applied);

/* ---- partitions.c ---- */

/* Prepares the scan of a partition.  Does nothing if the table is none. */
extern void ConsiderPartition(FilterPoint *point);

/* True if a filter says that the partition has no matching row. */
extern bool PartitionIsExcluded(FilterPoint *point);
