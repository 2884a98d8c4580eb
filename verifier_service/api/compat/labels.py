"""What a label asks for, and which part of a decoded text is the model's reply.

A label is a plain gold (maths), or a verifier's spec or a list of them, as JSON text or as it stands in the request.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from verifier_protocol import CodeSpec, Group, GroupResult, MathSpec, ScoredVerdict, VerifierSpec
from verifier_service.api.body import parse_json
from verifier_service.api.problems import RequestRefused, refused
from verifier_service.settings import Settings

MAX_SPECS = 16
OVERLAP_CHARS = 24  # a shorter common part of a cut prompt and the text may be chance
MAX_OVERLAP_TRIES = 50

_SPECS = TypeAdapter(list[VerifierSpec])

# how chat templates open the assistant's turn
TURN_OPENINGS = (
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|start|>assistant",
    "<｜Assistant｜>",
    "<|assistant|>",
    "<|Assistant|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|CHATBOT_TOKEN|>",
    "[/INST]",
    "<|im_assistant|>",
    "]~b]ai",
)
TURN_CLOSINGS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<eos>",
    "</s>",
    "<pad>",
    "<|pad|>",
    "<|end_of_sentence|>",
    "[e~[",
)


def specs_of(label: Any, field: str, settings: Settings) -> list[VerifierSpec]:
    """The verifiers that a label asks for.

    Raises:
        RequestRefused: 422; there is no label, or its spec is wrong.
    """
    document = label
    if isinstance(label, str) and label.lstrip()[:1] in ("{", "["):
        document = _json_or_text(label)
    if isinstance(document, dict) and "kind" in document:
        document = [document]
    if isinstance(document, list) and document and all(isinstance(d, dict) and "kind" in d for d in document):
        if len(document) > MAX_SPECS:
            raise RequestRefused(422, f"{field}: at most {MAX_SPECS} verifiers", field)
        try:
            specs = _SPECS.validate_python(document)
        except ValidationError as e:
            cause = refused(e, document, ("math", "code", "format"))
            raise RequestRefused(422, f"{field}: {cause}", field) from None
        for spec in specs:
            _check_spec(spec, field, settings)
        return specs
    if isinstance(label, bool) or not isinstance(label, (str, int, float)) or not str(label).strip():
        raise RequestRefused(422, f"{field}: give a gold, or a verifier's spec as JSON, such as {_EXAMPLE}", field)
    spec = MathSpec(kind="math", gold=str(label))
    _check_spec(spec, field, settings)
    return [spec]


_EXAMPLE = '{"kind": "math", "gold": "1/2"}'


def _json_or_text(label: str) -> Any:
    """A gold may look like JSON without being any: `[0, 1)`, `{1, 2}`."""
    try:
        return parse_json(label.encode())
    except (RequestRefused, UnicodeEncodeError):
        return label


def _check_spec(spec: VerifierSpec, field: str, settings: Settings) -> None:
    if isinstance(spec, MathSpec) and len(spec.gold) > settings.max_gold_chars:
        raise RequestRefused(413, f"{field}: a gold is longer than {settings.max_gold_chars} characters", field)
    if isinstance(spec, CodeSpec) and len(getattr(spec.tests, "cases", ())) > settings.max_test_cases:
        raise RequestRefused(413, f"{field}: this service takes {settings.max_test_cases} test cases", field)


def score_of(result: GroupResult, group: Group) -> float:
    """The first completion's mean score over its verifiers, in [0, 1], by the weights' sizes."""
    weights = [abs(spec.weight) for spec in group.verifiers]
    scores = [v.score if isinstance(v, ScoredVerdict) else 0.0 for v in result.verdicts[0]]
    total = sum(weights)
    if total == 0:
        return sum(scores) / len(scores)
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / total


def reply_in(query: str, prompt: str, field: str) -> str:
    """The model's reply in a text decoded from prompt and reply together, special tokens among it.

    The prompt is cut off as an exact beginning; or as its own end, where the trainer cut it at the left; or behind the
    opening of the assistant's turn, counted by the prompt, so that a reply that writes such an opening itself gains
    nothing.

    Raises:
        RequestRefused: 422; the text has nothing of that prompt. Scoring all of it would credit the prompt's own words.
    """
    if query.startswith(prompt):
        return _without_closings(query[len(prompt) :])
    if overlap := _overlap(prompt, query):
        return _without_closings(query[overlap:])
    for opening in TURN_OPENINGS:
        if (turns := prompt.count(opening)) and query.count(opening) >= turns:
            rest = query.split(opening, turns)[turns]
            return _without_closings(rest.removeprefix(prompt.rpartition(opening)[2]))
    raise RequestRefused(422, f"{field} does not begin with its prompt, so that the reply can't be told from it", field)


def _overlap(prompt: str, query: str) -> int:
    """Length of the longest end of `prompt`, of `OVERLAP_CHARS` or more, with which `query` begins; 0 if none."""
    head = query[:OVERLAP_CHARS]
    start = prompt.find(head) if len(head) == OVERLAP_CHARS else -1
    for _ in range(MAX_OVERLAP_TRIES):
        if start < 0:
            break
        if query.startswith(prompt[start:]):
            return len(prompt) - start
        start = prompt.find(head, start + 1)
    return 0


def _without_closings(reply: str) -> str:
    """The reply without the special tokens that end a turn."""
    while True:
        stripped = reply.rstrip()
        closing = next((c for c in TURN_CLOSINGS if stripped.endswith(c)), None)
        if closing is None:
            return reply
        reply = stripped.removesuffix(closing)
