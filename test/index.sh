#!/bin/sh
# An index of access method bloomx loses no row: under concurrent inserts, updates, deletes, VACUUM and
# merges, when the server dies in the middle of them, and on a streaming replica.
#
#     scripts/throwaway test/index.sh [seconds]
#
# Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, all of which
# scripts/throwaway gives.  Kills that server and starts it again; makes a replica and a database.  `seconds`
# (default 2) is how long each of the loads goes on.  Prints "N passed, N failed"; the exit status is 0 when
# none failed.
set -u

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/tally.sh"

seconds=${1:-2}
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
	(cd / && as_server pg_ctl -D "$data" -s -w -t 60 "$@") >"$work/control.log" 2>&1 || {
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

psql -Xq -d postgres -c "DROP DATABASE IF EXISTS $db" -c "CREATE DATABASE $db" || exit 1
sql -c "
	CREATE EXTENSION bloomx;
	CREATE TABLE docs (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX docs_f ON docs USING bloomx (f) WITH (bits = 2048, probes = 8, pending_limit = 16);
	-- signatures of several pages, merged often
	CREATE TABLE large (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX large_f ON large USING bloomx (f) WITH (bits = 131072, probes = 8, pending_limit = 16);
	CREATE FUNCTION some_filter() RETURNS bloomfilter LANGUAGE sql VOLATILE AS
		'SELECT bloom_agg((random() * 1000)::int) FROM generate_series(1, 20)';
	-- Index and sequential scan in one statement, thus of one snapshot; the second condition no index can take.
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
	END \$\$" || exit 1

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
cat >"$work/rollback.sql" <<-'SQL'
	BEGIN;
	INSERT INTO docs (f) SELECT some_filter() FROM generate_series(1, 20);
	ROLLBACK;
SQL
cat >"$work/compare.sql" <<-'SQL'
	\set key random(1, 1000)
	SELECT compare(:key);
SQL

# Writers, readers and VACUUM together; $1 is pgbench's -T.
load() {
	pgbench -n -c 5 -j 2 -T "$1" -f "$work/write.sql@4" -f "$work/large.sql@2" -f "$work/rollback.sql@1" -f "$work/compare.sql@3" $db >"$work/load.log" 2>&1
}

vacuum_until() { # a file
	while [ ! -e "$1" ]; do
		sql -c "VACUUM docs" -c "VACUUM large" >/dev/null 2>&1 || sleep 0.1
	done
}

loaded() { # name: load's verdict
	status=$2
	! grep -E 'index .* scan|damaged|row \(' "$work/load.log" || status=1
	[ "$status" -eq 0 ] || tail -n 5 "$work/load.log"
	ok "$1" "$status"
}

checked() { # name
	sql -c "SELECT count(bloomx_check_index(i)) = 2 FROM unnest(ARRAY['docs_f', 'large_f']::regclass[]) i" -c "SELECT count(compare(k)) FROM generate_series(1, 1000, 25) k" \
		-o "$work/answer"
	ok "$1" $?
}

vacuum_until "$work/stop" &
vacuum=$!
load "$seconds"
loaded "readers see what is there while others write and VACUUM runs" $?
touch "$work/stop"
wait $vacuum
checked "the indexes are whole after that"
[ "$(sql -c "SELECT bool_and(segments > 0) FROM unnest(ARRAY['docs_f', 'large_f']::regclass[]) i, bloomx_index_info(i)")" = t ]
ok "segments were made" $?

for round in 1 2 3; do
	load 60 &
	load=$!
	sleep "$seconds"
	control "$PGDATA" -m immediate stop
	wait $load
	control "$PGDATA" -l "$BLOOMX_LOG" start || exit 1
	checked "the indexes are whole after crash $round"
done
sql -c "VACUUM docs" -c "VACUUM large"
checked "VACUUM finds what the crashes left behind"

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
PGPORT=5433 pgbench -n -c 2 -T "$seconds" -f "$work/compare.sql" $db >"$work/replica.log" 2>&1
status=$?
wait $load
touch "$work/stop"
wait $vacuum
cp "$work/replica.log" "$work/load.log"
loaded "a replica's readers see what is there while it follows" "$status"
[ "$(PGPORT=5433 sql -c "SELECT pg_is_in_recovery()")" = t ]
ok "it is a replica" $?
end=$(sql -c "SELECT pg_current_wal_insert_lsn()")
until [ "$(PGPORT=5433 sql -c "SELECT pg_last_wal_replay_lsn() >= '$end'")" = t ]; do
	sleep 0.2
done
PGPORT=5433 checked "the replica's indexes are whole"

tally
