--
-- Membership: @>, <@, bloom_contains, bloom_contains_any, bloom_contains_all.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;

CREATE TABLE m_one (f bloomfilter);
INSERT INTO m_one SELECT bloom_agg(i) FROM generate_series(1, 100) i;

-- Each spelling finds a key that was added, as a literal of any integer type.
SELECT f @> 7 AS "@>", 7 <@ f AS "<@", bloom_contains(f, 7) AS function,
       f @> 7::int2 AS int2, f @> 7::int8 AS int8
FROM m_one;

-- False means that the key is certainly absent.
SELECT f @> 100000 AS "@>", 100000 <@ f AS "<@", bloom_contains(f, 100000) AS function,
       NOT 100000 <@ f AS "NOT <@"
FROM m_one;

-- Of 100 keys none is missed; of 100,000 absent ones about 1 % are found.
SELECT count(*) FILTER (WHERE i <= 100 AND f @> i) AS present,
       count(*) FILTER (WHERE i > 100 AND f @> i) BETWEEN 500 AND 1500 AS "about 1 %"
FROM m_one, generate_series(1, 100100) i;

-- Untyped literals take the type of text keys.
SELECT f @> 'alpha' AS alpha, 'beta' <@ f AS beta, f @> 'alpha '::char(8)::text AS padded
FROM (SELECT bloom_agg(w) AS f FROM (VALUES ('alpha'), ('beta')) v(w)) s;

-- NULL filter, NULL key: unknown.
SELECT NULL::bloomfilter @> 1 AS "null filter", f @> NULL::int AS "null key", NULL::int <@ f AS "null <@",
       bloom_contains(NULL, 1) AS "function, null filter", bloom_contains(f, NULL::int) AS "function, null key"
FROM m_one;

-- ANY and ALL of an array.
SELECT bloom_contains_any(f, ARRAY[7, 100000]) AS any_one, bloom_contains_any(f, ARRAY[100000, 100006]) AS any_none,
       bloom_contains_all(f, ARRAY[7, 8]) AS all_both, bloom_contains_all(f, ARRAY[7, 100000]) AS all_one,
       bloom_contains_any(f, ARRAY[[100000, 100006], [7, 8]]) AS any_2d
FROM m_one;

-- An empty array gives false and true, as = ANY and = ALL do.
SELECT bloom_contains_any(f, '{}'::int[]) AS "any", bloom_contains_all(f, '{}'::int[]) AS "all"
FROM m_one;

-- A NULL element makes the result unknown unless the others decide it.
SELECT bloom_contains_any(f, ARRAY[NULL, 7]) AS any_decided, bloom_contains_any(f, ARRAY[NULL, 100000]) AS any_open,
       bloom_contains_all(f, ARRAY[NULL, 100000]) AS all_decided, bloom_contains_all(f, ARRAY[NULL, 7]) AS all_open
FROM m_one;

-- A NULL array, a NULL filter: unknown.
SELECT bloom_contains_any(f, NULL::int[]) AS any_array, bloom_contains_all(f, NULL::int[]) AS all_array,
       bloom_contains_any(NULL, ARRAY[1]) AS any_filter, bloom_contains_all(NULL, ARRAY[1]) AS all_filter
FROM m_one;

-- Parameters of a prepared statement, with a custom and with a generic plan.
PREPARE m_key(int) AS SELECT f @> $1 AS found FROM m_one;
PREPARE m_both(bloomfilter, int) AS SELECT $1 @> $2 AS found, $2 <@ $1 AS found_too;
PREPARE m_array(int[]) AS SELECT bloom_contains_any(f, $1) AS "any", bloom_contains_all(f, $1) AS "all" FROM m_one;
SELECT f AS f FROM m_one \gset
SET plan_cache_mode = force_custom_plan;
EXECUTE m_key(7);
EXECUTE m_both(:'f', 7);
EXECUTE m_array('{7,100000}');
SET plan_cache_mode = force_generic_plan;
EXECUTE m_key(7);
EXECUTE m_key(100000);
EXECUTE m_key(NULL);
EXECUTE m_both(:'f', 7);
EXECUTE m_both(:'f', 100000);
EXECUTE m_both(NULL, 7);
EXECUTE m_array('{7,100000}');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- The filter from a scalar subquery, an aggregate of it, a CTE, a join.
SELECT (SELECT count(*) FROM generate_series(91, 110) i WHERE i <@ (SELECT f FROM m_one)) AS subquery,
       (SELECT count(*) FROM generate_series(91, 110) i
        WHERE i <@ (SELECT bloom_agg(j, 1000, 1e-6) FROM generate_series(1, 100) j)) AS aggregate,
       (SELECT count(*) FROM generate_series(91, 110) i JOIN m_one ON f @> i) AS "join";
