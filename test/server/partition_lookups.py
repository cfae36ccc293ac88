#!/usr/bin/env python3
"""Lookups of partitions miss no row, whatever happens between plan and snapshot.

    scripts/throwaway test/server/partition_lookups.py [--part PARTS] [--only REGEX] [--statements N] [--queries N] [--kills N] [--seed N]

- matrix: a statement for an absent key is planned and waits; another session makes a row with that key in a partition that
  the plan has left out, and commits; the statement goes on.  It must find what it finds without lookups.  All kinds of
  statements and of writers, in all protocols.
- control: the same without the second question, which must lose rows.
- ddl: partitions come and go between plan and snapshot, and between executions of a plan that is kept.
- detached: a snapshot from before a partition was detached still sees its rows.
- stress: writers commit a row and a mark together, readers compare both in one statement, on a standby, too.
- crashes: after SIGKILL in the middle of this, rows and marks agree.
- skew: transactions that are serializable conflict by keys that are not there.
- rewrites: a plan that is made when its statement starts waits for who writes a partition's rows anew, and finds them.
- others: another extension runs statements of its own while a plan is made again.
- random: random statements on random partitioned tables do the same with lookups on and off.
- locks: a lookup locks as few relations as it is meant to, on each version.

Needs a server with bloomx in the PG* environment, PGDATA, its programs first in PATH, and cc.  The last line is
"N passed, N failed".  A long run: --part stress --statements 10000000, --part crashes --kills 50.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "random"))
import libpq
import server
from server import Failure, Session

DATABASE = "bloomx_partitions"
PARTITIONS = 20
passed = failed = 0


def check(name, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED {name}: {detail}")
    return good


SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE log (id bigint, ts int, note text) PARTITION BY RANGE (ts);
DO $$ BEGIN FOR i IN 0..19 LOOP
  EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%s) TO (%s)', i, i * 100, i * 100 + 100);
END LOOP; END $$;
INSERT INTO log SELECT g, g, 'n' || g FROM generate_series(0, 1999, 7) g;
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
CREATE VIEW seen AS SELECT * FROM log WHERE note IS NOT NULL;
CREATE TABLE keys (k bigint PRIMARY KEY);
CREATE TABLE target (id bigint, ts int, note text);
CREATE FUNCTION by_sql(k bigint) RETURNS SETOF log LANGUAGE sql STABLE AS 'SELECT * FROM log WHERE id = k';
CREATE FUNCTION by_volatile_sql(k bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM log WHERE id = k';
CREATE FUNCTION by_plpgsql(k bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'DECLARE n bigint; BEGIN SELECT count(*) INTO n FROM log WHERE id = k; RETURN n; END';
CREATE FUNCTION by_dynamic(k bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'DECLARE n bigint; BEGIN EXECUTE ''SELECT count(*) FROM log WHERE id = $1'' INTO n USING k; RETURN n; END';
ANALYZE;
"""

# A statement that counts the rows with key {k}, what is run before it, and the settings.
READERS = {
    "simple": "SELECT count(*) FROM log WHERE id = {k}",
    "commuted": "SELECT count(*) FROM log WHERE {k} = id",
    "rows": "SELECT * FROM log WHERE id = {k}",
    "other type": "SELECT * FROM log WHERE id = {k}::int",
    "IN": "SELECT * FROM log WHERE id IN ({k}, -1, NULL)",
    "ANY": "SELECT * FROM log WHERE id = ANY (ARRAY[{k}, -1]::bigint[])",
    "ORDER BY": "SELECT * FROM log WHERE id = {k} ORDER BY ts LIMIT 5",
    "max": "SELECT max(ts) FROM log WHERE id = {k} HAVING count(*) > 0",
    "update": "UPDATE log SET note = 'u' WHERE id = {k} RETURNING id",
    "update that moves": "UPDATE log SET ts = 50 WHERE id = {k} RETURNING id",
    "delete": "DELETE FROM log WHERE id = {k} RETURNING id",
    "for update": "SELECT * FROM log WHERE id = {k} FOR UPDATE",
    "for share of part": "SELECT log.* FROM keys LEFT JOIN log ON log.id = {k} WHERE keys.k = 1 FOR SHARE OF keys",
    "merge": "WITH m AS (SELECT 1) MERGE INTO log USING (VALUES ({k}::bigint)) v (k) ON id = k AND id = {k} WHEN MATCHED THEN UPDATE SET note = 'merged' WHEN NOT MATCHED THEN DO NOTHING; SELECT count(*) FROM log WHERE note = 'merged' AND id = {k}",
    "exists": "SELECT 1 WHERE EXISTS (SELECT FROM log WHERE id = {k})",
    "scalar subquery": "SELECT (SELECT note FROM log WHERE id = {k})",
    "initplan key": "SELECT * FROM log WHERE id = (SELECT k FROM keys WHERE k = {k})",
    "in subquery": "SELECT 1 WHERE {k} IN (SELECT id FROM log WHERE id = {k})",
    "cte": "WITH c AS MATERIALIZED (SELECT * FROM log WHERE id = {k}) SELECT count(*) FROM c",
    "inlined cte": "WITH c AS (SELECT * FROM log) SELECT * FROM c WHERE id = {k}",
    "writing cte": "WITH c AS (DELETE FROM log WHERE id = {k} RETURNING *) SELECT count(*) FROM c",
    "view": "SELECT * FROM seen WHERE id = {k}",
    "update of a view": "UPDATE seen SET note = 'v' WHERE id = {k} RETURNING id",
    "nullable side": "SELECT l.id FROM keys LEFT JOIN log l ON l.id = {k} WHERE keys.k = 1",
    "implied": "SELECT log.* FROM keys JOIN log ON keys.k = log.id WHERE keys.k = {k}",
    "nested loop": "SELECT log.* FROM keys JOIN LATERAL (SELECT * FROM log WHERE id = keys.k OFFSET 0) log ON true WHERE keys.k = {k}",
    "union all": "SELECT id FROM log WHERE id = {k} UNION ALL SELECT id FROM log WHERE id = {k} AND ts >= 0",
    "except": "SELECT {k}::bigint EXCEPT SELECT id FROM log WHERE id = {k}",
    "insert select": "INSERT INTO target SELECT * FROM log WHERE id = {k} RETURNING id",
    "inlined function": "SELECT * FROM by_sql({k})",
    "sql function": "SELECT by_volatile_sql({k})",
    "plpgsql": "SELECT by_plpgsql({k})",
    "dynamic": "SELECT by_dynamic({k})",
    "do": "DO $$ BEGIN PERFORM FROM log WHERE id = {k}; IF NOT FOUND THEN RAISE 'none'; END IF; END $$",
    "sub-partition named": "SELECT * FROM log_15 WHERE id = {k}",
    "execute": "EXECUTE by_key({k})",
    "execute of a constant": "EXECUTE constant_{k}",
    "ctas": "CREATE TEMP TABLE made AS SELECT * FROM log WHERE id = {k}; SELECT count(*) FROM made; DROP TABLE made",
    "copy": "COPY (SELECT * FROM log WHERE id = {k}) TO STDOUT",
    "cursor": "BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM log WHERE id = {k}; FETCH ALL c; FETCH BACKWARD ALL c; COMMIT; FETCH FIRST c; CLOSE c",
}

