/*
 * columns.h - the keys of a row of values.
 */
#pragma once

#include "pg/base/base.h"

#include "access/genam.h"

#include "pg/keys/extract/extract.h"

/* Of all columns of an index of values. */
typedef struct BloomxColumns
{
	KeyHashes	hashes;			/* of the last row */
	int			n;
	KeyExtractor *extractors[FLEXIBLE_ARRAY_MEMBER];
} BloomxColumns;

/* Everything is in the current memory context. */
extern BloomxColumns *BloomxOpenColumns(Relation index);

/* The hashes of all keys of a row, as they come, or each once in ascending order; valid until the next call. */
extern const KeyHashes *BloomxHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull);
extern const KeyHashes *BloomxSortedHashesOfRow(BloomxColumns *columns, const Datum *values, const bool *isnull);

/* A key's hash as the index has it; columns are numbered from 0. */
extern uint64 BloomxHashInColumn(uint64 hash, int column);
extern uint64 BloomxHashOfNull(int column);

/* The type that an extractor is made for (pg/keys/extract/extract.h). */
extern Oid	BloomxTypeOfColumn(Relation index, int column);
