#!/bin/sh
# An index of access method bloomx loses no row: under concurrent inserts, updates, deletes, VACUUM and
# merges, when the server dies in the middle of them, and on a streaming replica. What recovery and the replica
# make of each WAL record is compared with the page that the record was written for, byte by byte.  Inserts do not wait for VACUUM
# or a check, cancelled merges leave no pages behind, and a damaged file gives an error instead of a wrong answer.
#
#     scripts/throwaway test/server/index.sh [seconds [seed]]
#
# Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
# provides.  Kills that server and restarts it; makes a replica and a database.  `seconds` (default 2) is the
# duration of each load, `seed` (default 1) decides what pgbench chooses in it.  Prints "N passed, N failed"; the exit status
# is 0 if no check failed.
set -u

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/../tally.sh"

seconds=${1:-2}
seed=${2:-1}
echo "seed $seed"
db=bloomx_index
replica=$(dirname -- "$PGDATA")/replica
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_index.XXXXXX") || exit 1

# A server refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
	as_server() { setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@"; }
else
	as_server() { "$@"; }
fi

control() { # data directory, pg_ctl arguments
	data=$1
	shift
	(cd / && as_server pg_ctl -D "$data" -s -w -t 600 "$@") >"$work/control.log" 2>&1 || {
		cat "$work/control.log"
		return 1
	}
}

cleanup() {
	[ ! -f "$replica/postmaster.pid" ] || control "$replica" -m immediate stop
	rm -rf -- "$work" "$replica"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sql() { # SQL; more psql arguments may come first
	psql -XqAt -v ON_ERROR_STOP=1 -d $db "$@"
}

# Waits until a query gives true, five minutes at most.
await() { # SQL
	tries=0
	until [ "$(sql -c "$1")" = t ]; do
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || { echo "waited in vain for: $1" && return 1; }
		sleep 0.1
	done
}

# The gate is an advisory lock: while it is closed, a session that calls pg_advisory_lock_shared(1) waits.  So the test decides
# in which order things happen, and not the speed of the machine.
close_gate() {
	PGAPPNAME=gate sql -c "SELECT pg_advisory_lock(1)" -c "SELECT pg_sleep(3600)" >/dev/null 2>&1 &
	gate=$!
	await "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted"
}

waits_at_gate() {
	await "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND NOT granted"
}

open_gate() {
	sql -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gate'" >/dev/null
	wait $gate
}

# Autovacuum would be one more session with a snapshot: what is dead for all others could outlive a VACUUM of the test.
psql -Xq -d postgres -c "DROP DATABASE IF EXISTS $db" -c "CREATE DATABASE $db" -c "ALTER SYSTEM SET autovacuum = off" -c "SELECT pg_reload_conf()" -o /dev/null || exit 1
sql -c "
	CREATE EXTENSION bloomx;
	CREATE TABLE docs (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX docs_f ON docs USING bloomx (f) WITH (bits = 2048, probes = 8, pending_limit = 16);
	-- signatures of several pages, merged often
	CREATE TABLE large (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX large_f ON large USING bloomx (f) WITH (bits = 131072, probes = 8, pending_limit = 16);
	-- filters of all sizes, and often emptied: the geometry is provisional again and again
	CREATE TABLE growing (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX growing_f ON growing USING bloomx (f) WITH (pending_limit = 16);
	-- values: rows of few and of many keys, most of them soon gone
	CREATE TABLE events (id serial, who int, note text, tags int[]);
	CREATE INDEX events_key ON events USING bloomx (who, note, tags) WITH (pending_limit = 16);
	-- many rows by one statement: sessions that meet on a page of pending rows part, and use several lists
	CREATE TABLE many (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX many_f ON many USING bloomx (f) WITH (bits = 512, probes = 8, pending_limit = 16);
	-- filters and values in one index, which has a store of each: VACUUM gives pages of one to the other
	CREATE TABLE mixed (id serial PRIMARY KEY, f bloomfilter, tags int[]);
	CREATE INDEX mixed_key ON mixed USING bloomx (tags) WITH (probes = 8, pending_limit = 16);
	CREATE INDEX mixed_f ON mixed USING bloomx (f) WITH (bits = 512, probes = 8, pending_limit = 16);
	CREATE FUNCTION some_filter() RETURNS bloomfilter LANGUAGE sql VOLATILE AS
		'SELECT bloom_agg((random() * 1000)::int) FROM generate_series(1, 20)';
	-- Index and sequential scan in one statement, so with one snapshot; no index can serve the second condition.
	CREATE FUNCTION compare(k int) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS \$\$
	DECLARE by_index bigint; by_scan bigint;
	BEGIN
		SELECT (SELECT sum(id) FROM docs WHERE f @> k), (SELECT sum(id) FROM docs WHERE (f @> k) IS TRUE) INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'docs, key %: index % scan %', k, by_index, by_scan;
		END IF;
		SELECT (SELECT sum(id) FROM large WHERE f @> k), (SELECT sum(id) FROM large WHERE (f @> k) IS TRUE) INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'large, key %: index % scan %', k, by_index, by_scan;
		END IF;
		SELECT (SELECT sum(id) FROM many WHERE f @> k), (SELECT sum(id) FROM many WHERE (f @> k) IS TRUE) INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'many, key %: index % scan %', k, by_index, by_scan;
		END IF;
		SELECT (SELECT sum(id) FROM growing WHERE f @> k), (SELECT sum(id) FROM growing WHERE (f @> k) IS TRUE) INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'growing, key %: index % scan %', k, by_index, by_scan;
		END IF;
		SELECT (SELECT sum(id) FROM events WHERE who = k OR note = 'note ' || k AND tags && ARRAY[k]),
			(SELECT sum(id) FROM events WHERE (who = k) IS TRUE OR (note = 'note ' || k AND tags && ARRAY[k]) IS TRUE) INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'events, key %: index % scan %', k, by_index, by_scan;
		END IF;
		SELECT (SELECT sum(id) FROM mixed WHERE f @> k OR tags && ARRAY[k] OR (f @> (k + 1) AND tags && ARRAY[k % 10])),
			(SELECT sum(id) FROM mixed WHERE (f @> k) IS TRUE OR (tags && ARRAY[k]) IS TRUE OR (f @> (k + 1) AND tags && ARRAY[k % 10]) IS TRUE)
			INTO by_index, by_scan;
		IF by_index IS DISTINCT FROM by_scan THEN
			RAISE 'mixed, key %: index % scan %', k, by_index, by_scan;
		END IF;
	END \$\$" || exit 1

sql -c "CREATE TABLE made AS SELECT bloom_agg((i * 7919 + j * 31) % 1000) AS f FROM generate_series(1, 400) i, generate_series(1, 10) j GROUP BY i" || exit 1
sql -c "INSERT INTO docs (f) SELECT some_filter() FROM generate_series(1, 300)" -c "INSERT INTO large (f) SELECT some_filter() FROM generate_series(1, 60)" || exit 1

cat >"$work/write.sql" <<-'SQL'
	\set key random(1, 1000)
	\set id random(1, 20000)
	INSERT INTO docs (f) SELECT some_filter() FROM generate_series(1, 5);
	DELETE FROM docs WHERE id BETWEEN :id AND :id + 100;
	UPDATE docs SET f = bloom_add(f, :key) WHERE id IN (SELECT id FROM docs ORDER BY id DESC LIMIT 3);
SQL
cat >"$work/large.sql" <<-'SQL'
	INSERT INTO large (f) SELECT some_filter();
	DELETE FROM large WHERE id < (SELECT max(id) - 200 FROM large);
SQL
cat >"$work/growing.sql" <<-'SQL'
	\set again random(1, 25)
	\if :again = 1
	TRUNCATE growing;
	\endif
	INSERT INTO growing (f) SELECT (SELECT bloom_agg((random() * 1000)::int) FROM generate_series(1, (i + 500 * random() ^ 8)::int)) FROM generate_series(1, 4) i;
	DELETE FROM growing WHERE id % 7 = :again % 7;
SQL
cat >"$work/events.sql" <<-'SQL'
	\set key random(1, 1000)
	INSERT INTO events (who, note, tags) SELECT nullif(:key + i, 500), 'note ' || :key, ARRAY(SELECT (random() * 1000)::int FROM generate_series(1, (2 + 300 * random() ^ 8)::int)) || :key
	FROM generate_series(1, 20) i;
	UPDATE events SET note = 'note ' || who WHERE id > (SELECT max(id) - 30 FROM events) AND who % 3 = 1;
	DELETE FROM events WHERE id < (SELECT max(id) - 5000 FROM events) OR who = :key;
SQL
cat >"$work/many.sql" <<-'SQL'
	INSERT INTO many (f) SELECT f FROM made;
	DELETE FROM many WHERE id < (SELECT max(id) - 2000 FROM many);
SQL
cat >"$work/mixed.sql" <<-'SQL'
	\set key random(1, 1000)
	INSERT INTO mixed (f, tags) SELECT f, ARRAY[:key, :key % 10, (random() * 1000)::int] FROM made LIMIT 100;
	UPDATE mixed SET f = bloom_add(f, :key), tags = NULL WHERE id IN (SELECT id FROM mixed ORDER BY id DESC LIMIT 3);
	DELETE FROM mixed WHERE id < (SELECT max(id) - 1000 FROM mixed);
SQL
cat >"$work/rollback.sql" <<-'SQL'
	BEGIN;
	INSERT INTO docs (f) SELECT some_filter() FROM generate_series(1, 20);
	ROLLBACK;
SQL
cat >"$work/compare.sql" <<-'SQL'
	\set key random(1, 1000)
	SELECT compare(:key);
SQL

# Writers and readers together; $1 is pgbench's -T.  A transaction after a deadlock of two writers is repeated.
load() {
	pgbench -n -c 5 -j 2 -T "$1" --random-seed="$seed" --max-tries=100 -f "$work/write.sql@4" -f "$work/large.sql@2" -f "$work/growing.sql@3" -f "$work/events.sql@3" -f "$work/many.sql@3" -f "$work/mixed.sql@3" -f "$work/rollback.sql@1" -f "$work/compare.sql@3" $db >"$work/load.log" 2>&1
}

vacuum_until() { # a file
	while [ ! -e "$1" ]; do
		sql -c "VACUUM docs" -c "VACUUM large" -c "VACUUM growing" -c "VACUUM events" -c "VACUUM many" -c "VACUUM mixed" >/dev/null 2>&1 || sleep 0.1
	done
}

loaded() { # name, exit status of load
	status=$2
	! grep -E 'index .* scan|damaged|row \(' "$work/load.log" || status=1
	[ "$status" -eq 0 ] || tail -n 5 "$work/load.log"
	ok "$1" "$status"
}

checked() { # name
	sql -c "SELECT count(bloomx_check_index(i)) = 7 FROM unnest(ARRAY['docs_f', 'large_f', 'growing_f', 'events_key', 'many_f', 'mixed_key', 'mixed_f']::regclass[]) i" -c "SELECT count(compare(k)) FROM generate_series(1, 1000, 25) k" \
		-o "$work/answer"
	ok "$1" $?
}

# ---- cancelled merges ----

# Rows of 8 kB in the index, merges of megabytes. If a step of a merge is cancelled, the next one reuses its pages, so
# the file has no page without an owner and is no larger than the rows and one merge need.
sql -c "
	CREATE TABLE wide (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX wide_f ON wide USING bloomx (f) WITH (bits = 65536, probes = 8, pending_limit = 800);
	INSERT INTO wide (f) SELECT some_filter() FROM generate_series(1, 900)" || exit 1
# Where statements are so fast that few are cancelled, they insert more rows.
cancelled=0
rows=300
while [ "$cancelled" -le 10 ] && [ "$rows" -le 20000 ]; do
	for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		sql -c "SET statement_timeout = $((round * 2))" -c "INSERT INTO wide (f) SELECT some_filter() FROM generate_series(1, $rows)" 2>>"$work/cancelled.log" || cancelled=$((cancelled + 1))
		sql -c "SET statement_timeout = $round" -c "VACUUM wide" 2>>"$work/cancelled.log" || cancelled=$((cancelled + 1))
	done
	rows=$((rows * 2))
done
# (A timeout that comes at the very end of a statement is reported as a request of the user.)
! grep -vE 'canceling statement due to (statement timeout|user request)|^CONTEXT:  ' "$work/cancelled.log" && { [ "$cancelled" -gt 10 ] || { echo "only $cancelled were cancelled" && false; }; }
ok "statements were cancelled in the middle, and none failed otherwise" $?
same "cancelled merges leave no page without an owner" 0 "$(sql -c "SELECT lost FROM bloomx_index_info('wide_f')")"
sql -c "SET statement_timeout = '60s'" -c "INSERT INTO wide (f) SELECT some_filter() FROM generate_series(1, 100)"
ok "inserts work after them" $?
sql -c "VACUUM wide" || exit 1
used=$(sql -c "SELECT pages - free FROM bloomx_index_info('wide_f')")
sql -c "REINDEX INDEX wide_f"
needed=$(sql -c "SELECT pages FROM bloomx_index_info('wide_f')")
[ "$used" -le $((needed * 3)) ] # dead rows, up to half of a segment; pending rows; half-filled slices
ok "the index uses no more than the rows need ($used pages, $needed after REINDEX)" $?
[ "$(sql -c "SELECT bloomx_check_index('wide_f') = count(f) FROM wide")" = t ]
ok "the index is whole after them" $?

# ---- inserts beside VACUUM and a check ----

# Small segments, and VACUUM sleeps after each of them, so its pass takes many seconds. The rows that are inserted
# meanwhile are far more than the list of pending rows should hold, so merges go on as well.
sql -c "
	SET maintenance_work_mem = '1MB';
	CREATE TABLE slow (id serial PRIMARY KEY, f bloomfilter) WITH (autovacuum_enabled = off);
	INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 6000);
	CREATE INDEX slow_f ON slow USING bloomx (f) WITH (bits = 65536, probes = 8, pending_limit = 800);
	DELETE FROM slow WHERE id % 10 = 0" || exit 1
# What a statement may take that waits for nobody: three seconds, and more on a slow machine.
patience=$(sql -c '\timing on' -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" |
	awk '/^Time: / { ms += $2 } END { print int(3000 + 10 * ms) }')
sql -c "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1; SET application_name = 'slow vacuum'" -c "VACUUM slow" 2>/dev/null &
vacuum=$!
phase="SELECT phase FROM pg_stat_progress_vacuum WHERE relid = 'slow'::regclass"
until [ "$(sql -c "$phase")" = "vacuuming indexes" ]; do
	kill -0 $vacuum 2>/dev/null || break
	sleep 0.1
done
before=$(sql -c "SELECT segments FROM bloomx_index_info('slow_f')")
status=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	sql -c "SET statement_timeout = $patience" -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || status=1
done
ok "no insert waits for VACUUM" "$status"
same "VACUUM was still running" "vacuuming indexes" "$(sql -c "$phase")"
[ "$(sql -c "SELECT segments > $before FROM bloomx_index_info('slow_f')")" = t ]
ok "pending rows became segments meanwhile" $?
sql -c "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'slow vacuum'" >/dev/null
wait $vacuum
sql -c "SET vacuum_cost_delay = 0" -c "VACUUM slow" || exit 1
same "the next VACUUM removes every dead row, wherever it was moved" t \
	"$(sql -c "SELECT bloomx_check_index('slow_f') = rows + pending AND rows + pending = count FROM bloomx_index_info('slow_f'), (SELECT count(f) FROM slow) c")"

# A check whose table scan stops at the gate, because the index's expression does so where test.gate is set: at the row of that
# number. Inserts, merges and VACUUM go on, and some more while the scan goes on.
sql -c "
	CREATE FUNCTION gated(id int, f bloomfilter) RETURNS bloomfilter LANGUAGE plpgsql IMMUTABLE AS \$\$
	BEGIN
		IF id >= nullif(current_setting('test.gate', true), '')::int THEN
			PERFORM pg_advisory_lock_shared(1);
			PERFORM pg_advisory_unlock_shared(1);
			PERFORM pg_sleep(0.002);
		END IF;
		RETURN f;
	END \$\$;
	DELETE FROM slow WHERE id > 2000;
	DROP INDEX slow_f;
	CREATE INDEX slow_f ON slow USING bloomx (gated(id, f)) WITH (bits = 65536, probes = 8, pending_limit = 800)" || exit 1
close_gate
sql -c "SET test.gate = 1000; SET maintenance_work_mem = '1MB'" -c "SELECT bloomx_check_index('slow_f') > 0" -o "$work/checked" &
check=$!
waits_at_gate
status=0
for round in 1 2 3 4 5 6; do
	sql -c "SET statement_timeout = $patience" -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || status=1
done
ok "no insert waits for a check" "$status"
sql -c "SET statement_timeout = $patience" -c "VACUUM slow"
ok "VACUUM does not wait for it either" $?
kill -0 $check
ok "the check was still running" $?
open_gate
for round in 1 2 3; do
	sql -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || exit 1
done
wait $check && [ "$(cat "$work/checked")" = t ]
ok "the check finds every row, though merges have moved them" $?

# A transaction older than the index sees row versions that the index never had. This must not mislead the check.
sql -c "CREATE TABLE old (f bloomfilter) WITH (fillfactor = 30); INSERT INTO old SELECT some_filter() FROM generate_series(1, 50)"
close_gate
sql -c "BEGIN ISOLATION LEVEL REPEATABLE READ" -c "SELECT count(*) FROM old" -c "SELECT pg_advisory_lock_shared(1)" -c "SELECT bloomx_check_index('old_f')" >"$work/old" &
check=$!
waits_at_gate
sql -c "SET statement_timeout = '120s'" -c "UPDATE old SET f = some_filter()" -c "CREATE INDEX old_f ON old USING bloomx (f)"
open_gate
wait $check
same "a check under REPEATABLE READ reports no damage where there is none" "50  50 t" \
	"$(tr '\n' ' ' <"$work/old")$(sql -c "SELECT indcheckxmin FROM pg_index WHERE indexrelid = 'old_f'::regclass")"

# ---- a provisional geometry ----

# Small filters, and then larger ones: an insert gives all pending rows new pages and larger signatures. First while a
# check runs, which must begin again, and so sees the new rows as well.
sql -c "
	CREATE FUNCTION sized(id int, size int) RETURNS bloomfilter LANGUAGE sql IMMUTABLE AS
		'SELECT public.bloom_agg(k, size) FROM generate_series(id, id + 9) k';
	CREATE TABLE fresh (id int, size int) WITH (autovacuum_enabled = off);
	CREATE INDEX fresh_f ON fresh USING bloomx (gated(id, sized(id, size))) WITH (pending_limit = 8000);
	INSERT INTO fresh SELECT i, 10 FROM generate_series(1, 300) i" || exit 1
close_gate
sql -c "SET test.gate = 150" -c "SELECT bloomx_check_index('fresh_f')" -o "$work/checked" &
check=$!
waits_at_gate
sql -c "SET statement_timeout = '120s'" -c "INSERT INTO fresh SELECT i, i FROM generate_series(301, 400) i" || exit 1
kill -0 $check
ok "the check was running when the geometry changed" $?
open_gate
wait $check
same "and begins again then" 400 "$(cat "$work/checked")"

# Then while VACUUM sleeps. It must not go by the numbers of the old pages. (It sleeps for seconds. A machine that stops for
# longer than that at this moment gets another chance.)
running=1
for _ in $(seq 10); do
	sql -c "TRUNCATE fresh" -c "INSERT INTO fresh SELECT i, 1000 FROM generate_series(1, 600) i" -c "DELETE FROM fresh WHERE id % 2 = 0" || exit 1
	sql -c "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1" -c "VACUUM fresh" &
	vacuum=$!
	until [ "$(sql -c "SELECT phase FROM pg_stat_progress_vacuum WHERE relid = 'fresh'::regclass")" = "vacuuming indexes" ]; do
		kill -0 $vacuum 2>/dev/null || break
		sleep 0.05
	done
	sql -c "INSERT INTO fresh VALUES (0, 4000)" || exit 1
	kill -0 $vacuum && running=0
	wait $vacuum
	[ $running -ne 0 ] || break
done
ok "VACUUM was running when the geometry changed" $running
same "VACUUM removes every dead row, and no other" "301 301" "$(sql -F ' ' -c "SELECT bloomx_check_index('fresh_f'), pending FROM bloomx_index_info('fresh_f')")"
sql -c "DROP TABLE slow, wide, old, fresh"

# ---- load ----

vacuum_until "$work/stop" &
vacuum=$!
transactions=0
for _ in $(seq 20); do
	load "$seconds"
	status=$?
	seed=$((seed + 1))
	transactions=$((transactions + $(awk '/^number of transactions actually processed/ { n = $6 + 0 } END { print n + 0 }' "$work/load.log")))
	# a slow machine needs more time to make segments of what is inserted
	if [ $status -ne 0 ] || [ $transactions -ge 500 ]; then break; fi
done
loaded "readers see the right rows while others write and VACUUM runs" $status
touch "$work/stop"
wait $vacuum
checked "the indexes are whole after that"
[ "$(sql -c "SELECT bool_and(segments > 0) FROM unnest(ARRAY['docs_f', 'large_f', 'events_key', 'mixed_key', 'mixed_f']::regclass[]) i, bloomx_index_info(i)")" = t ]
ok "segments were made" $?

# The lists of pending rows are described from byte 40 of the first page on, in 32 bytes each, which begin with a stamp of 8 bytes; in one
# that was never used the only byte that is not 0 is its number.
several_lists() {
	sql -c "CHECKPOINT" -c "
		SELECT count(*) > 0 FROM generate_series(1, 3) list, pg_read_binary_file(pg_relation_filepath('many_f'), 0, 8192) page,
			LATERAL (SELECT count(*) FROM generate_series(0, 7) i WHERE get_byte(page, (40 + 32 * list + i)::int) <> 0) bytes WHERE count > 1"
}

# Sessions meet only while one of them changes a page. On a busy machine they may take turns for many rows, so they get many tries.
for round in $(seq 30); do
	sql -c "INSERT INTO many (f) SELECT f FROM made, generate_series(1, 100)" &
	other=$!
	sql -c "INSERT INTO many (f) SELECT f FROM made, generate_series(1, 100)"
	wait $other
	[ "$(several_lists)" = f ] || break
done
same "sessions that insert at once use several lists" t "$(several_lists)"
checked "the indexes are whole after that, too"
# A page that a statement remembers may come to another list.
same "no list has the stamps of another one" 4 "$(sql -c "CHECKPOINT" -c "
	SELECT count(DISTINCT substr(page, 41 + 32 * list, 8)) FROM generate_series(0, 3) list,
		LATERAL pg_read_binary_file(pg_relation_filepath('mixed_key'), 0, 8192) page")"

# An INSERT changes a page that was written already: it is logged as a whole after a checkpoint, once, and the next checkpoint writes it again.
sql -c "CREATE TABLE appended AS SELECT i AS id FROM generate_series(1, 100) i" -c "CREATE INDEX appended_key ON appended USING bloomx (id)" \
	-c "INSERT INTO appended SELECT i FROM generate_series(101, 400) i" -c "CHECKPOINT" || exit 1
begin=$(sql -c "SELECT pg_current_wal_insert_lsn()")
sql -c "INSERT INTO appended SELECT i FROM generate_series(401, 600) i" || exit 1
same "an append logs what it changes" t "$(sql -c "SELECT pg_current_wal_insert_lsn() - '$begin' < 200000")"
sql -c "CHECKPOINT" || exit 1
control "$PGDATA" -m immediate stop
control "$PGDATA" -l "$BLOOMX_LOG" start || exit 1
same "and is there after two checkpoints and a crash" "600 1" "$(sql -c "SELECT bloomx_check_index('appended_key')" -c "SET enable_seqscan = off" -c "SELECT count(*) FROM appended WHERE id = 567" | tr '\n' ' ' | sed 's/ $//')"
sql -c "DROP TABLE appended" || exit 1

# An INSERT writes the server's generic record by hand. With this setting each record carries the pages as they are
# after it, and a server that replays it stops if it gets other ones.
sql -c "ALTER SYSTEM SET wal_consistency_checking = 'generic'" -c "SELECT pg_reload_conf()" -o "$work/answer" || exit 1
sql -c "CREATE UNLOGGED TABLE unlogged (id serial PRIMARY KEY, f bloomfilter)" \
	-c "CREATE INDEX unlogged_f ON unlogged USING bloomx (f) WITH (bits = 256, probes = 4, pending_limit = 16)" \
	-c "INSERT INTO unlogged (f) SELECT some_filter() FROM generate_series(1, 2000)" || exit 1
for round in 1 2 3; do
	load 60 &
	load=$!
	seed=$((seed + 1))
	sleep "$seconds"
	control "$PGDATA" -m immediate stop
	wait $load
	control "$PGDATA" -l "$BLOOMX_LOG" start
	started=$?
	ok "recovery from crash $round makes the pages that were there" $started
	[ $started -eq 0 ] || exit 1
	checked "the indexes are whole after crash $round"
done
same "an unlogged index is empty after a crash, and takes rows" "0 700" \
	"$(sql -c "SELECT bloomx_check_index('unlogged_f')" -c "INSERT INTO unlogged (f) SELECT some_filter() FROM generate_series(1, 700)" \
		-c "SELECT bloomx_check_index('unlogged_f')" | tr '\n' ' ' | sed 's/ $//')"
sql -c "VACUUM docs" -c "VACUUM large" -c "VACUUM growing" -c "VACUUM events" -c "VACUUM many" -c "VACUUM mixed"
checked "the indexes are whole after VACUUM"
same "VACUUM reclaims the pages that the crashes left behind" "0 0 0 0 0 0 0" "$(sql -c "SELECT string_agg(lost::text, ' ') FROM unnest(ARRAY['docs_f', 'large_f', 'growing_f', 'events_key', 'many_f', 'mixed_key', 'mixed_f']::regclass[]) i, bloomx_index_info(i)")"

as_server mkdir "$replica" && as_server chmod 700 "$replica" || exit 1
(cd / && as_server env PGHOST="$PGHOST" PGPORT="$PGPORT" PGUSER="$PGUSER" pg_basebackup -D "$replica" -R -c fast -X stream) || exit 1
as_server sh -c 'cat >>"$1"' sh "$replica/postgresql.conf" <<-CONF
	port = 5433
	hot_standby_feedback = on
	max_standby_streaming_delay = -1
CONF
control "$replica" -l "$BLOOMX_LOG" start || exit 1
rm "$work/stop"
vacuum_until "$work/stop" &
vacuum=$!
load "$seconds" &
load=$!
PGPORT=5433 pgbench -n -c 2 --random-seed="$seed" --max-tries=100 -T "$seconds" -f "$work/compare.sql" $db >"$work/replica.log" 2>&1
status=$?
wait $load
touch "$work/stop"
wait $vacuum
cp "$work/replica.log" "$work/load.log"
loaded "readers of a replica see the right rows while it follows" "$status"
[ "$(PGPORT=5433 sql -c "SELECT pg_is_in_recovery()")" = t ]
ok "the replica is in recovery" $?
end=$(sql -c "SELECT pg_current_wal_insert_lsn()")
(export PGPORT=5433 && await "SELECT pg_last_wal_replay_lsn() >= '$end'")
PGPORT=5433 sql -c "SELECT count(compare(k)) FROM generate_series(1, 1000, 25) k" >"$work/answer"
ok "the replica's indexes give what its tables hold" $?
# A check would take what is being replayed for damage.
case $(PGPORT=5433 psql -XqAt -v VERBOSITY=sqlstate -d $db -c "SELECT bloomx_check_index('docs_f')" 2>&1) in
*55000) ok "a check is refused while there is recovery" 0 ;;
*) ok "a check is refused while there is recovery" 1 ;;
esac

# (It would be in the log of both servers if the replica had found a page that differs.)
[ "$(grep -cE 'inconsistent page found' "$BLOOMX_LOG")" = 0 ] && [ "$(sql -c "SHOW wal_consistency_checking")" = generic ]
ok "no page differs on the replica" $?
sql -c "ALTER SYSTEM RESET wal_consistency_checking" -c "SELECT pg_reload_conf()" -o "$work/answer" || exit 1

# The free pages that the metapage names exist, although only the last of them was ever written to WAL.
control "$replica" promote || exit 1
export PGPORT=5433
sql -c "INSERT INTO docs (f) SELECT some_filter() FROM generate_series(1, 3000)" -c "INSERT INTO large (f) SELECT some_filter() FROM generate_series(1, 100)"
ok "a promoted replica takes rows" $?
checked "and its indexes are whole"
export PGPORT=5432

# ---- damaged files ----

# Many small indexes. The server is stopped, and in each index something is overwritten that describes its structure:
# in the metapage, the directory, or a page's header and tail. Every use of such an index must give the same answer
# as the table, or an error that calls the index damaged. (Data checksums guard the bits of signatures and the row
# addresses. If these are damaged, the server must merely survive.)
copies=120
sql -c "
	CREATE TABLE sound (id int, f bloomfilter);
	INSERT INTO sound SELECT i, bloom_agg((i * 7919 + j * j * 31) % 500) FROM generate_series(1, 300) i, generate_series(1, 20) j GROUP BY i;
	DO \$\$ BEGIN
		FOR i IN 1 .. $copies LOOP
			EXECUTE format('CREATE TABLE copy_%s (id int, f bloomfilter) WITH (autovacuum_enabled = off)', i);
			EXECUTE format('CREATE INDEX copy_%1\$s_f ON copy_%1\$s USING bloomx (f) WITH (bits = 1024, probes = 8, pending_limit = 16)', i);
			EXECUTE format('INSERT INTO copy_%s SELECT id, f FROM sound', i);
			EXECUTE format('DELETE FROM copy_%s WHERE id %% 7 = 0', i);
		END LOOP;
	END \$\$;
	CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS \$\$
	DECLARE answer text;
	BEGIN
		EXECUTE statement INTO answer;
		RETURN coalesce(answer, 'ok');
	EXCEPTION WHEN data_corrupted OR index_corrupted THEN
		RETURN 'damaged';
	WHEN OTHERS THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END \$\$" -c "CHECKPOINT" || exit 1
sql -c "SELECT pg_relation_filepath('copy_' || i || '_f') FROM generate_series(1, $copies) i" >"$work/files"
control "$PGDATA" -m fast stop || exit 1
python3 - "$PGDATA" "$work/files" <<'PYTHON' || exit 1
import random, struct, sys

BLOCK, TAIL = 8192, 16
random.seed(20261122)
for number, line in enumerate(open(sys.argv[2])):
    with open(sys.argv[1] + "/" + line.strip(), "r+b") as file:
        data = file.read()
        pages = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
        kinds = [struct.unpack_from("<H", page, BLOCK - 4)[0] for page in pages]
        kind = number % 6
        if kind < 2:  # the metapage's fields that are in use, and behind them
            page, offset = 0, random.randrange(24, 600)
        elif kind == 2:
            page, offset = 0, random.choice([random.randrange(600, BLOCK - TAIL), BLOCK - TAIL - random.randrange(1, 56)])
        elif kind == 3:  # the directory
            page, offset = kinds.index(2), random.randrange(24, 24 + 24 * 12)
        elif kind == 4:  # headers (except the LSN) and tails
            page, offset = random.randrange(len(pages)), random.choice([random.randrange(10, 24), BLOCK - random.randrange(1, TAIL + 1)])
        else:  # contents
            page, offset = random.choice([i for i, k in enumerate(kinds) if k in (3, 4)]), random.randrange(24, BLOCK - TAIL)
        size = min(random.choice([1, 2, 4, 8]), BLOCK - offset)
        value = random.choice([b"\xff" * size, bytes(size), random.randbytes(size), bytes([data[page * BLOCK + offset] ^ 1])])
        file.seek(page * BLOCK + offset)
        file.write(value)
PYTHON
control "$PGDATA" -l "$BLOOMX_LOG" start || exit 1
for copy in $(seq 1 $copies); do
	contents=
	[ $(((copy - 1) % 6)) -ne 5 ] || contents='contents '
	sql -v ON_ERROR_STOP=0 -v copy="$copy" -c "SET statement_timeout = '60s'" -f - 2>&1 <<-SQL | sed "s/^psql:[^ ]* //; s/^/$copy $contents/" >>"$work/damaged"
		SELECT 'info', attempt('SELECT ''ok'' FROM bloomx_index_info(''copy_${copy}_f'')');
		SELECT 'check', attempt('SELECT ''ok'' FROM bloomx_check_index(''copy_${copy}_f'')');
		SELECT 'look up', attempt('SELECT CASE WHEN (SELECT count(*) FROM copy_$copy WHERE f @> k) = (SELECT count(*) FROM copy_$copy WHERE (f @> k) IS TRUE)
			THEN ''ok'' ELSE ''wrong'' END FROM generate_series(1, 500, 7) k ORDER BY 1 DESC LIMIT 1');
		SELECT 'insert', attempt('WITH added AS (INSERT INTO copy_$copy SELECT id, f FROM sound RETURNING id) SELECT ''ok'' FROM (SELECT count(*) FROM added) a');
		SELECT 'look up again', attempt('SELECT CASE WHEN (SELECT count(*) FROM copy_$copy WHERE f @> k) = (SELECT count(*) FROM copy_$copy WHERE (f @> k) IS TRUE)
			THEN ''ok'' ELSE ''wrong'' END FROM generate_series(1, 500, 7) k ORDER BY 1 DESC LIMIT 1');
		VACUUM copy_$copy;
	SQL
done
! grep -vE '\|(ok|damaged)$|^[0-9]+ contents look up( again)?\|wrong$|HINT:  Please REINDEX it|CONTEXT:  ' "$work/damaged" |
	grep -vE 'ERROR:  (index "copy_[0-9]+_f" is damaged|invalid page in block|could not read block)'
ok "a damaged index gives the right answer or says that it is damaged" $?
noticed=$(grep -c '|damaged' "$work/damaged")
[ "$noticed" -gt $copies ]
ok "damage is noticed ($noticed of $((5 * copies)) attempts)" $?
sql -c "ALTER SYSTEM RESET autovacuum" -c "SELECT pg_reload_conf()" -o "$work/answer"

tally
