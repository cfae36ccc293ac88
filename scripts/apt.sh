# shellcheck shell=sh
# Functions with which the scripts call apt-get: as root or through sudo, without questions, showing progress
# instead of dpkg's output. Sourced, not run.

command -v apt-get >/dev/null 2>&1 || {
	echo "${0##*/}: this machine has no apt-get; README.md says what bloomx needs" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		echo "${0##*/}: needs root or sudo to install packages" >&2
		return 1
	fi
}

apt() { as_root env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"; }

# Package lists may be missing (a bare container) or out of date (a download that fails).
apt_updated=
apt_update() {
	echo "reading the package lists ..."
	apt update
	# shellcheck disable=SC2034 # read by install-deps
	apt_updated=yes
}

# True if the package lists name all of these packages.
apt_knows() {
	for package; do
		apt-cache policy "$package" | grep -q '^ *Candidate: [^(]' || return 1
	done
}

# The Debian mirror that this machine uses.
apt_mirror() {
	# shellcheck disable=SC2016 # apt expands $(...)
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1
}

# Installs packages. Prints their size and one line per 20 % of progress. Shows the output of apt and dpkg only
# if they fail.
apt_install() {
	# Even to say what it would do, apt wants dpkg's lock.
	as_root env LC_ALL=C apt-get --assume-no --no-install-recommends install "$@" 2>/dev/null | sed -n \
		-e 's/^[0-9]* upgraded, \([0-9]*\) newly.*/  \1 packages/p' \
		-e 's/^Need to get \(.*\) of archives.*/  \1 to download/p' \
		-e 's/^After this operation, \(.*\) of additional disk space.*/  \1 on disk/p' || :
	apt_log=$(mktemp)
	# Apt makes the pipe of its status lines non-blocking. Dpkg's scripts would fail when that pipe is full, so they
	# print elsewhere. Sudo closes all descriptors above 2: the shell inside it opens a new one.
	# shellcheck disable=SC2016 # for the inner shell
	{
		as_root env LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 sh -c '
			exec apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o APT::Status-Fd=3 \
				install -y --no-install-recommends "$@" 3>&1 >&2' sh "$@" </dev/null 2>"$apt_log" || echo failed
	} | apt_progress || {
		cat "$apt_log" >&2
		rm -f "$apt_log"
		return 1
	}
	rm -f "$apt_log"
}

# Reads apt's status lines, kind:package:percent:description. Returns false if there is a line "failed".
apt_progress() {
	phase=
	status=0
	while IFS= read -r line; do
		case $line in
		dlstatus:*) what=downloaded ;;
		pmstatus:*) what=installed ;;
		failed) status=1; continue ;;
		*) continue ;;
		esac
		[ "$what" = "$phase" ] || shown=0
		phase=$what
		percent=${line#*:*:}
		case $percent in
		[0-9]*) ;;
		*) percent=${percent#*:} ;; # the package's name contained its architecture
		esac
		percent=${percent%%[!0-9]*}
		if [ "${percent:-0}" -ge $((shown + 20)) ]; then
			shown=$((percent / 20 * 20))
			echo "  $what $shown %"
		fi
	done
	# the last lines of apt are below 100 %
	if [ "$status" -eq 0 ] && [ "$phase" = pmstatus ] && [ "$shown" -lt 100 ]; then
		echo "  installed 100 %"
	fi
	return "$status"
}
