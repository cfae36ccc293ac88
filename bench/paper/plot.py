"""The figures of docs/internals/theory.md and docs/internals/theory/papers.md, from the measurements in docs/internals/theory/*.csv and from exact.py.

    plot.py DIRECTORY [PREFIX]

Points are measured, lines are computed.
"""
import csv
import os
import sys

import numpy

import exact

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from figures import BLUE, CYAN, GREEN, GREY, ORANGE, PURPLE, RED, TEXT, plt, save  # noqa: E402

directory = sys.argv[1]
only = sys.argv[2] if len(sys.argv) > 2 else ''

COLOURS = {'standard': BLUE, 'partitioned': ORANGE, 'blocked': GREEN, 'partitioned_blocked': RED}


def rows(name):
    with open(f'{directory}/{name}.csv', newline='') as file:
        return list(csv.DictReader(file))


def select(table, x, y, **equal):
    found = sorted((float(r[x]), y(r)) for r in table if all(r[key] == str(value) for key, value in equal.items()))
    return [p[0] for p in found], [p[1] for p in found]


def legend_below(figure, axis):
    figure.legend(*axis.get_legend_handles_labels(), loc='lower center', ncol=3, fontsize=8)


def almeida_ratio():
    """Almeida's figure 3, F_p / F_s over m at nominal occupation; and beside it over the load."""
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 4.2))
    table = [r for r in rows('almeida-rates') if r['occupation'] == '1']
    for k, colour in ((4, BLUE), (8, ORANGE), (16, GREEN)):
        sizes = sorted({8 * k * round(2 ** (i / 6)) for i in range(0, 43)})
        sizes = [m for m in sizes if 32 <= m <= 4096 and exact.keys_at(1, m, k) > 0]
        axes[0].plot(sizes, [exact.fpr_partitioned(n, m, k) / exact.fpr_standard(n, m, k) for m in sizes for n in [exact.keys_at(1, m, k)]], color=colour, label=f'k = {k}')
        measured = {(r['m'], r['layout']): int(r['positives']) for r in table if r['k'] == str(k)}
        points = [m for m in (64, 512, 4096) if measured.get((str(m), 'standard'), 0) >= 300]
        axes[0].plot(points, [measured[str(m), 'partitioned'] / measured[str(m), 'standard'] for m in points], 'o', color=colour)
    axes[0].set(title='at nominal occupation, n = (m/k) ln 2', xscale='log', xlabel='m, bits', ylabel='rate: partitioned / standard', ylim=(0.97, 1.6))
    axes[0].set_xticks([64, 512, 4096], ['64', '512', '4,096'])
    axes[0].minorticks_off()
    axes[0].legend()
    for m, colour in ((64, BLUE), (128, ORANGE), (256, GREEN), (1024, RED)):
        n = sorted({max(1, round(1.6 * 0.6931 * m / 8 * i / 40)) for i in range(1, 41)})
        axes[1].plot([i * 8 / m for i in n], [exact.fpr_partitioned(i, m, 8) / exact.fpr_standard(i, m, 8) for i in n], color=colour, label=f'm = {m:,} bits')
    axes[1].axvline(0.6931, color=GREY, linestyle=':')
    axes[1].set(title='k = 8', xlabel='load, probes per bit (dotted: half full)')
    axes[1].legend()
    figure.suptitle('What parts cost: rate of the partitioned filter over that of the standard one')
    save(figure, directory, 'almeida-ratio')


def almeida_tail():
    """Almeida's figure 4: one key in how many has at least this multiple of the mean rate."""
    figure, axis = plt.subplots()
    for m, k, colour in ((64, 4, BLUE), (64, 8, ORANGE), (512, 8, GREEN), (512, 16, RED)):
        n = exact.keys_at(1, m, k)
        mean, tail, x, y = exact.fpr_standard(n, m, k), 1.0, [], []
        for c in range(k):
            x.append(exact.fpr_element(n, m, k, k - c) / mean)
            y.append(1 / tail)
            tail -= exact.collisions(m, k, c)
            if tail < 1e-8:
                break
        axis.plot(x, y, 'o-', color=colour, label=f'm = {m}, k = {k}')
    axis.set(xscale='log', yscale='log', xlabel="a key's own rate / mean rate", ylabel='one key in', title='Weak spots of the standard filter at nominal occupation')
    axis.set_xticks([1, 2, 4, 8, 16, 32], ['1', '2', '4', '8', '16', '32'])
    axis.set_yticks([1, 100, 10 ** 4, 10 ** 6, 10 ** 8], ['1', '100', '10,000', '10$^6$', '10$^8$'])
    axis.minorticks_off()
    axis.legend()
    save(figure, directory, 'almeida-tail')


