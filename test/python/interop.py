#!/usr/bin/env python3
"""Check that PostgreSQL and bloomx.py read each other's filters.  Run it through interop.sh, which makes the database.

Two programs that were written independently must agree on every bit: hashes
of all golden keys; for every SQL type and every layout the bytes of a filter
of 200 keys, whichever side builds it; answers for absent keys, including false
positives; estimates; and which bytes are not a filter.
"""

import base64
import datetime
import decimal
import hashlib
import ipaddress
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
import golden  # noqa: E402

bloomx = golden.bloomx

DATABASE = os.environ["PGDATABASE_SCRATCH"]
SETTINGS = "SET client_min_messages = warning; SET lc_monetary = 'C'; SET datestyle = 'ISO, YMD'; SET timezone = 'Asia/Kabul';\n"

# Geometries with special cases: spare bits, several blocks, a partial last group.
SHAPES = [
    ("standard", 6001, 7, 0),
    ("partitioned", 6001, 7, 11),
    ("blocked", 6144, 9, -1),
    ("blocked: block_bits=1000", 6144, 9, 4),
    ("hybrid: probes=3", 6001, 9, 12),
    ("standard: hashing=double", 6001, 7, 0),
    ("rational", 6001, 6.75, 1),
    ("rational", 6001, 0.25, 0),
    ("variable_blocked", 6001, 7.5, 2),
    ("partitioned_blocked", 8192, 13, -5000000000),
    ("counting", 8192, 13, 5),
    ("scalable", 1536, 6, 7),
    ("dynamic_blocked", 1536, 6, 3),
    ("age_partitioned", 6001, 7, 9),
]
KEYS = 200                                  # keys 0 .. 199 are in a filter, 200 .. 399 are not


def md5(i):
    return hashlib.md5(str(i).encode()).digest()


def ip(address, i):
    return str(ipaddress.ip_address(address) + i)


