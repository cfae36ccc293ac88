/*
 * match.c - whether keys are of the type that a filter has.
 */
#include "pg/keys/keys.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "pg/base/objects.h"

/* True if the keys of f are whole arrays. */
static bool
HasArrayKeys(const blx_filter *f)
{
	return f->key_type == BLX_KEY_NAMED && f->name_len > 2 && memcmp(blx_name(f) + f->name_len - 2, "[]", 2) == 0;
}

/* True if the keys of f are filters. */
static bool
HasFilterKeys(const blx_filter *f)
{
	const char *name = "bloomfilter#";

	return f->key_type == BLX_KEY_NAMED && f->name_len > strlen(name) && memcmp(blx_name(f), name, strlen(name)) == 0;
}

/* What to do if a cast of the key is not it; else NULL. */
static const char *
HintForKey(const blx_filter *f, const KeyType *key)
{
	if (HasFilterKeys(f))
		return "The filter was built from filters as keys. To merge filters, use bloom_union_agg.";
	if (HasArrayKeys(f) && key->reader == NULL && !type_is_array_domain(key->type))
		return "The filter was built from whole arrays as keys. To add the elements of an array, use bloom_add_all, or bloom_agg of unnest.";
	if (IsFilterType(key->type))
		return "A filter is tested for keys. To merge two filters, use |; to compare them, &&, bloom_compare or bloom_intersection_cardinality.";
	if (f->key_type == BLX_KEY_HASH)
		return "The filter was built from hashes: use bloom_add_hash or bloom_contains_hash with the bloom_hash of the key.";
	if ((key->type == VARCHAROID || key->type == NAMEOID) && f->key_type != BLX_KEY_BPCHAR)
		return "Cast the key to the type that the filter was built with. A literal or parameter of type varchar or name may be cast to text, too: a text is read as a key of the filter.";
	if (f->key_type != BLX_KEY_NAMED && type_is_array_domain(key->type))
		return "For the elements of an array, use bloom_add_all, bloom_contains_any or bloom_contains_all; for a bloomset, bloomset_add_new, bloomset_contains_any or bloomset_contains_all.";
	return NULL;
}

void
CompareKeyTypes(const blx_filter *f, KeyType *key)
{
	blx_identity of_filter = blx_identity_of(f),
				of_key;
	blx_error	error;

	if (key->read_as != NULL && key->read_as(key, &of_filter))
		return;
	of_key = key->identity;
	of_key.seed = of_filter.seed;
	if (!blx_key_check(&of_filter, &of_key, &error))
	{
		const char *hint = HintForKey(f, key);

		if (hint != NULL)
			strlcpy(error.hint, hint, sizeof error.hint);
		ThrowCoreError(&error);
	}
}
