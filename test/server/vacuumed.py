#!/usr/bin/env python3
"""What an index remembers of its table may be gone, and what is gone may still be seen by a snapshot.

    scripts/throwaway test/server/vacuumed.py

All kinds of indexes on one table.  VACUUM cuts off the end of the table, below and above a segment of its file (1 GB):
no query may fail, or miss a row, at any isolation level, on the primary and on a standby.  Then rows are deleted
while VACUUM makes entries of values anew: a snapshot of a standby that sends no feedback still finds them, TOASTed
values that are gone do not stop VACUUM, nor do rows that failed when they came into the index.  An index may be dropped
on the primary while a query of the standby has its name.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
provides.  Makes a replica.  The last line is "N passed, N failed".
"""

import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server
from server import Failure

DATABASE = "bloomx_vacuumed"
BLOCK = 8192
SEGMENT = 131072  # blocks of a file
PRIMARY = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
STANDBY = PRIMARY[:2]

# An index, and a condition that a row of the key {k} meets.  Each index has columns of its own, so that no other can serve its condition: N is a
# number, W a text, A an array, J a document, F a filter.
INDEXES = {
    "bloomx (N)": "N = {k}",
    "bloomx (N, W, A) WITH (max_keys_per_filter = 1)": "N IN ({k}, {k} + 1) AND W = 'word ' || {k}",
    "bloomx (W text_ngram_ops)": "W LIKE '%ord {k}'",
    "bloomx (A)": "A @> ARRAY[{k}]",
    "bloomx (J)": "J @> '{{\"k\": {k}}}'",
    "bloomx (F)": "F @> {k}",
    "bloomx ((N + 1)) WHERE N > 0": "N + 1 = {k} + 1 AND N > 0",
    "brin (N int4_bloomx_ops) WITH (pages_per_range = 4)": "N = {k}",
    "brin (W text_ngram_bloomx_ops) WITH (pages_per_range = 4)": "W LIKE '%ord {k}'",
    "brin (A array_bloomx_ops) WITH (pages_per_range = 4)": "A @> ARRAY[{k}]",
    "brin (J jsonb_bloomx_ops) WITH (pages_per_range = 4)": "J @> '{{\"k\": {k}}}'",
    "bloomx (F) WITH (pending_limit = 16)": "F && bloom_add(bloom_empty(20), {k})",
}
COLUMNS = {"N": ("int", "g % {mod}"), "W": ("text", "'word ' || g % {mod}"), "A": ("int[]", "ARRAY[g % {mod}, -g]"),
           "J": ("jsonb", "jsonb_build_object('k', g % {mod})"), "F": ("bloomfilter", "bloom_add(bloom_empty(20), g % {mod})")}


def with_columns(number, text):
    """With the names of the columns of that index."""
    return re.sub(r"\b([NWAJF])\b(?! *LIKE)|\b(W)\b", lambda found: f"{found[0].lower()}{number}", text)


USED = [(f"{c.lower()}{number}", *COLUMNS[c]) for number, index in enumerate(INDEXES) for c in COLUMNS if re.search(rf"\b{c}\b", index)]


def Session(port=None):
    return server.Session(DATABASE, port=port, options="-c statement_timeout=300s -c bloomx.overfill=off")