WITH c AS MATERIALIZED (SELECT f FROM m_one)
SELECT count(*) FROM c, generate_series(91, 110) i WHERE f @> i;

-- Filters of every storage: inline with a short header, inline, out of line.
CREATE TABLE m_stored (id int PRIMARY KEY, storage text, n int, f bloomfilter);
INSERT INTO m_stored
SELECT id, storage, n, (SELECT bloom_agg(i, n, 1e-6) FROM generate_series(id * 1000000, id * 1000000 + n - 1) i)
FROM (VALUES (1, 'short', 10), (2, 'plain', 200), (3, 'toasted', 5000)) v(id, storage, n);
SELECT storage, pg_column_size(f) BETWEEN 1 AND 126 AS "short header", pg_column_size(f) > 2000 AS "out of line"
FROM m_stored ORDER BY id;
SELECT storage, n, count(*) FILTER (WHERE f @> i AND i < id * 1000000 + n) AS found,
       count(*) FILTER (WHERE f @> i AND i >= id * 1000000 + n) <= 1 AS "no others"
FROM m_stored, LATERAL generate_series(id * 1000000, id * 1000000 + n + 4999) i
GROUP BY id, storage, n ORDER BY id;

-- Many filters in one scan, interleaved: no filter answers for another.
CREATE TABLE m_many AS
SELECT g, bloom_agg(g * 1000000 + i, CASE WHEN g % 4 = 0 THEN 20 ELSE 3000 END, 1e-6) AS f
FROM generate_series(1, 12) g, LATERAL generate_series(1, CASE WHEN g % 4 = 0 THEN 20 ELSE 3000 END) i
GROUP BY g;
SELECT count(*) FILTER (WHERE f @> (g * 1000000 + i)) AS own,
       count(*) FILTER (WHERE f @> ((g % 12 + 1) * 1000000 + i)) <= 1 AS "not the next one's",
       count(*) FILTER (WHERE bloom_contains_all(f, ARRAY[g * 1000000 + i, g * 1000000 + i + 1])) AS all_own,
       count(*) FILTER (WHERE bloom_contains_any(f, ARRAY[(g % 12 + 1) * 1000000 + i, 0])) <= 1 AS "any not the next one's"
FROM (SELECT g, i, f FROM generate_series(1, 19) i, m_many ORDER BY i, g) interleaved;
SELECT count(*) AS own
FROM generate_series(1, 12) g, generate_series(1, 20) i
WHERE (SELECT f @> (g * 1000000 + i) FROM m_many m WHERE m.g = g.g);

-- The filters of two columns and of a constant in one expression.
SELECT count(*) FILTER (WHERE a.f @> (a.g * 1000000 + 1) AND b.f @> (b.g * 1000000 + 1)
                          AND NOT a.f @> (b.g * 1000000 + 1) AND NOT b.f @> (a.g * 1000000 + 1)) AS pairs
FROM m_many a JOIN m_many b ON a.g <> b.g;

-- A key added by an update is found in the same transaction.
BEGIN;
SELECT f @> -5 AS before FROM m_many WHERE g = 1;
UPDATE m_many SET f = bloom_add(f, -5) WHERE g = 1;
SELECT f @> -5 AS after FROM m_many WHERE g = 1;
DO $$
DECLARE
	found boolean[];
