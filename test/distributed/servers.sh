#!/bin/sh
# Filters between servers: streaming and logical replication of filter columns and of every index on them, and foreign
# tables in both directions.  The servers may be of two versions.
#
#     scripts/throwaway test/distributed/servers.sh                  two servers of the version at hand
#     test/distributed/servers.sh OLD_BINDIR NEW_BINDIR              bloomx is installed for both
#
# Makes its own clusters in a temporary directory.  Ends with "N passed, N failed".
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=test/tally.sh
. "$here/../tally.sh"
# shellcheck source=test/distributed/clusters.sh
. "$here/clusters.sh"
export PGHOST="$work" PGUSER=postgres PGDATABASE=postgres PGOPTIONS='-c client_min_messages=warning'
unset PGPORT
on_old() { "$old/psql" -p 5401 -XqAt -v ON_ERROR_STOP=1 -c "$1"; }
on_new() { "$new/psql" -p 5402 -XqAt -v ON_ERROR_STOP=1 -c "$1"; }
on_replica() { "$old/psql" -p 5403 -XqAt -v ON_ERROR_STOP=1 -c "$1"; }

make_server old "$old" 5401
make_server new "$new" 5402

# ---- one table of filters, with every kind of index ----

schema='CREATE EXTENSION bloomx;
	CREATE TABLE filters (id int PRIMARY KEY, f bloomfilter, g bloomfilter(500, 0.01), layout text);
	CREATE TABLE numbers (id int PRIMARY KEY, k int, note text);
	CREATE TABLE times AS SELECT bloom_add(bloom_empty(10), timestamptz $$2026-01-01 06:00 Asia/Tokyo$$) AS f, $$2026-01-01 06:00$$ AS at;
	CREATE TABLE words AS SELECT bloom_add(bloom_empty(10), $$ant$$) AS f;'
indexes='CREATE INDEX by_bits ON filters USING bloomx (f) WITH (signature_bits = 1024);
	CREATE INDEX by_type ON filters USING bloomx (g);
	CREATE INDEX by_hash ON filters USING hash (g);
	CREATE INDEX by_order ON filters (g);
	CREATE INDEX by_range ON numbers USING brin (k int4_bloomx_ops) WITH (pages_per_range = 2);'
on_old "$schema $indexes" || exit 1
on_new "$schema $indexes" || exit 1
on_old "
	INSERT INTO filters SELECT n, bloom_agg(n * 100 + k), bloom_add(bloom_empty(500), n), 'partitioned_blocked' FROM generate_series(1, 2000) n, generate_series(1, 20) k GROUP BY n;
	INSERT INTO filters SELECT 3000 + i, bloom_add_all(bloom_empty(200, 0.001, layout), ARRAY(SELECT generate_series(1, 200))), NULL, layout
	FROM unnest('{standard,partitioned,blocked,hybrid,rational,variable_blocked,counting,scalable,dynamic_blocked,age_partitioned}'::text[]) WITH ORDINALITY u(layout, i);
	INSERT INTO filters VALUES (4000, bloomx_probe_all(ARRAY[1, 2, 3]), NULL, 'open set'), (4001, NULL, NULL, NULL), (4002, bloom_empty(10), bloom_empty(500), 'empty');
	INSERT INTO numbers SELECT n, n / 50, repeat('x', 100) FROM generate_series(1, 20000) n" || exit 1

contents="SELECT md5(string_agg(id || coalesce(f::bytea::text, '-') || coalesce(g::bytea::text, '-'), ',' ORDER BY id)) FROM filters"
answers="SELECT count(*), sum(id) FROM filters WHERE f @> 150007; SELECT count(*) FROM filters WHERE g @> 77; SELECT count(*) FROM filters WHERE g = bloom_add(bloom_empty(500), 77); SELECT count(*) FROM numbers WHERE k = 333"

# The same answers from each index as from the tables, and plans that use them.
indexes_work() { # name, command
	scan=$($2 "SET enable_indexscan = off; SET enable_bitmapscan = off; $answers")
	same "$1: the answers of the tables" "$wanted" "$scan"
	same "$1: the answers of the indexes" "$wanted" "$($2 "SET enable_seqscan = off; $answers")"
	for index in "by_bits f @> 150007" "by_type g @> 77" "by_(hash|order) g = bloom_add(bloom_empty(500), 77)"; do
		$2 "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT FROM filters WHERE ${index#* }" | grep -qE "${index%% *}"
		ok "$1: a plan uses ${index%% *}" $?
	done
	$2 "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT FROM numbers WHERE k = 333" | grep -q by_range
	ok "$1: a plan uses by_range" $?
}

# Waits until a query gives true, five minutes at most.
await() { # command, SQL
	for _ in $(seq 3000); do
		[ "$($1 "$2" 2>/dev/null)" = t ] && return
		sleep 0.1
	done
	echo "waited in vain for: $2"
	return 1
}

changes="UPDATE filters SET f = bloom_add(f, 150007) WHERE id % 100 = 7 AND id <= 2000; DELETE FROM filters WHERE id % 50 = 3;
	INSERT INTO filters SELECT id + 10000, f, g, layout FROM filters WHERE id <= 500; UPDATE numbers SET k = k + 1 WHERE id % 1000 = 0"

# ---- streaming ----

