#!/bin/sh
# Runtime filters beside other modules that hook into the executor, and the totals of the server.
#
#     test/server/join_hooks.sh [-s stage]
#
# Starts servers that preload bloomx, auto_explain and pg_stat_statements in both orders: all three must do their
# work for one query, serial and parallel. The server's totals must be the sum of all sessions', and begin anew when the
# server restarts after a crash. The last line is "N passed, N failed".
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${1-}" != inside ]; then
	passed=0
	failed=0
	for order in auto_explain,bloomx,pg_stat_statements bloomx,pg_stat_statements,auto_explain; do
		# whom the test kills in the end
		case $order in
		auto_explain*) victim="client backend" ;;
		*) victim="parallel worker" ;;
		esac
		echo "-- $order"
		log=$("$top/scripts/throwaway" -c "shared_preload_libraries=$order" -c auto_explain.log_min_duration=0 -c auto_explain.log_analyze=on \
			-c auto_explain.log_timing=off -c log_min_messages=log "$@" "$top/test/server/join_hooks.sh" inside "$victim") || failed=$((failed + 1))
		printf '%s\n' "$log"
		passed=$((passed + $(printf '%s\n' "$log" | grep -c '^ok ' || :)))
		failed=$((failed + $(printf '%s\n' "$log" | grep -c '^FAILED ' || :)))
		# the last check was reached
		printf '%s\n' "$log" | grep -q '^all is checked$' || failed=$((failed + 1))
	done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
fi

victim=$2
run() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
# check NAME VALUE EXPECTED
check() {
	if [ "$2" = "$3" ]; then
		echo "ok      $1"
	else
		echo "FAILED  $1: $2 instead of $3"
	fi
}

run <<'SQL'
SET client_min_messages = warning;
CREATE EXTENSION bloomx;
CREATE EXTENSION pg_stat_statements;
CREATE TABLE fact AS SELECT g AS id, g / 100 AS k FROM generate_series(0, 59999) g;
CREATE TABLE dim AS SELECT g AS k, g / 10 AS grp FROM generate_series(0, 5999) g;
ANALYZE fact, dim;
CREATE FUNCTION explained(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
END $$;
SELECT pg_stat_statements_reset() \gset
SQL
settings="SET bloomx.runtime_filter = on; SET bloomx.explain_conditions = on; SET enable_nestloop = off; SET enable_mergejoin = off; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
query="SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7"

check "serial" "$(run -c "$settings SET max_parallel_workers_per_gather = 0; $query")" 1000
check "parallel, a hash table in each process" "$(run -c "$settings SET enable_parallel_hash = off; $query")" 1000
check "parallel, one hash table" "$(run -c "$settings $query")" 1000
check "auto_explain shows what filters did, in all processes" \
	"$(grep -ciE 'runtime filter of node [0-9]+ on k: bitmap, 10 build rows, 8 bytes; 59000 of 60000 rows removed' "$BLOOMX_LOG")" 3
check "pg_stat_statements counts" "$(run -c "SELECT sum(calls) || ' ' || sum(rows) FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) FROM fact%'")" "3 3"
check "EXPLAIN ANALYZE" "$(run -c "$settings SELECT explained('$query') -> 0 -> 'Plan' ->> 'Node Type'")" Aggregate
check "the server's totals are those of all sessions" \
	"$(run -c "SELECT scope, filters, rows_checked, rows_removed FROM bloomx_stat_runtime_filters ORDER BY scope DESC" | tr '\n' ' ')" \
	"session|0|0|0 server|4|240000|236000 "
check "since the server's start, and that of the session" \
	"$(run -c "SELECT bool_and(stats_reset BETWEEN pg_postmaster_start_time() - interval '1 minute' AND clock_timestamp())
		FROM (SELECT stats_reset FROM bloomx_stat_runtime_filters UNION ALL SELECT stats_reset FROM bloomx_stat_partition_lookups) AS both_views")" t
check "a session has its own" "$(run -c "$settings SET max_parallel_workers_per_gather = 0; $query; SELECT scope, filters, rows_removed FROM bloomx_stat_runtime_filters ORDER BY scope DESC" | tr '\n' ' ')" \
	"1000 session|1|59000 server|5|295000 "
check "a statement that fails does not count" "$(run -c "$settings SELECT count(1 / (k - 75)) FROM fact JOIN dim USING (k) WHERE grp = 7" 2>&1 | grep -c 'division by zero')" 1
check "nor do filters that are off" "$(run -c "$query" -c "SELECT filters FROM bloomx_stat_runtime_filters WHERE scope = 'server'" | tr '\n' ' ')" "1000 5 "

# A process of a parallel join is killed in the middle of it. The server ends all sessions, makes its shared memory
# anew and goes on.
PGAPPNAME=killed run -c "$settings SELECT sum(length(pg_sleep(0.1)::text)) FROM fact JOIN dim USING (k)" >/dev/null 2>&1 &
tries=0
pid=
while [ -z "$pid" ] && [ "$tries" -lt 600 ]; do
	sleep 0.1
	tries=$((tries + 1))
	pid=$(run -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'killed' AND backend_type = '$victim' AND wait_event = 'PgSleep' LIMIT 1")
done
[ -z "$pid" ] || kill -9 "$pid"
wait
# A client may see the connection end before the server has noticed who died.
until { grep -q "all server processes terminated; reinitializing" "$BLOOMX_LOG" && run -c "SELECT" 2>/dev/null; } || [ "$tries" -ge 1200 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
check "a $victim was killed, and the server restarted" "$(grep -c "all server processes terminated; reinitializing" "$BLOOMX_LOG")" 1
check "the server's totals begin anew" "$(run -c "SELECT scope, filters, rows_checked, rows_removed, pages FROM bloomx_stat_runtime_filters" | tr '\n' ' ')" \
	"session|0|0|0|0 server|0|0|0|0 "
check "since then" "$(run -c "SELECT stats_reset > pg_postmaster_start_time() FROM bloomx_stat_runtime_filters WHERE scope = 'server'")" t
check "and count" "$(run -c "$settings $query" -c "SELECT filters, rows_removed FROM bloomx_stat_runtime_filters WHERE scope = 'server'" | tr '\n' ' ')" "1000 1|59000 "
check "nothing else crashed" "$(grep -cE 'was terminated by signal|TRAP: ' "$BLOOMX_LOG")" 1
: >"$BLOOMX_LOG" # scripts/throwaway would take this for a fault
echo "all is checked"
