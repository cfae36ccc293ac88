"""The papers' formulas, exactly: an independent implementation, with which measurements and the core are compared.

Rates of small filters are fractions. Rates of larger filters come from the same recurrences in floating point, which add
only positive terms and so lose no digits. Equation numbers are those of Almeida, A Case for Partitioned Bloom Filters.
"""
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, floor, lgamma, log, log1p

import numpy

import published


@lru_cache(None)
def occupancy_fractions(m, throws):
    """P(X = x), x = 0..m, for the number X of bits that random throws set in m bits."""
    counts = [1] + [0] * m
    for _ in range(throws):
        counts = [0] + [x * counts[x] + (m - x + 1) * counts[x - 1] for x in range(1, m + 1)]
    total = m ** throws
    return [Fraction(c, total) for c in counts]


@lru_cache(64)
def occupancy(m, throws):
    """The same in floating point, x = 0 .. min(m, throws)."""
    top = min(m, throws)
    p = numpy.zeros(top + 1)
    p[0] = 1
    x = numpy.arange(1, top + 1)
    stay, step = x / m, (m - x + 1) / m
    for _ in range(throws):
        p[1:], p[0] = p[1:] * stay + p[:-1] * step, 0
    return p


def fpr_standard_fraction(n, m, k):
    """Eq. 10: E[(X/m)^k]."""
    return sum(p * Fraction(x, m) ** k for x, p in enumerate(occupancy_fractions(m, n * k)))


def fpr_standard(n, m, k):
    p = occupancy(m, n * k)
    return float(p @ (numpy.arange(len(p)) / m) ** k)


def fpr_partitioned_fraction(n, m, k):
    """Eq. 11: the parts are independent, so the mean of the product is the product of the means."""
    return (1 - (1 - Fraction(k, m)) ** n) ** k


def fpr_partitioned(n, m, k):
    return (-expm1(n * log1p(-k / m))) ** k


def fpr_approx(n, m, k):
    """Eq. 5, the standard analysis: (1 - (1 - 1/m)^(kn))^k."""
    return (-expm1(k * n * log1p(-1 / m))) ** k


def fpr_element(n, m, k, d):
    """Eq. 14: the rate of a key with d distinct bits, as the probability that all d are among the X set bits."""
    p = occupancy(m, n * k)
    x = numpy.arange(len(p))
    hit = numpy.ones(len(p))
    for i in range(d):
        hit *= numpy.maximum(x - i, 0) / (m - i)
    return float(p @ hit)


def collisions(m, k, c):
    """Eq. 8: P(k probes hit exactly k - c distinct bits)."""
    return float(occupancy_fractions(m, k)[k - c])


def keys_at_fill(m, k, p):
    return floor(-log1p(-p) * m / k)


def share_nothing(bits, throws1, throws2):
    """P(no bit is set in both of two filters with that many bits)."""
    p = occupancy(bits, throws1)
    return float(p @ (1 - numpy.arange(len(p)) / bits) ** throws2)


def poisson(mean, x):
    return exp(x * log(mean) - mean - lgamma(x + 1))


def mean_over_two_loads(mean, f):
    """E[f(i, j)] for two independent Poisson loads of a block."""
    top = int(mean + 12 * mean ** 0.5 + 12)
    weights = [poisson(mean, i) for i in range(top)]
    return sum(a * b * f(i, j) for i, a in enumerate(weights) if a > 1e-12 for j, b in enumerate(weights) if b > 1e-12)


