/*
 * settable.h - a set without a table of rows: the table access method bloomset_table.
 */
#pragma once

#include "pg/base/base.h"

#include "utils/rel.h"

#include "pg/bloomset/stages/view.h"

/* True if the relation is such a table, of any shape. */
extern bool IsSetTable(Relation rel);

/* Of a table without keys, makes the metapage: these are its keys. */
extern void BeginSetTable(Relation rel, const blx_identity *keys);

/* A stage as a filter. */
extern blx_filter *FilterOfStage(SetView *view, Relation rel, uint32 stage);

/*
 * Adds the keys of a filter: those of an open set one by one, and the others as bits, in a
 * stage of their geometry if its rate allows, else as stages of their own.
 */
extern void MergeIntoSetTable(Relation rel, const blx_filter *f);