# The protocol, and a statement that ends in the key.
EXTENDED = {
    "unnamed statement": ("unnamed", "SELECT * FROM log WHERE id = {k}"),
    "unnamed update": ("unnamed", "UPDATE log SET note = 'u' WHERE id = {k}"),
    "prepared statement": ("prepared", "SELECT * FROM log WHERE id = {k}"),
    "prepared delete": ("prepared", "DELETE FROM log WHERE id = {k}"),
    "prepared join": ("prepared", "SELECT * FROM keys JOIN log ON log.id = keys.k WHERE keys.k = {k}"),
}

# How another session makes a row with key {k} in a partition that had none.
WRITERS = {
    "insert": "INSERT INTO log VALUES ({k}, 1550, 'w')",
    "insert into the partition": "INSERT INTO log_15 VALUES ({k}, 1550, 'w')",
    "key changes": "UPDATE log SET id = {k} WHERE ts = 1554",
    "row moves": "UPDATE log SET ts = 1550, id = {k} WHERE ts = 7",
    "copy": "COPY log FROM PROGRAM 'echo {k},1550,w' (FORMAT csv)",
    "upsert": "MERGE INTO log USING (VALUES ({k}::bigint)) v (k) ON id = k WHEN NOT MATCHED THEN INSERT VALUES (k, 1550, 'w')",
    "truncate and refill": "BEGIN; TRUNCATE log_15; INSERT INTO log VALUES ({k}, 1550, 'w'); COMMIT",
    "rollback": "BEGIN; INSERT INTO log VALUES ({k}, 1550, 'w'); ROLLBACK",
    "subtransactions": "BEGIN; SAVEPOINT a; INSERT INTO log VALUES ({k}, 1550, 'w'); RELEASE a; SAVEPOINT b; INSERT INTO log VALUES ({k}, 1650, 'w'); ROLLBACK TO b; COMMIT",
}

MODES = {"auto": "", "custom": "SET plan_cache_mode = force_custom_plan", "generic": "SET plan_cache_mode = force_generic_plan"}


class Extended(libpq.Session):
    """The same by messages of the extended protocol: a statement with a parameter, unnamed or prepared."""

    def __init__(self, protocol):
        super().__init__(DATABASE)
        self.protocol = protocol

    def answer(self, statement):
        """Like a Session's; a statement that ends in the key has it as a parameter."""
        statement, _, key = statement.rpartition("= ")
        ask = self.extended if self.protocol == "unnamed" else self.execute
        return [str(ask(statement + "= $1", [key])[0])], "00000", ""


