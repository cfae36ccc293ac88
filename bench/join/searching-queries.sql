-- Nested loops that search an index of a table for each row, of which so many percent find nothing. The last ones have nothing to gain.
-- integers, 100 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 100 THEN o.miss ELSE o.hit END;
-- integers, 99 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 99 THEN o.miss ELSE o.hit END;
-- integers, 90 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 90 THEN o.miss ELSE o.hit END;
-- integers, 75 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 75 THEN o.miss ELSE o.hit END;
-- integers, 50 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 50 THEN o.miss ELSE o.hit END;
-- integers, 25 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 25 THEN o.miss ELSE o.hit END;
-- integers, 10 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 10 THEN o.miss ELSE o.hit END;
-- integers, 5 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 5 THEN o.miss ELSE o.hit END;
-- integers, 1 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 1 THEN o.miss ELSE o.hit END;
-- integers, 0 % of the searches find nothing
SELECT count(i.v) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 0 THEN o.miss ELSE o.hit END;
-- texts, 100 %
SELECT count(i.v) FROM outr o JOIN inr i ON i.t = CASE WHEN o.r < 100 THEN o.t_miss ELSE o.t_hit END;
-- texts, 50 %
SELECT count(i.v) FROM outr o JOIN inr i ON i.t = CASE WHEN o.r < 50 THEN o.t_miss ELSE o.t_hit END;
-- texts, 0 %
SELECT count(i.v) FROM outr o JOIN inr i ON i.t = CASE WHEN o.r < 0 THEN o.t_miss ELSE o.t_hit END;
-- uuids, LEFT JOIN, 100 %
SELECT count(i.v) FROM outr o LEFT JOIN inr i ON i.u = CASE WHEN o.r < 100 THEN o.u_miss ELSE o.u_hit END;
-- uuids, LEFT JOIN, 50 %
SELECT count(i.v) FROM outr o LEFT JOIN inr i ON i.u = CASE WHEN o.r < 50 THEN o.u_miss ELSE o.u_hit END;
-- uuids, LEFT JOIN, 0 %
SELECT count(i.v) FROM outr o LEFT JOIN inr i ON i.u = CASE WHEN o.r < 0 THEN o.u_miss ELSE o.u_hit END;
-- index-only scans, 100 %
SELECT count(*) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 100 THEN o.miss ELSE o.hit END;
-- index-only scans, 50 %
SELECT count(*) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 50 THEN o.miss ELSE o.hit END;
-- index-only scans, 0 %
SELECT count(*) FROM outr o JOIN inr i ON i.k = CASE WHEN o.r < 0 THEN o.miss ELSE o.hit END;
-- outer rows in the order of the key, index-only scans, 100 %
SELECT count(*) FROM ordered o JOIN inr i ON i.k = CASE WHEN o.r < 100 THEN o.miss ELSE o.hit END;
-- outer rows in the order of the key, index-only scans, 50 %
SELECT count(*) FROM ordered o JOIN inr i ON i.k = CASE WHEN o.r < 50 THEN o.miss ELSE o.hit END;
-- outer rows in the order of the key, index-only scans, 0 %
SELECT count(*) FROM ordered o JOIN inr i ON i.k = CASE WHEN o.r < 0 THEN o.miss ELSE o.hit END;
-- a set of many stages, 100 %
SELECT count(i.v) FROM outr o JOIN staged i ON i.k = CASE WHEN o.r < 100 THEN o.miss ELSE o.hit END;
-- a set of many stages, 50 %
SELECT count(i.v) FROM outr o JOIN staged i ON i.k = CASE WHEN o.r < 50 THEN o.miss ELSE o.hit END;
-- a set of many stages, 0 %
SELECT count(i.v) FROM outr o JOIN staged i ON i.k = CASE WHEN o.r < 0 THEN o.miss ELSE o.hit END;
-- 10 outer rows, 0 %
SELECT count(i.v) FROM (SELECT * FROM outr LIMIT 10) o JOIN inr i ON i.k = o.hit;
-- 100 outer rows, 0 %
SELECT count(i.v) FROM (SELECT * FROM outr LIMIT 100) o JOIN inr i ON i.k = o.hit;
-- 150 outer rows, 0 %
SELECT count(i.v) FROM (SELECT * FROM outr LIMIT 150) o JOIN inr i ON i.k = o.hit;
-- 300 outer rows, 0 %
SELECT count(i.v) FROM (SELECT * FROM outr LIMIT 300) o JOIN inr i ON i.k = o.hit;
-- 1000 outer rows, 0 %
SELECT count(i.v) FROM (SELECT * FROM outr LIMIT 1000) o JOIN inr i ON i.k = o.hit;
