--
-- The type bloomfilter: text, binary and bytea forms, comparison, indexes, joins, storage.
--

-- Filters to work with: every layout, two seeds, with and without keys, several key types
CREATE TABLE samples (id int PRIMARY KEY, f bloomfilter);
INSERT INTO samples
    SELECT row_number() OVER (ORDER BY layout COLLATE "C", seed),
        bloom_add_all(bloom_empty(200, 0.01, layout, seed => seed), ARRAY(SELECT generate_series(1, 200)))
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout, unnest(ARRAY[0, -5]) seed;
INSERT INTO samples VALUES
    (9, bloom_empty(1000)),
    (10, bloom_add(bloom_empty(10), 'text'::text)),
    (11, bloom_add(bloom_empty(10), ARRAY['an', 'array'])),
    (12, bloom_add_hash(bloom_empty(10), 1)),
    (13, (SELECT bloom_agg(x) FROM generate_series(1, 20000) x)),
    (14, (SELECT bloom_agg(x) | bloom_add(bloom_empty_bits(1048576, 8), 4) FROM generate_series(1, 3) x)),
    (15, bloom_empty_bits(65, 3, 'standard')),
    (16, NULL);
SELECT id, layout, key_type, seed, bits FROM samples, bloom_info(f) ORDER BY id;

-- The text form is the base64 of the bytea form, without line breaks
SELECT f::text AS smallest FROM bloom_add(bloom_empty_bits(64, 1), 1) f;
SELECT f::bytea AS smallest FROM bloom_add(bloom_empty_bits(64, 1), 1) f;
SELECT bool_and(f::text = translate(encode(f::bytea, 'base64'), E'\n', '')) AS is_base64 FROM samples;

-- Text, bytea and binary forms: every filter survives a round trip
SELECT count(*) AS filters, count(*) FILTER (WHERE f::text::bloomfilter = f) AS text,
        count(*) FILTER (WHERE f::bytea::bloomfilter = f) AS bytea,
        count(*) FILTER (WHERE f::bytea = bloomfilter_send(f)) AS send,
        count(*) FILTER (WHERE f::text::bloomfilter::text = f::text) AS text_again,
        count(*) FILTER (WHERE f::bytea::bloomfilter::bytea = f::bytea) AS bytea_again
    FROM samples WHERE f IS NOT NULL;

-- ... including the capacity and everything else that = ignores
SELECT count(*) FILTER (WHERE bloom_info(f) IS DISTINCT FROM bloom_info(f::text::bloomfilter)) AS text,
        count(*) FILTER (WHERE bloom_info(f) IS DISTINCT FROM bloom_info(f::bytea::bloomfilter)) AS bytea
    FROM samples;

-- ... and the keys are found
SELECT count(*) FILTER (WHERE f::text::bloomfilter @> x) AS text, count(*) FILTER (WHERE f::bytea::bloomfilter @> x) AS bytea
    FROM samples, generate_series(1, 200) x WHERE id <= 8;

-- Text and binary COPY: the files give the same rows
\getenv builddir PG_ABS_BUILDDIR
\set file :builddir '/results/bloomx_types.txt'
\set store '\\copy samples TO ' :'file'
\set load '\\copy reread FROM ' :'file'
CREATE TABLE reread (id int, f bloomfilter);
:store
:load
SELECT count(*) AS rows, count(*) FILTER (WHERE s.f IS NOT DISTINCT FROM r.f AND s.f::text IS NOT DISTINCT FROM r.f::text) AS same FROM samples s JOIN reread r USING (id);
TRUNCATE reread;
\set store '\\copy samples TO ' :'file' ' WITH (FORMAT binary)'
\set load '\\copy reread FROM ' :'file' ' WITH (FORMAT binary)'
:store
:load
SELECT count(*) AS rows, count(*) FILTER (WHERE s.f IS NOT DISTINCT FROM r.f AND s.f::text IS NOT DISTINCT FROM r.f::text) AS same FROM samples s JOIN reread r USING (id);
DROP TABLE reread;

-- NULL stays NULL
SELECT id, f IS NULL AS "null", f @> 1 AS contains, bloom_fpr(f) AS fpr, f = f AS equal FROM samples WHERE id = 16;
SELECT NULL::bloomfilter::bytea IS NULL AS bytea, NULL::bloomfilter::text IS NULL AS text;

