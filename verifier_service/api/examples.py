"""Examples for the OpenAPI page; each works when pasted, and a test posts them all."""

from __future__ import annotations

from typing import Any

from verifier_protocol import Problem

SCORE_EXAMPLES: dict[str, Any] = {
    "short": {
        "summary": "One maths answer",
        "value": {"completion": "<think>a half</think>\\boxed{0.5}", "gold": "\\frac{1}{2}"},
    },
    "group": {
        "summary": "A group with a composite reward: 1 for the answer, 0.5 for the format",
        "value": {
            "groups": [
                {
                    "id": "prompt-17",
                    "completions": ["<think>2 + 2</think>\n\\boxed{4}", "<think>guess</think>\n\\boxed{5}", "The answer is 4."],
                    "verifiers": [
                        {"kind": "math", "gold": "4"},
                        {"kind": "format", "style": "think_boxed", "weight": 0.5},
                    ],
                }
            ],
            "deadline_s": 60,
        },
    },
    "code": {
        "summary": "A program that reads stdin",
        "value": {
            "completion": "```python\nprint(sum(int(x) for x in input().split()))\n```",
            "verifiers": [
                {
                    "kind": "code",
                    "language": "python",
                    "tests": {
                        "style": "stdin",
                        "cases": [{"stdin": "1 2\n", "expected_stdout": "3\n"}, {"stdin": "4 5\n", "expected_stdout": "9\n"}],
                    },
                    "limits": {"cpu_time_s": 2, "memory_mb": 256},
                    "scoring": "fraction",
                }
            ],
        },
    },
}

_WORDS = {
    400: "The body is no JSON.",
    413: "Too large: the body, the batch or a text.",
    415: "Not application/json.",
    422: "A field is wrong; `field` says which, `detail` what it takes.",
    503: "No room now; come back after Retry-After seconds.",
}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {s: {"model": Problem, "description": _WORDS[s]} for s in statuses}
