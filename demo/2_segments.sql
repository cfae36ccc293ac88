-- Finds the segments that may hold a key, with one small filter per segment instead of an index over all keys.
-- To run it alone: psql -d DATABASE -f demo/2_segments.sql   (demo/README.md says where its data come from)
\ir common.sql
\echo
\echo '=== 2. Which segments may hold this key? ==='
\ir load_words.sql
SELECT commas(:passwords) AS p \gset
\echo :p 'words are stored in 256 segments, as in a log or a data lake: in random order, so the minimum and maximum of a segment do not help.'
\echo 'Each segment gets a filter of its keys. (A BRIN index tells where a segment is stored; there is no index on the words.)'
DROP TABLE IF EXISTS chunk, segment;
CREATE UNLOGGED TABLE chunk AS
  SELECT (hashtext(w) & 255) AS segment, w FROM password ORDER BY 1;
CREATE INDEX ON chunk USING brin (segment) WITH (pages_per_range = 8);
VACUUM ANALYZE chunk;
\set ECHO queries
\timing on
CREATE TABLE segment AS SELECT segment AS id, bloom_agg(w) AS filter FROM chunk GROUP BY segment;
\timing off
\set ECHO none
VACUUM ANALYZE segment;
SELECT count(*) AS segments, commas(avg(bloom_cardinality(filter))::bigint) AS "keys per segment (estimated)",
       pg_size_pretty(avg(pg_column_size(filter))::bigint) AS "a filter", pg_size_pretty(pg_total_relation_size('segment')) AS "all filters",
       pg_size_pretty(pg_table_size('chunk')) AS "all words", percent(max(bloom_fpr(filter))) AS "worst fpr" FROM segment;
\echo 'The rate of 1 % is planned as a mean: some filters are a little above it, most are below.'

\echo 'One word: the candidate segments, the one that really has it, and the row itself, read only from the candidates.'
\set ECHO queries
\timing on
SELECT id FROM segment WHERE filter @> 'zyzzyvas';
SELECT DISTINCT segment AS "really in" FROM chunk WHERE w = 'zyzzyvas';
SELECT segment, w FROM chunk WHERE segment = ANY (ARRAY(SELECT id FROM segment WHERE filter @> 'zyzzyvas')) AND w = 'zyzzyvas';
\timing off
\set ECHO none

\echo
\echo '2,000 present and 2,000 absent words, looked up in all 256 filters:'
CREATE TEMP TABLE probe AS
  (SELECT w, true AS stored FROM password ORDER BY hashtextextended(w, 1) LIMIT 2000)
  UNION ALL
  (SELECT w, false FROM candidate ORDER BY hashtextextended(w, 1) LIMIT 2000);
CREATE TEMP TABLE result AS
  SELECT p.w, p.stored, count(*) FILTER (WHERE s.filter @> p.w) AS candidates,
         bool_or(s.filter @> p.w AND s.id = (hashtext(p.w) & 255)) AS true_one_among_them
    FROM segment s CROSS JOIN probe p GROUP BY p.w, p.stored;
SELECT avg(bloom_fpr(filter)) AS fpr FROM segment \gset
SELECT CASE WHEN stored THEN 'stored' ELSE 'not stored' END AS "the word is", count(*) AS words,
       stored::int AS "true segments", round(avg(candidates), 2) AS "candidate segments",
       round((stored::int + (256 - stored::int) * :fpr)::numeric, 2) AS "expected", 256 AS "of"
  FROM result GROUP BY stored ORDER BY stored DESC;
SELECT must(bool_and(true_one_among_them), 'the true segment is among the candidates for all 2,000 stored words') AS claim FROM result WHERE stored \gset
\echo :claim
SELECT must(abs(sum(candidates) / (2000 * 256.0) - :fpr) <= five_sigma(:fpr, 2000 * 256),
            'the share of false candidates is within 5 standard deviations of the filters'' own rate') AS claim FROM result WHERE NOT stored \gset
\echo :claim

\echo
\echo 'The same with segments of very different sizes: the countries that have an address in a /16 network'
\ir load_addresses.sql
\echo (:addresses)
DROP TABLE IF EXISTS country;
CREATE TEMP TABLE net_of AS SELECT DISTINCT cc, network(set_masklen(addr, 16)) AS net FROM host;
\set ECHO queries
CREATE TABLE country AS SELECT cc, bloom_agg(network(set_masklen(addr, 16))) AS filter FROM host GROUP BY cc;
\set ECHO none
SELECT count(*) AS countries, pg_size_pretty(min(pg_column_size(filter))::bigint) AS "smallest filter",
       pg_size_pretty(max(pg_column_size(filter))::bigint) AS "largest", percent(max(bloom_fpr(filter))) AS "worst fpr" FROM country;
CREATE TEMP TABLE net_result AS
  SELECT net, cc, c.filter @> net AS candidate, o.cc IS NOT NULL AS holds, bloom_fpr(c.filter) AS fpr
    FROM (SELECT DISTINCT net FROM net_of ORDER BY net LIMIT 4000 OFFSET 4000) n CROSS JOIN country c LEFT JOIN net_of o USING (net, cc);
SELECT count(DISTINCT net) AS "/16 networks", commas(count(*)) AS lookups, round(count(*) FILTER (WHERE holds)::numeric / count(DISTINCT net), 2) AS "true countries each",
       round(count(*) FILTER (WHERE candidate)::numeric / count(DISTINCT net), 2) AS "candidates each",
       count(*) FILTER (WHERE holds AND NOT candidate) AS "false negatives",
       percent(count(*) FILTER (WHERE candidate AND NOT holds)::float8 / count(*) FILTER (WHERE NOT holds)) AS "false positives",
       percent(avg(fpr) FILTER (WHERE NOT holds)) AS "expected"
  FROM net_result;
SELECT must(bool_and(candidate), 'no country that has one is missed') AS claim FROM net_result WHERE holds \gset
\echo :claim
SELECT must(count(*) FILTER (WHERE candidate) <= 0.01 * count(*) + 5 * sqrt(0.01 * 0.99 * count(*)),
            'no more than 1 % of the other countries are named') AS claim FROM net_result WHERE NOT holds \gset
\echo :claim
DROP TABLE probe, result, net_of, net_result;