def false_overlap(layout, n, m, k):
    """Section 6.2: P(the filters of two disjoint sets of n keys do not show that they are disjoint)."""
    if layout == 'standard':
        return 1 - share_nothing(m, k * n, k * n)
    if layout == 'partitioned':
        return (1 - share_nothing(m // k, n, n)) ** k
    blocks = m // 512
    none = lru_cache(None)(share_nothing)
    if layout == 'blocked':
        apart = mean_over_two_loads(n / blocks, lambda i, j: none(512, k * i, k * j))
    else:
        assert layout == 'partitioned_blocked' and k == 8
        apart = mean_over_two_loads(n / blocks, lambda i, j: 1 - (1 - none(64, i, j)) ** k)
    return 1 - apart ** blocks


def binomial_mean(n, p, f):
    """E[f(i)], i ~ Binomial(n, p), within 9 sigma of the mean."""
    spread = 9 * (n * p * (1 - p)) ** 0.5 + 9
    total = 0.0
    for i in range(max(0, int(n * p - spread)), min(n, int(n * p + spread)) + 1):
        weight = exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log1p(-p)) if 0 < p < 1 else 1.0
        total += weight * f(i)
    return total


def fill(m, throws):
    return -expm1(throws * log1p(-1 / m))


def fpr_rational(n, m, k):
    """A fractional k: each key has floor(k) probes or one more. Uses the mean fill, because m is large where this is used."""
    whole, fraction = floor(k), k - floor(k)
    f = fill(m, n * k)
    return f ** whole * ((1 - fraction) + fraction * f)


def fpr_window(k, l, fills):
    """Age-partitioned: the probability of k adjacent matches among k + l slices with these fills, youngest first."""
    @lru_cache(None)
    def chance(run, i):
        if run == k:
            return 1.0
        if i > l + run:
            return 0.0
        return fills[i] * chance(run + 1, i + 1) + (1 - fills[i]) * chance(0, i + 1)
    return chance(0, 0)


def window_fills(k, l, linear=False):
    """The fills just before a generation ends: the paper's chord (i+1)/2k, or the real fills."""
    young = [(i + 1) / (2 * k) if linear else 1 - 2 ** (-(i + 1) / k) for i in range(k)]
    return young + [0.5] * l


def keys_at(occupation, m, k):
    """The paper's number of keys: a share of (m/k) ln 2, rounded down."""
    return floor(occupation * m / k * log(2))


def occupancy_without_last(m, throws):
    """The occupancy without its last term, all throws on different bits: what explains the printed Tables 2 and 3."""
    p = occupancy(m, throws).copy()
    if throws < len(p):
        p[throws] = 0
    return p


def ratio_without_last(n, m, k):
    p = occupancy_without_last(m, n * k)
    return fpr_partitioned(n, m, k) / float(p @ (numpy.arange(len(p)) / m) ** k)


def element_without_last(n, m, k, d):
    p = occupancy_without_last(m, n * k)
    x = numpy.arange(len(p))
    hit = numpy.ones(len(p))
    for i in range(d):
        hit *= numpy.maximum(x - i, 0) / (m - i)
    return float(p @ hit) / float(p @ (x / m) ** k)


def is_printed(text, value):
    """True if the value, rounded or cut off, has the printed digits."""
    digits = len(text.partition('.')[2])
    return abs(float(text) - value) <= 0.501 * 10 ** -digits or f'{value:.{digits + 6}f}'[:len(text)] == text


def check_published():
    """How many printed cells of Tables 2 and 3 are right, and how many come out without the last term of equations 10 and 14."""
    ratios = [(text, fpr_partitioned(n, m, k) / fpr_standard(n, m, k), ratio_without_last(n, m, k))
              for (m, k), row in published.RATIOS.items() for o, text in zip(published.OCCUPATIONS, row) for n in [keys_at(o, m, k)]]
    elements = [(text, fpr_element(n, m, k, k - c) / fpr_standard(n, m, k), element_without_last(n, m, k, k - c))
                for (o, m, k), row in published.ELEMENTS.items() for c, text in enumerate(row) for n in [keys_at(o, m, k)]]
    for name, cells in (('Table 2', ratios), ('Table 3', elements)):
        yield name, len(cells), sum(is_printed(text, right) for text, right, _ in cells), sum(is_printed(text, cut) for text, _, cut in cells)


def fpr_power(n, m, k):
    """What a proof takes the rate of a rational filter for: the fill to the power of a fractional k."""
    return fill(m, n * k) ** k


def fpr_rational_fraction(n, m, k):
    """A rational filter, exactly: k is a Fraction. By inclusion and exclusion over the distinct bits of the absent key."""
    whole, extra = floor(k), k - floor(k)
    if whole == 0:
        return 1 - k * (1 - k / m) ** n         # the key has a bit, and it is unset

    def all_set(d):
        return sum((-1) ** i * comb(d, i) * ((1 - Fraction(i, m)) ** whole * (1 - extra * Fraction(i, m))) ** n for i in range(d + 1))

    def rate(probes):
        return sum(p * all_set(d) for d, p in enumerate(occupancy_fractions(m, probes)) if p)
    return (1 - extra) * rate(whole) + extra * rate(whole + 1)


def fpr_rational_any(n, m, k):
    """A rational filter of any k above 0 by its mean fill, as fpr_rational, which starts at k = 1."""
    whole, extra = floor(k), k - floor(k)
    f = -expm1(n * (whole * log1p(-1 / m) + log1p(-extra / m)))
    return f ** whole * (1 - extra + extra * f)


def clashes(m, k):
    """The expected pairs of a key's k probes, perhaps a fractional k, that hit one of m bits."""
    whole, extra = floor(k), k - floor(k)
    return ((1 - extra) * whole * (whole - 1) + extra * (whole + 1) * whole) / 2 / m


def clashes_of_blocks(m, k):
    """The same in blocks of powers of two that sum to m."""
    return sum(clashes(1 << b, k * (1 << b) / m) for b in range(m.bit_length()) if m >> b & 1)


if __name__ == '__main__':
    ratio = fpr_partitioned_fraction(5, 64, 8) / fpr_standard_fraction(5, 64, 8)
    print(float(ratio))
    assert abs(float(ratio) - 1.21703636) < 1e-8
    for m, k, n in ((64, 8, 5), (128, 4, 22)):
        assert abs(fpr_standard(n, m, k) / float(fpr_standard_fraction(n, m, k)) - 1) < 1e-12
    assert abs(sum(comb(3, j) * (-1) ** j * (1 - j / 64) ** 40 for j in range(4)) / fpr_element(5, 64, 8, 3) - 1) < 1e-10
    for table, cells, right, explained in check_published():
        print(f'{table}: {cells} cells, {right} as printed, {explained} without the last term')
        assert explained == cells
    # Walther, Theorem 4.4, by the paper's first example: m = 10, n = 5, k = 2 ln 2
    rational = fpr_rational_fraction(5, 10, Fraction(2 * log(2)))
    assert rational > fpr_rational_fraction(5, 10, Fraction(1)) == Fraction(40951, 100000)
    # Corollary 4.11 by the same: blocks of 8 and 2 bits
    blocks = fpr_rational_fraction(5, 8, Fraction(2 * log(2)) * Fraction(8, 10)) * fpr_rational_fraction(5, 2, Fraction(2 * log(2)) * Fraction(2, 10))
    assert blocks > rational
    print(f'm = 10, n = 5: blocks {float(blocks):.6f}, k = 2 ln 2 {float(rational):.6f}, k = 1 0.40951')
    # Theorem 4.12 without its condition
    assert all(clashes_of_blocks(m, k) < clashes(m, k) for m in range(3, 5000) if m & (m - 1) for k in (2, 2.5, 3, 4, 5, 7, 8, 10, 13.3, 21))
