#!/usr/bin/env bash
# Brings what the browser test needs: Chromium from Debian, playwright-core and axe-core from npm. Skips what is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

packages=()
command -v chromium >/dev/null || command -v google-chrome >/dev/null || packages+=(chromium)
if [ "${#packages[@]}" -gt 0 ]; then
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null
  else
    echo "skipped: ${packages[*]}: not here, and this is no root shell with apt-get"
  fi
fi

if [ ! -d node_modules/playwright-core ] || [ ! -d node_modules/axe-core ]; then
  if command -v npm >/dev/null; then
    npm ci --ignore-scripts --no-audit --no-fund --silent
  else
    echo "skipped: playwright-core and axe-core: npm is not here"
  fi
fi
