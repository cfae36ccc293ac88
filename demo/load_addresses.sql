-- host(addr, cc): addresses in the IPv4 ranges of tor-geoipdb, or in 40,000 generated ranges of 240 countries: up to
-- four addresses per range, with the range's country.
-- visit(day, addr, bytes): a week of visits by these hosts. Half of the hosts are regulars, who come on nine days
-- out of ten; the others come on three days out of ten. A hash chooses the days.
-- Does nothing if the tables exist already.
SELECT obj_description(to_regclass('bloomx_demo.visit')) IS DISTINCT FROM :'data' AS missing \gset
\if :missing
DROP TABLE IF EXISTS geoip, host, visit;
CREATE UNLOGGED TABLE geoip (first bigint, last bigint, cc text COLLATE "C");
\if :{?quick}
\echo 'Generating address ranges and a week of visits ...'
-- Real countries with few and with many addresses, and invented ones; their sizes are distributed like real ones.
INSERT INTO geoip
  SELECT first, first + 255 + abs(hashint8(i)::bigint) % 60000,
         CASE WHEN i % 4000 < 4 THEN (ARRAY['AQ', 'VA', 'SM', 'TV'])[i % 4000 + 1]
              WHEN i % 10 < 4 THEN (ARRAY['DE', 'FR', 'NL', 'PL'])[i % 10 + 1]
              ELSE chr(97 + rank / 16) || chr(97 + rank % 16) END
    FROM (SELECT i, 16777216 + i::bigint * 90000 AS first,
                 (240 * (abs(hashint8extended(i, 1)) % 1000 / 1000.0) ^ 3)::int AS rank
            FROM generate_series(0, 39999) i) s;
\else
\echo 'Loading addresses and deriving a week of visits (half a minute) ...'
\copy geoip FROM PROGRAM 'grep -v "^#" "$BLOOMX_DATA/usr/share/tor/geoip"' (FORMAT csv)
\endif
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
COMMENT ON TABLE visit IS :'data';
\endif
SELECT count(*) AS hosts FROM host \gset
SELECT count(*) AS visits FROM visit \gset
\if :{?quick}
    \set addresses 'generated addresses'
\else
    \set addresses 'addresses from tor-geoipdb'
\endif
