"""The tables of docs/internals/theory.md and docs/internals/theory/papers.md, from the measurements in docs/internals/theory/*.csv and from exact.py.

    tables.py DIRECTORY DOCUMENT ...

Rewrites the text between <!-- table NAME --> and <!-- end --> in the documents.
"""
import csv
import pathlib
import re
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

import exact
import published
from marks import fill, markdown

directory = None


def rows(name):
    with open(f'{directory}/{name}.csv', newline='') as file:
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def short(value, digits=4):
    """1.234e-05 as 1.234e-5."""
    return re.sub(r'e([-+])0*(\d)', lambda e: 'e' + e.group(1).strip('+') + e.group(2), f'{value:.{digits}g}')


def with_sigma(count, total, expected):
    """A measured share, and its distance from the expected share in standard errors."""
    sigma = (expected * (1 - expected) / total) ** 0.5
    return f'{short(count / total, 3)} ({(count / total - expected) / sigma:+.1f})'


def counted(count, total):
    """A measured share with its standard error."""
    rate = count / total
    error = (rate * (1 - rate) / total) ** 0.5
    return short(rate, 3) + (f' ± {short(error, 1)}' if error else '')


def machine():
    return markdown(['measured on', ''], [[r['key'], r['value']] for r in rows('machine')])


def almeida_collisions():
    cases = {}
    for r in rows('almeida-collisions'):
        cases.setdefault((r['m'], r['k']), {})[r['collisions']] = r
    lines = []
    for (m, k), found in cases.items():
        if m in (128, 256, 16384):
            continue
        line = [f'{m:,}', k]
        for c in range(3):
            expected = exact.collisions(m, k, c)
            line += [short(expected), with_sigma(found[c]['keys'], found[c]['trials'], expected)]
        lines.append(line)
    return markdown(['m', 'k', 'no collision', 'measured', 'one', 'measured', 'two', 'measured'], lines)


def beside(printed, value):
    """The printed number if it is right, otherwise with the right one."""
    digits = len(printed.partition('.')[2])
    return printed if exact.is_printed(printed, value) else f'{printed}, right: **{value:.{digits}f}**'


def measured_rate(r, expected):
    """A measured rate with its distance in standard errors, if there were enough positives."""
    if r['positives'] < 30:
        return ''
    return f"{short(r['positives'] / r['probes'], 3)} ({(r['positives'] - expected * r['probes']) / r['sigma']:+.1f})"


def rates_of(occupation):
    return {(r['m'], r['k'], r['layout']): r for r in rows('almeida-rates') if r['occupation'] == occupation}


def almeida_table1():
    found = rates_of(1)
    lines = []
    for (m, k), printed in published.RATES.items():
        n = exact.keys_at(1, m, k)
        s, p = exact.fpr_standard(n, m, k), exact.fpr_partitioned(n, m, k)
        values = (exact.fpr_approx(n, m, k), s, p, p / s)
        lines.append([f'{m:,}', k, n, *map(beside, printed, values), measured_rate(found[m, k, 'standard'], s), measured_rate(found[m, k, 'partitioned'], p)])
    return markdown(['m', 'k', 'n', 'F_a', 'F_s', 'F_p', 'F_p / F_s', 'F_s measured', 'F_p measured'], lines)


def almeida_table2():
    lines = []
    for (m, k), printed in published.RATIOS.items():
        line = [f'{m:,}', k]
        for occupation, text in zip(published.OCCUPATIONS, printed):
            n = exact.keys_at(occupation, m, k)
            line += [n, beside(text, exact.fpr_partitioned(n, m, k) / exact.fpr_standard(n, m, k))]
        lines.append(line)
    return markdown(['m', 'k', 'n', 'occupation 1/4', 'n', '1/2', 'n', '1/1'], lines)


