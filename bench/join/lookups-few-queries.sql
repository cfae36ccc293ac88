-- Nested loops of few rows, with lookups off and on: what they cost, and from where on they pay.
-- 1 outer row, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_1 o LEFT JOIN inr i ON o.k = i.k;
-- 8 outer rows, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_8 o LEFT JOIN inr i ON o.k = i.k;
-- 9 outer rows, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_9 o LEFT JOIN inr i ON o.k = i.k;
-- 12 outer rows, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_12 o LEFT JOIN inr i ON o.k = i.k;
-- 30 outer rows, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_30 o LEFT JOIN inr i ON o.k = i.k;
-- 100 outer rows, 6,300 inner rows
SELECT count(*), sum(i.k2) FROM outr_100 o LEFT JOIN inr i ON o.k = i.k;
-- 9 outer rows, 6,300 inner rows of 330 bytes
SELECT count(*), max(length(i.t)) FROM outr_9 o LEFT JOIN wide i ON o.k = i.k;
-- 30 outer rows, 6,300 inner rows of 330 bytes
SELECT count(*), max(length(i.t)) FROM outr_30 o LEFT JOIN wide i ON o.k = i.k;
-- 137 outer rows, 6,300 inner rows of 330 bytes
SELECT count(*), max(length(i.t)) FROM outr_137 o LEFT JOIN wide i ON o.k = i.k;
-- 1,000 outer rows, 6,300 inner rows of 330 bytes
SELECT count(*), max(length(i.t)) FROM outr_1000 o LEFT JOIN wide i ON o.k = i.k;
-- 9 outer rows, 6,300 inner rows, OR
SELECT count(*), sum(i.k2) FROM outr_9 o LEFT JOIN inr i ON o.k = i.k OR o.id = i.k2;
-- 30 outer rows, 6,300 inner rows, OR
SELECT count(*), sum(i.k2) FROM outr_30 o LEFT JOIN inr i ON o.k = i.k OR o.id = i.k2;
-- 9 outer rows, text
SELECT count(*), sum(i.k2) FROM outr_9 o LEFT JOIN inr i ON o.t = i.t;
-- 17 outer rows, text
SELECT count(*), sum(i.k2) FROM outr_17 o LEFT JOIN inr i ON o.t = i.t;
-- 100 outer rows, text
SELECT count(*), sum(i.k2) FROM outr_100 o LEFT JOIN inr i ON o.t = i.t;
-- 100 outer rows, 10 inner rows
SELECT count(*), sum(i.k2) FROM outr_100 o LEFT JOIN inr_10 i ON o.k = i.k;
-- 100 outer rows, 60 inner rows
SELECT count(*), sum(i.k2) FROM outr_100 o LEFT JOIN inr_60 i ON o.k = i.k;
-- 22,000 outer rows, 2 inner rows
SELECT count(*), sum(i.k2) FROM outr o LEFT JOIN inr_2 i ON o.k = i.k;
-- 22,000 outer rows, 10 inner rows
SELECT count(*), sum(i.k2) FROM outr o LEFT JOIN inr_10 i ON o.k = i.k;
-- LIMIT 3 in the third outer row
SELECT o.id, i.k2 FROM outr o LEFT JOIN inr i ON o.k = i.k LIMIT 3;
