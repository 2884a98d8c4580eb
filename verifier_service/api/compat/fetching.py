"""Files that a Python program left behind, for SandboxFusion's `fetch_files`.

The sandbox gives back what a program prints, not its folder. So the program is run from a file beside a few lines that
print the wanted files behind a mark when it has ended, however it ended by itself. It could print the mark too, and would
forge nothing but its own files.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import replace

from verifier_service.api.problems import RequestRefused
from verifier_service.sandbox.contract import Termination
from verifier_service.scoring.flights import Run

PROGRAM = "fetched_program.py"
MARK = "\0fetched files\0"

_DRIVER = """
import base64, os, sys
_folder, _write = os.getcwd(), os.write
def _fetch():
    sys.stdout.flush()
    parts = []
    for number, name in enumerate({names!r}):
        try:
            with open(os.path.join(_folder, name), "rb") as file:
                parts.append(f"{{number}}:" + base64.b64encode(file.read()).decode())
        except OSError:
            pass
    data = ({mark!r} + " ".join(parts)).encode()
    while data:
        data = data[_write(1, data):]
try:
    with open({program!r}, encoding="utf-8") as _file:
        _code = compile(_file.read(), {program!r}, "exec")
    exec(_code, {{"__name__": "__main__", "__file__": {program!r}, "__builtins__": __builtins__}})
finally:
    _fetch()
"""


def wrapped(run: Run, names: tuple[str, ...]) -> Run:
    """The run that prints those files as well.

    Raises:
        RequestRefused: 422; only Python programs can be wrapped so.
    """
    if run.language != "python":
        raise RequestRefused(422, f"fetch_files: for {run.language}, print what you need to stdout instead", "fetch_files")
    driver = _DRIVER.format(names=names, mark=MARK, program=PROGRAM)
    return replace(run, source=driver, files=(*run.files, (PROGRAM, run.source.encode())))


def unwrapped(ended: Termination, names: tuple[str, ...]) -> tuple[Termination, dict[str, str]]:
    """What the program itself printed, and its files in base64, those that it left."""
    stdout, mark, packed = ended.stdout.rpartition(MARK.encode())
    if not mark:
        return ended, {}
    files: dict[str, str] = {}
    for part in packed.split():
        number, _, data = part.partition(b":")
        try:
            b64decode(data, validate=True)
            files[names[int(number)]] = data.decode()
        except (binascii.Error, ValueError, IndexError):
            continue
    return replace(ended, stdout=stdout), files
