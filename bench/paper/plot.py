"""The figures of docs/theory.md, from the measurements in docs/theory/*.csv and from exact.py.

    plot.py DIRECTORY [PREFIX]

Points are measured, lines are computed.
"""
import csv
import os
import sys

import numpy

import exact

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from figures import BLUE, CYAN, GREEN, GREY, ORANGE, PURPLE, RED, plt, save  # noqa: E402

directory = sys.argv[1]
only = sys.argv[2] if len(sys.argv) > 2 else ''

COLOURS = {'standard': BLUE, 'partitioned': ORANGE, 'blocked': GREEN, 'partitioned_blocked': RED}


def rows(name):
    with open(f'{directory}/{name}.csv', newline='') as file:
        return list(csv.DictReader(file))


def select(table, x, y, **equal):
    found = sorted((float(r[x]), y(r)) for r in table if all(r[key] == str(value) for key, value in equal.items()))
    return [p[0] for p in found], [p[1] for p in found]


def almeida_ratio():
    """Figures of F_p / F_s over n."""
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 3.9))
    for axis, k in zip(axes, (4, 8)):
        for m, colour in ((64, BLUE), (128, ORANGE), (256, GREEN), (1024, RED)):
            top = int(1.6 * 0.6931 * m / k)
            n = sorted({max(1, round(top * i / 40)) for i in range(1, 41)})
            axis.plot([i * k / m for i in n], [exact.fpr_partitioned(i, m, k) / exact.fpr_standard(i, m, k) for i in n], color=colour, label=f'm = {m:,}')
        measured = [r for r in rows('almeida-rates') if r['k'] == str(k)]
        for r in measured:
            if r['layout'] != 'standard' or int(r['m']) not in (64, 128, 256, 1024) or r['fill'] != '0.5':
                continue
            p = next(q for q in measured if q['layout'] == 'partitioned' and all(q[c] == r[c] for c in ('m', 'n', 'fill')))
            colour = {64: BLUE, 128: ORANGE, 256: GREEN, 1024: RED}[int(r['m'])]
            axis.plot(int(r['n']) * k / int(r['m']), int(p['positives']) / int(r['positives']), 'o', color=colour)
        axis.axvline(0.6931, color=GREY, linestyle=':')
        axis.set(title=f'k = {k}', xlabel='load kn/m (dotted: half full)')
    axes[0].set(ylabel='rate: partitioned / standard', ylim=(0.97, 1.4))
    axes[0].legend()
    save(figure, directory, 'almeida-ratio')


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
    axis.set(xscale='log', xlabel=f'keys in each of two disjoint sets (m = {m:,}, k = {k})', ylabel='not recognised as disjoint')
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
    axis.set(xscale='log', yscale='log', xlabel='cut to', ylabel='false positive rate')
    axis.set_xticks([1, 2, 4, 8, 16], ['whole', '1/2', '1/4', '1/8', '1/16'])
    axis.minorticks_off()
    axis.legend(loc='lower right')
    save(figure, directory, 'almeida-reduction')


def kaler_blocks():
    """Figure 3, rates: the price of the unequal load of blocks."""
    table = rows('kaler-blocks')
    figure, axis = plt.subplots()
    for keys, colour, mark, label in (('random', GREEN, 'o', 'blocked, keys as they come'), ('dealt', ORANGE, 's', 'blocked, every block with the same load')):
        x, y = select(table, 'block_bits', lambda r: float(r['expected']), keys=keys)
        axis.plot(x, y, color=colour)
        x, y = select(table, 'block_bits', lambda r: int(r['positives']) / int(r['probes']), keys=keys)
        axis.plot(x, y, mark, color=colour, label=label)
    m, n, k = (int(table[0][c]) for c in ('m', 'n', 'k'))
    axis.axhline(exact.fpr_approx(n, m, k), color=BLUE, linestyle='--', label='standard')
    axis.set(xscale='log', xlabel=f'bits of a block (10 bits a key, k = {k})', ylabel='false positive rate', ylim=(0, 0.022))
    axis.set_xticks([64, 512, 4096, 32768, 262144], ['64', '512\ncache line', '4,096', '32,768\npage', '262,144'])
    axis.minorticks_off()
    axis.legend()
    save(figure, directory, 'kaler-blocks')


