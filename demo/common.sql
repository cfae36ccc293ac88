-- The beginning of every section: psql stops at the first error, all tables go to the schema bloomx_demo, and
-- must() makes a section fail if a claim does not hold.
-- The data come from Debian packages. Their files are below the directory $BLOOMX_DATA (scripts/unpack-data),
-- or below / if the packages are installed. psql -v quick=yes generates less data instead.
\set ON_ERROR_STOP on
\set QUIET on
\set ECHO none
\timing off
\pset pager off
\pset footer off
\encoding UTF8
SET client_min_messages = warning;
SET jit = off;

\if :{?quick}
    \set data generated
\else
    \set data real
\endif

CREATE EXTENSION IF NOT EXISTS bloomx;
CREATE SCHEMA IF NOT EXISTS bloomx_demo;
SELECT set_config('search_path', 'bloomx_demo, ' || quote_ident(nspname) || ', public', false) AS search_path
  FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'bloomx' \gset

CREATE OR REPLACE FUNCTION must(holds boolean, claim text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'this does not hold: %', claim;
    END IF;
    RETURN 'checked: ' || claim;
END $$;

-- Five standard deviations of the share of "yes" among n lookups, each of which is "yes" with probability p.
CREATE OR REPLACE FUNCTION five_sigma(p float8, probes bigint) RETURNS float8 LANGUAGE sql IMMUTABLE
    AS $$ SELECT 5 * sqrt(p * (1 - p) / probes) $$;

CREATE OR REPLACE FUNCTION commas(n bigint) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT to_char(n, 'FM999,999,999,999') $$;

CREATE OR REPLACE FUNCTION percent(share float8) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT to_char(100 * share, 'FM990.0000') || ' %' $$;
