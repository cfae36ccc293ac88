# shellcheck shell=sh
# Counts the checks of a shell test, which sources this file and ends with `tally`.
passed=0
failed=0

ok() { # name, status
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok - $1"
	else
		failed=$((failed + 1))
		echo "not ok - $1"
	fi
}

same() { # name, expected, got: they must be equal and not empty
	[ -n "$2" ] && [ "$2" = "$3" ]
	ok "$1" $?
	[ "$2" = "$3" ] || printf '#  expected: %s\n#       got: %s\n' "$2" "$3"
}

# For scripts with set -e: runs a command as one check, and shows its output only if it fails.
check() { # name, command
	what=$1
	shift
	begin=$(date +%s)
	output=$(mktemp)
	# In a subshell, because set -e has no effect in a condition.
	set +e
	(
		set -e
		"$@"
	) >"$output" 2>&1
	status=$?
	set -e
	[ "$status" -eq 0 ] || cat "$output"
	rm -f "$output"
	ok "$what ($(($(date +%s) - begin)) s)" "$status"
}

# Prints the last line; the exit status is 0 if no check failed.
tally() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
