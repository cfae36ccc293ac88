/*
 * index_condition.c - membership as a condition that an index can take.
 *
 * `f @> v` becomes `f ?& bloomx_probe(v)`, and the other membership functions
 * likewise: functions/probe_set.c says why.
 */
#include "pg/planner/planner.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "pg/value/callsite.h"

/*
 * An untyped key has the type of the filters, which the index knows better than
 * the planner: the condition takes its text, `f ?& '42'`.  NULL if the keys have a
 * type, or the index does not know the operator.
 */
static Expr *
TextCondition(const Membership *m, OwnOperator which, Oid family)
{
	Oid			type = exprType(m->keys),
				operator;

	if (which == NO_OPERATOR || type != (m->form == KEY_ARRAY ? TEXTARRAYOID : TEXTOID) || !IsConstantExpression(m->keys))
		return NULL;
	operator = OwnOperatorOid(which);
	if (!OidIsValid(operator) || !op_in_opfamily(operator, family))
		return NULL;
	return make_opclause(operator, BOOLOID, false, (Expr *) m->filter, (Expr *) m->keys, InvalidOid, exprCollation(m->keys));
}

/* NULL, too, for a role that may test a filter but not make a set of keys. */
static Expr *
ProbeCondition(const Membership *m, const MembershipForm *form, Oid family)
{
	Oid			operator = OwnOperatorOid(form->operator),
				probe = OwnFunctionOid(form->probe);
	Expr	   *hashes;

	if (!OidIsValid(operator) || !OidIsValid(probe) || !op_in_opfamily(operator, family) || !MayExecute(probe, GetUserId()))
		return NULL;
	hashes = (Expr *) makeFuncExpr(probe, FilterTypeOid(), list_make1(m->keys), InvalidOid, exprCollation(m->keys),
								   COERCE_EXPLICIT_CALL);
	return make_opclause(operator, BOOLOID, false, (Expr *) m->filter, hashes, InvalidOid, exprCollation(m->keys));
}

List *
MembershipIndexCondition(SupportRequestIndexCondition *request)
{
	List	   *args = IsA(request->node, OpExpr) ? ((OpExpr *) request->node)->args : ((FuncExpr *) request->node)->args;
	const MembershipForm *form = FindMembershipForm(WhichFunction(request->funcid));
	Membership	m;
	Expr	   *condition;

	/* the indexed argument must be the filter, and the keys must be known when the scan begins */
	if (form == NULL || !form->indexed || request->indexarg != form->filter || !ReadMembership(request->funcid, args, &m) ||
		!is_pseudo_constant_for_index(request->root, m.keys, request->index))
		return NIL;
	condition = TextCondition(&m, form->text_operator, request->opfamily);
	if (condition == NULL)
		condition = ProbeCondition(&m, form, request->opfamily);
	request->lossy = true;
	return condition ? list_make1(condition) : NIL;
}
