#!/usr/bin/env python3
"""A set of access method bloomset never says "no" to a key that a row has.

    scripts/throwaway test/server/bloomset.py [--kills N] [--seconds N] [--seed N]

Writers add keys to sets that grow and to sets of one stage, some roll back; the server is killed in the middle
(--kills rounds, 3), and recovers.  Pages are torn by hand before a recovery.  A standby is asked while it follows, and
what it replays is compared with the primary's pages.  Snapshots that are older than a set, on the primary and on the
standby, get the right answer or are refused.  Damaged files give errors, but no crash.  Each check that finds nothing
missing is tried on a set that lacks keys, too.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
provides.  Kills that server and restarts it; makes a replica.  The last line is "N passed, N failed".
"""

import argparse
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server
from server import Failure, Lost
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
import bloomx

DATABASE = "bloomx_set"
BLOCK = 8192
SETS = ["growing_k", "fixed_k", "pair_ab"]
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE growing (k bigint);
CREATE INDEX growing_k ON growing USING bloomset (k) WITH (stage_size = 64, fpr = 0.001);
CREATE TABLE fixed (k text);
CREATE INDEX fixed_k ON fixed USING bloomset (k) WITH (capacity = 500000, fpr = 0.001);
CREATE TABLE pair (a int, b text);
CREATE INDEX pair_ab ON pair USING bloomset (a, b) WITH (stage_size = 128, fpr = 0.001);
CREATE TABLE stream (filter bloomset_stage(20000, 0.001)) USING bloomset_table;
CREATE TABLE claimed (filter bloomset_stage) USING bloomset_table;
CREATE TABLE log (k bigint);
CREATE TABLE won (k bigint);
CREATE UNLOGGED TABLE unlogged_stream (filter bloomset_stage) USING bloomset_table;
CREATE UNLOGGED TABLE unlogged (k int);
CREATE INDEX unlogged_k ON unlogged USING bloomset (k);
"""
LOAD = """
\\set key random(1, 1000000000)
\\set rows random(1, 100)
\\set undo random(1, 5)
BEGIN;
INSERT INTO growing SELECT :key + i * 7919 FROM generate_series(1, :rows) i;
INSERT INTO fixed SELECT 'key ' || :key + i FROM generate_series(1, :rows) i;
INSERT INTO pair SELECT :key, 'b' || i FROM generate_series(1, :rows) i;
INSERT INTO growing VALUES (:key);
INSERT INTO log SELECT unnest(bloomset_add_new('stream', array_agg(:key::bigint + i * 7919))) FROM generate_series(1, :rows) i;
INSERT INTO log SELECT :key WHERE bloomset_add('stream', :key::bigint);
SELECT bloomset_add('unlogged_stream', :key::bigint);
\\if :undo = 1
ROLLBACK;
\\else
COMMIT;
\\endif
"""
MISSING = """
SELECT (SELECT count(*) FROM growing WHERE NOT bloomset_contains('growing_k', k)) + (SELECT count(*) FROM fixed WHERE NOT bloomset_contains('fixed_k', k))
	+ (SELECT count(*) FROM pair WHERE NOT bloomset_contains('pair_ab', ROW(a, b))) + (SELECT count(*) FROM log WHERE NOT bloomset_contains('stream', k))
