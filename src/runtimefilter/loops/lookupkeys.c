/*
 * lookupkeys.c - by which keys the inner rows of a nested loop can be looked up.
 *
 * The join condition is a list of clauses that all have to hold.  Those that are
 * equalities between the two sides, and can be hashed, are keys together.  If there is an
 * OR each of whose arms is, or contains, such equalities, a row of the inner side is
 * found by any arm; what stands beside the OR belongs to each of them.  For an OR the
 * server has no join but the loop.
 *
 * The loop checks its whole condition for the rows that are found, so keys need not say
 * everything.  But they must not let a pair of rows be skipped for which the server would have
 * computed something that is felt: a volatile function, or an error.  The server computes
 * the first clause for each pair, and others only if those before hold.  So keys are columns, but those
 * of the first clause may be computed.
 *
 * What other clauses would have computed of pairs without a match is not computed, as in a hash join: an error of theirs
 * may not come up.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "runtimefilter/loops/lookupkeys.h"
#include "runtimefilter/query/volatility.h"

/* An OR of more arms is better hashed by hand. */
#define MOST_ARMS 16

/* ---- is it worth looking? ---- */

static bool
IsOr(Node *clause)
{
	return IsA(clause, BoolExpr) && ((BoolExpr *) clause)->boolop == OR_EXPR;
}

static bool
IsAnd(Node *clause)
{
	return IsA(clause, BoolExpr) && ((BoolExpr *) clause)->boolop == AND_EXPR;
}

bool
MayHaveLookupKeys(const NestLoop *plan)
{
	ListCell   *lc;

	foreach(lc, plan->join.joinqual)
		if (IsA(lfirst(lc), OpExpr) || IsOr(lfirst(lc)))
			return true;
	return false;
}

static bool
AddInnerColumns(Node *node, void *columns)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varno == INNER_VAR)
		*(Bitmapset **) columns = bms_add_member(*(Bitmapset **) columns, ((Var *) node)->varattno);
	return expression_tree_walker(node, AddInnerColumns, columns);
}

Bitmapset *
InnerColumns(const NestLoop *plan)
{
	Bitmapset  *columns = NULL;

	(void) AddInnerColumns((Node *) plan->join.plan.targetlist, &columns);
	(void) AddInnerColumns((Node *) plan->join.plan.qual, &columns);
	(void) AddInnerColumns((Node *) plan->join.joinqual, &columns);
	return columns;
}

/* ---- one equality ---- */

/* Which sides an expression has columns of: bits 1 << LoopSide; more bits if it has something else. */
static bool
AddSides(Node *node, void *sides)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		*(int *) sides |= ((Var *) node)->varno == OUTER_VAR ? 1 << OUTER_SIDE :
			((Var *) node)->varno == INNER_VAR && ((Var *) node)->varattno > 0 ? 1 << INNER_SIDE : 4;
	return expression_tree_walker(node, AddSides, sides);
}

static int
SidesOf(Node *expression)
{
	int			sides = 0;

	(void) AddSides(expression, &sides);
	return sides;
}

/* What an equality compares, while keys are looked for. */
typedef struct FoundKey
{
	Node	   *values[2];		/* of each side */
	KeyCoder	coders[2];
} FoundKey;

/* The key of a clause; NULL if it is none. */
static FoundKey *
KeyOfClause(FilteredQuery *query, Node *clause, bool is_first)
{
	OpExpr	   *equality = (OpExpr *) clause;
	FoundKey   *key;
	LoopSide	left;

	if (!IsA(clause, OpExpr) || list_length(equality->args) != 2)
		return NULL;
	switch (SidesOf(linitial(equality->args)) | SidesOf(lsecond(equality->args)) << 3)
	{
		case 1 << OUTER_SIDE | 1 << INNER_SIDE << 3:
			left = OUTER_SIDE;
			break;
		case 1 << INNER_SIDE | 1 << OUTER_SIDE << 3:
			left = INNER_SIDE;
			break;
		default:
			return NULL;
	}
	key = palloc0(sizeof(FoundKey));
	key->values[left] = linitial(equality->args);
	key->values[!left] = lsecond(equality->args);
	for (int side = 0; side < 2; side++)
		if (PlainColumn(key->values[side]) == NULL &&
			(!is_first || IsVolatile(key->values[side]) || HasParameter(key->values[side])))
			return NULL;
	if (!op_hashjoinable(equality->opno, exprType(key->values[left])) ||
		!MakeKeyCoders(equality->opno, equality->inputcollid, &key->coders[left], &key->coders[!left]) ||
		!HasCodes(&key->coders[OUTER_SIDE], exprType(key->values[OUTER_SIDE])) ||
		!HasCodes(&key->coders[INNER_SIDE], exprType(key->values[INNER_SIDE])))
		return NULL;
	/* a clause before this one may hide rows, and its functions get none of them */
	if (!is_first && !MayTestEarly(query, equality->opno))
		return NULL;
	return key;
}