def almeida_spread():
    """The spread of the rates of 4,000 keys."""
    table = rows('almeida-spread')
    m, k, n = (int(table[0][c]) for c in ('m', 'k', 'n'))
    figure, axes = plt.subplots(2, 1, sharex=True)
    bins = numpy.geomspace(0.6, 20, 70)
    mean = exact.fpr_standard(n, m, k)
    for axis, layout in zip(axes, ('standard', 'partitioned')):
        found = [r for r in table if r['layout'] == layout]
        axis.hist([int(r['positives']) / int(r['filters']) / mean for r in found], bins, weights=[int(r['keys']) for r in found],
                  color=COLOURS[layout], label=layout)
        for c in range(4 if layout == 'standard' else 1):
            at = exact.fpr_element(n, m, k, k - c) / mean if layout == 'standard' else exact.fpr_partitioned(n, m, k) / mean
            axis.axvline(at, color=GREY, linestyle=':', linewidth=1)
        axis.set(xscale='log', yscale='log', ylabel='keys', ylim=(0.7, 1500))
        axis.legend(loc='upper right')
    axes[1].set(xlabel=f"a key's own rate / mean rate of standard   (m = {m}, k = {k}, n = {n})", xticks=[1, 2, 4, 8, 16], xticklabels=['1', '2', '4', '8', '16'])
    axes[1].minorticks_off()
    figure.suptitle('4,000 keys, each tested in 60,000 filters')
    save(figure, directory, 'almeida-spread')


def almeida_share():
    """The share of keys that collide, and the share of the false positives that they cause."""
    figure, axis = plt.subplots()
    sizes = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096]
    for k, colour in ((4, BLUE), (8, ORANGE), (16, GREEN)):
        weak, harm = [], []
        for m in sizes:
            n = exact.keys_at_fill(m, k, 0.5)
            alone = exact.collisions(m, k, 0)
            weak.append(1 - alone)
            harm.append(1 - alone * exact.fpr_element(n, m, k, k) / exact.fpr_standard(n, m, k))
        axis.plot(sizes, harm, color=colour, label=f'k = {k}: share of the false positives')
        axis.plot(sizes, weak, color=colour, linestyle='--', label=f'k = {k}: share of the keys')
        table = [r for r in rows('almeida-collisions') if r['k'] == str(k) and r['collisions'] == '0' and int(r['m']) <= 4096]
        axis.plot([int(r['m']) for r in table], [1 - int(r['keys']) / int(r['trials']) for r in table], 'o', color=colour)
    axis.set(xscale='log', yscale='log', xlabel='bits of the standard filter', ylabel='keys with a collision: share', ylim=(1e-4, 1.2))
    axis.set_xticks([64, 256, 1024, 4096], ['64', '256', '1,024', '4,096'])
    axis.minorticks_off()
    axis.set_title('Keys with a collision, and the false positives that they cause')
    axis.legend(ncol=2, loc='lower left', fontsize=9)
    save(figure, directory, 'almeida-share')


def almeida_disjoint():
    table = rows('almeida-disjoint')
    m, k = int(table[0]['m']), int(table[0]['k'])
    figure, axis = plt.subplots()
    for layout in ('standard', 'blocked', 'partitioned', 'partitioned_blocked'):
        x, y = select(table, 'n', lambda r: int(r['overlaps']) / int(r['pairs']), layout=layout)
        axis.plot(x, [exact.false_overlap(layout, int(n), m, k) for n in x], color=COLOURS[layout], linestyle='--' if layout == 'blocked' else '-')
        axis.plot(x, y, 's' if layout == 'blocked' else 'o', color=COLOURS[layout], label=layout,
                  fillstyle='none' if layout == 'blocked' else 'full')
    axis.set(xscale='log', xlabel=f'keys in each of two disjoint sets (m = {m:,}, k = {k})', ylabel='share of pairs not recognised as disjoint', title='Two disjoint sets and their filters')
    axis.set_xticks([2, 8, 32, 128, 512, 2048], ['2', '8', '32', '128', '512', '2,048'])
    axis.minorticks_off()
    axis.legend()
    save(figure, directory, 'almeida-disjoint')


