-- Finds a key in a table of 200 partitions by one lookup, and keeps a set of its keys current.
-- To run it alone: psql -d DATABASE -f demo/7_partitions.sql      (-v quick=yes: 100,000 rows instead of 2,000,000)
\ir common.sql
\echo
\echo '=== 7. One lookup for all partitions, and a set that is always current ==='
\if :{?quick}
    \set rows 100000
\else
    \set rows 2000000
\endif
DROP TABLE IF EXISTS span;
CREATE TABLE span (trace uuid, day int, line text) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE span_%s PARTITION OF span FOR VALUES FROM (%s) TO (%s)', d, d, d + 1) FROM generate_series(0, 199) d \gexec
SELECT commas(:rows) AS rows_text \gset
\echo :rows_text 'rows in 200 partitions, one per day, and trace ids, which say nothing about the day.'
\set ECHO queries
CREATE INDEX span_trace ON span (trace);
CREATE INDEX span_lookup ON span USING bloomx (trace) WITH (partition_lookup = on);
\set ECHO none
INSERT INTO span SELECT md5(n::text)::uuid, n % 200, 'line ' || n FROM generate_series(1, :rows) n;
VACUUM ANALYZE span;
SELECT bloom_empty(1) IS NOT NULL AS loaded \gset

\echo
\echo 'The plan for one trace id has the partitions that possibly hold it:'
\set ECHO queries
EXPLAIN (COSTS OFF) SELECT line FROM span WHERE trace = md5('4711')::uuid;
\set ECHO none

-- Milliseconds of one lookup, planning included, and how many of the ids were found.
CREATE FUNCTION pg_temp.look_up(is_on boolean, first int, n int, OUT ms float8, OUT hits bigint) LANGUAGE plpgsql AS $$
DECLARE
    rows bigint;
    start timestamptz;
BEGIN
    PERFORM set_config('bloomx.partition_lookup', is_on::text, true);
    hits := 0;
    start := clock_timestamp();
    FOR i IN first .. first + n - 1 LOOP
        EXECUTE format('SELECT count(*) FROM span WHERE trace = %L', md5(i::text)::uuid) INTO rows;
        hits := hits + rows;
    END LOOP;
    ms := 1000 * extract(epoch FROM clock_timestamp() - start) / n;
END $$;
SELECT ms FROM pg_temp.look_up(false, 1, 20) \gset
SELECT a.ms AS off, b.ms AS on, a.hits AS hits_off, b.hits AS hits_on FROM pg_temp.look_up(false, 5000, 200) a, pg_temp.look_up(true, 5000, 200) b \gset lookup_
\echo '200 such queries, planning included:'
SELECT round(:lookup_off::numeric, 2) AS "ms without lookups", round(:lookup_on::numeric, 2) AS "ms with them", round((:lookup_off / :lookup_on)::numeric, 1) AS "times faster";
SELECT must(:lookup_hits_off = 200 AND :lookup_hits_on = 200, 'all 200 ids are found both ways') AS claim \gset
\echo :claim
SELECT must(hits = 0, 'none of 200 unknown ids is found') AS claim FROM pg_temp.look_up(true, -5000, 200) \gset
\echo :claim

\echo
\echo 'A bloomset index on the log of one day, before and after an INSERT: no triggers, nothing to rebuild.'
\set ECHO queries
CREATE INDEX span_0_set ON span_0 USING bloomset (trace);
SELECT bloomset_contains('span_0_set', md5('new')::uuid) AS before;
INSERT INTO span VALUES (md5('new')::uuid, 0, 'new');
SELECT bloomset_contains('span_0_set', md5('new')::uuid) AS after;
\set ECHO none
SELECT must(bool_and(bloomset_contains('span_0_set', trace)), 'the set has every key of its ' || commas(count(*)) || ' rows') AS claim FROM span_0 \gset
\echo :claim
