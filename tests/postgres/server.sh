#!/usr/bin/env bash
# A PostgreSQL of its own for one test, on loopback and in a folder that goes with it.
#
#   server.sh find                 prints where its programs are; ends with 1 where they are not
#   server.sh start PORT           prints the folder it lives in; owner `owner`, password `owner-secret`
#   server.sh stop FOLDER          ends it and removes the folder
#
# PostgreSQL refuses to run as root: then the user `postgres` of the package runs it.
set -euo pipefail

find_programs() {
  local folder
  for folder in "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin; do
    [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && { echo "$folder"; return; }
  done
  return 1
}

as_user() {
  if [ "$(id -u)" -eq 0 ]; then
    runuser -u postgres -- "$@"
  else
    "$@"
  fi
}

programs="$(find_programs)" || exit 1
case "${1:-}" in
  find)
    [ "$(id -u)" -ne 0 ] || id postgres >/dev/null
    echo "$programs"
    ;;
  start)
    folder="$(mktemp -d "${TMPDIR:-/tmp}/pool-review-postgres.XXXXXX")"
    printf 'owner-secret\n' >"$folder/password"
    [ "$(id -u)" -ne 0 ] || chown -R postgres "$folder"
    cd "$folder"
    as_user "$programs/initdb" -D "$folder/data" -U owner -A scram-sha-256 --pwfile="$folder/password" -E UTF8 --locale=C --no-sync >/dev/null
    options="-c listen_addresses=127.0.0.1 -c port=$2 -c unix_socket_directories='' -c fsync=off -c full_page_writes=off"
    as_user "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -o "$options" -w -s start >/dev/null 2>&1 </dev/null || {
      cat "$folder/log" >&2
      rm -rf "$folder"
      exit 1
    }
    echo "$folder"
    ;;
  stop)
    case "$2" in */pool-review-postgres.*) ;; *) exit 2 ;; esac
    cd "$2"
    as_user "$programs/pg_ctl" -D "$2/data" -m immediate -s stop || true
    rm -rf "$2"
    ;;
  *)
    exit 2
    ;;
esac
