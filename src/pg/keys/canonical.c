/*
 * canonical.c - a hash function for each SQL type.
 *
 * It hashes the canonical bytes of a value (docs/internals/FORMAT.md).  Values that SQL
 * calls equal have one canonical form, on every build and version.  Keys that
 * consist of other values are in containers.c.
 */
#include "pg/keys/keys.h"

#include <math.h>
#include <sys/socket.h>

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "core/base/hash.h"

static void
PutLittleEndian(uint8 *out, uint64 value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (uint8) (value >> 8 * i);
}

uint64
HashInt2(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) (int64) DatumGetInt16(value), seed);
}

uint64
HashInt4(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) (int64) DatumGetInt32(value), seed);
}

/* int8, and the types that are stored as one: timestamps, time, money, xid8, pg_lsn. */
uint64
HashInt8(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_int64((uint64) DatumGetInt64(value), seed);
}

static uint64
HashDouble(double value, uint64 seed)
{
	uint64		bits;

	if (isnan(value))
		bits = UINT64CONST(0x7ff8000000000000);
	else
	{
		if (value == 0)
			value = 0;			/* no negative zero */
		memcpy(&bits, &value, 8);
	}
	return blx_hash_int64(bits, seed);
}

uint64
HashFloat4(KeyType *key, Datum value, uint64 seed)
{
	return HashDouble(DatumGetFloat4(value), seed);
}

uint64
HashFloat8(KeyType *key, Datum value, uint64 seed)
{
	return HashDouble(DatumGetFloat8(value), seed);
}

/*
 * A short numeric, which has up to 256 digits before its point and 63 after it, is stored as 16 bits
 * and digits of base 10,000.  The 16 bits are its kind, its sign, the number of its decimals, and the
 * weight of its first digit.
 */
#define NUMERIC_KIND 0xC000
#define NUMERIC_SHORT_KIND 0x8000
#define NUMERIC_MINUS 0x2000
#define NUMERIC_DECIMALS(header) ((header) >> 7 & 0x3F)
#define NUMERIC_WEIGHT(header) (((header) & 0x3F) - ((header) & 0x40))

/* Four decimal digits: the i-th of the n digits that are stored.  The others are zero. */
static inline char *
PutDigit(char *out, const char *digits, int n, int i)
{
	uint16		digit = 0;

	if (i >= 0 && i < n)
		memcpy(&digit, digits + i * sizeof(digit), sizeof(digit));
	out[0] = '0' + digit / 1000;
	out[1] = '0' + digit / 100 % 10;
	out[2] = '0' + digit / 10 % 10;
	out[3] = '0' + digit % 10;
	return out + 4;
}

static void
PutShortNumeric(NumericText *text, const struct varlena *number, uint16 header)
{
	const char *digits = VARDATA_ANY(number) + sizeof(header);
	int			n = (VARSIZE_ANY_EXHDR(number) - sizeof(header)) / sizeof(uint16),
				weight = NUMERIC_WEIGHT(header),
				decimals = NUMERIC_DECIMALS(header),
				i = Min(weight + 1, 0);
	char	   *start = text->room + 1, /* the sign stands before it */
			   *out = start;

	if (weight < 0)
		*out++ = '0';
	while (i <= weight)
		out = PutDigit(out, digits, n, i++);
	for (int zeros = 0; zeros < 3 && weight >= 0 && *start == '0'; zeros++)
		start++;
	if (decimals > 0)
	{
		char	   *fraction = out + 1;

		*out++ = '.';
		while (out < fraction + decimals)
			out = PutDigit(out, digits, n, i++);
		out = fraction + decimals;
		while (out[-1] == '0')
			out--;
		if (out == fraction)
			out--;
	}
	if (header & NUMERIC_MINUS)
		*--start = '-';
	text->bytes = start;
	text->length = out - start;
}

void
MakeNumericText(NumericText *text, const struct varlena *number)
{
	Numeric		aligned;
	uint16		header = 0;

	text->made = NULL;
	if (VARSIZE_ANY_EXHDR(number) >= sizeof(header))
		memcpy(&header, VARDATA_ANY(number), sizeof(header));
	if ((header & NUMERIC_KIND) == NUMERIC_SHORT_KIND)
	{
		/* not by numeric_normalize: its copies of the number take nine tenths of the time of a hash */
		PutShortNumeric(text, number, header);
		return;
	}
	aligned = DatumGetNumeric(PointerGetDatum(number));
	text->bytes = text->made = numeric_normalize(aligned);
	text->length = strlen(text->made);
	if ((const void *) aligned != (const void *) number)
		pfree(aligned);
}