# An SQL type, its i-th key in SQL, and the same key in Python.  Types of few values repeat them.
TYPES = [
    ("int2", "(i * 37 - 5000)::int2", lambda i: bloomx.integer(i * 37 - 5000)),
    ("int4", "i - 100", lambda i: bloomx.integer(i - 100)),
    ("int8", "i * 4294967296 - 7", lambda i: bloomx.integer(i * 4294967296 - 7)),
    ("interop_int", "i::interop_int", lambda i: bloomx.integer(i)),
    ("float4", "i::float4 / 7::float4", lambda i: bloomx.float4(i / 7)),
    ("float8", "(i - 100)::float8 / 7", lambda i: bloomx.float8((i - 100) / 7)),
    ("numeric", "(i - 100) * 1000003::numeric / 8", lambda i: bloomx.numeric(decimal.Decimal((i - 100) * 1000003) / 8)),
    ("text", "repeat('x', 3 * i)", lambda i: bloomx.text("x" * (3 * i))),
    ("varchar", "('gr\u00fc\u00dfe ' || i)::varchar(40)", lambda i: bloomx.text(f"gr\u00fc\u00dfe {i}")),
    ("name", "('name ' || i)::name", lambda i: bloomx.text(f"name {i}")),
    ("bpchar", "('char ' || i)::char(20)", lambda i: bloomx.bpchar(f"char {i}".ljust(20))),
    ("interop_text", "('a domain ' || i)::interop_text", lambda i: bloomx.text(f"a domain {i}")),
    ("bytea", "decode(md5(i::text), 'hex')", lambda i: bloomx.bytea(md5(i))),
    ("uuid", "md5(i::text)::uuid", lambda i: bloomx.uuid(md5(i).hex())),
    ("boolean", "i % 2 = 0", lambda i: bloomx.boolean(i % 2 == 0)),
    ("date", "'2000-01-01'::date + (i * 97 - 5000)", lambda i: bloomx.date(i * 97 - 5000)),
    ("time", "'00:00'::time + i * interval '211 seconds 7 microseconds'", lambda i: bloomx.time(i * 211000007)),
    ("timetz", "(('00:00'::time + i * interval '211 seconds 7 microseconds')::text || '-0' || i % 10)::timetz",
     lambda i: bloomx.timetz(i * 211000007, i % 10 * 3600)),
    ("timestamp", "'2000-01-01'::timestamp + (i - 100) * interval '1234567 seconds 89 microseconds'",
     lambda i: bloomx.timestamp((i - 100) * 1234567000089)),
    ("timestamptz", "'2000-01-01 00:00+00'::timestamptz + (i - 100) * interval '1234567 seconds 89 microseconds'",
     lambda i: bloomx.timestamptz(datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
                                  + (i - 100) * datetime.timedelta(seconds=1234567, microseconds=89))),
    ("interval", "make_interval(months => i - 100, days => 3 * i, secs => i)", lambda i: bloomx.interval(i - 100, 3 * i, i * 10**6)),
    ("inet (4)", "set_masklen('10.0.0.0'::inet + i * 257, i % 33)", lambda i: bloomx.inet(f"{ip('10.0.0.0', i * 257)}/{i % 33}")),
    ("inet (6)", "'2001:db8::'::inet + i * 65537::int8", lambda i: bloomx.inet(ip("2001:db8::", i * 65537))),
    ("cidr", "network(set_masklen('10.0.0.0'::inet + i * 65536, 16))", lambda i: bloomx.inet(f"{ip('10.0.0.0', i * 65536)}/16")),
    ("macaddr", "substr(md5(i::text), 1, 12)::macaddr", lambda i: bloomx.macaddr(md5(i)[:6].hex())),
    ("macaddr8", "substr(md5(i::text), 1, 16)::macaddr8", lambda i: bloomx.macaddr8(md5(i)[:8].hex())),
    ("oid", "(i * 10000000::int8)::oid", lambda i: bloomx.oid(i * 10000000)),
    ("money", "((i - 100) * 0.37)::numeric::money", lambda i: bloomx.money((i - 100) * 37)),
    ("interop_enum", "('label ' || i % 10)::interop_enum", lambda i: bloomx.enum(f"label {i % 10}")),
    ("integer[]", "ARRAY[i, NULL, i + 1]", lambda i: bloomx.array("integer", [bloomx.integer(i), bloomx.Null(), bloomx.integer(i + 1)])),
    ("interop_enum[]", "ARRAY[('label ' || i % 10)::interop_enum]", lambda i: bloomx.array("enum", [bloomx.enum(f"label {i % 10}")])),
    ("interop_pair", "(i, 'x' || i)::interop_pair", lambda i: bloomx.record(bloomx.integer(i), bloomx.text(f"x{i}"))),
    ("int4range", "int4range(i, i + 5, '[]')", lambda i: bloomx.range_of("int4range", (bloomx.integer(i), bloomx.integer(i + 6), "[)"))),
    ("nummultirange", "nummultirange(numrange(i, i + 0.50), numrange(i + 1, NULL))",
     lambda i: bloomx.multirange_of("nummultirange", [(bloomx.numeric(i), bloomx.numeric(decimal.Decimal(i) + decimal.Decimal("0.5")), "[)"),
                                                      (bloomx.numeric(i + 1), None, "[)")])),
    ("jsonb", "jsonb_build_object('number', i, 'a', jsonb_build_array(i::text, NULL, i % 2 = 0))",
     lambda i: bloomx.jsonb({"a": [str(i), None, i % 2 == 0], "number": i})),
    ("pg_lsn", "('1/' || to_hex(i))::pg_lsn", lambda i: bloomx.pg_lsn(2**32 + i)),
]

# Types of extensions and users: SQL gives the extended hash of each key, and everything else must agree.
NAMED_TYPES = [
    ("interop_number#6ea99d41dfc69f78", "(i::text)::interop_number", "hashint8extended", "i::bigint"),
]

