-- Tables in which a filter has nothing to gain and much to lose, if it spends more than a small part of the query's time.

-- Groups in the order of an index: a LIMIT stops after some thousands of rows.
CREATE TABLE visits AS SELECT g / 1000 AS day, g / 10 AS customer, g AS amount, repeat('x', 40) AS pad FROM generate_series(1, (3000000 * :scale)::int) g;
CREATE INDEX ON visits (day, customer);
CREATE TABLE customers AS SELECT g AS customer, g / 100 AS region FROM generate_series(0, (300000 * :scale)::int) g;
VACUUM visits, customers;

-- A class of BRIN whose function takes long, and whose answer is always yes.
CREATE TABLE wide (k numeric, pad text);
ALTER TABLE wide ALTER pad SET STORAGE PLAIN;
INSERT INTO wide SELECT CASE WHEN g % 128 = 0 THEN 250000 ELSE 100000 + (g * 7919) % 99991 END, repeat('x', 3900) FROM generate_series(1, greatest(16384 * :scale, 1000)::int) g;
CREATE INDEX ON wide USING brin (k numeric_minmax_multi_ops) WITH (pages_per_range = 128);
CREATE TABLE keys AS SELECT 1000 + g::numeric AS k, 1 AS grp FROM generate_series(1, 740) g;
INSERT INTO keys VALUES (250000, 1);
INSERT INTO keys SELECT 1000000 + g, 2 FROM generate_series(1, 100) g;

-- A queue: the planner expects new events, but all are done.
CREATE TABLE events AS SELECT g AS customer, 'new'::text AS status, g AS x, g AS id FROM generate_series(1, 30000) g;
CREATE INDEX ON events (status);
CREATE TABLE huge AS SELECT g % 100000 AS customer, g AS x FROM generate_series(1, (2000000 * :scale)::int) g;

-- Keys that take longer to hash and to compare; each row has a partner, and the planner does not know it.
CREATE COLLATION slow (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE names AS SELECT 'name of ' || g AS t, ('name of ' || g) COLLATE slow AS s, jsonb_build_object('name', g) AS j
	FROM generate_series(1, (2000000 * :scale)::int) g;
CREATE TABLE uses AS SELECT * FROM names ORDER BY md5(t);
VACUUM names, uses;

-- Many partitions of few rows, and some of more.
CREATE TABLE days (day int, k int, x int) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE days_%s PARTITION OF days FOR VALUES FROM (%s) TO (%s)', g, g, g + 1) FROM generate_series(0, 2999) g \gexec
INSERT INTO days SELECT g % 3000, g % 3000, g FROM generate_series(1, 60000) g;
CREATE TABLE weeks (day int, k int, x int) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE weeks_%s PARTITION OF weeks FOR VALUES FROM (%s) TO (%s)', g, g, g + 1) FROM generate_series(0, 399) g \gexec
INSERT INTO weeks SELECT g % 400, g % 3000, g FROM generate_series(1, (1600000 * :scale)::int) g;
CREATE TABLE shops AS SELECT g AS k, g % 100 AS grp, g AS day FROM generate_series(0, 2999) g;
-- Plans are made once: what a filter costs per partition is not hidden by the planner's time.
CREATE FUNCTION of_days() RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS
	'BEGIN RETURN (SELECT count(*) FROM days JOIN shops USING (k) WHERE grp < 99); END';
CREATE FUNCTION of_weeks() RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS
	'BEGIN RETURN (SELECT count(*) FROM weeks JOIN shops USING (k) WHERE grp < 99); END';
CREATE FUNCTION of_all_weeks() RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS
	'BEGIN RETURN (SELECT count(*) FROM weeks JOIN shops USING (day) WHERE grp < 99); END';
-- The planner may take a merge join, which reads no further, or hash the groups.
CREATE FUNCTION of_groups() RETURNS bigint LANGUAGE plpgsql SET enable_hashagg = off SET enable_mergejoin = off SET enable_nestloop = off AS
	'BEGIN RETURN (SELECT count(*) FROM (SELECT * FROM (SELECT day, customer, sum(amount) s FROM visits GROUP BY day, customer) s
	JOIN customers USING (customer) WHERE region = 1 LIMIT 100) t); END';
ANALYZE;
UPDATE events SET status = 'done';
