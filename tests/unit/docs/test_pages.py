"""What the documentation and the deployment files name does exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifier_service.settings import Settings

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docker-compose.yml", *sorted((ROOT / "docs").glob("*.md"))]
CLIENT_VARIABLES = {f"VERIFIER_CLIENT_{name}" for name in ("URL", "VERIFIERS", "DEADLINE_S", "UNSCORED")}
TEST_VARIABLES = {f"VERIFIER_{name}" for name in ("REQUIRE_DOCKER", "REQUIRE_BUBBLEWRAP", "REQUIRE_TRAINER", "LOSS_REFERENCE")}
NO_SETTINGS = CLIENT_VARIABLES | TEST_VARIABLES | {"VERIFIER_TOKEN", "VERIFIER_NAME"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    known = {f"VERIFIER_{name.upper()}" for name in Settings.model_fields} | NO_SETTINGS
    named = set(re.findall(r"VERIFIER_[A-Z][A-Z0-9_]*[A-Z0-9]", page.read_text("utf-8")))
    assert named - known == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    rules = "".join(path.read_text("utf-8") for path in (ROOT / "Makefile", ROOT / "trainer.mk") if path.exists())
    targets = set(re.findall(r"^([a-z-]+):", rules, re.M))
    assert set(re.findall(r"`make ([a-z-]+)", page.read_text("utf-8"))) - targets == set()


def test_constraints_pin_everything_that_the_project_asks_for() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["service"], *extras["dev"]]
    names = {re.split(r"[\[<>=!~ ;]", line, maxsplit=1)[0].lower().replace("_", "-") for line in asked}
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    assert names - pinned == set(), "run: make upgrade"
