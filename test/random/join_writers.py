#!/usr/bin/env python3
"""Joins that skip pages or index scans return the same rows while others change the table and its BRIN index, or its set.

    scripts/throwaway test/random/join_writers.py [--seconds N] [--seed N]

Sessions insert, update keys, delete, vacuum, and remove and make summaries of the BRIN indexes, as fast as they
can.  Others do that to a table with a bloomset index, which they also rebuild and drop.  Readers compare filters off and on within one snapshot (REPEATABLE READ), in serial plans, in parallel plans
with a hash table in each process, with one for all, and in nested loops that ask the set.  At the end each kind of reader must have skipped pages or index scans,
and each kind of writer must have worked.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database.  The last
line is "N passed, N failed".
"""

import argparse
import random
import re
import sys
import threading
import time

import server

DATABASE = "bloomx_writers"

SETUP = """
CREATE EXTENSION bloomx;
-- ordered by k at first; bursts of one tenant
CREATE TABLE fact (id int, k int, tenant int, t text, pad text) WITH (autovacuum_enabled = off, fillfactor = 80);
CREATE FUNCTION more(first int, n int) RETURNS void LANGUAGE sql AS
	$$INSERT INTO fact SELECT g, g / 20, (hashint4(g / 50)::bigint & 1023)::int, 'key ' || g / 20, repeat('x', 60) FROM generate_series(first, first + n - 1) g$$;
SELECT more(0, 40000);
CREATE INDEX by_k ON fact USING brin (k) WITH (pages_per_range = 2);
-- to make a summary of a long range takes a while, in which there is a placeholder
CREATE INDEX by_many ON fact USING brin (k) WITH (pages_per_range = 128);
CREATE INDEX by_tenant ON fact USING brin (tenant int4_bloomx_ops) WITH (pages_per_range = 2);
CREATE INDEX by_t ON fact USING brin (t text_bloomx_ops) WITH (pages_per_range = 4);
-- the same with indexes that tell pages
CREATE TABLE paged (LIKE fact) WITH (autovacuum_enabled = off, fillfactor = 80);
CREATE FUNCTION more_paged(first int, n int) RETURNS void LANGUAGE sql AS
	$$INSERT INTO paged SELECT g, hashint4(g / 20) & 2047, (hashint4(g / 50)::bigint & 1023)::int, 'key ' || (hashint4(g / 20) & 2047), repeat('x', 60) FROM generate_series(first, first + n - 1) g$$;
SELECT more_paged(0, 40000);
CREATE INDEX pages_k ON paged (k); CREATE INDEX pages_tenant ON paged USING hash (tenant); CREATE INDEX pages_t ON paged USING bloomx (t);
CREATE TABLE dim AS SELECT g AS k, 'key ' || g AS t, g % 97 AS grp FROM generate_series(-100, 20000) g;
CREATE TABLE keyed (id int, k int, t text) WITH (autovacuum_enabled = off, fillfactor = 80);
INSERT INTO keyed SELECT g, g % 3000 * 2, 'key ' || g % 3000 * 2 FROM generate_series(1, 6000) g;
CREATE INDEX ON keyed (k); CREATE INDEX ON keyed (t);
CREATE INDEX keyed_k ON keyed USING bloomset (k) WITH (stage_size = 64); CREATE INDEX keyed_t ON keyed USING bloomset (t);
VACUUM ANALYZE fact, paged, dim, keyed;
CREATE FUNCTION digest(query text, filters text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('bloomx.runtime_filter', filters, true);
	EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(hashtextextended(q::text, 0)), 0) FROM (%s) q', query) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION compare(query text, OUT same boolean, OUT skipped bigint, OUT searches bigint) LANGUAGE plpgsql AS $$
DECLARE
	plain text;
BEGIN
	plain := digest(query, 'off');
	same := plain = digest(query, 'on');
	SELECT coalesce(sum(pages_skipped + index_scans_skipped), 0), coalesce(sum(index_searches), 0) INTO skipped, searches FROM bloomx_last_runtime_filters();
END $$;
"""