SETUP = """
CREATE EXTENSION bloomx;
CREATE TYPE interop_enum AS ENUM ('label 0', 'label 1', 'label 2', 'label 3', 'label 4', 'label 5', 'label 6', 'label 7', 'label 8', 'label 9');
CREATE TYPE golden_mood AS ENUM ('very sad', 'happy');
CREATE TYPE golden_row AS (number int4, code char(6), mood golden_mood);
CREATE TYPE golden_span AS RANGE (SUBTYPE = float8, MULTIRANGE_TYPE_NAME = golden_spans);
CREATE TYPE interop_pair AS (a int, b text);
CREATE TYPE interop_number;
CREATE FUNCTION interop_in(cstring) RETURNS interop_number LANGUAGE internal IMMUTABLE STRICT AS 'int8in';
CREATE FUNCTION interop_out(interop_number) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int8out';
CREATE TYPE interop_number (INPUT = interop_in, OUTPUT = interop_out, LIKE = int8);
CREATE FUNCTION interop_eq(interop_number, interop_number) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8eq';
CREATE FUNCTION interop_hash(interop_number) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'hashint8';
CREATE FUNCTION interop_hash(interop_number, bigint) RETURNS bigint LANGUAGE internal IMMUTABLE STRICT AS 'hashint8extended';
CREATE OPERATOR = (LEFTARG = interop_number, RIGHTARG = interop_number, FUNCTION = interop_eq, HASHES);
CREATE OPERATOR CLASS interop_number_ops DEFAULT FOR TYPE interop_number USING hash AS
    OPERATOR 1 =, FUNCTION 1 interop_hash(interop_number), FUNCTION 2 interop_hash(interop_number, bigint);
CREATE DOMAIN interop_int AS int8;
CREATE DOMAIN interop_text AS text;

-- the SQLSTATE of reading a filter, or what was read
CREATE FUNCTION state_of_text(t text) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN RETURN 'accepted ' || (t::bloomfilter)::text; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
CREATE FUNCTION state_of_bytes(b bytea) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN RETURN 'accepted ' || (b::bloomfilter)::text; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;

CREATE FUNCTION add_one_by_one(f bloomfilter, keys anyarray) RETURNS bloomfilter LANGUAGE plpgsql AS
    $$ BEGIN FOR i IN 1 .. cardinality(keys) LOOP f := bloom_add(f, keys[i]); END LOOP; RETURN f; END $$;
CREATE FUNCTION add_hashes(f bloomfilter, hashes bigint[]) RETURNS bloomfilter LANGUAGE plpgsql AS
    $$ BEGIN FOR i IN 1 .. cardinality(hashes) LOOP f := bloom_add_hash(f, hashes[i]); END LOOP; RETURN f; END $$;
"""


