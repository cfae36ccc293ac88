-- Few keys of a large table.  What is too much for an index, and a LIMIT that is soon met, are among them: there nothing can be gained.
-- scattered, 10 keys
SELECT count(*), sum(v) FROM scattered JOIN chosen USING (k) WHERE n <= 10;
-- scattered, 100 keys
SELECT count(*), sum(v) FROM scattered JOIN chosen USING (k) WHERE n <= 100;
-- scattered, 1,000 keys
SELECT count(*), sum(v) FROM scattered JOIN chosen USING (k) WHERE n <= 1000;
-- scattered, 3,000 keys
SELECT count(*), sum(v) FROM scattered JOIN chosen USING (k) WHERE n <= 3000;
-- scattered, 10,000 keys
SELECT count(*), sum(v) FROM scattered JOIN chosen USING (k) WHERE n <= 10000;
-- clustered, 10 keys
SELECT count(*), sum(v) FROM clustered JOIN chosen USING (k) WHERE n <= 10;
-- clustered, 100 keys
SELECT count(*), sum(v) FROM clustered JOIN chosen USING (k) WHERE n <= 100;
-- clustered, 1,000 keys
SELECT count(*), sum(v) FROM clustered JOIN chosen USING (k) WHERE n <= 1000;
-- clustered, 10,000 keys
SELECT count(*), sum(v) FROM clustered JOIN chosen USING (k) WHERE n <= 10000;
-- hash index, 10 keys
SELECT count(*), sum(id) FROM wide JOIN chosen ON by_hash = k WHERE n <= 10;
-- hash index, 1,000 keys
SELECT count(*), sum(id) FROM wide JOIN chosen ON by_hash = k WHERE n <= 1000;
-- hash index, 100 keys of another type
SELECT count(*), sum(id) FROM wide WHERE by_hash IN (SELECT k8 FROM chosen WHERE n <= 100);
-- bloomx index, 100 keys
SELECT count(*), sum(id) FROM wide JOIN chosen ON by_bloomx = k WHERE n <= 100;
-- texts, 100 keys
SELECT count(*), sum(id) FROM wide JOIN chosen ON by_text = t WHERE n <= 100;
-- LIMIT 1 of 1,000 keys
SELECT count(*) FROM (SELECT FROM scattered JOIN chosen USING (k) WHERE n <= 1000 LIMIT 1) x;
-- LIMIT 10 of 10,000 keys
SELECT count(*) FROM (SELECT FROM scattered JOIN chosen USING (k) WHERE n <= 10000 LIMIT 10) x;
-- LIMIT 100 of 100 keys
SELECT count(*) FROM (SELECT FROM scattered JOIN chosen USING (k) WHERE n <= 100 LIMIT 100) x;
