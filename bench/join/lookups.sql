-- Nested loops that become lookups: 22,000 rows and 6,300, of which the planner expects what it likes.
CREATE TABLE outr AS SELECT g AS id, g * 7919 % 6300 AS k, 'key ' || g * 7919 % 6300 AS t, (g * 7919 % 6300)::numeric AS n, g % 100 AS v FROM generate_series(1, 22000) g;
CREATE TABLE inr AS SELECT g AS k, g % 50 AS k2, 'key ' || g AS t, g::numeric AS n, g % 10 AS v FROM generate_series(1, 6300) g;
CREATE TABLE wide AS SELECT g AS k, repeat('value ' || g, 30) AS t FROM generate_series(1, 6300) g;
SELECT format('CREATE TABLE outr_%s AS SELECT * FROM outr LIMIT %s', n, n) FROM unnest(ARRAY[1, 8, 9, 12, 17, 30, 137, 100, 1000, 3000]) n \gexec
SELECT format('CREATE TABLE inr_%s AS SELECT * FROM inr LIMIT %s', n, n) FROM unnest(ARRAY[2, 10, 60]) n \gexec
