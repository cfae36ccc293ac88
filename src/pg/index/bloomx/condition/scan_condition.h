/*
 * scan_condition.h - what a scan asks of the keys of a row.
 */
#pragma once

#include "pg/base/base.h"

#include "access/skey.h"

#include "pg/index/bloomx/condition/columns.h"
#include "pg/index/bloomx/condition/elements.h"
#include "pg/index/bloomx/format/metapage.h"

/* Strategies of the operator class of filters. */
#define HOLDS_ALL_STRATEGY 1	/* ?& */
#define HOLDS_ANY_STRATEGY 2	/* ?| */
#define HOLDS_TEXT_STRATEGY 3	/* ?& text, and the next two: keys that have the type of the filters */
#define HOLDS_ALL_TEXTS_STRATEGY 4	/* ?& text[] */
#define HOLDS_ANY_TEXT_STRATEGY 5	/* ?| text[] */
#define OVERLAPS_STRATEGY 6		/* && */

extern KeyCondition *BloomxConditionOfProbe(const BloomxDirectory *directory, const blx_filter *probe, bool all);
extern KeyCondition *BloomxConditionOfOverlap(const BloomxDirectory *directory, const blx_filter *f);

/* Of a scan key on a value, with that argument, which is not NULL, and of IS NULL. */
extern KeyCondition *BloomxConditionOfValue(Relation index, BloomxColumns *columns, const ScanKeyData *key, Datum argument);
extern KeyCondition *BloomxConditionOfNull(int column);

/* The slices of a leaf in signatures of that many, of which the keys say the parts. */
extern const uint32 *BloomxSlicesOfKey(const BloomxKeys *keys, KeyCondition *leaf, uint32 of_slices);

/* True if a pending row may meet the condition, which is HAS_ANY of the keys of these elements, if they are not NULL. */
extern bool BloomxRowMeets(const BloomxKeys *keys, const uint64 *row, KeyCondition *condition, const BloomxElements *elements);
