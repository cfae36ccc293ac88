#!/usr/bin/env python3
"""What bloomx_unique makes unique stays so, whoever writes at the same time.

    scripts/throwaway test/server/partition_unique.py [--seconds N] [--seed N] [--only PART]

orders: two sessions in each order that matters, at each isolation level, with and without an index that knows the partitions.
control: the same with a trigger that waits for nobody and sees what its snapshot sees; there must be duplicates, or the test would not notice.
paused: a row is updated while the search is between the entry of its index and the row.
attach: partitions are attached beside writers.
many: writers at each isolation level beside readers, VACUUM, REINDEX CONCURRENTLY and sealing, and the control of that.
dump: a dump and a restore.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway provides, and
cc.  Restarts that server; makes and drops databases.  The last line is "N passed, N failed".
"""

import argparse
import os
import random
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "random"))
import server
from server import Failure, Session

DATABASE, RESTORED = "bloomx_partition_unique", "bloomx_partition_unique_restored"
LEVELS = ("read committed", "repeatable read", "serializable")
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE log (id int, part int, note text) PARTITION BY LIST (part);
CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1);
CREATE TABLE log_2 PARTITION OF log FOR VALUES IN (2);
CREATE TABLE log_34 PARTITION OF log FOR VALUES IN (3, 4) PARTITION BY LIST (part);
CREATE TABLE log_3 PARTITION OF log_34 FOR VALUES IN (3);
CREATE TABLE log_4 PARTITION OF log_34 FOR VALUES IN (4);
CREATE INDEX log_id ON log (id, note);
"""
LOOKUP = "CREATE INDEX log_lookup ON log USING bloomx (id) WITH (partition_lookup = on);"
UNIQUE = "SELECT bloomx_unique('log', 'id');"
CONTROL = """
CREATE FUNCTION control() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) > 1 FROM log WHERE id = NEW.id) THEN
        RAISE unique_violation;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER log_id_key AFTER INSERT OR UPDATE ON log DEFERRABLE FOR EACH ROW EXECUTE FUNCTION control();
