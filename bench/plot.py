"""The figures of docs/benchmarks.md, from the tables that the benchmarks print.

    plot.py RESULTS.md DIRECTORY

RESULTS.md is the output of bench/run.
"""
import re
import sys

from figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, plt, save

results, directory = sys.argv[1:]


def read_tables():
    """Each table as (heading above it, its first row, the rows below)."""
    heading, table, tables = '', [], []
    with open(results) as file:
        for line in list(file) + ['']:
            if line.startswith('#'):
                heading = line.strip('# \n')
            if line.startswith('|'):
                table.append([cell.strip() for cell in line.strip().strip('|').split('|')])
            elif table:
                tables.append((heading, table[0], table[2:]))
                table = []
    return tables


TABLES = read_tables()


def sql_table(title):
    """Rows of a table of bench/run-sql by their label: {column: cell}."""
    for _, head, rows in TABLES:
        if re.match(title, head[0]):
            return {row[0]: dict(zip(head[1:], row[1:])) for row in rows}
    raise SystemExit(f'{results} has no table {title}')


def ratio(row):
    return float(next(cell for column, cell in row.items() if column.startswith('ratio')))


def joins():
    figure, axis = plt.subplots(figsize=(7.2, 3.6))
    for title, label, colour in (('Join in memory', 'in memory', BLUE), ('Join that spills', 'hash join spills to disk', ORANGE)):
        points = [(float(name.split(' %')[0]), ratio(row)) for name, row in sql_table(title).items() if 'bloom_agg' in name]
        axis.plot(*zip(*points), 'o-', color=colour, label=label)
    axis.axhline(1, color=GREY, linewidth=1)
    axis.set_xscale('log')
    axis.set_xticks([0.1, 1, 10, 50, 100], ['0.1 %', '1 %', '10 %', '50 %', '100 %'])
    axis.minorticks_off()
    axis.set_ylim(bottom=0)
    figure.suptitle('A filter before a join', fontsize=12)
    axis.set_xlabel('share of the large table that finds a partner')
    axis.set_ylabel('time with the filter /\ntime without (ratio)')
    axis.legend()
    save(figure, directory, 'joins')


def bars(name, table, title, xlabel, colours=()):
    rows = sql_table(table)
    labels, values = list(rows), [ratio(row) for row in rows.values()]
    figure, axis = plt.subplots(figsize=(7.2, 0.9 + 0.34 * len(labels)))
    colour = [next((c for pattern, c in colours if re.search(pattern, label)), GREY) for label in labels]
    axis.barh(labels, values, color=colour, height=0.6)
    for i, value in enumerate(values):
        axis.text(value, i, f' {value:.2f}', va='center', fontsize=10)
    axis.invert_yaxis()
    axis.grid(False, axis='y')
    axis.tick_params(axis='y', labelsize=9)
    figure.suptitle(title, fontsize=12)
    axis.set_xlabel(xlabel)
    save(figure, directory, name)


def core_sizes():
    operations = {'one test, absent key': 'test absent', 'batch of 64 tests, absent keys': '64 absent', 'batch of 64 adds': 'add 64'}
    series = {}
    for heading, head, rows in TABLES:
        size = re.match(r'(\d+) KB, k = 8, .*by path', heading)
        if size:
            columns = {operation: head.index(column) for operation, column in operations.items()}
            for row in rows:
                for operation, column in columns.items():
                    if row[column]:
                        series.setdefault((operation, row[0]), []).append((int(size[1]) / 1024, float(row[column].split()[0])))
    lines = (('floor: read one line', GREY, ':'), ('split block 8 x 32', PURPLE, '--'), ('k = 8, scalar', RED, '-'), ('k = 8, avx2', ORANGE, '-'), ('k = 8, avx512', BLUE, '-'),
             ('k = 8, avx512_vbmi', GREEN, '-'))
    if not series:
        raise SystemExit(f'{results} has no tables of the core by path')
    figure, axes = plt.subplots(1, len(operations), sharey=True, figsize=(9.6, 3.6))
    for axis, operation in zip(axes, operations):
        for name, colour, style in lines:
            if (operation, name) in series:
                axis.plot(*zip(*series[operation, name]), 'o' + style, color=colour, label=name)
        axis.set_xscale('log', base=2)
        axis.set_xticks([0.5, 8, 64, 512], ['0.5', '8', '64', '512'])
        axis.minorticks_off()
        axis.set_yscale('log')
        axis.set_title(operation, fontsize=11)
        axis.set_xlabel('size of the filter (MB)')
    axes[0].set_yticks([2, 5, 10, 20, 50, 100], ['2', '5', '10', '20', '50', '100'])
    axes[0].set_ylabel('nanoseconds per key')
    figure.legend(*axes[0].get_legend_handles_labels(), loc='lower center', ncols=6, fontsize=9, columnspacing=1)
    figure.suptitle('Adding and testing keys in the C core, by size of the filter', fontsize=12)
    save(figure, directory, 'core', legend=0.07)


bars('build', 'Build, one filter', 'Aggregating 10 million keys into one value', 'time / time of count(k) (ratio)', (('bloom', BLUE),))
bars('probe', 'Probe, 1 %', 'Probing a filter of 100,000 keys with 10 million rows, of which 1 % pass', 'time / time of WHERE k % 1000 = 1 (ratio)', (('<@', BLUE),))
joins()
core_sizes()
