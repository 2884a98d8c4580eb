#!/usr/bin/env bash
# Rewrites constraints.txt with the newest versions that pyproject.toml allows, from a throw-away environment.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf -- "$fresh"' EXIT
"${PYTHON:-python3}" -m venv "$fresh"
"$fresh/bin/python" -m pip install -qq --disable-pip-version-check -e '.[service,dev]'
{
    sed -n '/^#/p' constraints.txt
    "$fresh/bin/python" -m pip freeze --exclude-editable | grep -v '^#' | LC_ALL=C sort -f
} >"$fresh/constraints.txt"
cp "$fresh/constraints.txt" constraints.txt
git --no-pager diff --stat -- constraints.txt
