#!/bin/sh
# Run the programs of docs/programs.md and compare what they print with what the page says: in sh, Python and
# JavaScript; with --long also in Java and Go.  Runs the tests of clients/js, and with --long of clients/java.
#
#     scripts/throwaway test/documents/clients.sh [--long]
#
# A block of a program must be directly followed by a block of its output. Installs the clients that are missing
# (scripts/install-deps clients, and with --long clients-long). Ends with "N passed, N failed".
set -u
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$top/test/tally.sh"
page=$top/docs/programs.md
languages="sh python js"
modes=clients
if [ "${1-}" = --long ]; then
	languages="$languages java go"
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

# Writes block number N, of language L, to blocks/N.L, and the text block that directly follows it to blocks/N.text.
mkdir "$work/blocks"
(cd "$work/blocks" && awk '
	/^```[a-z]/ { language = substr($0, 4); if (language != "text" || closed != NR - 1) n++; file = n "." language; printf "" >file; next }
	/^```$/ { file = ""; closed = NR; next }
	file != "" { print >file }' "$page")

for sql in "$work"/blocks/*.sql; do
	psql -Xq -v ON_ERROR_STOP=1 -c "CREATE EXTENSION IF NOT EXISTS bloomx" -f "$sql" || exit 1
done

# Debian's node finds Debian's module pg. Elsewhere npm gets it.
node_modules() {
	! node -e 'require("pg")' 2>/dev/null || return 0
	if [ "$(id -u)" -eq 0 ]; then cache=/var/cache; else cache=${XDG_CACHE_HOME:-$HOME/.cache}; fi
	NODE_PATH=$cache/bloomx/node/node_modules
	export NODE_PATH
	node -e 'require("pg")' 2>/dev/null ||
		{ mkdir -p "$cache/bloomx/node" && npm install --silent --no-audit --no-fund --prefix "$cache/bloomx/node" pg@8; }
}

# Runs the program of a language: in the top directory, except for the shell, whose programs write files, and with
# Debian's Python, which has Debian's modules.
run() { # language file
	case $1 in
	sh) (cd "$work/sh" && sh -eu "$2") ;;
	python) /usr/bin/python3 "$2" ;;
	js) node "$2" ;;
	java) java -cp "/usr/share/java/postgresql.jar:$work" "$2" "jdbc:postgresql:///$PGDATABASE?user=$PGUSER&socketFactory=UnixSockets&socketFactoryArg=$PGHOST/.s.PGSQL.$PGPORT" ;;
	go) GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go go run "$2" ;;
	esac
}

mkdir "$work/sh"
ln -s "$top/test" "$work/sh/test"
cd "$top" || exit 1
for language in $languages; do
	case $language in
	js)
		node_modules
		same "clients/js: the golden vectors" 0 "$(node "$top/clients/js/test.js" >"$work/js.log"; echo $?)"
		sed "s/^/# /" "$work/js.log" | tail -n 5
		if [ "${1-}" = --long ]; then
			same "docs/breached.html in a browser" 0 "$(node "$top/test/documents/browser.js" >"$work/browser.log" 2>&1; echo $?)"
			sed "s/^/# /" "$work/browser.log"
		fi
		;;
	java)
		javac -d "$work" "$top/test/documents/UnixSockets.java" "$top"/clients/java/*.java
		same "clients/java: the golden vectors" 0 "$(java -cp "$work" GoldenTest "$top/test/python/golden.json" >"$work/java.log"; echo $?)"
		sed "s/^/# /" "$work/java.log" | tail -n 5
		;;
	esac
	programs=0
	for program in "$work"/blocks/*."$language"; do
		number=$(basename "$program" ".$language")
		expected=$(cat "${program%.*}.text")
		same "$language, block $number of docs/programs.md" "$expected" "$(run "$language" "$program" 2>&1)"
		programs=$((programs + 1))
	done
	[ "$programs" -gt 0 ]
	ok "programs in $language: $programs" $?
done
tally
