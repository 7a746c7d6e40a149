#!/usr/bin/env bash
# Brings PostgreSQL and openssl from Debian for the tests of spend logs. Skips what is there; starts nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

./server.sh find >/dev/null 2>&1 && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
  apt-get update -qq || true
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql openssl >/dev/null || echo "skipped: apt-get could not install it" >&2
else
  echo "skipped: postgresql: not here, and this is no root shell with apt-get"
fi
