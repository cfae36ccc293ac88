-- Where every page must be read, but a tenth of the rows is needed: 10 million sales of 2 million articles and of
-- customers, in no order.

CREATE TABLE articles AS SELECT i::int AS article, 'article ' || i AS code, pick(i, 1, 10)::int AS kind, pick(i, 2, 1000000)::int AS rank FROM generate_series(1, (2000000 * :scale)::bigint) i;
-- A fifth of these are articles: each tenth one.
CREATE TABLE listed AS SELECT (i * 10)::int AS article, 'article ' || i * 10 AS code FROM generate_series(1, (1000000 * :scale)::bigint) i;
CREATE TABLE customers AS SELECT i::int AS customer, pick(i, 3, 5)::int AS class FROM generate_series(1, (200000 * :scale)::bigint) i;
CREATE TABLE shops AS SELECT i::int AS shop, pick(i, 4, 5)::int AS class FROM generate_series(1, (100000 * :scale)::bigint) i;
CREATE TABLE sales AS
SELECT i::int AS id, (1 + pick(i, 5, (2000000 * :scale)::bigint))::int AS article, 'article ' || 1 + pick(i, 6, (2000000 * :scale)::bigint) AS code, (1 + pick(i, 7, (200000 * :scale)::bigint))::int AS customer,
	(1 + pick(i, 8, (100000 * :scale)::bigint))::int AS shop, i % 1000 AS price FROM generate_series(1, (10000000 * :scale)::bigint) i;
