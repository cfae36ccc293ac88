/*
 * support.c - what the planner calls about membership.
 *
 * Selectivity is in selectivity.c and index conditions are in index_condition.c;
 * the cost is here.  Testing a key against one filter for the whole query is
 * cheaper than most functions, so it runs before them, but after plain
 * comparisons.  A filter that differs from row to row must be fetched: from its
 * own row, or from the TOAST table.  If it is large, only its header and a block
 * are read.
 */
#include "pg/planner/planner.h"

#include "access/heaptoast.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "pg/value/stored.h"

/*
 * Costs in units of cpu_operator_cost, roughly as measured with everything in
 * memory.  They need to be right only relative to each other and to ordinary
 * operators: they decide the order of conditions, and whether a scan of many
 * stored filters is worth an index or parallel workers.
 */

/* A test of one key: a hash and a cache line or two.  More than a comparison (1), less than most functions. */
#define TEST_COST 2

/* A filter that is not the one of the row before: its header is checked. */
#define CHECK_COST 10

/* An unknown filter: between a filter in its row and one in the TOAST table. */
#define FETCH_COST 20

/* A lookup in a TOAST table, and each chunk of 2 kB. */
#define TOAST_LOOKUP_COST 50
#define TOAST_CHUNK_COST 30

/* What PostgreSQL assumes of an array (estimate_array_length). */
#define UNKNOWN_ARRAY_LENGTH 10

/* The selectivity of a call; join is NULL for a restriction.  Of a semijoin and an antijoin it is the share of rows on the left that have a partner. */
static double
SelectivityOfCall(PlannerInfo *root, Oid function, List *args, JoinType type, SpecialJoinInfo *join)
{
	OwnFunction which = WhichFunction(function);
	Membership	m = {0};
	double		share;

	if ((which == BLOOM_OVERLAPS || which == BLOOM_DISJOINT) && list_length(args) == 2)
		share = OverlapSelectivity(root, args, which == BLOOM_OVERLAPS);
	else if (ReadMembership(function, args, &m))
		share = MembershipSelectivity(root, &m);
	else
		return UNKNOWN_SELECTIVITY;
	return join != NULL && (type == JOIN_SEMI || type == JOIN_ANTI) ? ShareWithPartner(root, share, m.keys, join) : share;
}

/* RESTRICT of f @> v, v <@ f, f ?& probe, f ?| probe, f && g and f !&& g */
PG_FUNCTION_INFO_V1(bloomx_contains_sel);
Datum
bloomx_contains_sel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(SelectivityOfCall((PlannerInfo *) PG_GETARG_POINTER(0), get_opcode(PG_GETARG_OID(1)), (List *) PG_GETARG_POINTER(2),
								 JOIN_INNER, NULL));
}

/* JOIN of the same: keys or filters of one table against filters of another */
PG_FUNCTION_INFO_V1(bloomx_contains_joinsel);
Datum
bloomx_contains_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(SelectivityOfCall((PlannerInfo *) PG_GETARG_POINTER(0), get_opcode(PG_GETARG_OID(1)), (List *) PG_GETARG_POINTER(2),
								 (JoinType) PG_GETARG_INT16(3), (SpecialJoinInfo *) PG_GETARG_POINTER(4)));
}

/* The cost of fetching what a test of `keys` keys needs of a filter that may differ from row to row; bytes: 0 = not known. */
static double
FetchCost(double bytes, double keys)
{
	double		chunks = bytes / TOAST_MAX_CHUNK_SIZE;

	if (bytes <= 0)
		return FETCH_COST;
	if (bytes <= TOAST_TUPLE_THRESHOLD) /* it is in the row */
		return CHECK_COST;

	/* read whole, or in pieces: the header and one piece per key (PiecesPay decides by the same size) */
	if (bytes < (1 + keys) * (PIECES_BYTES / 2))
		return TOAST_LOOKUP_COST + chunks * TOAST_CHUNK_COST;
	return (1 + keys) * (TOAST_LOOKUP_COST + TOAST_CHUNK_COST);
}

static void
EstimateMembershipCost(SupportRequestCost *request)
{
	Membership	m;
	double		cost = TEST_COST,
				keys = 1;
	List	   *args = NIL;

	if (request->node != NULL && IsA(request->node, OpExpr))
		args = ((OpExpr *) request->node)->args;
	else if (request->node != NULL && IsA(request->node, FuncExpr))
		args = ((FuncExpr *) request->node)->args;
	if (args != NIL && ReadMembership(request->funcid, args, &m))
	{
		if (m.form == KEY_ARRAY)
		{
			keys = request->root ? ESTIMATE_ARRAY_LENGTH(request->root, m.keys) : UNKNOWN_ARRAY_LENGTH;
			cost *= 1 + keys;
		}
		if (!IsA(m.filter, Const) && !IsA(m.filter, Param))
			cost += FetchCost(MeanFilterBytes(request->root, m.filter), keys);
	}
	request->startup = 0;
	request->per_tuple = cost * cpu_operator_cost;
}

/* The support function of the membership functions, and so of their operators. */
PG_FUNCTION_INFO_V1(bloomx_contains_support);
Datum
bloomx_contains_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSelectivity))
	{
		SupportRequestSelectivity *asked = (SupportRequestSelectivity *) request;

		asked->selectivity = SelectivityOfCall(asked->root, asked->funcid, asked->args, asked->jointype, asked->is_join ? asked->sjinfo : NULL);
		PG_RETURN_POINTER(request);
	}
	if (IsA(request, SupportRequestCost))
	{
		EstimateMembershipCost((SupportRequestCost *) request);
		PG_RETURN_POINTER(request);
	}
	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(MembershipIndexCondition((SupportRequestIndexCondition *) request));
	PG_RETURN_POINTER(NULL);
}
