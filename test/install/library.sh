#!/bin/sh
# The core as an installed library: examples/ compiled against it, statically and dynamically, as C
# and as C++, with gcc and clang; a filter built in C is probed in SQL, and one built in SQL in C.
#
#     scripts/throwaway test/install/library.sh
#
# Ends with "N passed, N failed".
set -u
top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$top/test/tally.sh"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
stage=$work/stage

make -s -C "$top/src/core" BUILD="$work/build" PREFIX=/opt/bloomx DESTDIR="$stage" install
prefix=$stage/opt/bloomx
lib=$prefix/lib
psql -Xq -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION IF NOT EXISTS bloomx'

sql() {
	psql -XAtq -v ON_ERROR_STOP=1 -c "$1"
}

# The shared library exports exactly the functions that the header declares.
declared=$(tr '\t' ' ' <"$top/src/core/bloomx.h" | sed -n 's/^extern [a-z].*[ *]\(blx_[a-z_0-9]*\)\(;\| *(.*\)$/\1/p' | sort)
exported=$(nm -D --defined-only "$lib/libbloomx.so" | awk '$2 ~ /[TDBR]/ { print $3 }' | sort)
same "exported symbols" "$(echo "$declared" | tr '\n' ' ')" "$(echo "$exported" | tr '\n' ' ')"
same "soname" libbloomx.so.1 "$(objdump -p "$lib/libbloomx.so" | awk '$1 == "SONAME" { print $2 }')"
same "pkg-config file" "-I$prefix/include -L$lib -lbloomx" \
	"$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$prefix" --cflags --libs bloomx | sed 's/ *$//')"

# The extension's own installation has the header, too.
cmp -s "$top/src/core/bloomx.h" "$BLOOMX_STAGE$("$PG_CONFIG" --includedir-server)/extension/bloomx/bloomx.h"
ok "make install of the extension installs the header" $?

# Programs are compiled outside the tree, so that the compiler finds only what is installed.
compile() { # compiler language linkage: $work/make_filter and $work/probe_filter
	case $3 in
	static) link="$lib/libbloomx.a -lm" ;;
	shared) link="-L$lib -Wl,-rpath,$lib -lbloomx" ;;
	esac
	for program in make_filter probe_filter; do
		# shellcheck disable=SC2086 # options
		(cd "$work" && "$1" $2 -Wall -Wextra -Werror -I"$prefix/include" "$top/examples/$program.c" -o "$program" \
			-x none $link) || return 1
	done
}

seq 1 1000 | sed 's/^/key /' >"$work/keys"
sql "SELECT bloom_agg('key ' || n)::bytea FROM generate_series(1, 1000) n" >"$work/from_sql"
sql "SELECT bloom_agg(n * 7)::bytea FROM generate_series(1, 1000) n" >"$work/integers"

try() { # name compiler language linkage
	status=0
	compile "$2" "$3" "$4" || status=$?
	ok "$1: compiles" $status
	[ $status -eq 0 ] || return 0
	"$work/make_filter" <"$work/keys" >"$work/from_c"
	same "$1: SQL finds the keys of C" 1000 \
		"$(sql "SELECT count(*) FROM generate_series(1, 1000) n WHERE '$(cat "$work/from_c")'::bytea::bloomfilter @> ('key ' || n)")"
	same "$1: C and SQL make the same filter, byte for byte" "$(cat "$work/from_sql")" "$(cat "$work/from_c")"
	same "$1: C finds the keys of SQL" "key 1: perhaps key 1000: perhaps no such key: no " \
		"$("$work/probe_filter" "key 1" "key 1000" "no such key" <"$work/from_sql" | tail -n +2 | tr '\n' ' ')"
	same "$1: C finds the integers of SQL" "7: perhaps 7000: perhaps -1: no " \
		"$("$work/probe_filter" 7 7000 -1 <"$work/integers" | tail -n +2 | tr '\n' ' ')"
	same "$1: bad bytes are refused" "probe_filter: bloom filter is shorter than its header" \
		"$(echo '\x00' | "$work/probe_filter" 1 2>&1 || :)"
}

for linkage in static shared; do
	try "gcc, C, $linkage" gcc "-std=c11 -x c" $linkage
	try "gcc, C++, $linkage" g++ "-std=c++11 -x c++" $linkage
	try "clang, C, $linkage" clang "-std=c11 -x c" $linkage
	try "clang, C++, $linkage" clang++ "-std=c++11 -x c++" $linkage
done
tally
