"""From a data set's columns, or one label, to verifier specs; from verdicts to rewards and their components.

A recipe says which verifiers there are (with weights and options) and where the gold or the tests of a row stand:

    RewardRecipe.make(["math", {"kind": "format", "style": "think_boxed", "weight": 0.5}])

A row's own `verifiers` column (a list of specs, or the same as JSON text) goes before the recipe. JSON text is the safe
form in an Arrow table, which gives every struct the union of all rows' fields, filled with None.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

from pydantic import BaseModel

from trainer_client.answers import ScoredGroup
from trainer_client.client_errors import RequestRefused
from verifier_protocol import ScoredVerdict, Verdict, VerifierSpec

GOLD_COLUMNS = ("gold", "answer", "solution", "ground_truth", "final_answer")
ANSWER_KINDS = ("math", "code")
# Where a None in a spec means "absent" (as Arrow fills structs); below these it is a value, such as an expected null.
SPARSE_FIELDS = ("options", "limits", "tests", "compare", "checker", "interactor")
LABEL_TEST_FIELDS = ("style", "inputs", "input", "cases")

Template = str | Mapping[str, Any] | VerifierSpec
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RewardRecipe:
    """How rows are verified. Plain data: a recipe is pickled into TRL's and verl's workers."""

    templates: tuple[Spec, ...] | None = None
    gold_columns: tuple[str, ...] = GOLD_COLUMNS
    tests_column: str = "tests"
    verifiers_column: str = "verifiers"
    id_columns: tuple[str, ...] = ("prompt_id", "id")

    @classmethod
    def make(cls, verifiers: Sequence[Template] | Template | None = None, *, gold_column: str | None = None) -> RewardRecipe:
        """Verifiers are kinds ("math"), specs without their gold or tests, or whole specs; None: told by the columns."""
        if isinstance(verifiers, str | Mapping | BaseModel):
            verifiers = [verifiers]
        templates = None if verifiers is None else tuple(_template(verifier) for verifier in verifiers)
        if templates == ():
            raise ValueError("verifiers is empty: name at least one, such as 'math'")
        return cls(templates, GOLD_COLUMNS if gold_column is None else (gold_column,))

    def columns_used(self, columns: Iterable[str]) -> list[str]:
        """Those of a data set's columns that decide how a row is verified."""
        wanted = {*self.gold_columns, self.tests_column, self.verifiers_column}
        return [name for name in columns if name in wanted]

    def specs(self, row: Mapping[str, Any]) -> list[Spec]:
        """The specs of one row. Raises RequestRefused when the row does not say how to verify it."""
        own = row.get(self.verifiers_column)
        if own is not None:
            return [_sparse(spec) for spec in _spec_list(own, self.verifiers_column)]
        gold = next((text for name in self.gold_columns if (text := gold_text(row.get(name), name)) is not None), None)
        tests = row.get(self.tests_column)
        if self.templates is None:
            if tests is not None:
                return [{"kind": "code", "tests": as_tests(tests)}]
            if gold is not None:
                return [{"kind": "math", "gold": gold}]
            raise self._nothing(row)
        specs = [self._filled(template, gold, tests) for template in self.templates]
        chosen = [spec for spec in specs if spec is not None]
        needs_answer = any(template["kind"] in ANSWER_KINDS for template in self.templates)
        if needs_answer and not any(spec["kind"] in ANSWER_KINDS for spec in chosen):
            raise self._nothing(row)
        return chosen

    def _filled(self, template: Spec, gold: str | None, tests: Any) -> Spec | None:
        """The template with this row's gold or tests; None if the row has none (it belongs to another template)."""
        if template["kind"] == "math" and "gold" not in template:
            return None if gold is None else {**template, "gold": gold}
        if template["kind"] == "code" and "tests" not in template:
            return None if tests is None else {**template, "tests": as_tests(tests)}
        return template

    def _nothing(self, row: Mapping[str, Any]) -> RequestRefused:
        present = sorted(name for name, value in row.items() if value is not None)
        return RequestRefused(
            f"a row says nothing about how to verify it: give it a gold ({', '.join(self.gold_columns)}), "
            f"{self.tests_column!r} or {self.verifiers_column!r}; it has {', '.join(present) or 'no columns'}",
            field=self.verifiers_column,
        )


