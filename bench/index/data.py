#!/usr/bin/env python3
"""Real data for bench/index, as rows for COPY: an id and the array of a row's keys.

    data.py words N       passages of the Linux kernel's source (Debian package linux-source)
    data.py kmers N       windows of the genome of E. coli (bowtie-examples)
    data.py addresses N   visitors per day and site, IPv4 addresses of the site's country (tor-geoipdb,
                          below the directory $BLOOMX_DATA)

Rows come in the order in which such a table would grow.  Random numbers come from a seeded generator.
"""
import glob
import gzip
import os
import random
import re
import sys
import tarfile
from bisect import bisect
from itertools import accumulate


def words(n):
    """Passages of 50 to 200 distinct words: consecutive lines until there are enough words.

    Passages overlap, as in search engines that index texts by passages: the next one begins after a quarter of
    the lines of this one.  A word is a name or a number of at least three characters.
    """
    rng = random.Random(1)
    word = re.compile(r'\w{3,}', re.ASCII).findall
    source = sorted(glob.glob('/usr/src/linux-source-*.tar.xz'))[-1]
    with tarfile.open(source, 'r|xz') as tar:
        for member in tar:
            if not member.isfile():
                continue
            lines = [word(line) for line in tar.extractfile(member).read().decode('latin1').split('\n')]
            start = 0
            while start < len(lines):
                want, seen, end = rng.randint(50, 200), set(), start
                while end < len(lines) and len(seen) < want:
                    seen.update(lines[end])
                    end += 1
                if len(seen) < 50:
                    break
                if len(seen) <= 200:
                    yield seen
                    n -= 1
                    if n == 0:
                        return
                start += max(1, (end - start) // 4)


def kmers(n):
    """The 31-mers of the genome in order, enough for n windows: two bits per base, the smaller of the two strands.

    One 31-mer per row.  A window has 10,000 of them, and the next window begins 492 rows later (kmers.sql).
    """
    k = 31
    left = 10000 + 492 * (n - 1)
    mask = (1 << 2 * k) - 1
    genome, = glob.glob('/usr/share/doc/bowtie/examples/genomes/*.fna.gz')
    code = {'A': 0, 'C': 1, 'G': 2, 'T': 3}
    forward = backward = length = 0
    with gzip.open(genome, 'rt') as lines:
        for line in lines:
            for base in line.strip() if line[0] != '>' else '':
                if base not in code:
                    length = 0
                    continue
                forward = (forward << 2 | code[base]) & mask
                backward = backward >> 2 | (3 - code[base]) << 2 * (k - 1)
                length += 1
                if length >= k:
                    yield (min(forward, backward),)
                    left -= 1
                    if left == 0:
                        return


def addresses(n):
    """100 sites, each with visitors from one country, whose addresses are random in the ranges of that country.

    For 30 days a visitor comes with a probability of 1/2 per day.  Ten new visitors start every day.
    """
    ranges = {}
    with open(os.environ.get('BLOOMX_DATA', '') + '/usr/share/tor/geoip', encoding='ascii') as lines:
        for line in lines:
            if line[0] != '#':
                first, last, country = line.strip().split(',')
                ranges.setdefault(country, []).append((int(first), int(last)))
    largest = sorted(ranges, key=lambda country: -len(ranges[country]))[:100]
    sites = []
    for site, country in enumerate(largest):
        ends = list(accumulate(last - first + 1 for first, last in ranges[country]))
        rng = random.Random(site)

        def draw(ends=ends, mine=ranges[country], rng=rng):
            at = rng.randrange(ends[-1])
            i = bisect(ends, at)
            value = mine[i][1] + 1 - (ends[i] - at)
            return '.'.join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
        sites.append((rng, draw, [draw() for _ in range(300)]))
    for row in range(n):
        rng, draw, visitors = sites[row % len(sites)]
        yield {visitor for visitor in visitors if rng.random() < 0.5}
        visitors[:10] = []
        visitors.extend(draw() for _ in range(10))


what, rows = {'words': words, 'kmers': kmers, 'addresses': addresses}[sys.argv[1]], int(sys.argv[2])
for number, keys in enumerate(what(rows), 1):
    sys.stdout.write('%d\t{%s}\n' % (number, ','.join(map(str, sorted(keys)))))
