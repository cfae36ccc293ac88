-- BRIN: the operator classes of bloomx compared with PostgreSQL's own bloom classes, on one table.
-- Variables: rows, rounds, keys, few, only.
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;
CREATE EXTENSION bloomx;

-- 12,000 rows take about 128 pages.
CREATE TABLE t AS
SELECT hashint8extended(i, 1) AS random,					-- as many values as rows
	   hashint8extended(i / 100 + i * 7919 % 50, 2) AS clustered,	-- about 170 values in 128 pages, each in one or two ranges
	   hashint8extended(i % 500, 3) AS low,					-- 500 values, all in every range
	   hashint8extended(i / 12000 << 32 | i % (1 << (i / 12000 % 14)::int), 4) AS skewed,	-- 1, 2, 4 ... 8,192 values in 128 pages
	   (i % 1000) << 32 | (i / 1000 % 1000) AS composed,	-- two numbers in one key
	   to_hex(hashint8extended(i / 10, 5)) AS word			-- 1,200 values in 128 pages
FROM generate_series(1, :rows::bigint) i;
VACUUM (ANALYZE) t;
CREATE TABLE located AS SELECT (ctid::text::point)[0]::int AS block, * FROM t;	-- the page of each row

CREATE TABLE candidate (name text, label text, class text, seconds float8[] DEFAULT '{}', bytes bigint);
CREATE TABLE probe (id int, key text, present bool, ranges int);	-- ranges: the number of ranges that hold the key
CREATE TABLE measured (name text, round int, id int, ms float8, blocks int, buffers int);
CREATE TABLE line (n int GENERATED ALWAYS AS IDENTITY, line text);

-- The mean and the largest number of distinct values per range.
CREATE FUNCTION distinct_in_ranges(col text, pages int, OUT mean float8, OUT most int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT avg(n), max(n) FROM (SELECT count(DISTINCT %I) AS n FROM located GROUP BY block / %s) c', col, pages)
		INTO mean, most;
END $$;

-- Chooses 20 keys that are in the table, with the number of ranges that hold them, and `absent` keys that are not.
CREATE PROCEDURE choose_probes(col text, pages int, absent int) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE probe;
	EXECUTE format('INSERT INTO probe SELECT row_number() OVER (), k::text, true FROM (SELECT DISTINCT %1$I AS k FROM t TABLESAMPLE SYSTEM (0.5) REPEATABLE (1) ORDER BY 1 LIMIT 20) s', col);
	EXECUTE format('UPDATE probe SET ranges = n FROM (SELECT %1$I::text AS key, count(DISTINCT block / %2$s) AS n FROM located
		WHERE %1$I = ANY (SELECT key::%3$s FROM probe) GROUP BY 1) s WHERE s.key = probe.key',
		col, pages, (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = col));
	INSERT INTO probe SELECT 1000 + i, CASE col WHEN 'word' THEN to_hex(hashint8extended(-i, 6)) WHEN 'composed' THEN ((i * 7 % 1000)::bigint << 32 | 1000 + i % 24)::text
		ELSE hashint8extended(-i, 6)::text END, false, 0 FROM generate_series(1, absent) i;
END $$;

