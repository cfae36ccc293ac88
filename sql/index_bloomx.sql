--
-- The index access method bloomx: a bit-sliced index. It must find exactly what the sequential scan finds.
--
\set VERBOSITY terse
SET client_min_messages = warning;
SET jit = off;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bloomx_ops';

-- Filters of 1 to 80 keys, all in 1 .. 4000; some rows have no filter.
CREATE TABLE docs (id int PRIMARY KEY, f bloomfilter) WITH (autovacuum_enabled = off);
CREATE FUNCTION keys(id int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
$$ SELECT array_agg((id * 7919 + i * i * 31) % 4000 + 1) FROM generate_series(1, 1 + id % 80) i $$;
INSERT INTO docs SELECT id, (SELECT bloom_agg(k) FROM unnest(keys(id)) k) FROM generate_series(1, 1500) id;
INSERT INTO docs SELECT id, NULL FROM generate_series(-5, -1) id;

-- The number of lookups, out of 40 for present and absent keys, in which index and sequential scan differ.
CREATE FUNCTION differences(condition text, probes text DEFAULT 'SELECT i * 101 FROM generate_series(1, 40) i', OUT lookups int, OUT differ int, OUT empty int) LANGUAGE sql AS $$
    SELECT * FROM index_differences('SELECT coalesce(array_agg(id ORDER BY id)::text, ''{}'') FROM docs WHERE ' || condition, probes) $$;

-- Build: the index has every row, with its bits.
CREATE INDEX docs_f ON docs USING bloomx (f);
SELECT signature_bits, hash_functions, segments, rows, removed, pending FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
SELECT * FROM differences('f @> $1');

-- Every form of membership uses the index.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE f @> 5;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE 5 <@ f;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE bloom_contains_any(f, ARRAY[5, 6]);
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE bloom_contains_all(f, ARRAY[5, 6]) AND f @> 7;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE bloom_contains_hash(f, bloom_hash(5));
RESET enable_seqscan;
SELECT * FROM differences('bloom_contains_any(f, ARRAY[$1, $1 + 1, -1])');
SELECT * FROM differences('bloom_contains_all(f, (keys($1))[1:3])');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[$1, 3]) AND f @> $1 + 2');
SELECT * FROM differences('bloom_contains_hash(f, bloom_hash($1))');
SELECT * FROM differences('f ?| bloomx_probe_all(ARRAY[$1, 5])');
SELECT * FROM differences('f @> $1::bigint OR f @> $1 + 1');
SELECT * FROM differences('NOT f @> $1');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[$1, $1 + 1, NULL])');
SELECT * FROM differences('bloom_contains_all(f, ARRAY[$1, NULL])');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[[$1, 3], [$1 + 1, 4]]) AND NOT bloom_contains_all(f, ARRAY[$1, 3])');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[$1, $1 + 1, NULL]) OR f @> $1 + 2');
SELECT * FROM differences('bloom_contains_all(f, ARRAY[$1, 3]) OR f @> $1 + 5 AND (bloom_contains_any(f, ARRAY[$1, 4]) OR f @> 6)');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[$1, 3]) AND (bloom_contains_any(f, ARRAY[$1 + 1, 4]) OR NOT bloom_contains_all(f, ARRAY[$1, 6]))');

-- No keys: all of them are in every filter, any of them in none. NULL is in no filter. A key of another type is refused as without the index.
SELECT * FROM differences('bloom_contains_all(f, ARRAY[]::int[]) AND $1 > 0', 'SELECT 1');
SELECT * FROM differences('bloom_contains_any(f, ARRAY[]::int[]) AND $1 > 0', 'SELECT 1');
SELECT * FROM differences('f @> NULL::int AND $1 > 0', 'SELECT 1');
SET enable_seqscan = off;
SELECT id FROM docs WHERE f @> 'word'::varchar;
SELECT id FROM docs WHERE f ?& bloom_empty(1);
SELECT count(*) FROM docs WHERE f ?& bloomx_probe('word'::text);

