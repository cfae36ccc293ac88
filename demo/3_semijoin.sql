-- A filter of one table's keys before the join with a big table: when it helps and when it does not.
-- To run it alone: psql -d DATABASE -f demo/3_semijoin.sql   (demo/README.md says where its data come from)
\ir common.sql
\echo
\echo '=== 3. Semijoin pre-filter: remove rows of a big table before the join ==='
\ir load_addresses.sql
SELECT commas(:visits) AS v, commas(:hosts) AS h \gset
\echo :v 'visits are joined with those of' :h 'hosts that are in a few countries. Each query is run without and with'
\echo '"AND bloom_prefilter((SELECT bloom_agg(addr) FROM host WHERE ...), addr)", which drops most visits of other hosts during the scan.'
\if :{?quick}
    \set work_mem 512kB
\else
    \set work_mem 4MB
\endif
\echo 'The join stays, so the false positives are removed there: the result is the same. work_mem is' :work_mem', no parallel workers.'
SET max_parallel_workers_per_gather = 0;
SET work_mem = :'work_mem';
DROP VIEW IF EXISTS totals, totals_filtered, joined, joined_filtered, tiny, tiny_filtered;
DROP TABLE IF EXISTS host_filter;

\echo
\echo 'A. An aggregation below the join: totals per host, for one country only.'
\set ECHO queries
CREATE VIEW totals AS
  SELECT count(*) AS hosts, sum(visits) AS visits, max(bytes) AS most
    FROM (SELECT addr, count(*) AS visits, sum(bytes) AS bytes FROM visit GROUP BY addr) v
    JOIN host USING (addr) WHERE cc = 'PL';
CREATE VIEW totals_filtered AS
  SELECT count(*) AS hosts, sum(visits) AS visits, max(bytes) AS most
    FROM (SELECT addr, count(*) AS visits, sum(bytes) AS bytes FROM visit
           WHERE bloom_prefilter((SELECT bloom_agg(addr) FROM host WHERE cc = 'PL'), addr) GROUP BY addr) v
    JOIN host USING (addr) WHERE cc = 'PL';
\set ECHO none
\o /dev/null
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM totals;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM totals_filtered;
\o
\set ECHO queries
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM totals;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM totals_filtered;
\set ECHO none

\echo
\echo 'B. A build side that does not fit into work_mem: the hosts of three big countries.'
\set ECHO queries
CREATE VIEW joined AS
  SELECT count(*) AS visits, sum(bytes) AS bytes FROM visit JOIN host USING (addr) WHERE cc IN ('DE', 'FR', 'NL');
CREATE VIEW joined_filtered AS
  SELECT count(*) AS visits, sum(bytes) AS bytes FROM visit JOIN host USING (addr) WHERE cc IN ('DE', 'FR', 'NL')
     AND bloom_prefilter((SELECT bloom_agg(addr) FROM host WHERE cc IN ('DE', 'FR', 'NL')), addr);
\set ECHO none
\o /dev/null
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM joined;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM joined_filtered;
\o
\set ECHO queries
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM joined;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM joined_filtered;
\set ECHO none

\echo
\echo 'C. A tiny build side: the few hosts of the Vatican. The hash table of the join is as good a filter, so the filter is pure cost: the query may take twice as long.'
\set ECHO queries
CREATE VIEW tiny AS
  SELECT count(*) AS visits, sum(bytes) AS bytes FROM visit JOIN host USING (addr) WHERE cc = 'VA';
CREATE VIEW tiny_filtered AS
  SELECT count(*) AS visits, sum(bytes) AS bytes FROM visit JOIN host USING (addr) WHERE cc = 'VA'
     AND bloom_prefilter((SELECT bloom_agg(addr) FROM host WHERE cc = 'VA'), addr);
\set ECHO none
\o /dev/null
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM tiny;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM tiny_filtered;
\o
\set ECHO queries
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM tiny;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM tiny_filtered;
\set ECHO none

\echo
\echo 'D. A stored filter. bloom_prefilter tells the planner that filter and join remove the same rows. With <@ it counts them twice:'
\echo 'the estimate of the join is too low, which can lead to a bad plan.'
\set ECHO queries
CREATE TABLE host_filter AS SELECT bloom_agg(addr) AS f FROM host WHERE cc IN ('DE', 'FR', 'NL');
ANALYZE host_filter;
EXPLAIN SELECT * FROM visit JOIN host USING (addr) WHERE cc IN ('DE', 'FR', 'NL')
   AND addr <@ (SELECT f FROM host_filter);
EXPLAIN SELECT * FROM visit JOIN host USING (addr) WHERE cc IN ('DE', 'FR', 'NL')
   AND bloom_prefilter((SELECT f FROM host_filter), addr);
\set ECHO none

\echo
\echo 'E. The same without a change of the query: with this setting, joins have runtime filters.'
\set ECHO queries
SET bloomx.runtime_filter = on;
SELECT bloomx_explain('(ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) SELECT * FROM joined') AS "QUERY PLAN";
RESET bloomx.runtime_filter;
\set ECHO none

\echo
\echo 'The times again, all three variants in turn for three rounds (the median of each, and of the ratios within the rounds;'
\echo 'up to half a minute) ...'
CREATE TEMP TABLE took (view text, round int, plain float8, filtered float8, automatic float8, same boolean);
DO $$
DECLARE view text; start timestamptz; a text; b text; c text; plain float8; filtered float8; automatic float8;
BEGIN
    FOR round IN 1..3 LOOP
        FOREACH view IN ARRAY '{totals, joined, tiny}'::text[] LOOP
            start := clock_timestamp();
            EXECUTE format('SELECT v::text FROM %I v', view) INTO a;
            plain := extract(epoch FROM clock_timestamp() - start);
            start := clock_timestamp();
            EXECUTE format('SELECT v::text FROM %I v', view || '_filtered') INTO b;
            filtered := extract(epoch FROM clock_timestamp() - start);
            PERFORM set_config('bloomx.runtime_filter', 'on', false);
            start := clock_timestamp();
            EXECUTE format('SELECT v::text FROM %I v', view) INTO c;
            automatic := extract(epoch FROM clock_timestamp() - start);
            PERFORM set_config('bloomx.runtime_filter', 'off', false);
            INSERT INTO took VALUES (view, round, plain, filtered, automatic, a = b AND a = c);
        END LOOP;
    END LOOP;
END $$;
SELECT CASE view WHEN 'totals' THEN 'A. aggregation below the join' WHEN 'joined' THEN 'B. build side spills' ELSE 'C. tiny build side' END AS query,
       round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY plain)::numeric) AS "as it is, ms",
       round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY filtered)::numeric) AS "with the filter, ms",
       'x' || round(percentile_cont(0.5) WITHIN GROUP (ORDER BY plain / filtered)::numeric, 2) AS gain,
       round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY automatic)::numeric) AS "runtime filter, ms",
       'x' || round(percentile_cont(0.5) WITHIN GROUP (ORDER BY plain / automatic)::numeric, 2) AS "its gain"
  FROM took GROUP BY view ORDER BY 1;
SELECT must(bool_and(same), 'the results are the same with and without the filters') AS claim FROM took \gset
\echo :claim
RESET max_parallel_workers_per_gather;
RESET work_mem;
DROP TABLE took;
