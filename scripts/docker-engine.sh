#!/usr/bin/env bash
# Brings up a Docker engine with the base images that the project's Dockerfiles name, on Debian or Ubuntu, as root.
# Used by CI and by people without an engine; safe to repeat: what is there already is left alone.
#
#   sudo scripts/docker-engine.sh                    engine, bubblewrap, compose, base images
#   sudo scripts/docker-engine.sh image NAME SUITE   only make the base image NAME from the Debian suite SUITE
#
# Base images come from the registry. Where none answers they are made here from Debian's packages under the same
# name, so that the same Dockerfiles build everywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

PULL_TIMEOUT_S=90
START_TIMEOUT_S=60
MIRROR=${DEBIAN_MIRROR:-}  # empty: the one that mmdebstrap takes by itself
LOG=${DOCKERD_LOG:-/var/log/dockerd.log}

say() { printf 'docker-engine: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

apt_install() {
    command -v apt-get >/dev/null || die "no apt-get here: install $* by your system's means, then run this again"
    say "installing $*"
    [ -n "${apt_updated:-}" ] || apt-get update -qq </dev/null >&2
    apt_updated=1
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

answers() { docker info >/dev/null 2>&1; }

install_missing() {
    local missing=()
    answers || command -v dockerd >/dev/null || missing+=(docker.io runc containerd iptables)
    command -v docker >/dev/null || missing+=(docker.io)
    command -v bwrap >/dev/null || missing+=(bubblewrap)
    docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || missing+=(docker-compose)
    [ "${#missing[@]}" -eq 0 ] || apt_install "${missing[@]}"
    # Debian 13 ships the command line apart from the engine.
    command -v docker >/dev/null || apt_install docker-cli
}

start_engine() {
    answers && return
    if [ -d /run/systemd/system ]; then
        systemctl start docker
    else
        say "starting dockerd (log: $LOG)"
        # A session of its own: it outlives this script and the terminal's signals don't reach it.
        setsid nohup dockerd >"$LOG" 2>&1 </dev/null &
    fi
    local waited
    for ((waited = 0; waited < START_TIMEOUT_S; waited++)); do
        answers && return
        sleep 1
    done
    [ ! -f "$LOG" ] || tail -n 20 "$LOG" >&2
    die "no engine answered within $START_TIMEOUT_S s; inside a container it must be a privileged one"
}

make_image() {
    local name=$1 suite=$2 folder status=0
    command -v mmdebstrap >/dev/null || apt_install mmdebstrap
    [ -f /usr/share/keyrings/debian-archive-keyring.gpg ] || apt_install debian-archive-keyring
    folder=$(mktemp -d)
    say "making $name (a minute or two)"
    # Like Debian's own slim images: no documentation, no translations, no package lists.
    mmdebstrap --quiet --variant=minbase --components=main \
        --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/info/*' \
        "$suite" "$folder/base.tar" ${MIRROR:+"$MIRROR"} </dev/null >&2 || status=$?
    [ "$status" -ne 0 ] || docker import --change 'CMD ["bash"]' "$folder/base.tar" "$name" >/dev/null || status=$?
    rm -rf -- "$folder"
    [ "$status" -eq 0 ] || die "could not make $name (is a Debian mirror reachable? DEBIAN_MIRROR names another)"
}

# debian:trixie-slim -> trixie
suite_of() { local tag=${1#*:}; printf '%s\n' "${tag%-slim}"; }

provide_image() {
    local name=$1
    docker image inspect "$name" >/dev/null 2>&1 && return
    say "pulling $name"
    timeout "$PULL_TIMEOUT_S" docker pull -q "$name" </dev/null >/dev/null 2>&1 && return
    say "no registry gave $name"
    make_image "$name" "$(suite_of "$name")"
}

# The images that our Dockerfiles start from; names of their own stages have no colon.
base_images() { sed -n 's/^FROM \([a-z.\/]*:[^ ]*\).*/\1/p' docker/*/Dockerfile verifier_service/sandbox/image/Dockerfile | sort -u; }

[ "$(id -u)" -eq 0 ] || die "needs root: sudo scripts/docker-engine.sh"
if [ "${1:-}" = image ]; then
    [ "$#" -eq 3 ] || die "usage: docker-engine.sh image NAME SUITE"
    make_image "$2" "$3"
    exit 0
fi
install_missing
start_engine
for name in $(base_images); do
    provide_image "$name"
done
say "engine $(docker version --format '{{.Server.Version}}') answers; base images: $(base_images | tr '\n' ' ')"
