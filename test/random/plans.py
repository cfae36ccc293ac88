#!/usr/bin/env python3
"""Random nested queries over filters can be planned: whatever relation, parameter or type an estimator meets.

    scripts/throwaway test/random/plans.py [--seconds N] [--queries N] [--seed N] [--print]

The queries nest subqueries, correlated or not, of every kind: scalar, EXISTS, IN, ANY, ALL, ARRAY, LATERAL, in FROM,
as a view and as a CTE; with outer joins, set operations, grouping sets, windows, and aggregates of an outer query.
In every position may stand a membership test, with keys of several types (under collations, casts and domains that
ANALYZE does not see), and a filter that is a column, a constant, an expression, an aggregate or a subquery's result.

Each query is planned, and some are run.  PostgreSQL plans what it has parsed, so an error of EXPLAIN fails the test
whatever its code is, as does an internal error (class XX) or a lost connection when a query runs.  A query that breaks a
rule of SQL is a fault of this test and fails it, too.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database.  --print only prints
the queries.  The last line is "N passed, N failed".
"""

import argparse
import random
import re
import sys
import time

import server

DATABASE = "bloomx_plans"
BATCH = 100  # queries per psql

SETUP = r"""
CREATE EXTENSION bloomx;
CREATE COLLATION blurred (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN small AS int CHECK (VALUE < 100000);
CREATE DOMAIN filter AS bloomfilter;
CREATE TABLE k AS SELECT i AS id, i % 7 AS g, CASE WHEN i % 5 > 0 THEN 'v' || i % 40 END AS t, ('v' || i % 40)::varchar(20) COLLATE blurred AS n,
	(ARRAY['pg_class', 'pg_type', 'pg_proc'])[1 + i % 3]::regclass AS r, (i % 100)::small AS d, ARRAY[i % 20, i % 30] AS a
	FROM generate_series(1, 400) i;
CREATE TABLE fl AS SELECT i AS id, i % 3 AS g, CASE WHEN i % 7 > 0 THEN bloom_agg(i * 20 + j) END AS f, bloom_agg('v' || j) AS tf,
	bloom_agg(j::oid) AS "of", bloom_agg(i + j)::filter AS df
	FROM generate_series(1, 40) i, generate_series(1, 20) j GROUP BY i;
CREATE TABLE part (LIKE fl) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (20);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (20) TO (100);
INSERT INTO part TABLE fl;
CREATE INDEX ON fl USING bloomx (f);
CREATE INDEX ON fl USING bloomx (tf);
CREATE INDEX ON fl ((f @> id));
CREATE INDEX ON k (id);
ANALYZE k, fl, part;
CREATE TABLE new AS TABLE fl;
CREATE TABLE empty (LIKE fl);
CREATE VIEW filled AS SELECT id, g, coalesce(f, bloom_empty(10)) AS f, tf, coalesce("of", bloom_empty(5)) AS "of", bloom_add(f, id)::filter AS df FROM fl;
CREATE VIEW united AS TABLE fl UNION ALL SELECT id, g, f | f, tf, "of", df FROM part;
CREATE VIEW grouped AS SELECT g AS id, g, bloom_union_agg(f) AS f, bloom_union_agg(tf) AS tf, bloom_union_agg("of") AS "of", bloom_union_agg(df)::filter AS df FROM fl GROUP BY g;
CREATE VIEW outer_joined AS SELECT k.id, k.g, CASE WHEN k.g > 2 THEN fl.f ELSE bloom_empty(8) END AS f, fl.tf, coalesce(fl."of", bloom_empty(4)) AS "of", fl.df
	FROM k LEFT JOIN fl ON fl.id = k.id;
CREATE VIEW numbered AS SELECT id, row_number() OVER (ORDER BY id)::int AS g, first_value(f) OVER (PARTITION BY g ORDER BY id) AS f, tf, "of", df FROM fl;
"""

KEYS = "k"
FILTERS = ["fl", "fl", "part", "new", "empty", "filled", "filled", "united", "grouped", "outer_joined", "outer_joined", "numbered"]
COLUMNS = {"k": {"id": "int", "g": "int", "t": "text", "n": "blurred", "r": "regclass", "d": "int", "a": "ints"}}
for table in set(FILTERS):
    COLUMNS[table] = {"id": "int", "g": "int", "f": "filter", "tf": "texts", '"of"': "oids", "df": "filter"}