def almeida_reduction():
    table = rows('almeida-reduction')
    figure, axis = plt.subplots()
    for method, colour, mark in (('standard, folded', BLUE, 'o'), ('partitioned, folded', ORANGE, 's'), ('partitioned, prefix', RED, 'o')):
        x, y = select(table, 'divided_by', lambda r: float(r['predicted']), method=method)
        axis.plot(x, y, color=colour, linestyle='--' if mark == 's' else '-')
        x, y = select(table, 'divided_by', lambda r: int(r['positives']) / int(r['probes']), method=method)
        axis.plot(x, y, mark, color=colour, label=method, fillstyle='none' if mark == 's' else 'full')
    axis.set(xscale='log', yscale='log', xlabel='size, as a part of the whole filter', ylabel='false positive rate', title='A half-full filter of 1,048,576 bits and 16 probes, cut down')
    axis.set_xticks([1, 2, 4, 8, 16], ['whole', '1/2', '1/4', '1/8', '1/16'])
    axis.minorticks_off()
    axis.legend(loc='lower right')
    save(figure, directory, 'almeida-reduction')


def kaler_blocks():
    """Beside Kaler's figure 3: the price of the unequal load of blocks."""
    table = rows('kaler-blocks')
    figure, axis = plt.subplots()
    for keys, colour, mark, label in (('random', GREEN, 'o', 'blocked, keys as they come'), ('dealt', ORANGE, 's', 'blocked, every block with the same load')):
        x, y = select(table, 'block_bits', lambda r: float(r['expected']), keys=keys)
        axis.plot(x, y, color=colour)
        x, y = select(table, 'block_bits', lambda r: int(r['positives']) / int(r['probes']), keys=keys)
        axis.plot(x, y, mark, color=colour, label=label)
    m, n, k = (int(table[0][c]) for c in ('m', 'n', 'k'))
    axis.axhline(exact.fpr_approx(n, m, k), color=BLUE, linestyle='--', label='standard')
    axis.set(xscale='log', xlabel=f'bits of a block (10 bits per key, k = {k})', ylabel='false positive rate', ylim=(0, 0.022), title='The price of blocks is the difference of their loads')
    axis.set_xticks([64, 512, 4096, 32768, 262144], ['64', '512\ncache line', '4,096', '32,768\npage', '262,144'])
    axis.minorticks_off()
    axis.legend()
    save(figure, directory, 'kaler-blocks')


def kaler_times():
    """Times at 10 bits per key, relative to the standard filter in the same rounds."""
    table = rows('kaler-times')
    figure, axes = plt.subplots(1, 3, sharey=True, figsize=(7.2, 3.6))
    for axis, operation, title in zip(axes, ('add', 'absent', 'present'), ('add', 'test an absent key', 'test a present key')):
        for layout, colour in (('partitioned', ORANGE), ('blocked 32768', CYAN), ('blocked 512', GREEN), ('partitioned_blocked', RED)):
            x, y = select(table, 'bytes', lambda r: float(r['ratio']), layout=layout, operation=operation)
            axis.plot(x, y, 'o-', color=colour, label=layout, markersize=3)
        axis.axhline(1, color=BLUE, linestyle='--', label='standard')
        axis.set(xscale='log', title=title)
        axis.set_xticks([2 ** 16, 2 ** 20, 2 ** 24], ['64 KB', '1 MB', '16 MB'], fontsize=8)
        axis.set_xlabel('size of the filter, bytes')
        axis.minorticks_off()
    axes[0].set(ylabel='time / time of standard', ylim=(0, 1.5))
    figure.suptitle('Time per key, relative to the standard filter (10 bits per key)')
    legend_below(figure, axes[0])
    save(figure, directory, 'kaler-times', legend=0.1)


def kaler_speedup():
    """Kaler's figure 5: the standard filter's time over that of static and dynamic blocks, k = 15."""
    table = rows('kaler-speedup')
    figure, axis = plt.subplots()
    for layout, colour in (('blocked, 2,944 keys', GREEN), ('blocked, 512 bits', CYAN), ('partitioned_blocked', RED), ('dynamic_blocked', PURPLE)):
        x, y = select(table, 'bytes', lambda r: float(r['speedup']), layout=layout)
        axis.plot([value / 2 ** 20 for value in x], y, 'o-', color=colour, label=layout)
    axis.axhline(1, color=BLUE, linestyle='--', label='standard')
    axis.set(xscale='log', xlabel='size of the filter, MB', ylabel='speedup over the standard filter', ylim=(0, None), title='One insertion to two tests, half of which find their key; k = 15')
    axis.set_xticks([1, 4, 16, 64], ['1', '4', '16', '64'])
    axis.minorticks_off()
    axis.legend(fontsize=9)
    save(figure, directory, 'kaler-speedup')


