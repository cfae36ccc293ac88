#!/usr/bin/env python3
"""Make and check golden.json, the golden vectors of the interchange format.

    golden.py             rewrite golden.json (only when the format is extended: existing vectors never change)
    golden.py --check     check that bloomx.py still gives exactly what golden.json says

golden.json holds hashes of byte patterns (xxh3), canonical bytes and hashes of
keys (keys), and whole filters with their keys and text form (filters).  A port
to another language is right if it reproduces that file.  64-bit numbers are
hexadecimal strings there, because not every JSON reader preserves 64 bits.  A key
that consists of other keys has canonical bytes for each of the two seeds.
golden_sql.py makes the regression test of the server from the same file.
"""

import argparse
import datetime
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))
import bloomx  # noqa: E402

FORMAT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "internals" / "FORMAT.md"
GOLDEN = pathlib.Path(__file__).with_name("golden.json")

# The second seed has its top bit set: as a bigint in SQL it is negative.
SEEDS = (0, 0x9E3779B97F4A7C15)

XXH3_LENGTHS = (0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 96, 97, 127, 128, 129, 144, 239, 240,
                241, 256, 512, 1023, 1024, 1025, 1087, 1088, 1089, 2048, 2049, 4099)

UTC = datetime.timezone.utc
KABUL = datetime.timezone(datetime.timedelta(hours=4, minutes=30))
LONG_TEXT = "the quick brown fox jumps over the lazy dog "


def hex64(n):
    return f"0x{n:016x}"


def pattern(length):
    """The input of an xxh3 vector: byte i is i mod 251."""
    return bytes(i % 251 for i in range(length))


# --------------------------------------------------------------------------
# Keys: a value as SQL writes it, and the same value in Python
# --------------------------------------------------------------------------

