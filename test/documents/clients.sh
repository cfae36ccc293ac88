#!/bin/sh
# Run the programs of docs/programs.md and of the pages in clients/ and compare what they print with what the page says:
# in sh, Python and JavaScript; with --long also in Java, Go, Ruby and with Prisma.  Runs the tests of clients/js, installs
# clients/python, and with --long runs the tests of clients/java.
#
#     scripts/throwaway test/documents/clients.sh [--long]
#
# A block of a program must be directly followed by a block of its output. Installs the clients that are missing
# (scripts/install-deps clients, and with --long clients-long). Ends with "N passed, N failed".
set -u
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$top/test/tally.sh"
pages="docs/programs.md clients/drivers.md clients/orms.md clients/js/README.md clients/python/README.md"
languages="sh python js"
modes=clients
if [ "${1-}" = --long ]; then
	languages="$languages java go ruby"
	modes="clients clients-long"
fi
# shellcheck disable=SC2086 # one word per mode
"$top/scripts/install-deps" $modes || exit 1

work=$(mktemp -d)
database=bloomx_clients_$$
trap 'cd /; psql -Xq -d postgres -c "DROP DATABASE IF EXISTS $database"; rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM
psql -Xq -v ON_ERROR_STOP=1 -d postgres -c "CREATE DATABASE $database TEMPLATE template0 ENCODING 'UTF8'" || exit 1
export PGDATABASE=$database PGCLIENTENCODING=UTF8 PGSSLMODE=disable

# Writes block number N of a page, of language L, to blocks/PAGE/N.L, and the text block that directly follows it to N.text.
for page in $pages; do
	mkdir -p "$work/blocks/$page"
	(cd "$work/blocks/$page" && awk '
		/^```[a-z]/ { language = substr($0, 4); if (language != "text" || closed != NR - 1) n++; file = n "." language; printf "" >file; next }
		/^```$/ { file = ""; closed = NR; next }
		file != "" { print >file }' "$top/$page")
done

for sql in "$work"/blocks/docs/programs.md/*.sql; do
	psql -Xq -v ON_ERROR_STOP=1 -c "CREATE EXTENSION IF NOT EXISTS bloomx" -f "$sql" || exit 1
done

# npm gets the modules; without npm, Debian's node finds Debian's pg, and programs with others are left out.
has_module() {
	node -e 'require.resolve(process.argv[1])' "$1" 2>/dev/null
}
modules="pg@8 knex@3 drizzle-orm@0.45"
[ "${1-}" != --long ] || modules="$modules prisma@7 @prisma/client@7 @prisma/adapter-pg@7"
node_modules() {
	if [ "$(id -u)" -eq 0 ]; then cache=/var/cache; else cache=${XDG_CACHE_HOME:-$HOME/.cache}; fi
	NODE_PATH=$cache/bloomx/node/node_modules
	export NODE_PATH
	for module in $modules; do
		has_module "${module%@*}" || missing=yes
	done
	# shellcheck disable=SC2086 # one word per module
	[ -z "${missing-}" ] || ! command -v npm >/dev/null 2>&1 ||
		{ mkdir -p "$cache/bloomx/node" && npm install --silent --no-audit --no-fund --prefix "$cache/bloomx/node" $modules; }
}

# The client that Prisma generates of the schema in a page.  It would download an engine for migrations, which this does not need.
generate() { # schema
	cp "$1" "$NODE_PATH/../schema.prisma" &&
		(cd "$NODE_PATH/.." && PRISMA_SCHEMA_ENGINE_BINARY=/bin/true node_modules/.bin/prisma generate --schema schema.prisma >"$work/prisma.log" 2>&1)
}

# True if this machine has the modules of a JavaScript program.
can_run() { # file
	for module in $(sed -n "s/.*require('\([^']*\)').*/\1/p" "$1"); do
		has_module "$module" || { echo "# $1: no module $module"; return 1; }
	done
}

# Runs the program of a language: in the top directory, except for the shell, whose programs write files, and with
# Debian's Python, which has Debian's modules.
run() { # language file
	case $1 in
	sh) (cd "$work/sh" && sh -eu "$2") ;;
	python) /usr/bin/python3 "$2" ;;
	js) node "$2" ;;
	ruby) /usr/bin/ruby -W0 "$2" ;;
	java) java -cp "/usr/share/java/postgresql.jar:$work" "$2" "jdbc:postgresql:///$PGDATABASE?user=$PGUSER&socketFactory=UnixSockets&socketFactoryArg=$PGHOST/.s.PGSQL.$PGPORT" ;;
	go) GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go go run "$2" ;;
	esac
}

psql -XqAtc "SELECT bloom_agg(n, bloom_empty(1, 0.00390625, 'binary_fuse')) FROM generate_series(0, 299999) n" >"$work/two-blocks" || exit 1

mkdir "$work/sh"
ln -s "$top/test" "$work/sh/test"
cd "$top" || exit 1
for language in $languages; do
	case $language in
	python)
		# installed, without the network, and used from elsewhere
		cp -R "$top/clients/python" "$work/python"
		same "clients/python can be installed" 0 "$(/usr/bin/python3 -m pip install --quiet --no-deps --no-index --no-build-isolation --target "$work/installed" "$work/python" >"$work/pip.log" 2>&1; echo $?)"
		same "its types" 0 "$(test -f "$work/installed/bloomx/__init__.pyi" && test -f "$work/installed/bloomx/py.typed"; echo $?)"
		same "its command" integer "$(psql -XqAtc "SELECT bloom_agg(7)" | (cd "$work/installed" && /usr/bin/python3 -m bloomx info -) | sed -n 's/^key_type *//p')"
		PYTHONPATH=$work/installed
		export PYTHONPATH
		;;
	js)
		node_modules
		same "clients/js: the golden vectors" 0 "$(node "$top/clients/js/test.js" "$work/two-blocks" >"$work/js.log"; echo $?)"
		sed "s/^/# /" "$work/js.log" | tail -n 5
		if [ "${1-}" = --long ]; then
			same "docs/breached.html in a browser" 0 "$(node "$top/test/documents/browser.js" >"$work/browser.log" 2>&1; echo $?)"
			sed "s/^/# /" "$work/browser.log"
		fi
		;;
	java)
		javac -d "$work" "$top/test/documents/UnixSockets.java" "$top"/clients/java/*.java
		same "clients/java: the golden vectors" 0 "$(java -cp "$work" GoldenTest "$top/test/python/golden.json" "$work/two-blocks" >"$work/java.log"; echo $?)"
		sed "s/^/# /" "$work/java.log" | tail -n 5
		;;
	esac
	programs=0
	for page in $pages; do
		for program in "$work/blocks/$page"/*."$language"; do
			[ -f "$program" ] || continue
			[ "$language" != js ] || can_run "$program" || continue
			for schema in "$work/blocks/$page"/*.prisma; do
				! grep -q "@prisma/client" "$program" || generate "$schema"
			done
			same "$language, block $(basename "$program" ".$language") of $page" "$(cat "${program%.*}.text")" "$(run "$language" "$program" 2>&1)"
			programs=$((programs + 1))
		done
	done
	[ "$programs" -gt 0 ]
	ok "programs in $language: $programs" $?
done
tally
