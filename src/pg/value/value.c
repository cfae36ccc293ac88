/*
 * value.c - a filter as a PostgreSQL value.
 *
 * A value is the core's struct blx_filter with the varlena length in its first
 * word.  Every value that comes in passes blx_check before its geometry is used.
 */
#include "pg/value/value.h"

#include "pg/value/expanded.h"

blx_filter *
CheckFilter(blx_filter *f)
{
	CheckCore(blx_check(f, VARSIZE(f), &core_error));
	return f;
}

const blx_filter *
DatumGetFilterForTests(Datum datum)
{
	const blx_filter *f;

	if (DatumIsExpanded(datum))
		return ExpandedFilterOf(datum);
	f = (const blx_filter *) PG_DETOAST_DATUM(datum);
	CheckCore(blx_check_for_tests(f, VARSIZE(f), &core_error));
	return f;
}

blx_filter *
DatumGetFilter(Datum datum)
{
	if (DatumIsExpanded(datum))
		return ExpandedFilterOf(datum);
	return CheckFilter((blx_filter *) PG_DETOAST_DATUM(datum));
}