-- IS NULL does not use it.
SELECT count(*) FROM docs WHERE f IS NULL;
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE f IS NULL;
SET enable_seqscan = off;

-- Parameters, and the key from an outer row.
PREPARE find(int) AS SELECT count(*) FROM docs WHERE f @> $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE find(5);
PREPARE find_any(int[]) AS SELECT count(*) FROM docs WHERE bloom_contains_any(f, $1);
EXPLAIN (COSTS OFF) EXECUTE find_any('{5,6}');
EXPLAIN (COSTS OFF) SELECT k, id FROM generate_series(1, 20) k JOIN docs ON f @> k;
SELECT count(*) FILTER (WHERE present) AS present, count(*) FILTER (WHERE NOT present) < 300 AS few_others
FROM (SELECT k = ANY (keys(id)) AS present FROM generate_series(1, 20) k JOIN docs ON f @> k) s;
SELECT count(DISTINCT (k, id)) AS present FROM docs, unnest(keys(id)) k WHERE id > 0 AND k BETWEEN 1 AND 20;
RESET enable_seqscan;

-- Insert: rows are pending, then become segments, small segments become larger ones.
CREATE INDEX docs_small ON docs USING bloomx (f) WITH (signature_bits = 2048, hash_functions = 8, pending_limit = 16);
DROP INDEX docs_f;
INSERT INTO docs SELECT id, (SELECT bloom_agg(k) FROM unnest(keys(id)) k) FROM generate_series(1501, 1540) id;
SELECT signature_bits, hash_functions, segments, rows, removed, pending FROM bloomx_index_info('docs_small');
SELECT * FROM differences('f @> $1');
INSERT INTO docs SELECT id, (SELECT bloom_agg(k) FROM unnest(keys(id)) k) FROM generate_series(1541, 4000) id;
SELECT signature_bits, hash_functions, segments < 16 AS few_segments, rows + pending AS rows, removed, pending < 300 AS few_pending FROM bloomx_index_info('docs_small');
SELECT bloomx_check_index('docs_small');
SELECT * FROM differences('f @> $1');
UPDATE docs SET f = bloom_add(f, 5000) WHERE id % 7 = 0;
SELECT bloomx_check_index('docs_small');
SELECT * FROM differences('f @> $1', 'SELECT 5000 UNION SELECT 5');

-- Delete and VACUUM: rows are removed; segments that are mostly dead are rewritten, and their pages are reused.
DELETE FROM docs WHERE id % 4 = 0;
VACUUM docs;
SELECT bloomx_check_index('docs_small');
SELECT rows + pending >= (SELECT count(f) FROM docs) AS all_there, removed > 0 AS removed FROM bloomx_index_info('docs_small');
SELECT * FROM differences('f @> $1');
DELETE FROM docs WHERE id % 4 <> 1;
VACUUM docs;
SELECT bloomx_check_index('docs_small'), free > 0 AS free_pages, (SELECT count(f) FROM docs) AS rows, rows + pending AS in_index FROM bloomx_index_info('docs_small');
SELECT pages AS pages_before FROM bloomx_index_info('docs_small') \gset
INSERT INTO docs SELECT id, (SELECT bloom_agg(k) FROM unnest(keys(id)) k) FROM generate_series(10001, 10600) id;
SELECT bloomx_check_index('docs_small'), pages = :pages_before AS pages_used_again FROM bloomx_index_info('docs_small');
SELECT * FROM differences('f @> $1');
DELETE FROM docs;
VACUUM docs;
SELECT segments, rows, pages - free < 10 AS all_free, merging, lost FROM bloomx_index_info('docs_small');
SELECT * FROM differences('f @> $1', 'SELECT 5');

