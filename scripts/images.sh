#!/usr/bin/env bash
# Builds the service's image and the sandboxes' images under the names that docker-compose.yml uses. Which profiles of the
# latter is VERIFIER_SANDBOX_PROFILES, as for the service.
set -euo pipefail
cd "$(dirname "$0")/.."
docker build -t reward-verifier:latest -f docker/service/Dockerfile .
# The sandboxes' images carry a digest of their sources, by which the service knows whether they are current.
"${VENV:-.venv}/bin/python" - <<'PYTHON'
import docker
from verifier_service.sandbox import image
from verifier_service.sandbox.select import image_of
from verifier_service.settings import Settings

settings = Settings()
for profile in settings.sandbox_profiles.split(","):
    image.ensure(docker.from_env(timeout=3600), image_of(settings, profile), profile)
PYTHON
docker image ls --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E '^(reward-verifier|verifier-runner)'
