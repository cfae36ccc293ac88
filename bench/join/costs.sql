-- What one row costs: two million rows that all have a partner, or none, in hash tables of 1,000 and of a million rows.

CREATE TABLE large AS
SELECT (1 + pick(i, 1, 1000))::int AS k1, (1 + pick(i, 2, 1000000))::int AS k2, (1 + pick(i, 1, 1000)) * 1000000007::bigint AS wide, md5((1 + pick(i, 1, 1000))::text)::uuid AS u, 'filler ' || i AS filler, (1 + pick(i, 2, 1000000))::int AS late, 'key ' || 1 + pick(i, 1, 1000) AS t,
       (1 + pick(i, 1, 1000))::numeric AS n
FROM generate_series(1, 2000000) i;
CREATE TABLE few AS SELECT i::int AS k, i::bigint * 1000000007 AS wide, 'key ' || i AS t, md5(i::text)::uuid AS u, i::numeric AS n FROM generate_series(1, 1000) i;
CREATE TABLE many AS SELECT i::int AS k, 'key ' || i AS t FROM generate_series(1, 1000000) i;
CREATE TABLE scattered AS SELECT (i * 2147 - 1073741824)::int AS k FROM generate_series(1, 1000000) i;
-- So many pages that the inner side is read first, and few rows to test.
CREATE TABLE padded AS
SELECT i AS k, 'key ' || i AS t, i * 2147 - 1073741824 AS scattered, rpad(i::text, 1600) AS filler FROM generate_series(1, 100000) i;
