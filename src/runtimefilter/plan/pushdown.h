/*
 * pushdown.h - which joins have filters, and where a key can be tested below a join.
 */
#pragma once

#include "runtimefilter/query/registry.h"

/* A key that a node's rows have: an expression over its columns, which are Vars of OUTER_VAR; and how to read it. */
typedef struct PushdownTarget
{
	PlanState  *ps;
	Node	   *key;
	KeyCoder	coder;
} PushdownTarget;

/*
 * The lowest nodes below an eligible join where a key of the side that it filters
 * can be tested, or a column that equals it: a List of PushdownTarget.  The key is an
 * expression over columns of that side, which are Vars of `side`;
 * is_always_computed says whether the join computes it for each row of that side.  *way gets all nodes where
 * it can be tested.
 */
extern List *FindTargets(RuntimeFilter *filter, Node *key, int side, bool is_always_computed, const KeyCoder *coder, List **way);

/* The key of a target in terms of the columns of the table that its node scans, which are Vars of 1; NULL if it scans none. */
extern Node *KeyOfTable(PlanState *ps, Node *key);

/* True if each build of the join has the same keys. */
extern bool BuildsAreAlike(const RuntimeFilter *filter);

/* ---- joins.c ---- */

/* Gives filters to the joins of a query that has been started, if wanted, and optional parts what they want. */
extern void AttachRuntimeFilters(EState *estate, PlanState *top, bool with_filters);
