"""Run once while an image is made: asks each language that is there for its version and writes them all down.

What a command prints is prose of its maker's; the version is the first thing in it that looks like one.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

from .languages import LANGUAGES, Command, available

VERSIONS = "/opt/verifier/versions.json"
PATIENCE_S = 60
_DOTTED = re.compile(r"(?<![\d.])(\d+(?:\.\d+)+)")
_BARE = re.compile(r"(?<![\w.])(\d+)(?![\w.])")


def version_in(text: str) -> str | None:
    """The first dotted number, else the first number."""
    found = _DOTTED.search(text) or _BARE.search(text)
    return found[1] if found is not None else None


def ask(command: Command) -> str | None:
    """What `command` says its version is; None when it can't be run, fails to end, or says none."""
    try:
        said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return version_in(said.stdout.decode("utf-8", "replace")) or version_in(said.stderr.decode("utf-8", "replace"))


def main() -> None:
    found = {name: ask(LANGUAGES[name].version) for name in available(lambda command: shutil.which(command) is not None)}
    with open(VERSIONS, "w") as file:
        json.dump({name: version or "" for name, version in found.items()}, file, indent=1, sort_keys=True)
        file.write("\n")
