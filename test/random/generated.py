#!/usr/bin/env python3
"""Call every SQL object of the extension with every kind of filter; nothing may crash, hang or fail internally.

    scripts/throwaway test/random/generated.py [--long] [--only REGEX] [--seconds N]

The functions, operators, casts, aggregates and operator classes come from the catalog; this file has the
values for each type of argument.  Filters come in kinds: every layout empty, with keys, overfull, with every
bit set, TOASTed, with extreme headers; open states of aggregates; sets made by bloomx_probe; and filters with
one changed field that the validator accepts.  A function of two filters gets all pairs of kinds; other
arguments are combined pairwise.

A call may return a value or raise an error that names the user's mistake (EXPECTED below).  It fails if it
loses the connection, takes more than N seconds of processor time (10), raises any other error, or returns an unsound filter:
one that does not survive its interchange format or has lost a key.  After a crash the test waits for the
server, finds and names the failing call, and continues.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes a database and a role,
and calls everything as that role.  --only runs the tests whose names match.  --long adds a filter of 1 GB.
Each test is one function (or object, or statement) with all its values.  The last line is "N passed, N failed".
"""

import argparse
import itertools
import os
import re
import signal
import sys
import time

import server
from server import Late, Lost
from values import EDGES, literal

DATABASE = "bloomx_generated"
ROLE = "bloomx_generated"

# Errors that a call may raise: a wrong value or name, a limit, a lack of memory.  None of class XX.
EXPECTED = "^(22|42|54|0A|55|53200|53400|39004)"
# Messages with these codes that mean that the test's own SQL is wrong.
MISTAKE = r"^(syntax error|(function|operator|relation|type|column) (?!with OID).* does not exist|could not determine (poly|data type))"

# How many times N seconds a call may last on a machine that is busy with other work, and what a cancelled one has to end.
BUSY = 12
GRACE = 60

# Crashes and hangs after which a test gives up its remaining calls.
PATIENCE = 4


# --------------------------------------------------------------------------
# A session that survives crashes of the server
# --------------------------------------------------------------------------

class Session:
    """A session that begins anew after a crash, and ends a backend that ignores the cancel."""

    def __init__(self, user, seconds):
        self.user = user
        self.seconds = seconds
        self.psql = None
        self.settle = False

    def connect(self):
        deadline = time.monotonic() + 90
        while True:
            self.psql = server.Session(DATABASE, self.user, options=f"-c statement_timeout={BUSY * self.seconds}s -c search_path=generated,public,pg_temp")
            try:
                self.backend = int(self.psql.answer("SELECT pg_backend_pid()", 30)[0][0])
                if self.settle:
                    # the server may not have noticed yet that another of its processes died
                    time.sleep(0.5)
                    self.psql.answer("SELECT 1", 30)
                self.settle = False
                return
            except (Lost, IndexError, ValueError):
                self.close()
                if time.monotonic() > deadline:
                    sys.exit("generated: the server does not come back")
                time.sleep(0.2)

    def close(self):
        if self.psql:
            self.psql.psql.kill()
            self.psql.psql.wait()
            self.psql = None

    def run(self, sql):
        """Returns rows, SQLSTATE and message of a statement, or raises Lost."""
        if not self.psql:
            self.connect()
        try:
            used = self.processor_time()
            start = time.monotonic()
            answer = self.psql.answer(sql, BUSY * self.seconds + GRACE)
            # a look at the clock first, because most calls are short
            if time.monotonic() - start > self.seconds and self.processor_time() - used > self.seconds:
                return [], "57014", f"more than {self.seconds} s of processor time"
            return answer
        except Lost as lost:
            if isinstance(lost, Late):
                os.kill(self.backend, signal.SIGKILL)
            self.close()
            self.settle = True
            raise

    def processor_time(self):
        """Seconds that the backend has used; without /proc, those that went by."""
        try:
            with open(f"/proc/{self.backend}/stat") as stat:
                return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        except FileNotFoundError:
            return time.monotonic()


# --------------------------------------------------------------------------
# Tests: calls in batches, whose failures are found one by one
# --------------------------------------------------------------------------

class Tests:
    def __init__(self, session, only):
        self.session = session
        self.only = only
        self.passed = self.failed = self.calls = 0

    def wants(self, name):
        return not self.only or re.search(self.only, name)

    def run(self, name, batches, must_answer=True):
        """Runs one test.  A batch is a query that returns rows of label and verdict, and a function that returns the
        batch's calls as (label, query).  The verdict is 'v' for values, 'e ...' for errors, else a complaint; the
        label of 'v' and 'e' is their number."""
        if not self.wants(name):
            return
        start = time.monotonic()
        values = errors = blows = 0
        sample = ""
        complaints = {}

        def count(rows):
            nonlocal values, errors, sample
            for row in rows:
                label, _, verdict = row.partition("\t")
                if verdict == "v":
                    values += int(label)
                elif verdict.startswith("e "):
                    errors += int(label)
                    sample = verdict[2:]
                else:
                    complaints.setdefault(verdict, []).append(label)

        def attempt(query):
            rows, state, message = self.session.run(query)
            if state != "00000":
                raise Lost(f"{state} {message}")
            return rows

        for query, singles in batches:
            try:
                count(attempt(query))
                continue
            except Lost:
                pass
            for label, single in singles():
                if blows >= PATIENCE:
                    break
                try:
                    count(attempt(single))
                except Lost as lost:
                    complaints.setdefault(str(lost), []).append(label)
                    blows += 1
            if blows >= PATIENCE:
                complaints.setdefault(f"gave up after {PATIENCE} of these", []).append("the other calls")
                break
        if must_answer and not values and not complaints:
            complaints["never returned a value"] = [f"for example {sample}"]
        bad = sum(map(len, complaints.values()))
        self.calls += values + errors + bad
        self.verdict(name, f"{values} values, {errors} errors, {time.monotonic() - start:.1f} s", complaints)

    def verdict(self, name, tally, complaints):
        if not complaints:
            self.passed += 1
            print(f"ok - {name} ({tally})")
        else:
            self.failed += 1
            print(f"not ok - {name} ({tally})")
            for complaint, labels in list(complaints.items())[:12]:
                print(f"#   {complaint}\n#     {len(labels)} times: {'; '.join(labels[:3])}{' ...' if len(labels) > 3 else ''}")
        sys.stdout.flush()


def batches_of(calls, size=150):
    """Batches of (label, query)."""
    for i in range(0, len(calls), size):
        part = calls[i:i + size]
        array = ",".join(literal(q) for _, q in part)
        labels = ",".join(literal(label) for label, _ in part)
        yield (f"SELECT * FROM attempts(ARRAY[{labels}], ARRAY[{array}])",
               lambda part=part: [(label, f"SELECT * FROM attempts(ARRAY[{literal(label)}], ARRAY[{literal(q)}])") for label, q in part])


# --------------------------------------------------------------------------
# The server's side
# --------------------------------------------------------------------------

