--
-- Inspection and planning: bloom_info, bloom_plan, cardinality, fill, false positive rate, similarity.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
SET bloomx.overfill = off;
CREATE FUNCTION i_keys(low int, high int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY(SELECT generate_series(low, high))';
RESET client_min_messages;

-- bloom_info of a filter of 100 keys, planned for 1000 at 1 %, in each layout.
CREATE TABLE i_filter AS
SELECT n, l AS layout, bloom_add_all(bloom_empty(1000, 0.01, l, seed => n), i_keys(1, 100)) AS f
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY u(l, n);
SELECT i.layout, i.bits, i.bytes, i.blocks, i.parts, i.part_bits, i.hash_functions, i.key_type, i.seed, i.capacity, i.overfilled
FROM i_filter, bloom_info(f) i ORDER BY n;
SELECT i.layout, i.bits_set BETWEEN 100 AND 100 * i.hash_functions AS bits_set, i.fill = i.bits_set / i.bits::float8 AS fill,
       i.cardinality BETWEEN 95 AND 105 AS cardinality, i.fpr < 0.001 AS fpr
FROM i_filter, bloom_info(f) i ORDER BY n;

-- The bits are those of the geometry, the bytes those of the value, and the single functions agree.
SELECT i.layout, i.bits = i.blocks * i.parts * i.part_bits AS bits, i.bytes = 4 + length(f::bytea) AS bytes,
       i.fill = bloom_fill(f) AS fill, i.cardinality = bloom_cardinality(f) AS cardinality, i.fpr = bloom_fpr(f) AS fpr
FROM i_filter, bloom_info(f) i ORDER BY n;

-- A filter without a planned capacity and without keys.
SELECT i.layout, i.bits, i.blocks, i.parts, i.part_bits, i.hash_functions, i.key_type, i.seed, i.capacity, i.overfilled,
       i.bits_set, i.fill, i.cardinality, i.fpr
FROM bloom_info(bloom_empty_bits(4096, 8)) i;

-- A full filter: every key is found, the number of keys is unknown.
SELECT l AS layout, i.fill, i.cardinality, i.fpr, f @> 'anything'::text AS found
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l,
     LATERAL (SELECT bloom_agg(v::text, bloom_empty_bits(512, 1, l)) AS f FROM generate_series(1, 20000) v) s, bloom_info(f) i
ORDER BY l;

-- A filter of raw hashes, and one of a named key type.
SELECT (bloom_info(bloom_add_hash(bloom_empty(5), 1))).key_type AS hashes, (bloom_info(bloom_add(bloom_empty(5), ARRAY[1]))).key_type AS arrays;

-- NULL gives NULL.
SELECT count(*) AS rows, count(i.layout) AS layouts FROM bloom_info(NULL) i;

-- bloom_summary: one line for people.
SELECT bloom_summary(f) FROM i_filter ORDER BY n;
SELECT what, bloom_summary(f) FROM (VALUES
    (1, 'empty', bloom_empty(1000)),
    (2, 'empty, of a key type', (SELECT bloom_agg(NULL::text))),
    (3, 'one key, no plan', bloom_add(bloom_empty_bits(256, 2), 'one')),
    (4, 'a named key type', bloom_add(bloom_empty(1000, 0.01, 'standard'), ARRAY[1])),
    (5, 'too many keys', bloom_add_all(bloom_empty(10), i_keys(1, 20))),
    (6, 'full', bloom_add_all(bloom_empty(10), i_keys(1, 1000))),
    (7, 'megabytes', bloom_empty(1000000)),
    (8, 'a low rate', bloom_add_all(bloom_empty(100, 1e-9), i_keys(1, 100))),
    (9, 'open', bloomx_probe_all(i_keys(1, 20))),
    (10, 'open, empty', bloomx_probe_all('{}'::int[])),
    (11, 'ready-made hashes', bloomx_probe_hash(1)),
    (12, 'null', NULL)) AS v(n, what, f) ORDER BY n;
SELECT l, bloom_summary(bloom_add_all(bloom_empty(100, 0.001, l), i_keys(1, 200))) FROM unnest(ARRAY['scalable', 'counting', 'age_partitioned', 'dynamic_blocked', 'rational']) l ORDER BY l;
SELECT bloom_cardinality(NULL) AS cardinality, bloom_fpr(NULL) AS fpr, bloom_fill(NULL) AS fill, bloom_jaccard(NULL, NULL) AS jaccard;

-- bloom_plan: the sizes for 1000 keys, by layout and rate (bits per key).
SELECT layout, rate, round(bits / 1000.0, 1) AS bits_per_key, blocks, parts, part_bits, hash_functions, fpr < rate AS "below the rate", fpr > rate / 3 AS "and near it"
FROM (SELECT l, n, 10.0::float8 ^ -d AS rate, p.*
      FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY u(l, n), generate_series(1, 6) d,
           bloom_plan(1000, 10.0::float8 ^ -d, l) p) s
ORDER BY n, rate DESC;

-- The default is partitioned_blocked at 1 %.
SELECT bloom_plan(1000) = bloom_plan(1000, 0.01, 'partitioned_blocked') AS "default";

-- bloom_plan describes what bloom_empty makes.
SELECT count(*) AS plans, bool_and((i.layout, i.bits, i.bytes, i.blocks, i.parts, i.part_bits, i.hash_functions)
                                 = (p.layout, p.bits, p.bytes, p.blocks, p.parts, p.part_bits, p.hash_functions)) AS same
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, unnest(ARRAY[1, 10, 12345]) n,
     generate_series(1, 6, 2) d, bloom_plan(n, 10.0::float8 ^ -d, l) p, bloom_info(bloom_empty(n, 10.0::float8 ^ -d, l)) i;

-- A larger capacity, or a lower rate, never takes fewer bits.
SELECT l AS layout, count(*) FILTER (WHERE bits < by_n) AS "larger n, fewer bits", count(*) FILTER (WHERE bits < by_rate) AS "lower rate, fewer bits"
FROM (SELECT l, p.bits, lag(p.bits) OVER (PARTITION BY l, d ORDER BY n) AS by_n, lag(p.bits) OVER (PARTITION BY l, n ORDER BY d) AS by_rate
      FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, generate_series(1, 3000, 999) n, generate_series(1, 5, 2) d,
           bloom_plan(n, 10.0::float8 ^ -d, l) p) s
GROUP BY l ORDER BY l;

-- The planned rate is met: with 20,000 keys, computed from the bits and measured with 100,000 absent keys (within 15 %).
SELECT l AS layout, round((bloom_fpr(f) / p.fpr)::numeric, 1) AS "by its bits / planned",
       (SELECT count(*) FROM generate_series(1000001, 1100000) v WHERE v <@ f) / 1e5 / p.fpr BETWEEN 0.85 AND 1.15 AS "by keys / planned"
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, bloom_plan(20000, 0.01, l) p,
     bloom_empty(20000, 0.01, l) e, LATERAL (SELECT bloom_agg(v, e) AS f FROM generate_series(1, 20000) v) s
ORDER BY l;

-- Cardinality is estimated within three standard errors, from one key to three times the capacity.  sqrt(n (e^x - 1 - x) / (x k)),
-- x = k n / m, is the standard error of the flat layouts; blocks add less than a tenth.
CREATE FUNCTION i_sigma(n float8, f bloomfilter) RETURNS float8 LANGUAGE sql IMMUTABLE AS
	'SELECT 1.1 * sqrt(n * (exp(x) - 1 - x) / (x * k)) FROM (SELECT i.hash_functions AS k, n * i.hash_functions / i.bits AS x FROM bloom_info(f) i) s';
SELECT n, count(*) AS filters, bool_and(abs(bloom_cardinality(f) - n) <= greatest(0.5, 3 * i_sigma(n, f))) AS "within 3 sigma",
       round(max(3 * i_sigma(n, f) / n * 100)) AS "3 sigma, %"
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, unnest(ARRAY[1, 10, 100, 300, 1000, 3000]) n,
     generate_series(1, 5) seed, bloom_empty(1000, 0.01, l, seed => seed) e,
     LATERAL (SELECT bloom_agg(v, e) AS f FROM generate_series(1, n) v) s
GROUP BY n ORDER BY n;

-- Folds, prefixes and expanded unions are estimated as well.
SELECT abs(bloom_cardinality(f) - 1000) <= 3 * i_sigma(1000, f) AS "all", abs(bloom_cardinality(bloom_fold(f, 2)) - 1000) <= 3 * i_sigma(1000, bloom_fold(f, 2)) AS fold,
       abs(bloom_cardinality(bloom_prefix(f, 2)) - 1000) <= 3 * i_sigma(1000, bloom_prefix(f, 2)) AS prefix,
       abs(bloom_cardinality(f | bloom_add(bloom_empty_bits(64 * 1024 * 2, 2), 1)) - 1000) <= 3 * i_sigma(1000, bloom_prefix(f, 2)) AS "expanded union"
FROM (SELECT bloom_agg(v, bloom_empty_bits(64 * 64 * 10, 10)) AS f FROM generate_series(1, 1000) v) s;

-- Pairs of sets: 1..3000 and 2001..5000 share 1000 of 5000 keys.  Tolerance: 3 % of the union.
CREATE TABLE i_pair AS
SELECT n, what, (SELECT bloom_agg(v, e1) FROM generate_series(1, 3000) v) AS a, (SELECT bloom_agg(v, e2) FROM generate_series(2001, 5000) v) AS b
FROM (SELECT n, l, bloom_empty(5000, 0.01, l), bloom_empty(5000, 0.01, l) FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY u(l, n)
      UNION ALL SELECT 5, 'partitioned_blocked, 4 : 1 blocks', bloom_empty_bits(64 * 256 * 8, 8), bloom_empty_bits(64 * 64 * 8, 8)
      UNION ALL SELECT 6, 'partitioned_blocked, 8 : 12 parts', bloom_empty_bits(64 * 128 * 8, 8), bloom_empty_bits(64 * 128 * 12, 12)
      UNION ALL SELECT 7, 'partitioned_blocked, both', bloom_empty_bits(64 * 64 * 9, 9), bloom_empty_bits(64 * 256 * 5, 5)
      UNION ALL SELECT 8, 'partitioned, 4 : 1 bits', bloom_empty_bits(64 * 256 * 8, 8, 'partitioned'), bloom_empty_bits(64 * 64 * 8, 8, 'partitioned')) v(n, what, e1, e2);
SELECT what, abs(bloom_union_cardinality(a, b) - 5000) < 150 AS "union", abs(bloom_intersection_cardinality(a, b) - 1000) < 150 AS intersection,
       abs(bloom_jaccard(a, b) - 0.2) < 0.03 AS jaccard
FROM i_pair ORDER BY n;

-- The same with the arguments swapped, and for expanded unions: (a | b) holds all keys of both.
SELECT what, bloom_union_cardinality(a, b) = bloom_union_cardinality(b, a) AND bloom_intersection_cardinality(a, b) = bloom_intersection_cardinality(b, a)
             AND bloom_jaccard(a, b) = bloom_jaccard(b, a) AS symmetric,
       abs(bloom_cardinality(a | b) - 5000) < 150 AS "of |", abs(bloom_union_cardinality(a | b, b) - 5000) < 150 AS "union with |",
       abs(bloom_intersection_cardinality(a | b, b) - 3000) < 200 AS "intersection with |", abs(bloom_jaccard(a | b, a) - 0.6) < 0.04 AS "jaccard with |"
FROM i_pair ORDER BY n;

-- Equal, disjoint and empty sets.
SELECT what, bloom_jaccard(a, a) AS itself, bloom_intersection_cardinality(a, a) = bloom_cardinality(a) AS "with itself",
       bloom_jaccard(a, e) AS "with empty", bloom_intersection_cardinality(a, e) AS "both", bloom_jaccard(e, e) AS "two empty",
       bloom_jaccard(a, d) < 0.02 AS "disjoint"
FROM i_pair, LATERAL (SELECT bloom_empty_bits(i.bits, i.parts) AS e, bloom_agg(v, a) AS d
                     FROM bloom_info(a) i, generate_series(100001, 103000) v GROUP BY i.bits, i.parts) s
WHERE n >= 4 AND n <= 6 ORDER BY n;

-- bloom_compare: the same three estimates, each with its standard error.  Of 100 keys beside 1,000, 1,000 pairs of each kind: the
-- estimates are right on average, and within three errors except for 1 %.
CREATE TABLE i_compared AS
SELECT shared, s, c.* FROM unnest(ARRAY[0, 30, 100]) shared, generate_series(1, 1000) s,
     LATERAL (SELECT bloom_agg(bloom_hash(v, s)) AS a FROM generate_series(1, 100) v) a,
     LATERAL (SELECT bloom_agg(bloom_hash(v, s)) AS b FROM generate_series(101 - shared, 1100 - shared) v) b, bloom_compare(a, b) c;
SELECT shared, abs(avg(union_keys) - 1100 + shared) < 2 AS "union", abs(avg(intersection_keys) - shared) < CASE shared WHEN 30 THEN 2 ELSE 10 END AS intersection,
       count(*) FILTER (WHERE abs(union_keys - 1100 + shared) > 3 * union_error) <= 10 AS "union, 3 sigma",
       count(*) FILTER (WHERE abs(intersection_keys - shared) > 3 * intersection_error) <= 10 AS "intersection, 3 sigma",
       count(*) FILTER (WHERE abs(jaccard - shared / (1100.0 - shared)) > 3 * jaccard_error) <= 10 AS "jaccard, 3 sigma",
       max(intersection_error) BETWEEN 5 AND 30 AS "a few keys"
FROM i_compared GROUP BY shared ORDER BY shared;
SELECT bool_and((c.union_keys, c.intersection_keys, c.jaccard) =
                (bloom_union_cardinality(a, b), bloom_intersection_cardinality(a, b), bloom_jaccard(a, b))) AS "as the single functions"
FROM i_pair, bloom_compare(a, b) c;
SELECT c.union_keys, c.union_error, c.intersection_keys, c.intersection_error, c.jaccard, c.jaccard_error
FROM (SELECT bloom_agg(i) AS none FROM generate_series(1, 0) i) n, bloom_compare(none, none) c;
SELECT union_keys, intersection_keys, jaccard FROM bloom_compare(bloom_empty(1), bloom_empty(10));	-- 0, not -0
SELECT bloom_compare(NULL, bloom_empty(1)) IS NULL AS "null";
DROP TABLE i_compared;

-- Nothing is known about a full filter.
SELECT * FROM bloom_compare(bloom_add(bloom_empty_bits(64, 1), 1), (SELECT bloom_agg(v, bloom_empty_bits(64, 1)) FROM generate_series(1, 5000) v));
SELECT bloom_union_cardinality(f, f) AS "union", bloom_intersection_cardinality(f, f) AS intersection, bloom_jaccard(f, f) AS jaccard
FROM (SELECT bloom_agg(v, bloom_empty_bits(64, 1)) AS f FROM generate_series(1, 5000) v) s;

-- Filters that do not combine have no common estimate.
\set VERBOSITY terse
SELECT bloom_union_cardinality(a.a, b.a) FROM i_pair a, i_pair b WHERE a.n = 1 AND b.n = 2;
SELECT bloom_intersection_cardinality(a.a, b.a) FROM i_pair a, i_pair b WHERE a.n = 3 AND b.n = 4;
SELECT bloom_jaccard(bloom_add(bloom_empty(9), 1), bloom_add(bloom_empty(9), 'one'::text));

-- Impossible plans.
SELECT bloom_plan(0);
SELECT bloom_plan(10, 0);
SELECT bloom_plan(10, 0.01, 'cuckoo');
\set VERBOSITY default

RESET bloomx.overfill;
DROP FUNCTION i_keys, i_sigma;
DROP TABLE i_filter, i_pair;
