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

# Prints the last line; the exit status is 0 if no check failed.
tally() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