SETUP = r"""
CREATE SCHEMA generated;
SET search_path = generated, public;
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 1000);
CREATE TABLE keys (k int, t text) WITH (autovacuum_enabled = off);
INSERT INTO keys SELECT i, 'k' || i FROM generate_series(1, 500) i;
ANALYZE keys;

-- hashes: of keys that are in f.  one: SQL of a further key of f's type.  rep: stands for its likes; minor: meets those in pairs,
-- and nothing else.  mutant: a kind with one field changed.
CREATE TABLE kind (id serial PRIMARY KEY, name text UNIQUE, f bloomfilter NOT NULL, hashes bigint[] NOT NULL, one text, rep bool NOT NULL, minor bool NOT NULL, mutant bool NOT NULL)
	WITH (autovacuum_enabled = off);
-- Compressed where that is possible, inline and out of line.
CREATE TABLE packed (id int PRIMARY KEY, f bloomfilter) WITH (autovacuum_enabled = off);
ALTER TABLE packed ALTER f SET STORAGE EXTENDED;

CREATE FUNCTION verdict(state text, message text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN state !~ '@EXPECTED@' OR message ~ '@MISTAKE@' THEN state || ' ' || translate(message, E'\n\t', '  ') ELSE 'e' END $$;

-- A complaint about a filter that was returned: it must survive its own format and hold those hashes.
CREATE FUNCTION sound(f bloomfilter, hashes bigint[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE b bytea; again bloomfilter; h bigint;
BEGIN
	IF f IS NULL OR pg_column_size(f) > 300000 THEN RETURN NULL; END IF;
	b := f::bytea;
	again := b::bloomfilter;
	IF again::bytea <> b THEN RETURN 'unsound: bytea and back is another filter'; END IF;
	IF f::text::bloomfilter::bytea <> b THEN RETURN 'unsound: text and back is another filter'; END IF;
	IF get_byte(b, 4) <> 0 AND again <> f THEN RETURN 'unsound: not equal to its copy'; END IF;
	FOREACH h IN ARRAY hashes LOOP
		IF NOT bloom_contains_hash(f, h) THEN RETURN 'unsound: lost a key'; END IF;
		IF NOT bloom_contains_hash(again, h) THEN RETURN 'unsound: its copy lost a key'; END IF;
	END LOOP;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN 'unsound: ' || SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION within(x float8, low float8, high float8, unknown bool) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN unknown AND x = 'NaN' THEN NULL WHEN x < low OR x > high THEN 'wrong: out of range, ' || x END $$;

CREATE FUNCTION keep(kind_name text, f bloomfilter, hashes bigint[], one text DEFAULT '424242', rep bool DEFAULT false, minor bool DEFAULT false, mutant bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE complaint text := sound(f, hashes); new int;
BEGIN
	INSERT INTO kind (name, f, hashes, one, rep, minor, mutant) VALUES (kind_name, f, hashes, one, rep, minor, mutant) RETURNING id INTO new;
	INSERT INTO packed VALUES (new, f);
	RETURN complaint;
END $$;

-- The hashes of from..to but 5, which the calls may remove.
CREATE FUNCTION hashes(lowest int, highest int, seed bigint DEFAULT 0) RETURNS bigint[] LANGUAGE sql STABLE AS $$
	SELECT coalesce(array_agg(bloom_hash(i, seed)), '{}') FROM generate_series(lowest, highest) i WHERE i <> 5 $$;

CREATE AGGREGATE raw_state(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE raw_state(anycompatible, bigint) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE raw_state(anycompatible, bigint, float8) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE raw_state(anycompatible, bloomfilter) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE raw_union(bloomfilter) (SFUNC = bloomx_union_transfn, STYPE = bloomfilter);
CREATE AGGREGATE raw_intersection(bloomfilter) (SFUNC = bloomx_intersection_transfn, STYPE = bloomfilter);

-- Each query in a subtransaction of its own.  What it returns is a complaint if it begins like one.
CREATE FUNCTION attempts(labels text[], queries text[], OUT label text, OUT answer text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE vs int := 0; es int := 0; sample text; complaint text;
BEGIN
	FOR i IN 1 .. array_length(queries, 1) LOOP
		BEGIN
			complaint := NULL;
			EXECUTE queries[i] INTO complaint;
			answer := CASE WHEN complaint ~ '^(wrong|unsound): ' THEN complaint ELSE 'v' END;
		EXCEPTION WHEN OTHERS THEN
			answer := verdict(SQLSTATE, SQLERRM);
			sample := SQLSTATE || ' ' || translate(left(SQLERRM, 200), E'\n\t', '  ');
		END;
		IF answer = 'v' THEN vs := vs + 1;
		ELSIF answer = 'e' THEN es := es + 1;
		ELSE label := labels[i]; RETURN NEXT;
		END IF;
	END LOOP;
	IF vs > 0 THEN label := vs; answer := 'v'; RETURN NEXT; END IF;
	IF es > 0 THEN label := es; answer := 'e ' || sample; RETURN NEXT; END IF;
END $$;

-- The same for statements with @f (a kind as a literal), @s (as it is stored) and @k (a further key of its type).
-- All that they make is rolled back.
CREATE FUNCTION statements(stmt text, ids int[], OUT label text, OUT answer text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE vs int := 0; es int := 0; sample text; complaint text; c record; query text;
BEGIN
	FOR c IN SELECT id, name, coalesce(one, '5') AS one, CASE WHEN stmt ~ '@f' THEN f::text END AS f FROM kind WHERE id = ANY (ids) ORDER BY id LOOP
		query := replace(replace(stmt, '@s', '(SELECT f FROM kind WHERE id = ' || c.id || ')'), '@k', c.one);
		IF c.f IS NOT NULL THEN
			query := replace(query, '@f', quote_literal(c.f) || '::bloomfilter');
		END IF;
		BEGIN
			complaint := NULL;
			EXECUTE query INTO complaint;
			RAISE SQLSTATE 'BX000' USING MESSAGE = CASE WHEN complaint ~ '^(wrong|unsound): ' THEN complaint ELSE 'v' END;
		EXCEPTION
			WHEN SQLSTATE 'BX000' THEN
				answer := SQLERRM;
			WHEN OTHERS THEN
				answer := verdict(SQLSTATE, SQLERRM);
				sample := SQLSTATE || ' ' || translate(left(SQLERRM, 200), E'\n\t', '  ');
		END;
		IF answer = 'v' THEN vs := vs + 1;
		ELSIF answer = 'e' THEN es := es + 1;
		ELSE label := c.name; RETURN NEXT;
		END IF;
	END LOOP;
	IF vs > 0 THEN label := vs; answer := 'v'; RETURN NEXT; END IF;
	IF es > 0 THEN label := es; answer := 'e ' || sample; RETURN NEXT; END IF;
END $$;
GRANT USAGE ON SCHEMA generated TO PUBLIC;
"""

# A function of two filters with all pairs: a is the kind, in each of three forms, b is every other kind.
PAIRS = r"""
CREATE OR REPLACE FUNCTION {name}(a_id int, b_id int, OUT label text, OUT answer text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE vs int := 0; es int := 0; sample text; x bloomfilter; y bloomfilter; a kind; b kind; form int := 0; complaint text;
BEGIN
	SELECT * INTO STRICT a FROM kind WHERE id = a_id;
	FOR b IN SELECT * FROM kind WHERE id = coalesce(b_id, id) AND (rep OR a.rep OR NOT minor AND NOT a.minor) ORDER BY id LOOP
		form := (a.id + b.id) % 3;
		x := a.f;
		y := b.f;
		IF form > 0 THEN
			y := y::bytea::bloomfilter;
		END IF;
		BEGIN
			-- expanded
			IF form = 1 AND a.one = '424242' THEN x := bloom_add(x, 424242); END IF;
			IF form = 2 AND b.one = '424242' THEN y := bloom_add(y, 424242); END IF;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
		BEGIN
			complaint := {expression};
			answer := CASE WHEN complaint ~ '^(wrong|unsound): ' THEN complaint ELSE 'v' END;
		EXCEPTION WHEN OTHERS THEN
			answer := verdict(SQLSTATE, SQLERRM);
			sample := SQLSTATE || ' ' || translate(left(SQLERRM, 200), E'\n\t', '  ');
		END;
		IF answer = 'v' THEN vs := vs + 1;
		ELSIF answer = 'e' THEN es := es + 1;
		ELSE label := format('%s and %s%s', a.name, b.name, (ARRAY['', ', the first expanded', ', the second expanded'])[form + 1]); RETURN NEXT;
		END IF;
	END LOOP;
	IF vs > 0 THEN label := vs; answer := 'v'; RETURN NEXT; END IF;
	IF es > 0 THEN label := es; answer := 'e ' || sample; RETURN NEXT; END IF;
END $$
"""

# --------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------

BIG = 2**63 - 1
# Columns for the pseudo-types of EDGES.
COLUMN_TYPES = {"anyenum": "color", "character": "char(6)", "anyarray": "int[]"}
ARGUMENTS = {
    "bigint": ["NULL::bigint", "0::bigint", "1::bigint", "(-1)::bigint", "5::bigint", "100::bigint", "65536::bigint", "2147483647::bigint",
               "4294967296::bigint", "8589934592::bigint", f"{BIG}::bigint", f"(-{BIG} - 1)::bigint"],
    "integer": ["NULL::int", "0", "1", "-1", "2", "7", "8", "64", "65", "1000", "2147483647", "(-2147483647 - 1)",
                "525600090", "394560090", "525602790"],  # the modifiers of bloomfilter(1000), (1000, 0.01, blocked) and (1001, 1e-16)
    "smallint": ["NULL::int2", "0::int2", "1::int2", "(-32768)::int2", "32767::int2"],
    "double precision": ["NULL::float8", "0::float8", "(-0.0)::float8", "1::float8", "(-1)::float8", "0.5::float8", "0.01::float8", "1e-300::float8", "1e300::float8",
                         "7.3::float8", "64::float8", "'NaN'::float8", "'Infinity'::float8", "'-Infinity'::float8"],
    "boolean": ["NULL::bool", "true", "false"],
    "bloomset_stage": ["NULL::bloomset_stage", "bloom_empty(10)::bloomset_stage", "bloom_add(bloom_empty(1000, 0.001), 5)::bloomset_stage",
                       "bloom_add(bloom_empty(100, 0.01, 'scalable'), 'k5'::text)::bloomset_stage"],
    "bytea": ["NULL::bytea", "''::bytea", "'\\x00'::bytea", "'\\x424c5801'::bytea", "decode(repeat('ff', 52), 'hex')", "decode('424c5801' || repeat('ff', 48), 'hex')",
              "decode('424c5801' || repeat('00', 48), 'hex')", "decode(repeat('00', 3000), 'hex')"],
    "character": ["NULL::char(3)", "''::char(3)", "'x '::char(3)", "'red'::char(3)"],
    "cstring": ["NULL::cstring", "''::cstring", "'x'::cstring", "'===='::cstring", "'QkxYAQ=='::cstring", "repeat('A', 10000)::cstring"],
    "cstring[]": ["NULL::cstring[]", "'{}'::cstring[]", "'{1000}'::cstring[]", "'{1e6,0.001,Blocked}'::cstring[]", "'{NULL,1}'::cstring[]", "'{{1},{2}}'::cstring[]", "'[5:6]={7,0.5}'::cstring[]",
                  "'{1e9999}'::cstring[]", "ARRAY[repeat('9', 10000)]::cstring[]", "'{\"\",-,x,y}'::cstring[]", "'{1,0.01,age_partitioned}'::cstring[]"],
    "regclass": ["NULL::regclass", "0::regclass", "1::regclass", "4294967295::regclass", "'pg_class'::regclass", "'kind'::regclass", "'kind_pkey'::regclass", "'bloomx_kept'::regclass"],
    "oid": ["NULL::oid", "0::oid", "1::oid", "4294967295::oid"],
    "regtype": ["NULL::regtype", "0::regtype", "'int'::regtype", "'color'::regtype", "'pair'::regtype", "'pair[]'::regtype", "'json'::regtype", "'anyelement'::regtype", "'record'::regtype",
                "'unknown'::regtype", "'small'::regtype", "4294967295::regtype"],
    "text[]": ["'{1}'::text[]", "NULL::text[]", "'{}'::text[]", "'{NULL}'::text[]", "'{{1,424242},{k5,red}}'::text[]", "ARRAY['(1,x)', '{1,2}']", "ARRAY['5', repeat('9', 10000)]"],
    "anycompatible": ["5", "NULL::int", "'k5'::text", "NULL::text", "repeat('x', 100000)::text", "0.5::float8", "'(1,x)'::pair", "ROW(1, 2)", "'{}'::json", "point(1, 1)", "'[1,5)'::int4range",
                      "7::small", "B'101'::varbit", *(f"{value}::{COLUMN_TYPES.get(kind, kind)}" for kind, values in EDGES.items() for value in values)],
    "anycompatiblearray": ["ARRAY[5, NULL]", "'{}'::int[]", "NULL::int[]", "ARRAY[NULL]::int[]", "ARRAY[[5, 6], [7, 8]]", "(SELECT array_agg(i) FROM generate_series(1, 3000) i)",
                           "ARRAY['k5', '', NULL]::text[]", "ARRAY['red', 'blue']::color[]", "ARRAY[0.5, 'NaN']::float8[]", "ARRAY['{}'::jsonb]", "ARRAY[point(1, 1)]",
                           "ARRAY[ROW(1, 2)]", "ARRAY['(1,x)'::pair]", "'[5:6]={5,6}'::int[]", "ARRAY[7]::small[]", "ARRAY['x']::char(6)[]"],
}
OPTIONS = ["''", "NULL::text", "'hashing=double'", "'hashing=triple'", "'probes=2'", "'probes=64'", "'block_bits=1'", "'block_bits=4294967296'", "'growth=2, tightening=0.5'", "'growth=1e308'",
           "'growth=NaN'", "'tightening=0'", "'generations=1'", "'generations=2147483647'", "'garbage'", "'=,=,'", "repeat('x', 10000)"]


