#!/usr/bin/env python3
"""Compare the theory functions of SQL with exact arithmetic, in all digits of a float8 except the last three.

    scripts/throwaway test/python/theory.py

Rates are computed as the papers print them, by inclusion-exclusion, in rational numbers (fractions) where those stay
small, and elsewhere with hundreds of decimal digits, more than the terms cancel. The extension uses other formulas, so
the two can agree only if both are right. Uses the server that the PG* environment names. Prints what differs by more
than 1e-12 of the value; the last line is "N passed, N failed".
"""

import decimal
import functools
import math
import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

TOLERANCE = Fraction(1, 10**12)
DIGITS = 400                    # inclusion-exclusion over 16 bits of a million cancels a hundred of them
RATIONAL = 20000                # the largest power that is computed as a fraction
SMALLEST = 1e-280               # the smallest value compared: below it a float8 has fewer digits

decimal.getcontext().prec = DIGITS


def number(numerator, denominator, power):
    """1 - numerator/denominator, as a fraction or a decimal, whichever a power that high needs."""
    base = 1 - Fraction(numerator) / denominator
    if power * math.log2(max(base.denominator, 2)) <= RATIONAL:
        return base
    return Decimal(base.numerator) / Decimal(base.denominator)


def decimals(value):
    return value if isinstance(value, Decimal) else Decimal(value.numerator) / Decimal(value.denominator)


def all_set(miss, j):
    """The probability that j bits are all set; miss(i) is the probability that i given bits are unset."""
    terms = [(-1) ** i * math.comb(j, i) * miss(i) for i in range(j + 1)]
    return sum(map(decimals, terms) if any(isinstance(term, Decimal) for term in terms) else terms)


@functools.lru_cache(maxsize=None)
def stirling(k, d):
    """Partitions of k things into d classes."""
    if k == 0 or d == 0:
        return int(k == d)
    return d * stirling(k - 1, d) + stirling(k - 1, d - 1)


def distinct(m, k, d):
    """The probability that k throws into m bits hit d distinct ones."""
    return Fraction(stirling(k, d) * math.perm(m, d), m**k)


def mean_over_keys(m, k, miss):
    """The rate for a key of k probes."""
    miss = functools.lru_cache(maxsize=None)(miss)
    total = Fraction(0)
    for d in range(min(k, m) + 1):
        total += distinct(m, k, d) * Fraction(all_set(miss, d))
    return total


def fpr_approx(n, m, k):
    return (1 - (1 - Decimal(1) / m) ** (k * n)) ** k if n else Decimal(0)


def fpr_goel_gupta(n, m, k):
    return (1 - (Decimal(-k) * (n + Decimal("0.5")) / (m - 1)).exp()) ** k


def fpr_standard(n, m, k):
    return mean_over_keys(m, k, lambda i: number(i, m, n * k) ** (n * k))


def fpr_distinct(n, m, k):
    # a key, k different bits, misses i given ones
    return all_set(lambda i: number(1 - Fraction(math.comb(m - i, k), math.comb(m, k)), 1, n) ** n, k)


def fpr_partitioned(n, m, k):
    return (1 - number(k, m, n * k) ** n) ** k


def fpr_element(n, m, k, d):
    return all_set(lambda i: number(i, m, n * k) ** (n * k), d)


def fpr_rational(n, m, k):
    whole = math.floor(k)
    fraction = Fraction(k) - whole

    def miss(i):
        one = 1 - (1 - Fraction(i, m)) ** whole * (1 - fraction * i / m)
        return number(one, 1, n) ** n

    return (1 - fraction) * mean_over_keys(m, whole, miss) + fraction * mean_over_keys(m, whole + 1, miss)


def fpr_blocked(n, m, k, block_bits):
    # a key misses i bits of a block unless it goes there and hits one
    return mean_over_keys(block_bits, k, lambda i: number((1 - (1 - Fraction(i, block_bits)) ** k) * block_bits, m, n) ** n)


def fpr_partitioned_blocked(n, blocks, parts):
    rate = Fraction(1)
    for first in range(0, parts, 8):
        group = min(8, parts - first)
        rate *= Fraction(all_set(lambda i: number(1 - Fraction(63, 64) ** i, blocks, n) ** n, group))
    return rate


def fpr_age_partitioned(k, l, linear):
    """The paper's recursion: a matches in a row before part i."""
    fills = [Fraction(min(i + 1, k), 2 * k) if linear else Fraction(1 - Decimal(2) ** (-Decimal(min(i + 1, k)) / k)).limit_denominator(10**60)
             for i in range(k + l)]

    @functools.lru_cache(maxsize=None)
    def match(a, i):
        if a == k:
            return Fraction(1)
        if i > l + a:
            return Fraction(0)
        return fills[i] * match(a + 1, i + 1) + (1 - fills[i]) * match(0, i + 1)

    return match(0, 0)


def collisions(m, k, c):
    return distinct(m, k, k - c)


def part_overlap(bits, a, b):
    a, b = min(a, b), max(a, b)
    with decimal.localcontext() as context:
        context.prec = 80       # a walk: nothing cancels but the 1 at the end
        hit = [Decimal(1)]
        for _ in range(a):
            hit = [(hit[d] * d if d < len(hit) else 0) / Decimal(bits) + (hit[d - 1] * (bits - d + 1) if d > 0 else 0) / Decimal(bits)
                   for d in range(len(hit) + 1)]
        return 1 - Fraction(sum(p * (1 - Decimal(d) / bits) ** b for d, p in enumerate(hit) if d <= bits))


