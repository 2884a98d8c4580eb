"""Tokens are hashed without being seen; help and versions are instant and complete."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from verifier_service import __version__
from verifier_service.cli import app
from verifier_service.cli.serve import base_url, try_line
from verifier_service.settings import Settings


def test_a_token_from_standard_input_becomes_its_digest() -> None:
    done = CliRunner().invoke(app, ["hash-token"], input="secret\n")
    assert done.stdout == hashlib.sha256(b"secret").hexdigest() + "\n"


def test_a_generated_token_is_shown_once_and_its_digest_goes_to_the_file() -> None:
    done = CliRunner().invoke(app, ["hash-token", "--generate"])
    token = done.stderr.split()[-1]
    assert done.stdout == hashlib.sha256(token.encode()).hexdigest() + "\n"


def test_an_empty_token_is_refused() -> None:
    assert CliRunner().invoke(app, ["hash-token"], input="\n").exit_code == 2


def test_the_version_is_that_of_the_package() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == __version__


@pytest.mark.parametrize("command", ["serve", "score", "doctor", "explain", "check-golds", "hash-token"])
def test_every_command_explains_itself(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert len(done.stdout) > 200


def test_help_needs_no_heavy_part() -> None:
    check = "import sys, verifier_service.cli; sys.exit(bool({'sympy', 'fastapi', 'docker', 'uvicorn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_line_to_try_names_an_address_that_this_machine_reaches() -> None:
    assert base_url(Settings(host="0.0.0.0", port=9)) == "http://127.0.0.1:9"
    assert base_url(Settings(host="::", port=9)) == "http://[::1]:9"
    words = shlex.split(try_line(Settings(port=9)))
    assert words[:3] == ["curl", "-s", "http://127.0.0.1:9/score"]
    assert json.loads(words[-1])["gold"] == "42"
