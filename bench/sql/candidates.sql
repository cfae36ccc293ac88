-- What is compared with what.  The first candidate of each group, and each one marked true, is a base.
SET search_path = bench, public;
SET client_min_messages = warning;
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'hll') AS no_hll \gset
\if :no_hll
\echo hll is not installed: its rows are left out.
\echo
\else
CREATE EXTENSION hll;
\endif
CREATE TEMP TABLE silence AS
SELECT candidate('Build, one filter of all rows', 'count(k)', 'SELECT count(k) FROM bench.t', true)
UNION ALL SELECT candidate('Build, one filter of all rows', 'bloom_agg(k), sized at the end', 'SELECT pg_column_size(bloom_agg(k)) FROM bench.t')
UNION ALL SELECT candidate('Build, one filter of all rows', 'bloom_agg(k, n), presized', format('SELECT pg_column_size(bloom_agg(k, %s)) FROM bench.t', :rows))
UNION ALL SELECT candidate('Build, one filter of all rows', 'count(DISTINCT k)', 'SELECT count(DISTINCT k) FROM bench.t')
UNION ALL SELECT candidate('Build, one filter of all rows', 'array_agg(k)', 'SELECT cardinality(array_agg(k)) FROM bench.t')
UNION ALL SELECT candidate('Build, one filter of all rows', 'hll_add_agg(hll_hash_bigint(k))', 'SELECT pg_column_size(hll_add_agg(hll_hash_bigint(k))) FROM bench.t') WHERE NOT :'no_hll'::bool;

INSERT INTO silence
SELECT candidate('Probe, 1 % of the rows found', 'k % 1000 = 1', 'SELECT count(*) FROM bench.t WHERE k % 1000 = 1', true)
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'count(*) without a condition', 'SELECT count(*) FROM bench.t')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k <@ (SELECT bloom_agg(k) FROM s), 100,000 keys', 'SELECT count(*) FROM bench.t WHERE k <@ (SELECT bloom_agg(k) FROM bench.s)')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k <@ (SELECT f FROM stored)', 'SELECT count(*) FROM bench.t WHERE k <@ (SELECT f FROM bench.stored)')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k <@ filter as a constant', format('SELECT count(*) FROM bench.t WHERE k <@ %L::bloomfilter', f)) FROM stored
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'FROM t, stored WHERE k <@ f', 'SELECT count(*) FROM bench.t, bench.stored WHERE k <@ f')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k IN (SELECT k FROM s), hashed subplan', 'SELECT count(*) FROM bench.t WHERE (k IN (SELECT k FROM bench.s)) IS TRUE')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k IN (SELECT k FROM s), semijoin', 'SELECT count(*) FROM bench.t WHERE k IN (SELECT k FROM bench.s)')
UNION ALL SELECT candidate('Probe, 1 % of the rows found', 'k = ANY (constant array of 100,000), hashed', format('SELECT count(*) FROM bench.t WHERE k = ANY (%L::bigint[])', array_agg(k))) FROM s;

INSERT INTO silence
SELECT x FROM (VALUES ('0.1 %', 'd0_1'), ('1 %', 'd1'), ('10 %', 'd10'), ('50 %', 'd50'), ('100 %', 'd100')) v (share, d),
	(VALUES ('in memory', 'work_mem=2GB', 'Join in memory (work_mem 2 GB)'), ('spilling', 'work_mem=256kB', 'Join that spills (work_mem 256 kB)')) m (how, settings, grp),
	LATERAL (SELECT 1, candidate(grp, share || ', hash join', format('SELECT count(*), sum(v), max(pad) FROM bench.t JOIN bench.%I USING (k)', d), true, settings)
		UNION ALL SELECT 2, candidate(grp, share || ', with k <@ (SELECT bloom_agg(k) FROM d)', format('SELECT count(*), sum(v), max(pad) FROM bench.t JOIN bench.%1$I d USING (k) WHERE t.k <@ (SELECT bloom_agg(k) FROM bench.%1$I)', d), false, settings)) l (o, x);

INSERT INTO silence
SELECT candidate('GROUP BY, 50 keys a group', 'array_agg(k)', 'SELECT sum(pg_column_size(x)) FROM (SELECT array_agg(k) AS x FROM bench.g GROUP BY g) s', true)
UNION ALL SELECT candidate('GROUP BY, 50 keys a group', 'count(k)', 'SELECT sum(x) FROM (SELECT count(k) AS x FROM bench.g GROUP BY g) s')
UNION ALL SELECT candidate('GROUP BY, 50 keys a group', 'bloom_agg(k), sized at the end', 'SELECT sum(pg_column_size(x)) FROM (SELECT bloom_agg(k) AS x FROM bench.g GROUP BY g) s')
UNION ALL SELECT candidate('GROUP BY, 50 keys a group', 'bloom_agg(k, 50), presized', 'SELECT sum(pg_column_size(x)) FROM (SELECT bloom_agg(k, 50) AS x FROM bench.g GROUP BY g) s')
UNION ALL SELECT candidate('GROUP BY, 50 keys a group', 'hll_add_agg(hll_hash_bigint(k))', 'SELECT sum(pg_column_size(x)) FROM (SELECT hll_add_agg(hll_hash_bigint(k)) AS x FROM bench.g GROUP BY g) s') WHERE NOT :'no_hll'::bool;

INSERT INTO silence
SELECT candidate('One probe of a stored filter of 1.2 MB', 'SELECT 1', 'SELECT 1 FROM bench.big', true, NULL, 50)
UNION ALL SELECT candidate('One probe of a stored filter of 1.2 MB', 'SELECT 42 <@ f FROM big', 'SELECT 42 <@ f FROM bench.big', false, NULL, 50)
UNION ALL SELECT candidate('One probe of a stored filter of 1.2 MB', 'reading it whole: bloom_fill(f)', 'SELECT bloom_fill(f) FROM bench.big', false, NULL, 50)
UNION ALL SELECT candidate('One probe of a stored filter of 1.2 MB', '50 filters, one probe each: WHERE 42 <@ f', 'SELECT count(*) FROM bench.many WHERE 42 <@ f', false, NULL, 3);

SELECT format('The filter of %s keys (bloom_agg(k)): %s bytes, FPR %s; presized: %s bytes, FPR %s.', :rows,
	a.bytes, round(a.fpr::numeric, 5), b.bytes, round(b.fpr::numeric, 5)) || E'\n'
FROM bloom_info((SELECT bloom_agg(k) FROM t)) a, bloom_info((SELECT bloom_agg(k, :rows) FROM t)) b;
SELECT format('Filter of 100,000 keys: %s bytes; of 900,000 (big): %s bytes.', pg_column_size(s.f), pg_column_size(b.f)) || E'\n' FROM stored s, big b;
