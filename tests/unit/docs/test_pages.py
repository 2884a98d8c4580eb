"""What the documentation and the deployment files name does exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from verifier_protocol import ScoreRequest, ScoreResponse, request, response
from verifier_service.settings import Settings

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docker-compose.yml", *sorted((ROOT / "docs").glob("*.md"))]
CLIENT_VARIABLES = {f"VERIFIER_CLIENT_{name}" for name in ("URL", "VERIFIERS", "DEADLINE_S", "UNSCORED")}
TEST_NAMES = ("REQUIRE_DOCKER", "REQUIRE_BUBBLEWRAP", "REQUIRE_TRAINER", "LOSS_REFERENCE", "TEST_FULL_IMAGE")
TEST_VARIABLES = {f"VERIFIER_{name}" for name in TEST_NAMES}
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8")):
        goal = page.parent / target if target else page
        assert goal.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", goal.read_text("utf-8"), re.M)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_holds_a_placeholder_or_speaks_of_unfinished_work(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.S)
    if page.suffix != ".md":
        return
    assert re.findall(r"\b(?:TODO|FIXME|TBD|XXX|MEASURED|[A-Z]+_[A-Z_0-9]+)\b", prose) == []


def test_every_page_of_the_documentation_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in readme] == []


def json_blocks(page: str) -> list[Any]:
    text = (ROOT / page).read_text("utf-8")
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)]


def test_the_examples_of_the_api_page_are_requests_and_answers_of_the_protocol() -> None:
    requests = answers = 0
    for example in json_blocks("docs/api.md"):
        if "protocol" in example:
            answer = ScoreResponse.model_validate(example)
            assert answer.model_dump(mode="json", exclude_none=True) == example
            answers += 1
        else:
            ScoreRequest.model_validate(example)
            requests += 1
    assert requests >= 6
    assert answers >= 1


def test_the_api_page_names_every_field_of_requests_and_verdicts() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    models: list[type[BaseModel]] = [
        request.ScoreRequest, request.Group, request.MathSpec, request.MathOptions, request.FormatSpec, request.CodeSpec,
        request.CodeLimits, request.StdinTests, request.StdinCase, request.Compare, request.Checker, request.FunctionTests,
        request.FunctionCase, request.AssertTests, request.InteractiveTests, request.InteractiveCase, request.Interactor,
        request.PluginSpec, response.ScoredVerdict, response.UnscoredVerdict, response.TestResult, response.GroupStats,
        response.GroupResult,
    ]  # fmt: skip
    named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"```.*?```|`[^`]*`", page, re.S))))
    assert {field for model in models for field in model.model_fields} - named == set()


def test_constraints_pin_everything_that_the_project_asks_for() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["service"], *extras["dev"]]
    names = {re.split(r"[\[<>=!~ ;]", line, maxsplit=1)[0].lower().replace("_", "-") for line in asked}
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    assert names - pinned == set(), "run: make upgrade"
