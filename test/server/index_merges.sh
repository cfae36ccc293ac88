#!/bin/sh
# Merges of an index of access method bloomx, and what goes on beside them: cancelled ones leave no pages behind, inserts wait
# neither for VACUUM nor for a check.
#
#     scripts/throwaway test/server/index_merges.sh
#
# Needs a server with bloomx in the PG* environment and its programs first in PATH, as scripts/throwaway provides.  Makes a
# database.  Prints "N passed, N failed"; the exit status is 0 if no check failed.
set -u

# shellcheck source=test/server/control.sh
. "$(dirname -- "$0")/control.sh"

# ---- cancelled merges ----

# Rows of 8 kB in the index, merges of megabytes. If a step of a merge is cancelled, the next one reuses its pages, so
# the file has no page without an owner and is no larger than the rows and one merge need.
sql -c "
	CREATE TABLE wide (id serial PRIMARY KEY, f bloomfilter);
	CREATE INDEX wide_f ON wide USING bloomx (f) WITH (signature_bits = 65536, hash_functions = 8, pending_limit = 800);
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
	CREATE INDEX slow_f ON slow USING bloomx (f) WITH (signature_bits = 65536, hash_functions = 8, pending_limit = 800);
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
before=$(sql -c "SELECT pending FROM bloomx_index_info('slow_f')")
status=0
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
	sql -c "SET statement_timeout = $patience" -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || status=1
done
ok "no insert waits for VACUUM" "$status"
same "VACUUM was still running" "vacuuming indexes" "$(sql -c "$phase")"
[ "$(sql -c "SELECT pending < $before + 1200 FROM bloomx_index_info('slow_f')")" = t ]
ok "pending rows became segments meanwhile" $?
sql -c "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'slow vacuum'" >/dev/null
wait $vacuum
sql -c "SET vacuum_cost_delay = 0" -c "VACUUM slow" || exit 1
same "the next VACUUM removes every dead row, wherever it was moved" t \
	"$(sql -c "SELECT bloomx_check_index('slow_f') = rows + pending AND rows + pending = count FROM bloomx_index_info('slow_f'), (SELECT count(f) FROM slow) c")"

# A check whose table scan stops at the gate, because the index's expression does so where test.gate is set: at the row of that
# number. Inserts go on, and some more while the scan goes on.
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
	CREATE INDEX slow_f ON slow USING bloomx (gated(id, f)) WITH (signature_bits = 65536, hash_functions = 8, pending_limit = 800)" || exit 1
close_gate
sql -c "SET test.gate = 1000; SET maintenance_work_mem = '1MB'" -c "SELECT bloomx_check_index('slow_f') > 0" -o "$work/checked" &
check=$!
waits_at_gate
status=0
for round in 1 2 3 4 5 6; do
	sql -c "SET statement_timeout = $patience" -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || status=1
done
ok "no insert waits for a check" "$status"
sql -c "SET statement_timeout = 1000" -c "VACUUM slow" 2>/dev/null
[ $? -ne 0 ]
ok "VACUUM does: rows must not move meanwhile" $?
kill -0 $check
ok "the check was still running" $?
open_gate
for round in 1 2 3; do
	sql -c "INSERT INTO slow (f) SELECT some_filter() FROM generate_series(1, 100)" || exit 1
done
wait $check && [ "$(cat "$work/checked")" = t ]
ok "the check finds every row" $?

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

finish
