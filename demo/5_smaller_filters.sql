-- Makes a filter smaller after it was built, without its keys.
-- To run it alone: psql -d DATABASE -f demo/5_smaller_filters.sql   (demo/README.md says where its data come from)
\ir common.sql
\echo
\echo '=== 5. Making a filter smaller without its keys ==='
\ir load_words.sql
SELECT commas(:passwords) AS p, commas(:candidates) AS c \gset
\echo 'One large filter of' :p 'words (one false positive in 100,000), and smaller copies of it:'
\echo 'bloom_prefix keeps the first parts (a prefix of the bytes), bloom_fold merges blocks, bloom_shrink meets a given rate.'
DROP TABLE IF EXISTS smaller;
\set ECHO queries
\timing on
CREATE TABLE smaller AS
  WITH f AS MATERIALIZED (SELECT bloom_agg(w, :passwords, 0.00001) AS filter FROM password)
  SELECT 1 AS step, 'as built' AS what, filter FROM f
  UNION ALL SELECT 2, 'bloom_prefix: half its parts', bloom_prefix(filter, parts / 2) FROM f, bloom_info(filter)
  UNION ALL SELECT 3, 'bloom_fold: half its blocks', bloom_fold(filter) FROM f
  UNION ALL SELECT 4, 'both', bloom_fold(bloom_prefix(filter, parts / 2)) FROM f, bloom_info(filter)
  UNION ALL SELECT 5, 'bloom_shrink(filter, 0.01)', bloom_shrink(filter, 0.01) FROM f;
CREATE TEMP TABLE measured AS
  SELECT step, what, pg_column_size(filter)::bigint AS bytes, i.blocks, i.parts, i.fill, i.fpr, i.cardinality,
         (SELECT count(*) FROM password WHERE NOT s.filter @> w) AS false_negatives,
         (SELECT count(*) FROM candidate WHERE s.filter @> w) AS false_positives
    FROM smaller s, bloom_info(filter) i;
\timing off
\set ECHO none
SELECT what, pg_size_pretty(bytes) AS size, blocks, parts, round(fill::numeric, 3) AS fill, percent(fpr) AS "fpr by formula",
       percent(false_positives / :candidates::float8) AS "fpr measured", false_negatives AS "false negatives", commas(cardinality::bigint) AS "keys, estimated"
  FROM measured ORDER BY step;
SELECT must(sum(false_negatives) = 0, 'every copy still finds all ' || commas(:passwords) || ' words') AS claim FROM measured \gset
\echo :claim
SELECT must(bool_and(abs(false_positives / :candidates::float8 - fpr) <= five_sigma(fpr, :candidates)),
            'each measured rate is within 5 standard deviations of bloom_fpr') AS claim FROM measured \gset
\echo :claim

\echo
\echo 'A smaller copy is exactly the filter that would have been built that small (a filter given to bloom_agg is a template):'
\set ECHO queries
\timing on
CREATE TEMP TABLE direct AS SELECT bloom_agg(w, (SELECT filter FROM smaller WHERE step = 4)) AS filter FROM password;
SELECT s.filter = d.filter AS "the same bits" FROM smaller s, direct d WHERE step = 4;
\timing off
\set ECHO none
SELECT must(s.filter = d.filter, 'half the parts and half the blocks, built directly, is the same filter') AS claim
  FROM smaller s, direct d WHERE step = 4 \gset
\echo :claim

\echo
\echo 'And filters of different sizes still combine: the copy with half the parts, merged with a small filter of ten new words.'
\echo '(A union has the larger number of blocks and the smaller number of parts, so its rate is that of the weaker filter.)'
\set ECHO queries
SELECT i.blocks, i.parts, percent(i.fpr) AS fpr, u @> 'bloomx' AS "bloomx?", u @> 'zyzzyvas' AS "zyzzyvas?"
  FROM (SELECT filter | (SELECT bloom_agg(w, 10, 0.0001) FROM unnest('{bloomx,pgxs,xxh3,initdb,jsonb,varlena,lwlock,minmax,toast,wal}'::text[]) w) AS u
          FROM smaller WHERE step = 2) s, bloom_info(u) i;
\set ECHO none
DROP TABLE measured, direct;
