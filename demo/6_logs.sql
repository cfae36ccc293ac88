-- Finds log rows by trace id, by tags and by parts of their messages, with two small indexes.
-- To run it alone: psql -d DATABASE -f demo/6_logs.sql      (-v log_rows=N: another number of rows; -v quick=yes: 100,000)
\ir common.sql
\echo
\echo '=== 6. Log rows by trace id, tags and message ==='
\if :{?log_rows}
\elif :{?quick}
    \set log_rows 100000
\else
    \set log_rows 10000000
\endif
DROP TABLE IF EXISTS log, log_sample;
CREATE FUNCTION pg_temp.log_rows(first bigint, last bigint)
RETURNS TABLE (at timestamptz, trace uuid, tags text[], message text) LANGUAGE sql AS $$
    SELECT timestamptz '2026-01-01 00:00+00' + i * interval '10 ms', md5((i / 5)::text)::uuid,
           ARRAY['user ' || i / 5 * 7919 % 1000003, 'shop ' || i % 997, 'tier ' || i % 3],
           format('%s /orders/%s took %s ms, request %s', (ARRAY['GET', 'PUT', 'POST'])[1 + i % 3], i * 104729 % 10000019, i % 877, left(md5(i::text), 12))
      FROM generate_series(first, last) i $$;
CREATE UNLOGGED TABLE log AS SELECT * FROM pg_temp.log_rows(1, :log_rows);
VACUUM ANALYZE log;
SELECT commas(:log_rows) AS log_rows_text \gset
\echo :log_rows_text 'log rows, for example:'
SELECT * FROM log LIMIT 1 OFFSET 4711;

\echo 'One index for trace ids and tags, of any number of columns, and one for substrings of messages:'
\set ECHO queries
\timing on
CREATE INDEX log_keys ON log USING bloomx (trace, tags);
CREATE INDEX log_message ON log USING bloomx (message text_ngram_ops);
\timing off
\set ECHO none
SELECT pg_size_pretty(pg_table_size('log')) AS "log", pg_size_pretty(pg_relation_size('log_keys')) AS "log_keys", pg_size_pretty(pg_relation_size('log_message')) AS "log_message";

\echo 'The same on the first 100,000 rows, beside the indexes that one would have had:'
CREATE UNLOGGED TABLE log_sample AS SELECT * FROM pg_temp.log_rows(1, 100000);
CREATE TEMP TABLE built (name text, definition text, ms float8);
INSERT INTO built (name, definition) VALUES
    ('sample_keys', 'bloomx (trace, tags)'), ('sample_trace', 'btree (trace)'), ('sample_tags', 'gin (tags)'),
    ('sample_message', 'bloomx (message text_ngram_ops)'), ('sample_ranges', 'brin (message text_ngram_bloomx_ops) WITH (pages_per_range = 4)'), ('sample_trigrams', 'gin (message gin_trgm_ops)');
SELECT count(*) = 1 AS has_trigrams FROM pg_available_extensions WHERE name = 'pg_trgm' \gset
\if :has_trigrams
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
\else
    DELETE FROM built WHERE name = 'sample_trigrams';
\endif
DO $$
DECLARE b record; start timestamptz;
BEGIN
    FOR b IN SELECT * FROM built LOOP
        start := clock_timestamp();
        EXECUTE format('CREATE INDEX %I ON log_sample USING %s', b.name, b.definition);
        UPDATE built SET ms = 1000 * extract(epoch FROM clock_timestamp() - start) WHERE name = b.name;
    END LOOP;
END $$;
SELECT definition AS "index", pg_size_pretty(pg_relation_size(name::regclass)) AS size, round(ms::numeric) AS "built in ms" FROM built;
DROP TABLE log_sample;

\echo 'Lookups of rows in the middle:'
SELECT trace AS some_trace, tags[1] AS some_user, tags[2] AS some_shop, right(message, 12) AS some_request
  FROM pg_temp.log_rows(:log_rows / 2, :log_rows / 2) \gset
\set ECHO queries
\timing on
SELECT at, message FROM log WHERE trace = :'some_trace';
SELECT at, trace FROM log WHERE tags @> ARRAY[:'some_user', :'some_shop'];
SELECT at, trace FROM log WHERE message LIKE '%' || :'some_request' || '%';
\timing off
\set ECHO none

\echo 'What the server did for the first two at once: one bitmap, made from both conditions inside the index.'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT at FROM log WHERE trace = :'some_trace' AND tags @> ARRAY[:'some_user'];

\echo 'A new row is found at once:'
INSERT INTO log VALUES (now(), '00000000-0000-0000-0000-000000000001', '{user new}', 'GET / took 1 ms, request abcdefabcdef');
SELECT must(count(*) = 1, 'the new row is found by its trace id, its tag and its message') AS claim
  FROM log WHERE trace = '00000000-0000-0000-0000-000000000001' AND tags @> '{user new}' AND message LIKE '%request abcdefabcdef%' \gset
\echo :claim

-- The rows are known, so what the index must find is known, too.
CREATE TEMP TABLE asked AS
    SELECT i, (pg_temp.log_rows(i, i)).* FROM generate_series(:log_rows / 101, :log_rows - 1, :log_rows / 101) i;
SELECT must(bool_and((SELECT count(*) FROM log l WHERE l.trace = a.trace AND l.tags @> ARRAY[a.tags[2]]) = 1), 'one row of each of 100 traces and shops is found') AS claim
  FROM asked a \gset
\echo :claim
SET enable_seqscan = off;
SELECT must(bool_and((SELECT bool_or(l.at = a.at) FROM log l WHERE l.message LIKE '%' || right(a.message, 12) || '%')), 'so are 100 messages by a part of them') AS claim
  FROM asked a \gset
\echo :claim
RESET enable_seqscan;
DROP TABLE asked, built;
