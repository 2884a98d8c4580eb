"""Sets of real numbers as sorted pieces: intervals, unions, inequalities, memberships, set differences.

A piece is (low, low closed, high, high closed), its ends closed constants; a point is a piece with equal ends. Ends are
ordered by value at 50 digits and told apart exactly by the caller's comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import mp

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import TooComplex, Undefined
from verifier_service.verifiers.math.numeric import Unevaluable, evaluate, is_real
from verifier_service.verifiers.math.tree import OO, Node, has, negate, num, replace, symbols, walk

DIGITS = 50
MAX_PIECES = 60


class NoSet(Exception):
    """The tree is no set of real numbers that can be worked out."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of a piece: its tree, and a value that orders it."""

    node: Node
    at: Any


LOWEST, HIGHEST = End(Node("neg", (OO,)), mp.mpf("-inf")), End(OO, mp.mpf("inf"))


@dataclass(frozen=True, slots=True)
class Piece:
    low: End
    low_closed: bool
    high: End
    high_closed: bool

    @property
    def empty(self) -> bool:
        return bool(self.low.at > self.high.at) or (
            same_place(self.low, self.high) and not (self.low_closed and self.high_closed)
        )


Pieces = tuple[Piece, ...]
ALL: Pieces = (Piece(LOWEST, False, HIGHEST, False),)
_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


def same_place(a: End, b: End) -> bool:
    if a.at == b.at:
        return True
    if mp.isinf(a.at) or mp.isinf(b.at):
        return False
    with mp.workdps(DIGITS):
        return bool(abs(a.at - b.at) < mp.mpf(10) ** (8 - DIGITS) * max(1, abs(a.at)))


def real_set(node: Node) -> tuple[str | None, Pieces]:
    """The variable that is spoken of (None if none) and the set. Raises NoSet."""
    variable, pieces = _read(node)
    return variable, normal(pieces)


def _end(node: Node) -> End:
    if node == OO:
        return HIGHEST
    if node.kind == "neg" and node.args[0] == OO:
        return LOWEST
    try:
        value = evaluate(node, DIGITS)
    except (Unevaluable, Undefined, TooComplex) as error:
        raise NoSet from error
    if not is_real(value, DIGITS):
        raise NoSet
    return End(node, mp.re(value))


def _point(node: Node) -> Piece:
    end = _end(node)
    if mp.isinf(end.at):
        raise NoSet
    return Piece(end, True, end, True)


def _read(node: Node) -> tuple[str | None, Pieces]:
    kind, args, value = node
    if kind == "tuple" and len(args) == 2:
        low, high = _end(args[0]), _end(args[1])
        piece = Piece(low, value[0] == "[" and not mp.isinf(low.at), high, value[1] == "]" and not mp.isinf(high.at))
        if low.at > high.at:
            raise NoSet
        return None, (piece,)
    if kind == "set":
        return None, tuple(_point(a) for a in args)
    if kind == "named" and value in ("R", "empty"):
        return None, ALL if value == "R" else ()
    if kind == "union":
        (u, a), (v, b) = _read(args[0]), _read(args[1])
        return u or v, a + b
    if kind in ("inter", "minus"):
        (u, a), (v, b) = _read(args[0]), _read(args[1])
        return u or v, intersect(normal(a), normal(b) if kind == "inter" else complement(normal(b)))
    if kind == "rel":
        return _relation(node)
    if kind == "list":
        return _joined(node)
    if kind == "builder":
        variable, pieces = _read(args[1])
        if args[0].kind == "rel":  # x in R | condition
            _, domain = _read(args[0])
            pieces = intersect(normal(pieces), normal(domain))
        elif args[0].kind != "sym" or (variable not in (None, args[0].value)):
            raise NoSet
        return None, pieces
    raise NoSet


