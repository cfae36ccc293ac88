#!/usr/bin/env python3
"""Random conditions find the same rows by an index of this extension as by a sequential scan.

    scripts/throwaway test/random/rows.py [--seconds N] [--seed N] [--rounds N] [--kills N] [--only REGEX] [--methods bloomx,brin]

Makes tables of random columns: all types that can be a key, arrays, jsonb, texts, tsvector, filters; with NULLs,
duplicates, few and many keys, and rows of thousands of keys.  Makes indexes on random columns, of all operator
classes that the catalog has (--only: those whose "method class" matches), with random options, on expressions and
parts of tables, with workers or without.  Then sessions insert, update, delete, roll back, VACUUM, REINDEX and check, while others ask random
conditions: constants, parameters, rescans of joins, old snapshots, parallel plans, bitmaps that become lossy.  Each
query has its condition twice, once so that no index can serve it; so both see one snapshot.  At the end of each
round the whole server dies by SIGKILL, starts again, and all indexes are checked and asked.  At last a standby
answers, too.  With --kills there are so many rounds, and a standby from the first one on: it is asked after each, and
now and then it is killed as well.

Equal rows prove nothing if no index was used.  So EXPLAIN must show each operator of each class in the condition of
an index.  (--methods gin,bloom takes PostgreSQL's own, which shows that the test itself is right.)

A row is made of its number and the table's columns alone.  What fails prints the table, the indexes, the condition,
and rows that were missed.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
provides.  The last line is "N passed, N failed".
"""

import argparse
import json
import os
import random
import re
import sys
import threading
import time

import server
from queries import Documents, Texts, Words, document, makes_whole
from server import Failure, Lost
from values import ARRAYS, FILTERS, FUNCTIONS, PADDED, SCALARS, TEXTS, literal, scalar

DATABASE = "bloomx_rows"

# Operator classes of what type serve which columns, beside those whose type has the class's name.
SERVED = {"text": ["t", "te", "v", *TEXTS], "bpchar": ["bp"], "varchar": ["v"], "inet": ["ip", "ci"], "anyenum": ["e"], "anyrange": ["ir"], "anynonarray": ["e", "ir", "mr", "cm"], "hstore": ["h"],
          "anyarray": list(ARRAYS), "jsonb": ["j"], "tsvector": ["tv"], "bloomfilter": list(FILTERS)}
WRAPPED = {"i4": "({} # 1)", "t": "lower({})", "i4s": "({} || 7)"}


def Session(port=None):
    return server.Session(DATABASE, port=port, options="-c statement_timeout=300s -c bloomx.overfill=off")


class Index:
    def __init__(self, name, method, parts, predicate):
        self.name, self.method, self.parts, self.predicate = name, method, parts, predicate
        self.usable = True


class Table:
    def __init__(self, number, r, columns):
        self.name = f"t{number}"
        self.columns = columns
        self.domain = {c: r.choice([4, 60, 3000, 200000, 10 ** 15]) for c in columns}
        self.nulls = {c: r.choice([2, 10, 10 ** 9]) for c in columns}
        self.many = r.choice([20, 800, 4000])
        self.pad = r.choice([0, 0, 300, 1500])
        self.next = 1
        self.lock = threading.Lock()
        self.indexes = []
        self.ddl = []

    def number(self, column):
        return list(columns_of_all()).index(column) + 1

    def k(self, g, column):
        return f"k({g}, {self.number(column)}, {self.domain[column]})"

    def value(self, g, column, other=False):
        """The value that the row g has in a column, unless it is NULL."""
        c, d = self.number(column), self.domain[column]
        k = self.k(f"{g}", column)
        if column in SCALARS:
            return scalar(column, k, other)
        each = f"k({g} * 65536 + i, {c}, {d})"
        size = f"generate_series(1, size({g}, {c}, {self.many})) i"
        if column in ARRAYS:
            kind, of = ARRAYS[column]
            return f"ARRAY(SELECT CASE WHEN k(i, {c}, 17) > 0 THEN {scalar(of, each)} END FROM {size})::{kind}"
        if column in FILTERS:
            return f"(SELECT bloom_agg({FILTERS[column][0].format(k=each)}, 20) FROM {size})"
        if column in TEXTS:
            return f"(SELECT coalesce(string_agg(word({each}), CASE WHEN i % 7 = 0 THEN '' ELSE ' ' END ORDER BY i), '') FROM {size})"
        if column in PADDED:
            return f"(SELECT coalesce(string_agg(word({each}), ' ' ORDER BY i), '') FROM {size})::{PADDED[column]}"
        if column == "tv":
            return (f"(SELECT CASE WHEN {k} % 5 = 0 THEN array_to_tsvector(array_agg(DISTINCT 'w' || {each})) "
                    f"ELSE to_tsvector('simple', coalesce(string_agg(word({each}), ' '), '')) END FROM {size})")
        if column == "h":
            return f"(SELECT coalesce(hstore(array_agg('k' || {each} % 30), array_agg(CASE WHEN {each} % 9 > 0 THEN word({each}) END)), '') FROM {size})"
        if column == "j":
            numbers = f"ARRAY(SELECT {each} FROM {size})"
            return (f"CASE {k} % 14 WHEN 0 THEN to_jsonb({k}) WHEN 1 THEN to_jsonb('key ' || {k}) WHEN 2 THEN '[]' WHEN 3 THEN to_jsonb({numbers}) "
                    f"WHEN 4 THEN jsonb_build_array('key ' || {k}, {k}, NULL, jsonb_build_object('a', {k})) WHEN 5 THEN '{{}}' WHEN 6 THEN 'null' "
                    f"WHEN 7 THEN (SELECT coalesce(jsonb_object_agg('key ' || {each}, i), '{{}}') FROM {size}) "
                    f"ELSE jsonb_build_object('id', {k}, 'name', 'key ' || {k}, 'tags', {numbers}, 'in', jsonb_build_object('n', {k} * 1.50, 'ok', {k} % 2 = 0, "
                    f"'nil', NULL, 'deep', jsonb_build_object('id', {k} / 2)), 'list', jsonb_build_array(jsonb_build_object('a', {k}), "
                    f"jsonb_build_object('a', {k} / 3, 'b', word({k})), jsonb_build_array({k})), 'key ' || {k} % 20, 1) END")
        raise AssertionError(column)

    def rows(self, first, last):
        values = [f"CASE WHEN k(g, {self.number(c)} + 3000, {self.nulls[c]}) > 0 THEN {self.value('g', c)} END" for c in self.columns]
        pad = f"repeat('p', (g % {self.pad + 1})::int)"
        return f"SELECT {', '.join(['g', *values, pad])} FROM generate_series({first}::bigint, {last}) g"

    def take(self, n):
        with self.lock:
            first = self.next
            self.next += n
        return first, first + n - 1

    def create(self):
        kinds = columns_of_all()
        return f"CREATE TABLE {self.name} ({', '.join(['id bigint', *(f'{c} {kinds[c]}' for c in self.columns), 'pad text'])}) WITH (autovacuum_enabled = off)"