class Test:
    def __init__(self):
        self.passed = self.failed = 0
        self.session = None
        self.standby = self.watch = None
        self.replica = server.Standby()

    def ok(self, name, problem):
        print(f"{'not ok' if problem else 'ok'}  {name}" + (f"\n{problem}" if problem else ""), flush=True)
        self.passed += not problem
        self.failed += bool(problem)

    def open(self, port=None):
        session = Session(port)
        for setting in ("enable_seqscan = off", "enable_indexscan = off", "jit = off", "effective_io_concurrency = 8"):
            session.run(f"SET {setting}")
        return session

    def start_standby(self):
        self.replica.start("hot_standby_feedback = off\n")
        self.standby, self.watch = self.open(5433), self.open(5433)

    def wait(self, condition, session=None):
        for _ in range(6000):
            if (session or self.session).value(condition) == "true":
                return
            time.sleep(0.05)
        sys.exit(f"waited in vain for {condition}")

    def replayed(self):
        """Waits until the standby has replayed all, or waits for one of its sessions."""
        end = self.session.value("pg_current_wal_insert_lsn()")
        self.wait(f"pg_last_wal_replay_lsn() >= '{end}' OR EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event LIKE 'RecoveryConflict%')",
                  self.watch)

    # ---- a table whose end goes ----

    def fill(self, table, first, last, mod, pad):
        values = ", ".join(value.format(mod=mod) for _, _, value in USED)
        self.session.run(f"INSERT INTO {table} SELECT g, {values}, repeat('x', {pad}) FROM generate_series({first}, {last}) g")

    def make(self, table, rows, keep, pad, long=False):
        """The rows above `keep` have the keys of the others."""
        columns = ", ".join(f"{name} {kind}" for name, kind, _ in USED)
        self.session.run(f"CREATE TABLE {table} (id int, {columns}, pad text) WITH (autovacuum_enabled = off, toast_tuple_target = 8160)")
        self.session.run(f"ALTER TABLE {table} ALTER pad SET STORAGE PLAIN")
        self.fill(table, 1, keep, keep, pad)
        if long:
            # what comes next is in the second segment of the file; pages of zeros are pages without rows
            self.session.run("CHECKPOINT")
            os.truncate(os.path.join(os.environ["PGDATA"], self.session.value(f"pg_relation_filepath('{table}')")), SEGMENT * BLOCK)
        self.fill(table, keep + 1, rows, keep, pad)
        for number, index in enumerate(INDEXES):
            self.session.run(f"CREATE INDEX {table}_{number} ON {table} USING {with_columns(number, index)}")
        self.fill(table, rows + 1, rows + 20, keep, pad)  # pending rows, too
        self.session.run(f"ANALYZE {table}")

    def cut(self, table, keep):
        blocks = int(self.session.value(f"pg_relation_size('{table}') / {BLOCK}"))
        self.session.run(f"DELETE FROM {table} WHERE id > {keep}")
        self.session.run(f"VACUUM (INDEX_CLEANUP ON) {table}")
        left = int(self.session.value(f"pg_relation_size('{table}') / {BLOCK}"))
        self.ok(f"{table}: VACUUM cuts off the end of the table", left > blocks * 3 / 4 and f"{left} of {blocks} blocks are left")

    def differing(self, session, table, condition, keys, index):
        """Keys for which the index gives other rows than the table, and what failed."""
        problems = []
        for k in keys:
            where = condition.format(k=k)
            try:
                plan = "\n".join(session.run(f"EXPLAIN (COSTS OFF) SELECT id FROM {table} WHERE {where}"))
                if "Index Cond" not in plan or f" {index}\n" not in plan:
                    problems.append(f"not by {index}:\n{plan}")
                rows = session.run(f"SELECT (SELECT array_agg(id ORDER BY id) FROM {table} WHERE {where}), (SELECT array_agg(id ORDER BY id) FROM {table} WHERE ({where}) IS TRUE)")[0]
                if len(set(rows.split("\t"))) > 1:
                    problems.append(f"{where}: {rows}")
            except Failure as failure:
                return [*problems, str(failure)]
        return problems

    def ask(self, name, table, keys, levels):
        """All indexes at each isolation level of each server."""
        for number, (index, condition) in enumerate(INDEXES.items()):
            problems = []
            for port, of_server in levels:
                session = self.standby if port else self.session
                for level in of_server:
                    session.run(f"BEGIN ISOLATION LEVEL {level}")
                    problems += [f"{'standby' if port else 'primary'}, {level}: {p}" for p in self.differing(session, table, with_columns(number, condition), keys, f"{table}_{number}")]
                    session.run("ROLLBACK")
            self.ok(f"{name}: {index}", "\n".join(problems[:3]))

    # ---- rows that only an old snapshot sees ----

    def gate(self):
        """An index whose expression waits, in a session where test.gate is set, while this session has the lock."""
        self.session.run("CREATE FUNCTION gate(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN "
                         "IF current_setting('test.gate', true) = 'on' THEN PERFORM pg_advisory_lock_shared(1); PERFORM pg_advisory_unlock_shared(1); END IF; RETURN id; END $$")

    def vacuum_at_gate(self, table, meanwhile):
        """VACUUM makes the index with the gate anew; when it has begun, other things happen, and then it goes on."""
        errors = []

        def vacuum():
            session = Session()
            session.run("SET test.gate = 'on'")
            try:
                session.run(f"VACUUM (PARALLEL 0) {table}")
            except Failure as failure:
                errors.append(str(failure))
            session.close()
        self.session.run("SELECT pg_advisory_lock(1)")
        thread = threading.Thread(target=vacuum)
        thread.start()
        self.wait("(SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
        meanwhile()
        self.session.run("SELECT pg_advisory_unlock(1)")
        thread.join()
        return errors

    def anew(self):
        """Rows that are deleted, and dead for the primary, before their entries are made anew."""
        rows = 20000
        self.gate()
        for table in ("late", "toasted", "failing"):
            self.session.run(f"CREATE TABLE {table} (id int, n int, w text) WITH (autovacuum_enabled = off)")
        self.session.run("ALTER TABLE toasted ALTER w SET STORAGE EXTERNAL")
        self.session.run("CREATE FUNCTION at_least_0(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF n < 0 THEN RAISE 'negative'; END IF; RETURN n; END $$")
        for table, first, second in (("late", "gate(id)", "n"), ("toasted", "gate(id)), (md5(w)", "md5(w)"), ("failing", "gate(id)", "at_least_0(n)")):
            self.session.run(f"CREATE INDEX {table}_gate ON {table} USING bloomx (({first})) WITH (pending_limit = 16)")
            self.session.run(f"CREATE INDEX {table}_index ON {table} USING bloomx (({second}), id) WITH (pending_limit = 16)")
            self.session.run(f"INSERT INTO {table} SELECT g, g, CASE WHEN '{table}' = 'toasted' AND g % 20 = 0 THEN repeat(g || ' ', 1500) ELSE 'w' || g END FROM generate_series(1, {rows}) g")
            for i in range(1, 6):
                self.session.run(f"UPDATE {table} SET n = id + {i} * {rows}")
                self.session.run(f"VACUUM (INDEX_CLEANUP OFF) {table}")
        self.replayed()
        at = 5 * rows
        keys = [at + 1, at + 50, at + 51, at + 1000, at + rows]
        before = int(self.session.value("(SELECT sum(rows) FROM bloomx_index_info('late_index'))"))

        # the standby's snapshot
        self.standby.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        seen = self.standby.run("SELECT count(*) FROM late")
        errors = self.vacuum_at_gate("late", lambda: self.session.run(f"DELETE FROM late WHERE id IN (50, 1000) OR id % 7 = 2"))
        self.ok("VACUUM makes entries anew", "\n".join(errors) or (int(self.session.value("(SELECT sum(rows) FROM bloomx_index_info('late_index'))")) > before / 2 and "it does not"))
        self.replayed()
        problems = self.differing(self.standby, "late", "n = {k}", keys, "late_index")
        if self.standby.run("SELECT count(*) FROM late") != seen:
            problems.append("the snapshot sees other rows than before")
        self.ok("an old snapshot of a standby finds rows that were deleted meanwhile", "\n".join(problems))
        self.standby.run("COMMIT")

        # TOASTed values that go before the rows that have them
        def delete_toasted():
            self.session.run("DELETE FROM toasted WHERE id % 40 = 0")
            self.session.run("UPDATE toasted SET w = w || 'x' WHERE id % 40 = 20 AND id % 3 = 0")
            self.session.run("VACUUM " + self.session.value("(SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'toasted')"))
        errors = self.vacuum_at_gate("toasted", delete_toasted)
        self.ok("VACUUM does not need the TOASTed values of deleted rows", "\n".join(errors))
        problems = self.differing(self.session, "toasted", "md5(w) = md5((SELECT w FROM toasted WHERE id = {k}))", [1, 20, 30, 40, 60, 61], "toasted_index")
        problems += [] if self.session.value("bloomx_check_index('toasted_index')") == self.session.value("(SELECT count(*) FROM toasted)") else ["rows are missing"]
        self.ok("the index is whole after that", "\n".join(problems))

        # rows whose expression raised an error when they were to come into the index
        def fail():
            for _ in range(3):
                try:
                    self.session.run("INSERT INTO failing VALUES (1, -1)")
                except Failure:
                    pass
        errors = self.vacuum_at_gate("failing", fail)
        self.ok("VACUUM does not compute the keys of rows that failed", "\n".join(errors))

    def removed(self, table):
        """Rows that are updated, deleted and removed, and rows that come instead of them, in a snapshot from before that."""
        self.standby.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        self.standby.run("SELECT 1 FROM pg_class LIMIT 1")
        self.session.run(f"UPDATE {table} SET id = id + 10000, {', '.join(f'{name} = NULL' for name, _, _ in USED)} WHERE id % 3 = 0")
        self.session.run(f"DELETE FROM {table} WHERE id % 3 = 1")
        self.session.run(f"VACUUM (INDEX_CLEANUP ON) {table}")
        self.fill(table, 20001, 20500, 500, 2000)
        self.session.run(f"VACUUM (INDEX_CLEANUP ON) {table}")
        self.replayed()
        for number, (index, condition) in enumerate(INDEXES.items()):
            self.ok(f"an old snapshot of a standby, after VACUUM: {index}",
                    "\n".join(self.differing(self.standby, table, with_columns(number, condition), [1, 2, 30, 77, 150], f"{table}_{number}")[:3]))
        self.standby.run("COMMIT")

    def summarized(self):
        """A range of pages that is summarised when a row is dead for the primary, but not for a snapshot of the standby."""
        self.session.run("CREATE TABLE ranges (id int, k int, pad text) WITH (autovacuum_enabled = off)")
        self.session.run("INSERT INTO ranges SELECT g, CASE WHEN g = 5000 THEN 7 ELSE 100000 + g END, repeat('x', 60) FROM generate_series(1, 60000) g")
        self.session.run("CREATE INDEX ranges_k ON ranges USING brin (k) WITH (pages_per_range = 4)")
        self.session.run("VACUUM ANALYZE ranges")
        self.session.run("SELECT brin_desummarize_range('ranges_k', split_part(trim(ctid::text, '()'), ',', 1)::int / 4 * 4) FROM ranges WHERE id = 5000")
        self.replayed()
        for setting in ("seqscan = on", "nestloop = off", "mergejoin = off", "bitmapscan = off"):
            self.standby.run(f"SET enable_{setting}")
        self.standby.run("SET bloomx.runtime_filter = on")
        self.standby.run("SET bloomx.runtime_filter_min_rows = 0")
        self.standby.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        query = "SELECT count(*) FROM ranges JOIN (SELECT DISTINCT g AS k FROM generate_series(1, 20) g) d USING (k)"
        rows = [self.standby.value(f"({query})")]
        self.session.run("DELETE FROM ranges WHERE id = 5000")
        self.session.run("SELECT pg_current_xact_id()")
        self.session.run("SELECT brin_summarize_new_values('ranges_k')")
        self.replayed()
        rows += [self.standby.value(f"({query})"), self.standby.value("(SELECT pages_skipped > 0.9 * pages FROM bloomx_last_runtime_filters())")]
        self.standby.run("COMMIT")
        self.ok("an old snapshot of a standby finds rows in a range that was summarised meanwhile, and skips the others", rows != ["1", "1", "true"] and str(rows))

    def indexed(self):
        """Indexes that are made, and made anew, when a row is dead for the primary, but not for a snapshot of the standby."""
        self.session.run("CREATE TABLE built (id int, j int, k int, pad text) WITH (autovacuum_enabled = off)")
        self.session.run("INSERT INTO built SELECT g, v, v, repeat('x', 60) FROM (SELECT g, CASE WHEN g = 5000 THEN 7 ELSE 100000 + g END AS v FROM generate_series(1, 20000) g) s")
        self.session.run("CREATE INDEX built_j ON built (j)")
        self.session.run("VACUUM ANALYZE built")
        self.replayed()
        self.standby.run("SET bloomx.runtime_filter_min_removed = 0")

        def by(column):
            rows = self.standby.value(f"(SELECT count(*) FROM built JOIN (SELECT DISTINCT g AS {column} FROM generate_series(1, 20) g) d USING ({column}))")
            return rows, self.standby.value("(SELECT sum(index_searches) FROM bloomx_last_runtime_filters())")
        found = [by("j")]
        self.standby.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        self.standby.run("SELECT 1")  # not of the table, or REINDEX would wait
        for statement in ("DELETE FROM built WHERE id = 5000", "SELECT pg_current_xact_id()", "CREATE INDEX built_k ON built USING hash (k)", "REINDEX INDEX built_j"):
            self.session.run(statement)
        self.replayed()
        found += [by("k"), by("j")]
        self.standby.run("COMMIT")
        found += [by("k"), by("j")]
        self.ok("an old snapshot of a standby finds rows that an index lacks which was made meanwhile",
                found != [("1", "1"), ("1", "0"), ("1", "0"), ("0", "1"), ("0", "1")] and str(found))

    def dropped(self):
        """Indexes that are dropped on the primary while a query of the standby, whose cached plan has no lock on them, is about to open them."""
        self.session.run("CREATE TABLE dropped (id int, k int, pad text) WITH (autovacuum_enabled = off)")
        self.session.run("INSERT INTO dropped SELECT g, CASE WHEN g % 5000 = 1 THEN 7 ELSE 100000 + g END, repeat('x', 60) FROM generate_series(1, 20000) g")
        self.session.run("CREATE FUNCTION opened() RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor := 'c'; BEGIN "
                         "OPEN c FOR SELECT id FROM dropped JOIN (SELECT DISTINCT g AS k FROM generate_series(1, 20) g) d USING (k); RETURN c; END $$")
        # else the replay would wait for the cursor's snapshot where the catalogs are pruned, before it drops the index
        for setting in ("hot_standby_feedback = on", "wal_receiver_status_interval = 1"):
            self.standby.run(f"ALTER SYSTEM SET {setting}")
        self.standby.run("SELECT pg_reload_conf()")
        self.wait("EXISTS (SELECT FROM pg_stat_replication WHERE backend_xmin IS NOT NULL)", self.session)
        for index in ("btree (k)", "brin (k) WITH (pages_per_range = 4)"):
            self.session.run(f"CREATE INDEX dropped_k ON dropped USING {index}")
            # a page that somebody's snapshot keeps from being all-visible is not skipped
            while self.session.run("VACUUM ANALYZE dropped") or self.session.value("(SELECT relallvisible < relpages FROM pg_class WHERE relname = 'dropped')") == "true":
                time.sleep(0.1)
            self.replayed()
            problems, rows = [], ["1"]
            self.standby.run("SELECT opened()")  # makes the plan, with locks until the end of its transaction
            for drop in ("SELECT", "DROP INDEX CONCURRENTLY dropped_k"):
                self.standby.run("BEGIN")
                try:
                    self.standby.run("SELECT opened()")
                    rows = self.standby.run("FETCH 1 FROM c")
                    self.session.run(drop)
                    self.replayed()
                    rows += self.standby.run("FETCH ALL FROM c")
                    self.standby.run("COMMIT")
                except Failure as failure:
                    problems.append(str(failure))
                    self.standby.run("ROLLBACK")
                problems += [] if rows == ["1", "5001", "10001", "15001"] else [str(rows)]
                if drop != "SELECT" and self.watch.value("to_regclass('dropped_k')") is not None:
                    problems.append("the index was not dropped meanwhile")
                if drop == "SELECT" and self.standby.value("(SELECT sum(pages_skipped) > 0 FROM bloomx_last_runtime_filters())") != "true":
                    problems.append("no index is opened")
            self.ok(f"a standby reads on when an index is dropped that it was to open: {index}", "\n".join(problems))

    def main(self):
        begin = time.time()
        server.make(DATABASE, "CREATE EXTENSION bloomx;")
        self.session = self.open()
        self.make("small", 1500, 500, 2000)
        self.make("large", 500, 300, 2000, long=True)
        try:
            self.start_standby()
            self.cut("small", 500)
            self.cut("large", 300)
            self.replayed()
            self.ask("small, cut off", "small", range(1, 500, 41), ((None, PRIMARY), (5433, STANDBY)))
            self.ask("large, cut off", "large", range(1, 300, 41), ((None, PRIMARY), (5433, STANDBY)))
            self.fill("small", 501, 750, 500, 2000)
            self.replayed()
            self.ask("small, grown again", "small", range(1, 500, 41), ((None, PRIMARY[:1]), (5433, STANDBY[:1])))
            self.removed("small")
            self.anew()
            self.summarized()
            self.indexed()
            self.dropped()
        finally:
            self.replica.stop()
        self.session.close()
        server.drop(DATABASE)
        print(f"{time.time() - begin:.0f} s")
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


if __name__ == "__main__":
    Test().main()