(cd / && as_server "$old/pg_basebackup" -p 5401 -D "$work/replica" -R -c fast -X stream) || exit 1
as_server sh -c 'echo "port = 5403" >>"$1"' sh "$work/replica/postgresql.conf"
control replica -l "$work/replica.log" start || exit 1
on_old "$changes" || exit 1
caught_up() { await on_replica "SELECT pg_last_wal_replay_lsn() >= '$(on_old "SELECT pg_current_wal_lsn()")'"; }
caught_up
ok "streaming: the standby follows" $?
wanted=$(on_old "SET enable_indexscan = off; SET enable_bitmapscan = off; $answers")
same "streaming: every byte" "$(on_old "$contents")" "$(on_replica "$contents")"
indexes_work "standby" on_replica

# ---- logical, as text and in binary ----

on_old "CREATE PUBLICATION filters FOR TABLE filters, numbers" || exit 1
for binary in false true; do
	on_new "TRUNCATE filters, numbers"
	on_new "CREATE SUBSCRIPTION filters CONNECTION 'host=$work port=5401 user=postgres dbname=postgres' PUBLICATION filters WITH (binary = $binary)" || exit 1
	await on_new "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"
	ok "logical (binary = $binary): the tables are copied" $?
	on_old "UPDATE filters SET f = bloom_add(f, 150007) WHERE id % 100 = 8 AND id <= 2000; DELETE FROM filters WHERE id BETWEEN 1000 AND 1010; INSERT INTO filters SELECT max(id) + 1, bloom_agg(id), NULL, NULL FROM filters"
	await on_new "SELECT max(id) = $(on_old "SELECT max(id) FROM filters") FROM filters"
	ok "logical (binary = $binary): the subscriber follows" $?
	wanted=$(on_old "SET enable_indexscan = off; SET enable_bitmapscan = off; $answers")
	same "logical (binary = $binary): every byte" "$(on_old "$contents")" "$(on_new "$contents")"
	indexes_work "subscriber (binary = $binary)" on_new
	on_new "DROP SUBSCRIPTION filters"
done

# ---- foreign tables, in both directions ----

foreign_tables() { # name, local command, remote port
	$2 "CREATE EXTENSION IF NOT EXISTS postgres_fdw;
		CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$3', dbname 'postgres', extensions 'bloomx');
		CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user 'postgres');
		CREATE FOREIGN TABLE far_numbers (id int, k int, note text) SERVER other OPTIONS (table_name 'numbers');
		CREATE FOREIGN TABLE far_filters (id int, f bloomfilter, g bloomfilter, layout text) SERVER other OPTIONS (table_name 'filters');
		CREATE FOREIGN TABLE far_times (f bloomfilter, at text) SERVER other OPTIONS (table_name 'times');
		CREATE FOREIGN TABLE far_words (f bloomfilter) SERVER other OPTIONS (table_name 'words')" || exit 1
	condition="k <@ (SELECT bloom_agg(n, 100, 0.0001) FROM generate_series(1, 399, 4) n)"
	$2 "EXPLAIN (VERBOSE) SELECT count(*) FROM far_numbers WHERE $condition" | grep -q 'Remote SQL: SELECT count.*<@'
	ok "$1: the condition is sent" $?
	same "$1: a filter from here, rows from there" "$($2 "SELECT count(*), sum(id) FROM numbers WHERE $condition")" "$($2 "SELECT count(*), sum(id) FROM far_numbers WHERE $condition")"
	same "$1: a filter built there" "$($2 "SELECT bloom_agg(k, 400)::bytea FROM numbers")" "$($2 "SELECT bloom_agg(k, 400)::bytea FROM far_numbers")"
	same "$1: a filter of unknown size built there" "$($2 "SELECT bloom_agg(k)::bytea FROM numbers")" "$($2 "SELECT bloom_agg(k)::bytea FROM far_numbers")"
	same "$1: filters stored there, asked from here" "$($2 "SELECT string_agg(id::text, ',' ORDER BY id) FROM filters WHERE f @> 150007")" "$($2 "SELECT string_agg(id::text, ',' ORDER BY id) FROM far_filters WHERE f @> 150007")"
	# postgres_fdw asks the other server in the time zone GMT
	same "$1: texts are read in the time zone of this session" 1 "$($2 "SET TimeZone = 'Asia/Tokyo'; SELECT count(*) FROM far_times WHERE f ?& at")"
	condition='f ?& (SELECT bloomx_probe($1))'
	$2 "SET plan_cache_mode = force_generic_plan; PREPARE ask AS SELECT FROM far_words WHERE $condition; EXPLAIN (VERBOSE) EXECUTE ask('ant')" | grep -q 'Remote SQL: SELECT.*?&'
	ok "$1: a text is sent as a probe" $?
	same "$1: a text, asked there" "1 0" "$($2 "PREPARE ask AS SELECT count(*) FROM far_words WHERE $condition; EXECUTE ask('ant'); EXECUTE ask('bee')" | xargs)"
	same "$1: every byte of the filters there" "$($2 "$contents")" "$($2 "$(echo "$contents" | sed 's/FROM filters/FROM far_filters/')")"
}
foreign_tables "old asks new" on_old 5402
foreign_tables "new asks old" on_new 5401

for log in "$work"/*.log; do
	! grep -E 'TRAP|was terminated by signal' "$log" || ok "no crash in $log" 1
done
tally
