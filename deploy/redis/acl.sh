#!/bin/sh
# Prints an ACL file in which users have passwords, as SHA-256. A user that is not named keeps having none and cannot log in.
#   sh acl.sh users.acl countersign=FILE [admin=FILE] [replica=FILE] [sentinel=FILE]
set -eu
fail() {
  echo "acl.sh: $1" >&2
  exit 1
}
[ $# -ge 1 ] || fail 'name the list of users, and who gets which password, as countersign=FILE'
template=$1
shift
sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }
edits=
for pair in "$@"; do
  user=${pair%%=*}
  file=${pair#*=}
  grep -q "^user $user on resetpass " "$template" || fail "no user \`$user\` that takes a password is in $template"
  password=$(cat "$file")
  [ "${#password}" -ge 32 ] || fail "$file: a password has 32 characters or more"
  hash=$(printf %s "$password" | sha256 | cut -d ' ' -f 1)
  edits="${edits}s/^user $user on resetpass /user $user on resetpass #$hash /;"
done
sed "$edits" "$template"