def almeida_table3():
    found = {(r['occupation'], r['m'], r['k'], r['collisions']): r for r in rows('almeida-elements')}
    lines = []
    for (occupation, m, k), printed in published.ELEMENTS.items():
        n = exact.keys_at(occupation, m, k)
        mean = exact.fpr_standard(n, m, k)
        measured = []
        for c in range(4):
            r = found[occupation, m, k, c]
            expected = exact.fpr_element(n, m, k, k - c) * r['probes']
            measured.append(f"{r['positives'] / r['probes'] / mean:.2f} ({(r['positives'] - expected) / r['sigma']:+.1f})" if r['positives'] >= 30 else '-')
        lines.append([{1: '1/1', 0.5: '1/2', 0.25: '1/4'}[occupation], m, k, n,
                      *(beside(text, exact.fpr_element(n, m, k, k - c) / mean) for c, text in enumerate(printed)), ' / '.join(measured)])
    return markdown(['occupation', 'm', 'k', 'n', 'no collision', 'one', 'two', 'three', 'measured'], lines)


def almeida_table4():
    found = {(r['m'], r['k'], r['collisions']): r for r in rows('almeida-collisions')}
    lines = []
    for (m, k), printed in published.COLLISIONS.items():
        values = [1 - exact.collisions(m, k, 0)] + [exact.collisions(m, k, c) for c in range(4)]
        lines.append([m, k, *map(beside, printed, values), ' / '.join(f"{found[m, k, c]['keys'] / found[m, k, c]['trials']:.4f}" for c in range(4))])
    return markdown(['m', 'k', 'some', 'none', 'one', 'two', 'three', 'measured, none to three'], lines)


def almeida_colliding():
    return markdown(['m', 'k', 'printed, per cent', 'exact'],
                    [[m, k, text, f'{100 * (1 - exact.collisions(m, k, 0)):.2f}'] for (m, k), text in published.COLLIDING.items()])


def almeida_overlap():
    lines = []
    for m, k, n in ((512, 8, 2), (512, 8, 4), (512, 8, 8), (8192, 8, 8), (8192, 8, 32), (8192, 8, 64)):
        by_parts = (1 - (1 - k / m) ** (n * n)) ** k
        lines.append([f'{m:,}', n, short(1 - (1 - 1 / m) ** (k * k * n * n), 5), short(exact.false_overlap('standard', n, m, k), 5),
                      short(1 - (1 - k / m) ** (n * n), 5), short(by_parts, 5), short(exact.false_overlap('partitioned', n, m, k), 5)])
    return markdown(['m', 'keys in each set', 'P_s, the paper', 'P_s, exact', 'one given part, the paper', 'P_p, the paper', 'P_p, exact'], lines)


def almeida_extra_bits():
    """Bits that the intersection of two half-full filters of disjoint sets has too many, parts over standard."""
    lines = []
    for m, k in ((512, 8), (512, 16), (64, 4), (64, 8)):
        n = exact.keys_at(1, m, k)
        ratio = (exact.fill(m / k, n) / exact.fill(m, n * k)) ** 2
        lines.append([m, k, n, f'{100 * (ratio - 1):+.1f} %'])
    return markdown(['m', 'k', 'n', 'common bits of disjoint sets, parts over standard'], lines)


def almeida_reduction():
    cases = {}
    for r in rows('almeida-reduction'):
        cases.setdefault(r['divided_by'], {})[r['method']] = r
    methods = ('standard, folded', 'partitioned, folded', 'partitioned, prefix')
    lines = [[f'1/{divided}' if divided > 1 else 'whole'] +
             [f"{short(found[m]['predicted'], 3)} ({short(found[m]['positives'] / found[m]['probes'], 3)})" for m in methods]
             for divided, found in cases.items()]
    return markdown(['size', *methods], lines)


def kaler_blocks():
    cases = {}
    for r in rows('kaler-blocks'):
        cases.setdefault(r['block_bits'], {})[r['keys']] = r
    lines = []
    for bits, found in cases.items():
        if bits not in (64, 128, 256, 512, 4096, 32768):
            continue
        line = [f'{bits:,}']
        for keys in ('dealt', 'random'):
            r = found[keys]
            line += [short(r['expected']), with_sigma(r['positives'], r['probes'], r['expected'])]
        lines.append(line)
    return markdown(['bits of a block', 'equal loads', 'measured', 'random loads', 'measured'], lines)


