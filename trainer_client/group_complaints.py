"""What is wrong with a group, said so that its writer can mend it: the field, and never a gold or a completion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from verifier_protocol.request import BUILTIN_KINDS

LONGEST_KIND = 40
# Steps of pydantic's path that name a member of a union and no field: after verifiers[0], completions[0] and tests.
_PLACES_OF_TAGS = (("verifiers", 3), ("completions", 3))


def complaint(error: ErrorDetails, groups: Sequence[Any]) -> tuple[str, str]:
    """(path, message) for one error of validating `groups`."""
    path = _path(error["loc"])
    loc = error["loc"]
    if len(loc) >= 3 and loc[1] == "verifiers" and "plugin" in loc[3:4]:
        return _plugin_complaint(path, error, _given_spec(groups, loc))
    if len(loc) == 1 and error["type"] in ("model_type", "dict_type", "model_attributes_type"):
        return path, 'a group is an object such as {"completions": ["..."], "verifiers": [{"kind": "math", "gold": "42"}]}'
    if error["type"] == "extra_forbidden" and loc[1:] == ("gold",):
        return path, "a group has either verifiers or gold, not both"
    return path, error["msg"]


def _plugin_complaint(path: str, error: ErrorDetails, spec: Any) -> tuple[str, str]:
    """Whatever is of no built-in kind is read as a plugin's; most often its kind is misspelt."""
    spec_path = path.partition("]")[0] + "]." + path.partition("].")[2].partition("]")[0] + "]"
    if not isinstance(spec, Mapping):
        return spec_path, 'a verifier is an object such as {"kind": "math", "gold": "42"}'
    if "kind" not in spec:
        return f"{spec_path}.kind", f"a verifier needs a kind: {', '.join(BUILTIN_KINDS)}, or that of a plugin"
    kind = spec["kind"]
    if not isinstance(kind, str) or error["loc"][-1] == "kind" or error["type"] == "extra_forbidden":
        shown = repr(kind if isinstance(kind, str) else type(kind).__name__)[: LONGEST_KIND + 2]
        return f"{spec_path}.kind", (
            f"unknown kind {shown}: there are {', '.join(BUILTIN_KINDS)} and the kinds of the service's plugins, "
            "whose fields are weight and options"
        )
    return path, error["msg"]


def _given_spec(groups: Sequence[Any], loc: Sequence[int | str]) -> Any:
    group = groups[int(loc[0])]
    specs = group.get("verifiers") if isinstance(group, Mapping) else None
    return specs[int(loc[2])] if isinstance(specs, Sequence) and len(specs) > int(loc[2]) else None


def _path(loc: Sequence[int | str]) -> str:
    steps = list(loc)
    if len(steps) > 3 and (steps[1], 3) in _PLACES_OF_TAGS:
        del steps[3]
        if steps[3:4] == ["tests"] and len(steps) > 4:
            del steps[4]
    return "groups" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
