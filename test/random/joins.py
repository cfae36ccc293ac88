#!/usr/bin/env python3
"""Random joins give the same rows with bloomx.runtime_filter on and off, and the filters really work.

    scripts/throwaway test/random/joins.py [--queries N] [--seed N] [--seconds N] [--small] [--kind KIND]

Makes tables of several key types, with NULLs, duplicates and skew; partitioned by range, list and hash; with
BRIN indexes of all kinds, some with ranges that are not summarised; with row security.  Then it makes random
queries: two to six tables, all join types, keys of one type and of two, subqueries, DISTINCT, GROUP BY, grouping sets,
LIMIT, UNION ALL, merge joins of sorts, lateral rescans, CTEs, cursors, changed tables, SERIALIZABLE, parallel plans, small work_mem,
and all combinations of planner settings.  More than one in five is of a kind that once went wrong: parameters in the keys of either side, subplans that
partitions share, containers of types without a hash, groups that lose a part of their rows, nodes that look ahead under a LIMIT, and
volatile functions on each side of a join; or has loops that search a table of which every column has a set.  Each runs with filters off and on, forced on everywhere.  Of some the second
one is another query, or has other settings, and must have the same rows (queries.py).  Then come
nested loops in all positions, whose rows must come in the same order, and which must not read more rows with lookups than without.  A query
whose rows differ, or that fails in only one of the two ways, is printed and fails the test.

Rows that agree prove nothing if no filter worked.  So at the end the session's totals must show rows removed,
pages skipped and partitions skipped, and EXPLAIN must show rows removed in parallel workers and below groups.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database.  The last
line is "N passed, N failed".
"""

import argparse
import os
import random
import re
import sys
import time

import queries
import server

DATABASE = "bloomx_joins"
BATCH = 100  # queries per psql: few enough that a crash is soon found

# Any function of the extension loads the module.
LOAD = "DO 'BEGIN PERFORM bloom_hash(1); END';"

FORCED = """
SET bloomx.runtime_filter_min_rows = 0; SET bloomx.runtime_filter_min_pages = 0; SET bloomx.runtime_filter_min_removed = 0;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET client_min_messages = warning; SET synchronize_seqscans = off;
"""

# Columns that all tables have, with the class of types that may be joined with one another.
COLUMNS = {
    "i2": "integer", "i4": "integer", "i8": "integer", "d": "date", "ts": "timestamp", "o": "oid",
    "t": "text", "v": "text", "n": "numeric", "f": "float", "u": "uuid", "b": "bpchar", "e": "enum", "a": "array",
}

SCHEMA = """
CREATE EXTENSION bloomx;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'odd', 'even');
CREATE FUNCTION make(target text, n int, keys int, shift int, nulls int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$INSERT INTO %I
		SELECT g, nullif(k, k0)::int2, nullif(k, k0), nullif(k::int8 * 1, k0), DATE '2020-01-01' + nullif(k, k0),
		       TIMESTAMP '2020-01-01' + nullif(k, k0) * INTERVAL '1 hour', nullif(k, k0)::oid,
		       'key ' || nullif(k, k0), ('key ' || nullif(k, k0))::varchar(40), nullif(k, k0) * 1.50, nullif(k, k0) - 0.5,
		       md5(nullif(k, k0)::text)::uuid, left(nullif(k, k0) || '   ', 6)::char(8),
		       (enum_range(NULL::mood))[1 + nullif(k, k0) %% 5], ARRAY[nullif(k, k0), 7], repeat('p', 100 + g %% 90)
		FROM (SELECT g, %s + CASE WHEN g %% 60 = 0 THEN 3 ELSE (g::bigint * %s / %s)::int END AS k,
		             CASE WHEN %s > 0 AND g %% %s = 0 THEN %s + CASE WHEN g %% 60 = 0 THEN 3 ELSE (g::bigint * %s / %s)::int END END AS k0
		      FROM generate_series(1, %s) g) s$q$, target, shift, keys, n, nulls, greatest(nulls, 1), shift, keys, n, n);
END $$;
CREATE TABLE template (id int, i2 int2, i4 int, i8 int8, d date, ts timestamp, o oid, t text, v varchar(40), n numeric, f float8,
                       u uuid, b char(8), e mood, a int[], pad text);
"""

# With --small, tables have one row of six: most of the time goes into joins of many rows with many, so that there are
# more queries per minute, of which fewer have rows.  Keys keep their range, and big has enough pages for several BRIN ranges.
SMALLER = 6

# name, rows, distinct keys, first key, one NULL in so many rows (0: none)
TABLES = [
    ("big", 3800, 1200, 0, 13), ("mid", 400, 300, 100, 7), ("tiny", 25, 20, 250, 0), ("nothing", 0, 1, 0, 0),
    ("far", 100, 40, 30000, 9), ("dups", 150, 15, 255, 5),
]
BRIN = {"big": ["int4_minmax_multi_ops", "int4_bloom_ops", "int4_bloomx_ops"], "dups": [], "mid": []}