def kinds(layouts):
    """(name, SQL of the filter, SQL of hashes that it holds, SQL of a further key, whether it represents its layout)."""
    for layout in layouts:
        if layout == "binary_fuse":         # takes no keys one by one: see below
            continue
        empty = f"bloom_empty(100, 0.01, '{layout}')"
        # the smallest window forgets a key as soon as the next one comes
        one_key = "'{}'" if layout == "age_partitioned" else "hashes(1, 1)"
        yield f"{layout}, empty", empty, "'{}'", "424242", False
        yield f"{layout}, one key", f"bloom_add({empty}, 1)", "hashes(1, 1)", "424242", True
        yield f"{layout}, at capacity", f"bloom_add_all({empty}, (SELECT array_agg(i) FROM generate_series(1, 100) i))", "hashes(91, 100)", "424242", False
        yield f"{layout}, overfull", f"bloom_add_all({empty}, (SELECT array_agg(i) FROM generate_series(1, 3000) i))", "hashes(2990, 3000)", "424242", False
        yield f"{layout}, of another seed", f"bloom_add(bloom_empty(100, 0.01, '{layout}', seed => 7), 1)", "hashes(1, 1, 7)", "424242", False
        yield f"{layout}, smallest", f"bloom_add(bloom_empty(1, 0.5, '{layout}'), 1)", one_key, "424242", False
        yield f"{layout}, one probe", f"bloom_add(bloom_empty_bits(64, 1, '{layout}'), 1)", one_key, "424242", False
        yield f"{layout}, many probes", f"bloom_add(bloom_empty_bits(5000, 60, '{layout}'), 1)", "hashes(1, 1)", "424242", False
        yield f"{layout}, toasted", f"bloom_add_all(bloom_empty(10000, 0.01, '{layout}'), (SELECT array_agg(i) FROM generate_series(1, 5000) i))", "hashes(4980, 5000)", "424242", False
        yield f"{layout}, of text", f"bloom_add({empty}, 'k1'::text)", "ARRAY[bloom_hash('k1'::text)]", "'k5'::text", False
        planned = f"(SELECT raw_state(i, {empty}) FROM generate_series(1, 50) i)"
        yield f"open state, {layout} planned", planned, "hashes(41, 50)", "424242", layout == "partitioned_blocked"
        yield f"open state, became {layout}", f"(SELECT raw_state(i, {empty}) FROM generate_series(1, 2000) i)", "hashes(1995, 2000)", "424242", False
    for name, key in [("hash", None), ("enum", "'red'::color"), ("named", "ARRAY[1, 2]"), ("composite", "'(1,x)'::pair"), ("float", "0.5::float8"), ("numeric", "1.5::numeric"),
                      ("bytea", "'\\x00'::bytea"), ("uuid", "'00000000-0000-0000-0000-000000000000'::uuid"), ("boolean", "true"), ("bpchar", "'x'::char(6)"), ("timestamptz", "'infinity'::timestamptz")]:
        f = f"bloom_add(bloom_empty(10), {key})" if key else "bloom_add_hash(bloom_empty(10), 1)"
        yield f"keys of type {name}", f, f"ARRAY[bloom_hash({key})]" if key else "'{1}'", key, name in ("hash", "named")
        if key:
            yield f"open state, keys of type {name}", f"(SELECT raw_state(v) FROM (VALUES ({key})) t(v))", f"ARRAY[bloom_hash({key})]", key, False
    yield "open state, not planned", "(SELECT raw_state(i) FROM generate_series(1, 50) i)", "hashes(31, 50)", "424242", True
    yield "open state, large", "(SELECT raw_state(i) FROM generate_series(1, 3000) i)", "hashes(1, 20)", "424242", False
    yield "open state, of text", "(SELECT raw_state(t) FROM keys)", "ARRAY[bloom_hash('k1'::text)]", "'k5'::text", False
    yield "open state, planned for 10", "(SELECT raw_state(i, 10::bigint) FROM generate_series(1, 5) i)", "hashes(1, 5)", "424242", False
    yield "open state, planned for 100,000", "(SELECT raw_state(i, 100000::bigint) FROM generate_series(1, 5) i)", "hashes(1, 5)", "424242", False
    yield "open state, of a rate", "(SELECT raw_state(i, NULL::bigint, 0.001::float8) FROM generate_series(1, 5) i)", "hashes(1, 5)", "424242", False
    yield "open state, only NULL, planned", "(SELECT raw_state(NULL::int, 10::bigint))", "'{}'", "424242", False
    yield "open state, a union", "(SELECT raw_union(f) FROM (VALUES (bloomx_probe(1)), (bloomx_probe(2))) t(f))", "hashes(1, 2)", "424242", False
    yield "open state, an intersection", "(SELECT raw_intersection(f) FROM (VALUES (bloom_add(bloom_empty(10), 1)), (bloom_add(bloom_empty(20), 1))) t(f))", "hashes(1, 1)", "424242", False
    yield "a probe", "bloomx_probe(1)", "hashes(1, 1)", "424242", True
    yield "a probe of text", "bloomx_probe('k1'::text)", "ARRAY[bloom_hash('k1'::text)]", "'k5'::text", False
    yield "a probe of a hash", "bloomx_probe_hash(7)", "'{7}'", None, False
    yield "a probe of nothing", "bloomx_probe_all('{}'::int[])", "'{}'", "424242", True
    yield "a probe of many", "bloomx_probe_all((SELECT array_agg(i) FROM generate_series(1, 100) i))", "hashes(81, 100)", "424242", False
    few, many = "bloom_add(bloom_empty(100), 1)", "bloom_add_all(bloom_empty(5000), (SELECT array_agg(i) FROM generate_series(1, 5000) i))"
    yield "no key type", "bloom_empty(100)", "'{}'", "424242", True
    yield "a union of sizes", f"{few} | {many}", "hashes(1, 20)", "424242", False
    yield "an intersection of sizes", f"{few} & {many}", "hashes(1, 1)", "424242", False
    yield "a prefix", f"bloom_prefix({many}, 3)", "hashes(31, 50)", "424242", False
    yield "folded", f"bloom_fold({many}, 3)", "hashes(31, 50)", "424242", False
    yield "shrunk", f"bloom_shrink({few}, 0.5)", "hashes(1, 1)", "424242", False
    yield "without counters", "bloom_drop_counters(bloom_add(bloom_empty(100, 0.01, 'counting'), 1))", "hashes(1, 1)", "424242", False
    yield "of the least seed", f"bloom_add(bloom_empty(100, 0.01, 'partitioned_blocked', seed => (-{BIG} - 1)), 1)", f"hashes(1, 1, (-{BIG} - 1))", "424242", False
    def sealed(keys, arguments="0.01", type_="int"):
        return f"(SELECT bloom_agg(i::{type_}, bloom_empty(1, {arguments.split(',')[0]}, 'binary_fuse'{arguments[len(arguments.split(',')[0]):]})) FROM generate_series(1, {keys}) i)"
    yield "sealed, empty", "bloom_empty(100, 0.01, 'binary_fuse')", "'{}'", "424242", False
    yield "sealed, one key", sealed(1), "hashes(1, 1)", "424242", True
    yield "sealed, large", sealed(30000), "hashes(29990, 30000)", "424242", False
    yield "sealed, of one bit", sealed(100, "0.5"), "hashes(1, 20)", "424242", False
    yield "sealed, of another seed", sealed(100, "0.01, seed => 7"), "hashes(1, 20, 7)", "424242", False
    yield "sealed, of text", sealed(1, "0.01", "text"), "ARRAY[bloom_hash('1'::text)]", "'k5'::text", False
    yield "sealed, a prefix", f"bloom_prefix({sealed(100)}, 3)", "hashes(31, 50)", "424242", False
    yield "a map", "(SELECT bloom_map_agg(i, i % 10) FROM generate_series(1, 100) i)", "hashes(1, 20)", "424242", True
    yield "a map without fingerprints", "(SELECT bloom_map_agg(i, i, bloom_empty(1, 0.5, 'binary_fuse', options => 'fingerprint_bits=0')) FROM generate_series(1, 100) i)", "hashes(1, 20)", "424242", False
    yield "open state, sealed planned", "(SELECT raw_state(i, bloom_empty(1, 0.01, 'binary_fuse')) FROM generate_series(1, 2000) i)", "hashes(1995, 2000)", "424242", False
    yield "automatic", "(SELECT bloom_agg(i) FROM generate_series(1, 100) i)", "hashes(81, 100)", "424242", False
    yield "automatic, empty", "(SELECT bloom_agg(i) FROM generate_series(1, 0) i)", "'{}'", "424242", False
    yield "automatic, toasted", "(SELECT bloom_agg(i) FROM generate_series(1, 30000) i)", "hashes(81, 100)", "424242", False