def _joined(node: Node) -> tuple[str | None, Pieces]:
    parts = [_read(a) for a in node.args if a.kind != "text"]
    names = {name for name, _ in parts if name}
    if len(names) > 1 or any(a.kind not in ("rel", "tuple", "union", "set") for a in node.args):
        raise NoSet
    if any(a.kind == "tuple" for a in node.args) and node.value != "or":
        return None, _side_by_side([pieces for _, pieces in parts])
    result = parts[0][1]
    excluding = all(a.kind == "rel" and set(a.value) <= {"!="} for a in node.args[1:])
    loose = node.value == "," and not excluding
    if loose and not all(a.kind == "rel" and set(a.value) <= {"<", "<=", ">", ">="} for a in node.args):
        raise NoSet
    both = result
    for _, pieces in parts[1:]:
        both = intersect(normal(both), normal(pieces))
    if node.value == "or" or (loose and not normal(both)):  # x < 2, x > 3: no number is both
        return next(iter(names), None), tuple(piece for _, pieces in parts for piece in pieces)
    result = both
    return next(iter(names), None), result


def _side_by_side(parts: list[Pieces]) -> Pieces:
    """`(-∞, -1) and (2, ∞)` in words, or with a comma: both, where they have nothing in common."""
    total: Pieces = ()
    for pieces in parts:
        if intersect(normal(total), normal(pieces)):
            raise NoSet
        total += pieces
    return total


def _relation(node: Node) -> tuple[str | None, Pieces]:
    """A chain on one variable: each link is solved for it, and all must hold."""
    applied = {n for n in walk(node) if n.kind == "apply"}
    if len(applied) == 1:  # 0 < f(x) < 1 speaks of the value f(x)
        node = replace(node, applied.pop(), Node("sym", (), "f()"))
    names = symbols(node)
    if len(names) != 1 or has(node, "apply"):
        raise NoSet
    name = next(iter(names))
    result = ALL
    for left, op, right in zip(node.args, node.value, node.args[1:], strict=False):
        result = intersect(normal(result), normal(_link(name, left, op, right)))
    return name, result


def _link(name: str, left: Node, op: str, right: Node) -> Pieces:
    variable = Node("sym", (), name)
    if op in ("in", "notin"):
        if left != variable:
            raise NoSet
        _, pieces = _read(right)
        return normal(pieces) if op == "in" else complement(normal(pieces))
    if op not in _FLIP:
        raise NoSet
    if left.kind == "fn" and left.value == "abs" and not symbols(right):
        return _absolute(name, left.args[0], op, right)
    if right.kind == "fn" and right.value == "abs" and not symbols(left):
        return _absolute(name, right.args[0], _FLIP[op], left)
    if right == variable and not symbols(left):
        left, op, right = right, _FLIP[op], left
    if left != variable or symbols(right):
        slope, constant = linear(Node("add", (left, negate(right))), name)
        if slope == 0:
            raise NoSet
        op = _FLIP[op] if slope < 0 else op
        right = num(-constant / slope)
    end = _end(right)
    below, above = Piece(LOWEST, False, end, op == "<="), Piece(end, op == ">=", HIGHEST, False)
    return {
        "<": (below,),
        "<=": (below,),
        ">": (above,),
        ">=": (above,),
        "=": (Piece(end, True, end, True),),
        "!=": (below, above),
    }[op]


def _absolute(name: str, inner: Node, op: str, bound: Node) -> Pieces:
    low, high = (
        _link(name, inner, ">" if op == "<" else ">=", negate(bound)),
        _link(name, inner, op if op in ("<", "<=") else "<", bound),
    )
    if op in ("<", "<="):
        return intersect(normal(low), normal(high))
    if op in (">", ">="):
        return _link(name, inner, "<" if op == ">" else "<=", negate(bound)) + _link(name, inner, op, bound)
    raise NoSet