READER = """
DO 'BEGIN PERFORM bloom_hash(1); END'; -- loads the module
SET bloomx.runtime_filter_min_rows = 0; SET bloomx.runtime_filter_min_pages = 0; SET bloomx.runtime_filter_min_removed = 0;
SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET synchronize_seqscans = off;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
"""
PLANS = {
    "serial": "SET max_parallel_workers_per_gather = 0;",
    # each process reads all of dim, or the planner would put the join above the workers
    "a hash table in each process": "SET max_parallel_workers_per_gather = 2; SET enable_parallel_hash = off; SET min_parallel_table_scan_size = '2MB';",
    "one hash table": "SET max_parallel_workers_per_gather = 2; SET enable_parallel_hash = on;",
    "index scans": "SET enable_nestloop = on; SET enable_hashjoin = off; SET enable_material = off; SET max_parallel_workers_per_gather = 0;",
    "index scans in workers": "SET enable_nestloop = on; SET enable_hashjoin = off; SET enable_material = off; SET max_parallel_workers_per_gather = 2;",
}
QUERIES = [
    "SELECT f.* FROM fact f JOIN dim ON f.k = dim.k WHERE dim.k BETWEEN {k} AND {k} + 40",
    "SELECT f.* FROM fact f JOIN dim ON f.k = dim.k WHERE dim.grp = {grp}",
    "SELECT f.* FROM fact f JOIN dim ON f.tenant = dim.k WHERE dim.grp = {grp} AND dim.k < 600",
    "SELECT f.* FROM fact f JOIN dim ON f.t = dim.t WHERE dim.k BETWEEN {k} AND {k} + 10",
    "SELECT f.* FROM fact f WHERE f.k IN (SELECT k FROM dim WHERE k > {k} AND grp < 3)",
]
SEARCHES = [
    "SELECT d.grp, s.* FROM dim d LEFT JOIN keyed s ON s.k = d.k WHERE d.k BETWEEN {k} AND {k} + 300",
    "SELECT d.grp, s.* FROM dim d JOIN keyed s ON s.t = d.t WHERE d.grp = {grp}",
    "SELECT d.k FROM dim d WHERE d.grp = {grp} AND NOT EXISTS (SELECT FROM keyed s WHERE s.k = d.k)",
]
INDEXES = ["by_k", "by_tenant", "by_t"]


def psql(script):
    return server.psql(script, DATABASE)


class Worker(threading.Thread):
    """Runs batches of statements until the time is over.  On a slow machine all go on until each reader has skipped pages,
    for up to twenty times as long."""
    readers = []

    def __init__(self, name, seed, seconds):
        super().__init__()
        self.name, self.r = name, random.Random(f"{seed} {name}")
        self.until, self.latest = time.time() + seconds, time.time() + 20 * seconds
        self.batches, self.errors = 0, []

    def goes_on(self):
        return time.time() < self.until or time.time() < self.latest and not all(reader.skipped for reader in self.readers)

    def run(self):
        while self.batches == 0 or self.goes_on():
            text = self.batch()
            if isinstance(self, (Inserter, Updater, Deleter, Vacuum)) and self.r.random() < 0.5:
                text = text.replace("fact", "paged").replace("more(", "more_paged(")
            done = psql(text)
            self.batches += 1
            self.errors += [line for line in done.stderr.splitlines() if "ERROR" in line or "FATAL" in line or "server closed" in line]
            self.look(done.stdout)

    def look(self, output):
        pass


class Inserter(Worker):
    next_id = 40000

    def batch(self):
        text = []
        for _ in range(10):
            n = self.r.choice([1, 30, 400])
            # at the end, and keys of long ago
            first = self.r.choice([self.next_id, self.r.randrange(40000)])
            self.next_id += n
            text.append(f"SELECT more({first}, {n});")
        return "\n".join(text)


class Updater(Worker):
    def batch(self):
        text = []
        for _ in range(10):
            k = self.r.randrange(2500)
            text.append(self.r.choice([
                f"UPDATE fact SET k = {self.r.randrange(2500)}, t = 'key {self.r.randrange(2500)}' WHERE k = {k};",
                f"UPDATE fact SET tenant = {self.r.randrange(1024)} WHERE k BETWEEN {k} AND {k} + 3;",
                f"UPDATE fact SET k = NULL WHERE k = {k} AND id % 7 = 0;",
                f"UPDATE fact SET pad = 'y' WHERE k = {k};"]))
        return "\n".join(text)


