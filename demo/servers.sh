#!/bin/sh
# A join with ten million rows of another server, without a filter, with one that is written into the query, and with one
# that the join sends automatically: rows, bytes on the wire, and times.
#
#     scripts/demo-servers [--quick]
#
# runs this on servers of its own.  The bytes are counted on the socket by wire.pl, which stands between the servers.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=test/distributed/clusters.sh
. "$here/../test/distributed/clusters.sh"
rows=${BLOOMX_DEMO_ROWS:-10000000}

make_server old "$old" 5401
make_server new "$new" 5402
mkdir "$work/wire"
chmod 755 "$work/wire"
perl "$here/wire.pl" "$work/wire/.s.PGSQL.5402" "$work/.s.PGSQL.5402" "$work/counts" &
wire=$!
trap 'kill "$wire" 2>/dev/null || :; cleanup' EXIT
export PGHOST="$work" PGUSER=postgres PGDATABASE=postgres
unset PGPORT

echo "Here: PostgreSQL $("$old/psql" -p 5401 -XqAtc 'SHOW server_version'), with 100,000 customers."
echo "There: PostgreSQL $("$new/psql" -p 5402 -XqAtc 'SHOW server_version'), with $rows orders."
"$new/psql" -p 5402 -Xq -v ON_ERROR_STOP=1 -v rows="$rows" <<'SQL'
CREATE EXTENSION bloomx;
CREATE TABLE orders AS
SELECT n AS id, ((n * 7919::bigint) % 100000)::int AS customer, n % 1000 AS amount, 'order number ' || n AS note FROM generate_series(1, :rows) n;
VACUUM ANALYZE orders;
SQL
"$old/psql" -p 5401 -Xq -v ON_ERROR_STOP=1 -v directory="$work/wire" <<'SQL'
CREATE EXTENSION bloomx;
CREATE EXTENSION postgres_fdw;
CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host :'directory', port '5402', dbname 'postgres', extensions 'bloomx', fetch_size '10000');
CREATE USER MAPPING FOR CURRENT_USER SERVER there OPTIONS (user 'postgres');
CREATE FOREIGN TABLE orders (id int, customer int, amount int, note text) SERVER there;
CREATE TABLE customers AS SELECT n AS id, n % 100 = 0 AS gold FROM generate_series(0, 99999) n;
ANALYZE customers;
ANALYZE orders;
SQL

here() { "$old/psql" -p 5401 -XqAt -v ON_ERROR_STOP=1 "$@"; }
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", 100 * a / b }'; }
wire_bytes() {
	sleep 0.2 # wire.pl writes its counts when nothing has passed for a moment
	cat "$work/counts"
}

# The connection to the other server is part of each measurement: some kilobytes and milliseconds.
measure() { # name, condition, settings
	name=$1
	settings=$3
	query="SELECT count(*), sum(amount), max(note) FROM orders JOIN customers c ON c.id = customer WHERE gold$2"
	read -r sent_before received_before <<-COUNTS
		$(wire_bytes)
	COUNTS
	here -c "$settings" -c '\timing on' -c "$query" >"$work/output"
	read -r sent received <<-COUNTS
		$(wire_bytes)
	COUNTS
	sent=$((sent - sent_before))
	received=$((received - received_before))
	result=$(head -n 1 "$work/output")
	ms=$(sed -n 's/^Time: \([0-9]*\).*/\1/p' "$work/output")
	came=$(here -c "$settings" -c "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $query" | sed -n 's/.*Foreign Scan on orders.*rows=\([0-9]*\).*/\1/p')
	printf '\n%s\n  %s%s\n' "$name" "${settings:+$settings; }" "$query;"
	printf '  %s rows and %s bytes came, %s bytes went, %s ms\n' "$came" "$received" "$sent" "$ms"
	if [ -z "${first_result-}" ]; then
		first_result=$result
		first_bytes=$((sent + received))
		first_ms=$ms
	else
		[ "$result" = "$first_result" ] || {
			echo "the results differ: $first_result and $result" >&2
			exit 1
		}
		printf '  the same result with %s %% of the bytes and %s %% of the time\n' \
			"$(percent $((sent + received)) "$first_bytes")" "$(percent "$ms" "$first_ms")"
	fi
}

measure "Without a filter:" "" ""
measure "With a filter of the gold customers:" " AND customer <@ (SELECT bloom_agg(id, 1000, 0.001) FROM customers WHERE gold)" ""
measure "With a runtime filter:" "" "LOAD '\$libdir/bloomx'; SET bloomx.runtime_filter = on"