-- VACUUM writes a segment again, without its dead rows, when more than half of them are dead, even if it is the only one.
CREATE TABLE dying AS SELECT id, (SELECT bloom_agg(k) AS f FROM unnest(keys(id)) k) FROM generate_series(1, 1000) id;
CREATE INDEX dying_f ON dying USING bloomx (f);
DELETE FROM dying WHERE id % 2 = 0;
VACUUM (INDEX_CLEANUP) dying;
SELECT segments, rows, removed, bloomx_check_index('dying_f') FROM bloomx_index_info('dying_f');
DELETE FROM dying WHERE id = 1;
VACUUM (INDEX_CLEANUP) dying;
SELECT segments, rows, removed, bloomx_check_index('dying_f') FROM bloomx_index_info('dying_f');
DROP TABLE dying;

-- No INSERT of a row makes the index much longer, not even if it begins a merge, which is of 300 pages here.
CREATE TABLE growing (f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX growing_f ON growing USING bloomx (f) WITH (signature_bits = 16384, hash_functions = 4, pending_limit = 256);
DO $$
DECLARE
    before bigint;
    longest bigint := 0;
    lost bigint := 0;
BEGIN
    FOR i IN 1..1500 LOOP
        before := pg_relation_size('growing_f');
        INSERT INTO growing VALUES (bloom_add(bloom_empty(20), i));
        longest := greatest(longest, pg_relation_size('growing_f') - before);
        lost := least(lost, (SELECT i.lost FROM bloomx_index_info('growing_f') i));
    END LOOP;
    RAISE WARNING 'pages of one row: at most 128: %; fewest lost: %', longest <= 128 * current_setting('block_size')::int, lost;
END $$;
SELECT segments < 8 AS merged, rows + pending AS rows, bloomx_check_index('growing_f') FROM bloomx_index_info('growing_f');
DROP TABLE growing;

-- A row that was rolled back is not found.
BEGIN;
INSERT INTO docs SELECT id, (SELECT bloom_agg(k) FROM unnest(keys(id)) k) FROM generate_series(1, 200) id;
ROLLBACK;
SELECT * FROM differences('f @> $1', 'SELECT 5');
VACUUM docs;
SELECT bloomx_check_index('docs_small');

-- Filters of any kind in one column: a filter that cannot be converted to the index's geometry may hold any key.
INSERT INTO docs
SELECT row_number() OVER (), f FROM (
    SELECT bloom_empty(100) UNION ALL SELECT bloom_empty_bits(64, 1)
    UNION ALL SELECT bloom_agg(v) FROM generate_series(1, 20) v
    UNION ALL SELECT bloom_agg(v) FROM generate_series(1, 20000) v
    UNION ALL SELECT bloom_add_all(bloom_empty(n, 0.001, l), array_agg(v)) FROM generate_series(1, 60) v, unnest(ARRAY[10, 100, 3000]) n,
        unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked', 'counting', 'dynamic_blocked']) l GROUP BY n, l
    UNION ALL SELECT bloom_agg(v, bloom_empty(100, 0.001, seed => 7)) FROM generate_series(1, 60) v
    UNION ALL SELECT bloomx_probe_all(ARRAY[1, 101, 202])) s (f);
SELECT bloomx_check_index('docs_small'), count(*) FROM docs;
SELECT * FROM differences('f @> $1');
SELECT * FROM differences('f @> $1', 'SELECT generate_series(1, 60)');
DROP INDEX docs_small;
CREATE INDEX docs_f ON docs USING bloomx (f);
SELECT bloomx_check_index('docs_f'), hash_functions FROM bloomx_index_info('docs_f');
SELECT * FROM differences('f @> $1', 'SELECT generate_series(1, 60)');

-- Filters of words beside filters of numbers: each is probed only for its own keys.
INSERT INTO docs SELECT 1000, bloom_agg(v::text) FROM generate_series(1, 10) v;
SELECT bloomx_check_index('docs_f');
SELECT * FROM differences('id < 1000 AND f @> $1', 'SELECT generate_series(1, 60)');
SELECT * FROM differences('id = 1000 AND f @> $1::text', 'SELECT generate_series(1, 60)');
DROP TABLE docs;

-- Signatures larger than a page, for filters of 10,000 keys.
CREATE TABLE docs (id int PRIMARY KEY, f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX docs_f ON docs USING bloomx (f) WITH (pending_limit = 64);
SELECT signature_bits, hash_functions, segments, rows, pending FROM bloomx_index_info('docs_f');
INSERT INTO docs SELECT id, bloom_agg(k, 10000) FROM generate_series(1, 40) id, generate_series(id * 500, id * 500 + 9999) k GROUP BY id;
SELECT signature_bits, hash_functions, segments, rows, pending FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
SELECT * FROM differences('f @> $1', 'SELECT i * 1001 FROM generate_series(1, 40) i');
VACUUM docs;
REINDEX INDEX docs_f;
SELECT signature_bits, hash_functions, segments, rows, pending FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
SELECT * FROM differences('f @> $1', 'SELECT i * 1001 FROM generate_series(1, 40) i');

-- An index of small signatures over large filters returns more candidates, and still the right rows.
DROP INDEX docs_f;
CREATE INDEX CONCURRENTLY docs_f ON docs USING bloomx (f) WITH (signature_bits = 64, hash_functions = 1);
SELECT signature_bits, hash_functions, segments, rows, pending FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
SELECT * FROM differences('f @> $1', 'SELECT i * 1001 FROM generate_series(1, 40) i');
REINDEX INDEX CONCURRENTLY docs_f;
SELECT bloomx_check_index('docs_f');

-- Segments are merged as long as the result is a segment: its slices fit a page.
CREATE TABLE long (id int, f bloomfilter);
CREATE INDEX long_f ON long USING bloomx (f) WITH (signature_bits = 64, hash_functions = 1, pending_limit = 16);
INSERT INTO long SELECT i, f FROM generate_series(1, 130000) i, (SELECT bloom_agg(v, 10) AS f FROM generate_series(1, 2) v) f;
SELECT rows + pending AS rows, rows > 100000 AS merged, bloomx_check_index('long_f') AS checked FROM bloomx_index_info('long_f');
DROP TABLE long;

-- Expressions, predicates, temporary and unlogged tables.
CREATE INDEX docs_part ON docs USING bloomx (bloom_prefix(f, 1)) WHERE id > 20;
SELECT bloomx_check_index('docs_part');
CREATE TEMP TABLE temporary AS SELECT * FROM docs;
CREATE INDEX temporary_f ON temporary USING bloomx (f);
INSERT INTO temporary SELECT * FROM docs;
SELECT bloomx_check_index('temporary_f');
CREATE UNLOGGED TABLE unlogged AS SELECT * FROM docs;
CREATE INDEX unlogged_f ON unlogged USING bloomx (f);
SELECT bloomx_check_index('unlogged_f');
TRUNCATE unlogged;
INSERT INTO unlogged SELECT * FROM docs;
SELECT bloomx_check_index('unlogged_f');
DROP TABLE unlogged, temporary;

-- What is refused.
\set VERBOSITY default
CREATE INDEX ON docs USING bloomx (f anynonarray_ops);
\set VERBOSITY terse
CREATE UNIQUE INDEX ON docs USING bloomx (f);
CREATE INDEX ON docs USING bloomx (f) WITH (signature_bits = 100, hash_functions = 2);
CREATE INDEX ON docs USING bloomx (f) WITH (signature_bits = 2000000);
CREATE INDEX ON docs USING bloomx (f) WITH (hash_functions = 65);
CREATE INDEX ON docs USING bloomx (f) WITH (pending_limit = 1);
CREATE INDEX ON docs USING bloomx (f) WITH (fillfactor = 50);
SELECT bloomx_check_index('docs_pkey');
SELECT bloomx_check_index('docs');

-- Who may inspect an index: roles that may read its table, and roles that monitor the server. A check is for these and for the owner.
CREATE ROLE nobody_special;
SET ROLE nobody_special;
SELECT signature_bits, hash_functions FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
RESET ROLE;
GRANT SELECT ON docs TO nobody_special;
SET ROLE nobody_special;
SELECT signature_bits, hash_functions FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f');
RESET ROLE;
REVOKE SELECT ON docs FROM nobody_special;
GRANT pg_stat_scan_tables TO nobody_special;
SET ROLE nobody_special;
SELECT signature_bits, hash_functions FROM bloomx_index_info('docs_f');
SELECT bloomx_check_index('docs_f') > 0 AS checked;
RESET ROLE;
REVOKE pg_stat_scan_tables FROM nobody_special;

-- A check runs the index's expressions as the table's owner, whoever calls it.
CREATE TABLE owned (f bloomfilter);
CREATE FUNCTION who_am_i(f bloomfilter) RETURNS bloomfilter LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN RAISE WARNING 'run by %', current_user; RETURN f; END $$;
ALTER TABLE owned OWNER TO nobody_special;
SET client_min_messages = error;
INSERT INTO owned SELECT bloom_agg(1);
CREATE INDEX owned_f ON owned USING bloomx (who_am_i(f));
SET client_min_messages = warning;
SELECT bloomx_check_index('owned_f');
SET ROLE nobody_special;
SELECT bloomx_check_index('owned_f');
RESET ROLE;
DROP TABLE owned;
DROP FUNCTION who_am_i;
DROP ROLE nobody_special;
SET client_min_messages = info;
CREATE OPERATOR CLASS half FOR TYPE bloomfilter USING bloomx AS OPERATOR 1 ?&;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half';
DROP OPERATOR CLASS half USING bloomx;
DROP TABLE docs;

-- An OID of no relation, as after the index was dropped.
\set VERBOSITY sqlstate
SELECT bloomx_index_info(0);
SELECT bloomx_check_index(0);
\set VERBOSITY default

-- Sets of more keys than the index can look for: of all of them it looks for some, of any of them it says nothing.
CREATE TABLE wide AS SELECT g, bloom_agg(i, bloom_empty_bits(8192, 64)) AS f FROM unnest(ARRAY[1, 20]) g, generate_series(g, g + 9) i GROUP BY g;
CREATE INDEX wide_f ON wide USING bloomx (f) WITH (signature_bits = 8192, hash_functions = 64);
CREATE TABLE many AS SELECT bloomx_probe_all(array_agg(i)) AS keys FROM generate_series(25, 4500000) i;
SET enable_seqscan = off;
SELECT g AS "has one" FROM wide WHERE f ?| (SELECT keys FROM many);
SELECT count(*) AS "have all" FROM wide WHERE f ?& (SELECT keys FROM many);
SET bloomx.overfill = off;
UPDATE wide SET f = bloom_add_all(f, ARRAY(SELECT generate_series(1, 100000))) WHERE g = 1;
SELECT g AS "is full" FROM wide WHERE f ?& (SELECT keys FROM many);
RESET bloomx.overfill;
RESET enable_seqscan;
DROP TABLE wide, many;

-- A column of bloomfilter(capacity, fpr), or of a domain over it, tells the geometry before there are rows.
CREATE DOMAIN declared AS bloomfilter(200, 0.001);
CREATE TABLE typed (a bloomfilter(50), b declared, c bloomfilter(50, 0.01, 'standard'));
CREATE INDEX typed_a ON typed USING bloomx (a);
CREATE INDEX typed_b ON typed USING bloomx (b);
CREATE INDEX typed_c ON typed USING bloomx (c);
SELECT i.indexrelid::regclass, s.signature_bits, s.hash_functions FROM pg_index i, bloomx_index_info(indexrelid) s WHERE indrelid = 'typed'::regclass ORDER BY 1;
SELECT bits, parts FROM bloom_plan(50) UNION ALL SELECT bits, parts FROM bloom_plan(200, 0.001);
DROP TABLE typed;
DROP DOMAIN declared;

-- Filters of 50 to 200 keys. At 0.01 % the few that have 8 blocks have 8 parts, and others have 21: signatures of as many of both would have 10,752 bits.
-- At 1 % the largest are not folded, however few they are: a folded one says yes too often.
CREATE TABLE mixed AS SELECT rate, n, bloom_agg(k, n, rate) AS f
FROM (VALUES (0.0001::float8, 200), (0.01, 118)) r(rate, most), generate_series(50, most) n, generate_series(n, 2 * n - 1) k GROUP BY rate, n;
SELECT rate, count(*), max(blocks) AS blocks, count(*) FILTER (WHERE blocks = CASE rate WHEN 0.01 THEN 4 ELSE 8 END) AS "have them", max(parts) AS parts, max(bits) AS bits
FROM mixed, bloom_info(f) GROUP BY rate ORDER BY rate;
CREATE INDEX mixed_low ON mixed USING bloomx (f) WHERE rate < 0.01;
CREATE INDEX mixed_high ON mixed USING bloomx (f) WHERE rate = 0.01;
SELECT signature_bits, hash_functions, signature_bits / 64 / hash_functions AS blocks, bloomx_check_index(name) FROM unnest(ARRAY['mixed_low', 'mixed_high']::regclass[]) name, bloomx_index_info(name);
DROP TABLE mixed;

-- Progress. The function of an index's expression sees how far CREATE INDEX is.
CREATE FUNCTION watched(f bloomfilter) RETURNS bloomfilter LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    progress record;
BEGIN
    PERFORM pg_stat_clear_snapshot();
    SELECT * INTO progress FROM pg_stat_progress_create_index WHERE pid = pg_backend_pid();
    IF progress.tuples_done IN (0, 700) THEN
        RAISE INFO '%: % of % tuples, blocks %', progress.phase, progress.tuples_done, progress.tuples_total, progress.blocks_done <= progress.blocks_total;
    END IF;
    RETURN f;
END $$;
CREATE TABLE watched AS SELECT bloom_agg(i, 10) AS f FROM generate_series(1, 1000) i GROUP BY i;
VACUUM ANALYZE watched;
CREATE INDEX watched_f ON watched USING bloomx (watched(f));
DROP TABLE watched;
DROP FUNCTION watched;

-- An index made on an empty table chooses its geometry when it has rows for a segment, and chooses what CREATE INDEX would.
CREATE TABLE docs (id int PRIMARY KEY, f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX docs_f ON docs USING bloomx (f) WITH (pending_limit = 64);
CREATE FUNCTION docs_state(OUT bits bigint, OUT probes int, OUT segments boolean, OUT rows bigint, OUT lost bigint, OUT checked bigint) LANGUAGE sql AS
$$ SELECT signature_bits, hash_functions, segments > 0, rows + pending, lost, bloomx_check_index('docs_f') FROM bloomx_index_info('docs_f') $$;
INSERT INTO docs SELECT 0, bloom_agg(1);
SELECT * FROM docs_state();
-- More keys in each row, at other rates: until the geometry is chosen, each pending row has a signature of its own size.
INSERT INTO docs SELECT id, bloom_agg(k, id * 4, CASE id WHEN 9 THEN 0.001 ELSE 0.01 END) FROM generate_series(1, 10) id, generate_series(1, 4000, 101) k WHERE k < id * 400 GROUP BY id;
SELECT * FROM docs_state();
SELECT * FROM differences('f @> $1', 'SELECT generate_series(1, 4000, 101) UNION SELECT -1');
-- What has no signature, what is open, what has counters, and a filter of words are rows as any others.
INSERT INTO docs VALUES (11, bloom_add(bloom_empty(100, 0.01, 'standard'), 102)), (12, bloom_add(bloom_empty(100, 0.01, 'counting'), 102)),
    (13, bloom_empty(100)), (14, bloomx_probe_all(ARRAY[1, 102, 203])), (15, bloom_add(bloom_empty(100), 'word'::text)), (16, bloom_add(bloom_empty(100, seed => 7), 102));
SELECT * FROM differences('id <> 15 AND f @> $1', 'SELECT generate_series(1, 4000, 101) UNION SELECT -1');
-- Dead rows are removed from the list: they have no say when the geometry is chosen.
DELETE FROM docs WHERE id IN (0, 3, 11);
VACUUM docs;
SELECT * FROM docs_state();
INSERT INTO docs SELECT 17, bloom_agg(k) FROM generate_series(1, 300) k;
SELECT * FROM docs_state();
SELECT * FROM differences('id <> 15 AND f @> $1', 'SELECT generate_series(1, 4000, 101) UNION SELECT -1');
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(100, 400) id, generate_series(id, id + 99) k GROUP BY id;
SELECT * FROM docs_state();
SELECT * FROM differences('id <> 15 AND f @> $1', 'SELECT generate_series(1, 4000, 101) UNION SELECT -1');
REINDEX INDEX docs_f;
SELECT * FROM docs_state();

-- One large filter among many is folded, as it is by CREATE INDEX; among few it decides.
TRUNCATE docs;
ALTER INDEX docs_f SET (pending_limit = 16);
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(1, 200) id, generate_series(id, id + 4) k GROUP BY id;
INSERT INTO docs SELECT 0, bloom_agg(k) FROM generate_series(1, 100000) k;
SELECT * FROM docs_state();
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(201, 2000) id, generate_series(id, id + 4) k GROUP BY id;
SELECT * FROM docs_state();
REINDEX INDEX docs_f;
SELECT * FROM docs_state();
TRUNCATE docs;
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(1, 40) id, generate_series(id, id + 4) k GROUP BY id;
INSERT INTO docs SELECT 0, bloom_agg(k) FROM generate_series(1, 10000) k;
SELECT * FROM docs_state();
-- probes may be given, and given later.
TRUNCATE docs;
ALTER INDEX docs_f SET (hash_functions = 10);
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(1, 20) id, generate_series(id, id + 4) k GROUP BY id;
ALTER INDEX docs_f SET (hash_functions = 3);
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(21, 30) id, generate_series(id, id + 40) k GROUP BY id;
SELECT * FROM differences('f @> $1');
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(31, 2000) id, generate_series(id, id + 40) k GROUP BY id;
SELECT * FROM docs_state();
SELECT * FROM differences('f @> $1');
-- So may bits, though the filters have more parts than there is room for.
TRUNCATE docs;
ALTER INDEX docs_f RESET (hash_functions);
INSERT INTO docs SELECT id, bloom_agg(k, 5, 0.00001) FROM generate_series(1, 30) id, generate_series(id, id + 4) k GROUP BY id;
ALTER INDEX docs_f SET (signature_bits = 512);
INSERT INTO docs SELECT id, bloom_agg(k, 5, 0.00001) FROM generate_series(31, 400) id, generate_series(id, id + 4) k GROUP BY id;
SELECT * FROM docs_state();
SELECT * FROM differences('f @> $1');
-- VACUUM makes the choice if no insert could.
ALTER INDEX docs_f RESET (signature_bits);
TRUNCATE docs;
ALTER INDEX docs_f SET (pending_limit = 8000);
INSERT INTO docs SELECT id, bloom_agg(k) FROM generate_series(1, 2000) id, generate_series(id, id + 40) k GROUP BY id;
SELECT * FROM docs_state();
ALTER INDEX docs_f SET (pending_limit = 16);
VACUUM docs;
SELECT * FROM docs_state();
SELECT * FROM differences('f @> $1');
-- It does so, too, for few rows that are often updated: their list would grow for ever if the removed ones did not count.
TRUNCATE docs;
ALTER INDEX docs_f SET (pending_limit = 8000);
INSERT INTO docs SELECT id, bloom_agg(k, 500) FROM generate_series(1, 3) id, generate_series(id, id + 40) k GROUP BY id;
DO $$ BEGIN FOR i IN 1 .. 20 LOOP UPDATE docs SET f = bloom_add(f, 1000 + i); END LOOP; END $$;
ALTER INDEX docs_f SET (pending_limit = 16);
VACUUM docs;
SELECT * FROM docs_state();
SELECT * FROM differences('f @> $1');
DROP TABLE docs;
DROP FUNCTION docs_state;

-- Filters that may overlap: of all sizes, rates and fills, some with what two others have in common, in a segment and as pending rows
-- of their own geometries.  The index finds those that a scan finds.
CREATE TABLE docs (id int, f bloomfilter) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT id, bloom_agg(k, 30 * (1 + id % 7)) FROM generate_series(1, 400) id, generate_series(10 * id, 10 * id + 19) k GROUP BY id;
INSERT INTO docs SELECT 1000 + id, bloom_agg(k, 100, 10.0 ^ (-id % 7 - 1)) FROM generate_series(1, 50) id, generate_series(id, id + 9) k GROUP BY id;
INSERT INTO docs SELECT 2000 + a.id, a.f & b.f FROM docs a JOIN docs b ON b.id = a.id + 7 WHERE a.id BETWEEN 1001 AND 1043 OR a.id < 50;
INSERT INTO docs SELECT 3900 + n, bloom_agg(k) FROM generate_series(1, 10) n, generate_series(n * 100, n * 100 + 5000) k GROUP BY n;
INSERT INTO docs SELECT 4000 + n, bloom_empty(n) FROM generate_series(1, 10) n;
CREATE TABLE sought AS SELECT id, f FROM docs WHERE id % 7 = 1 OR id > 1000;
CREATE INDEX docs_f ON docs USING bloomx (f);
INSERT INTO docs SELECT 5000 + id, f FROM docs WHERE id % 5 = 0;
CREATE TABLE late (LIKE docs) WITH (autovacuum_enabled = off);
CREATE INDEX late_f ON late USING bloomx (f) WITH (pending_limit = 16);
INSERT INTO late SELECT * FROM docs WHERE id < 60 OR id > 1000 ORDER BY id % 17;
CREATE FUNCTION overlapping(t regclass, scan text, sought bloomfilter) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE ids int[];
BEGIN
    PERFORM set_config('enable_seqscan', (scan = 'table')::text, true), set_config('enable_bitmapscan', (scan = 'index')::text, true);
    EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE f && $1', t) INTO ids USING sought;
    RETURN ids;
END $$;
SELECT t, count(*) AS filters, count(*) FILTER (WHERE overlapping(t, 'index', f) IS DISTINCT FROM overlapping(t, 'table', f)) AS differ,
    sum(cardinality(overlapping(t, 'table', f))) > 10000 AS many_rows FROM unnest('{docs,late}'::regclass[]) t, sought GROUP BY t ORDER BY t::text;
SET enable_seqscan = off;
PREPARE overlap(bloomfilter) AS SELECT id FROM docs WHERE $1 && f;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE overlap(NULL);
RESET plan_cache_mode;
DEALLOCATE overlap;
-- Few bits exclude most rows, and a filter with most of its bits set excludes none.
CREATE FUNCTION found(condition text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT FROM docs WHERE ' || condition INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, '$.**?(exists(@."Index Name"))."Actual Rows"'))::int;
END $$;
SELECT found('f && bloom_add(bloom_empty(100), 777)') < 150 AS few, found('f && (SELECT f FROM sought WHERE id = 3901)') > 500 AS all_rows;
-- What cannot be compared is an error, as without the index.
SELECT count(*) FROM docs WHERE f && bloom_add(bloom_empty(10), 'word'::text);
SELECT count(*) FROM docs WHERE f && bloom_add(bloom_empty(10, 0.01, 'standard'), 5);
RESET enable_seqscan;
DROP TABLE docs, late, sought;
DROP FUNCTION overlapping, found;

-- Inserts alone keep segments few, however many pages a merge takes: eight of one size become one.
CREATE TABLE wide (f bloomfilter) WITH (autovacuum_enabled = off);
CREATE INDEX wide_f ON wide USING bloomx (f) WITH (signature_bits = 65536, hash_functions = 8, pending_limit = 300);
INSERT INTO wide SELECT bloom_add(bloom_empty(10), i) FROM generate_series(1, 1500) i;
SELECT segments < 16 AS few, bloomx_check_index('wide_f') FROM bloomx_index_info('wide_f');
DROP TABLE wide;