-- Equality: the same keys in the same geometry
SELECT bloom_add(bloom_empty(100), 1) = bloom_add(bloom_empty(100), 1) AS same,
    bloom_add(bloom_empty(100), 1) = bloom_add(bloom_empty(100), 2) AS other_key,
    bloom_add(bloom_empty(100), 1) = bloom_add(bloom_empty(1000), 1) AS other_size,
    bloom_add(bloom_empty(100), 1) = bloom_add(bloom_empty(100, seed => 1), 1) AS other_seed,
    bloom_empty(100) = bloom_empty(100, layout => 'standard') AS other_layout,
    bloom_add(bloom_empty(100), 1) = bloom_add_hash(bloom_empty(100), bloom_hash(1)) AS other_key_type,
    bloom_add(bloom_empty(100), 1) <> bloom_add(bloom_empty(100), 2) AS not_equal;

-- ... whatever the planned capacity (here 100, with the same bits as without one)
SELECT a = b AS equal, a::text = b::text AS same_text, bloomfilter_hash(a) = bloomfilter_hash(b) AS same_hash,
        (bloom_info(a)).capacity AS a, (bloom_info(b)).capacity AS b
    FROM bloom_empty(100) a, bloom_info(a) i, bloom_empty_bits(i.bits, i.parts) b;

-- A total order: exactly one of <, =, > holds, as the comparison function says
SELECT count(*) AS pairs,
        count(*) FILTER (WHERE (a.f < b.f)::int + (a.f = b.f)::int + (a.f > b.f)::int = 1) AS one_of_three,
        count(*) FILTER (WHERE (a.f <= b.f) = (a.f < b.f OR a.f = b.f) AND (a.f >= b.f) = (b.f <= a.f)
            AND (a.f <> b.f) = (NOT a.f = b.f)) AS consistent,
        count(*) FILTER (WHERE sign(bloomfilter_cmp(a.f, b.f)) = (a.f > b.f)::int - (a.f < b.f)::int) AS as_cmp,
        count(*) FILTER (WHERE (a.f = b.f) = (a.id = b.id)) AS equal_to_itself_only
    FROM samples a, samples b WHERE a.f IS NOT NULL AND b.f IS NOT NULL;

-- ... transitive: when sorted, each precedes all that follow
SELECT count(*) AS wrong FROM (SELECT f, row_number() OVER (ORDER BY f) AS n FROM samples) a
    JOIN (SELECT f, row_number() OVER (ORDER BY f) AS n FROM samples) b ON a.n < b.n WHERE a.f >= b.f;

-- Hashes: equal filters have equal hashes, others (here) have not; the extended hash depends on the seed
SELECT count(DISTINCT bloomfilter_hash(f)) AS hashes, count(DISTINCT bloomfilter_hash_extended(f, 0)) AS extended,
        bool_and(bloomfilter_hash(f) = bloomfilter_hash(f::text::bloomfilter)) AS same_after_copy,
        bool_and(bloomfilter_hash_extended(f, 1) <> bloomfilter_hash_extended(f, 2)) AS seed_matters,
        bool_and(bloomfilter_hash(f) = (bloomfilter_hash_extended(f, 0)::bit(64) & x'00000000ffffffff'::bit(64))::bit(64)::bigint::bit(32)::int) AS low_bits_agree
    FROM samples WHERE f IS NOT NULL;

-- DISTINCT, GROUP BY, count(DISTINCT), UNION, IN, by hashing and by sorting
CREATE TABLE twice AS SELECT id, f FROM samples UNION ALL SELECT id, f::text::bloomfilter FROM samples;
SELECT count(*) AS "distinct" FROM (SELECT DISTINCT f FROM twice) d;
SELECT count(*) AS groups, min(c), max(c) FROM (SELECT count(*) AS c FROM twice GROUP BY f) g;
SET enable_hashagg = off;
SELECT count(*) AS "distinct" FROM (SELECT DISTINCT f FROM twice) d;
SELECT count(*) AS groups, min(c), max(c) FROM (SELECT count(*) AS c FROM twice GROUP BY f) g;
RESET enable_hashagg;
SELECT count(DISTINCT f) FROM twice;
SELECT count(*) AS "union" FROM (SELECT f FROM samples UNION SELECT f FROM twice) u;
SELECT count(*) AS "in" FROM twice WHERE f IN (SELECT f FROM samples WHERE id <= 3);

