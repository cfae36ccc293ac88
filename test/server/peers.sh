#!/bin/sh
# The tests of other index classes, with their indexes replaced by those of bloomx: test/server/peers.py says how, on a server
# with assertions, with which the tests come.
#
#     test/server/peers.sh [--only REGEX]
#
# BLOOMX_ASSERT names the directory of that server, as in scripts/assert-server. The last line is "N passed, N failed".
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
pg_config=$("$top/scripts/assert-server")
server=$(dirname -- "$("$pg_config" --bindir)")/..
[ -d "$server/contrib" ] || {
	echo "no tests of modules in $server: remove that server, and scripts/assert-server will build it anew" >&2
	exit 1
}
server=$(CDPATH='' cd -- "$server" && pwd)
exec "$top/scripts/throwaway" -p "$pg_config" -c max_prepared_transactions=2 "$top/test/server/peers.py" "$server/contrib" "$server/regress" "$@"