def walther_best():
    """Walther's figure 3: the best k over n and over m, and the rate over k for m = 8,192."""
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.9))
    n = numpy.arange(200, 8001, 50)
    for m, colour in ((2048, BLUE), (8192, ORANGE), (32768, GREEN)):
        axes[0].plot(n, m / n * numpy.log(2), color=colour, label=f'm = {m:,} bits')
    axes[0].set(xlabel='n, keys', ylabel='k*, probes per key', yscale='log', title='the best k over n')
    m = numpy.arange(512, 32769, 256)
    for keys, colour in ((500, BLUE), (1000, ORANGE), (4000, GREEN)):
        axes[1].plot(m, m / keys * numpy.log(2), color=colour, label=f'n = {keys:,} keys')
    axes[1].set(xlabel='m, bits', ylabel='k*, probes per key', yscale='log', title='over m')
    k = numpy.arange(0.25, 16.01, 0.125)
    for keys, colour in ((500, BLUE), (1000, ORANGE), (2000, GREEN), (4000, RED)):
        best = 8192 / keys * numpy.log(2)
        axes[2].plot(k, [exact.fpr_power(keys, 8192, x) for x in k], ':', color=colour)
        axes[2].plot(k, [exact.fpr_rational_any(keys, 8192, x) for x in k], color=colour, label=f'n = {keys:,} keys')
        if best <= 16:
            axes[2].plot([best], [0.5 ** best], 'x', color=colour, markersize=8)
    axes[2].set(xlabel='k, probes per key', ylabel='false positive rate', yscale='log', ylim=(5e-6, 1), title='the rate, m = 8,192 bits')
    for axis in axes:
        axis.legend(fontsize=8)
    figure.suptitle('The number of probes with the lowest rate')
    save(figure, directory, 'walther-best')


def walther_fractional():
    """Figure 7, with the mixture over keys as a line, the optimum of the approximation as a cross, and half-full filters shaded."""
    table = rows('walther-fractional')
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 4.8))
    for axis, m in zip(axes, ('8192', '131072')):
        for n, colour in zip(sorted({int(r['n']) for r in table if r['m'] == m}), (BLUE, ORANGE, GREEN, RED, PURPLE)):
            x, y = select(table, 'k', lambda r: float(r['expected']), m=m, n=n)
            half = [float(r['k']) for r in table if r['m'] == m and r['n'] == str(n) and abs(float(r['fill']) - 0.5) <= 0.02]
            if half:
                axis.axvspan(min(half) - 0.06, max(half) + 0.06, color=GREY, alpha=0.15, linewidth=0)
            fine = numpy.arange(0.25, max(x) + 0.01, 1 / 64)
            axis.plot(fine, [exact.fpr_rational_any(n, int(m), k) for k in fine], color=colour)
            axis.plot(fine, [exact.fpr_power(n, int(m), k) for k in fine], color=colour, linestyle=':', linewidth=1)
            x, y = select(table, 'k', lambda r: int(r['positives']) / int(r['probes']), m=m, n=n)
            axis.plot(x, y, 'o', color=colour, markersize=2.5, label=f'n = {n:,} keys')
            best = int(m) / n * numpy.log(2)
            axis.plot([best], [0.5 ** best], 'x', color=TEXT, markersize=8)
        axis.set(yscale='log', title=f'm = {int(m):,} bits', xlabel='k, probes per key')
        axis.legend(fontsize=8)
    axes[0].set(ylabel='false positive rate', ylim=(2e-5, 1.1))
    figure.suptitle('A fractional k: counted, computed, and the fill to the power k (dotted)')
    save(figure, directory, 'walther-fractional')


def window_age():
    """How keys are forgotten."""
    table = rows('window-age')
    figure, axis = plt.subplots()
    for scheme, colour in (('active and warm-up', BLUE), ('two generations', ORANGE), ('ring of 5', GREEN), ('age_partitioned, l = 10', PURPLE), ('age_partitioned', RED)):
        x, y = select(table, 'age', lambda r: int(r['found']) / int(r['asked']), scheme=scheme)
        axis.plot(x, y, color=colour, label=scheme, linestyle='--' if scheme == 'two generations' else '-')
    axis.set(xlabel='age of a key, in windows', ylabel='share of keys still found', title='How keys are forgotten: a window of 20,000 keys, 0.1 %')
    axis.legend()
    save(figure, directory, 'window-age')


