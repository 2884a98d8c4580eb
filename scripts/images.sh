#!/usr/bin/env bash
# Builds the service's image and the sandboxes' image under the names that docker-compose.yml uses.
set -euo pipefail
cd "$(dirname "$0")/.."
docker build -t reward-verifier:latest -f docker/service/Dockerfile .
# The sandboxes' image carries a digest of its sources, by which the service knows whether it is current.
"${VENV:-.venv}/bin/python" - "${VERIFIER_SANDBOX_IMAGE:-verifier-runner:latest}" <<'PYTHON'
import sys
import docker
from verifier_service.sandbox import image
image.ensure(docker.from_env(), sys.argv[1])
PYTHON
docker image ls --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E '^(reward-verifier|verifier-runner):'
