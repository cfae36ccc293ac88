--
-- A filter variable that a function changes again and again: bloom_add does not copy a large one, and no result shows
-- it. Every value below must be what copying would give.
--
\set VERBOSITY terse

-- The keys of 1 to n that f holds.
CREATE FUNCTION v_keys(f bloomfilter, n int) RETURNS int LANGUAGE sql AS
    'SELECT count(*)::int FROM generate_series(1, n) v WHERE f @> v';
-- A 16 kB filter without false positives among 1 .. 300.
CREATE FUNCTION v_empty() RETURNS bloomfilter LANGUAGE sql AS 'SELECT bloom_empty_bits(131072, 16)';

-- One variable: equal to the filter of bloom_agg, for numbers of keys around the length of the queue.
CREATE FUNCTION v_loop(n int) RETURNS bloomfilter LANGUAGE plpgsql AS $$
DECLARE f bloomfilter := v_empty();
BEGIN
    FOR i IN 1..n LOOP f := bloom_add(f, i); END LOOP;
    RETURN f;
END $$;
SELECT n, v_loop(n) = bloom_agg(v, v_empty()) AS same, v_keys(v_loop(n), 300) AS keys
FROM unnest(ARRAY[1, 2, 63, 64, 65, 127, 128, 129, 200]) n, generate_series(1, n) v GROUP BY n ORDER BY n;

-- Read after every key.
DO $$
DECLARE f bloomfilter := v_empty(); wrong int := 0;
BEGIN
    FOR i IN 1..150 LOOP
        IF f @> i THEN wrong := wrong + 1; END IF;
        f := bloom_add(f, i);
        IF NOT f @> i OR NOT f @> 1 OR f @> (i + 1) THEN wrong := wrong + 1; END IF;
    END LOOP;
    RAISE INFO 'wrong answers: %', wrong;
END $$;

-- An old value stays what it was: before, between and after the queue is emptied.
DO $$
DECLARE f bloomfilter := v_empty(); old bloomfilter[]; kept bloomfilter; said text := '';
BEGIN
    FOR i IN 1..200 LOOP
        IF i IN (1, 2, 50, 64, 65, 66, 130) THEN
            kept := f;
            old := old || f;
            f := bloom_add(f, i);
            said := said || format(' %s/%s', v_keys(kept, 300), v_keys(f, 300));
        ELSE
            f := bloom_add(f, i);
        END IF;
    END LOOP;
    RAISE INFO 'before/after:%', said;
    RAISE INFO 'kept: %', (SELECT array_agg(v_keys(o, 300)) FROM unnest(old) o);
END $$;

-- Two successors of one value are independent of each other; one that was discarded leaves nothing behind.
DO $$
DECLARE f bloomfilter := bloom_add(v_empty(), 1); g bloomfilter; h bloomfilter;
BEGIN
    PERFORM bloom_add(f, 100);
    g := bloom_add(f, 2);
    h := bloom_add(f, 3);
    g := bloom_add(g, 20);
    h := bloom_add(h, 30);
    f := bloom_add(f, 10);
    RAISE INFO 'f % g % h %', ARRAY[f @> 1, f @> 2, f @> 3, f @> 10, f @> 20, f @> 30, f @> 100],
        ARRAY[g @> 1, g @> 2, g @> 3, g @> 10, g @> 20, g @> 30, g @> 100],
        ARRAY[h @> 1, h @> 2, h @> 3, h @> 10, h @> 20, h @> 30, h @> 100];
END $$;