def kaler_caches():
    names = {'add': 'add', 'test': 'test, absent key'}
    lines = [[r['layout'], names[r['operation']], f"{r['instructions']:.0f}", f"{r['d1_misses']:.2f}", f"{r['ll_misses']:.2f}"]
             for r in rows('kaler-caches')]
    return markdown(['layout', 'operation', 'instructions', 'first level misses', 'last level misses'], lines)


def walther_variable():
    lines = [[f"{r['m']:,}", r['layout'], f"{r['k']:.2f}".rstrip('0').rstrip('.'), short(r['expected']), with_sigma(r['positives'], r['probes'], r['expected']),
              r['add_ratio'], r['absent_ratio'], r['present_ratio']] for r in rows('walther-variable')]
    return markdown(['m', 'layout', 'k', 'rate', 'measured', 'add', 'test absent', 'test present'], lines)


PUBLISHED = {0.1: ((4, 3), (5, 7), (6, 14), (7, 28), (8, 56)),
             0.01: ((7, 5), (8, 8), (9, 14), (10, 25), (11, 46), (12, 88)),
             0.001: ((10, 7), (11, 9), (12, 14), (13, 23), (14, 40), (15, 74)),
             0.0001: ((14, 11), (15, 15), (16, 22), (17, 36), (18, 63), (19, 117)),
             0.00001: ((17, 13), (18, 16), (19, 22), (20, 33), (21, 54), (22, 95))}


def window_published():
    lines = []
    for target, pairs in PUBLISHED.items():
        for k, l in pairs:
            chord = exact.fpr_window(k, l, exact.window_fills(k, l, linear=True))
            rate = exact.fpr_window(k, l, exact.window_fills(k, l))
            lines.append([short(target), k, l, short(chord), f'{short(rate)} ({100 * (rate / target - 1):+.1f} %)', f'{(k + l) * k / l / 0.693147:.1f}'])
    return markdown(['target', 'k', 'l', 'with the chord', 'exact (against the target)', 'bits per key of the window'], lines)


def window_stream():
    lines = []
    for r in rows('window-stream'):
        lines.append([f"{r['window']:,}", short(r['fpr']), r['scheme'], f"{r['bits_a_key']:.1f}", f"{100 * r['missed'] / r['repeats']:.3g} %" if r['missed'] else 'none',
                      counted(r['positives'], r['fresh']), f"{r['ratio']:.2f}"])
    return markdown(['window', 'rate asked for', 'scheme', 'bits per key of the window', 'keys of the window forgotten', 'rate', 'time'], lines)


def table5_layouts():
    def cell(r, name, form='{}'):
        return form.format(r[name]) if r[name] != '' else 'refused'
    lines = []
    for r in rows('table5'):
        weak = 'none' if r['weak'] == 0 else f"{100 * r['weak']:.2g} %" if r['weak'] != '' else 'by fraction'
        both = 'refused' if r['intersection'] == '' else f"{short(r['intersection'], 2)} / {short(r['intersection_built'], 2)}"
        views = ', '.join(f'{name} {r[name]}' for name in ('prefix', 'fold') if r[name] != '') or 'none'
        apart = 'refused' if r['apart_1000'] == '' else f"{100 * r['apart_100']:.0f} % / {100 * r['apart_1000']:.0f} %"
        lines.append([r['layout'], f"{r['bits_a_key']:.1f}", counted(r['positives'], r['probes']), 'yes' if r['removes'] else 'no', f"{r['add_ratio']:.2f}", f"{r['absent_ratio']:.2f}",
                      f"{r['present_ratio']:.2f}", weak, both, apart, views])
    return markdown(['layout', 'bits per key', 'rate', 'keys can be removed', 'add', 'test absent', 'test present', 'weak keys', 'rate of a & b / of the filter of the common keys',
                     'disjoint recognised, 100 / 1,000 keys', 'rate at half size'], lines)


def table5_cuckoo():
    lines = []
    for r in rows('table5-cuckoo'):
        lines.append([r['operation'] + (', ns' if r['ratio'] != '' else ''), r['cuckoo_ns'], r['core_ns'], r['ratio']])
    return markdown(['', 'cuckoo, 8 bits', 'partitioned_blocked', 'ratio'], lines)


