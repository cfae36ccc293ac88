#!/usr/bin/env python3
"""The store of partitions' keys says "possibly" for each partition that has a key, whatever else goes on.

    scripts/throwaway test/server/partition_store.py [--kills N] [--seconds N] [--seed N]

Writers insert, update, move, delete and roll back, also to savepoints and as prepared transactions, in the partitions of a
table, while others vacuum, seal, reindex (concurrently), truncate, detach and attach, rewrite and create partitions, and
readers compare rows with the store in one statement.  The server is killed in the middle (--kills rounds, 3), and recovers.
A standby follows, and its readers do the same.  A dump is restored.  Serializable transactions that ask for keys which
are not there, and then insert them, do not both succeed.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
provides.  Kills that server and restarts it; makes a replica.  The last line is "N passed, N failed".
"""

import argparse
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server
from server import Failure, Lost

DATABASE = "bloomx_partition_store"
PARTITIONS = 12
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE log (id bigint, word text, part int) PARTITION BY LIST (part);
""" + "".join(f"CREATE TABLE log_{i} PARTITION OF log FOR VALUES IN ({i});\n" for i in range(PARTITIONS)) + """
CREATE TABLE log_rest PARTITION OF log DEFAULT;
INSERT INTO log SELECT g, 'w' || g, g % 12 FROM generate_series(1, 3000) g;
CREATE INDEX log_key ON log USING bloomx (id, word) WITH (partition_lookup = on);
CREATE TABLE asked (id bigint, part int) PARTITION BY LIST (part);
CREATE TABLE asked_1 PARTITION OF asked FOR VALUES IN (1);
CREATE TABLE asked_2 PARTITION OF asked FOR VALUES IN (2);
CREATE INDEX asked_id ON asked USING bloomx (id) WITH (partition_lookup = on);
"""
LOAD = """
\\set key random(1, 1000000000)
\\set part random(0, 13)
\\set rows random(1, 60)
\\set undo random(1, 6)
BEGIN;
INSERT INTO log SELECT :key + i * 7919, 'w' || :key + i, :part FROM generate_series(1, :rows) i;
UPDATE log SET part = (part + 1) % 12 WHERE id = :key + 7919;
SAVEPOINT a;
INSERT INTO log SELECT :key, 'x', i FROM generate_series(0, 3) i;
\\if :undo = 1
ROLLBACK TO a;
\\endif
INSERT INTO log VALUES (:key, 'after', :part);
DELETE FROM log WHERE id = :key + 2 * 7919 AND part = :part;
UPDATE log SET word = word || 'y' WHERE id = :key + 3 * 7919 AND part = :part;
\\if :undo = 2
ROLLBACK;
\\elif :undo = 3
PREPARE TRANSACTION 't:client_id:key';
COMMIT PREPARED 't:client_id:key';
\\else
COMMIT;
\\endif
"""
# of some rows; the store is asked after the statement's snapshot was taken
MISSING = """
SELECT count(*), string_agg(concat_ws(',', t.tableoid::regclass, t.id, t.word, t.xmin, t.ctid), ' ') FROM (SELECT tableoid, xmin, ctid, * FROM log TABLESAMPLE BERNOULLI (%g)) t
WHERE NOT EXISTS (SELECT FROM bloomx_possible_partitions('log_key', t.id) p WHERE p = t.tableoid)
	OR NOT EXISTS (SELECT FROM bloomx_possible_partitions('log_key', t.word, 2) p WHERE p = t.tableoid)
