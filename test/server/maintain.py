#!/usr/bin/env python3
"""Filters that bloom_maintain keeps current: no key is lost, whoever writes at the same time.

    scripts/throwaway test/server/maintain.py [SEED]

First each order of two sessions in which a missing lock loses a key, with the function as it is and once more with its
lock taken out: then the key must be lost, or the test would not notice.  Then writers at each isolation level, beside readers and rebuilds.
At last a dump and a restore.  Needs a server with bloomx in the PG* environment, and its pg_dump first in PATH.  Makes and drops
databases.  The last line is "N passed, N failed".
"""
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server
from server import Failure, Session

DATABASE, RESTORED = "bloomx_maintain", "bloomx_maintained"
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE account (email text, country int);
CREATE TABLE emails (f bloomfilter);
CREATE TABLE countries (country int PRIMARY KEY, f bloomfilter);
CREATE TABLE counts (country int PRIMARY KEY, f bloomfilter(20000, 0.001, counting));
INSERT INTO account SELECT 'early ' || i, i % 3 FROM generate_series(1, 100) i;
"""
MAINTAINED = """
SELECT bloom_maintain('account', 'email', 'emails', 'f');
SELECT bloom_maintain('account', 'email', 'countries', 'f', 'country');
SELECT bloom_maintain('account', 'email', 'counts', 'f', 'country');
"""
# The rows whose key is in no filter, or not in that of their segment
LOST = """(SELECT count(*) FROM account a, emails e WHERE NOT e.f @> email)
    + (SELECT count(*) FROM account a WHERE NOT EXISTS (SELECT FROM countries c WHERE c.country = a.country AND c.f @> a.email))
    + (SELECT count(*) FROM account a WHERE NOT EXISTS (SELECT FROM counts c WHERE c.country = a.country AND c.f @> a.email))"""
LOST_EMAILS = "(SELECT count(*) FROM account, emails WHERE NOT f @> email)"

passed = failed = 0


def ok(what, problem=None):
    global passed, failed
    if problem:
        failed += 1
        print(f"not ok - {what}\n#  {problem}")
    else:
        passed += 1
        print(f"ok - {what}")


def same(what, expected, got):
    ok(what, None if str(expected) == str(got) else f"expected {expected}, got {got}")


def waiting(watcher, until=30):
    """Waits until a session waits for a lock, or there is no reason to wait any more."""
    end = time.monotonic() + until
    while time.monotonic() < end:
        if watcher.value("(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')") != "0":
            return True
        time.sleep(0.02)
    return False


def change(session, function, old, new):
    """Replaces a part of a function's text, which must be there once."""
    text = session.value(f"pg_get_functiondef({function})")
    if text.count(old) != 1:
        sys.exit(f"{old!r} is {text.count(old)} times in the function")
    session.run(text.replace(old, new))


def late_writer(locked):
    """A row that was written, but not committed, when bloom_maintain began."""
    server.make(DATABASE, SETUP)
    one, two, watcher = (Session(DATABASE) for _ in range(3))
    if not locked:
        change(one, "'bloom_maintain'::regproc", "EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', source);", "")
    one.run("BEGIN")
    one.run("INSERT INTO account VALUES ('late', 1)")
    maintain = threading.Thread(target=lambda: two.run("SELECT bloom_maintain('account', 'email', 'emails', 'f')"))
    maintain.start()
    waits = waiting(watcher)
    one.run("COMMIT")
    maintain.join()
    lost = watcher.value(LOST_EMAILS)
    for session in (one, two, watcher):
        session.close()
    same("a row that was not committed when bloom_maintain began" + ("" if locked else ", without the lock: the test notices"), ("0" if locked else "1", True), (lost, waits))


def rebuild(locked):
    """A key that a deleted row left in the filter is written again, while the filter is built anew."""
    server.make(DATABASE, SETUP + MAINTAINED + "DELETE FROM account WHERE email = 'early 7';")
    one, two, watcher = (Session(DATABASE) for _ in range(3))
    if not locked:
        change(one, "(SELECT tgfoid FROM pg_trigger JOIN pg_proc p ON p.oid = tgfoid WHERE prosrc ~ 'emails' LIMIT 1)", "PERFORM FROM public.emails FOR UPDATE;", "PERFORM FROM public.emails;")
    one.run("BEGIN")
    one.run("INSERT INTO account VALUES ('early 7', 1)")

    def build():
        two.run("BEGIN")
        two.run("SELECT FROM emails FOR UPDATE")
        two.run("UPDATE emails SET f = (SELECT bloom_agg(email, 1000) FROM account)")
        two.run("COMMIT")

    builder = threading.Thread(target=build)
    builder.start()
    if locked:
        waiting(watcher)
    else:
        builder.join()
    one.run("COMMIT")
    builder.join()
    lost = watcher.value(LOST_EMAILS)
    for session in (one, two, watcher):
        session.close()
    same("a key that the filter has already, while it is built anew" + ("" if locked else ", without the lock: the test notices"), "0" if locked else "1", lost)