def gold_text(value: Any, column: str) -> str | None:
    """A gold as text; None where the row has none (None, or the NaN that data frames fill in).

    Raises RequestRefused for anything but text and numbers: the text of a list or a tensor is no answer, and every
    completion would be judged by it.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number):
        text = str(value)
        return None if text.lower() == "nan" else text
    raise RequestRefused(f"{column}: a gold is text or a number, not {type(value).__name__}", field=column)


def label_row(label: Any) -> dict[str, Any]:
    """One label as a row: a plain gold, or (as an object or JSON text) a verifier spec, a list of them, or tests."""
    value = label
    if isinstance(label, str) and label.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(label)
        except ValueError:
            value = label
    if isinstance(value, list) and value and all(isinstance(spec, dict) and "kind" in spec for spec in value):
        return {"verifiers": value}
    if isinstance(value, Mapping):
        if "kind" in value:
            return {"verifiers": [value]}
        if any(name in value for name in ("verifiers", "tests", "gold")):
            return {name: value[name] for name in ("verifiers", "tests", "gold") if name in value}
        if any(name in value for name in LABEL_TEST_FIELDS):
            return {"tests": value}
    return {"gold": label}


def as_tests(value: Any) -> Spec:
    """A tests column's value as the protocol's `tests`.

    Taken: the protocol's own object; `{"inputs": [...], "outputs": [...], "fn_name": ...}`; a list of assert
    statements, or of `{"input", "output"}`; any of these as JSON text; assert statements as text.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {"style": "asserts", "code": value}
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        return {"style": "asserts", "code": "\n".join(value)}
    if isinstance(value, list) and value and all(isinstance(case, Mapping) and "output" in case for case in value):
        value = {"inputs": [case.get("input", "") for case in value], "outputs": [case["output"] for case in value]}
    if isinstance(value, Mapping) and "style" in value:
        return _sparse_tests(value)
    if isinstance(value, Mapping) and "inputs" in value and "outputs" in value:
        return _input_output_tests(value)
    raise RequestRefused("tests: not in a form this client knows; see docs/client.md for those it does", field="tests")


def _input_output_tests(value: Mapping[str, Any]) -> Spec:
    inputs, outputs = value["inputs"], value["outputs"]
    if len(inputs) != len(outputs):
        raise RequestRefused(f"tests: {len(inputs)} inputs and {len(outputs)} outputs", field="tests")
    name = value.get("fn_name")
    if name:
        cases = [{"args": list(args), "expected": expected} for args, expected in zip(inputs, outputs, strict=True)]
        return {"style": "function", "entry_point": name, "cases": cases}
    pairs = [{"stdin": _joined(i), "expected_stdout": _joined(o)} for i, o in zip(inputs, outputs, strict=True)]
    return {"style": "stdin", "cases": pairs}


def _joined(value: Any) -> str:
    """Some data sets give a program's input and output as a list of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _template(verifier: Template) -> Spec:
    if isinstance(verifier, str):
        return {"kind": verifier}
    spec = verifier.model_dump(exclude_unset=True) if isinstance(verifier, BaseModel) else dict(verifier)
    if not isinstance(spec.get("kind"), str):
        raise ValueError(f"a verifier needs a kind, such as 'math'; this one has the fields {sorted(spec)}")
    return spec


def _spec_list(value: Any, column: str) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise RequestRefused(f"{column}: no valid JSON", field=column) from None
    if isinstance(value, Mapping | BaseModel):
        value = [value]
    if not isinstance(value, list) or not value:
        raise RequestRefused(f"{column}: give a list of at least one verifier spec", field=column)
    return value


def _sparse(spec: Any) -> Any:
    """A spec without the Nones that an Arrow struct fills in."""
    if not isinstance(spec, Mapping):
        return spec
    kept = {name: value for name, value in spec.items() if value is not None}
    for name in SPARSE_FIELDS:
        if isinstance(kept.get(name), Mapping):
            kept[name] = _sparse_tests(kept[name]) if name == "tests" else _sparse(kept[name])
    return kept


def _sparse_tests(tests: Mapping[str, Any]) -> Spec:
    kept: Spec = _sparse(tests)
    cases = kept.get("cases")
    if kept.get("style") in ("stdin", "interactive") and isinstance(cases, list):
        kept["cases"] = [_sparse(case) for case in cases]
    elif kept.get("style") == "function" and isinstance(cases, list):
        kept["cases"] = [_sparse_call(case) for case in cases]
    return kept


def _sparse_call(case: Any) -> Any:
    if not isinstance(case, Mapping):
        return case
    return {name: value for name, value in case.items() if value is not None or name == "expected"}


def message_text(completion: Any) -> str:
    """A completion's text: the string, or the content of the last assistant message (its text parts, if in parts).

    Raises RequestRefused for what is neither: token ids or None are a bug of the caller, and no empty answer.
    """
    if isinstance(completion, str):
        return completion
    messages = [completion] if isinstance(completion, Mapping) else completion
    if not isinstance(messages, list | tuple) or not all(isinstance(m, Mapping) and "role" in m for m in messages):
        raise RequestRefused(
            f'a completion is text or a list of messages {{"role", "content"}}, not {_type_name(completion)}', field="completions"
        )
    for message in reversed(messages):
        if message["role"] == "assistant":
            return _content_text(message.get("content"))
    return ""


def _type_name(value: Any) -> str:
    inner = {type(item).__name__ for item in value} if isinstance(value, list | tuple) else set()
    return f"{type(value).__name__} of {', '.join(sorted(inner))}" if inner else type(value).__name__


def _content_text(content: Any) -> str:
    """None, as beside tool calls, is an empty answer; so are parts without text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    raise RequestRefused(f"a message's content is text or a list of parts, not {type(content).__name__}", field="completions")


