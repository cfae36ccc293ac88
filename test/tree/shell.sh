#!/bin/sh
# Runs shellcheck on every shell script of the tree and expects no fault.
#
#     test/tree/shell.sh
#
# Errors and warnings count, not its notes on style, which differ between versions. The last line is "N passed, N failed".
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$top" || exit 1
# shellcheck source=test/tally.sh
. test/tally.sh

# It must find a fault: a variable that nothing sets.
# shellcheck disable=SC2016 # the fault
! printf '#!/bin/sh\necho "$nowhere"\n' | shellcheck --severity=warning - >/dev/null
ok "a faulty script is found" $?

list=$(mktemp) || exit 1
trap 'rm -f -- "$list"' EXIT
grep -rlE '^#!/bin/(ba)?sh( |$)|^# shellcheck shell=' .ci bench debian demo examples packaging scripts test >"$list" 2>/dev/null
while IFS= read -r script; do
	shellcheck --severity=warning --external-sources --source-path=SCRIPTDIR --format=gcc "$script"
	ok "$script" $?
done <"$list"
tally
