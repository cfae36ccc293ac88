-- Measures every lookup by every method, in turns.  Table t has the filters; the data sets fill `sought`.
SET client_min_messages = warning;
CREATE EXTENSION bloomx;

CREATE TABLE form (kind text, label text, condition text, methods text DEFAULT '.');
INSERT INTO form (kind, label, condition) VALUES
	('absent', 'a key that no row has', 'f @> (%1$s)[1]'),
	('present', 'a key of few rows', 'f @> (%1$s)[1]'),
	('frequent', 'a key of 1 % of the rows', 'f @> (%1$s)[1]'),
	('any', 'any of four keys of few rows', 'bloom_contains_any(f, %1$s)'),
	('all', 'both of two keys of one row', 'bloom_contains_all(f, %1$s)'),
	('overlap', 'overlap with a filter of three absent keys', 'f && bloom_add_all(bloom_empty(%3$s, %2$s), %1$s)');

CREATE TABLE method (id int, name text, ddl text);
INSERT INTO method VALUES
	(1, 'seq', NULL),
	(2, 'bloomx', 'CREATE INDEX t_bloomx ON t USING bloomx (f)');
DELETE FROM method WHERE name !~ :'methods' AND name <> 'seq';

-- What to look for in each round: literals of arrays of keys.
CREATE TABLE sought (kind text, round int, keys text);
CREATE TABLE lookup (kind text, round int, condition text, ids int[]);
CREATE TABLE timing (kind text, round int, method text, ms float8, buffers float8, ids int);
CREATE TABLE insertion (method text, round int, microseconds float8);
CREATE TABLE built (method text, seconds float8, bytes bigint);

-- Hides all indexes of t except the method's, from queries or from inserts.
CREATE FUNCTION use(only_method text, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE pg_index SET %I = (indexrelid = to_regclass(%L)) IS TRUE WHERE indrelid = %L::regclass', what, 't_' || only_method, 't');
	PERFORM set_config('enable_seqscan', (only_method = 'seq')::text, false);
END $$;

CREATE FUNCTION measure(condition text, OUT ms float8, OUT buffers float8, OUT pages_read float8) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT json) SELECT id FROM t WHERE ' || condition INTO plan;
	ms := (plan->0->>'Execution Time')::float8;
	pages_read := (plan->0->'Plan'->>'Shared Read Blocks')::float8;
	buffers := pages_read + (plan->0->'Plan'->>'Shared Hit Blocks')::float8;
END $$;

-- Runs a lookup by a method twice: once to compare what it finds, once to measure it.
CREATE FUNCTION look_up(only_method text, l lookup) RETURNS void LANGUAGE plpgsql AS $$
DECLARE found int[];
BEGIN
	PERFORM use(only_method, 'indisvalid');
	EXECUTE 'SELECT coalesce(array_agg(id ORDER BY id), ''{}'') FROM t WHERE ' || l.condition INTO found;
	IF only_method = 'seq' THEN
		UPDATE lookup SET ids = found WHERE kind = l.kind AND round = l.round;
	ELSIF found IS DISTINCT FROM (SELECT ids FROM lookup WHERE kind = l.kind AND round = l.round) THEN
		RAISE '% does not find the rows of the sequential scan: %', only_method, l.condition;
	END IF;
	INSERT INTO timing SELECT l.kind, l.round, only_method, m.ms, m.buffers, cardinality(found) FROM measure(l.condition) m;
END $$;

-- The sequential scan comes first, because the other methods are compared with it; their order changes from round to round.
CREATE PROCEDURE take_turns() LANGUAGE plpgsql AS $$
DECLARE l lookup; m text;
BEGIN
	FOR l IN SELECT * FROM lookup ORDER BY round, kind LOOP
		FOR m IN SELECT name FROM method JOIN form ON name ~ methods WHERE kind = l.kind ORDER BY name <> 'seq', (id + l.round) % 3 LOOP
			PERFORM look_up(m, l);
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

CREATE PROCEDURE build() LANGUAGE plpgsql AS $$
DECLARE m method; start timestamptz;
BEGIN
	INSERT INTO built VALUES ('seq', 0, pg_table_size('t'));
	FOR m IN SELECT * FROM method WHERE ddl IS NOT NULL ORDER BY id LOOP
		start := clock_timestamp();
		EXECUTE m.ddl;
		INSERT INTO built VALUES (m.name, extract(epoch FROM clock_timestamp() - start), pg_relation_size('t_' || m.name));
		COMMIT;
	END LOOP;