def sql(script):
    """Runs a script and returns the rows that it printed, as lists of columns."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", DATABASE],
        input=SETTINGS + script, capture_output=True, encoding="utf-8", env={**os.environ, "PGCLIENTENCODING": "UTF8"},
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [line.split("\t") for line in done.stdout.splitlines()]


def signed(n):
    return n - 2**64 if n >= 2**63 else n


def rows(values):
    return ",\n".join("(" + ", ".join(value) + ")" for value in values)


def python_filter(shape, keys):
    layout, bits, k, seed = shape
    return golden.make_filter(layout, bits, k, seed & bloomx.MASK64, ((None, key) for key in keys))


def empty_call(shape):
    layout, bits, k, seed = shape
    return golden.empty_call(*golden.split_layout(layout), bits, k, seed)


def same_filter(tap, what, text, hex_bytes, expected):
    """Checks that the text and bytea forms in SQL are the same value, with exactly the bytes that Python built."""
    f = bloomx.BloomFilter.from_text(text)
    tap.ok(f.to_bytes().hex() == hex_bytes, f"{what}: text and bytea hold the same bytes")
    tap.ok(f.to_bytes() == expected.to_bytes(), f"{what}: SQL built what Python builds",
           f"SQL    {text}", f"Python {expected.to_text()}")
    return f


def check_setup(tap):
    sql(SETUP)
    ((version,),) = sql("SHOW server_version;")
    print(f"# PostgreSQL {version}, Python {sys.version.split()[0]}")


def check_hashes(tap, vectors):
    values = [(f"{number}", f"bloom_hash({key['sql']}, {signed(int(seed, 16))})")
              for seed_number, seed in enumerate(vectors["seeds"])
              for number, key in enumerate(vectors["keys"])]
    got = [int(value) for _, value in sql(f"SELECT * FROM (VALUES {rows(values)}) AS v(number, hash);")]
    want = [(key, signed(int(key["hash"][n], 16))) for n in range(len(vectors["seeds"])) for key in vectors["keys"]]
    tap.ok(len(got) == len(want), "SQL returns a hash for every golden key", f"{len(got)} of {len(want)}")
    for hash_, (key, expected) in zip(got, want):
        tap.ok(hash_ == expected, f"bloom_hash({key['sql']}) as golden", f"SQL {hash_}, golden {expected}")


def check_type(tap, what, expression, key_of, shape):
    """Checks one SQL type and one layout in both directions."""
    what = f"{what}, {shape[0]}"
    expected = python_filter(shape, (key_of(i) for i in range(KEYS)))
    ours = expected.to_text()
    empty = empty_call(shape)
    if expression.startswith("ARRAY"):      # an array of arrays would be an array of their elements
        added = one_by_one = f"bloom_agg(v, {empty})"
    else:
        added, one_by_one = f"bloom_add_all({empty}, array_agg(v))", f"add_one_by_one({empty}, array_agg(v))"
    (row,) = sql(f"""
        WITH members AS (SELECT {expression} AS v FROM generate_series(0, {KEYS - 1}) AS i),
             built AS (SELECT bloom_agg(v, {empty}) AS agg, {added} AS added, {one_by_one} AS one_by_one,
                              '{ours}'::bloomfilter AS ours FROM members)
        SELECT agg::text, encode(agg::bytea, 'hex'), agg = added, agg = one_by_one,
               ours = agg, ours::text, encode(ours::bytea, 'hex'),
               (SELECT bool_and(ours @> v AND v <@ ours AND agg @> v) FROM members),
               (SELECT string_agg((agg @> ({expression}))::int::text, '' ORDER BY i) FROM generate_series({KEYS}, {2 * KEYS - 1}) AS i),
               bloom_fpr(agg), bloom_cardinality(agg)
            FROM built;""")
    text, hex_bytes, as_added, as_one_by_one, equal, read, read_hex, found, absent, fpr, cardinality = row

    f = same_filter(tap, what, text, hex_bytes, expected)
    tap.ok(all(f.contains(key_of(i)) for i in range(KEYS)), f"{what}: Python finds every key of SQL's filter")
    answers = "".join(str(int(f.contains(key_of(i)))) for i in range(KEYS, 2 * KEYS))
    tap.ok(absent == answers, f"{what}: both give the same answer for {KEYS} other keys", absent, answers)
    tap.ok(as_added == "t" and as_one_by_one == "t", f"{what}: bloom_agg, bloom_add_all and bloom_add agree")
    tap.ok(equal == "t" and read == ours and read_hex == expected.to_bytes().hex(), f"{what}: SQL reads Python's filter, equal to its own")
    tap.ok(found == "t", f"{what}: SQL finds every key of Python's filter")
    tap.ok(golden.close(fpr, f.fpr()) and golden.close(cardinality, f.cardinality()),
           f"{what}: both estimate alike", f"SQL {fpr} {cardinality}", f"Python {f.fpr()} {f.cardinality()}")


def check_named_type(tap, name, expression, hash_function, hashed, shape):
    hashes = [int(row[0]) for row in sql(f"SELECT {hash_function}({hashed}, 0) FROM generate_series(0, {2 * KEYS - 1}) AS i;")]
    check_type(tap, f"named {name}", expression, lambda i: bloomx.named(name, hashes[i]), shape)


def check_ready_hashes(tap, shape):
    layout = shape[0]
    hashes = [signed(bloomx.xxh3_64(md5(i))) for i in range(KEYS)] + [0, -1]
    expected = python_filter(shape, map(bloomx.ready_hash, hashes))
    array = "'{" + ",".join(map(str, hashes)) + "}'::bigint[]"
    ((text, hex_bytes, equal, found),) = sql(f"""
        WITH built AS (SELECT add_hashes({empty_call(shape)}, {array}) AS f, '{expected.to_text()}'::bloomfilter AS ours)
        SELECT f::text, encode(f::bytea, 'hex'), f = ours, (SELECT bool_and(bloom_contains_hash(ours, h)) FROM unnest({array}) AS h) FROM built;""")
    same_filter(tap, f"hash, {layout}", text, hex_bytes, expected)
    tap.ok(equal == "t" and found == "t", f"hash, {layout}: SQL reads Python's filter and finds every hash")


def check_planned(tap):
    """Filters whose geometry and capacity the server has chosen; both are in the header."""
    for layout in bloomx.LAYOUTS.values():
        for call in (f"bloom_agg(i, bloom_empty(5000, 0.001, '{layout}'))", "bloom_agg(i)", "bloom_agg(i, 4000)", "bloom_agg(i, 4000, 0.05)"):
            if layout != "partitioned_blocked" and "bloom_empty" not in call:
                continue
            ((text, hex_bytes),) = sql(f"WITH b AS (SELECT {call} AS f FROM generate_series(1, 3000) AS i) SELECT f::text, encode(f::bytea, 'hex') FROM b;")
            theirs = bloomx.BloomFilter.from_text(text)
            if layout in bloomx.SEALED:
                ours = bloomx.SealedFilter.build([bloomx.integer(i) for i in range(1, 3001)], theirs.fingerprint_bits)
            else:
                ours = bloomx.BloomFilter.empty(theirs.layout, theirs.geometry, capacity=theirs.capacity)
                for i in range(1, 3001):
                    ours.add(bloomx.integer(i))
            same_filter(tap, call, text, hex_bytes, ours)
            tap.ok(theirs.layout == layout and theirs.fpr() < 0.06, f"{call}: the layout and the rate asked for", theirs.layout, theirs.fpr())


def check_sealed(tap):
    """A sealed filter of two blocks, and a map."""
    many, few = range(1, bloomx.SealedFilter.BLOCK_KEYS + 1000), range(1, 2000)
    ((text, hex_bytes),) = sql(f"WITH b AS (SELECT bloom_agg(i, bloom_empty(1, 0.3, 'binary_fuse')) AS f FROM generate_series(1, {many[-1]}) AS i) SELECT f::text, encode(f::bytea, 'hex') FROM b;")
    f = same_filter(tap, "two blocks", text, hex_bytes, bloomx.SealedFilter.build([bloomx.integer(i) for i in many], 2))
    tap.ok(f.geometry.blocks == 2, "two blocks", f.geometry)
    ((text, hex_bytes),) = sql(f"WITH b AS (SELECT bloom_map_agg('k' || i, 7 * i % 1000) AS f FROM generate_series(1, {few[-1]}) AS i) SELECT f::text, encode(f::bytea, 'hex') FROM b;")
    ours = bloomx.SealedFilter.build([bloomx.text(f"k{i}") for i in few], 8, [7 * i % 1000 for i in few])
    f = same_filter(tap, "a map", text, hex_bytes, ours)
    tap.ok(all(f.get(bloomx.text(f"k{i}")) == 7 * i % 1000 for i in few), "a map: Python finds SQL's values")
    ((values, others),) = sql(f"""SELECT count(*) FILTER (WHERE bloom_get(m, 'k' || i) = 7 * i % 1000), string_agg(coalesce(bloom_get(m, 'x' || i)::text, '-'), ' ' ORDER BY i)
        FROM generate_series(1, {few[-1]}) AS i, (SELECT '{ours.to_text()}'::bloomfilter AS m) AS o;""")
    tap.ok(values == str(few[-1]), "a map: SQL finds Python's values", values)
    mine = ["-" if ours.get(bloomx.text(f"x{i}")) is None else str(ours.get(bloomx.text(f"x{i}"))) for i in few]
    tap.ok(others == " ".join(mine), "a map: both say the same of other keys")


def check_algebra(tap):
    """A union of equal sizes, and one of different sizes, which bloomx.py can fold back."""
    for shape in SHAPES:
        layout = shape[0]
        if layout == "age_partitioned":     # has no union
            continue
        ((a, b, union),) = sql(f"""
            WITH f AS (SELECT bloom_agg(i, {empty_call(shape)}) FILTER (WHERE i % 2 = 0) AS a,
                              bloom_agg(i, {empty_call(shape)}) FILTER (WHERE i % 2 = 1) AS b
                           FROM generate_series(1, 300) AS i)
            SELECT a, b, a | b FROM f;""")
        a, b = bloomx.BloomFilter.from_text(a), bloomx.BloomFilter.from_text(b)
        tap.ok(a.union(b).to_text() == union, f"union, {layout}: SQL's | is Python's union")
    for layout in ("partitioned", "partitioned_blocked", "counting", "hybrid"):
        ((small, union, cardinality),) = sql(f"""
            WITH f AS (SELECT bloom_agg(i, bloom_empty_bits(4096, 8, '{layout}')) AS small, bloom_agg(i + 150, bloom_empty_bits(16384, 8, '{layout}')) AS large
                           FROM generate_series(1, 200) AS i)
            SELECT small, small | large, bloom_cardinality(small | large) FROM f;""")
        small, union = bloomx.BloomFilter.from_text(small), bloomx.BloomFilter.from_text(union)
        tap.ok(union.expanded == 2 and union.folded().geometry == small.geometry, f"expanded twice, {layout}", union.expanded)
        tap.ok(all(union.contains(bloomx.integer(i)) for i in range(1, 351)), f"expanded union, {layout}: every key of both")
        tap.ok(golden.close(cardinality, union.cardinality()), f"expanded union, {layout}: estimates alike", cardinality, union.cardinality())


def check_removal(tap):
    """Adds keys (some twice, one until it is saturated) and removes keys (one that is absent): the same bytes; then drops the counters."""
    ((theirs, bits),) = sql("""
        WITH f AS (SELECT bloom_remove_all(bloom_agg(i % 150, bloom_empty_bits(4096, 11, 'counting')),
                                           ARRAY(SELECT generate_series(100, 149)) || 5000 || ARRAY(SELECT generate_series(0, 9))) AS f
                       FROM generate_series(1, 200) AS i)
        SELECT f, bloom_drop_counters(f) FROM bloom_add_all((SELECT f FROM f), array_fill(-1, ARRAY[20])) AS f;""")
    ours = python_filter(("counting", 4096, 11, 0), (bloomx.integer(i % 150) for i in range(1, 201)))
    removed = [ours.remove(bloomx.integer(i)) for i in [*range(100, 150), 5000, *range(10)]]
    for _ in range(20):
        ours.add(bloomx.integer(-1))
    tap.ok(removed.count(False) == 1 and ours.to_text() == theirs, "removal: SQL's filter is Python's")
    tap.ok(ours.to_bits().to_text() == bits, "bloom_drop_counters: SQL's filter is Python's")


def check_refusals(tap, vectors):
    """The server refuses what bloomx.py refuses: as text with 22P02, as bytes with 22P03."""
    broken = list(golden.broken_filters(vectors))
    script = "".join(f"SELECT state_of_text('{base64.b64encode(data).decode()}'), state_of_bytes('\\x{data.hex()}');\n" for _, data, _ in broken)
    for (what, data, _), states in zip(broken, sql(script)):
        tap.ok(python_refuses(bloomx.BloomFilter.from_bytes, data) and states == ["22P02", "22P03"], f"both refuse: {what}", states)

    good = vectors["filters"][0]["text"]
    texts = [
        ("not base64", good[:-1] + "!"), ("a line break", good + "\n"), ("a blank inside", good[:8] + " " + good[8:]),
        ("a character less", good[:-1]), ("padding inside", good[:8] + "=" + good[9:]), ("padding twice", good + "===="),
    ]
    for what, text in texts:
        ((state,),) = sql(f"SELECT state_of_text('{text}');")
        tap.ok(python_refuses(bloomx.BloomFilter.from_text, text) and state == "22P02", f"both refuse: text with {what}", state)

    data = bytearray(bloomx.BloomFilter.from_text(good).to_bytes())
    data[-8] ^= 1
    ((state, equal),) = sql(f"SELECT state_of_bytes('\\x{data.hex()}'), '\\x{data.hex()}'::bytea::bloomfilter = '{good}';")
    changed = bloomx.BloomFilter.from_bytes(data)
    tap.ok(state == f"accepted {changed.to_text()}" and equal == "f" and changed != bloomx.BloomFilter.from_text(good),
           "another bit in the body is another filter for both", state, equal)


def python_refuses(read, value):
    try:
        read(value)
    except ValueError:
        return True
    return False


def main():
    vectors = json.loads(golden.GOLDEN.read_text())
    tap = golden.Tap()
    def run(what, check, *arguments):
        """Runs a check; an error of the server fails only this check."""
        try:
            check(tap, *arguments)
        except (RuntimeError, ValueError) as error:
            tap.ok(False, what, *str(error).splitlines())

    run("the extension and the types of this test", check_setup)
    run("golden hashes", check_hashes, vectors)
    for shape in SHAPES:
        for what, expression, key_of in TYPES:
            run(f"{what}, {shape[0]}", check_type, what, expression, key_of, shape)
        for name, expression, hash_function, hashed in NAMED_TYPES:
            run(f"named {name}, {shape[0]}", check_named_type, name, expression, hash_function, hashed, shape)
        run(f"hash, {shape[0]}", check_ready_hashes, shape)
    run("planned filters", check_planned)
    run("algebra", check_algebra)
    run("removal", check_removal)
    run("refusals", check_refusals, vectors)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
