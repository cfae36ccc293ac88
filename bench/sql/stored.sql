-- Which of many stored filters may hold a key: by pieces of the filters, by whole filters, by the bit-sliced index,
-- and by what would be stored instead of filters: all keys in a btree, in arrays, or as raw bytes.
-- :rows / 1,000 filters of 12 KB (9,000 keys each) and :rows / 100,000 filters of 1.2 MB (900,000 keys each), of the same keys.
SET search_path = bench, public;
SELECT :rows / 1000 AS small, :rows / 100000 AS large \gset
SELECT format('Which of %s stored filters of 12 KB', :small) AS small_title, format('Which of %s stored filters of 1.2 MB', :large) AS large_title,
	format('Columns of %s stored filters of 1.2 MB', :large) AS columns_title \gset
SELECT concat_ws('|', :'small_title', :'large_title', :'columns_title') ~ :'only' AS wanted \gset
\if :wanted
CREATE FUNCTION nth_key(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT (n * 2654435761) % 1099511627776';

-- The pages of a statement, read or found in shared buffers.
CREATE FUNCTION pages(query text, settings text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	CALL apply(settings);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT json) ' || query INTO plan; -- the first run reads catalogs, too
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT json) ' || query INTO plan;
	CALL reset(settings);
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;

-- Makes the tables of segments with `keys` keys each: filters, arrays, raw bytes.
CREATE PROCEDURE make_segments(name text, segments int, keys bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s_filters (id int, f bloomfilter)', name);
	EXECUTE format('CREATE TABLE %s_arrays (id int, keys bigint[])', name);
	EXECUTE format('CREATE TABLE %s_bytes (id int, keys bytea)', name);
	EXECUTE format('ALTER TABLE %s_arrays ALTER keys SET STORAGE external', name);
	EXECUTE format('ALTER TABLE %s_bytes ALTER keys SET STORAGE external', name);
	EXECUTE format('INSERT INTO %s_filters SELECT id, (SELECT bloom_agg(bench.nth_key(n), %s) FROM generate_series(id * %2$s::bigint, (id + 1) * %2$s::bigint - 1) n) FROM generate_series(0, %s - 1) id',
		name, keys, segments);
	EXECUTE format('INSERT INTO %s_arrays SELECT id, ARRAY(SELECT bench.nth_key(n) FROM generate_series(id * %s::bigint, (id + 1) * %2$s::bigint - 1) n) FROM generate_series(0, %s - 1) id',
		name, keys, segments);
	EXECUTE format('INSERT INTO %s_bytes SELECT id, (SELECT string_agg(int8send(bench.nth_key(n)), '''') FROM generate_series(id * %s::bigint, (id + 1) * %2$s::bigint - 1) n) FROM generate_series(0, %s - 1) id',
		name, keys, segments);
	EXECUTE format('CREATE INDEX %s_sliced ON %1$s_filters USING bloomx (f)', name);
END $$;
CALL make_segments('small', :small, 9000);
CALL make_segments('large', :large, 900000);
CREATE TABLE all_keys AS SELECT bench.nth_key(n) AS key, (n / 9000)::int AS id FROM generate_series(0, :small * 9000::bigint - 1) n;
CREATE INDEX all_keys_btree ON all_keys (key);
VACUUM ANALYZE all_keys;
VACUUM ANALYZE small_filters;
VACUUM ANALYZE small_arrays;
VACUUM ANALYZE small_bytes;
VACUUM ANALYZE large_filters;
VACUUM ANALYZE large_arrays;
VACUUM ANALYZE large_bytes;

-- A key of one segment.  It is in the same block of all filters.  The median of 15 keys is taken: for some keys the block
-- comes with the header of the filter, which is not typical.
CREATE TEMP TABLE ways AS
SELECT o, grp, label, format(query, size, key) AS query, o = 1 AS base, settings, repeat, replace(disk, '%s', size) AS disk
FROM (VALUES (:'small_title', 'small', 1), (:'large_title', 'large', 20)) s(grp, size, times),
	(SELECT nth_key(:small * 9000::bigint / 2 + i) AS key FROM generate_series(1, 15) i
		ORDER BY pages(format('SELECT FROM small_filters WHERE f @> %s::bigint', nth_key(:small * 9000::bigint / 2 + i)), 'enable_bitmapscan=off;enable_indexscan=off') LIMIT 1 OFFSET 7) k,
	LATERAL (VALUES
		(1, 'f @> key, sequential scan: pieces', 'SELECT id FROM bench.%s_filters WHERE f @> %s::bigint', 'enable_bitmapscan=off;enable_indexscan=off', times, '%s_filters'),
		-- with that many keys the filter is read whole
		(2, 'the same, filters read whole', 'SELECT id FROM bench.%s_filters WHERE bloom_contains_any(f, array_fill(%s::bigint, ARRAY[' || CASE size WHEN 'small' THEN 3 ELSE 250 END || ']))', 'enable_bitmapscan=off;enable_indexscan=off', 1, '%s_filters'),
		(3, 'f @> key, index bloomx', 'SELECT id FROM bench.%s_filters WHERE f @> %s::bigint', 'enable_seqscan=off', 20, '%s_sliced'),
		(4, 'btree over all keys', 'SELECT /* of %s segments */ id FROM bench.all_keys WHERE key = %s', NULL, 100, 'all_keys'),
		(5, 'key = ANY (bigint[])', 'SELECT id FROM bench.%s_arrays WHERE %s = ANY (keys)', NULL, 1, '%s_arrays'),
		(6, 'position(key IN bytea)', 'SELECT id FROM bench.%s_bytes WHERE position(int8send(%s) IN keys) > 0', NULL, 1, '%s_bytes')
	) w(o, label, query, settings, repeat, disk);
CREATE TEMP TABLE silence_stored AS SELECT candidate(grp, label, query, base, settings, repeat) FROM (SELECT * FROM ways ORDER BY grp DESC, o) w;
INSERT INTO silence_stored
SELECT candidate(:'columns_title', 'bloom_header(f)', 'SELECT sum(h.capacity) FROM bench.large_filters, bloom_header(f) h', true, NULL, 20)
UNION ALL SELECT candidate(:'columns_title', 'bloom_info(f)', 'SELECT sum(i.capacity) FROM bench.large_filters, bloom_info(f) i')
UNION ALL SELECT candidate(:'columns_title', 'bloom_prefix(f, 8)', 'SELECT sum(pg_column_size(bloom_prefix(f, 8))) FROM bench.large_filters')
UNION ALL SELECT candidate(:'columns_title', 'bloom_fold(f), which reads it whole', 'SELECT sum(pg_column_size(bloom_fold(f))) FROM bench.large_filters');

SELECT format('%s keys in %s segments and in %s: disk (a table with its TOAST and indexes; the bit-sliced index alone), and pages of 8 kB that a statement touches.', :small * 9000::bigint, :small, :large) || E'\n';
WITH measured AS (
	SELECT *, pg_size_pretty(CASE WHEN disk ~ 'filters' THEN pg_table_size(disk) ELSE pg_total_relation_size(disk) END) AS size, pages(query, settings) AS touched FROM ways)
SELECT format('| | %s: disk | pages | %s: disk | pages |', :'small_title', :'large_title') UNION ALL SELECT '|---|---|---|---|---|' UNION ALL
(SELECT format('| %s | %s | %s | %s | %s |', s.label, s.size, s.touched, l.size, l.touched)
FROM measured s JOIN measured l USING (o) WHERE s.grp = :'small_title' AND l.grp = :'large_title' ORDER BY o);
SELECT '';
\endif
