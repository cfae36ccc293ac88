#!/usr/bin/env python3
"""A damaged store of partitions' keys is never a wrong row, and makes no statement fail that does without it.

    scripts/throwaway test/server/partition_damage.py [--only NAME]

Copies of a database, in each of whose stores something else is overwritten or cut off while the server is down; once
without data checksums, and once with them.  Lookups must find each row, inserts must succeed, rows inserted must be found, VACUUM must
succeed, and REINDEX and bloomx_seal must make the store whole.  Nor may a key be missing when damaged pages are whole again.  What data checksums alone can notice, bits of filters that are gone, is left out.

Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway provides.  Stops that server and
starts it.  The last line is "N passed, N failed".
"""

import argparse
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server

DATABASE = "bloomx_damage"
PARTITIONS = 16
PAGE, HEAD, TAIL, SLOT = 8192, 24, 16, 56
LEAF, FILTER, NO_SLOT = 1, 2, 0xFFFFFFFF
DIRECTORY_PAGE, FILTER_PAGE = 2, 6
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE log (id bigint, part int) PARTITION BY LIST (part);
""" + "".join(f"CREATE TABLE log_{i} PARTITION OF log FOR VALUES IN ({i}) WITH (autovacuum_enabled = off);\n" for i in range(PARTITIONS)) + """
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
INSERT INTO log SELECT g, g % 16 FROM generate_series(1, 1000) g;
SELECT bloomx_seal('log_id');
INSERT INTO log SELECT g, g % 16 FROM generate_series(1001, 1500) g;
CREATE TABLE late (id bigint, part int) PARTITION BY LIST (part);
""" + "".join(f"CREATE TABLE late_{i} PARTITION OF late FOR VALUES IN ({i}) WITH (autovacuum_enabled = off);\n" for i in range(9)) + """
INSERT INTO late SELECT g, g % 9 FROM generate_series(1, 500) g;
CREATE INDEX late_id ON late USING bloomx (id) WITH (partition_lookup = on);
CREATE FUNCTION lost() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint := 0; k bigint; found bigint;
BEGIN
	FOR k IN SELECT id FROM log WHERE id % 47 = 0 AND id > -1000 OR id BETWEEN -10 AND -1 LOOP
		EXECUTE 'SELECT count(*) FROM log WHERE id = ' || k INTO found;
		n := n + (found = 0)::int;
	END LOOP;
	FOR k IN 1..500 BY 11 LOOP
		EXECUTE 'SELECT count(*) FROM late WHERE id = ' || k INTO found;
		n := n + (found = 0)::int;
	END LOOP;
	RETURN n;