def kaler_times():
    """Figure 3, times, relative to the standard filter in the same rounds."""
    table = rows('kaler-times')
    figure, axes = plt.subplots(1, 3, sharey=True, figsize=(7.2, 3.6))
    for axis, operation, title in zip(axes, ('add', 'absent', 'present'), ('add', 'test an absent key', 'test a present key')):
        for layout, colour in (('partitioned', ORANGE), ('blocked 32768', CYAN), ('blocked 512', GREEN), ('partitioned_blocked', RED)):
            x, y = select(table, 'bytes', lambda r: float(r['ratio']), layout=layout, operation=operation)
            axis.plot(x, y, 'o-', color=colour, label=layout, markersize=3)
        axis.axhline(1, color=BLUE, linestyle='--', label='standard')
        axis.set(xscale='log', title=title)
        axis.set_xticks([2 ** 16, 2 ** 20, 2 ** 24], ['64 KB', '1 MB', '16 MB'], fontsize=8)
        axis.minorticks_off()
    axes[0].set(ylabel='time / time of standard', ylim=(0, 1.5))
    figure.legend(*axes[0].get_legend_handles_labels(), loc='lower center', ncol=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(f'{directory}/kaler-times.svg', metadata={'Date': None, 'Creator': None})
    plt.close(figure)


def walther_fractional():
    """Figure 7, with the mixture over keys as a line."""
    table = rows('walther-fractional')
    figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 4.2))
    for axis, m in zip(axes, ('8192', '131072')):
        for n, colour in zip(sorted({int(r['n']) for r in table if r['m'] == m}), (BLUE, ORANGE, GREEN, RED)):
            x, y = select(table, 'k', lambda r: float(r['expected']), m=m, n=n)
            fine = numpy.arange(1, max(x) + 0.01, 1 / 64)
            axis.plot(fine, [exact.fpr_rational(n, int(m), k) for k in fine], color=colour)
            axis.plot(fine, [exact.fill(int(m), n * k) ** k for k in fine], color=colour, linestyle=':', linewidth=1)
            x, y = select(table, 'k', lambda r: int(r['positives']) / int(r['probes']), m=m, n=n)
            axis.plot(x, y, 'o', color=colour, markersize=3, label=f'n = {n:,}')
        axis.set(yscale='log', title=f'm = {int(m):,}', xlabel='k')
        axis.legend(fontsize=9)
    axes[0].set(ylabel='false positive rate', ylim=(2e-5, 1))
    save(figure, directory, 'walther-fractional')


def window_age():
    """How keys are forgotten."""
    table = rows('window-age')
    figure, axis = plt.subplots()
    for scheme, colour in (('active and warm-up', BLUE), ('two generations', ORANGE), ('ring of 5', GREEN), ('age_partitioned, l = 10', PURPLE), ('age_partitioned', RED)):
        x, y = select(table, 'age', lambda r: int(r['found']) / int(r['asked']), scheme=scheme)
        axis.plot(x, y, color=colour, label=scheme, linestyle='--' if scheme == 'two generations' else '-')
    axis.set(xlabel='age of a key, in windows', ylabel='still found')
    axis.legend()
    save(figure, directory, 'window-age')


def growth_k():
    """Kaler's figures 1 and 2: memory and rate of scalable filters over k."""
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
    axes[0].set(xlabel='k: rate asked for is 1/2$^k$', ylabel='bits a key', ylim=(0, None))
    axes[1].set(xlabel='k', ylabel='false positive rate', yscale='log')
    axes[0].legend(fontsize=9)
    save(figure, directory, 'growth-k')


def growth_overload():
    """Kaler's figures 4 to 6: rate, memory and time beyond the plan."""
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
    axes[0].set(title='false positive rate', yscale='log')
    axes[1].set(title='bits a key', ylim=(0, None))
    axes[2].set(title='test of absent / standard', ylim=(0, None))
    for axis in axes:
        axis.title.set_fontsize(10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc='lower center', ncol=5, fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(f'{directory}/growth-overload.svg', metadata={'Date': None, 'Creator': None})
    plt.close(figure)


def almeida_schemes():
    """Section 5: keys by the number of their bits, and pairs of keys by the bits that they share."""
    bits, pairs = rows('almeida-schemes-bits'), rows('almeida-schemes-pairs')
    figure, axes = plt.subplots(2, 2, sharex=True, sharey='row', figsize=(7.2, 5.4))
    for column, layout in enumerate(('standard', 'partitioned')):
        for scheme, colour, mark in (('independent', BLUE, 'o'), ('double', RED, 's'), ('enhanced_double', GREEN, '^'), ('triple', PURPLE, 'v')):
            for axis, table, field, count in ((axes[0][column], bits, 'bits', 'keys'), (axes[1][column], pairs, 'common', 'pairs')):
                found = [(int(r[field]), int(r[count]) / int(r['trials'])) for r in table if r['layout'] == layout and r['scheme'] == scheme and int(r[count]) > 0]
                axis.plot([x for x, _ in found], [y for _, y in found], mark + '-', color=colour, label=scheme.replace('_', ' '), markersize=4, linewidth=1)
        axes[0][column].set(title=layout, yscale='log')
        axes[1][column].set(yscale='log', xlabel='bits')
    axes[0][0].set(ylabel='keys with so many bits')
    axes[1][0].set(ylabel='pairs that share so many')
    axes[1][1].legend(fontsize=9)
    save(figure, directory, 'almeida-schemes')


for name, function in list(globals().items()):
    if name.startswith(('almeida_', 'walther_', 'kaler_', 'growth_', 'table5_', 'window_')) and name.startswith(only):
        try:
            function()
        except FileNotFoundError as missing:
            print(f'{name}: not measured, no {missing.filename}', file=sys.stderr)
