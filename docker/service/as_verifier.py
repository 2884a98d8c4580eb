"""Starts the executor as the user `verifier`, with the group that owns the Docker socket as its only extra group.

The socket's group has another number on every host, so it can't stand in the image or in docker-compose.yml. This runs
as root for the moment it takes to look, then gives root up for good: `as_verifier.py COMMAND ARGUMENT…`.
"""

import os
import pwd
import sys
from pathlib import Path

SOCKET = "/var/run/docker.sock"


def main(command: list[str]) -> None:
    if not command:
        sys.exit("as_verifier: no command")
    if os.getuid() == 0:
        try:
            socket_gid = Path(SOCKET).stat().st_gid
        except FileNotFoundError:
            sys.exit(f"as_verifier: {SOCKET} is not mounted: the executor needs the Docker engine's socket")
        user = pwd.getpwnam("verifier")
        os.setgroups([socket_gid])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    os.execvp(command[0], command)  # noqa: S606  (a list of compose's own; this process becomes it)


if __name__ == "__main__":
    main(sys.argv[1:])