def golden_keys():
    """(SQL literal, Key).  SQL literals are ASCII and mean the same under every setting but DateStyle and lc_monetary."""
    b = bloomx
    return [
        ("0::int4", b.integer(0)),
        ("1::int4", b.integer(1)),
        ("5::int2", b.integer(5)),
        ("5::int4", b.integer(5)),
        ("5::int8", b.integer(5)),
        ("'-1'::int8", b.integer(-1)),
        ("'-32768'::int2", b.integer(-32768)),
        ("2147483647::int4", b.integer(2147483647)),
        ("4294967296::int8", b.integer(4294967296)),
        ("9223372036854775807::int8", b.integer(2**63 - 1)),
        ("'-9223372036854775808'::int8", b.integer(-2**63)),

        ("0::float8", b.float8(0.0)),
        ("'-0'::float8", b.float8(-0.0)),
        ("'-0'::float4", b.float4(-0.0)),
        ("1.5::float4", b.float4(1.5)),
        ("1.5::float8", b.float8(1.5)),
        ("0.1::float4", b.float4(0.1)),
        ("0.1::float8", b.float8(0.1)),
        ("'NaN'::float4", b.float4(math.nan)),
        ("'NaN'::float8", b.float8(math.nan)),
        ("'Infinity'::float8", b.float8(math.inf)),
        ("'-Infinity'::float4", b.float4(-math.inf)),
        ("'5e-324'::float8", b.float8(5e-324)),
        ("'-1.7976931348623157e308'::float8", b.float8(-1.7976931348623157e308)),

        ("0::numeric", b.numeric("0")),
        ("'0.000'::numeric", b.numeric("0.000")),
        ("'-0.00'::numeric", b.numeric("-0.00")),
        ("1::numeric", b.numeric(1)),
        ("1.00::numeric", b.numeric("1.00")),
        ("100::numeric", b.numeric(100)),
        ("0.5::numeric", b.numeric("0.5")),
        ("'-12.2500'::numeric", b.numeric("-12.2500")),
        ("'1e30'::numeric", b.numeric("1e30")),
        ("'1.5e-20'::numeric", b.numeric("1.5e-20")),
        ("'12345678901234567890.098765432109876543210'::numeric", b.numeric("12345678901234567890.098765432109876543210")),
        ("'NaN'::numeric", b.numeric("NaN")),
        ("'Infinity'::numeric", b.numeric("Infinity")),
        ("'-Infinity'::numeric", b.numeric("-Infinity")),

        ("''::text", b.text("")),
        ("'a'::text", b.text("a")),
        ("'abc'::text", b.text("abc")),
        ("'abc'::varchar", b.text("abc")),
        ("'abc'::name", b.text("abc")),
        ("'abc'::char(10)", b.bpchar("abc       ")),
        ("'abc  '::text", b.text("abc  ")),
        ("E'gr\\xc3\\xbc\\xc3\\x9fe'::text", b.text("gr\u00fc\u00dfe")),
        ("'sixteen bytes ok'::text", b.text("sixteen bytes ok")),
        ("'seventeen bytes ok'::text", b.text("seventeen bytes ok")),
        (f"repeat('{LONG_TEXT}', 3)", b.text(LONG_TEXT * 3)),
        (f"repeat('{LONG_TEXT}', 5)", b.text(LONG_TEXT * 5)),
        (f"repeat('{LONG_TEXT}', 100)", b.text(LONG_TEXT * 100)),

        ("'\\x'::bytea", b.bytea(b"")),
        ("'\\x00'::bytea", b.bytea(b"\x00")),
        ("'\\xdeadbeef'::bytea", b.bytea(b"\xde\xad\xbe\xef")),

        ("'00000000-0000-0000-0000-000000000000'::uuid", b.uuid("00000000-0000-0000-0000-000000000000")),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", b.uuid("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),

        ("true", b.boolean(True)),
        ("false", b.boolean(False)),

        ("'2000-01-01'::date", b.date(datetime.date(2000, 1, 1))),
        ("'1999-12-31'::date", b.date(datetime.date(1999, 12, 31))),
        ("'2024-02-29'::date", b.date(datetime.date(2024, 2, 29))),
        ("'infinity'::date", b.date(b.DATE_INFINITY)),
        ("'-infinity'::date", b.date(b.DATE_MINUS_INFINITY)),

        ("'00:00:00'::time", b.time(datetime.time(0, 0))),
        ("'12:34:56.789012'::time", b.time(datetime.time(12, 34, 56, 789012))),
        ("'24:00:00'::time", b.time(86400000000)),

        ("'12:34:56+00'::timetz", b.timetz(datetime.time(12, 34, 56, tzinfo=UTC))),
        ("'12:34:56+04:30'::timetz", b.timetz(datetime.time(12, 34, 56, tzinfo=KABUL))),
        ("'12:34:56.5-08'::timetz", b.timetz(45296500000, 28800)),

        ("'2000-01-01 00:00:00'::timestamp", b.timestamp(datetime.datetime(2000, 1, 1))),
        ("'1970-01-01 00:00:00'::timestamp", b.timestamp(datetime.datetime(1970, 1, 1))),
        ("'2026-11-21 05:10:58.123456'::timestamp", b.timestamp(datetime.datetime(2026, 11, 21, 5, 10, 58, 123456))),
        ("'infinity'::timestamp", b.timestamp(b.TIMESTAMP_INFINITY)),
        ("'-infinity'::timestamp", b.timestamp(b.TIMESTAMP_MINUS_INFINITY)),

        ("'2026-11-21 05:10:58.123456+00'::timestamptz", b.timestamptz(datetime.datetime(2026, 11, 21, 5, 10, 58, 123456, UTC))),
        ("'2026-11-21 09:40:58.123456+04:30'::timestamptz", b.timestamptz(datetime.datetime(2026, 11, 21, 9, 40, 58, 123456, KABUL))),
        ("'infinity'::timestamptz", b.timestamptz(b.TIMESTAMP_INFINITY)),

        ("'0'::interval", b.interval()),
        ("'1 month'::interval", b.interval(months=1)),
        ("'30 days'::interval", b.interval(days=30)),
        ("'720 hours'::interval", b.interval(microseconds=720 * 3600 * 1000000)),
        ("'-1 day'::interval", b.interval(days=-1)),
        ("'1 month -30 days 1 microsecond'::interval", b.interval(1, -30, 1)),
        ("'178000000 years'::interval", b.interval(months=178000000 * 12)),
        ("'-178000000 years'::interval", b.interval(months=-178000000 * 12)),

        ("'192.0.2.1'::inet", b.inet("192.0.2.1")),
        ("'192.0.2.1/24'::inet", b.inet("192.0.2.1/24")),
        ("'192.0.2.0/24'::inet", b.inet("192.0.2.0/24")),
        ("'192.0.2.0/24'::cidr", b.inet("192.0.2.0/24")),
        ("'2001:db8::1'::inet", b.inet("2001:db8::1")),
        ("'2001:db8::/32'::cidr", b.inet("2001:db8::/32")),

        ("'08:00:2b:01:02:03'::macaddr", b.macaddr("08:00:2b:01:02:03")),
        ("'08:00:2b:01:02:03:04:05'::macaddr8", b.macaddr8("08:00:2b:01:02:03:04:05")),

        ("0::oid", b.oid(0)),
        ("4294967295::oid", b.oid(4294967295)),

        ("12.34::numeric::money", b.money(1234)),
        ("'-0.01'::numeric::money", b.money(-1)),

        ("'happy'::golden_mood", b.enum("happy")),
        ("'very sad'::golden_mood", b.enum("very sad")),

        ("'{}'::int4[]", b.array("integer", [])),
        ("'{1,NULL,3}'::int4[]", b.array("integer", [b.integer(1), b.Null(), b.integer(3)])),
        ("'[0:1]={1,2}'::int2[]", b.array("integer", [b.integer(1), b.integer(2)], [(2, 0)])),
        ("'{{a,b},{c,d}}'::text[]", b.array("text", [b.text(c) for c in "abcd"], [(2, 1), (2, 1)])),
        ("'{happy}'::golden_mood[]", b.array("enum", [b.enum("happy")])),
        ("'(5,abc,)'::golden_row", b.record(b.integer(5), b.bpchar("abc"), b.Null("enum"))),
        ("'(,,happy)'::golden_row", b.record(b.Null("integer"), b.Null("bpchar"), b.enum("happy"))),
        ("'{\"(5,abc,happy)\"}'::golden_row[]",
         b.array("record(integer, bpchar, enum)", [b.record(b.integer(5), b.bpchar("abc"), b.enum("happy"))])),
        ("'empty'::int4range", b.range_of("int4range", None)),
        ("'[1,5]'::int4range", b.range_of("int4range", (b.integer(1), b.integer(6), "[)"))),
        ("'(,1.50]'::numrange", b.range_of("numrange", (None, b.numeric("1.5"), "(]"))),
        ("'(,)'::numrange", b.range_of("numrange", (None, None, "()"))),
        ("'[-0,1]'::golden_span", b.range_of("range(float)", (b.float8(0), b.float8(1), "[]"))),
        ("'{[1,2],[4,5)}'::int4multirange",
         b.multirange_of("int4multirange", [(b.integer(1), b.integer(3), "[)"), (b.integer(4), b.integer(5), "[)")])),
        ("'{[0,1)}'::golden_spans", b.multirange_of("multirange(float)", [(b.float8(0), b.float8(1), "[)")])),
        ("'null'::jsonb", b.jsonb(None)),
        ("'1.0'::jsonb", b.jsonb(1)),
        ("'[]'::jsonb", b.jsonb([])),
        ("'[[1], {}]'::jsonb", b.jsonb([[1], {}])),
        ("'{\"bb\": [true, false, null], \"a\": {\"c\": \"d\"}}'::jsonb", b.jsonb({"a": {"c": "d"}, "bb": [True, False, None]})),
        ("'a'::\"char\"", b.internal_char(0x61)),
        ("'(65536,2)'::tid", b.tid(65536, 2)),
        ("'4294967295'::xid", b.xid(4294967295)),
        ("'7'::cid", b.cid(7)),
        ("'18446744073709551615'::xid8", b.xid8(2**64 - 1)),
        ("'16/B374D848'::pg_lsn", b.pg_lsn(0x16B374D848)),
    ]


