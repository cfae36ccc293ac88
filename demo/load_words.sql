-- password(w): distinct words that stand for a list of breached passwords: those of wamerican-insane and wpolish, or
-- 160,000 generated words of four syllables.
-- candidate(w): words made from the English (or the generated) ones that are certainly not in that list (by an
-- anti-join), to count false positives.
-- Does nothing if the tables exist already.
SELECT obj_description(to_regclass('bloomx_demo.candidate')) IS DISTINCT FROM :'data' AS missing \gset
\if :missing
DROP TABLE IF EXISTS english, polish, password, candidate;
CREATE UNLOGGED TABLE english (w text COLLATE "C" NOT NULL);
CREATE UNLOGGED TABLE polish (w text COLLATE "C" NOT NULL);
\if :{?quick}
\echo 'Generating words ...'
WITH syllable AS (SELECT s FROM unnest('{ba,den,fi,gor,hu,jal,ke,lin,mo,nur,pa,ris,so,tul,va,wen,xi,yor,zu,chal}'::text[]) s)
INSERT INTO english
  SELECT a.s || b.s || c.s || d.s FROM syllable a, syllable b, syllable c, syllable d
  UNION SELECT unnest('{password,dragon,sunshine,zyzzyvas}'::text[]);
\else
\echo 'Loading five million words (half a minute) ...'
SELECT must(current_setting('server_encoding') IN ('UTF8', 'SQL_ASCII'), 'the database can hold Polish words') AS claim \gset
\copy english FROM PROGRAM 'cat "$BLOOMX_DATA/usr/share/dict/american-english-insane"'
\copy polish FROM PROGRAM 'cat "$BLOOMX_DATA/usr/share/dict/polish"'
\endif
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
COMMENT ON TABLE candidate IS :'data';
\endif
SELECT count(*) AS passwords FROM password \gset
SELECT count(*) AS candidates FROM candidate \gset
\if :{?quick}
    \set words 'generated words'
\else
    \set words 'English and Polish words'
\endif