def columns_of_all():
    return {**{c: s[0] for c, s in SCALARS.items()}, **{c: a[0] for c, a in ARRAYS.items()}, **TEXTS, **PADDED, "j": "jsonb", "h": "hstore", "tv": "tsvector", **{f: "bloomfilter" for f in FILTERS}}


# --------------------------------------------------------------------------
# Conditions
# --------------------------------------------------------------------------

class Conditions:
    """Random conditions on the columns of tables.  The session gives the values of rows."""

    def __init__(self, r, session):
        self.r = r
        self.session = session

    def chance(self, p):
        return self.r.random() < p

    def row(self, table, column=None):
        """The number of a row that is there, or was, or will be; if there is a column, now and then of one with many keys."""
        if column and column not in SCALARS and self.chance(0.25):
            last = table.next
            large = self.session.run(f"SELECT g FROM generate_series({max(1, last - 1000)}, {last}) g WHERE k(g, {table.number(column)} + 1000, 90) = 0 ORDER BY random() LIMIT 1")
            if large:
                return int(large[0])
        return self.r.randrange(max(1, table.next - 3000), table.next + (200 if self.chance(0.2) else 1))

    def constant(self, table, column, other=False):
        """A scalar as a literal of its own type, or a query of it."""
        kind, *forms = SCALARS[column]
        kind = kind.split(" COLLATE")[0]
        g = self.row(table)
        expression = table.value(f"{g}::bigint", column, other)
        if self.chance(0.15):
            return f"(SELECT {expression})"
        if other or self.chance(0.1):
            return expression
        value = self.session.value(expression)
        return f"{literal(value)}::{kind}"

    def equal(self, table, column, sql, wrap):
        if wrap:
            return f"{sql} = {wrap.format(table.value(f'{self.row(table)}::bigint', column))}"
        shape = self.r.random()
        if column not in SCALARS:
            value = self.session.value(table.value(f"{self.row(table, column)}::bigint", column))
            if value is None:
                return f"{sql} IS NULL"
            kind = columns_of_all()[column].split(" COLLATE")[0]
            if shape < 0.2:
                return f"{sql} IN ({literal(value)}::{kind}, {literal(value)}::{kind})"
            return f"{sql} = {literal(value)}::{kind}"
        if shape < 0.5:
            return f"{sql} = {self.constant(table, column, len(SCALARS[column]) > 2 and self.chance(0.3))}"
        if shape < 0.7:
            return f"{sql} IN ({', '.join(self.constant(table, column) for _ in range(self.r.choice([1, 2, 5, 20])))})"
        kind = SCALARS[column][0].split(" COLLATE")[0]
        elements = [self.constant(table, column) for _ in range(self.r.choice([0, 1, 3, 10]))] + ["NULL"] * self.chance(0.2)
        return f"{sql} = ANY (ARRAY[{', '.join(elements)}]::{kind}[])"

    def part_of_array(self, table, column, overlap):
        kind, of = ARRAYS[column]
        elements = []
        for _ in range(self.r.choice([0, 1, 1, 2, 3] if overlap else [0, 1, 1, 1])):
            elements.append(f"{self.constant(table, of)}" if of in table.domain else f"({table.value(f'{self.row(table)}::bigint', column)})[{self.r.randrange(1, 6)}]")
        g = self.row(table, column)
        if self.chance(0.6) or overlap and self.chance(0.5):
            first = self.r.randrange(1, 4)
            query = f"({table.value(f'{g}::bigint', column)})[{first}:{first + self.r.choice([0, 0, 1, 3, 10000])}]"
        else:
            query = f"ARRAY[{', '.join(elements + ['NULL'] * self.chance(0.1))}]::{kind}"
        if self.chance(0.7):  # nothing contains NULL
            query = f"array_remove({query}, NULL)"
        if self.chance(0.8):
            value = self.session.value(query)
            query = f"{literal(value)}::{kind}"
        return query

    def documents(self, table, column):
        text = self.session.value(table.value(f"{self.row(table, column)}::bigint", column))
        return Documents(self.r, [document(text or "null")])

    def of_hstore(self, table, column, sql, operator):
        pairs = list(json.loads(self.session.value(f"hstore_to_json({table.value(f'{self.row(table, column)}::bigint', column)})") or "{}").items())
        pairs = self.r.sample(pairs, min(len(pairs), self.r.choice([0, 1, 1, 2]))) or [("k1", None)]
        if self.chance(0.1):
            pairs[0] = (pairs[0][0], self.r.choice([None, "odd"]))
        names = f"ARRAY[{', '.join(literal(name) for name, _ in pairs)}]"
        if operator == "@>":
            return f"{sql} @> hstore({names}, ARRAY[{', '.join('NULL' if v is None else literal(v) for _, v in pairs)}])"
        return f"{sql} {operator} {literal(pairs[0][0]) if operator == '?' else names}"

    def texts(self, table, column):
        return Texts(self.r, rows=[self.session.value(table.value(f"{self.row(table, column)}::bigint", column)) or ""])

    def words(self, table, column):
        row = table.value(f"{self.row(table, column)}::bigint", column)
        return Words(self.r, json.loads(self.session.value(f"to_json(tsvector_to_array({row}))") or "[]") or ["nothing"])

    def filter(self, table, column, sql, name):
        keys = [f"k({self.row(table)}::bigint * 65536 + {self.r.randrange(1, 5)}, {table.number(column)}, {table.domain[column]})" for _ in range(self.r.choice([1, 2, 4]))]
        key, kind = FILTERS[column]
        keys = [f"{literal(self.session.value(key.format(k=k)))}::{kind}" for k in keys]
        if name == "&&":
            return f"{sql} && (SELECT bloom_agg(key, 20) FROM unnest(ARRAY[{', '.join(keys)}]) key)"
        if name == "?|":
            return self.r.choice([f"bloom_contains_any({sql}, ARRAY[{', '.join(keys)}])", f"{sql} @> ANY (ARRAY[{', '.join(keys)}])"])
        return self.r.choice([f"{sql} @> {keys[0]}", f"bloom_contains_all({sql}, ARRAY[{', '.join(keys)}])", f"{sql} @> ALL (ARRAY[{', '.join(keys)}])",
                              f"{sql} @> {keys[0].split(':')[0]}"])

    def condition(self, table, column, operator, wrap=None):
        """A condition with an operator that an index of the column has."""
        sql = wrap.format(column) if wrap else column
        if column in FILTERS and not self.chance(0.1):
            return self.filter(table, column, sql, operator)
        if column in FILTERS or self.chance(0.05):
            return f"{sql} IS {self.r.choice(['NULL', 'NULL', 'NOT NULL'])}"
        if operator == "=":
            return self.equal(table, column, sql, wrap)
        if operator in ("~~", "~~*"):
            return f"{sql} {'ILIKE' if operator == '~~*' else 'LIKE'} {literal(self.texts(table, column).like(operator == '~~*'))}"
        if operator in ("~", "~*"):
            return f"{sql} {operator} {literal(self.texts(table, column).regex(operator == '~*'))}"
        if operator == "@@" and column == "tv":
            return f"{sql} @@ {self.words(table, column).asked(self.r.choice([0, 1, 1, 2]))}"
        if column in ARRAYS and operator in ("@>", "&&", "<@"):
            return f"{sql} {operator} {self.part_of_array(table, column, operator != '@>')}"
        if column == "h":
            return self.of_hstore(table, column, sql, operator)
        if column == "j" and operator in ("@>", "?", "?|", "?&", "@?", "@@"):
            return self.documents(table, column).condition(sql, operator)
        return None