"""


def stop(mode, data=None):
    done = server.as_server("pg_ctl", "-D", data or os.environ["PGDATA"], "-s", "-w", "-m", mode, "stop")
    if done.returncode:
        sys.exit("pg_ctl stop: " + done.stdout)


def start(data=None):
    if not server.start(data or os.environ["PGDATA"]):
        sys.exit("the server does not start")


def configure(**settings):
    lines = [f"ALTER SYSTEM SET {name} = '{value}';" if value else f"ALTER SYSTEM RESET {name};" for name, value in settings.items()]
    for line in lines:
        server.psql(line, "postgres", stop=True)
    server.psql("SELECT pg_reload_conf();", "postgres", stop=True)


os.environ["PGOPTIONS"] = "-c lock_timeout=60s"


class Test(server.Checks):
    def __init__(self, options):
        super().__init__(DATABASE, "-c max_parallel_workers_per_gather=0 -c lock_timeout=60s", LOAD)
        self.options = options

    def path(self, relation):
        return os.path.join(os.environ["PGDATA"], self.one(f"SELECT pg_relation_filepath('{relation}')"))

    def writers(self, seconds):
        seed = self.options.seed * 1000 + random.randrange(1000)
        return subprocess.Popen(["pgbench", "-n", "-c", "6", "-j", "2", "-T", str(seconds), "--random-seed", str(seed), "-f", self.script.name, DATABASE],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def missing(self, port=None):
        """The number of rows whose key is missing, and what else is wrong."""
        missing = self.one(MISSING, port)
        rates = self.one("SELECT max((bloomset_info(s::regclass)).fpr) FROM unnest(ARRAY['growing_k', 'fixed_k', 'pair_ab']) s", port)
        if missing != "0":
            return f"{missing} rows"
        # at a high rate a missing key would not be seen
        return f"the false positive rate is {rates}" if float(rates) > 0.05 else None

    # ---- crashes ----

    def crashes(self):
        for number in range(self.options.kills):
            if number % 5 == 0:  # later the fixed set would have too many keys
                server.psql("TRUNCATE growing, fixed, pair, log; TRUNCATE stream;", DATABASE, stop=True)
            writers = self.writers(600)
            time.sleep(self.options.seconds * random.uniform(0.5, 1.5))
            while self.one("SELECT EXISTS (SELECT FROM log)") == "f":
                time.sleep(0.1)
            server.kill()
            writers.wait()
            start()
            # the control: of a set without WAL the same question finds keys missing
            lost = self.one("SELECT count(*) FROM log WHERE NOT bloomset_contains('unlogged_stream', k)")
            self.ok(f"round {number + 1}: no committed key is missing after SIGKILL, but without WAL {lost} are", self.missing() or (None if lost != "0" else "the control lost nothing"))
        rows = self.one("SELECT string_agg(bloomset_check(s::regclass) || ' rows in ' || (bloomset_info(s::regclass)).stages || ' stages', ', ') FROM unnest(ARRAY['growing_k', 'fixed_k', 'pair_ab']) s")
        print(f"    {rows}")

    def format(self):
        """A program that knows FORMAT.md alone finds the keys in the files."""
        self.writers(1).wait()
        server.psql("CHECKPOINT", DATABASE, stop=True)
        problems = []
        for relation, keys, key in (("growing_k", "SELECT k FROM growing LIMIT 500", lambda k: bloomx.integer(int(k))), ("fixed_k", "SELECT k FROM fixed LIMIT 500", bloomx.text),
                                    ("stream", "SELECT k FROM log LIMIT 500", lambda k: bloomx.integer(int(k)))):
            with open(self.path(relation), "rb") as file:
                content = file.read()
            session = self.session()
            rows = session.run(keys)
            session.close()
            (seed,), (stages,) = struct.unpack_from("=Q", content, 80), struct.unpack_from("=I", content, 112)
            shapes = [struct.unpack_from("=QQdII", content, 184 + 32 * i) for i in range(stages)]
            lost = [k for k in rows if not any(self.has(content, shape, key(k).hash(seed)) for shape in shapes)]
            others = sum(any(self.has(content, shape, bloomx.text(f"other {i}").hash(seed)) for shape in shapes) for i in range(500))
            if lost or others > 50 or not rows or len(rows) > 500:
                problems.append(f"{relation}: {lost[:5]} of {len(rows)}, {others} others")
        self.ok("a reader of FORMAT.md finds the keys in the files", "; ".join(problems))

    @staticmethod
    def has(content, shape, w):
        blocks, _, _, first, parts = shape
        per_page, block, x = (BLOCK - 64) // 8 // parts, w * blocks >> 64, w * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        words = struct.unpack_from(f"={parts}Q", content, (first + block // per_page) * BLOCK + 64 + 8 * parts * (block % per_page))
        return all(word >> (x >> 58 - 6 * j & 63) & 1 for j, word in enumerate(words))

    def before_wal(self):
        """A writer whose bits are on the page, and whose WAL record is not; another one with the same key; a crash."""
        if not shutil.which("gdb"):
            print("skipped: what is committed before the WAL has its key: there is no gdb")
            return
        server.psql("""DROP TABLE IF EXISTS twice, twice_s, other_s; CREATE TABLE twice (k int); CREATE INDEX twice_k ON twice USING bloomset (k); INSERT INTO twice VALUES (1);
            CREATE TABLE twice_s (f bloomset_stage(1000, 0.01)) USING bloomset_table; CREATE TABLE other_s (LIKE twice_s) USING bloomset_table;
            SELECT bloomset_add('twice_s', 1), bloomset_add('other_s', 7)""", DATABASE, stop=True)
        self.one_before_wal("no row is committed before the WAL has its key", "INSERT INTO twice VALUES (7)", "INSERT INTO twice VALUES (7)",
                            "SELECT count(*) FROM twice WHERE NOT bloomset_contains('twice_k', k)")
        self.one_before_wal("nor is a merge", "SELECT bloomset_add('twice_s', 7)", "INSERT INTO twice_s TABLE other_s", "SELECT (NOT bloomset_contains('twice_s', 7))::int")

    def stopped(self, session, function, statement, answers):
        """Starts a statement that gdb stops in that function; gdb, until it is told to go on, and the thread that waits for the answer; or None."""
        pid = session.run("SELECT pg_backend_pid() FROM bloomset_info('growing_k')")[0]
        gdb = subprocess.Popen(["gdb", "-q", "-batch", "-p", pid, "-ex", f"break {function}", "-ex", "echo =waits=\\n", "-ex", "continue",
                                "-ex", "echo =stopped=\\n", "-ex", "shell read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, thread = b"", threading.Thread(target=self.try_one, args=(session, statement, answers))
        for line in gdb.stdout:
            output += line
            if line.startswith(b"=waits="):
                thread.start()
            if line.startswith(b"=stopped="):
                break
        if b"hit Breakpoint" in output or b"\nBreakpoint 1, " in output:
            return gdb, thread
        gdb.kill()
        print(f"skipped: {statement}: gdb cannot stop the server: {output[-300:].decode('utf-8', 'replace')}")
        return None

    def one_before_wal(self, what, statement, same, lost):
        first, second = self.session(), self.session()
        stopped = self.stopped(first, "BloomxFinishChanges", statement, [])
        if stopped is None:
            return
        gdb, thread = stopped
        other = second.run("SELECT pg_backend_pid()")[0]
        ended = []
        insert = threading.Thread(target=self.try_one, args=(second, same, ended))
        insert.start()
        while insert.is_alive() and self.one(f"SELECT wait_event_type FROM pg_stat_activity WHERE pid = {other}") != "LWLock":
            time.sleep(0.05)
        server.kill()
        gdb.kill()
        thread.join()
        insert.join()
        start()
        self.ok(what, "it was" if ended and self.one(lost) != "0" else None)

    def grown(self):
        """A set gets its first stage just when another session begins to read what stages it has."""
        if not shutil.which("gdb"):
            print("skipped: a set that grows while it is read: there is no gdb")
            return
        server.psql("DROP TABLE IF EXISTS grown; CREATE TABLE grown (k int); CREATE INDEX grown_k ON grown USING bloomset (k)", DATABASE, stop=True)
        reader, answers = self.session(), []
        stopped = self.stopped(reader, "ReadSetPage", "SELECT bloomset_contains('grown_k', 1)", answers)
        if stopped is None:
            return
        gdb, thread = stopped
        self.one("INSERT INTO grown VALUES (1) RETURNING 1")
        gdb.communicate(b"\n")
        thread.join()
        reader.close()
        self.ok("a set may grow while its stages are read", None if answers == [["t"]] else f"{answers}")

    def serializable(self):
        """An INSERT has told of its key those who have tested it, and has not added it yet; then another transaction tests it."""
        if not shutil.which("gdb"):
            print("skipped: a test between an INSERT and its key: there is no gdb")
            return
        server.psql("DROP TABLE IF EXISTS serial; CREATE TABLE serial (k int); CREATE INDEX serial_k ON serial USING bloomset (k)", DATABASE, stop=True)
        first, second, answers = self.session(), self.session(), []
        for session in (first, second):
            session.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
        first.run("SELECT bloomset_contains('serial_k', 2)")
        stopped = self.stopped(first, "bloomsetinsert", "INSERT INTO serial VALUES (1)", answers)
        if stopped is None:
            return
        gdb, thread = stopped
        seen = second.run("SELECT bloomset_contains('serial_k', 1)")
        second.run("INSERT INTO serial VALUES (2)")
        second.run("COMMIT")
        gdb.communicate(b"\n")
        thread.join()
        self.try_one(first, "COMMIT", answers)
        for session in (first, second):
            session.close()
        self.ok("serializable transactions do not both miss what the other one inserts", None if seen == ["f"] and any("40001" in str(answer) for answer in answers) else f"{seen}, {answers}")

    def known(self):
        """A key is added by a transaction that stays open, and another one is told that it is known: that is so after a crash."""
        configure(wal_writer_delay="10s", autovacuum="off")
        add, array = "SELECT bloomset_add('known', 2)", "SELECT bloomset_add_new('known', ARRAY[1, 2])"
        for what, setting, statement, answer in (("a key that was told to be known is known after a crash", "on", add, "f"), ("also as one of an array", "on", array, "{}"),
                                                 ("but for synchronous_commit = off", "off", add, "f")):
            for _ in range(5):
                server.psql("DROP TABLE IF EXISTS known; CREATE TABLE known (filter bloomset_stage(1000, 0.01)) USING bloomset_table; SELECT bloomset_add('known', 1); CHECKPOINT;", DATABASE, stop=True)
                first, second = self.session(), self.session()
                second.run(f"SET synchronous_commit = {setting}")
                first.run("BEGIN")
                first.run("SELECT bloomset_add('known', 2)")
                told = second.run(statement)
                server.kill()
                start()
                has = self.one("SELECT bloomset_contains('known', 2)")
                if setting == "on" or has == "f":  # something else may have flushed the WAL
                    break
            self.ok(what, None if told == [answer] and has == ("t" if setting == "on" else "f") else f"{told}, {has}")
        configure(wal_writer_delay=None, autovacuum=None)

    def prepared(self):
        """Keys of rows and claims of a transaction that is prepared, through a crash."""
        configure(max_prepared_transactions="5")
        stop("fast")
        start()
        session = self.session()
        for number, end in ((1, "COMMIT"), (2, "ROLLBACK")):
            session.run("BEGIN")
            session.run(f"INSERT INTO growing SELECT {number} * 7000000000 + g FROM generate_series(1, 3000) g")
            session.run(f"SELECT bloomset_claim('claimed', 30000::bigint + {number})")
            session.run(f"PREPARE TRANSACTION '{end}'")
        session.close()
        server.kill()
        start()
        self.ok("a key that a prepared transaction has claimed cannot be had", None if self.one("SELECT bloomset_claim('claimed', 30001::bigint)") == "f" else "it can")
        for end in ("COMMIT", "ROLLBACK"):
            self.one_command(f"{end} PREPARED '{end}'")
        self.ok("no key of a prepared transaction is missing", self.missing())
        self.ok("what it claimed is remembered, also after ROLLBACK PREPARED", None if self.one("SELECT bloomset_contains_all('claimed', ARRAY[30001, 30002]::bigint[])") == "t" else "it is not")
        configure(max_prepared_transactions=None)

    def one_command(self, command):
        session = self.session()
        session.run(command)
        session.close()

    def checksums(self):
        stop("fast")
        enabled = self.one_checksums("--enable")
        start()
        writers = self.writers(600)
        time.sleep(self.options.seconds)
        server.kill()
        writers.wait()
        start()
        self.ok("with data checksums no key is missing after SIGKILL", enabled or self.missing())
        stop("fast")
        self.ok("and all pages have theirs", self.one_checksums("--check"))
        self.one_checksums("--disable")
        start()

    def one_checksums(self, what):
        done = server.as_server("pg_checksums", what, "-D", os.environ["PGDATA"])
        return done.stdout if done.returncode else None

    def try_one(self, session, statement, answers):
        try:
            answers.append(session.run(statement))
        except Lost:
            pass
        except Failure as failure:
            answers.append(str(failure))

    def put(self, content):
        """Writes the file of growing_k while the server is down.  Returns what it was."""
        with open(os.path.join(os.environ["PGDATA"], self.file), "r+b") as file:
            before = file.read()
            if content is not None:
                file.seek(0)
                file.truncate()
                file.write(content)
        return before

    def control(self):
        """The check sees what is missing: in a set as it was before a load."""
        stop("fast")
        old = self.put(None)
        start()
        self.one("INSERT INTO growing SELECT -g FROM generate_series(1, 20000) g RETURNING 1")
        stop("fast")
        new = self.put(old)
        start()
        problem = self.missing()
        self.ok("a set that lacks keys is noticed", None if problem and "rows" in problem else f"missing: {problem}")
        stop("fast")
        self.put(new)
        start()
        self.ok("and the set that has them, too", self.missing())

    def torn(self, images):
        """Pages whose first half is new and whose second half is old, before a recovery that has images of them, or not."""
        data = os.environ["PGDATA"]
        other = os.path.join(os.path.dirname(data), "recovered")
        configure(full_page_writes="on" if images else "off", autovacuum="off", checkpoint_timeout="1h")
        self.one("SELECT pg_sleep(0.2)")
        server.psql("CHECKPOINT", DATABASE, stop=True)
        with open(os.path.join(data, self.file), "rb") as file:
            old = file.read()
        self.one("INSERT INTO growing SELECT 5000000000 + g + {0} FROM generate_series(1, 6000) g RETURNING 1".format(0 if images else 10 ** 9))
        stop("immediate")
        shutil.rmtree(other, ignore_errors=True)
        server.as_server("cp", "-a", data, other)
        start(other)
        stop("fast", other)
        with open(os.path.join(other, self.file), "rb") as file:
            new = file.read()
        shutil.rmtree(other)
        torn = b"".join(new[at:at + BLOCK // 2] + (old[at + BLOCK // 2:at + BLOCK] or new[at + BLOCK // 2:at + BLOCK]) for at in range(0, len(new), BLOCK))
        self.put(torn)
        start()
        problem = self.missing()
        if images:
            self.ok("no key is missing after torn pages", problem)
        else:
            self.ok("without images of pages keys are missing: the pages were torn", None if problem else "none is")
            self.one("SELECT 1")
            server.psql("REINDEX INDEX growing_k", DATABASE, stop=True)
            self.file = self.one("SELECT pg_relation_filepath('growing_k')")
        configure(full_page_writes=None, autovacuum=None, checkpoint_timeout=None)

    # ---- snapshots ----

    def snapshots(self, port=None):
        """A transaction with a snapshot, asked after others have changed keys and built the set anew."""
        where = "a standby's" if port else "an old"
        for name, rebuild in (("REINDEX", "REINDEX INDEX old_k"), ("CREATE INDEX", "DROP INDEX old_k; CREATE INDEX old_k ON old USING bloomset (k)"),
                              ("CREATE INDEX CONCURRENTLY", None)):
            server.psql("DROP TABLE IF EXISTS old; CREATE TABLE old (k int, v int) WITH (autovacuum_enabled = off);"
                        "INSERT INTO old SELECT g, 0 FROM generate_series(1, 20) g; CREATE INDEX old_k ON old USING bloomset (k);", DATABASE, stop=True)
            self.catch_up(port)
            reader = self.session(port)
            reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.run("SELECT 1")  # takes the snapshot, and no lock on the table, for which the others would wait
            server.psql("UPDATE old SET v = 1; UPDATE old SET k = k + 1000; UPDATE old SET v = 2;", DATABASE, stop=True)
            if rebuild:
                server.psql(rebuild, DATABASE, stop=True)
            elif port:
                server.psql("DROP INDEX old_k", DATABASE, stop=True)
                server.psql("CREATE INDEX CONCURRENTLY old_k ON old USING bloomset (k)", DATABASE, stop=True)
            else:
                reader.run("COMMIT")  # it would wait for the reader
                reader.close()
                continue
            self.catch_up(port)
            try:
                answers = reader.run("SELECT k, bloomset_contains('old_k', k) FROM old WHERE k < 50")
                problem = None if answers and all(row.endswith("t") for row in answers) else str(answers)
            except Failure as failure:
                # 40001: replay of what was pruned in the catalogs has cancelled the reader
                problem = None if failure.state in ("55000", "40001") else str(failure)
            except Lost:
                problem = None
            reader.close()
            self.ok(f"{where} snapshot after {name}: the right answer, or none", problem)
            self.ok(f"a new snapshot after {name}", None if self.one("SELECT count(*) FROM old WHERE bloomset_contains('old_k', k)", port) == "20" else "keys are missing")

    def catch_up(self, port):
        if not port:
            return
        end = self.one("SELECT pg_current_wal_insert_lsn()")
        self.one("SELECT txid_current()")  # the end may lie behind the header of a page on which nothing stands yet
        for _ in range(3000):
            if self.one(f"SELECT pg_last_wal_replay_lsn() >= '{end}'", port) == "t":
                return
            time.sleep(0.1)
        sys.exit("the standby does not follow: it lacks " + self.one(f"SELECT '{end}' - pg_last_wal_replay_lsn()", port) + " bytes")

    # ---- a standby ----

    def standby(self):
        port = self.replica.port
        configure(wal_consistency_checking="generic", wal_keep_size="16GB")
        self.replica.start("hot_standby_feedback = off\nmax_standby_streaming_delay = 5s\n")
        writers = self.writers(self.options.seconds * 2)
        problem, scans = None, 0
        while writers.poll() is None and not problem:
            try:
                problem = self.missing(port)
                scans += 1
            except Failure as failure:
                problem = None if failure.state == "40001" else str(failure)
        writers.wait()
        self.catch_up(port)
        self.ok(f"a standby misses no key while it follows ({scans} scans)", problem or self.missing(port))
        for statement, state in (("INSERT INTO growing VALUES (1)", "25006"), ("REINDEX INDEX growing_k", "25006"), ("SELECT bloomset_contains('unlogged_k', 1)", "0A000"),
                                 ("SELECT bloomset_add('stream', 1)", "25006"), ("SELECT bloomset_add_new('stream', ARRAY[1])", "25006"), ("SELECT bloomset_claim('stream', 1)", "25006"),
                                 ("SELECT bloomset_merge('stream', bloom_empty(5))", "25006")):
            try:
                self.one(statement, port)
                self.ok(f"a standby refuses {statement}", "it does not")
            except Failure as failure:
                self.ok(f"a standby refuses {statement}", None if failure.state == state else str(failure))
        self.snapshots(port)
        self.left_index(port)
        configure(wal_consistency_checking=None, wal_keep_size=None)
        server.as_server("pg_ctl", "-D", self.replica.data, "-s", "-w", "promote")
        self.one("INSERT INTO growing SELECT g FROM generate_series(1, 20000) g RETURNING 1", port)
        self.ok("a promoted standby takes keys", self.missing(port))
        self.replica.stop()
        with open(os.environ["BLOOMX_LOG"], encoding="utf-8", errors="replace") as log:
            self.ok("the standby's pages are those of the primary", "they differ" if "inconsistent page found" in log.read() else None)

    def left_index(self, port):
        """REINDEX CONCURRENTLY leaves an index without new keys, which sessions of a standby have asked, and cannot prevent."""
        server.psql("CREATE TABLE renewed (k int); CREATE INDEX renewed_k ON renewed USING bloomset (k);"
                    "CREATE FUNCTION has_key(set regclass, k int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN bloomset_contains(set, k); END'", DATABASE, stop=True)
        self.catch_up(port)
        index = self.one("SELECT 'renewed_k'::regclass::oid")
        reader, first, second, answers = self.session(port), self.session(), self.session(), []
        reader.run("BEGIN")
        before = reader.run(f"SELECT has_key({index}, 1)")
        thread = threading.Thread(target=server.psql, args=("REINDEX INDEX CONCURRENTLY renewed_k", DATABASE))
        for session, phase in ((first, "waiting for readers before marking dead"), (second, "waiting for readers before dropping")):
            session.run("BEGIN")
            session.run("SELECT FROM renewed")
            if session == first:
                thread.start()
            else:
                first.run("COMMIT")
            while thread.is_alive() and self.one("SELECT count(*) FROM pg_stat_progress_create_index WHERE phase = '" + phase + "'") == "0":
                time.sleep(0.05)
        self.one("INSERT INTO renewed VALUES (1) RETURNING 1")
        self.catch_up(port)
        rows = reader.run("SELECT k FROM renewed")
        self.try_one(reader, f"SELECT has_key({index}, 1)", answers)
        second.run("COMMIT")
        thread.join()
        for session in (reader, first, second):
            session.close()
        self.ok("a standby's session asks no index that REINDEX CONCURRENTLY has left", None if before == ["f"] and rows == ["1"] and "55000" in str(answers) else f"{before}, {rows}, {answers}")

    # ---- several sessions ----

    def together(self):
        server.psql("DROP TABLE IF EXISTS same; CREATE TABLE same (k int); CREATE INDEX same_k ON same USING bloomset (k) WITH (stage_size = 64)", DATABASE, stop=True)
        threads = [threading.Thread(target=self.one, args=("INSERT INTO same SELECT g FROM generate_series(1, 200000) g ORDER BY g % 7, g RETURNING 1",)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keys, rows = self.one("SELECT keys || ' ' || bloomset_check('same_k') FROM bloomset_info('same_k')").split()
        self.ok("four sessions that insert the same keys leave each once", None if 196000 < int(keys) < 202000 and rows == "800000" else f"{keys} keys, {rows} rows")

        # a set without a table: each key is new exactly once, by adds and by claims, whatever is rolled back
        server.psql("TRUNCATE log; TRUNCATE stream; TRUNCATE won; TRUNCATE claimed", DATABASE, stop=True)
        for name, statement in (("arrays", "INSERT INTO log SELECT unnest(bloomset_add_new('stream', array_agg(g::bigint))) FROM generate_series(1, 100000) g GROUP BY g / 3000"),
                                ("single keys", "INSERT INTO log SELECT g FROM generate_series(100001, 140000) g WHERE bloomset_add('stream', g::bigint)")):
            threads = [threading.Thread(target=self.one, args=(statement + " RETURNING 1",)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.ok(f"of four sessions that add {name}, one finds each new", self.one("SELECT string_agg(k::text, ' ') FROM (SELECT k FROM log GROUP BY k HAVING count(*) > 1 LIMIT 5) x") or None)
        self.ok("and hardly any was a false positive", None if int(self.one("SELECT count(*) FROM log")) > 139500 else self.one("SELECT count(*) FROM log"))
        self.claims()
        self.reread()

    def reread(self):
        """A statement waits for a row of another table, and reads it and the stage again."""
        server.psql("CREATE TABLE counted (k bigint, n int); INSERT INTO counted VALUES (1, 0); CREATE TABLE joined (filter bloomset_stage(1000, 0.01)) USING bloomset_table; SELECT bloomset_add('joined', 1::bigint)", DATABASE, stop=True)
        for statement in ("UPDATE counted SET n = n + 1 FROM joined WHERE k <@ filter::bloomfilter RETURNING n",
                          "SELECT n + 1 FROM counted, joined WHERE k <@ filter::bloomfilter FOR UPDATE OF counted"):
            other, answers = self.session(), []
            other.run("BEGIN")
            other.run("UPDATE counted SET n = 10")
            thread = threading.Thread(target=lambda: answers.append(self.one(statement)))
            thread.start()
            while thread.is_alive() and self.one("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0":
                time.sleep(0.05)
            other.run("COMMIT")
            thread.join()
            other.close()
            self.ok(f"{statement.split()[0]} of a row that changed meanwhile, joined with a set", None if answers == ["11"] else f"{answers}")
        server.psql("DROP TABLE counted", DATABASE, stop=True)

    def claims(self):
        """Four sessions claim keys, one transaction in three is rolled back, some in a subtransaction."""
        script = self.script.name + ".claims"
        with open(script, "w", encoding="ascii") as file:
            file.write("\\set key random(1, 3000)\n\\set undo random(1, 3)\nBEGIN;\nINSERT INTO won SELECT :key WHERE bloomset_claim('claimed', :key::bigint);\nSAVEPOINT s;\n"
                       "INSERT INTO won SELECT :key + 10000 WHERE bloomset_claim('claimed', :key::bigint + 10000);\n"
                       "\\if :undo = 1\nROLLBACK;\n\\elif :undo = 2\nROLLBACK TO s;\nCOMMIT;\n\\else\nCOMMIT;\n\\endif\n")
        os.chmod(script, 0o644)
        subprocess.run(["pgbench", "-n", "-c", "4", "-j", "2", "-t", "3000", "--max-tries=10", "-f", script, DATABASE], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.unlink(script)
        twice, lost, forgotten, keys = self.one("""SELECT (SELECT count(*) FROM (SELECT k FROM won GROUP BY k HAVING count(*) > 1) x) || ' ' ||
            (SELECT count(*) FROM generate_series(1, 13000) g WHERE (g <= 3000 OR g > 10000) AND bloomset_contains('claimed', g::bigint) AND g NOT IN (SELECT k FROM won)) || ' ' ||
            (SELECT count(*) FROM won WHERE NOT bloomset_contains('claimed', k)) || ' ' || (SELECT count(*) FROM won)""").split()
        self.ok(f"claims: no key is won twice ({keys} were won)", twice if twice != "0" or int(keys) < 3000 else None)
        self.ok("claims: a key that is remembered was won, but for false positives", lost if int(lost) > 60 else None)
        self.ok("claims: what was won is remembered", forgotten if forgotten != "0" else None)
        for key, end, statement, answer in ((20001, "COMMIT", "SELECT bloomset_add('claimed', 20001::bigint)", "f"), (20002, "ROLLBACK", "SELECT bloomset_add('claimed', 20002::bigint)", "t"),
                                            (20003, "COMMIT", "SELECT cardinality(bloomset_add_new('claimed', ARRAY[20003, 20004]::bigint[]))", "1"),
                                            (20005, "COMMIT", "SELECT bloomset_claim('claimed', 20005::bigint)", "f")):
            first, answers = self.session(), []
            first.run("BEGIN")
            first.run(f"SELECT bloomset_claim('claimed', {key}::bigint)")
            thread = threading.Thread(target=lambda: answers.append(self.one(statement)))
            thread.start()
            for _ in range(100):
                if answers or self.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != "0":
                    break
                time.sleep(0.05)
            first.run(end)
            thread.join()
            first.close()
            self.ok(f"claims: {statement[7:]} waits for the {end} of who has claimed the key", None if answers == [answer] else f"{answers}")
        self.first_claim()

    def first_claim(self):
        """A call site has seen the set before anything in it was claimed."""
        server.psql("TRUNCATE claimed; CREATE OR REPLACE FUNCTION add_one(k bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN bloomset_add('claimed', k); END $$", DATABASE, stop=True)
        first, second, answers = self.session(), self.session(), []
        first.run("BEGIN")
        first.run("SELECT add_one(1)")
        second.run("BEGIN")
        second.run("SELECT bloomset_claim('claimed', 2::bigint)")
        thread = threading.Thread(target=lambda: answers.extend(first.run("SELECT add_one(2)")))
        thread.start()
        while thread.is_alive() and self.one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "0":
            time.sleep(0.05)
        second.run("COMMIT")
        thread.join()
        first.close()
        second.close()
        self.ok("claims: who has seen the set before waits as well", None if answers == ["f"] else f"{answers}")

    def restored(self):
        """A dump and restore: the same answers and the same rate."""
        target = "bloomx_set_restored"
        server.drop(target)
        server.psql(f"CREATE DATABASE {target}", "postgres", stop=True)
        dump = subprocess.run(["pg_dump", "-d", DATABASE, "-t", "stream", "-t", "log", "--no-owner"], capture_output=True, check=True)
        server.psql("CREATE EXTENSION bloomx;", target, stop=True)
        done = subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", target], input=dump.stdout, capture_output=True, check=False)
        session = server.Session(target)
        there = session.run("SELECT (SELECT string_agg(md5(filter::bloomfilter::bytea), ' ') FROM stream) || (bloomset_info('stream')).capacity")
        session.close()
        here = self.one("SELECT (SELECT string_agg(md5(filter::bloomfilter::bytea), ' ') FROM stream) || (bloomset_info('stream')).capacity")
        self.ok("a dump and restore give the same set", None if done.returncode == 0 and there == [here] else done.stderr.decode() or "it differs")
        server.drop(target)

    def concurrently(self):
        """Sets built while others write."""
        writers = self.writers(600)
        for name, command in (("CREATE INDEX CONCURRENTLY", "CREATE INDEX CONCURRENTLY later ON growing USING bloomset (k) WITH (fpr = 0.001)"),
                              ("REINDEX CONCURRENTLY", "REINDEX INDEX CONCURRENTLY later"), ("REINDEX", "REINDEX INDEX later")):
            server.psql(command, DATABASE, stop=True)
            time.sleep(0.5)
            missing = self.one("SELECT count(*) FROM growing WHERE NOT bloomset_contains('later', k)")
            self.ok(f"{name} under load misses no key", None if missing == "0" else f"{missing} rows")
        writers.terminate()
        writers.wait()
        server.psql("DROP INDEX later", DATABASE, stop=True)
        if int(self.one("SHOW server_version_num")) >= 190000:
            self.repacked()

    def repacked(self):
        """REPACK (CONCURRENTLY) applies what others have inserted to new indexes, and then exchanges the files of old and new ones."""
        server.psql("DROP TABLE IF EXISTS repacked; CREATE TABLE repacked (k bigint PRIMARY KEY); CREATE INDEX repacked_k ON repacked USING bloomset (k) WITH (fpr = 0.001);"
                    "INSERT INTO repacked SELECT generate_series(1, 500000)", DATABASE, stop=True)
        repack = threading.Thread(target=server.psql, args=("REPACK (CONCURRENTLY) repacked", DATABASE), kwargs={"stop": True})
        repack.start()
        writer, key = self.session(), 0
        while repack.is_alive():
            key -= 100
            writer.run(f"INSERT INTO repacked SELECT generate_series({key}, {key + 99})")
            time.sleep(0.01)
        repack.join()
        writer.close()
        missing = self.one("SELECT count(*) FROM repacked WHERE NOT bloomset_contains('repacked_k', k)")
        self.ok(f"REPACK (CONCURRENTLY) beside {-key} new rows misses no key", None if missing == "0" else f"{missing} rows")

    # ---- damage ----

    JOINS = """LOAD 'bloomx'; SET bloomx.runtime_filter = on; SET bloomx.runtime_filter_min_removed = 0; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;
        SET enable_memoize = off; SET enable_material = off; SET enable_bitmapscan = off"""

    def damage(self, sets=40):
        server.psql("CREATE TABLE asked AS SELECT k FROM generate_series(2001, 6000) k; ANALYZE asked;" +
                    "".join(f"CREATE TABLE d{i} (k int); INSERT INTO d{i} SELECT generate_series(1, 3000); CREATE INDEX ON d{i} (k); CREATE INDEX d{i}_k ON d{i} USING bloomset (k) WITH "
                            f"({'capacity = 3000' if i % 2 else 'stage_size = 64'}); ANALYZE d{i};\n" for i in range(sets)), DATABASE, stop=True)
        joined = server.psql(f"{self.JOINS}; SELECT count(*) FROM asked JOIN d0 USING (k); SELECT index_scans_skipped > 2000 FROM bloomx_last_runtime_filters()", DATABASE, stop=True).stdout.split()
        self.ok("a nested loop asks a set", None if joined == ["1000", "t"] else f"{joined}")
        paths = [self.path(f"d{i}_k") for i in range(sets)]
        server.psql("CREATE TABLE zeroed (filter bloomset_stage) USING bloomset_table; SELECT bloomset_add('zeroed', 1); CREATE TABLE extended (filter bloomset_stage) USING bloomset_table", DATABASE, stop=True)
        zeroed, extended = self.path("zeroed"), self.path("extended")
        stop("fast")
        with open(zeroed, "r+b") as file:
            file.write(bytes(BLOCK))
        with open(extended, "r+b") as file:  # as a crash leaves it that came before the set's first record
            file.write(bytes(10 * BLOCK))
        for i, path in enumerate(paths):
            with open(path, "r+b") as file:
                content = bytearray(file.read())
                if i % 8 == 7:
                    file.truncate(len(content) - BLOCK)
                    continue
                if i % 8 == 5:  # a page that the server refuses to read, or no page at all
                    file.truncate(i % 16 // 8 * len(content))
                    file.seek(i % 3 // 2 * BLOCK)
                    file.write(b"x" * (i % 16 // 8 * BLOCK))
                    continue
                # the metapage, its header or its contents, or the header of any page
                page = 0 if i % 4 < 3 else random.randrange(len(content) // BLOCK)
                for _ in range(random.choice((1, 1, 4, 40))):
                    at = page * BLOCK + random.randrange(24, (64, 120, 264)[i % 3] if page == 0 else 64)
                    content[at] = random.randrange(256)
                file.seek(0)
                file.write(content)
        configure_line = "ignore_checksum_failure = on\n"
        with open(os.path.join(os.environ["PGDATA"], "postgresql.auto.conf"), "a", encoding="ascii") as file:
            file.write(configure_line)
        start()
        problems, wrong, noticed, joins = [], 0, 0, set()
        for i in range(sets):
            session = self.session()
            for setting in self.JOINS.split(";"):
                session.run(setting)
            try:
                joins.update(session.run(f"SELECT count(*) FROM asked JOIN d{i} USING (k)"))
            except (Failure, Lost) as failure:
                joins.add(str(failure))
            for statement in (f"SELECT count(*) FROM d{i} WHERE NOT bloomset_contains('d{i}_k', k)", f"SELECT bloomset_info('d{i}_k')", f"SELECT length(bloomset_value('d{i}_k')::text)",
                              f"SELECT bloomset_check('d{i}_k')", f"INSERT INTO d{i} SELECT generate_series(3001, 3100)", f"VACUUM d{i}"):
                try:
                    rows = session.run(statement)
                    wrong += "NOT" in statement and rows != ["0"]
                except Failure as failure:
                    noticed += failure.state in ("XX001", "XX002")
                    if failure.state not in ("XX001", "XX002"):
                        problems.append(str(failure))
                except Lost:
                    problems.append(f"crash: {statement}")
                    break
            session.close()
        self.ok(f"damage is an error and no crash ({noticed} errors)", "; ".join(problems) or (None if noticed else "none was noticed"))
        for statement in ("SELECT bloomset_contains('zeroed', 1)", "SELECT bloomset_add('zeroed', 2)", "SELECT count(*) FROM zeroed"):
            try:
                problem = str(self.one(statement))
            except Failure as failure:
                problem = None if failure.state == "XX001" else str(failure)
            self.ok(f"a set without a table whose first page is lost is not empty: {statement}", problem)
        found = [self.one(f"SELECT {call}") for call in ("bloomset_contains('extended', 1)", "bloomset_add('extended', 1)", "bloomset_contains('extended', 1)")]
        self.ok("a set whose file was extended before a crash is empty", None if found == ["f", "t", "t"] else f"{found}")
        self.ok("a damaged set is no reason for a nested loop to fail", None if joins == {"1000"} else f"{joins}")
        self.ok("damage to what says where keys are is no wrong answer", None if wrong == 0 else f"{wrong} sets lack keys")
        configure(ignore_checksum_failure=None)

    def run(self):
        server.make(DATABASE, SETUP)
        server.psql("INSERT INTO unlogged SELECT generate_series(1, 1000); SELECT bloomset_add('unlogged_stream', 1)", DATABASE, stop=True)
        if self.options.only:
            getattr(self, self.options.only)()
            return self.failed
        self.crashes()
        self.one("INSERT INTO unlogged SELECT generate_series(1, 500) RETURNING 1")
        self.ok("an unlogged set is empty after a crash, and takes keys", None if self.one("SELECT bloomset_check('unlogged_k')") == "500" else "it does not")
        self.ok("so is an unlogged set without a table", None if self.one("SELECT bloomset_contains('unlogged_stream', 1)::text || bloomset_add('unlogged_stream', 1)") == "falsetrue" else "it is not")
        self.format()
        self.before_wal()
        self.grown()
        self.serializable()
        self.known()
        self.prepared()
        self.file = self.one("SELECT pg_relation_filepath('growing_k')")
        self.control()
        self.torn(True)
        if self.one("SHOW data_checksums") == "off":
            self.torn(False)
        self.snapshots()
        self.together()
        self.restored()
        self.concurrently()
        self.standby()
        self.checksums()
        self.damage()
        server.drop(DATABASE)
        os.unlink(self.script.name)
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["crashes", "before_wal", "grown", "serializable", "format", "known", "prepared", "checksums", "snapshots", "together", "reread", "restored", "concurrently", "standby", "damage"])
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    test = Test(arguments)
    try:
        sys.exit(1 if test.run() else 0)
    finally:
        test.replica.stop()
