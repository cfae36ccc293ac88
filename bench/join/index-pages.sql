-- Few keys of a large table that has an index on them: 10 million rows of a million keys, in random order and in the order of their keys,
-- each with a btree; and 1.5 million wider rows, whose keys have a hash index, an index bloomx and a btree on texts.

CREATE TABLE scattered AS SELECT i AS id, pick(i, 31, greatest((1000000 * :scale)::int, 1))::int AS k, (i % 100)::int AS v FROM generate_series(1, (10000000 * :scale)::bigint) i;
CREATE INDEX ON scattered (k);
CREATE TABLE clustered AS SELECT i AS id, (i / 10)::int AS k, (i % 100)::int AS v FROM generate_series(1, (10000000 * :scale)::bigint) i;
CREATE INDEX ON clustered (k);
CREATE TABLE wide AS
SELECT i AS id, k AS by_hash, k AS by_bloomx, 'key ' || k AS by_text, repeat('x', 130) AS note
FROM (SELECT i, pick(i, 32, greatest((150000 * :scale)::int, 1))::int AS k FROM generate_series(1, (1500000 * :scale)::bigint) i) r;
CREATE INDEX ON wide USING hash (by_hash);
CREATE INDEX ON wide USING bloomx (by_bloomx);
CREATE INDEX ON wide (by_text);
-- n says how many keys a query has; they are anywhere
CREATE TABLE chosen AS SELECT i AS n, pick(i, 33, greatest((150000 * :scale)::int, 1))::int AS k, pick(i, 33, greatest((150000 * :scale)::int, 1)) AS k8, 'key ' || pick(i, 33, greatest((150000 * :scale)::int, 1)) AS t FROM generate_series(1, 10000) i;