# --------------------------------------------------------------------------
# The test
# --------------------------------------------------------------------------

CLASSES = """
SELECT json_build_array(m.amname, quote_ident(n.nspname) || '.' || quote_ident(c.opcname), c.opcname, t.typname, c.opcdefault, array_agg(DISTINCT o.oprname))
FROM pg_opclass c JOIN pg_am m ON m.oid = c.opcmethod JOIN pg_namespace n ON n.oid = c.opcnamespace JOIN pg_type t ON t.oid = c.opcintype
	JOIN pg_amop a ON a.amopfamily = c.opcfamily AND (a.amoplefttype = c.opcintype OR t.typname ~ '^any') AND a.amoppurpose = 's' JOIN pg_operator o ON o.oid = a.amopopr
WHERE m.amname = ANY (%s) AND (%s OR EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname LIKE 'bloomx%%'
	WHERE d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
GROUP BY m.amname, n.nspname, c.opcname, t.typname, c.opcdefault ORDER BY m.amname, c.opcname
"""

BLOOMX_OPTIONS = {"fpr": [0.2, 0.01, 0.0001], "max_keys_per_filter": [1, 5, 100, 2000], "pending_limit": [16, 16, 16, 64, 1024]}
FILTER_OPTIONS = {"pending_limit": [16, 16, 16, 64, 1024], "hash_functions": [2, 6]}
DROP_SLOT = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = 'bloomx_rows' AND NOT active"
CONSISTENCY = "ALTER SYSTEM SET wal_consistency_checking = 'generic'"
# An error that a session may meet: a deadlock, a table or an index that is gone, an expression that has no meaning (a regular expression, a division).
MEANT = re.compile(r"^(40P01|40001|42P01|42704|2201B|22)")


