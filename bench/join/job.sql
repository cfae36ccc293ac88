-- Films and who made them, shaped like the join order benchmark: a snowflake with skew (few films, people and keywords
-- have most of the rows) and correlation (a film's year goes with its country, its ratings with its popularity).
-- 1 million films' rows in cast_info at scale 0.1, 10 million at scale 1.

CREATE TABLE kind_type AS SELECT n::int AS id, kind FROM unnest('{movie,tv series,tv movie,video movie,episode,video game}'::text[]) WITH ORDINALITY u(kind, n);
CREATE TABLE company_type AS SELECT n::int AS id, kind FROM unnest('{production companies,distributors,special effects companies,miscellaneous companies}'::text[]) WITH ORDINALITY u(kind, n);
CREATE TABLE role_type AS SELECT n::int AS id, role FROM unnest('{actor,actress,producer,writer,cinematographer,composer,costume designer,director,editor,miscellaneous crew,production designer,guest}'::text[]) WITH ORDINALITY u(role, n);
CREATE TABLE info_type AS SELECT i AS id, (ARRAY['genres', 'countries', 'languages', 'release dates', 'budget'])[i] AS info FROM generate_series(1, 5) i
	UNION ALL SELECT i, (ARRAY['rating', 'votes', 'top 250 rank'])[i - 98] FROM generate_series(99, 101) i UNION ALL SELECT i, 'fact ' || i FROM generate_series(6, 98) i;

-- Films with small numbers are the popular ones.  Newer films are more often made in the east, and more often episodes.
CREATE TABLE title AS
SELECT i::int AS id, 'film ' || pick(i, 1, 1000000000) AS title, year AS production_year, (CASE WHEN pick(i, 3, 100) < (year - 1900) / 2 THEN 5 ELSE 1 + pick(i, 4, 6) END)::int AS kind_id
FROM generate_series(1, (1000000 * :scale)::bigint) i, LATERAL (SELECT (2020 - skew(i, 2, 120))::int AS year) y;

CREATE TABLE company_name AS SELECT i::int AS id, 'company ' || i AS name, word(skew(i, 5, 1000), 6, '{[us],[gb],[de],[fr],[it],[jp],[in],[cn],[ru],[ca]}') AS country_code
FROM generate_series(1, (100000 * :scale)::bigint) i;
CREATE TABLE keyword AS SELECT i::int AS id, CASE WHEN i <= 20 THEN 'popular-' || i ELSE 'keyword-' || i END AS keyword FROM generate_series(1, (100000 * :scale)::bigint) i;
CREATE TABLE name AS SELECT i::int AS id, word(i, 7, '{Smith,Tanaka,Garcia,Dubois,Rossi,Novak,Kim,Patel,Olsen,Weber}') || ', ' || chr((65 + pick(i, 8, 26))::int) AS name, word(i, 9, '{m,m,f}') AS gender
FROM generate_series(1, (2000000 * :scale)::bigint) i;

CREATE TABLE movie_companies AS SELECT i::int AS id, (1 + skew(i, 10, (999999 * :scale)::bigint))::int AS movie_id, (1 + skew(i, 11, (99999 * :scale)::bigint))::int AS company_id,
	(1 + pick(i, 12, 4))::int AS company_type_id, word(i, 13, '{(as Metro),(co-production),(worldwide),(presents),(TV)}') AS note FROM generate_series(1, (2500000 * :scale)::bigint) i;
CREATE TABLE movie_keyword AS SELECT i::int AS id, (1 + skew(i, 14, (999999 * :scale)::bigint))::int AS movie_id, (1 + skew(i, 15, (99999 * :scale)::bigint))::int AS keyword_id
FROM generate_series(1, (4500000 * :scale)::bigint) i;
CREATE TABLE movie_info AS SELECT i::int AS id, id AS movie_id, type AS info_type_id,
	CASE type WHEN 1 THEN word(id + i / 7, 17, '{Drama,Comedy,Horror,Action,Thriller,Documentary,Romance,Western}') WHEN 2 THEN CASE WHEN production_year > 2000 AND pick(i, 18, 3) > 0 THEN 'India' ELSE word(i, 19, '{USA,Germany,France,Italy,Japan}') END
	ELSE 'value ' || pick(i, 20, 1000) END AS info
FROM (SELECT i, 1 + skew(i, 21, (999999 * :scale)::bigint) AS movie, (1 + skew(i, 16, 98))::int AS type FROM generate_series(1, (6000000 * :scale)::bigint) i) x JOIN title ON id = movie;
CREATE TABLE movie_info_idx AS SELECT id AS movie_id, type AS info_type_id, CASE type WHEN 99 THEN (10 - 9 * id / (1000000.0 * :scale) * part(id, 22))::numeric(3, 1)::text WHEN 100 THEN (1000000 / id)::text ELSE (id % 250)::text END AS info
FROM title, generate_series(99, 101) type WHERE pick(id * 3 + type, 23, 2) = 0;
CREATE TABLE cast_info AS SELECT i::int AS id, (1 + skew(i, 24, (999999 * :scale)::bigint))::int AS movie_id, (1 + skew(i, 25, (1999999 * :scale)::bigint))::int AS person_id, (1 + skew(i, 26, 11))::int AS role_id,
	word(i, 27, '{(voice),(uncredited),(archive footage),(producer),NULL,NULL}') AS note FROM generate_series(1, (10000000 * :scale)::bigint) i;

SELECT format('ALTER TABLE %I ADD PRIMARY KEY (id)', t) FROM unnest('{title,company_name,keyword,name,movie_companies,movie_keyword,movie_info,cast_info}'::text[]) t \gexec
SELECT format('CREATE INDEX ON %I (%I)', t, c) FROM (VALUES ('movie_companies', 'movie_id'), ('movie_companies', 'company_id'), ('movie_keyword', 'movie_id'), ('movie_keyword', 'keyword_id'), ('movie_info', 'movie_id'),
	('movie_info_idx', 'movie_id'), ('cast_info', 'movie_id'), ('cast_info', 'person_id')) v(t, c) \gexec
