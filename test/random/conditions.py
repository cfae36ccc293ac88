#!/usr/bin/env python3
"""Random conditions find the same rows by an index as by a scan, for every operator class of values with many keys.

    scripts/throwaway test/random/conditions.py [--seconds N] [--queries N] [--seed N] [--only REGEX]

Makes tables of random arrays, documents, words and texts, each with an index of every access method that has a
class for them, and asks random conditions: of all operators, with values that are taken from the rows and
changed.  Texts are made of letters that are hard to compare without regard to case (Turkish, Lithuanian, Greek,
German, titlecase, compatibility characters, combining accents), under each of the collations that are likely to
disagree and that the server has, and in databases of other encodings.  Regular expressions are made of all that
the server knows.  In between rows are inserted, changed, deleted and vacuumed away.

A condition for which the index finds other rows than a scan is printed and fails the test.  An index that skips
nothing finds everything, so at the end each must have skipped a part of the pages.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes databases.  The last line
is "N passed, N failed".
"""

import argparse
import os
import random
import re
import sys
import time

import server
from queries import Arrays, Documents, Texts, Words, makes_whole
from values import FAMILIES, literal

BATCH = 200  # conditions per psql

SETUP = r"""
CREATE EXTENSION bloomx;
CREATE EXTENSION bloomx_citext CASCADE;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- NULL if both ways find the same rows; a condition that is an error in a scan may be one, or none, by the index.
-- `whole` is an expression that must be true, or NULL.
CREATE FUNCTION compare(tab regclass, condition text, whole text, OUT problem text, OUT read bigint, OUT pages bigint) LANGUAGE plpgsql AS $$
DECLARE by_index int[]; by_scan int[]; plan json; kind text; is_whole bool;
BEGIN
	pages := pg_relation_size(tab) / 8192;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	BEGIN
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s', tab, condition) INTO by_scan;
	EXCEPTION WHEN OTHERS THEN
		IF SQLSTATE ~ '^(XX|57|53)' THEN problem := 'scan: ' || SQLERRM; END IF;
		RETURN;
	END;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	BEGIN
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s', tab, condition) INTO by_index;
		EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) SELECT id FROM %s WHERE %s', tab, condition) INTO plan;
	EXCEPTION WHEN OTHERS THEN
		problem := SQLERRM;
		RETURN;
	END;
	EXECUTE 'SELECT ' || whole INTO is_whole;
	IF NOT is_whole THEN
		problem := 'parts are not the whole';
	END IF;
	IF by_index IS DISTINCT FROM by_scan THEN
		problem := format('index %s, scan %s', left(by_index::text, 200), left(by_scan::text, 200));
	END IF;
	plan := plan -> 0 -> 'Plan';
	IF plan ->> 'Node Type' = 'Bitmap Heap Scan' THEN
		read := (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int;
	END IF;
END $$;
"""

passed = failed = 0


def psql(database, sql):
    """Rows of fields."""
    done = server.psql("\\pset fieldsep '\t'\n" + sql, database, "-c client_min_messages=error -c bloomx.overfill=off", stop=True)
    return [line.split("\t") for line in done.stdout.split("\n")[:-1]]


COLLATIONS = ["C", "ucs_basic", "und-x-icu", "en-x-icu", "de-x-icu", "tr-x-icu", "az-x-icu", "lt-x-icu", "el-x-icu", "nl-x-icu", "C.utf8", "en_US.utf8", "tr_TR.utf8", "pg_c_utf8", "pg_unicode_fast"]


# Texts of other types, whose classes of n-grams only the access method bloomx has.
OTHER_TEXTS = {"char(250)": "bpchar_ngram_ops", "name": "name_ngram_ops", "citext": "citext_ngram_ops"}


def access_methods(database, name, columns):
    """Those with a class for the type."""
    if name in OTHER_TEXTS:
        return {"bloomx": f"USING bloomx ({', '.join(f'{c} {OTHER_TEXTS[t.split()[0]]}' for c, t in columns.items())})"}
    classes = {"brin": {"text": "text_ngram_bloomx_ops (fpr = 0.05)", "jsonb": "jsonb_bloomx_ops", "tsvector": "tsvector_bloomx_ops"}, "bloomx": {"text": "text_ngram_ops"}}
    methods = {}
    for method, of_type in classes.items():
        opclass = of_type.get(name, "array_bloomx_ops" if method == "brin" else "") if not name.endswith("[]") else ("array_bloomx_ops" if method == "brin" else "")
        options = "WITH (pages_per_range = 1)" if method == "brin" else ""
        index = f"USING {method} ({', '.join(f'{c} {opclass}' for c in columns)}) {options}"
        # an access method that has no class for the type yet says so
        if psql(database, f"""DO $$ BEGIN CREATE TEMP TABLE t AS SELECT * FROM template_of_rows; CREATE INDEX ON t {index}; DROP TABLE t;
                              EXCEPTION WHEN OTHERS THEN IF SQLERRM !~ 'access method "?bloomx' THEN RAISE; END IF; CREATE TABLE refused_{method} (); END $$; SELECT to_regclass('refused_{method}') IS NULL; DROP TABLE IF EXISTS refused_{method}""")[0][0] == "t":
            methods[method] = index
        else:
            print(f"# {method} refuses {name}")
    return methods