class OperatorClass:
    def __init__(self, method, sql, name, kind, default, operators):
        self.method, self.sql, self.name, self.default, self.operators = method, sql, name, default, operators
        self.tables = 0
        self.columns = SERVED.get(kind) or [c for c, t in columns_of_all().items() if t.strip('"') == kind]
        # A text of few words is no document: n-grams are for the others.
        if "~~" in operators:
            self.columns = {"bpchar": ["bx"], "name": ["nx"], "citext": ["cx"]}.get(kind, [*TEXTS, "te"])


class Test:
    def __init__(self, options):
        self.options = options
        self.methods = options.methods.split(",")
        self.tables = []
        self.made = 0
        self.used = {}  # (method, class, operator): index conditions that EXPLAIN has shown
        self.lock = threading.Lock()
        self.standby = server.Standby()
        self.has_standby = False
        self.killed = 0
        self.queries = self.indexed = self.should = 0
        self.by_scan = []  # conditions that no index served
        self.failures = []
        self.checks = 0

    def fail(self, text):
        with self.lock:
            self.failures.append(text)
            print("FAILED  " + text, flush=True)

    def unused(self, k):
        return [o for o in k.operators if (k.method, k.name, o) not in self.used]

    # ---- tables and indexes ----

    def add_table(self, session, r):
        # first the classes that have been in the fewest tables
        rare = sorted((c for c in self.classes if self.unused(c)), key=lambda c: (c.tables, r.random()))[:5]
        columns = {}
        more = r.sample(self.classes, min(len(self.classes), r.choice([1, 2])))
        # patterns come in more shapes than other conditions
        if r.random() < 0.5:
            more += r.sample([c for c in self.classes if "~~" in c.operators], 1) if any("~~" in c.operators for c in self.classes) else []
        # filters have an index of their own beside those of all other columns
        if r.random() < 0.3:
            more += [c for c in self.classes if c.method == "bloomx" and c.columns == list(FILTERS)]
        for c in rare + more:
            c.tables += 1
            if c not in columns.setdefault(column := r.choice(c.columns), []):
                columns[column].append(c)
            if column in FILTERS and r.random() < 0.4:
                for other in FILTERS:
                    columns.setdefault(other, [c])
        table = Table(self.made, r, list(columns))
        self.made += 1
        session.run(table.create())
        table.ddl.append(table.create())
        early = r.random() < 0.4
        rows = r.choice([300, 1500, 5000]) if table.many < 4000 else 400
        if early:
            self.add_indexes(session, r, table, columns)
        first, last = table.take(rows)
        for lo in range(first, last + 1, 500):
            session.run(f"INSERT INTO {table.name} {table.rows(lo, min(last, lo + 499))}")
        if not early:
            self.add_indexes(session, r, table, columns)
        session.run(f"ANALYZE {table.name}")
        self.tables.append(table)

    def add_indexes(self, session, r, table, columns):
        parts = [(c, k) for c, ks in columns.items() for k in ks]
        # one index takes columns of one method
        groups = {}
        for c, k in parts:
            apart = k.method == "gin" or c in FILTERS or r.random() < 0.1
            groups.setdefault((k.method, len(groups) + 1 if apart else 0, k.name if k.method == "bloom" else ""), []).append((c, k))
        for (method, *_), group in groups.items():
            r.shuffle(group)
            self.add_index(session, r, table, method, group)
        if r.random() < 0.5:
            c, k = r.choice(parts)
            self.add_index(session, r, table, k.method, [(c, k)])

    def add_index(self, session, r, table, method, group):
        parts, texts = [], []
        for column, k in group:
            wrap = WRAPPED.get(column) if r.random() < 0.15 and "=" in k.operators else None
            parts.append((column, k, wrap))
            texts.append((wrap or "{}").format(column) + ("" if k.default else f" {k.sql}"))
        predicate = "id % 3 = 0" if r.random() < 0.12 else None
        name = f"{table.name}_{len(table.indexes)}_{r.randrange(1000)}"
        with_options = {}
        if method == "bloomx":
            filters = [c for c, _ in group if c in FILTERS]
            options = {**(FILTER_OPTIONS if filters else {}), **(BLOOMX_OPTIONS if len(filters) < len(group) else {})}
            with_options = {o: r.choice(v) for o, v in options.items() if r.random() < (0.6 if o == "pending_limit" else 0.25)}
        elif method == "brin":
            with_options = {"pages_per_range": r.choice([1, 2, 8])}
        settings = f" WITH ({', '.join(f'{o} = {v}' for o, v in with_options.items())})" if with_options else ""
        ddl = f"CREATE INDEX {name} ON {table.name} USING {method} ({', '.join(texts)}){settings}" + (f" WHERE {predicate}" if predicate else "")
        self.workers(session, r)
        session.run(ddl)
        table.ddl.append(ddl)
        table.indexes.append(Index(name, method, parts, predicate))

    # ---- queries ----

    def where(self, g, table):
        """A condition, and which operators of which index it has at its top."""
        r = g.r
        index = r.choice(table.indexes)
        asked = r.sample(index.parts, min(len(index.parts), r.choice([1, 1, 1, 2, 2, 3])))
        terms, top = [], []
        for column, k, wrap in asked:
            operator = r.choice(["="] if wrap else k.operators)
            if not wrap:
                rare = self.unused(k)
                operator = r.choice(rare) if rare and r.random() < 0.7 else operator
            term = g.condition(table, column, operator, wrap)
            if term is None:  # the test has none for this operator, and will say at the end that it was not used
                continue
            if r.random() < 0.08:
                term = f"({term} OR {g.condition(table, column, operator, wrap) or 'false'})"
            elif r.random() < 0.03:
                term = f"NOT ({term})"
            elif column in FILTERS and re.search(r"@> (ANY|ALL) ", term):
                pass  # of filters, an index is asked by @> for one key, and by ?| and ?& for several
            elif not term.endswith(" NULL") or k.method == "bloomx" and column not in FILTERS:
                top.append((index, column, k, operator))
            terms.append(term)
        if index.predicate and r.random() < 0.8 or not terms:
            terms.append(index.predicate or "id > 0")
        if r.random() < 0.15:
            terms.append(f"id % {r.choice([2, 5])} = 1")
        if r.random() < 0.05:
            top = top if len(terms) == 1 else []
            terms = ["(" + " OR ".join(terms) + ")"]
        return " AND ".join(terms), top if not index.predicate else []

    def compare(self, session, g, table):
        """Asks one condition in both ways."""
        if not table.indexes:
            return
        where, top = self.where(g, table)
        answer = "count(*) || ' rows, ids ' || coalesce(sum(id), 0)"
        by_index = f"SELECT {answer} FROM {table.name} WHERE {where}"
        by_scan = f"SELECT {answer} FROM {table.name} WHERE ({where}) IS TRUE"
        plan = session.run(f"EXPLAIN (COSTS OFF) {by_index}")
        shape = g.r.random()
        column = top[0][1] if top else None
        if shape < 0.1 and column in SCALARS and top[0][3] == "=":
            # rescans, and values that the planner does not know
            kind = SCALARS[column][0]
            values = ", ".join(f"({g.constant(table, column)})" for _ in range(4))
            join = "SELECT count(*) || ' rows, ids ' || coalesce(sum(id), 0) FROM (VALUES %s) v (x) JOIN %s t ON %s"
            equal = f"t.{column} = v.x" + (" COLLATE \"en-x-icu\"" if "COLLATE" in kind else "")
            by_index, by_scan = join % (values, table.name, equal), join % (values, table.name, f"({equal}) IS TRUE")
        both = f"SELECT ({by_index}), ({by_scan})"
        if shape > 0.9:
            session.run("SET plan_cache_mode = force_generic_plan")
            session.run(f"PREPARE asked AS {both}")
            result = session.run("EXECUTE asked")[0]
            result = session.run("EXECUTE asked")[0]
            session.run("DEALLOCATE asked")
            session.run("RESET plan_cache_mode")
        else:
            result = session.run(both)[0]
        index_answer, scan_answer = result.split("\t")
        whole = makes_whole(table.name, where)
        if g.r.random() < 0.05 and session.value(whole) != "true":
            self.fail(f"parts are not the whole: {where}\nSELECT {whole};\n" + ";\n".join(table.ddl))
        with self.lock:
            self.queries += 1
            uses = {name: cond for name, cond in re.findall(r"Bitmap Index Scan on (\S+)\n\s*Index Cond: (.*)", "\n".join(plan))}
            should = any(c != "bo" for _, c, _, _ in top)  # the planner makes `bo = true` to `bo`, for which no index has an operator
            used = bool(should and uses)
            self.indexed += used
            if should and not used:
                self.by_scan.append(f"{top[0][0].method} {where}")
            for _, column, k, operator in top:
                for index in table.indexes:
                    mine = index.name in uses and any(c == column and p.name == k.name for c, p, _ in index.parts)
                    if mine and f" {operator} " in uses[index.name] and column in uses[index.name]:
                        self.used[k.method, k.name, operator] = self.used.get((k.method, k.name, operator), 0) + 1
            self.should += should
        if index_answer != scan_answer:
            missed = session.run(f"SELECT id FROM {table.name} WHERE ({where}) IS TRUE EXCEPT SELECT id FROM {table.name} WHERE {where} LIMIT 5")
            where_asked = "standby" if session.value("pg_is_in_recovery()") == "true" else "primary"
            self.fail(f"{where_asked}: index: {index_answer}; scan: {scan_answer}; now missed: {' '.join(missed) or 'nothing'}\n{by_index};\n" + "\n".join(plan) + "\n" +
                      ";\n".join(table.ddl) + (f"\nmade by INSERT INTO {table.name} {table.rows(missed[0], missed[0])};" if missed else "") + "\n" + both + ";")

    def workers(self, session, r):
        """How many workers an index is built with."""
        session.run("SET min_parallel_table_scan_size = 0")
        session.run("SET maintenance_work_mem = '96MB'")
        session.run(f"SET max_parallel_maintenance_workers = {r.choice([0, 1, 2])}")

    def settings(self, session, r):
        session.run("SET enable_seqscan = off")
        session.run("SET enable_indexscan = off")
        session.run("SET jit = off")
        session.run(f"SET work_mem = '{r.choice(['64kB', '4MB'])}'")
        if r.random() < 0.3:
            for name, value in (("parallel_setup_cost", 0), ("parallel_tuple_cost", 0), ("min_parallel_table_scan_size", 0), ("max_parallel_workers_per_gather", 2)):
                session.run(f"SET {name} = {value}")

    def tidy(self, session):
        """What a statement that failed may have left behind, so that the next one does not fail because of it."""
        for statement in ("ROLLBACK", "DEALLOCATE ALL", "RESET plan_cache_mode"):
            session.run(statement)

    def guarded(self, work, seed, port=None):
        """Runs work(session, r) until the time is over or the server is gone."""
        r = random.Random(f"{self.options.seed} {seed}")
        try:
            session = Session(port)
        except OSError:
            return
        try:
            self.settings(session, r)
            while not self.stop.is_set():
                try:
                    work(session, r)
                except Failure as failure:
                    self.tidy(session)
                    if not MEANT.match(failure.state):
                        self.fail(str(failure))
        except Lost:
            if not self.dying.is_set():
                self.fail("a session was lost")
        finally:
            session.close()

    def read(self, session, r):
        g = Conditions(r, session)
        if r.random() < 0.1:
            session.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            for _ in range(3):
                self.compare(session, g, r.choice(self.tables))
                time.sleep(0.05)
            session.run("COMMIT")
        else:
            self.compare(session, g, r.choice(self.tables))

    def write(self, session, r):
        table = r.choice(self.tables)
        kind = r.random()
        name = table.name
        if kind < 0.45:
            first, last = table.take(r.choice([1, 1, 1, 10, 50] if table.many > 800 else [1, 1, 1, 10, 50, 400]))
            session.run(f"INSERT INTO {name} {table.rows(first, last)}")
        elif kind < 0.6:
            n = r.choice([1, 3, 20])
            first, last = table.take(n)
            target = r.randrange(1, max(2, first - n))
            columns = ", ".join(["id", *table.columns, "pad"])
            session.run(f"WITH s ({columns}) AS ({table.rows(first, last)}) UPDATE {name} t SET ({columns}) = ROW({', '.join('s.' + c for c in columns.split(', '))}) "
                        f"FROM s WHERE t.id = s.id - {first - target}")
        elif kind < 0.7:
            at = r.randrange(1, table.next)
            session.run(f"UPDATE {name} SET pad = 'new' WHERE id BETWEEN {at} AND {at + r.choice([1, 30])}")
        elif kind < 0.9:
            at = r.randrange(1, table.next)
            session.run(f"DELETE FROM {name} WHERE id BETWEEN {at} AND {at + r.choice([1, 10, 300])}")
        elif kind < 0.92:
            session.run(f"DELETE FROM {name} WHERE id % 5 < {r.choice([1, 4, 5])} AND (SELECT count(*) > 4000 FROM {name})")
        else:
            first, last = table.take(r.choice([5, 100]))
            session.run("BEGIN")
            session.run(f"INSERT INTO {name} {table.rows(first, last)}")
            session.run("SAVEPOINT s")
            session.run(f"DELETE FROM {name} WHERE id > {first}")
            session.run("ROLLBACK TO s")
            if r.random() < 0.5:
                self.compare(session, Conditions(r, session), table)
            session.run(r.choice(["ROLLBACK", "COMMIT"]))

    def tend(self, session, r):
        index = r.choice([index for table in self.tables for index in table.indexes])
        table = next(table for table in self.tables if index in table.indexes)
        kind = r.random()
        if kind < 0.5:
            session.run(f"VACUUM {r.choice(['', '', '(FREEZE) ', '(ANALYZE) '])}{table.name}")
        elif kind < 0.53:
            session.run(f"VACUUM FULL {table.name}")
        elif kind < 0.54:
            session.run(f"TRUNCATE {table.name}")
        elif kind < 0.6:
            self.workers(session, r)
            # This waits for old snapshots of its own server only: on a standby they miss rows, by an index of any method.
            session.run(f"REINDEX INDEX {'' if self.has_standby else 'CONCURRENTLY '}{index.name}")
        elif kind < 0.65:
            self.workers(session, r)
            session.run(f"REINDEX INDEX {index.name}")
        elif index.method == "bloomx":
            session.run(f"SELECT bloomx_check_index('{index.name}')")
            self.checks += 1
        elif index.method == "brin":
            if r.random() < 0.3:
                session.run(f"SELECT brin_desummarize_range('{index.name}', 0)")
            else:
                session.run(f"SELECT brin_summarize_new_values('{index.name}')")
        time.sleep(0.02)

    # ---- the server ----

    def kill(self, data=None, port=None):
        self.dying.set()
        server.kill(data, port)

    def load(self, name, seconds, readers=2, ending=None, port=None):
        """Sessions of all kinds beside each other; `ending` is called before they are told to stop."""
        self.stop.clear()
        works = [(self.write, None)] * 2 + [(self.tend, None)] + [(self.read, port)] * readers
        threads = [threading.Thread(target=self.guarded, args=(work, f"{name} {i}", to)) for i, (work, to) in enumerate(works)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        if ending:
            ending()
        self.stop.set()
        for thread in threads:
            thread.join()
        self.dying.clear()

    def ask_all(self, seed, each, port=None):
        """A check of all indexes, and queries to all tables."""
        session = Session(port)
        r = random.Random(f"{self.options.seed} {seed}")
        self.settings(session, r)
        for table in self.tables:
            for index in table.indexes:
                if index.method == "bloomx" and port is None:
                    try:
                        session.run(f"SELECT bloomx_check_index('{index.name}')")
                        self.checks += 1
                    except Failure as failure:
                        self.fail(str(failure) + "\n" + ";\n".join(table.ddl))
            for _ in range(each):
                self.attempt(session, r, table)
        session.close()

    def attempt(self, session, r, table):
        try:
            self.compare(session, Conditions(r, session), table)
        except Failure as failure:
            self.tidy(session)
            if not MEANT.match(failure.state):
                self.fail(str(failure) + "\n" + ";\n".join(table.ddl))

    def start_standby(self):
        here = Session()
        here.run(DROP_SLOT)
        # the slot keeps the WAL that the standby needs, and, while the servers are down, the rows
        self.standby.start("hot_standby_feedback = on\nwal_retrieve_retry_interval = '100ms'\n", "-C", "-S", "bloomx_rows")
        self.has_standby = True
        # Until the primary knows of the standby's snapshots, an index that is made anew lacks rows that they see.
        for _ in range(600):
            if here.value("(SELECT count(xmin) FROM pg_replication_slots)") == "1":
                break
            time.sleep(0.1)
        else:
            self.fail("the primary does not know the standby's oldest snapshot")
        here.close()

    def ask_standby(self, seed, each):
        """Queries to a standby that has replayed all."""
        here, there = Session(), Session(self.standby.port)
        end = here.value("pg_current_wal_insert_lsn()")
        for _ in range(6000):
            if there.value(f"pg_last_wal_replay_lsn() >= '{end}'") == "true":
                break
            time.sleep(0.1)
        else:
            sys.exit("the standby does not follow")
        here.close()
        there.close()
        self.ask_all(seed, each, self.standby.port)

    def stop_standby(self):
        self.has_standby = False
        self.standby.stop()

    def kill_servers(self, r):
        """The server, and now and then first its standby."""
        if self.options.kills and r.random() < 0.3:
            self.kill(self.standby.data, self.standby.port)
            self.killed += 1
        self.kill()
        self.killed += 1

    def restart(self):
        log = os.environ["BLOOMX_LOG"]
        for data in [None] + ([self.standby.data] if self.options.kills and not os.path.exists(os.path.join(self.standby.data, "postmaster.pid")) else []):
            if not server.start(data or os.environ["PGDATA"]):
                with open(log, encoding="utf-8", errors="replace") as file:
                    sys.exit("the server does not start after SIGKILL:\n" + "".join(file.readlines()[-30:]))

    def main(self):
        begin = time.time()
        server.make(DATABASE, "")
        session = Session()
        session.run(CONSISTENCY)
        session.run("SELECT pg_reload_conf()")
        for statement in ("CREATE EXTENSION bloomx", "CREATE EXTENSION bloomx_citext CASCADE", "CREATE EXTENSION bloomx_hstore CASCADE", *(f"CREATE EXTENSION {e}" for e in ("bloom", "pg_trgm") if "bloom" in self.methods or "gin" in self.methods)):
            session.run(statement)
        session.run(FUNCTIONS)
        methods = "'{" + ",".join(self.methods) + "}'"
        own = "gin" not in self.methods and "bloom" not in self.methods
        lines = session.run(CLASSES % (methods, "false" if own else "true"))
        self.classes = [OperatorClass(*json.loads(line)) for line in lines]
        self.classes = [c for c in self.classes if re.search(self.options.only, f"{c.method} {c.name}")]
        # enums have no BRIN class of their own type, and varchar_ops is another name
        without = [f"{c.method} {c.name}" for c in self.classes if not c.columns]
        if without and own:
            self.fail("no column for " + ", ".join(without))
        self.classes = [c for c in self.classes if c.columns]
        if not self.classes:
            sys.exit(f"rows.py: no operator class matches {self.options.only!r}")
        self.stop, self.dying = threading.Event(), threading.Event()
        r = random.Random(f"{self.options.seed}")
        number = 0
        limit = self.options.seconds
        rounds = self.options.kills or self.options.rounds
        while (number < rounds) if rounds else (number == 0 or time.time() - begin < limit * 0.75):
            number += 1
            if number > 1:
                session = Session()
            old = self.tables[:-4] if number > 2 else []
            for table in old:
                session.run(f"DROP TABLE {table.name}")
                self.tables.remove(table)
            for _ in range(max(3, min(12, (sum(c.tables == 0 for c in self.classes) + 4) // 5))):
                self.add_table(session, r)
            session.close()
            self.ask_all(f"made {number}", 12)
            if self.options.kills and number == 1:
                self.start_standby()
            self.load(number, self.options.load, ending=lambda: self.kill_servers(r))
            self.restart()
            self.ask_all(f"recovered {number}", 4)
            if self.options.kills:
                self.ask_standby(f"followed {number}", 2)
                print(f"round {number}: {self.killed} kills, {self.queries} conditions, {len(self.failures)} failures", flush=True)
        if not self.options.kills:
            self.start_standby()
        self.load("standby", self.options.load, port=self.standby.port)
        self.ask_standby("standby", 5)
        self.stop_standby()
        # what chance has left out; on a busy machine the clock alone says little
        session = Session()
        self.settings(session, r)
        tries, since = 0, time.time()
        while any(map(self.unused, self.classes)) and (tries < 40 or time.time() - since < limit):
            tries += 1
            rest = [t for t in self.tables if any(self.unused(k) for i in t.indexes for _, k, _ in i.parts)]
            if not rest:
                self.add_table(session, r)
                rest = self.tables[-1:]
            for _ in range(50):
                self.attempt(session, r, r.choice(rest))
            self.tables.remove(rest[0])
        with open(os.environ["BLOOMX_LOG"], encoding="utf-8", errors="replace") as file:
            found = re.findall(".*(?:inconsistent page found|TRAP:).*", file.read())
            if found:
                self.fail("the server's log has an inconsistent page or a failed assertion:\n" + "\n".join(found))
        print(f"{number} rounds, {self.killed} kills, {self.made} tables, {self.queries} conditions, {self.indexed} of {self.should} by an index, {self.checks} checks, {time.time() - begin:.0f} s")
        passed = 0
        for k in self.classes:
            for operator in k.operators:
                if (k.method, k.name, operator) in self.used:
                    passed += 1
                else:
                    self.fail(f"no plan had {operator} of {k.method} {k.name} in an index condition")
        if self.indexed < 0.97 * self.should:
            self.fail("too few conditions used an index; these did not:\n" + "\n".join(w[:200] for w in self.by_scan[-20:]))
        session.run("ALTER SYSTEM RESET wal_consistency_checking")
        session.run(DROP_SLOT)
        session.close()
        server.drop(DATABASE)
        print(f"{passed + self.queries + self.checks - len(self.failures)} passed, {len(self.failures)} failed")
        sys.exit(len(self.failures) > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=25, help="how long, about")
    parser.add_argument("--rounds", type=int, default=0, help="so many rounds, however long they take")
    parser.add_argument("--kills", type=int, default=0, help="so many rounds, with a standby")
    parser.add_argument("--load", type=float, default=2, help="seconds of load in each round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="classes, as method and name")
    parser.add_argument("--methods", default="bloomx,brin")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    test = Test(options)
    try:
        test.main()
    finally:
        test.stop_standby()