BEGIN
	FOR i IN 1 .. 3 LOOP
		found := found || (SELECT f @> 0 - (100 + i) FROM m_many WHERE g = 2);
		UPDATE m_many SET f = bloom_add(f, 0 - (100 + i)) WHERE g = 2;
		found := found || (SELECT f @> 0 - (100 + i) FROM m_many WHERE g = 2);
	END LOOP;
	RAISE NOTICE 'before and after each update: %', found;
END $$;
ROLLBACK;
SELECT f @> -5 AS "rolled back" FROM m_many WHERE g = 1;

-- In PL/pgSQL: variables, assignment in a loop, and a toasted filter in a variable.
DO $$
DECLARE
	built bloomfilter := bloom_empty(1000, 1e-6);
	stored bloomfilter;
	hits int := 0;
	own int := 0;
	r record;
BEGIN
	FOR i IN 1 .. 1000 LOOP
		built := bloom_add(built, i);
	END LOOP;
	FOR i IN 1 .. 2000 LOOP
		IF built @> i THEN
			hits := hits + 1;
		END IF;
	END LOOP;
	FOR r IN SELECT * FROM m_many ORDER BY g LOOP
		stored := r.f;
		IF stored @> (r.g * 1000000 + 1) AND r.f @> (r.g * 1000000 + 2) AND NOT stored @> 3 THEN
			own := own + 1;
		END IF;
	END LOOP;
	RAISE NOTICE '% of 1000 keys, % of 12 filters', hits, own;
END $$;

-- An SQL function of a filter and a key.
CREATE FUNCTION m_has(bloomfilter, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1 @> $2';
SELECT count(*) FROM m_many WHERE m_has(f, g * 1000000 + 1);

-- Pre-filtering a semijoin changes nothing in its result ...
CREATE TABLE m_fact AS SELECT i AS id, (i * 7919) % 20000 AS k FROM generate_series(1, 20000) i;
CREATE TABLE m_dim AS SELECT i * 20 AS k FROM generate_series(0, 999) i;
SELECT (SELECT count(*) FROM m_fact WHERE k IN (SELECT k FROM m_dim)) AS exact,
       (SELECT count(*) FROM m_fact WHERE k <@ (SELECT bloom_agg(k) FROM m_dim)
                                      AND k IN (SELECT k FROM m_dim)) AS prefiltered;

-- ... the filter passes the exact result and about 1 % of the rest,
SELECT count(*) - 1000 BETWEEN 95 AND 285 AS "0.5 to 1.5 % of 19000",
       count(*) FILTER (WHERE k IN (SELECT k FROM m_dim)) AS exact
FROM m_fact WHERE k <@ (SELECT bloom_agg(k) FROM m_dim);

-- ... and what it stops has no match: NOT k <@ f never returns a row that the semijoin returns.
SELECT count(*) FILTER (WHERE k IN (SELECT k FROM m_dim)) AS matches, count(*) BETWEEN 18715 AND 18905 AS rest
FROM m_fact WHERE NOT k <@ (SELECT bloom_agg(k) FROM m_dim);

-- A filter that grows row by row is searched as it is at each row.
SELECT count(*) FILTER (WHERE f @> i) AS found, count(*) FILTER (WHERE f @> -i) AS others
FROM (SELECT i, bloom_agg(i, 3000, 1e-9) OVER (ORDER BY i) AS f FROM generate_series(1, 3000, 100) i) s;

-- In an index expression, a check constraint and a generated column.
CREATE TABLE m_checked (k int CHECK (k <@ (bloom_add_all(bloom_empty(3, 1e-6), ARRAY[1, 2, 3]))),
                        low boolean GENERATED ALWAYS AS (k <@ bloom_add(bloom_empty(1, 1e-6), 1)) STORED);
INSERT INTO m_checked VALUES (1), (2), (NULL);
INSERT INTO m_checked VALUES (100000);
SELECT * FROM m_checked ORDER BY k;

DROP FUNCTION m_has;
DROP TABLE m_one, m_stored, m_many, m_fact, m_dim, m_checked;