class Deleter(Worker):
    def batch(self):
        text = []
        for _ in range(5):
            k = self.r.randrange(2500)
            text.append(f"DELETE FROM fact WHERE k BETWEEN {k} AND {k} + {self.r.choice([1, 5, 40])};")
            text.append(f"BEGIN; DELETE FROM fact WHERE k > {k} AND id % 100 = 3; ROLLBACK;")
        return "\n".join(text)


class Summarizer(Worker):
    def batch(self):
        text = ["SET client_min_messages = error;"]
        for _ in range(10):
            index, page = self.r.choice(INDEXES), self.r.randrange(800)
            text.append(self.r.choice([
                f"SELECT brin_desummarize_range('{index}', {page});",
                f"SELECT brin_desummarize_range('by_many', {page}); SELECT brin_summarize_range('by_many', {page});",
                f"SELECT brin_desummarize_range('by_many', {page}); SELECT brin_summarize_range('by_many', {page});",
                f"SELECT brin_summarize_range('{index}', {page});", f"SELECT brin_summarize_new_values('{index}');"]))
        return "\n".join(text)


class Vacuum(Worker):
    def batch(self):
        return self.r.choice(["VACUUM fact;", "VACUUM (INDEX_CLEANUP off) fact;", "VACUUM (FREEZE) fact;"]) + " SELECT pg_sleep(0.2);"


class KeyedWriter(Worker):
    """Keys come back and go, in transactions that are rolled back as well."""

    def batch(self):
        text = []
        for _ in range(20):
            k = self.r.randrange(20000)
            text.append(self.r.choice([
                f"INSERT INTO keyed SELECT g, g, 'key ' || g FROM generate_series({k}, {k + self.r.choice([0, 20, 300])}) g;",
                f"UPDATE keyed SET k = k + 1, t = 'key ' || k + 1 WHERE k BETWEEN {k} AND {k} + 20;",
                f"UPDATE keyed SET k = {self.r.randrange(20000)} WHERE k = {k % 6000};",
                f"DELETE FROM keyed WHERE k BETWEEN {k} AND {k} + 300;",
                f"BEGIN; INSERT INTO keyed SELECT 0, g, 'key ' || g FROM generate_series({k}, {k} + 9) g; DELETE FROM keyed WHERE k < {k % 300}; ROLLBACK;"]))
        return "\n".join(text)


class Rebuilder(Worker):
    def batch(self):
        name = self.r.choice(["k", "t"])
        # what waits for a lock makes others wait behind it
        return "SET lock_timeout = '300ms';" + self.r.choice([
            f"REINDEX INDEX keyed_{name};", f"REINDEX INDEX CONCURRENTLY keyed_{name};", "VACUUM keyed;",
            f"DROP INDEX keyed_{name}; CREATE INDEX keyed_{name} ON keyed USING bloomset ({name});",
            f"DROP INDEX CONCURRENTLY IF EXISTS keyed_{name}_2; CREATE INDEX CONCURRENTLY keyed_{name}_2 ON keyed USING bloomset ({name});",
            f"DROP INDEX IF EXISTS keyed_{name}_2;"]) + " SELECT pg_sleep(0.05);"


class Indexer(Worker):
    def batch(self):
        return "SET lock_timeout = '300ms';" + self.r.choice([
            "REINDEX INDEX CONCURRENTLY pages_k;", "REINDEX INDEX pages_tenant;", "REINDEX INDEX CONCURRENTLY pages_t;",
            "DROP INDEX pages_k; SELECT pg_sleep(0.1); CREATE INDEX pages_k ON paged (k);",
            "DROP INDEX pages_tenant; CREATE INDEX CONCURRENTLY pages_tenant ON paged USING hash (tenant);"]) + " SELECT pg_sleep(0.2);"