"""
CHANGES = [
    "VACUUM log_{n}", "VACUUM log_{n}", "VACUUM log", "SELECT bloomx_seal('log_key')", "SELECT bloomx_seal('log_key')",
    "REINDEX INDEX log_{n}_id_word_idx", "REINDEX TABLE CONCURRENTLY log_{n}", "VACUUM FULL log_{n}",
    "BEGIN; TRUNCATE log_{n}; INSERT INTO log_{n} SELECT g, 'new', {n} FROM generate_series(1, 50) g; SELECT pg_sleep(0.02); COMMIT",
    "BEGIN; TRUNCATE log_{n}; INSERT INTO log_{n} SELECT g, 'new', {n} FROM generate_series(1, 50) g; SELECT bloomx_seal('log_key'); ROLLBACK",
    "BEGIN; ALTER TABLE log DETACH PARTITION log_{n}; INSERT INTO log_{n} SELECT g, 'away', {n} FROM generate_series(1, 50) g; ALTER TABLE log ATTACH PARTITION log_{n} FOR VALUES IN ({n}); COMMIT",
    "BEGIN; ALTER TABLE log DETACH PARTITION log_{n}; DROP TABLE log_{n}; CREATE TABLE log_{n} PARTITION OF log FOR VALUES IN ({n}); COMMIT",
    "BEGIN; ALTER TABLE log_{n} SET UNLOGGED; ALTER TABLE log_{n} SET LOGGED; COMMIT",
    "DELETE FROM log_{n} WHERE random() < 0.5",
]

os.environ["PGOPTIONS"] = "-c lock_timeout=20s"


def configure(**settings):
    for name, value in settings.items():
        server.psql(f"ALTER SYSTEM SET {name} = '{value}';", "postgres", stop=True)


class Test(server.Checks):
    def __init__(self, options):
        super().__init__(DATABASE, "-c lock_timeout=20s", LOAD)
        self.options = options
        self.problems, self.counts = [], {}

    # ---- what goes on at the same time ----

    def writers(self):
        return subprocess.Popen(["pgbench", "-n", "-c", "3", "-T", "600", "--max-tries=100", "--random-seed", str(random.randrange(10 ** 6)), "-f", self.script.name, DATABASE],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def repeat(self, what, until, port=None):
        """Does something with a session until then; errors that concurrency brings are passed over."""
        session = self.session(port)
        session.port = port
        try:
            while time.monotonic() < until:
                try:
                    what(session)
                except Failure as failure:
                    # deadlock, lock timeout, serialization, a table that is just gone, an index that another REINDEX has left
                    if failure.state not in ("40P01", "55P03", "40001", "42P01", "42704", "42P07", "XX000", "25P02", "42809", "42P17"):
                        self.problems.append(str(failure))
                    session.answer("ROLLBACK")
        except Lost:
            pass
        session.close()

    def change(self, session):
        statement = random.choice(CHANGES).format(n=random.randrange(PARTITIONS))
        for part in statement.split("; "):
            session.run(part)
        self.counts["changes"] = self.counts.get("changes", 0) + 1

    def read(self, session):
        missing, rows = session.run(MISSING % 5)[0].split("\t")
        self.counts["questions"] = self.counts.get("questions", 0) + 1
        if missing != "0":
            self.problems.append(f"{missing} rows are missing{' on the standby' if session.port else ''}: {rows[:200]}")

    def load(self, seconds, port=None):
        """Everything together; returns what is wrong."""
        self.problems, until = [], time.monotonic() + seconds
        jobs = [(self.change, None), (self.read, None)] + ([(self.read, port)] if port else [(self.read, None)])
        threads = [threading.Thread(target=self.repeat, args=(what, until, to)) for what, to in jobs]
        writers = self.writers()
        for thread in threads:
            thread.start()
        return threads, writers

    def end(self, threads, writers):
        for thread in threads:
            thread.join()
        writers.kill()
        writers.wait()
        return "; ".join(self.problems[:3]) or None

    def missing(self, port=None):
        count = self.one(MISSING % 100, port).split("\t")[0]
        complete = self.one("SELECT count(*) FILTER (WHERE complete) FROM bloomx_partitions('log_key')", port)
        found = float(self.one("SELECT avg(n) FROM (SELECT (SELECT count(*) FROM bloomx_possible_partitions('log_key', -g::bigint)) AS n FROM generate_series(1, 200) g) s", port))
        # where all partitions are candidates, nothing could be missing
        return None if count == "0" and int(complete) > 3 and found < PARTITIONS - 2 else f"{count} rows, {complete} complete, {found} candidates"

    # ---- the tests ----

    def together(self):
        self.ok("no row is missing while all goes on", self.end(*self.load(3 * self.options.seconds)) or self.missing())
        print("    " + ", ".join(f"{count} {what}" for what, count in self.counts.items()))
        leaves = self.one("SELECT count(bloomx_check_index(c.oid)) FROM pg_class c JOIN pg_index i ON indexrelid = c.oid AND indisvalid AND indrelid IN (SELECT inhrelid FROM pg_inherits) WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'bloomx') AND relkind = 'i'")
        self.ok("bloomx_check_index of each", None if int(leaves) >= PARTITIONS else leaves)

    def crashes(self):
        for number in range(self.options.kills):
            threads, writers = self.load(600)
            time.sleep(self.options.seconds * random.uniform(0.5, 1.5))
            server.kill()
            problem = self.end(threads, writers)
            if not server.start(os.environ["PGDATA"]):
                sys.exit("the server does not start")
            for xact in [row for row in self.rows("SELECT gid FROM pg_prepared_xacts")]:
                self.one(f"COMMIT PREPARED '{xact}'; SELECT 1")
            self.ok(f"round {number + 1}: no committed row is missing after SIGKILL", problem or self.missing())
        self.one("SELECT bloomx_seal('log_key')")
        self.ok("what crashes have left behind is freed", None if self.one("SELECT bloomx_seal('log_key') >= 0 AND pg_relation_size('bloomx_partition_store_pages') < 30000000") == "t" else "it is not")

    def rows(self, statement):
        session = self.session()
        try:
            return session.run(statement)
        finally:
            session.close()

    def standby(self):
        configure(wal_consistency_checking="generic")
        server.psql("SELECT pg_reload_conf();", "postgres", stop=True)
        self.replica.start("hot_standby_feedback = on\n")
        self.ok("no row is missing on a standby that follows", self.end(*self.load(3 * self.options.seconds, self.replica.port)))
        target = self.one("SELECT pg_current_wal_lsn()")
        for _ in range(600):
            if self.one(f"SELECT pg_last_wal_replay_lsn() >= '{target}'", self.replica.port) == "t":
                break
            time.sleep(0.1)
        self.ok("nor when it has replayed everything", self.missing(self.replica.port))
        try:
            self.one("SELECT bloomx_seal('log_key')", self.replica.port)
            self.ok("a standby seals nothing", "it did")
        except Failure as failure:
            self.ok("a standby seals nothing", None if failure.state in ("25006", "55000") else str(failure))
        self.replica.stop()

    def restored(self):
        server.drop(DATABASE + "_restored")
        dump = subprocess.run(["pg_dump", DATABASE], capture_output=True, check=True, text=True).stdout
        self.ok("a dump has nothing of the store", "its table is in it" if "bloomx_partition_store" in dump.replace(DATABASE, "") else None)
        server.psql(f"CREATE DATABASE {DATABASE}_restored TEMPLATE template0;", "postgres", stop=True)
        server.psql(dump, DATABASE + "_restored", stop=True)
        done = server.psql(MISSING % 100 + ";SELECT bool_and(complete) FROM bloomx_partitions('log_key')", DATABASE + "_restored", stop=True)
        self.ok("a restored database has all keys", None if done.stdout.split() == ["0|", "t"] else done.stdout)
        server.drop(DATABASE + "_restored")

    def serializable(self):
        """Each of two transactions finds that the other's key is absent, and inserts its own: one must fail."""
        failures = 0
        for number in range(20):
            first, second = self.session(), self.session()
            try:
                for session in (first, second):
                    session.run("SET enable_seqscan = off")
                    session.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
                for session, key in ((first, 2), (second, 1)):
                    session.run(f"SELECT count(*) FROM asked WHERE id = {10 * number + key}")
                for session, key in ((first, 1), (second, 2)):
                    session.run(f"INSERT INTO asked VALUES ({10 * number + key}, {key})")
                first.run("COMMIT")
                second.run("COMMIT")
            except Failure as failure:
                failures += failure.state == "40001"
            first.close()
            second.close()
        self.ok("write skew through absent keys", None if failures == 20 else f"{failures} of 20 failed")

    def run(self):
        # filters are built again and again, beside inserts
        configure(autovacuum_naptime="1s", autovacuum_vacuum_threshold="5", autovacuum_vacuum_insert_threshold="10", max_prepared_transactions="20")
        server.as_server("pg_ctl", "-D", os.environ["PGDATA"], "-s", "-w", "-m", "fast", "stop")
        if not server.start(os.environ["PGDATA"]):
            sys.exit("the server does not start")
        server.make(DATABASE, SETUP)
        if self.options.only:
            getattr(self, self.options.only)()
        else:
            self.together()
            self.crashes()
            self.standby()
            self.restored()
            self.serializable()
        server.drop(DATABASE)
        os.unlink(self.script.name)
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["together", "crashes", "standby", "restored", "serializable"])
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    test = Test(arguments)
    try:
        sys.exit(1 if test.run() else 0)
    finally:
        test.replica.stop()
