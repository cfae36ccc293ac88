#!/usr/bin/env python3
"""The tables of two machines side by side, for docs/benchmarks.md.

    beside.py A.md B.md [TITLE ...]

A.md and B.md are outputs of bench/run or bench/run-sql on two machines. Prints each table of SQL whose title begins with
one of the TITLEs (default: all): the ratio and the milliseconds of both machines, and then the columns that do not depend
on the machine, from A.md if it has the row. A table that one machine lacks has the columns of the other alone.
"""
import re
import sys

TIMES = ('ratio', 'ms')


def tables(path):
    """{title: (other columns, {label: {column: cell}})} of the tables that have a ratio and milliseconds."""
    found, lines = {}, []
    with open(path) as file:
        for line in list(file) + ['']:
            if line.startswith('|'):
                lines.append([cell.strip() for cell in line.strip().strip('|').split('|')])
                continue
            if lines and set(TIMES) <= set(lines[0]):
                head = lines[0]
                found[head[0]] = ([column for column in head[1:] if column not in TIMES], {row[0]: dict(zip(head, row)) for row in lines[2:]})
            lines = []
    return found


def code(label):
    """The label, with its SQL as code; commas within parentheses do not divide it."""
    parts = [label] if re.match('FROM|SELECT', label) else re.split(r', (?![^(]*\))', label)
    sql = re.compile(r'(with |.*: )?(.*?)( without a condition| as a constant)?$')
    return ', '.join(sql.sub(r'\1`\2`\3', part, count=1) if re.search(r'[(_]|<@|@>|:=| = |^SELECT', part) else part for part in parts)


def show(title, machines):
    columns = next(iter(machines.values()))[0]
    rows = dict.fromkeys(label for _, body in machines.values() for label in body)
    cells = {label: [body.get(label, {}) for _, body in machines.values()] for label in rows}
    columns = [column for column in columns if any(row.get(column) for found in cells.values() for row in found)]
    head = [title] + [f'{column}, {name}' for name in machines for column in TIMES] + columns
    print('| ' + ' | '.join(head) + ' |\n' + '|---' * len(head) + '|')
    for label, found in cells.items():
        line = [code(label)] + [row.get(column, '') for row in found for column in TIMES]
        line += [next((row[column] for row in found if row.get(column)), '') for column in columns]
        print('| ' + ' | '.join(line) + ' |')
    print()


def main():
    files, titles = sys.argv[1:3], sys.argv[3:] or ['']
    read = dict(zip('AB', map(tables, files)))
    for title in dict.fromkeys(title for found in read.values() for title in found):
        if any(title.startswith(wanted) for wanted in titles):
            show(title, {name: found[title] for name, found in read.items() if title in found})


if __name__ == '__main__':
    main()
