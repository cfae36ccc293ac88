# shellcheck shell=sh
# Sets the environment that the scripts need, whatever the caller's is. Sourced, not run.
#
# A bare machine has no locale. `env -i` and cron leave almost no variables, `su` keeps a PATH without sbin, and
# TMPDIR may name a directory that is private to another user or no longer exists.
LC_ALL=C.UTF-8
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}
case :$PATH: in
*:/usr/sbin:*) ;;
*) PATH=$PATH:/usr/sbin:/sbin ;;
esac
export LC_ALL PATH
umask 022
if [ -n "${TMPDIR-}" ] && ! { [ -d "$TMPDIR" ] && [ -w "$TMPDIR" ]; }; then
	unset TMPDIR
fi
