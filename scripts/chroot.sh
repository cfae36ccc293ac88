# shellcheck shell=sh
# Functions of the scripts that work in chroots of Debian. Sourced after $top is set, not run.
#
# A script that uses them runs twice: first to make what it keeps, then again, with BLOOMX_INSIDE set, in mount and
# process namespaces of its own, so that nothing stays mounted or running whatever happens.

must_be_root() {
	[ "$(id -u)" -eq 0 ] || {
		echo "${0##*/}: needs root, to make and enter a chroot" >&2
		exit 1
	}
}

# Waits for another run that uses the file.
one_at_a_time() { # file
	mkdir -p "$(dirname "$1")"
	exec 9>"$1"
	flock -n 9 || {
		echo "${0##*/}: waiting for another run to end"
		flock 9
	}
}

in_own_namespaces() { # arguments of the script
	export BLOOMX_INSIDE=yes
	exec unshare --mount --propagation private --pid --fork --kill-child "$0" "$@"
}

# Installs mmdebstrap, and sets $mirror.
need_mmdebstrap() {
	# shellcheck source=scripts/apt.sh disable=SC2154 # $top is the caller's
	. "$top/scripts/apt.sh"
	if ! command -v mmdebstrap >/dev/null 2>&1 || ! command -v mount >/dev/null 2>&1; then
		apt_knows mmdebstrap mount || apt_update
		apt_install mmdebstrap mount
	fi
	mirror=$(apt_mirror)
	[ -n "$mirror" ] || {
		echo "${0##*/}: apt knows no Debian mirror here; run apt-get update" >&2
		exit 1
	}
}

debian() { mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=force-unsafe-io "$@"; }

# What programs expect beside files.
mount_system() { # chroot
	mount -t proc proc "$1/proc"
	mkdir -p "$1/dev/shm"
	mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
	cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
}

unmount_system() { # chroot ...
	for chroot; do
		umount -R "$chroot/proc" "$chroot/dev/shm" 2>/dev/null || :
	done
}
