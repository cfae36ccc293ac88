/*
 * io.c - a filter as text, in binary protocol and as bytea.
 *
 * All three carry the interchange format (docs/internals/FORMAT.md): the text form in
 * base64, the others as it is.
 */
#include "pg/functions/functions.h"

#include "common/base64.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

/* The filter of these bytes of the interchange format; NULL after a soft error. */
static blx_filter *
ImportFilter(const uint8 *bytes, uint64 length, int sqlstate, Node *context)
{
	blx_error	error;
	blx_filter *f = blx_import(bytes, length, &FilterMemory, &error);

	if (f == NULL)
		errsave(context,
				(errcode(error.code == BLX_LIMIT ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : sqlstate),
				 errmsg("%s", error.message),
				 error.detail[0] ? errdetail("%s", error.detail) : 0,
				 error.hint[0] ? errhint("%s", error.hint) : 0));
	else if (pg_verifymbstr(blx_name(f), f->name_len, true))
		return f;
	else
		errsave(context,
				(errcode(ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("bloom filter key type name is not valid in the database encoding")));
	return NULL;
}

/*
 * bloomfilter_in(cstring, oid, integer): with the modifier of the column, or -1; after a soft error, no value.
 * Besides base64 it reads what bytea prints of a filter: no base64 has a backslash.
 */
PG_FUNCTION_INFO_V1(bloomfilter_in);
Datum
bloomfilter_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Node	   *context = SOFT_ERROR_CONTEXT(fcinfo);
	int			text_length = (int) strlen(text),
				digits = (int) strspn(text + Min(2, text_length), "0123456789abcdefABCDEF");
	int			room = text_length / 4 * 3 + 3;	/* pg_b64_dec_len overflows */
	uint8	   *bytes = palloc(room + 1);
	bool		is_hex = strncmp(text, "\\x", 2) == 0 && digits == text_length - 2 && digits % 2 == 0;
	int			length = is_hex ? (int) hex_decode(text + 2, digits, (char *) bytes) : pg_b64_decode(text, text_length, (void *) bytes, room);
	blx_filter *f;

	if (length < 0)
	{
		errsave(context,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type bloomfilter"),
				 errdetail("The text form of a filter is base64."),
				 errhint("Use bloom_empty() for an empty filter, bloom_agg() to build one, bloom_add() or bloomset_add() to add a key. To test a key, write filter @> key, or key <@ ANY (SELECT filter ...).")));
		PG_RETURN_NULL();
	}
	f = ImportFilter(bytes, length, ERRCODE_INVALID_TEXT_REPRESENTATION, context);
	pfree(bytes);
	if (f == NULL)
		PG_RETURN_NULL();
	return FitFilter(PointerGetDatum(f), PG_GETARG_INT32(2), false, context);
}

PG_FUNCTION_INFO_V1(bloomfilter_out);
Datum
bloomfilter_out(PG_FUNCTION_ARGS)
{
	blx_filter *f = PG_GETARG_FILTER(0);
	uint64		length = blx_export_bytes(f);
	uint8	   *bytes;
	char	   *text;
	int			room,
				text_length;

	/* base64 writes 3 bytes as 4 characters */
	if (length / 3 * 4 + 8 > BLX_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a bloom filter of " UINT64_FORMAT " bytes is too large for its text form", length),
				 errhint("Use binary COPY, or a cast to bytea.")));
	bytes = palloc(length);
	blx_export(f, bytes);
	room = (int) ((length + 2) / 3 * 4);	/* pg_b64_enc_len overflows */
	text = palloc(room + 1);
	text_length = pg_b64_encode((void *) bytes, (int) length, text, room);
	if (text_length < 0)
		elog(ERROR, "could not encode a bloom filter");
	text[text_length] = '\0';
	pfree(bytes);
	PG_RETURN_CSTRING(text);
}

/* bloomfilter_recv(internal, oid, integer) */
PG_FUNCTION_INFO_V1(bloomfilter_recv);
Datum
bloomfilter_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;
	const uint8 *bytes = (const uint8 *) pq_getmsgbytes(buffer, length);

	return FitFilter(PointerGetDatum(ImportFilter(bytes, length, ERRCODE_INVALID_BINARY_REPRESENTATION, NULL)),
					 PG_GETARG_INT32(2), false, NULL);
}

/* also the cast to bytea */
PG_FUNCTION_INFO_V1(bloomfilter_send);
Datum
bloomfilter_send(PG_FUNCTION_ARGS)
{
	const blx_filter *f = PG_GETARG_FILTER(0);
	uint64		length = blx_export_bytes(f);
	bytea	   *result = palloc(VARHDRSZ + length);

	SET_VARSIZE(result, VARHDRSZ + length);
	blx_export(f, (uint8 *) VARDATA(result));
	PG_RETURN_BYTEA_P(result);
}

PG_FUNCTION_INFO_V1(bloomfilter_from_bytea);
Datum
bloomfilter_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_FILTER(ImportFilter((const uint8 *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								  ERRCODE_INVALID_BINARY_REPRESENTATION, NULL));
}
