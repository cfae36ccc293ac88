--
-- Building filters: bloom_empty, bloom_empty_bits, bloom_add, bloom_add_all, hashes, overfill.
--

-- bloom_empty: with a capacity only, the rate is 1 % and the layout partitioned_blocked
SELECT layout, capacity, key_type, seed, bits_set, cardinality, fpr, overfilled
    FROM bloom_info(bloom_empty(1000));

-- ... for each layout, within the given rate, and as bloom_plan says
SELECT i.layout, i.capacity, p.fpr < 0.001 AS below_target,
        p.bits / 1000.0 BETWEEN 14.3 AND 17 AS sensible_size,
        (i.bits, i.bytes, i.blocks, i.parts, i.part_bits, i.hash_functions) = (p.bits, p.bytes, p.blocks, p.parts, p.part_bits, p.hash_functions) AS as_planned
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY AS l(name, n),
        bloom_info(bloom_empty(1000, 0.001, l.name)) i, bloom_plan(1000, 0.001, l.name) p
    ORDER BY n;

-- ... with named arguments
SELECT bloom_empty(capacity => 50, layout => 'standard', seed => 7)
        = bloom_empty(50, 0.01, 'standard', seed => 7) AS same;

-- ... the layout in any case
SELECT bloom_empty(50, 0.01, 'Partitioned_BLOCKED') = bloom_empty(50) AS same, (bloom_plan(50, 0.01, 'STANDARD')).layout, (bloom_info(bloom_empty_bits(64, 2, 'hYbRiD'))).layout AS bits;

-- ... bloom_plan takes the same arguments (but no seed, which changes no size), and so does bloom_empty_bits from the third on
SELECT (p.bits, p.parts, p.hash_functions) = (i.bits, i.parts, i.hash_functions) AS planned, (b.layout, b.hash_functions, b.seed) = ('hybrid', 9, 7) AS bits
    FROM bloom_plan(100, 0.01, 'hybrid', 'probes=3') p, bloom_info(bloom_empty(100, 0.01, 'hybrid', 7, 'probes=3')) i, bloom_info(bloom_empty_bits(999, 9, 'hybrid', 7, 'probes=3')) b;

-- ... strict: a NULL gives NULL
SELECT bloom_empty(NULL) IS NULL AS a, bloom_empty(10, NULL) IS NULL AS b, bloom_empty(10, 0.1, NULL) IS NULL AS c;

-- ... the smallest filter: one key
SELECT bloom_add(bloom_empty(1), 1) @> 1 AS found;

-- bloom_empty_bits: never more bits than given, k bits per key, no planned capacity
SELECT l.name, layout, bits, bits <= 10000 AS within, blocks, parts, part_bits, hash_functions, capacity
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) WITH ORDINALITY AS l(name, n),
        bloom_info(bloom_empty_bits(10000, 7, l.name))
    ORDER BY n;

-- ... the default layout, named arguments
SELECT layout, bits, seed FROM bloom_info(bloom_empty_bits(bits => 4096, k => 8, seed => -3));

-- ... every k from 1 to 64 works
SELECT layout, count(*) AS ks, bool_and(bloom_add(f, 'x'::text) @> 'x'::text) AS found,
        bool_and((bloom_info(bloom_add(f, 'x'::text))).bits_set BETWEEN 1 AND k) AS sets_at_most_k
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout, generate_series(1, 64) k,
        LATERAL (SELECT bloom_empty_bits(65536, k, layout) AS f) e
    GROUP BY layout ORDER BY layout COLLATE "C";

-- bloom_add: one key at a time; the argument is not changed
WITH a AS MATERIALIZED (SELECT bloom_empty(100) AS f),
    b AS MATERIALIZED (SELECT bloom_add(f, 1) AS f FROM a),
    c AS MATERIALIZED (SELECT bloom_add(f, 2) AS f FROM b)
SELECT (SELECT bits_set FROM a, bloom_info(f)) AS of_a,
    (SELECT bits_set = parts FROM b, bloom_info(f)) AS of_b,
    (SELECT f @> 1 AND NOT f @> 2 FROM b) AS b_has_1_only,
    (SELECT f @> 1 AND f @> 2 FROM c) AS c_has_both;

