-- Measures: the candidates of a group take turns in one session, round by round.
CREATE SCHEMA bench;
SET search_path = bench, public;
CREATE TABLE candidate (
	id int GENERATED ALWAYS AS IDENTITY,
	grp text,
	label text,
	query text,
	base bool,			-- the ratios that follow refer to it
	settings text,		-- 'name=value;name=value'
	repeat int,			-- number of runs per round
	disk float8,		-- bytes that it stores: a filter, an index
	big bool,			-- measure its memory and temporary files, too
	memory float8,		-- bytes
	temp float8
);
CREATE TABLE timing (id int, round int, ms float8);

CREATE FUNCTION candidate(grp text, label text, query text, base bool DEFAULT false, settings text DEFAULT NULL,
						  repeat int DEFAULT 1, disk float8 DEFAULT NULL, big bool DEFAULT false) RETURNS int
LANGUAGE sql AS $$
	INSERT INTO candidate (grp, label, query, base, settings, repeat, disk, big)
	VALUES (grp, label, query, base, settings, repeat, disk, big) RETURNING id
$$;

CREATE PROCEDURE apply(settings text) LANGUAGE plpgsql AS $$
DECLARE
	setting text;
BEGIN
	FOREACH setting IN ARRAY coalesce(string_to_array(settings, ';'), '{}') LOOP
		PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), false);
	END LOOP;
END $$;

CREATE PROCEDURE reset(settings text) LANGUAGE plpgsql AS $$
DECLARE
	setting text;
BEGIN
	FOREACH setting IN ARRAY coalesce(string_to_array(settings, ';'), '{}') LOOP
		EXECUTE 'RESET ' || split_part(setting, '=', 1);
	END LOOP;
END $$;

-- Round 0 warms up and does not count.
CREATE PROCEDURE run(only_group text, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	c candidate;
	start timestamptz;
	took float8;
BEGIN
	FOR r IN 0 .. rounds LOOP
		FOR c IN SELECT * FROM candidate WHERE grp = only_group ORDER BY id LOOP
			CALL apply(c.settings);
			start := clock_timestamp();
			FOR i IN 1 .. c.repeat LOOP
				EXECUTE c.query;
			END LOOP;
			took := extract(epoch FROM clock_timestamp() - start) * 1000 / c.repeat;
			CALL reset(c.settings);
			IF r > 0 THEN
				INSERT INTO timing VALUES (c.id, r, took);
			END IF;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

-- Runs a candidate once and records the size of its temporary files.
CREATE FUNCTION temp_files(candidate_id int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c candidate;
	plan json;
BEGIN
	SELECT * INTO c FROM candidate WHERE id = candidate_id;
	CALL apply(c.settings);
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) ' || c.query INTO plan;
	UPDATE candidate SET temp = (plan->0->'Plan'->>'Temp Written Blocks')::float8 * current_setting('block_size')::int WHERE id = c.id;
END $$;

CREATE FUNCTION milliseconds(ms float8) RETURNS text LANGUAGE sql AS $$
	SELECT round(ms::numeric, CASE WHEN ms < 1 THEN 4 WHEN ms < 10 THEN 3 WHEN ms < 100 THEN 1 ELSE 0 END)::text
$$;

CREATE FUNCTION ratio(x float8) RETURNS text LANGUAGE sql AS $$
	SELECT round(x::numeric, CASE WHEN x < 10 THEN 2 WHEN x < 100 THEN 1 ELSE 0 END)::text
$$;

CREATE FUNCTION megabytes(bytes float8) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN bytes IS NULL THEN '' ELSE round((bytes / 1e6)::numeric, CASE WHEN bytes < 1e6 THEN 3 WHEN bytes < 1e7 THEN 1 ELSE 0 END)::text END
$$;

-- Prints a Markdown table.  The ratio is the median of the ratios within the rounds; the milliseconds are that ratio
-- times the base's fastest round, so that the two columns agree.
CREATE FUNCTION report(only_group text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	with_disk bool := (SELECT bool_or(disk IS NOT NULL) FROM candidate WHERE grp = only_group);
	with_memory bool := (SELECT bool_or(big) FROM candidate WHERE grp = only_group);
	memory_columns text := CASE WHEN with_memory THEN ' memory, MB | temporary files, MB |' ELSE '' END;
	disk_column text := CASE WHEN with_disk THEN ' disk, MB |' ELSE '' END;
	c record;
BEGIN
	RETURN NEXT '| ' || only_group || ' | ratio | ms |' || memory_columns || disk_column;
	RETURN NEXT '|---|---|---|' || CASE WHEN with_memory THEN '---|---|' ELSE '' END || CASE WHEN with_disk THEN '---|' ELSE '' END;
	FOR c IN
		SELECT x.*, min(b.ms) AS base_ms, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms / b.ms) AS ratio
		FROM candidate x
		JOIN timing t USING (id)
		-- the base is the candidate itself or the nearest base before it
		JOIN LATERAL (SELECT id FROM candidate y WHERE y.grp = only_group AND y.base AND y.id <= x.id ORDER BY id DESC LIMIT 1) base ON true
		JOIN timing b ON b.id = base.id AND b.round = t.round
		WHERE x.grp = only_group
		GROUP BY x.id, x.grp, x.label, x.query, x.base, x.settings, x.repeat, x.disk, x.big, x.memory, x.temp
		ORDER BY x.id
	LOOP
		RETURN NEXT format('| %s | %s | %s |', c.label, CASE WHEN c.base THEN '1' ELSE ratio(c.ratio) END, milliseconds(c.ratio * c.base_ms))
			|| CASE WHEN with_memory THEN format(' %s | %s |', megabytes(c.memory), megabytes(nullif(c.temp, 0))) ELSE '' END
			|| CASE WHEN with_disk THEN format(' %s |', megabytes(c.disk)) ELSE '' END;
	END LOOP;
	RETURN NEXT '';
END $$;