def interval_of(relation: Node, name: str) -> Node | None:
    """`a < x <= b` as the tuple (a, b], its ends any trees; None where the chain is no interval of `name`."""
    args, ops, variable = relation.args, relation.value, Node("sym", (), name)
    if all(op in (">", ">=") for op in ops):
        args, ops = args[::-1], tuple(_FLIP[op] for op in reversed(ops))
    if not all(op in ("<", "<=") for op in ops) or args.count(variable) != 1:
        return None
    if len(args) == 3 and args[1] == variable:
        return Node("tuple", (args[0], args[2]), ("[" if ops[0] == "<=" else "(", "]" if ops[1] == "<=" else ")"))
    if len(args) == 2 and args[0] == variable:
        return Node("tuple", (Node("neg", (OO,)), args[1]), ("(", "]" if ops[0] == "<=" else ")"))
    if len(args) == 2:
        return Node("tuple", (args[0], OO), ("[" if ops[0] == "<=" else "(", ")"))
    return None


def linear(node: Node, name: str) -> tuple[Any, Any]:
    """(slope, constant) of a tree that is linear in `name` with rational coefficients. Raises NoSet."""
    if node == Node("sym", (), name):
        return 1, 0
    value = rational(node) if not symbols(node) else None
    if value is not None:
        return 0, value
    kind, args, _ = node
    if kind == "add":
        parts = [linear(a, name) for a in args]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    if kind == "neg":
        slope, constant = linear(args[0], name)
        return -slope, -constant
    if kind == "mul":
        slope, constant = 0, rational(num(1))
        for a in args:
            s, c = linear(a, name)
            if s and slope:
                raise NoSet
            slope, constant = (slope * c + constant * s), constant * c
        return slope, constant
    if kind == "div":
        slope, constant = linear(args[0], name)
        below = rational(args[1])
        if below is None or below == 0:
            raise NoSet
        return slope / below, constant / below
    raise NoSet


def normal(pieces: Pieces) -> Pieces:
    """Sorted, without empty pieces, touching ones joined."""
    if len(pieces) > MAX_PIECES:
        raise TooComplex(f"a set of more than {MAX_PIECES} pieces")
    live = sorted((p for p in pieces if not p.empty), key=lambda p: (p.low.at, not p.low_closed))
    out: list[Piece] = []
    for piece in live:
        if out and _touch(out[-1], piece):
            last = out[-1]
            if same_place(last.high, piece.high):
                high, closed = last.high, last.high_closed or piece.high_closed
            elif last.high.at > piece.high.at:
                high, closed = last.high, last.high_closed
            else:
                high, closed = piece.high, piece.high_closed
            low_closed = last.low_closed or (same_place(last.low, piece.low) and piece.low_closed)
            out[-1] = Piece(last.low, low_closed, high, closed)
        else:
            out.append(piece)
    return tuple(out)


def _touch(left: Piece, right: Piece) -> bool:
    if same_place(left.high, right.low):
        return left.high_closed or right.low_closed
    return bool(left.high.at > right.low.at)


def intersect(a: Pieces, b: Pieces) -> Pieces:
    out = []
    for p in a:
        for q in b:
            if same_place(p.low, q.low):
                low, low_closed = p.low, p.low_closed and q.low_closed
            else:
                low, low_closed = (p.low, p.low_closed) if p.low.at > q.low.at else (q.low, q.low_closed)
            if same_place(p.high, q.high):
                high, high_closed = p.high, p.high_closed and q.high_closed
            else:
                high, high_closed = (p.high, p.high_closed) if p.high.at < q.high.at else (q.high, q.high_closed)
            piece = Piece(low, low_closed, high, high_closed)
            if not piece.empty:
                out.append(piece)
    return normal(tuple(out))


def complement(pieces: Pieces) -> Pieces:
    """All reals outside sorted pieces."""
    out, low, closed = [], LOWEST, False
    for piece in pieces:
        out.append(Piece(low, closed, piece.low, not piece.low_closed and not mp.isinf(piece.low.at)))
        low, closed = piece.high, not piece.high_closed and not mp.isinf(piece.high.at)
    out.append(Piece(low, closed, HIGHEST, False))
    return normal(tuple(out))