def kaler_figure3():
    measured = rows('kaler-figure3')
    double = {(r['kind'], r['bits_per_key']): r for r in rows('kaler-figure3-double')}
    first = {r['bits_per_key']: r['ns'] for r in measured if r['kind'] == 'standard'}
    base = published.KALER_3['standard']
    lines = []
    for r in measured:
        printed = published.KALER_3.get(r['kind'])
        his = double.get((r['kind'], r['bits_per_key']))
        sigma = (r['expected'] * (1 - r['expected']) / r['probes']) ** 0.5
        lines.append([r['kind'], r['bits_per_key'], f"{r['block_bytes']:,}" if r['kind'] != 'standard' else '', f'{printed[2]} %' if printed else '',
                      f"{100 * r['expected']:.4f} %", f"{100 * r['positives'] / r['probes']:.4f} % ({(r['positives'] / r['probes'] - r['expected']) / sigma:+.1f})",
                      f"{100 * his['positives'] / his['probes']:.4f} ± {100 * his['positives'] ** 0.5 / his['probes']:.4f} %" if his else '',
                      f'{printed[1] / base[1]:.2f}' if printed else '', f"{r['ns'] / first[r['bits_per_key']]:.2f}"])
    return markdown(['filter', 'bits per key', 'bytes of a block', 'rate printed', 'computed', 'measured', 'with H1 + i H2', 'time printed, relative', 'measured'], lines)


def relative(r, base):
    """A measured rate over another rate, with its standard error."""
    ratio = r['positives'] / r['probes'] / base
    error = r['positives'] ** 0.5 / r['probes'] / base
    return f'{ratio:.2f} ± {error:.2f}' if error >= 0.005 else f'{ratio:.2f}'


def beside_computed(r, base):
    """A computed rate over another rate, and how far the measured one is from it in standard errors."""
    expected = r['expected'] * r['probes']
    return f"{r['expected'] / base:.2f} ({(r['positives'] - expected) / expected ** 0.5:+.1f})"


def growth_chains():
    found = {(r['start'], r['hashing'], r['k']): r for r in rows('growth-chains')}
    lines = []
    for k in sorted({key[2] for key in found}):
        cells = [relative(found[start, hashing, k], found[start, hashing, k]['standard']) for start in (512, 2048) for hashing in ('double', 'independent')]
        lines.append([k, *cells, f"{found[512, 'double', k]['bits'] / found[2048, 'double', k]['bits']:.2f}"])
    return markdown(['k', 'from 512, H1 + i H2', 'independent', 'from 2,048, H1 + i H2', 'independent', 'memory, 512 over 2,048'], lines)


def standard_of(r):
    """The rate and the bits of the standard filter of the same k: k/0.7 bits per key."""
    bits = r['n'] * r['k'] / 0.7
    return exact.fpr_approx(r['n'], bits, r['k']), bits


def beside_standard(kind, cells):
    """A line per k: what cells(double, independent, rate and bits of the standard filter) gives for either size of blocks of a kind."""
    found = {(r['block_keys'], r['hashing'], r['k']): r for r in rows('kaler-dynamic') if r['kind'] == kind}
    lines = []
    for k in (3, 5, 7, 8, 9, 10, 11, 13, 15, 16):
        pairs = [[found[size, hashing, k] for hashing in ('double', 'independent')] for size in (51.2, 2944)]
        lines.append([k, *(cell for double, independent in pairs for cell in cells(double, independent, *standard_of(double)))])
    return lines


def growth_blocks():
    lines = beside_standard('dynamic', lambda double, independent, rate, bits: [
        f"{double['bits'] / bits:.2f}", relative(double, rate), beside_computed(independent, rate), f"{independent['plain'] / rate:.2f}"])
    head = ['rate, H1 + i H2', 'independent', 'static, as many bits']
    return markdown(['k', '51.2 keys: bits', *head, '2,944 keys: bits', *head], lines)


