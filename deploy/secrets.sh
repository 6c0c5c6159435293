#!/bin/sh
# Makes the secrets of a deployment in a directory that only you can enter; what is there already stays.
#   sh deploy/secrets.sh deploy/compose/secrets
# The files themselves are readable by all, because a container reads them as another user; the directory is what keeps others out.
set -eu
[ $# -eq 1 ] || { echo 'secrets.sh: name the directory, such as deploy/compose/secrets' >&2; exit 1; }
here=$(dirname "$0")
mkdir -p "$1"
chmod 0700 "$1"
for name in admin-key redis-password redis-admin-password grafana-admin-password; do
  [ -s "$1/$name" ] && continue
  od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n' >"$1/$name.new"
  [ "$(wc -c <"$1/$name.new")" -eq 64 ] || exit 1
  mv "$1/$name.new" "$1/$name"
done
rm -f "$1/users.acl"
sh "$here/redis/acl.sh" "$here/redis/users.acl" countersign="$1/redis-password" admin="$1/redis-admin-password" >"$1/users.acl"
chmod 0444 "$1"/*
