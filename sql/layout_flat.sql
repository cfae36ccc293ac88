--
-- Layouts hybrid, standard and partitioned: probes per part, and hashing schemes for study.
--

-- ---- hybrid ----

-- Two probes per part by default; k is a multiple of them
SELECT options, i.layout, i.bits, i.parts, i.part_bits, i.hash_functions
    FROM unnest(ARRAY['', 'probes=1', 'probes=2', 'probes=4', ' probes = 8 ', 'probes=8, hashing=triple']) options,
        bloom_info(bloom_empty_bits(100000, 8, 'hybrid', options => options)) i;
SELECT bloom_empty_bits(100000, 7, 'hybrid');
SELECT bloom_empty_bits(100000, 8, 'hybrid', options => 'probes=3');
SELECT bloom_empty_bits(3, 8, 'hybrid');
SELECT bloom_empty_bits(100000, 8, 'hybrid', options => 'probes=0');
SELECT bloom_empty_bits(100000, 8, 'hybrid', options => 'probes=2.5');
SELECT bloom_empty_bits(100000, 8, 'hybrid', options => 'parts=2');

-- Planned: the smallest filter of even k; an empty filter is as planned
SELECT target, p.parts, p.hash_functions, round(p.bits / 10000.0, 2) AS bits_per_key, p.fpr < target AS below_target,
        (i.bits, i.parts, i.part_bits, i.hash_functions) = (p.bits, p.parts, p.part_bits, p.hash_functions) AS as_planned
    FROM unnest(ARRAY[0.1, 0.01, 0.001]) target, bloom_plan(10000, target, 'hybrid') p,
        bloom_info(bloom_empty(10000, target, 'hybrid')) i;
SELECT options, parts, hash_functions, fpr < 0.01 AS below_target
    FROM unnest(ARRAY['probes=1', 'probes=7', 'probes=40']) options, bloom_plan(10000, 0.01, 'hybrid', options => options);

-- Every key is found, and few others are; the rate is that of the formula
SELECT count(*) FILTER (WHERE f @> x AND x <= 1000) AS found,
        count(*) FILTER (WHERE f @> x AND x > 1000) BETWEEN 70 AND 130 AS about_100_of_10000_others
    FROM (SELECT bloom_agg(x, bloom_empty(1000, 0.01, 'hybrid')) AS f FROM generate_series(1, 1000) x) s,
        generate_series(1, 11000) x;

-- bloom_info
SELECT layout, bits, blocks, parts, part_bits, hash_functions, capacity, bits_set, round(cardinality) AS cardinality, details
    FROM bloom_info((SELECT bloom_agg(x, bloom_empty_bits(8192, 6, 'hybrid', options => 'probes=3')) FROM generate_series(1, 500) x));

-- Different sizes combine: prefix and fold give the filters that would have been built, a missing part counts as all ones
CREATE FUNCTION hybrid(bits int, k int, low int, high int) RETURNS bloomfilter LANGUAGE sql AS $$
    SELECT bloom_agg(x, bloom_empty_bits(bits, k, 'hybrid')) FROM generate_series(low, high) x
$$;
SELECT bloom_prefix(f, 2) = hybrid(4096, 4, 1, 200) AS prefix, bloom_fold(f) = hybrid(4096, 8, 1, 200) AS fold,
        bloom_fold(f, 3) = hybrid(1024, 8, 1, 200) AS three_folds,
        f | hybrid(8192, 8, 100, 300) = hybrid(8192, 8, 1, 300) AS "union"
    FROM hybrid(8192, 8, 1, 200) f;
SELECT count(*) FILTER (WHERE (f | g) @> x) AS in_union, count(*) FILTER (WHERE (f & g) @> x AND x BETWEEN 101 AND 200) AS in_both,
        (bloom_info(f | g)).parts AS union_parts, (bloom_info(f & g)).parts AS intersection_parts, (bloom_info(f & g)).part_bits
    FROM hybrid(8192, 8, 1, 200) f, hybrid(2048, 4, 101, 300) g, generate_series(1, 300) x
    GROUP BY f, g;
SELECT f !&& g AS disjoint, f !&& h AS overlapping, g !&& h AS smaller
    FROM hybrid(65536, 16, 1, 10) f, hybrid(65536, 16, 11, 20) g, hybrid(32768, 16, 5, 12) h;
SELECT fpr <= 0.01 AS meets, parts < 8 AS fewer_parts, count(*) FILTER (WHERE g @> x) AS found
    FROM bloom_shrink(hybrid(65536, 16, 1, 500), 0.01) g, bloom_info(g) i, generate_series(1, 500) x
    GROUP BY fpr, parts;
SELECT hybrid(4096, 8, 1, 5) | bloom_empty_bits(4096, 8, 'hybrid', options => 'probes=4');
SELECT hybrid(4096, 8, 1, 5) | bloom_empty_bits(4096 * 3, 8, 'hybrid');
SELECT hybrid(4096, 8, 1, 5) | bloom_empty_bits(4096, 8, 'partitioned');

