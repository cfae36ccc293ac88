--
-- Algebra: union, intersection, disjointness, prefix, fold and shrink.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
SET bloomx.overfill = off;

CREATE FUNCTION g_keys(low int, high int) RETURNS int[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY(SELECT generate_series(low, high))';
CREATE FUNCTION g_lost(f bloomfilter, low int, high int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT count(*) FROM generate_series(low, high) v WHERE NOT v <@ f';
RESET client_min_messages;

-- Equal geometries, each layout: a | b is the filter of both sets, and a & b keeps the common keys and few others.
CREATE TABLE g_pair AS
SELECT n, l AS layout, bloom_empty(1000, 0.001, l) AS e,
       bloom_add_all(bloom_empty(1000, 0.001, l), g_keys(1, 500)) AS a,
       bloom_add_all(bloom_empty(1000, 0.001, l), g_keys(401, 900)) AS b
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY u(l, n);
SELECT layout, a | b = bloom_add_all(e, g_keys(1, 900)) AS "union is exact", g_lost(a & b, 401, 500) AS "lost in &",
       1000 - g_lost(a & b, 10001, 11000) <= 10 AS "few others"
FROM g_pair ORDER BY n;

-- The functions give the results of the operators.
SELECT bool_and(bloom_union(a, b) = (a | b)) AS "union", bool_and(bloom_intersection(a, b) = (a & b)) AS intersection,
       bool_and(bloom_disjoint(a, b) = (a !&& b)) AS "disjoint", bool_and(bloom_overlaps(a, b) = (a && b)) AS overlaps
FROM g_pair;

-- Commutative, idempotent, absorbing; an empty filter is neutral for | and absorbing for &.
SELECT layout, (a | b) = (b | a) AND (a & b) = (b & a) AS commutes, (a | a) = a AND (a & a) = a AS idempotent,
       (a | (a & b)) = a AND (a & (a | b)) = a AS absorbs, (a | e) = a AND (e | a) = a AS "neutral in |",
       bloom_cardinality(a & e) = 0 AS "takes all in &"
FROM g_pair ORDER BY n;

-- Filters of different sizes: seven geometries of the two layouts that combine in any sizes.
CREATE TABLE g_any AS
SELECT l AS layout, s AS part_blocks, k, bloom_add_all(bloom_empty_bits(64 * s * k, k, l), g_keys(1, 300)) AS f
FROM unnest(ARRAY['partitioned', 'partitioned_blocked']) l,
     (VALUES (1, 1), (1, 7), (8, 3), (8, 8), (32, 5), (64, 12), (16, 20)) v(s, k);
SELECT layout, count(*) AS geometries, count(DISTINCT (bloom_info(f)).bits) AS sizes FROM g_any GROUP BY layout ORDER BY layout;

-- Their unions and intersections: no key is lost, both are commutative and associative, and the size is as documented.
SELECT a.layout, count(*) AS pairs,
       bool_and(g_lost(a.f | bloom_add_all(bloom_fold(b.f, 0), g_keys(301, 320)), 1, 320) = 0) AS "| loses none",
       bool_and(g_lost(a.f & b.f, 1, 300) = 0) AS "& loses none",
       bool_and((a.f | b.f) = (b.f | a.f)) AS "| commutes", bool_and((a.f & b.f) = (b.f & a.f)) AS "& commutes",
       bool_and((u.blocks * u.part_bits, u.parts) = (64 * greatest(a.part_blocks, b.part_blocks), least(a.k, b.k))) AS "| size",
       bool_and((i.blocks * i.part_bits, i.parts) = (64 * greatest(a.part_blocks, b.part_blocks), greatest(a.k, b.k))) AS "& size"
FROM g_any a JOIN g_any b USING (layout), bloom_info(a.f | b.f) u, bloom_info(a.f & b.f) i
GROUP BY a.layout ORDER BY a.layout;
SELECT a.layout, count(*) AS triples, bool_and(((a.f | b.f) | c.f) = (a.f | (b.f | c.f))) AS "| associates",
       bool_and(((a.f & b.f) & c.f) = (a.f & (b.f & c.f))) AS "& associates"
FROM g_any a JOIN g_any b USING (layout) JOIN g_any c USING (layout) GROUP BY a.layout ORDER BY a.layout;

-- A fold is the filter that would have been built with half the blocks, a prefix the one with fewer parts.
SELECT l AS layout, bool_and(bloom_fold(big, t) = small) AS fold, count(*)
FROM unnest(ARRAY['partitioned', 'partitioned_blocked']) l, unnest(ARRAY[1, 3, 8, 9, 20]) k, generate_series(0, 5) t,
     LATERAL (SELECT bloom_agg(v, bloom_empty_bits(64 * 32 * k, k, l)) AS big,
                     bloom_agg(v, bloom_empty_bits(64 * (32 >> t) * k, k, l)) AS small FROM generate_series(1, 400) v) s
GROUP BY l ORDER BY l;
SELECT l AS layout, bool_and(bloom_prefix(big, p) = small) AS prefix, count(*)
FROM unnest(ARRAY['partitioned', 'partitioned_blocked']) l, generate_series(1, 20) p,
     LATERAL (SELECT bloom_agg(v, bloom_empty_bits(64 * 16 * 20, 20, l)) AS big,
                     bloom_agg(v, bloom_empty_bits(64 * 16 * p, p, l)) AS small FROM generate_series(1, 400) v) s
GROUP BY l ORDER BY l;
SELECT layout, bloom_fold(bloom_prefix(f, 3), 2) = bloom_prefix(bloom_fold(f, 2), 3) AS "fold and prefix commute",
       bloom_fold(f) = bloom_fold(f, 1) AS "fold once by default", bloom_fold(f, 0) = f AND bloom_prefix(f, 8) = f AS "by nothing"
FROM g_any WHERE part_blocks = 8 AND k = 8 ORDER BY layout;

-- Layouts without parts fold, too: to half the bits, or half the blocks, whatever the size of a block.
SELECT l AS layout, options, k, bool_and(bloom_fold(big, t) = small) AS fold, bool_and(g_lost(bloom_fold(big, t), 1, 400) = 0) AS "loses none",
       bool_and(bloom_fold(big, t) | bloom_add(big, -1) = big | bloom_add(big, -1) OR t > 0) AS "by nothing",
       bool_and(g_lost(bloom_fold(big, t) | bloom_add_all(empty, g_keys(401, 420)), 1, 420) = 0) AS "| loses none",
       bool_and(g_lost(bloom_fold(big, t) & big, 1, 400) = 0) AS "& loses none", bool_and(NOT (bloom_fold(big, t) !&& bloom_add(empty, 7))) AS "common key"
FROM (VALUES ('standard', '', 4.0::float8), ('standard', '', 1), ('blocked', '', 5), ('blocked', 'block_bits=100', 4), ('rational', '', 3.5), ('rational', '', 0.5)) v(l, options, k),
     generate_series(0, 4) t, bloom_empty_bits(16 * 700, k, l, options => options) empty, bloom_empty_bits((16 >> t) * 700, k, l, options => options) less,
     LATERAL (SELECT bloom_agg(v, empty) AS big, bloom_agg(v, less) AS small FROM generate_series(1, 400) v) s
WHERE (bloom_info(empty)).bits = (bloom_info(less)).bits << t
GROUP BY l, options, k ORDER BY l, options, k;
SELECT layout, bloom_fpr(s) <= 0.3 AS "meets the rate", (bloom_info(s)).bits < (bloom_info(f)).bits / 2 AS smaller, g_lost(s, 1, 100) AS lost
FROM unnest(ARRAY['standard', 'blocked', 'rational']) layout,
     LATERAL (SELECT bloom_add_all(bloom_empty_bits(16384, 3, layout), g_keys(1, 100)) AS f) x, bloom_shrink(f, 0.3) s;

-- Folding and uniting commute: the fold of a union is the union of the folds.
SELECT layout, bloom_fold(a.f | bloom_add(a.f, -1)) = (bloom_fold(a.f) | bloom_fold(bloom_add(a.f, -1))) AS same
FROM g_any a WHERE part_blocks = 32 ORDER BY layout;

-- A reduced filter takes further keys, and then equals a filter that was built small.
SELECT l AS layout, bloom_add_all(bloom_prefix(bloom_fold(f, 2), 4), g_keys(201, 400)) = bloom_agg(v, bloom_empty_bits(64 * 8 * 4, 4, l)) AS same
FROM unnest(ARRAY['partitioned', 'partitioned_blocked']) l,
     LATERAL (SELECT bloom_add_all(bloom_empty_bits(64 * 32 * 10, 10, l), g_keys(1, 200)) AS f) s, generate_series(1, 400) v
GROUP BY l, f ORDER BY l;

-- So does a union of unequal sizes.
SELECT layout, g_lost(bloom_add_all(a.f | b.f, g_keys(5001, 5100)), 1, 300) + g_lost(bloom_add_all(a.f | b.f, g_keys(5001, 5100)), 5001, 5100) AS lost
FROM g_any a JOIN g_any b USING (layout) WHERE (a.part_blocks, a.k, b.part_blocks, b.k) = (8, 3, 64, 12) ORDER BY layout;

-- The smaller filter, expanded by a union with a larger one, answers exactly as before (over the parts kept).
SELECT bool_and((i <@ (f | bloom_prefix(e, 3))) = (i <@ f)) AS same
FROM g_any, bloom_empty_bits(64 * 64 * 3, 3, layout) e, generate_series(1, 2000) i WHERE part_blocks = 8 AND k = 3;

-- Disjointness is claimed only if it is certain: never for sets with a common key, always for an empty set, and for other
-- sets while the filters are sparse.
SELECT layout, a !&& b AS "common keys", e !&& a AS "empty", a !&& bloom_add(e, 5001) AS "one other key", a !&& bloom_add(e, 500) AS "one common key"
FROM g_pair ORDER BY n;
SELECT layout, count(*) FILTER (WHERE bloom_add(a.f, 0) !&& bloom_add(bloom_fold(b.f, 0), 0)) AS "of common keys",
       bool_and((a.f && b.f) = NOT (a.f !&& b.f)) AS negators, bool_and((a.f !&& b.f) = (b.f !&& a.f)) AS commutes
FROM g_any a JOIN g_any b USING (layout) GROUP BY layout ORDER BY layout;
SELECT l AS layout, count(*) AS pairs, count(*) FILTER (WHERE x !&& y) > 0 AS "some are certain",
       bool_and(NOT (x !&& bloom_add(y, 1))) AS "never with a common key"
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) l, generate_series(1, 50) i,
     LATERAL (SELECT bloom_add_all(bloom_empty(1000, 1e-4, l), g_keys(1, 20)) AS x,
                     bloom_add_all(bloom_empty(1000, 1e-4, l), g_keys(100 * i, 100 * i + 20)) AS y) s
GROUP BY l ORDER BY l;
SELECT count(*) FILTER (WHERE x !&& y) > 0 AS "some are certain, unequal sizes", bool_and(NOT (x !&& bloom_add(y, 1))) AS "never with a common key"
FROM generate_series(1, 50) i,
     LATERAL (SELECT bloom_add_all(bloom_empty(2000, 1e-6), g_keys(1, 10)) AS x,
                     bloom_add_all(bloom_empty(300, 1e-3), g_keys(100 * i, 100 * i + 10)) AS y) s;

-- bloom_shrink: the result meets the rate with its present contents and loses no key, and no smaller fold and prefix meets the rate.
CREATE TABLE g_shrink AS
SELECT layout, rate, f, bloom_shrink(f, rate) AS s
FROM (SELECT l AS layout, bloom_agg(v, bloom_empty_bits(64 * 32 * 12, 12, l)) AS f
      FROM unnest(ARRAY['partitioned', 'partitioned_blocked']) l, generate_series(1, 300) v GROUP BY l) b,
     unnest(ARRAY[0.5, 0.1, 0.01, 0.001, 0.00001]::float8[]) rate;
SELECT layout, rate, bloom_fpr(s) <= rate AS "meets the rate", g_lost(s, 1, 300) AS lost,
       (bloom_info(s)).bits < (bloom_info(f)).bits AS smaller,
       (bloom_info(s)).bits = (SELECT min((bloom_info(c)).bits)
                               FROM generate_series(0, 5) t, generate_series(1, 12) p, bloom_prefix(bloom_fold(f, t), p) c
                               WHERE bloom_fpr(c) <= rate) AS smallest,
       s IN (SELECT bloom_prefix(bloom_fold(f, t), p) FROM generate_series(0, 5) t, generate_series(1, 12) p) AS "fold and prefix"
FROM g_shrink ORDER BY layout, rate DESC;

-- An empty filter shrinks to the smallest possible size.  A rate that the filter itself does not meet is an error.
SELECT i.blocks, i.parts, i.part_bits FROM bloom_info(bloom_shrink(bloom_empty(100000), 0.01)) i;
\set VERBOSITY terse
SELECT bloom_shrink(f, 1e-30) FROM g_any WHERE part_blocks = 1 AND k = 1 AND layout = 'partitioned_blocked';
SELECT bloom_shrink(f, 0) FROM g_any LIMIT 1;
SELECT bloom_shrink(f, 1.5) FROM g_any LIMIT 1;
SELECT bloom_shrink(bloom_empty_bits(1000, 4, 'variable_blocked'), 0.1);

-- Impossible prefixes and folds.
SELECT bloom_prefix(f, 0) FROM g_any WHERE k = 8 LIMIT 1;
SELECT bloom_prefix(f, 9) FROM g_any WHERE k = 8 LIMIT 1;
SELECT bloom_fold(f, 4) FROM g_any WHERE part_blocks = 8 AND k = 8 AND layout = 'partitioned_blocked';
SELECT bloom_fold(f, -1) FROM g_any WHERE k = 8 AND layout = 'partitioned_blocked';
SELECT bloom_fold(bloom_empty_bits(1000, 4, 'standard'), 4);
SELECT bloom_fold(bloom_empty_bits(1536, 4, 'blocked'));
SELECT bloom_fold(bloom_empty_bits(1024, 4, 'standard', options => 'hashing=double'));
SELECT bloom_fold(bloom_empty_bits(1000, 4, 'variable_blocked'));
SELECT bloom_prefix(a, 2) FROM g_pair WHERE layout = 'standard';

-- |, & and !&& refuse filters that differ in layout, seed or key type or, in layouts that do not resize, in geometry.
CREATE FUNCTION g_try(a bloomfilter, b bloomfilter) RETURNS TABLE (operator text, message text) LANGUAGE plpgsql AS $$
DECLARE
	o text;
BEGIN
	FOREACH o IN ARRAY ARRAY['|', '&', '!&&'] LOOP
		operator := o;
		BEGIN
			EXECUTE format('SELECT ($1 %s $2)::text', o) USING a, b;
			message := 'accepted';
		EXCEPTION WHEN OTHERS THEN
			message := sqlstate || ' ' || sqlerrm;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT what, string_agg(operator, ' ') AS operators, message
FROM (VALUES (1, 'layout', bloom_add(bloom_empty(10, 0.01, 'standard'), 1), bloom_add(bloom_empty(10, 0.01, 'partitioned'), 1)),
             (2, 'layout, to blocks', bloom_add(bloom_empty(10), 1), bloom_add(bloom_empty(10, 0.01, 'partitioned'), 1)),
             (3, 'seed', bloom_add(bloom_empty(10, seed => 1), 1), bloom_add(bloom_empty(10, seed => 2), 1)),
             (4, 'key type', bloom_add(bloom_empty(10), 1), bloom_add(bloom_empty(10), 'one'::text)),
             (5, 'standard bits', bloom_add(bloom_empty_bits(1000, 4, 'standard'), 1), bloom_add(bloom_empty_bits(1001, 4, 'standard'), 1)),
             (6, 'standard k', bloom_add(bloom_empty_bits(1000, 4, 'standard'), 1), bloom_add(bloom_empty_bits(1000, 5, 'standard'), 1)),
             (7, 'blocked blocks', bloom_add(bloom_empty_bits(1024, 4, 'blocked'), 1), bloom_add(bloom_empty_bits(1536, 4, 'blocked'), 1)),
             (8, 'blocked k', bloom_add(bloom_empty_bits(1024, 4, 'blocked'), 1), bloom_add(bloom_empty_bits(1024, 5, 'blocked'), 1)),
             (9, 'partitioned, not a power of two', bloom_add(bloom_empty_bits(300, 3, 'partitioned'), 1), bloom_add(bloom_empty_bits(450, 3, 'partitioned'), 1)),
             (10, 'partitioned, twice the size', bloom_add(bloom_empty_bits(300, 3, 'partitioned'), 1), bloom_add(bloom_empty_bits(600, 3, 'partitioned'), 1)),
             (11, 'no key and no key type yet', bloom_empty(10), bloom_add(bloom_empty(10), 'one'::text))) v(n, what, a, b),
     LATERAL g_try(a, b)
GROUP BY n, what, message ORDER BY n, message;

-- NULL is unknown.
SELECT a | NULL AS "|", a & NULL AS "&", a && NULL AS "&&", a !&& NULL AS "!&&", bloom_prefix(a, NULL) AS prefix,
       bloom_fold(a, NULL) AS fold, bloom_shrink(a, NULL) AS shrink
FROM g_pair WHERE layout = 'partitioned_blocked';

-- The planner knows the negators.
SELECT o.oprname, n.oprname AS negator, c.oprname AS commutator
FROM pg_operator o JOIN pg_operator n ON n.oid = o.oprnegate JOIN pg_operator c ON c.oid = o.oprcom
WHERE o.oprleft = 'bloomfilter'::regtype AND o.oprname IN ('&&', '!&&') ORDER BY o.oprname COLLATE "C";

\set VERBOSITY default
RESET bloomx.overfill;
DROP FUNCTION g_try, g_keys, g_lost;
DROP TABLE g_pair, g_any, g_shrink;

-- The filter of no keys, which bloom_agg gives for no rows, combines with every layout and seed, but not with other key types.
SELECT layout, f | none = f AS "f | none", none | f = f AS "none | f", f !&& none AS "f !&& none",
    (f & none) @> 1 AS "f & none", bloom_union_agg(u) = f AS union_agg, bloom_jaccard(f, none) AS jaccard
FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout,
    LATERAL (SELECT bloom_agg(i, bloom_empty(100, 0.01, layout, seed => 7)) f FROM generate_series(1, 100) i) a,
    (SELECT bloom_agg(i) none FROM generate_series(1, 0) i) b,
    LATERAL unnest(ARRAY[none, f, none]) u
GROUP BY layout, f, none ORDER BY layout;
SELECT bloom_agg(i) | (SELECT bloom_agg(t) FROM unnest('{}'::text[]) t) FROM generate_series(1, 100) i;
-- Estimates for filters of very different sizes: compared at the size of the larger one.
SELECT bloom_union_cardinality(few, many) BETWEEN 99000 AND 101000 AS "union",
    bloom_intersection_cardinality(few, many) < 30 AS intersection, bloom_jaccard(few, many) < 0.0003 AS jaccard
FROM (SELECT bloom_agg(i) few FROM generate_series(1, 3) i) a, (SELECT bloom_agg(i) many FROM generate_series(1, 100000) i) b;
-- Open states are equal if they hold the same hashes, however their tables grew.
CREATE AGGREGATE open_agg(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
SELECT n, f = f::text::bloomfilter AS equal, bloomfilter_hash(f) = bloomfilter_hash(f::text::bloomfilter) AS hash,
    f = longer AS "equal to a longer one", f < longer AS less
FROM unnest(ARRAY[1, 250, 5000]) n,
    LATERAL (SELECT open_agg(i) f FROM generate_series(1, n) i) a,
    LATERAL (SELECT open_agg(i) longer FROM generate_series(1, n + 1) i) b;
DROP AGGREGATE open_agg(anycompatible);
