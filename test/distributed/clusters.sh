# shellcheck shell=sh
# Servers of one or two versions, in a temporary directory, which vanish with the script that sources this file. The
# script's arguments are OLD_BINDIR NEW_BINDIR, where bloomx is installed; or none, in the environment of scripts/throwaway.
# Sets $old, $new and $work, which also has the sockets.
given=$#
old=${1:-$("${PG_CONFIG:-pg_config}" --bindir)}
new=${2:-$old}
work=$(mktemp -d /tmp/bloomx_servers.XXXXXX) || exit 1

# A server refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
	as_server() { setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups "$@"; }
	chown nobody: "$work"
else
	as_server() { "$@"; }
fi
chmod 755 "$work"

cleanup() {
	for data in replica new old; do
		[ ! -f "$work/$data/postmaster.pid" ] || control "$data" -m immediate stop
	done
	rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

control() { # cluster, pg_ctl arguments
	cluster=$1
	shift
	case $cluster in new) bin=$new ;; *) bin=$old ;; esac
	(cd / && as_server "$bin/pg_ctl" -D "$work/$cluster" -s -w -t 600 "$@") >"$work/control.log" 2>&1 || {
		cat "$work/control.log"
		return 1
	}
}

# A throwaway server finds bloomx by its settings; servers of the same version find it by the same ones.
found_by=
if [ "$given" -eq 0 ]; then
	for setting in extension_destdir extension_control_path dynamic_library_path; do
		value=$(psql -XqAtc "SELECT current_setting('$setting', true)")
		[ -z "$value" ] || found_by="$found_by$setting = '$value'
"
	done
fi

make_server() { # cluster, bindir, port
	(cd / && as_server "$2/initdb" -D "$work/$1" -U postgres -A trust -E UTF8 --no-locale --no-sync) >"$work/initdb.log" 2>&1 || {
		cat "$work/initdb.log"
		exit 1
	}
	as_server sh -c 'cat >>"$1"' sh "$work/$1/postgresql.conf" <<-CONF
		fsync = off
		listen_addresses = ''
		unix_socket_directories = '$work'
		port = $3
		wal_level = logical
		$found_by
	CONF
	control "$1" -l "$work/$1.log" start || exit 1
}
