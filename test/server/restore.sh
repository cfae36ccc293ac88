#!/bin/sh
# Dumps, COPY and rewrites of tables preserve every byte of the filters in them.
#
#     scripts/throwaway test/server/restore.sh
#
# Needs a server with bloomx in the PG* environment and its psql and pg_dump first in PATH.  Creates
# and drops two databases.  Prints "N passed, N failed"; the exit status is 0 if no check failed.
set -u

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/../tally.sh"

from=bloomx_restore_from
to=bloomx_restore_to
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_restore.XXXXXX") || exit 1
export PGOPTIONS='-c client_min_messages=warning'

cleanup() {
	for db in $from $to; do
		psql -XqAt -d postgres -c "DROP DATABASE IF EXISTS $db" >/dev/null 2>&1
	done
	rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sql() { # database, SQL
	psql -XqAt -v ON_ERROR_STOP=1 -d "$1" -c "$2"
}

fresh() { # database
	psql -XqAt -v ON_ERROR_STOP=1 -d postgres -c "DROP DATABASE IF EXISTS $1" -c "CREATE DATABASE $1 TEMPLATE template0"
}

# The filters of a table: their number and bytes, their text, their order and their hashes.
bytes="SELECT count(*) || ' ' || sum(length(f::bytea)) || ' ' || md5(string_agg(id || ':' || md5(f::bytea) || ':' || (f @> 1), ',' ORDER BY id)) FROM filters"
text="SELECT md5(string_agg(id || f::text, ',' ORDER BY id)) FROM filters"
order="SELECT md5(string_agg(id::text, ',' ORDER BY f, id)) || ' ' || sum(bloomfilter_hash_extended(f, 1)::numeric) FROM filters WHERE layout <> 'hashes'"

unchanged() { # name, database
	same "$1: bytes" "$wanted_bytes" "$(sql "$2" "$bytes")"
	same "$1: text" "$wanted_text" "$(sql "$2" "$text")"
	same "$1: order and hash" "$wanted_order" "$(sql "$2" "$order")"
	same "$1: membership through the indexes" "$wanted_found" "$(found "$2")"
}

# Looks up every filter by the hash index, by the btree index and by the index on an expression.
found() { # database
	for index in filters_hash filters_btree; do
		sql "$1" "SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN;
			DROP INDEX $([ $index = filters_hash ] && echo filters_btree || echo filters_hash);
			SELECT count(*) FROM small s WHERE (SELECT count(*) FROM small t WHERE t.f = s.f) >= 1; ROLLBACK"
	done
	sql "$1" "SET enable_seqscan = off; SELECT count(*) FROM filters WHERE (f @> 1) = true; SELECT count(*) FROM filters WHERE f @> 1;
		SELECT count(*) FROM filters WHERE md5(f::bytea) = md5((SELECT f::bytea FROM filters WHERE id = 5))"
}

fresh $from
sql $from "
	CREATE EXTENSION bloomx;
	CREATE EXTENSION bloomx_citext CASCADE;
	CREATE EXTENSION bloomx_hstore CASCADE;
	CREATE TYPE pair AS (a int, b text);
	CREATE TABLE indexed AS SELECT v AS id, hstore('k', v::text) AS h, ('word ' || v)::citext AS c, ROW(v, 'b')::pair AS p FROM generate_series(1, 50) v;
	CREATE INDEX indexed_key ON indexed USING bloomx (h, c, c citext_ngram_ops, p);
	CREATE TABLE filters (id serial PRIMARY KEY, layout text, n int, f bloomfilter NOT NULL, CHECK (bloom_cardinality(f) >= 0));
	-- layouts, from a few bytes to several TOAST chunks; keys of several types; unplanned, with a seed, empty, expanded
	INSERT INTO filters (layout, n, f)
	SELECT l, n, (SELECT bloom_agg(v, bloom_empty(n, 0.001, l, seed => s)) FROM generate_series(1, n) v)
	FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, unnest(ARRAY[1, 10, 100, 1000, 5000]) n,
	     unnest(ARRAY[0, -7]) s;
	INSERT INTO filters (layout, n, f)
	SELECT 'auto', n, (SELECT bloom_agg(v::bigint) FROM generate_series(1, n) v) FROM unnest(ARRAY[0, 1, 10, 1000, 20000]) n;
	INSERT INTO filters (layout, n, f)
	SELECT 'expanded', 0, bloom_add(bloom_empty(100), 1) | bloom_add(bloom_empty(5000, 0.1), 2)
	UNION ALL SELECT 'intersection', 0, bloom_add(bloom_empty(100), 1) & bloom_add(bloom_empty(5000, 0.1), 1)
	UNION ALL SELECT 'full', 0, bloom_agg(v, bloom_empty_bits(64, 1)) FROM generate_series(1, 5000) v
	UNION ALL SELECT 'no key type', 0, bloom_empty(10);
	-- the open state of an aggregate is a value like any other
	CREATE AGGREGATE partial(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
	INSERT INTO filters (layout, n, f) SELECT 'hashes', 500, partial(v) FROM generate_series(1, 500) v;
	CREATE TABLE small AS SELECT id, f FROM filters WHERE n BETWEEN 1 AND 100 AND layout <> 'hashes';
	CREATE INDEX filters_hash ON small USING hash (f);
	CREATE INDEX filters_btree ON small (f);
	CREATE INDEX filters_has_one ON filters ((f @> 1));
	CREATE INDEX filters_md5 ON filters (md5(f::bytea));
	CREATE TABLE named AS SELECT 'array' AS what, bloom_agg(ARRAY[v, v + 1]) AS f FROM generate_series(1, 50) v
	UNION ALL SELECT 'text', bloom_agg(v::text) FROM generate_series(1, 50) v
	UNION ALL SELECT 'hash', bloom_add_hash(bloom_empty(9), 1);
	CREATE TABLE typed (n int, f bloomfilter(1000, 0.01), g bloomfilter(5e4, 0.0005, blocked), fs bloomfilter(1000)[]);
	INSERT INTO typed SELECT n, bloom_agg(v, 1000), bloom_agg(v, bloom_empty(50000, 0.0005, 'blocked')), ARRAY[bloom_agg(v, 1000), NULL]
	FROM unnest(ARRAY[0, 1, 900]) n LEFT JOIN generate_series(1, 900) v ON v <= n GROUP BY n;
	CREATE VIEW v AS SELECT id FROM filters WHERE 1 <@ f AND layout <> 'hashes' AND NOT f !&& f;
	CREATE TABLE defaults (id int, f bloomfilter DEFAULT bloom_empty(100), has boolean GENERATED ALWAYS AS (f @> 1) STORED);
	INSERT INTO defaults (id) VALUES (1);
	INSERT INTO defaults VALUES (2, bloom_add(bloom_empty(100), 1));
	ANALYZE" || { echo "the tables cannot be created"; exit 1; }

wanted_bytes=$(sql $from "$bytes")
wanted_text=$(sql $from "$text")
wanted_order=$(sql $from "$order")
wanted_found=$(found $from)
small="SELECT count(*) || ' ' || md5(string_agg(md5(f::bytea), ',' ORDER BY id)) FROM small"
others="SELECT md5(string_agg(what || f::text, ',' ORDER BY what)) FROM named; SELECT count(*) FROM v; SELECT * FROM defaults ORDER BY id;
	SET enable_seqscan = off; SELECT id FROM indexed WHERE h @> 'k=>7' AND c = 'WORD 7' AND c LIKE '%ORD 7' AND p = ROW(7, 'b')::pair;
	SELECT bloomx_check_index('indexed_key');
	SELECT string_agg(format_type(atttypid, atttypmod), ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 0;
	SELECT md5(string_agg(md5(f::bytea) || md5(g::bytea) || fs::text, ',' ORDER BY n)) FROM typed"
wanted_small=$(sql $from "$small")
wanted_others=$(sql $from "$others")

same "there are toasted filters" t "$(sql $from "SELECT count(*) >= 10 FROM filters WHERE pg_column_size(f) > 2100")"
same "and all layouts" "blocked hashes partitioned partitioned_blocked standard" \
	"$(sql $from "SELECT string_agg(DISTINCT (bloom_info(f)).layout, ' ') FROM filters")"
same "the indexes find every filter" "$(sql $from "SELECT count(*) FROM small")" "$(found $from | head -n 1)"

# 1. pg_dump as SQL, as SQL with INSERTs, and as a custom archive through a pipe
for form in plain inserts custom; do
	fresh $to
	case $form in
	plain) pg_dump -d $from >"$work/dump" && psql -Xq -v ON_ERROR_STOP=1 -d $to -f "$work/dump" >/dev/null ;;
	inserts) pg_dump --inserts -d $from >"$work/dump" && psql -Xq -v ON_ERROR_STOP=1 -d $to -f "$work/dump" >/dev/null ;;
	custom) pg_dump -Fc -d $from | pg_restore --exit-on-error -d $to ;;
	esac
	ok "pg_dump $form: restored" $?
	unchanged "pg_dump $form" $to
	same "pg_dump $form: small filters" "$wanted_small" "$(sql $to "$small")"
	same "pg_dump $form: named key types, view, default, generated column, type modifiers" "$wanted_others" "$(sql $to "$others")"
