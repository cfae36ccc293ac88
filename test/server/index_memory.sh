#!/bin/sh
# Memory of the index access method: VACUUM and lookups stay within the settings, whatever the rows and conditions.
#
#     scripts/throwaway -c shared_buffers=2MB test/server/index_memory.sh
#
# Few shared buffers, so that a backend's largest resident set is its own memory.
set -u
passed=0
failed=0

psql -X -q -v ON_ERROR_STOP=1 <<'SQL' || exit 1
CREATE EXTENSION bloomx;
SET client_min_messages = warning;
CREATE TABLE many (id int, version int, keys int[]) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, 0, array(SELECT hashint8(i * 100000::bigint + j) FROM generate_series(1, 1000) j) FROM generate_series(1, 8000) i;
CREATE INDEX many_keys ON many USING bloomx (version, keys) WITH (max_keys_per_filter = 2100);
CREATE TABLE small AS SELECT i AS id FROM generate_series(1, 1000) i;
CREATE INDEX small_id ON small USING bloomx (id);
DO $$ BEGIN FOR i IN 1..12 LOOP UPDATE many SET version = version + 1; END LOOP; END $$;
SQL

# The growth of a backend's memory, in MB, by some statements: grown NAME LIMIT STATEMENTS
grown() {
	output=$(printf '%s\n' "SELECT pg_backend_pid() AS pid \\gset" "\\setenv BACKEND :pid" "SELECT 1 FROM small WHERE id = 1;" \
		"\\! grep VmHWM /proc/\$BACKEND/status" "$3" "\\! grep VmHWM /proc/\$BACKEND/status" | psql -X -q -At -v ON_ERROR_STOP=1 2>&1)
	megabytes=$(printf '%s\n' "$output" | awk '/VmHWM/ { n++; m[n] = $2 } END { if (n == 2) print int((m[2] - m[1]) / 1024) }')
	if [ -n "$megabytes" ] && [ "$megabytes" -le "$2" ]; then
		passed=$((passed + 1))
		echo "ok - $1: $megabytes MB"
	else
		failed=$((failed + 1))
		echo "not ok - $1: ${megabytes:-?} MB, not $2"
		printf '%s\n' "$output"
	fi
}

grown "VACUUM makes entries anew in 1 MB" 12 "SET maintenance_work_mem = '1MB'; VACUUM (PARALLEL 0) many;"
anew=$(psql -X -At -c "SELECT rows < 30000 AND pending < 10 FROM bloomx_index_info('many_keys')")
if [ "$anew" = t ]; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo "not ok - entries were not made anew"
fi

# the array, its copy and the executor's hash table take some 60 MB
grown "a lookup of a million keys" 100 "SET enable_seqscan = off; SELECT count(*) FROM small WHERE id = ANY ((SELECT array_agg(i) FROM generate_series(1, 1000000) i)::int[]);"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