def golden_filters():
    """(name, layout, bits, k, seed, [(SQL literal, Key)]): the arguments of bloom_empty_bits, and the keys.

    A layout with options is written "layout: name=value".  Of binary_fuse `bits` are those of
    the fingerprint, k is 0, and "binary_fuse: values" is a map: key i has value 5 i mod 64.
    """
    b = bloomx

    def integers(first, last):
        return [(f"{i}::int4", b.integer(i)) for i in range(first, last + 1)]

    def words(*values):
        return [(f"'{value}'::text", b.text(value)) for value in values]

    def uuids(count):
        values = [f"a0eebc99-9c0b-4ef8-bb6d-{i:012x}" for i in range(count)]
        return [(f"'{value}'::uuid", b.uuid(value)) for value in values]

    greek = words("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")
    return [
        ("worked example: standard", "standard", 100, 3, 0, integers(42, 42)),
        ("worked example: partitioned", "partitioned", 300, 3, 0, integers(42, 42)),
        ("worked example: blocked", "blocked", 1024, 8, 0, integers(42, 42)),
        ("worked example: partitioned_blocked", "partitioned_blocked", 2048, 9, 0, integers(42, 42)),
        ("one bit", "standard", 1, 1, 0, integers(1, 1)),
        ("standard, spare bits", "standard", 1000, 3, 0, integers(1, 40)),
        ("standard, k = 64", "standard", 512, 64, SEEDS[1], integers(1, 3)),
        ("partitioned, spare bits", "partitioned", 700, 7, 0, greek),
        ("partitioned, a power of two", "partitioned", 1024, 4, SEEDS[1], greek),
        ("blocked, one block", "blocked", 512, 7, 0, integers(1, 30)),
        ("blocked, three blocks, a second hash", "blocked", 1536, 15, 0, integers(-20, 20)),
        ("blocked, a seed", "blocked", 1024, 4, SEEDS[1], greek),
        ("blocked, 100 bits", "blocked: block_bits=100", 550, 9, 0, integers(1, 30)),
        ("blocked, three positions a hash", "blocked: block_bits=5000", 10001, 8, SEEDS[1], greek),
        ("blocked, less than a word", "blocked: block_bits=1", 3, 2, 0, integers(1, 2)),
        ("worked example: hybrid", "hybrid", 300, 4, 0, integers(42, 42)),
        ("hybrid, three probes, spare bits", "hybrid: probes=3", 700, 9, SEEDS[1], greek),
        ("standard, double hashing", "standard: hashing=double", 512, 8, 0, integers(1, 20)),
        ("standard, enhanced double hashing", "standard: hashing=enhanced_double", 500, 64, SEEDS[1], integers(1, 2)),
        ("partitioned, triple hashing", "partitioned: hashing=triple", 800, 8, 0, greek),
        ("hybrid, double hashing", "hybrid: probes=2, hashing=double", 800, 8, 0, greek),
        ("worked example: rational", "rational", 100, 2.5, 0, integers(42, 42)),
        ("rational, spare bits", "rational", 1000, 3.75, SEEDS[1], integers(1, 60)),
        ("rational, half a bit per key", "rational", 100, 0.5, 0, integers(1, 80)),
        ("worked example: variable_blocked", "variable_blocked", 100, 4.5, 0, integers(42, 42)),
        ("variable_blocked, eight blocks", "variable_blocked", 9999, 7, SEEDS[1], integers(1, 300)),
        ("variable_blocked, one block", "variable_blocked", 1024, 5.25, 0, greek),
        ("one word", "partitioned_blocked", 64, 1, 0, integers(1, 5)),
        ("eight parts, one block", "partitioned_blocked", 512, 8, 0, integers(1, 30)),
        ("eight blocks, seven parts", "partitioned_blocked", 3584, 7, 0, integers(1, 200)),
        ("four blocks, eleven parts", "partitioned_blocked", 2816, 11, SEEDS[1], uuids(50)),
        ("worked example: counting", "counting", 384, 3, 0, integers(42, 42) * 2 + integers(7, 7)),
        ("counting, eleven parts", "counting", 2816, 11, SEEDS[1], greek + greek[:6] + greek[:3]),
        ("counting, saturated", "counting", 256, 2, 0, integers(1, 20) * 4 + integers(3, 3) * 20),
        ("counting, empty", "counting", 512, 8, 0, []),
        ("age_partitioned, one generation", "age_partitioned", 600, 3, 0, integers(42, 42)),
        ("age_partitioned, turned, spare bits", "age_partitioned", 600, 3, SEEDS[1], integers(1, 200)),
        ("age_partitioned, one slice a key", "age_partitioned", 192, 1, 0, uuids(130)),
        ("age_partitioned, empty", "age_partitioned", 3000, 5, 0, []),
        ("dynamic_blocked, not grown", "dynamic_blocked", 1024, 7, 0, integers(42, 42)),
        ("dynamic_blocked, three stages", "dynamic_blocked", 512, 4, SEEDS[1], integers(1, 300)),
        ("dynamic_blocked, two chains", "dynamic_blocked", 1024, 9, 0, uuids(120)),
        ("worked example: scalable", "scalable", 128, 2, 0, integers(1, 60)),
        ("scalable, not grown", "scalable", 4096, 9, 0, integers(42, 42)),
        ("scalable, four stages", "scalable", 256, 4, SEEDS[1], integers(1, 340)),
        ("scalable, twelve parts", "scalable", 768, 12, 0, uuids(120)),
        ("empty", "partitioned_blocked", 1024, 8, 7, []),
        ("worked example: binary_fuse", "binary_fuse", 8, 0, 0, integers(42, 42)),
        ("binary_fuse, three keys", "binary_fuse", 5, 0, SEEDS[1], integers(1, 3)),
        ("binary_fuse, 100 keys", "binary_fuse", 8, 0, 0, uuids(100)),
        ("binary_fuse, a second salt", "binary_fuse", 32, 0, 0, integers(1, 14)),
        ("binary_fuse, a map", "binary_fuse: values", 8, 0, 0, integers(1, 60)),
        ("binary_fuse, a map without fingerprints", "binary_fuse: values", 0, 0, SEEDS[1], greek),
        ("ready-made hashes", "partitioned_blocked", 1024, 4, 0,
         [(str(n), b.ready_hash(n)) for n in (0, -1, 1, 0x123456789ABCDEF)]),
        ("a named key type", "partitioned_blocked", 1024, 4, 0,
         [(f"'{{{n}}}'::int4[]", b.array("integer", [b.integer(n)])) for n in (1, 2)]),
    ]