-- Many values at once, each the successor of the one before.
CREATE FUNCTION v_deep(f bloomfilter, i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE g bloomfilter := bloom_add(f, i); below int := 0;
BEGIN
    IF i < 20 THEN below := v_deep(g, i + 1); END IF;
    RETURN below + (v_keys(g, 300) = i)::int + (v_keys(f, 300) = i - 1)::int;
END $$;
SELECT v_deep(v_empty(), 1) AS "40 right values";

-- Several keys in one call, more and fewer than the queue holds; nested calls.
DO $$
DECLARE f bloomfilter := v_empty(); g bloomfilter;
BEGIN
    f := bloom_add_all(f, ARRAY(SELECT generate_series(1, 10)));
    f := bloom_add_all(f, ARRAY(SELECT generate_series(11, 70)));
    g := f;
    f := bloom_add_all(f, ARRAY(SELECT generate_series(71, 200)));
    f := bloom_add_all(bloom_add(bloom_add(f, 201), 202), ARRAY(SELECT generate_series(203, 290)));
    f := bloom_add_all(f, ARRAY[]::int[]);
    f := bloom_add(f, NULL::int);
    f := bloom_add_hash(f, bloom_hash(291));
    RAISE INFO '% %', v_keys(g, 300), v_keys(f, 300);
END $$;

-- An exception undoes what its block did.
DO $$
DECLARE f bloomfilter := v_empty();
BEGIN
    FOR i IN 1..10 LOOP f := bloom_add(f, i); END LOOP;
    BEGIN
        f := bloom_add(f, 'a text'::varchar);
    EXCEPTION WHEN datatype_mismatch THEN
        RAISE INFO '%', SQLERRM;
    END;
    f := bloom_add(f, 11);
    RAISE INFO '%', v_keys(f, 300);
END $$;

-- The value leaves the function: into a table, and through a cursor loop over one.
CREATE TABLE v_stored (n int, f bloomfilter);
DO $$
DECLARE f bloomfilter := v_empty();
BEGIN
    FOR i IN 1..100 LOOP
        f := bloom_add(f, i);
        IF i % 25 = 0 THEN INSERT INTO v_stored VALUES (i, f); END IF;
    END LOOP;
END $$;
UPDATE v_stored SET f = bloom_add(f, 200) WHERE n = 50;
SELECT n, v_keys(f, 300) AS keys, f = (SELECT bloom_agg(v, v_empty()) FROM generate_series(1, n) v) AS same FROM v_stored ORDER BY n;
SELECT bloom_add(f, 250) @> 250 AS found, bloom_union(bloom_add(f, 251), f) @> 251 AS united FROM v_stored WHERE n = 25;

-- More keys than planned: a notice now and then, or an error if bloomx.overfill says so.
DO $$
DECLARE f bloomfilter := bloom_empty(10000);
BEGIN
    FOR i IN 1..10900 LOOP f := bloom_add(f, i); END LOOP;
EXCEPTION WHEN OTHERS THEN RAISE INFO '%', SQLERRM;
END $$;
SET bloomx.overfill = error;
DO $$
DECLARE f bloomfilter := bloom_empty(10000);
BEGIN
    FOR i IN 1..20000 LOOP f := bloom_add(f, i); END LOOP;
EXCEPTION WHEN program_limit_exceeded THEN RAISE INFO '%', SQLSTATE;
END $$;
RESET bloomx.overfill;

-- The state of an aggregate is such a value too. Keys added to it go into another value, and an aggregate that is given versions
-- changes none of them.
CREATE AGGREGATE v_state(integer, bloomfilter) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
DO $$
DECLARE f bloomfilter; g bloomfilter; h bloomfilter;
BEGIN
    SELECT v_state(v, v_empty()) INTO f FROM generate_series(1, 70) v;
    g := bloom_add(f, 100);
    h := bloom_add_all(f, ARRAY[101, 102]);
    g := bloom_add(g, 103);
    RAISE INFO 'state %, with one more and another %, with two more %', v_keys(f, 300), v_keys(g, 300), v_keys(h, 300);
    RAISE INFO 'united %, and as before % % %', v_keys((SELECT bloom_union_agg(x) FROM unnest(ARRAY[f, g, h]) x), 300),
        v_keys(f, 300), v_keys(g, 300), v_keys(h, 300);
END $$;
SELECT v_keys(f, 300) AS state, v_keys(bloom_add(f, 100), 300) AS added, v_keys(f, 300) AS again
FROM (SELECT v_state(v, v_empty()) AS f FROM generate_series(1, 70) v OFFSET 0) s;
SELECT v_keys(bloom_add(v_state(v, v_empty()), 100), 300) AS added FROM generate_series(1, 70) v;

-- Null rows have no key type. The first key that has one gives it to the filter.
DO $$
DECLARE f bloomfilter := bloom_empty(100000);
BEGIN
    f := bloom_add_all(f, ARRAY[NULL::record]);
    RAISE INFO 'key type of null rows: %', (bloom_header(f)).key_type;
    f := bloom_add(f, 5);
    RAISE INFO 'key type: %, of 5: %', (bloom_header(f)).key_type, f @> 5;
    f := bloom_add(f, 5.0);
EXCEPTION WHEN datatype_mismatch THEN
    RAISE INFO '%', SQLERRM;
END $$;

-- Nothing is left behind, however the functions above ended.
SELECT count(*) AS contexts FROM pg_backend_memory_contexts WHERE name LIKE 'bloom filter version%';

DROP TABLE v_stored;
DROP AGGREGATE v_state(integer, bloomfilter);
DROP FUNCTION v_deep, v_loop, v_empty, v_keys;