def growth_k():
    """Memory and rate over k of the layout scalable, which is told nothing."""
    table = rows('growth-k')
    figure, axes = plt.subplots(1, 2)
    for kind, colour in (('standard', BLUE), ('scalable, r = 1/2', RED), ('scalable, r = 1/2, s = 4', PURPLE), ('scalable, r = 0.85', ORANGE)):
        x, y = select(table, 'k', lambda r: int(r['bits']) / int(r['n']), kind=kind)
        axes[0].plot(x, y, 'o-', color=colour, label=kind, markersize=3.5)
        x, y = select(table, 'k', lambda r: int(r['positives']) / int(r['probes']), kind=kind)
        axes[1].plot(x, y, 'o-', color=colour, markersize=3.5)
    k = numpy.arange(2, 17)
    axes[1].plot(k, 0.5 ** k, color=GREY, linestyle=':')
    axes[1].annotate('asked for', (11, 0.5 ** 10.3), color=GREY, fontsize=9)
    axes[0].set(xlabel='k: the rate asked for is 1/2$^k$', ylabel='bits per key', ylim=(0, None))
    axes[1].set(xlabel='k', ylabel='false positive rate', yscale='log')
    axes[0].legend(fontsize=9)
    figure.suptitle('A million keys in filters that began with room for 1,000')
    save(figure, directory, 'growth-k')


def growth_overload():
    """Rate, memory and time beyond the plan."""
    table = rows('growth-overload')
    figure, axes = plt.subplots(1, 3, figsize=(7.2, 3.8))
    planned = int(table[0]['planned'])
    for layout, colour in (('standard', BLUE), ('blocked', GREEN), ('partitioned_blocked', RED), ('scalable', ORANGE), ('dynamic_blocked', PURPLE)):
        for axis, y in zip(axes, (lambda r: int(r['positives']) / int(r['probes']), lambda r: int(r['bits']) / int(r['n']), lambda r: float(r['absent_ratio']))):
            found = sorted((int(r['n']) / planned, y(r)) for r in table if r['layout'] == layout)
            axis.plot([x for x, _ in found], [y for _, y in found], 'o-', color=colour, label=layout, markersize=3)
    for axis in axes:
        axis.set(xscale='log', xlabel='keys / planned')
        axis.set_xticks([1, 4, 16, 64], ['1', '4', '16', '64'])
        axis.minorticks_off()
    axes[0].set(title='rate', ylabel='false positive rate', yscale='log')
    axes[1].set(title='memory', ylabel='bits per key', ylim=(0, None))
    axes[2].set(title='test of an absent key', ylabel='time / time of standard', ylim=(0, None))
    for axis in axes:
        axis.title.set_fontsize(10)
    figure.suptitle('Planned for 100,000 keys at 1 %, and given more')
    legend_below(figure, axes[0])
    save(figure, directory, 'growth-overload', legend=0.1)


def growth_chains():
    """Kaler's figures 1 and 2: memory and rate of his scalable filters over k, with his hashing and with independent hashes."""
    table = rows('growth-chains')
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 4.4))
    n = int(table[0]['n'])
    x, y = select(table, 'k', lambda r: float(r['standard_bits']) / 8e6, start=512, hashing='double')
    axes[0].plot(x, y, color=BLUE, label='standard')
    x, y = select(table, 'k', lambda r: float(r['standard']), start=512, hashing='double')
    axes[1].plot(x, y, color=BLUE)
    for start, colour in ((512, RED), (2048, ORANGE)):
        for hashing, name, style in (('double', 'H1 + i H2', 'o-'), ('independent', 'independent', 'o:')):
            x, y = select(table, 'k', lambda r: int(r['positives']) / int(r['probes']), start=start, hashing=hashing)
            axes[1].plot(x, y, style, color=colour, markersize=4, fillstyle='full' if hashing == 'double' else 'none', label=f'from {start:,} keys, {name}')
        x, y = select(table, 'k', lambda r: float(r['bits']) / 8e6, start=start, hashing='double')
        axes[0].plot(x, y, 'o-', color=colour, markersize=4, label=f'from {start:,} keys')
    axes[0].set(xlabel='k, probes per key', ylabel='memory, MB', ylim=(0, None), title='memory')
    axes[1].set(xlabel='k, probes per key', ylabel='false positive rate', yscale='log', title='rate')
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    figure.suptitle(f"Kaler's scalable filters, {n:,} keys")
    save(figure, directory, 'growth-chains')


