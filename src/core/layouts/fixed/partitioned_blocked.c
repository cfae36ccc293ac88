/*
 * partitioned_blocked.c - the default layout: blocks of 64-bit parts, in groups
 * of eight parts (docs/internals/design.md, "The default layout"; Almeida 2022, section
 * 6.1).
 *
 * groups.h and kernels/block.h say where a key's bits are, and why; counting and
 * scalable are built of the same groups.  Keys are added and tested by the
 * kernels.
 */
#include "core/layouts/fixed/grouped.h"

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	blx_kernels_in_use()->add(blx_words(f), f->blocks, f->parts, hashes, n);
	return n;
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	return blx_kernels_in_use()->test(blx_cwords(f), f->blocks, f->parts, hash);
}

static uint64_t
test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n)
{
	return blx_kernels_in_use()->test_batch(blx_cwords(f), f->blocks, f->parts, hashes, n);
}

const blx_layout blx_layout_partitioned_blocked = {
	.name = "partitioned_blocked",
	.traits = BLX_FETCHABLE,
	BLX_GROUPED_ROW,
	.at_step = blx_grouped_at_step,
	.add = add,
	.test = test,
	.test_batch = test_batch,
};