-- Joins: hash, merge and nested loop agree (NULL joins nothing)
ANALYZE samples, twice;
SET enable_mergejoin = off; SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM twice a JOIN samples b USING (f);
SELECT count(*), sum(b.id) FROM twice a JOIN samples b USING (f);
RESET enable_mergejoin; SET enable_hashjoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM twice a JOIN samples b USING (f);
SELECT count(*), sum(b.id) FROM twice a JOIN samples b USING (f);
RESET enable_nestloop; SET enable_mergejoin = off;
SELECT count(*), sum(b.id) FROM twice a JOIN samples b USING (f);
RESET enable_mergejoin; RESET enable_hashjoin;

-- Indexes on small filters: btree (unique) and hash
CREATE TABLE small AS SELECT id, bloom_add(bloom_empty(20), id) AS f FROM generate_series(1, 500) id;
CREATE UNIQUE INDEX small_btree ON small USING btree (f);
INSERT INTO small VALUES (501, bloom_add(bloom_empty(30), 7)); -- another size: another filter
\set VERBOSITY sqlstate
INSERT INTO small VALUES (502, bloom_add(bloom_empty(20), 7));
\set VERBOSITY default
SET enable_seqscan = off; SET enable_bitmapscan = off;
PREPARE find(bloomfilter) AS SELECT id FROM small WHERE f = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE find(NULL);
EXECUTE find(bloom_add(bloom_empty(20), 320));
SELECT id FROM small WHERE f = bloom_add(bloom_empty(20), 321);
SELECT count(*) FROM small s WHERE EXISTS (SELECT FROM small t WHERE t.f = s.f AND t.id = s.id);
DROP INDEX small_btree;
CREATE INDEX small_hash ON small USING hash (f);
SELECT id FROM small WHERE f = bloom_add(bloom_empty(20), 321);
SELECT id FROM small WHERE f = bloom_add(bloom_empty(20), 1000);
EXPLAIN (COSTS OFF) EXECUTE find(NULL);
EXECUTE find(bloom_add(bloom_empty(20), 320));
DEALLOCATE find;
RESET plan_cache_mode; RESET enable_seqscan; RESET enable_bitmapscan;
DROP TABLE small;

-- Hash partitions by filter
CREATE TABLE parted (id int, f bloomfilter) PARTITION BY HASH (f);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT * FROM samples;
SELECT count(*), count(*) FILTER (WHERE parted.tableoid = 'parted_0'::regclass) BETWEEN 1 AND 15 AS in_both
    FROM parted JOIN samples USING (id) WHERE parted.f IS NOT DISTINCT FROM samples.f;
DROP TABLE parted;

-- Storage: external in a table; a large filter is stored out of line, not compressed, and unchanged
CREATE TABLE large (f bloomfilter, filler text);
SELECT attstorage FROM pg_attribute WHERE attrelid = 'large'::regclass AND attname = 'f';
INSERT INTO large SELECT bloom_agg(x), 'filler' FROM generate_series(1, 100000) x;
SELECT pg_column_size(f) = bytes - 4 AS not_compressed, -- a TOAST pointer leaves out the length word
        bytes > 100000 AS is_large
    FROM large, bloom_info(f);
SELECT count(*) FILTER (WHERE f @> x) AS found FROM large, generate_series(1, 100000) x;
SELECT f = (SELECT bloom_agg(x) FROM generate_series(1, 100000) x) AS equal, f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea FROM large;
-- ... in every layout, with any key type, and as an update or a join reads it
CREATE TABLE stored (layout text, f bloomfilter, g bloomfilter);
INSERT INTO stored SELECT layout, bloom_add_all(bloom_empty(20000, 0.001, layout), ARRAY(SELECT generate_series(1, 20000))),
        (SELECT bloom_agg(ARRAY[x, x + 1], template) FROM generate_series(1, 20000) x)
    FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout,
        LATERAL (SELECT bloom_empty(20000, 0.001, layout, seed => 3) AS template OFFSET 0) t;
SELECT layout, (SELECT key_type FROM bloom_info(g)), found, few_others, found_arrays, few_other_arrays
    FROM stored, LATERAL (SELECT count(*) FILTER (WHERE f @> x) AS found, count(*) FILTER (WHERE f @> (x + 20000)) < 50 AS few_others,
            count(*) FILTER (WHERE ARRAY[x, x + 1] <@ g) AS found_arrays, count(*) FILTER (WHERE g @> ARRAY[x, x]) < 50 AS few_other_arrays
        FROM generate_series(1, 20000) x) probes
    ORDER BY layout COLLATE "C";
