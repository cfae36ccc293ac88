-- Joins that keep a tenth, a fifth, or all of the outer rows.
-- integers, build of 200,000, keeps a tenth
SELECT count(*), sum(price) FROM sales JOIN articles USING (article) WHERE kind = 3;
-- integers, wide range, build of 200,000, keeps a tenth
SELECT count(*), sum(price) FROM sales s JOIN (SELECT article * 1000003::bigint AS n FROM articles WHERE kind = 3) a ON a.n = s.article * 1000003::bigint;
-- texts, build of 200,000, keeps a tenth
SELECT count(*), sum(price) FROM sales JOIN articles USING (code) WHERE kind = 3;
-- the planner reads the large table into the hash table
SELECT count(*), sum(price) FROM sales s JOIN (SELECT article * 10 AS article FROM articles WHERE rank < 500000) a ON s.article = a.article;
-- integers, build of 1,000,000 with statistics, keeps a tenth
SELECT count(*), sum(price) FROM sales JOIN listed USING (article);
-- texts, build of 1,000,000 with statistics, keeps a tenth
SELECT count(*), sum(price) FROM sales JOIN listed USING (code);
-- semijoin below an aggregate
SELECT customer % 10, count(*), sum(price) FROM sales WHERE article IN (SELECT article FROM articles WHERE kind = 3) GROUP BY 1 ORDER BY 1;
-- join above an aggregate by its key
SELECT count(*), sum(n), sum(price) FROM (SELECT article, count(*) AS n, sum(price) AS price FROM sales GROUP BY article) s JOIN articles USING (article) WHERE kind = 3;
-- join above an aggregate by its key, texts
SELECT count(*), sum(n), sum(price) FROM (SELECT code, count(*) AS n, sum(price) AS price FROM sales GROUP BY code) s JOIN articles USING (code) WHERE kind = 3;
-- star of three, a fifth each
SELECT count(*), sum(price) FROM sales JOIN customers c USING (customer) JOIN shops s USING (shop) JOIN articles USING (article) WHERE c.class = 1 AND s.class = 2 AND kind < 2;
-- two keys
SELECT count(*), sum(price) FROM sales s JOIN (SELECT customer, customer % 1000 AS price FROM customers WHERE class = 1) c USING (customer, price);
-- keeps all, build of 2,000,000
SELECT count(*), sum(price) FROM sales JOIN articles USING (article) WHERE rank >= 0;
-- keeps all, texts
SELECT count(*), sum(price) FROM sales JOIN articles USING (code) WHERE rank >= 0;
