# shellcheck shell=sh
# For the tests of the index bloomx, which source this file: a database $db, a directory $work, and control of the server.

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/../tally.sh"

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
sql -c "CREATE EXTENSION bloomx" -c "
	CREATE FUNCTION some_filter() RETURNS bloomfilter LANGUAGE sql VOLATILE AS
		'SELECT bloom_agg((random() * 1000)::int) FROM generate_series(1, 20)'" || exit 1

finish() {
	sql -c "ALTER SYSTEM RESET autovacuum" -c "SELECT pg_reload_conf()" -o "$work/answer"
	tally
}