END $$;
CREATE VIEW whole AS SELECT count(*) FILTER (WHERE complete) = 16 AS whole FROM bloomx_partitions('log_id');
"""


class File:
    """A store's file, and what is in it (src/pg/partitions/store/store_format.h)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        self.path = path
        self.directory = [i for i in range(len(self.data) // PAGE) if self.kind(i) == DIRECTORY_PAGE]

    def kind(self, block):
        return struct.unpack_from("<H", self.data, block * PAGE + PAGE - 4)[0]

    def slots(self, kind):
        """Where the slots of that kind are."""
        per_page = (PAGE - HEAD - TAIL) // SLOT
        places = [block * PAGE + HEAD + i * SLOT for block in self.directory for i in range(per_page)]
        return [place for place in places if struct.unpack_from("<H", self.data, place)[0] == kind]

    def open_filters(self):
        return [place for place in self.slots(FILTER) if struct.unpack_from("<I", self.data, place + 24)[0] != NO_SLOT]

    def put(self, place, form, *values):
        struct.pack_into("<" + form, self.data, place, *values)

    def write(self):
        with open(self.path, "r+b") as file:
            file.write(self.data)
            file.truncate(len(self.data))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def fill(file):
    """No damage: all slots that a directory can have are there, and those that were free have leaves of other tables."""
    leaf = struct.pack("<HHHHIIIIIIIQQ4x", LEAF, 0, 0, 0, 1, 1259, 1259, NO_SLOT, NO_SLOT, 0, 0, 0, 0)[:SLOT]
    slots = (PAGE - HEAD - TAIL) // SLOT
    for place in file.slots(0):
        file.put(place, f"{SLOT}s", leaf)
    page = bytearray(file.data[file.directory[-1] * PAGE:][:PAGE])
    page[HEAD:HEAD + slots * SLOT] = leaf * slots
    for i in range(len(file.directory), PAGE // 8):
        file.put(HEAD + 40 + 4 * i, "I", len(file.data) // PAGE)
        struct.pack_into("<QI", page, PAGE - TAIL, i, crc32c(page[HEAD:PAGE - TAIL]) if i == len(file.directory) else struct.unpack_from("<I", page, PAGE - 8)[0])
        file.data += page
    file.put(HEAD + 32, "I", PAGE // 8 * slots)
    for block in [0, *file.directory]:
        file.put(block * PAGE + PAGE - 8, "I", crc32c(file.data[block * PAGE + HEAD:block * PAGE + PAGE - TAIL]))


def each(places, offset, form, change):
    def apply(file):
        for place in places(file):
            file.put(place + offset, form, change(struct.unpack_from("<" + form, file.data, place + offset)[0]))
    return apply


def leaves(file):
    return file.slots(LEAF)


def cut(pages):
    def apply(file):
        del file.data[pages(file) * PAGE:]
    return apply


def pages_of(kind):
    return lambda file: [block * PAGE for block in range(len(file.data) // PAGE) if file.kind(block) == kind]


def blank(file):
    file.data[:PAGE] = bytes(PAGE)


DAMAGES = {
    "nothing": lambda file: None,
    "no room for another slot": fill,
    "the first page is empty": blank,
    "the first page is of another kind": lambda file: file.put(PAGE - 4, "H", 3),
    "the magic number": lambda file: file.put(HEAD, "I", 0),
    "fewer slots": lambda file: file.put(HEAD + 32, "I", 20),
    "an earlier generation": lambda file: file.put(HEAD + 16, "Q", 2),
    "free pages that are in use": lambda file: file.put(HEAD + 36, "I", 1) or file.put(HEAD + 40 + 4096, "II", 1, 40),
    "another page for the directory": lambda file: file.put(HEAD + 40, "I", 3),
    "pages of the directory of another kind": lambda file: [file.put(place + PAGE - 4, "H", FILTER_PAGE) for place in pages_of(DIRECTORY_PAGE)(file)],
    "an empty page of the directory": lambda file: file.put(file.directory[-1] * PAGE, "8192s", bytes(PAGE)),
    "open filters that are none": each(File.open_filters, 0, "H", lambda _: 0),
    "open filters of nobody": each(File.open_filters, 24, "I", lambda _: NO_SLOT),
    "open filters of others": each(File.open_filters, 24, "I", lambda owner: owner ^ 1),
    "open filters elsewhere": each(File.open_filters, 28, "I", lambda start: start + 1),
    "open filters of another generation": each(File.open_filters, 40, "Q", lambda generation: generation + 1),
    "leaves of another root": each(leaves, 8, "I", lambda root: root + 1),
    "leaves of other columns": each(leaves, 6, "H", lambda column: column ^ 1),
    "leaves of other filters": each(leaves, 20, "I", lambda main: main ^ 1),
    "leaves of a later generation": each(leaves, 40, "Q", lambda generation: generation + 1000),
    "filters' pages of another generation": each(pages_of(FILTER_PAGE), PAGE - 16, "Q", lambda generation: generation + 1),
    "filters' pages that are empty": lambda file: [file.put(place, "8192s", bytes(PAGE)) for place in pages_of(FILTER_PAGE)(file)],
    "the second half is cut off": cut(lambda file: len(file.data) // PAGE // 2),
    "all but the first page is cut off": cut(lambda file: 1),
    "all but the first three pages is cut off": cut(lambda file: 3),
    "all is cut off": cut(lambda file: 0),
}


class Test(server.Checks):
    def __init__(self, only):
        super().__init__(DATABASE, "")
        self.names = [name for name in DAMAGES if not only or re.search(only, name)]
        if not self.names:
            sys.exit(f"no damage is called {only}")

    def stop(self):
        server.as_server("pg_ctl", "-D", os.environ["PGDATA"], "-s", "-w", "-m", "fast", "stop")

    def start(self):
        if not server.start(os.environ["PGDATA"]):
            sys.exit("the server does not start")

    def damage(self, checksums):
        for i, _ in enumerate(self.names):
            server.drop(f"{DATABASE}_{i}")
            server.psql(f"CREATE DATABASE {DATABASE}_{i} TEMPLATE {DATABASE};", "postgres", stop=True)
        server.psql("CHECKPOINT;", "postgres", stop=True)
        paths = [server.psql("SELECT pg_relation_filepath('bloomx_partition_store_pages');", f"{DATABASE}_{i}", stop=True).stdout.strip() for i, _ in enumerate(self.names)]
        self.stop()
        # a run before this one, or the server's own choice, may have left them the other way
        done = server.as_server("pg_checksums", "-D", os.environ["PGDATA"], "--enable" if checksums else "--disable")
        if done.returncode and "already" not in done.stdout:
            sys.exit(done.stdout)
        for name, path in zip(self.names, paths):
            file = File(os.path.join(os.environ["PGDATA"], path))
            DAMAGES[name](file)
            file.write()
        self.start()

    def attempt(self, session, statement):
        """The answer, or the error."""
        rows, state, message = session.answer(statement)
        return rows[0] if state == "00000" and rows else f"{state} {message}" if state != "00000" else ""

    def check(self, number, name, kind):
        session = server.Session(f"{DATABASE}_{number}")
        steps = [("SELECT bloomx_partition_lookup_totals() IS NULL LIMIT 0", ""), ("SELECT lost()", "0"), ("INSERT INTO log VALUES (-1, 5), (-2, 10), (-3, 7)", ""), ("SELECT lost()", "0"),
                 ("INSERT INTO log SELECT -g, 8 FROM generate_series(10, 9000) g", ""), ("UPDATE log SET id = -id - 1000000 WHERE part = 13", ""), ("SELECT lost()", "0"),
                 ("SELECT bool_or(complete IS NULL) FROM bloomx_partitions('log_id')", "f"),
                 ("VACUUM log, late", ""), ("SELECT lost()", "0"), ("TRUNCATE log_3", ""), ("ALTER TABLE log DETACH PARTITION log_4", ""), ("REINDEX TABLE log_6", ""),
                 ("CREATE TABLE log_n PARTITION OF log DEFAULT", ""), ("INSERT INTO log VALUES (-4, 1000)", ""), ("SELECT lost()", "0"), ("DROP TABLE log_n", ""),
                 ("ALTER TABLE log ATTACH PARTITION log_4 FOR VALUES IN (4)", ""),
                 ("REINDEX INDEX bloomx_partition_store_pages", ""), ("INSERT INTO log VALUES (-5, 6)", ""), ("SELECT lost()", "0"), ("SELECT bloomx_seal('log_id') > 0", "t"), ("SELECT lost()", "0"),
                 ("SELECT whole FROM whole", "t"), ("SELECT count(*) < 10 FROM bloomx_possible_partitions('log_id', -77::bigint)", "t"),
                 ("SELECT count(bloomx_check_index(c.oid)) FROM pg_class c WHERE relname ~ '^log_.*_id_idx' AND relkind = 'i'", "16")]
        problem = None
        for statement, expected in steps:
            got = self.attempt(session, statement)
            if got != expected:
                problem = f"{statement}: {got}"
                break
        session.close()
        self.ok(f"{name}, {kind}", problem)

    def healed(self):
        """Pages of filters that are whole again, as a standby's were all the time: keys that came meanwhile are not missing."""
        database = f"{DATABASE}_healed"
        server.drop(database)
        server.psql(f"CREATE DATABASE {database} TEMPLATE {DATABASE};", "postgres", stop=True)
        server.psql("CHECKPOINT;", "postgres", stop=True)
        path = os.path.join(os.environ["PGDATA"], server.psql("SELECT pg_relation_filepath('bloomx_partition_store_pages');", database, stop=True).stdout.strip())
        self.stop()
        before, now = File(path), File(path)
        DAMAGES["filters' pages that are empty"](now)
        now.write()
        self.start()
        server.psql("INSERT INTO log VALUES (-1, 5), (-2, 10), (-3, 7);", database, stop=True)
        self.stop()
        now = File(path)
        for place in pages_of(FILTER_PAGE)(before):
            now.data[place:place + PAGE] = before.data[place:place + PAGE]
        now.write()
        self.start()
        session = server.Session(database)
        self.attempt(session, "SELECT bloomx_partition_lookup_totals() IS NULL LIMIT 0")
        lost = self.attempt(session, "SELECT lost()")
        session.close()
        server.drop(database)
        self.ok("pages that are whole again", None if lost == "0" else lost)

    def run(self):
        server.make(DATABASE, SETUP)
        self.healed()
        for checksums in (False, True):
            self.damage(checksums)
            for number, name in enumerate(self.names):
                self.check(number, name, "with checksums" if checksums else "without checksums")
        for number, _ in enumerate(self.names):
            server.drop(f"{DATABASE}_{number}")
        server.drop(DATABASE)
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    sys.exit(1 if Test(parser.parse_args().only).run() else 0)
