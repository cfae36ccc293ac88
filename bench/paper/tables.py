"""The tables of docs/theory.md, from the measurements in docs/theory/*.csv and from exact.py.

    tables.py DIRECTORY THEORY.md

Rewrites the text between <!-- table NAME --> and <!-- end --> in THEORY.md.
"""
import csv
import re
import sys

import exact

directory, document = sys.argv[1:]


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


def markdown(heads, lines):
    yield '| ' + ' | '.join(heads) + ' |'
    yield '|' + '---|' * len(heads)
    for line in lines:
        yield '| ' + ' | '.join(str(cell) for cell in line) + ' |'


def short(value, digits=4):
    """1.234e-05 as 1.234e-5."""
    return re.sub(r'e([-+])0*(\d)', lambda e: 'e' + e.group(1).strip('+') + e.group(2), f'{value:.{digits}g}')


def with_sigma(count, total, expected):
    """A measured share, and its distance from the expected share in standard errors."""
    sigma = (expected * (1 - expected) / total) ** 0.5
    return f'{short(count / total, 3)} ({(count / total - expected) / sigma:+.1f})'


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


def almeida_rates():
    cases = {}
    for r in rows('almeida-rates'):
        cases.setdefault((r['fill'], r['m'], r['k'], r['n']), {})[r['layout']] = r
    lines = []
    for (fill, m, k, n), found in cases.items():
        if k == 16 and fill < 0.5:
            continue  # too rare to measure
        s, p = exact.fpr_standard(n, m, k), exact.fpr_partitioned(n, m, k)
        line = ['1/2' if fill == 0.5 else '1/4', f'{m:,}', k, n, short(exact.fpr_approx(n, m, k)), short(s), short(p), f'{p / s:.8f}']
        for layout, expected in (('standard', s), ('partitioned', p)):
            r = found[layout]
            measured = r['positives'] / r['probes']
            sigmas = f" ({(r['positives'] - expected * r['probes']) / r['sigma']:+.1f})" if r['positives'] >= 10 else ''
            line.append(short(measured, 3) + sigmas)
        lines.append(line)
    return markdown(['fill', 'm', 'k', 'n', 'F_a', 'F_s', 'F_p', 'F_p / F_s', 'F_s measured', 'F_p measured'], lines)


def almeida_elements():
    cases = {}
    for r in rows('almeida-elements'):
        cases.setdefault((r['m'], r['k'], r['n']), {})[r['layout'], r['collisions']] = r
    lines = []
    for (m, k, n), found in cases.items():
        mean = exact.fpr_standard(n, m, k)
        line = [f'{m:,}', k, n]
        for c in range(4):
            r = found.get(('standard', c))
            if r is None:
                line.append('')
                continue
            expected = exact.fpr_element(n, m, k, k - c)
            line.append(f"{expected / mean:.3f} ({r['positives'] / r['probes'] / mean:.3f})")
        r = found['partitioned', 0]
        line.append(f"{exact.fpr_partitioned(n, m, k) / mean:.3f} ({r['positives'] / r['probes'] / mean:.3f})")
        lines.append(line)
    return markdown(['m', 'k', 'n', 'no collision', 'one', 'two', 'three', 'partitioned, any key'], lines)


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
    return markdown(['target', 'k', 'l', 'with the chord', 'exact (against the target)', 'bits a key of the window'], lines)


def window_stream():
    lines = []
    for r in rows('window-stream'):
        lines.append([f"{r['window']:,}", short(r['fpr']), r['scheme'], f"{r['bits_a_key']:.1f}", f"{100 * r['missed'] / r['repeats']:.3g} %" if r['missed'] else 'none',
                      short(r['positives'] / r['fresh'], 3), f"{r['ratio']:.2f}"])
    return markdown(['window', 'rate asked for', 'scheme', 'bits a key of the window', 'keys of the window forgotten', 'rate', 'time'], lines)


def table5_layouts():
    def cell(r, name, form='{}'):
        return form.format(r[name]) if r[name] != '' else 'refused'
    lines = []
    for r in rows('table5'):
        weak = 'none' if r['weak'] == 0 else f"{100 * r['weak']:.2g} %" if r['weak'] != '' else 'by fraction'
        both = 'refused' if r['intersection'] == '' else f"{short(r['intersection'], 2)} / {short(r['intersection_built'], 2)}"
        views = ', '.join(f'{name} {r[name]}' for name in ('prefix', 'fold') if r[name] != '') or 'none'
        apart = 'refused' if r['apart_1000'] == '' else f"{100 * r['apart_100']:.0f} % / {100 * r['apart_1000']:.0f} %"
        lines.append([r['layout'], f"{r['bits_a_key']:.1f}", short(r['positives'] / r['probes'], 3), 'yes' if r['removes'] else 'no', f"{r['add_ratio']:.2f}", f"{r['absent_ratio']:.2f}",
                      f"{r['present_ratio']:.2f}", weak, both, apart, views])
    return markdown(['layout', 'bits a key', 'rate', 'keys can be removed', 'add', 'test absent', 'test present', 'weak keys', 'rate of a & b / of the filter of the common keys',
                     'disjoint recognised, 100 / 1,000 keys', 'rate at half size'], lines)


def table5_cuckoo():
    lines = []
    for r in rows('table5-cuckoo'):
        lines.append([r['operation'] + (', ns' if r['ratio'] != '' else ''), r['cuckoo_ns'], r['core_ns'], r['ratio']])
    return markdown(['', 'cuckoo, 8 bits', 'partitioned_blocked', 'ratio'], lines)


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
            lines.append([r['layout'], int(r['n'] / r['planned']), short(r['positives'] / r['probes'], 3), f"{r['bits'] / r['n']:.1f}",
                          f"{r['add_ns']:.0f}", f"{r['absent_ratio']:.2f}", f"{r['present_ratio']:.2f}"])
    return markdown(['layout', 'keys / planned', 'rate', 'bits a key', 'add, ns', 'test absent', 'test present'], sorted(lines, key=lambda line: line[1]))


TABLES = {name.replace('_', '-'): function for name, function in list(globals().items())
          if name == 'machine' or name.startswith(('almeida_', 'walther_', 'kaler_', 'growth_', 'table5_', 'window_'))}


def fill_in(match):
    name = match.group(1)
    print(name, file=sys.stderr)
    return f'<!-- table {name} -->\n' + '\n'.join(TABLES[name]()) + '\n<!-- end -->'


with open(document) as file:
    text = file.read()
text = re.sub(r'<!-- table ([\w-]+) -->\n.*?<!-- end -->', fill_in, text, flags=re.S)
with open(document, 'w') as file:
    file.write(text)
