#!/bin/sh
# Aggregates in two phases, as distributed extensions such as Citus run them: partial states travel as text, and the
# functions are called without what PostgreSQL's own executor gives them (see two_phase.c).
#
#     scripts/throwaway test/distributed/two_phase.sh
#
# Ends with "N passed, N failed".
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/../tally.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_two_phase.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
chmod 755 "$work"

cc -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Werror -fPIC -shared -I"$("$PG_CONFIG" --includedir-server)" -o "$work/two_phase.so" "$here/two_phase.c" || exit 1
psql -Xq -v ON_ERROR_STOP=1 -v library="$work/two_phase.so" -f "$here/two_phase.sql" || exit 1

sql() {
	psql -XAtq -c "$1" 2>&1
}

# Every aggregate has what two phases need: a state of an ordinary type and a function that combines states.  A map has not:
# two values of one key are found when it is sealed, so all its keys are needed in one place.
same "aggregates with an ordinary state, a combine function, parallel safe" \
	"$(sql "SELECT count(*) FROM pg_aggregate JOIN pg_depend ON objid = aggfnoid JOIN pg_proc p ON p.oid = aggfnoid WHERE proname <> 'bloom_map_agg' AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomx')")" \
	"$(sql "SELECT count(*) FROM pg_aggregate a JOIN pg_depend ON objid = aggfnoid JOIN pg_type t ON t.oid = aggtranstype JOIN pg_proc p ON p.oid = aggfnoid
		WHERE deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomx') AND typtype <> 'p' AND aggcombinefn <> 0 AND proparallel = 's'")"

# Rows are dealt to some shards, of which one is empty.  The states of the shards, combined, give what one server gives.
two_phases() { # name, aggregate, argument, shards, condition
	same "$1" t "$(sql "
		SELECT combined_agg('$2', state, NULL::bloomfilter) IS NOT DISTINCT FROM (SELECT ${2%%(*}($3) FROM rows WHERE $5)
		FROM (SELECT shard, (SELECT partial_agg('$2', $3) FROM rows WHERE n % $4 = shard AND $5) AS state FROM generate_series(0, $4) shard) s")"
}

for shards in 1 3 16; do
	for keys in 0 10 1000 100000; do
		two_phases "bloom_union_agg of probes: $keys keys, $shards shards" 'bloom_union_agg(bloomfilter)' 'bloomx_probe(n)' $shards "n <= $keys"
	done
	for layout in partitioned_blocked standard partitioned blocked hybrid counting rational variable_blocked; do
		two_phases "bloom_union_agg, $layout, $shards shards" 'bloom_union_agg(bloomfilter)' "bloom_add(bloom_empty(500, 0.01, '$layout'), n)" $shards "n <= 500"
		[ $layout = counting ] ||
			two_phases "bloom_intersection_agg, $layout, $shards shards" 'bloom_intersection_agg(bloomfilter)' "bloom_add_all(bloom_empty(500, 0.01, '$layout'), ARRAY[n, 7, 8])" $shards "n <= 500"
	done
	two_phases "bloom_union_agg with nulls, $shards shards" 'bloom_union_agg(bloomfilter)' 'CASE WHEN n % 2 = 0 THEN bloomx_probe(n) END' $shards "n <= 100"
done
same "bloom_union_agg of probes is bloom_agg" t "$(sql "SELECT bloom_union_agg(bloomx_probe(n)) = bloom_agg(n) FROM rows")"

# The states of bloom_agg itself, as text, unite to what one server gives.
for argument in "n" "n, 100000" "n, 100000, 0.001" "n, bloom_empty(100000, 0.01, ''standard'')" "n, NULL, 0.001"; do
	plain=$(echo "$argument" | sed "s/''/'/g")
	same "states of bloom_agg($plain)" t "$(sql "SELECT bloom_union_agg(state::bloomfilter) = (SELECT bloom_agg($plain) FROM rows) FROM (SELECT state_of($plain)::text AS state FROM rows GROUP BY n % 5) s")"
done
# A function whose argument is of any type must be told the type.  Without it there is an error, not a wrong filter.
same "bloom_agg without the type of its keys" "ERROR:  could not determine the type of the bloom filter key" \
	"$(sql "SELECT partial_agg('bloom_agg(anycompatible)', n) FROM rows" | head -n 1)"
tally
