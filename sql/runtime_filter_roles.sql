--
-- Runtime filters do not tell of rows that are hidden from the user, nor of the queries of other roles.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
DROP ROLE IF EXISTS bloomx_eve;
RESET client_min_messages;
CREATE ROLE bloomx_eve;
SELECT filters >= 0 AS loaded FROM bloomx_runtime_filter_totals();
SET max_parallel_workers_per_gather = 0;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SET bloomx.runtime_filter = on;
SET bloomx.runtime_filter_min_rows = 0;
SET bloomx.runtime_filter_min_pages = 0;
SET bloomx.runtime_filter_min_removed = 0;

-- One row of 20,001 is eve's.  The equality of numeric is not leakproof, that of int is.
CREATE TABLE pay (owner text, salary numeric, id int, pad text);
INSERT INTO pay SELECT CASE WHEN g = 20001 THEN 'bloomx_eve' ELSE 'boss' END, g * 10, g, repeat('x', 50) FROM generate_series(1, 20001) g;
CREATE INDEX ON pay USING brin (salary, id) WITH (pages_per_range = 4);
CREATE TABLE team (owner text);
INSERT INTO team VALUES ('bloomx_eve');
CREATE VIEW own WITH (security_barrier) AS SELECT salary, id FROM pay WHERE owner = current_user;
CREATE VIEW of_team WITH (security_barrier) AS SELECT salary, id FROM pay JOIN team USING (owner);
CREATE TABLE pay_parted (LIKE pay) PARTITION BY RANGE (id);
CREATE TABLE pay_1 PARTITION OF pay_parted FOR VALUES FROM (0) TO (30000);
INSERT INTO pay_parted SELECT * FROM pay;
GRANT SELECT ON pay, own, of_team, pay_parted TO bloomx_eve;
GRANT UPDATE, DELETE ON own TO bloomx_eve;
ANALYZE pay, pay_parted, team;
-- What the filters of a query tell.  It must be the same for a value that a hidden row has, and for one that none has.
CREATE FUNCTION tells(name text, key text, value numeric, OUT "rows" bigint, OUT checked bigint, OUT removed bigint, OUT pages bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM (VALUES (%s), (-1)) v (x) JOIN %I t ON t.%I = v.x', value, name, key) INTO "rows";
	SELECT sum(rows_checked), sum(rows_removed), sum(j.pages) INTO checked, removed, pages FROM bloomx_last_runtime_filters() j;
END $$;
-- Without conditions that hide rows, all rows are tested, or their pages are skipped.
SELECT "rows", checked > 1 AS tests, pages > 0 AS asks FROM tells('pay', 'salary', 500);
ALTER TABLE pay ENABLE ROW LEVEL SECURITY;
ALTER TABLE pay_parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON pay USING (owner = current_user);
CREATE POLICY own ON pay_parted USING (owner = current_user);
SET ROLE bloomx_eve;
SELECT * FROM tells('pay', 'salary', 500);
SELECT * FROM tells('pay', 'salary', 500000);
SELECT * FROM tells('pay_parted', 'salary', 500);
SELECT * FROM tells('pay_parted', 'salary', 500000);
SELECT "rows", checked > 1 AS tests, pages > 0 AS asks FROM tells('pay', 'id', 500);
RESET ROLE;
ALTER TABLE pay DISABLE ROW LEVEL SECURITY;
SET ROLE bloomx_eve;
SELECT * FROM tells('own', 'salary', 500);
SELECT * FROM tells('own', 'salary', 500000);
SELECT * FROM tells('of_team', 'salary', 500);
SELECT * FROM tells('of_team', 'salary', 500000);
SELECT "rows", checked > 1 AS tests, pages > 0 AS asks FROM tells('of_team', 'id', 500);
-- A view whose rows are changed is no subquery, but its condition still hides rows.
DELETE FROM own USING (VALUES (500.0), (-1)) v (x) WHERE salary = x;
SELECT rows_checked, rows_removed FROM bloomx_last_runtime_filters();
UPDATE own SET id = 0 FROM (VALUES (500.0), (-1)) v (x) WHERE salary = x;
SELECT rows_checked, rows_removed FROM bloomx_last_runtime_filters();
-- A hash function that is not leakproof sees the rows that it sees without a filter.
RESET ROLE;
CREATE FUNCTION whole(numeric) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN IF $1 NOT IN (500, -1, 200010) THEN RAISE NOTICE ''sees %'', $1; END IF; RETURN $1::int; END';
CREATE FUNCTION same(numeric, numeric) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN $1 = $2; END';
CREATE OPERATOR === (FUNCTION = same, LEFTARG = numeric, RIGHTARG = numeric, COMMUTATOR = ===, HASHES);
CREATE OPERATOR CLASS whole FOR TYPE numeric USING hash AS OPERATOR 1 ===, FUNCTION 1 whole(numeric);
SET ROLE bloomx_eve;
SELECT count(*) FROM (VALUES (500::numeric), (-1)) v (x) JOIN of_team ON salary === x;
RESET ROLE;
DROP OPERATOR FAMILY whole USING hash CASCADE;
DROP OPERATOR === (numeric, numeric);
DROP FUNCTION whole, same;

-- A function that runs as its owner: the caller sees neither its filters nor their counts.
CREATE FUNCTION has(numeric) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS
	'BEGIN RETURN (SELECT count(*) FROM (VALUES ($1), (-1)) v (x) JOIN pay ON salary = x) > 1; END';
CREATE FUNCTION opens() RETURNS refcursor LANGUAGE plpgsql SECURITY DEFINER AS
	'DECLARE c refcursor := ''of_boss''; BEGIN OPEN c FOR SELECT id FROM (VALUES (500), (-1)) v (x) JOIN pay ON salary = x; RETURN c; END';
SET ROLE bloomx_eve;
SELECT filters AS before FROM bloomx_runtime_filter_totals() WHERE scope = 'session' \gset
SELECT has(500);
SELECT count(*) FROM bloomx_last_runtime_filters();
-- Nor those of a cursor that is read and closed by the caller.
BEGIN;
SELECT opens();
FETCH ALL FROM of_boss;
CLOSE of_boss;
COMMIT;
SELECT count(*) FROM bloomx_last_runtime_filters();
SELECT filters - :before AS filters FROM bloomx_runtime_filter_totals() WHERE scope = 'session';
SELECT count(*) FROM bloomx_runtime_filter_totals() WHERE scope = 'server';
-- It may not set them to zero.
SELECT bloomx_stat_reset();
-- Nor is anything left for the next role of the session.
RESET ROLE;
SELECT count(*) FROM bloomx_last_runtime_filters();
SELECT count(*) FROM (VALUES (500::numeric), (-1)) v (x) JOIN pay ON salary = x;
SET ROLE bloomx_eve;
SELECT count(*) FROM bloomx_last_runtime_filters();
RESET ROLE;
RESET ALL;
DROP VIEW own, of_team;
DROP TABLE pay, pay_parted, team;
DROP FUNCTION tells, has, opens;
DROP ROLE bloomx_eve;
