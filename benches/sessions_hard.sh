#!/usr/bin/env bash
# Stores that a reader could drown in, with time and peak memory of the whole process: 200,000 small files, a sparse file of
# 70 GB, folders that may not be entered, and a file that grows while it is read.
#
#   benches/sessions_hard.sh [BINARY]        without one target/release/pool-review, which is built
#
# Figures of one run, release build:
#   200,000 small files, cold            2.32 CPU s     45 MiB peak    (6.0 CPU s and 420 MiB when every file stood in memory)
#   200,000 small files, unchanged       0.64 CPU s     47 MiB peak    (1.2 CPU s and 470 MiB)
#   70 GB sparse file                    0.01 CPU s     14 MiB peak
#   a folder and a file that are shut    0.01 CPU s     14 MiB peak, two warnings, the rest counts, exit 0
#   a file that grows                    every reading ends, none is read twice, 11,000 of 11,000 lines at rest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary="$(readlink -f "${1:-$PWD/target/release/pool-review}")"
[ -x "$binary" ] || cargo build --release --quiet
work="$(mktemp -d)"
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
python3 - "$binary" "$work" <<'PYTHON'
import os, shutil, subprocess, sys, threading, time

binary, work = sys.argv[1:3]
os.chmod(work, 0o755)
LINE = '{"type":"assistant","timestamp":"2026-11-20T10:00:00Z","message":{"id":"%s","model":"m","usage":{"output_tokens":1}}}\n'


def run(name, store, as_nobody=False):
    command = [binary, "sessions", "--store", f"claude-code={store}", "--format", "csv"]
    if as_nobody:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command + ["--no-cache"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work)
    out, err = child.stdout.read().decode(), child.stderr.read().decode()
    _, status, used = os.wait4(child.pid, 0)
    header, *lines = [line.split(",") for line in out.splitlines()]
    responses = sum(int(line[header.index("responses")]) for line in lines)
    seconds = used.ru_utime + used.ru_stime
    print(f"{name:34} {seconds:7.2f} CPU s {used.ru_maxrss / 1024:8.1f} MiB peak, {responses} responses, exit {os.waitstatus_to_exitcode(status)}", flush=True)
    for line in err.splitlines():
        print(f"    {line.replace(work, '')}")


small = os.path.join(work, "small")
for folder in range(400):
    path = os.path.join(small, "projects", f"p{folder}")
    os.makedirs(path)
    for file in range(500):
        with open(os.path.join(path, f"{file}.jsonl"), "w") as out:
            out.write(LINE % f"{folder}-{file}")
run("200,000 small files, cold", small)
run("200,000 small files, unchanged", small)
with open(os.path.join(small, "projects", "p7", "7.jsonl"), "a") as out:
    out.write(LINE % "one more")
run("200,000 small files, one grown", small)
shutil.rmtree(small)
shutil.rmtree(os.path.join(work, ".cache"))

sparse = os.path.join(work, "sparse", "projects", "p")
os.makedirs(sparse)
with open(os.path.join(sparse, "a.jsonl"), "wb") as out:
    out.write((LINE % "before").encode())
    out.seek(70_000_000_000)
    out.write(("\n" + LINE % "behind").encode())
run("70 GB sparse file", os.path.join(work, "sparse"))

closed = os.path.join(work, "closed", "projects")
for name in ("open", "shut"):
    os.makedirs(os.path.join(closed, name))
    for file in ("a", "b"):
        with open(os.path.join(closed, name, f"{file}.jsonl"), "w") as out:
            out.write(LINE % f"{name}-{file}")
os.chmod(os.path.join(closed, "shut"), 0)
os.chmod(os.path.join(closed, "open", "b.jsonl"), 0)
if os.getuid() == 0:
    run("a folder and a file that are shut", os.path.join(work, "closed"), as_nobody=True)
else:
    run("a folder and a file that are shut", os.path.join(work, "closed"))

growing = os.path.join(work, "growing", "projects", "p")
os.makedirs(growing)
at_rest, lines = threading.Event(), 0


def grow():
    global lines
    with open(os.path.join(growing, "a.jsonl"), "w", buffering=1 << 16) as out:
        while not at_rest.is_set():
            out.write("".join(LINE % f"g{lines + n}" for n in range(1000)))
            lines += 1000
            time.sleep(0.002)


writer = threading.Thread(target=grow)
writer.start()
for reading in range(3):
    run(f"a file that grows, reading {reading + 1}", os.path.join(work, "growing"))
at_rest.set()
writer.join()
run("the same file at rest", os.path.join(work, "growing"))
print(f"    {lines} lines were written")
PYTHON
