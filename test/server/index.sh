#!/bin/sh
# An index of access method bloomx loses no row: under concurrent inserts, updates, deletes, VACUUM and
# merges, when the server dies in the middle of them, and on a streaming replica. What recovery and the replica
# make of each WAL record is compared with the page that the record was written for, byte by byte.
#
#     scripts/throwaway test/server/index.sh [seconds [seed]]
#
# Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
# provides.  Kills that server and restarts it; makes a replica and a database.  `seconds` (default 2) is the
# duration of each load, `seed` (default 1) decides what pgbench chooses in it.  Prints "N passed, N failed"; the exit status
# is 0 if no check failed.
set -u

# shellcheck source=test/server/control.sh
. "$(dirname -- "$0")/control.sh"

seconds=${1:-2}
seed=${2:-1}
echo "seed $seed"

sql -c "
	CREATE TABLE docs (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX docs_f ON docs USING bloomx (f) WITH (signature_bits = 2048, hash_functions = 8, pending_limit = 16);
	-- signatures of several pages, merged often
	CREATE TABLE large (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX large_f ON large USING bloomx (f) WITH (signature_bits = 131072, hash_functions = 8, pending_limit = 16);
	-- filters of all sizes, and often emptied: the geometry is chosen again and again
	CREATE TABLE growing (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX growing_f ON growing USING bloomx (f) WITH (pending_limit = 16);
	-- values: rows of few and of many keys, most of them soon gone
	CREATE TABLE events (id serial, who int, note text, tags int[]);
	CREATE INDEX events_key ON events USING bloomx (who, note, tags) WITH (pending_limit = 16);
	-- many rows by one statement: sessions that meet on a page of pending rows part, and use several lists
	CREATE TABLE many (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX many_f ON many USING bloomx (f) WITH (signature_bits = 512, hash_functions = 8, pending_limit = 16);
	-- filters and values of one table
	CREATE TABLE mixed (id serial PRIMARY KEY, f bloomfilter, tags int[]);
	CREATE INDEX mixed_key ON mixed USING bloomx (tags) WITH (hash_functions = 8, pending_limit = 16);
	CREATE INDEX mixed_f ON mixed USING bloomx (f) WITH (signature_bits = 512, hash_functions = 8, pending_limit = 16);
	-- Index and sequential scan in one statement, so with one snapshot; no index can serve the second condition.
	CREATE FUNCTION compare(k int) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS \$\$
	DECLARE tab text; condition text; by_index bigint; by_scan bigint;
	BEGIN
		FOR tab, condition IN VALUES ('docs', 'f @> \$1'), ('large', 'f @> \$1'), ('many', 'f @> \$1'), ('growing', 'f @> \$1'),
			('events', 'who = \$1 OR note = ''note '' || \$1 AND tags && ARRAY[\$1]'),
			('mixed', 'f @> \$1 OR tags && ARRAY[\$1] OR (f @> (\$1 + 1) AND tags && ARRAY[\$1 % 10])')
		LOOP
			EXECUTE format('SELECT (SELECT sum(id) FROM %1\$s WHERE %2\$s), (SELECT sum(id) FROM %1\$s WHERE (%2\$s) IS TRUE)', tab, condition)
				INTO by_index, by_scan USING k;
			IF by_index IS DISTINCT FROM by_scan THEN
				RAISE '%, key %: index % scan %', tab, k, by_index, by_scan;
			END IF;
		END LOOP;
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

# The lists of pending rows are described from byte 40 of the first page on, in 24 bytes each, which begin with a stamp of 8 bytes; in one
# that was never used the only byte that is not 0 is its number.
several_lists() {
	sql -c "CHECKPOINT" -c "
		SELECT count(*) > 0 FROM generate_series(1, 3) list, pg_read_binary_file(pg_relation_filepath('many_f'), 0, 8192) page,
			LATERAL (SELECT count(*) FROM generate_series(0, 7) i WHERE get_byte(page, (40 + 24 * list + i)::int) <> 0) bytes WHERE count > 1"
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
	SELECT count(DISTINCT substr(page, 41 + 24 * list, 8)) FROM generate_series(0, 3) list,
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
	-c "CREATE INDEX unlogged_f ON unlogged USING bloomx (f) WITH (signature_bits = 256, hash_functions = 4, pending_limit = 16)" \
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

finish
