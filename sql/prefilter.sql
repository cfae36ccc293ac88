--
-- bloom_prefilter, a filter beside a join that drops the same rows: the join's estimate counts them only once.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;

-- Titles of 100 years, 6 infos and 3 keywords of each; a country and its region for a star.
CREATE TABLE region AS SELECT i AS id, 'region ' || i AS name FROM generate_series(1, 10) i;
CREATE TABLE country AS SELECT i AS id, 1 + i % 10 AS region FROM generate_series(1, 200) i;
CREATE TABLE title AS SELECT i AS id, 1920 + i % 100 AS year, i / 100 % 4 AS kind, 1 + i / 100 % 200 AS country FROM generate_series(0, 19999) i;
CREATE TABLE info AS SELECT i AS id, (abs(hashint4(i)::bigint) % 20000)::int AS movie, i / 20000 AS type FROM generate_series(0, 119999) i;
CREATE TABLE keyword AS SELECT i AS id, (abs(hashint4(-i)::bigint) % 20000)::int AS movie FROM generate_series(0, 59999) i;
CREATE TABLE person AS SELECT i AS id, i AS info FROM generate_series(0, 119999) i;
CREATE TABLE award AS SELECT (abs(hashint4(i + 1000000)::bigint) % 120000)::int AS person, CASE WHEN i % 20 = 0 THEN 'Oscar' ELSE 'other' END AS prize FROM generate_series(0, 23999) i;
CREATE TABLE big AS SELECT movie::bigint AS movie, type FROM info;
CREATE TABLE parted (movie int, type int) PARTITION BY LIST (type);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES IN (0, 1, 2);
CREATE TABLE parted_high (type int, junk text, movie int);
ALTER TABLE parted_high DROP COLUMN junk;
ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES IN (3, 4, 5);
INSERT INTO parted SELECT movie, type FROM info;
CREATE TABLE stored AS SELECT year, bloom_agg(id) AS f FROM title GROUP BY year;
ANALYZE region, country, title, info, keyword, person, award, big, parted, stored;

-- Expected rows over actual ones, and the rows that the inner side of a nested loop returns in all its runs.
CREATE FUNCTION planned(query text, OUT ratio float8, OUT looped float8) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || query INTO plan;
	ratio := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8 / greatest(1, (plan -> 0 -> 'Plan' ->> 'Actual Rows')::float8);
	looped := coalesce((SELECT max((inner_side ->> 'Actual Loops')::float8 * (inner_side ->> 'Actual Rows')::float8)
	                    FROM jsonb_path_query(plan, '$.**{1 to last} ? (@."Node Type" == "Nested Loop").Plans[*] ? (@."Parent Relationship" == "Inner")') inner_side
	                    WHERE (inner_side ->> 'Actual Loops')::float8 > 1), 0);
END $$;

