#!/bin/sh
# PostgreSQL's own regression tests, with runtime filters forced on for every join, on a server with assertions.
#
#     test/server/pg_regress_joins.sh [VERSION]
#
# The tests' files come with the server that scripts/assert-server builds, of that major version; BLOOMX_REGRESS names
# another built src/test/regress of the same version. All tests must pass, and the server's totals must show that filters
# were made and removed rows. Then the tests of joins run without hash and merge joins, with everything off and on: what they
# print must be the same, but for what EXPLAIN ANALYZE counts, and loops must have looked up rows. The last line is "N passed, N failed".
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${1-}" != inside ]; then
	pg_config=$("$top/scripts/assert-server" "$@")
	tests=${BLOOMX_REGRESS:-$(dirname -- "$("$pg_config" --bindir)")/../regress}
	[ -x "$tests/pg_regress" ] || {
		echo "no tests in $tests: remove that server, and scripts/assert-server will build it anew" >&2
		exit 1
	}
	exec "$top/scripts/throwaway" -p "$pg_config" -c shared_preload_libraries=bloomx \
		-c bloomx.runtime_filter=on -c bloomx.runtime_filter_min_rows=0 -c bloomx.runtime_filter_min_pages=0 \
		-c bloomx.runtime_filter_min_removed=0 \
		"$top/test/server/pg_regress_joins.sh" inside "$tests"
fi

tests=$(CDPATH='' cd -- "$2" && pwd)
work=$(mktemp -d /tmp/bloomx-regress.XXXXXX)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM
as_user() { "$@"; }
[ "$(id -u)" -ne 0 ] || {
	chown nobody: "$work"
	as_user() { setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME="$work" "$@"; }
}

# Tests write below the output directory; the server, which is the same user, reads and writes there, too.
# run_tests DIRECTORY SCHEDULE
run_tests() {
	as_user mkdir -p "$work/$1"
	as_user "$tests/pg_regress" --inputdir="$tests" --outputdir="$work/$1" --dlpath="$tests" --bindir="$(pg_config --bindir)" \
		--host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --schedule="$2" --max-connections=4 \
		--encoding=SQL_ASCII --no-locale >"$work/$1.log" 2>&1
}
cd "$work"
status=0
run_tests all "$tests/parallel_schedule" || status=1
[ ! -s all/regression.diffs ] || cat all/regression.diffs

totals=$(psql -AtXq -F ' ' -d postgres -c "CREATE EXTENSION bloomx" \
	-c "SELECT filters, rows_removed FROM bloomx_stat_runtime_filters WHERE scope = 'server'")
made=${totals% *}
removed=${totals#* }
echo "$made filters were made, which removed $removed rows"
passed=$(grep -cE '^(test .*|     .*) \.\.\. ok|^ok [0-9]' "$work/all.log" || :)
failed=$(grep -cE ' \.\.\. (FAILED|failed)|^not ok [0-9]' "$work/all.log" || :)
[ "$passed" -gt 0 ] || {
	tail -n 20 "$work/all.log"
	failed=$((failed + 1))
}
[ "$made" -gt 1000 ] && [ "$removed" -gt 10000 ] || failed=$((failed + 1))

# Plans are not those that the tests expect, so some of them fail: only off and on are compared.
cat >schedule <<'EOF'
test: test_setup
test: create_index create_misc create_aggregate create_operator create_view
test: join
test: join_hash subselect union aggregates
test: partition_join partition_prune
test: rowsecurity updatable_views
test: select_parallel
test: with groupingsets limit rangefuncs
test: inherit plpgsql portals foreign_key
test: triggers merge memoize incremental_sort
test: equivclass window tidscan select_distinct update delete
EOF
set_for_all() { psql -Xqd postgres -c "ALTER SYSTEM SET $1" -c "DO 'BEGIN PERFORM pg_reload_conf(); END'"; }
set_for_all enable_hashjoin=off
set_for_all enable_mergejoin=off
looked_up=$(psql -AtXqd postgres -c "SELECT -lookups FROM bloomx_stat_runtime_filters WHERE scope = 'server'")
for mode in off on; do
	set_for_all bloomx.runtime_filter=$mode
	run_tests $mode "$work/schedule" || :
done
looked_up=$((looked_up + $(psql -AtXqd postgres -c "SELECT lookups FROM bloomx_stat_runtime_filters WHERE scope = 'server'")))
echo "$looked_up outer rows of loops were looked up"
[ "$looked_up" -gt 10000 ] || failed=$((failed + 1))
for off in off/results/*.out; do
	on=on/results/${off##*/}
	for file in "$off" "$on"; do
		grep -v 'Rows Removed by Join Filter' "$file" | sed 's/ loops=[0-9]*)/)/; s/^([0-9]* rows)$//' >"$file.compared"
	done
	if diff -u "$off.compared" "$on.compared"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ]