-- Forms: text, bytea, and damaged bytes (a bit beyond its parts; two blocks; 65 probes)
SELECT f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea FROM hybrid(1000, 6, 1, 20) f;
SELECT set_byte(f::bytea, 44 + 47, 128)::bloomfilter FROM hybrid(1000, 6, 1, 20) f;
SELECT set_byte(f::bytea, 8, 2)::bloomfilter FROM hybrid(1000, 6, 1, 20) f;
SELECT set_byte(f::bytea, 38, 22)::bloomfilter FROM hybrid(1000, 6, 1, 20) f;
SELECT set_byte(f::bytea, 7, 4)::bloomfilter FROM hybrid(1000, 6, 1, 20) f;
SELECT set_byte(f::bytea, 40, 1)::bloomfilter FROM hybrid(1000, 6, 1, 20) f;

-- In parallel
CREATE TABLE many AS SELECT x FROM generate_series(1, 20000) x;
ANALYZE many;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT (SELECT bloom_agg(x, bloom_empty(20000, 0.01, 'hybrid')) FROM many)
        = bloom_add_all(bloom_empty(20000, 0.01, 'hybrid'), ARRAY(SELECT x FROM many)) AS same;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
DROP TABLE many;

-- ---- hashing, for study ----

-- Almeida 2022, section 5: with double hashing one key in 512 has a single bit in a standard filter of 512 bits;
-- with parts every key has all its bits
SELECT layout, hashing, (bloom_info(e)).details ->> 'hashing' AS told,
        count(*) FILTER (WHERE bits = 1) AS one_bit, count(*) FILTER (WHERE bits = 2) AS two, count(*) FILTER (WHERE bits = 4) AS four,
        min(bits) AS fewest, max(bits) AS most
    FROM unnest(ARRAY['standard', 'partitioned', 'hybrid']) layout,
        unnest(ARRAY['independent', 'double', 'enhanced_double', 'triple']) hashing,
        bloom_empty_bits(512, 8, layout, options => 'hashing=' || hashing) e,
        generate_series(1, 2560) x, LATERAL (SELECT (bloom_info(bloom_add(e, x))).bits_set AS bits) b
    GROUP BY layout, hashing, e ORDER BY layout COLLATE "C" DESC, hashing;

-- A filter has the hashing of its template; such filters unite only with filters of the same hashing
CREATE FUNCTION hashed(layout text, hashing text, bits int, low int, high int) RETURNS bloomfilter LANGUAGE sql AS $$
    SELECT bloom_agg(x, bloom_empty_bits(bits, 8, layout, options => 'hashing=' || hashing)) FROM generate_series(low, high) x
$$;
SELECT layout, hashing, f | hashed(layout, hashing, 4096, 100, 300) = hashed(layout, hashing, 4096, 1, 300) AS "union",
        f::text::bloomfilter = f AS text, f = hashed(layout, 'independent', 4096, 1, 200) AS as_independent,
        (SELECT count(*) FROM generate_series(1, 200) x WHERE f @> x) AS found
    FROM unnest(ARRAY['standard', 'partitioned', 'hybrid']) layout, unnest(ARRAY['double', 'enhanced_double', 'triple']) hashing,
        hashed(layout, hashing, 4096, 1, 200) f;
SELECT hashed('partitioned', 'double', 4096, 1, 5) | hashed('partitioned', 'triple', 4096, 1, 5);
SELECT hashed('partitioned', 'double', 4096, 1, 5) & hashed('partitioned', 'independent', 4096, 1, 5);
SELECT hashed('partitioned', 'double', 4096, 1, 5) | hashed('partitioned', 'double', 8192, 1, 5);
SELECT bloom_fold(hashed('hybrid', 'double', 4096, 1, 5));
-- (a prefix, and a shrink by parts, works as with independent hashing)
SELECT bloom_prefix(f, 3) = bloom_agg(x, bloom_empty_bits(512 * 3, 3, 'partitioned', options => 'hashing=double')) AS prefix,
        (bloom_info(bloom_shrink(f, 0.01))).part_bits AS part_bits_shrunk
    FROM hashed('partitioned', 'double', 4096, 1, 50) f, generate_series(1, 50) x
    GROUP BY f;

-- Only for filters of a given size, because no formula plans them, and only in flat layouts
SELECT bloom_empty(1000, 0.01, 'standard', options => 'hashing=double');
SELECT * FROM bloom_plan(1000, 0.01, 'partitioned', options => 'hashing=triple');
SELECT bloom_empty_bits(4096, 8, 'standard', options => 'hashing=quadruple');
SELECT bloom_empty_bits(4096, 8, 'blocked', options => 'hashing=double');
SELECT bloom_empty_bits(4096, 8, 'partitioned_blocked', options => 'hashing=double');

-- Names of options and of hashing schemes may be in upper or lower case, as those of layouts.
SELECT bloom_empty_bits(4096, 8, 'Standard', options => 'HASHING = Double') = bloom_empty_bits(4096, 8, 'standard', options => 'hashing=double') AS same;

DROP FUNCTION hybrid, hashed;
