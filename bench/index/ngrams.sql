-- Needles in lines of text, by gin_trgm_ops and by the n-gram classes (run-ngrams).
SET client_min_messages = warning;
CREATE EXTENSION bloomx;
CREATE EXTENSION pg_trgm;
CREATE TABLE lines (line text);
COPY lines FROM :'lines';
VACUUM (ANALYZE, FREEZE) lines;
\echo | lines | text | table |
\echo |---|---|---|
SELECT '', count(*), pg_size_pretty(sum(octet_length(line))), pg_size_pretty(pg_relation_size('lines')), '' FROM lines;

CREATE TABLE candidates (name text, definition text, n int);
INSERT INTO candidates VALUES ('GIN, `gin_trgm_ops`', 'gin (line gin_trgm_ops)', 1),
	('BRIN, 4 pages', 'brin (line text_ngram_bloomx_ops) WITH (pages_per_range = 4)', 2),
	('BRIN, 2 pages', 'brin (line text_ngram_bloomx_ops) WITH (pages_per_range = 2)', 3),
	('BRIN, 8 pages', 'brin (line text_ngram_bloomx_ops) WITH (pages_per_range = 8)', 4),
	('bloomx', 'bloomx (line text_ngram_ops)', 5);
CREATE TABLE built (n int, seconds float8, bytes bigint);
-- Milliseconds of the processor that this process has used: other work on the machine counts less than on the clock.  (Linux; the first file brings the second up to date.)
CREATE FUNCTION cpu() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_read_file('/proc/self/stat');
	RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
END $$;
CREATE PROCEDURE build(round int) LANGUAGE plpgsql AS $$
DECLARE c record; start float8;
BEGIN
	FOR c IN SELECT * FROM candidates ORDER BY candidates.n LOOP
		EXECUTE format('DROP INDEX IF EXISTS by_%s', c.n);
		COMMIT;
		start := cpu();
		EXECUTE format('CREATE INDEX by_%s ON lines USING %s', c.n, c.definition);
		INSERT INTO built VALUES (c.n, (cpu() - start) / 1000, pg_relation_size(format('by_%s', c.n)));
		COMMIT;
	END LOOP;
END $$;
CALL build(1);
-- The small ones once more: their median of three.
DELETE FROM candidates WHERE n = 1;
CALL build(2);
CALL build(3);
INSERT INTO candidates VALUES ('GIN, `gin_trgm_ops`', 'gin (line gin_trgm_ops)', 1);

-- Rare needles: 6 to 12 letters from random lines, without many blanks, that at most 20 lines have.
CREATE TABLE needles AS
SELECT row_number() OVER (ORDER BY md5(needle)) AS n, needle
FROM (SELECT DISTINCT substr(line, 1 + (abs(hashtext(line)) % greatest(length(line) - 12, 1)), 6 + abs(hashtext(line || 'x')) % 7) AS needle
      FROM lines TABLESAMPLE SYSTEM (1) REPEATABLE (1)) s
WHERE length(needle) >= 6 AND needle !~ '[%_\\]|\s.*\s' AND needle ~ '^[ -~]*$';
DELETE FROM needles WHERE n > 200;
CREATE FUNCTION rows_with(needle text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM lines WHERE line LIKE %L', '%' || needle || '%') INTO n;
	RETURN n;
END $$;
DELETE FROM needles WHERE rows_with(needle) > 20;
DELETE FROM needles k WHERE (SELECT count(*) FROM needles o WHERE o.n < k.n) >= 60;

-- The plan that the server chooses, with one index at a time; the fastest of three, without the time to plan.
CREATE TABLE found (n int, operator text, needle text, ms float8, pages int, rows int, node text);
CREATE FUNCTION find(index int, operator text) RETURNS SETOF found LANGUAGE plpgsql AS $$
DECLARE k record; plan json; query text; best float8; rows int; node json; start float8; planned float8;
BEGIN
	FOR k IN SELECT * FROM needles ORDER BY needles.n LOOP
		best := NULL;
		query := format('SELECT count(*) FROM lines WHERE line %s %L', operator,
		                CASE WHEN operator LIKE '%LIKE' THEN '%' || k.needle || '%' ELSE regexp_replace(k.needle, '\W', '\\\&', 'g') END);
		EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
		node := plan #> '{0,Plan,Plans,0}';
		FOR i IN 1..3 LOOP
			start := cpu();
			EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
			planned := cpu();
			EXECUTE query INTO rows;
			best := least(best, cpu() - planned - (planned - start));
		END LOOP;
		RETURN NEXT (index, operator, k.needle, best, (node ->> 'Exact Heap Blocks')::int + (node ->> 'Lossy Heap Blocks')::int, rows, node ->> 'Node Type');
	END LOOP;
END $$;
CREATE PROCEDURE find_by(index int, operator text) LANGUAGE plpgsql AS $$
DECLARE results found[]; i int;
BEGIN
	BEGIN
		FOR i IN 1..5 LOOP
			IF i <> index THEN EXECUTE format('DROP INDEX by_%s', i); END IF;
		END LOOP;
		results := ARRAY(SELECT f FROM find(index, operator) f);
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
		NULL;
	END;
	INSERT INTO found SELECT * FROM unnest(results);
END $$;
\echo
\echo | operator | index | size | built | needle, median | 90 % | times GIN, median | heap pages, median | 90 % | another plan |
\echo |---|---|---|---|---|---|---|---|---|---|
CALL find_by(1, 'LIKE'); CALL find_by(2, 'LIKE'); CALL find_by(3, 'LIKE'); CALL find_by(4, 'LIKE'); CALL find_by(5, 'LIKE');
CREATE FUNCTION report(operator text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' | ', '', operator, name, pg_size_pretty(max(bytes)), round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 1) || ' s',
	                 (SELECT concat_ws(' | ', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2) || ' ms', round(percentile_cont(0.9) WITHIN GROUP (ORDER BY ms)::numeric, 2) || ' ms',
	                                   round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms / gin_ms)::numeric, 2),
	                                   percentile_disc(0.5) WITHIN GROUP (ORDER BY pages), percentile_disc(0.9) WITHIN GROUP (ORDER BY pages), count(*) FILTER (WHERE node <> 'Bitmap Heap Scan')) FROM found f JOIN (SELECT needle, ms AS gin_ms FROM found g WHERE g.n = 1) g USING (needle) WHERE f.n = c.n), '')
	FROM candidates c JOIN built USING (n) GROUP BY c.n, name ORDER BY c.n
$$;
SELECT report('`LIKE`');
TRUNCATE found;
-- (Regular expressions take longer to check than to find: fewer.)
DELETE FROM needles k WHERE (SELECT count(*) FROM needles o WHERE o.n < k.n) >= 20;
CALL find_by(1, '~*'); CALL find_by(2, '~*'); CALL find_by(3, '~*'); CALL find_by(4, '~*'); CALL find_by(5, '~*');
SELECT report('`~*`');
SELECT CASE WHEN count(DISTINCT rows) > 1 THEN 'WRONG: ' || needle END FROM found GROUP BY needle HAVING count(DISTINCT rows) > 1;
