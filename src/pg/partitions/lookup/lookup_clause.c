/*
 * lookup_clause.c - which keys a condition has.
 *
 * `column = value` and `column = ANY (array)`.  Whether the operator is the equality that the store's hashes are
 * made for, and how a value of the other type is hashed, is the store's to say.
 */
#include "pg/partitions/lookup/lookup_plan.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "pg/partitions/store/candidates.h"

/* A longer list of keys finds most partitions, and each key costs a question. */
#define MOST_KEYS 256

static bool
IsColumn(Node *node, Index relid, AttrNumber attribute)
{
	const Var  *var = (const Var *) WithoutRelabels(node);

	return IsA(var, Var) && var->varno == (int) relid && var->varattno == attribute && var->varlevelsup == 0;
}

/* What is on the other side of the column, or NULL. */
static Expr *
OtherSide(Node *clause, Index relid, AttrNumber attribute, bool *is_array)
{
	Node	   *value = NULL;

	if (IsA(clause, OpExpr) && list_length(((OpExpr *) clause)->args) == 2)
	{
		List	   *args = ((OpExpr *) clause)->args;

		*is_array = false;
		if (IsColumn(linitial(args), relid, attribute))
			value = lsecond(args);
		else if (IsColumn(lsecond(args), relid, attribute))
			value = linitial(args);
	}
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr)
	{
		List	   *args = ((ScalarArrayOpExpr *) clause)->args;

		*is_array = true;
		if (IsColumn(linitial(args), relid, attribute))
			value = lsecond(args);
	}
	return (Expr *) value;
}

/* The operator with the column on its left. */
static Oid
OperatorOf(Node *clause, Index relid, AttrNumber attribute)
{
	OpExpr	   *operation = (OpExpr *) clause;

	if (IsA(clause, ScalarArrayOpExpr))
		return ((ScalarArrayOpExpr *) clause)->opno;
	return IsColumn(linitial(operation->args), relid, attribute) ? operation->opno : get_commutator(operation->opno);
}

static bool
AddKey(const LookupValue *value, Oid type, Datum key, LookupQuestion *question)
{
	return LookupHashOf(question->root_index, question->column, value->operator, type, value->collation, key,
						&question->hashes[question->n_hashes++]);
}

/* The keys of an array; NULL equals nothing. */
static bool
AddKeys(const LookupValue *value, Datum datum, LookupQuestion *question)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	Oid			type = get_element_type(exprType((Node *) value->expr));
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *keys;
	bool	   *nulls;

	if (n > MOST_KEYS)
		return false;
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &keys, &nulls, &n);
	question->hashes = palloc(sizeof(uint64) * (n + 1));
	for (int i = 0; i < n; i++)
		if (!nulls[i] && !AddKey(value, type, keys[i], question))
			return false;
	return true;
}

bool
HashLookupValue(const LookupValue *value, Datum datum, bool is_null, LookupQuestion *question)
{
	question->n_hashes = 0;
	if (is_null)
		return true;
	if (value->is_array)
		return AddKeys(value, datum, question);
	question->hashes = palloc(sizeof(uint64));
	return AddKey(value, exprType((Node *) value->expr), datum, question);
}

static bool
FindValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value)
{
	value->expr = OtherSide(clause, relid, attribute, &value->is_array);
	if (value->expr == NULL)
		return false;
	value->operator = OperatorOf(clause, relid, attribute);
	value->collation = exprInputCollation(clause);
	return OidIsValid(value->operator);
}

bool
FindLookupValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value)
{
	/* its value cannot fail, and is the same for all rows */
	return FindValue(clause, relid, attribute, value) && (IsA(WithoutRelabels(value->expr), Const) || IsA(WithoutRelabels(value->expr), Param));
}

bool
FindComputedValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value)
{
	if (!FindValue(clause, relid, attribute, value))
		return false;
	return !contain_var_clause((Node *) value->expr) && !contain_volatile_functions((Node *) value->expr) && !contain_subplans((Node *) value->expr);
}

/* A column alone: it becomes a parameter, and what is computed of it does not. */
bool
FindOuterValue(Node *clause, Index relid, AttrNumber attribute, LookupValue *value)
{
	return FindValue(clause, relid, attribute, value) && IsA(WithoutRelabels(value->expr), Var) &&
		((const Var *) WithoutRelabels(value->expr))->varno != (int) relid;
}