-- The indexes of all candidates exist, but the planner sees only one.
CREATE FUNCTION ask(candidate text, key text, col text, OUT ms float8, OUT blocks int, OUT buffers int) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	UPDATE pg_index SET indisvalid = NOT indisvalid WHERE indrelid = 't'::regclass AND indisvalid <> (indexrelid::regclass::text = candidate);
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) SELECT FROM t WHERE %I = %L', col, key) INTO plan;
	plan := plan -> 0;
	ms := (plan ->> 'Execution Time')::float8;
	plan := plan -> 'Plan';
	blocks := coalesce((plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int, (SELECT relpages FROM pg_class WHERE relname = 't'));
	buffers := (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;

CREATE PROCEDURE compare(title text, col text, pages int, rounds int, absent int, few int) LANGUAGE plpgsql AS $$
DECLARE
	kind text := CASE col WHEN 'word' THEN 'text' ELSE 'int8' END;
	d record; c record; p record; m record; start timestamptz; relpages float8; n_ranges float8;
BEGIN
	relpages := (SELECT x.relpages FROM pg_class x WHERE x.relname = 't');
	n_ranges := ceil(relpages / pages);
	d := distinct_in_ranges(col, pages);
	TRUNCATE candidate; TRUNCATE measured;
	INSERT INTO candidate VALUES
		('i_ours', 'bloomx', kind || '_bloomx_ops'),
		('i_ours_fine', 'bloomx, `fpr = 0.0001`', kind || '_bloomx_ops (fpr = 0.0001)'),
		('i_core', 'core, defaults', kind || '_bloom_ops'),
		('i_told', format('core, told %s values', least(d.most, 6700)), format('%s_bloom_ops (n_distinct_per_range = %s)', kind, least(greatest(d.most, 1), 6700)));
	FOR r IN 1 .. rounds LOOP
		FOR c IN SELECT * FROM candidate LOOP
			EXECUTE 'DROP INDEX IF EXISTS ' || c.name;
			start := clock_timestamp();
			EXECUTE format('CREATE INDEX %s ON t USING brin (%I %s) WITH (pages_per_range = %s)', c.name, col, c.class, pages);
			UPDATE candidate SET seconds = seconds || extract(epoch FROM clock_timestamp() - start)::float8, bytes = pg_relation_size(c.name) WHERE name = c.name;
		END LOOP;
	END LOOP;
	CALL choose_probes(col, pages, absent);
	PERFORM set_config('enable_seqscan', 'off', false);
	FOR p IN SELECT * FROM probe ORDER BY id LOOP
		FOR c IN SELECT * FROM candidate LOOP
			-- an index whose summaries exclude nothing reads the whole table every time; a few probes are enough to show that
			CONTINUE WHEN p.id % 1000 > few AND (SELECT avg(blocks) FROM measured WHERE name = c.name AND (id > 1000) = (p.id > 1000)) > 0.2 * relpages;
			m := ask(c.name, p.key, col);
			INSERT INTO measured VALUES (c.name, 0, p.id, m.ms, m.blocks, m.buffers);
		END LOOP;
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', false);
	FOR p IN SELECT * FROM probe WHERE id IN (1, 2, 1001) LOOP
		m := ask('none', p.key, col);
		INSERT INTO measured VALUES ('none', 0, p.id, m.ms, m.blocks, m.buffers);
	END LOOP;
	INSERT INTO line (line) VALUES (format(E'\n%s, %s pages a range: %s ranges with %s distinct values on average, %s at most; the sequential scan reads %s blocks in %s ms\n', title, pages, n_ranges, round(d.mean), d.most, relpages,
		(SELECT round(min(ms)::numeric) FROM measured WHERE name = 'none')));
	INSERT INTO line (line) VALUES ('| summaries | index | built | false ranges, absent keys | present keys | heap blocks read, absent / present | buffers, absent / present | ms, absent / present |'), ('|---|---|---|---|---|---|---|---|');
	INSERT INTO line (line)
	-- a build's seconds: the median of the ratios within the rounds, times the median of the first index
	SELECT format('| %s | %s | %s s | %s %% | %s %% | %s / %s | %s / %s | %s / %s |', label, pg_size_pretty(bytes),
		round(((SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) FROM unnest(o.seconds) s)
			* (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s / o.seconds[i]) FROM unnest(k.seconds) WITH ORDINALITY u(s, i)))::numeric, 1),
		round((100 * a.false)::numeric, 2), round((100 * b.false)::numeric, 2), round(a.blocks), round(b.blocks), round(a.buffers), round(b.buffers), round(a.ms::numeric, 1), round(b.ms::numeric, 1))
	FROM candidate k, (SELECT seconds FROM candidate WHERE name = 'i_ours') o,
		LATERAL (SELECT avg(blocks / relpages) AS false, avg(blocks) AS blocks, avg(buffers) AS buffers, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms
			FROM measured x JOIN probe USING (id) WHERE x.name = k.name AND NOT present) a,
		LATERAL (SELECT coalesce(sum(ceil(blocks / pages::float8) - probe.ranges) / nullif(sum(n_ranges - probe.ranges), 0), 0) AS false, avg(blocks) AS blocks, avg(buffers) AS buffers, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms
			FROM measured x JOIN probe USING (id) WHERE x.name = k.name AND present) b
	ORDER BY k.name LIKE 'i_ours%' DESC, k.name;
	FOR c IN SELECT * FROM candidate LOOP
		EXECUTE 'DROP INDEX ' || c.name;
	END LOOP;
