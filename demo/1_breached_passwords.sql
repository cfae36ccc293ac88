-- Looks passwords up in a list of millions of breached ones.
-- To run it alone: psql -d DATABASE -f demo/1_breached_passwords.sql   (demo/README.md says where the data come from)
\ir common.sql
\echo
\echo '=== 1. Breached passwords: is this word in the list? ==='
\ir load_words.sql
SELECT commas(:passwords) AS p, commas(:candidates) AS c \gset
\echo :p 'distinct' :words 'stand for the breached passwords;' :c 'modified words that are not among'
\echo 'them ("word!", "word2026", "drow1") stand for the passwords of careful people.'

\echo
\echo 'bloom_plan tells what a filter for that many keys costs, before anything is built.'
\set ECHO queries
SELECT target, percent(p.fpr) AS fpr, pg_size_pretty(p.bytes) AS size, round(p.bits / :passwords.0, 1) AS bits_per_key, p.blocks, p.parts
  FROM unnest('{0.1, 0.01, 0.001, 0.0001}'::float8[]) target, bloom_plan(:passwords, target) p;
\set ECHO none

\echo
\echo 'Without a capacity, bloom_agg counts the distinct keys itself and sizes the filter for 1 %:'
DROP TABLE IF EXISTS breached;
\set ECHO queries
\timing on
CREATE TABLE breached AS SELECT bloom_agg(w) AS filter FROM password;
\timing off
\x on
SELECT i.* FROM breached, bloom_info(filter) i;
\x off
SELECT w, filter @> w AS breached FROM breached, unnest('{password, dragon, sunshine, dragon2026!, "correct horse battery staple"}'::text[]) w;
\set ECHO none

\echo
\echo 'Beside it, the usual way: a table with a unique btree index.'
DROP INDEX IF EXISTS password_w;
\set ECHO queries
\timing on
CREATE UNIQUE INDEX password_w ON password (w);
\timing off
\set ECHO none
VACUUM ANALYZE password;
SELECT pg_size_pretty(pg_table_size('password')) AS "the table", pg_size_pretty(pg_relation_size('password_w')) AS "its btree index",
       pg_size_pretty(pg_column_size(filter)::bigint) AS "the filter",
       round(pg_relation_size('password_w')::numeric / pg_column_size(filter), 1) AS "index : filter"
  FROM breached;

\echo
\echo 'Now four filters for four promised false positive rates, built in one scan. Every one of the' :p 'words is looked up in'
\echo 'each (a word that is not found would be a false negative), and all' :c 'absent words (a word that is found is a false positive).'
DROP TABLE IF EXISTS breached_at;
\set ECHO queries
\timing on
CREATE TABLE breached_at AS
  WITH f AS (SELECT bloom_agg(w, :passwords, 0.1) AS a, bloom_agg(w, :passwords, 0.01) AS b,
                    bloom_agg(w, :passwords, 0.001) AS c, bloom_agg(w, :passwords, 0.0001) AS d FROM password)
  SELECT target, filter FROM f, LATERAL (VALUES (0.1::float8, a), (0.01, b), (0.001, c), (0.0001, d)) v (target, filter);
CREATE TEMP TABLE measured AS
  SELECT target, pg_column_size(filter)::bigint AS bytes, bloom_fpr(filter) AS fpr,
         (SELECT count(*) FROM password WHERE NOT b.filter @> w) AS false_negatives,
         (SELECT count(*) FROM candidate WHERE b.filter @> w) AS false_positives
    FROM breached_at b;
\timing off
\set ECHO none
SELECT percent(target) AS promised, percent(p.fpr) AS "by the formula", percent(m.fpr) AS "of this filter",
       percent(false_positives / :candidates::float8) AS measured, commas(false_positives) AS "false positives",
       false_negatives AS "false negatives", pg_size_pretty(m.bytes) AS size
  FROM measured m, bloom_plan(:passwords, target) p ORDER BY target DESC;