def false_overlap(layout, m, k, n1, n2):
    if layout == "standard":
        return part_overlap(m, k * n1, k * n2)
    return part_overlap(m // k, n1, n2) ** k


def cases():
    """(function, arguments)"""
    for m in (1, 2, 8, 64, 100, 512, 4096):
        for k in (1, 2, 3, 8, 16):
            for n in (0, 1, 2, 5, 44, 300):
                yield fpr_standard, (n, m, k)
                yield fpr_approx, (n, m, k)
                if m > 1:
                    yield fpr_goel_gupta, (n, m, k)
                if m >= k:
                    yield fpr_partitioned, (n, m, k)
                    yield fpr_distinct, (n, m, k)
                if k <= m and m >= 64:
                    yield from ((fpr_element, (n, m, k, d)) for d in sorted({1, k // 2 + 1, k}))
    # large filters, and both sides of the limit between few and many throws
    for n, m, k in ((100000, 10**6, 7), (6250, 10**6, 16), (70000, 10**6, 10), (1000, 10**6, 16), (10, 10**6, 16), (12, 10**6, 8),
                    (11, 997, 8), (12, 997, 8), (13, 997, 8), (10**9, 10**10, 7), (10**15, 10**16, 5), (2**62, 2**63 - 1, 3), (3, 2**63 - 1, 3),
                    (17, 4096, 32), (18, 4096, 32), (19, 4096, 32), (33, 2000, 64), (34, 2000, 64)):
        yield fpr_standard, (n, m, k)
        yield fpr_approx, (n, m, k)
        yield fpr_partitioned, (n, m, k)
        yield fpr_distinct, (n, m, k)
        yield fpr_element, (n, m, k, k)
    for m in (1, 10, 100, 1000):
        for k in (0.5, 1 / 65536, 0.9375, 1.0, 1.5, 2.25, 7.0, 7.0625, 7.9375, 16.5):
            for n in (0, 1, 3, 30, 200, 1000):
                yield fpr_rational, (n, m, k)
    for n, m, k in ((60000, 131072, 1.5), (10**6, 10**7, 6.75), (10**12, 10**13, 3.5), (2**62, 2**40, 0.25), (2**62, 2**61, 0.75)):
        yield fpr_rational, (n, m, k)
    for block_bits in (1, 64, 512, 32768):
        for blocks in (1, 2, 10, 1000):
            for k in (1, 6, 16):
                for n in (0, 1, 50, 1000, 100000):
                    yield fpr_blocked, (n, blocks * block_bits, k, block_bits)
    for blocks in (1, 2, 64, 32768):
        for parts in (1, 5, 8, 13, 24):
            for n in (0, 1, 40, 2500, 1000000):
                yield fpr_partitioned_blocked, (n, blocks, parts)
    for k, l in ((1, 0), (1, 9), (2, 0), (4, 3), (7, 5), (10, 7), (14, 11), (17, 15), (20, 60)):
        yield fpr_age_partitioned, (k, l, True)
        yield fpr_age_partitioned, (k, l, False)
    for m in (1, 2, 64, 512, 10**6, 2**63 - 1):
        for k in (1, 2, 8, 20, 64):
            yield from ((collisions, (m, k, c)) for c in sorted({0, 1, k // 2, k - 1}) if c < k)
    for layout in ("standard", "partitioned"):
        for m, k in ((8, 1), (64, 8), (512, 8), (8192, 8), (10**6 * 7, 7)):
            for n1, n2 in ((0, 5), (1, 1), (3, 2), (16, 16), (20, 60)):
                yield false_overlap, (layout, m, k, n1, n2)
    for few in (1024, 1025, 1500):
        for many in (1025, 2000, 10**6):
            for m in (10**5, 10**7):
                yield false_overlap, ("standard", m, 1, few, many)


def literal(value):
    return f"'{value}'" if isinstance(value, str) else str(value)


def ask(calls):
    """The server's results, as floats."""
    script = "BEGIN; CREATE SCHEMA theory_test; CREATE EXTENSION bloomx SCHEMA theory_test; CREATE EXTENSION bloomx_theory SCHEMA theory_test; SET LOCAL search_path = theory_test, pg_catalog;\n"
    script += "".join(f"SELECT {call};\n" for call in calls) + "ROLLBACK;\n"
    done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", os.environ.get("PGDATABASE", "postgres")],
                          input=script, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"theory.py: {done.stderr.strip()}")
    return [float(line) for line in done.stdout.split()]


def main():
    passed = failed = 0
    worst = {}
    todo = list(cases())
    calls = [f"bloom_{function.__name__}({', '.join(map(literal, arguments))})" for function, arguments in todo]
    for (function, arguments), call, ours in zip(todo, calls, ask(calls), strict=True):
        exact = Fraction(function(*arguments))
        if exact < SMALLEST:
            error = Fraction(0) if 0 <= ours < 2 * SMALLEST else Fraction(1)
        else:
            error = abs(Fraction(ours) / exact - 1)
        worst[function] = max(worst.get(function, (0, "")), (error, call))
        if error <= TOLERANCE:
            passed += 1
        else:
            failed += 1
            print(f"FAILED {call}: {ours!r}, not {float(exact)!r} (off by {float(error):.1e})")
    for function, (error, call) in worst.items():
        print(f"# bloom_{function.__name__}: largest relative error {float(error):.1e}, {call}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
