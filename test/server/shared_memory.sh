#!/bin/sh
# Where shared memory is short, a runtime filter of a parallel query takes none that the hash table needs.
#
#     test/server/shared_memory.sh [-s STAGE]
#
# Needs root, for a /dev/shm of its own, whose size it changes: it looks for the least one with which a query works without
# filters. With filters it must work with 2 MB more. (They want 6 MB; the least size varies by a few hundred kB.)
# Where some is free only when workers start again, the keys that they do not publish must not be missing.
# The arguments are those of scripts/throwaway. The last line is "N passed, N failed".
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
if [ "${BLOOMX_INSIDE:-}" != shared_memory ]; then
	export BLOOMX_INSIDE=shared_memory
	exec unshare --mount --propagation private sh -euc 'mount -t tmpfs -o mode=1777,size=256m shm /dev/shm; exec "$@"' sh \
		"$top/scripts/throwaway" "$@" "$0"
fi

# shellcheck source=test/tally.sh
. "$top/test/tally.sh"
psql -Xq -v ON_ERROR_STOP=1 <<'SQL' || exit 1
CREATE EXTENSION bloomx;
CREATE TABLE f AS SELECT md5((g::bigint * 7919 % 3000000)::text) AS k FROM generate_series(1, 600000) g;
CREATE TABLE d AS SELECT md5((g * 5)::text) AS k, g % 100 AS grp FROM generate_series(1, 600000) g;
ALTER TABLE f SET (parallel_workers = 2);
ALTER TABLE d SET (parallel_workers = 2);
VACUUM ANALYZE f, d;
SQL

answer() { # filters, MB: the query's answer with so much shared memory
	mount -o "remount,size=$2m" /dev/shm
	psql -XqAt 2>/dev/null <<SQL
LOAD 'bloomx';
SET bloomx.runtime_filter = $1;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SET work_mem = '4MB';
SET hash_mem_multiplier = 2;
SELECT count(*) FROM f JOIN d USING (k) WHERE grp < 50;
SQL
}

low=4
high=100
same "there is enough" 60000 "$(answer on $high)"
while [ $((high - low)) -gt 1 ]; do
	size=$(((low + high) / 2))
	if [ "$(answer off $size)" = 60000 ]; then high=$size; else low=$size; fi
done
echo "# $high MB suffice without filters"
same "the shared hash table needs some" t "$([ $high -gt 8 ] && echo t)"
for more in 2 3 4; do
	same "with filters and $more MB more" 60000 "$(answer on $((high + more)))"
done

# A Gather that starts three times; before the second time a file makes room.
three_times() { # filters
	mount -o remount,size=64m /dev/shm
	head -c "$(($(df --output=avail -k /dev/shm | tail -n 1) - 4000))k" /dev/zero >/dev/shm/filler
	chmod 666 /dev/shm/filler
	psql -XqAt 2>&1 <<SQL
LOAD 'bloomx';
SET bloomx.runtime_filter = $1;
SET bloomx.runtime_filter_min_removed = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_mergejoin = off;
SET enable_material = off;
CREATE OR REPLACE FUNCTION make_room() RETURNS int LANGUAGE plpgsql PARALLEL RESTRICTED AS
	\$\$ BEGIN COPY (SELECT) TO PROGRAM 'truncate -c -s 0 /dev/shm/filler'; RETURN 0; END \$\$;
SELECT string_agg((rows + room)::text, ' ') FROM (SELECT count(*) AS rows FROM f JOIN d USING (k) WHERE grp = 3) s
	RIGHT JOIN (SELECT CASE WHEN g = 2 THEN make_room() ELSE 0 END AS room FROM generate_series(1, 3) g OFFSET 0) v ON true;
SELECT kind FROM bloomx_last_runtime_filters() WHERE kind <> 'table';
SQL
	rm -f /dev/shm/filler
}
same "workers that start again without shared memory for filters" "$(three_times off)
not built" "$(three_times on)"
tally