def growth_dynamic():
    """Kaler's figures 4 and 6: memory and rate, over those of the standard filter, of blocks that grow and of static ones, with as many keys as planned."""
    blocks, layout = rows('kaler-dynamic'), rows('growth-dynamic')
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 5.0))

    def bits(r):
        return float(r['bits']) / (int(r['n']) * int(r['k']) / 0.7)

    def rate(r):
        return int(r['positives']) / int(r['probes']) / exact.fpr_approx(int(r['n']), int(r['n']) * int(r['k']) / 0.7, int(r['k']))

    for size, colour in (('51.2', RED), ('2944', ORANGE)):
        x, y = select(blocks, 'k', bits, kind='dynamic', block_keys=size, hashing='double')
        axes[0].plot(x, y, 'o-', color=colour, markersize=4)
        for kind, shade in (('dynamic', colour), ('static', GREEN if size == '51.2' else CYAN)):
            for hashing, name, style in (('double', 'H1 + i H2', 'o-'), ('independent', 'independent', 'o:')):
                x, y = select(blocks, 'k', rate, kind=kind, block_keys=size, hashing=hashing)
                axes[1].plot(x, y, style, color=shade, markersize=3.5, fillstyle='full' if hashing == 'double' else 'none',
                             label=f'{kind}, {float(size):,g} keys, {name}')
    x, y = select(layout, 'k', bits, kind='dynamic_blocked')
    axes[0].plot(x, y, 's-', color=PURPLE, markersize=4)
    x, y = select(layout, 'k', rate, kind='dynamic_blocked')
    axes[1].plot(x, y, 's-', color=PURPLE, markersize=4, label='dynamic_blocked')
    for axis in axes:
        axis.axhline(1, color=BLUE, linestyle='--', label='standard')
        axis.set_xticks([4, 8, 12, 16])
    axes[0].set(xlabel='k, probes per key', ylabel='bits / bits of standard (ratio)', ylim=(0, None), title='memory')
    axes[1].set(xlabel='k, probes per key', ylabel='rate / rate of standard (ratio)', yscale='log', ylim=(0.05, 300), title='rate')
    axes[1].set_yticks([0.1, 1, 10, 100], ['0.1', '1', '10', '100'])
    axes[1].minorticks_off()
    figure.suptitle('Blocks that grow and static blocks, with as many keys as planned')
    figure.legend(*axes[1].get_legend_handles_labels(), loc='lower center', ncol=2, fontsize=8)
    save(figure, directory, 'growth-dynamic', legend=0.22)


def almeida_schemes():
    """Section 5: keys by the number of their bits, and pairs of keys by the bits that they share."""
    bits, pairs = rows('almeida-schemes-bits'), rows('almeida-schemes-pairs')
    figure, axes = plt.subplots(2, 2, sharex=True, sharey='row', figsize=(7.2, 5.4))
    for column, layout in enumerate(('standard', 'partitioned')):
        for scheme, colour, mark in (('independent', BLUE, 'o'), ('double', RED, 's'), ('enhanced_double', GREEN, '^'), ('triple', PURPLE, 'v')):
            for axis, table, field, count in ((axes[0][column], bits, 'bits', 'keys'), (axes[1][column], pairs, 'common', 'pairs')):
                found = [(int(r[field]), int(r[count]) / int(r['trials'])) for r in table if r['layout'] == layout and r['scheme'] == scheme and int(r[count]) > 0]
                axis.plot([x for x, _ in found], [y for _, y in found], mark + '-', color=colour, label=scheme.replace('_', ' '), markersize=4, linewidth=1)
        axes[0][column].set(title=f'{layout}: bits of a key', yscale='log')
        axes[1][column].set(title=f'{layout}: common bits of two keys', yscale='log', xlabel='bits')
    axes[0][0].set(ylabel='share of keys')
    axes[1][0].set(ylabel='share of pairs')
    axes[1][1].legend(fontsize=9)
    figure.suptitle('Hashing schemes in a filter of 512 bits with k = 8')
    save(figure, directory, 'almeida-schemes')


for name, function in list(globals().items()):
    if name.startswith(('almeida_', 'walther_', 'kaler_', 'growth_', 'table5_', 'window_')) and name.startswith(only):
        try:
            function()
        except FileNotFoundError as missing:
            print(f'{name}: not measured, no {missing.filename}', file=sys.stderr)
