-- What one row costs, in nanoseconds: less than nothing where removing a row saves more than its test takes.
-- collect an integer into a bitmap | 1000000
SELECT count(*) FROM padded WHERE k IN (SELECT k FROM many);
-- collect an integer into a Bloom filter | 1000000
SELECT count(*) FROM padded WHERE scattered IN (SELECT k FROM scattered);
-- collect a text | 1000000
SELECT count(*) FROM padded WHERE t IN (SELECT t FROM many);
-- test an integer, bitmap of 1,000, all pass | 2000000
SELECT count(*) FROM large JOIN few ON k1 = few.k;
-- test an integer, bitmap of 1,000,000, all pass | 2000000
SELECT count(*) FROM large JOIN many ON k2 = many.k;
-- the same behind a column of variable length | 2000000
SELECT count(*) FROM large JOIN many ON late = many.k;
-- test a text, Bloom filter of 1,000, all pass | 2000000
SELECT count(*) FROM large JOIN few USING (t);
-- test a bigint, Bloom filter of 1,000, all pass | 2000000
SELECT count(*) FROM large JOIN few USING (wide);
-- test a uuid, Bloom filter of 1,000, all pass | 2000000
SELECT count(*) FROM large JOIN few USING (u);
-- test a numeric, Bloom filter of 1,000, all pass | 2000000
SELECT count(*) FROM large JOIN few USING (n);
-- remove by a bitmap of 1,000 | 2000000
SELECT count(*) FROM large JOIN (SELECT k + 1000 AS k FROM few) f ON k1 = f.k;
-- remove by a bitmap of 1,000,000 | 2000000
SELECT count(*) FROM large JOIN (SELECT k + 1000000 AS k FROM many) m ON k2 = m.k;
-- remove by a Bloom filter of 1,000,000 | 2000000
SELECT count(*) FROM large JOIN scattered ON k2 = scattered.k;
-- remove a text by a Bloom filter of 1,000 | 2000000
SELECT count(*) FROM large JOIN (SELECT t || '-' AS t FROM few) f USING (t);
