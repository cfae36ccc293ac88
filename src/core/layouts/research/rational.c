/*
 * rational.c - the rational Bloom filter: a standard filter whose k need not be
 * a whole number.
 *
 * Walther, Mansour and Werner 2025.  Every key sets floor(k) bits, and a fraction
 * k - floor(k) of the keys sets one more.  The key's own hash decides whether it
 * does, so that adding and testing agree.  The extra probe has a derived hash w
 * of its own.  As for every probe, its top bits give the position; its lowest 16
 * bits switch the probe on if they are below the fraction, in 1/65536.  The two
 * are independent: m is at most 2^33, so a position stands for at least 2^31
 * adjacent values of w, in which all values of the low bits are equally frequent.
 *
 * A fraction averages over keys, and an arithmetic mean is never below the
 * geometric one.  So the false positive rate is lowest at a whole k, and a plan
 * by capacity has a whole k: it is the standard filter's.
 *
 * The exception is a k below 1, for filters of fewer bits than keys.  Then a
 * fraction k of the keys has one bit, and the others have none: they are found
 * in every such filter, an empty one included.  So two filters are never proven
 * disjoint.
 */
#include <math.h>

#include "core/base/hash.h"
#include "core/layouts/fixed/flat.h"
#include "core/layouts/geometry.h"
#include "core/theory/theory.h"

/* A step is one word more.  k is whole here. */
static void
at_step(unsigned k, uint64_t step, const blx_options *options, blx_geometry *g)
{
	(void) options;
	*g = (blx_geometry) {.layout = BLX_RATIONAL, .blocks = 1, .parts = 1, .probes = (uint16_t) k, .part_bits = 64 * step};
}

static bool
at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	uint32_t	fixed = (uint32_t) llround(k * BLX_FRACTION_ONE);

	(void) options;
	(void) error;
	*g = (blx_geometry) {.layout = BLX_RATIONAL, .blocks = 1, .parts = 1, .probes = (uint16_t) (fixed / BLX_FRACTION_ONE),
	.fraction = (uint16_t) (fixed % BLX_FRACTION_ONE), .part_bits = bits};
	return true;
}

/* True if the key has an extra bit; sets *bit to it. */
static inline bool
extra_bit(const blx_filter *f, uint64_t hash, uint64_t *bit)
{
	uint64_t	w = blx_derive(hash, f->probes);

	*bit = blx_scale(w, f->part_bits);
	return w % BLX_FRACTION_ONE < f->fraction;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	uint64_t   *words = blx_words(f);
	uint64_t	bit;

	blx_flat_add(f, hashes, n);
	for (size_t i = 0; i < n; i++)
		if (extra_bit(f, hashes[i], &bit))
			words[bit / 64] |= UINT64_C(1) << bit % 64;
	return n;
}

static bool
test_fetched(const blx_filter *f, uint64_t hash, blx_fetch fetch, void *arg)
{
	uint64_t	bit;

	return blx_flat_test_fetched(f, hash, fetch, arg) &&
		(!extra_bit(f, hash, &bit) || *fetch(arg, bit / 64, 1) >> bit % 64 & 1);
}

static bool
test(const blx_filter *f, uint64_t hash)
{
	uint64_t	bit;

	return blx_flat_test(f, hash) && (!extra_bit(f, hash, &bit) || blx_cwords(f)[bit / 64] >> bit % 64 & 1);
}

static double
fpr_expected(const blx_geometry *g, uint64_t n)
{
	return blx_fpr_rational((double) n, (double) g->part_bits, blx_bits_per_key(g));
}

/*
 * The mean over absent keys: F^floor(k) (1 - f + f F), with fill F and fraction
 * f of keys that have one more probe.
 */
static void
fpr_prefixes(const blx_filter *f, double *rates)
{
	double		fill = (double) blx_popcount(blx_cwords(f), blx_words_for_bits(f->part_bits)) / (double) f->part_bits;

	rates[1] = blx_power(fill, f->probes) * (1 - f->fraction * (1 - fill) / BLX_FRACTION_ONE);
}

/* A common key would leave a common bit, if every key has a bit. */
static bool
disjoint(const blx_filter *a, const blx_filter *b)
{
	return a->probes > 0 && blx_flat_disjoint(a, b);
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	blx_geometry g = blx_geometry_of(f);

	emit(arg, "k", blx_bits_per_key(&g), NULL);
}

const blx_layout blx_layout_rational = {
	.name = "rational",
	.traits = BLX_FETCHABLE,
	.fractional = true,
	.one = BLX_ONE_BLOCK | BLX_ONE_PART,
	.at_step = at_step,
	.max_step = BLX_MAX_BYTES / 8,
	.at_bits = at_bits,
	.add = add,
	.test_fetched = test_fetched,
	.test = test,
	.fpr_expected = fpr_expected,
	.fpr_prefixes = fpr_prefixes,
	.folds = BLX_FOLDS_PARTS,
	.folded_bits_set = blx_flat_folded_bits_set,
	.merge = blx_flat_merge,
	.disjoint = disjoint,
	.details = details,
};
