--
-- Layout variable_blocked: blocks of sizes that are powers of two and sum to any m, every key in every block.
--

-- k counts the probes in all blocks together; each block has its share
SELECT asked, i.layout, i.bits, i.blocks, i.parts, i.part_bits, i.hash_functions, i.details
    FROM unnest(ARRAY[1024, 1025, 1536, 9999]) asked, bloom_info(bloom_empty_bits(asked, 6, 'variable_blocked')) i;
SELECT (i.details ->> 'k')::numeric(8, 3) AS k FROM bloom_info(bloom_empty_bits(1000, 64, 'variable_blocked')) i;
SELECT bloom_empty_bits(1000, 64.5, 'variable_blocked');
SELECT bloom_empty_bits(1000, 1.5, 'variable_blocked');
SELECT bloom_empty_bits(1000, 6, 'variable_blocked', options => 'block_bits=64');

-- Planned by capacity, it is half full and a little larger than a standard filter; an empty filter is as planned
SELECT target, round(p.bits / 10000.0, 2) AS bits_per_key, round(p.bits::numeric / s.bits, 3) AS of_standard, p.fpr < target AS below_target,
        (i.bits, i.bytes, i.part_bits, i.hash_functions) = (p.bits, p.bytes, p.part_bits, p.hash_functions) AS as_planned,
        round((i.details ->> 'k')::numeric / (p.bits / 10000.0 * ln(2.0)), 3) AS k_of_half_full
    FROM unnest(ARRAY[0.1, 0.01, 0.0001]) target, bloom_plan(10000, target, 'variable_blocked') p,
        bloom_plan(10000, target, 'standard') s, bloom_info(bloom_empty(10000, target, 'variable_blocked')) i;
SELECT bloom_empty(1000000000, 1e-9, 'variable_blocked');
-- (k is limited to 64, so the filter stays far from full)
SELECT round(bits / 1000.0) AS bits_per_key, hash_functions, fpr < 1e-30 AS below_target FROM bloom_plan(1000, 1e-30, 'variable_blocked');

-- Every key is found, and few others are, as the rate says; cardinality is estimated
CREATE FUNCTION variable(bits int, k float8, low int, high int) RETURNS bloomfilter LANGUAGE sql AS $$
    SELECT bloom_agg(x, e) FROM bloom_empty_bits(bits, k, 'variable_blocked') e, generate_series(low, high) x
$$;
SELECT bits, (SELECT count(*) FROM generate_series(1, 1000) x WHERE f @> x) AS found,
        (SELECT count(*) FROM generate_series(1001, 21000) x WHERE f @> x) / 20000.0 BETWEEN 0.85 * bloom_fpr(f) AND 1.15 * bloom_fpr(f) AS others_as_its_rate,
        abs(bloom_cardinality(f) - 1000) < 40 AS counted
    FROM unnest(ARRAY[4095, 4096, 4097, 5000]) bits, variable(bits, 3.3, 1, 1000) f;

-- The first blocks alone are a smaller, less exact filter of the same keys: the one that would have been built
SELECT n, i.bits, (i.details ->> 'variable_blocks')::int AS blocks, (i.details ->> 'k')::numeric(6, 3) AS k, round(i.fpr::numeric, 5) AS fpr,
        (SELECT count(*) FROM generate_series(1, 700) x WHERE p @> x) AS found
    FROM variable(10000, 7, 1, 700) f, generate_series(1, 5) n, bloom_prefix(f, n) p, bloom_info(p) i;
SELECT bloom_prefix(variable(1536, 6, 1, 100), 1) = variable(1024, 4, 1, 100) AS as_built;
SELECT bloom_prefix(variable(1536, 6, 1, 100), 3);
SELECT bloom_prefix(variable(1536, 6, 1, 100), 0);

-- The algebra needs equal geometries; filters are certainly disjoint if some block has no common bit
SELECT f | variable(20000, 6, 301, 600) = variable(20000, 6, 1, 600) AS "union",
        (SELECT count(*) FROM generate_series(301, 400) x WHERE (f & variable(20000, 6, 301, 600)) @> x) AS in_both,
        f !&& variable(20000, 6, 301, 600) AS disjoint, f !&& bloom_empty_bits(20000, 6, 'variable_blocked') AS disjoint_from_none,
        f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea
    FROM variable(20000, 6, 1, 400) f;
-- (blocks of 4096, 512 and 8 bits: ten keys on each side seldom share a bit of the small ones)
SELECT count(*) FILTER (WHERE f !&& g) > 0 AS some_are_certain, count(*) FILTER (WHERE f !&& variable(4616, 20, s, s + 5)) AS of_common_keys
    FROM generate_series(1, 200, 20) s, variable(4616, 20, s, s + 9) f, variable(4616, 20, s + 10, s + 19) g;
SELECT variable(1536, 6, 1, 5) | variable(1535, 6, 1, 5);
SELECT variable(1536, 6, 1, 5) & variable(1536, 7, 1, 5);
SELECT bloom_fold(variable(1536, 6, 1, 5));
SELECT bloom_shrink(variable(1536, 6, 1, 5), 0.5);

-- Damaged bytes: no probe, more than 64 in all, two blocks, a bit beyond the last
SELECT set_byte(f::bytea, 38, 0)::bloomfilter FROM variable(1000, 6, 1, 5) f;
SELECT set_byte(f::bytea, 38, 60)::bloomfilter FROM variable(1000, 6, 1, 5) f;
SELECT set_byte(f::bytea, 8, 2)::bloomfilter FROM variable(1000, 6, 1, 5) f;
SELECT set_byte(f::bytea, 44 + 127, 128)::bloomfilter FROM variable(1000, 6, 1, 5) f;

-- In parallel
CREATE TABLE many AS SELECT x FROM generate_series(1, 20000) x;
ANALYZE many;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT (SELECT bloom_agg(x, bloom_empty(20000, 0.01, 'variable_blocked')) FROM many)
        = bloom_add_all(bloom_empty(20000, 0.01, 'variable_blocked'), ARRAY(SELECT x FROM many)) AS same;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
DROP TABLE many;

DROP FUNCTION variable;
