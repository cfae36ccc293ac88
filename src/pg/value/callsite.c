/*
 * callsite.c - what a call site keeps between rows.
 *
 * A query that tests one filter for many rows passes the same datum each time.
 * What does not change between rows is looked up, detoasted and checked once.
 */
#include "pg/value/callsite.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/value/value.h"

CallCache *
MakeCallCache(FmgrInfo *function)
{
	CallCache  *cache = MemoryContextAllocZero(function->fn_mcxt, sizeof(CallCache));

	cache->context = function->fn_mcxt;
	function->fn_extra = cache;
	return cache;
}

/* ---- the key type ---- */

/* The expression of argument n, or NULL. */
static Node *
ArgumentExpression(const FmgrInfo *function, int n)
{
	Node	   *call = function->fn_expr;
	List	   *args = NIL;

	if (call != NULL && IsA(call, FuncExpr))
		args = ((FuncExpr *) call)->args;
	else if (call != NULL && IsA(call, OpExpr))
		args = ((OpExpr *) call)->args;
	else if (call != NULL && IsA(call, ScalarArrayOpExpr))
		args = ((ScalarArrayOpExpr *) call)->args;
	return n < list_length(args) ? list_nth(args, n) : NULL;
}

/* True unless it is made of constants and parameters only, by nodes that the planner computes beforehand. */
static bool
DependsOnRow(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Param:
			return ((Param *) node)->paramkind != PARAM_EXTERN; /* others: a subquery's result, a row of a join */
		case T_List:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CollateExpr:
		case T_CaseExpr:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_SubscriptingRef:
		case T_RowExpr:
		case T_FieldSelect:
			return expression_tree_walker(node, DependsOnRow, context);
		default:
			return true;
	}
}

/*
 * A parameter is a constant in one plan and a Param in another, and what the
 * planner can compute from it is a constant in the first.  The answer must not
 * depend on the plan: so whatever the planner could compute is constant.
 */
bool
IsConstantExpression(Node *expression)
{
	return expression != NULL && !DependsOnRow(expression, NULL) && !contain_mutable_functions(expression);
}

/* The type of argument n. */
static Oid
ArgumentType(const FmgrInfo *function, int n)
{
	Oid			type = get_fn_expr_argtype((FmgrInfo *) function, n);

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_DATATYPE),
				 errmsg("could not determine the type of the bloom filter key")));
	return type;
}

/* A constant text may be meant as a key of any type. */
static KeyType *
LookupKey(CallCache *cache, FmgrInfo *function, int n, Oid type, Oid collation)
{
	if (type == TEXTOID && IsConstantExpression(ArgumentExpression(function, n)))
		LookupTextKey(&cache->key, collation, cache->context);
	else
		LookupKeyType(&cache->key, type, collation, cache->context);
	return &cache->key;
}

KeyType *
LookupCallKey(CallCache *cache, FmgrInfo *function, int n, Oid collation)
{
	return LookupKey(cache, function, n, ArgumentType(function, n), collation);
}

KeyType *
LookupCallElement(CallCache *cache, FmgrInfo *function, int n, Oid collation)
{
	Oid			array = ArgumentType(function, n),
				element = get_base_element_type(array);

	if (!OidIsValid(element))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("bloom filter keys must be given as an array, not as %s", format_type_be(array))));
	return LookupKey(cache, function, n, element, collation);
}

/* ---- the filter ---- */

/*
 * A filter that is no TOAST pointer.  If its layout can be checked by header and
 * length alone, one with an equal header needs no second check.
 */
static const blx_filter *
GetFlatFilter(FilterCache *cache, Datum datum)
{
	const blx_filter *f = (const blx_filter *) DatumGetPointer(datum);

	if (VARATT_IS_4B_U(f) && VARSIZE(f) >= sizeof(blx_filter) &&
		memcmp(f, &cache->checked, sizeof(blx_filter)) == 0)
		return f;
	f = DatumGetFilterForTests(datum);
	if (blx_traits(f->layout) & BLX_FETCHABLE)
		cache->checked = *f;
	return f;
}

/* True if the datum is the TOASTed value that the call site saw last.  If not, it is from now on. */
static bool
SeenBefore(FilterCache *cache, const struct varatt_external *pointer)
{
	if (cache->toast_relation == pointer->va_toastrelid && cache->toast_value == pointer->va_valueid)
		return true;
	if (cache->detoasted != NULL)
		pfree(cache->detoasted_chunk);
	cache->detoasted = NULL;
	cache->toast_relation = pointer->va_toastrelid;
	cache->toast_value = pointer->va_valueid;
	return false;
}

static TestedFilter
DetoastIntoCache(CallCache *site, struct varlena *value)
{
	FilterCache *cache = &site->filter;
	TestedFilter whole = {0};

	if (cache->detoasted == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(site->context);
		blx_filter *f = (blx_filter *) detoast_attr(value);

		MemoryContextSwitchTo(old);
		cache->detoasted = AlignFilter(CheckFilter(f), &cache->detoasted_chunk);
	}
	whole.filter = cache->detoasted;
	return whole;
}

TestedFilter
GetTestedFilter(CallCache *cache, Datum datum, int keys)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	TestedFilter tested = {0};

	/* in memory */
	if (!VARATT_IS_EXTERNAL_ONDISK(value))
	{
		tested.filter = GetFlatFilter(&cache->filter, datum);
		return tested;
	}
	/* in TOAST, and new to this call site: perhaps only its head */
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (!SeenBefore(&cache->filter, &pointer) && PiecesPay(value, keys))
	{
		tested.filter = FetchHead(value, pointer.va_rawsize);
		tested.stored = value;
		if (blx_traits(tested.filter->layout) & TESTABLE_IN_PIECES)
			return tested;
	}
	return DetoastIntoCache(cache, value);
}

bool
CheckAndTestKey(CallCache *cache, Datum filter, Datum key)
{
	TestedFilter tested = GetTestedFilter(cache, filter, 1);
	const blx_filter *f = tested.filter;

	/* a filter is prepared for the key's type, which an untyped key may change now */
	if (cache->key.reader != NULL)
		memset(&cache->prepared, 0, sizeof cache->prepared);
	CheckKeyType(f, &cache->key);
	/* from now on it is prepared, unless more than its header decides whether it is valid and takes these keys */
	if (tested.stored == NULL && (blx_traits(f->layout) & BLX_FETCHABLE) && f->key_type != BLX_KEY_NAMED)
		cache->prepared = *f;
	return TestFilter(&tested, HashKey(&cache->key, key, f->seed));
}
