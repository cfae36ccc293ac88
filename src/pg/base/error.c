/*
 * error.c - an error of the core as an ERROR.
 */
#include "pg/base/base.h"

#include "mb/pg_wchar.h"

blx_error	core_error;

static int
SqlState(blx_code code)
{
	switch (code)
	{
		case BLX_INVALID_PARAMETER:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case BLX_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case BLX_CORRUPT:
			return ERRCODE_DATA_CORRUPTED;
		case BLX_MISMATCH:
			return ERRCODE_DATATYPE_MISMATCH;
		case BLX_UNSUPPORTED:
			return ERRCODE_FEATURE_NOT_SUPPORTED;
		case BLX_NO_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case BLX_AMBIGUOUS:
			return ERRCODE_CARDINALITY_VIOLATION;
		case BLX_OK:
			break;
	}
	return ERRCODE_INTERNAL_ERROR;
}

void
ThrowCoreError(const blx_error *error)
{
	int			length = (int) strlen(error->message);

	/* the core knows no encodings: where it cut a message, half a character may be left */
	length = pg_mbcliplen(error->message, length, length);
	ereport(ERROR,
			(errcode(SqlState(error->code)),
			 errmsg("%.*s", length, error->message),
			 error->detail[0] ? errdetail("%s", error->detail) : 0,
			 error->hint[0] ? errhint("%s", error->hint) : 0));
}
