#!/usr/bin/env bash
# Builds the service's image and the sandboxes' image under the names that docker-compose.yml uses.
set -euo pipefail
cd "$(dirname "$0")/.."
docker build -t reward-verifier:latest -f docker/service/Dockerfile .
docker build -t "${VERIFIER_SANDBOX_IMAGE:-verifier-runner:latest}" -f verifier_service/sandbox/image/Dockerfile verifier_service/sandbox
docker image ls --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E '^(reward-verifier|verifier-runner):'
