#!/bin/sh
# statement_timeout ends every call with any value, whatever its header says and however its contents were chosen.
#
#     scripts/throwaway test/server/timeout.sh
#
# Needs a server with bloomx in the PG* environment and its psql first in PATH, and python3.  Calls every function of
# the extension that takes a filter, every aggregate, every operator and every conversion with hostile values of up to
# 64 MB under a statement_timeout of 200 ms.  Each call must return within a second of processor time, with a result, an error or the
# cancellation; on a slow machine within twice the time that PostgreSQL itself takes to decode a text of 64 MB, which
# nothing interrupts either.  Prints "N passed, N failed".
set -u

# shellcheck source=test/tally.sh
. "$(dirname -- "$0")/../tally.sh"

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/bloomx_timeout.XXXXXX") || exit 1
chmod 755 "$work"
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export PGOPTIONS='-c client_min_messages=warning -c jit=off -c extra_float_digits=0'

# ---- the values, written as bytes and loaded with COPY ----

python3 - "$here" "$work" <<'EOF' || exit 1
import array, binascii, os, struct, sys

sys.path.insert(0, os.path.join(sys.argv[1], "..", "..", "clients", "python"))
import bloomx

LAYOUTS = {"hashes": 0, "standard": 1, "partitioned": 2, "blocked": 3, "partitioned_blocked": 4, "hybrid": 5, "rational": 6,
           "variable_blocked": 7, "scalable": 8, "dynamic_blocked": 9, "age_partitioned": 10, "counting": 11, "binary_fuse": 12}
INTEGER, HASH, NONE = 1, 254, 0


def header(layout, blocks, parts, part_bits, probes, key_type=INTEGER, capacity=2**63 - 1, pending=0):
    return struct.pack("<4sBBBBIQQQHHHBB", b"BLX\x01", LAYOUTS[layout], key_type, 0, 0, blocks, 0, capacity, part_bits,
                       parts, probes, 0, 0, pending)


def hashes(values, key_type, pending=None):
    words = array.array("Q", sorted(set(values)))
    if sys.byteorder == "big":
        words.byteswap()
    planned = pending or (0, 0, 0, 0)
    return header("hashes", *planned, key_type=key_type, capacity=0) + struct.pack("<Q", len(words)) + words.tobytes()


def chains(blocks, words_of_block, share):
    """dynamic_blocked: every home block has a chain of one overflow block, or all of them share one."""
    size = words_of_block + 1
    body = array.array("Q", [2, 32768, 32768, blocks + 2 * blocks, blocks + 2 * blocks])
    for block in range(blocks):
        link = blocks + 2 * (0 if share else block)
        body.extend([link << 37] + [0] * words_of_block)
    for block in range(blocks):
        body.extend([1 << 32] + [0] * (2 * size - 1))
    if sys.byteorder == "big":
        body.byteswap()
    return header("dynamic_blocked", blocks, 1, 64 * words_of_block, 4) + body.tobytes()


def sealed(blocks, fingerprint_bits, value_bits):
    """binary_fuse of blocks of a million slots: whatever is in them, it is a filter."""
    bits = fingerprint_bits + value_bits
    words = [18 | value_bits << 8, blocks << 19] + [1] * blocks
    return header("binary_fuse", blocks, bits, 1 << 20, 4) + struct.pack(f"<{len(words)}Q", *words) + b"\x5a" * (bits << 17) * blocks + bytes(8)


