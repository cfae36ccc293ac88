-- The candidates and their groups.  The first candidate of each group is a base, and so is each one marked as base.
SET search_path = bench, public;
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'hll') AS no_hll \gset
\if :no_hll
\echo hll is not installed: its rows are left out.
\echo
\else
CREATE EXTENSION hll;
\endif
CREATE TEMP TABLE silence (id int);

INSERT INTO silence
SELECT candidate('Build, one filter of all rows', label, query, base, big => true)
FROM (VALUES
	(1, 'count(k)', 'SELECT count(k) FROM t', true),
	(2, 'bloom_agg(k, n), presized', format('SELECT pg_column_size(bloom_agg(k, %s)) FROM t', :rows), false),
	(3, 'bloom_agg(k), sized at the end', 'SELECT pg_column_size(bloom_agg(k)) FROM t', false),
	(4, 'count(DISTINCT k)', 'SELECT count(DISTINCT k) FROM t', false),
	(5, 'array_agg(k)', 'SELECT cardinality(array_agg(k)) FROM t', false),
	(6, 'hll_add_agg(hll_hash_bigint(k))', 'SELECT pg_column_size(hll_add_agg(hll_hash_bigint(k))) FROM t', false)
) v (n, label, query, base) WHERE NOT (:'no_hll' AND label ~ 'hll') ORDER BY n;

INSERT INTO silence
SELECT candidate('Build by parallel plan', format('%s, %s', label, how), query, workers = 0,
	format('max_parallel_workers_per_gather=%s;parallel_setup_cost=0;parallel_tuple_cost=0;min_parallel_table_scan_size=0', workers))
FROM (VALUES (1, 'count(k)', 'SELECT count(k) FROM t'), (2, 'bloom_agg(k, n)', format('SELECT pg_column_size(bloom_agg(k, %s)) FROM t', :rows)),
			 (3, 'bloom_agg(v), 1,000 different ones', 'SELECT pg_column_size(bloom_agg(v)) FROM t'),
			 (4, 'bloom_agg(k), all different', 'SELECT pg_column_size(bloom_agg(k)) FROM t')) q (n, label, query),
	(VALUES (0, 'one process'), (1, 'leader and 1 worker'), (2, 'leader and 2 workers')) w (workers, how)
ORDER BY n, workers;

INSERT INTO silence
SELECT candidate('Probe, 1 % of the rows found', label, query, base, big => true)
FROM (
	SELECT 1, 'k % 1000 = 1', 'SELECT count(*) FROM t WHERE k % 1000 = 1', true
	UNION ALL SELECT 2, 'count(*) without a condition', 'SELECT count(*) FROM t', false
	UNION ALL SELECT 3, 'k <@ (SELECT bloom_agg(k) FROM s), 100,000 keys', 'SELECT count(*) FROM t WHERE k <@ (SELECT bloom_agg(k) FROM s)', false
	UNION ALL SELECT 4, 'k <@ (SELECT f FROM stored)', 'SELECT count(*) FROM t WHERE k <@ (SELECT f FROM stored)', false
	UNION ALL SELECT 5, 'k <@ filter as a constant', format('SELECT count(*) FROM t WHERE k <@ %L::bloomfilter', f), false FROM stored
	UNION ALL SELECT 6, 'FROM t, stored WHERE k <@ f', 'SELECT count(*) FROM t, stored WHERE k <@ f', false
	UNION ALL SELECT 7, 'k IN (SELECT k FROM s), hashed subplan', 'SELECT count(*) FROM t WHERE (k IN (SELECT k FROM s)) IS TRUE', false
	UNION ALL SELECT 8, 'k IN (SELECT k FROM s), semijoin', 'SELECT count(*) FROM t WHERE k IN (SELECT k FROM s)', false
	UNION ALL SELECT 9, 'k = ANY (constant array of 100,000), hashed', format('SELECT count(*) FROM t WHERE k = ANY (%L::bigint[])', array_agg(k)), false FROM s
) v (n, label, query, base) ORDER BY n;

-- One key among all: the filter compared with indexes.  Sequential scans are off, because the planner overestimates BRIN's bitmap scans here.
INSERT INTO silence
SELECT candidate(format('One key among all rows, %s', present), label, format(query, key), n = 1, 'enable_seqscan=off', 20, disk)
FROM (VALUES
	(1, 'filter in a table, f @> key', 'SELECT f @> %s FROM k_filter', pg_total_relation_size('k_filter')),
	(2, 'btree, index-only', 'SELECT EXISTS (SELECT FROM k_btree WHERE k = %s)', pg_relation_size('k_btree_k')),
	(3, 'contrib bloom', 'SELECT EXISTS (SELECT FROM k_bloom WHERE k = %s)', pg_relation_size('k_bloom_k')),
	(4, 'BRIN, int4_bloom_ops, 16 pages', 'SELECT EXISTS (SELECT FROM k_brin WHERE k = %s)', pg_relation_size('k_brin_k')),
	(5, 'BRIN, int4_bloomx_ops, 16 pages', 'SELECT EXISTS (SELECT FROM k_brinx WHERE k = %s)', pg_relation_size('k_brinx_k')),
	(6, 'SELECT 1', 'SELECT 1', NULL)
) v (n, label, query, disk), (VALUES ('absent', -4711), ('present', 4711)) p (present, key)
ORDER BY present, n;

