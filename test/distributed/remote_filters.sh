#!/bin/sh
# Runtime filters that are sent to the servers of foreign tables: the same rows as without them, what is sent, and what is
# not.  The servers may be of two versions; each asks the other.
#
#     scripts/throwaway test/distributed/remote_filters.sh                  two servers of the version at hand
#     test/distributed/remote_filters.sh OLD_BINDIR NEW_BINDIR              bloomx is installed for both
#
# Makes its own clusters in a temporary directory.  Ends with "N passed, N failed".
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=test/tally.sh
. "$here/../tally.sh"
# shellcheck source=test/distributed/clusters.sh
. "$here/clusters.sh"
export PGHOST="$work" PGUSER=postgres
unset PGPORT PGDATABASE
make_server old "$old" 5401
make_server new "$new" 5402

# Filters forced on everywhere, and plans in which they can work.
forced='-c client_min_messages=warning -c bloomx.runtime_filter_min_rows=0 -c bloomx.runtime_filter_min_removed=0 -c enable_nestloop=off'
hash_joins='-c enable_mergejoin=off'
merge_joins='-c enable_hashjoin=off'
joins=$hash_joins

# Runs SQL here, with filters on or off.
run() { # on|off, SQL
	PGCLIENTENCODING=UTF8 PGOPTIONS="$forced $joins -c bloomx.runtime_filter=$1" "$bin/psql" -p "$port" -d postgres -XqAt -v ON_ERROR_STOP=1 -c "LOAD 'bloomx'" -c "$2" 2>&1
}
there() { # database, SQL
	PGCLIENTENCODING=UTF8 PGOPTIONS='-c client_min_messages=warning' "$other_bin/psql" -p "$other_port" -d "$1" -XqAt -v ON_ERROR_STOP=1 -c "$2"
}
plan() { run on "EXPLAIN (VERBOSE, COSTS OFF) $1"; }
# The rows that come from the remote server.
rows() { # on|off, query
	run "$1" "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $2" | sed -n 's/.*Foreign Scan.*actual rows=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

# The same rows, and few of them come.
sent() { # what, query
	same "$name: $1: the rows" "$(run off "$2")" "$(run on "$2")"
	plan "$2" | grep -q 'Remote SQL: .*<@'
	ok "$name: $1: the filter is in the remote query" $?
	without=$(rows off "$2")
	with=$(rows on "$2")
	[ "$with" -lt $((without / 2)) ]
	ok "$name: $1: $with rows come instead of $without" $?
}
# The same rows, by the same remote query.
not_sent() { # what, query
	same "$name: $1: the rows" "$(run off "$2")" "$(run on "$2")"
	! plan "$2" | grep -q 'Remote SQL: .*<@'
	ok "$name: $1: no filter is in the remote query" $?
}
# Several statements, with the same output.
alike() { same "$name: $1" "$(run off "$2")" "$(run on "$2")"; }

remote_tables() {
	there postgres "
	CREATE EXTENSION bloomx;
	CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'odd', 'even');
	CREATE TABLE facts (id int, i2 int2, k int, i8 int8, d date, ts timestamp, tz timestamptz, o oid, t text, v varchar(40), n numeric, f float8,
		u uuid, b char(8), y bytea, e mood, j jsonb, a int[], \"odd \"\" WHERE name\" int, pad text);
	INSERT INTO facts SELECT g, x, x, x, DATE '2020-01-01' + x, TIMESTAMP '2020-01-01' + x * INTERVAL '1 hour', TIMESTAMPTZ '2020-01-01' + x * INTERVAL '1 hour', x,
		'key é ' || x, 'key é ' || x, x * 1.50, x - 0.5, md5(x::text)::uuid, 'b' || x, decode(md5(x::text), 'hex'), (enum_range(NULL::mood))[1 + x % 5], to_jsonb(x), ARRAY[x], x, repeat('p', 20)
	FROM (SELECT g, CASE WHEN g % 13 <> 0 THEN g % 400 END x FROM generate_series(1, 4000) g) s;
	CREATE TABLE few AS SELECT * FROM facts WHERE id <= 60;
	CREATE VIEW failing AS SELECT id, CASE WHEN id = 3900 THEN 1 / (id - 3900) ELSE k END AS k FROM facts;
	CREATE VIEW slow AS SELECT id, k, CASE WHEN id > 3800 THEN pg_sleep(30)::text END AS s FROM facts;
	CREATE TABLE changed AS SELECT id, k, pad FROM facts"
	there postgres "CREATE DATABASE bare"
	there postgres "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0"
	there bare "CREATE TABLE facts AS SELECT g AS id, g % 400 AS k FROM generate_series(1, 4000) g"
	there latin "CREATE EXTENSION bloomx; CREATE TABLE facts AS SELECT g AS id, 'key é ' || g % 400 AS t FROM generate_series(1, 4000) g"
}
local_tables() {
	columns='id int, i2 int2, k int, i8 int8, d date, ts timestamp, tz timestamptz, o oid, t text, v varchar(40), n numeric, f float8, u uuid, b char(8), y bytea, e mood, j jsonb, a int[], odd int OPTIONS (column_name $$odd " WHERE name$$), pad text'
	run off "
	CREATE EXTENSION bloomx;
	CREATE EXTENSION postgres_fdw;
	CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'odd', 'even');
	CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'postgres', extensions 'bloomx');
	CREATE SERVER async FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'postgres', extensions 'bloomx', async_capable 'true', fetch_size '10');
	CREATE SERVER async2 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'postgres', extensions 'bloomx', async_capable 'true', fetch_size '10');
	CREATE SERVER silent FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'postgres');
	CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'bare', extensions 'bloomx');
	CREATE SERVER latin FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work', port '$other_port', dbname 'latin', extensions 'bloomx');
	CREATE USER MAPPING FOR CURRENT_USER SERVER other OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER async OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER async2 OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER silent OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER bare OPTIONS (user 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER latin OPTIONS (user 'postgres');
	CREATE FOREIGN TABLE facts ($columns) SERVER other;
	CREATE FOREIGN TABLE again ($columns) SERVER async OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE few ($columns) SERVER other;
	CREATE FOREIGN TABLE facts_silent (id int, k int) SERVER silent OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE facts_bare (id int, k int) SERVER bare OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE facts_latin (id int, t text) SERVER latin OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE mistaken (id int, k text) SERVER other OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE mistaken_number (id int, k numeric) SERVER other OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE near (id int, k int) SERVER other OPTIONS (table_name 'facts', use_remote_estimate 'true');
	CREATE FOREIGN TABLE failing (id int, k int) SERVER other;
	CREATE FOREIGN TABLE slow (id int, k int, s text) SERVER other;
	CREATE FOREIGN TABLE changed (id int, k int, pad text) SERVER other;
	CREATE TABLE parts (id int, k int, t text) PARTITION BY LIST (id);
	CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) SERVER async OPTIONS (table_name 'facts');
	CREATE FOREIGN TABLE parts_2 PARTITION OF parts FOR VALUES IN (2) SERVER async2 OPTIONS (table_name 'facts');
	CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN (3);
	INSERT INTO parts_3 SELECT 3, g % 300, 'here' FROM generate_series(1, 500) g;
	CREATE TABLE dim AS SELECT x AS id, x::int2 AS i2, x AS k, x::int8 AS i8, DATE '2020-01-01' + x AS d, TIMESTAMP '2020-01-01' + x * INTERVAL '1 hour' AS ts,
		TIMESTAMPTZ '2020-01-01' + x * INTERVAL '1 hour' AS tz, x::oid AS o, 'key é ' || x AS t, ('key é ' || x)::varchar(40) AS v, x * 1.5 AS n, x - 0.5::float8 AS f,
		md5(x::text)::uuid AS u, ('b' || x)::char(8) AS b, decode(md5(x::text), 'hex') AS y, CASE WHEN x < 50 THEN 'ok'::mood END AS e, to_jsonb(x) AS j, ARRAY[x] AS a, x % 7 = 0 AS gold
		FROM (SELECT CASE WHEN g % 11 <> 0 THEN g * 2 END AS x FROM generate_series(0, 80) g) s;
	INSERT INTO dim SELECT * FROM dim WHERE id < 20;
	CREATE FUNCTION equal_in_lower(a text, b text) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT COST 1 AS 'BEGIN RETURN lower(a) = lower(b); END';
	CREATE FUNCTION hash_in_lower(a text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN hashtext(lower(a)); END';
	CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = equal_in_lower, COMMUTATOR = ===, HASHES, RESTRICT = eqsel, JOIN = eqjoinsel);
	CREATE OPERATOR CLASS in_lower FOR TYPE text USING hash AS OPERATOR 1 ===, FUNCTION 1 hash_in_lower(text);
	CREATE TABLE many AS SELECT g AS k FROM generate_series(1, 2000) g;
	CREATE TABLE small AS SELECT g AS id, g * 3 AS lo FROM generate_series(0, 30) g;
	CREATE TABLE target AS SELECT g AS id, g AS k, 0 AS n FROM generate_series(1, 300) g;
	ANALYZE" || exit 1
	for table in facts again few facts_silent facts_latin facts_bare failing changed; do
		run off "ANALYZE $table" >/dev/null
	done
}

