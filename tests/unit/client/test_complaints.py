"""What a caller got wrong is said in the words of what the caller wrote, and never with a gold."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trainer_client.batching import checked_groups
from trainer_client.client import VerifierClient
from trainer_client.client_errors import RequestRefused, ServiceNotReady
from trainer_client.client_settings import ClientSettings
from trainer_client.client_sync import SyncVerifierClient

GOOD = {"completions": ["x"], "gold": "42"}


def with_spec(spec):
    return {"completions": ["x"], "verifiers": [{"kind": "math", "gold": "secret"}, spec]}


@pytest.mark.parametrize(
    ("bad", "field", "said"),
    [
        (
            with_spec({"kind": "maths", "gold": "secret"}),
            "groups[1].verifiers[1].kind",
            "unknown kind 'maths': there are math, code",
        ),
        (with_spec({"kind": "Math"}), "groups[1].verifiers[1].kind", "unknown kind 'Math'"),
        (with_spec({"kind": "k" * 900}), "groups[1].verifiers[1].kind", "unknown kind"),
        (with_spec({"kind": 4}), "groups[1].verifiers[1].kind", "unknown kind 'int'"),
        (with_spec({"gold": "secret"}), "groups[1].verifiers[1].kind", "needs a kind: math, code, format"),
        (with_spec("math"), "groups[1].verifiers[1]", 'an object such as {"kind": "math"'),
        (with_spec({"kind": "lean", "weight": "x"}), "groups[1].verifiers[1].weight", "valid number"),
        (with_spec({"kind": "math", "golds": "secret"}), "groups[1].verifiers[1].gold", "Field required"),
        (with_spec({"kind": "code", "tests": {"style": "stdin"}}), "groups[1].verifiers[1].tests.cases", "Field required"),
        ({"completions": [[{"role": 1}]], "gold": "secret"}, "groups[1].completions[0][0].role", "valid string"),
        ({**GOOD, "verifiers": [{"kind": "format"}]}, "groups[1].gold", "either verifiers or gold, not both"),
        ("secret", "groups[1]", "a group is an object"),
    ],
)
def test_a_bug_in_a_group_names_its_field_as_the_caller_wrote_it(bad, field, said):
    with pytest.raises(RequestRefused) as caught:
        checked_groups([GOOD, bad])
    assert caught.value.field == field
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("groups", [GOOD, "groups"], ids=["one group", "text"])
def test_one_group_where_a_list_belongs_is_told_so(groups):
    with pytest.raises(RequestRefused, match="give a list of groups"):
        checked_groups(groups)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "localhost:8000", "", None, [], "http://service/?a=b", "ftp://service"], ids=repr
)
def test_what_is_no_base_url_is_refused_with_one_that_is(url):
    with pytest.raises(ValueError, match=r"no base URL|http://127\.0\.0\.1:8000"):
        VerifierClient(url)


def test_a_password_in_a_url_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="pass token=") as caught:
        VerifierClient("http://me:hunter2@service")
    assert "hunter2" not in str(caught.value)


def test_blanks_around_a_url_or_a_token_are_taken_off():
    settings = ClientSettings(urls=" http://service:1/v1/score ", token="abc\n")
    assert settings.urls == ("http://service:1",)
    assert settings.bearer_token() == "abc"


@pytest.mark.parametrize("token", ["schlüssel", "a b", "a\nb"], ids=repr)
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(token):
    with (
        SyncVerifierClient("http://127.0.0.1:1", token=token) as client,
        pytest.raises(RequestRefused, match="the token has") as caught,
    ):
        client.score([GOOD], deadline_s=5)
    assert token not in str(caught.value)


def test_a_service_that_is_not_up_is_told_of_with_the_cause_and_the_remedy():
    with SyncVerifierClient("http://127.0.0.1:1") as client, pytest.raises(ServiceNotReady, match=r"ConnectError: .*; start it"):
        client.preflight(["math"])


async def test_one_kind_may_be_given_as_text(make_client):
    assert "math" in (await make_client().preflight("math")).verifiers


def test_the_command_without_its_packages_says_how_to_get_them():
    code = """
import sys
sys.modules["torch"] = sys.modules["yaml"] = None  # as if not installed
sys.argv = ["trainer-client", *sys.argv[1:]]
from trainer_client.cli import main
main()
"""

    def run(*arguments):
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60)

    missing = run("train", "--config", "small-cpu", "--dry-run")
    assert missing.returncode == 1
    assert "make trainer-env" in missing.stderr
    assert "Traceback" not in missing.stderr
    for light in ("plan", "presets", "--help"):
        assert run(light).returncode == 0, light