class Reader(Worker):
    def __init__(self, name, seed, seconds):
        super().__init__(name, seed, seconds)
        self.same = self.skipped = self.searches = 0
        self.different = []

    def batch(self):
        text = [READER, PLANS[self.name]]
        for _ in range(3):
            text.append("BEGIN ISOLATION LEVEL REPEATABLE READ;")
            for query in SEARCHES if self.name.startswith("index") else QUERIES:
                query = query.format(k=self.r.randrange(2500), grp=self.r.randrange(97)).replace("fact f", self.r.choice(["fact f", "paged f"]))
                # the snapshot is taken by the first query; writers go on meanwhile
                text.append(f"SELECT '@', same, skipped, searches, $${query}$$ FROM compare($${query}$$);")
            text.append("COMMIT;")
        return "\n".join(text)

    def look(self, output):
        for line in output.splitlines():
            if not line.startswith("@|"):
                continue
            _, same, skipped, searches, query = line.split("|", 4)
            self.skipped += int(skipped)
            self.searches += int(searches)
            if same == "t":
                self.same += 1
            else:
                self.different.append(query)


# From 16 on the update of k is HOT, and the summary that is made afterwards lacks the value that the snapshot sees: that of a transaction,
# or that of a cursor.  But what was there before is believed, whether the table is vacuumed or not.
# Before 16, an index lacks it that is made while the snapshot is kept.
SNAPSHOT = """
DO 'BEGIN PERFORM bloom_hash(1); END';
CREATE TABLE late (id int, k int, pad text) WITH (fillfactor = 60, autovacuum_enabled = off);
INSERT INTO late SELECT g, CASE WHEN g = 59000 THEN 7 ELSE 100000 + g END, repeat('x', 60) FROM generate_series(1, 60000) g;
CREATE INDEX late_k ON late USING brin (k) WITH (pages_per_range = 4);
VACUUM ANALYZE late;
SELECT FROM (SELECT brin_desummarize_range('late_k', split_part(trim(ctid::text, '()'), ',', 1)::int / 4 * 4) FROM late WHERE id = 59000) x;
SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_rows = 0;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
\\! psql -Xq -d bloomx_writers -c "UPDATE late SET k = 500000 WHERE id = 59000" -c "SELECT FROM brin_summarize_new_values('late_k')" >/dev/null
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
SELECT pages_skipped > 0.9 * pages FROM bloomx_last_runtime_filters();
COMMIT;
UPDATE late SET k = 7 WHERE id = 59000;
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
SELECT pages_skipped > 0.9 * pages FROM bloomx_last_runtime_filters();
VACUUM late;
SELECT FROM (SELECT brin_desummarize_range('late_k', split_part(trim(ctid::text, '()'), ',', 1)::int / 4 * 4) FROM late WHERE id = 59000) x;
BEGIN;
DECLARE seen CURSOR FOR SELECT id FROM late JOIN dim USING (k) WHERE grp = 7;
\\! psql -Xq -d bloomx_writers -c "UPDATE late SET k = 500000 WHERE id = 59000" -c "SELECT FROM brin_summarize_new_values('late_k')" >/dev/null
FETCH ALL FROM seen;
CLOSE seen;
SELECT pages_skipped > 0.9 * pages FROM bloomx_last_runtime_filters();
COMMIT;
UPDATE late SET k = 7 WHERE id = 59000;
DROP INDEX late_k;
VACUUM late;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
\\! psql -Xq -d bloomx_writers -c "UPDATE late SET k = 500000 WHERE id = 59000" -c "CREATE INDEX late_k ON late USING brin (k) WITH (pages_per_range = 4)" >/dev/null
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
COMMIT;
DROP INDEX late_k;
UPDATE late SET k = 7 WHERE id = 59000;
VACUUM late;
SET bloomx.runtime_filter_min_removed = 0; SET enable_indexscan = off; SET enable_indexonlyscan = off;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
\\! psql -Xq -d bloomx_writers -c "UPDATE late SET k = 500000 WHERE id = 59000" -c "CREATE INDEX late_k ON late (k)" >/dev/null
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
COMMIT;
SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'late_k'::regclass;
UPDATE late SET k = 7 WHERE id = 59000;
SELECT count(*) FROM late JOIN dim USING (k) WHERE grp = 7;
SELECT index_searches FROM bloomx_last_runtime_filters();
DROP TABLE late;
"""