class Pause:
    """Two sessions: one plans and waits, the other writes meanwhile."""
    key = 100000                # none twice: its bits stay

    def __init__(self, library):
        self.library = library
        self.writer = Session(DATABASE)
        self.watcher = Session(DATABASE)

    def reader(self, lookups, mode, before="", protocol=None):
        reader = Extended(protocol) if protocol else Session(DATABASE)
        for statement in ("SELECT 1 FROM bloomx_stat_partition_lookups", f"LOAD '{self.library}'", f"SET bloomx.partition_lookup = {lookups}", MODES[mode],
                          "PREPARE by_key (bigint) AS SELECT count(*) FROM log WHERE id = $1", *before):
            if statement:
                reader.run(statement)
        return reader

    def new_key(self):
        Pause.key += 1
        return Pause.key

    def meanwhile(self, reader, statement, write, isolation=""):
        """What the statement returns if the other session writes between its plan and its snapshot."""
        self.writer.run("SELECT pg_advisory_lock(1)")
        result = []
        reader.run("SET pause.key = 1")
        thread = threading.Thread(target=lambda: result.append(reader.answer(statement)))
        thread.start()
        self.wait(thread, "locktype = 'advisory'")
        self.writer.psql.stdin.write(f"{write}\n;\n".encode())
        self.writer.run("SELECT pg_advisory_unlock(1)")
        thread.join()
        reader.run("SET pause.key = 0")
        return result[0]


    def before_ddl(self, reader, statement, write, change):
        """What the statement returns if the other session writes, and a third one then changes partitions or waits to do so."""
        self.writer.run("SELECT pg_advisory_lock(1)")
        result, errors = [], []
        reader.run("SET pause.key = 1")
        thread = threading.Thread(target=lambda: result.append(reader.answer(statement)))
        thread.start()
        self.wait(thread, "locktype = 'advisory'")
        self.writer.run(write)
        third = Session(DATABASE)
        changes = threading.Thread(target=lambda: errors.extend(answer for answer in map(third.answer, change.split("; ")) if answer[1] != "00000"))
        changes.start()
        self.wait(changes, "locktype IN ('relation', 'virtualxid')")
        self.writer.run("SELECT pg_advisory_unlock(1)")
        thread.join()
        changes.join()
        third.close()
        reader.run("SET pause.key = 0")
        check(f"ddl: {change}", not errors, errors)
        return result[0]

    def wait(self, thread, lock):
        """Until the thread waits for such a lock, or has ended."""
        deadline = time.monotonic() + 20
        while thread.is_alive() and self.watcher.run(f"SELECT count(*) FROM pg_locks WHERE {lock} AND NOT granted") == ["0"] and time.monotonic() < deadline:
            time.sleep(0.002)


def clean(session, key):
    session.run("DELETE FROM log WHERE note IN ('w', 'u', 'merged', 'v') OR id > 99999")
    session.run("DELETE FROM keys")
    session.run("DELETE FROM target")
    session.run("INSERT INTO log SELECT 1554, 1554, 'n1554' WHERE NOT EXISTS (SELECT FROM log WHERE ts = 1554)")
    session.run("INSERT INTO log SELECT 7, 7, 'n7' WHERE NOT EXISTS (SELECT FROM log WHERE ts = 7)")
    session.run(f"INSERT INTO keys VALUES (1), ({key})")


def normalized(answer, key):
    return [row.replace(str(key), "K") for row in answer[0]], answer[1]


def run_case(pause, reader, statement, write, isolation):
    key = pause.new_key()
    clean(pause.watcher, key)
    if "constant_{k}" in statement:
        reader.run(f"PREPARE constant_{key} AS SELECT count(*) FROM log WHERE id = {key}")
        for _ in range(2):
            reader.run(f"EXECUTE constant_{key}")
    statement = statement.format(k=key)
    if isolation:
        statement = f"BEGIN ISOLATION LEVEL {isolation}; SELECT 1; {statement}; ROLLBACK"
    answer = pause.meanwhile(reader, statement, write.format(k=key))
    left = pause.watcher.run(f"SELECT count(*), max(note) FROM log WHERE id = {key}")
    return normalized(answer, key), left


def matrix(args):
    pause = Pause(args.library)
    lost = []
    cases = [(r, w, m, "") for r in READERS for w in WRITERS for m in MODES
             if (w == "insert" or r in ("simple", "update", "execute of a constant")) and (m == "auto" or any(p in r for p in ("execute", "sql", "function")))]
    cases += [(r, "insert", "auto", level) for r in ("simple", "update", "nested loop") for level in ("REPEATABLE READ", "SERIALIZABLE")]
    cases += [(r, "insert", m, "") for r in EXTENDED for m in MODES if m == "auto" or EXTENDED[r][0] == "prepared"]
    for r, w, m, level in cases:
        name = f"{r}, {w}, {m} {level}"
        if args.only and not re.search(args.only, name):
            continue
        results = {}
        for lookups in ("on", "off"):
            # without lookups the statement waits for TRUNCATE's lock, or the other way round: its answer is that of an insert
            write = WRITERS["insert" if w == "truncate and refill" and lookups == "off" else w]
            protocol, statement = EXTENDED.get(r) or (None, READERS[r])
            reader = pause.reader(lookups, m, protocol=protocol)
            results[lookups] = run_case(pause, reader, statement, write, level)
            reader.close()
        if results["on"] != results["off"]:
            lost.append(name)
        check(name, results["on"] == results["off"], f"{results['on']}, without lookups {results['off']}")
    print(f"# matrix: {len(cases)} cases, {len(lost)} differ")


def control(args):
    """Without the second question each of these loses the row."""
    pause = Pause(args.library)
    for r in ("simple", "rows", "IN", "for update", "update", "delete", "view", "cte", "nullable side", "insert select"):
        answers = []
        for forget in ("off", "on"):
            reader = pause.reader("on", "auto")
            reader.run(f"SET pause.forget = {forget}")
            answers.append(run_case(pause, reader, READERS[r], WRITERS["insert"], "")[0])
            reader.close()
        check(f"control: {r}", answers[0] != answers[1], answers)


