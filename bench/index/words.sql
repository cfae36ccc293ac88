CREATE UNLOGGED TABLE source (id int, keys text[]);
\copy source FROM pstdin
CREATE FUNCTION filters(rate float8, room int) RETURNS TABLE (id int, f bloomfilter) STABLE LANGUAGE sql AS
	'SELECT id, bloom_add_all(bloom_empty(greatest(cardinality(keys), room), rate), keys) FROM source';

-- The frequency of words, from every 50th passage.
CREATE TABLE word AS SELECT w, count(*) AS n, min(id) AS id FROM source, unnest(keys) w WHERE id % 50 = 7 GROUP BY w;
CREATE TABLE rare AS SELECT row_number() OVER (ORDER BY md5(w)) AS i, w, id FROM word WHERE n = 1;
INSERT INTO sought
SELECT 'absent', r, ARRAY['no such word ' || r]::text FROM generate_series(1, :rounds) r
UNION ALL SELECT 'present', i, ARRAY[w]::text FROM rare WHERE i <= :rounds
UNION ALL (SELECT 'frequent', row_number() OVER (), ARRAY[w]::text FROM (SELECT w FROM word ORDER BY abs(n - :rows / 5000.0), w LIMIT :rounds) w)
UNION ALL SELECT 'any', 1 + i / 4, array_agg(w)::text FROM rare WHERE i / 4 BETWEEN 1 AND :rounds GROUP BY i / 4
UNION ALL (SELECT 'all', row_number() OVER (), (array_agg(w))[1:2]::text FROM rare GROUP BY id HAVING count(*) > 1 ORDER BY md5(id::text) LIMIT :rounds)
UNION ALL SELECT 'overlap', r, ARRAY['no ' || r, 'nor ' || r, 'never ' || r]::text FROM generate_series(1, :rounds) r;
CREATE TABLE keys_of AS SELECT 'text[]' AS type, greatest(:room, 125) AS capacity;
