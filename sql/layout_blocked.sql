--
-- Layout blocked: blocks of any size (option block_bits).
--

-- 512 bits per block by default, planned by bits and by capacity
SELECT options, i.bits, i.bytes, i.blocks, i.part_bits, i.hash_functions
    FROM unnest(ARRAY['', 'block_bits=512', 'block_bits=4096', 'block_bits=100', 'block_bits=1', 'block_bits = 100000']) options,
        bloom_info(bloom_empty_bits(100000, 6, 'blocked', options => options)) i;
SELECT options, p.part_bits, round(p.bits / 20000.0, 2) AS bits_per_key, p.hash_functions, p.fpr < 0.001 AS below_target,
        (i.bits, i.bytes, i.blocks, i.part_bits, i.hash_functions) = (p.bits, p.bytes, p.blocks, p.part_bits, p.hash_functions) AS as_planned
    FROM unnest(ARRAY['', 'block_bits=64', 'block_bits=448', 'block_bits=4096', 'block_bits=32768']) options,
        bloom_plan(20000, 0.001, 'blocked', options => options) p, bloom_info(bloom_empty(20000, 0.001, 'blocked', options => options)) i;
SELECT bloom_empty_bits(100000, 6, 'blocked') = bloom_empty_bits(100000, 6, 'blocked', options => 'block_bits=512') AS preset;

-- What is refused
SELECT bloom_empty_bits(1000, 6, 'blocked', options => 'block_bits=1001');
SELECT bloom_empty_bits(1000, 6, 'blocked', options => 'block_bits=0');
SELECT bloom_empty_bits(1000, 6, 'blocked', options => 'block_bits=4294967297');
SELECT bloom_empty_bits(1000, 6, 'blocked', options => 'block_bits=10.5');
SELECT bloom_empty_bits(1000, 6, 'standard', options => 'block_bits=100');
SELECT bloom_empty_bits(8000000000, 6, 'blocked', options => 'block_bits=1');
SELECT bloom_empty(1000, 1e-9, 'blocked', options => 'block_bits=2');

-- Every key is found, and few others are: blocks of a prime number of bits, of less than a word, of a page
CREATE FUNCTION blocked(size bigint, low int, high int) RETURNS bloomfilter LANGUAGE sql AS $$
    SELECT bloom_agg(x, e) FROM bloom_empty_bits(100000, 6, 'blocked', options => 'block_bits=' || size) e, generate_series(low, high) x
$$;
SELECT size, (SELECT count(*) FROM generate_series(1, 10000) x WHERE f @> x) AS found,
        (SELECT count(*) FROM generate_series(10001, 30000) x WHERE f @> x) / 20000.0 BETWEEN 0.75 * bloom_fpr(f) AND 1.3 * bloom_fpr(f) AS others_as_its_rate,
        abs(bloom_cardinality(f) - 10000) < 200 AS counted
    FROM unnest(ARRAY[17, 60, 100, 500, 512, 1013, 32768]) size, blocked(size, 1, 10000) f;

-- The algebra needs one block size
SELECT size, f | blocked(size, 301, 600) = blocked(size, 1, 600) AS "union",
        (SELECT count(*) FROM generate_series(301, 400) x WHERE (f & blocked(size, 301, 600)) @> x) AS in_both,
        f !&& blocked(size, 301, 600) AS disjoint, f !&& bloom_empty_bits(100000, 6, 'blocked', options => 'block_bits=' || size) AS disjoint_from_none,
        f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea
    FROM unnest(ARRAY[60, 100, 512]) size, blocked(size, 1, 400) f;
SELECT blocked(100, 1, 5) | blocked(512, 1, 5);
SELECT blocked(100, 1, 5) & blocked(200, 1, 5);
SELECT bloom_fold(blocked(100, 1, 5), 3) = bloom_add_all(bloom_empty_bits(12500, 6, 'blocked', options => 'block_bits=100'), ARRAY[1, 2, 3, 4, 5]) AS fold;
SELECT bloom_fold(blocked(100, 1, 5), 4);
SELECT bloom_prefix(blocked(100, 1, 5), 1) = blocked(100, 1, 5) AS same;

-- Spare bits of a block (the last 28 of its 128) must be 0
SELECT set_byte(f::bytea, 44 + 15, 128)::bloomfilter FROM blocked(100, 1, 5) f;
SELECT set_byte(f::bytea, 44 + 12, 15)::bloomfilter IS NOT NULL AS used_bits FROM blocked(100, 1, 5) f;

DROP FUNCTION blocked;