def growth_static():
    lines = beside_standard('static', lambda double, independent, rate, bits: [relative(double, rate), beside_computed(independent, rate)])
    return markdown(['k', '51.2 keys, H1 + i H2', 'independent', '2,944 keys, H1 + i H2', 'independent'], lines)


def growth_dynamic():
    found = {(r['kind'], r['k']): r for r in rows('growth-dynamic')}
    kinds = ['dynamic_blocked', 'dynamic_blocked, block_bits=32704', 'dynamic_blocked, block_bits=32704,growth=1,tightening=0.5']
    lines = []
    for k in (3, 5, 7, 8, 9, 10, 11, 13, 15, 16):
        line = [k]
        for kind in kinds:
            r = found[kind, k]
            rate, bits = standard_of(r)
            line += [f"{r['bits'] / bits:.2f}", relative(r, rate)]
        lines.append(line)
    return markdown(['k', 'presets: bits', 'rate', '32,704 bits a block: bits', 'rate', '32,704 bits, growth 1, tightening 1/2: bits', 'rate'], lines)


def kaler_bins():
    return markdown(['', 'mean', 'least', 'most'], [['printed', '51', 20, 90]] + [[f"run {r['run'] + 1}", r['mean'], r['least'], r['most']] for r in rows('kaler-bins')])


def walther_whole():
    lines = []
    for m, n in ((10, 5), (1000, 462), (131072, 60000), (8192, 4000), (8192, 16000)):
        best = m / n * 0.6931471805599453
        rate = {k: exact.fpr_rational_fraction(n, m, exact.Fraction(k)) if m == 10 else exact.fpr_rational_any(n, m, k) for k in (1, best, 2)}
        lines.append([f'{m:,}', f'{n:,}', f'{best:.3f}', *(f'{float(rate[k]):.5f}' for k in (best, 1, 2)), f'{exact.fpr_power(n, m, best):.5f}'])
    return markdown(['m', 'n', 'k*', 'rate at k*', 'k = 1', 'k = 2', 'fill to the power k*'], lines)


def almeida_schemes():
    cases = {}
    for r in rows('almeida-schemes-rates'):
        cases.setdefault((r['m'], r['k'], r['n'], r['layout']), {})[r['scheme']] = r
    lines = []
    for (m, k, n, layout), found in cases.items():
        expected = exact.fpr_standard(n, m, k) if layout == 'standard' and m < 100000 else exact.fpr_partitioned(n, m, k)
        line = [f'{m:,}', k, layout, short(expected)]
        for scheme in ('independent', 'double', 'enhanced_double', 'triple'):
            r = found[scheme]
            ratio = r['positives'] / r['probes'] / expected
            line.append(f"{ratio:.2f} ± {r['sigma'] / r['probes'] / expected:.2f}")
        lines.append(line)
    return markdown(['m', 'k', 'layout', 'computed', 'independent', 'double', 'enhanced double', 'triple'], lines)


def growth_overload():
    lines = []
    for r in rows('growth-overload'):
        if r['n'] / r['planned'] in (1, 8, 64):
            lines.append([r['layout'], int(r['n'] / r['planned']), counted(r['positives'], r['probes']), f"{r['bits'] / r['n']:.1f}",
                          f"{r['add_ns']:.0f}", f"{r['absent_ratio']:.2f}", f"{r['present_ratio']:.2f}"])
    return markdown(['layout', 'keys / planned', 'rate', 'bits per key', 'add, ns', 'test absent', 'test present'], sorted(lines, key=lambda line: line[1]))


TABLES = {name.replace('_', '-'): function for name, function in list(globals().items())
          if name == 'machine' or name.startswith(('almeida_', 'walther_', 'kaler_', 'growth_', 'table5_', 'window_'))}


def filled(data, text):
    """The text with the tables of the measurements in that directory."""
    global directory
    directory = data
    return fill(text, lambda name: TABLES[name](), None)


def main():
    for document in sys.argv[2:]:
        with open(document) as file:
            text = file.read()
        with open(document, 'w') as file:
            file.write(filled(sys.argv[1], text))


if __name__ == '__main__':
    main()