"""
DUPLICATES = "SELECT count(*) FROM (SELECT FROM log WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1) d"

# what is there before; what the first session does; what the second one does, and where it waits; its SQLSTATE if the first one commits, and if it rolls back
ORDERS = {
    "two inserts": ("", "INSERT INTO log VALUES (7, 1)", "INSERT INTO log VALUES (7, 2)", "23505", "00000"),
    "into partitions by name": ("", "INSERT INTO log_1 VALUES (7, 1)", "INSERT INTO log_34 VALUES (7, 4)", "23505", "00000"),
    "in one partition": ("", "INSERT INTO log VALUES (7, 3)", "INSERT INTO log VALUES (7, 3)", "23505", "00000"),
    "an update makes the key": ("INSERT INTO log VALUES (6, 1)", "UPDATE log SET id = 7", "INSERT INTO log VALUES (7, 2)", "23505", "00000"),
    "a row moves": ("INSERT INTO log VALUES (7, 1)", "UPDATE log SET part = 3", "INSERT INTO log VALUES (7, 2)", "23505", "23505"),
    "a row changes": ("INSERT INTO log VALUES (7, 1)", "UPDATE log SET note = 'new'", "INSERT INTO log VALUES (7, 2)", "23505", "23505"),
    "a row is deleted": ("INSERT INTO log VALUES (7, 1)", "DELETE FROM log", "INSERT INTO log VALUES (7, 2)", "00000", "23505"),
    "the key is changed": ("INSERT INTO log VALUES (7, 1)", "UPDATE log SET id = 8", "INSERT INTO log VALUES (7, 2)", "00000", "23505"),
    "deleted and inserted": ("INSERT INTO log VALUES (7, 1)", "DELETE FROM log; INSERT INTO log VALUES (7, 3)", "INSERT INTO log VALUES (7, 2)", "23505", "23505"),
    "TRUNCATE": ("INSERT INTO log VALUES (7, 1)", "TRUNCATE log_1", "INSERT INTO log VALUES (7, 2)", "00000", "23505"),
    "in a savepoint": ("", "SAVEPOINT a; INSERT INTO log VALUES (7, 1); RELEASE a", "INSERT INTO log VALUES (7, 2)", "23505", "00000"),
    "prepared": ("", "INSERT INTO log VALUES (7, 1); PREPARE TRANSACTION 'first'", "INSERT INTO log VALUES (7, 2)", "23505", "00000"),
}


class Test(server.Checks):
    def __init__(self, options):
        super().__init__(DATABASE, "-c lock_timeout=60s -c deadlock_timeout=100ms")
        self.options = options

    def waits(self, thread, watcher):
        """True when the thread's session waits for a lock; False when it is done."""
        while thread.is_alive():
            if watcher.value("(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')") != "0":
                return True
            time.sleep(0.005)
        return False

    def start(self, session, statements, states):
        """Runs statements in a thread; the last one's SQLSTATE goes into the list."""
        def work():
            for statement in statements.split("; "):
                state = session.answer(statement)[1]
                if state != "00000":
                    session.answer("ROLLBACK")
                    break
            states.append(state)
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def allow_prepared(self):
        server.psql("ALTER SYSTEM SET max_prepared_transactions = 5;", "postgres", stop=True)
        server.as_server("pg_ctl", "-D", os.environ["PGDATA"], "-s", "-w", "-m", "fast", "stop")
        if not server.start(os.environ["PGDATA"]):
            sys.exit("the server does not start")

    def run_order(self, sessions, level, order, end):
        """The second session's SQLSTATE, whether it waited, and how many keys are there twice."""
        before, first, second, *_ = ORDERS[order]
        one, two, watcher = sessions
        one.run("DELETE FROM log")
        if before:
            one.run(before)
        two.run(f"BEGIN ISOLATION LEVEL {level}")
        two.run("SELECT 1 FROM pg_class LIMIT 1")  # its snapshot does not see what the first one does
        one.run(f"BEGIN ISOLATION LEVEL {level}")
        for statement in first.split("; "):
            one.run(statement)
        states = []
        thread = self.start(two, second + "; COMMIT", states)
        waited = self.waits(thread, watcher)
        state = one.answer(f"{end} PREPARED 'first'" if "PREPARE" in first else end)[1]
        thread.join()
        if state not in ("00000", "40001"):
            raise Failure(state, "at the end of the first session", order)
        return states[0], waited, watcher.run(DUPLICATES)[0]

    def orders(self, control=False):
        self.allow_prepared()
        lost = []
        for lookup in ("", LOOKUP)[:1 if control else 2]:
            server.make(DATABASE, SETUP + lookup + (CONTROL if control else UNIQUE))
            sessions = [self.session() for _ in range(3)]
            for level in LEVELS:
                for order, (_, _, _, committed, rolled_back) in ORDERS.items():
                    for end, state in ("COMMIT", committed), ("ROLLBACK", rolled_back):
                        answer = self.run_order(sessions, level, order, end)
                        if control:
                            lost += [(order, level)] if answer[2] != "0" else []
                        else:
                            self.ok(f"{order}, {level}, {end}{', lookup' if lookup else ''}", None if answer == (state, True, "0") else f"expected {state}, got {answer}")
            for session in sessions:
                session.close()
        if control:
            # serializable transactions notice by what the control reads
            missing = [level for level in LEVELS[:2] if ("two inserts", level) not in lost]
            self.ok(f"without waiting {len(lost)} orders make duplicates: the test notices", missing and f"none at {missing}")

    def control(self):
        self.orders(control=True)

    def older_snapshot(self):
        """What is committed counts, whether the snapshot sees it or not; a key that was looked for before fails as a serialization."""
        server.make(DATABASE, SETUP + LOOKUP + UNIQUE)
        one, two = self.session(), self.session()
        for level in LEVELS:
            for looks in (False, True):
                one.run("DELETE FROM log")
                two.run(f"BEGIN ISOLATION LEVEL {level}")
                two.run("SELECT count(*) FROM log WHERE id = 7" if looks else "SELECT 1 FROM pg_class LIMIT 1")
                one.run(f"BEGIN ISOLATION LEVEL {level}")
                one.run("SELECT count(*) FROM log WHERE id = 7" if looks else "SELECT 1")
                one.run("INSERT INTO log VALUES (7, 1)")
                one.run("COMMIT")
                state = two.answer("INSERT INTO log VALUES (7, 2)")[1]
                two.answer("ROLLBACK")
                expected = "40001" if looks and level == "serializable" else "23505"
                self.ok(f"a row younger than the snapshot, {level}{', looked for before' if looks else ''}", None if state == expected else f"{state}, not {expected}")
        # both later than both rows: one of them is refused
        for level in LEVELS:
            one.run("DELETE FROM log")
            states = []
            for session, part in (one, 1), (two, 2):
                session.run(f"BEGIN ISOLATION LEVEL {level}")
                session.run("SET CONSTRAINTS ALL DEFERRED")
                session.run(f"INSERT INTO log VALUES (7, {part})")
            threads = [self.start(session, "COMMIT", states) for session in (one, two)]
            for thread in threads:
                thread.join()
            rows = one.run("SELECT count(*) FROM log WHERE id = 7")[0]
            self.ok(f"two deferred checks, {level}", None if rows == "1" and sorted(states) in (["00000", "23505"], ["00000", "40P01"]) else f"{rows} rows, {states}")
        one.close()
        two.close()

    def paused(self):
        with server.compiled(os.path.join(HERE, "paused_heap.c")) as library:
            server.make(DATABASE, SETUP + f"""
                CREATE FUNCTION paused_heap(internal) RETURNS table_am_handler LANGUAGE c AS '{library}';
                CREATE ACCESS METHOD paused TYPE TABLE HANDLER paused_heap;
                DROP TABLE log_1;
                CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1) USING paused;
                INSERT INTO log VALUES (7, 1, 'a');""" + UNIQUE)
            one, two, watcher = (self.session() for _ in range(3))
            one.run("SELECT pg_advisory_lock(1)")
            two.run("SELECT count(*) FROM log_1")
            two.run("SET pause.key = 1")
            states = []
            thread = self.start(two, "INSERT INTO log VALUES (7, 2)", states)
            waited = self.waits(thread, watcher)
            # the new version has an entry of its own, behind the one that was read
            one.run("UPDATE log SET note = 'b'")
            one.run("SELECT pg_advisory_unlock(1)")
            thread.join()
            answer = waited, states[0], watcher.run(DUPLICATES)[0]
            self.ok("a row that is updated while it is looked for", None if answer == (True, "23505", "0") else str(answer))
            for session in (one, two, watcher):
                session.close()

    def attach(self):
        for writer_first in (True, False):
            for attached_rows in (True, False):
                server.make(DATABASE, SETUP + LOOKUP + UNIQUE + "CREATE TABLE late (LIKE log);" + ("INSERT INTO late VALUES (7, 5);" if attached_rows else ""))
                one, two, watcher = (self.session() for _ in range(3))
                attach = "BEGIN; ALTER TABLE log ATTACH PARTITION late FOR VALUES IN (5); SELECT bloomx_unique('log', 'id'); COMMIT"
                states = []
                if writer_first:
                    one.run("BEGIN")
                    one.run("INSERT INTO log_2 VALUES (7, 2)")
                    thread = self.start(two, attach, states)
                    waited = self.waits(thread, watcher)
                    one.run("COMMIT")
                else:
                    for statement in attach.split("; ")[:-1]:
                        one.run(statement)
                    thread = self.start(two, "INSERT INTO log_2 VALUES (7, 2)", states)
                    waited = self.waits(thread, watcher)
                    one.run("COMMIT")
                thread.join()
                answer = states[0], waited, watcher.run(DUPLICATES)[0]
                self.ok(f"attached {'after' if writer_first else 'before'} the insert, {'with' if attached_rows else 'without'} the key",
                        None if answer == ("23505" if attached_rows else "00000", True, "0") else str(answer))
                for session in (one, two, watcher):
                    session.close()
        # a statement in whose middle an empty partition is attached and gets the key
        server.make(DATABASE, SETUP + LOOKUP + UNIQUE + "CREATE TABLE late (LIKE log);")
        one, two, watcher = (self.session() for _ in range(3))
        two.run("SELECT pg_advisory_lock(1)")
        states = []
        thread = self.start(one, "INSERT INTO log SELECT 7, 1 FROM pg_advisory_lock(1)", states)
        waited = self.waits(thread, watcher)
        two.run("ALTER TABLE log ATTACH PARTITION late FOR VALUES IN (5)")
        two.run("INSERT INTO log VALUES (7, 5)")
        two.run("SELECT pg_advisory_unlock(1)")
        thread.join()
        self.ok("an empty partition, attached in the middle of the statement", None if (waited, states[0]) == (True, "23505") else f"{waited} {states}")
        for session in (one, two, watcher):
            session.close()

    def write(self, number, until, problems, states):
        chance, session = random.Random(f"{self.options.seed} {number}"), self.session()
        while time.monotonic() < until() and not problems:
            key, part = (lambda: chance.randrange(25)), (lambda: chance.randrange(1, 5))
            statements = [chance.choice([
                f"INSERT INTO log VALUES ({key()}, {part()}, 'n')", f"INSERT INTO log_34 VALUES ({key()}, {chance.randrange(3, 5)}, 'n')",
                f"INSERT INTO log SELECT g, {part()} FROM generate_series({key()}, {key()}) g", f"INSERT INTO log SELECT g, g % 4 + 1 FROM generate_series({key()}, {key()}) g",
                f"UPDATE log SET part = part % 4 + 1 WHERE id = {key()}", f"UPDATE log SET note = note || 'x' WHERE id % 5 = {chance.randrange(5)}",
                f"UPDATE log SET id = {key()} WHERE id = {key()}", f"DELETE FROM log WHERE id = {key()}", f"DELETE FROM log WHERE part = {part()} AND id % 3 = 0",
                "SET CONSTRAINTS ALL DEFERRED", "SAVEPOINT a", "ROLLBACK TO a"]) for _ in range(chance.randrange(1, 5))]
            session.run(f"BEGIN ISOLATION LEVEL {chance.choice(LEVELS)}")
            for statement in [*statements, chance.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"])]:
                _, state, message = session.answer(statement)
                states[state] = states.get(state, 0) + 1
                if state not in ("00000", "23505", "40001", "40P01", "3B001"):
                    problems.append(f"{state} {message}: {statement}")
                if state != "00000":
                    session.answer("ROLLBACK")
                    break
        session.close()

    def change(self, until, problems):
        session, n = self.session(), 0
        changes = ["VACUUM log", "REINDEX TABLE CONCURRENTLY log_1", "SELECT bloomx_seal('log_lookup')", "VACUUM log_3", "REINDEX INDEX CONCURRENTLY log_3_id_note_idx"]
        while time.monotonic() < until() and not problems:
            _, state, message = session.answer(changes[n % len(changes)])
            n += 1
            if state not in ("00000", "40P01"):
                problems.append(f"{state} {message}")
        session.close()

    def writers(self, seconds, with_changes):
        """Duplicates that a reader saw, other problems, and how statements ended."""
        problems, states, end = [], {}, time.monotonic() + seconds
        found = 0
        until = lambda: end
        threads = [threading.Thread(target=self.write, args=(i, until, problems, states)) for i in range(4)]
        threads += [threading.Thread(target=self.change, args=(until, problems))] if with_changes else []
        for thread in threads:
            thread.start()
        reader = self.session()
        while any(thread.is_alive() for thread in threads) and not found:
            found = int(reader.run(DUPLICATES)[0])
        end = 0 if found else end
        for thread in threads:
            thread.join()
        found += int(reader.run(DUPLICATES)[0])
        reader.close()
        return found, problems, states

    def many(self):
        server.make(DATABASE, SETUP + LOOKUP + UNIQUE)
        found, problems, states = self.writers(self.options.seconds, True)
        self.ok(f"many writers, {states}", "; ".join(problems[:3]) or found and f"{found} duplicates" or (states.get("23505", 0) < 20 and "too few duplicates were tried") or None)
        server.make(DATABASE, SETUP + CONTROL)
        found, problems, states = self.writers(100, False)
        self.ok("many writers and a trigger that does not wait: the test notices", "; ".join(problems[:3]) or (not found and "it did not"))

    def dump(self):
        server.make(DATABASE, SETUP + LOOKUP + UNIQUE + "INSERT INTO log VALUES (7, 1), (8, 2);")
        script = subprocess.run(["pg_dump", DATABASE], capture_output=True, text=True, check=True).stdout
        server.make(RESTORED, script)
        session = Session(RESTORED)
        states = [session.answer(f"INSERT INTO log VALUES {row}")[1] for row in ("(7, 2)", "(8, 4)", "(9, 4)")]
        self.ok("restored", None if states == ["23505", "23505", "00000"] else str(states))
        self.ok("a dump of that is the same", None if session.value("(SELECT string_agg(tgenabled::text, '') FROM pg_trigger WHERE tgname = 'log_id_key')") == "A" * 6 else "triggers are not always enabled")
        session.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="orders,control,older_snapshot,paused,attach,many,dump")
    test = Test(parser.parse_args())
    print(f"seed {test.options.seed}")
    try:
        for part in test.options.only.split(","):
            getattr(test, part)()
    finally:
        server.drop(DATABASE)
        server.drop(RESTORED)
    print(f"{test.passed} passed, {test.failed} failed")
    return test.failed > 0


if __name__ == "__main__":
    sys.exit(main())
