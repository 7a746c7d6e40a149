#!/usr/bin/env bash
# A PostgreSQL of its own for one test, on loopback and in a folder that goes with it.
#
#   server.sh find                 prints where its programs are; ends with 1 where they are not
#   server.sh start PORT           prints the folder it lives in; owner `owner`, password `owner-secret`; it speaks TLS with a
#                                  certificate for `localhost`, which `root.pem` there signed and `other.pem` did not; the user
#                                  `guarded` is let in with TLS only
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
    command -v openssl >/dev/null
    echo "$programs"
    ;;
  start)
    folder="$(mktemp -d "${TMPDIR:-/tmp}/pool-review-postgres.XXXXXX")"
    printf 'owner-secret\n' >"$folder/password"
    [ "$(id -u)" -ne 0 ] || chown -R postgres "$folder"
    cd "$folder"
    authority() {
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem"
    }
    {
      authority root && authority other
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr
      printf 'subjectAltName=DNS:localhost\n' >server.ext
      openssl x509 -req -in server.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile server.ext -out server.crt
    } 2>/dev/null
    chmod 600 server.key
    [ "$(id -u)" -ne 0 ] || chown postgres server.key
    as_user "$programs/initdb" -D "$folder/data" -U owner -A scram-sha-256 --pwfile="$folder/password" -E UTF8 --locale=C --no-sync >/dev/null
    printf 'hostssl all guarded 127.0.0.1/32 scram-sha-256\nhost all guarded all reject\n' >rules
    cat data/pg_hba.conf >>rules
    cat rules >data/pg_hba.conf
    options="-c ssl=on -c ssl_cert_file=$folder/server.crt -c ssl_key_file=$folder/server.key -c max_wal_size=4GB"
    options="$options -c listen_addresses=127.0.0.1 -c port=$2 -c unix_socket_directories='' -c fsync=off -c full_page_writes=off"
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
