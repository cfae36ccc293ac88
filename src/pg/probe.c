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

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
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
				hash;

	if (ProbeSaysNothing(f, probe))
		return true;
	while (blx_hashes_next(probe, &cursor, &hash, 1) > 0)
		if (blx_test(f, hash) != all)
			return !all;
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
	const char *function;
	int			filter;			/* which argument */
	const char *operator;
	const char *probe;
	Oid			argument;		/* of the probe function */
	KeysForm	keys;
	bool		all;
} index_forms[] = {
	{"bloom_contains", 0, "?&", "bloom_probe", ANYCOMPATIBLEOID, ONE_KEY, true},
	{"bloom_contained", 1, "?&", "bloom_probe", ANYCOMPATIBLEOID, ONE_KEY, true},
	{"bloom_contains_hash", 0, "?&", "bloom_probe_hash", INT8OID, ONE_HASH, true},
	{"bloom_contains_any", 0, "?|", "bloom_probe_all", ANYCOMPATIBLEARRAYOID, KEY_ARRAY, false},
	{"bloom_contains_all", 0, "?&", "bloom_probe_all", ANYCOMPATIBLEARRAYOID, KEY_ARRAY, true},
};

/* The right side of ?& and ?|: the keys of which it is made, where that can be seen. */
static void
ReadProbe(Node *probe, Membership *m)
{
	char	   *name;

	m->keys = probe;
	m->form = PROBE_SET;
	if (!IsA(probe, FuncExpr))
		return;
	name = get_func_name(((FuncExpr *) probe)->funcid);
	for (int form = 0; form < lengthof(index_forms); form++)
		if (strcmp(index_forms[form].probe, name) == 0)
		{
			m->keys = linitial(((FuncExpr *) probe)->args);
			m->form = index_forms[form].keys;
			return;
		}
}

bool
ReadMembership(Oid function, List *args, Membership *m)
{
	char	   *name = get_func_name(function);

	if (name == NULL || list_length(args) != 2)
		return false;
	for (int form = 0; form < lengthof(index_forms); form++)
		if (strcmp(index_forms[form].function, name) == 0)
		{
			m->filter = list_nth(args, index_forms[form].filter);
			m->keys = list_nth(args, 1 - index_forms[form].filter);
			m->form = index_forms[form].keys;
			m->all = index_forms[form].all;
			return true;
		}
	m->all = strcmp(name, "bloom_holds_all") == 0;
	if (!m->all && strcmp(name, "bloom_holds_any") != 0)
		return false;
	m->filter = linitial(args);
	ReadProbe(lsecond(args), m);
	return true;
}

/* Something of that name in the schema of the membership function, which is the extension's. */
static List *
NameBeside(Oid function, const char *name)
{
	return list_make2(makeString(get_namespace_name(get_func_namespace(function))), makeString(pstrdup(name)));
}

/* The condition, or NIL when the index does not know the operator or the keys are not known when the scan begins. */
List *
IndexCondition(SupportRequestIndexCondition *request)
{
	char	   *name = get_func_name(request->funcid);
	List	   *args = IsA(request->node, OpExpr) ? ((OpExpr *) request->node)->args : ((FuncExpr *) request->node)->args;
	int			form = 0;
	Oid			type,
				operator,
				probe;
	Node	   *keys;
	Expr	   *hashes;

	while (form < lengthof(index_forms) && strcmp(index_forms[form].function, name) != 0)
		form++;
	if (form == lengthof(index_forms) || request->indexarg != index_forms[form].filter)
		return NIL;
	type = exprType(list_nth(args, index_forms[form].filter));
	operator = OpernameGetOprid(NameBeside(request->funcid, index_forms[form].operator), type, type);
	probe = LookupFuncName(NameBeside(request->funcid, index_forms[form].probe), 1, &index_forms[form].argument, true);
	keys = list_nth(args, 1 - request->indexarg);
	if (!OidIsValid(operator) || !OidIsValid(probe) || !op_in_opfamily(operator, request->opfamily) ||
		!is_pseudo_constant_for_index(request->root, keys, request->index))
		return NIL;
	request->lossy = true;
	hashes = (Expr *) makeFuncExpr(probe, type, list_make1(keys), InvalidOid, exprCollation(keys), COERCE_EXPLICIT_CALL);
	return list_make1(make_opclause(operator, BOOLOID, false, (Expr *) list_nth(args, request->indexarg), hashes,
									InvalidOid, exprCollation(keys)));
}
