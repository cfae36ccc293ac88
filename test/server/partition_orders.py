#!/usr/bin/env python3
"""Statements of several sessions, in orders in which the store of partitions' keys could lose a key, or all of them for good.

    scripts/throwaway test/server/partition_orders.py [--only NAME]

- option: an index gets partition_lookup by ALTER INDEX, which does not wait for a statement that is inserting; the partition is vacuumed meanwhile
- leftover: DROP INDEX CONCURRENTLY of a detached partition's index fails half-way; the partition comes back with another index
- replaced: REINDEX CONCURRENTLY of the store fails when it has closed it
- first: many sessions insert the first keys after partitions were read: each needs a new filter
- promoted: a standby takes over while a filter is being made
- skew: the store is made anew between a serializable transaction that finds no key and another that adds it

Needs a server with bloomx in the PG* environment, and its programs first in PATH, as scripts/throwaway provides.  Makes a replica.  The
last line is "N passed, N failed".
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server

DATABASE = "bloomx_partition_orders"
STORE = "bloomx_partition_store_pages"
LOADED = "SELECT bloomx_partition_lookup_totals() IS NULL LIMIT 0"
STATES = "SELECT string_agg(DISTINCT complete::text, '') FROM bloomx_partitions('log_id')"


def setup(partitions, rows, last=""):
    return f"""
