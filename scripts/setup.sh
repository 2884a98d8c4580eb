#!/usr/bin/env bash
# Makes the project's environment in .venv, or says in one line what is missing. Does nothing when it is up to date.
#   PYTHON=python3.13 scripts/setup.sh     choose the interpreter
#   VENV=path scripts/setup.sh             choose the place
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
stamp=$venv/.installed

say() { printf '%s\n' "$*" >&2; }
die() { say "setup: $*"; exit 1; }

# The version as a number that can be compared (3.12 -> 312), or nothing where it isn't a Python that runs.
version_of() { "$1" -c 'import sys; print(sys.version_info[0] * 100 + sys.version_info[1])' 2>/dev/null || true; }

supported() {
    local version
    version=$(version_of "$1")
    [ -n "$version" ] && [ "$version" -ge 311 ] && [ "$version" -le 313 ]
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        supported "$PYTHON" || die "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13"
        command -v "$PYTHON"
        return
    fi
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if command -v "$candidate" >/dev/null && supported "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    die "no Python 3.11, 3.12 or 3.13 found; on Debian or Ubuntu: sudo apt-get install python3 python3-venv"
}

# Debian and Ubuntu ship venv without ensurepip: python3-venv (or python3.12-venv) brings it.
install_venv_package() {
    local minor package elevate=()
    minor=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    package=python3-venv
    [ "$(readlink -f "$1")" = "$(readlink -f /usr/bin/python3)" ] || package=python$minor-venv
    command -v apt-get >/dev/null || die "$1 has no ensurepip: install the venv module of this Python"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || die "$1 can't make environments yet; run: sudo apt-get install -y $package"
        elevate=(sudo -n)
    fi
    say "setup: installing $package with apt"
    "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null
}

fingerprint() {
    { cat pyproject.toml constraints.txt; pwd; } | sha256sum | cut -d' ' -f1
}

wanted=$(fingerprint)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

if ! { [ -x "$venv/bin/python" ] && supported "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_package "$python"
    say "setup: making $venv with $("$python" --version) ($python)"
    rm -rf -- "$venv"
    "$python" -m venv "$venv"
fi
say "setup: installing the service and its tools into $venv (once; a minute or so)"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input \
    -c constraints.txt -e '.[service,dev]' || die "pip could not install; its message is above (is the package index reachable?)"
printf '%s\n' "$wanted" >"$stamp"
say "setup: done"