done

# 2. A dump of the restored database is the same dump, because the text is canonical.  (PostgreSQL 18 adds a random
# \restrict key to each dump.)
pg_dump -d $from | grep -v '^\\\(un\)\{0,1\}restrict ' >"$work/one"
pg_dump -d $to | grep -v '^\\\(un\)\{0,1\}restrict ' >"$work/two"
[ -s "$work/one" ] && cmp -s "$work/one" "$work/two"
ok "the dump of the copy is the same dump" $?

# 3. COPY through files, in each format
for form in text csv binary; do
	sql $from "COPY (SELECT * FROM filters ORDER BY id) TO STDOUT (FORMAT $form)" >"$work/copy" &&
		sql $to "TRUNCATE filters" &&
		psql -XqAt -v ON_ERROR_STOP=1 -d $to -c "COPY filters FROM STDIN (FORMAT $form)" <"$work/copy"
	ok "COPY $form: loaded" $?
	unchanged "COPY $form" $to
done
for form in text csv binary; do
	sql $from "COPY typed TO STDOUT (FORMAT $form)" >"$work/typed" && sql $to "TRUNCATE typed" &&
		psql -XqAt -v ON_ERROR_STOP=1 -d $to -c "COPY typed FROM STDIN (FORMAT $form)" <"$work/typed"
	ok "COPY $form: columns with a type modifier" $?
	same "COPY $form: and their filters" "$wanted_others" "$(sql $to "$others")"
	sql $to "CREATE TABLE IF NOT EXISTS smaller (n int, f bloomfilter(500, 0.01), g bloomfilter, fs bloomfilter[])"
	psql -XqAt -d $to -c "COPY smaller FROM STDIN (FORMAT $form)" <"$work/typed" 2>&1 | grep -q 'does not have the geometry of type bloomfilter(500,0.01)'
	ok "COPY $form: another geometry is refused" $?
