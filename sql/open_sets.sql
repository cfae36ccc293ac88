--
-- Sets of keys that are not yet a filter: bloomx_probe makes them, and an aggregate's state is one.  They are values
-- of the type like any other, with or without a planned size, and every function must take them or refuse them.
--

-- An aggregate without a final function shows its state.
CREATE AGGREGATE o_state(v anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE o_state(v anycompatible, capacity bigint) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE o_state(v anycompatible, template bloomfilter) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE o_union(f bloomfilter) (SFUNC = bloomx_union_transfn, STYPE = bloomfilter);
CREATE TABLE o_sets (what text, f bloomfilter);
INSERT INTO o_sets VALUES
    ('one key', bloomx_probe(5)), ('no key', bloomx_probe_all('{}'::int[])), ('a hash', bloomx_probe_hash(0)), ('text', bloomx_probe('a'::text)),
    ('state', (SELECT o_state(i) FROM generate_series(1, 1000) i)),
    ('large state', (SELECT o_state(i) FROM generate_series(1, 20000) i)),
    ('planned', (SELECT o_state(i, 2000) FROM generate_series(1, 10) i)),
    ('planned, another layout', (SELECT o_state(i, bloom_empty(2000, 0.001, 'standard', seed => 7)) FROM generate_series(1, 10) i)),
    ('planned, beyond its plan', (SELECT o_union(f) FROM (SELECT o_state(i, 10) AS f FROM generate_series(1, 5) i
                                                          UNION ALL SELECT o_state(i) FROM generate_series(1, 8) i) s));
SELECT what, i.layout, i.key_type, i.seed, i.capacity, i.cardinality, i.fpr, i.fill, i.overfilled, i.blocks, i.parts FROM o_sets, bloom_info(f) i;

-- As the template of bloom_agg: a set without a planned size has no geometry to give, wherever the aggregate stands.
SELECT bloom_agg(x, bloomx_probe(5)) FROM generate_series(1, 10) x;
SELECT bloom_agg(x, bloomx_probe_all('{}'::int[])) FROM generate_series(1, 10) x;
CREATE FUNCTION o_try(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE query INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT what, o_try(format('SELECT bloom_info(bloom_agg(x, %L::bloomfilter)) = bloom_info(bloom_agg(x, %L::bloomfilter)) FROM generate_series(1, 10) x',
                          f, CASE WHEN what ~ 'layout' THEN bloom_empty(2000, 0.001, 'standard', seed => 7) WHEN what ~ 'beyond' THEN bloom_empty(10) ELSE bloom_empty(2000) END)) AS "as the planned filter"
FROM o_sets WHERE what <> 'text';
SELECT call, o_try(format(query, f)) AS "of an unplanned set"
FROM (VALUES ('window', 'SELECT bloom_agg(x, %L::bloomfilter) OVER (ORDER BY x) FROM generate_series(1, 3) x'),
             ('distinct', 'SELECT bloom_agg(DISTINCT x, %L::bloomfilter) FROM generate_series(1, 3) x'),
             ('ordered', 'SELECT bloom_agg(x, %L::bloomfilter ORDER BY x DESC) FROM generate_series(1, 3) x'),
             ('filtered', 'SELECT bloom_agg(x, %L::bloomfilter) FILTER (WHERE x > 1) FROM generate_series(1, 3) x'),
             ('no rows, so no template is looked at', 'SELECT bloom_cardinality(bloom_agg(x, %L::bloomfilter)) FROM generate_series(1, 0) x'),
             ('grouped', 'SELECT bloom_agg(x, %L::bloomfilter) FROM generate_series(1, 3) x GROUP BY x'),
             ('own aggregate', 'SELECT o_state(x, %L::bloomfilter) FROM generate_series(1, 3) x'),
             ('read from bytea', 'SELECT bloom_agg(x, (%L::bloomfilter)::bytea::bloomfilter) FROM generate_series(1, 3) x')) c(call, query),
     o_sets WHERE what = 'state';

-- Membership, growth and unions work on the keys; functions that need a geometry refuse the set.
SELECT what, f @> 5 AS has_5, bloom_contains_any(f, ARRAY[5, 99999]) AS "any", bloom_contains_all(f, ARRAY[5, 99999]) AS "all",
       bloom_add(f, 99999) @> 99999 AS added, f | f = f AS "united with itself", bloom_union_agg(f) @> 5 AS finished
FROM o_sets WHERE what NOT IN ('text', 'a hash') AND what !~ 'layout' GROUP BY what, f ORDER BY what COLLATE "C";
SELECT call, count(*) FILTER (WHERE answer ~ '^(22023|0A000|42804): ') AS refused, count(*) FILTER (WHERE answer !~ '^[0-9A-Z]{5}: ') AS answered
FROM o_sets, unnest(ARRAY['bloom_fold($1)', 'bloom_prefix($1, 1)', 'bloom_shrink($1, 0.5)', 'bloom_drop_counters($1)', 'bloom_remove($1, 5)',
                          '$1 & $1', '$1 && $1', '$1 !&& bloom_empty(10)', 'bloom_union_cardinality($1, $1)', 'bloom_jaccard($1, bloom_empty(10))']) call,
     LATERAL o_try('SELECT ' || replace(call, '$1', format('%L::bloomfilter', f))) answer
GROUP BY call ORDER BY call COLLATE "C";
SELECT bool_and(f::text::bloomfilter = f AND f::bytea::bloomfilter = f AND bloomfilter_send(f)::bloomfilter = f) AS "travels as it is" FROM o_sets;

-- Indexes accept them, and find what is in them.
CREATE INDEX o_bloomx ON o_sets USING bloomx (f);
ANALYZE o_sets;
SET enable_seqscan = off;
SELECT what FROM o_sets WHERE f ?& bloomx_probe(5) AND what ~ 'planned' ORDER BY what COLLATE "C";
RESET enable_seqscan;

-- Transition functions are for aggregates alone, final functions finish any value.
SELECT bloomx_agg_transfn(bloomx_probe(5), 6);
SELECT bloomx_union_transfn(bloomx_probe(5), bloomx_probe(6));
SELECT what, (bloom_info(bloomx_agg_finalfn(f, 5))).layout, (bloom_info(bloomx_union_finalfn(f))).capacity, bloomx_intersection_finalfn(f) = f AS same
FROM o_sets ORDER BY what COLLATE "C";

-- A header that calls a finished filter of another layout a state of bloom_agg changes nothing.
SELECT layout, bloom_union_agg(f) = bloom_empty(100, 0.01, layout) AS same
FROM unnest(ARRAY['standard', 'partitioned', 'hybrid', 'blocked', 'rational', 'variable_blocked', 'counting']) layout,
     LATERAL (SELECT bloomfilter(set_byte(bloom_empty(100, 0.01, layout)::bytea, 43, 1)) AS f) s
GROUP BY layout ORDER BY layout COLLATE "C";

-- User-defined aggregates: a set as the initial value, and a state that another function changes in between.
SELECT bloomx_probe_all('{}'::int[])::text AS empty_set \gset
CREATE AGGREGATE o_from_set(int) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, INITCOND = :'empty_set', FINALFUNC = bloomx_union_finalfn);
SELECT bloom_info(o_from_set(i)) = bloom_info(bloom_agg(i)) AS same FROM generate_series(1, 5000) i;
CREATE AGGREGATE o_moving(int) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter,
    MSFUNC = bloomx_agg_transfn, MINVFUNC = bloom_add, MSTYPE = bloomfilter, MFINALFUNC = bloomx_union_finalfn);
SELECT bool_and(f @> i AND f @> greatest(i - 3, 1)) AS found
FROM (SELECT i, o_moving(i) OVER (ORDER BY i ROWS 3 PRECEDING) AS f FROM generate_series(1, 3000) i) s WHERE i % 100 = 0;

DROP TABLE o_sets;
DROP AGGREGATE o_state(anycompatible);
DROP AGGREGATE o_state(anycompatible, bigint);
DROP AGGREGATE o_state(anycompatible, bloomfilter);
DROP AGGREGATE o_union(bloomfilter);
DROP AGGREGATE o_from_set(int);
DROP AGGREGATE o_moving(int);
DROP FUNCTION o_try(text);