END $$;

CREATE TABLE comparison (n int GENERATED ALWAYS AS IDENTITY, title text, col text, pages int);
INSERT INTO comparison (title, col, pages) VALUES
	('Clustered keys', 'clustered', 128), ('Random keys', 'random', 128), ('Random keys', 'random', 16),
	('Ranges of 1 to 8,192 keys', 'skewed', 128), ('500 keys everywhere', 'low', 128), ('Words', 'word', 128), ('Keys of two numbers', 'composed', 16),
	('Clustered keys', 'clustered', 16), ('Random keys', 'random', 8), ('Ranges of 1 to 8,192 keys', 'skewed', 16), ('500 keys everywhere', 'low', 16),
	('Words', 'word', 16), ('Keys of two numbers', 'composed', 128);
SELECT format('%s rows, %s', to_char(count(*), 'FM999,999,999'), pg_size_pretty(pg_table_size('t'))) FROM t;
SELECT format('CALL compare(%L, %L, %s, %s, %s, %s); SELECT line FROM line ORDER BY n; TRUNCATE line', title, col, pages, :rounds, :keys, :few)
FROM comparison WHERE title || ' ' || pages ~ :'only' ORDER BY n \gexec

-- Few values per range and a low rate: ranges of one page, each of 226 rows with per_page values.
CREATE PROCEDURE compare_small(per_page int, pages int, absent int) LANGUAGE plpgsql AS $$
DECLARE
	c record; k int; m record; relpages float8;
BEGIN
	DROP TABLE IF EXISTS t;
	EXECUTE format('CREATE TABLE t AS SELECT hashint8extended(i / 226 * %1$s + i %% %1$s, 7) AS k FROM generate_series(0, 226 * %2$s - 1) i', per_page, pages);
	ANALYZE t;
	relpages := (SELECT x.relpages FROM pg_class x WHERE x.relname = 't');
	TRUNCATE candidate; TRUNCATE measured;
	INSERT INTO candidate VALUES ('i_ours', 'bloomx', 'int8_bloomx_ops (fpr = 0.0001)'),
		('i_core', 'core', format('int8_bloom_ops (n_distinct_per_range = %s, false_positive_rate = 0.0001)', per_page));
	PERFORM set_config('enable_seqscan', 'off', false);
	FOR c IN SELECT * FROM candidate LOOP
		EXECUTE format('CREATE INDEX %s ON t USING brin (k %s) WITH (pages_per_range = 1)', c.name, c.class);
	END LOOP;
	FOR k IN 1 .. absent LOOP
		FOR c IN SELECT * FROM candidate LOOP
			m := ask(c.name, hashint8extended(-k, 8)::text, 'k');
			INSERT INTO measured VALUES (c.name, 0, k, m.ms, m.blocks, m.buffers);
		END LOOP;
	END LOOP;
	INSERT INTO line (line) SELECT format('| %s | %s | %s | %s %% | %s |', per_page, c2.label, pg_size_pretty(pg_relation_size(c2.name)), round((100 * avg(blocks) / relpages)::numeric, 4),
		round((avg(blocks) / relpages / 0.0001)::numeric, 1)) FROM measured JOIN candidate c2 USING (name) GROUP BY c2.name, c2.label ORDER BY c2.name DESC;
END $$;
SELECT 'small' ~ :'only' AS small \gset
\if :small
INSERT INTO line (line) VALUES (E'\nA rate of 0.01 %, ranges of one page with few values\n'), ('| values in a range | summaries | index | false ranges | times the rate asked for |'), ('|---|---|---|---|---|');
SELECT format('CALL compare_small(%s, 2000, 200)', n) FROM unnest(ARRAY[16, 32, 64, 128]) n \gexec
SELECT line FROM line ORDER BY n;
\endif
