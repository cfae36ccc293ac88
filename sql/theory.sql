--
-- Theory: the papers' formulas. Their digits are compared with exact arithmetic in test/python/theory.py;
-- here are published values, limits and errors.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
CREATE EXTENSION bloomx_theory;
SET extra_float_digits = -3;
RESET client_min_messages;

-- All that the extension has: functions that are immutable, strict, safe in parallel and described.
SELECT count(*) AS functions, bool_and(provolatile = 'i' AND proisstrict AND proparallel = 's' AND obj_description(p.oid, 'pg_proc') IS NOT NULL) AS as_declared
FROM pg_depend LEFT JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'bloomx_theory') AND deptype = 'e';

-- Almeida's extreme case; the paper prints 1.21703762 where exact arithmetic gives 1.21703636.
SELECT round((bloom_fpr_partitioned(5, 64, 8) / bloom_fpr_standard(5, 64, 8))::numeric, 8) AS ratio;

-- The standard analysis (eq. 5) beside the exact rates: the paper's Table 1.
SELECT m, k, round(bloom_fpr_approx(n, m, k)::numeric, 8) AS f_a, round(bloom_fpr_standard(n, m, k)::numeric, 8) AS f_s,
       round(bloom_fpr_partitioned(n, m, k)::numeric, 8) AS f_p
FROM (VALUES (64, 4, 11), (64, 8, 5), (512, 4, 88), (512, 8, 44), (512, 16, 22), (4096, 4, 709), (4096, 8, 354), (4096, 16, 177)) v(m, k, n);

-- A probability, also where rounding would exceed 1.
SELECT bloom_fpr_element(1000000000000, 1000000000, 64, 64) <= 1 AS is_rate;

-- One key and one probe set one bit of m. Without keys the rate is 0, with very many keys 1.
SELECT bloom_fpr_standard(1, 1000, 1) AS one, bloom_fpr_partitioned(1, 1000, 1) AS part, bloom_fpr_element(1, 1000, 1, 1) AS element,
       bloom_fpr_rational(1, 1000, 1) AS rational, bloom_fpr_blocked(1, 1024, 1) AS blocked, bloom_fpr_partitioned_blocked(1, 16, 1) AS partitioned_blocked;
SELECT bloom_fpr_approx(0, 100, 3) AS approx, bloom_fpr_standard(0, 100, 3) AS standard, bloom_fpr_partitioned(0, 3, 3) AS partitioned,
       bloom_fpr_element(0, 100, 3, 2) AS element, bloom_fpr_rational(0, 100, 3.5) AS rational, bloom_fpr_blocked(0, 1024, 3) AS blocked,
       bloom_fpr_partitioned_blocked(0, 16, 3) AS partitioned_blocked, bloom_false_overlap('standard', 100, 3, 0, 5) AS overlap;
SELECT f, fpr FROM (SELECT 9223372036854775807 AS n) keys,
    LATERAL (VALUES ('approx', bloom_fpr_approx(n, 100, 3)), ('goel_gupta', bloom_fpr_goel_gupta(n, 100, 3)), ('standard', bloom_fpr_standard(n, 100, 3)),
             ('partitioned', bloom_fpr_partitioned(n, 3, 3)), ('element', bloom_fpr_element(n, 100, 3, 2)), ('rational', bloom_fpr_rational(n, 100, 3.5)),
             ('blocked', bloom_fpr_blocked(n, 1024, 3)), ('partitioned_blocked', bloom_fpr_partitioned_blocked(n, 16, 3)),
             ('false_overlap', bloom_false_overlap('partitioned', 300, 3, n, n))) v(f, fpr);

-- As many bits as keys, 2^63 - 1 of each (blocked: 2^63 - 512; partitioned_blocked: 8 keys in each of 2^31 blocks).
SELECT bloom_fpr_approx(9223372036854775807, 9223372036854775807, 8) AS approx, bloom_fpr_standard(9223372036854775807, 9223372036854775807, 8) AS standard,
       bloom_fpr_partitioned(9223372036854775807, 9223372036854775807, 8) AS partitioned, bloom_fpr_rational(9223372036854775807, 9223372036854775807, 8) AS rational,
       bloom_fpr_blocked(9223372036854775296, 9223372036854775296, 8) AS blocked, bloom_fpr_partitioned_blocked(17179869184, 2147483648, 8) AS partitioned_blocked;

-- A whole k is no mixture; one block is a standard filter; one part is one part.
SELECT bloom_fpr_rational(100, 1000, 7) = bloom_fpr_standard(100, 1000, 7) AS rational, bloom_fpr_blocked(50, 512, 7) = bloom_fpr_standard(50, 512, 7) AS blocked,
       bloom_fpr_partitioned_blocked(40, 1, 8) = bloom_fpr_partitioned(40, 512, 8) AS partitioned_blocked,
       bloom_false_overlap('standard', 1000, 1, 20, 30) = bloom_false_overlap('partitioned', 1000, 1, 20, 30) AS overlap;