# Kinds that meet only the representatives in pairs.
MINOR = re.compile(", (smallest|one probe|many probes|of text|of another seed)$|became|keys of type|large|automatic")


def le(n, size):
    return n.to_bytes(size, "little")


def filled(data):
    """Candidates for the filter with every bit set: the first one that the server accepts."""
    layout, name = data[4], (data[6] + 7) // 8 * 8
    part_bits = int.from_bytes(data[28:36], "little")
    body = 44 + name
    rest = len(data) - body
    words = (part_bits + 63) // 64
    last = le((1 << ((part_bits - 1) % 64 + 1)) - 1, 8)
    for head in [8, 40] if layout in (10, 11) else [24] if layout == 12 else [0, 8, 16, 24, 32, 40, 48, 56, 64]:
        if head > rest:
            break
        count = (rest - head) // 8
        ones = b"".join(last if words and (i + 1) % words == 0 else b"\xff" * 8 for i in range(count))
        yield data[:body + head] + ones


def mutants(data):
    """Copies of the value with one field at an extreme (and two copies with several)."""
    fields = {
        "layout": (4, 1, list(range(14)) + [255]), "key type": (5, 1, [0, 4, 19, 20, 253, 254, 255]), "name length": (6, 1, [1, 63]), "hashing": (7, 1, [1, 3, 4]),
        "blocks": (8, 4, [0, 1, 2, 2**16, 2**31, 2**32 - 1]), "capacity": (20, 8, [0, 1, BIG, 2**63, 2**64 - 1]),
        "part bits": (28, 8, [0, 1, 63, 64, 65, 2**31, 2**33, 2**63, 2**64 - 1]), "parts": (36, 2, [0, 1, 8, 9, 64, 65, 65535]),
        "probes": (38, 2, [0, 1, 2, 64, 65, 65535]), "fraction": (40, 2, [0, 1, 65535]), "expanded": (42, 1, [0, 1, 31, 255]), "pending": (43, 1, [0, 1, 4, 8, 11, 12, 13, 255]),
    }
    body = 44 + (data[6] + 7) // 8 * 8
    # the bodies of these layouts contain more than bits
    for i in range(min(8, (len(data) - body) // 8) if data[4] in (0, 8, 9, 10, 11, 12) else 0):
        fields[f"word {i} of the body"] = (body + 8 * i, 8, [0, 1, 2**63, 2**64 - 1])
    for field, (at, size, values) in fields.items():
        for value in values:
            changed = data[:at] + le(value, size) + data[at + size:]
            if changed != data:
                yield f"{field} {value}", changed
    planned = data[:20] + le(BIG, 8) + data[28:]
    if data[4] == 0:
        for pending in range(14):
            yield (f"pending {pending}, a geometry of 64 blocks",
                   data[:8] + le(64, 4) + planned[12:28] + le(64, 8) + le(8, 2) + le(1, 2) + le(0, 2) + b"\0" + le(pending, 1) + data[44:])
            yield (f"pending {pending}, a geometry of one part",
                   data[:8] + le(1, 4) + planned[12:28] + le(1000, 8) + le(1, 2) + le(7, 2) + le(0, 2) + b"\0" + le(pending, 1) + data[44:])


# --------------------------------------------------------------------------
# Calls
# --------------------------------------------------------------------------

def pairwise(domains):
    """A few rows that contain every pair of values of any two domains."""
    if len(domains) <= 2:
        return list(itertools.product(*domains))
    order = sorted(range(len(domains)), key=lambda i: -len(domains[i]))
    rows = [list(r) for r in itertools.product(domains[order[0]], domains[order[1]])]
    for n in range(2, len(order)):
        domain = domains[order[n]]
        missing = {(j, earlier, v) for j in range(n) for earlier in domains[order[j]] for v in domain}
        for row in rows:
            best = max(domain, key=lambda v: sum((j, row[j], v) in missing for j in range(n)))
            row.append(best)
            missing -= {(j, row[j], best) for j in range(n)}
        while missing:
            j, earlier, v = next(iter(sorted(missing)))
            row = [domains[order[m]][0] for m in range(n)] + [v]
            row[j] = earlier
            for m in range(n):
                if m != j:
                    row[m] = next((e for e in domains[order[m]] if (m, e, v) in missing), row[m])
            rows.append(row)
            missing -= {(m, row[m], v) for m in range(n)}
    place = [order.index(i) for i in range(len(domains))]
    return [tuple(row[p] for p in place) for row in rows]


# What a returned filter must hold: the keys of its first argument, those of either argument, those of both.
KEEPS = {"bloom_union": "a.hashes || b.hashes", "bloomx_union_transfn": "a.hashes || b.hashes", "bloomx_agg_transfn": "a.hashes", "bloomx_agg_finalfn": "a.hashes",
         "bloom_intersection": "(SELECT coalesce(array_agg(h), '{}') FROM unnest(a.hashes) h WHERE h = ANY (b.hashes))"}
KEEPS["bloomx_intersection_transfn"] = KEEPS["bloom_intersection"]
RATES = re.compile("fpr|fill|jaccard|collisions|false_overlap")
COUNTS = re.compile("cardinality")


def checked(function, expression, hashes):
    """SQL of the complaint about the result of a call."""
    # what a full filter has in common with another is documented to be NaN
    unknown = "true" if function["name"] in ("bloom_intersection_cardinality", "bloom_jaccard") else "false"
    if function["returns"] == "bloomfilter":
        return f"sound({expression}, {hashes})"
    if function["returns"] == "double precision" and RATES.search(function["name"]):
        return f"within({expression}, 0, 1, {unknown})"
    if function["returns"] == "double precision" and COUNTS.search(function["name"]):
        return f"within({expression}, 0, 'Infinity', {unknown})"
    if function["kind"] == "f" and function["returns"] in ("internal", "index_am_handler", "void"):
        return expression
    if function["set"]:
        expression = f"(SELECT string_agg(r::text, ',') FROM {expression} r)"
    return f"CASE WHEN length(({expression})::text) < 0 THEN 'no length' END"


def domain_of(type_name, parameter, layouts):
    if type_name != "text":
        return ARGUMENTS.get(type_name)
    if parameter == "layout":
        return [f"'{layout}'::text" for layout in layouts] + ["''::text", "'hashes'::text", "'STANDARD'::text", "NULL::text", "repeat('x', 10000)::text"]
    return [f"{o}::text" for o in OPTIONS]


FORM_NAMES = [" (stored)", " (flat)", " (expanded)", " (compressed)"]


class Kind:
    def __init__(self, row):
        fields = row.split("\t")
        self.id, self.rep, self.mutant, self.one, self.name = int(fields[0]), fields[1] == "t", fields[2] == "t", fields[3] or None, fields[4]

    def forms(self):
        """The value as it is stored, compressed, flat in memory, and as an expanded read-write object."""
        stored = f"(SELECT f FROM kind WHERE id = {self.id})"
        flat = f"(SELECT f::bytea::bloomfilter FROM kind WHERE id = {self.id})"
        yield stored
        yield flat
        yield f"bloom_add({stored}, {self.one})" if self.one else flat
        yield f"(SELECT f FROM packed WHERE id = {self.id})"


def calls_of(function, values, layouts):
    """The calls of a function that has one filter among its arguments, or none."""
    types = function["types"]
    rest = [domain_of(t, p, layouts) for t, p in zip(types, function["parameters"]) if t != "bloomfilter"]
    rows = pairwise(rest)
    call = f"{function['schema']}.{function['name']}"

    def query(arguments, hashes):
        return "SELECT " + checked(function, f"{call}({', '.join(arguments)})", hashes)

    if "bloomfilter" not in types:
        return [(", ".join(row), query(row, "'{}'")) for row in rows]
    at = types.index("bloomfilter")
    calls = []
    number = 0
    for kind in values:
        forms = list(kind.forms())
        # all rows are combined with each layout's plainest kind; for the other kinds they alternate
        most = len(rows) if kind.rep else 3 if kind.mutant else 10
        few = [rows[(kind.id * most + i) % len(rows)] for i in range(min(most, len(rows)))]
        # all forms for a function of the filter alone; otherwise they alternate
        for row in few if len(few) >= len(forms) else few * len(forms):
            form = forms[number % len(forms)]
            number += 1
            arguments = list(row[:at]) + [form] + list(row[at:])
            kept = f"(SELECT hashes FROM kind WHERE id = {kind.id})"
            if function["name"].startswith("bloom_add") and "age_partitioned" in kind.name:
                kept = "'{}'"  # more keys than its window
            if "remove" in function["name"]:
                kept = kept if re.match(r"(ARRAY\[)?5\b", row[0]) and "424242" not in form and kind.one == "424242" else "'{}'"
            calls.append((", ".join([kind.name + FORM_NAMES[forms.index(form)]] + list(row)), query(arguments, kept)))
        if function["strict"] is False:
            calls.append((f"NULL; {', '.join(rows[0])}", query(list(rows[0][:at]) + ["NULL::bloomfilter"] + list(rows[0][at:]), "'{}'")))
    return calls


# --------------------------------------------------------------------------
# Statements that reach the functions that SQL cannot call
# --------------------------------------------------------------------------

# Each has a constant (@f, evaluated at plan time) or a stored value (@s).
STATEMENTS = {
    "planning: filter @> column": "EXPLAIN SELECT * FROM keys WHERE @f @> k",
    "planning: column <@ filter": "EXPLAIN SELECT * FROM keys WHERE k <@ @f",
    "planning: any and all": "EXPLAIN SELECT * FROM keys WHERE bloom_contains_any(@f, ARRAY[k, 1]) OR bloom_contains_all(@f, ARRAY[k, 1]) OR bloom_contains_hash(@f, k)",
    "planning: filter ?& probe of a column": "EXPLAIN SELECT * FROM keys WHERE @f ?& bloomx_probe(k) AND @f ?| bloomx_probe_all(ARRAY[k, 2])",
    "planning: filter ?& filter": "EXPLAIN SELECT * FROM keys, (SELECT f FROM kind LIMIT 3) x WHERE f ?& @f AND @f ?| f",
    "planning: filter && filter": "EXPLAIN SELECT * FROM kind WHERE f && @f AND f !&& @f AND f = @f AND f <> @f AND f < @f",
    "planning: join on membership": "EXPLAIN SELECT * FROM keys a JOIN keys b USING (k) WHERE a.k <@ @f AND @s @> b.k",
    "planning: join with a table of filters": "EXPLAIN SELECT * FROM keys JOIN (SELECT @f AS f FROM generate_series(1, 3)) x ON f @> k",
    "planning: an aggregate with a template": "EXPLAIN SELECT * FROM keys WHERE (SELECT bloom_agg(x, @f) FROM generate_series(1, 10) x) @> k",
    "planning: an aggregate of very many rows": "EXPLAIN SELECT * FROM keys WHERE (SELECT bloom_agg(x, @f) FROM generate_series(1, 9000000000000000000) x) @> k",
    "planning: a union": "EXPLAIN SELECT * FROM keys WHERE (SELECT bloom_union_agg(f) FROM (SELECT @f AS f FROM generate_series(1, 3)) x) @> k AND k <@ (@f | @s)",
    "planning: a column of filters": "EXPLAIN SELECT * FROM kind WHERE f @> 5 AND f ?& @f",
    "planning: a materialized filter": "EXPLAIN WITH x AS MATERIALIZED (SELECT @f AS f) SELECT * FROM keys WHERE k <@ (SELECT f FROM x)",
    "execution: rows by constant": "SELECT count(*) FROM keys WHERE @f @> k AND k <@ @s AND bloom_contains_any(@s, ARRAY[k]) AND @s ?& bloomx_probe(k)",
    "execution: rows by subquery, in parallel": "SELECT count(*) FROM keys a WHERE a.k <@ @s",
    "ANALYZE": "CREATE TEMP TABLE t AS SELECT @s AS f FROM generate_series(1, 3); ANALYZE t; SELECT NULL",
    "planning after ANALYZE": "CREATE TEMP TABLE t AS SELECT @s AS f, i FROM generate_series(1, 20) i; ANALYZE t; EXPLAIN SELECT * FROM t JOIN keys ON f @> k WHERE f @> 5 AND f ?& bloomx_probe(1) AND f ?| @f; "
                              "EXPLAIN SELECT * FROM t JOIN keys ON k <@ f",
    "sort, group, distinct": "SELECT count(*) FROM (SELECT f, count(*) FROM (VALUES (@s), (@s), (NULL)) v(f) GROUP BY f ORDER BY f) x, (SELECT DISTINCT f FROM (VALUES (@s), (@f)) v(f)) y",
    "joins of filters": "SET LOCAL enable_hashjoin = off; SELECT count(*) FROM (VALUES (@s), (@s)) a(f) JOIN (VALUES (@f), (@s)) b(f) USING (f); "
                        "SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = off; SELECT count(*) FROM (VALUES (@s), (@s)) a(f) JOIN (VALUES (@f), (@s)) b(f) USING (f)",
    "a btree and a hash index": "CREATE TEMP TABLE t (f bloomfilter); CREATE INDEX ON t (f); CREATE INDEX ON t USING hash (f); INSERT INTO t SELECT @s FROM generate_series(1, 3); "
                                "SET LOCAL enable_seqscan = off; SELECT count(*) FROM t WHERE f = @s",
    "arrays, records and domains": "CREATE DOMAIN pg_temp.d AS bloomfilter CHECK (bloom_fpr(VALUE) < 2); SELECT (ARRAY[@s, @f])[1]::bytea, (ROW(@s))::text, @s::pg_temp.d @> @k",
    "a variable of PL/pgSQL": "DO $do$ DECLARE f bloomfilter := @s; g bloomfilter; BEGIN FOR i IN 1 .. 200 LOOP f := bloom_add(f, @k); g := f; f := bloom_add(bloom_add(f, @k), @k); "
                              "PERFORM bloom_info(f), f::bytea, bloom_contains(g, @k); END LOOP; f := f | g; f := bloom_add_all(f, ARRAY[@k]); END $do$; SELECT NULL",
    "the index and the table agree: bloomx": "CREATE TEMP TABLE t (id serial, f bloomfilter); CREATE INDEX ti ON t USING bloomx (f); INSERT INTO t (f) SELECT @s FROM generate_series(1, 5); INSERT INTO t (f) VALUES (NULL), (@f); "
                                             "SELECT agree('t', @k)",
    "the index and the table agree: bloomx, built": "CREATE TEMP TABLE t (id serial, f bloomfilter); INSERT INTO t (f) SELECT @s FROM generate_series(1, 200); INSERT INTO t (f) VALUES (NULL), (@f); "
                                                    "CREATE INDEX ti ON t USING bloomx (f) WITH (signature_bits = 1024, hash_functions = 4); SELECT agree('t', @k)",
    "the keys that an index is asked for: bloomx": "SELECT agree('bloomx_kept', @s, ARRAY['f ?& $1', 'f ?| $1', 'f ?& $1 AND f ?| $1'])",
    "the filter that an index is asked for": "SELECT agree('uniform', @s, ARRAY['f && $1', 'f && $1 AND f && f'])",
}

# Indexes with options at the ends of their ranges.
INDEX_OPTIONS = ["bloomx (f) WITH (signature_bits = 1)", "bloomx (f) WITH (signature_bits = 64, hash_functions = 1)", "bloomx (f) WITH (signature_bits = 1000000, hash_functions = 64)", "bloomx (f) WITH (pending_limit = 0)",
                 "bloomx (f) WITH (pending_limit = 2147483647)", "bloomx (f) WITH (signature_bits = 64, hash_functions = 64)", "bloomx (f) WITH (signature_bits = 65536, pending_limit = 64)"]

AGREE = r"""
-- Every row for which a condition on a key or a filter holds is found by the index.
CREATE FUNCTION agree(t regclass, key anycompatible, conditions text[] DEFAULT ARRAY['f @> $1', 'f ?& bloomx_probe($1)', 'f ?| bloomx_probe_all(ARRAY[$1, $1])', 'f @> $2', 'f ?& $2', 'bloom_contains_any(f, ARRAY[$2])'])
RETURNS text LANGUAGE plpgsql AS $$
DECLARE q text; by_index bigint; by_table bigint;
BEGIN
	FOREACH q IN ARRAY conditions LOOP
		SET LOCAL enable_seqscan = off;
		EXECUTE format('SELECT count(*) FROM %s WHERE %s', t, q) INTO by_index USING key, key::text;
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_bitmapscan = off;
		EXECUTE format('SELECT count(*) FROM %s WHERE (%s) IS TRUE', t, q) INTO by_table USING key, key::text;
		RESET enable_indexscan;
		RESET enable_bitmapscan;
		IF by_index <> by_table THEN
			RETURN format('wrong: %s: %s rows by the index, %s by the table', q, by_index, by_table);
		END IF;
	END LOOP;
	RETURN NULL;
END $$;

-- Tables with an index that take every kind that they can.
CREATE TABLE bloomx_kept (f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX ON bloomx_kept USING bloomx (f) WITH (signature_bits = 512, hash_functions = 4);
-- Two filters must match in more than keys must: here are none but the default's.
CREATE TABLE uniform WITH (autovacuum_enabled = off) AS
	SELECT (SELECT bloom_agg(j, bloom_empty(20)) FROM generate_series(i, i + 5) j) AS f FROM generate_series(1, 500) i;
CREATE INDEX ON uniform USING bloomx (f);
CREATE FUNCTION put(t regclass, f bloomfilter) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s VALUES ($1)', t) USING f;
	RETURN NULL;
END $$;
"""

# Forms of an aggregate's call: %s is the call up to its closing parenthesis.
AGGREGATE_FORMS = {
    "plain": "SELECT %s)",
    "of no rows": "SELECT %s) FILTER (WHERE false)",
    "of NULL": "SELECT %s) FILTER (WHERE v IS NULL)",
    "distinct and ordered": None,
    "a group": "SELECT (array_agg(r))[1] FROM (SELECT %s) AS r FROM data GROUP BY i %% 3) y",
    "a growing window": "SELECT (array_agg(r))[9] FROM (SELECT %s) OVER (ORDER BY i) AS r FROM data LIMIT 50) y",
    "a moving window": "SELECT (array_agg(r))[9] FROM (SELECT %s) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS r FROM data LIMIT 50) y",
}


def ids(values):
    return "ARRAY[" + ",".join(str(v.id) for v in values) + "]::int[]"


def statement_batches(statement, values, size=20):
    for i in range(0, len(values), size):
        part = values[i:i + size]
        yield (f"SELECT * FROM statements({literal(statement)}, {ids(part)})",
               lambda part=part: [(v.name, f"SELECT * FROM statements({literal(statement)}, {ids([v])})") for v in part])


def argument_for(type_name, which):
    return {"anycompatible": ["v", "t"], "bigint": ["100::bigint", "NULL::bigint", "1::bigint"], "double precision": ["0.01::float8", "0.5::float8"], "integer": ["7"],
            "bloomfilter": ["@f"]}[type_name][which % (2 if type_name in ("anycompatible", "double precision") else 3 if type_name == "bigint" else 1)]


def aggregate_statements(aggregate):
    """(form, statement) for every way to call the aggregate with a kind."""
    call = f"{aggregate['schema']}.{aggregate['name']}"
    data = "(SELECT i, CASE WHEN i %% 10 > 0 THEN i END AS v, 'k' || i AS t FROM generate_series(1, 2000) i)"
    many = len(aggregate["types"]) > 1 or aggregate["types"][0] != "anycompatible"
    for form, statement in AGGREGATE_FORMS.items():
        for which in range(2 if form == "plain" else 1):
            arguments = [argument_for(t, which) for t in aggregate["types"]]
            if aggregate["types"] == ["bloomfilter"]:
                arguments = ["CASE WHEN i % 3 > 0 THEN @f WHEN i % 3 = 0 AND i % 2 = 0 THEN bloom_add(@f, @k) END"]
            if form == "distinct and ordered":
                if aggregate["types"] == ["anycompatible"]:
                    text = f"SELECT {call}(DISTINCT v) FROM data"
                else:
                    text = f"SELECT {call}({', '.join(arguments)} ORDER BY i) FROM data"
            elif "FROM" in statement:
                text = statement % f"{call}({', '.join(arguments)}"
            else:
                text = (statement % f"{call}({', '.join(arguments)}") + " FROM data"
            yield (form if not which else "of text"), f"WITH data AS (SELECT i, CASE WHEN i % 10 > 0 THEN i END AS v, 'k' || i AS t FROM generate_series(1, {2000 if many and aggregate['types'][0] != 'bloomfilter' else 60}) i) SELECT sound(r) FROM ({text}) s(r)"


def transition_statements(aggregate):
    """A user's own aggregates over the extension's functions, begun with each kind as their state."""
    if aggregate["state"] == "internal":    # nobody can begin such a state
        return
    transition = f"{aggregate['schema']}.{aggregate['transition']}"
    types = ", ".join(aggregate["types"])
    arguments = {"anycompatible": "@k", "bigint": "100::bigint", "double precision": "0.01::float8", "bloomfilter": "g"}
    call = ", ".join(arguments[t] for t in aggregate["types"])
    final = f", FINALFUNC = {aggregate['schema']}.{aggregate['final']}{', FINALFUNC_EXTRA' if aggregate['extra'] else ''}" if aggregate["final"] else ""
    for name, options in [("no final function", ""), ("with the final function", final)]:
        yield name, (f"DO $do$ BEGIN EXECUTE format('CREATE AGGREGATE pg_temp.own({types}) (SFUNC = {transition}, STYPE = bloomfilter, INITCOND = %L{options})', @f::text); END $do$; "
                     f"SELECT count(r) FROM (SELECT pg_temp.own({call}) OVER (ORDER BY i) r FROM generate_series(1, 70) i, (SELECT @f AS g) x) y; "
                     f"SELECT sound(pg_temp.own({call})) FROM generate_series(1, 70) i, (SELECT @s AS g) x")


# --------------------------------------------------------------------------

# Not those that execute statements, nor triggers: sql/maintain.sql, sql/partition_unique.sql and sql/runtime_filter_explain.sql have them.
CATALOG = """
SELECT p.proname, n.nspname, p.prokind, p.prorettype::regtype, p.proisstrict, p.proretset, p.oid,
       ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) t), coalesce(p.proargnames, '{}')
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'bloomx%') AND d.deptype = 'e'
  AND p.proname !~ '^bloomx?_(un)?maintain|^bloomx_(explain$|unique)'
ORDER BY p.proname, p.oid"""

# Functions with internal arguments, and how the statements above reach them.
REACHED = """
SELECT amproc::oid FROM pg_amproc UNION SELECT oprrest::oid FROM pg_operator UNION SELECT oprjoin::oid FROM pg_operator UNION SELECT prosupport::oid FROM pg_proc
UNION SELECT typanalyze::oid FROM pg_type UNION SELECT typreceive::oid FROM pg_type UNION SELECT amhandler::oid FROM pg_am
UNION SELECT aggtransfn::oid FROM pg_aggregate UNION SELECT aggfinalfn::oid FROM pg_aggregate"""


def rows_of(session, query):
    """Rows of text fields, separated by tabs."""
    rows, state, message = session.run(query)
    if state != "00000":
        sys.exit(f"generated: {state} {message}\n{query[:500]}")
    return [row.split("\t") for row in rows]


def array_of(text):
    return [item.strip('"') for item in text.strip("{}").split(",")] if text != "{}" else []


def functions_of(session):
    functions = []
    for name, schema, kind, returns, strict, returns_set, oid, types, names in rows_of(session, CATALOG):
        types = array_of(types)
        names = array_of(names) or [""] * len(types)
        functions.append({"name": name, "schema": schema, "kind": kind, "returns": returns, "strict": strict == "t", "set": returns_set == "t", "oid": oid,
                          "types": types, "parameters": names, "signature": f"{name}({', '.join(types)})"})
    return functions


def aggregates_of(session):
    query = f"""SELECT a.proname, n.nspname, ARRAY(SELECT t::regtype::text FROM unnest(a.proargtypes) t), s.proname, coalesce(f.proname, ''), g.aggfinalextra, g.aggtranstype::regtype
        FROM pg_aggregate g JOIN pg_proc a ON a.oid = g.aggfnoid JOIN pg_namespace n ON n.oid = a.pronamespace JOIN pg_proc s ON s.oid = g.aggtransfn LEFT JOIN pg_proc f ON f.oid = g.aggfinalfn
        JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = a.oid AND d.deptype = 'e' AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'bloomx%')
        ORDER BY 1, a.oid"""
    return [{"name": r[0], "schema": r[1], "types": array_of(r[2]), "transition": r[3], "final": r[4], "extra": r[5] == "t", "state": r[6],
             "signature": f"{r[0]}({', '.join(array_of(r[2]))})"} for r in rows_of(session, query)]


def create():
    setup = SETUP.replace("@EXPECTED@", EXPECTED).replace("@MISTAKE@", MISTAKE.replace("'", "''")) + AGREE
    server.make(DATABASE, f"CREATE ROLE {ROLE} LOGIN; ALTER DATABASE {DATABASE} OWNER TO {ROLE}; CREATE EXTENSION bloomx; CREATE EXTENSION bloomx_theory; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {ROLE}; SET ROLE {ROLE};\n" + setup, ROLE)


def make_kinds(tests, session, layouts):
    calls = []
    for name, f, hashes, one, rep in kinds(layouts):
        minor = bool(MINOR.search(name))
        calls.append((name, f"SELECT keep({literal(name)}, {f}, {hashes}, {literal(one) if one else 'NULL'}, {str(rep).lower()}, {str(minor).lower()})"))
    only, tests.only = tests.only, None
    tests.run("making the kinds", batches_of(calls, 10))
    names = {row[0] for row in rows_of(session, "SELECT name FROM kind")}
    missing = [label for label, _ in calls if label not in names]
    # Every bit set
    calls = []
    for name, data in rows_of(session, "SELECT name, encode(f::bytea, 'hex') FROM kind WHERE name ~ ', (empty|smallest|one probe)$' AND length(f::bytea) < 2000"):
        candidates = ", ".join(f"'\\x{c.hex()}'" for c in filled(bytes.fromhex(data)))
        # in layouts that grow or forget, the words before the bits say where the bits are
        flat = not re.match("scalable|dynamic_blocked|age_partitioned", name)
        calls.append((name, f"""SELECT keep({literal(name.rsplit(',', 1)[0] + ', every bit of ' + name.rsplit(', ', 1)[1])}, first_filter(ARRAY[{candidates}]::bytea[]), {'hashes(1, 10)' if flat else "'{}'"})"""))
    tests.run("making the kinds with every bit set", batches_of(calls, 10))
    # One field changed
    calls = []
    where = "name ~ '^(partitioned_blocked|partitioned|counting|age_partitioned|dynamic_blocked|scalable|variable_blocked), one key$' OR " \
        "name IN ('open state, not planned', 'open state, partitioned_blocked planned', 'a probe', 'a probe of nothing', 'keys of type named', 'folded')"
    for name, data in rows_of(session, f"SELECT name, encode(f::bytea, 'hex') FROM kind WHERE ({where}) AND length(f::bytea) < 2000"):
        for change, mutant in mutants(bytes.fromhex(data)):
            calls.append((f"{name}: {change}", f"SELECT keep({literal(f'{name}: {change}')}, '\\x{mutant.hex()}'::bytea::bloomfilter, '{{}}', (SELECT one FROM kind WHERE name = {literal(name)}), false, true, true)"))
    tests.run("making the kinds with one field changed", batches_of(calls))
    tests.only = only
    if missing:
        print(f"#   not made: {'; '.join(missing)}")
    # The capacity does not affect any bit, so these mutants are held to the same checks as the original.
    session.run("UPDATE kind m SET hashes = o.hashes FROM kind o WHERE m.mutant AND m.name ~ ': capacity' AND o.name = split_part(m.name, ': capacity', 1)")
    rows, _, _ = session.run("SELECT id, rep, mutant, coalesce(one, ''), name FROM kind ORDER BY id")
    return [Kind(row) for row in rows]


FIRST = r"""
CREATE FUNCTION first_filter(candidates bytea[]) RETURNS bloomfilter LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. array_length(candidates, 1) LOOP
		BEGIN
			RETURN candidates[i]::bloomfilter;
		EXCEPTION WHEN OTHERS THEN
			IF i = array_length(candidates, 1) THEN RAISE; END IF;
		END;
	END LOOP;
END $$
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", metavar="REGEX")
    parser.add_argument("--seconds", type=int, default=10, metavar="N")
    arguments = parser.parse_args()
    admin = os.environ["PGUSER"]
    create()
    session = Session(ROLE, arguments.seconds)
    tests = Tests(session, arguments.only)
    session.run(FIRST)

    _, _, _ = session.run("SELECT 1")
    rows, _, _ = session.run("DO $$ DECLARE h text; BEGIN PERFORM bloom_empty(1, 0.1, '?'); EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS h = PG_EXCEPTION_HINT; "
                             "PERFORM set_config('generated.layouts', substring(h from 'are (.*)\\.'), false); END $$; SELECT current_setting('generated.layouts')")
    layouts = sorted(name.split(" ")[0] for name in rows[0].split(", "))
    values = make_kinds(tests, session, layouts)
    plain = [v for v in values if not v.mutant]
    reps = [v for v in values if v.rep]
    print(f"# {len(layouts)} layouts, {len(plain)} kinds, {len(values) - len(plain)} with a field changed")
    tests.run("every kind is sound and finds its keys", batches_of([(v.name, f"SELECT sound(f, hashes) FROM kind WHERE id = {v.id}") for v in values]))

    # Tables with indexes that later calls name
    tests.only = None
    tests.run("inserting every kind", batches_of([(v.name, f"SELECT put('bloomx_kept', f) FROM kind WHERE id = {v.id}") for v in plain], 20))

    tests.only = arguments.only
    functions = functions_of(session)
    aggregates = aggregates_of(session)
    transitions = {a["transition"] for a in aggregates}
    reached = {row[0] for row in rows_of(session, REACHED)}
    for number, function in enumerate(f for f in functions if f["kind"] == "f"):
        types, name = function["types"], function["signature"]
        call = f"{function['schema']}.{function['name']}"
        if "internal" in types:
            # SQL cannot call it
            if tests.wants(name):
                tests.verdict(f"{name} serves an object of the catalog", "", {} if function["oid"] in reached else {"nothing calls it": [name]})
        elif types.count("bloomfilter") >= 2:
            # each of the other arguments once
            others = [ARGUMENTS[t][:2] for t in types if t != "bloomfilter"]
            for which, row in enumerate(itertools.product(*others)):
                fill, filters = iter(row), iter(["x", "y"])
                expression = f"{call}({', '.join(next(filters) if t == 'bloomfilter' else next(fill) for t in types)})"
                pair = f"pair_{number}_{which}"
                session.run(PAIRS.format(name=pair, expression=checked(function, expression, KEEPS.get(function["name"], "'{}'"))))
                tests.run(name + (f" with {', '.join(row)}" if row else ""),
                          ((f"SELECT * FROM {pair}({v.id}, NULL)",
                            lambda v=v: [(f"{v.name} and {w.name}", f"SELECT * FROM {pair}({v.id}, {w.id})") for w in values])
                           for v in values), must_answer=function["name"] not in transitions)
            for i in range(2):
                nulls = [("NULL", "SELECT " + checked(function, f"{call}({', '.join('NULL::bloomfilter' if t == 'bloomfilter' and (j == i or i == 0) else stored(reps[0]) if t == 'bloomfilter' else '5' for j, t in enumerate(types))})", "'{}'"))]
                tests.run(f"{name} of NULL, {i}", batches_of(nulls), must_answer=False)
        else:
            unknown = [t for t, p in zip(types, function["parameters"]) if t != "bloomfilter" and domain_of(t, p, layouts) is None]
            if unknown:
                tests.verdict(name, "", {f"no values for type {unknown[0]}": [name]})
                continue
            tests.run(name, batches_of(calls_of(function, values, layouts)), must_answer="regclass" not in types and function["name"] not in transitions)

    # Operators, and their laws
    for row in rows_of(session, """SELECT o.oprname, l.typname, r.typname FROM pg_operator o JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
            JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e' AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'bloomx%') ORDER BY 1, 2"""):
        operator, left, right = row
        name = f"operator {left} {operator} {right}"
        calls = []
        for v in values:
            form = list(v.forms())[v.id % 4]
            for other in (v, reps[v.id % len(reps)], reps[(v.id + 1) % len(reps)]):
                a = form if left == "bloomfilter" else v.one or "5"
                b = list(other.forms())[(v.id + 1) % 4] if right == "bloomfilter" else other.one or "5"
                if right in ("text", "_text"):
                    b = f"({b})::text" if right == "text" else f"ARRAY[({b})::text, NULL]"
                calls.append((f"{v.name} and {other.name}", f"SELECT CASE WHEN length((({a}) OPERATOR(public.{operator}) ({b}))::text) < 0 THEN '' END"))
        tests.run(name, batches_of(calls))
    session.run(PAIRS.format(name="laws", expression="""CASE
        WHEN (x = y) <> (bloomfilter_cmp(x, y) = 0) OR (x <> y) = (x = y) OR (x < y) <> (bloomfilter_cmp(x, y) < 0) OR (x > y) <> (y < x) OR (x <= y) = (x > y) OR (x >= y) = (x < y)
        THEN 'wrong: the order contradicts itself'
        WHEN x = y AND (bloomfilter_hash(x) <> bloomfilter_hash(y) OR bloomfilter_hash_extended(x, 1) <> bloomfilter_hash_extended(y, 1)) THEN 'wrong: equal, with two hashes'
        WHEN (x && y) = (x !&& y) THEN 'wrong: overlapping and disjoint' END"""))
    tests.run("order, equality and hash agree", ((f"SELECT * FROM laws({v.id}, NULL)", lambda v=v: [(f"{v.name} and {w.name}", f"SELECT * FROM laws({v.id}, {w.id})") for w in values])
                                                  for v in values))
    for source, target in rows_of(session, "SELECT castsource::regtype, casttarget::regtype FROM pg_cast WHERE 'bloomfilter'::regtype IN (castsource, casttarget)"):
        tests.run(f"cast {source} to {target}", batches_of(
            [(v.name, f"SELECT CASE WHEN length(CAST({form} AS {target})::text) < 0 THEN '' END")
             for v in values for form in list(v.forms())[:3]] if source == "bloomfilter" else
            [(a, f"SELECT sound({a}::{target})") for a in ARGUMENTS[source]] + [(v.name, f"SELECT sound((SELECT f::bytea FROM kind WHERE id = {v.id})::{target})") for v in values]))

    # Aggregates
    everyone = plain + [v for v in values if v.mutant][::7]
    for aggregate in aggregates:
        takes = "bloomfilter" in aggregate["types"]
        for form, statement in aggregate_statements(aggregate):
            tests.run(f"{aggregate['signature']}, {form}", statement_batches(statement, plain if takes else plain[:1]), must_answer=False)
        for form, statement in transition_statements(aggregate):
            tests.run(f"an aggregate of one's own over {aggregate['transition']}({', '.join(['bloomfilter'] + aggregate['types'])}), {form}", statement_batches(statement, plain))
    for name in ["bloom_union_agg", "bloom_intersection_agg"]:
        tests.run(f"{name} of two", ((f"SELECT * FROM statements({literal(f'SELECT sound({name}(f)) FROM (VALUES (@s), ({stored(r)}), (NULL), (@f)) t(f)')}, {ids(plain)})",
                                      lambda r=r: [(f"{v.name} and {r.name}", f"SELECT * FROM statements({literal(f'SELECT sound({name}(f)) FROM (VALUES (@s), ({stored(r)}), (NULL), (@f)) t(f)')}, {ids([v])})") for v in plain])
                                     for r in reps))

    # Planner, statistics, indexes
    session.run("ANALYZE keys")
    for name, statement in STATEMENTS.items():
        tests.run(name, statement_batches(statement, everyone if name != "ANALYZE" else values))
    more_planning(tests, session, values, reps)
    operator_classes(tests, session)
    parallel(tests, session, aggregates, reps)
    large(tests, functions, layouts, arguments.long)
    finish(tests, session, admin)
    session.close()
    print(f"# {tests.calls} calls")
    print(f"{tests.passed} passed, {tests.failed} failed")
    sys.exit(tests.failed > 0)


def stored(kind):
    return f"(SELECT f FROM kind WHERE id = {kind.id})"


def more_planning(tests, session, values, reps):
    """What the planner reads from arguments, and ANALYZE from headers."""
    calls = [(f"{capacity}, {rate}", f"EXPLAIN SELECT * FROM keys WHERE (SELECT bloom_agg(x, {capacity}, {rate}) FROM generate_series(1, {rows}) x) @> k")
             for capacity in ARGUMENTS["bigint"] for rate in ARGUMENTS["double precision"] for rows in (10, "9000000000000000000")]
    tests.run("planning: an aggregate with a capacity and a rate", batches_of(calls))
    calls = [(text, f"EXPLAIN SELECT * FROM keys WHERE {text}")
             for v in ARGUMENTS["anycompatible"] for text in [f"bloom_empty(10) @> {v}", f"{v} <@ bloom_add(bloom_empty(10), {v})", f"bloom_empty(10) ?& bloomx_probe({v})", f"(SELECT bloom_agg({v})) @> k",
                                                              f"bloomx_agg_finalfn(bloom_add(bloom_empty(10), k), {v}) @> k"]]
    calls += [(text, f"EXPLAIN SELECT * FROM keys, kind WHERE {text}")
              for v in ARGUMENTS["anycompatiblearray"] for text in [f"bloom_contains_any(f, {v})", f"bloom_contains_all(f, {v})", f"f ?& bloomx_probe_all({v})", f"f ?| bloomx_probe_all({v})",
                                                                   f"f @> ANY ({v})", f"bloom_contains_any(bloom_empty(10), {v})"]]
    tests.run("planning: keys of every type", batches_of(calls))
    # ANALYZE reads 16 MB of filters, and only the headers of the others.
    session.run("CREATE TABLE beyond (f bloomfilter) WITH (autovacuum_enabled = off); INSERT INTO beyond SELECT bloom_empty_bits(8 * (16777216 - 128), 8, 'standard')")
    tests.run("ANALYZE of headers", statement_batches("INSERT INTO beyond SELECT @s; ANALYZE beyond; EXPLAIN SELECT * FROM beyond, keys WHERE f @> k", [v for v in values if v.rep or ": capacity" in v.name]))
    for definition in INDEX_OPTIONS:
        tests.run(f"the index and the table agree: {definition}", statement_batches(
            f"CREATE TEMP TABLE t (id serial, f bloomfilter); INSERT INTO t (f) SELECT @s FROM generate_series(1, 20); CREATE INDEX ti ON t USING {definition}; INSERT INTO t (f) VALUES (NULL), (@f), (bloom_add(@f, @k)); "
            "SELECT agree('t', @k)", reps), must_answer=False)


def operator_classes(tests, session):
    """BRIN: each class over its type; the index finds every row of the table."""
    for name, type_name in rows_of(session, """SELECT c.opcname, c.opcintype::regtype FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod AND a.amname = 'brin'
            JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e' AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'bloomx%') ORDER BY 1"""):
        if type_name not in EDGES:
            tests.verdict(f"operator class {name}", "", {f"no values for type {type_name}": [name]})
            continue
        column = COLUMN_TYPES.get(type_name, type_name)
        calls = []
        for options in ["", " (fpr = 0.5)", " (fpr = 1e-9)", " (fpr = 'NaN')"]:
            for v in EDGES[type_name]:
                rows = ", ".join(f"({w}::{column})" for w in EDGES[type_name])
                insert = f"INSERT INTO brin_table SELECT v FROM generate_series(1, 500) i, (VALUES {rows}) vs(v);"
                for before, after in [("", insert), (insert, "")]:
                    calls.append((f"{v}{options}", f"""DROP TABLE IF EXISTS brin_table; CREATE TEMP TABLE brin_table (x {column}); {before}
                        CREATE INDEX ON brin_table USING brin (x public.{name}{options}) WITH (pages_per_range = 1); {after}
                        SELECT brin_summarize_new_values(indexrelid) FROM pg_index WHERE indrelid = 'brin_table'::regclass;
                        SELECT agree('brin_table', {v}::{column}, ARRAY['x = $1'])"""))
        tests.run(f"operator class {name}", batches_of(calls))


def large(tests, functions, layouts, longest):
    """A filter of 16 MB for every function of one filter; one of 256 MB, or of the largest size, for some."""
    def on(huge, wanted):
        for function in functions:
            types = function["types"]
            if function["kind"] == "f" and "bloomfilter" in types and "internal" not in types and "transfn" not in function["name"] and re.search(wanted, function["name"]):
                row = ["bloom_add_hash(bloom_empty(10), 1)" if t == "bloomfilter" else (domain_of(t, p, layouts)[:6] if t != "anycompatible" else ["5"])[-1] for t, p in zip(types, function["parameters"])]
                row[types.index("bloomfilter")] = huge
                yield function["signature"], f"SELECT pg_column_size({function['schema']}.{function['name']}({', '.join(row)}))"

    huge = "bloom_add_hash(bloom_empty_bits(134217728, 8), 1)"
    calls = list(on(huge, ""))
    calls.append(("of itself", f"SELECT CASE WHEN f <> f OR (f | f) <> f THEN 'wrong: not equal to itself' END FROM (SELECT {huge} AS f OFFSET 0) x"))
    tests.run("a filter of 16 MB", batches_of(calls, 5))
    huge = "bloom_add_hash(bloom_empty_bits(2147483648, 8), 1)"
    tests.run("a filter of 256 MB", batches_of(list(on(huge, "" if longest else "contains_hash|info|union$"))))
    if longest:
        for layout in layouts:
            huge = f"bloom_add_hash(bloom_empty_bits(8589000000, 8, '{layout}'), 1)"
            tests.run(f"a filter of 1 GB: {layout}", batches_of(list(on(huge, "")), 1))


def parallel(tests, session, aggregates, reps):
    """Partial aggregates in workers."""
    force = "debug_parallel_query" if int(rows_of(session, "SHOW server_version_num")[0][0]) >= 160000 else "force_parallel_mode"
    session.run(f"""CREATE TABLE wide WITH (autovacuum_enabled = off) AS SELECT i AS v, 'k' || i AS t, bloom_add(bloom_empty(10), i) AS f FROM generate_series(1, 20000) i;
        ANALYZE wide""")
    settings = "; ".join(f"SET LOCAL {s}" for s in ["parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0", f"{force} = on", "max_parallel_workers_per_gather = 2"])
    for aggregate in aggregates:
        takes = "bloomfilter" in aggregate["types"]
        arguments = {"anycompatible": "v", "bigint": "100::bigint", "double precision": "0.01::float8", "integer": "7", "bloomfilter": "f" if aggregate["types"] == ["bloomfilter"] else "@f"}
        call = f"{aggregate['schema']}.{aggregate['name']}({', '.join(arguments[t] for t in aggregate['types'])})"
        statement = f"{settings}; SELECT count(sound(r)) FROM (SELECT {call} AS r FROM wide GROUP BY v % 5) x; SELECT sound(r) FROM (SELECT {call} AS r FROM wide) x"
        tests.run(f"{aggregate['signature']}, in parallel", statement_batches(statement, reps if takes else reps[:1], 4))
    statement = f"{settings}; SELECT count(*) FROM wide WHERE v <@ @s; SELECT count(*) FROM wide WHERE @f @> v AND f ?& bloomx_probe(v)"
    tests.run("membership, in parallel", statement_batches(statement, reps, 4))


def finish(tests, session, admin):
    """Statements that cannot run inside a function (VACUUM, COPY through psql) or that need a superuser."""
    def top(name, *statements, superuser=False):
        if not tests.wants(name):
            return
        complaints = {}
        runner = Session(admin, session.seconds * 3) if superuser else session
        for statement in statements:
            try:
                _, state, message = runner.run(statement)
                if state != "00000":
                    complaints.setdefault(f"{state} {message}", []).append(statement)
            except Lost as lost:
                complaints.setdefault(str(lost), []).append(statement)
        if superuser:
            runner.close()
        tests.verdict(name, f"{len(statements)} statements", complaints)

    path = f"/tmp/bloomx_generated.{os.getpid()}"
    for form in ["text", "csv", "binary"]:
        top(f"COPY {form} keeps every kind", "DROP TABLE IF EXISTS copied; CREATE TABLE copied (LIKE kind) WITH (autovacuum_enabled = off)",
            f"\\copy kind TO '{path}' (FORMAT {form})\n", f"\\copy copied FROM '{path}' (FORMAT {form})\n",
            "DO $$ BEGIN IF (SELECT count(*) FROM kind k JOIN copied c USING (id) WHERE k.f::bytea = c.f::bytea) <> (SELECT count(*) FROM kind) THEN RAISE 'a copy differs'; END IF; END $$")
    if os.path.exists(path):
        os.unlink(path)
    top("VACUUM and ANALYZE of all kinds", "VACUUM ANALYZE kind", "VACUUM ANALYZE packed",
        "DELETE FROM bloomx_kept WHERE ctid IN (SELECT ctid FROM bloomx_kept LIMIT 20)", "VACUUM ANALYZE bloomx_kept", "VACUUM FULL kind", "REINDEX TABLE bloomx_kept")
    top("the index of all kinds is whole", "SELECT public.bloomx_check_index(i.indexrelid) FROM pg_index i WHERE indrelid = 'bloomx_kept'::regclass", superuser=True)
    top("planning with the statistics of all kinds", "EXPLAIN SELECT * FROM kind WHERE f @> 5", "EXPLAIN SELECT * FROM kind JOIN keys ON f @> k", "EXPLAIN SELECT * FROM bloomx_kept a JOIN uniform b ON a.f && b.f",
        "EXPLAIN SELECT * FROM kind a JOIN kind b ON a.f ?& b.f WHERE a.f ?| bloomx_probe_all(ARRAY[1, 2])")


if __name__ == "__main__":
    main()