def rows_to_groups(
    prompts: Sequence[Any] | None, completions: Sequence[Any], columns: Mapping[str, Any], recipe: RewardRecipe
) -> list[dict[str, Any]]:
    """Rows as groups, in order: neighbours with the same prompt and the same columns go together.

    A call need not hold a whole group (trainers split them over ranks), so nothing is concluded from a group's size.
    Columns are lists of one value per completion; others (a trainer's state, callbacks) are left alone.

    Raises RequestRefused, with the row, where a row doesn't say how to verify it or a completion is none.
    """
    rowwise = _rowwise(prompts, len(completions), columns, recipe)
    used = recipe.columns_used(rowwise)
    id_column = next((name for name in recipe.id_columns if name in rowwise), None)
    groups: list[dict[str, Any]] = []
    previous: tuple[Any, ...] | None = None
    for i, completion in enumerate(completions):
        key = (prompts[i] if prompts is not None else None, [rowwise[name][i] for name in used])
        try:
            if previous is None or key != previous:
                previous = key
                specs = recipe.specs({name: values[i] for name, values in rowwise.items()})
                groups.append({"completions": [], "verifiers": specs})
                if id_column is not None and rowwise[id_column][i] is not None:
                    groups[-1]["id"] = str(rowwise[id_column][i])[:1000]
            groups[-1]["completions"].append(message_text(completion))
        except RequestRefused as error:
            raise RequestRefused(f"row {i}: {error}", field=error.field) from None
    return groups


def _rowwise(prompts: Sequence[Any] | None, count: int, columns: Mapping[str, Any], recipe: RewardRecipe) -> dict[str, Any]:
    """The columns with one value per completion. Raises RequestRefused where one that is needed has another length."""
    lists = {name: values for name, values in columns.items() if isinstance(values, list | tuple)}
    needed = {name: lists[name] for name in recipe.columns_used(lists)}
    for name, values in needed.items() if prompts is None else {**needed, "prompts": prompts}.items():
        if len(values) != count:
            raise RequestRefused(f"{name}: {len(values)} values for {count} completions", field=name)
    return {name: values for name, values in lists.items() if len(values) == count}


def flat_rewards(results: Iterable[ScoredGroup]) -> list[float | None]:
    return [reward for result in results for reward in result.rewards]


def flat_verdicts(results: Iterable[ScoredGroup]) -> list[list[Verdict]]:
    return [row for result in results for row in result.verdicts]


def component_rewards(
    results: Iterable[ScoredGroup], weights: Iterable[Sequence[float]], kinds: frozenset[str], *, others: bool
) -> list[float | None]:
    """The part of each reward that verifiers of these kinds (or all others) give; None if any part is unscored.

    A trainer that adds up several functions reads None in one of them as 0, so a row is None in all or in none.
    """
    rewards: list[float | None] = []
    for result, group_weights in zip(results, weights, strict=True):
        for reward, row in zip(result.rewards, result.verdicts, strict=True):
            if reward is None:
                rewards.append(None)
                continue
            rewards.append(
                math.fsum(
                    weight * verdict.score
                    for weight, verdict in zip(group_weights, row, strict=True)
                    if isinstance(verdict, ScoredVerdict) and (verdict.kind in kinds) is not others
                )
            )
    return rewards