class Scope:
    """The columns that an expression may name: of the query's own tables, and of the queries around it."""

    def __init__(self, columns, outer=None, aggregates=None):
        self.columns = columns          # (SQL, type)
        self.outer = outer
        self.aggregates = aggregates    # columns, not grouped, that aggregates may take

    def pick(self, rng, type_name, own=False):
        scope = self
        while scope and not own and scope.outer and rng.random() < 0.4:
            scope = scope.outer
        while scope:
            there = [c for c, t in scope.columns if t == type_name]
            if scope.aggregates and (rng.random() < 0.5 or not there):
                aggregate = self.aggregate(rng, scope, type_name)
                if aggregate:
                    return aggregate
            if there:
                return rng.choice(there)
            scope = None if own else scope.outer
        return None

    @staticmethod
    def aggregate(rng, scope, type_name):
        """An aggregate of that scope's rows, also when it stands in a query within it."""
        columns = [c for c, t in scope.aggregates if t == {"int": "int", "filter": rng.choice(["int", "filter"]), "texts": rng.choice(["text", "texts"])}.get(type_name)]
        if not columns:
            return None
        column = rng.choice(columns)
        filters = {c for c, t in scope.aggregates if t in ("filter", "texts")}
        if type_name == "int":
            return f"max({column})"
        where = "" if rng.random() < 0.8 else f" FILTER (WHERE {column} IS NOT NULL)"
        if column in filters:
            return f"bloom_union_agg({column}){where}"
        return f"bloom_agg({rng.choice(['', '', 'DISTINCT '])}{column}){where}" if rng.random() < 0.7 else f"bloom_agg({column}, 100, 0.1){where}"


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.names = 0

    def name(self):
        self.names += 1
        return f"q{self.names}"

    # ---- expressions ----

    def number(self, scope, depth):
        rng = self.rng
        column = scope.pick(rng, "int")
        roll = rng.random()
        if column and roll < 0.6:
            return column
        if column and roll < 0.75:
            return rng.choice(["coalesce({0}, 1)", "{0} + 1", "({0} % 5)", "({0}::bigint)::int", "CASE WHEN {0} > 3 THEN {0} END"]).format(column)
        if depth > 0 and roll < 0.85:
            return f"(SELECT {rng.choice(['count(*)::int', 'max({0})', 'min({0})'])} FROM {{1}})".format(*self.simple(scope, depth - 1, "int"))
        return str(rng.randrange(60))

    def filter(self, scope, depth, type_name="filter"):
        rng = self.rng
        column = scope.pick(rng, type_name)
        roll = rng.random()
        if column and roll < 0.5:
            return column
        if column and roll < 0.7:
            other = scope.pick(rng, type_name) or column
            change = {"filter": "bloom_add({0}, 5)", "texts": "bloom_add({0}, 'v1'::text)", "oids": "bloom_add({0}, 5::oid)"}[type_name]
            return rng.choice(["coalesce({0}, bloom_empty(10))", "({0} | {1})", change, "CASE WHEN {0} IS NOT NULL THEN {1} END", "NULLIF({0}, {1})"]).format(column, other)
        if depth > 0 and roll < 0.9:
            rows, wanted = self.simple(scope, depth - 1, type_name)[::-1], None
            wanted, rows = rows[1], rows[0]
            return f"(SELECT {rng.choice(['bloom_union_agg({0})', '{0}'])} FROM {{1}})".format(wanted, rows if "LIMIT" in rows else rows + " LIMIT 1") if rng.random() < 0.6 \
                else f"(SELECT bloom_agg({'i' if type_name == 'filter' else 'i::oid' if type_name == 'oids' else 'i::text'}) FROM generate_series(1, {self.number(scope, 0)}) i)"
        return {"filter": "(SELECT c FROM constants LIMIT 1)" if rng.random() < 0.2 else ":'c'::bloomfilter", "texts": ":'t'::bloomfilter", "oids": ":'o'::bloomfilter"}[type_name]

    def simple(self, scope, depth, type_name):
        """A column of that type, and the tables, with conditions that may name the scope around."""
        tables, columns = self.tables(scope, depth, needs=type_name)
        inner = Scope(columns, scope)
        wanted = inner.pick(self.rng, type_name, own=True)
        where = f" WHERE {self.condition(inner, depth)}" if self.rng.random() < 0.8 else ""
        return wanted, tables + where

    def key(self, scope, depth):
        """A key and the type of filters that it goes with."""
        rng = self.rng
        for type_name in rng.sample(["int", "text", "blurred", "regclass"], 4):
            column = scope.pick(rng, type_name)
            if column is None or (type_name == "int" and rng.random() < 0.3):
                continue
            if type_name == "int":
                return rng.choice(["{0}", "{0}", "{0}::bigint", "({0} + 0)"]).format(column), "filter"
            if type_name == "text":
                return rng.choice(["{0}", 'lower({0}) COLLATE "C"', "{0}::varchar"]).format(column), "texts"
            if type_name == "blurred":
                return rng.choice(['{0} COLLATE "C"', '{0}::text COLLATE "C"', "{0}"]).format(column), "texts"
            return rng.choice(["{0}::oid", "{0}::oid", "{0}::text", "{0}"]).format(column), "oids"
        return self.number(scope, depth), "filter"

    def membership(self, scope, depth):
        rng = self.rng
        key, kind = self.key(scope, depth)
        f = self.filter(scope, depth, kind)
        roll = rng.random()
        if roll < 0.5:
            return rng.choice(["{0} <@ {1}", "{1} @> {0}", "bloom_contains({1}, {0})"]).format(key, f)
        if roll < 0.6:
            return f"bloom_prefilter({f}, {key})"
        if roll < 0.68:
            return f"{rng.choice(['bloom_contains_any', 'bloom_contains_all'])}({f}, ARRAY[{key}, {key}])"
        if roll < 0.74:
            return f"{f} {rng.choice(['?&', '?|'])} {rng.choice(['bloomx_probe({0})', 'bloomx_probe_all(ARRAY[{0}])']).format(key)}"
        if roll < 0.8:
            other = self.filter(scope, depth, kind)
            # A filter is no set of keys.  Of two constants that would be computed while planning, and of a subquery's column
            # that is a constant, too.
            wrong = ["{0} ?& {1}"] if ":" not in f and not re.search(r"\bc\d", f) else []
            return rng.choice(["{0} && {1}", "{0} !&& {1}", "NOT ({0} && {1})", "{0} = {1}", "bloom_contains_hash({0}, 5)"] + wrong).format(f, other)
        if roll < 0.85 and depth > 0:
            wanted, rows = self.simple(scope, depth - 1, "int")
            return f"{self.filter(scope, depth)} @> {rng.choice(['ANY', 'ALL'])} (SELECT {wanted} FROM {rows})"
        if roll < 0.9:
            array = scope.pick(rng, "ints")
            return f"{rng.choice(['bloom_contains_any', 'bloom_contains_all'])}({self.filter(scope, depth)}, {array or 'ARRAY[1, 2]'})"
        if roll < 0.95:
            return f"{self.filter(scope, depth)} @> {rng.choice(['ANY', 'ALL'])} (ARRAY[{self.number(scope, depth)}, 3])"
        return f"({key} <@ {f}) IN (SELECT true)"

    def condition(self, scope, depth):
        rng = self.rng
        roll = rng.random()
        if depth > 0 and roll < 0.2:
            wanted, rows = self.simple(scope, depth - 1, "int")
            return rng.choice(["EXISTS (SELECT FROM {1})", "NOT EXISTS (SELECT FROM {1})", "{2} IN (SELECT {0} FROM {1})", "{2} NOT IN (SELECT {0} FROM {1})",
                               "(SELECT count(*) FROM {1}) >= 0", "{2} = ANY (ARRAY(SELECT {0} FROM {1}))"]).format(wanted, rows, self.number(scope, 0))
        if depth > 0 and roll < 0.3:
            return f"({self.condition(scope, depth - 1)} {rng.choice(['AND', 'OR'])} {self.condition(scope, depth - 1)})"
        if roll < 0.35:
            return f"NOT ({self.condition(scope, depth - 1)})" if depth > 0 else "true"
        if roll < 0.45:
            return f"{self.number(scope, depth)} {rng.choice(['=', '<', '>='])} {self.number(scope, depth)}"
        return self.membership(scope, depth)

    # ---- tables ----

    def table(self, scope, depth, lateral, needs=None):
        """SQL of one, and its columns."""
        rng = self.rng
        alias = self.name()
        if depth > 0 and rng.random() < 0.3 and needs in (None, "int", "filter"):
            inner, types = self.query(Scope(lateral, scope) if lateral else scope, depth - 1, needs)
            return f"{'LATERAL ' if lateral else ''}({inner}) {alias}({', '.join(f'c{i}' for i in range(len(types)))})", [(f"{alias}.c{i}", t) for i, t in enumerate(types)]
        if needs in ("text", "blurred", "regclass", "ints"):
            table = KEYS
        elif needs in ("filter", "texts", "oids"):
            table = rng.choice(FILTERS)
        else:
            table = rng.choice([KEYS] * 5 + FILTERS)
        return f"{table} {alias}", [(f"{alias}.{c}", t) for c, t in COLUMNS[table].items()]

    def tables(self, scope, depth, needs=None):
        rng = self.rng
        sql, columns = self.table(scope, depth, [], needs)
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            join = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
            lateral = columns if join in ("JOIN", "LEFT JOIN", "CROSS JOIN") and rng.random() < 0.5 else []
            other, others = self.table(scope, depth, lateral)
            left, right = (next(c for c, t in side if t == "int") for side in (columns, others))
            both = Scope(columns + others, scope)
            on = "" if join == "CROSS JOIN" else f" ON {left} = {right}"
            if on and join != "FULL JOIN" and rng.random() < 0.5:
                on = rng.choice([on + " AND ", " ON "]) + self.condition(both, 0)
            sql = f"{sql} {join} {other}{on}"
            columns = columns + others
        return sql, columns

    # ---- queries ----

    def value(self, scope, depth, type_name):
        if type_name == "int":
            return self.number(scope, depth)
        if type_name == "bool":
            return self.condition(scope, depth)
        return self.filter(scope, depth, type_name)

    def select(self, scope, depth, types):
        """A SELECT of values of these types, perhaps grouped."""
        rng = self.rng
        tables, columns = self.tables(scope, depth)
        inner = Scope(columns, scope)
        where = f" WHERE {self.condition(inner, depth)}" if rng.random() < 0.7 else ""
        roll = rng.random()
        tail = ""
        if roll < 0.35:
            keys = [c for c, t in columns if t == "int"]
            keys = rng.sample(keys, min(len(keys), rng.randrange(3)))
            inner = Scope([(k, "int") for k in keys], scope, [c for c in columns if c[0] not in keys])
            if len(keys) == 2 and rng.random() < 0.5:
                tail = f" GROUP BY {rng.choice(['ROLLUP ({0}, {1})', 'CUBE ({0}, {1})', 'GROUPING SETS (({0}), ({1}), ())', '{0}, GROUPING SETS (({1}), ())']).format(*keys)}"
            elif keys:
                tail = f" GROUP BY {', '.join(keys)}"
            else:
                tail = " HAVING count(*) >= 0"
            if rng.random() < 0.4:
                tail = tail.split(" HAVING")[0] + f" HAVING {self.condition(inner, depth)}" if keys else tail + f" AND {self.condition(inner, depth)}"
        elif roll < 0.45:
            tail = f" LIMIT {rng.randrange(1, 9)}"
        targets = [self.value(inner, depth, t) for t in types]
        if 0.45 <= roll < 0.52:
            column = inner.pick(rng, "int", own=True)
            targets[0] = {"int": f"(count(*) OVER (PARTITION BY {column}))::int", "filter": f"bloom_agg({column}) OVER (ORDER BY {column})", "bool": "count(*) OVER () > 2"}[types[0]]
        distinct = "DISTINCT " if 0.52 <= roll < 0.57 else ""
        return f"SELECT {distinct}{', '.join(targets)} FROM {tables}{where}{tail}"

    def query(self, scope, depth, needs=None):
        """A query and the types of its columns, with a number and what is needed among them."""
        rng = self.rng
        types = ["int"] + [rng.choice(["int", "filter", "bool"]) for _ in range(rng.randrange(2))]
        if needs and needs not in types:
            types.append(needs)
        rng.shuffle(types)
        sql = self.select(scope, depth, types)
        roll = rng.random()
        if roll < 0.1:
            sql = f"({sql}) {rng.choice(['UNION ALL', 'UNION ALL', 'UNION', 'EXCEPT'])} ({self.select(scope, depth, types)})"
        elif roll < 0.2:
            name, columns = self.name(), [f"c{i}" for i in range(len(types))]
            again = rng.choice(["", f" JOIN {name} b USING (c{types.index('int')})"])
            sql = f"WITH {name}({', '.join(columns)}) AS {rng.choice(['MATERIALIZED ', ''])}({sql}) SELECT {', '.join('a.' + c for c in columns)} FROM {name} a{again}"
        return sql, types


