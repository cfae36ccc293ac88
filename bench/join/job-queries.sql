-- Joins of four to eight tables over films.
-- 1
SELECT min(t.title), min(t.production_year), count(*) FROM company_type ct, info_type it, movie_companies mc, movie_info_idx mi, title t
WHERE ct.kind = 'production companies' AND it.info = 'top 250 rank' AND mc.note <> '(as Metro)' AND ct.id = mc.company_type_id AND t.id = mc.movie_id AND t.id = mi.movie_id AND it.id = mi.info_type_id;
-- 2
SELECT min(t.title), count(*) FROM company_name cn, keyword k, movie_companies mc, movie_keyword mk, title t
WHERE cn.country_code = '[de]' AND k.keyword = 'popular-7' AND cn.id = mc.company_id AND mc.movie_id = t.id AND t.id = mk.movie_id AND mk.keyword_id = k.id;
-- 3
SELECT min(t.title), count(*) FROM keyword k, movie_info mi, movie_keyword mk, title t
WHERE k.keyword LIKE 'popular-%' AND mi.info IN ('Germany', 'France', 'Italy') AND t.production_year > 2005 AND t.id = mi.movie_id AND t.id = mk.movie_id AND k.id = mk.keyword_id;
-- 4
SELECT min(mi.info), min(t.title), count(*) FROM info_type it, keyword k, movie_info_idx mi, movie_keyword mk, title t
WHERE it.info = 'rating' AND k.keyword LIKE 'popular-1%' AND mi.info > '9.0' AND t.production_year > 2010 AND t.id = mi.movie_id AND t.id = mk.movie_id AND k.id = mk.keyword_id AND it.id = mi.info_type_id;
-- 5
SELECT min(t.title), count(*) FROM company_type ct, info_type it, movie_companies mc, movie_info mi, title t
WHERE ct.kind = 'distributors' AND mc.note = '(worldwide)' AND it.info = 'countries' AND mi.info IN ('India', 'Japan') AND t.production_year > 2010
	AND t.id = mi.movie_id AND t.id = mc.movie_id AND ct.id = mc.company_type_id AND it.id = mi.info_type_id;
-- 6
SELECT min(k.keyword), min(n.name), min(t.title), count(*) FROM cast_info ci, keyword k, movie_keyword mk, name n, title t
WHERE k.keyword = 'popular-3' AND n.name LIKE 'Novak%' AND t.production_year > 2014 AND k.id = mk.keyword_id AND t.id = mk.movie_id AND t.id = ci.movie_id AND n.id = ci.person_id;
-- 7
SELECT min(n.name), min(t.title), count(*) FROM cast_info ci, info_type it, movie_info mi, name n, title t
WHERE it.info = 'budget' AND ci.note = '(producer)' AND n.gender = 'm' AND t.production_year BETWEEN 1960 AND 1980 AND t.id = ci.movie_id AND n.id = ci.person_id AND t.id = mi.movie_id AND it.id = mi.info_type_id;
-- 8
SELECT min(n.name), min(t.title), count(*) FROM cast_info ci, company_name cn, movie_companies mc, name n, role_type rt, title t
WHERE ci.note = '(voice)' AND cn.country_code = '[jp]' AND mc.note = '(TV)' AND n.name LIKE 'Tanaka%' AND rt.role = 'actress'
	AND n.id = ci.person_id AND t.id = ci.movie_id AND t.id = mc.movie_id AND cn.id = mc.company_id AND rt.id = ci.role_id;
-- 9
SELECT count(*) FROM cast_info ci JOIN title t ON t.id = ci.movie_id JOIN role_type rt ON rt.id = ci.role_id
WHERE rt.role = 'director' AND t.production_year = 1999 AND EXISTS (SELECT FROM movie_keyword mk WHERE mk.movie_id = t.id);
-- 10
SELECT min(cn.name), min(mi.info), min(t.title), count(*) FROM company_name cn, company_type ct, info_type it, info_type it2, movie_companies mc, movie_info mi, movie_info_idx mx, title t
WHERE cn.country_code = '[us]' AND ct.kind = 'production companies' AND it.info = 'genres' AND it2.info = 'rating' AND mi.info IN ('Drama', 'Horror') AND mx.info > '8.0' AND t.production_year BETWEEN 2005 AND 2008
	AND t.id = mi.movie_id AND t.id = mx.movie_id AND t.id = mc.movie_id AND mi.info_type_id = it.id AND mx.info_type_id = it2.id AND ct.id = mc.company_type_id AND cn.id = mc.company_id;
-- 11
SELECT kt.kind, count(*) FROM title t, kind_type kt, movie_info mi, info_type it
WHERE t.kind_id = kt.id AND mi.movie_id = t.id AND it.id = mi.info_type_id AND it.info = 'languages' AND kt.kind <> 'episode' AND t.production_year < 1950 GROUP BY 1 ORDER BY 1;
-- 12
SELECT min(t.title), min(u.title), count(*) FROM title t, title u, movie_keyword a, movie_keyword b, keyword k
WHERE k.keyword = 'popular-15' AND a.keyword_id = k.id AND b.keyword_id = k.id AND t.id = a.movie_id AND u.id = b.movie_id AND t.production_year = 1985 AND u.production_year = 1986;