CREATE EXTENSION bloomx;
CREATE TABLE log (id bigint, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES IN (%1$s) WITH (autovacuum_enabled = off)', i) FROM generate_series(0, {partitions - 1}) i \\gexec
INSERT INTO log SELECT g, g % {partitions} FROM generate_series(1, {rows}) g;
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
{last}"""


class Test(server.Checks):
    def __init__(self):
        super().__init__(DATABASE, "-c lock_timeout=60s")
        self.open = []

    def session(self, port=None):
        self.open.append(super().session(port))
        return self.open[-1]

    def close(self):
        for session in self.open:
            session.close()
        self.open = []

    def sessions(self, n):
        sessions = [self.session() for _ in range(n)]
        for session in sessions:
            session.run(LOADED)
        return sessions

    def start(self, session, statement):
        """Runs a statement until it waits for a lock."""
        states = []
        thread = threading.Thread(target=lambda: states.append(session.answer(statement)[1]))
        thread.states = states
        thread.start()
        while thread.is_alive() and self.one("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == "0":
            time.sleep(0.01)
        return thread

    def fail_behind(self, session, statement, holder, other, lock):
        """Lets a statement of several transactions pass its first wait, for `holder`, and cancels it in the second, for `other`."""
        holder.run(f"BEGIN; {lock}")
        pid = session.run("SELECT pg_backend_pid()")[0]
        thread = self.start(session, statement)
        other.run(f"BEGIN; {lock}")
        waits_for = lambda: self.one(f"SELECT coalesce(min(p), 0) FROM unnest(pg_blocking_pids({pid})) p")
        first = waits_for()
        holder.run("COMMIT")
        while thread.is_alive() and waits_for() in ("0", first):
            time.sleep(0.01)
        self.one(f"SELECT pg_cancel_backend({pid})")
        thread.join()
        other.run("COMMIT")
        return thread.states[0]

    def found(self, session, key):
        """By a lookup, and by reading all."""
        return session.run(f"SELECT count(*) FROM log WHERE id = {key}") + session.run(f"SELECT count(*) FROM log WHERE id + 0 = {key}")

    def option(self):
        server.make(DATABASE, setup(4, 100, """
            CREATE TABLE late (LIKE log) WITH (autovacuum_enabled = off);
            CREATE INDEX late_id ON late USING bloomx (id);
            ALTER TABLE log ATTACH PARTITION late FOR VALUES IN (100);"""))
        writer, gate, reader = self.sessions(3)
        gate.run("SELECT pg_advisory_lock(1)")
        thread = self.start(writer, "INSERT INTO late SELECT g, 100 FROM generate_series(-1, -2, -1) g WHERE g = -1 OR pg_advisory_xact_lock(1) IS NOT NULL")
        # a session that has not loaded the library does not know which lock the option needs
        states = [self.session().answer(statement)[1] for statement in ("ALTER INDEX late_id SET (partition_lookup = on)", "VACUUM late")]
        gate.run("SELECT pg_advisory_unlock(1)")
        thread.join()
        answer = states, thread.states[0], self.found(reader, -2)
        self.ok("an option that comes while a statement inserts", None if answer == (["00000"] * 2, "00000", ["1", "1"]) else str(answer))
        reader.run("VACUUM late")
        self.ok("the next VACUUM reads the partition", None if reader.run(STATES) == ["true"] and self.found(reader, -2) == ["1", "1"] else "it does not")

    def leftover(self):
        server.make(DATABASE, setup(4, 100))
        first, second, dropper, reader = self.sessions(4)
        reader.run("ALTER TABLE log DETACH PARTITION log_3")
        state = self.fail_behind(dropper, "DROP INDEX CONCURRENTLY log_3_id_idx", first, second, "SELECT count(*) FROM log_3")
        left = reader.run("SELECT indisready FROM pg_index WHERE indexrelid = 'log_3_id_idx'::regclass")
        for statement in ("CREATE INDEX log_3_new ON log_3 USING bloomx (id) WITH (partition_lookup = on)", "INSERT INTO log_3 VALUES (-1, 3)",
                          "ALTER TABLE log ATTACH PARTITION log_3 FOR VALUES IN (3)"):
            reader.run(statement)
        answer = state, left, self.found(reader, -1)
        self.ok("an index that could not be dropped", None if answer == ("57014", ["f"], ["1", "1"]) else str(answer))

    def replaced(self):
        server.make(DATABASE, setup(4, 100))
        first, second, reindexer, reader = self.sessions(4)
        state = self.fail_behind(reindexer, f"REINDEX INDEX CONCURRENTLY {STORE}", first, second, "INSERT INTO log VALUES (-1, 1)")
        closed = reader.run(STATES)
        reader.run("VACUUM log")
        answer = state, closed, reader.run(STATES), self.found(reader, 7)
        self.ok("a store that could not be replaced", None if answer == ("57014", ["false"], ["true"], ["1", "1"]) else str(answer))

    def first(self):
        server.make(DATABASE, setup(200, 2000, "SELECT bloomx_seal('log_id');"))
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write("\\set part random(0, 199)\nINSERT INTO log SELECT -(random() * 1000000)::bigint, :part;\n")
            script.flush()
            os.chmod(script.name, 0o644)
            subprocess.run(["pgbench", "-n", "-c", "8", "-t", "250", "-f", script.name, DATABASE], check=True, capture_output=True)
        complete = int(self.one("SELECT count(*) FILTER (WHERE complete) FROM bloomx_partitions('log_id')"))
        # a machine may be so busy that somebody waits for too long
        self.ok("the first keys of many partitions", None if complete >= 190 else f"{200 - complete} of 200 partitions have lost their filters")

    def promoted(self):
        server.make(DATABASE, setup(2, 200, "INSERT INTO log SELECT g, 1 FROM generate_series(1, 300000) g;"))
        builder, watcher = self.session(), self.session()
        self.replica.start("")
        size = f"pg_relation_size('{STORE}')"
        before = watcher.value(size)
        # the table does not fit into memory, so it is read again after the pages of the filter were taken
        for name, value in ("maintenance_work_mem", "1MB"), ("vacuum_cost_delay", "2ms"), ("vacuum_cost_limit", "1"):
            builder.run(f"SET {name} = '{value}'")
        pid = int(builder.value("pg_backend_pid()"))
        thread = threading.Thread(target=lambda: builder.answer("VACUUM log_1"))
        thread.start()
        while thread.is_alive() and watcher.value(size) == before:
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(pid, signal.SIGSTOP)
        making = thread.is_alive()
        watcher.run("CREATE TABLE note (); CHECKPOINT")
        target = watcher.value("pg_current_wal_lsn()")
        reader = self.session(self.replica.port)
        while reader.value(f"pg_last_wal_replay_lsn() >= '{target}'") != "true":
            time.sleep(0.1)
        reader.run("SELECT pg_promote()")
        os.kill(pid, signal.SIGCONT)
        thread.join()
        problem = None if making else "nothing was being made"
        for i in range(3):
            for statement in (f"INSERT INTO log SELECT -g, 0 FROM generate_series({20000 * i + 1}, {20000 * i + 20000}) g", "SELECT bloomx_seal('log_id')", "VACUUM log"):
                state = reader.answer(statement)[1]
                problem = problem or (f"{statement}: {state}" if state != "00000" else None)
        answer = reader.run(STATES), self.found(reader, -5)
        self.ok("a filter in the making when a standby took over", problem or (None if answer == (["true"], ["1", "1"]) else str(answer)))
        self.replica.stop()

    def skew(self):
        server.make(DATABASE, setup(4, 100, "CREATE TABLE mark (id bigint);"))
        for number, again in enumerate((f"REINDEX INDEX {STORE}", "TRUNCATE bloomx_partition_store"), 1):
            first, second, other = self.sessions(3)
            other.run("SELECT bloomx_seal('log_id')")
            for session in (first, second):
                session.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
            answer = [second.run("SELECT count(*) FROM mark WHERE id = 1"), first.run(f"SELECT count(*) FROM log WHERE id = -{number}")]
            first.run("INSERT INTO mark VALUES (1); COMMIT")
            other.run(again)
            answer += [second.answer(statement)[1] for statement in (f"INSERT INTO log VALUES (-{number}, 1)", "COMMIT")]
            other.run("TRUNCATE mark")
            self.ok(f"write skew beside {again.split()[0]}", None if answer[:2] == [["0"], ["0"]] and "40001" in answer else str(answer))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="option,leftover,replaced,first,promoted,skew")
    test = Test()
    try:
        for name in parser.parse_args().only.split(","):
            getattr(test, name)()
            test.close()
    finally:
        test.replica.stop()
        server.drop(DATABASE)
    print(f"{test.passed} passed, {test.failed} failed")
    return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
