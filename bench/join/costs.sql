-- What one row costs: two million rows that all have a partner, or none, in hash tables of 1,000 and of a million rows.

CREATE TABLE large AS
SELECT (1 + pick(i, 1, 1000))::int AS k1, (1 + pick(i, 2, 1000000))::int AS k2, 'filler ' || i AS filler, (1 + pick(i, 2, 1000000))::int AS late, 'key ' || 1 + pick(i, 1, 1000) AS t
FROM generate_series(1, 2000000) i;
CREATE TABLE few AS SELECT i::int AS k, i::bigint * 1000000007 AS wide, 'key ' || i AS t FROM generate_series(1, 1000) i;
CREATE TABLE many AS SELECT i::int AS k, 'key ' || i AS t FROM generate_series(1, 1000000) i;
CREATE TABLE scattered AS SELECT (i * 2147 - 1073741824)::int AS k FROM generate_series(1, 1000000) i;
CREATE TABLE one AS SELECT 1 AS k, 'key 1' AS t, 2147 - 1073741824 AS scattered;
