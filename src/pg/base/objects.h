/*
 * objects.h - the OIDs of the extension's own objects.
 */
#pragma once

#include "pg/base/compat.h"

/* The extension's functions that other code has to recognise. */
typedef enum OwnFunction
{
	BLOOM_CONTAINS,
	BLOOM_CONTAINED,
	BLOOM_CONTAINS_HASH,
	BLOOM_CONTAINS_ANY,
	BLOOM_CONTAINS_ALL,
	BLOOM_PREFILTER,
	BLOOMX_HOLDS_ALL,
	BLOOMX_HOLDS_ANY,
	BLOOMX_HOLDS_TEXT,
	BLOOMX_HOLDS_ALL_TEXTS,
	BLOOMX_HOLDS_ANY_TEXT,
	BLOOM_OVERLAPS,
	BLOOM_DISJOINT,
	BLOOMX_PROBE,
	BLOOMX_PROBE_ALL,
	BLOOMX_PROBE_HASH,
	BLOOM_AGG,
	BLOOM_AGG_CAPACITY,
	BLOOM_AGG_RATE,
	BLOOM_AGG_TEMPLATE,
	BLOOM_UNION_AGG,
	OWN_FUNCTIONS,
	NOT_OWN						/* somebody else's, whatever its name */
} OwnFunction;

typedef enum OwnOperator
{
	HOLDS_ALL_OPERATOR,
	HOLDS_ANY_OPERATOR,
	HOLDS_TEXT_OPERATOR,
	HOLDS_ALL_TEXTS_OPERATOR,
	HOLDS_ANY_TEXT_OPERATOR,
	OWN_OPERATORS,
	NO_OPERATOR
} OwnOperator;

extern OwnFunction WhichFunction(Oid function);

/* InvalidOid if the extension has no such object, for example while it is being created. */
extern Oid	OwnFunctionOid(OwnFunction which);
extern Oid	OwnOperatorOid(OwnOperator which);
extern Oid	FilterTypeOid(void);

/* The index that is the store of partitions' keys. */
extern Oid	PartitionStoreOid(void);

/* True for bloomfilter and for a domain over it. */
extern bool IsFilterType(Oid type);

/*
 * Another extension's function with that name and that one argument.  An error if it
 * has none: then the type is not its own, but only has the same name.
 */
extern Oid	FunctionOfExtension(const char *extension, const char *function, Oid argument);