INSERT INTO silence
SELECT candidate(grp, share || how, format(query, d), base, settings, big => true)
FROM (VALUES ('0.1 %', 'd0_1'), ('1 %', 'd1'), ('10 %', 'd10'), ('50 %', 'd50'), ('100 %', 'd100')) v (share, d),
	(VALUES ('work_mem=2GB', 'Join in memory (work_mem 2 GB)'), ('work_mem=256kB', 'Join that spills (work_mem 256 kB)')) m (settings, grp),
	(VALUES (1, ', hash join', 'SELECT count(*), sum(v), max(pad) FROM t JOIN %I USING (k)', true),
			(2, ', with k <@ (SELECT bloom_agg(k) FROM d)', 'SELECT count(*), sum(v), max(pad) FROM t JOIN %1$I d USING (k) WHERE bloom_prefilter((SELECT bloom_agg(k) FROM %1$I), t.k)', false)) q (n, how, query, base)
ORDER BY grp, share::text = '100 %', rtrim(share, ' %')::float8, n;

-- hll takes minutes and 140 kB per group where the others take seconds.  So it is measured only with few groups.
INSERT INTO silence
SELECT candidate('GROUP BY, 50 keys per group', label, query, base, big => true)
FROM (VALUES
	(1, 'array_agg(k)', 'SELECT sum(pg_column_size(x)) FROM (SELECT array_agg(k) AS x FROM g GROUP BY g) s', true),
	(2, 'count(k)', 'SELECT sum(x) FROM (SELECT count(k) AS x FROM g GROUP BY g) s', false),
	(3, 'bloom_agg(k), sized at the end', 'SELECT sum(pg_column_size(x)) FROM (SELECT bloom_agg(k) AS x FROM g GROUP BY g) s', false),
	(4, 'bloom_agg(k, 50), presized', 'SELECT sum(pg_column_size(x)) FROM (SELECT bloom_agg(k, 50) AS x FROM g GROUP BY g) s', false),
	(5, 'hll_add_agg(hll_hash_bigint(k))', 'SELECT sum(pg_column_size(x)) FROM (SELECT hll_add_agg(hll_hash_bigint(k)) AS x FROM g GROUP BY g) s', false)
) v (n, label, query, base) WHERE NOT ((:'no_hll' OR :groups > 20000) AND label ~ 'hll') ORDER BY n;

INSERT INTO silence
SELECT candidate('A loop of 100,000 in PL/pgSQL', label, query, base)
FROM (VALUES
	(1, 'x := x + i, bigint', 'SELECT loop_add_integers(100000)', true),
	(2, 'f := bloom_add(f, i), a filter of 1 MiB', 'SELECT loop_bloom_add(100000)', false),
	(3, 'a := array_append(a, i)', 'SELECT loop_array_append(100000)', false)
) v (n, label, query, base) ORDER BY n;

-- The template is made for each of 500 rows, but planned once.
INSERT INTO silence
SELECT candidate('A template with arguments from an outer row', label, format('SELECT sum(bloom_cardinality(f)) FROM generate_series(1000, 1000) n, LATERAL (SELECT bloom_agg(i, bloom_empty(n, 0.01, %L)) AS f FROM generate_series(1, 500) i) s', label), base)
FROM (VALUES (1, 'partitioned_blocked', true), (2, 'dynamic_blocked', false), (3, 'age_partitioned', false)) v (n, label, base) ORDER BY n;

INSERT INTO silence
SELECT candidate('One probe of a stored filter of 1.2 MB', label, query, base, NULL, repeat)
FROM (VALUES
	(1, 'SELECT 1', 'SELECT 1 FROM big', true, 50),
	(2, 'SELECT 42 <@ f FROM big', 'SELECT 42 <@ f FROM big', false, 50),
	(3, 'reading it whole: bloom_fill(f)', 'SELECT bloom_fill(f) FROM big', false, 50),
	(4, '50 filters, one probe each: WHERE 42 <@ f', 'SELECT count(*) FROM many WHERE 42 <@ f', false, 3)
) v (n, label, query, base, repeat) ORDER BY n;

SELECT format('The filter of %s keys (bloom_agg(k)): %s bytes, FPR %s; presized: %s bytes, FPR %s.', :rows,
	a.bytes, round(a.fpr::numeric, 5), b.bytes, round(b.fpr::numeric, 5)) || E'\n'
FROM bloom_info((SELECT bloom_agg(k) FROM t)) a, bloom_info((SELECT bloom_agg(k, :rows) FROM t)) b;
SELECT format('Filter of 100,000 keys: %s bytes; of 900,000 (big): %s bytes.', pg_column_size(s.f), pg_column_size(b.f)) || E'\n' FROM stored s, big b;
