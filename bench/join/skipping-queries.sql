-- Joins whose inner side chooses few days or tenants.  Nothing can be skipped in the last three.
-- a year
SELECT count(*), sum(price) FROM sales JOIN days USING (day) WHERE year = 2022;
-- a month
SELECT count(*), sum(price) FROM sales JOIN days USING (day) WHERE month = 202206;
-- the sixth week of each year
SELECT count(*), sum(price) FROM sales JOIN days USING (day) WHERE week = 6;
-- a month, by IN (SELECT ...)
SELECT count(*), sum(price) FROM sales WHERE day IN (SELECT day FROM days WHERE month = 202206);
-- a month and ten regions
SELECT count(*), sum(price) FROM sales JOIN days USING (day) JOIN regions USING (region) WHERE month = 202206 AND name LIKE 'region 1%';
-- a year of partitions
SELECT count(*), sum(price) FROM sales_by_year JOIN days USING (day) WHERE year = 2022;
-- a month of partitions
SELECT count(*), sum(price) FROM sales_by_year JOIN days USING (day) WHERE month = 202206;
-- 29 tenants
SELECT count(*), sum(value) FROM events JOIN tenants USING (tenant) WHERE plan = 7;
-- 400 tenants
SELECT count(*), sum(value) FROM events JOIN tenants USING (tenant) WHERE tariff = 7;
-- the first ten rows of a month
SELECT id FROM sales JOIN days USING (day) WHERE month = 202206 ORDER BY id LIMIT 10;
-- every day
SELECT count(*), sum(price) FROM sales JOIN days USING (day) WHERE year > 0;
-- every day, partitions
SELECT count(*), sum(price) FROM sales_by_year JOIN days USING (day) WHERE year > 0;
-- ten rows at the start
SELECT count(*) FROM (SELECT id FROM sales JOIN days USING (day) WHERE month = 201901 LIMIT 10) x;
