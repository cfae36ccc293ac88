/*
 * membership.c - reads a call of a membership function from a plan tree.
 *
 * A function is known by its OID (base/objects.c), never by its name alone, and
 * its arguments are believed only if they have the types that it declares: they
 * will be read as these.
 */
#include "pg/planner/planner.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg/functions/functions.h"
#include "pg/value/value.h"

static const MembershipForm forms[] = {
	{BLOOM_CONTAINS, 0, ONE_KEY, true, true, HOLDS_ALL_OPERATOR, BLOOMX_PROBE, HOLDS_TEXT_OPERATOR},
	{BLOOM_CONTAINED, 1, ONE_KEY, true, true, HOLDS_ALL_OPERATOR, BLOOMX_PROBE, HOLDS_TEXT_OPERATOR},
	{BLOOM_CONTAINS_HASH, 0, ONE_HASH, true, true, HOLDS_ALL_OPERATOR, BLOOMX_PROBE_HASH, NO_OPERATOR},
	{BLOOM_CONTAINS_ANY, 0, KEY_ARRAY, false, true, HOLDS_ANY_OPERATOR, BLOOMX_PROBE_ALL, HOLDS_ANY_TEXT_OPERATOR},
	{BLOOM_CONTAINS_ALL, 0, KEY_ARRAY, true, true, HOLDS_ALL_OPERATOR, BLOOMX_PROBE_ALL, HOLDS_ALL_TEXTS_OPERATOR},
	{BLOOM_PREFILTER, 0, ONE_KEY, true, false, HOLDS_ALL_OPERATOR, BLOOMX_PROBE, NO_OPERATOR},
	/* these are index conditions themselves */
	{BLOOMX_HOLDS_TEXT, 0, ONE_KEY, true, false, HOLDS_TEXT_OPERATOR, NOT_OWN, NO_OPERATOR},
	{BLOOMX_HOLDS_ALL_TEXTS, 0, KEY_ARRAY, true, false, HOLDS_ALL_TEXTS_OPERATOR, NOT_OWN, NO_OPERATOR},
	{BLOOMX_HOLDS_ANY_TEXT, 0, KEY_ARRAY, false, false, HOLDS_ANY_TEXT_OPERATOR, NOT_OWN, NO_OPERATOR},
};

const MembershipForm *
FindMembershipForm(OwnFunction function)
{
	for (int i = 0; i < lengthof(forms); i++)
		if (forms[i].function == function)
			return &forms[i];
	return NULL;
}

/* The right side of ?& and ?|: the keys that it is made of, if a bloomx_probe function shows them. */
static void
ReadProbe(Node *probe, Membership *m)
{
	OwnFunction function;

	m->keys = probe;
	m->form = PROBE_SET;
	if (!IsA(probe, FuncExpr))
		return;
	function = WhichFunction(((FuncExpr *) probe)->funcid);
	for (int i = 0; i < lengthof(forms) && function != NOT_OWN; i++)
		if (forms[i].probe == function && list_length(((FuncExpr *) probe)->args) == 1)
		{
			m->keys = linitial(((FuncExpr *) probe)->args);
			m->form = forms[i].keys;
			return;
		}
}

/* True if the arguments stand in the order of the declaration and have its types. */
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
	const MembershipForm *form = FindMembershipForm(which);

	if (list_length(args) != 2)
		return false;
	m->is_prefilter = which == BLOOM_PREFILTER;
	if (form != NULL)
	{
		m->filter = list_nth(args, form->filter);
		m->keys = list_nth(args, 1 - form->filter);
		m->form = form->keys;
		m->all = form->all;
	}
	else if (which == BLOOMX_HOLDS_ALL || which == BLOOMX_HOLDS_ANY)
	{
		m->filter = linitial(args);
		m->all = which == BLOOMX_HOLDS_ALL;
		ReadProbe(lsecond(args), m);
	}
	else
		return false;
	return HasItsTypes(m);
}

const blx_filter *
ProbeOfConstant(const Const *keys, KeysForm form)
{
	KeyType		key = {0};
	Oid			type = form == KEY_ARRAY ? get_base_element_type(keys->consttype) : keys->consttype;
	Node	   *soft = NewSoftErrors();
	const blx_filter *set;
	uint64		hash;
	uint64	   *hashes = &hash;
	int			n = 1;
	bool		nulls;

	if (form == PROBE_SET)
	{
		set = DatumGetFilter(keys->constvalue);
		return set->layout == BLX_HASHES ? set : NULL;
	}
	if (form == ONE_HASH)
		hash = (uint64) DatumGetInt64(keys->constvalue);
	else if (!LookupKeyTypeSoftly(&key, type, keys->constcollid, CurrentMemoryContext, soft))
		return NULL;
	/* the rows of an array may differ in their columns */
	if (key.row_context != NULL && (form == KEY_ARRAY || !LookupRowOf(&key, keys->constvalue, soft)))
		return NULL;
	if (form == ONE_KEY)
		hash = HashKey(&key, keys->constvalue, 0);
	if (form == KEY_ARRAY)
		hashes = HashArray(&key, keys->constvalue, 0, &n, &nulls);
	return ProbeOfHashes(&key, hashes, n);
}
