#!/bin/sh
# Joins six empty nodes to a cluster, once:  sh create.sh ADMIN_PASSWORD_FILE redis-1:6379 ... redis-6:6379
# Answer `yes` when the plan is shown; CREATE_FLAGS=--cluster-yes does not ask.
set -eu
[ $# -ge 7 ] || { echo 'create.sh: name the file with the password of admin, and six nodes as host:port' >&2; exit 1; }
REDISCLI_AUTH=$(cat "$1")
export REDISCLI_AUTH
shift
# shellcheck disable=SC2086
exec redis-cli --user admin --cluster create "$@" --cluster-replicas 1 ${CREATE_FLAGS-}
