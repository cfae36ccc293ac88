#!/bin/sh
# PostgreSQL's own regression tests, with runtime filters forced on for every join, on a server with assertions.
#
#     test/server/pg_regress_joins.sh [VERSION]
#
# The tests' files come with the server that scripts/assert-server builds, of that major version; BLOOMX_REGRESS names
# another built src/test/regress of the same version. All tests must pass, and the server's totals must show that filters
# were made and removed rows. The last line is "N passed, N failed".
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
cd "$work"
status=0
as_user "$tests/pg_regress" --inputdir="$tests" --outputdir="$work" --dlpath="$tests" --bindir="$(pg_config --bindir)" \
	--host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --schedule="$tests/parallel_schedule" --max-connections=4 \
	--encoding=SQL_ASCII --no-locale >"$work/log" 2>&1 || status=1
[ ! -s "$work/regression.diffs" ] || cat "$work/regression.diffs"

totals=$(psql -AtXq -F ' ' -d postgres -c "CREATE EXTENSION bloomx" \
	-c "SELECT filters, rows_removed FROM bloomx_stat_runtime_filters WHERE scope = 'server'")
made=${totals% *}
removed=${totals#* }
echo "$made filters were made, which removed $removed rows"
passed=$(grep -cE '^(test .*|     .*) \.\.\. ok|^ok [0-9]' "$work/log" || :)
failed=$(grep -cE ' \.\.\. (FAILED|failed)|^not ok [0-9]' "$work/log" || :)
[ "$passed" -gt 0 ] || {
	tail -n 20 "$work/log"
	failed=$((failed + 1))
}
[ "$made" -gt 1000 ] && [ "$removed" -gt 10000 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ]