def split_layout(layout):
    """The layout and its options."""
    name, _, options = layout.partition(":")
    return name, options.strip()


def map_values(layout, keys):
    """The values of the keys, or None if it is no map."""
    return [5 * i % 64 for i in range(len(keys))] if split_layout(layout)[1] == "values" else None


def empty_call(layout, options, bits, k, seed):
    """The SQL expression of an empty filter."""
    if layout in bloomx.SEALED:
        return f"bloom_empty(1, 0.5, '{layout}', options => 'fingerprint_bits={bits}'" + (f", seed => {seed})" if seed else ")")
    named = (f", options => '{options}'" if options else "") + (f", seed => {seed}" if seed else "")
    return f"bloom_empty_bits({bits}, {k}, '{layout}'{named})"


def make_filter(layout, bits, k, seed, keys):
    keys = list(keys)
    if split_layout(layout)[0] in bloomx.SEALED:
        return bloomx.SealedFilter.build([key for _, key in keys], bits, map_values(layout, keys), seed)
    layout, options = split_layout(layout)
    f = bloomx.BloomFilter.empty(*bloomx.geometry_for_bits(layout, bits, k, options), seed=seed)
    for _, key in keys:
        f.add(key)
    return f


def hex_dump(f):
    """Lines of 16 bytes, as FORMAT.md shows filters."""
    data = f.to_bytes()
    return [f"{at:04x}  {data[at:at + 16].hex(' ')}" for at in range(0, len(data), 16)]