def two_writers(level):
    server.make(DATABASE, SETUP + MAINTAINED)
    one, two, watcher = (Session(DATABASE, options=f"-c default_transaction_isolation={level.replace(' ', chr(92) + ' ')}") for _ in range(3))
    one.run("BEGIN")
    two.run("BEGIN")
    two.run("SELECT count(*) FROM account")
    one.run("INSERT INTO account VALUES ('one', 1), ('of a new country', 7)")
    state = []

    def write():
        try:
            two.run("INSERT INTO account VALUES ('two', 1), ('of the same', 7)")
            two.run("COMMIT")
            state.append("00000")
        except Failure as error:
            state.append(error.state)
            two.run("ROLLBACK")

    writer = threading.Thread(target=write)
    writer.start()
    waits = waiting(watcher)
    one.run("COMMIT")
    writer.join()
    same(f"two writers of one filter at {level}", ("00000" if level == "read committed" else "40001", True, "0"), (state[0], waits, watcher.value(LOST)))
    if level != "read committed":
        two.run("INSERT INTO account VALUES ('two', 1), ('of the same', 7)")
        same(f"... and the second one's next attempt", "0", watcher.value(LOST))
    for session in (one, two, watcher):
        session.close()


def many(seed):
    server.make(DATABASE, SETUP + MAINTAINED)
    problems, done = [], []

    def write(number):
        r = random.Random(f"{seed} {number}")
        session = Session(DATABASE)
        n = 0
        for _ in range(60):
            level = r.choice(["read committed", "read committed", "repeatable read", "serializable"])
            statements = []
            for _ in range(r.randrange(1, 4)):
                n += 1
                statements.append(r.choice([
                    f"INSERT INTO account SELECT 'w{number} {n} ' || i, i % {r.randrange(1, 5)} FROM generate_series(1, {r.randrange(1, 20)}) i",
                    f"UPDATE account SET email = email || '.', country = {r.randrange(4)} WHERE ctid IN (SELECT ctid FROM account ORDER BY email OFFSET {r.randrange(50)} LIMIT {r.randrange(5)})",
                    f"DELETE FROM account WHERE ctid IN (SELECT ctid FROM account ORDER BY email DESC OFFSET {r.randrange(50)} LIMIT {r.randrange(5)})",
                    f"COPY account FROM PROGRAM 'printf \"c{number} {n}\\t2\\n\"'" if r.random() < 0.2 else f"INSERT INTO account VALUES ('early {r.randrange(100)}', {r.randrange(3)})",
                ]))
            for _ in range(200):
                try:
                    session.run(f"BEGIN ISOLATION LEVEL {level}")
                    for statement in statements:
                        session.run(statement)
                    session.run("COMMIT")
                    done.append(level)
                    break
                except Failure as error:
                    session.run("ROLLBACK")
                    if error.state not in ("40001", "40P01"):
                        problems.append(str(error))
                        return
                    time.sleep(r.random() / 50)
        session.close()

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for writer in writers:
        writer.start()
    reader, looks = Session(DATABASE), 0
    while any(writer.is_alive() for writer in writers):
        lost = reader.value(LOST)
        looks += 1
        if lost != "0":
            problems.append(f"{lost} rows were not found")
            break
        if looks % 5 == 0:
            try:
                reader.run("BEGIN")
                reader.run("SELECT FROM emails FOR UPDATE")
                reader.run("UPDATE emails SET f = (SELECT bloom_agg(email, bloom_empty(1000, layout => 'scalable')) FROM account)")
                reader.run("COMMIT")
            except Failure as error:
                reader.run("ROLLBACK")
                if error.state != "40P01":
                    problems.append(str(error))
    for writer in writers:
        writer.join()
    ok(f"many writers at each isolation level, readers and rebuilds ({len(done)} transactions)", "\n".join(problems[:3]) or (len(done) < 100 and "too few transactions"))
    same("all keys are there at the end", "0", reader.value(LOST))
    # counting filters have the keys that are there, and no others
    same("deleted keys are gone from the counting filters", "true", reader.value(
        "(SELECT bool_and(abs(bloom_cardinality(f) - (SELECT count(DISTINCT email) FROM account a WHERE a.country = c.country)) < 20 + 0.05 * bloom_cardinality(f)) FROM counts c)"))
    reader.run("TRUNCATE account")
    same("TRUNCATE empties them", "true", reader.value("(SELECT bool_and(bloom_is_empty(f)) FROM (SELECT f FROM emails UNION ALL SELECT f FROM countries UNION ALL SELECT f FROM counts) x)"))
    reader.close()


def dump():
    server.make(DATABASE, SETUP + MAINTAINED)
    script = subprocess.run(["pg_dump", DATABASE], capture_output=True, text=True, check=True).stdout
    server.make(RESTORED, script)
    session = Session(RESTORED)
    same("restored", "0", session.value(LOST))
    session.run("INSERT INTO account VALUES ('after the restore', 5)")
    session.run("DELETE FROM account WHERE email = 'early 5'")
    same("kept current after a restore", "0 true", f"{session.value(LOST)} {session.value('(SELECT bool_and(NOT f @> $$early 5$$) FROM counts)')}")
    session.run("SELECT bloom_unmaintain('account', 'email', 'emails', 'f'), bloom_unmaintain('account', 'email', 'countries', 'f', 'country'), bloom_unmaintain('account', 'email', 'counts', 'f', 'country')")
    same("taken away after a restore", "0 0", session.value("(SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal) || ' ' || (SELECT count(*) FROM pg_proc WHERE proname ~ '^bloomx_maintain_')"))
    session.close()


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else "1"
    print(f"seed {seed}")
    try:
        for locked in (True, False):
            late_writer(locked)
            rebuild(locked)
        for level in ("read committed", "repeatable read", "serializable"):
            two_writers(level)
        many(seed)
        dump()
    finally:
        server.drop(DATABASE)
        server.drop(RESTORED)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
