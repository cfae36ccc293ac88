-- A star: one table of order lines, by day, and four dimensions.  6 million lines at scale 1.

CREATE TABLE date AS
SELECT to_char(day, 'YYYYMMDD')::int AS d_datekey, extract(year FROM day)::int AS d_year,
	to_char(day, 'YYYYMM')::int AS d_yearmonthnum, to_char(day, 'MonYYYY') AS d_yearmonth,
	((extract(doy FROM day) - 1)::int / 7 + 1) AS d_weeknuminyear
FROM generate_series(date '1992-01-01', '1998-12-31', '1 day') day;
ALTER TABLE date ADD PRIMARY KEY (d_datekey);

CREATE TABLE customer AS
SELECT i::int AS c_custkey, rpad(name, 9) || pick(i, 11, 10) AS c_city, name AS c_nation, region_name AS c_region
FROM generate_series(1, (30000 * :scale)::bigint) i JOIN nations ON nation = pick(i, 10, 25);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);

CREATE TABLE supplier AS
SELECT i::int AS s_suppkey, rpad(name, 9) || pick(i, 13, 10) AS s_city, name AS s_nation, region_name AS s_region
FROM generate_series(1, (2000 * :scale)::bigint) i JOIN nations ON nation = pick(i, 12, 25);
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);

CREATE TABLE part AS
SELECT i::int AS p_partkey, 'MFGR#' || m AS p_mfgr, 'MFGR#' || m || c AS p_category, 'MFGR#' || m || c || 1 + pick(i, 16, 40) AS p_brand1
FROM generate_series(1, (200000 * :scale)::bigint) i, LATERAL (SELECT 1 + pick(i, 14, 5) AS m, 1 + pick(i, 15, 5) AS c) x;
ALTER TABLE part ADD PRIMARY KEY (p_partkey);

-- The lines come in the order of their days, as they do in a table that is appended to.
CREATE TABLE lineorder (lo_orderkey int, lo_linenumber int, lo_custkey int, lo_partkey int, lo_suppkey int, lo_orderdate int,
	lo_quantity int, lo_extendedprice int, lo_discount int, lo_revenue int, lo_supplycost int) :partitioned;
SELECT format('CREATE TABLE lineorder_%1$s PARTITION OF lineorder FOR VALUES FROM (%1$s0101) TO (%2$s0101)', year, year + 1)
FROM generate_series(1992, 1998) year WHERE :'partitioned' <> '' \gexec
INSERT INTO lineorder
SELECT i / 4, i % 4 + 1, 1 + pick(i, 20, (30000 * :scale)::bigint), 1 + pick(i, 21, (200000 * :scale)::bigint), 1 + pick(i, 22, (2000 * :scale)::bigint), days[1 + i * 2557 / n],
	1 + pick(i, 23, 50), price, pick(i, 24, 11), price * (100 - pick(i, 24, 11)) / 100, price * 6 / 10
FROM (SELECT (6000000 * :scale)::bigint AS n, array_agg(d_datekey ORDER BY d_datekey) AS days FROM date) d,
	generate_series(0, n - 1) i, LATERAL (SELECT 1000 + pick(i, 25, 50000) AS price) p;
CREATE INDEX ON lineorder USING brin (lo_orderdate) WITH (pages_per_range = 32);
