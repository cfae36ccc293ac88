#!/bin/sh
# The release archive that `make dist` packs is valid for PGXN, and the PGXN client builds, installs, tests, loads
# and removes the extension from it.
#
#     test/install/pgxn.sh          (PG_CONFIG chooses the PostgreSQL; the archive is of the last commit)
#
# Needs git, python3, unzip and the PGXN client (scripts/install-deps test). The system's PostgreSQL is not touched:
# the client gets a pg_config that names temporary directories for installed files, where a throwaway server finds
# them.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
# Git refuses a checkout that belongs to another user (for example if root tests a user's clone) unless it is marked as safe.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$top"
pg_config=$(command -v "${PG_CONFIG:-pg_config}")
for tool in git python3 unzip pgxn; do
	command -v "$tool" >/dev/null 2>&1 || {
		echo "pgxn.sh: no $tool; run scripts/install-deps test" >&2
		exit 1
	}
done
git -C "$top" rev-parse --verify -q HEAD >/dev/null 2>&1 || {
	echo "pgxn.sh: needs a git checkout with a commit, from which the archive is made" >&2
	exit 1
}

base=$(mktemp -d "${BLOOMX_TMP:-/tmp}/bloomx-pgxn.XXXXXX")
trap 'rm -rf "$base"' EXIT
trap 'exit 130' HUP INT TERM
chmod 755 "$base" # the server must read the stage in it; if root calls, the server runs as another user
stage=$base/stage
mkdir -p "$stage" "$base/home"

# A pg_config with the real programs and headers, in which every directory that an installation writes to is below the
# stage.
cat >"$base/pg_config" <<SCRIPT
#!/bin/sh
case \${1-} in
--sharedir | --pkglibdir | --libdir | --docdir | --htmldir | --mandir | --localedir)
	dir=$stage\$('$pg_config' "\$1")
	mkdir -p "\$dir"
	echo "\$dir"
	;;
*) exec '$pg_config' "\$@" ;;
esac
SCRIPT
chmod 755 "$base/pg_config"
client() { HOME="$base/home" pgxn "$@"; }

# shellcheck source=test/tally.sh
. "$top/test/tally.sh"

version=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' "$top/META.json")
zip=$base/dist/bloomx-$version.zip
tree=$base/bloomx-$version

make_dist() {
	rm -f "$zip"
	make -s -C "$top" PG_CONFIG="$pg_config" DISTDIR="$base/dist" dist
	unzip -q "$zip" -d "$base"
}

# The archive has one directory, named after the version, with what a user needs: no development files, no build products.
contents() {
	[ "$(unzip -Z1 "$zip" | cut -d / -f 1 | sort -u)" = "bloomx-$version" ]
	for file in META.json Makefile bloomx.control bloomx_citext.control bloomx_hstore.control bloomx_theory.control README.md CHANGELOG.md LICENSE; do
		[ -s "$tree/$file" ] || {
			echo "$file is missing"
			return 1
		}
	done
	strange=$(cd "$tree" && find . -name '.?*' -o -name '*.o' -o -name '*.so' -o -name '*.bc' -o -path ./results)
	[ -z "$strange" ] || {
		echo "must not be in the archive: $strange"
		return 1
	}
}

installed() {
	client install --pg_config "$base/pg_config" "$zip"
	[ -s "$("$base/pg_config" --sharedir)/extension/bloomx.control" ]
	[ -s "$("$base/pg_config" --sharedir)/extension/bloomx_theory.control" ]
	[ -s "$("$base/pg_config" --pkglibdir)/bloomx.so" ]
}

# The other tests run on a server that has only what the client installed.
on_server() { "$top/scripts/throwaway" -p "$pg_config" -s "$stage" "$@"; }

# Loads, uses and unloads the extension, with the client and psql.
loaded() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	on_server env HOME="$base/home" sh -euc '
		pgxn load --pg_config "$1" -d postgres --yes "$2"
		[ "$(psql -XAtc "SELECT bloom_agg(g) @> 42 FROM generate_series(1, 1000) g")" = t ]
		[ "$(psql -XAtc "SELECT extversion FROM pg_extension WHERE extname = '\''bloomx'\''")" = "${3%.*}" ]
		pgxn unload --pg_config "$1" -d postgres --yes "$2"
		[ "$(psql -XAtc "SELECT count(*) FROM pg_extension WHERE extname = '\''bloomx'\''")" = 0 ]' \
		sh "$base/pg_config" "$zip" "$version"
}

# `pgxn check` runs the archive's own regression suite. It leaves regression.diffs in the current directory.
checked() {
	cd "$base"
	on_server env HOME="$base/home" pgxn check --pg_config "$base/pg_config" -d contrib_regression "$zip" || {
		[ ! -s regression.diffs ] || cat regression.diffs
		return 1
	}
}

uninstalled() {
	client uninstall --pg_config "$base/pg_config" "$zip"
	left=$(find "$stage" -name '*bloomx*')
	[ -z "$left" ] || {
		echo "left behind: $left"
		return 1
	}
}

check "the checker of META.json finds planted faults" "$top/test/install/check_meta.py" --self-test
check "make dist" make_dist
check "the archive has one directory with the right files" contents
check "META.json is valid, and the archive names one version" "$top/test/install/check_meta.py" "$tree"
check "pgxn install" installed
check "pgxn load, a query, pgxn unload" loaded
check "pgxn check" checked
check "pgxn uninstall leaves nothing" uninstalled

tally
