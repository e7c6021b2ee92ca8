#!/bin/sh
# Install the few system packages that pip can't bring, if they are missing and we may.
set -eu
missing=""
command -v bwrap >/dev/null || missing="$missing bubblewrap"
/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
# Debian's, and not one in somebody's home: programs are compiled by an unprivileged user.
[ -x /usr/bin/rustc ] || missing="$missing rustc"
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null; then
    echo "please install:$missing (see re-bench doctor for what works without)" >&2
    exit 0
fi
run=""
[ "$(id -u)" -eq 0 ] || run="sudo -n"
if ! $run apt-get update -qq || ! $run apt-get install -y -qq --no-install-recommends $missing >/dev/null; then
    echo "could not install$missing; ask an administrator, or see re-bench doctor" >&2
fi
