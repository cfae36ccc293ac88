/*
 * index_condition.c - membership as a condition that an index can take.
 *
 * All spellings of membership are read into one form.  The planner's support
 * function gives an index `f ?& bloom_probe(v)` for `f @> v`: why, and what a
 * probe is, says functions/probe.c.
 */
#include "pg/planner/planner.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "pg/base/objects.h"
#include "pg/functions/functions.h"
#include "pg/keys/keys.h"

const blx_filter *
ProbeOfConstant(const Const *keys, KeysForm form)
{
	KeyType		key = {0};
	uint64		hash;
	uint64	   *hashes = &hash;
	int			n = 1;
	bool		nulls;

	if (form == PROBE_SET)
		return DatumGetProbe(keys->constvalue);
	if (form == ONE_HASH)
		hash = (uint64) DatumGetInt64(keys->constvalue);
	else
		LookupKeyType(&key, form == KEY_ARRAY ? get_base_element_type(keys->consttype) : keys->consttype,
					  keys->constcollid, CurrentMemoryContext);
	if (form == ONE_KEY)
		hash = HashKey(&key, keys->constvalue, 0);
	if (form == KEY_ARRAY)
		hashes = HashArray(&key, keys->constvalue, 0, &n, &nulls);
	return MakeProbe(&key, hashes, n);
}

/* For each membership function its arguments, and the index condition that stands for it. */
static const struct
{
	OwnFunction function;
	int			filter;			/* which argument */
	OwnOperator operator;
	OwnFunction probe;
	KeysForm	keys;
	bool		all;
	bool		indexed;		/* an index is asked */
} forms[] = {
	{BLOOM_CONTAINS, 0, HOLDS_ALL_OPERATOR, BLOOM_PROBE, ONE_KEY, true, true},
	{BLOOM_CONTAINED, 1, HOLDS_ALL_OPERATOR, BLOOM_PROBE, ONE_KEY, true, true},
	{BLOOM_CONTAINS_HASH, 0, HOLDS_ALL_OPERATOR, BLOOM_PROBE_HASH, ONE_HASH, true, true},
	{BLOOM_CONTAINS_ANY, 0, HOLDS_ANY_OPERATOR, BLOOM_PROBE_ALL, KEY_ARRAY, false, true},
	{BLOOM_CONTAINS_ALL, 0, HOLDS_ALL_OPERATOR, BLOOM_PROBE_ALL, KEY_ARRAY, true, true},
	{BLOOM_PREFILTER, 1, HOLDS_ALL_OPERATOR, BLOOM_PROBE, ONE_KEY, true, false},
};

/* The form of a function, or -1. */
static int
FormOf(OwnFunction function)
{
	for (int form = 0; form < lengthof(forms); form++)
		if (forms[form].function == function)
			return form;
	return -1;
}

/* The right side of ?& and ?|: the keys that it is made of, if they can be seen, else the probe itself. */
static void
ReadProbe(Node *probe, Membership *m)
{
	OwnFunction function;

	m->keys = probe;
	m->form = PROBE_SET;
	if (!IsA(probe, FuncExpr))
		return;
	function = WhichFunction(((FuncExpr *) probe)->funcid);
	for (int form = 0; form < lengthof(forms); form++)
		if (forms[form].probe == function && list_length(((FuncExpr *) probe)->args) == 1)
		{
			m->keys = linitial(((FuncExpr *) probe)->args);
			m->form = forms[form].keys;
			return;
		}
}

/* True if the arguments, in the order of the declaration, have the types that the code below supposes. */
static bool
HasItsTypes(const Membership *m)
{
	if (IsA(m->filter, NamedArgExpr) || IsA(m->keys, NamedArgExpr) || !IsFilterType(exprType(m->filter)))
		return false;
	switch (m->form)
	{
		case ONE_KEY:
			return true;
		case KEY_ARRAY:
			return OidIsValid(get_base_element_type(exprType(m->keys)));
		case ONE_HASH:
			return getBaseType(exprType(m->keys)) == INT8OID;
		case PROBE_SET:
			return IsFilterType(exprType(m->keys));
	}
	return false;
}

bool
ReadMembership(Oid function, List *args, Membership *m)
{
	OwnFunction which = WhichFunction(function);
	int			form = FormOf(which);

	if (list_length(args) != 2)
		return false;
	m->is_prefilter = which == BLOOM_PREFILTER;
	if (form >= 0)
	{
		m->filter = list_nth(args, forms[form].filter);
		m->keys = list_nth(args, 1 - forms[form].filter);
		m->form = forms[form].keys;
		m->all = forms[form].all;
	}
	else if (which == BLOOM_HOLDS_ALL || which == BLOOM_HOLDS_ANY)
	{
		m->filter = linitial(args);
		m->all = which == BLOOM_HOLDS_ALL;
		ReadProbe(lsecond(args), m);
	}
	else
		return false;
	return HasItsTypes(m);
}

/* The condition, or NIL if the index does not know the operator or the keys are not known when the scan begins. */
List *
IndexCondition(SupportRequestIndexCondition *request)
{
	List	   *args = IsA(request->node, OpExpr) ? ((OpExpr *) request->node)->args : ((FuncExpr *) request->node)->args;
	int			form = FormOf(WhichFunction(request->funcid));
	Oid			operator,
				probe;
	Membership	m;
	Expr	   *hashes;

	if (form < 0 || !forms[form].indexed || request->indexarg != forms[form].filter ||
		!ReadMembership(request->funcid, args, &m))
		return NIL;
	operator = OwnOperatorOid(forms[form].operator);
	probe = OwnFunctionOid(forms[form].probe);
	if (!OidIsValid(operator) || !OidIsValid(probe) || !op_in_opfamily(operator, request->opfamily) ||
		!is_pseudo_constant_for_index(request->root, m.keys, request->index))
		return NIL;
	request->lossy = true;
	hashes = (Expr *) makeFuncExpr(probe, FilterTypeOid(), list_make1(m.keys), InvalidOid, exprCollation(m.keys),
								   COERCE_EXPLICIT_CALL);
	return list_make1(make_opclause(operator, BOOLOID, false, (Expr *) m.filter, hashes,
									InvalidOid, exprCollation(m.keys)));
}
