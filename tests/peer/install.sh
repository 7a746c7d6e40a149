#!/usr/bin/env bash
# Brings what the peer test needs: emulate 0.11.2, a server that speaks GitHub's REST API, from npm. Needs Node 20. The version
# is pinned: the tag `latest` of that name is an unrelated package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v node >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null || echo "skipped: apt-get could not install it" >&2
  else
    echo "skipped: node: not here, and this is no root shell with apt-get"
  fi
fi

if [ ! -d node_modules/emulate ]; then
  if command -v npm >/dev/null; then
    npm ci --ignore-scripts --no-audit --no-fund --silent || echo "skipped: npm could not bring it" >&2
  else
    echo "skipped: emulate: npm is not here"
  fi
fi