UPDATE stored SET f = bloom_add(f, 30000), g = bloom_add(g, ARRAY[7, 7, 7]);
SELECT count(*) FILTER (WHERE f @> 30000 AND g @> ARRAY[7, 7, 7] AND f @> 20000 AND g @> ARRAY[1, 2]) AS updated FROM stored;
SELECT count(*) FILTER (WHERE a.f @> x) AS found, count(*) FILTER (WHERE a.f::text::bloomfilter @> x) AS found_in_copy
    FROM stored a JOIN stored b USING (f), LATERAL generate_series(1, 50) x;
DROP TABLE stored;
-- ... also compressed by force, and inline
ALTER TABLE large ALTER f SET STORAGE extended;
INSERT INTO large VALUES (bloom_add(bloom_empty(100000), 1), 'compressed');
SELECT pg_column_size(f) < bytes / 10 AS compressed, f @> 1 AS found, f @> 2 AS other, f = bloom_add(bloom_empty(100000), 1) AS equal
    FROM large, bloom_info(f) WHERE filler = 'compressed';
-- ... and tiny filters: stored with a one-byte length, read at any alignment
CREATE TABLE tiny (a "char", f bloomfilter, b "char", g bloomfilter);
INSERT INTO tiny SELECT 'a', bloom_add(bloom_empty(2), id), 'b', bloom_add(bloom_empty(3), id) FROM generate_series(1, 100) id;
SELECT bool_and(pg_column_size(f) < bytes) AS packed, count(*) FILTER (WHERE f @> n::int AND g @> n::int) AS found
    FROM (SELECT *, row_number() OVER (ORDER BY ctid) AS n FROM tiny) t, bloom_info(f);
DROP TABLE large, tiny;

-- A domain over bloomfilter is a bloomfilter
CREATE DOMAIN filter_of_ids AS bloomfilter CHECK ((bloom_info(VALUE)).key_type = 'integer');
SELECT bloom_agg(x)::filter_of_ids @> 5 AS found FROM generate_series(1, 10) x;
SELECT bloom_agg(x)::filter_of_ids | bloom_agg(x + 10)::filter_of_ids @> 15 AS found FROM generate_series(1, 10) x;
SELECT bloom_agg(x::text)::filter_of_ids FROM generate_series(1, 10) x;
DROP DOMAIN filter_of_ids;

-- Filters in arrays and rows
SELECT (ARRAY[f, NULL, f])[3] = f AS in_array, (ROW(1, f)).f2 = f AS in_row, ARRAY[f]::text::bloomfilter[] = ARRAY[f] AS array_as_text
    FROM samples WHERE id = 8;

-- What bytea prints of a filter is read, too, and bytes need no cast to be stored.
SELECT '\x424c58'::bloomfilter;
SELECT '\x424c5'::bloomfilter;
SELECT '\xno'::bloomfilter;
SELECT 'somebody@example.org'::bloomfilter;
CREATE TEMP TABLE sent (f bloomfilter(10, 0.01));
INSERT INTO sent SELECT bloom_agg(1, 10)::bytea;
SELECT f @> 1 AS key, f = f::bytea::text::bloomfilter AS hex FROM sent;
INSERT INTO sent VALUES ('\xab'::bytea);
DROP TABLE sent;

-- Soft errors (PostgreSQL 16 and later; for 15, which lacks the function, the expected answers are given)
SELECT current_setting('server_version_num')::int >= 160000 AS has_soft_errors \gset
\if :has_soft_errors
CREATE FUNCTION valid(s text) RETURNS boolean LANGUAGE sql AS $$ SELECT pg_input_is_valid(s, 'bloomfilter') $$;
\else
CREATE FUNCTION valid(s text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM s::bloomfilter; RETURN true; EXCEPTION WHEN invalid_text_representation THEN RETURN false; END $$;
\endif
SELECT valid('') AS empty, valid('no base64!') AS garbage, valid('QkxY') AS truncated, valid(f::text) AS filter
    FROM samples WHERE id = 8;
DROP FUNCTION valid;

DROP TABLE samples, twice;
