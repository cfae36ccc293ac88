-- A filter of 100,000 passwords in 128 kB, and two questions to it.
CREATE TEMP TABLE breached AS SELECT bloom_agg('password' || n) AS filter FROM generate_series(1, 100000) n;
SELECT bloom_summary(filter) FROM breached;
SELECT filter @> 'password123' AS "password123", filter @> 'correct horse' AS "correct horse" FROM breached;
