#!/bin/sh
# A database's life on a machine that has PostgreSQL $major, the package in /one.deb, the next one in /two.deb, and no compiler.
# scripts/test-packages runs this in a chroot, with the package's name in $package and PGUSER=app.
set -eu
: "${major:?}" "${package:?}"

if command -v cc gcc make; then
	echo "this machine has a compiler"
	exit 1
fi
stop() { pg_dropcluster --stop "$major" main || :; }
trap stop EXIT
pg_dropcluster "$major" main # made when PostgreSQL was installed, for other users
pg_createcluster "$major" main --start -- --auth=trust
dpkg -i /one.deb

# An ordinary user, who owns a database, creates the extension and uses it.
psql -X -U postgres -d postgres -c "CREATE ROLE app LOGIN" -c "CREATE DATABASE shop OWNER app" -c "CREATE DATABASE copy OWNER app"
sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }
sql -d shop <<'SQL'
CREATE EXTENSION bloomx;
CREATE TABLE visits (day int, visitors bloomfilter(10000, 0.001));
INSERT INTO visits SELECT n % 50, bloom_agg(n, 10000, 0.001) FROM generate_series(1, 100000) n GROUP BY 1;
CREATE INDEX ON visits USING bloomx (visitors);
CREATE INDEX ON visits USING bloomx (day);
SQL
state() {
	sql -d "$1" -c "SELECT md5(string_agg(visitors::text, ',' ORDER BY day)), (SELECT count(*) FROM visits v, generate_series(1, 100000, 97) n WHERE v.day = n % 50 AND v.visitors @> n) FROM visits" \
		-c "SET enable_seqscan = off" -c "SELECT min(day) FROM visits WHERE visitors @> 50005 AND day = 5"
}
state shop >/before
grep -q '|1031$' /before
grep -qx 5 /before

# Dumped and restored by the same user.
pg_dump shop | sql -d copy >/dev/null
state copy | cmp - /before

# The next package comes beside a running server and a session that has the library loaded; then the extension is updated.
dpkg -i /two.deb
state shop | cmp - /before
sql -d shop -c "ALTER EXTENSION bloomx UPDATE"
pg_ctlcluster "$major" main restart
state shop | cmp - /before

# Without the package the server starts, and says what is missing; with it everything is there again.
dpkg -r "$package"
pg_ctlcluster "$major" main restart
if state shop 2>/missing; then
	echo "a server without the library knows filters"
	exit 1
fi
grep -q "bloomx" /missing
dpkg -i /two.deb
state shop | cmp - /before
sql -d shop -c "DROP EXTENSION bloomx CASCADE" -c "SELECT day FROM visits LIMIT 1" 2>/dev/null
dpkg -P "$package"
left=$(find /usr /etc /var -name '*bloomx*' -not -path '/var/cache/*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
