/*
 * grouping.h - filters below nodes that make groups of rows.
 */
#pragma once

#include "runtimefilter/keys/keycode.h"

#include "nodes/plannodes.h"

/* The nodes that take a row on its way up to the join, from the lowest on. */
typedef struct ParentNode
{
	Plan	   *plan;
	bool		is_filtered;	/* the join itself */
	const struct ParentNode *above;
} ParentNode;

/*
 * True if the node makes groups, and all rows of a group have one code in that column
 * of its input, which the coder reads.
 */
extern bool IsGroupedBy(Plan *plan, AttrNumber column, const KeyCoder *coder);

/* True if the node might throw an error because a group that it makes (the first one), or takes, lacks some of its rows. */
extern bool PartOfGroupMightFail(const ParentNode *parent, bool is_first);
