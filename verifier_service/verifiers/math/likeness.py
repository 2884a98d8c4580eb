"""Names that may differ while the answer is the same: a bound parameter, a point's letter, the name of a function."""

from __future__ import annotations

import re

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.tree import Node, replace, symbols

_WHOLE = Node("named", (), "Z")


def _parameters(node: Node) -> set[str]:
    """The names that a note such as `k in Z` declares beside a formula."""
    if node.kind != "list":
        return set()
    notes = (i for i in node.args if i.kind == "rel" and i.value == ("in",) and i.args[0].kind == "sym" and i.args[1] == _WHOLE)
    return {str(note.args[0].value) for note in notes}


def same_parameter(gold: Node, answer: Node) -> Node:
    """The answer with its one integer parameter called as the gold's: `2n pi, n in Z` is `2k pi, k in Z`."""
    ours, theirs = _parameters(gold), _parameters(answer)
    if len(ours) != 1 or len(theirs) != 1 or ours == theirs:
        return answer
    wanted, named = ours.pop(), theirs.pop()
    if wanted in symbols(answer) or named in symbols(gold):
        return answer
    return replace(answer, Node("sym", (), named), Node("sym", (), wanted))


def as_vector(node: Node, other: Node) -> Node:
    """`A(1, 2)` beside a tuple is the point; `\\binom{1}{2}` beside a column of two is that column."""
    if node.kind == "apply" and other.kind == "tuple" and len(node.args) > 1 and re.fullmatch(r"[A-Z]'?", str(node.value)):
        return Node("tuple", node.args, ("(", ")"))
    if node.kind == "fn" and node.value == "binom" and other.kind == "matrix" and other.value == (2, 1):
        return Node("matrix", node.args, (2, 1))
    return node


def other_function(gold: Node, answer: Node) -> bool:
    """Whether one of two definitions is of a derivative, an inverse, or a value at one place such as f(2), and the other isn't.

    The letters may differ: what the question called f is called g in many an answer.
    """
    marks = set()
    for node in (gold, answer):
        if node.kind == "func" and node.value[0]:
            name = str(node.value[0])
            marks.add((name.count("'"), "-1" in name))
        elif node.kind == "assign" and re.fullmatch(r"y'*", str(node.value)):
            marks.add((str(node.value).count("'"), False))
        elif node.kind == "assign" and re.search(r"\(.*\d", str(node.value)):
            return True
    return len(marks) > 1


def in_name_order(named: Node, other: Node) -> Node:
    """The value of `(y, x) = (1, 2)` beside a bare tuple: coordinates stand there in the order of their names."""
    value, called = named.args[0], str(named.value).strip("()").split(",")
    if value.kind == other.kind == "tuple" and set(called) <= set("xyzt") and len(set(called)) == len(called) == len(value.args):
        parts = sorted(zip(called, value.args, strict=True), key=lambda part: "xyzt".index(part[0]))
        return Node("tuple", tuple(part for _, part in parts), value.value)
    return value


def is_residue(node: Node) -> bool:
    """Whether `7 (mod 10)` may stand for 7: 12 mod 5 is 2, not 12."""
    value, modulus = rational(node.args[0]), rational(node.args[1])
    return value is not None and modulus is not None and 0 <= value < modulus