def significant(x):
    return float(f"{x:.12g}") if math.isfinite(x) else str(x)


def canonical_bytes(key):
    """In hexadecimal; a list, with each seed, when the key consists of other keys."""
    if any(isinstance(piece, bloomx.Key) for piece in key.pieces):
        return [key.canonical(seed).hex() for seed in SEEDS]
    return key.canonical().hex()


def make_golden():
    key_rows = [
        {"type": key.type_name(), "sql": sql, "canonical": canonical_bytes(key), "hash": [hex64(key.hash(seed)) for seed in SEEDS]}
        for sql, key in golden_keys()
    ]
    filter_rows = []
    for name, layout, bits, k, seed, keys in golden_filters():
        f = make_filter(layout, bits, k, seed, keys)
        filter_rows.append({
            "name": name, "layout": f.layout, **({"values": map_values(layout, keys)} if map_values(layout, keys) else {"options": split_layout(layout)[1]} if ":" in layout else {}), "bits": bits, "k": k, "seed": hex64(seed),
            "geometry": {field: list(value) if field == "parameters" else value for field, value in f.geometry._asdict().items()
                         if value != () and (value != 0 or field not in ("hashing", "fraction"))},
            "key_type": f.key_type(),
            "keys": [{"sql": sql, "canonical": key.canonical(seed).hex()} for sql, key in keys],
            "bits_set": f.bits_set(), "fpr": significant(f.fpr()), "cardinality": significant(f.cardinality()),
            "text": f.to_text(),
        })
    return {
        "format": "bloomx interchange format, version 1: golden vectors; see docs/internals/FORMAT.md",
        "seeds": [hex64(seed) for seed in SEEDS],
        "xxh3": [{"length": n, "hash": [hex64(bloomx.xxh3_64(pattern(n), seed)) for seed in SEEDS]} for n in XXH3_LENGTHS],
        "keys": key_rows,
        "filters": filter_rows,
    }


