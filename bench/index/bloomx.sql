-- Lookups of 20 keys that are there and 20 that are not, by index and by sequential scan, everything in memory.
SET client_min_messages = warning;
CREATE EXTENSION bloomx;

CREATE FUNCTION measure(query text, index_scan bool, OUT ms float8, OUT buffers float8, OUT rows_found float8) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	times float8[] := '{}';
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index_scan)::text, true), set_config('enable_bitmapscan', index_scan::text, true);
	buffers := 0; rows_found := 0;
	FOR i IN 1 .. 40 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) ' || format(query, CASE WHEN i <= 20 THEN i * 1009 ELSE -i END) INTO plan;
		CONTINUE WHEN NOT index_scan AND i % 10 > 2;	-- the sequential scan takes the same time whatever the key
		times := times || (plan->0->>'Execution Time')::float8;
		buffers := buffers + (plan->0->'Plan'->>'Shared Hit Blocks')::float8 + (plan->0->'Plan'->>'Shared Read Blocks')::float8;
		rows_found := rows_found + (plan->0->'Plan'->>'Actual Rows')::float8;
	END LOOP;
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) INTO ms FROM unnest(times) t;
	buffers := buffers / cardinality(times); rows_found := rows_found / cardinality(times);
END $$;

CREATE FUNCTION report(title text, tab text, seconds float8) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	i record; s record; forms text[] := ARRAY['f @> %s', 'bloom_contains_any(f, ARRAY[%1$s, %1$s + 1, %1$s + 2, %1$s + 3])', 'bloom_contains_all(f, ARRAY[%1$s, %1$s + 1])'];
	form text; info record;
BEGIN
	SELECT * INTO info FROM bloomx_index_info((tab || '_f')::regclass);
	RETURN NEXT format(E'\n%s: table %s, index %s (%s times), built in %s s; %s bits, %s probes, %s segments\n', title,
		pg_size_pretty(pg_table_size(tab)), pg_size_pretty(pg_relation_size(tab || '_f')),
		round((pg_relation_size(tab || '_f') / pg_table_size(tab)::float8)::numeric, 2), round(seconds::numeric, 1), info.bits, info.probes, info.segments);
	RETURN NEXT '| condition | rows | index: ms | buffers | sequential scan: ms | buffers | times faster |';
	RETURN NEXT '|---|---|---|---|---|---|---|';
	FOREACH form IN ARRAY forms LOOP
		SELECT * INTO i FROM measure('SELECT FROM ' || tab || ' WHERE ' || form, true);
		SELECT * INTO s FROM measure('SELECT FROM ' || tab || ' WHERE ' || form, false);
		RETURN NEXT format('| `%s` | %s | %s | %s | %s | %s | %s |', replace(replace(form, '%1$s', 'k'), '%s', 'k'), round(i.rows_found), round(i.ms::numeric, 2), round(i.buffers),
			round(s.ms::numeric, 1), round(s.buffers), round((s.ms / i.ms)::numeric));
	END LOOP;
END $$;

CREATE PROCEDURE compare(title text, tab text, rows int, keys text, fpr float8) LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
	line text;
BEGIN
	EXECUTE format('CREATE TABLE %s (id int, f bloomfilter)', tab);
	EXECUTE format('INSERT INTO %1$s SELECT id, (SELECT bloom_agg((random() * 10000000)::int + 0 * k, %2$s, %3$s::float8) FROM generate_series(1, %2$s) k) FROM generate_series(1, %4$s) id', tab, keys, fpr, rows);
	start := clock_timestamp();
	EXECUTE format('CREATE INDEX %1$s_f ON %1$s USING bloomx (f)', tab);
	CREATE TEMP TABLE IF NOT EXISTS lines (n int GENERATED ALWAYS AS IDENTITY, line text);
	INSERT INTO lines (line) SELECT report(title, tab, extract(epoch FROM clock_timestamp() - start));
	-- inserts of rows that are there already, into a table with the index and into one without
	EXECUTE format('CREATE TABLE %1$s_plain (LIKE %1$s)', tab);
	start := clock_timestamp();
	EXECUTE format('INSERT INTO %1$s_plain SELECT * FROM %1$s WHERE id <= %2$s', tab, rows / 20);
	line := format('Inserting %s rows: %s s without the index, ', rows / 20, round(extract(epoch FROM clock_timestamp() - start)::numeric, 2));
	start := clock_timestamp();
	EXECUTE format('INSERT INTO %1$s SELECT * FROM %1$s WHERE id <= %2$s', tab, rows / 20);
	INSERT INTO lines (line) VALUES (E'\n' || line || format('%s s with it.', round(extract(epoch FROM clock_timestamp() - start)::numeric, 2)));
	start := clock_timestamp();
	EXECUTE format('SELECT bloomx_check_index(%L)', tab || '_f');
	INSERT INTO lines (line) VALUES (format('bloomx_check_index: %s s.', round(extract(epoch FROM clock_timestamp() - start)::numeric, 1)));
	EXECUTE format('DROP TABLE %1$s, %1$s_plain', tab);
END $$;

CALL compare(format('%s rows, 50 to 200 keys, 0.01 %%', :many), 'many', :many, '50 + id * 17 % 151', 0.0001);
SELECT line FROM lines ORDER BY n; TRUNCATE lines;
CALL compare(format('%s rows, 50 to 200 keys, 1 %%', :many), 'many', :many, '50 + id * 17 % 151', 0.01);
SELECT line FROM lines ORDER BY n; TRUNCATE lines;
CALL compare(format('%s rows, 10,000 keys, 0.01 %%', :few), 'few', :few, '10000 + 0 * id', 0.0001);
SELECT line FROM lines ORDER BY n; TRUNCATE lines;
CALL compare(format('%s rows, 10,000 keys, 1 %%', :few), 'few', :few, '10000 + 0 * id', 0.01);
SELECT line FROM lines ORDER BY n;