-- ... adding a key twice is the same as adding it once
SELECT bloom_add(bloom_add(bloom_empty(100), 5), 5) = bloom_add(bloom_empty(100), 5) AS same;

-- ... the order of keys does not matter
SELECT bloom_add_all(bloom_empty(100), ARRAY[1,2,3]) = bloom_add_all(bloom_empty(100), ARRAY[3,1,2]) AS same;

-- ... a NULL key leaves the filter as it is, a NULL filter stays NULL
SELECT bloom_add(f, NULL::int) = f AS by_null_key, (SELECT key_type FROM bloom_info(bloom_add(f, NULL::int))) AS key_type,
        bloom_add(NULL, 1) IS NULL AS null_filter, bloom_add(NULL, NULL::int) IS NULL AS both
    FROM bloom_empty(100) f;

-- ... an update adds to a stored filter
CREATE TABLE stored (id int PRIMARY KEY, f bloomfilter);
INSERT INTO stored VALUES (1, bloom_empty(5000)), (2, NULL);
UPDATE stored SET f = bloom_add(f, 17::bigint);
UPDATE stored SET f = bloom_add_all(f, ARRAY[18, 19]::bigint[]);
SELECT id, f @> 17 AS a, f @> 18 AS b, f @> 19 AS c, f @> 20 AS d FROM stored ORDER BY id;
DROP TABLE stored;

-- ... in a loop of a function
DO $$
DECLARE
    f bloomfilter := bloom_empty(500);
BEGIN
    FOR i IN 1 .. 500 LOOP
        f := bloom_add(f, i);
    END LOOP;
    RAISE NOTICE 'all found: %, same as the aggregate: %',
        (SELECT bool_and(f @> i) FROM generate_series(1, 500) i),
        f = (SELECT bloom_agg(i, 500) FROM generate_series(1, 500) i);
END $$;

-- bloom_add_all: the same as one by one; NULL elements are skipped, dimensions do not matter
SELECT bloom_add_all(e, ARRAY[1, 2, 3, 4]) = f AS flat,
        bloom_add_all(e, ARRAY[[1, 2], [3, 4]]) = f AS two_dimensions,
        bloom_add_all(e, ARRAY[1, NULL, 2, 3, 4, NULL]) = f AS with_nulls,
        bloom_add_all(e, '[7:10]={1,2,3,4}'::int[]) = f AS other_bounds
    FROM bloom_empty(100) e, LATERAL (SELECT bloom_add(bloom_add(bloom_add(bloom_add(e, 1), 2), 3), 4) AS f) x;

-- ... an array without keys adds none; a NULL array leaves the filter as it is
SELECT bloom_cardinality(bloom_add_all(e, '{}'::int[])) AS empty_array,
        bloom_cardinality(bloom_add_all(e, ARRAY[NULL, NULL]::int[])) AS only_nulls,
        bloom_add_all(e, NULL::int[]) = e AS null_array,
        bloom_add_all(NULL, ARRAY[1]) IS NULL AS null_filter
    FROM bloom_empty(100) e;

-- ... of types that are wide, narrow, by reference and by value
SELECT bloom_contains_all(bloom_add_all(bloom_empty(100), ARRAY['a', repeat('b', 10000), '', NULL]), ARRAY['a', repeat('b', 10000), '']) AS text,
    bloom_contains_all(bloom_add_all(bloom_empty(100), ARRAY[true, false]), ARRAY[false, true]) AS boolean,
    bloom_contains_all(bloom_add_all(bloom_empty(100), ARRAY[1, 2, 3]::smallint[]), ARRAY[3, 2, 1]::smallint[]) AS smallint,
    bloom_contains_all(bloom_add_all(bloom_empty(100), ARRAY['08:00:2b:01:02:03', '08:00:2b:01:02:04']::macaddr[]), ARRAY['08:00:2b:01:02:04']::macaddr[]) AS macaddr,
    bloom_contains_all(bloom_add_all(bloom_empty(100), ARRAY['1 day', '2 days']::interval[]), ARRAY['24:00']::interval[]) AS interval;

