/*
 * index_condition.c - membership as a condition that an index can take.
 *
 * `f @> v` becomes `f ?& bloom_probe(v)`, and the other membership functions
 * likewise: functions/probe.c says why.
 */
#include "pg/planner/planner.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

List *
MembershipIndexCondition(SupportRequestIndexCondition *request)
{
	List	   *args = IsA(request->node, OpExpr) ? ((OpExpr *) request->node)->args : ((FuncExpr *) request->node)->args;
	const MembershipForm *form = FindMembershipForm(WhichFunction(request->funcid));
	Oid			operator,
				probe;
	Membership	m;
	Expr	   *hashes;

	/* the indexed argument must be the filter */
	if (form == NULL || !form->indexed || request->indexarg != form->filter || !ReadMembership(request->funcid, args, &m))
		return NIL;
	/* the index must know the operator, and the keys must be known when the scan begins */
	operator = OwnOperatorOid(form->operator);
	probe = OwnFunctionOid(form->probe);
	if (!OidIsValid(operator) || !OidIsValid(probe) || !op_in_opfamily(operator, request->opfamily) ||
		!is_pseudo_constant_for_index(request->root, m.keys, request->index))
		return NIL;
	request->lossy = true;
	hashes = (Expr *) makeFuncExpr(probe, FilterTypeOid(), list_make1(m.keys), InvalidOid, exprCollation(m.keys),
								   COERCE_EXPLICIT_CALL);
	return list_make1(make_opclause(operator, BOOLOID, false, (Expr *) m.filter, hashes,
									InvalidOid, exprCollation(m.keys)));
}
