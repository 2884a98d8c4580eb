r"""The formats, as rules over the text. Every check is linear in the text's length and keeps no stack.

Rules that all styles share
- The text begins with `<think>` (nothing before it, not even white space), unless the chat template wrote that tag.
- There is exactly one `<think>` and one `</think>`, spelled like that; look-alikes (`<thinking>`, `<THINK>`) are text.
- The thinking is not blank: else a policy learns to skip it.
- White space is space, tab, CR and LF; anything else counts as text, such as a byte-order mark or a NUL.

think_boxed: then white space, one `\boxed{...}` with balanced, non-blank content, white space, the end. Blanks of LaTeX
    such as `\quad` or `\text{ }` show nothing either.
think_answer: then white space, one `<answer>...</answer>` with non-blank content, white space, the end. There is one
    pair of answer tags in the whole text: an extractor that takes the first one must not find a draft.
think_only: what follows the thinking is free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from verifier_protocol import Outcome

BLANKS = " \t\r\n"
OPEN, CLOSE = "<think>", "</think>"
ANSWER_OPEN, ANSWER_CLOSE = "<answer>", "</answer>"
BOX, BOX_OPEN = "\\boxed", "\\boxed{"

_LATEX_BLANKS = re.compile(r"\\[ ,;:!]|\\q?quad(?![A-Za-z])|\\(?:text|mathrm|mbox)\s*(?=\{)|[{}~$]")
"""What shows nothing in a box that holds nothing else."""
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_BRACE_STEPS = bytes({0x7B: 1, 0x7D: 0xFF}.get(byte, 0) for byte in range(256))  # signed: { is +1, } is -1


@dataclass(frozen=True, slots=True)
class Finding:
    """What the format check found: `answer` is set when the format is right and the style has an answer."""

    outcome: Outcome
    detail: str
    answer: str | None = None


def check(text: str, style: str, *, prefilled_think: bool) -> Finding:
    """Judge `text` against one of the styles of `FormatSpec`."""
    fault = _thinking_fault(text, prefilled_think)
    if fault is not None:
        return fault
    rest_at = text.index(CLOSE) + len(CLOSE)
    if style == "think_only":
        return Finding(Outcome.CORRECT, "the thinking is in one pair of tags at the beginning")
    if style == "think_answer":
        return _tagged_answer(text, rest_at)
    return _boxed_answer(text, rest_at)


def _thinking_fault(text: str, prefilled: bool) -> Finding | None:
    if not text.strip(BLANKS):
        return Finding(Outcome.NO_ANSWER, "the completion is empty")
    opened, closed = text.count(OPEN), text.count(CLOSE)
    if prefilled and opened:
        return _malformed(f"the chat template already opened the thinking; {OPEN} comes again {_at(text, text.index(OPEN))}")
    if not prefilled and not opened:
        return _malformed(f"there is no {OPEN}")
    if not closed:
        return Finding(Outcome.NO_ANSWER, f"the thinking is never closed: there is no {CLOSE}")
    if not prefilled and not text.startswith(OPEN):
        return _malformed(f"the completion must begin with {OPEN}, which first comes {_at(text, text.index(OPEN))}")
    if opened > 1:
        return _malformed(f"there are {opened} {OPEN}, the second {_at(text, text.index(OPEN, len(OPEN)))}")
    if closed > 1:
        return _malformed(f"there are {closed} {CLOSE}, the second {_at(text, text.index(CLOSE, text.index(CLOSE) + 1))}")
    if _is_blank(text[0 if prefilled else len(OPEN) : text.index(CLOSE)]):
        return _malformed("the thinking is blank")
    return None


def _boxed_answer(text: str, rest_at: int) -> Finding:
    start = _skip_blanks(text, rest_at)
    boxes = text.count(BOX_OPEN, rest_at)
    if not boxes:
        why = "nothing follows" if start == len(text) else f"what follows {_at(text, start)} has no {BOX_OPEN}...}}"
        return Finding(Outcome.NO_ANSWER, f"there is no boxed answer after {CLOSE}: {why}")
    if not text.startswith(BOX_OPEN, start):
        return _malformed(f"the box must follow {CLOSE} at once; there is other text {_at(text, start)}")
    if text.count(BOX, rest_at) > 1:
        return _malformed(f"there must be one \\boxed; the second comes {_at(text, text.index(BOX, start + 1))}")
    inner_at = start + len(BOX_OPEN)
    end = _closing_brace(text, inner_at)
    if end is None:
        return _malformed(f"the box {_at(text, start)} is never closed: its braces are out of balance")
    if _is_blank(_LATEX_BLANKS.sub("", text[inner_at:end])):
        return Finding(Outcome.NO_ANSWER, f"the box {_at(text, start)} is blank")
    return _nothing_after(text, end + 1, "the box") or _correct(text[inner_at:end], "one box follows it")


def _tagged_answer(text: str, rest_at: int) -> Finding:
    opened, closed = text.count(ANSWER_OPEN), text.count(ANSWER_CLOSE)
    start = _skip_blanks(text, rest_at)
    if not text.count(ANSWER_OPEN, rest_at):
        return Finding(Outcome.NO_ANSWER, f"there is no {ANSWER_OPEN} after {CLOSE}")
    if opened > 1 or closed > 1:
        return _malformed(f"there must be one pair of answer tags; there are {opened} {ANSWER_OPEN} and {closed} {ANSWER_CLOSE}")
    if not text.startswith(ANSWER_OPEN, start):
        return _malformed(f"{ANSWER_OPEN} must follow {CLOSE} at once; there is other text {_at(text, start)}")
    inner_at = start + len(ANSWER_OPEN)
    end = text.find(ANSWER_CLOSE, inner_at)
    if end < 0:
        return _malformed(f"{ANSWER_OPEN} {_at(text, start)} is never closed")
    if _is_blank(text[inner_at:end]):
        return Finding(Outcome.NO_ANSWER, f"the answer {_at(text, start)} is blank")
    return _nothing_after(text, end + len(ANSWER_CLOSE), ANSWER_CLOSE) or _correct(text[inner_at:end], "one answer follows it")


def _nothing_after(text: str, end: int, what: str) -> Finding | None:
    after = _skip_blanks(text, end)
    return None if after == len(text) else _malformed(f"nothing may follow {what}; there is text {_at(text, after)}")


def _closing_brace(text: str, inner_at: int) -> int | None:
    """Index of the brace that closes the group opened just before `inner_at`; backslash-escaped braces don't count.

    C code sums the depth character by character, so that a million braces cost milliseconds.
    """
    plain = _ESCAPED.sub("  ", text[inner_at:])  # the same length, without escaped braces
    steps = plain.encode("ascii", "replace").translate(_BRACE_STEPS)  # one signed byte a character
    for index, depth in enumerate(accumulate(memoryview(steps).cast("b"))):
        if depth < 0:
            return inner_at + index
    return None


def _skip_blanks(text: str, start: int) -> int:
    return len(text) - len(text[start:].lstrip(BLANKS))


def _is_blank(text: str) -> bool:
    """No visible character: white space of any script, zero-width characters and control characters only."""
    return not any(char.isprintable() and not char.isspace() for char in text)


def _correct(answer: str, how: str) -> Finding:
    return Finding(Outcome.CORRECT, f"the thinking is in one pair of tags at the beginning, {how}", answer.strip())


def _malformed(detail: str) -> Finding:
    return Finding(Outcome.MALFORMED_ANSWER, detail)


def _at(text: str, index: int) -> str:
    """A place as people count: lines and columns from 1."""
    line = text.count("\n", 0, index) + 1
    column = index - (text.rfind("\n", 0, index) + 1) + 1
    return f"at line {line}, column {column}"
