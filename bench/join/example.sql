-- The example of README.md, on PostgreSQL 18: one query without and with runtime filters.
CREATE TABLE sales AS
  SELECT n AS id, date '2016-01-01' + n / 2740 AS day, n % 1000 AS customer, n % 7 AS amount FROM generate_series(0, 9999999) n;
CREATE INDEX ON sales USING brin (day);
CREATE TABLE calendar AS
  SELECT day::date, extract(year FROM day)::int AS year, extract(month FROM day)::int AS month
  FROM generate_series(date '2016-01-01', date '2025-12-31', interval '1 day') day;
VACUUM ANALYZE sales, calendar;
SET max_parallel_workers_per_gather = 0;
SELECT bloom_empty(1) IS NULL AS loaded;
SELECT sum(amount) FROM sales JOIN calendar USING (day) WHERE year = 2021 AND month = 2;
EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, BUFFERS OFF) SELECT sum(amount) FROM sales JOIN calendar USING (day) WHERE year = 2021 AND month = 2;
SET bloomx.runtime_filter = on;
SELECT sum(amount) FROM sales JOIN calendar USING (day) WHERE year = 2021 AND month = 2;
EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, BUFFERS OFF) SELECT sum(amount) FROM sales JOIN calendar USING (day) WHERE year = 2021 AND month = 2;
