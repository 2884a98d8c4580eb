"""Answers in words: choice letters, text, times and dates."""

from __future__ import annotations

from collections.abc import Callable

from verifier_service.verifiers.math.equal import Comparison
from verifier_service.verifiers.math.shapes import words_key
from verifier_service.verifiers.math.tree import Node

Compare = Callable[[Node, Node], Comparison]
_SAME = {"dne": "does not exist", "doesn t exist": "does not exist", "diverges": "divergent", "converges": "convergent"}


def same_choice(gold: Node, answer: Node, compare: Compare) -> Comparison:
    """A letter matches the letter; where both also say what it stands for, that must agree too."""
    letters = _letter(gold), _letter(answer)
    if letters[0] is None:  # the answer is a bare choice, the gold is not one
        return Comparison(False, "choice", "a choice letter where another kind of answer is wanted")
    if letters[1] is None:
        if gold.kind == "choice" and gold.args:
            return compare(gold.args[0], answer)
        return Comparison(False, "choice", "no choice letter")
    if letters[0] != letters[1]:
        return Comparison(False, "choice", "another choice")
    if (
        gold.args
        and answer.args
        and gold.kind == answer.kind == "choice"
        and gold.args[0].kind != "text"
        and answer.args[0].kind != "text"
    ):
        if not compare(gold.args[0], answer.args[0]).equal:
            return Comparison(False, "choice", "the letter of the right choice with the value of another")
    return Comparison(True, "choice", "the same choice")


def _letter(node: Node) -> str | None:
    if node.kind == "choice":
        return str(node.value)
    if node.kind == "sym" and len(node.value) == 1 and "A" <= node.value <= "J":
        return str(node.value)
    return None


def same_words(gold: Node, answer: Node) -> Comparison:
    """Words match words, case and punctuation aside."""
    left, right = (_words(n) for n in (gold, answer))
    if left is not None and left == right:
        return Comparison(True, "text", "the same words")
    return Comparison(False, "text", "other words" if left and right else "words where a value is wanted, or the reverse")


def _words(node: Node) -> str | None:
    found = _spelt(node)
    return _SAME.get(found, found) if found else found


def _spelt(node: Node) -> str | None:
    if node.kind == "text":
        return words_key(node.value)
    if node.kind == "sym":
        return str(node.value).lower()
    if node.kind == "mul" and all(a.kind in ("sym", "const", "mul") for a in node.args):
        parts = [_spelt(a) or (str(a.value) if a.kind == "const" else "") for a in node.args]
        return "".join(parts)
    return None


def same_time(gold: Node, answer: Node, compare: Compare) -> Comparison:
    """Times by the clock, dates by the calendar; a time without am or pm may also be a ratio."""
    if gold.kind == answer.kind == "date":
        left, right = gold.value, answer.value
        same = left[1:] == right[1:] and (left[0] == right[0] or right[0] is None or left[0] is None)
        return Comparison(same, "date", "the same day" if same else "another day")
    if gold.kind == answer.kind == "time":
        same = _same_clock(gold.value, answer.value)
        return Comparison(same, "time", "the same time" if same else "another time")
    if "date" in (gold.kind, answer.kind):
        return Comparison(False, "date", "a date on one side only")
    time = gold if gold.kind == "time" else answer
    if time.value[3] or time.args[0].kind != "ratio":
        return Comparison(False, "time", "a time on one side only")
    left, right = (n.args[0] if n.kind == "time" else n for n in (gold, answer))
    return compare(left, right)


def _same_clock(a: tuple[int, int, int, str], b: tuple[int, int, int, str]) -> bool:
    if a[1:3] != b[1:3]:
        return False
    if bool(a[3]) == bool(b[3]):
        return a[0] == b[0] and a[3] == b[3]
    marked, bare = (a, b) if a[3] else (b, a)
    hour = marked[0] % 12 + (12 if marked[3] == "p" else 0)
    return bare[0] in (hour, marked[0])