done
sql $to "COPY (SELECT * FROM filters ORDER BY id) TO STDOUT (FORMAT binary)" >"$work/copy2"
cmp -s "$work/copy" "$work/copy2"
ok "COPY binary: a second copy is the same file" $?

# A truncated file is refused as a whole and changes nothing.
size=$(wc -c <"$work/copy")
head -c $((size - 3000)) "$work/copy" >"$work/short"
psql -XqAt -d $to -c "COPY filters FROM STDIN (FORMAT binary)" <"$work/short" >/dev/null 2>&1
[ $? -ne 0 ]
ok "COPY binary: a short file is refused" $?
same "COPY binary: and changes nothing" "$wanted_bytes" "$(sql $to "$bytes")"

# 4. Commands that rewrite or read whole tables
for command in "ANALYZE" "VACUUM filters" "VACUUM FULL" "CLUSTER filters USING filters_pkey" "CLUSTER small USING filters_btree" \
	"REINDEX TABLE filters" "REINDEX TABLE small" "ALTER TABLE filters ALTER f SET STORAGE extended, ALTER n TYPE bigint" \
	"UPDATE filters SET n = n" "VACUUM (FREEZE)" \
	"ALTER TABLE filters ALTER f TYPE bytea USING f::bytea" "ALTER TABLE filters ALTER f TYPE bloomfilter USING f::bloomfilter"; do
	case $command in
	*"TYPE bytea"*)
		sql $from "DROP VIEW v; ALTER TABLE filters DROP CONSTRAINT filters_f_check; DROP INDEX filters_has_one, filters_md5; $command"
		ok "$command" $?
		continue
		;;
	*) sql $from "$command" ;;
	esac
	ok "$command" $?
	unchanged "$command" $from
	same "$command: small filters" "$wanted_small" "$(sql $from "$small")"
