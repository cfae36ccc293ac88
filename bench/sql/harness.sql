-- The measuring: candidates of a group take turns in one session, round by round.
CREATE SCHEMA bench;
SET search_path = bench, public;
CREATE TABLE candidate (id int GENERATED ALWAYS AS IDENTITY, grp text, label text, query text, base bool, settings text, per float8 DEFAULT 1, repeat int DEFAULT 1);
CREATE TABLE timing (id int, round int, ms float8);

CREATE FUNCTION candidate(grp text, label text, query text, base bool DEFAULT false, settings text DEFAULT NULL, repeat int DEFAULT 1) RETURNS int
LANGUAGE sql AS $$ INSERT INTO bench.candidate (grp, label, query, base, settings, repeat) VALUES (grp, label, query, base, settings, repeat) RETURNING id $$;

-- Round 0 warms up and does not count.
CREATE PROCEDURE run(only_group text, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	c bench.candidate;
	start timestamptz;
	took float8;
	setting text;
BEGIN
	FOR r IN 0 .. rounds LOOP
		FOR c IN SELECT * FROM bench.candidate WHERE grp = only_group ORDER BY id LOOP
			FOREACH setting IN ARRAY coalesce(string_to_array(c.settings, ';'), '{}') LOOP
				PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), false);
			END LOOP;
			start := clock_timestamp();
			FOR i IN 1 .. c.repeat LOOP
				EXECUTE c.query;
			END LOOP;
			took := extract(epoch FROM clock_timestamp() - start) * 1000 / c.repeat;
			FOREACH setting IN ARRAY coalesce(string_to_array(c.settings, ';'), '{}') LOOP
				EXECUTE 'RESET ' || split_part(setting, '=', 1);
			END LOOP;
			IF r > 0 THEN
				INSERT INTO bench.timing VALUES (c.id, r, took);
			END IF;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

-- A Markdown table: medians, and medians of the ratios within the rounds.
CREATE FUNCTION report(only_group text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT '| ' || only_group || ' | ms, median | fastest | ratio to the base (median of the rounds'') |'
	UNION ALL SELECT '|---|---|---|---|'
	UNION ALL (
		SELECT format('| %s | %s | %s | %s |', c.label,
			round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms)::numeric, CASE WHEN min(t.ms) < 10 THEN 3 ELSE 0 END),
			round(min(t.ms)::numeric, CASE WHEN min(t.ms) < 10 THEN 3 ELSE 0 END),
			CASE WHEN c.base THEN '1' ELSE round(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms / b.ms)::numeric, 2)::text END)
		FROM bench.candidate c
		JOIN bench.timing t USING (id)
		-- the base is the nearest one before or at the candidate
		JOIN LATERAL (SELECT id FROM bench.candidate x WHERE x.grp = only_group AND x.base AND x.id <= c.id ORDER BY id DESC LIMIT 1) base ON true
		JOIN bench.timing b ON b.id = base.id AND b.round = t.round
		WHERE c.grp = only_group
		GROUP BY c.id, c.label, c.base ORDER BY c.id)
	UNION ALL SELECT ''
$$;
