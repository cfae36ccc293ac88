#!/bin/sh
# A damaged file of an index of access method bloomx gives an error instead of a wrong answer.
#
#     scripts/throwaway test/server/index_damage.sh
#
# Needs a server with bloomx in the PG* environment, PGDATA, and its programs first in PATH, as scripts/throwaway
# provides.  Stops that server and starts it; makes a database.  Prints "N passed, N failed"; the exit status is 0 if no
# check failed.
set -u

# shellcheck source=test/server/control.sh
. "$(dirname -- "$0")/control.sh"

# Many small indexes. The server is stopped, and in each index something is overwritten that describes its structure:
# in the metapage, the directory, or a page's header and tail. Every use of such an index must give the same answer
# as the table, or an error that calls the index damaged. (Data checksums guard the bits of signatures and the row
# addresses. If these are damaged, the server must merely survive.)
copies=120
sql -c "
	CREATE TABLE sound (id int, f bloomfilter);
	INSERT INTO sound SELECT i, bloom_agg((i * 7919 + j * j * 31) % 500) FROM generate_series(1, 300) i, generate_series(1, 20) j GROUP BY i;
	DO \$\$ BEGIN
		FOR i IN 1 .. $copies LOOP
			EXECUTE format('CREATE TABLE copy_%s (id int, f bloomfilter) WITH (autovacuum_enabled = off)', i);
			EXECUTE format('CREATE INDEX copy_%1\$s_f ON copy_%1\$s USING bloomx (f) WITH (signature_bits = 1024, hash_functions = 8, pending_limit = 16)', i);
			EXECUTE format('INSERT INTO copy_%s SELECT id, f FROM sound', i);
			EXECUTE format('DELETE FROM copy_%s WHERE id %% 7 = 0', i);
		END LOOP;
	END \$\$;
	CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS \$\$
	DECLARE answer text;
	BEGIN
		EXECUTE statement INTO answer;
		RETURN coalesce(answer, 'ok');
	EXCEPTION WHEN data_corrupted OR index_corrupted THEN
		RETURN 'damaged';
	WHEN OTHERS THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END \$\$" -c "CHECKPOINT" || exit 1
sql -c "SELECT pg_relation_filepath('copy_' || i || '_f') FROM generate_series(1, $copies) i" >"$work/files"
control "$PGDATA" -m fast stop || exit 1
python3 - "$PGDATA" "$work/files" <<'PYTHON' || exit 1
import random, struct, sys

BLOCK, TAIL = 8192, 16
random.seed(20261122)
for number, line in enumerate(open(sys.argv[2])):
    with open(sys.argv[1] + "/" + line.strip(), "r+b") as file:
        data = file.read()
        pages = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
        kinds = [struct.unpack_from("<H", page, BLOCK - 4)[0] for page in pages]
        kind = number % 6
        if kind < 2:  # the metapage's fields that are in use, and behind them
            page, offset = 0, random.randrange(24, 600)
        elif kind == 2:
            page, offset = 0, random.choice([random.randrange(600, BLOCK - TAIL), BLOCK - TAIL - random.randrange(1, 56)])
        elif kind == 3:  # the directory
            page, offset = kinds.index(2), random.randrange(24, 24 + 24 * 12)
        elif kind == 4:  # headers (except the LSN) and tails
            page, offset = random.randrange(len(pages)), random.choice([random.randrange(10, 24), BLOCK - random.randrange(1, TAIL + 1)])
        else:  # contents
            page, offset = random.choice([i for i, k in enumerate(kinds) if k in (3, 4)]), random.randrange(24, BLOCK - TAIL)
        size = min(random.choice([1, 2, 4, 8]), BLOCK - offset)
        value = random.choice([b"\xff" * size, bytes(size), random.randbytes(size), bytes([data[page * BLOCK + offset] ^ 1])])
        file.seek(page * BLOCK + offset)
        file.write(value)
PYTHON
control "$PGDATA" -l "$BLOOMX_LOG" start || exit 1
for copy in $(seq 1 $copies); do
	contents=
	[ $(((copy - 1) % 6)) -ne 5 ] || contents='contents '
	sql -v ON_ERROR_STOP=0 -v copy="$copy" -c "SET statement_timeout = '60s'" -f - 2>&1 <<-SQL | sed "s/^psql:[^ ]* //; s/^/$copy $contents/" >>"$work/damaged"
		SELECT 'info', attempt('SELECT ''ok'' FROM bloomx_index_info(''copy_${copy}_f'')');
		SELECT 'check', attempt('SELECT ''ok'' FROM bloomx_check_index(''copy_${copy}_f'')');
		SELECT 'look up', attempt('SELECT CASE WHEN (SELECT count(*) FROM copy_$copy WHERE f @> k) = (SELECT count(*) FROM copy_$copy WHERE (f @> k) IS TRUE)
			THEN ''ok'' ELSE ''wrong'' END FROM generate_series(1, 500, 7) k ORDER BY 1 DESC LIMIT 1');
		SELECT 'insert', attempt('WITH added AS (INSERT INTO copy_$copy SELECT id, f FROM sound RETURNING id) SELECT ''ok'' FROM (SELECT count(*) FROM added) a');
		SELECT 'look up again', attempt('SELECT CASE WHEN (SELECT count(*) FROM copy_$copy WHERE f @> k) = (SELECT count(*) FROM copy_$copy WHERE (f @> k) IS TRUE)
			THEN ''ok'' ELSE ''wrong'' END FROM generate_series(1, 500, 7) k ORDER BY 1 DESC LIMIT 1');
		VACUUM copy_$copy;
	SQL
done
! grep -vE '\|(ok|damaged)$|^[0-9]+ contents look up( again)?\|wrong$|HINT:  REINDEX it|CONTEXT:  |DETAIL:  ' "$work/damaged" |
	grep -vE 'ERROR:  (unexpected (contents|page type [0-9]+) at block [0-9]+ of index "copy_[0-9]+_f"|invalid heap TID [(][0-9]+,[0-9]+[)] in index "copy_[0-9]+_f"|invalid page in block|could not read block)'
ok "a damaged index gives the right answer or says that it is damaged" $?
noticed=$(grep -c '|damaged' "$work/damaged")
[ "$noticed" -gt $copies ]
ok "damage is noticed ($noticed of $((5 * copies)) attempts)" $?

finish