# What changes partitions, and what undoes it.  All but the first wait for the statement that has been planned.
MAKE_14 = "CREATE TABLE log_14 PARTITION OF log FOR VALUES FROM (1400) TO (1500)"
DDL = {
    "attach": ("CREATE TABLE log_20 (LIKE log); INSERT INTO log_20 VALUES ({k}, 2050, 'w'); CREATE INDEX ON log_20 USING bloomx (id) WITH (partition_lookup = on); "
               "ALTER TABLE log ATTACH PARTITION log_20 FOR VALUES FROM (2000) TO (2100)", "DROP TABLE log_20"),
    "attach without the option": ("CREATE TABLE log_20 (LIKE log); INSERT INTO log_20 VALUES ({k}, 2050, 'w'); CREATE INDEX ON log_20 USING bloomx (id); "
                                  "ALTER TABLE log ATTACH PARTITION log_20 FOR VALUES FROM (2000) TO (2100)", "DROP TABLE log_20"),
    "create": ("CREATE TABLE log_20 PARTITION OF log FOR VALUES FROM (2000) TO (2100)", "DROP TABLE log_20"),
    "drop": ("DROP TABLE log_14", MAKE_14),
    "detach": ("ALTER TABLE log DETACH PARTITION log_14", f"DROP TABLE log_14; {MAKE_14}"),
    "detach concurrently": ("ALTER TABLE log DETACH PARTITION log_14 CONCURRENTLY", f"DROP TABLE log_14; {MAKE_14}"),
    "drop the first": ("DROP TABLE log_0", "CREATE TABLE log_0 PARTITION OF log FOR VALUES FROM (0) TO (100); INSERT INTO log VALUES (7, 7, 'n7')"),
    "truncate": ("TRUNCATE log_14", "SELECT 1"),
    "truncate all": ("TRUNCATE log", "INSERT INTO log SELECT g, g, 'n' || g FROM generate_series(0, 1999, 7) g"),
    "drop the index": ("DROP INDEX log_id", "CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on)"),
    "reindex": ("REINDEX TABLE log_15", "SELECT 1"),
    "rewrite": ("ALTER TABLE log ADD extra timestamptz DEFAULT clock_timestamp()", "ALTER TABLE log DROP extra"),
    "sub-partitions": (f"DROP TABLE log_14; {MAKE_14} PARTITION BY LIST (id); CREATE TABLE log_14_rest PARTITION OF log_14 DEFAULT", f"DROP TABLE log_14; {MAKE_14}"),
}


def ddl(args):
    """A key is committed, and then partitions change, while a statement waits that was planned before; and plans that are kept."""
    pause = Pause(args.library)
    kept = [pause.reader("on", mode) for mode in MODES]
    for name, (change, undo) in DDL.items():
        if args.only and not re.search(args.only, name):
            continue
        for statement in ("SELECT * FROM log WHERE id = {k}", "UPDATE log SET note = 'u' WHERE id = {k} RETURNING id"):
            key = pause.new_key()
            clean(pause.watcher, key)
            for session in kept:
                session.run(f"PREPARE constant_{key} AS SELECT count(*) FROM log WHERE id = {key}")
                session.run(f"EXECUTE constant_{key}")
                session.run(f"EXECUTE by_key({key})")
            reader = pause.reader("on", "auto")
            got = pause.before_ddl(reader, statement.format(k=key), f"INSERT INTO log VALUES ({key}, 1550, 'w')", change.format(k=key))
            check(f"ddl: {name}", len(got[0]) in (1, 2) and got[1] == "00000" and all(row.startswith(str(key)) for row in got[0]), got)
            reader.run("SET bloomx.partition_lookup = off")
            expected = reader.run(f"SELECT count(*) FROM log WHERE id = {key}")
            for session in kept:
                for execute in (f"EXECUTE constant_{key}", f"EXECUTE by_key({key})"):
                    answer = session.answer(execute)
                    check(f"ddl: {name}, {execute}", answer[:2] == (expected, "00000"), f"{answer}, without lookups {expected}")
            reader.close()
            for part in undo.split("; "):
                pause.watcher.run(part)


STRESS_PAIR = """
\\set k random(1, 500)
SELECT 1 / (m.n = (SELECT count(*) FROM log WHERE id = :k))::int FROM (SELECT count(*) AS n FROM pairs WHERE k = :k) m;
"""

STRESS_PAIR_WRITE = """
\\set k random(1, 500)
\\set ts random(0, 1999)
BEGIN;
INSERT INTO log VALUES (:k, :ts, 's');
INSERT INTO pairs VALUES (:k);
END;
"""


# Rows and marks are removed after so many statements: the more there are of a key, the longer it takes to count them.
STATEMENTS_OF_ROUND = 200000


def stress(args):
    """Each key's rows and marks are counted in one statement; both must agree.  On a standby, too."""
    standby = server.Standby()
    standby.start("")
    try:
        for port in (None, standby.port):
            left, total = args.statements, 0
            while left > 0:
                total += compare(min(left, STATEMENTS_OF_ROUND), port)
                left -= STATEMENTS_OF_ROUND
                print(f"# stress{' on a standby' if port else ''}: {total} statements compared rows and marks", flush=True)
    finally:
        standby.stop()


def empty_pairs():
    server.psql("DROP TABLE IF EXISTS pairs; CREATE TABLE pairs (k bigint); CREATE INDEX ON pairs (k); TRUNCATE log", DATABASE, stop=True)


# by a correlated subquery, and by a statement for each key
UNEQUAL = """SELECT count(*) FROM (SELECT k, count(*) AS n FROM pairs GROUP BY k) p
WHERE n <> (SELECT count(*) FROM log WHERE id = p.k) OR n <> by_plpgsql(p.k) OR n <> by_volatile_sql(p.k)"""


