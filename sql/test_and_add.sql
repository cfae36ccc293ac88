--
-- Test and set: bloom_test_and_add gives the filter with the key, and whether the key was new.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET bloomx.overfill = off;

-- New once, then not; the filter is that of bloom_add.
SELECT a.is_new, b.is_new AS again, a.filter = bloom_add(bloom_empty(100), 5) AS same, a.filter = b.filter AS unchanged
FROM bloom_test_and_add(bloom_empty(100), 5) a, bloom_test_and_add(a.filter, 5) b;
-- NULL keys and filters; keys without a type; rows; another type is an error.
SELECT filter = bloom_empty(100) AS unchanged, is_new FROM bloom_test_and_add(bloom_empty(100), NULL::int);
SELECT * FROM bloom_test_and_add(NULL, 5);
SELECT filter @> 5 AS found, is_new FROM bloom_test_and_add(bloom_empty(100, key_type => 'integer'), '5');
SELECT filter @> ROW(5, 'x') AS found, is_new FROM bloom_test_and_add(bloom_empty(100), ROW(5, 'x'));
SELECT bloom_test_and_add(bloom_add(bloom_empty(100), 1), 1.5);
-- Layouts that count or forget take a known key once more.
SELECT bloom_key_count(filter, 5) AS counted, is_new FROM bloom_test_and_add(bloom_add(bloom_empty(100, 0.01, 'counting'), 5), 5);
SELECT l, a.is_new, b.is_new AS again, b.filter @> 5 AS found
FROM unnest('{standard,partitioned,blocked,hybrid,rational,variable_blocked,scalable,dynamic_blocked,counting,age_partitioned}'::text[]) l,
     bloom_test_and_add(bloom_empty(100, 0.01, l), 5) a, bloom_test_and_add(a.filter, 5) b;
-- A false positive is called known; a key is never called new that was added.
DO $$
DECLARE f bloomfilter := bloom_empty(20000); n int := 0; wrong int := 0; a record;
BEGIN
    FOR i IN 1..3000 LOOP
        SELECT * INTO a FROM bloom_test_and_add(f, i);
        f := a.filter;
        n := n + a.is_new::int;
        SELECT * INTO a FROM bloom_test_and_add(f, 1 + 7919 % i);
        wrong := wrong + a.is_new::int;
    END LOOP;
    RAISE INFO 'new: more than 2990 of 3000 %, of the known ones %', n > 2990, wrong;
END $$;

-- One statement that keeps what is new: the row of the filter is written for new keys only.
CREATE TABLE d_seen (id int PRIMARY KEY, keys bloomfilter NOT NULL);
INSERT INTO d_seen VALUES (1, bloom_empty(1000, 1e-6, key_type => 'integer'));
PREPARE d_once AS UPDATE d_seen SET keys = bloom_add(keys, $1) WHERE id = 1 AND NOT keys @> $1 RETURNING true AS is_new;
EXECUTE d_once('7');
EXECUTE d_once('7');
EXECUTE d_once('8');
SELECT keys @> 7 AS "7", keys @> 8 AS "8", keys @> 9 AS "9" FROM d_seen;
-- ... the answer for every key, with the filter always written
ALTER TABLE d_seen ADD was_new boolean;
UPDATE d_seen SET (keys, was_new) = (SELECT filter, is_new FROM bloom_test_and_add(keys, 9)) RETURNING was_new;
UPDATE d_seen SET (keys, was_new) = (SELECT filter, is_new FROM bloom_test_and_add(keys, 9)) RETURNING was_new;
-- ... and in PL/pgSQL, in constant time per key: two assignments of a variable that is not copied
DO $$
DECLARE f bloomfilter := bloom_empty(200000); fresh boolean; n int := 0;
BEGIN
    FOR i IN 1..20000 LOOP
        fresh := NOT f @> (i % 5000);
        f := bloom_add(f, i % 5000);
        n := n + fresh::int;
    END LOOP;
    RAISE INFO '% of 5000 distinct keys were new', n;
END $$;

DROP TABLE d_seen;
DEALLOCATE ALL;
RESET bloomx.overfill;
