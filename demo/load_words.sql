-- password(w): the distinct words of wamerican-insane and wpolish, standing for a list of breached passwords.
-- candidate(w): words made from the English ones that are surely not in that list (anti-join), for counting false positives.
-- Nothing is done when the tables are there already.
SELECT to_regclass('bloomx_demo.candidate') IS NULL AS missing \gset
\if :missing
\echo Loading /usr/share/dict/american-english-insane and /usr/share/dict/polish ...
SELECT must(current_setting('server_encoding') IN ('UTF8', 'SQL_ASCII'), 'the database can hold Polish words') AS claim \gset
DROP TABLE IF EXISTS english, polish, password, candidate;
CREATE UNLOGGED TABLE english (w text COLLATE "C" NOT NULL);
CREATE UNLOGGED TABLE polish (w text COLLATE "C" NOT NULL);
\copy english FROM '/usr/share/dict/american-english-insane'
\copy polish FROM '/usr/share/dict/polish'
SET work_mem = '512MB';
CREATE UNLOGGED TABLE password AS SELECT w FROM english UNION SELECT w FROM polish;
ALTER TABLE password ALTER w SET NOT NULL;
CREATE UNLOGGED TABLE candidate AS
  SELECT DISTINCT c.w COLLATE "C" AS w
    FROM english, LATERAL (VALUES (english.w || '!'), (english.w || '2026'), (reverse(english.w) || '1')) c (w)
   WHERE NOT EXISTS (SELECT FROM password p WHERE p.w = c.w);
RESET work_mem;
DROP TABLE english, polish;
VACUUM ANALYZE password;
VACUUM ANALYZE candidate;
\endif
SELECT count(*) AS passwords FROM password \gset
SELECT count(*) AS candidates FROM candidate \gset