END $$;

-- Inserts rows that are in the table a second time.  Runs last, because the other indexes do not get these rows.
CREATE PROCEDURE insert_rows(rounds int) LANGUAGE plpgsql AS $$
DECLARE m text; start timestamptz; n int := (SELECT count(*) FROM rows_to_insert);
BEGIN
	FOR r IN 1 .. rounds LOOP
		FOR m IN SELECT name FROM method ORDER BY id LOOP
			PERFORM use(m, 'indisready');
			PERFORM set_config('enable_seqscan', 'on', false);
			COMMIT;
			start := clock_timestamp();
			INSERT INTO t SELECT id, f FROM rows_to_insert;
			INSERT INTO insertion VALUES (m, r, extract(epoch FROM clock_timestamp() - start) * 1e6 / n);
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

-- A lookup with nothing in memory except what planning reads.
CREATE FUNCTION cold(only_method text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE l lookup;
BEGIN
	SELECT * FROM lookup WHERE kind = 'present' AND round = 1 INTO l;
	PERFORM use(only_method, 'indisvalid');
	EXECUTE 'EXPLAIN SELECT id FROM t WHERE ' || l.condition;
	INSERT INTO timing SELECT 'cold', 1, only_method, m.ms, m.pages_read, cardinality(l.ids) FROM measure(l.condition) m;
END $$;

CREATE FUNCTION median(float8[]) RETURNS numeric LANGUAGE sql AS
	'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x)::numeric FROM unnest($1) x';

CREATE FUNCTION digits(x numeric) RETURNS text LANGUAGE sql AS
	'SELECT CASE WHEN x < 10 THEN round(x, 2) WHEN x < 100 THEN round(x, 1) ELSE round(x) END::text';

-- Milliseconds, buffers, and how many times faster than the sequential scan: the median of the ratios within the rounds.
-- The milliseconds of an index are those of the sequential scan over that ratio, so that the two agree.
CREATE FUNCTION cell(of_kind text, of_method text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(digits(median(array_agg(s.ms)) / median(array_agg(s.ms / t.ms))) || ' ms, ' || digits(round(median(array_agg(t.buffers)))) ||
		CASE WHEN of_method <> 'seq' THEN ', **' || digits(median(array_agg(s.ms / t.ms))) || '**' ELSE '' END, '')
	FROM timing t JOIN timing s USING (kind, round) WHERE kind = of_kind AND t.method = of_method AND s.method = 'seq'
$$;

CREATE FUNCTION report(data text, n int, rate float8, room int) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(E'\n### %s: %s rows, %s %%%s\n', data, n, rate * 100, CASE WHEN room > 1 AND data <> 'kmers' THEN format(', room for %s keys', room) ELSE '' END)
	UNION ALL SELECT '| milliseconds, buffers, **times faster** | rows | sequential scan | `bloomx` |'
	UNION ALL SELECT '|---|---|---|---|'
	UNION ALL SELECT format('| %s | %s | %s | %s |', label, (SELECT round(median(array_agg(ids))) FROM timing t WHERE t.kind = f.kind),
		cell(kind, 'seq'), cell(kind, 'bloomx'))
	FROM form f
	WHERE kind IN (SELECT kind FROM timing)
$$;

CREATE FUNCTION report_cold() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('| a key of few rows, nothing in memory; pages read | %s | %s | %s |', max(ids),
		cell('cold', 'seq'), cell('cold', 'bloomx'))
	FROM timing WHERE kind = 'cold'
$$;

CREATE FUNCTION report_costs() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT E'\n| | size | times the table | built in | a row inserted |\n|---|---|---|---|---|'
	UNION ALL (SELECT format('| %s | %s | %s | %s | %s us |', coalesce(nullif(name, 'seq'), 'table alone'), pg_size_pretty(bytes),
		round((bytes::numeric / (SELECT bytes FROM built WHERE method = 'seq')), 2), digits(seconds::numeric) || ' s',
		(SELECT round(median(array_agg(microseconds))) FROM insertion i WHERE i.method = m.name))
	FROM built JOIN method m ON name = method ORDER BY id)
$$;
