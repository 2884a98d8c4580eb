"""Equations and inequalities on several variables: equal where one is a nonzero multiple of the other."""

from __future__ import annotations

from fractions import Fraction

from mpmath import mp

from verifier_service.verifiers.math.equal import Comparison, same_scalar
from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import Undefined
from verifier_service.verifiers.math.numeric import Unevaluable, evaluate, sample_points
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.tree import Node, has, negate, num, symbols, walk

_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_COMPARABLE = {"=", "<", ">", "<=", ">=", "!="}
_NO_SCALAR = {"list", "set", "tuple", "rel", "text", "matrix", "named", "union", "cases", "dots", "ratio", "mod"}


def same_relation(gold: Node, answer: Node, options: Options) -> Comparison:
    """Compare two relations. A relation that holds for all or for none equals only its own form."""
    if gold == answer:
        return Comparison(True, "form", "the same relation")
    if gold.kind != "rel" or answer.kind != "rel":
        return Comparison(False, "structure", "a relation on one side only")
    if len(gold.value) != 1 or len(answer.value) != 1:
        return _chains(gold, answer, options)
    (op,), (other,) = gold.value, answer.value
    if op not in _COMPARABLE or other not in _COMPARABLE or any(a.kind in _NO_SCALAR for a in (*gold.args, *answer.args)):
        return _by_sides(gold, answer, options)
    left, right = _difference(gold), _difference(answer)
    if symbols(left) != symbols(right) or not symbols(left):
        return Comparison(False, "relation", "a relation between other quantities")
    factor = _factor(left, right)
    if factor is None:
        return Comparison(False, "relation", "another relation")
    wanted = _FLIP.get(op, op) if factor < 0 else op
    if wanted != other:
        return Comparison(False, "relation", "another relation sign")
    if not same_scalar(Node("mul", (num(factor), left)), right, options).equal:
        return Comparison(False, "relation", "another relation")
    return Comparison(True, "relation", "one is a multiple of the other")


def _difference(node: Node) -> Node:
    return Node("add", (node.args[0], negate(node.args[1])))


def _factor(left: Node, right: Node) -> Fraction | None:
    """The constant that makes `left` into `right`, read off at sample points; None where there is none."""
    names = sorted({n.value for tree in (left, right) for n in walk(tree) if n.kind == "sym"})
    found: Fraction | None = None
    for point in sample_points(names):
        quotient = _quotient(left, right, point)
        if quotient is None:
            continue
        if found is None:
            found = quotient
        elif abs(quotient - found) > Fraction(1, 10**12) * abs(found):
            return None
        else:
            return found.limit_denominator(10**9)
    return None


def _quotient(left: Node, right: Node, point: dict[str, Fraction]) -> Fraction | None:
    if not has(left, "root", "fn", "const", "apply", "big") and not has(right, "root", "fn", "const", "apply", "big"):
        a, b = rational(_put(left, point)), rational(_put(right, point))
        return b / a if a and b else None
    try:
        a, b = evaluate(left, 40, point), evaluate(right, 40, point)
    except (Unevaluable, Undefined):
        return None
    if a == 0 or b == 0 or mp.im(a) != 0 or mp.im(b) != 0:
        return None
    return Fraction(float(b / a))


def _put(node: Node, point: dict[str, Fraction]) -> Node:
    if node.kind == "sym":
        return num(point[node.value])
    return Node(node.kind, tuple(_put(a, point) for a in node.args), node.value) if node.args else node


def _by_sides(gold: Node, answer: Node, options: Options) -> Comparison:
    same = gold.value == answer.value and all(
        a == b or (a.kind not in _NO_SCALAR and b.kind not in _NO_SCALAR and same_scalar(a, b, options).equal)
        for a, b in zip(gold.args, answer.args, strict=True)
    )
    return Comparison(same, "relation", "both sides are equal" if same else "another relation")


def _chains(gold: Node, answer: Node, options: Options) -> Comparison:
    for args, ops in ((answer.args, answer.value), (answer.args[::-1], tuple(_FLIP.get(o, o) for o in answer.value[::-1]))):
        if ops == gold.value and len(args) == len(gold.args):
            if any(n.kind in _NO_SCALAR for n in (*args, *gold.args)):
                continue
            if all(same_scalar(a, b, options).equal for a, b in zip(gold.args, args, strict=True)):
                return Comparison(True, "relation", "the same chain of relations")
    return Comparison(False, "relation", "another chain of relations")
