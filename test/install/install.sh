#!/bin/sh
# Installing and upgrading: what `make install` writes and where, and the way from this version to the next one.
#
#     test/install/install.sh          (PG_CONFIG chooses the PostgreSQL)
#
# No next version exists yet, so the test makes one: it raises all versions in a copy of the tree, as docs/internals/development.md
# says, and adds a function to the library, to the script and to an upgrade script. A database of this version
# is used with the next library, then upgraded, then dumped and restored.
#
# Builds in copies of the tree, for DESTDIR in a temporary directory; the system's PostgreSQL is not touched.
# Ends with "N passed, N failed".
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
# shellcheck source=scripts/environment.sh
. "$top/scripts/environment.sh"
# shellcheck source=test/tally.sh
. "$top/test/tally.sh"
pg_config=$(command -v "${PG_CONFIG:-pg_config}") || {
	echo "install.sh: no ${PG_CONFIG:-pg_config}" >&2
	exit 1
}
work=$(mktemp -d "${BLOOMX_TMP:-/tmp}/bloomx-install.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM
chmod 755 "$work" # the server must read the stages in it

build() { make -s -C "$1" -j "$(getconf _NPROCESSORS_ONLN)" PG_CONFIG="${2:-$pg_config}" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }
files() { (cd "$1" && find . ! -type d | sort); }

# ---- make install ----

"$top/scripts/copy-tree" "$work/now"
build "$work/now"
ok "this version compiles" $?
now=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$top/bloomx.control")
make -s -C "$work/now" PG_CONFIG="$pg_config" DESTDIR="$work/stage-now" install >"$work/log" 2>&1
ok "make install DESTDIR=" $?
others="bloomx_citext bloomx_hstore bloomx_theory"
expected() { # prefix, version: the files of an installation
	sharedir=$1$("$pg_config" --sharedir)/extension
	for name in bloomx $others; do
		printf '%s\n' ".$sharedir/$name--$2.sql" ".$sharedir/$name.control"
	done
	printf '%s\n' ".$1$("$pg_config" --pkglibdir)/bloomx.so" \
		".$1$("$pg_config" --includedir-server)/extension/bloomx/bloomx.h"
}
same "its files" "$(expected "" "$now" | sort)" "$(files "$work/stage-now")"

# A pg_config that names other directories decides where the files go.
cat >"$work/pg_config" <<SCRIPT
#!/bin/sh
case \${1-} in
--sharedir | --pkglibdir) echo "/elsewhere\$('$pg_config' "\$1")" ;;
*) exec '$pg_config' "\$@" ;;
esac
SCRIPT
chmod 755 "$work/pg_config"
make -s -C "$work/now" PG_CONFIG="$work/pg_config" DESTDIR="$work/stage-other" install >"$work/log" 2>&1
ok "make install PG_CONFIG=" $?
same "its files" "$(expected /elsewhere "$now" | sed "s|/elsewhere\(.*bloomx\.h\)|\1|" | sort)" "$(files "$work/stage-other")"
make -s -C "$work/now" PG_CONFIG="$work/pg_config" DESTDIR="$work/stage-other" uninstall >"$work/log" 2>&1
ok "make uninstall" $?
same "leaves nothing, not even its folder" "none" "$(files "$work/stage-other")$(find "$work/stage-other" -name bloomx)none"

message=$(make -s -C "$work/now" PG_CONFIG=/nonexistent/pg_config 2>&1)
echo "$message" | grep -q 'no pg_config at "/nonexistent/pg_config"'
ok "a pg_config that does not exist is an error that names it" $?
# Debian's package of the client library has a pg_config, too.
printf '#!/bin/sh\necho /nonexistent/pgxs.mk\n' >"$work/pg_config_of_a_client"
chmod 755 "$work/pg_config_of_a_client"
message=$(make -s -C "$work/now" PG_CONFIG="$work/pg_config_of_a_client" 2>&1)
echo "$message" | grep -q 'no /nonexistent/pgxs.mk.*headers for servers'
ok "a pg_config without server headers is an error that says what is missing" $?

# ---- the next version ----