M = 1 << 20
values = {
    # small, with a capacity so large that no loop may count up to it
    "capacity standard": header("standard", 1, 1, 512, 7) + bytes(64),
    "capacity blocked": header("blocked", 2, 1, 65536, 64) + bytes(16384),
    "capacity blocked large": header("blocked", 2, 1, 1 << 27, 64) + bytes(2 << 24),
    "capacity default": header("partitioned_blocked", 4, 64, 64, 1) + bytes(2048),
    "capacity one block": header("partitioned_blocked", 1, 1, 64, 1) + bytes(8),
    "capacity counting": header("counting", 4, 8, 64, 1) + bytes(8 + 4 * 4 * 8 * 8),
    "capacity rational": header("rational", 1, 1, 512, 7) + bytes(64),
    "capacity variable": header("variable_blocked", 1, 1, 1000, 7) + bytes(128),
    # 64 MB of every layout, full: no loop ends early
    "full standard": header("standard", 1, 1, 512 * M, 7, capacity=1) + b"\xff" * (64 * M),
    "full partitioned": header("partitioned", 1, 8, 64 * M, 1, capacity=1) + b"\xff" * (64 * M),
    "full hybrid": header("hybrid", 1, 4, 128 * M, 2, capacity=1) + b"\xff" * (64 * M),
    "full blocked": header("blocked", M, 1, 512, 7, capacity=1) + b"\xff" * (64 * M),
    "full default": header("partitioned_blocked", M, 8, 64, 1, capacity=1) + b"\xff" * (64 * M),
    "full default of 7": header("partitioned_blocked", M, 7, 64, 1, capacity=1) + b"\xff" * (56 * M),
    "full counting": header("counting", M // 4, 8, 64, 1, capacity=1) + bytes(8) + b"\xff" * (64 * M),
    "full variable": header("variable_blocked", 1, 1, 512 * M - 3, 7, capacity=1) + b"\xff" * (64 * M - 8) + struct.pack("<Q", 2**61 - 1),
    "full sealed": sealed(64, 8, 0),
    "full sealed, odd bits": sealed(46, 11, 0),
    "full map": sealed(16, 8, 24),
    # to combine with the full ones at another size
    "empty partitioned": header("partitioned", 1, 8, 4 * M, 1, capacity=1) + bytes(4 * M),
    "empty hybrid": header("hybrid", 1, 4, 32, 2, capacity=1) + bytes(32),
    "empty default": header("partitioned_blocked", 1, 8, 64, 1, capacity=1) + bytes(64),
    "window": header("age_partitioned", 1, 1034, 64 * 1024, 1, capacity=1) + struct.pack("<5Q", 10, 1 << 40, 5, 5, 0) + b"\x55" * (1034 * 8192),
    # crowded hashes: consecutive ones, and two heaps; with a key type and without
    "ordered hashes": hashes(range(1, 4 * M), HASH),
    "ordered hashes, no type": hashes(range(1, M), NONE),
    "ordered hashes of integers": hashes(range(1, 4 * M), INTEGER),
    "other hashes of integers": hashes(range(4 * M, 8 * M), INTEGER),
    "two heaps": hashes([h | (h & 1) << 63 for h in range(1, 2 * M)], INTEGER),
    "planned hashes": hashes(range(1, M), INTEGER, (64, 8, 64, 1)),
    # chains: valid ones, and one that all blocks share
    "chains": chains(M // 2, 1, False),
    "shared chain": chains(M // 2, 1, True),
}
values["planned hashes"] = values["planned hashes"][:43] + b"\x04" + values["planned hashes"][44:]
with open(os.path.join(sys.argv[2], "values"), "wb") as out:
    out.write(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
    for name, value in values.items():
        out.write(struct.pack(">hi", 2, len(name)) + name.encode() + struct.pack(">i", len(value)) + value)
    out.write(struct.pack(">h", -1))
EOF

psql -XqAt -v ON_ERROR_STOP=1 -c "
	CREATE EXTENSION bloomx;
	CREATE TABLE wire (name text, bytes bytea);
	ALTER TABLE wire ALTER bytes SET STORAGE external;
	CREATE TABLE filters (name text PRIMARY KEY, f bloomfilter);
	CREATE TABLE arrays AS SELECT array_agg(x) AS a FROM generate_series(1, 100000) x;
	CREATE AGGREGATE open_state(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter)" || exit 1
psql -XqAt -v ON_ERROR_STOP=1 -c "\\copy wire FROM '$work/values' (FORMAT binary)" || exit 1
rm -f "$work/values"

# Values that the extension accepts become stored filters.  The others stay bytes, which must be refused in time.
psql -XqAt -v ON_ERROR_STOP=1 <<'EOF' || exit 1
ALTER TABLE filters ALTER f SET STORAGE external;
DO $$
DECLARE
	w record;
BEGIN
	FOR w IN SELECT name FROM wire LOOP
		BEGIN
			INSERT INTO filters SELECT name, bytes::bloomfilter FROM wire WHERE name = w.name;
		EXCEPTION WHEN data_exception OR data_corrupted THEN
			RAISE LOG '%: %', w.name, SQLERRM;
		END;
	END LOOP;
END $$;
-- a filter as a constant of the query: folded when it is planned
CREATE FUNCTION value(text) RETURNS bloomfilter IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT f FROM filters WHERE name = $1); END';
CREATE TABLE texts AS SELECT name, f::text AS t FROM filters WHERE name IN ('full default', 'ordered hashes', 'chains', 'two heaps');
EOF

# ---- the calls, one per line: the name, a tab and the statement ----

psql -XqAt -F "$(printf '\t')" -v ON_ERROR_STOP=1 >"$work/calls" <<'EOF' || exit 1
CREATE TEMP TABLE f AS SELECT name, (ARRAY['hashes', 'standard', 'partitioned', 'blocked', 'partitioned_blocked', 'hybrid', 'rational', 'variable_blocked', 'scalable', 'dynamic_blocked', 'age_partitioned', 'counting', 'binary_fuse'])[1 + get_byte(substring(bytes FROM 5 FOR 1), 0)] AS layout FROM wire WHERE name IN (SELECT name FROM filters);
-- every function of the extension that takes a filter and can be called, except the inner ones of aggregates
CREATE TEMP TABLE functions AS
SELECT p.oid, p.proname, p.proargtypes::oid[] AS types, (SELECT count(*) FROM unnest(p.proargtypes) t WHERE t = 'bloomfilter'::regtype) AS filters
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomx') AND p.prokind = 'f' AND p.prorettype <> 'trigger'::regtype
	AND 'bloomfilter'::regtype = ANY (p.proargtypes) AND NOT 'internal'::regtype = ANY (p.proargtypes) AND p.proname NOT LIKE '%\_transfn' AND p.proname NOT LIKE '%\_finalfn'
	AND p.proname NOT IN ('bloomfilter_lt', 'bloomfilter_le', 'bloomfilter_gt', 'bloomfilter_ge', 'bloomfilter_ne');	-- what bloomfilter_cmp does
SELECT format('%s of %s%s', fn.oid::regprocedure, a.name, CASE WHEN fn.filters > 1 THEN ' and ' || b.name END),
	format('SELECT count(x) FROM (SELECT %I(%s) AS x FROM filters a, filters b, arrays WHERE a.name = %L AND b.name = %L) s', fn.proname,
		(SELECT string_agg(CASE t::regtype::text
			WHEN 'bloomfilter' THEN CASE WHEN i = array_position(fn.types, 'bloomfilter'::regtype::oid) THEN 'a.f' ELSE 'b.f' END
			WHEN 'anycompatible' THEN '5' WHEN 'anycompatiblearray' THEN 'a' WHEN 'text' THEN quote_literal('f') WHEN 'boolean' THEN 'true'
			WHEN 'double precision' THEN '0.9::float8' ELSE '1' END, ', ' ORDER BY i)
		 FROM unnest(fn.types) WITH ORDINALITY u(t, i)), a.name, b.name)
FROM functions fn, f a, f b
WHERE CASE WHEN fn.filters = 1 THEN a.name = b.name ELSE a.layout = b.layout OR b.name = 'capacity one block' END;

SELECT 'bytea to filter of ' || name, format('SELECT count(bytes::bloomfilter) FROM wire WHERE name = %L', name) FROM wire;
SELECT 'text to filter of ' || name, format('SELECT count(t::bloomfilter) FROM texts WHERE name = %L', name) FROM texts;
SELECT c || ' of ' || name, format(statement, name)
FROM filters, (VALUES
	('text', 'SELECT f FROM filters WHERE name = %L'),
	('binary COPY', 'COPY (SELECT f FROM filters WHERE name = %L) TO STDOUT (FORMAT binary)'),
	('bloom_union_agg', 'SELECT count(f) FROM (SELECT bloom_union_agg(f) f FROM filters, generate_series(1, 3) WHERE name = %L) s'),
	('bloom_intersection_agg', 'SELECT count(f) FROM (SELECT bloom_intersection_agg(f) f FROM filters, generate_series(1, 3) WHERE name = %L) s'),
	('template', 'SELECT count(f) FROM (SELECT bloom_agg(x, f) f FROM filters, generate_series(1, 1000) x WHERE name = %L) s'),
	('DISTINCT', 'SELECT count(DISTINCT f) FROM filters, generate_series(1, 2) WHERE name = %L'),
	('GROUP BY', 'SELECT count(*) FROM (SELECT f FROM filters, generate_series(1, 2) WHERE name = %L GROUP BY f) s'),
	('constant', 'SELECT count(*) FROM generate_series(1, 10) k WHERE value(%L) @> k'),
	('ANALYZE', 'CREATE TEMP TABLE t AS SELECT f FROM filters WHERE name = %L \; ANALYZE t \; DROP TABLE t')) v(c, statement);
-- an index of every kind that takes filters
SELECT am.amname || ' index of ' || name, format('CREATE INDEX i ON filters USING %I (f) WHERE name = %L', am.amname, name)
FROM filters, pg_opclass o JOIN pg_am am ON am.oid = o.opcmethod WHERE o.opcintype = 'bloomfilter'::regtype AND o.opcdefault;
-- keys whose hashes begin alike
SELECT 'bloom_agg of keys with one first byte', 'SELECT count(f) FROM (SELECT bloom_agg(k) f FROM keys) s'
UNION ALL SELECT 'their open state', 'SELECT count(f) FROM (SELECT open_state(k) f FROM keys) s'
UNION ALL SELECT 'a probe for them', 'SELECT count(bloomx_probe_all(a)) FROM (SELECT array_agg(k) a FROM keys) s';
EOF
psql -XqAt -v ON_ERROR_STOP=1 -c "
	CREATE TABLE keys AS SELECT k FROM generate_series(1::bigint, 10000000) k WHERE bloom_hash(k) BETWEEN 0 AND (1::bigint << 56) - 1" || exit 1

# ---- and how long they take ----

psql -XqAt -v ON_ERROR_STOP=1 -c "CREATE TABLE plain AS SELECT encode(bytes, 'base64') AS t FROM wire WHERE name = 'full default'" || exit 1

# Processor time counts, not the clock: what other programs do meanwhile makes no call late.
limit=$(psql -XqAt -v ON_ERROR_STOP=1 <<'SQL'
CREATE FUNCTION processor_ms() RETURNS bigint VOLATILE LANGUAGE sql AS $$
	-- clock ticks, a hundred a second, of this process for itself and in the kernel
	SELECT 10 * (fields[12]::bigint + fields[13]::bigint) FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat'), '^.*\) ', ''), ' ') fields $$;
SELECT processor_ms() AS before \gset
SELECT count(decode(t, 'base64')) FROM plain \g /dev/null
SELECT greatest(1000, 2 * (processor_ms() - :before));
SQL
) || exit 1
[ "$limit" -eq 1000 ] || echo "# a slow machine: calls may take $limit ms" >&2

# Runs files of calls, each in a session of its own, all at once.  Prints the time and the name of each call that took
# longer than the limit.
slow() {
	for calls; do
		run "$calls" &
	done
	wait
	for calls; do
		awk -F '[ \t]' -v limit="$limit" '/^>/ { name = substr($0, 2) } /^Time: / && $2 >= limit { printf "%d ms: %s\n", $2, name }' "$calls.times"
	done
}

run() {
	awk -F '\t' '{ printf "\\echo >%s\nSELECT processor_ms() AS before \\gset\n%s;\nSELECT processor_ms() - :before AS ms \\gset\n\\echo Time: :ms ms\n", $1, $2 }
		$1 ~ / index of / { print "DROP INDEX IF EXISTS i;" }
		$1 ~ /^ANALYZE/ { print "DROP TABLE IF EXISTS t;" }' "$1" >"$1.script"
	# a server process that dies ends the run
	PGOPTIONS="$PGOPTIONS -c statement_timeout=200ms" psql -XqAt -v ON_ERROR_STOP=0 \
		-c '\o /dev/null' -f "$1.script" >"$1.times" 2>"$1.errors" || echo "1000000 psql ended: $(tail -n 1 "$1.errors")"
}

# Indexes are made and dropped while no other session waits for their locks.  Two sessions share the other calls.
total=$(wc -l <"$work/calls")
awk -F '\t' -v dir="$work" '{ print >(dir ($1 ~ / index of / ? "/indexes" : ++n % 2 ? "/odd" : "/even")) }' "$work/calls"
slow "$work/indexes" >"$work/late"
slow "$work/odd" "$work/even" >>"$work/late"
calls_timed=$(cat "$work/indexes.times" "$work/odd.times" "$work/even.times" | grep -c '^Time: ')
cancelled=$(cat "$work/indexes.errors" "$work/odd.errors" "$work/even.errors" | grep -c 'canceling statement')
# A call that is late is late each time; one whose processor others share may take twice as long once.
for _ in 1 2; do
	[ -s "$work/late" ] || break
	awk -F '\t' 'NR == FNR { sub(/^[0-9]+ ms: /, ""); late[$0] = 1; next } $1 in late' "$work/late" "$work/calls" >"$work/again"
	slow "$work/again" >"$work/late"
done
late=$(grep -c . "$work/late")
cat "$work/late"
[ "$calls_timed" -ge "$total" ]
ok "all $total calls were made ($cancelled cancelled)" $?
same "every call returned in time" 0 "$late"
same "the server is alive" 1 "$(psql -XqAt -c 'SELECT 1')"
same "only the shared chain was refused" "shared chain" "$(psql -XqAt -c "SELECT string_agg(name, ', ') FROM wire WHERE name NOT IN (SELECT name FROM filters)")"
tally