# A set that was made, or made anew, after the snapshot, when what it sees was updated within the page: found by a plain search.  And an UPDATE that waits
# for another one looks again by plain searches, whatever its loops have asked: of two rows one has a key that has no row now.
SEARCHED = """
DO 'BEGIN PERFORM bloom_hash(1); END';
CREATE TABLE found (id int, k int, pad text) WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO found SELECT g, g * 2, '' FROM generate_series(1, 2000) g;
CREATE INDEX ON found (k);
CREATE TABLE asks AS SELECT g AS id, g AS k, 0 AS v FROM generate_series(1, 4000) g;
VACUUM ANALYZE found, asks;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;
SET max_parallel_workers_per_gather = 0; SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_removed = 0;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1;
\\! psql -Xq -d bloomx_writers -c "UPDATE found SET k = 1 WHERE id = 7" -c "CREATE INDEX found_k ON found USING bloomset (k)"
SELECT count(*) FROM asks JOIN found USING (k);
COMMIT;
SELECT count(*) FROM asks JOIN found USING (k);
SELECT sum(index_scans_skipped) > 1900 FROM bloomx_last_runtime_filters();
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1;
\\! psql -Xq -d bloomx_writers -c "DELETE FROM found WHERE id = 8" -c "REINDEX INDEX found_k"
SELECT count(*) FROM asks JOIN found USING (k);
COMMIT;
BEGIN;
UPDATE asks SET k = 3 WHERE id = 100;
UPDATE asks SET v = 10 WHERE id = 102;
\\! psql -Xq -d bloomx_writers -c "DO 'BEGIN PERFORM bloom_hash(1); END'" -c "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_removed = 0" -c "UPDATE asks SET v = v + f.id FROM found f WHERE f.k = asks.k AND asks.id BETWEEN 90 AND 110" &
DO $$ BEGIN FOR i IN 1..600 LOOP EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'); PERFORM pg_sleep(0.1); END LOOP; END $$;
COMMIT;
DO $$ BEGIN FOR i IN 1..600 LOOP EXIT WHEN EXISTS (SELECT FROM asks WHERE id = 110 AND v = 55); PERFORM pg_sleep(0.1); END LOOP; END $$;
SELECT v FROM asks WHERE id IN (99, 100, 102) ORDER BY id;
DROP TABLE found, asks;
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    server.make(DATABASE, SETUP)
    readers = Worker.readers = [Reader(name, options.seed, options.seconds) for name in PLANS]
    writers = [kind(kind.__name__, options.seed, options.seconds) for kind in (Inserter, Updater, Deleter, Summarizer, Vacuum, KeyedWriter, Rebuilder, Indexer)]
    for worker in readers + writers:
        worker.start()
    for worker in readers + writers:
        worker.join()

    seen = psql(SNAPSHOT)
    rows = seen.stdout.split()
    passed, failed = (1, 0) if rows == ["1", "1", "t", "1", "t", "59000", "t", "1", "1", "1", "1", "t", "1", "1"] else (0, 1)
    if failed:
        print(f"FAILED  a summary or an index that is younger than the snapshot: {rows} {seen.stderr}")
    seen = psql(SEARCHED)
    rows = seen.stdout.split()
    expected = ["1", "2000", "2000", "t", "1", "2000", "0", "0", "61"]
    print(f"sets that are younger than the snapshot, and rows that were looked at again: {rows}")
    passed, failed = (passed + 1, failed) if rows == expected else (passed, failed + 1)
    if rows != expected:
        print(f"FAILED  {rows} instead of {expected} {seen.stderr}")
    for worker in readers + writers:
        problems = []
        if isinstance(worker, Reader):
            print(f"readers, {worker.name}: {worker.same} comparisons, {worker.skipped} pages or index scans skipped, {worker.searches} searches for pages")
            problems += [f"rows differ: {query}" for query in worker.different[:3]]
            if worker.same == 0 or worker.skipped == 0 or (worker.searches == 0 and worker.name in ("serial", "one hash table")):
                problems.append("nothing was compared, skipped or searched")
        else:
            print(f"{worker.name}: {worker.batches} batches")
        # what writers do to one another is no failure
        problems += [e for e in worker.errors if not re.search("deadlock detected|could not obtain lock|lock timeout|keyed_._?2?. (already exists|does not exist)|pages_\w+. (already exists|does not exist)", e)][:3]
        if worker.batches == 0:
            problems.append("no batch")
        for problem in problems:
            print(f"FAILED  {worker.name}: {problem}")
        passed += not problems
        failed += bool(problems)
    server.drop(DATABASE)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
