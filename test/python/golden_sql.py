#!/usr/bin/env python3
"""Print sql/golden.sql, the regression test that compares the server with golden.json.

    test/python/golden_sql.py > sql/golden.sql
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
import golden as golden_rules  # noqa: E402

GOLDEN = pathlib.Path(__file__).with_name("golden.json")


def signed(hex_number):
    """An unsigned 64-bit number as SQL's bigint shows it."""
    n = int(hex_number, 16)
    return n - 2**64 if n >= 2**63 else n


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def values(rows):
    return ",\n".join("        (" + ", ".join(row) + ")" for row in rows)


def key_query(golden, number):
    """Every key with one seed: the results of bloom_hash that differ from golden.json."""
    seed = signed(golden["seeds"][number])
    seed_argument = f", {seed}" if seed else ""
    rows = [(quote(key["type"]), f"$${key['sql']}$$", f"bloom_hash({key['sql']}{seed_argument})", str(signed(key["hash"][number])))
            for key in golden["keys"]]
    return f"""\
SELECT type, value, hash, expected, hash = expected AS ok
    FROM (VALUES
{values(rows)}
    ) AS golden(type, value, hash, expected);
"""


def built(row):
    """The SQL expression that builds a golden filter from its keys."""
    empty = golden_rules.empty_call(row["layout"], row.get("options", ""), row["bits"], row["k"], signed(row["seed"]))
    keys = [key["sql"] for key in row["keys"]]
    if "values" in row:
        return f"(SELECT bloom_map_agg(k, v, {empty}) FROM unnest(ARRAY[{', '.join(keys)}], ARRAY{row['values']}) AS entry(k, v))"
    if row["layout"] in golden_rules.bloomx.SEALED and keys:
        return f"(SELECT bloom_agg(k, {empty}) FROM unnest(ARRAY[{', '.join(keys)}]) AS k)"
    if not keys:
        return empty
    if row["key_type"] == "hash" or row["key_type"].endswith("[]"):
        for key in keys:
            empty = f"{'bloom_add_hash' if row['key_type'] == 'hash' else 'bloom_add'}({empty}, {key})"
        return empty
    return f"bloom_add_all({empty}, ARRAY[{', '.join(keys)}])"


def main():
    golden = json.loads(GOLDEN.read_text())
    filters = golden["filters"]
    named = next(row for row in golden["filters"] if row["key_type"] == "integer[]")
    loaded = [(quote(row["name"]), f"'{row['text']}'::bloomfilter",
               quote(str(row["fpr"])), quote(str(row["cardinality"]))) for row in golden["filters"]]

    print(f"""\
--
-- Golden vectors: the hashing contract and the interchange format, which never change.
--
-- Made by test/python/golden_sql.py from test/python/golden.json: do not edit.
-- A difference here means that filters which people have stored, or which
-- programs in other languages build, no longer agree with this server.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET lc_monetary = 'C';
SET datestyle = 'ISO, YMD';
CREATE TYPE golden_mood AS ENUM ('very sad', 'happy');
CREATE TYPE golden_row AS (number int4, code char(6), mood golden_mood);
CREATE TYPE golden_span AS RANGE (SUBTYPE = float8, MULTIRANGE_TYPE_NAME = golden_spans);

-- Every key type: the hash of its canonical bytes
{key_query(golden, 0)}
-- The same keys with another seed
{key_query(golden, 1)}
-- A domain hashes as its base type
CREATE DOMAIN golden_domain AS int4 CHECK (VALUE > 0);
SELECT bloom_hash(5::golden_domain) = bloom_hash(5) AS ok;
DROP DOMAIN golden_domain;

-- Every layout: the exact bytes of a filter built from its keys
SELECT name, filter::text = golden AS same_text, filter = golden::bloomfilter AS equal,
       golden::bloomfilter::text = golden AS same_when_read
    FROM (VALUES
{values((quote(row["name"]), built(row), quote(row["text"])) for row in filters)}
    ) AS golden(name, filter, golden);

-- What the server computes from these filters
SELECT name, bytes, blocks, parts, part_bits, hash_functions, bits_set,
       abs(bloom_fpr(filter) - golden.fpr::float8) <= 1e-9 * golden.fpr::float8 AS fpr_ok,
       bloom_cardinality(filter) = golden.cardinality::float8
           OR abs(bloom_cardinality(filter) - golden.cardinality::float8) <= 1e-9 * golden.cardinality::float8 AS cardinality_ok
    FROM (VALUES
{values(loaded)}
    ) AS golden(name, filter, fpr, cardinality), bloom_info(filter) AS info;

-- A filter of a named key type: the name is part of the value
SELECT layout, key_type, bits_set FROM bloom_info('{named["text"]}');

DROP TYPE golden_row, golden_span, golden_mood;""")


if __name__ == "__main__":
    sys.exit(main())
