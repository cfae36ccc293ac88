/*
 * compare.c - equality, order and hashing of filters.
 *
 * Two filters are equal if they answer every query alike and take the same keys:
 * if seed, key type, geometry and bits are equal.  The planned capacity does not
 * count.  The order means nothing; it serves sorting and DISTINCT.
 */
#include "pg/functions/functions.h"

/* Less than, equal to or greater than 0, as argument 0 is compared with argument 1. */
static int
Order(FunctionCallInfo fcinfo)
{
	blx_filter *a = PG_GETARG_FILTER(0);
	blx_filter *b = PG_GETARG_FILTER(1);
	int			order = blx_compare(a, b);

	FreeIfCopy(fcinfo, a, 0);
	FreeIfCopy(fcinfo, b, 1);
	return order;
}

#define COMPARISON(name, comparison) \
PG_FUNCTION_INFO_V1(name); \
Datum \
name(PG_FUNCTION_ARGS) \
{ \
	PG_RETURN_BOOL(Order(fcinfo) comparison 0); \
}

COMPARISON(bloomfilter_eq, ==)
COMPARISON(bloomfilter_ne, !=)
COMPARISON(bloomfilter_lt, <)
COMPARISON(bloomfilter_le, <=)
COMPARISON(bloomfilter_ge, >=)
COMPARISON(bloomfilter_gt, >)

PG_FUNCTION_INFO_V1(bloomfilter_cmp);
Datum
bloomfilter_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(Order(fcinfo));
}

PG_FUNCTION_INFO_V1(bloomfilter_hash);
Datum
bloomfilter_hash(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) blx_value_hash(PG_GETARG_FILTER(0), 0));
}

PG_FUNCTION_INFO_V1(bloomfilter_hash_extended);
Datum
bloomfilter_hash_extended(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) blx_value_hash(PG_GETARG_FILTER(0), (uint64) PG_GETARG_INT64(1)));
}