-- Fewer bits than keys: below one bit per key a fraction is better than one. An empty filter finds the keys that have no bit.
SELECT k, round(bloom_fpr_rational(2000, 1000, k)::numeric, 6) AS fpr, bloom_fpr_rational(0, 1000, k) AS empty
FROM unnest(ARRAY[0.125, 0.25, 0.5, 0.75, 1]) k;

-- Bloom's own filter, of k different bits per key: his formula (Almeida's equation 3), which is also that of the parts, is too high.
SELECT n, m, k, round(bloom_fpr_partitioned(n, m, k)::numeric, 8) AS eq_3, round(bloom_fpr_distinct(n, m, k)::numeric, 8) AS exact,
       round(bloom_fpr_standard(n, m, k)::numeric, 8) AS standard
FROM (VALUES (11, 64, 4), (5, 64, 8), (44, 512, 8), (354, 4096, 8)) v(n, m, k);
-- One key of two bits in four: six equal sets, one of which is the tested key's. All bits: every key is found.
SELECT bloom_fpr_distinct(1, 4, 2) AS one_sixth, bloom_fpr_distinct(1, 64, 64) AS all_bits, bloom_fpr_distinct(0, 64, 8) AS none,
       bloom_fpr_distinct(9223372036854775807, 9223372036854775807, 8) AS large, bloom_fpr_distinct(9223372036854775807, 64, 64) AS full_up;

-- The fewer distinct bits, the more false positives.
SELECT d, bloom_fpr_element(44, 512, 8, d) AS fpr, bloom_collisions(512, 8, 8 - d) AS keys FROM generate_series(8, 1, -1) d;

-- bloom_plan uses the formula of the geometry.
SELECT layout, p.fpr = CASE layout WHEN 'standard' THEN bloom_fpr_standard(1000, bits, hash_functions) WHEN 'blocked' THEN bloom_fpr_blocked(1000, bits, hash_functions)
    WHEN 'partitioned_blocked' THEN bloom_fpr_partitioned_blocked(1000, blocks, parts) END AS same
FROM unnest(ARRAY['standard', 'blocked', 'partitioned_blocked']) l, bloom_plan(1000, 0.01, l) p;

-- An age-partitioned filter: k adjacent parts. Without further parts they are the only ones.
SELECT round(bloom_fpr_age_partitioned(2, 0)::numeric, 12) AS two, (1 - sqrt(0.5)) / 2 AS by_hand, bloom_fpr_age_partitioned(2, 0, true) AS linear,
       bloom_fpr_age_partitioned(1, 0) AS one, bloom_fpr_age_partitioned(1, 9) AS ten, 1 - 0.5::float8 ^ 10 AS ten_by_hand;

-- Strict
SELECT bloom_fpr_standard(NULL, 1, 1) IS NULL AS n, bloom_fpr_rational(1, 1, NULL) IS NULL AS k, bloom_false_overlap(NULL, 1, 1, 1, 1) IS NULL AS layout;

-- Errors
\set VERBOSITY terse
SELECT bloom_fpr_approx(-1, 1, 1);
SELECT bloom_fpr_standard(1, 0, 1);
SELECT bloom_fpr_standard(1, 1, 0);
SELECT bloom_fpr_standard(1, 1, 65);
SELECT bloom_fpr_goel_gupta(1, 1, 1);
SELECT bloom_fpr_partitioned(1, 7, 8);
SELECT bloom_fpr_element(1, 100, 3, 0);
SELECT bloom_fpr_element(1, 100, 3, 4);
SELECT bloom_fpr_element(1, 2, 3, 3);
SELECT bloom_fpr_distinct(1, 7, 8);
SELECT bloom_fpr_rational(1, 100, 0);
SELECT bloom_fpr_rational(1, 100, 64.5);
SELECT bloom_fpr_rational(1, 100, 'nan');
SELECT bloom_fpr_blocked(1, 1000, 3);
SELECT bloom_fpr_blocked(1, 33554432, 3, 33554432);
SELECT bloom_fpr_partitioned_blocked(1, 4294967296, 8);
SELECT bloom_fpr_partitioned_blocked(1, 24, 8);
SELECT bloom_fpr_partitioned_blocked(1, 1, 65);
SELECT bloom_fpr_age_partitioned(10, -1);
SELECT bloom_fpr_age_partitioned(10, 9991);
SELECT bloom_collisions(512, 8, -1);
SELECT bloom_collisions(512, 8, 8);
SELECT bloom_false_overlap('bitmap', 512, 8, 1, 1);
SELECT bloom_false_overlap('scalable', 512, 8, 1, 1);
SELECT bloom_false_overlap('partitioned', 511, 8, 1, 1);
SELECT bloom_false_overlap('standard', 511, 8, 1, -1);
\set VERBOSITY sqlstate
SELECT bloom_fpr_approx(1, 1, 65);
SELECT bloom_false_overlap('hybrid', 512, 8, 1, 1);
