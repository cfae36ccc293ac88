-- Joins by OR, for which the server has only the loop, with lookups off and on.
-- 3,000 x 6,300
SELECT count(*), sum(i.k2) FROM outr_3000 o JOIN inr i ON o.k = i.k OR o.id = i.k2;
-- LEFT JOIN, one arm text
SELECT count(*), sum(i.k2) FROM outr_3000 o LEFT JOIN inr i ON o.k = i.k2 OR o.t = i.t;
-- NOT EXISTS, one arm of two conditions
SELECT count(*) FROM outr_3000 o WHERE NOT EXISTS (SELECT FROM inr i WHERE o.k = i.k AND i.v > 3 OR o.id = i.k2);