next=${now%.*}.$((${now##*.} + 1))
cp -a "$work/now" "$work/next"
cd "$work/next" || exit 1
sed -i "s/^EXTVERSION = $now\$/EXTVERSION = $next/; s/^DISTVERSION = $now\.[0-9]*\$/DISTVERSION = $next.0/" Makefile
sed -i "s/^default_version = '$now'/default_version = '$next'/" bloomx*.control
sed -i "/\"meta-spec\"/,/}/!s/\"version\": \"$now\.[0-9]*\"/\"version\": \"$next.0\"/; s/\(bloomx[_a-z]*\)--$now\.sql/\1--$next.sql/" META.json
sed -i "s/\.version = \"$now\.[0-9]*\"/.version = \"$next.0\"/" src/pg/base/compat.h
sed -i "0,/^## /s//## $next.0\n\n- A function.\n\n## /" CHANGELOG.md
sed -i "s/^Version: .*/Version:        $next.0/" packaging/bloomx.spec
sed -i "s/\(\"version\": \"\|^version = \"\)$now\.[0-9]*\"/\\1$next.0\"/" clients/js/package.json clients/python/pyproject.toml
[ ! -d debian ] || printf 'bloomx (%s.0-1) UNRELEASED; urgency=medium\n\n  * Next release.\n\n -- The bloomx developers <maintainers@bloomx.example>  Mon, 23 Nov 2026 12:00:00 +0000\n\n' "$next" |
	cat - debian/changelog >changelog && mv changelog debian/changelog
cat >"bloomx--$now--$next.sql" <<SQL
/* bloomx--$now--$next.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\\echo Use "ALTER EXTENSION bloomx UPDATE TO '$next'" to load this file. \\quit

CREATE FUNCTION bloom_next(f bloomfilter) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloom_next'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_next(f bloomfilter) IS 'what only the next version has';
SQL
{ sed "s/bloomx--$now\.sql/bloomx--$next.sql/" "bloomx--$now.sql" && sed -n '/^CREATE/,$p' "bloomx--$now--$next.sql"; } >"bloomx--$next.sql"
# nothing changes in the other extensions
for name in $others; do
	cp "$name--$now.sql" "$name--$next.sql"
	echo "/* $name--$now--$next.sql */" >"$name--$now--$next.sql"
done
cat >>src/pg/functions/inspect.c <<'C'

PG_FUNCTION_INFO_V1(bloom_next);
Datum
bloom_next(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(PG_GETARG_FILTER(0)->parts);
}
C
cd / || exit 1
"$top/test/install/check_meta.py" "$work/next"
ok "all files name the next version" $?
build "$work/next"
ok "the next version compiles" $?
make -s -C "$work/next" PG_CONFIG="$pg_config" DESTDIR="$work/stage-next" install >"$work/log" 2>&1
ok "and installs" $?
same "with the scripts of both versions and the way between them" "$(for name in bloomx $others; do echo "$name--$now--$next.sql $name--$now.sql $name--$next.sql"; done)" \
	"$(cd "$work/stage-next$("$pg_config" --sharedir)/extension" && printf '%s %s %s\n' *.sql)"

# ---- the upgrade ----

cat >"$work/make.sql" <<SQL
CREATE EXTENSION bloomx VERSION '$now';
CREATE EXTENSION bloomx_theory VERSION '$now';
CREATE TABLE filters (id int PRIMARY KEY, f bloomfilter(1000, 0.01));
INSERT INTO filters SELECT i, bloom_agg(k, 1000) FROM generate_series(1, 300) i, generate_series(i, i + 20) k GROUP BY i;
CREATE INDEX filters_bloomx ON filters USING bloomx (f);
CREATE TABLE keys AS SELECT k FROM generate_series(1, 10000) k;
CREATE INDEX keys_brin ON keys USING brin (k int4_bloomx_ops) WITH (pages_per_range = 1);
CREATE VIEW found AS SELECT id FROM filters WHERE f @> 100;
CREATE FUNCTION grow(f bloomfilter, n int) RETURNS bloomfilter LANGUAGE plpgsql AS
	'BEGIN FOR i IN 1..n LOOP f := bloom_add(f, i); END LOOP; RETURN f; END';
SQL
# What a session sees of the old objects, by scan and by index.
cat >"$work/use.sql" <<'SQL'
SELECT string_agg(id::text, ' ' ORDER BY id) FROM found;
SET enable_seqscan = off;
SELECT string_agg(id::text, ' ' ORDER BY id) FROM found;
SELECT count(*) FROM keys WHERE k = 4711;
SELECT bloomx_check_index('filters_bloomx');
SELECT bloom_summary(grow(bloom_empty(1000), 900));
SELECT md5(string_agg(f::text, ',' ORDER BY id)) FROM filters;
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'filters'::regclass AND attname = 'f';
SQL
# Every object of the extension with all that defines it, by names and without OIDs.
cat >"$work/objects.sql" <<'SQL'
SELECT pg_describe_object(d.classid, d.objid, 0) || ' ' || coalesce(obj_description(d.objid, d.classid::regclass::name), '-') || ' ' || coalesce((
	SELECT concat_ws(' ', prokind, provolatile, proparallel, proisstrict, procost, prosrc, probin, prosupport::regproc, pg_get_function_result(p.oid), pg_get_function_arguments(p.oid), proacl)
	FROM pg_proc p WHERE d.classid = 'pg_proc'::regclass AND p.oid = d.objid), '') || coalesce((
	SELECT concat_ws(' ', typinput, typoutput, typmodin, typmodout, typstorage, typalign, typanalyze) FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid), '')
FROM pg_depend d WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' ORDER BY 1;
SQL
cat >"$work/session.sh" <<'SCRIPT'
set -eu
cd "$work"
run() { psql -XqAt -v ON_ERROR_STOP=1 -d "$@"; }
createdb old
createdb new
createdb restored
run old -f make.sql
run old -f use.sql >before
run old -c "ALTER EXTENSION bloomx UPDATE" -c "ALTER EXTENSION bloomx_theory UPDATE"
run old -f use.sql >after
run old -c "SELECT extversion FROM pg_extension WHERE extname = 'bloomx'; SELECT bloom_next(f) > 0 FROM filters WHERE id = 1" >version
run old -f objects.sql >upgraded
run new -c "CREATE EXTENSION bloomx" -c "CREATE EXTENSION bloomx_theory"
run new -f objects.sql >fresh
run old -c "SELECT source || ' ' || target || ' ' || path FROM pg_extension_update_paths('bloomx') WHERE path IS NOT NULL" >paths
pg_dump -d old -f dump
run restored -f dump
run restored -f use.sql >restored
run restored -c "SELECT extversion FROM pg_extension WHERE extname = 'bloomx'" >restored-version
SCRIPT
export work
"$top/scripts/throwaway" -p "$pg_config" -s "$work/stage-next" sh "$work/session.sh" >"$work/log" 2>&1
ok "a database of this version is upgraded, dumped and restored" $?
[ "$failed" -eq 0 ] || cat "$work/log"
same "old objects with the new library: all rows" "$(seq -s ' ' 80 100)" "$(sed -n 1p "$work/before")"
same "by its index, too" "2" "$(head -n 2 "$work/before" | grep -cxF "$(seq -s ' ' 80 100)")"
same "the upgrade changes nothing that they do" "$(cat "$work/before")" "$(cat "$work/after")"
same "the new version and its function" "$next
t" "$(cat "$work/version")"
same "an upgraded database has the objects of a new one" "$(cat "$work/fresh")" "$(cat "$work/upgraded")"
same "the only way leads from this version to the next" "$now $next $now--$next" "$(cat "$work/paths")"
same "a restored dump" "$(cat "$work/before")" "$(cat "$work/restored")"
same "is of the new version" "$next" "$(cat "$work/restored-version")"

# ---- two versions of PostgreSQL from one tree ----

fresh() { make -s -q -C "$work/now" PG_CONFIG="$pg_config" all "$@" >"$work/log" 2>&1; }
fresh
ok "what is compiled is not compiled again" $?
fresh MAJORVERSION=99
[ $? -eq 1 ]
ok "for another major version everything is compiled anew" $?

tally
