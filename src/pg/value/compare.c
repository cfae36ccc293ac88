/*
 * compare.c - equality, order and hashing of filters.
 *
 * Two filters are equal when they answer every query alike and take the same
 * keys: seed, key type, geometry and bits.  The planned capacity is no part of
 * it.  The order means nothing; it serves sorting and DISTINCT.
 */
#include "pg/base/bloomx.h"

#define COMPARISON(name, op) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		blx_filter *a = PG_GETARG_FILTER(0); \
		blx_filter *b = PG_GETARG_FILTER(1); \
		int			order = blx_compare(a, b); \
		\
		PG_FREE_FILTER_IF_COPY(a, 0); \
		PG_FREE_FILTER_IF_COPY(b, 1); \
		PG_RETURN_BOOL(order op 0); \
	} \
	extern int	no_such_variable

COMPARISON(bloomfilter_eq, ==);
COMPARISON(bloomfilter_ne, !=);
COMPARISON(bloomfilter_lt, <);
COMPARISON(bloomfilter_le, <=);
COMPARISON(bloomfilter_ge, >=);
COMPARISON(bloomfilter_gt, >);

PG_FUNCTION_INFO_V1(bloomfilter_cmp);
Datum
bloomfilter_cmp(PG_FUNCTION_ARGS)
{
	blx_filter *a = PG_GETARG_FILTER(0);
	blx_filter *b = PG_GETARG_FILTER(1);
	int			order = blx_compare(a, b);

	PG_FREE_FILTER_IF_COPY(a, 0);
	PG_FREE_FILTER_IF_COPY(b, 1);
	PG_RETURN_INT32(order);
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