CREATE TABLE query (n int, what text, query text);
INSERT INTO query VALUES
	(1, 'no filter', 'SELECT * FROM title t JOIN info i ON i.movie = t.id WHERE t.year = 2015'),
	(2, 'one filter', 'SELECT * FROM title t JOIN info i ON i.movie = t.id WHERE t.year = 2015
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year = 2015), i.movie)'),
	(4, 'three tables, no filter', 'SELECT * FROM title t JOIN info i ON i.movie = t.id JOIN keyword k ON k.movie = t.id WHERE t.year IN (2014, 2015)'),
	(5, 'three tables, two filters', 'SELECT * FROM title t JOIN info i ON i.movie = t.id JOIN keyword k ON k.movie = t.id WHERE t.year IN (2014, 2015)
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year IN (2014, 2015)), i.movie) AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year IN (2014, 2015)), k.movie)'),
	(27, 'five tables, two filters', 'SELECT * FROM title t JOIN info i ON i.movie = t.id JOIN keyword k ON k.movie = t.id
		JOIN person p ON p.info = i.id JOIN award a ON a.person = p.id WHERE t.year IN (2014, 2015) AND a.prize = ''Oscar''
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year IN (2014, 2015)), i.movie) AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year IN (2014, 2015)), k.movie)'),
	(6, 'three tables, a chain', 'SELECT * FROM title t JOIN info i ON i.movie = t.id JOIN keyword k ON k.movie = i.movie WHERE t.year = 2015
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year = 2015), k.movie)'),
	(13, 'a CTE for both', 'WITH t AS MATERIALIZED (SELECT id FROM title WHERE year = 2015) SELECT * FROM t JOIN info i ON i.movie = t.id
		WHERE bloom_prefilter((SELECT bloom_agg(id) FROM t), i.movie)'),
	(14, 'a CTE of the filter', 'WITH f AS MATERIALIZED (SELECT bloom_agg(id) AS f FROM title WHERE year = 2015) SELECT * FROM title t JOIN info i ON i.movie = t.id
		WHERE t.year = 2015 AND bloom_prefilter((SELECT f FROM f), i.movie)'),
	(17, 'a star', 'SELECT * FROM region r JOIN country c ON c.region = r.id JOIN title t ON t.country = c.id WHERE r.name = ''region 3''
		AND bloom_prefilter((SELECT bloom_agg(c.id) FROM country c, region WHERE c.region = region.id AND region.name = ''region 3''), t.country)'),
	(18, 'casts', 'SELECT * FROM title t JOIN big b ON b.movie = t.id WHERE t.year = 2015
		AND bloom_prefilter((SELECT bloom_agg(id::bigint) FROM title WHERE year = 2015), b.movie)'),
	(20, 'partitions', 'SELECT * FROM title t JOIN parted p ON p.movie = t.id WHERE t.year = 2015
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year = 2015), p.movie)'),
	(21, 'EXISTS', 'SELECT * FROM info i WHERE EXISTS (SELECT FROM title t WHERE t.id = i.movie AND t.year = 2015)
		AND bloom_prefilter((SELECT bloom_agg(id) FROM title WHERE year = 2015), i.movie)'),
	-- any other membership counts as a condition of its own
	(30, 'no join', 'SELECT * FROM info i WHERE i.movie <@ (SELECT bloom_agg(id) FROM title WHERE year < 1925)'),
	(31, 'a join with another table', 'SELECT * FROM info i JOIN keyword k ON k.movie = i.movie WHERE i.movie <@ (SELECT bloom_agg(id) FROM title WHERE year < 1925)'),
	(32, 'another column', 'SELECT * FROM info i JOIN title t ON t.id = i.movie WHERE i.movie <@ (SELECT bloom_agg(country) FROM title WHERE year = 1980)'),
	(33, 'a left join', 'SELECT * FROM info i LEFT JOIN title t ON t.id = i.movie AND t.year < 1925 WHERE i.movie <@ (SELECT bloom_agg(id) FROM title WHERE year < 1925)'),
	(35, 'two filters', 'SELECT * FROM info i JOIN keyword k ON k.movie = i.movie
		WHERE i.movie <@ (SELECT bloom_agg(id) FROM title WHERE year < 1950) AND k.movie <@ (SELECT bloom_agg(id) FROM title WHERE kind = 1)'),
	(36, 'the table itself', 'SELECT * FROM title WHERE id <@ (SELECT bloom_agg(id) FROM title WHERE year < 1930)');

-- Estimates are within a factor of two, and no nested loop runs over many rows.
SELECT n, what, ratio BETWEEN 0.5 AND 2 AS estimate, looped <= 10000 AS "no loops" FROM query, planned(query) ORDER BY n;

-- The same with indexes (parameterized scans), and with a foreign key.
CREATE INDEX ON info (movie);
CREATE INDEX ON keyword (movie);
ALTER TABLE title ADD PRIMARY KEY (id);
ALTER TABLE info ADD FOREIGN KEY (movie) REFERENCES title;
ANALYZE title, info, keyword;
SELECT n, what, ratio BETWEEN 0.5 AND 2 AS estimate FROM query, planned(query) ORDER BY n;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT n, what, ratio BETWEEN 0.5 AND 2 AS estimate FROM query, planned(query) WHERE n < 10 ORDER BY n;
RESET enable_hashjoin;
RESET enable_mergejoin;

CREATE FUNCTION rows_of(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
-- A stored filter, a constant, a parameter, the column of a joined table: all estimates are those without it.
SELECT bloom_agg(id) AS f FROM title WHERE year = 2015 \gset
PREPARE joined(bloomfilter) AS SELECT * FROM title t JOIN info i ON i.movie = t.id WHERE t.year = 2015 AND bloom_prefilter($1, i.movie);
SET plan_cache_mode = force_generic_plan;
WITH base AS (SELECT 'SELECT * FROM title t JOIN info i ON i.movie = t.id WHERE t.year = 2015' AS q)
SELECT rows_of(q || ' AND bloom_prefilter((SELECT f FROM stored WHERE year = 2015), i.movie)') = rows_of(q) AS stored,
       rows_of(q || format(' AND bloom_prefilter(%L, i.movie)', :'f')) = rows_of(q) AS constant,
       rows_of(format('EXECUTE joined(%L)', :'f')) = rows_of(q) AS parameter,
       rows_of(replace(q, 'WHERE', 'JOIN stored s ON s.year = t.year AND bloom_prefilter(s.f, i.movie) WHERE')) = rows_of(q) AS "column"
FROM base;
RESET plan_cache_mode;
-- The results are those of <@.
SELECT count(*) FILTER (WHERE movie <@ :'f'::bloomfilter) AS contained,
       count(*) FILTER (WHERE (movie <@ :'f'::bloomfilter) IS DISTINCT FROM bloom_prefilter(:'f', movie)) AS different,
       count(*) FILTER (WHERE (movie::bigint <@ (SELECT f FROM stored WHERE year = 2015)) IS DISTINCT FROM
                              bloom_prefilter((SELECT f FROM stored WHERE year = 2015), movie::bigint)) AS "of stored"
FROM info;
SELECT bloom_prefilter(bloom_empty(9), NULL::int) IS NULL AS "null key", bloom_prefilter(NULL, 1) IS NULL AS "null filter", bloom_prefilter(bloom_empty(9), 1) AS empty;
\set VERBOSITY terse
SELECT bloom_prefilter(:'f', 'x'::varchar);
\set VERBOSITY default
SELECT prosupport, provolatile, proparallel, procost FROM pg_proc WHERE proname = 'bloom_prefilter';

DEALLOCATE joined;
DROP FUNCTION planned, rows_of;
DROP TABLE query, region, country, info, keyword, person, award, title, big, parted, stored;
RESET max_parallel_workers_per_gather;
