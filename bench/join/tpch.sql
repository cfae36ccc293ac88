-- Orders of a wholesale dealer: the tables of TPC-H, filled by this file, not by its generator.  6 million lines at
-- scale 1.  Results are not comparable with TPC results.

CREATE TABLE region AS SELECT DISTINCT region AS r_regionkey, region_name AS r_name FROM nations;
CREATE TABLE nation AS SELECT nation AS n_nationkey, name AS n_name, region AS n_regionkey FROM nations;

CREATE TABLE supplier AS
SELECT i::int AS s_suppkey, 'Supplier#' || i AS s_name, 'street ' || pick(i, 1, 10000) AS s_address, pick(i, 2, 25)::int AS s_nationkey,
	lpad((10 + pick(i, 2, 25))::text || pick(i, 3, 100000000), 12, '0') AS s_phone, (pick(i, 4, 1100000) - 100000) / 100.0 AS s_acctbal,
	CASE WHEN pick(i, 5, 2000) = 0 THEN 'Customer has Complaints' ELSE 'carefully final accounts' END AS s_comment
FROM generate_series(1, (10000 * :scale)::bigint) i;
ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);

CREATE TABLE customer AS
SELECT i::int AS c_custkey, 'Customer#' || i AS c_name, pick(i, 11, 25)::int AS c_nationkey, 10 + pick(i, 11, 25) || '-' || pick(i, 12, 10000000) AS c_phone,
	(pick(i, 13, 1100000) - 100000) / 100.0 AS c_acctbal, word(i, 14, '{AUTOMOBILE,BUILDING,FURNITURE,MACHINERY,HOUSEHOLD}') AS c_mktsegment
FROM generate_series(1, (150000 * :scale)::bigint) i;
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);

CREATE TABLE part AS
SELECT i::int AS p_partkey,
	word(i, 21, '{almond,azure,beige,blue,brown,coral,forest,green,ivory,khaki,lemon,linen,olive,peru,pink,red,rose,salmon,snow,tan}') || ' ' ||
	word(i, 22, '{almond,azure,beige,blue,brown,coral,forest,green,ivory,khaki,lemon,linen,olive,peru,pink,red,rose,salmon,snow,tan}') AS p_name,
	'Manufacturer#' || m AS p_mfgr, 'Brand#' || m || 1 + pick(i, 24, 5) AS p_brand,
	word(i, 25, '{STANDARD,SMALL,MEDIUM,LARGE,ECONOMY,PROMO}') || ' ' || word(i, 26, '{ANODIZED,BURNISHED,PLATED,POLISHED,BRUSHED}') || ' ' ||
	word(i, 27, '{TIN,NICKEL,BRASS,STEEL,COPPER}') AS p_type, (1 + pick(i, 28, 50))::int AS p_size,
	word(i, 29, '{SM,LG,MED,JUMBO,WRAP}') || ' ' || word(i, 30, '{CASE,BOX,BAG,JAR,PKG,PACK,CAN,DRUM}') AS p_container, 900 + i % 1000 AS p_retailprice
FROM generate_series(1, (200000 * :scale)::bigint) i, LATERAL (SELECT 1 + pick(i, 23, 5) AS m) x;
ALTER TABLE part ADD PRIMARY KEY (p_partkey);

-- Four suppliers for each part.
CREATE TABLE partsupp AS
SELECT p_partkey AS ps_partkey, (1 + (p_partkey + j * (10000 * :scale)::bigint / 4) % (10000 * :scale)::bigint)::int AS ps_suppkey,
	(1 + pick(p_partkey * 4 + j, 31, 9999))::int AS ps_availqty, (100 + pick(p_partkey * 4 + j, 32, 99900)) / 100.0 AS ps_supplycost
FROM part, generate_series(0, 3) j;
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);

-- A third of the customers have no orders.
CREATE TABLE orders AS
SELECT i::int AS o_orderkey, (1 + pick(i, 41, (50000 * :scale)::bigint) * 3 + pick(i, 42, 2))::int AS o_custkey,
	CASE WHEN day < '1995-06-17' THEN 'F' ELSE 'O' END AS o_orderstatus, (100000 + pick(i, 44, 40000000)) / 100.0 AS o_totalprice, day AS o_orderdate,
	word(i, 45, '{1-URGENT,2-HIGH,3-MEDIUM,4-NOT SPECIFIED,5-LOW}') AS o_orderpriority, 0 AS o_shippriority,
	CASE WHEN pick(i, 46, 100) = 0 THEN 'special packages and requests' ELSE 'quickly regular deposits' END AS o_comment
FROM generate_series(1, (1500000 * :scale)::bigint) i, LATERAL (SELECT date '1992-01-01' + pick(i, 43, 2406)::int AS day) d;
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);

CREATE TABLE lineitem AS
SELECT o_orderkey AS l_orderkey, part AS l_partkey, (1 + (part + pick(i, 53, 4) * (10000 * :scale)::bigint / 4) % (10000 * :scale)::bigint)::int AS l_suppkey, j AS l_linenumber,
	(1 + pick(i, 54, 50))::numeric AS l_quantity, ((1 + pick(i, 54, 50)) * (900 + part % 1000))::numeric AS l_extendedprice, pick(i, 55, 11) / 100.0 AS l_discount, pick(i, 56, 9) / 100.0 AS l_tax,
	CASE WHEN receipt > '1995-06-17' THEN 'N' WHEN pick(i, 57, 2) = 0 THEN 'A' ELSE 'R' END AS l_returnflag, CASE WHEN ship > '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
	ship AS l_shipdate, o_orderdate + (30 + pick(i, 58, 61))::int AS l_commitdate, receipt AS l_receiptdate,
	word(i, 59, '{DELIVER IN PERSON,COLLECT COD,NONE,TAKE BACK RETURN}') AS l_shipinstruct, word(i, 60, '{REG AIR,AIR,RAIL,SHIP,TRUCK,MAIL,FOB}') AS l_shipmode
FROM orders, generate_series(1, 1 + pick(o_orderkey, 50, 7)::int) j, LATERAL (SELECT o_orderkey::bigint * 8 + j AS i) x,
	LATERAL (SELECT (1 + pick(i, 51, (200000 * :scale)::bigint))::int AS part, o_orderdate + (1 + pick(i, 52, 121))::int AS ship) y,
	LATERAL (SELECT ship + (1 + pick(i, 61, 30))::int AS receipt) z;
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);
CREATE INDEX ON lineitem (l_partkey, l_suppkey);
CREATE INDEX ON orders (o_custkey);
