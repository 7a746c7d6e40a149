#!/usr/bin/env bash
# The test of spend logs with 1,000,000 rows: the rollup of the database is that of the export, row by row. It takes about two
# minutes and 600 MB of scratch; the ordinary suite runs the same test with 20,000 rows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests/postgres/install.sh
POOL_REVIEW_SPEND_ROWS="${1:-1000000}" cargo test --test sessions the_rollup_of_the_database -- --nocapture
