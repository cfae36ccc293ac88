/*
 * filter.c - adding key hashes to a filter and testing for them.
 */
#include "core/layout.h"

void
blx_add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	blx_layout_row(f->layout)->add(f, hashes, n);
}

bool
blx_test(const blx_filter *f, uint64_t hash)
{
	if (f->layout == BLX_HASHES)
		return blx_hashes_test(f, hash);
	return blx_layout_row(f->layout)->test(f, hash);
}

bool
blx_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg)
{
	return blx_layout_row(header->layout)->test_fetched(header, hash, fetch, arg);
}
