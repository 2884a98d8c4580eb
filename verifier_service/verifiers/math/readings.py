"""Letters whose meaning only the other side can tell: `i + 2j` for (1, 2), `3 + 4j` for 3 + 4i, `P(5,2)` for 20."""

from __future__ import annotations

import math
from itertools import pairwise

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import Undefined
from verifier_service.verifiers.math.tree import IMAGINARY, ONE, ZERO, Node, num, replace, sym, symbols, walk
from verifier_service.verifiers.math.units import parse_unit

_LARGEST_TOTAL = 1000
_UNIT_VECTORS = (sym("unit i"), sym("j"), sym("k"))


def reread(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Both sides, one of them read as the other wants it. A gold is reread only as a vector."""
    if answer.kind == "apply" and answer.value == "P" and gold.kind in ("num", "dec"):
        return gold, _arrangements(answer) or answer
    if answer.kind == "list" and gold.kind in ("qty", "add", "num", "dec"):
        return gold, _measured_in_parts(answer) or answer
    if gold.kind == "list" and answer.kind in ("qty", "add", "num", "dec"):
        return _measured_in_parts(gold) or gold, answer
    if "I" in symbols(answer) and IMAGINARY in walk(gold) and not symbols(gold) and IMAGINARY not in walk(answer):
        return gold, replace(answer, sym("I"), IMAGINARY)  # as computer algebra prints i
    if "j" in symbols(answer):
        if _is_vector(gold):
            return gold, _components(answer, len(gold.args)) or answer
        if IMAGINARY in walk(gold) and not symbols(gold):
            return gold, _complex(answer) or answer
    elif "j" in symbols(gold) and _is_vector(answer):
        return _components(gold, len(answer.args)) or gold, answer
    return gold, answer


def _is_vector(node: Node) -> bool:
    return node.kind == "tuple" and len(node.args) in (2, 3) and node.value in (("(", ")"), ("[", "]"))


def _measured_in_parts(node: Node) -> Node | None:
    """`1 hour and 30 minutes` as one quantity: units of one kind, each smaller than the one before."""
    units = [parse_unit(part.value) if part.kind == "qty" else None for part in node.args]
    known = [unit for unit in units if unit is not None]
    if node.value == "or" or len(known) != len(node.args) or len({unit.dimensions for unit in known}) != 1:
        return None
    falling = all(a.factor > b.factor for a, b in pairwise(known))
    return Node("add", node.args) if falling else None


def _arrangements(node: Node) -> Node | None:
    """P(n, k), of numbers: n!/(n-k)!. A point P(1, 2) has no such value, and is not one where a number is wanted."""
    if len(node.args) != 2 or any(a.kind != "num" or a.value.denominator != 1 for a in node.args):
        return None
    total, taken = (int(a.value) for a in node.args)
    return num(math.perm(total, taken)) if 0 <= taken <= total <= _LARGEST_TOTAL else None


def _coefficients(node: Node, names: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The rational coefficients of a linear form without a constant; None for anything else."""
    found = [Node("none")] * len(names)
    for term in node.args if node.kind == "add" else (node,):
        holds = [i for i, name in enumerate(names) if name in walk(term)]
        if len(holds) != 1 or found[holds[0]].kind != "none":
            return None
        at_zero, at_one, at_two = (rational(replace(term, names[holds[0]], v)) for v in (ZERO, ONE, num(2)))
        if at_zero != 0 or at_one is None or at_two != 2 * at_one:
            return None
        found[holds[0]] = num(at_one)
    return tuple(ZERO if n.kind == "none" else n for n in found)


def _components(answer: Node, size: int) -> Node | None:
    try:
        parts = _coefficients(replace(answer, IMAGINARY, _UNIT_VECTORS[0]), _UNIT_VECTORS)
    except Undefined:
        return None
    if parts is None or (size == 2 and parts[2] != ZERO):
        return None
    return Node("tuple", parts[:size], ("(", ")"))


def _complex(answer: Node) -> Node | None:
    """Engineers write `3 + 4j`; a real part must be there, since `4j` alone may be a vector."""
    if answer.kind != "add" or len(answer.args) != 2 or IMAGINARY in walk(answer) or symbols(answer) != {"j"}:
        return None
    plain = [n for n in answer.args if not symbols(n)]
    return replace(answer, sym("j"), IMAGINARY) if len(plain) == 1 else None
