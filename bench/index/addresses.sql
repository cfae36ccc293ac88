CREATE UNLOGGED TABLE source (id int, keys inet[]);
\copy source FROM pstdin
CREATE FUNCTION filters(rate float8, room int) RETURNS TABLE (id int, f bloomfilter) STABLE LANGUAGE sql AS
	'SELECT id, bloom_add_all(bloom_empty(greatest(cardinality(keys), room), rate), keys) FROM source';

INSERT INTO sought
SELECT 'absent', r, ARRAY['240.0.0.0'::inet + r]::text FROM generate_series(1, :rounds) r
UNION ALL SELECT 'present', r, keys[1:1]::text FROM generate_series(1, :rounds) r JOIN source ON id = 1 + r * :rows / 13
UNION ALL SELECT 'any', r, keys[1:4]::text FROM generate_series(1, :rounds) r JOIN source ON id = 1 + r * :rows / 14
UNION ALL SELECT 'all', r, keys[1:2]::text FROM generate_series(1, :rounds) r JOIN source ON id = 1 + r * :rows / 15
UNION ALL SELECT 'overlap', r, ARRAY['240.0.0.0'::inet + r, '240.0.1.0'::inet + r, '240.0.2.0'::inet + r]::text FROM generate_series(1, :rounds) r;
CREATE TABLE keys_of AS SELECT 'inet[]' AS type, greatest(:room, 150) AS capacity;