done

# 5. Keys whose types get other OIDs: enums inside arrays, rows and ranges, rows of types in several schemas, two types of one name
sql $from "
	CREATE SCHEMA s1; CREATE SCHEMA s2;
	CREATE TYPE s1.mood AS ENUM ('sad', 'ok', 'happy');
	CREATE TYPE s1.p AS (a int);
	CREATE TYPE s2.p AS (a int, m s1.mood, b s1.p, moods s1.mood[]);
	CREATE TYPE s1.moods AS RANGE (SUBTYPE = s1.mood, MULTIRANGE_TYPE_NAME = s1.many_moods);
	CREATE TABLE keys (e s1.mood, array_of s1.mood[], row1 s1.p, row2 s2.p, rows2 s2.p[], range_of s1.moods, ranges s1.many_moods, json jsonb, code char(6));
	INSERT INTO keys SELECT m, ARRAY[m, NULL], ROW(i)::s1.p, r, ARRAY[r], s1.moods(m, NULL), s1.many_moods(s1.moods(m, m, '[]')), jsonb_build_object('i', i), i::text
	FROM generate_series(1, 30) i, LATERAL (SELECT (enum_range(NULL::s1.mood))[1 + i % 3] AS m) m,
	     LATERAL (SELECT ROW(i, m, ROW(i), ARRAY[m])::s2.p AS r) r;
	CREATE TABLE kept AS SELECT bloom_agg(e) AS e, bloom_agg(array_of) AS array_of, bloom_agg(row1) AS row1, bloom_agg(row2) AS row2, bloom_agg(rows2) AS rows2,
		bloom_agg(range_of) AS range_of, bloom_agg(ranges) AS ranges, bloom_agg(json) AS json, bloom_agg(code) AS code, bloom_agg(k) AS whole FROM keys k"
ok "tables of keys and filters are created" $?
every_key="SELECT count(*) FROM keys k, kept f WHERE f.e @> k.e AND f.array_of @> k.array_of AND f.row1 @> k.row1 AND f.row2 @> k.row2 AND f.rows2 @> k.rows2
	AND f.range_of @> k.range_of AND f.ranges @> k.ranges AND f.json @> k.json AND f.code @> k.code AND f.whole @> k"
rebuilt="SELECT count(*) FROM kept f, (SELECT bloom_agg(e) AS e, bloom_agg(array_of) AS a, bloom_agg(row2) AS r, bloom_agg(ranges) AS m, bloom_agg(k) AS w FROM keys k) n
	WHERE f.e = n.e AND f.array_of = n.a AND f.row2 = n.r AND f.ranges = n.m AND f.whole = n.w"
oids="SELECT string_agg(oid::text, ' ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = 's1.mood'::regtype"
same "all keys are found" 30 "$(sql $from "$every_key")"
fresh $to
sql $to "CREATE TYPE another AS ENUM ('takes', 'some', 'oids')"
pg_dump -d $from >"$work/dump" && psql -Xq -v ON_ERROR_STOP=1 -d $to -f "$work/dump" >/dev/null
ok "restored" $?
[ -n "$(sql $to "$oids")" ] && [ "$(sql $from "$oids")" != "$(sql $to "$oids")" ]
ok "the enum's values have other OIDs" $?
same "all keys are found after the restore" 30 "$(sql $to "$every_key")"
same "filters built anew are the same" 1 "$(sql $to "$rebuilt")"
sql $to "CREATE SCHEMA s3; ALTER TYPE s1.mood SET SCHEMA s3; ALTER TYPE s1.p SET SCHEMA s3; ALTER TYPE s3.p RENAME TO q; ALTER TYPE s1.moods SET SCHEMA s3;
	ALTER TYPE s2.p RENAME ATTRIBUTE a TO z"
ok "the types are moved to another schema and renamed" $?
same "all keys are found there" 30 "$(sql $to "$every_key")"
same "a type of the same name is not taken for it" "ERROR:  bloom filter key types do not match: record(integer) and record(integer, enum, record(integer), enum[])" \
	"$(sql $to "SELECT f.row1 @> k.row2 FROM keys k, kept f" 2>&1 | head -n 1)"

tally
