#!/usr/bin/env bash
# Fills docker/service/wheelhouse, so that the service's image builds without a package index.
# Only needed where a container can't reach one (no way out, or a proxy whose certificate it doesn't know).
# The image's Python is Debian 13's: 3.13. `scripts/wheelhouse.sh clean` empties it again.
set -euo pipefail
cd "$(dirname "$0")/.."
house=docker/service/wheelhouse
python=${VENV:-.venv}/bin/python
target=313

if [ "${1:-}" = clean ]; then
    find "$house" -mindepth 1 ! -name .gitkeep -delete
    exit 0
fi
[ -x "$python" ] || scripts/setup.sh
wanted=$(cat pyproject.toml constraints.txt "$0" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$house/.filled" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
find "$house" -mindepth 1 ! -name .gitkeep -delete
machine=$(uname -m)
{
    "$python" docker/service/requirements.py pyproject.toml
    # The project itself is built inside the image, from these.
    "$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'
} >"$house/.requirements"
"$python" -m pip download -qq --disable-pip-version-check --only-binary=:all: \
    --implementation cp --python-version "$target" --abi "cp$target" --abi abi3 --abi none \
    --platform "manylinux_2_28_$machine" --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" \
    --platform "manylinux_2_5_$machine" --platform "manylinux1_$machine" --platform any \
    -c constraints.txt -r "$house/.requirements" -d "$house"
printf '%s\n' "$wanted" >"$house/.filled"
printf 'wheelhouse: %s wheels, %s\n' "$(find "$house" -name '*.whl' | wc -l)" "$(du -sh "$house" | cut -f1)"
