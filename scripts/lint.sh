#!/usr/bin/env bash
# All static checks; every one runs, and the status is that of the worst.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=${VENV:-.venv}/bin
status=0
check() {
    printf '== %s\n' "$*"
    "$bin/$@" || status=1
}
check ruff check .
check ruff format --check .
check mypy
check lint-imports
exit "$status"
