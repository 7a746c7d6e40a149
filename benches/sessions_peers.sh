#!/usr/bin/env bash
# Cold, unchanged and 1 % appended readings of one generated tree, beside `cat` and the public readers that are installed.
#
#   benches/sessions_peers.sh TREE [BINARY]     a tree of shared/tools/gen_sessions.py --size-mb 1000 --codex-share 0; without a
#                                               binary target/release/pool-review, which is built
#
# Every figure is CPU time (user + system) of the whole process tree, the median of five runs after one warm-up, with its ratio
# to `cat` in the same run. Peers are compared where they are found on PATH:
#   ccusage 20.0.24     npm i -g ccusage@20.0.24 @ccusage/ccusage-linux-x64@20.0.24
#   tokscale 4.17.0     npm i -g @tokscale/cli-linux-x64-gnu@4.17.0      (the plain package stops at 1.4.3)
#   tokenusage 1.5.2    cargo install tokenusage --no-default-features --features cli --bin tu
#   ccstats 0.11.1      cargo install ccstats
# They are kept off the network with `unshare -n` where that is allowed, and every run begins without their caches.
#
# Figures of one run, release build, 1.000 GB in 2,853 files; `cat` 0.272 CPU s/GB (the machine was a third slower than on its best
# day: the ratio to `cat` is the figure to trust):
#   pool-review cold            0.602 CPU s/GB   2.22 x cat    34 MiB      ccusage claude session   1.711 CPU s/GB   6.30 x cat   199 MiB
#   pool-review unchanged       0.095            0.35          34 MiB      tokscale, cold           2.833           10.43         237 MiB
#   pool-review 1 % appended    0.107            0.39          34 MiB      tokenusage, no cache     1.132            4.17         107 MiB
set -euo pipefail
tree="$(cd "${1:?a tree of gen_sessions.py}" && pwd)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary="$(readlink -f "${2:-$PWD/target/release/pool-review}")"
[ -x "$binary" ] || cargo build --release --quiet
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 - "$tree" "$binary" "$work" <<'PYTHON'
import os, shutil, statistics, subprocess, sys

tree, binary, work = sys.argv[1:4]
stores = [(kind, os.path.join(tree, "." + kind.split("-")[0])) for kind in ("claude-code", "codex")]
stores = [(kind, path) for kind, path in stores if os.path.isdir(path)]
files = [os.path.join(d, f) for _, path in stores for d, _, fs in os.walk(path) for f in fs]
gigabytes = sum(map(os.path.getsize, files)) / 1e9
offline = ["unshare", "-n"] if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0 else []


def run(command, **env):
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen(command, stdout=null, stderr=null, cwd=work, env={**os.environ, **env})
        _, status, used = os.wait4(child.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, status


def median(step, before=lambda: None, runs=5):
    results = []
    for _ in range(runs + 1):
        before()
        results.append(step())
    results = results[1:]
    if any(status for *_, status in results):
        return None
    return statistics.median(r[0] for r in results), statistics.median(r[1] for r in results)


def show(name, result):
    if result is None:
        print(f"{name:28} failed")
        return
    print(f"{name:28} {result[0] / gigabytes:7.3f} CPU s/GB {result[0] / base[0]:7.2f} x cat {result[1]:8.1f} MiB peak")


own = [binary, "sessions", "--format", "json"] + [part for kind, path in stores for part in ("--store", f"{kind}={path}")]
forget = lambda: shutil.rmtree(os.path.join(work, ".cache"), ignore_errors=True)
listing = os.path.join(work, "files")
open(listing, "w").write("\0".join(files))
base = median(lambda: run(["xargs", "-0", "-a", listing, "cat"]))
print(f"{gigabytes:.3f} GB in {len(files)} files")
show("cat", base)
show("pool-review cold", median(lambda: run(own), before=forget))
show("pool-review cold, no index", median(lambda: run(own + ["--no-cache"])))
forget(); run(own)
show("pool-review unchanged", median(lambda: run(own)))

grown = sorted(files, key=os.path.getsize)[-24:]
sizes = {path: os.path.getsize(path) for path in grown}
def append():
    for path in grown:
        with open(path, "r+b") as file:
            file.truncate(sizes[path])
    forget(); run(own)
    for path in grown:
        with open(path, "r+b") as file:
            piece = file.read(int(gigabytes * 1e7 / len(grown)))
            file.seek(0, 2)
            file.write(piece[: piece.rfind(b"\n") + 1])
try:
    show("pool-review 1 % appended", median(lambda: run(own), before=append, runs=3))
finally:
    for path in grown:
        with open(path, "r+b") as file:
            file.truncate(sizes[path])

claude, home = os.path.join(tree, ".claude"), os.path.join(work, "home")
peers = [
    ("ccusage claude session", "ccusage", ["claude", "session", "--json", "--offline"], {"CLAUDE_CONFIG_DIR": claude}),
    ("ccusage claude daily", "ccusage", ["claude", "daily", "--json", "--offline"], {"CLAUDE_CONFIG_DIR": claude}),
    ("tokscale", "tokscale", ["models", "--json", "--no-spinner", "-c", "claude", "--home", tree], {"HOME": home}),
    ("tokenusage", "tu", ["daily", "--json", "--offline", "--no-codex", "--no-antigravity", "--claude-projects-dir", claude + "/projects", "--no-incremental-cache"], {"HOME": home}),
    ("ccstats", "ccstats", ["daily", "--json", "--offline", "--source", "claude"], {"HOME": tree}),
]
def no_cache():
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
for name, program, args, env in peers:
    if shutil.which(program):
        show(name, median(lambda: run(offline + [program] + args, **env), before=no_cache, runs=3))
    else:
        print(f"{name:28} not installed")
PYTHON
