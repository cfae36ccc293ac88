-- bloomx.simd: which instructions are used.  Results do not depend on it, and this output does not depend on the processor.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS bloomx;
RESET client_min_messages;
SELECT bloom_empty(1) @> 1 AS found;	-- loads the module

-- The default is the processor's fastest path, shown by its name.
SELECT current_setting('bloomx.simd') IN ('scalar', 'avx2', 'avx512', 'avx512_vbmi', 'neon') AS chosen;
SET bloomx.simd = sse;

-- A path is accepted, or refused with the reason if the processor lacks it; then the former path stays.
CREATE TABLE paths (path text, runs boolean);
DO $$
DECLARE
	p text;
	before text;
	hint text;
BEGIN
	FOREACH p IN ARRAY '{scalar,avx2,avx512,avx512_vbmi,neon}'::text[] LOOP
		before := current_setting('bloomx.simd');
		BEGIN
			PERFORM set_config('bloomx.simd', p, false);
			ASSERT current_setting('bloomx.simd') = p;
			INSERT INTO paths VALUES (p, true);
		EXCEPTION WHEN feature_not_supported THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
			ASSERT SQLERRM = 'this processor does not run ' || p, SQLERRM;
			ASSERT hint ~ '^It runs scalar(, (avx2|avx512|avx512_vbmi|neon))*\.$' AND hint !~ ('\m' || p || '\M'), hint;
			ASSERT current_setting('bloomx.simd') = before;
			INSERT INTO paths VALUES (p, false);
		END;
	END LOOP;
END $$;
SELECT runs AS scalar_runs FROM paths WHERE path = 'scalar';
-- No processor runs all five.
SELECT count(*) AS paths, bool_and(runs) AS all_run FROM paths;

-- Builds and probes filters, once for each path that runs here: full and partial groups, k of 1 to 64.
CREATE TABLE answers (path text, k int, built bloomfilter, joint bloomfilter, common bloomfilter, folded bloomfilter,
					  found bigint, any_found boolean, all_found boolean, no_common boolean, bits bigint, fpr float8);
DO $$
DECLARE
	p text;
	k int;
BEGIN
	SET LOCAL bloomx.overfill = off;
	FOR p IN SELECT path FROM paths WHERE runs LOOP
		PERFORM set_config('bloomx.simd', p, true);
		FOREACH k IN ARRAY '{1,3,7,8,9,15,16,20,64}'::int[] LOOP
			INSERT INTO answers
			SELECT p, k, f, f | g, f & g, bloom_fold(f, 3),
				   (SELECT count(*) FROM generate_series(1, 3000) i WHERE f @> i),
				   bloom_contains_any(f, ARRAY(SELECT generate_series(2001, 2100))),
				   bloom_contains_all(f, ARRAY(SELECT generate_series(1, 150))),
				   f !&& g, (bloom_info(f)).bits_set, bloom_fpr(f)
			FROM (SELECT bloom_agg(i, bloom_empty_bits(64 * k * 64, k)) AS f FROM generate_series(1, 1000) i) a,
				 bloom_add_all(bloom_empty_bits(64 * k * 256, k), ARRAY(SELECT generate_series(5000, 5200))) g;
		END LOOP;
	END LOOP;
END $$;
SELECT k, count(*) = (SELECT count(*) FROM paths WHERE runs) AS every_path, count(DISTINCT (built, joint, common, folded)) AS filters,
	   count(DISTINCT (found, any_found, all_found, no_common, bits, fpr)) AS answers, bool_and(found >= 1000 AND all_found) AS nothing_lost
FROM answers GROUP BY k ORDER BY k;

-- ANY and ALL beyond a batch: the deciding element first, last, missing, and NULL.
CREATE TABLE arrays AS
	SELECT n, at, ARRAY(SELECT CASE WHEN i = at THEN 1 ELSE 1000000 + i END FROM generate_series(1, n) i) AS one_member,
		   ARRAY(SELECT CASE WHEN i = at THEN 1000000 ELSE i END FROM generate_series(1, n) i) AS one_stranger
	FROM unnest('{1,2,63,64,65,127,128,129,200}'::int[]) n, unnest(ARRAY[0, 1, n]) at;
CREATE TABLE members AS SELECT bloom_agg(i, 1000, 1e-9) AS f FROM generate_series(1, 200) i;
SELECT at > 0 AS there, bool_and(bloom_contains_any(f, one_member) = (at > 0)) AS "any", bool_and(bloom_contains_all(f, one_stranger) = (at = 0)) AS "all",
	   count(bloom_contains_any(f, one_member || NULL::int)) = count(*) FILTER (WHERE at > 0) AS any_null,
	   count(bloom_contains_all(f, one_stranger || NULL::int)) = count(*) FILTER (WHERE at > 0) AS all_null
FROM arrays, members GROUP BY 1 ORDER BY 1;
SELECT bloom_contains_any(f, '{}'::int[]) AS any_of_none, bloom_contains_all(f, '{}'::int[]) AS all_of_none FROM members;

DROP TABLE paths, answers, arrays, members;
