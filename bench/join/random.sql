-- Pseudo-random numbers that are the same in every run: functions of a row's number and a column's.

-- From 0 to below n, all alike.
CREATE FUNCTION pick(i bigint, seed int, n bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (hashint8extended(i, seed) & 4611686018427387903) % n;

-- From 0 to below 1.
CREATE FUNCTION part(i bigint, seed int) RETURNS float8
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN pick(i, seed, 1000000000) / 1e9;

-- From 0 to below n, small numbers more often: half of them are below n / 8.
CREATE FUNCTION skew(i bigint, seed int, n bigint) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (n * part(i, seed) ^ 3)::bigint;

-- One of the words.
CREATE FUNCTION word(i bigint, seed int, words text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN words[1 + pick(i, seed, cardinality(words))];

-- The 25 nations, five in each of the five regions.
CREATE VIEW nations AS
SELECT (n - 1)::int AS nation, name, ((n - 1) / 5)::int AS region, regions[(n - 1) / 5 + 1] AS region_name
FROM unnest(ARRAY['ALGERIA', 'ETHIOPIA', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'ARGENTINA', 'BRAZIL', 'CANADA', 'PERU', 'UNITED STATES',
	'CHINA', 'INDIA', 'INDONESIA', 'JAPAN', 'VIETNAM', 'FRANCE', 'GERMANY', 'ROMANIA', 'RUSSIA', 'UNITED KINGDOM',
	'EGYPT', 'IRAN', 'IRAQ', 'JORDAN', 'SAUDI ARABIA']) WITH ORDINALITY u(name, n),
	(SELECT ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'] AS regions) r;
