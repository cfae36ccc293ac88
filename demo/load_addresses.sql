-- host(addr, cc): addresses in the IPv4 ranges of tor-geoipdb, up to four a range, with the range's country.
-- visit(day, addr, bytes): a week of visits by these hosts: half of them are regulars (they come nine days of
-- ten), the others come three days of ten. The addresses and countries are real, the days are drawn by a hash.
-- Nothing is done when the tables are there already.
SELECT to_regclass('bloomx_demo.visit') IS NULL AS missing \gset
\if :missing
\echo Loading /usr/share/tor/geoip and deriving a week of visits ...
DROP TABLE IF EXISTS geoip, host, visit;
CREATE UNLOGGED TABLE geoip (first bigint, last bigint, cc text COLLATE "C");
\copy geoip FROM PROGRAM 'grep -v "^#" /usr/share/tor/geoip' (FORMAT csv)
SET work_mem = '512MB';
CREATE UNLOGGED TABLE host AS
  SELECT DISTINCT '0.0.0.0'::inet + (first + (last - first) * i / 4) AS addr, cc
    FROM geoip, generate_series(0, 3) i;
CREATE UNLOGGED TABLE visit AS
  SELECT date '2026-11-02' + day AS day, addr, (100 + abs(hashtext(host(addr))::bigint) % 10000)::int AS bytes
    FROM host, generate_series(0, 6) day
   WHERE abs(hashtextextended(host(addr), day)) % 100
         < CASE WHEN hashtextextended(host(addr), 99) & 1 = 0 THEN 90 ELSE 30 END
   ORDER BY day, hashtextextended(host(addr), 98);
RESET work_mem;
VACUUM ANALYZE geoip;
VACUUM ANALYZE host;
VACUUM ANALYZE visit;
\endif
SELECT count(*) AS hosts FROM host \gset
SELECT count(*) AS visits FROM visit \gset