def setup(small):
    def count(rows):
        return rows // SMALLER if small and rows >= 100 else rows

    sql = [SCHEMA]
    for name, rows, keys, first, nulls in TABLES:
        sql.append(f"CREATE TABLE {name} (LIKE template);")
        sql.append(f"SELECT make('{name}', {count(rows)}, {keys}, {first}, {nulls});")
    for kind, spec, parts in (
            ("ranged", "RANGE (i4)", ["DEFAULT"] + [f"FOR VALUES FROM ({lo}) TO ({lo + 150})" for lo in range(0, 900, 150)]),
            ("listed", "LIST (i2)", ["DEFAULT", "FOR VALUES IN (NULL, 1, 2, 3)", "FOR VALUES IN (250, 251, 252)", "FOR VALUES IN (%s)" % ", ".join(map(str, range(300, 500)))]),
            ("hashed", "HASH (i8)", [f"FOR VALUES WITH (MODULUS 5, REMAINDER {r})" for r in range(5)]),
            ("dated", "RANGE (d, i4)", ["FOR VALUES FROM (MINVALUE, MINVALUE) TO ('2020-06-01', 100)",
                                        "FOR VALUES FROM ('2020-06-01', 100) TO ('2021-01-01', 0)", "DEFAULT"])):
        sql.append(f"CREATE TABLE {kind} (LIKE template) PARTITION BY {spec};")
        for i, bound in enumerate(parts):
            # one partition has another order of columns, one is partitioned further
            if i == 1:
                sql.append(f"CREATE TABLE {kind}_{i} (junk int, LIKE template); ALTER TABLE {kind}_{i} DROP COLUMN junk;"
                           f"ALTER TABLE {kind} ATTACH PARTITION {kind}_{i} {bound};")
            elif i == 2 and kind == "ranged":
                sql.append(f"CREATE TABLE {kind}_{i} PARTITION OF {kind} {bound} PARTITION BY LIST (o);"
                           f"CREATE TABLE {kind}_{i}_x PARTITION OF {kind}_{i} FOR VALUES IN ({', '.join(map(str, range(170, 260)))});"
                           f"CREATE TABLE {kind}_{i}_y PARTITION OF {kind}_{i} DEFAULT;")
            else:
                sql.append(f"CREATE TABLE {kind}_{i} PARTITION OF {kind} {bound};")
        sql.append(f"SELECT make('{kind}', {count(1200)}, 1000, 0, 17);")
    for column in ("i2", "i4", "i8", "d", "ts", "o"):
        sql.append(f"CREATE INDEX ON big USING brin ({column}) WITH (pages_per_range = 2);")
        sql.append(f"CREATE INDEX ON ranged_1 USING brin ({column}) WITH (pages_per_range = 1);")
    for column in ("t", "n", "f", "u", "b"):
        sql.append(f"CREATE INDEX ON big USING brin ({column}) WITH (pages_per_range = 2);")
        sql.append(f"CREATE INDEX ON ranged_1 USING brin ({column}) WITH (pages_per_range = 1);")
    sql += ["CREATE INDEX ON big USING brin (v text_bloomx_ops, n numeric_bloomx_ops) WITH (pages_per_range = 1);",
            "CREATE INDEX ON dups USING brin (t text_bloom_ops, n numeric_minmax_multi_ops, u uuid_bloomx_ops) WITH (pages_per_range = 1);"]
    for table, classes in BRIN.items():
        for c in classes:
            sql.append(f"CREATE INDEX ON {table} USING brin (i4 {c}) WITH (pages_per_range = 1);")
    sql += [
        "CREATE INDEX ON mid USING brin (i4, d) WITH (pages_per_range = 1);",
        "CREATE INDEX ON dups USING brin (i8 int8_bloomx_ops, ts timestamp_bloomx_ops) WITH (pages_per_range = 1);",
        "CREATE INDEX ON mid (i4); CREATE INDEX ON tiny (i8);",
        # indexes that tell pages, and those that do not
        *(f"CREATE INDEX ON big USING {method} ({c});" for method, columns in (("btree", ("i8", "d", "v", "f")), ("hash", ("i4", "n", "o", "u")), ("bloomx", ("t", "ts", "i2"))) for c in columns),
        *(f"CREATE INDEX ON ranged USING {method} ({c});" for method, columns in (("btree", ("i8", "t")), ("hash", ("d",)), ("bloomx", ("i4", "v"))) for c in columns),
        "CREATE INDEX ON hashed (i2, i4) WHERE id % 3 = 0; CREATE INDEX ON hashed (t COLLATE \"POSIX\"); CREATE INDEX ON hashed (id, i4);",
        "CREATE INDEX not_valid ON dated (i4); UPDATE pg_index SET indisvalid = false WHERE indrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'dated'::regclass);",
        # rows in ranges without a summary, dead rows, updated ones
        f"SELECT make('big', {count(500)}, 1200, 0, 13); DELETE FROM big WHERE id % 19 = 0; UPDATE big SET i4 = i4 + 5 WHERE id % 23 = 0;",
        "SELECT brin_desummarize_range(indexrelid, 4) FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'brin') AND indrelid = 'big'::regclass;",
        f"CREATE TABLE secret (LIKE template); SELECT make('secret', {count(500)}, 400, 0, 7);",
        "ALTER TABLE secret ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON secret USING (i4 % 3 = 0);",
        "CREATE ROLE bloomx_joins; GRANT ALL ON ALL TABLES IN SCHEMA public TO bloomx_joins;",
        "CREATE VIEW evens AS SELECT * FROM mid WHERE i4 % 2 = 0;",
        "GRANT SELECT ON evens TO bloomx_joins;",
        "CREATE FUNCTION matches(k int) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT count(*) FROM big JOIN mid USING (i4) WHERE mid.i8 = k';",
        "CREATE TYPE moneys AS RANGE (subtype = money); CREATE SEQUENCE calls; GRANT ALL ON calls TO bloomx_joins;",
        # every column has a set, and an index that is searched
        f"CREATE TABLE keyed (LIKE template); SELECT make('keyed', {count(2500)}, 1200, 100, 11);",
        "CREATE TABLE keyed_parts (LIKE template) PARTITION BY RANGE (id); CREATE TABLE keyed_1 (junk int, LIKE template); ALTER TABLE keyed_1 DROP COLUMN junk;"
        f"ALTER TABLE keyed_parts ATTACH PARTITION keyed_1 FOR VALUES FROM (MINVALUE) TO (200); CREATE TABLE keyed_2 PARTITION OF keyed_parts DEFAULT; SELECT make('keyed_parts', {count(2000)}, 900, 0, 17);",
        *(f"CREATE INDEX ON {t} ({c}); CREATE INDEX ON {t} USING bloomset ({c});" for t in ("keyed", "keyed_parts") for c in COLUMNS),
        "CREATE INDEX ON keyed USING hash (i8); CREATE INDEX ON keyed (i4, id); UPDATE keyed SET i4 = i4 + 7 WHERE id % 29 = 0; DELETE FROM keyed WHERE id % 31 = 0;",
        "GRANT ALL ON keyed, keyed_parts TO bloomx_joins;",
        f"CREATE TABLE ordered (LIKE template); SELECT make('ordered', {count(3000)}, 1200, 0, 13); CREATE INDEX ON ordered (i4);",
        # groups from 1001 on have three rows each, of which a filter that pauses after its first window drops one
        "CREATE TABLE visits AS SELECT CASE WHEN id <= 200 THEN 1000 + id WHEN id > 20000 THEN 1001 + id % 200 ELSE id % 140 END AS k,"
        "CASE WHEN id <= 200 THEN -1.0 WHEN id > 20000 THEN 1.0 ELSE 0 END AS s FROM generate_series(1, 20400) id; CREATE TABLE visitors AS SELECT CASE WHEN g < 140 THEN g ELSE g + 5000 END AS k FROM generate_series(0, 439) g; GRANT ALL ON ordered, visits, visitors TO bloomx_joins;",
        "CREATE FUNCTION reads() RETURNS numeric LANGUAGE sql AS $$ SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM pg_class WHERE relnamespace = 'public'::regnamespace $$;",
        # the key at which queries fail has rows in small tables, too
        "SELECT make(t, 1, 0, 260, 0) FROM unnest(ARRAY['big', 'mid', 'ranged']) t;",
        "CREATE FUNCTION fails(k int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF k = 260 THEN RAISE EXCEPTION 'stop'; END IF; RETURN k; END $$;",
        "VACUUM ANALYZE;",
    ]
    return "\n".join(sql)


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.same = None
        self.near = 0
        self.keyed = False      # most tables have sets
        self.plain = None       # the last query of select(): outputs, FROM, conditions, aliases

    def one_of(self, *what):
        return self.r.choice(what)

    def chance(self, p):
        return self.r.random() < p

    def table(self):
        if self.keyed:
            return self.one_of("keyed", "keyed", "keyed_parts", "keyed_parts", "mid", "tiny", "dups", "far")
        return self.r.choices(["big", "mid", "tiny", "nothing", "far", "dups", "ranged", "listed", "hashed", "dated", "secret", "evens"],
                              [8, 6, 6, 1, 1, 3, 4, 3, 3, 3, 2, 2])[0]

    def column(self, kind=None):
        return self.r.choice([c for c, k in COLUMNS.items() if kind is None or k == kind] +
                             (["i4", "i4", "i4", "i8", "d"] if kind is None else []))

    def condition(self, alias):
        # mostly near one key, which often all tables have, or few queries would have rows
        k = self.near + self.r.randrange(0, 30) if self.chance(0.7) else self.r.randrange(0, 1200)
        return self.one_of(
            f"{alias}.i4 BETWEEN {k} AND {k + self.one_of(0, 3, 30, 300)}", f"{alias}.i8 < {k}", f"{alias}.id % {self.one_of(2, 5, 30)} = 1",
            f"{alias}.i4 IN ({k}, {k // 2}, 251, 255)", f"{alias}.d > DATE '2020-01-01' + {k}", f"{alias}.n > {k}", f"{alias}.e = 'ok'",
            f"{alias}.i2 IS NOT NULL", f"{alias}.i4 % 97 = {k % 97}")

    def equality(self, left, right, first=True):
        if first and self.same:
            # one class of columns through the whole query: what equals a key is filtered, too
            return f"{left}.{self.same} = {right}.{self.same if self.same != 'i4' or self.chance(0.7) else 'i8'}"
        column = self.column()
        # few values: as the only key they make queries slow
        while first and column == "e" and self.chance(0.9):
            column = self.column()
        kind = COLUMNS[column]
        other = self.column(kind) if kind in ("integer", "text") else column
        if self.chance(0.08):
            return self.one_of(f"{left}.i4 + 1 = {right}.i8", f"lower({left}.t) = {right}.v", f"{left}.n * 2 = {right}.n + {right}.n",
                               f"{left}.d + 1 = {right}.d + 1", f"({left}.i2 + {left}.i4) = {right}.i8 * 2", f"left({left}.v, 6) = left({right}.v, 6)")
        if self.chance(0.04):
            return f"{left}.i4 IS NOT DISTINCT FROM {right}.i4"
        if kind == "text" and self.chance(0.15):
            return f'{left}.{column} COLLATE "C" = {right}.{other}'
        return f"{left}.{column} = {right}.{other}"

    def on(self, left, right):
        clauses = [self.equality(left, right, i == 0) for i in range(self.r.choices([1, 2, 3], [8, 3, 1])[0])]
        if self.chance(0.1):
            clauses.append(f"{left}.id {self.one_of('<', '<>')} {right}.id")
        return " AND ".join(clauses)

    def first_rows(self, table):
        # most columns of a row tell its others; the last three do not
        key = self.one_of(self.same or self.column(), "e", "i4 / 7", "id % 9")
        return f"SELECT DISTINCT ON ({key}) * FROM {table} ORDER BY {key}, id, pad, i8, i4"

    def grouped(self, table):
        """Groups by one or two columns or by grouping sets; the other columns are aggregates."""
        keys = [self.same or self.column()]
        if self.chance(0.4):
            keys.append(self.r.choice([c for c in COLUMNS if c not in keys]))
        columns = {c: c if c in keys else "min(u::text)::uuid" if c == "u" else f"{self.one_of('min', 'max')}({c})" for c in COLUMNS}
        columns["id"] = self.one_of("min(id)", "count(*)::int", "sum(id)::int", "(count(*) FILTER (WHERE id % 3 = 0))::int",
                                    "count(DISTINCT i2)::int", "max(id + fails(0))", "(sum(id) / count(*))::int")
        if keys[0] == "i4" and self.chance(0.15):
            keys[0] = columns["i4"] = "i4 + 1"
        by = ", ".join(keys)
        if len(keys) > 1 and self.chance(0.5):
            by = self.one_of(f"GROUPING SETS (({by}), ({keys[0]}))", f"GROUPING SETS (({keys[0]}), ({keys[1]}))", f"ROLLUP ({by})",
                             f"ROLLUP ({keys[1]}, {keys[0]})", f"CUBE ({by})", f"GROUPING SETS (({by}), ())")
        having = self.one_of("", "", "HAVING count(*) > 1", "HAVING sum(id) > 5000", "HAVING sum(id::bigint) > 5000", "HAVING max(id) % 3 = 1")
        return f"SELECT {', '.join(f'{columns[c]} AS {c}' for c in ['id', *COLUMNS])}, min(pad) AS pad FROM {table} GROUP BY {by} {having}"

    def above_groups(self):
        """A join of few rows with groups of many: by their key, or by something else."""
        self.same = self.column() if self.chance(0.5) else None
        table = self.one_of("big", "ranged", "listed", "hashed", "dated", "mid")
        groups = self.first_rows(table) if self.chance(0.5) else self.grouped(table)
        self.same = self.same if self.chance(0.5) else None
        few = self.one_of("tiny", "dups", "far", "mid", "evens")
        return f"SELECT g.id::text AS c0, g.i8::text AS c1 FROM ({groups}) g JOIN {few} d ON {self.on('g', 'd')} WHERE {self.condition('d')}"

    def source(self, alias, depth):
        """A table or a subquery, with all columns."""
        table = self.table()
        if depth <= 0 or self.chance(0.65):
            return f"{table} {alias}"
        inner = f"SELECT s.* FROM {table} s WHERE {self.condition('s')}"
        kind = self.r.randrange(9)
        if kind == 0:
            inner = self.first_rows(table)
        elif kind == 1:
            inner = f"SELECT * FROM {table} ORDER BY i8, id, pad, i4 LIMIT {self.one_of(1, 10, 100, 700)} OFFSET {self.one_of(0, 5, 50)}"
        elif kind == 2:
            inner = f"SELECT * FROM {table} UNION {self.one_of('ALL', 'ALL', '')} SELECT * FROM {self.table()}"
        elif kind == 3:
            inner = f"SELECT x.* FROM {table} x JOIN {self.table()} y ON {self.on('x', 'y')} WHERE {self.condition('y')}"
        elif kind == 4:
            inner = (f"SELECT * FROM {table} x WHERE {self.one_of('EXISTS', 'NOT EXISTS')} "
                     f"(SELECT FROM {self.table()} y WHERE {self.on('x', 'y')} AND {self.condition('y')})")
        elif kind == 5:
            inner = self.grouped(table)
        elif kind == 6:
            inner = f"SELECT * FROM {table} OFFSET 0"
        elif kind == 7:
            inner = f"SELECT * FROM {table} x WHERE x.i4 {self.one_of('IN', 'NOT IN')} (SELECT y.i4 FROM {self.table()} y WHERE {self.condition('y')} AND y.i4 IS NOT NULL)"
        return f"({inner}) {alias}"

    def select(self):
        self.same = self.column() if self.chance(0.3) else None
        if self.same == "e":
            self.same = None
        n = self.r.choices([2, 3, 4, 5, 6], [8, 6, 3, 2, 1])[0]
        aliases = [f"r{i}" for i in range(n)]
        text = self.source(aliases[0], 1)
        lateral = False
        for i in range(1, n):
            left = aliases[self.r.randrange(i)]
            join = self.r.choices(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LATERAL"], [10, 4, 3, 2, 1.5])[0]
            if join == "LATERAL" and not lateral:
                lateral = True
                inner = (f"SELECT x.* FROM {self.table()} x JOIN {self.table()} y ON {self.on('x', 'y')} "
                         f"WHERE {self.one_of('x', 'y')}.i4 = {left}.i4 + {self.one_of(0, 1, 2)} ")
                text += f" CROSS JOIN LATERAL ({inner} {self.one_of('', 'OFFSET 0', 'LIMIT 1000')}) {aliases[i]}"
                continue
            if join == "LATERAL":
                join = "JOIN"
            on = self.on(left, aliases[i])
            if join == "FULL JOIN":
                column = self.one_of("i4", "d", "t")
                on = f"{left}.{column} = {aliases[i]}.{column}"
            text += f" {join} {self.source(aliases[i], 1)} ON {on}"
        where = [self.condition(self.r.choice(aliases)) for _ in range(self.r.choices([0, 1, 2], [3, 6, 2])[0])]
        if self.chance(0.15):
            a = self.r.choice(aliases)
            where.append(f"{self.one_of('EXISTS', 'NOT EXISTS')} (SELECT FROM {self.table()} z WHERE {self.on(a, 'z')})")
        if self.chance(0.1):
            where.append(f"{self.r.choice(aliases)}.i4 {self.one_of('IN', 'NOT IN')} (SELECT z.i4 FROM {self.table()} z WHERE z.i4 IS NOT NULL AND {self.condition('z')})")
        if self.chance(0.05):
            where.append(f"(SELECT count(*) FROM {self.table()} z WHERE z.i4 = {self.r.choice(aliases)}.i4) > 1")
        outputs = [f"{a}.{self.column()}::text" for a in self.r.sample(aliases, min(2, n))]
        self.plain = (f"SELECT {', '.join(f'{o} AS c{i}' for i, o in enumerate(outputs))}", text, where, aliases)
        text = f"{self.plain[0]} FROM {text}"
        if where:
            text += " WHERE " + " AND ".join(where)
        shape = self.r.random()
        if shape < 0.1:
            text = f"SELECT c0, count(*) FROM ({text}) g GROUP BY c0"
        elif shape < 0.15:
            text = f"SELECT DISTINCT c0 FROM ({text}) g"
        elif shape < 0.2:
            text = f"({text} ORDER BY 1, 2 LIMIT {self.one_of(1, 20, 300)})" if len(outputs) > 1 else text
        elif shape < 0.25:
            text = f"WITH m AS MATERIALIZED ({text}) SELECT m.* FROM m JOIN mid ON mid.t = m.c0 UNION ALL SELECT m.* FROM m"
        return text

    def two_ways(self):
        """A query, and another one with the same rows."""
        if self.chance(0.15):
            # without the clauses there is nothing to hash, sort or filter by
            self.same = None
            left, right = self.table(), self.one_of("tiny", "dups", "far", "nothing", "evens")
            on = self.on("x", "y")
            by_output = queries.counted(f"{left} x CROSS JOIN {right} y", [], on)[1]
            return f"SELECT count(*) AS n FROM {left} x JOIN {right} y ON {on}", by_output
        self.select()
        select, source, where, aliases = self.plain
        p = self.condition(self.r.choice(aliases))
        if self.chance(0.5):
            return queries.counted(source, where, p)
        return f"{select} FROM {source}{queries.conjunction(where)}", queries.partitioned(select, source, where, p)

    def below(self):
        """What keeps its rows, or makes groups, with columns i4 and i8."""
        table = self.one_of("big", "big", "ranged", "hashed", self.table())
        column = self.one_of("id", "i8", "t")
        join = f"({self.table()} x JOIN {table} f ON x.{column} = f.{column})"
        return self.one_of(f"(SELECT DISTINCT i4, i8 FROM {table}) f", f"(SELECT i4, count(*) AS i8 FROM {table} GROUP BY i4) f", join,
                           self.one_of(f"{table} f", f"(SELECT i4, i8 FROM {table} ORDER BY i8, i4, id) f"))

    def parameter(self):
        """Each row of an outer query has other keys of the same rows."""
        f = self.below()
        left = self.one_of("f.i4", "f.i4", "f.i4", "f.i8", "f.i4 + o.x")
        # groups are filtered by what cannot fail, which leaves the first one
        right = self.one_of(*["CASE WHEN d.i4 IS NULL THEN o.x ELSE d.i4 END"] * 3, "d.i4 + o.x", "coalesce(d.i4, o.x)", "d.i4 + (SELECT o.x)",
                            "CASE WHEN d.id % 3 = 0 THEN o.x ELSE d.i4 END", "d.i4")
        more = self.one_of("", "", "", f" AND f.i8 = {self.one_of('d.i8 + o.x', 'd.i8', '1000 / (d.i8 % 5)')}")
        nullable = "(SELECT id, nullif(i4, i8 / 5 * 5) AS i4, i8 FROM mid OFFSET 0)"
        few = self.one_of(nullable, nullable, self.table(), "tiny")
        where = self.one_of(f" AND {self.condition('d')}", "") if few.isalpha() else ""
        # the planner rather hashes the side that stays the same, which only a semijoin does not let it do
        of = self.one_of(f"{f} JOIN {few} d ON {left} = {right}{more}{where}", f"{f} WHERE EXISTS (SELECT FROM {few} d WHERE {left} = {right}{more}{where})")
        return (f"SELECT o.x::text AS c0, s.*::text AS c1 FROM (VALUES (0), (1), ({self.near}), (7)) o(x), "
                f"LATERAL (SELECT count(*) AS c, sum(f.i4) FROM {of}) s")

    def shared(self):
        """A subplan that the scan of each partition asks."""
        outer = self.one_of("ranged", "listed", "hashed", "dated")
        inner = f"SELECT f.i4 FROM {self.one_of('big', 'mid', 'ranged')} f JOIN {self.one_of('mid', 'tiny', 'dups')} d ON f.i4 = d.i4 WHERE {self.condition('d')}"
        test = self.one_of(f"x.i4 NOT IN ({inner})", f"x.i8 NOT IN ({inner} AND f.i4 IS NOT NULL)", f"x.i4 > ({inner.replace('f.i4 FROM', 'min(f.i4) FROM')})",
                           f"x.i4 IN ({inner}) IS NOT TRUE")
        return f"SELECT x.id::text AS c0, x.i4::text AS c1 FROM {outer} x WHERE {test}"

    def containers(self):
        value = self.one_of("ARRAY[i4::money]", "(i4, i4::bit(16)::varbit)", "(i4, t)", "moneys(i4::money, NULL)", "ARRAY[i4]", "int4range(i4, i4 + 1)",
                            "ARRAY[(i4, i8::money)]", "t::bytea", "to_jsonb(i4)", "i4::bit(16)::varbit")
        join = self.one_of("JOIN", "LEFT JOIN", "JOIN (SELECT * FROM mid) m USING (id) JOIN")
        return (f"SELECT r0.id::text AS c0, r1.id::text AS c1 FROM (SELECT id, {value} AS q FROM {self.one_of('tiny', 'dups', 'mid')}) r0 {join} "
                f"(SELECT id, {value} AS q FROM (SELECT k AS id, k AS i4, k::int8 AS i8, 'key ' || k AS t FROM visits) x OFFSET 0) r1 ON r0.q = r1.q")

    def partial(self):
        """Groups of which a filter drops a part."""
        value = self.one_of("sum(s * 1e308::float8)", "sum(s::float4 * 1e38::float4)", "sum(s * 9e131071)", "sum(s::int) / count(*)", "1 / (count(*) - 2)", "max(s)",
                            "CASE WHEN count(*) < 3 THEN 1 / (k - 1007) END", "sum((s * 9e15)::numeric::float8::int8)", "sum(s * '170000000 years'::interval)", "count(*)",
                            "sum((s * 9e16)::money)")
        groups = f"SELECT k, {value} AS a FROM visits GROUP BY k {self.one_of('', '', 'HAVING 1 / (count(*) - 2) < 2')}"
        if self.chance(0.3):
            groups = self.one_of(f"SELECT k, 1 / (n - 2) AS a FROM (SELECT k, count(*) AS n FROM visits GROUP BY k) x GROUP BY k, n", f"SELECT DISTINCT k, a FROM ({groups}) x")
        return f"SELECT g.k::text AS c0, g.a::text AS c1 FROM ({groups}) g JOIN (SELECT k FROM visitors WHERE k < {self.one_of(1000, 1000, 60)}) d USING (k)"

    def streaming(self):
        """A node that needs a row of the next group, below a LIMIT.  One row further on fails, and few on the way to it have a partner."""
        inner = self.one_of("SELECT i4, count(*) AS n FROM ordered WHERE 1000 / (1190 - i4) <> 7777 GROUP BY i4",
                            "SELECT * FROM ordered WHERE 1000 / (1190 - i4) <> 7777 ORDER BY i4, i8", "SELECT DISTINCT i4 FROM ordered WHERE 1000 / (1190 - i4) <> 7777",
                            "SELECT DISTINCT ON (i4) i4, id FROM ordered WHERE 1000 / (1190 - i4) <> 7777 ORDER BY i4")
        return (f"SELECT count(*)::text AS c0 FROM (SELECT * FROM ({inner}) f JOIN (SELECT * FROM {self.one_of('mid', 'tiny', 'dups')} "
                f"WHERE id % {self.one_of(1, 9, 50)} = 0) d ON f.i4 = d.i4 "
                f"LIMIT {self.one_of(1, 2, 10)}) s")

    def volatile(self):
        """Each value of a sequence belongs to the same row."""
        call = "nextval('calls')"
        f = self.one_of(f"(big f CROSS JOIN LATERAL (SELECT {call} + 0 * f.id AS value OFFSET 0) l)", f"(SELECT *, {call} AS value FROM big OFFSET 0) f",
                        f"(big f LEFT JOIN (SELECT id, {call} AS value FROM dups OFFSET 0) l ON f.id = l.id)", f"(SELECT *, 0 AS value FROM big WHERE {call} + id > 0) f",
                        f"(big f JOIN (SELECT i8, {call} AS value FROM mid OFFSET 0) l ON f.i8 = l.i8 AND {call} > 0)",
                        f"(big f LEFT JOIN LATERAL (SELECT {call} AS value FROM tiny t WHERE t.i8 = f.i8 LIMIT 1) l ON true)",
                        f"((SELECT *, {call} AS value FROM big OFFSET 0) f JOIN mid g ON f.i4 = g.i4)")
        return f"SELECT f.id::text AS c0, value::text AS c1 FROM {f} JOIN {self.one_of('tiny', 'far', 'nothing', 'mid')} d ON f.i4 = d.i4 AND {self.condition('d')}"

    def recursive(self):
        self.same = None
        return (f"WITH RECURSIVE w(k, depth) AS (SELECT i4, 0 FROM tiny UNION ALL SELECT x.i8::int, depth + 1 FROM w JOIN {self.one_of('mid', 'big', 'ranged')} x ON x.i4 = w.k + 1 "
                f"JOIN mid y ON y.i8 = x.i8 AND {self.condition('y')} WHERE depth < 4) SELECT k::text, count(*) FROM w GROUP BY k")

    def merge(self):
        """A merge join of two sorts, of which the larger one may be filtered."""
        column = self.one_of("i4", "i8", "d", "t", "n", "f", "u")
        small = self.one_of(f"(SELECT x.* FROM {self.table()} x WHERE {self.condition('x')})", self.table())
        sides = [f"{small} r0", "big r1"]
        self.r.shuffle(sides)
        return (f"SELECT r0.{column}::text AS c0, r1.id::text AS c1 FROM {sides[0]} {self.one_of('JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN')} {sides[1]} "
                f"ON r0.{column} = r1.{column}")

    def arm(self, left, right):
        clauses = [self.equality(left, right, False) for _ in range(self.r.choices([1, 2], [4, 1])[0])]
        if self.chance(0.3):
            clauses.append(self.one_of(f"{right}.id % 3 = 1", f"{left}.id < {right}.id", f"{left}.i4 IS NOT NULL"))
        self.r.shuffle(clauses)
        return " AND ".join(clauses)

    def loop_on(self, left, right):
        if self.chance(0.5):
            return self.on(left, right)
        clauses = [" OR ".join(f"({self.arm(left, right)})" for _ in range(self.r.choices([2, 3], [3, 1])[0]))]
        if self.chance(0.3):
            clauses.append(self.one_of(self.equality(left, right, False), f"{left}.id <> {right}.id", f"{left}.id + 1000 > {right}.id"))
        self.r.shuffle(clauses)
        return " AND ".join(f"({c})" for c in clauses)

    def loop_side(self, parameter=None):
        """Rows that a loop reads again and again."""
        table = self.one_of("tiny", "dups", "mid", "mid", "far", "nothing", "evens", "secret", "hashed")
        where = f"x.i4 % 3 = {parameter}" if parameter and self.chance(0.6) else self.condition("x")
        return self.one_of(table, table, "c", "c", "big", "(SELECT * FROM big OFFSET 0)", f"(SELECT * FROM {table} x WHERE {where} OFFSET 0)", f"(SELECT * FROM {table} x WHERE {where} ORDER BY i8, id LIMIT 30)",
                           f"(SELECT * FROM {table} x WHERE {where})", f"({self.grouped(table)})", f"({self.first_rows(table)})",
                           f"(SELECT * FROM {table} x WHERE {where} UNION ALL SELECT * FROM tiny)",
                           f"(SELECT x.* FROM {table} x JOIN tiny y ON x.i4 = y.i4 OR x.t = y.t WHERE {where})",
                           "(SELECT m.* FROM generate_series(1, 60) g JOIN mid m ON m.id = g OFFSET 0)")

    def loops(self):
        """Nested loops, in every position, whose rows come in an order."""
        self.same = None
        left, right = self.one_of("mid", "dups", "tiny", "far", "big", "listed", self.loop_side()), self.loop_side()
        if left == "big":
            left = f"(SELECT * FROM big x WHERE {self.condition('x')} LIMIT 200)"
        on = self.loop_on("l", "r")
        kind = self.r.randrange(7)
        limit = self.one_of("", "", f" LIMIT {self.one_of(1, 3, 40)}")
        if kind <= 2:
            where = self.one_of("", "", f" WHERE {self.condition('l')}", " WHERE coalesce(r.id, 1) % 3 <> l.id % 2")
            text = f"SELECT l.id::text AS c0, r.*::text AS c1 FROM {left} l {self.one_of('JOIN', 'LEFT JOIN')} {right} r ON {on}{where}{limit}"
        elif kind == 3:
            text = f"SELECT l.id::text AS c0 FROM {left} l WHERE {self.one_of('EXISTS', 'NOT EXISTS')} (SELECT FROM {right} r WHERE {on}){limit}"
        elif kind == 4:
            text = (f"SELECT l.id::text AS c0, r.t AS c1, q.id::text AS c2 FROM {left} l {self.one_of('JOIN', 'LEFT JOIN')} {right} r ON {on} "
                    f"{self.one_of('JOIN', 'LEFT JOIN')} {self.loop_side()} q ON {self.loop_on(self.one_of('l', 'r'), 'q')} LIMIT 2000")
        elif kind == 5:
            right = self.loop_side("z.a")
            more = self.one_of("", "", " AND r.id % 4 <> z.a", " AND l.i4 = r.i8 + z.a")
            left = self.one_of(left, "(SELECT * FROM mid x WHERE id % 3 >= z.a OFFSET 0)")
            text = (f"SELECT z.*, s.* FROM (VALUES (0), (1), (1), (2), (0)) z(a), LATERAL (SELECT count(*), count(r.id), sum(r.id), min(r.t) "
                    f"FROM {left} l {self.one_of('JOIN', 'LEFT JOIN', 'LEFT JOIN')} {right} r ON ({on}){more}) s")
        else:
            text = (f"SELECT z.id::text AS c0, (SELECT {self.one_of('count(*)', 'min(r.id)', 'sum(r.id)')} FROM {self.one_of('tiny', 'dups')} l "
                    f"{self.one_of('JOIN', 'LEFT JOIN')} {self.loop_side('z.i4')} r ON {on} WHERE l.i4 <> z.i4) AS c1 FROM {self.one_of('tiny', 'far')} z")
        return f"WITH c AS MATERIALIZED (SELECT * FROM {self.one_of('mid', 'dups', 'tiny')} x WHERE {self.condition('x')}) {text}"

    def change(self):
        """A statement that changes a table, as a query of what it changed."""
        self.same = None
        table = self.one_of("big", "mid", "dups", "ranged", "hashed")
        on = self.on("x", "y")
        kind = self.r.randrange(4)
        if kind == 0:
            text = f"UPDATE {table} x SET pad = 'new' FROM {self.table()} y WHERE {on} AND {self.condition('y')} RETURNING x.id, x.i4, x.pad"
        elif kind == 1:
            text = f"DELETE FROM {table} x USING {self.table()} y WHERE {on} AND {self.condition('y')} RETURNING x.id, x.i4"
        elif kind == 2:
            text = f"INSERT INTO {table} SELECT x.* FROM {self.table()} x JOIN {self.table()} y ON {on} WHERE {self.condition('x')} RETURNING id, i4"
        else:
            return f"SELECT x.id, x.i4 FROM {table} x WHERE x.i4 IN (SELECT y.i4 FROM {self.table()} y WHERE {self.condition('y')}) FOR UPDATE"
        return f"WITH changed AS ({text}) SELECT * FROM changed"

    def index_scans(self):
        """Loops whose inner side is searched for each outer row."""
        self.keyed = True
        query = self.select() if self.chance(0.8) else self.correlated()
        self.keyed = False
        return query

    def correlated(self):
        """Subqueries of all forms, and joins that return rows without a match, by keys of two types."""
        left, right = self.one_of(("i2", "i8"), ("i8", "i4"), ("t", "v"), ("v", "t"), ("n", "n"), ("f", "f"), ("a", "a"), ("e", "e"), ("d", "d"))
        outer, inner = self.one_of("mid", "tiny", "big", "dups"), self.one_of("keyed", "keyed_parts")
        on = f"x.{left} = y.{right}" + (f" AND y.id {self.one_of('<', '>')} x.id" if self.chance(0.3) else "")
        return self.one_of(
            f"SELECT x.id, (SELECT sum(y.id) FROM {inner} y WHERE {on}) AS s FROM {outer} x",
            f"SELECT x.id FROM {outer} x WHERE {self.one_of('', 'NOT ')}EXISTS (SELECT FROM {inner} y WHERE {on})",
            f"SELECT x.id, s.* FROM {outer} x {self.one_of('LEFT JOIN', 'JOIN')} LATERAL (SELECT y.id AS k, y.t FROM {inner} y WHERE {on} ORDER BY y.id, y.t LIMIT 3) s ON true",
            f"SELECT x.id, s.* FROM {outer} x CROSS JOIN LATERAL (SELECT count(*) AS n, min(y.id) FROM {inner} y WHERE {on}) s",
            f"SELECT x.id, y.id AS k FROM {outer} x LEFT JOIN {inner} y ON {on} AND {self.condition('y')}")

    def settings(self):
        s = []
        for name, p in (("enable_nestloop", 0.6), ("enable_mergejoin", 0.6), ("enable_hashjoin", 0.2), ("enable_indexscan", 0.4), ("enable_bitmapscan", 0.5),
                        ("enable_indexonlyscan", 0.4), ("enable_material", 0.3), ("enable_memoize", 0.3), ("enable_sort", 0.1), ("enable_parallel_hash", 0.4)):
            s.append(f"SET {name} = {'off' if self.chance(p) else 'on'};")
        s.append(f"SET enable_partitionwise_join = {self.one_of('on', 'off')};")
        s.append(f"SET bloomx.runtime_filter_index_pages = {self.one_of('on', 'on', 'off')};")
        s.append(f"SET work_mem = '{self.r.choices(['64kB', '256kB', '4MB'], [3, 1, 3])[0]}';")
        s.append(f"SET max_parallel_workers_per_gather = {self.r.choices([0, 2], [3, 1])[0]};")
        s.append(f"SET plan_cache_mode = {self.one_of('auto', 'force_generic_plan')};")
        # the cost of what is switched off calls for compilation, which takes longer than most of these queries
        s.append(f"SET jit = {'on' if self.chance(0.1) else 'off'};")
        # one message to the server
        return " ".join(s).replace("; ", "\\; ")


DIGEST = "count(*) || ' ' || md5(coalesce(string_agg(q::text, '|' ORDER BY q::text COLLATE \"C\"), ''))"


# in the order in which they come
ORDERED = "count(*) || ' ' || md5(coalesce(string_agg(q::text, '|'), ''))"

# Lookups read no more rows than the server's loops.
LOOPS = {
    "off": "BEGIN; SELECT reads() AS before \\gset\n%s;\nSELECT reads() - :before AS plain \\gset\nSELECT true; COMMIT;",
    "on": "BEGIN; SELECT reads() AS before \\gset\n%s;\nSELECT reads() - :before <= :plain; COMMIT;",
}


KINDS = ("parameter", "shared", "containers", "partial", "streaming", "volatile", "index_scans")


def statements(g, number, only=None):
    """The script of one query: settings, then the same with filters off and on."""
    g.near = g.r.randrange(230, 270) if g.chance(0.5) else g.r.randrange(0, 400)
    kind = 0.3 if only else g.r.random()
    before, after, second = "", "", None
    sorts, groups = kind < 0.05, 0.05 <= kind < 0.15
    hard = None
    if 0.22 <= kind < 0.44:
        # the first kind needs most to go wrong
        hard = only or g.one_of(KINDS[0], *KINDS)
        query = getattr(g, hard)()
    elif sorts:
        query = g.merge()
    elif groups:
        query = g.above_groups()
    elif kind < 0.22:
        query, second = g.two_ways()
    elif kind < 0.80:
        query = g.select()
    elif kind < 0.84:
        query = g.recursive()
    else:
        query = g.change() if kind < 0.96 else g.select()
        before, after = "BEGIN;", "ROLLBACK;"
        if g.chance(0.3):
            before = "BEGIN ISOLATION LEVEL SERIALIZABLE;"
    digest = f"SELECT {ORDERED if only == 'loops' else DIGEST} FROM ({query}) q"
    if "changed AS" in query or "FOR UPDATE" in query:
        if "changed AS" not in query:
            query = f"WITH changed AS ({query}) SELECT * FROM changed"
        digest = query.replace("SELECT * FROM changed", f"SELECT {DIGEST} FROM changed q")
    form = g.r.random() if only != "loops" else 1
    if hard == "volatile":
        before, after, form = "SELECT setval('calls', 1, false);", "SELECT last_value FROM calls;", 1
    elif hard == "partial":
        before, after, form = "SET bloomx.runtime_filter_min_removed = 0.5;", "SET bloomx.runtime_filter_min_removed = 0;", 1
    if before == "" and form < 0.1:
        body = f"PREPARE p AS {digest}; EXECUTE p; EXECUTE p; DEALLOCATE p;"
    elif before == "" and form < 0.2:
        fetch = " ".join(f"FETCH {k} FROM c;" for k in (1, 3))
        hold = g.one_of("", " WITH HOLD")
        body = (f"BEGIN; DECLARE c {g.one_of('', 'SCROLL ')}CURSOR{hold} FOR {digest}; {fetch} "
                f"SAVEPOINT s; SELECT fails(r.i4) FROM big r JOIN mid m ON r.i4 = m.i4; ROLLBACK TO s; CLOSE c; COMMIT;")
    elif form < 0.25:
        body = f"SET ROLE bloomx_joins; {before} {digest}; {after} RESET ROLE;"
    else:
        body = f"{before} {digest}; {after}"
    out = [g.settings()]
    if sorts:
        out.append("SET enable_hashjoin = off; SET enable_nestloop = off; SET enable_indexscan = off; SET enable_mergejoin = on; SET enable_sort = on;")
    if groups:
        out.append("SET enable_hashjoin = on; SET enable_nestloop = off; SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0;")
    forced_apart = not hard and not sorts and not groups and "LIMIT 1000" not in query and g.chance(0.1)
    # these are found by the planner's own plans, but not often
    if hard in ("parameter", "partial", "streaming", "volatile"):
        out.append("SET enable_hashjoin = on; SET enable_mergejoin = off; SET join_collapse_limit = 1; SET enable_nestloop = %s; SET enable_memoize = off;"
                   % ("on" if hard == "volatile" else "off"))
    if hard in ("partial", "streaming"):
        out.append("SET max_parallel_workers_per_gather = 0; SET enable_indexscan = on; SET enable_hashagg = %s; SET enable_sort = %s; SET enable_bitmapscan = off;"
                   % (("on", "on") if hard == "partial" else ("off", "off")))
    if hard == "parameter":
        out.append(f"SET work_mem = '{g.one_of('64kB', '4MB', '4MB')}';")
    if hard == "index_scans":
        out.append("SET enable_nestloop = on; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_indexscan = %s; SET enable_bitmapscan = on;" % g.one_of("on", "on", "off"))
    if hard == "loops":
        out.append(f"SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = on; SET enable_memoize = off; SET enable_indexscan = {g.one_of('on', 'off', 'off')};"
                   f"SET max_parallel_workers_per_gather = 0; SET work_mem = '{g.one_of('64kB', '4MB')}'; SET hash_mem_multiplier = 1;"
                   f"SET enable_material = {g.one_of('on', 'off', 'off')}; SET bloomx.runtime_filter_min_removed = {g.one_of('0', '0', '0.1')};")
    if hard == "shared":
        out.append("SET max_parallel_workers_per_gather = 2; SET enable_hashjoin = on;")
    if hard == "containers":
        out.append("SET enable_mergejoin = on; SET enable_nestloop = off; SET enable_sort = on;")
    for mode in ("off", "on"):
        out.append(f"SET bloomx.runtime_filter = {mode};")
        if mode == "on" and forced_apart:
            out.append(g.settings())
        out.append(f"\\echo @ {number} {mode}")
        out.append(LOOPS[mode] % digest if hard == "loops" else body if mode == "off" or second is None else body.replace(query, second))
    if hard:
        out.append("RESET join_collapse_limit; RESET enable_hashagg;")
    if hard == "loops":
        out.append("RESET hash_mem_multiplier; RESET enable_memoize; SET bloomx.runtime_filter_min_removed = 0;")
    out.append("\\echo @ end")
    return "\n".join(out)


def psql(script):
    return server.psql(script, DATABASE)


def results(text):
    """{(number, mode): lines}"""
    found, key = {}, None
    for line in text.splitlines():
        if line.startswith("@ "):
            key = tuple(line.split()[1:3]) if line != "@ end" else None
            if key:
                found[key] = []
        elif key:
            found[key].append(line)
    return found


def agrees_with_time(q, text):
    """One of the two ways may have been cancelled, and a busy machine decides which.  With more time both end."""
    run = psql(LOAD + FORCED + "SET statement_timeout = '60s';\n" + text)
    found = results(run.stdout)
    if "statement timeout" in run.stderr:
        print(f"note: query {q} takes more than a minute: not compared")
        return True
    return found.get((q, "off")) == found.get((q, "on"))


# A hash join in each of the workers: rows are removed there, and pages skipped.
WORKERS = """
SET max_parallel_workers_per_gather = 2; SET enable_nestloop = off; SET enable_mergejoin = off; SET parallel_leader_participation = off;
SET enable_bitmapscan = off; SET enable_parallel_hash = %s; SET bloomx.runtime_filter = %s;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, VERBOSE, SUMMARY OFF) SELECT count(*) FROM big JOIN mid ON big.i4 = mid.i4 AND mid.id %% 10 = 1;
"""


def workers_filter(parallel_hash):
    """Rows that leave the workers' scans of big, with filters off and on."""
    rows = []
    for mode in ("off", "on"):
        text = psql(LOAD + FORCED + WORKERS % (parallel_hash, mode)).stdout
        scan = re.search(r"Parallel Seq Scan on public.big.*\(actual rows=([\d.]+) loops=(\d+)", text)
        if not scan:
            return False
        rows.append(float(scan.group(1)) * int(scan.group(2)))
    return rows[1] < rows[0] / 3


# A hash join with groups: rows are removed below them.
GROUPS = """
SET max_parallel_workers_per_gather = 0; SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_hashagg = %s; SET bloomx.runtime_filter = on;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT * FROM (SELECT i4, count(*) FROM big GROUP BY i4) g JOIN mid ON g.i4 = mid.i4 AND mid.id %% 10 = 1;
"""


def groups_are_filtered(hashed):
    """True if the scan below the groups returns less than a tenth of the table's rows."""
    scan = re.search(r"Scan on big.*\(actual rows=(\d+)", psql(LOAD + FORCED + GROUPS % hashed).stdout)
    return scan is not None and int(scan.group(1)) < 400


# Statements that fail, and statements that are cancelled, in one session.
LEAKS = """
SET client_min_messages = error; SET bloomx.runtime_filter = on; SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
CREATE FUNCTION fails_anywhere(k int) RETURNS int LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN RETURN fails(k); END';
CREATE FUNCTION fail_often(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE failures int := 0;
BEGIN
	FOR i IN 1..n LOOP
		BEGIN
			IF i %% 2 = 0 THEN
				PERFORM fails(b.i4) FROM big b JOIN mid m ON b.i4 = m.i4 JOIN ranged r ON r.i4 = m.i4;
			ELSE
				PERFORM fails_anywhere(b.i4) FROM big b JOIN mid m ON b.i4 = m.i4 JOIN ranged r ON r.i4 = m.i4;
			END IF;
		EXCEPTION WHEN raise_exception THEN failures := failures + 1;
		END;
	END LOOP;
	RETURN failures;
END $$;
SELECT fail_often(10) \\gset before_
BEGIN; SET LOCAL statement_timeout = 300;
SELECT count(*) FROM big b JOIN mid m ON b.i4 = m.i4 JOIN ranged r ON r.t = m.t JOIN dups d ON d.e = m.e;
ROLLBACK; ROLLBACK;
SELECT sum(used_bytes) AS bytes FROM pg_backend_memory_contexts WHERE name IN ('TopMemoryContext', 'CacheMemoryContext') \\gset before_
-- with dynamic_shared_memory_type = mmap, the segments
SELECT count(*) AS segments FROM pg_ls_dir('pg_dynshmem') \\gset before_
SELECT fail_often(%d) \\gset after_
%s
SET bloomx.runtime_filter = off; SET max_parallel_workers_per_gather = 0;
SELECT sum(used_bytes) AS bytes FROM pg_backend_memory_contexts WHERE name IN ('TopMemoryContext', 'CacheMemoryContext') \\gset after_
SELECT :after_fail_often, :after_bytes - :before_bytes, (SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'runtime filter%%'),
	(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'big'::regclass)),
	(SELECT count(*) - :before_segments FROM pg_ls_dir('pg_dynshmem'));
"""

# On a busy machine the timeout may end a ROLLBACK, too.  The transaction is then aborted, and with it the timeout, so the second one works.
CANCELLED = """BEGIN; SET LOCAL max_parallel_workers_per_gather = %d; SET LOCAL enable_parallel_hash = %s; SET LOCAL statement_timeout = %d;
SELECT %s FROM big b JOIN mid m ON b.i4 = m.i4 JOIN ranged r ON r.t = m.t JOIN dups d ON d.e = m.e;
ROLLBACK; ROLLBACK;
"""


def leaks_nothing(n):
    # serial plans, parallel ones with a hash table in each process, and with one for all; cancelled while they start, or run
    # half of them take a second, so that there is something to cancel on a fast machine, too
    cancelled = "".join(CANCELLED % (2 * (i % 3 > 0), "on" if i % 3 == 1 else "off", 2 << i % 4, ["count(*)", "count(md5(repeat(b.pad, 50)))"][i // 12 % 2])
                        for i in range(n))
    done = psql(LOAD + FORCED + LEAKS.replace("\\\\", "\\") % (n, cancelled))
    out = done.stdout.strip().splitlines()
    count = done.stderr.count("canceling statement")
    print(f"{count} of {n} were cancelled; failures, bytes, contexts, locks, segments left:", out[-1] if out else "nothing")
    failures, left, contexts, locks, segments = map(int, out[-1].split("|")) if out else (0, 1, 1, 1, 1)
    # the server says so when it finds that a pin or a segment was not given back
    leaks = "BLOOMX_LOG" in os.environ and "leak" in open(os.environ["BLOOMX_LOG"], errors="replace").read()
    # what catalog caches learn takes some kilobytes
    return failures == n and count > n / 4 and left < 65536 and contexts == 0 and locks == 0 and segments <= 0 and not leaks


# A snapshot sees a row that was deleted before the table became a partition: the bounds do not hold for it.
OLD_SNAPSHOT = """
DROP TABLE IF EXISTS parent, late; CREATE TABLE parent (k int) PARTITION BY RANGE (k); CREATE TABLE late (k int);
INSERT INTO late SELECT g %% 100 FROM generate_series(1, 1000) g; INSERT INTO late VALUES (999); ANALYZE late;
SET enable_nestloop = off; SET enable_mergejoin = off; SET bloomx.runtime_filter = on;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 \\gset one_
\! psql -Xq -d %s -c "DELETE FROM late WHERE k = 999" -c "ALTER TABLE parent ATTACH PARTITION late FOR VALUES FROM (0) TO (100)"
SELECT count(*) FROM late JOIN (VALUES (999), (2000)) v (k) USING (k);
SELECT partitions FROM bloomx_last_runtime_filters();
COMMIT;
SELECT count(*) FROM late JOIN (VALUES (999), (2000)) v (k) USING (k);
SELECT partitions_skipped = processes FROM bloomx_last_runtime_filters();
"""


def old_snapshot_sees_all():
    return psql(LOAD + FORCED + OLD_SNAPSHOT % DATABASE).stdout.split() == ["1", "0", "0", "t"]


class Comparison:
    """Runs random queries with filters off and on, in batches, and counts those whose rows agree."""

    def __init__(self, g, options, timeout, totals, more=""):
        """`totals` is a query of sums of the session; `more` follows each query, whose number is {0}."""
        self.g, self.options, self.timeout, self.sums, self.more = g, options, timeout, totals, more
        self.passed = self.failed = self.number = self.errors = 0
        self.totals = []

    def run(self):
        """Yields the results of each query: {(number, mode): lines}, and its number."""
        start = time.time()
        while self.number < self.options.queries and (self.options.seconds == 0 or time.time() - start < self.options.seconds):
            batch = {}
            for _ in range(min(BATCH, self.options.queries - self.number)):
                self.number += 1
                batch[str(self.number)] = statements(self.g, self.number, getattr(self.options, "kind", None))
            run = psql("\n".join([LOAD + FORCED + f"SET statement_timeout = '{self.timeout}s';", *(text + self.more.format(q) for q, text in batch.items()),
                                  f"RESET ROLE; RESET statement_timeout; \\echo @ totals on\n{self.sums};"]))
            found = results(run.stdout)
            if not found.get(("totals", "on")):
                self.check("the session is kept: " + run.stderr[-2000:] + "\n".join(batch[q] for q in [q for q in batch if (q, "off") in found][-1:]), False)
                time.sleep(3)
                continue
            sums = map(int, found["totals", "on"][-1].split("|"))
            self.totals = [a + b for a, b in zip(self.totals, sums)] if self.totals else list(sums)
            self.errors += run.stderr.count("ERROR:")
            for q, text in batch.items():
                self.compare(q, text, found, run.stderr)
                yield found, q
            for message in sorted(set(re.findall(r"ERROR:.*", run.stderr)) - {"ERROR:  stop"}):
                if "statement timeout" not in message:
                    print("note:", message)

    def compare(self, q, text, found, errors):
        if found.get((q, "off")) == found.get((q, "on")) or "canceling statement due to statement timeout" in errors and agrees_with_time(q, text):
            self.passed += 1
        else:
            self.failed += 1
            print(f"query {q} differs: {found.get((q, 'off'))} without, {found.get((q, 'on'))} with filters\n{text}\n")

    def check(self, what, ok):
        print(("ok      " if ok else "FAILED  ") + what)
        self.passed += ok
        self.failed += not ok

    def end(self):
        server.drop(DATABASE, "bloomx_joins")
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="stop after so many seconds")
    parser.add_argument("--kind", choices=[*KINDS, "loops"], help="only queries of one of the kinds that once went wrong")
    parser.add_argument("--small", action="store_true", help="smaller tables: more queries in the same time")
    parser.add_argument("--failures", type=int, default=500, help="statements that fail, and as many that are cancelled")
    parser.add_argument("--tables", action="store_true", help="make the database and leave it there (scripts/test-sqlsmith)")
    options = parser.parse_args()
    print(f"seed {options.seed}")

    server.make(DATABASE, setup(options.small), "bloomx_joins")
    if options.tables:
        return False

    # before the tables change, and with them the plans
    private, shared = workers_filter("off"), workers_filter("on")
    hashed, sorted_ = groups_are_filtered("on"), groups_are_filtered("off")
    joins = Comparison(Generator(options.seed), options, 1, 
                       "SELECT rows_removed, pages_skipped, partitions_skipped, index_scans_skipped, index_searches FROM bloomx_stat_runtime_filters")
    with_rows = sum(any(not line.startswith("0 ") for line in found.get((q, "off"), [])) for found, q in joins.run())
    rows, pages, partitions, scans, searches = joins.totals or [0, 0, 0, 0, 0]
    if options.kind is None:
        less = argparse.Namespace(queries=max(options.queries // 4, 10), seconds=options.seconds / 4, kind="loops")
        loops = Comparison(Generator(options.seed), less, 1, "SELECT lookups, rows_removed FROM bloomx_stat_runtime_filters")
        in_order = sum(any(not line.startswith("0 ") for line in found.get((q, "off"), [])[:1]) for found, q in loops.run())
        print(f"{loops.number} loops, {in_order} with rows; {loops.totals[0]} outer rows looked up, {loops.totals[1]} excluded by keys")
        joins.passed += loops.passed
        joins.failed += loops.failed
        joins.check("outer rows were looked up", loops.totals[0] > 0)
    print(f"{joins.number} queries, {with_rows} with rows, {joins.errors} errors; removed {rows} rows, skipped {pages} pages, {partitions} partitions and {scans} index scans; {searches} searches told pages")
    joins.check("rows were removed", rows > 0 or options.kind in ("index_scans", "loops"))
    joins.check("pages were skipped", pages > 0 or options.kind is not None)
    joins.check("partitions were skipped", partitions > 0 or options.kind is not None)
    joins.check("indexes told pages", searches > 0 or options.kind is not None)
    joins.check("index scans were skipped", scans > 0 or options.kind not in (None, "index_scans"))
    joins.check(f"nothing is left of {2 * options.failures} failed statements", leaks_nothing(options.failures))
    joins.check("bounds that are younger than the snapshot are not used", old_snapshot_sees_all())
    joins.check("workers with private hash tables filter", private)
    joins.check("workers with a shared hash table filter", shared)
    joins.check("groups that are hashed are filtered", hashed)
    joins.check("groups that are sorted are filtered", sorted_)
    return joins.end()


if __name__ == "__main__":
    sys.exit(main())