/* The digits without trailing zeros: 1.0 and 1.00 are equal. */
uint64
HashNumeric(KeyType *key, Datum value, uint64 seed)
{
	struct varlena *number = PG_DETOAST_DATUM_PACKED(value);
	NumericText text;
	uint64		hash;

	MakeNumericText(&text, number);
	hash = blx_hash_bytes(text.bytes, text.length, seed);
	if (text.made != NULL)
		pfree(text.made);
	FreeIfDetoasted(number, value);
	return hash;
}

/* text, varchar, bytea: the bytes as they are */
uint64
HashVarlena(KeyType *key, Datum value, uint64 seed)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	uint64		hash = blx_hash_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes), seed);

	FreeIfDetoasted(bytes, value);
	return hash;
}

/* char(n): the text without its trailing blanks, which do not count */
uint64
HashBpchar(KeyType *key, Datum value, uint64 seed)
{
	BpChar	   *text = DatumGetBpCharPP(value);
	int			length = bpchartruelen(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
	uint64		hash = blx_hash_bytes(VARDATA_ANY(text), length, seed);

	FreeIfDetoasted(text, value);
	return hash;
}

/* unknown, name */
uint64
HashCString(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_bytes(DatumGetCString(value), strlen(DatumGetCString(value)), seed);
}

/* uuid, macaddr, macaddr8: fixed-length arrays of bytes */
uint64
HashFixedBytes(KeyType *key, Datum value, uint64 seed)
{
	return blx_hash_bytes(DatumGetPointer(value), key->length, seed);
}

uint64
HashBool(KeyType *key, Datum value, uint64 seed)
{
	uint8		byte = DatumGetBool(value);

	return blx_hash_bytes(&byte, 1, seed);
}

/* "char" */
uint64
HashChar(KeyType *key, Datum value, uint64 seed)
{
	uint8		byte = (uint8) DatumGetChar(value);

	return blx_hash_bytes(&byte, 1, seed);
}

/* date, oid, xid, cid */
uint64
Hash32Bits(KeyType *key, Datum value, uint64 seed)
{
	uint8		bytes[4];

	PutLittleEndian(bytes, DatumGetUInt32(value), 4);
	return blx_hash_bytes(bytes, 4, seed);
}

uint64
HashTimeTz(KeyType *key, Datum value, uint64 seed)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);
	uint8		bytes[12];

	PutLittleEndian(bytes, (uint64) time->time, 8);
	PutLittleEndian(bytes + 8, (uint32) time->zone, 4);
	return blx_hash_bytes(bytes, 12, seed);
}

uint64
HashTid(KeyType *key, Datum value, uint64 seed)
{
	ItemPointer tid = (ItemPointer) DatumGetPointer(value);
	uint8		bytes[6];

	PutLittleEndian(bytes, ItemPointerGetBlockNumberNoCheck(tid), 4);
	PutLittleEndian(bytes + 4, ItemPointerGetOffsetNumberNoCheck(tid), 2);
	return blx_hash_bytes(bytes, 6, seed);
}

/* Microseconds, counted as interval_cmp_value does: a month is 30 days, a day is 24 hours. */
uint64
HashInterval(KeyType *key, Datum value, uint64 seed)
{
	Interval   *span = DatumGetIntervalP(value);
	int64		days = span->month * INT64CONST(30) + span->day;
	int128		total = (int128) days * USECS_PER_DAY + span->time;
	uint8		bytes[16];

	PutLittleEndian(bytes, (uint64) total, 8);
	PutLittleEndian(bytes + 8, (uint64) (total >> 64), 8);
	return blx_hash_bytes(bytes, 16, seed);
}

/* The family, the bits of the mask, and the address. */
uint64
HashInet(KeyType *key, Datum value, uint64 seed)
{
	inet	   *address = DatumGetInetPP(value);
	uint8		bytes[18];
	uint64		hash;

	bytes[0] = ip_family(address) == PGSQL_AF_INET ? 4 : 6;
	bytes[1] = ip_bits(address);
	memcpy(bytes + 2, ip_addr(address), ip_addrsize(address));
	hash = blx_hash_bytes(bytes, 2 + ip_addrsize(address), seed);
	FreeIfDetoasted(address, value);
	return hash;
}

/* The label: the OID of an enum value changes with a dump and restore. */
uint64
HashEnum(KeyType *key, Datum value, uint64 seed)
{
	HeapTuple	tuple = SearchSysCache1(ENUMOID, value);
	const char *label;
	uint64		hash;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid internal value for enum: %u", DatumGetObjectId(value))));
	label = NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel);
	hash = blx_hash_bytes(label, strlen(label), seed);
	ReleaseSysCache(tuple);
	return hash;
}

/* The type's own hash function. */
uint64
HashByType(KeyType *key, Datum value, uint64 seed)
{
	uint64		hash = DatumGetUInt64(FunctionCall2Coll(&key->hash_function, key->collation, value, UInt64GetDatum(0)));

	return blx_hash_int64(hash, seed);
}