cases() {
	sums='count(*), sum(f.id)'

	# ---- types ----
	for key in i2 k i8 d ts tz o t v n f u b y; do
		sent "key $key" "SELECT $sums FROM facts f JOIN dim d USING ($key) WHERE gold OR d.id < 30"
	done
	sent "key e" "SELECT $sums FROM facts f WHERE e IN (SELECT e FROM dim WHERE gold OR id < 30)"
	sent "int4 and int8" "SELECT $sums FROM facts f JOIN dim d ON f.k = d.i8 WHERE gold"
	sent "int8 and int2" "SELECT $sums FROM facts f JOIN dim d ON f.i8 = d.i2 WHERE gold"
	sent "text and varchar" "SELECT $sums FROM facts f JOIN dim d ON f.t = d.v WHERE gold"
	sent "an expression on the inner side" "SELECT $sums FROM facts f JOIN dim d ON f.k = d.id + 1 WHERE gold"
	sent "two keys" "SELECT $sums FROM facts f JOIN dim d USING (k, t) WHERE gold"
	sent "a column of another name there" "SELECT count(*), sum(f.k) FROM facts f JOIN dim d ON f.odd = d.k WHERE gold"
	not_sent "hashes of jsonb are not promised" "SELECT $sums FROM facts f JOIN dim d USING (j) WHERE gold"
	not_sent "arrays have hashes of their own" "SELECT $sums FROM facts f JOIN dim d USING (a) WHERE gold"
	not_sent "an expression on the outer side" "SELECT $sums FROM facts f JOIN dim d ON f.k + 1 = d.k WHERE gold"
	not_sent "an equality that is not the type's own" "SELECT $sums FROM facts f JOIN dim d ON f.t === d.t WHERE gold"
	not_sent "another collation, that calls different strings equal" "SELECT $sums FROM facts f JOIN dim d ON f.t = d.t COLLATE loose WHERE gold"

	# ---- joins ----
	sent "semijoin" "SELECT $sums FROM facts f WHERE k IN (SELECT k FROM dim WHERE gold)"
	sent "two joins" "SELECT $sums FROM facts f JOIN dim d USING (k) JOIN small s ON s.id = f.i8 WHERE gold"
	sent "right join" "SELECT count(f.id), count(*), sum(d.id) FROM facts f RIGHT JOIN (SELECT * FROM dim WHERE gold) d USING (k)"
	not_sent "left join" "SELECT $sums, count(d.id) FROM facts f LEFT JOIN (SELECT * FROM dim WHERE gold) d USING (k)"
	not_sent "antijoin" "SELECT $sums FROM facts f WHERE NOT EXISTS (SELECT FROM dim d WHERE d.k = f.k AND gold)"
	sent "no row matches" "SELECT $sums FROM facts f JOIN dim d ON f.k = d.k + 100000"
	alike "an empty inner side" "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE d.id < 0"
	alike "NULLs only" "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE d.k IS NULL"
	sent "two foreign tables" "SELECT $sums FROM facts f WHERE k IN (SELECT k FROM again WHERE id < 20)"
	not_sent "a join that is sent as a whole" "SELECT count(*), sum(f.id) FROM near f JOIN near g USING (id) WHERE g.k < 10"
	sent "whole rows" "SELECT count(*), md5(string_agg(w::text, ',' ORDER BY w.id, d.id)) FROM facts w JOIN dim d USING (k) WHERE gold"
	sent "LIMIT above" "SELECT f.id FROM facts f JOIN dim d USING (k) WHERE gold ORDER BY f.id, d.id LIMIT 7 OFFSET 3"
	not_sent "LIMIT below" "SELECT count(*), sum(f.id) FROM (SELECT * FROM facts ORDER BY id LIMIT 500) f JOIN dim d USING (k) WHERE gold"
	sent "conditions that are sent, with quotes and keywords" "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold AND f.t <> 'it''s ORDER BY ( E''' AND f.t <> E'\\\\\\\\ FOR UPDATE \\\\\\\\' AND f.pad <> ' WHERE ('"
	sent "conditions that stay here" "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold AND f.e IN ('ok', 'odd')"
	not_sent "a volatile condition that stays here" "SELECT count(*) > 0 FROM facts f JOIN dim d USING (k) WHERE gold AND f.id > random() - 1"
	joins=$merge_joins
	sent "a merge join" "SELECT $sums FROM dim d JOIN facts f USING (k) WHERE gold"
	alike "rescans of a merge join with other keys" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM dim d JOIN facts f USING (k) WHERE d.id > s.lo AND d.id < s.lo + 20 OFFSET 0) l ORDER BY 1"
	alike "rescans of a merge join of few rows" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM (SELECT DISTINCT k FROM dim WHERE id > s.lo AND id < s.lo + 20) d JOIN few f USING (k) OFFSET 0) l ORDER BY 1"
	joins=$hash_joins
	alike "rows in order" "SET enable_sort = off; SELECT f.id, f.k FROM facts f JOIN dim d USING (k) WHERE gold ORDER BY f.k, f.id, d.id"

	# ---- partitions ----
	sent "partitions, asynchronously" "SELECT count(*), sum(p.k) FROM parts p JOIN dim d USING (k) WHERE gold"
	sent "partitions, one after the other" "SELECT count(*), sum(p.k) FROM parts p JOIN dim d USING (k) JOIN small s ON s.id = p.k"
	run on "EXPLAIN (COSTS OFF) SELECT count(*) FROM parts p JOIN dim d USING (k)" | grep -q 'Async Foreign Scan'
	ok "$name: the scans are asynchronous" $?
	alike "asynchronous partitions, scanned again" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(p.k) AS m FROM parts p JOIN dim d USING (k) WHERE d.id > s.lo OFFSET 0) l ORDER BY 1"
	alike "asynchronous partitions that the keys exclude" "SELECT count(*), sum(p.k) FROM parts p JOIN small s ON s.id = p.id AND s.lo = 9"
	same "$name: partitions that the keys exclude are not asked" 2 "$(run on "SET enable_async_append = off; SELECT count(*) FROM parts p JOIN small s ON s.id = p.id AND s.lo = 9; SELECT count(*) FROM bloomx_last_runtime_filters() WHERE partitions_skipped = 1 AND rows_checked = 0 AND bytes_sent = 0" | tail -n 1)"

	# ---- the same scan again, with other keys ----
	for table in facts few; do
		alike "rescans of $table with other keys" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM $table f JOIN dim d USING (k) WHERE d.id > s.lo AND d.id < s.lo + 20 OFFSET 0) l ORDER BY 1"
		alike "rescans of $table with other keys of the same rows" "BEGIN; ALTER FOREIGN TABLE $table OPTIONS (ADD fetch_size '100000'); SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM $table f JOIN dim d ON f.k = d.k + s.lo WHERE gold OFFSET 0) l ORDER BY 1; ROLLBACK"
		alike "rescans of $table with the same keys" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM (SELECT f.* FROM $table f JOIN dim d USING (k) WHERE gold OFFSET 0) f WHERE f.k > s.lo OFFSET 0) l ORDER BY 1"
		alike "rescans of $table in many batches" "SET work_mem = '64kB'; SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM $table f JOIN (SELECT d.*, repeat('x', 4000) AS pad FROM dim d, generate_series(1, 4)) d USING (k) WHERE d.id > s.lo AND d.id < s.lo + 20 AND d.pad <> f.pad OFFSET 0) l ORDER BY 1"
		alike "rescans of two joins of $table" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM $table f JOIN dim d USING (k) JOIN target t ON t.k = f.i8 WHERE d.id > s.lo AND t.id < 200 - s.lo OFFSET 0) l ORDER BY 1"
		alike "rescans of $table with keys from another server" "SELECT s.id, l.n, l.m FROM small s, LATERAL (SELECT count(*) AS n, sum(f.id) AS m FROM $table f JOIN again d USING (k) WHERE d.id > s.lo * 10 AND d.id < s.lo * 10 + 50 OFFSET 0) l ORDER BY 1"
		alike "subqueries of $table for each row" "SELECT s.id, (SELECT sum(f.id) FROM $table f JOIN dim d USING (k) WHERE d.id BETWEEN s.lo AND s.lo + 9) FROM small s ORDER BY 1"
	done
	# the scan goes on where it was, below a node that keeps its rows, although the hash table is another one
	alike "rescans in the middle of a scan" "SET work_mem = '64kB'; SELECT s.id, (SELECT string_agg(z.id::text, ',') FROM (SELECT c.id FROM (SELECT f.id, f.k, f.pad FROM target x, few f WHERE x.id > s.lo OFFSET 0) c
		JOIN (SELECT d.k, repeat('x', 1000) AS pad FROM dim d, small g OFFSET 0) d ON c.k = d.k AND d.pad <> c.pad LIMIT 1 + s.id * 40) z) FROM small s ORDER BY 1"
	# the last scan of the same keys was empty, so the join fetches a row of the next one before it has the other keys
	alike "rescans that begin before the other keys are known" "SELECT s.id, m.* FROM small s, LATERAL (SELECT t.x, l.n, l.m FROM (VALUES (4001), (0)) t (x), LATERAL (
		SELECT count(*) AS n, sum(f.id) AS m FROM facts f JOIN (SELECT d.id - s.lo AS k FROM dim d, generate_series(1, 100000) g WHERE d.id > s.lo AND d.id < s.lo + 20 AND g = 1 AND g < 2 OFFSET 0) d USING (k) WHERE f.id < t.x OFFSET 0) l OFFSET 0) m ORDER BY 1, 2"
	same "$name: keys of a rescan that began with none" "$(run off "SELECT sum(n) FROM small s, LATERAL (SELECT count(*) AS n FROM facts f JOIN dim d USING (k) WHERE d.id > 150 - s.lo OFFSET 0) l")" "$(run on "SELECT sum(n) FROM small s, LATERAL (SELECT count(*) AS n FROM facts f JOIN dim d USING (k) WHERE d.id > 150 - s.lo OFFSET 0) l")"

	# ---- cursors, prepared statements, functions ----
	query='SELECT f.id FROM facts f JOIN dim d USING (k) WHERE gold ORDER BY f.id, d.id'
	alike "cursors" "BEGIN; DECLARE c SCROLL CURSOR FOR $query; FETCH 3 FROM c; FETCH 3 FROM c; FETCH BACKWARD 2 FROM c; MOVE ABSOLUTE 0 IN c; FETCH 4 FROM c; FETCH LAST FROM c; COMMIT"
	unordered='SELECT 1 FROM facts f JOIN dim d USING (k) WHERE gold'
	alike "cursors that are wound back" "BEGIN; DECLARE c CURSOR FOR $unordered; MOVE 200 IN c; MOVE ABSOLUTE 0 IN c; FETCH ALL FROM c; COMMIT"
	alike "cursors that outlive their transaction" "BEGIN; DECLARE c CURSOR WITH HOLD FOR $query; FETCH 3 FROM c; COMMIT; FETCH ALL FROM c; CLOSE c"
	alike "two cursors at once" "BEGIN; DECLARE a CURSOR FOR $query; DECLARE b CURSOR FOR $query; FETCH 3 FROM a; FETCH 50 FROM b; FETCH 50 FROM a; FETCH 3 FROM b; COMMIT"
	for mode in auto force_generic_plan force_custom_plan; do
		alike "prepared statements ($mode)" "SET plan_cache_mode = $mode; PREPARE p (int, int) AS SELECT count(*), sum(f.id) FROM facts f JOIN dim d USING (k) WHERE d.id < \$1 AND f.id > \$2;
			EXECUTE p (10, 5); EXECUTE p (60, 5); EXECUTE p (20, 500); EXECUTE p (2, 5); EXECUTE p (150, 0); EXECUTE p (NULL, 5); EXECUTE p (90, 50); EXECUTE p (30, 50)"
	done
	alike "the setting changes between executions" "SET bloomx.runtime_filter = on; SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*) FROM facts f JOIN dim d USING (k) WHERE gold;
		EXECUTE p; SET bloomx.runtime_filter = off; EXECUTE p; SET bloomx.runtime_filter = on; BEGIN; UPDATE dim SET gold = id % 5 = 0; EXECUTE p; ROLLBACK; EXECUTE p"
	alike "variables of PL/pgSQL" "DO \$do\$ DECLARE n int; least int; most int := 90; BEGIN
			FOR i IN 1..8 LOOP least := i * 50; SELECT count(*) INTO n FROM facts f JOIN dim d USING (k) WHERE f.id > least AND d.id < most; RAISE WARNING '%', n; END LOOP; END \$do\$"

	# ---- changes and locks ----
	not_sent "FOR UPDATE" "SELECT f.id FROM facts f JOIN dim d USING (k) WHERE gold FOR UPDATE OF f"
	not_sent "FOR SHARE of all" "SELECT f.id FROM facts f JOIN dim d USING (k) WHERE gold FOR SHARE"
	sent "FOR UPDATE of the other table" "WITH l AS (SELECT f.id FROM facts f JOIN dim d USING (k) WHERE gold FOR UPDATE OF d) SELECT count(*), sum(id) FROM l"
	for change in "WITH c AS (DELETE FROM changed f USING dim d WHERE d.k = f.k AND gold RETURNING f.id)" "WITH c AS (UPDATE changed f SET pad = d.t FROM dim d WHERE d.k = f.k AND gold RETURNING f.id)"; do
		same "$name: ${change#WITH c AS (}: the rows" "$(run off "BEGIN; $change SELECT count(*), sum(id) FROM c; ROLLBACK")" "$(run on "BEGIN; $change SELECT count(*), sum(id) FROM c; ROLLBACK")"
		! plan "$change SELECT FROM c" | grep -q 'Remote SQL: .*<@'
		ok "$name: ${change#WITH c AS (}: no filter is in the remote query" $?
	done
	alike "UPDATE FROM a foreign table" "BEGIN; UPDATE target t SET n = n + f.i8 FROM few f WHERE f.k = t.k; SELECT count(*), sum(n) FROM target; UPDATE target t SET n = n + 1 FROM facts f JOIN dim d USING (k) WHERE t.id = d.id; SELECT sum(n) FROM target; ROLLBACK"
	plan "UPDATE target t SET n = 1 FROM facts f WHERE f.k = t.k AND t.id < 10" | grep -q 'Remote SQL: .*<@'
	ok "$name: UPDATE FROM a foreign table: the filter is in the remote query" $?
	alike "INSERT from a foreign table" "BEGIN; INSERT INTO target SELECT f.id + 1000, f.k FROM facts f JOIN dim d USING (k) WHERE gold; SELECT count(*), sum(id) FROM target; ROLLBACK"

	# ---- failures ----
	run on "SELECT count(*) FROM failing f JOIN dim d ON f.k = d.k" | grep -q 'division by zero'
	ok "$name: an error of the remote server is reported" $?
	run on "BEGIN; DECLARE c CURSOR FOR SELECT f.id FROM failing f JOIN (SELECT generate_series(0, 400) AS k) d USING (k); SAVEPOINT s; FETCH ALL FROM c" | grep -q 'division by zero'
	ok "$name: an error in the middle of a cursor is reported" $?
	same "$name: after an error in the middle the session goes on" "$(run off "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold")" \
		"$(run on "DO \$\$ BEGIN PERFORM f.id FROM failing f JOIN (SELECT generate_series(0, 400) AS k) d USING (k); EXCEPTION WHEN division_by_zero THEN END \$\$; SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold")"
	run on "SET statement_timeout = '500ms'; SELECT f.s FROM slow f JOIN (SELECT generate_series(0, 400) AS k) d USING (k)" | grep -q 'statement timeout'
	ok "$name: a statement that waits for the remote server can be cancelled" $?
	not_sent "a server that does not list the extension" "SELECT $sums FROM facts_silent f JOIN dim d USING (k) WHERE gold"
	run on "SELECT count(*) FROM facts_bare f JOIN dim d USING (k) WHERE gold" | grep -q 'type "public.bloomfilter" does not exist'
	ok "$name: a server that lists the extension and does not have it: the error names the type" $?
	same "$name: without filters it is not needed" 400 "$(run off "SELECT count(*) FROM facts_bare f JOIN (SELECT generate_series(0, 39) AS k) d USING (k)")"
	run on "SELECT count(*) FROM mistaken_number f JOIN dim d ON f.k = d.n" | grep -q 'key types do not match: numeric and integer'
	ok "$name: a column that is declared with another type: the error names the types" $?
	run on "SELECT count(*) FROM mistaken f JOIN dim d ON f.k = d.t" | grep -q 'collations are not supported by type integer'
	ok "$name: an integer that is declared as a text: the error names the type" $?
	same "$name: another encoding: the rows" "$(run off "SELECT $sums FROM facts_latin f JOIN dim d USING (t) WHERE gold")" "$(run on "SELECT $sums FROM facts_latin f JOIN dim d USING (t) WHERE gold")"
	[ "$(run on "SELECT count(*) FROM facts_latin f JOIN dim d USING (t) WHERE gold")" -gt 0 ]
	ok "$name: another encoding: there are such rows" $?

	# ---- settings ----
	same "$name: a limit of 0: nothing is sent" 0 "$(run on "SET bloomx.runtime_filter_remote_size = 0; EXPLAIN (VERBOSE) SELECT count(*) FROM facts f JOIN dim d USING (k)" | grep -c '<@')"
	# the planner expects a third of the keys, so the condition is sent, but then the filter is too large
	large="SET bloomx.runtime_filter_remote_size = '1kB'; SELECT $sums FROM facts f JOIN many d USING (k) WHERE d.k + 0 > 0"
	alike "a filter that is too large" "$large"
	same "$name: a filter that is too large is not sent, but the condition" "0 1" "$(run on "$large; SELECT bytes_sent FROM bloomx_last_runtime_filters()" | tail -n 1) $(run on "${large%SELECT*} EXPLAIN (VERBOSE) SELECT${large#*SELECT}" | grep -c '<@')"
	[ "$(run on "SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold; SELECT bytes_sent FROM bloomx_last_runtime_filters()" | tail -n 1)" -gt 40 ]
	ok "$name: the bytes are reported" $?
	run on "SET bloomx.explain_conditions = on; EXPLAIN (ANALYZE, COSTS OFF) SELECT $sums FROM facts f JOIN dim d USING (k) WHERE gold" | grep -qi 'runtime filter of node [0-9]* on k: .* bytes sent'
	ok "$name: EXPLAIN ANALYZE shows them" $?
}

collation="CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
for direction in "old new" "new old"; do
	name="${direction% *} asks ${direction#* }"
	case $direction in
	old*) bin=$old port=5401 other_bin=$new other_port=5402 ;;
	*) bin=$new port=5402 other_bin=$old other_port=5401 ;;
	esac
	for server in "$old 5401" "$new 5402"; do
		"${server% *}/psql" -p "${server#* }" -d template1 -Xqc "DROP DATABASE IF EXISTS bare" -c "DROP DATABASE IF EXISTS latin" 2>/dev/null
		"${server% *}/psql" -p "${server#* }" -d template1 -Xqc "DROP DATABASE postgres" -c "CREATE DATABASE postgres TEMPLATE template0"
	done
	remote_tables || exit 1
	run off "$collation" >/dev/null
	local_tables
	cases
done

for log in "$work"/*.log; do
	! grep -E 'TRAP|was terminated by signal' "$log" || ok "no crash in $log" 1
done
tally
