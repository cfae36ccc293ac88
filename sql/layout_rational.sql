--
-- Layout rational: a standard filter whose k need not be whole.
--

-- k in 1/65536; bloom_info shows it
SELECT asked, i.layout, i.bits, i.blocks, i.parts, i.part_bits, i.hash_functions, i.details
    FROM unnest(ARRAY[0.25, 1, 1.5, 6.25, 63.75, 64]) asked, bloom_info(bloom_empty_bits(8192, asked, 'rational')) i;
SELECT bloom_empty_bits(8192, 0, 'rational');
SELECT bloom_empty_bits(8192, 0.00001, 'rational');
SELECT bloom_empty_bits(8192, 64.5, 'rational');
SELECT bloom_empty_bits(8192, 'NaN', 'rational');
SELECT bloom_empty_bits(8192, 2.5, 'standard');
SELECT bloom_empty_bits(8192, 2.5, 'rational', options => 'hashing=double');

-- Planned by capacity, k is whole: the rate is least there
SELECT r.bits = s.bits AND r.hash_functions = s.hash_functions AS as_standard, r.fpr < 0.01 AS below_target, i.details
    FROM bloom_plan(1000, 0.01, 'rational') r, bloom_plan(1000, 0.01, 'standard') s, bloom_info(bloom_empty(1000, 0.01, 'rational')) i;

-- With a whole k it sets the bits of a standard filter
SELECT bloom_fill(f) = bloom_fill(g) AS same_fill, bloom_fpr(f) = bloom_fpr(g) AS same_rate
    FROM (SELECT bloom_agg(x, bloom_empty_bits(8192, 5, 'rational')) AS f, bloom_agg(x, bloom_empty_bits(8192, 5, 'standard')) AS g
          FROM generate_series(1, 1000) x) s;

-- Every key is found, and few others are: the rate is the mixture's, not the power of the fill; cardinality is estimated
SELECT k, (SELECT count(*) FROM generate_series(1, 1000) x WHERE f @> x) AS found,
        round(bloom_fpr(f)::numeric, 4) AS fpr, round((bloom_fill(f) ^ k)::numeric, 4) AS power_of_fill,
        (SELECT count(*) FROM generate_series(1001, 21000) x WHERE f @> x) / 20000.0 BETWEEN 0.85 * bloom_fpr(f) AND 1.15 * bloom_fpr(f) AS others_as_its_rate,
        abs(bloom_cardinality(f) - 1000) < 40 AS counted
    FROM unnest(ARRAY[1, 1.5, 2, 2.5, 3, 3.75]) k,
        LATERAL (SELECT bloom_agg(x, e) AS f FROM bloom_empty_bits(4096, k, 'rational') e, generate_series(1, 1000) x) s;

-- Fewer bits than keys: half a bit per key is better than one. Keys without a bit are found everywhere, so no two sets are proven disjoint.
SELECT k, (SELECT count(*) FROM generate_series(1, 8000) x WHERE f @> x) AS found, round(bloom_fpr(f)::numeric, 2) AS fpr,
        (SELECT count(*) FROM generate_series(8001, 28000) x WHERE f @> x) / 20000.0 BETWEEN 0.98 * bloom_fpr(f) AND 1.02 * bloom_fpr(f) AS others_as_its_rate,
        abs(bloom_cardinality(f) - 8000) < 400 AS counted, bloom_fpr(e) AS empty, e !&& f AS disjoint, f = f::text::bloomfilter AS text
    FROM unnest(ARRAY[0.25, 0.5, 1]) k, bloom_empty_bits(4096, k, 'rational') e,
        LATERAL (SELECT bloom_agg(x, e) AS f FROM generate_series(1, 8000) x) s;

-- The algebra needs one k and sizes that differ by a power of two
CREATE FUNCTION rational(k float8, low int, high int) RETURNS bloomfilter LANGUAGE sql AS $$
    SELECT bloom_agg(x, e) FROM bloom_empty_bits(20000, k, 'rational') e, generate_series(low, high) x
$$;
SELECT f | rational(2.5, 301, 600) = rational(2.5, 1, 600) AS "union",
        (SELECT count(*) FROM generate_series(301, 400) x WHERE (f & rational(2.5, 301, 600)) @> x) AS in_both,
        f !&& rational(2.5, 301, 600) AS disjoint, f !&& bloom_empty_bits(20000, 2.5, 'rational') AS disjoint_from_none,
        bloom_prefix(f, 1) = f AS prefix,
        f::text::bloomfilter = f AS text, f::bytea::bloomfilter = f AS bytea
    FROM rational(2.5, 1, 400) f;
SELECT rational(2.5, 1, 5) | rational(2.75, 1, 5);
SELECT rational(2.5, 1, 5) & rational(3.5, 1, 5);
SELECT rational(2.5, 1, 5) | bloom_empty_bits(10000, 2.5, 'rational') = rational(2.5, 1, 5) AS larger;
SELECT rational(2.5, 1, 5) | bloom_empty_bits(10001, 2.5, 'rational');
SELECT rational(2, 1, 5) | bloom_empty_bits(20000, 2, 'standard');
SELECT bloom_fold(rational(2.5, 1, 5), 6);
SELECT (bloom_info(bloom_shrink(rational(2.5, 1, 5), 0.5))).bits;
SELECT bloom_prefix(rational(2.5, 1, 5), 2);

-- Damaged bytes: no probe and no fraction of one, two parts, a bit beyond the last, a fraction beyond 64
SELECT set_byte(f::bytea, 38, 0)::bloomfilter FROM rational(2, 1, 5) f;
SELECT set_byte(f::bytea, 36, 2)::bloomfilter FROM rational(2.5, 1, 5) f;
SELECT set_byte(f::bytea, 44 + 2503, 128)::bloomfilter FROM rational(2.5, 1, 5) f;
SELECT set_byte(f::bytea, 38, 64)::bloomfilter FROM rational(2.5, 1, 5) f;
SELECT set_byte(f::bytea, 7, 1)::bloomfilter FROM rational(2.5, 1, 5) f;

DROP FUNCTION rational;
