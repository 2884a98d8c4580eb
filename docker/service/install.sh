#!/bin/sh
# Steps of the image's build: `dependencies` (a layer that only changes with them), then `project`.
set -eu
house=docker/service/wheelhouse
from=
if ls "$house"/*.whl >/dev/null 2>&1; then
    from="--no-index --find-links $house"
fi

failed() {
    if [ -n "$from" ]; then
        echo "the wheels in $house do not suffice: run scripts/wheelhouse.sh again, then build again" >&2
    else
        echo "no package index reachable from the build: run scripts/wheelhouse.sh first, then build again" >&2
    fi
    exit 1
}

case $1 in
dependencies)
    python3 docker/service/requirements.py pyproject.toml >/tmp/requirements.txt
    # shellcheck disable=SC2086  # two words or none
    pip install $from -c constraints.txt -r /tmp/requirements.txt || failed
    ;;
project)
    # shellcheck disable=SC2086
    pip install $from --no-deps . || failed
    # The libraries' own tests are a tenth of the image.
    find /opt/verifier -type d -name tests -path '*site-packages/*' -prune -exec rm -rf {} +
    ;;
esac
