/*
 * probe.c - membership as a condition that an index can take.
 *
 * An operator class cannot take `f @> v`: the consistent function of an index
 * would not learn the type of v.  The planner's support function turns it into
 * `f ?& bloom_probe(v)`, whose right side is a bloomfilter too: the set of the
 * keys' hashes (core/hashes.c), with their key type, made with seed 0.  The
 * condition is lossy: the original one is asked again for every row found.
 *
 * A filter with another seed may hold any key, for all that these hashes say,
 * and so may one with another key type, of which the original condition will
 * complain.
 */
#include "planner.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

/* With twice as many slots as hashes, or more if these stand too close. */
static blx_filter *
MakeProbe(const KeyType *key, const uint64 *hashes, int n)
{
	uint64		slots = Max(8, 2 * (uint64) n);
	blx_filter *probe = AllocFilter(blx_hashes_bytes(slots, key->identity.name_len));

	blx_hashes_init(probe, slots, NULL, &key->identity, 0);
	for (int i = 0; i < n; i++)
		while (!blx_hashes_add(probe, hashes[i]))
			probe = LargerHashes(probe);
	return probe;
}

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

/* bloom_probe(v anycompatible) */
PG_FUNCTION_INFO_V1(bloom_probe);
Datum
bloom_probe(PG_FUNCTION_ARGS)
{
	KeyType    *key = GetKeyType(fcinfo, 0);
	uint64		hash = HashKey(key, PG_GETARG_DATUM(0), 0);

	PG_RETURN_FILTER(MakeProbe(key, &hash, 1));
}

/* bloom_probe_all(vs anycompatiblearray): NULL elements are left out */
PG_FUNCTION_INFO_V1(bloom_probe_all);
Datum
bloom_probe_all(PG_FUNCTION_ARGS)
{
	KeyType    *key = GetElementKeyType(fcinfo, 0);
	int			n;
	bool		nulls;
	uint64	   *hashes = HashArray(key, PG_GETARG_DATUM(0), 0, &n, &nulls);

	PG_RETURN_FILTER(MakeProbe(key, hashes, n));
}

/* bloom_probe_hash(hash bigint) goes with every key type */
PG_FUNCTION_INFO_V1(bloom_probe_hash);
Datum
bloom_probe_hash(PG_FUNCTION_ARGS)
{
	const KeyType none = {0};
	uint64		hash = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_FILTER(MakeProbe(&none, &hash, 1));
}

bool
ProbeSaysNothing(const blx_filter *f, const blx_filter *probe)
{
	blx_identity of_filter = blx_identity_of(f),
				of_probe = blx_identity_of(probe);
	blx_error	error;

	return !blx_identity_check(&of_filter, "", &of_probe, "", &error);
}

bool
FilterMayHold(const blx_filter *f, const blx_filter *probe, bool all)
{
	uint64		cursor = 0,
				hashes[64];
	size_t		n;

	/* none of no keys is there, and all are, whatever the types */
	if (blx_hashes_count(probe) == 0)
		return all;
	if (ProbeSaysNothing(f, probe))
		return true;
	/* there may be a hundred million, each with a cache miss or several */
	while ((n = blx_hashes_next(probe, &cursor, hashes, lengthof(hashes))) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		for (size_t i = 0; i < n; i++)
			if (blx_test(f, hashes[i]) != all)
				return !all;
	}
	return all;
}

const blx_filter *
DatumGetProbe(Datum datum)
{
	const blx_filter *probe = DatumGetFilter(datum);

	if (probe->layout != BLX_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the right side of an index condition on filters must be a set of keys, not a filter of layout %s",
						blx_layout_name(probe->layout)),
				 errhint("Use bloom_probe(key) or bloom_probe_all(keys).")));
	return probe;
}

/* f ?& probe: may f hold all these keys? */
PG_FUNCTION_INFO_V1(bloom_holds_all);
Datum
bloom_holds_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(PG_GETARG_FILTER(0), DatumGetProbe(PG_GETARG_DATUM(1)), true));
}

/* f ?| probe: may f hold any of these keys? */
PG_FUNCTION_INFO_V1(bloom_holds_any);
Datum
bloom_holds_any(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(FilterMayHold(PG_GETARG_FILTER(0), DatumGetProbe(PG_GETARG_DATUM(1)), false));
}

/* ---- from membership to the index condition ---- */

/* How each membership function is said to an index: of its filter and its keys. */
static const struct
{
	OwnFunction function;
	int			filter;			/* which argument */
	OwnOperator operator;
	OwnFunction probe;
	KeysForm	keys;
	bool		all;
	bool		indexed;		/* is an index asked? */
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

/* The right side of ?& and ?|: the keys of which it is made, where that can be seen. */
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

/* Are the arguments, in the order of the declaration, of the types that the code below supposes? */
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

/* The condition, or NIL when the index does not know the operator or the keys are not known when the scan begins. */
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