def crashes(args):
    """Rows and marks agree after SIGKILL; so do those that are written after it."""
    empty_pairs()
    for number in range(args.kills):
        with tempfile.NamedTemporaryFile("w", suffix=".sql", encoding="ascii") as file:
            file.write(STRESS_PAIR_WRITE)
            file.flush()
            before = int(server.psql("SELECT count(*) FROM pairs", DATABASE, stop=True).stdout)
            writers = subprocess.Popen(["pgbench", "-n", "-c", "3", "-T", "3600", "-f", file.name, DATABASE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while int(server.psql("SELECT count(*) FROM pairs", DATABASE, stop=True).stdout) < before + 300:
                time.sleep(0.1)
            server.kill()
            writers.wait()
        if not server.start(os.environ["PGDATA"]):
            sys.exit("the server does not start")
        rows, unequal = server.psql(f"SELECT count(*) FROM pairs; SELECT 1 FROM bloomx_stat_partition_lookups LIMIT 0; {UNEQUAL}", DATABASE, stop=True).stdout.split()
        check(f"round {number + 1}: rows and marks agree after SIGKILL", unequal == "0" and int(rows) >= before + 300, f"{unequal} keys of {rows} rows")
    print(f"# crashes: {args.kills} rounds")


def compare(statements, port):
    """Returns how many statements there were."""
    empty_pairs()
    directory = tempfile.mkdtemp()
    done = []
    try:
        for name, text in (("read", STRESS_PAIR), ("write", STRESS_PAIR_WRITE)):
            with open(os.path.join(directory, name), "w", encoding="ascii") as file:
                file.write(text)

        def bench(script, mode, clients, options):
            per_client = max(statements // 6, 10) if script == "read" else 10000000
            command = ["pgbench", "-n", "-M", mode, "-c", str(clients), "-f", os.path.join(directory, script), DATABASE]
            command += ["-t", str(per_client)] if script == "read" else ["-T", "3600"]
            env = dict(os.environ, PGOPTIONS=options, **({"PGPORT": str(port)} if port and script == "read" else {}))
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)

        writers = [bench("write", "simple", 2, "")]
        readers = [bench("read", mode, 2, options) for mode, options in
                   (("simple", ""), ("extended", ""), ("prepared", "-c plan_cache_mode=force_generic_plan"))]
        for reader in readers:
            done.append(reader.communicate()[0])
        for writer in writers:
            writer.terminate()
            writer.wait()
    finally:
        shutil.rmtree(directory)
    n = sum(int(re.search(r"transactions actually processed: (\d+)", text).group(1)) for text in done if "actually processed" in text)
    lost = sum("division by zero" in text for text in done)
    check(f"stress, port {port}", lost == 0 and n > 0, "\n".join(done)[:1000])
    return n


# Each of two transactions looks for the key that the other one adds; if both found none, no order of them explains it.
SKEW = {
    "by a constant": "SELECT count(*) FROM log WHERE id = {k}",
    "in a nested loop": "SELECT count(*) FROM unnest(ARRAY[{k}::bigint]) k, LATERAL (SELECT * FROM log WHERE id = k OFFSET 0) l",
}


def skew(args):
    first, second = Session(DATABASE), Session(DATABASE)
    for session in (first, second):
        session.run("SELECT 1 FROM bloomx_stat_partition_lookups")
    for name, query in SKEW.items():
        refused = 0
        for i in range(20):
            a, b = 3000000 + 2 * i, 3000001 + 2 * i
            first.run("DELETE FROM log WHERE id >= 3000000")
            for session, key in ((first, a), (second, b)):
                session.run("BEGIN ISOLATION LEVEL SERIALIZABLE")
                session.run(query.format(k=key))
            states = [session.answer(f"INSERT INTO log VALUES ({key}, {ts}, 'w')")[1] for session, key, ts in ((first, b, 50), (second, a, 1950))]
            states += [session.answer("COMMIT")[1] for session in (first, second)]
            refused += "40001" in states
            first.run("ROLLBACK")
            second.run("ROLLBACK")
        check(f"write skew is refused, {name}", refused == 20, f"{refused} of 20")


class Random:
    """Random partitioned tables and statements."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def bounds(self, kind, i, n):
        if kind == "RANGE":
            return f"FOR VALUES FROM ({i * 10}) TO ({i * 10 + 10})"
        if kind == "LIST":
            return "FOR VALUES IN (%s)" % ", ".join([str(v) for v in range(i * 10, i * 10 + 10)] + (["NULL"] if i == 0 else []))
        return f"FOR VALUES WITH (MODULUS {n}, REMAINDER {i})"

    def partitions(self, table, columns, depth, rest):
        """Statements that make partitions of a table whose kind and column are the first of `columns`."""
        kind, _ = columns[0]
        n = self.r.randint(2, 6)
        statements = []
        for i in range(n):
            name = f"{table}_{i}"
            below = ""
            if depth and self.r.random() < 0.4 and len(columns) > 1:
                below = f" PARTITION BY {columns[1][0]} ({columns[1][1]})"
            own_order = self.r.random() < 0.3
            if own_order:
                statements.append(f"CREATE TABLE {name} (junk int, note text, b int, {rest}, a int){below}; ALTER TABLE {name} DROP COLUMN junk; "
                                  f"ALTER TABLE {table} ATTACH PARTITION {name} {self.bounds(kind, i, n)}")
            else:
                statements.append(f"CREATE TABLE {name} PARTITION OF {table} {self.bounds(kind, i, n)}{below}")
            if below:
                statements += self.partitions(name, columns[1:], depth - 1, rest)
        if kind != "HASH":
            statements.append(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
        return statements

    def table(self, name):
        kinds = [self.r.choice(["RANGE", "LIST", "HASH"]) for _ in range(2)]
        columns = list(zip(kinds, ["a", "b"]))
        self.key, self.make_key = self.r.choice([("bigint", "{}"), ("int", "{}"), ("text", "'k{}'"), ("uuid", "lpad('{}', 32, '0')::uuid"),
                                                 ("varchar(20)", "'v{}'"), ("numeric", "{}.50"), ("date", "date '2020-01-01' + {}")])
        rest = f"id {self.key}, u {self.key}"
        statements = [f"CREATE TABLE {name} (a int, b int, id {self.key}, u {self.key}, note text) PARTITION BY {columns[0][0]} (a)"]
        statements += self.partitions(name, columns, 1, rest)
        index = f"CREATE INDEX ON {name} USING bloomx (id, u) WITH (partition_lookup = on)"
        key = f"CASE WHEN g % 11 = 0 THEN NULL ELSE {self.make_key.format('X')} END"
        fill = f"INSERT INTO {name} SELECT nullif(g % 61, 60), g % 59, {self.from_number(key, 'g / 3')}, {self.from_number(key, 'g % 97')}, 'n' || g FROM generate_series(1, 400) g"
        order = [index, fill]
        self.r.shuffle(order)
        statements += order
        if self.r.random() < 0.5:
            statements.append(f"CREATE INDEX ON {name} (id)")
        return statements + [f"ANALYZE {name}"]

    def from_number(self, template, number):
        if self.key in ("text", "varchar(20)"):
            return template.replace("'kX'", f"'k' || ({number})").replace("'vX'", f"('v' || ({number}))::varchar(20)")
        if self.key == "uuid":
            return template.replace("lpad('X', 32, '0')", f"lpad(({number})::text, 32, '0')")
        if self.key == "numeric":
            return template.replace("X.50", f"({number}) + 0.50")
        return template.replace("X", f"({number})")

    def value(self):
        if self.r.random() < 0.05:
            return "NULL"
        return self.make_key.format(self.r.randint(0, 150))

    def condition(self, t="t", deep=2):
        column = f"{t}.{self.r.choice(['id', 'u'])}"
        options = [lambda: f"{column} = {self.value()}", lambda: f"{self.value()} = {column}",
                   lambda: f"{column} IN ({', '.join(self.value() for _ in range(self.r.randint(1, 5)))})",
                   lambda: f"{column} = ANY (ARRAY[{', '.join(self.value() for _ in range(3))}]::{self.key}[])",
                   lambda: f"{t}.a BETWEEN {self.r.randint(0, 30)} AND {self.r.randint(10, 61)}", lambda: f"{t}.b = {self.r.randint(0, 60)}",
                   lambda: f"{column} IS NULL", lambda: f"{column} IS NOT DISTINCT FROM {self.value()}", lambda: f"{column} <> {self.value()}",
                   lambda: f"{column} >= {self.value()}"]
        weights = [6, 2, 3, 2, 1, 1, 1, 1, 1, 1]
        if deep and self.r.random() < 0.3:
            return f"({self.condition(t, deep - 1)} {self.r.choice(['AND', 'AND', 'OR'])} {self.condition(t, deep - 1)})"
        if deep and self.r.random() < 0.05:
            return f"NOT {self.condition(t, deep - 1)}"
        return self.r.choices(options, weights)[0]()

    def select(self, deep=2):
        name = self.r.choice(["p", "p", "q"])
        where = self.condition("t")
        kind = self.r.randint(0, 11)
        if kind <= 3 or deep == 0:
            return f"SELECT t.a, t.b, t.id::text, t.u::text, t.note FROM {name} t WHERE {where}"
        if kind == 4:
            join = self.r.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            return f"SELECT t.note, s.note FROM {name} t {join} {self.r.choice('pq')} s ON t.id = s.id AND {self.condition('s', 0)} WHERE {where}" if join != "FULL JOIN" else \
                f"SELECT t.note, s.note FROM (SELECT * FROM {name} t WHERE {where}) t FULL JOIN (SELECT * FROM p s WHERE {self.condition('s', 0)}) s ON t.id = s.id"
        if kind == 5:
            return f"SELECT s.note, (SELECT count(*) FROM {name} t WHERE t.id = s.u) FROM p s WHERE {self.condition('s')}"
        if kind == 6:
            return f"SELECT t.note FROM {name} t WHERE {where} AND EXISTS (SELECT FROM q s WHERE s.u = t.id AND {self.condition('s', 0)})"
        if kind == 7:
            return f"{self.select(deep - 1).replace('SELECT', 'SELECT DISTINCT', 1)} {self.r.choice(['', ''])}" if "count" not in where else self.select(deep - 1)
        if kind == 8:
            return f"SELECT count(*), min(t.a), max(t.b), count(DISTINCT t.tableoid) FROM {name} t WHERE {where}"
        if kind == 9:
            return f"WITH c AS {self.r.choice(['MATERIALIZED', 'NOT MATERIALIZED', ''])} (SELECT * FROM {name} t WHERE {where}) SELECT c.note, d.note FROM c, c d WHERE c.a = d.a"
        if kind == 10:
            return f"SELECT s.note, l.note FROM (SELECT * FROM p s WHERE {self.condition('s')}) s, LATERAL (SELECT * FROM {name} t WHERE t.id = s.id AND {where} ORDER BY t.a, t.note LIMIT 3) l"
        return f"SELECT t.note FROM {name} t WHERE {where} UNION ALL SELECT s.note FROM q s WHERE {self.condition('s')}"

    def statement(self):
        kind = self.r.randint(0, 9)
        name = self.r.choice("pq")
        if kind <= 6:
            return self.select()
        if kind == 7:
            return f"UPDATE {name} t SET a = {self.r.randint(0, 61)}, note = note || '!' WHERE {self.condition('t')} RETURNING note, a"
        if kind == 8:
            return f"DELETE FROM {name} t WHERE {self.condition('t')} RETURNING note"
        return f"SELECT note FROM {name} t WHERE {self.condition('t')} FOR UPDATE"


SETTINGS = ["", "enable_hashjoin = off", "enable_seqscan = off", "enable_bitmapscan = off", "enable_partitionwise_join = on", "enable_partitionwise_aggregate = on",
            "plan_cache_mode = force_generic_plan", "bloomx.runtime_filter = on", "enable_partition_pruning = off", "jit_above_cost = 0"]


def answer(session, statement):
    """The rows in some order, or the error."""
    rows, state, _ = session.answer(statement)
    return sorted(rows), state


def with_parameters(statement):
    """The statement with its constants as parameters, and their values."""
    values = []

    def parameter(match):
        values.append(match.group())
        return f"${len(values)}"
    return re.sub(r"'[kv]\d+'|(?<![\w.'$-])\d+(?![\w.'])", parameter, statement), ", ".join(values)


def in_some_form(r, session, statement):
    """The statement, or what executes it when it has been prepared or is a function's, or reads it by a cursor."""
    form = r.choice(["simple", "simple", "prepared", "prepared", "cursor"])
    text, values = with_parameters(statement)
    if form == "prepared" and session.answer(f"PREPARE prepared AS {text}")[1] == "00000":
        return f"EXECUTE prepared{f' ({values})' if values else ''}"
    if form == "cursor" and statement.startswith(("SELECT", "WITH")):
        return f"DECLARE c SCROLL CURSOR FOR {statement}; FETCH ALL FROM c; FETCH BACKWARD ALL FROM c; MOVE ABSOLUTE 0 FROM c; FETCH ALL FROM c"
    return statement


def random_queries(args):
    """The same statements with lookups on and off, each rolled back."""
    generator = Random(args.seed)
    n, pruned = 0, 0
    while n < args.queries:
        for table in "pq":
            server.psql(f"DROP TABLE IF EXISTS {table} CASCADE", DATABASE, stop=True)
            # both tables have keys of one type
            state = generator.r.getstate() if table == "p" else state
            made = server.psql(";\n".join(generator.table(table)) + ";", DATABASE)
            if made.returncode or "ERROR" in made.stderr:
                check("random tables", False, made.stderr[:500])
                return
            if table == "p":
                kind = generator.key, generator.make_key
        if (generator.key, generator.make_key) != kind:
            # another type: the second table is made as the first one was
            generator.r.setstate(state)
            server.psql("DROP TABLE q CASCADE", DATABASE)
            server.psql(";\n".join(generator.table("q")) + ";", DATABASE)
        session = Session(DATABASE)
        session.run("SELECT 1 FROM bloomx_stat_partition_lookups")
        for _ in range(60):
            statement, setting = generator.statement(), generator.r.choice(SETTINGS)
            if setting:
                session.run(f"SET {setting}")
            results = []
            statement = in_some_form(generator.r, session, statement)
            for lookups in ("on", "off", "on"):
                session.run(f"SET bloomx.partition_lookup = {lookups}")
                session.run("BEGIN")
                results.append(answer(session, statement))
                session.run("ROLLBACK")
            session.run("RESET ALL")
            session.run("DEALLOCATE ALL")
            n += 1
            if not check("random", results[0] == results[1] == results[2], f"{setting}; {statement}\n{results[0]}\n{results[1]}"):
                print(";\n".join([setting, statement]))
                if failed > 5:
                    return
        pruned += int(session.run("SELECT partitions_pruned FROM bloomx_stat_partition_lookups WHERE scope = 'session'")[0])
        session.close()
    check("random statements leave partitions out", pruned > 10 * n / 4, f"{pruned} in {n} statements")
    print(f"# random: {n} statements, {pruned} partitions left out")


LOCKS = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation >= 16384"


def locks(args):
    """A hook without effect would lock all partitions."""
    session = Session(DATABASE)
    session.run("TRUNCATE log")
    session.run("INSERT INTO log SELECT g, g, 'n' || g FROM generate_series(0, 1999, 7) g")
    session.run("SELECT * FROM log WHERE id = 14")
    # the parent and the store; of each partition, its index; on 16 and later the parent's index
    parents = int(session.run("SELECT (current_setting('server_version_num')::int >= 160000)::int")[0])
    for name, key, candidates in (("the first partition", 14, 1), ("another one", 1554, 1), ("none", -14, 0)):
        session.run("BEGIN")
        session.run(f"SELECT * FROM log WHERE id = {key}")
        n = int(session.run(LOCKS)[0])
        session.run("ROLLBACK")
        check(f"locks: {name}", n <= 2 + (1 + candidates) * 2 + parents, n)
    session.close()


def detached(args):
    """A snapshot from before a partition of a partition was detached sees its rows; a newer one has been used meanwhile."""
    session, other = Session(DATABASE), Session(DATABASE)
    for statement in ("CREATE TABLE tree (a int, b int, id bigint) PARTITION BY LIST (a)", "CREATE TABLE tree_0 PARTITION OF tree FOR VALUES IN (0)",
                      "CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1) PARTITION BY RANGE (b)",
                      "CREATE TABLE tree_1_0 PARTITION OF tree_1 FOR VALUES FROM (0) TO (10)", "CREATE TABLE tree_1_1 PARTITION OF tree_1 FOR VALUES FROM (10) TO (20)",
                      "CREATE INDEX ON tree USING bloomx (id) WITH (partition_lookup = on)", "INSERT INTO tree VALUES (0, 1, 1), (1, 1, 2), (1, 11, 7)",
                      "CREATE FUNCTION in_tree() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN (SELECT count(*) FROM tree WHERE id = 7); END'"):
        other.run(statement)
    session.run("SELECT 1 FROM bloomx_stat_partition_lookups")
    session.run("BEGIN")
    session.run("LOCK TABLE tree_1 IN ACCESS SHARE MODE")
    session.run("DECLARE old CURSOR FOR SELECT in_tree()")
    thread = threading.Thread(target=lambda: other.run("ALTER TABLE tree_1 DETACH PARTITION tree_1_1 CONCURRENTLY"))
    thread.start()
    while session.run("SELECT count(*) FROM pg_inherits WHERE inhdetachpending") == ["0"]:
        time.sleep(0.01)
    rows = session.run("SELECT count(*) FROM tree WHERE id = 7") + session.run("FETCH old")
    session.run("COMMIT")
    thread.join()
    check("detached: the old snapshot", rows == ["0", "1"], rows)
    other.run("DROP TABLE tree, tree_1_1")
    for each in (session, other):
        each.close()


def is_pruned(session):
    pruned = "SELECT partitions_pruned FROM bloomx_stat_partition_lookups WHERE scope = 'session'"
    before = int(session.run(pruned)[0])
    session.run("SELECT * FROM log WHERE id = 14")
    return int(session.run(pruned)[0]) > before


def cancelled(args):
    """A statement that is cancelled while it reads which lookups a table has leaves nothing wrong behind."""
    holder, session = Session(DATABASE), Session(DATABASE)
    session.run("SELECT partitions_pruned FROM bloomx_stat_partition_lookups WHERE scope = 'session'")
    session.run("SELECT * FROM keys WHERE k = 1")
    holder.run("BEGIN")
    holder.run("LOCK TABLE pg_index IN ACCESS EXCLUSIVE MODE")
    session.run("SET statement_timeout = 100")
    state = session.answer("SELECT * FROM log WHERE id = 14")[1]
    holder.run("ROLLBACK")
    session.run("SET statement_timeout = 0")
    check("cancelled: lookups go on", state == "57014" and is_pruned(session), state)


def old_snapshots(args):
    """With old_snapshot_threshold rows may be gone that a snapshot sees, and the server notices it where they have been: nothing is left out."""
    if server.psql("SELECT current_setting('server_version_num')::int >= 170000", DATABASE, stop=True).stdout == "t\n":
        return
    for value, expected in (("1h", False), ("-1", True)):
        server.psql(f"ALTER SYSTEM SET old_snapshot_threshold = '{value}'", "postgres", stop=True)
        server.as_server("pg_ctl", "-D", os.environ["PGDATA"], "-s", "-w", "-m", "fast", "stop")
        if not server.start(os.environ["PGDATA"]):
            sys.exit("the server does not start")
        session = Session(DATABASE)
        check(f"old_snapshot_threshold = {value}", is_pruned(session) == expected)
        session.close()


# Rows of a partition come into a new file, where older snapshots do not see them.
REWRITES = {
    "unlogged": ("ALTER TABLE log_15 SET UNLOGGED", "ALTER TABLE log_15 SET LOGGED; VACUUM log_15"),
    "moved": ("CREATE TEMP TABLE moved AS SELECT * FROM log_15; TRUNCATE log_15; INSERT INTO log SELECT id, 1650, note FROM moved WHERE note = 'w'; DROP TABLE moved", "SELECT 1"),
}


def rewrites(args):
    """A plan that is made when its statement starts waits for the lock of a partition, and finds the rows as they are then."""
    pause = Pause(args.library)
    for name, (change, undo) in REWRITES.items():
        for mode, statement in ("auto", "SELECT by_volatile_sql({k})"), ("generic", "DO $$ BEGIN PERFORM 1 / by_plpgsql({k}); END $$"):
            key = pause.new_key()
            clean(pause.watcher, key)
            pause.watcher.run(f"INSERT INTO log VALUES ({key}, 1550, 'w')")
            reader = pause.reader("on", mode)
            reader.run("SELECT by_volatile_sql(-1), by_plpgsql(-1)")
            pause.writer.run(f"BEGIN; {change}")
            result = []
            thread = threading.Thread(target=lambda: result.append(reader.answer(statement.format(k=key))))
            thread.start()
            pause.wait(thread, "locktype = 'relation'")
            pause.writer.run("COMMIT")
            thread.join()
            check(f"rewrites: {name}, {mode}", result[0][:2] in ((["1"], "00000"), ([], "00000")), result)
            for part in undo.split("; "):
                pause.writer.run(part)
            reader.close()


def others(args):
    """Who makes a plan again knows it, although an extension runs a statement of its own before each plan."""
    session = Session(DATABASE)
    for statement in ("SELECT 1 FROM bloomx_stat_partition_lookups", f"LOAD '{args.library}'", "SET plan_cache_mode = force_generic_plan",
                      "PREPARE by_key (bigint) AS SELECT count(*) FROM log WHERE id = $1", "SET pause.other = on", "BEGIN", "EXECUTE by_key (7)"):
        session.run(statement)
    tables = session.run("SELECT relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND relation::regclass::text ~ '^log_[0-9]+$'")
    check("other statements while a plan is made again", len(tables) <= 3, tables)
    session.close()


PARTS = {"matrix": matrix, "control": control, "ddl": ddl, "detached": detached, "cancelled": cancelled, "old_snapshots": old_snapshots, "locks": locks, "skew": skew, "rewrites": rewrites,
         "others": others, "stress": stress, "crashes": crashes, "random": random_queries}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--statements", type=int, default=6000)
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=2)
    args = parser.parse_args()
    with server.compiled(os.path.join(HERE, "partition_pause.c")) as args.library:
        server.make(DATABASE, SETUP)
        for part in args.part.split(","):
            PARTS[part](args)
        server.drop(DATABASE)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
