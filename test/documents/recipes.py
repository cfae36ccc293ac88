#!/usr/bin/env python3
"""The recipes of the documentation, step by step in several sessions: no key is lost, and none is called new twice.

    scripts/throwaway test/documents/recipes.py

Takes the recipes from filter-columns.md and recipes.md in docs and docs/internals.  Two or three sessions run
their statements in an order that is likely to hurt, at each isolation level: one waits for another's lock, commits or
rolls back in the middle, or is stopped between two statements of a function.  test/documents/filter_columns.sh lets many
sessions run at random instead.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database and a role, and drops
them.  The last line is "N passed, N failed"; the exit status is 0 if no check failed.
"""
import datetime
import os
import queue
import random
import re
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATABASE = "bloomx_recipes"
WRITER = "bloomx_recipes_writer"  # a role that may insert, and nothing else
LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
PATIENCE = 60  # seconds after which a session is taken for stuck

passed = failed = 0


def check(name, expected, got):
    global passed, failed
    if expected == got:
        passed += 1
    else:
        failed += 1
        print(f"not ok - {name}\n#  expected: {expected!r}\n#       got: {got!r}")


class Session:
    """A psql that runs statements one after the other, in the background if they have to wait."""

    def __init__(self):
        self.psql = subprocess.Popen(["psql", "-XqAt", "-d", DATABASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
        self.lines, self.marks = queue.Queue(), 0
        threading.Thread(target=self.read, daemon=True).start()
        self.pid = self("\\set VERBOSITY terse\nSET client_min_messages = warning; SELECT pg_backend_pid()")

    def read(self):
        for line in self.psql.stdout:
            self.lines.put(line.rstrip("\n"))

    def start(self, sql):
        self.marks += 1
        self.psql.stdin.write(f"{sql};\n\\echo end of {self.marks}\n")
        self.psql.stdin.flush()

    def result(self):
        """What the last statement printed."""
        lines = []
        while True:
            line = self.lines.get(timeout=PATIENCE)
            if line == f"end of {self.marks}":
                return "\n".join(lines)
            lines.append(line)

    def __call__(self, sql):
        self.start(sql)
        return self.result()

    def must_wait(self, sql):
        """Starts a statement, and returns when it waits for a lock."""
        self.start(sql)
        until = time.monotonic() + PATIENCE
        while admin(f"SELECT cardinality(pg_blocking_pids({self.pid})) > 0") != "t":
            if time.monotonic() > until or not self.lines.empty():
                check(f"this waits: {sql}", "waits", "does not wait")
                return
            time.sleep(0.01)

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()


def blocks(page):
    with open(os.path.join(TOP, "docs", page + ".md"), encoding="utf-8") as file:
        return re.findall(r"^```sql\n(.*?)^```", file.read(), flags=re.M | re.S)


def block(page, pattern):
    """The block of a page that has the pattern, as a list of statements."""
    found = [b for b in blocks(page) if re.search(pattern, b)]
    if len(found) != 1:
        sys.exit(f"{page} has {len(found)} blocks with {pattern}")
    return re.split(r";\s*(?:--[^\n]*)?\n", found[0].strip() + "\n")[:-1]


def load(page):
    result = admin("\n".join(blocks(page)))
    check(f"{page}: its SQL runs", [], [line for line in result.split("\n") if "ERROR" in line])


def serialization_failure(text):
    return text.startswith("ERROR:  could not serialize access")


# ---- filter-columns.md ----

LOST_VISITS = """SELECT string_agg(visitor, ' ') FROM visit v WHERE NOT EXISTS
    (SELECT FROM visit_day d WHERE d.day = v.day AND d.visitors @> v.visitor)"""
LOST_SESSIONS = """SELECT count(*) FROM session s WHERE NOT EXISTS
    (SELECT FROM server_clients c WHERE c.server = s.server AND c.clients @> s.client)"""
REBUILD = "SELECT rebuild_visit_day('2026-01-01')"


def insert(visitor, table="visit"):
    return f"INSERT INTO {table} VALUES ('2026-01-01', '{visitor}')"


def every_statement():
    """Every kind of statement that brings keys."""
    admin("TRUNCATE visit, visit_day")
    admin("CREATE TABLE person (name text PRIMARY KEY); INSERT INTO person VALUES ('a'), ('b'), ('c'), ('d'), ('e')")
    admin("""CREATE UNIQUE INDEX one ON visit (day, visitor);
        ALTER TABLE visit ADD CONSTRAINT known FOREIGN KEY (visitor) REFERENCES person ON UPDATE CASCADE""")
    errors = admin("""
        INSERT INTO visit VALUES ('2026-01-01', 'a');
        INSERT INTO visit VALUES ('2026-01-01', 'a'), ('2026-01-02', 'b')
            ON CONFLICT (day, visitor) DO UPDATE SET day = '2026-01-03', visitor = 'c';
        MERGE INTO visit USING (VALUES ('b'), ('d')) s(name) ON visitor = name
            WHEN MATCHED THEN UPDATE SET day = '2026-01-04' WHEN NOT MATCHED THEN INSERT VALUES ('2026-01-05', name);
        COPY visit FROM stdin;
2026-01-06\te
\\.
        UPDATE person SET name = name || ' junior';
        BEGIN; SAVEPOINT one; INSERT INTO visit VALUES ('2026-01-07', 'a junior'); ROLLBACK TO one;
        INSERT INTO visit VALUES ('2026-01-07', 'b junior'); COMMIT""")
    check("triggers: every kind of statement runs", "", errors)
    check("triggers: every kind of statement adds its keys", "", admin(LOST_VISITS))
    check("triggers: what was rolled back is not there", "f",
          admin("SELECT visitors @> 'a junior' FROM visit_day WHERE day = '2026-01-07'"))
    admin("DROP INDEX one; ALTER TABLE visit DROP CONSTRAINT known")


def rebuild(a, b, c):
    """Rebuilding beside writers, which commit before, during and after."""
    for level in LEVELS:
        begin = f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM visit"

        def ends(name, result):
            expected = result == "" or level != LEVELS[0] and serialization_failure(result)
            check(f"{name}, {level}: done, or to be repeated", True, expected)
            check(f"{name}, {level}: no key is lost", "", admin(LOST_VISITS))

        admin("TRUNCATE visit, visit_day; " + insert("old"))
        a(begin)
        b(insert("new"))
        result = a(REBUILD)
        a("COMMIT")
        ends("rebuild after a writer", result)

        admin("TRUNCATE visit, visit_day; " + insert("old"))
        b("BEGIN; " + insert("new"))
        a(begin)
        a.must_wait(REBUILD)
        b("COMMIT")
        result = a.result()
        a("COMMIT")
        ends("rebuild that waits for a writer", result)

        admin("TRUNCATE visit, visit_day; " + insert("old"))
        b(begin)
        a("BEGIN; " + REBUILD)
        b.must_wait(insert("new"))
        a("COMMIT")
        result = b.result()
        b("COMMIT")
        ends("writer that waits for a rebuild", result)

    # A day that begins between the two statements of the function.
    admin(admin("""SELECT replace(pg_get_functiondef('rebuild_visit_day'::regproc),
        '  UPDATE visit_day', '  PERFORM pg_advisory_xact_lock(1); UPDATE visit_day')""") + "; TRUNCATE visit, visit_day")
    admin("SELECT pg_advisory_lock(1)")
    a.must_wait(REBUILD)
    b.start("SET statement_timeout = '1s'; " + insert("first"))  # either commits now, or waits for the rebuild
    first = b.result()
    c.start("BEGIN; " + insert("second"))
    time.sleep(0.3)
    admin("SELECT pg_advisory_unlock(1)")
    if first == "":
        time.sleep(0.3)  # the rebuild waits for the second writer
    c.result()
    c("COMMIT")
    check("a day that begins while it is rebuilt: the function ends", "", a.result())
    check("a day that begins while it is rebuilt: no key is lost", "", admin(LOST_VISITS))
    b("RESET statement_timeout")

    admin(f"TRUNCATE visit, visit_day; SET session_replication_role = replica; {insert('unseen')}; RESET session_replication_role")
    check("rows that no trigger saw are not found", "unseen", admin(LOST_VISITS))
    admin("SELECT rebuild_visit_day(day) FROM (SELECT DISTINCT day FROM visit) d")
    check("rebuilt, rows that no trigger saw are found", "", admin(LOST_VISITS))


def drop_day(a, b):
    """A writer comes between the two statements that drop a day."""
    begin, first, second, commit = block("internals/filter-columns", "DELETE FROM visit_day")
    admin("TRUNCATE visit, visit_day; " + insert("old"))
    a(begin + "; " + first)
    b.start("SET statement_timeout = '1s'; " + insert("early"))
    early = b.result()
    b.start("RESET statement_timeout; " + insert("late"))
    time.sleep(0.3)
    a(second + "; " + commit)
    b.result()
    check("a day is dropped: a writer waits", True, early.startswith("ERROR:  canceling statement due to statement timeout"))
    check("a day is dropped: its rows are gone, later ones stay", "late", admin("SELECT visitor FROM visit"))
    check("a day is dropped: no key is lost", "", admin(LOST_VISITS))


def users(a):
    """Another user writes, who has a temporary table of the filters' name."""
    admin(f"TRUNCATE visit, visit_day; CREATE ROLE {WRITER}; GRANT INSERT ON visit TO {WRITER}")
    a(f"CREATE TEMP TABLE visit_day (day date PRIMARY KEY, visitors bloomfilter); GRANT ALL ON visit_day TO {WRITER}")
    a(f"SET ROLE {WRITER}")
    check("a user without privileges on the filters writes", "", a(insert("new")))
    check("the user's temporary table gets nothing", "0", a("SELECT count(*) FROM visit_day"))
    check("the user's key is found", "1 ", admin("SELECT count(*) FROM visit") + " " + admin(LOST_VISITS))
    a("CREATE TEMP TABLE mine (day date, visitor text)")
    check("the user cannot add keys without rows", "ERROR:  permission denied for function visit_added",
          a("""CREATE TRIGGER mine AFTER INSERT ON mine REFERENCING NEW TABLE AS added
               FOR EACH STATEMENT EXECUTE FUNCTION visit_added()"""))
    a("RESET ROLE; DROP TABLE visit_day, mine")


def partitions():
    trigger = """CREATE TRIGGER added AFTER INSERT ON {} REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION visit_added();"""
    lost = LOST_VISITS.replace("visit v", "parted v")
    admin("""TRUNCATE visit_day; CREATE TABLE parted (LIKE visit) PARTITION BY RANGE (day);
        CREATE TABLE part PARTITION OF parted FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');""" + trigger.format("parted"))
    admin(insert("through", "parted") + ";" + insert("direct", "part"))
    check("partitions: only the named table's triggers fire", "direct", admin(lost))
    admin("TRUNCATE visit_day, parted;" + trigger.format("part"))
    admin(insert("through", "parted") + ";" + insert("direct", "part"))
    check("partitions: with triggers on both, every key is found", "", admin(lost))


def counting(a, b):
    fill = block("internals/filter-columns", "LOCK TABLE session")
    check("counting: without rows the filters can be emptied, too", "", admin("TRUNCATE session, server_clients"))
    admin("""SET session_replication_role = replica; INSERT INTO session SELECT 1, 'old ' || n FROM generate_series(1, 20000) n;
        RESET session_replication_role""")
    b("BEGIN; INSERT INTO session VALUES (1, 'waiting'), (2, 'waiting')")
    a.start("; ".join(fill[:2]))
    time.sleep(0.3)
    b("INSERT INTO session VALUES (3, 'waiting'); COMMIT")
    a.result()
    b.must_wait("INSERT INTO session VALUES (3, 'late'); DELETE FROM session WHERE client = 'late'")
    for statement in fill[2:]:
        a(statement)
    b.result()
    check("counting: filled beside a writer, every key is found", "20003 0", admin("SELECT count(*) FROM session") + " " + admin(LOST_SESSIONS))
    admin("INSERT INTO session SELECT 1, 'new ' || n FROM generate_series(1, 5000) n; DELETE FROM session WHERE client LIKE 'old%'")
    check("counting: rows that were filled in go, and no other key does", "0", admin(LOST_SESSIONS))
    admin("DELETE FROM session WHERE client LIKE 'new%'; CREATE TABLE person (name text PRIMARY KEY); INSERT INTO person VALUES ('waiting')")
    admin("ALTER TABLE session ADD FOREIGN KEY (client) REFERENCES person ON UPDATE CASCADE ON DELETE CASCADE")
    errors = admin("""
        INSERT INTO person SELECT 'c' || n FROM generate_series(1, 7) n;
        INSERT INTO session SELECT n % 3 + 1, 'c' || n FROM generate_series(1, 7) n;
        UPDATE person SET name = name || ' junior' WHERE name IN ('c1', 'c2', 'c3');
        DELETE FROM person WHERE name IN ('c3 junior', 'c4');
        WITH one AS (INSERT INTO session VALUES (1, 'c5')), two AS (DELETE FROM session WHERE client = 'c6'),
            three AS (DELETE FROM session WHERE client = 'c7') INSERT INTO session VALUES (2, 'c7');
        MERGE INTO session USING (VALUES ('c5', 2), ('c1 junior', 1), ('c6', 3)) v(name, n) ON name = client
            WHEN MATCHED AND name = 'c5' THEN DELETE WHEN MATCHED THEN UPDATE SET server = n
            WHEN NOT MATCHED THEN INSERT VALUES (n, name)""")
    check("counting: every kind of statement runs", "", errors)
    check("counting: every kind of statement counts each row once", "", admin("""SELECT server, client, count(*), bloom_key_count(clients, client)
        FROM session JOIN server_clients USING (server) GROUP BY server, client, clients HAVING count(*) <> bloom_key_count(clients, client)"""))
    admin("DELETE FROM session")
    check("counting: the filters are empty, and the writer's servers are known", "0 3",
          admin("SELECT sum(bloom_cardinality(clients)) || ' ' || count(*) FROM server_clients"))
    admin("INSERT INTO session VALUES (1, 'x'); TRUNCATE session")
    check("counting: TRUNCATE empties the filters", "0", admin("SELECT count(*) FROM server_clients"))


def folding():
    admin("TRUNCATE reading, reading_filter, reading_log; INSERT INTO reading SELECT n % 4, n FROM generate_series(1, 100) n")
    lost = "SELECT count(*) FROM reading r WHERE r.sensor NOT IN (SELECT sensors_of(r.value))"
    admin("UPDATE reading SET value = value + 1000")
    check("log and fold: values that were changed are found in the log", "0", admin(lost))
    admin("SELECT fold_readings(); UPDATE reading SET sensor = 9 WHERE value < 1010; SELECT fold_readings()")
    check("log and fold: rows that changed their sensor are found in the filters", "0 0",
          admin(lost) + " " + admin("SELECT count(*) FROM reading_log"))


# ---- recipes.md ----

def come_once(a, b):
    """Two sessions give the same keys. Each key is new for exactly one whose transaction commits."""
    batch = block("recipes", "WITH batch AS")[0]
    empty = "UPDATE stream_keys SET keys = bloom_empty(10000, 0.001, key_type => 'integer')"
    for session in (a, b):
        session(next(s for s in block("recipes", "PREPARE once") if "PREPARE once" in s))

    def one(keys):
        return f"EXECUTE once({keys[0]})", keys[:1]

    def many(keys):
        return batch.replace("ARRAY[7, 8, 9, 9, 10]", f"ARRAY{keys}::integer[]"), keys

    def function(keys):
        return f"SELECT new_keys('orders', ARRAY{keys}::integer[])", keys

    def new(result, keys):
        return set(keys) if result == "t" else {int(k) for k in result.split()}

    for level in LEVELS:
        for first in (one, many, function):
            for second in (one, many, function):
                for end in ("COMMIT", "ROLLBACK"):
                    name = f"keys that come once: {first.__name__}, {end}, {second.__name__}, {level}"
                    admin(empty)
                    a(f"BEGIN ISOLATION LEVEL {level}")
                    b(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM stream_keys")
                    (sql_a, keys_a), (sql_b, keys_b) = first([1, 2]), second([1, 3])
                    check(name + ": all are new for the first", set(keys_a), new(a(sql_a), keys_a))
                    b.must_wait(sql_b)
                    a(end)
                    result = b.result()
                    b("COMMIT")
                    kept = set(keys_a) if end == "COMMIT" else set()
                    if end == "COMMIT" and level != LEVELS[0]:
                        check(name + ": the second has to try again", True, serialization_failure(result))
                    else:
                        check(name + ": the second gets the others", set(keys_b) - kept, new(result, keys_b))
                        kept |= set(keys_b)
                    held = admin("SELECT string_agg(k::text, ' ') FROM stream_keys, generate_series(1, 3) k WHERE keys @> k")
                    check(name + ": the filter has them", kept, new(held, []))
    check("keys that come once: a stream without a row is an error", "ERROR:  query returned no rows", a("SELECT new_keys('none', ARRAY[5])"))


def build_anew(a, b):
    """What "Stored filters" says of building a filter anew: with a lock no key is lost, and without one it may be."""
    anew = "UPDATE blocklist SET f = (SELECT bloom_agg(host, 200000) FROM listed) WHERE name = 'hosts'"
    admin("CREATE TABLE listed AS SELECT 'host' || n AS host FROM generate_series(1, 100) n; " + anew)
    for locked, lost in (True, "0"), (False, "1"):
        key = f"late, {locked}"
        b(f"BEGIN; INSERT INTO listed VALUES ('{key}'); UPDATE blocklist SET f = bloom_add(f, '{key}') WHERE name = 'hosts'")
        a("BEGIN")
        a.must_wait("SELECT FROM blocklist WHERE name = 'hosts' FOR UPDATE" if locked else anew)
        b("COMMIT")
        a.result()
        a((anew + "; " if locked else "") + "COMMIT")
        check(f"build anew, locked {locked}: keys lost", lost, admin("SELECT count(*) FROM blocklist, listed WHERE NOT f @> host"))


# ---- internals/more-recipes.md ----

def last_days(a, b):
    empty = """UPDATE week SET day = '-infinity', keys = bloom_empty(7000, key_type => 'integer');
        UPDATE week_union SET today = '-infinity', keys = bloom_empty(7000, key_type => 'integer')"""

    def add(key, day):
        return f"SELECT week_add(ARRAY[{key}], '{day}')"

    for level in LEVELS:
        admin(empty)
        a(f"BEGIN ISOLATION LEVEL {level}")
        b(f"BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM week")
        a(add(1, "2026-01-01"))
        b.must_wait(add(2, "2026-01-02"))
        a("COMMIT")
        result = b.result()
        b("COMMIT")
        check(f"the last seven days, {level}: done, or to be repeated", True, result == "2" or level != LEVELS[0] and serialization_failure(result))
        check(f"the last seven days, {level}: no key is lost", "t", admin(f"SELECT keys @> 1 AND keys @> {2 if result == '2' else 1} FROM week_union"))

    # Days that are left out, keys that come late, and days before that of the slots' beginning.
    for start in ("2026-01-01", "1999-12-25", "1950-06-01"):
        admin(empty)
        r, day, today, came = random.Random(1), datetime.date.fromisoformat(start), datetime.date.min, []
        wrong = []
        for key in range(40):
            day += datetime.timedelta(days=r.choice([0, 1, 1, 2, 3, 9]))
            on_day = day - datetime.timedelta(days=r.choice([0, 0, 0, 5]))
            today = max(today, on_day)
            came.append((key, today))
            wanted = [k for k, d in came if d > today - datetime.timedelta(days=7)]
            gone = [k for k, d in came if d <= today - datetime.timedelta(days=7)]
            new = a(add(key, on_day))
            found = a(f"""SELECT count(*) FILTER (WHERE k = ANY (ARRAY{wanted})), count(*) FILTER (WHERE k = ANY (ARRAY{gone}::integer[]))
                FROM week_union, generate_series(0, 40) k WHERE keys @> k""")
            if (new, found) != (str(key), f"{len(wanted)}|0"):
                wrong.append((today, new, found))
        check(f"the last seven days, from {start} on: keys of seven days and no others", [], wrong)
    admin("SELECT week_add('{}', '2100-01-01')")
    check("the last seven days: a day without keys forgets old ones", "0", admin("SELECT bloom_cardinality(keys) FROM week_union"))


def more():
    exact = """SELECT count(*) FILTER (WHERE member IS DISTINCT FROM coalesce(f @> k AND bloom_get(m, k) = 1, false)) FROM u, f,
               LATERAL (SELECT bloom_map_agg(k, member::int, bloom_empty(1, 0.5, 'binary_fuse', seed => 1, options => 'fingerprint_bits=0')) AS m FROM u WHERE f @> k) m"""
    universe = "WITH u(k, member) AS ({0}), f AS (SELECT bloom_agg(k, bloom_empty(1, 0.07, 'binary_fuse')) FILTER (WHERE member) AS f FROM u) " + exact
    for what, rows in (("a few", "SELECT n, n % 20 = 0 FROM generate_series(1, 3000) n"), ("no members", "SELECT n, false FROM generate_series(1, 9) n"),
                       ("only members", "SELECT n, true FROM generate_series(1, 9) n")):
        check(f"closed universe, {what}: wrong answers", "0", admin(universe.format(rows)))
    check("closed universe: a key on both sides is refused", "ERROR:  a key has two values, 0 and 1",
          admin(universe.format("VALUES (1, true), (1, false), (2, false)")))

    ask = "PREPARE {0} AS SELECT f @> $1 FROM shard WHERE id = bloom_hash($1{1}) & 3;"
    names = admin(ask.format("typed", "::integer") + "".join(f"EXECUTE typed({n});" for n in range(1, 201)))
    check("shards: a parameter with a type is found in its shard", {"t"}, set(names.split()))


def main():
    global admin
    maintenance = ["psql", "-XqAt", "-d", os.environ.get("PGDATABASE", "postgres")]
    drop = ["-c", f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", "-c", f"DROP ROLE IF EXISTS {WRITER}"]
    quiet = {**os.environ, "PGOPTIONS": "-c client_min_messages=warning"}
    subprocess.run(maintenance + drop + ["-c", f"CREATE DATABASE {DATABASE}"], env=quiet, check=True)
    try:
        admin = Session()
        admin("CREATE EXTENSION bloomx")
        a, b, c = Session(), Session(), Session()
        load("filter-columns")
        load("internals/filter-columns")
        every_statement()
        rebuild(a, b, c)
        drop_day(a, b)
        users(a)
        partitions()
        counting(a, b)
        folding()
        admin("DROP TABLE visit, visit_day, session, server_clients CASCADE")
        load("recipes")
        come_once(a, b)
        build_anew(a, b)
        admin("DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION bloomx")
        load("internals/more-recipes")
        last_days(a, b)
        more()
        for session in (a, b, c, admin):
            session.close()
    finally:
        subprocess.run(maintenance + drop, env=quiet, check=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
