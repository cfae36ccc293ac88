--
-- EXPLAIN: the runtime filters that a plan will have, why a join has none, and what they did.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
CREATE SCHEMA runtime_filter_explain;
SET search_path = runtime_filter_explain, public;
CREATE TABLE fact AS SELECT i % 1000 AS k, i % 7 AS j, i AS id FROM generate_series(1, 60000) i;
CREATE TABLE dim AS SELECT i AS k, i % 100 AS grp FROM generate_series(1, 1000) i;
CREATE TABLE small AS SELECT * FROM dim LIMIT 100;
ANALYZE fact, dim, small;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
-- PostgreSQL 18 prints lines of their own, earlier versions conditions.
CREATE FUNCTION filters_of(line text) RETURNS text LANGUAGE sql AS
$$ SELECT substring(lower(line) FROM 'no runtime filter[^'']*|runtime filter of node [0-9]+[^'']*') $$;

-- A session in which nothing has loaded the library: the setting is taken, and does nothing. The first function that loads it says so.
\c -
SET search_path = runtime_filter_explain, public;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;
SET bloomx.runtime_filter = on;
SELECT filters_of(line) FROM bloomx_explain('SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
SELECT filters_of(line) FROM bloomx_explain('SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
-- ... not where the setting is one of the role's, which a function call in each session makes effective
DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET bloomx.runtime_filter = on', current_user, current_database()); END $$;
\c -
SELECT bloom_is_empty(bloom_empty(1));
DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET bloomx.runtime_filter', current_user, current_database()); END $$;
SET search_path = runtime_filter_explain, public;
SET max_parallel_workers_per_gather = 0;
SET enable_mergejoin = off;

-- What the filters will be, and have done.
SELECT filters_of(line) FROM bloomx_explain('(ANALYZE, COSTS OFF) SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
SELECT filters_of(line) FROM bloomx_explain('SELECT count(*) FROM fact JOIN dim ON fact.k + j = dim.k WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
-- ... of a statement that is an EXPLAIN already
SELECT filters_of(line) FROM unnest(ARRAY['EXPLAIN ', e'\n explain ANALYZE ', 'Explain(COSTS off)']) begins, bloomx_explain(begins || 'SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
-- ... why a join has none
SELECT filters_of(line) FROM unnest(ARRAY['SELECT FROM small JOIN dim USING (k) WHERE dim.grp = 7', 'SELECT FROM fact JOIN dim USING (k)', 'SELECT FROM fact LEFT JOIN dim USING (k)']) statement, unnest(ARRAY['', 'ANALYZE ']) how, bloomx_explain(how || statement) line WHERE filters_of(line) IS NOT NULL;
CREATE INDEX ON dim (k);
SET enable_hashjoin = off;
SELECT filters_of(line) FROM unnest(ARRAY['SELECT FROM fact JOIN dim USING (k) WHERE id = 7', 'SELECT FROM small JOIN dim ON small.k <> dim.k']) statement, unnest(ARRAY['', 'ANALYZE ']) how, bloomx_explain(how || statement) line WHERE filters_of(line) IS NOT NULL;
RESET enable_hashjoin;
DROP INDEX dim_k_idx;
-- ... of a plan without a join
SELECT line FROM bloomx_explain('SELECT FROM fact') line WHERE line ~* 'runtime filter';
SELECT line::json IS NOT NULL AS is_json FROM bloomx_explain('(FORMAT JSON) SELECT FROM fact JOIN dim ON fact.k < dim.k') line;
-- ... and that they are off
SET bloomx.runtime_filter = off;
SELECT line FROM bloomx_explain('SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE line ~* 'runtime filter';
SET bloomx.runtime_filter = on;

-- Not asked for, EXPLAIN shows none before it has run. (After it has, PostgreSQL 18 does.)
EXPLAIN (COSTS OFF) SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7;
SELECT current_setting('server_version_num')::int >= 180000 AS has_options \gset
\if :has_options
CREATE FUNCTION optional(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (RUNTIME_FILTERS) ' || statement; END $$;
\else
CREATE FUNCTION optional(statement text) RETURNS SETOF text LANGUAGE sql AS 'SELECT bloomx_explain(statement)';
\endif
SELECT filters_of(line) FROM optional('SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = 7') line WHERE filters_of(line) IS NOT NULL;
-- The setting shows them in every EXPLAIN, and what stands in the plan cache stays as it is.
SET bloomx.explain_conditions = on;
SET plan_cache_mode = force_generic_plan;
PREPARE joined(int) AS SELECT count(*) FROM fact JOIN dim USING (k) WHERE grp = $1;
CREATE FUNCTION explained(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE statement; END $$;
SELECT filters_of(line) FROM explained('EXPLAIN (COSTS OFF) EXECUTE joined(7)') line WHERE filters_of(line) IS NOT NULL;
EXECUTE joined(7);
SELECT filters_of(line) FROM explained('EXPLAIN (ANALYZE, COSTS OFF) EXECUTE joined(7)') line WHERE filters_of(line) IS NOT NULL;
SET bloomx.explain_conditions = off;
EXPLAIN (COSTS OFF) EXECUTE joined(7);
EXECUTE joined(8);

-- The function finds its library wherever the extension is, and needs no rights but the caller's.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_bloomx_explain;
GRANT USAGE ON SCHEMA runtime_filter_explain TO regress_bloomx_explain;
SET ROLE regress_bloomx_explain;
SET search_path = pg_catalog;
SELECT public.bloomx_explain('SELECT FROM runtime_filter_explain.fact');
RESET ROLE;
DROP OWNED BY regress_bloomx_explain;
DROP ROLE regress_bloomx_explain;
DROP SCHEMA runtime_filter_explain CASCADE;
