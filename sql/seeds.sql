--
-- Seeds: keys that were chosen to spoil filters of a known seed do not spoil a filter of a random seed.
--
SELECT count(DISTINCT bloom_random_seed()) AS seeds FROM generate_series(1, 100);
SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'bloom_random_seed';

-- Keys that all fall into the first 32nd of the blocks under seed 0, which everybody knows
CREATE TABLE chosen AS SELECT n FROM generate_series(1, 400000) n WHERE bloom_hash(n) BETWEEN 0 AND (1::bigint << 59) - 1;
SELECT count(*) > 10000 AS enough FROM chosen;

-- They look like few keys and fill their blocks, so that other such keys are found too; a random seed, drawn once in a scalar subquery, scatters them
SET bloomx.overfill = off;
CREATE TABLE filters AS
    SELECT 'public' AS seed, bloom_agg(n, 16000) AS f FROM chosen
    UNION ALL SELECT 'random', bloom_agg(n, (SELECT bloom_empty(16000, seed => bloom_random_seed()))) FROM chosen;
SELECT seed, bloom_cardinality(f) BETWEEN 0.9 * (SELECT count(*) FROM chosen) AND 1.1 * (SELECT count(*) FROM chosen) AS "right number",
        (SELECT count(*) FILTER (WHERE f @> n) = count(*) FROM chosen) AS "finds all",
        (SELECT count(*) FILTER (WHERE f @> (n + 1000000)) <= 15 FROM generate_series(1, 10000) n WHERE bloom_hash(n + 1000000) BETWEEN 0 AND (1::bigint << 59) - 1) AS "few others"
    FROM filters ORDER BY 1;

-- One template serves all groups of a query and all workers of a parallel plan: their filters can be united
SELECT bloom_union_agg(f) = (SELECT bloom_agg(n, t) FROM chosen) AS equal
    FROM (SELECT bloom_empty(16000, seed => bloom_random_seed()) AS t OFFSET 0) template,
        LATERAL (SELECT n % 4, bloom_agg(n, t) AS f FROM chosen GROUP BY 1) groups GROUP BY t;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
CREATE FUNCTION partial_plan(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Partial Aggregate' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;
SELECT partial_plan('SELECT bloom_agg(n, (SELECT bloom_empty(16000, seed => bloom_random_seed()))) FROM chosen') AS "drawn once",
       partial_plan('SELECT bloom_agg(n, bloom_empty(16000, seed => bloom_random_seed())) FROM chosen') AS "drawn for each row";
SELECT count(*) FILTER (WHERE f @> n) = count(*) AS "finds all"
    FROM chosen, (SELECT bloom_agg(n, (SELECT bloom_empty(16000, seed => bloom_random_seed()))) AS f FROM chosen) a;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;

-- In the argument itself it is drawn for each row, and that of the first row counts: each group's filter has another seed
SELECT count(DISTINCT (bloom_info(f)).seed) AS seeds, bool_and(found) AS found
    FROM (SELECT bloom_agg(n, bloom_empty(100, seed => bloom_random_seed())) AS f FROM generate_series(1, 100) n GROUP BY n % 5) g,
        LATERAL (SELECT count(*) FILTER (WHERE f @> n) >= 20 AS found FROM generate_series(1, 100) n) x;

DROP TABLE filters, chosen;
DROP FUNCTION partial_plan;
RESET bloomx.overfill;
