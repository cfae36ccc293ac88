--
-- The planner: selectivity and cost of membership.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;

-- 10,000 distinct keys, each twice, and 5,000 NULLs.
CREATE TABLE p_keys AS SELECT CASE WHEN i <= 20000 THEN i % 10000 END AS k, i % 10 AS ten FROM generate_series(1, 25000) i;
ANALYZE p_keys;

-- The rows that the planner expects of a query, and those that come.
CREATE FUNCTION p_estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
CREATE FUNCTION p_actual(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO n;
	RETURN n;
END $$;

-- A constant filter: the estimate is within a factor of two of the truth, for every spelling.
SELECT bloom_agg(i) AS f100 FROM generate_series(1, 100) i \gset
SELECT bloom_agg(i) AS f3000 FROM generate_series(1, 3000) i \gset
SELECT bloom_agg(i) AS f20000 FROM generate_series(0, 19999) i \gset
CREATE TABLE p_query AS SELECT n, what, format(query, f) AS query FROM (VALUES
	(1, 'k <@ 100 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f100'),
	(2, '100 keys @> k', 'SELECT * FROM p_keys WHERE %L::bloomfilter @> k', :'f100'),
	(3, 'bloom_contains(100 keys, k)', 'SELECT * FROM p_keys WHERE bloom_contains(%L, k)', :'f100'),
	(4, 'k <@ 3,000 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f3000'),
	(5, 'k <@ 20,000 keys', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', :'f20000'),
	(6, 'NOT k <@ 3,000 keys', 'SELECT * FROM p_keys WHERE NOT k <@ %L::bloomfilter', :'f3000'),
	(8, 'with another condition', 'SELECT * FROM p_keys WHERE k <@ %L::bloomfilter AND ten < 5', :'f3000'),
	(9, 'a constant expression', 'SELECT * FROM p_keys WHERE k <@ bloom_add(%L, 5000)', :'f100'),
	(10, 'a small inline filter', 'SELECT * FROM p_keys WHERE k <@ bloom_add_all(bloom_empty(9), ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9])', '')) v(n, what, query, f);
SELECT what, p_estimate(query) / p_actual(query) BETWEEN 0.5 AND 2 AS "within a factor of two" FROM p_query ORDER BY n;

-- An empty filter keeps nothing, a full one every key that is not NULL, a NULL filter nothing.
SELECT p_estimate('SELECT * FROM p_keys WHERE k <@ bloom_empty(100)') AS empty,
       p_estimate(format('SELECT * FROM p_keys WHERE k <@ %L::bloomfilter', bloom_agg(i, bloom_empty_bits(64, 1)))) BETWEEN 19000 AND 21000 AS "full",
       p_estimate('SELECT * FROM p_keys WHERE k <@ NULL::bloomfilter') <= 1 AS "null"
FROM generate_series(1, 5000) i;

-- A custom plan of a prepared statement knows its filter, a generic one assumes 1 %.
PREPARE p_filter(bloomfilter) AS SELECT * FROM p_keys WHERE k <@ $1;
SET plan_cache_mode = force_custom_plan;
SELECT p_estimate(format('EXECUTE p_filter(%L)', :'f3000')) BETWEEN 3000 AND 12000 AS custom;
SET plan_cache_mode = force_generic_plan;
SELECT p_estimate(format('EXECUTE p_filter(%L)', :'f3000')) AS generic;
RESET plan_cache_mode;
DEALLOCATE p_filter;

-- So do a filter from a subquery, from a table and from a function that is not constant, for every function of membership.
CREATE TABLE p_filters AS SELECT g, bloom_agg(i) AS f FROM generate_series(1, 4) g, generate_series(1, 100) i GROUP BY g;
ANALYZE p_filters;
SELECT p_estimate('SELECT * FROM p_keys WHERE k <@ (SELECT f FROM p_filters WHERE g = 1)') AS subquery,
       p_estimate('SELECT * FROM p_keys WHERE k <@ (SELECT bloom_agg(ten) FROM p_keys)') AS aggregate,
       p_estimate('SELECT * FROM p_keys JOIN p_filters ON f @> k') AS "join",
       p_estimate('SELECT * FROM p_keys WHERE bloom_contains_any((SELECT f FROM p_filters WHERE g = 1), ARRAY[k])') AS "any",
       p_estimate('SELECT * FROM p_keys WHERE bloom_contains_all((SELECT f FROM p_filters WHERE g = 1), ARRAY[k])') AS "all",
       p_estimate('SELECT * FROM p_keys WHERE bloom_contains_hash((SELECT f FROM p_filters WHERE g = 1), k)') AS hash;

-- A column without statistics does not disturb it.
SELECT p_estimate(format('SELECT * FROM generate_series(1, 1000) k WHERE k <@ %L::bloomfilter', :'f100')) BETWEEN 1 AND 1000 AS "function scan",
       p_estimate(format('SELECT * FROM p_keys WHERE k + ten <@ %L::bloomfilter', :'f100')) BETWEEN 1 AND 20000 AS expression;

-- Cheap conditions go before a probe, and a probe before an expensive function.
CREATE FUNCTION p_expensive(int) RETURNS boolean LANGUAGE plpgsql COST 1000 IMMUTABLE AS 'BEGIN RETURN $1 IS NOT NULL; END';
CREATE FUNCTION p_order(query text, VARIADIC words text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Filter:%' THEN
			RETURN (SELECT string_agg(w, ', ' ORDER BY strpos(line, w)) FROM unnest(words) w WHERE strpos(line, w) > 0);
		END IF;
	END LOOP;
END $$;
SELECT p_order('SELECT * FROM p_keys WHERE p_expensive(k) AND k <@ bloom_add(bloom_empty(9), 1) AND ten = 3', 'p_expensive', '<@', 'ten =') AS operator,
       p_order('SELECT * FROM p_keys WHERE p_expensive(k) AND bloom_contains(bloom_add(bloom_empty(9), 1), k) AND ten = 3', 'p_expensive', 'bloom_contains', 'ten =') AS function;

-- A filter that differs from row to row costs more than one that stays.
SELECT p_order('SELECT * FROM (SELECT g, f, g AS h FROM p_filters OFFSET 0) s WHERE f @> h AND h <@ bloom_add(bloom_empty(9), 1)', 'f @>', '<@') AS "order";

-- An index on the column does not get in the way.
CREATE INDEX p_keys_k ON p_keys (k);
SELECT count(*) BETWEEN 200 AND 600 AS found FROM p_keys WHERE k <@ :'f100'::bloomfilter;

CREATE FUNCTION p_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	RETURN plan;
END $$;

-- In a parallel query the probe runs in the workers.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT p_order('SELECT count(*) FROM p_keys WHERE k <@ bloom_empty(9)', '<@') AS probe,
       p_plan('SELECT count(*) FROM p_keys WHERE k <@ bloom_empty(9)') LIKE '%Parallel Seq Scan on p_keys%' AS parallel;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET max_parallel_workers_per_gather;

-- Every operator that returns boolean has estimators, every function of membership has support.
SELECT o.oprname AS operator, o.oprleft::regtype, o.oprright::regtype, o.oprrest AS restrict, o.oprjoin AS "join"
FROM pg_operator o
WHERE 'bloomfilter'::regtype IN (o.oprleft, o.oprright) AND o.oprresult = 'boolean'::regtype
ORDER BY o.oprname COLLATE "C", 2;
SELECT proname, prosupport, provolatile, proparallel, procost
FROM pg_proc WHERE proname ~ '^bloom_contain' AND prorettype = 'boolean'::regtype ORDER BY 1;

DROP FUNCTION p_estimate, p_actual, p_order, p_plan, p_expensive;
DROP TABLE p_keys, p_query, p_filters;