def statements(rng, number):
    """A query as it is planned and perhaps run, under random settings."""
    generator = Generator(rng)
    sql = generator.query(Scope([]), rng.choice([1, 1, 1, 2, 2, 3]))[0]
    setting = rng.choice(["enable_hashjoin = off", "enable_nestloop = off", "enable_seqscan = off", "enable_memoize = off", "join_collapse_limit = 1", "from_collapse_limit = 1",
                          "enable_partitionwise_join = on", "enable_partitionwise_aggregate = on", "enable_hashagg = off"])
    run = rng.random() < 0.3
    return sql, f"SET {setting};\nEXPLAIN {sql};\n\\echo =end= {number} plan :SQLSTATE :LAST_ERROR_MESSAGE\n" + \
        (f"SELECT count(*) FROM (SELECT * FROM ({sql}) x LIMIT 20) y;\n\\echo =end= {number} run :SQLSTATE :LAST_ERROR_MESSAGE\n" if run else "") + f"RESET {setting.split()[0]};\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--queries", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--print", action="store_true", help="print the queries, and run none")
    options = parser.parse_args()
    print(f"# seed {options.seed}")
    end = time.monotonic() + options.seconds

    if not options.print:
        server.make(DATABASE, SETUP)
    done = {"plan": 0, "run": 0}
    failures = {}
    number = 0
    while number < options.queries and time.monotonic() < end:
        batch = {}
        script = "SELECT bloom_agg(i) AS c, bloom_agg('v' || i) AS t, bloom_agg(i::oid) AS o FROM generate_series(1, 30) i \\gset\n" \
                 "CREATE TEMP TABLE constants AS SELECT :'c'::bloomfilter AS c;\n"
        for number in range(number, min(number + BATCH, options.queries)):
            batch[number], text = statements(random.Random(f"{options.seed} {number}"), number)
            script += text
        number += 1
        if options.print:
            print(script)
            continue
        seen = set()
        for line in server.psql(script, DATABASE, "-c statement_timeout=1s -c client_min_messages=error -c jit=off").stdout.splitlines():
            if not line.startswith("=end= "):
                continue
            n, what, state, message = (line[6:].split(" ", 3) + [""])[:4]
            seen.add(int(n))
            done[what] += 1
            # a timeout is no failure; nor is an error that a value raises when the query runs
            if state in ("00000", "57014") or (what == "run" and (state[:2] not in ("XX", "42") or state == "42804")):
                continue
            failures.setdefault(f"{what}: {state} {re.sub('[0-9]+', 'N', message)}", []).append(batch[int(n)])
        missing = [n for n in batch if n not in seen]
        if missing:
            failures.setdefault("the connection was lost", []).append(batch[missing[0]])
            time.sleep(5)
    if options.print:
        return False
    server.drop(DATABASE)
    for failure, queries in sorted(failures.items(), key=lambda f: -len(f[1])):
        print(f"FAILED {failure}\n#    {len(queries)} times, for example: {min(queries, key=len)}")
    bad = bool(failures) or done["plan"] == 0
    print(f"{'FAILED' if bad else 'ok'} - {done['plan']} queries planned, {done['run']} run, {sum(map(len, failures.values()))} failures")
    print(f"{int(not bad)} passed, {int(bad)} failed")
    return bad


if __name__ == "__main__":
    sys.exit(main())