SELECT must(sum(false_negatives) = 0, 'no false negative in ' || commas(4 * :passwords) || ' lookups of words that are in the filter') AS claim FROM measured \gset
\echo :claim
SELECT must(bool_and(abs(false_positives / :candidates::float8 - fpr) <= five_sigma(fpr, :candidates)),
            'each measured rate is within 5 standard deviations of bloom_fpr(filter)') AS claim FROM measured \gset
\echo :claim
SELECT must(bool_and(false_positives / :candidates::float8 <= target + five_sigma(target, :candidates)),
            'no measured rate is above the promised one') AS claim FROM measured \gset
\echo :claim

\echo
\if :{?quick}
    \set lookups 40000
\else
    \set lookups 200000
\endif
SELECT commas(:lookups) AS n \gset
\echo 'Speed of single lookups, half of them of words that are in the list:' :n 'calls of each way from PL/pgSQL, three times,'
\echo 'everything in memory (some seconds) ...'
CREATE OR REPLACE FUNCTION lookups_in_filter(words text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE word text; yes boolean; n bigint := 0;
BEGIN
    FOREACH word IN ARRAY words LOOP
        SELECT filter @> word INTO yes FROM breached;
        n := n + yes::int;
    END LOOP;
    RETURN n;
END $$;
CREATE OR REPLACE FUNCTION lookups_in_index(words text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE word text; yes boolean; n bigint := 0;
BEGIN
    FOREACH word IN ARRAY words LOOP
        SELECT EXISTS (SELECT FROM password WHERE w = word) INTO yes;
        n := n + yes::int;
    END LOOP;
    RETURN n;
END $$;
CREATE OR REPLACE FUNCTION lookups_of_nothing(words text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE word text; yes boolean; n bigint := 0;
BEGIN
    FOREACH word IN ARRAY words LOOP
        SELECT word = '' INTO yes;
        n := n + yes::int;
    END LOOP;
    RETURN n;
END $$;
CREATE TEMP TABLE asked AS
  SELECT array_agg(w ORDER BY hashtext(w)) AS words
    FROM (SELECT w FROM (SELECT w FROM password ORDER BY hashtext(w) LIMIT :lookups / 2) p
          UNION ALL SELECT w FROM (SELECT w FROM candidate ORDER BY hashtext(w) LIMIT :lookups / 2) c) s;
CREATE TEMP TABLE took (way text, said_yes bigint, seconds float8);
DO $$
DECLARE words text[]; start timestamptz; n bigint; round int;
BEGIN
    SELECT a.words INTO words FROM asked a;
    FOR round IN 1..3 LOOP
        start := clock_timestamp(); n := lookups_in_filter(words);
        INSERT INTO took VALUES ('filter @> word, filter in a table', n, extract(epoch FROM clock_timestamp() - start));
        start := clock_timestamp(); n := lookups_in_index(words);
        INSERT INTO took VALUES ('index-only scan of the btree', n, extract(epoch FROM clock_timestamp() - start));
        start := clock_timestamp(); n := lookups_of_nothing(words);
        INSERT INTO took VALUES ('(the loop itself)', n, extract(epoch FROM clock_timestamp() - start));
    END LOOP;
END $$;
SELECT way, said_yes AS "said yes", round((min(seconds) * 1e6 / :lookups)::numeric, 2) AS "microseconds per lookup" FROM took GROUP BY way, said_yes ORDER BY 3 DESC;
\echo 'One word at a time, the filter is about as fast as the btree, in a small part of its space. It gains where many words are tested at once, below.'
SELECT must(bool_and(said_yes >= :lookups / 2), 'both ways find all words that are in the list') AS claim FROM took WHERE way !~ 'loop' \gset
\echo :claim

\echo
\echo 'And many words at once: how many of the' :c 'candidates could be in the list? (They are not: what the filter counts is false positives.)'
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
\set ECHO queries
\timing on
SELECT count(*) AS "by the filter" FROM candidate WHERE w <@ (SELECT filter FROM breached);
SELECT count(*) AS "by a join" FROM candidate c WHERE EXISTS (SELECT FROM password p WHERE p.w = c.w);
\timing off
\set ECHO none
RESET max_parallel_workers_per_gather;
RESET work_mem;
DROP TABLE measured, asked, took;
