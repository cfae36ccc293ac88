#!/bin/sh
# Who can load the library for runtime filters, and how: "Load the library" of docs/joins.md.
#
#     scripts/throwaway test/server/loading.sh
#
# The server must not preload bloomx. The last line is "N passed, N failed".
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
# shellcheck source=test/tally.sh
. "$top/test/tally.sh"

# session ROLE COMMAND ...: what they print, errors and notices as SQLSTATE, in a session of its own
session() {
	role=$1
	shift
	for command in "$@"; do
		printf '%s;\n' "$command"
	done | {
		psql -XAtq -d loading -U "$role" -v VERBOSITY=sqlstate 2>&1
		echo "done"
	} | tr '\n' ' ' | sed 's/ERROR: *//g; s/ $//'
}

# sql ROLE COMMAND ...: the same without notices
sql() {
	session "$@" | sed 's/NOTICE:  00000 //g'
}

loaded="SELECT count(*) > 0 FROM pg_settings WHERE name LIKE 'bloomx.%'"
call="SELECT bloom_empty(1) IS NOT NULL"
used="SELECT count(*) FROM bloomx_last_runtime_filters()"
on="SET bloomx.runtime_filter = on"
join="SELECT count(*) FROM load_fact JOIN load_dim USING (k) WHERE grp = 7"

psql -Xqc 'CREATE ROLE joe LOGIN' -c 'CREATE DATABASE loading OWNER joe'
same "an ordinary owner creates the extension" "done" "$(sql joe 'CREATE EXTENSION bloomx')"
same "its tables" "done" "$(sql joe 'CREATE TABLE load_fact AS SELECT g / 100 AS k FROM generate_series(0, 59999) g' \
	'CREATE TABLE load_dim AS SELECT g AS k, g / 10 AS grp FROM generate_series(0, 5999) g' 'ANALYZE load_fact, load_dim')"

# From 18 on the planner asks each access method that knows an operator whether it has an order, which loads the library.
[ "$(psql -XAtqc "SHOW server_version_num")" -ge 180000 ] && filters=1 || filters=0
same "a SET before the library is there is shown, and has no effect before 18" "f on 1000 $filters done" "$(sql joe "$loaded" "$on" "SHOW bloomx.runtime_filter" "$join" "$used")"
same "any call of a function loads it" "f t t 1000 1 done" "$(sql joe "$loaded" "$call" "$loaded" "$on" "$join" "$used")"
same "in the other order, too" "t 1000 1 done" "$(sql joe "$on" "$call" "$join" "$used")"
same "which a notice tells" "NOTICE:  00000 t done" "$(session joe "$on" "$call")"
same "and none after a call" "t done" "$(session joe "$call" "$on")"

same "a role cannot set it for itself before" "42501 done" "$(sql joe "ALTER ROLE joe SET bloomx.runtime_filter = on")"
same "but after" "t done" "$(sql joe "$call" "ALTER ROLE joe SET bloomx.runtime_filter = on")"
same "which then holds for new sessions that load it" "t 1000 1 done" "$(sql joe "$call" "$join" "$used")"
same "and takes it back" "t done" "$(sql joe "$call" "ALTER ROLE joe RESET bloomx.runtime_filter")"

same "preloading needs a superuser" "42501 42501 42501 done" \
	"$(sql joe "ALTER ROLE joe SET session_preload_libraries = 'bloomx'" "ALTER DATABASE loading SET session_preload_libraries = 'bloomx'" "LOAD 'bloomx'")"
psql -Xqc 'GRANT SET ON PARAMETER session_preload_libraries TO joe'
same "or a grant" "done" "$(sql joe "ALTER ROLE joe SET session_preload_libraries = 'bloomx'")"
same "new sessions have it then" "t 1000 1 done" "$(sql joe "$loaded" "$on" "$join" "$used")"
same "and take it back" "done" "$(sql joe "ALTER ROLE joe RESET session_preload_libraries")"
psql -Xqc "ALTER DATABASE loading SET session_preload_libraries = 'bloomx'" -c "ALTER DATABASE loading SET bloomx.runtime_filter = on"
same "a superuser does both for a database" "t 1000 1 done" "$(sql joe "$loaded" "$join" "$used")"

psql -Xqc 'DROP DATABASE loading' -c 'REVOKE SET ON PARAMETER session_preload_libraries FROM joe' -c 'DROP ROLE joe'
tally
