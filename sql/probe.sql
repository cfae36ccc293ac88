--
-- Membership as an index condition: ?& and ?| between a filter and a set of keys. The index methods'
-- own tests show the plans.
--
\set VERBOSITY terse
CREATE TEMP TABLE p (what text, f bloomfilter);
INSERT INTO p VALUES ('none', bloom_empty(100)), ('1 to 100', (SELECT bloom_agg(v) FROM generate_series(1, 100) v)),
    ('51 to 150', (SELECT bloom_agg(v, bloom_empty(100, 0.000001, 'standard')) FROM generate_series(51, 150) v)),
    ('words', (SELECT bloom_agg(v::text) FROM generate_series(1, 100) v)),
    ('another seed', bloom_add(bloom_empty(100, seed => 1), 1));

-- Text keys, and hashes made with another seed, cannot be compared with the probe: the filter may hold any key.
SELECT what, f ?& bloomx_probe(7) AS "7", f ?& bloomx_probe(int8 '120') AS "120",
       f ?& bloomx_probe_all(ARRAY[7, 120]) AS "both", f ?| bloomx_probe_all(ARRAY[7, 120]) AS "either",
       f ?| bloomx_probe_all(ARRAY[1007, 1120]) AS "neither", f ?& bloomx_probe('7'::text) AS "word"
FROM p;

-- No keys: all of them are in the filter, any of them is not, whatever the types. NULLs are ignored. A hash goes with every key type.
SELECT what, f ?& bloomx_probe_all(ARRAY[]::int[]) AS "all of none", f ?| bloomx_probe_all(ARRAY[]::int[]) AS "any of none",
       f ?& bloomx_probe_all(ARRAY[NULL, 7]) AS "7", f ?& bloomx_probe_hash(bloom_hash(7)) AS "hash"
FROM p WHERE what IN ('none', '1 to 100', 'words', 'another seed');
SELECT bloomx_probe(NULL::int) IS NULL AS "null";

-- ?& finds what @> finds.
SELECT count(*) FILTER (WHERE f @> v) AS found, count(*) FILTER (WHERE f @> v AND NOT f ?& bloomx_probe(v)) AS lost
FROM p, generate_series(1, 1000) v WHERE what IN ('1 to 100', '51 to 150');

-- The right side is a set of keys.
SELECT bloom_empty(1) ?& bloom_empty(1);
SELECT bloom_empty(1) ?| bloom_agg(1);
SELECT bloomx_probe('{"a": 1}'::json);

-- A set of many keys is not read as a whole for each row, on either side: that would take minutes.
SET statement_timeout = '60s';
SELECT count(*) FROM generate_series(1, 100000) i WHERE i * 4 <@ (SELECT bloomx_probe_all(array_agg(j)) FROM generate_series(1, 200000) j);
SELECT count(*) FROM (SELECT bloom_add(bloom_empty(1, 1e-9), i) AS f FROM generate_series(0, 99999) i) s
WHERE f ?& (SELECT bloomx_probe_all(array_agg(j)) FROM generate_series(1, 200000) j);
RESET statement_timeout;

-- A role that may test filters but not make sets of keys gets no condition on the index, and the same rows.
CREATE TABLE p_many AS SELECT v, bloom_agg(v) AS f FROM generate_series(1, 100) v GROUP BY v;
CREATE INDEX ON p_many USING bloomx (f);
CREATE ROLE regress_bloomx_prober;
GRANT SELECT ON p_many TO regress_bloomx_prober;
REVOKE EXECUTE ON FUNCTION bloomx_probe(anycompatible) FROM PUBLIC;
SET enable_seqscan = off;
SELECT v FROM p_many WHERE f @> 42;
SET ROLE regress_bloomx_prober;
SELECT v FROM p_many WHERE f @> 42;
RESET ROLE;
RESET enable_seqscan;
GRANT EXECUTE ON FUNCTION bloomx_probe(anycompatible) TO PUBLIC;
DROP TABLE p_many;
DROP ROLE regress_bloomx_prober;