-- A filter without a key type takes the type of its first key
SELECT a.key_type AS empty, b.key_type AS text, c.key_type AS "all", d.key_type AS named
    FROM bloom_empty(10) e, bloom_info(e) a, bloom_info(bloom_add(e, 'x'::text)) b,
        bloom_info(bloom_add_all(e, ARRAY[1.5])) c, bloom_info(bloom_add(e, '{"a": 1}'::jsonb)) d;

-- bloom_hash, bloom_add_hash and bloom_contains_hash agree with bloom_add and @>, at every seed and layout
SELECT layout, seed,
        bool_and(bloom_contains_hash(bloom_add(e, v), bloom_hash(v, seed))) AS hash_finds_key,
        bool_and(bloom_add_hash(bloom_add(e, 'first'::text), bloom_hash(v, seed))
            = bloom_add(bloom_add(e, 'first'::text), v)) AS same_filter
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout,
        unnest(ARRAY[0, 1, -1, 9223372036854775807]) seed,
        LATERAL (SELECT bloom_empty(100, 0.01, layout, seed => seed) AS e) x,
        unnest(ARRAY['', 'a', 'bb', 'a longer key of more than sixteen bytes']) v
    GROUP BY layout, seed ORDER BY layout COLLATE "C", seed;

-- ... the default seed is 0, another seed is another hash; NULL gives NULL
SELECT bloom_hash('a'::text) = bloom_hash('a'::text, 0) AS default_is_0,
    bloom_hash('a'::text) <> bloom_hash('a'::text, 1) AS seed_matters,
    bloom_hash(NULL::text) IS NULL AS null_key, bloom_hash('a'::text, NULL) IS NULL AS null_seed;

-- ... a filter to which only hashes were added has the key type "hash"
SELECT (bloom_info(f)).key_type, bloom_contains_hash(f, 42) AS found, bloom_contains_hash(f, 43) AS another,
        bloom_add_hash(f, NULL) = f AS null_hash, bloom_add_hash(NULL, 1) IS NULL AS null_filter,
        bloom_contains_hash(f, NULL) IS NULL AS null_probe
    FROM bloom_add_hash(bloom_empty(10), 42) f;
SELECT bloom_add_hash(bloom_empty(10), 42) @> 42;

-- ... hashes are added to a filter of any key type
SELECT (bloom_info(f)).key_type, f @> 2 AS found
    FROM bloom_add_hash(bloom_add(bloom_empty(10), 1), bloom_hash(2)) f;

-- Seeds: the same keys, other bits, and no key lost
SELECT seed, (bloom_info(f)).seed = seed AS kept, count(*) FILTER (WHERE f @> x) AS found, f = g AS as_seed_0
    FROM unnest(ARRAY[0, 1, -1, -9223372036854775808, 9223372036854775807]) seed,
        LATERAL (SELECT bloom_add_all(bloom_empty(100, seed => seed), ARRAY(SELECT generate_series(1, 100))) AS f) a,
        LATERAL (SELECT bloom_add_all(bloom_empty(100), ARRAY(SELECT generate_series(1, 100))) AS g) b,
        generate_series(1, 100) x
    GROUP BY seed, f, g ORDER BY seed;