/* ---- the condition ---- */

/* The keys of an arm of an OR; NIL if it has none. */
static List *
KeysOfArm(FilteredQuery *query, Node *arm)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, IsAnd(arm) ? ((BoolExpr *) arm)->args : list_make1(arm))
	{
		FoundKey   *key = KeyOfClause(query, lfirst(lc), false);

		if (key != NULL)
			keys = lappend(keys, key);
	}
	return keys;
}

/* A List of the keys of each arm; NIL if some arm has none. */
static List *
KeysOfOr(FilteredQuery *query, BoolExpr *clause)
{
	List	   *arms = NIL;
	ListCell   *lc;

	if (list_length(clause->args) > MOST_ARMS)
		return NIL;
	foreach(lc, clause->args)
	{
		List	   *keys = KeysOfArm(query, lfirst(lc));

		if (keys == NIL)
			return NIL;
		arms = lappend(arms, keys);
	}
	return arms;
}

static RowKey
PrepareKey(const FoundKey *found, LoopSide side)
{
	Var		   *column = PlainColumn(found->values[side]);
	RowKey		key = {.coder = found->coders[side]};

	if (column != NULL)
		key.column = column->varattno;
	else
		/* no parent: it has neither subplans nor parameters of the plan */
		key.expr = ExecInitExpr((Expr *) found->values[side], NULL);
	return key;
}

static LookupArm
PrepareArm(List *found)
{
	LookupArm	arm = {.n_keys = list_length(found)};

	for (int side = 0; side < 2; side++)
	{
		arm.keys[side] = palloc(arm.n_keys * sizeof(RowKey));
		for (int i = 0; i < arm.n_keys; i++)
			arm.keys[side][i] = PrepareKey(list_nth(found, i), side);
	}
	arm.is_integer = IsOneInteger(arm.keys[OUTER_SIDE], arm.n_keys) && IsOneInteger(arm.keys[INNER_SIDE], arm.n_keys);
	return arm;
}

LookupKeys *
FindLookupKeys(FilteredQuery *query, NestLoopState *node)
{
	List	   *clauses = ((NestLoop *) node->js.ps.plan)->join.joinqual,
			   *common = NIL,
			   *arms = NIL;
	LookupKeys *keys;
	ListCell   *lc;

	if (IsVolatile((Node *) clauses))
		return NULL;
	foreach(lc, clauses)
	{
		FoundKey   *key = KeyOfClause(query, lfirst(lc), foreach_current_index(lc) == 0);

		if (key != NULL)
			common = lappend(common, key);
		else if (arms == NIL && IsOr(lfirst(lc)))
			arms = KeysOfOr(query, lfirst(lc));
	}
	if (arms == NIL && common == NIL)
		return NULL;
	if (arms == NIL)
		arms = list_make1(NIL);
	keys = palloc0(sizeof(LookupKeys));
	keys->econtext = CreateExprContext(query->estate);
	keys->arms = palloc(list_length(arms) * sizeof(LookupArm));
	/* the key of the first clause comes first, for it is computed of each row, whatever else is NULL */
	foreach(lc, arms)
		keys->arms[keys->n_arms++] = PrepareArm(list_concat_copy(common, lfirst(lc)));
	keys->only_integer = keys->n_arms == 1 && keys->arms[0].is_integer;
	return keys;
}

/* ---- rows ---- */

void
ReadAllCodes(LookupKeys *keys, LoopSide side, TupleTableSlot *slot, ArmCode *codes)
{
	/* an expression makes values, and a hash function may detoast them */
	MemoryContext old = MemoryContextSwitchTo(keys->econtext->ecxt_per_tuple_memory);

	for (int arm = 0; arm < keys->n_arms; arm++)
		codes[arm].is_null = !ReadKeys(keys->arms[arm].keys[side], keys->arms[arm].n_keys, slot, keys->econtext, &codes[arm].code);
	MemoryContextSwitchTo(old);
	ResetExprContext(keys->econtext);
}
