#!/bin/sh
# The recipes of docs/filter-columns.md and docs/internals/filter-columns.md with many writers: no key is lost at any moment.
#
#     scripts/throwaway test/documents/filter_columns.sh [SECONDS [SEED]]
#
# The document's own SQL creates the tables.  For SECONDS (default 5) per recipe, pgbench writes, deletes,
# rebuilds and folds in many sessions, while readers check that the key of every committed row is found.  SEED (default 1)
# decides what pgbench chooses, but not in which order the sessions work.
# Needs a server with bloomx in the PG* environment and its psql and pgbench first in PATH.  Creates and
# drops a database.  Prints "N passed, N failed"; the exit status is 0 if no check failed.
set -u

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/../tally.sh"

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
seconds=${1:-5}
seed=${2:-1}
echo "seed $seed"
db=bloomx_filter_columns
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_filter_columns.XXXXXX") || exit 1
export PGOPTIONS='-c client_min_messages=warning'

cleanup() {
	psql -XqAt -d postgres -c "DROP DATABASE IF EXISTS $db" >/dev/null 2>&1
	rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

sql() {
	psql -XqAt -v ON_ERROR_STOP=1 -d $db -c "$1"
}

# Stores the pgbench script on standard input.
script() {
	cat >"$work/$1"
}

# Runs the scripts in all clients at once; @ precedes the weight of a script.  pgbench repeats a transaction after a
# deadlock; any other error fails the test.  A slow machine gets more time, up to twenty times: what the checks below expect
# (a row of each day, more rows than are deleted) is certain only after hundreds of transactions.
run() { # name, clients, script@weight...
	name=$1
	clients=$2
	shift 2
	scripts=
	for s in "$@"; do
		scripts="$scripts -f $work/$s"
	done
	status=0
	transactions=0
	runs=0
	while [ "$status" -eq 0 ] && [ "$transactions" -lt 500 ] && [ "$runs" -lt 20 ]; do
		# shellcheck disable=SC2086 # the scripts are words
		PGDATABASE=$db pgbench -n -c "$clients" -j 2 -T "$seconds" --random-seed="$seed" --max-tries=100 $scripts >"$work/log" 2>&1
		status=$?
		grep -E '^(pgbench: error|ERROR)' "$work/log"
		transactions=$((transactions + $(awk '/^number of transactions actually processed/ { n = $6 + 0 } END { print n + 0 }' "$work/log")))
		runs=$((runs + 1))
		seed=$((seed + 1))
	done
	same "$name: no session failed" 0 "$status"
	[ "$transactions" -ge 500 ]
	ok "$name: at least 500 transactions ($transactions)" $?
}

psql -XqAt -d postgres -c "DROP DATABASE IF EXISTS $db" -c "CREATE DATABASE $db TEMPLATE template0" || exit 1
awk '/^```sql$/ { on = 1; next } /^```/ { on = 0 } on' "$top/docs/filter-columns.md" "$top/docs/internals/filter-columns.md" >"$work/recipes.sql"
psql -Xq -v ON_ERROR_STOP=1 -d $db -c "CREATE EXTENSION bloomx" -f "$work/recipes.sql" >/dev/null
same "the document's SQL runs" 0 $?
sql "TRUNCATE visit, visit_day, session, reading, reading_filter, reading_log;
	-- readers call this function: an error ends the session and fails the test
	CREATE FUNCTION must_be_zero(n bigint) RETURNS void LANGUAGE plpgsql AS
		'BEGIN IF n <> 0 THEN RAISE ''% rows are not found'', n; END IF; END'"

# 1. Triggers: statements of 1 to 20 rows on up to three days, updates, deletes and rebuilds.
lost_visits="SELECT count(*) FROM visit v WHERE NOT EXISTS (SELECT FROM visit_day d WHERE d.day = v.day AND d.visitors @> v.visitor)"
script visit_insert <<'END'
\set n random(1, 20)
\set day random(0, 4)
INSERT INTO visit SELECT date '2026-01-01' + :day + i % 3, (random() * 1e6)::int::text FROM generate_series(1, :n) i;
END
script visit_change <<'END'
\set day random(0, 6)
UPDATE visit SET visitor = 'u' || visitor WHERE ctid = ANY (ARRAY(SELECT ctid FROM visit WHERE day = date '2026-01-01' + :day AND visitor !~ 'uu' LIMIT 3 FOR UPDATE SKIP LOCKED));
DELETE FROM visit WHERE ctid = ANY (ARRAY(SELECT ctid FROM visit WHERE day = date '2026-01-01' + :day LIMIT 2 FOR UPDATE SKIP LOCKED));
END
script visit_rebuild <<'END'
\set day random(0, 6)
SELECT rebuild_visit_day(date '2026-01-01' + :day);
END
echo "SELECT must_be_zero(($lost_visits));" | script visit_read
run "triggers" 12 visit_insert@6 visit_change@3 visit_rebuild@1 visit_read@1
same "triggers: every row is found" 0 "$(sql "$lost_visits")"
same "triggers: there are rows for seven days" "t 7" "$(sql "SELECT count(*) > 100 FROM visit") $(sql "SELECT count(*) FROM visit_day")"
sql "SELECT rebuild_visit_day(day) FROM visit_day" >/dev/null
same "triggers: rebuilt, every row is found" 0 "$(sql "$lost_visits")"
same "triggers: rebuilt, the filters hold the rows' keys and no others" t "$(sql "
	SELECT bool_and(abs(bloom_cardinality(visitors) - n) <= 5 + n / 10) FROM visit_day JOIN
	(SELECT day, count(DISTINCT visitor) AS n FROM visit GROUP BY day) c USING (day)")"

# Days that begin while they are rebuilt or dropped: a new day every tenth of a second, and a pause between the two
# statements of the rebuilding function, in which the day's filter may appear.
sql "$(sql "SELECT replace(pg_get_functiondef('rebuild_visit_day'::regproc), '  UPDATE visit_day', '  PERFORM pg_sleep(0.01); UPDATE visit_day')"); CREATE INDEX ON visit (day)"
today="(date '2026-01-01' + ((extract(epoch FROM clock_timestamp()) * 10)::bigint % 100000)::int)"
echo "INSERT INTO visit SELECT $today, (random() * 1e6)::int::text FROM generate_series(1, 3);" | script day_insert
echo "SELECT rebuild_visit_day($today);" | script day_rebuild
script day_drop <<END
SELECT $today - date '2026-01-01' AS today \\gset
BEGIN;
DELETE FROM visit_day WHERE day = date '2026-01-01' + :today;
DELETE FROM visit WHERE day = date '2026-01-01' + :today;
COMMIT;
END
echo "SELECT must_be_zero(($lost_visits AND v.day >= $today - 2));" | script day_read
run "days that begin" 12 day_insert@6 day_rebuild@2 day_drop@1 day_read@6

# 2. Counting: rows are added, moved to other servers and deleted.
lost_sessions="SELECT count(*) FROM session s WHERE NOT EXISTS (SELECT FROM server_clients c WHERE c.server = s.server AND c.clients @> s.client)"
script session_insert <<'END'
\set n random(1, 10)
INSERT INTO session SELECT i % 3, (random() * 1e5)::int::text FROM generate_series(1, :n) i;
END
script session_change <<'END'
UPDATE session SET server = (server + 1) % 3 WHERE ctid = ANY (ARRAY(SELECT ctid FROM session WHERE random() < 0.1 LIMIT 2 FOR UPDATE SKIP LOCKED));
DELETE FROM session WHERE ctid = ANY (ARRAY(SELECT ctid FROM session WHERE random() < 0.1 LIMIT 3 FOR UPDATE SKIP LOCKED));
END
echo "SELECT must_be_zero(($lost_sessions));" | script session_read
run "counting" 8 session_insert@4 session_change@3 session_read@1
same "counting: every row is found" 0 "$(sql "$lost_sessions")"
same "counting: there are rows" t "$(sql "SELECT count(*) > 100 FROM session")"
sql "DELETE FROM session"
same "counting: without rows the filters are empty" 0 "$(sql "SELECT sum(bloom_cardinality(clients)) FROM server_clients")"

# 3. Log and fold: one hot segment and some others; two workers fold.
lost_readings="SELECT count(*) FROM (SELECT * FROM reading ORDER BY ctid DESC LIMIT 2000) r WHERE r.sensor NOT IN (SELECT sensors_of(r.value))"
script reading_insert <<'END'
\set n random(1, 20)
INSERT INTO reading SELECT CASE WHEN random() < 0.8 THEN 0 ELSE (random() * 9)::int END, (random() * 1e9)::int FROM generate_series(1, :n) i;
END
script reading_fold <<'END'
SELECT fold_readings(500);
END
echo "SELECT must_be_zero((SELECT count(*) FROM (SELECT * FROM reading ORDER BY ctid DESC LIMIT 200) r WHERE NOT EXISTS (SELECT FROM reading_filter f WHERE f.sensor = r.sensor AND f.keys @> r.value) AND NOT EXISTS (SELECT FROM reading_log l WHERE l.sensor = r.sensor AND l.key = r.value)));
SELECT must_be_zero((SELECT count(*) FROM (SELECT * FROM reading ORDER BY ctid DESC LIMIT 20) r WHERE r.sensor NOT IN (SELECT sensors_of(r.value))));" | script reading_read
run "log and fold" 12 reading_insert@12 reading_fold@2 reading_read@2
same "log and fold: every row is found through the query" 0 "$(sql "$lost_readings")"
sql "SELECT fold_readings()" >/dev/null
same "log and fold: folded, every row is found in its filter" 0 "$(sql "
	SELECT count(*) FROM reading r WHERE NOT EXISTS (SELECT FROM reading_filter f WHERE f.sensor = r.sensor AND f.keys @> r.value)")"
same "log and fold: the log is empty, and there are many rows" "0 t" "$(sql "SELECT count(*) FROM reading_log") $(sql "SELECT count(*) > 500 FROM reading")"

tally
