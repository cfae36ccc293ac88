#!/bin/sh
# pg_upgrade keeps filters to the bit, and they find their keys.
#
#     test/distributed/upgrade.sh OLD_BINDIR NEW_BINDIR              bloomx is installed for both
#
# Exits with 0 if all is well.
set -eu

old=$1
new=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_upgrade.XXXXXX")
cleanup() {
	[ ! -f "$work/old/postmaster.pid" ] || "$old/pg_ctl" -D "$work/old" -s -m immediate stop
	[ ! -f "$work/new/postmaster.pid" ] || "$new/pg_ctl" -D "$work/new" -s -m immediate stop
	rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 130' HUP INT TERM
cd "$work"
export PGHOST="$PWD" PGPORT=5433 PGUSER=postgres PGDATABASE=postgres
options="-c fsync=off -c listen_addresses= -c unix_socket_directories=$PWD -c port=$PGPORT"
# Every layout and an open state of the aggregate; int8, text and numeric keys.
cat >make.sql <<'SQL'
CREATE EXTENSION bloomx;
CREATE TABLE filters (name text PRIMARY KEY, f bloomfilter NOT NULL);
INSERT INTO filters SELECT l || ' integer', bloom_add_all(bloom_empty(5000, 0.001, l), ARRAY(SELECT g::int8 FROM generate_series(1, 5000) g))
  FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l;
INSERT INTO filters SELECT l || ' text', bloom_add_all(bloom_empty(5000, 0.001, l), ARRAY(SELECT 'k' || g FROM generate_series(1, 5000) g))
  FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l;
INSERT INTO filters SELECT 'agg integer', bloom_agg(g::int8) FROM generate_series(1, 5000) g;
INSERT INTO filters SELECT 'agg text', bloom_agg('k' || g) FROM generate_series(1, 5000) g;
INSERT INTO filters SELECT 'agg numeric', bloom_agg(g::numeric) FROM generate_series(1, 5000) g;
CREATE TABLE typed (f bloomfilter(5000, 0.001), g bloomfilter(2e4, 0.01, blocked));
INSERT INTO typed SELECT bloom_agg(g, 5000, 0.001), bloom_agg(g, bloom_empty(20000, 0.01, 'blocked')) FROM generate_series(1, 5000) g;
INSERT INTO filters SELECT 'large integer', bloom_agg(g::int8, 1000000, 0.001) FROM generate_series(1, 5000) g;
CREATE TABLE keys AS SELECT 'k' || g AS k FROM generate_series(1, 5000) g;
CREATE INDEX keys_set ON keys USING bloomset (k) WITH (fpr = 0.0001);
INSERT INTO keys SELECT 'k' || g FROM generate_series(5001, 6000) g;
CREATE TABLE stream (filter bloomset_stage(5000, 0.0001)) USING bloomset_table;
SELECT count(*) AS added FROM generate_series(1, 20000) g WHERE bloomset_add('stream', g);
SELECT bloomset_claim('stream', 20001);
CREATE UNLOGGED TABLE pairs AS SELECT g AS a, 'b' || g AS b FROM generate_series(1, 3000) g;
CREATE INDEX pairs_one ON pairs USING bloomset (a, b) WITH (capacity = 5000);
CREATE INDEX pairs_grown ON pairs USING bloomset (b) WITH (stage_size = 64, fpr = 0.0001);
INSERT INTO pairs SELECT g, 'b' || g FROM generate_series(3001, 60000) g;
CREATE TABLE log (id int, part int) PARTITION BY HASH (part);
CREATE TABLE log_0 PARTITION OF log FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE log_1 PARTITION OF log FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO log SELECT g, g FROM generate_series(1, 1000) g;
CREATE INDEX log_id ON log USING bloomx (id) WITH (partition_lookup = on);
SELECT bloomx_seal('log_id') AS sealed;
INSERT INTO log SELECT g, g FROM generate_series(1001, 2000) g;
CREATE INDEX ON log (id);
SELECT bloomx_unique('log', 'id');
SQL
cat >show.sql <<'SQL'
\pset format unaligned
SELECT name, encode(f::bytea, 'hex') FROM filters ORDER BY name;
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 0 ORDER BY attnum;
SELECT encode(f::bytea, 'hex'), encode(g::bytea, 'hex') FROM typed;
SELECT encode(bloomset_value(s::regclass)::bytea, 'hex') FROM unnest(ARRAY['keys_set', 'pairs_one', 'pairs_grown']) s;
SELECT s, stages, capacity FROM unnest(ARRAY['keys_set', 'pairs_one', 'pairs_grown', 'stream']) s, bloomset_info(s::regclass);
SELECT encode(filter::bloomfilter::bytea, 'hex') FROM stream;
-- the keys of partitions, and which partitions each may be in
SELECT * FROM bloomx_partitions('log_id') ORDER BY 1;
SELECT g, bloomx_possible_partitions('log_id', g) FROM generate_series(1, 2500) g ORDER BY 1, 2;
-- a constraint that is a trigger
SELECT tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'log_id_key' ORDER BY 2;
-- what was stored is still what the type takes
SELECT (f::text::bloomfilter(5000, 0.001)) = f AS f, (g::text::bloomfilter(20000, 0.01, blocked)) = g AS g FROM typed;
SQL
cat >probe.sql <<'SQL'
\pset format unaligned
\pset tuples_only on
SELECT count(*) + bloomset_check('keys_set') - 6000 - (SELECT count(*) FROM keys WHERE NOT bloomset_contains('keys_set', k))
  - (SELECT count(*) FROM generate_series(1, 20001) g WHERE NOT bloomset_contains('stream', g))
  + bloomset_check('pairs_one') + bloomset_check('pairs_grown') - 120000
  FROM filters, generate_series(1, 5000) g
 WHERE CASE WHEN name LIKE '% integer' THEN f @> g::int8 WHEN name LIKE '% text' THEN f @> ('k' || g) ELSE f @> g::numeric END;
SQL

"$old/initdb" -D old -U postgres -A trust -E UTF8 --no-locale --no-sync >log 2>&1
"$old/pg_ctl" -D old -l old.log -o "$options" -s -w start
"$old/psql" -Xqv ON_ERROR_STOP=1 -f make.sql >made
"$old/psql" -Xqv ON_ERROR_STOP=1 -f show.sql >before
[ "$("$old/psql" -Xqv ON_ERROR_STOP=1 -f probe.sql)" = 60000 ]
"$old/pg_ctl" -D old -s -w stop

# Clusters have checksums by default since 18, and not before.
# shellcheck disable=SC2046 # no word, or one
"$new/initdb" -D new -U postgres -A trust -E UTF8 --no-locale --no-sync \
	$("$new/initdb" --help | grep -o -m 1 -e --no-data-checksums) >>log 2>&1
"$new/pg_upgrade" -b "$old" -B "$new" -d old -D new -U postgres -s "$PWD" >log 2>&1 || {
	cat log
	find new/pg_upgrade_output.d -name '*.log' -exec grep -h -B 2 -A 5 -E 'ERROR|FATAL|error:' {} + || :
	exit 1
}
"$new/pg_ctl" -D new -l new.log -o "$options" -s -w start
"$new/psql" -Xqv ON_ERROR_STOP=1 -f show.sql >after
found=$("$new/psql" -Xqv ON_ERROR_STOP=1 -f probe.sql)
"$new/pg_ctl" -D new -s -w stop
cmp before after
[ "$found" = 60000 ] || {
	echo "the filters find $found of 60000 keys"
	exit 1
}
