#!/usr/bin/env bash
# Makes the trainer's environment in .venv-trainer: torch first and alone, then the versions of constraints-trainer.txt.
# Does nothing when it is up to date.
#   TORCH_INDEX=https://download.pytorch.org/whl/cpu scripts/trainer_env.sh   torch's CPU build, where the index has both
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${TRAINER_VENV:-.venv-trainer}
stamp=$venv/.installed
torch=$(grep -E '^torch==' constraints-trainer.txt)

say() { printf '%s\n' "$*" >&2; }
die() { say "trainer-env: $*"; exit 1; }

wanted=$({ cat pyproject.toml constraints-trainer.txt scripts/trainer_env.sh; pwd; } | sha256sum | cut -d' ' -f1)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi

if ! { [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
    # The service's environment knows a Python that is new enough; `make setup` finds one.
    scripts/setup.sh
    rm -rf -- "$venv"
    "$(readlink -f .venv/bin/python)" -m venv "$venv"
fi
pip() { nice "$venv/bin/python" -m pip "$1" -qq --disable-pip-version-check --no-input "${@:2}"; }
say "trainer-env: installing $torch and TRL into $venv (once; some minutes)"
# Alone: together with others the resolver may prefer a build with gigabytes of CUDA libraries.
pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$torch" || die "pip could not install torch; its message is above"
# Without the index of the first step: a newer torch must not replace the one just installed.
pip install -c constraints-trainer.txt -e '.[trainer]' -r scripts/trainer_tools.txt ||
    die "pip could not install; its message is above (is the package index reachable?)"
printf '%s\n' "$wanted" >"$stamp"
say "trainer-env: done"
