CREATE UNLOGGED TABLE kmer (pos int PRIMARY KEY, keys bigint[]);
\copy kmer FROM pstdin
VACUUM ANALYZE kmer;
CREATE FUNCTION filters(rate float8, room int) RETURNS TABLE (id int, f bloomfilter) STABLE LANGUAGE sql AS
	'SELECT id, (SELECT bloom_agg(keys[1], 10000, rate) FROM kmer WHERE pos BETWEEN 492 * id + 1 AND 492 * id + 10000)
	 FROM generate_series(0, ((SELECT max(pos) FROM kmer) - 10000) / 492) id';

INSERT INTO sought
SELECT 'absent', r, ARRAY[-r]::text FROM generate_series(1, :rounds) r
UNION ALL SELECT 'present', r, keys::text FROM generate_series(1, :rounds) r JOIN kmer ON pos = 17 * r * :rows
UNION ALL SELECT 'any', r, array_agg(keys[1])::text FROM generate_series(1, :rounds) r JOIN kmer ON pos BETWEEN 19 * r * :rows AND 19 * r * :rows + 3 GROUP BY r
UNION ALL SELECT 'all', r, array_agg(keys[1])::text FROM generate_series(1, :rounds) r JOIN kmer ON pos IN (23 * r * :rows, 23 * r * :rows + 5000) GROUP BY r
UNION ALL SELECT 'overlap', r, ARRAY[-r, -100 - r, -200 - r]::text FROM generate_series(1, :rounds) r;
CREATE TABLE keys_of AS SELECT 'bigint[]' AS type, 10000 AS capacity;
