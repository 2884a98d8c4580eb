#!/usr/bin/env bash
# Builds the service's image and the sandboxes' images under the names that docker-compose.yml uses. Which profiles of the
# latter is VERIFIER_SANDBOX_PROFILES, as for the service. `scripts/images.sh sandboxes`: these alone, and only where an
# engine answers.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = sandboxes ]; then
    docker info >/dev/null 2>&1 || { echo "no Docker engine answers: no images are built"; exit 0; }
else
    docker build -t reward-verifier:latest -f docker/service/Dockerfile .
fi
# The sandboxes' images carry a digest of their sources, by which the service knows whether they are current.
"${VENV:-.venv}/bin/python" - <<'PYTHON'
import docker
from verifier_service.sandbox import image
from verifier_service.settings import Settings

settings = Settings()
client = docker.from_env(timeout=3600)
for profile in settings.sandbox_profiles.split(","):
    name = settings.image_of(profile)
    if not image.is_current(client, name, profile):
        print(f"building the image {name} (once; a minute for python, some more for the others)", flush=True)
    image.ensure(client, name, profile)
PYTHON
[ "${1:-}" != sandboxes ] || exit 0
docker image ls --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep -E '^(reward-verifier|verifier-runner)'