def to_json(golden):
    """One key per line, so that differences are easy to read; filters as blocks."""
    def rows(items):
        return "[\n" + ",\n".join("    " + json.dumps(item) for item in items) + "\n  ]"
    parts = [f'  "{name}": ' + (rows(value) if name in ("xxh3", "keys", "filters") else json.dumps(value))
             for name, value in golden.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


# --------------------------------------------------------------------------
# The check
# --------------------------------------------------------------------------

class Tap:
    """Prints and counts ok and not ok lines."""

    def __init__(self):
        self.passed = self.failed = 0

    def ok(self, true, what, *details):
        self.passed += bool(true)
        self.failed += not true
        print(f"{'ok' if true else 'not ok'} - {what}")
        if not true:
            for detail in details:
                print(f"# {detail}")

    def done(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def close(a, b):
    return math.isclose(float(a), float(b), rel_tol=1e-11)


def check_vectors(tap, golden):
    fresh = make_golden()
    for section, label in (("xxh3", "length"), ("keys", "sql"), ("filters", "name")):
        want, got = golden[section], fresh[section]
        tap.ok(len(want) == len(got), f"{section}: as many as in golden.json", f"{len(want)} there, {len(got)} made")
        for w, g in zip(want, got):
            same = all(close(w[field], g[field]) if field in ("fpr", "cardinality") else w[field] == g[field] for field in w)
            tap.ok(same and w.keys() == g.keys(), f"{section}: {w[label]}", f"golden {w}", f"made   {g}")


def check_filters(tap, golden):
    """Reads the filters of golden.json: their bytes survive, all keys are found, and some absent ones are not."""
    for row, (name, *_, keys) in zip(golden["filters"], golden_filters()):
        f = bloomx.BloomFilter.from_text(row["text"])
        tap.ok(f.to_text() == row["text"], f"reading and writing keeps: {name}")
        if f.layout == "age_partitioned":
            keys = keys[-f.window:]
        tap.ok(all(f.contains(key) for _, key in keys), f"every key found: {name}")
        hits = sum(f.contains_hash(bloomx.xxh3_64(pattern(9), seed)) for seed in range(1000))
        spread = 5 * math.sqrt(1000 * f.fpr() * (1 - f.fpr())) + 1
        tap.ok(abs(hits - 1000 * f.fpr()) <= spread, f"false positives as fpr() says: {name}", f"{hits} of 1000, fpr {f.fpr()}")


def check_union(tap):
    for layout in bloomx.LAYOUTS.values():
        if layout in bloomx.SEALED:         # see check_sealed
            continue
        layout, g = bloomx.geometry_for_bits(layout, 4096, 8)
        a, b, both = (bloomx.BloomFilter.empty(layout, g) for _ in range(3))
        for i in range(60):
            (a if i % 2 else b).add(bloomx.integer(i))
            both.add(bloomx.integer(i))
        if layout == "age_partitioned":
            refuses(tap, "the union of windows", lambda: a.union(b), "cannot be merged")
        elif layout in ("dynamic_blocked", "scalable"):
            union = a.union(b)
            tap.ok(all(union.contains(bloomx.integer(i)) for i in range(60)), f"the union has the keys of both: {layout}")
        else:
            union = a.union(b)
            tap.ok(union == both and union != a, f"the union is the filter of both: {layout}")
        tap.ok(abs(both.cardinality() - 60) < 6, f"cardinality is about 60: {layout}", both.cardinality())
        if layout != "age_partitioned":
            refuses(tap, f"another seed: {layout}", lambda: a.union(bloomx.BloomFilter.empty(layout, g, seed=1)), "seed")
        refuses(tap, f"another key type: {layout}", lambda: a.contains(bloomx.text("1")), "keys of type integer, not text")


def check_sealed(tap):
    """Sealed filters of any order of keys are equal, and so are prefixes and what would have been built; maps have their values."""
    for n in (0, 1, 2, 14, 300):
        keys = [bloomx.integer(i) for i in range(n)]
        f = bloomx.SealedFilter.build(keys, 12)
        tap.ok(f == bloomx.SealedFilter.build(keys[::-1] + keys, 12) and f.to_bytes() == bloomx.BloomFilter.from_bytes(f.to_bytes()).to_bytes(), f"sealed: {n} keys in any order")
        tap.ok(f.prefix(5).to_bytes() == bloomx.SealedFilter.build(keys, 5).to_bytes(), f"sealed: a prefix of {n} keys")
        mapped = bloomx.SealedFilter.build(keys, 4, [i % 7 for i in range(n)])
        tap.ok(all(mapped.get(key) == i % 7 for i, key in enumerate(keys)), f"a map of {n} keys")
    refuses(tap, "two values of one key", lambda: bloomx.SealedFilter.build([bloomx.integer(1)] * 2, 4, [3, 7]), "two values, 3 and 7")
    refuses(tap, "a key more", lambda: f.add(bloomx.integer(1)), "no more keys")
    refuses(tap, "the union of sealed filters", lambda: f.union(f), "cannot be united")


def check_counting(tap):
    """Adds and removes keys, and compares with a plain filter of the remaining keys."""
    layout, g = bloomx.geometry_for_bits("counting", 4096, 11)
    f = bloomx.BloomFilter.empty(layout, g, capacity=60)
    left = bloomx.BloomFilter.empty("partitioned_blocked", g, capacity=60)
    for i in range(60):
        f.add(bloomx.integer(i))
        f.add(bloomx.integer(i % 20))
    tap.ok(all(f.remove(bloomx.integer(i)) for i in range(40)), "every key that is there is removed")
    for i in [*range(20), *range(40, 60)]:
        left.add(bloomx.integer(i))
    tap.ok(f.to_bits() == left and f.to_bits().to_bytes() == left.to_bytes(), "without counters: the plain filter of the keys left")
    before = bloomx.BloomFilter.from_bytes(f.to_bytes())
    tap.ok(not f.remove(bloomx.integer(1000)) and f == before and f.refused_removals == 1, "a key that is not there is refused, and that is counted")
    for _ in range(20):
        f.add(bloomx.integer(-1))
    tap.ok(all(f.remove(bloomx.integer(-1)) for _ in range(30)) and f.contains(bloomx.integer(-1)), "a saturated counter stays")
    refuses(tap, "removal without counters", lambda: left.remove(bloomx.integer(1)), "cannot be removed")


def refuses(tap, what, action, message):
    """Checks that the action raises a ValueError that contains the text."""
    try:
        action()
        said = "nothing: accepted"
    except ValueError as error:
        said = str(error)
    tap.ok(message in said, f"refused: {what}", f"said {said!r}, expected {message!r}")


# Every check that FORMAT.md requires of a reader: (golden filter, offset, new value there, message of bloomx.py).
EIGHT, NAMED, THREE = "eight blocks, seven parts", "a named key type", "dynamic_blocked, three stages"
FOUR = "scalable, four stages"
FUSE, MAP = "binary_fuse, 100 keys", "binary_fuse, a map"
TURNED = "age_partitioned, turned, spare bits"
BROKEN = [
    (EIGHT, 0, 0, "does not begin with"),
    (EIGHT, 1, 0, "does not begin with"),
    (EIGHT, 2, 0, "does not begin with"),
    (EIGHT, 3, 2, "format version 2"),
    (EIGHT, 4, 0, "open state"),
    (EIGHT, 4, 99, "layout code 99"),
    (EIGHT, 4, 1, "impossible geometry"),
    (EIGHT, 5, 21, "key type code 21"),
    (EIGHT, 5, 255, "name of 0 bytes"),
    (EIGHT, 6, 1, "name of 1 bytes"),
    (NAMED, 5, 1, "name of 9 bytes"),
    (NAMED, 6, 64, "name of 64 bytes"),
    (EIGHT, 7, 1, "hashing"),
    ("hybrid, double hashing", 7, 4, "hashing"),
    ("hybrid, double hashing", 42, 1, "doubled 1 times"),
    ("hybrid, double hashing", 8, 2, "blocks must be 1"),
    ("rational, spare bits", 7, 1, "hashing"),
    ("rational, spare bits", 8, 0, "no field may be 0"),
    ("rational, spare bits", 38, 64, "at most 64"),
    ("rational, spare bits", 36, 2, "must be 1"),
    ("rational, spare bits", 44 + 125, 1, "beyond the end of a part"),
    ("variable_blocked, eight blocks", 38, 64, "at most 64"),
    ("variable_blocked, eight blocks", 38, 0, "no field may be 0"),
    ("variable_blocked, eight blocks", 42, 1, "doubled 1 times"),
    (EIGHT, 8, 0, "no field may be 0"),
    (EIGHT, 8, 7, "power of two"),
    (EIGHT, 8, 16, "header announces"),
    ("blocked, one block", 11, 128, "smaller than 1 GB"),
    (EIGHT, 28, 63, "part bits must be 64"),
    ("blocked, 100 bits", 44 + 15, 128, "beyond the end of a part"),
    ("blocked, one block", 29, 4, "header announces"),
    ("blocked, one block", 33, 1, "at most 2^32"),
    ("partitioned, spare bits", 35, 255, "smaller than 1 GB"),
    (EIGHT, 36, 0, "no field may be 0"),
    (EIGHT, 36, 8, "header announces"),
    (EIGHT, 36, 65, "at most 64"),
    (EIGHT, 38, 2, "probes 1"),
    (EIGHT, 40, 1, "fraction"),
    (EIGHT, 41, 1, "fraction"),
    (EIGHT, 42, 4, "doubled 4 times"),
    (EIGHT, 42, 255, "doubled 255 times"),
    ("standard, spare bits", 42, 4, "doubled 4 times"),
    ("blocked, three blocks, a second hash", 42, 1, "doubled 1 times"),
    (EIGHT, 43, 2, "pending is not 0"),
    (EIGHT, 4, 11, "header announces"),
    ("counting, eleven parts", 4, 4, "header announces"),
    ("counting, eleven parts", 8, 3, "power of two"),
    ("counting, eleven parts", 38, 2, "probes 1"),
    ("counting, eleven parts", 42, 3, "doubled 3 times"),
    (TURNED, 44, 0, "a key sets bits in fewer slices"),
    (TURNED, 44, 9, "a key sets bits in fewer slices"),
    (TURNED, 44, 65, "a key sets at most 64 bits"),
    (TURNED, 52, 0, "generations must be"),
    (TURNED, 58, 1, "generations must be"),
    (TURNED, 44 + 24, 16, "more keys than it takes"),
    (TURNED, 44 + 32, 9, "the youngest"),
    (TURNED, 36, 8, "announces"),
    (TURNED, 42, 1, "doubled 1 times"),
    (TURNED, 44 + 40 + 15, 1, "beyond the end of a part"),
    (THREE, 44, 9, "growth must be 1 to 8"),
    (THREE, 44 + 24, 200, "does not match"),
    (THREE, 44 + 44, 1, "does not count"),
    (THREE, 44 + 41, 9, "does not count"),
    (THREE, 44 + 45, 255, "no block"),
    (FOUR, 44, 3, "growth must be"),
    (FOUR, 44 + 9, 0, "tightening must be"),
    (FOUR, 44 + 16, 0, "number of stages"),
    (FOUR, 44 + 16, 201, "number of stages"),
    (FOUR, 44 + 16, 3, "does not count"),
    (FOUR, 44 + 24, 1, "does not count"),
    (FOUR, 44 + 30, 28, "impossible stage"),
    (FOUR, 44 + 30, 0, "does not count"),
    (FOUR, 44 + 31, 65, "impossible stage"),
    (FOUR, 44 + 31, 1, "does not count"),
    (FOUR, 42, 1, "doubled 1 times"),
    (FUSE, 38, 3, "4 slots"),
    (FUSE, 36, 33, "32 of fingerprint"),
    (MAP, 36, 5, "32 of fingerprint"),
    (MAP, 45, 25, "24 bits of value"),
    (FUSE, 44, 19, "whole segments"),
    (FUSE, 46, 1, "bits of value"),
    (FUSE, 28, 8, "whole segments"),
    (FUSE, 29, 1, "header announces"),
    (FUSE, 10, 17, "2^20 blocks"),
    (FUSE, 52, 255, "more keys than slots"),
    (FUSE, 60, 2, "odd"),
    (FUSE, 42, 1, "doubled 1 times"),
    (FUSE, 5, 0, "has a key type"),
    ("binary_fuse, three keys", 79, 128, "beyond the last slot"),
    ("binary_fuse, three keys", 84, 1, "last word"),
    (NAMED, 44, 0, "zero byte"),
    (NAMED, 59, 1, "padding"),
    ("standard, spare bits", 44 + 125, 1, "beyond the end of a part"),
    ("partitioned, spare bits", 44 + 15, 128, "beyond the end of a part"),
]


def broken_filters(golden):
    """(description, bytes that are not a filter, message of bloomx.py)."""
    whole = {row["name"]: bloomx.BloomFilter.from_text(row["text"]).to_bytes() for row in golden["filters"]}
    for name, at, value, message in BROKEN:
        data = bytearray(whole[name])
        assert data[at] != value
        data[at] = value
        yield f"byte {at} = {value} in {name!r}", bytes(data), message
    for length in (0, 1, 43, 44, len(whole[EIGHT]) - 1):
        yield f"only {length} bytes", whole[EIGHT][:length], "bytes"
    yield "one byte more", whole[EIGHT] + b"\0", "header announces"


def check_refusals(tap, golden):
    for what, data, message in broken_filters(golden):
        refuses(tap, what, lambda: bloomx.BloomFilter.from_bytes(data), message)
    good = next(row["text"] for row in golden["filters"] if row["name"] == EIGHT)
    unpadded = next(row["text"] for row in golden["filters"] if not row["text"].endswith("="))
    for text in ("", "QkxY", good + "\n", good[:-1], good[:40] + "!" + good[41:], unpadded + "===="):
        refuses(tap, f"text of {len(text)} characters", lambda: bloomx.BloomFilter.from_text(text), "filter")


def check_document(tap, golden):
    """Checks that the examples and vectors in FORMAT.md are those of golden.json."""
    document = FORMAT.read_text()
    joined = "".join(document.split())
    for row in golden["filters"]:
        if row["name"].startswith("worked example"):
            shown = all(line in document for line in hex_dump(bloomx.BloomFilter.from_text(row["text"])))
            tap.ok(shown and row["text"] in joined, f"FORMAT.md shows it: {row['name']}")
    known = {f"| {row['length']} | `{row['hash'][0]}` | `{row['hash'][1]}` |" for row in golden["xxh3"]}
    known |= {f"| {row['type']} | `{row['sql']}` | `{row['canonical'] if isinstance(row['canonical'], str) else row['canonical'][0]}` | `{row['hash'][0]}` |"
              for row in golden["keys"]}
    rows = [line for line in document.split("## Golden vectors")[-1].splitlines() if "0x" in line and "seed" not in line]
    for row in rows:
        tap.ok(row in known, f"FORMAT.md has it right: {row}")
    tap.ok(len(rows) >= 40, "FORMAT.md has all its vectors", f"only {len(rows)}")


def check_xxhash(tap):
    """Compares our XXH3 with the xxhash package, if it is installed, for every length up to 1100."""
    try:
        import xxhash
    except ImportError:
        print("# no xxhash package: XXH3 is checked by golden.json alone")
        return
    data = pattern(5000)
    for seed in SEEDS + (1, 2**64 - 1):
        differ = [n for n in (*range(1101), 2047, 2048, 2049, 4096, 5000)
                  if bloomx.xxh3_64(data[:n], seed) != xxhash.xxh3_64_intdigest(data[:n], seed)]
        tap.ok(not differ, f"xxh3 equals the xxhash package, seed {hex64(seed)}", f"lengths {differ[:10]}")


def main():
    parser = argparse.ArgumentParser(description="Make or check golden.json.")
    parser.add_argument("--check", action="store_true", help="change nothing, say whether bloomx.py agrees with golden.json")
    if not parser.parse_args().check:
        GOLDEN.write_text(to_json(make_golden()))
        return 0
    golden = json.loads(GOLDEN.read_text())
    tap = Tap()
    check_vectors(tap, golden)
    check_filters(tap, golden)
    check_union(tap)
    check_sealed(tap)
    check_counting(tap)
    check_refusals(tap, golden)
    check_document(tap, golden)
    check_xxhash(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
