/*
 * stored.c - a filter in a TOAST table, read in pieces.
 *
 * A query that looks into many stored filters sees each of them once.  It reads
 * the header and the block of the key, not the megabyte around them.
 */
#include "pg/value/stored.h"

#include "access/detoast.h"

#include "pg/value/value.h"

bool
PiecesPay(const struct varlena *value, int keys)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	return pointer.va_rawsize >= (1 + (double) keys) * (PIECES_BYTES / 2) && !VARATT_EXTERNAL_IS_COMPRESSED(pointer);
}

/* Reads `bytes` bytes of a stored filter at offset `from`; offsets include the length word. */
static struct varlena *
FetchPiece(struct varlena *value, uint64 from, uint64 bytes)
{
	struct varlena *piece = detoast_attr_slice(value, (int32) (from - VARHDRSZ), (int32) bytes);

	if (VARSIZE_ANY_EXHDR(piece) != bytes)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("stored bloom filter is shorter than its header says")));
	return piece;
}

blx_filter *
FetchHead(struct varlena *value, uint64 size)
{
	blx_filter *head = (blx_filter *) FetchPiece(value, VARHDRSZ, Min(size, BLX_HEAD_BYTES) - VARHDRSZ);

	/* of other layouts the head cannot be checked: the caller reads the whole, which is */
	if (size < sizeof(blx_filter) || (blx_traits(head->layout) & TESTABLE_IN_PIECES))
		CheckCore(blx_check(head, size, &core_error));
	return head;
}

const blx_filter *
FetchFilterHeader(Datum datum, Size size)
{
	const blx_filter *head = FetchHead((struct varlena *) DatumGetPointer(datum), size);

	return blx_traits(head->layout) & BLX_FETCHABLE ? head : NULL;
}

const blx_filter *
DatumGetFilterHead(Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	const blx_filter *head;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return DatumGetFilter(datum);
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	head = FetchHead(value, pointer.va_rawsize);
	return blx_traits(head->layout) & TESTABLE_IN_PIECES ? head : DatumGetFilter(datum);
}

/* blx_fetch: words of the body, from the head if it contains them, else from TOAST. */
static const uint64 *
FetchWords(void *arg, uint64 first, unsigned n)
{
	const TestedFilter *tested = arg;
	static uint64 words[BLX_MAX_FETCH];
	uint64		from = blx_header_bytes(tested->filter->name_len) + 8 * first;
	struct varlena *piece;

	if (from + 8 * n <= VARSIZE(tested->filter))
		return blx_cwords(tested->filter) + first;
	piece = FetchPiece(tested->stored, from, 8 * n);
	memcpy(words, VARDATA_ANY(piece), 8 * n);
	pfree(piece);
	return words;
}

bool
TestStoredFilter(const TestedFilter *tested, uint64 hash)
{
	return blx_test_fetched(tested->filter, hash, FetchWords, (void *) (uintptr_t) tested);
}

bool
GetValue(const TestedFilter *tested, uint64 hash, uint32 *value)
{
	bool		stored = tested->stored != NULL,
				found;
	void	   *arg = stored ? (void *) (uintptr_t) tested : (void *) (uintptr_t) blx_cwords(tested->filter);

	CheckCore(blx_get_fetched(tested->filter, hash, stored ? FetchWords : blx_fetch_memory, arg, &found, value, &core_error));
	return found;
}
