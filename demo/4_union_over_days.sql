-- One filter per day: weeks, comparisons and counts without the rows.
-- To run it alone: psql -d DATABASE -f demo/4_union_over_days.sql   (demo/README.md says where its data come from)
\ir common.sql
\echo
\echo '=== 4. One filter per day: union, intersection and counts without the rows ==='
\ir load_addresses.sql
SELECT commas(:visits) AS v, commas(:hosts) AS h \gset
\echo :v 'visits of a week by' :h 'hosts (':addresses'; a hash chooses the days).'
\echo 'One filter per day, each planned for the keys of a whole week:'
DROP TABLE IF EXISTS day_filter;
\set ECHO queries
\timing on
CREATE TABLE day_filter AS SELECT day, bloom_agg(addr, 1500000, 0.001) AS filter FROM visit GROUP BY day;
\timing off
\set ECHO none
CREATE TEMP TABLE day_truth AS SELECT day, count(DISTINCT addr) AS hosts FROM visit GROUP BY day;
SELECT day, pg_size_pretty(pg_column_size(filter)::bigint) AS size, round(bloom_fill(filter)::numeric, 3) AS fill, percent(bloom_fpr(filter)) AS fpr,
       commas(bloom_cardinality(filter)::bigint) AS "hosts, estimated", commas(hosts) AS "hosts, counted",
       percent(bloom_cardinality(filter) / hosts - 1) AS error
  FROM day_filter JOIN day_truth USING (day) ORDER BY day;
SELECT must(max(abs(bloom_cardinality(filter) / hosts - 1)) < 0.01, 'each day''s estimate is within 1 % of the count') AS claim
  FROM day_filter JOIN day_truth USING (day) \gset
\echo :claim

\echo
\echo 'The week: the union of the seven filters is bit for bit the filter built from all rows, and counts the week''s hosts.'
\set ECHO queries
\timing on
SELECT commas(bloom_cardinality(bloom_union_agg(filter))::bigint) AS "hosts of the week, from seven filters" FROM day_filter;
SELECT commas(count(DISTINCT addr)) AS "hosts of the week, counted in the rows" FROM visit;
CREATE TEMP TABLE week AS SELECT bloom_agg(addr, 1500000, 0.001) AS filter FROM visit;
SELECT week.filter = (SELECT bloom_union_agg(filter) FROM day_filter) AS "bit for bit the same" FROM week;
\timing off
\set ECHO none
SELECT must(filter = (SELECT bloom_union_agg(filter) FROM day_filter), 'the union of the days is the filter of the week') AS claim FROM week \gset
\echo :claim
SELECT count(DISTINCT addr) AS week_hosts FROM visit \gset
SELECT must(abs(bloom_cardinality(filter) / :week_hosts - 1) < 0.01, 'the week''s estimate is within 1 % of the count') AS claim FROM week \gset
\echo :claim

\echo
\echo 'Two days: |, & and the estimates, compared with the exact numbers from the rows.'
\set ECHO queries
\timing on
CREATE TEMP TABLE two AS
  SELECT a.filter AS a, b.filter AS b, a.filter | b.filter AS both_days, a.filter & b.filter AS on_each
    FROM day_filter a, day_filter b WHERE a.day = '2026-11-02' AND b.day = '2026-11-07';
CREATE TEMP TABLE two_estimate AS
  SELECT bloom_union_cardinality(a, b) AS "union", bloom_cardinality(both_days) AS "a | b",
         bloom_intersection_cardinality(a, b) AS "intersection", bloom_jaccard(a, b) AS jaccard FROM two;
CREATE TEMP TABLE two_truth AS
  SELECT count(*) AS "union", count(*) FILTER (WHERE n = 2) AS "intersection", count(*) FILTER (WHERE n = 2)::float8 / count(*) AS jaccard
    FROM (SELECT addr, count(*) AS n FROM visit WHERE day IN ('2026-11-02', '2026-11-07') GROUP BY addr) s;
\timing off
\set ECHO none
SELECT 'from the filters' AS " ", commas("union"::bigint) AS "union", commas("a | b"::bigint) AS "a | b",
       commas("intersection"::bigint) AS "intersection", round(jaccard::numeric, 4) AS jaccard FROM two_estimate
UNION ALL
SELECT 'from the rows', commas("union"), commas("union"), commas("intersection"), round(jaccard::numeric, 4) FROM two_truth;
SELECT must(abs(e."union" / t."union" - 1) < 0.01 AND abs(e."intersection" - t."intersection") < 0.02 * t."union" AND abs(e.jaccard - t.jaccard) < 0.02,
            'union within 1 %, intersection and Jaccard index within 2 % of the union') AS claim FROM two_estimate e, two_truth t \gset
\echo :claim
SELECT must(bool_and(on_each @> addr), 'a & b holds every host that came on both days') AS claim
  FROM two, (SELECT addr FROM visit WHERE day IN ('2026-11-02', '2026-11-07') GROUP BY addr HAVING count(*) = 2) s \gset
\echo :claim

\echo
\echo 'Certainly disjoint: hosts of two countries share no address, and small filters can prove it without the rows.'
\set ECHO queries
SELECT a.cc AS a, b.cc AS b, commas(bloom_cardinality(a.filter)::bigint) AS hosts_a, commas(bloom_cardinality(b.filter)::bigint) AS hosts_b,
       a.filter !&& b.filter AS "surely disjoint", a.filter && b.filter AS "possibly overlapping"
  FROM (SELECT cc, bloom_agg(addr, 1000, 0.000001) AS filter FROM host WHERE cc IN ('AQ', 'VA', 'SM', 'TV') GROUP BY cc) a
  JOIN (SELECT cc, bloom_agg(addr, 1000, 0.000001) AS filter FROM host WHERE cc IN ('AQ', 'VA', 'SM', 'TV') GROUP BY cc) b ON a.cc <= b.cc
 ORDER BY 1, 2;
\set ECHO none
SELECT must(count(*) = 0, 'no filter is called disjoint from itself') AS claim
  FROM (SELECT bloom_agg(addr) AS f FROM host WHERE cc IN ('AQ', 'VA', 'SM', 'TV') GROUP BY cc) s WHERE f !&& f \gset
\echo :claim
DROP TABLE week, two, two_estimate, two_truth, day_truth;