def run(database, what, kind, columns, type_name, rng, deadline, queries):
    global passed, failed
    psql(database, "DROP TABLE IF EXISTS template_of_rows; CREATE TABLE template_of_rows (id int, " + ", ".join(f"{c} {t}" for c, t in columns.items()) + ", room text)")
    methods = access_methods(database, type_name, columns)
    # few rows per page, so that a page without a row that should be found is seldom read for another one's sake
    filler = "repeat('-', 1500)"
    for method, index in methods.items():
        psql(database, f"DROP TABLE IF EXISTS t_{method}; CREATE TABLE t_{method} (LIKE template_of_rows); ALTER TABLE t_{method} ALTER room SET STORAGE PLAIN; INSERT INTO t_{method} VALUES " +
             ", ".join(f"({i}, {kind.literal(v)}, {filler})" for i, v in enumerate(kind.rows)) + f"; INSERT INTO t_{method} (id) VALUES (-1); CREATE INDEX ON t_{method} {index}; ANALYZE t_{method}")
    asked = 0
    read = {m: [0, 0] for m in methods}
    wrong = 0
    while asked < queries and time.monotonic() < deadline:
        conditions = []
        for _ in range(BATCH):
            condition = kind.condition()
            if rng.random() < 0.1:
                condition = f"({condition}) {rng.choice(['AND', 'OR'])} ({kind.condition()})"
            conditions.append(condition)
        for method in methods:
            sql = "SET statement_timeout = '600s';\n" + "\n".join(f"SELECT {n}, * FROM compare('t_{method}', {literal(c)}, {literal(makes_whole(f't_{method}', c)) if n % 20 == 0 else literal('true')});" for n, c in enumerate(conditions))
            for n, problem, pages_read, pages in psql(database, sql.replace("\0", "")):
                if pages_read:
                    read[method][0] += int(pages_read)
                    read[method][1] += int(pages)
                if problem:
                    wrong += 1
                    if wrong <= 10:
                        print(f"WRONG {what}, {method}: {conditions[int(n)]!r}\n    {problem}", flush=True)
        asked += len(conditions)
        # other rows: into summarised ranges, changed, deleted; sometimes vacuumed
        changes = ""
        for _ in range(rng.randrange(30)):
            i = rng.randrange(2 * len(kind.rows))
            value = kind.value()
            roll = rng.random()
            if roll < 0.5:
                kind.rows.append(value)
                changes += f"INSERT INTO @t VALUES ({len(kind.rows)}, {kind.literal(value)}, {filler});\n"
            elif roll < 0.8:
                changes += f"DELETE FROM @t WHERE id = {i}; INSERT INTO @t VALUES ({i}, {kind.literal(value)}, {filler});\n"
            else:
                changes += f"DELETE FROM @t WHERE id = {i};\n"
        for method in methods:
            psql(database, changes.replace("@t", f"t_{method}") + (f"VACUUM t_{method};" if rng.random() < 0.5 else ""))
    for method, (pages_read, pages) in read.items():
        idle = pages_read >= 0.9 * pages
        bad = wrong > 0 or idle
        passed += not bad
        failed += bad
        print(f"{'FAILED' if bad else 'ok'} - {what}, {method}: {asked} conditions, {100 * pages_read // max(pages, 1)} % of the pages read{', which skips nothing' if idle else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--queries", type=int, default=1000000, help="conditions per kind of value")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression for the kinds of values")
    options = parser.parse_args()
    print(f"# seed {options.seed}")
    start = time.monotonic()

    tasks = [("arrays", "UTF8", lambda rng: Arrays(rng), None), ("documents", "UTF8", lambda rng: Documents(rng), None), ("words", "UTF8", lambda rng: Words(rng), None),
             ("texts", "UTF8", lambda rng: Texts(rng, FAMILIES), None), ("texts of other types", "UTF8", lambda rng: Texts(rng, FAMILIES), None)]
    for encoding, letters in [("LATIN1", ["àÀ", "éÉ", "ßsS", "ÿiI"]), ("SQL_ASCII", ["àÀ", "iI"]), ("EUC_JP", ["日本語", "テア"]), ("LATIN5", ["ıİiI", "ğĞ", "şŞsS"])]:
        tasks.append((f"texts in {encoding}", encoding, lambda rng, letters=letters: Texts(rng, letters), None))
    tasks = [t for t in tasks if re.search(options.only, t[0])]
    for encoding in sorted({t[1] for t in tasks}):
        server.make(f"bloomx_conditions_{encoding.lower()}", SETUP, options=f"ENCODING '{encoding}' LOCALE 'C'")
    for n, (what, encoding, make, _) in enumerate(tasks):
        rng = random.Random(f"{options.seed} {what}")
        kind = make(rng)
        database = f"bloomx_conditions_{encoding.lower()}"
        type_name = "text"
        if isinstance(kind, Texts):
            there = [row[0] for row in psql(database, "SELECT collname FROM pg_collation WHERE collisdeterministic AND collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database())) "
                                            "AND (collprovider <> 'i' OR getdatabaseencoding() <> 'SQL_ASCII') "
                                            f"AND collname IN ({', '.join(map(literal, COLLATIONS))}) ORDER BY 1")]
            columns = {f"c{i}": f'text COLLATE "{name}"' for i, name in enumerate(there)}
            print(f"# {what}: collations {', '.join(there)}")
            if what == "texts of other types":
                columns = {f"{t[0]}{i}": f'{t} COLLATE "{name}"' for i, name in enumerate(there) for t in OTHER_TEXTS if t != "name"} | {"name": "name"}
                type_name = "name"
        else:
            columns = kind.columns
            type_name = list(columns.values())[0]
        kind.columns = columns if not isinstance(kind, Texts) else list(columns)
        # texts have many collations: as much time as all others together
        share = (options.seconds - (time.monotonic() - start)) / (len(tasks) - n + (2 if what == "texts" else 0)) * (3 if what == "texts" else 1)
        run(database, what, kind, columns, type_name, rng, time.monotonic() + max(share, 3), options.queries)
    for encoding in sorted({t[1] for t in tasks}):
        server.drop(f"bloomx_conditions_{encoding.lower()}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
