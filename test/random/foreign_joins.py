#!/usr/bin/env python3
"""Random joins with foreign tables give the same rows with bloomx.runtime_filter on and off, and filters are really sent.

    scripts/throwaway test/random/foreign_joins.py [--queries N] [--seed N] [--seconds N]

The queries, tables and settings are those of test/random/joins.py, but each table may be read through the server itself as a
remote one, with any fetch size, and partitions may be foreign tables with asynchronous scans.

Rows that agree prove nothing if no filter was sent.  So at least every eighth query must have sent some bytes: the session's
total is read after each, since what is told of the last statement stays if a query has no filters.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database.  The last line is "N
passed, N failed".
"""

import argparse
import os
import sys

import joins
import server

joins.DATABASE = "bloomx_random_joins"

# What is read over the connection, as a foreign table of the same columns; fetch_size decides how rescans work.
REMOTE = {"big": 100, "mid": 100, "tiny": 5, "nothing": 100, "far": 7, "dups": 1000, "ranged": 50, "evens": 10}


def foreign_tables():
    server = ("OPTIONS (host %s, port %s, dbname %s, extensions 'bloomx', async_capable '%s')")
    where = [f"'{os.environ['PGHOST']}'", f"'{os.environ.get('PGPORT', '5432')}'", f"'{joins.DATABASE}'"]
    sql = ["CREATE EXTENSION postgres_fdw;"]
    for name, is_async in (("plain", "false"), ("async1", "true"), ("async2", "true")):
        sql.append(f"CREATE SERVER {name} FOREIGN DATA WRAPPER postgres_fdw {server % (*where, is_async)};")
        for role in ("CURRENT_USER", "bloomx_joins"):
            sql.append(f"CREATE USER MAPPING FOR {role} SERVER {name} OPTIONS (user '{os.environ['PGUSER']}', password_required 'false');")
    columns = "(id int, i2 int2, i4 int, i8 int8, d date, ts timestamp, o oid, t text, v varchar(40), n numeric, f float8, u uuid, b char(8), e mood, a int[], pad text)"
    for table, fetch_size in REMOTE.items():
        sql.append(f"CREATE FOREIGN TABLE f_{table} {columns} SERVER plain OPTIONS (table_name '{table}', fetch_size '{fetch_size}', use_remote_estimate '{str(table in ('mid', 'dups')).lower()}');")
        sql.append(f"ANALYZE f_{table};")
    # the partitions are those of `ranged`: two here, the others there
    sql.append("CREATE TABLE split (LIKE template) PARTITION BY RANGE (i4);")
    bounds = ["DEFAULT"] + [f"FOR VALUES FROM ({lo}) TO ({lo + 150})" for lo in range(0, 900, 150)]
    for i, bound in enumerate(bounds):
        if i in (0, 4):
            sql.append(f"CREATE TABLE split_{i} PARTITION OF split {bound}; INSERT INTO split_{i} SELECT id, i2, i4, i8, d, ts, o, t, v, n, f, u, b, e, a, pad FROM ranged_{i};")
        else:
            sql.append(f"CREATE FOREIGN TABLE split_{i} PARTITION OF split {bound} SERVER async{1 + i % 2} OPTIONS (table_name 'ranged_{i}', fetch_size '20');")
        sql.append(f"ANALYZE split_{i};")
    sql.append("GRANT ALL ON ALL TABLES IN SCHEMA public TO bloomx_joins;")
    return "\n".join(sql)


class Generator(joins.Generator):
    def table(self):
        if self.chance(0.3):
            return super().table()
        return "split" if self.chance(0.2) else "f_" + self.r.choices(list(REMOTE), [8, 6, 6, 1, 2, 3, 4, 2])[0]

    def settings(self):
        s = super().settings()
        if self.chance(0.5):
            s += " SET enable_nestloop = off; SET enable_hashjoin = on;"  # few plans else join what is foreign by hashes
        return s + f" SET enable_async_append = {self.one_of('on', 'off')}; SET bloomx.runtime_filter_remote_size = '{self.r.choices(['4MB', '1kB'], [9, 1])[0]}';"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="stop after so many seconds")
    options = parser.parse_args()
    print(f"seed {options.seed}")

    server.make(joins.DATABASE, joins.setup(small=False) + foreign_tables(), "bloomx_joins")
    run = joins.Comparison(Generator(options.seed), options, 3, "SELECT bytes_sent FROM bloomx_stat_runtime_filters WHERE scope = 'session'",
                           "\nRESET ROLE; \\echo @ {0} sent\nSELECT bytes_sent FROM bloomx_stat_runtime_filters WHERE scope = 'session';\n\\echo @ end")
    queries_with, before = 0, 0
    for found, q in run.run():
        sent = int(found[q, "sent"][0]) if found.get((q, "sent")) else before
        queries_with += sent > (before if sent >= before else 0)  # a new session begins at 0
        before = sent
    print(f"{run.number} queries, {run.errors} errors; {queries_with} queries have sent filters, {(run.totals or [0])[0]} bytes")
    run.check("filters were sent by at least every eighth query", queries_with * 8 >= run.number)
    return run.end()


if __name__ == "__main__":
    sys.exit(main())