-- Overfilling is reported: more keys than the planned capacity
SELECT overfilled FROM bloom_info(bloom_add_all(bloom_empty(100), ARRAY(SELECT generate_series(1, 100))));
SET bloomx.overfill = off;
SELECT overfilled FROM bloom_info(bloom_add_all(bloom_empty(100), ARRAY(SELECT generate_series(1, 1000))));
-- (the numbers in the messages are estimates: hidden here)
CREATE FUNCTION overfill(f bloomfilter, keys int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    RETURN (SELECT count(*) FILTER (WHERE g @> x) || ' keys found' FROM bloom_add_all(f, ARRAY(SELECT generate_series(1, keys))) g, generate_series(1, keys) x);
EXCEPTION WHEN program_limit_exceeded THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    RETURN format(E'error: %s\ndetail: %s\nhint: %s', regexp_replace(message, 'about \S+', 'about N'), regexp_replace(detail, '[0-9.]+(e-\d+)? now', 'X now'), hint);
END $$;
SET bloomx.overfill = error;
SELECT overfill(bloom_empty(100), 100) AS full;
SELECT overfill(bloom_empty(100), 1000) AS overfull;
SELECT overfill(bloom_empty_bits(1024, 8), 1000) AS without_capacity;
SELECT overfill(bloom_empty(100, layout => layout), 1000) FROM unnest(ARRAY['standard', 'partitioned', 'blocked']) layout;
SET bloomx.overfill = off;
SELECT overfill(bloom_empty(100), 1000) AS overfull;
-- a notice by default: it appears, and the result is the same
SET bloomx.overfill = notice;
\set VERBOSITY sqlstate
SELECT overfill(bloom_empty(100), 1000) AS overfull;
SELECT bloom_agg(x, 100) @> 1000 AS found FROM generate_series(1, 1000) x;
\set VERBOSITY default
RESET bloomx.overfill;
SET bloomx.overfill = maybe;
DROP FUNCTION overfill;

-- A plan that is asked for again is remembered; each of two that alternate stays what it is.
SELECT layout, count(DISTINCT bits) AS sizes, bool_and(bits = (SELECT bits FROM bloom_plan(capacity, 0.01, layout))) AS "as planned alone"
FROM unnest(ARRAY['dynamic_blocked', 'standard']) layout, generate_series(1, 6) n, LATERAL (VALUES (CASE n % 3 WHEN 0 THEN 100 ELSE 5000 END)) c(capacity),
     LATERAL (SELECT (bloom_info(bloom_empty(capacity, 0.01, layout))).bits) i
GROUP BY layout ORDER BY layout;

-- filter || key adds a key: of any type, a text read as the filter's type, char(n) as such; NULL adds none
SELECT k.name, k.f = k.added AS same, (bloom_info(k.f)).key_type
FROM bloom_empty(100) e, bloom_empty(100, key_type => 'integer') i, LATERAL (VALUES
    ('integer', e || 42, bloom_add(e, 42)), ('literal', i || '42', bloom_add(i, 42)), ('text', e || 'x'::text, bloom_add(e, 'x'::text)),
    ('varchar', e || 'x'::varchar, bloom_add(e, 'x'::varchar)), ('char(n)', e || 'x '::char(3), bloom_add(e, 'x '::char(3))), ('name', e || 'x'::name, bloom_add(e, 'x'::name)),
    ('jsonb', e || '{"a": 1}'::jsonb, bloom_add(e, '{"a": 1}'::jsonb)), ('array', e || ARRAY[1, 2], bloom_add(e, ARRAY[1, 2])), ('row', e || ROW(1, 'x'::text), bloom_add(e, ROW(1, 'x'::text))),
    ('null', i || NULL, i), ('typed null', i || NULL::integer, i), ('no filter', NULL::bloomfilter || 1, NULL), ('two', i || 1 || 2, bloom_add_all(i, ARRAY[1, 2]))) k(name, f, added);
SELECT 'a' || 'b' AS text, ARRAY[1] || 2 AS "array", 'x'::text || 1 AS any;
-- ... a variable is changed in place: each statement would otherwise copy a megabyte
DO $$
DECLARE f bloomfilter := bloom_empty(1000000);
        g bloomfilter := f;
BEGIN
    FOR i IN 1..20000 LOOP
        f := f || i;
        g := g || i::text;
    END LOOP;
    RAISE NOTICE 'all there: %', f = bloom_add_all(bloom_empty(1000000), ARRAY(SELECT generate_series(1, 20000))) AND g @> '1'::text AND g @> '20000'::text;
END $$;
-- ... a filter is no key of a filter
SELECT bloom_agg(1) || bloom_agg(2);
SELECT bloom_agg(1) @> bloom_agg(2);

-- bloom_is_empty
SELECT count(*) AS layouts, bool_and(bloom_is_empty(e)) AS empty, bool_or(bloom_is_empty(e || 1)) AS "with a key"
FROM unnest('{partitioned_blocked,scalable,counting,age_partitioned,blocked,partitioned,standard,hybrid,dynamic_blocked,rational,variable_blocked}'::text[]) l, bloom_empty(10, 0.01, l) e;
SELECT bloom_is_empty(bloom_agg(x)) AS "of no rows", bloom_is_empty(bloom_remove(bloom_empty(10, 0.01, 'counting') || 1, 1)) AS removed, bloom_is_empty(NULL) IS NULL AS "null"
FROM generate_series(1, 0) x;
