-- Where whole ranges of pages and partitions hold nothing that a join needs: 8 million sales in the order of their
-- days, the same in a partition per year, and 5 million events that come in bursts of one tenant.

CREATE TABLE days AS
SELECT to_char(day, 'YYYYMMDD')::int AS day, extract(year FROM day)::int AS year, to_char(day, 'YYYYMM')::int AS month, ((extract(doy FROM day) - 1)::int / 7 + 1) AS week
FROM generate_series(date '2019-01-01', '2025-12-31', '1 day') day;
CREATE TABLE regions AS SELECT i AS region, 'region ' || i AS name FROM generate_series(1, 100) i;
CREATE TABLE tenants AS SELECT i::int AS tenant, pick(i, 3, 690)::int AS plan, pick(i, 4, 50)::int AS tariff FROM generate_series(1, 20000) i;

CREATE TABLE sales AS
SELECT i AS id, days[1 + i * 2557 / n] AS day, (1 + pick(i, 1, 100))::int AS region, pick(i, 2, 11)::int AS discount, 1000 + i % 5000 AS price, i / 7 AS customer, repeat('x', 30) AS note
FROM (SELECT (8000000 * :scale)::bigint AS n, array_agg(day ORDER BY day) AS days FROM days) d, generate_series(0, n - 1) i;
CREATE INDEX ON sales USING brin (day) WITH (pages_per_range = 64);

CREATE TABLE sales_by_year (LIKE sales) PARTITION BY RANGE (day);
SELECT format('CREATE TABLE sales_%1$s PARTITION OF sales_by_year FOR VALUES FROM (%1$s0101) TO (%2$s0101)', year, year + 1) FROM generate_series(2019, 2025) year \gexec
INSERT INTO sales_by_year SELECT * FROM sales;

CREATE TABLE events AS
SELECT i AS id, (1 + pick(i / 250, 5, 20000))::int AS tenant, i % 1000 AS value, repeat('x', 40) AS note FROM generate_series(1, (5000000 * :scale)::bigint) i;
CREATE INDEX ON events USING brin (tenant int4_bloomx_ops) WITH (pages_per_range = 32);
