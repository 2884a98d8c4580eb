"""Canonical structures: ± spread out, assignments and systems recognised, chains of equalities checked.

New kinds:
    assign  args: the value (a list for several); value: the name
    system  args: the values; value: the names, in the order written
"""

from __future__ import annotations

import re

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.equal import same_scalar
from verifier_service.verifiers.math.exact import decimal_of, rational
from verifier_service.verifiers.math.limits import TooComplex
from verifier_service.verifiers.math.matrices import folded
from verifier_service.verifiers.math.numeric import Unevaluable, evaluate
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.show import show
from verifier_service.verifiers.math.tree import REALS, Node, has, negate, symbols, walk

MAX_SIGN_CHOICES = 4
"""Independent ± in one expression."""
_ITEM_KINDS = ("list", "set")
_DEFAULT = Options()
_NUMBERS = (Node("named", (), "Z"), REALS)
_TRANSPOSED = Node("sym", (), "T")


def canon(node: Node) -> Node:
    """The canonical structure of a shape. Raises TooComplex."""
    kind = node.kind
    if kind in ("num", "dec", "sym", "const"):
        return node
    if has(node, "pm"):
        node = _spread_all(node)
        kind = node.kind
    if kind in ("list", "set"):
        return _canon_items(node)
    if kind == "union":
        parts = tuple(canon(a) for a in node.args)
        return Node("set", tuple(i for p in parts for i in p.args)) if all(p.kind == "set" for p in parts) else node
    if kind == "pow" and node.args[1] == _TRANSPOSED and node.args[0].kind in ("matrix", "tuple"):
        return _transposed(canon(node.args[0]))
    if kind in ("add", "mul", "neg", "div", "pow", "fn"):
        return folded(node)
    if kind == "rel":
        return _canon_relation(node)
    if kind == "tuple":
        return _canon_tuple(node)
    if kind == "matrix" and node.value == (1, 1):
        return node.args[0]
    return node


def _transposed(node: Node) -> Node:
    if node.kind == "tuple":
        return Node("matrix", node.args, (len(node.args), 1))
    rows, columns = node.value
    return Node("matrix", tuple(node.args[r * columns + c] for c in range(columns) for r in range(rows)), (columns, rows))


def _canon_tuple(node: Node) -> Node:
    rows = node.args
    if rows and node.value == ("[", "]") and all(r.kind == "tuple" and r.value == ("[", "]") for r in rows):
        width = len(rows[0].args)
        if all(len(r.args) == width for r in rows):
            return Node("matrix", tuple(c for r in rows for c in r.args), (len(rows), width))
    return node


def _spread_all(node: Node) -> Node:
    """± inside items becomes more items; a scalar with ± becomes a list."""
    if node.kind in _ITEM_KINDS:
        items: list[Node] = []
        for arg in node.args:
            items += _variants(arg)
        return Node(node.kind, tuple(dict.fromkeys(items)) if node.kind == "set" else tuple(items), node.value)
    if node.kind == "rel" and len(node.args) == 2 and not has(node.args[0], "pm"):
        choices = _variants(node.args[1])
        if node.value == ("!=",):
            return Node("list", tuple(Node("rel", (node.args[0], c), node.value) for c in choices), ",")
        return Node("rel", (node.args[0], Node("list", tuple(choices), "or")), node.value) if len(choices) > 1 else node
    choices = _variants(node)
    return choices[0] if len(choices) == 1 else Node("list", tuple(choices), "or")


def _variants(node: Node) -> list[Node]:
    """The trees that ± stands for. Signs ± alone choose independently; ± with ∓ choose together."""
    signs = [n.value for n in walk(node) if n.kind == "pm"]
    if not signs:
        return [node]
    together = "-+" in signs
    if len(signs) > MAX_SIGN_CHOICES and not together:
        raise TooComplex(f"more than {MAX_SIGN_CHOICES} signs of ±")
    count = 1 if together else len(signs)
    out = []
    for choice in range(1 << count):
        bits = [(choice >> (0 if together else i)) & 1 for i in range(len(signs))]
        out.append(_choose(node, iter(bits)))
    return list(dict.fromkeys(out))


def _choose(node: Node, bits: object) -> Node:
    if node.kind != "pm":
        if not node.args:
            return node
        return Node(node.kind, tuple(_choose(a, bits) for a in node.args), node.value)
    bit = next(bits)  # type: ignore[call-overload]
    minus = bool(bit) != (node.value == "-+")
    parts = [_choose(a, bits) for a in node.args]
    last = negate(parts[-1]) if minus else parts[-1]
    return last if len(parts) == 1 else Node("add", (parts[0], last))


def _name(node: Node) -> str | None:
    if node.kind == "sym":
        return str(node.value)
    if node.kind == "apply" and all(a.kind in ("sym", "num") for a in node.args):
        return f"{node.value}({','.join(str(a.value) for a in node.args)})"
    if node.kind == "tuple" and all(a.kind == "sym" for a in node.args):
        return f"({','.join(str(a.value) for a in node.args)})"
    if node.kind == "text" and not names.HEDGES & set(str(node.value).split()):
        return str(node.value)
    return show(node) if _is_quantity(node) else None


def _is_quantity(node: Node) -> bool:
    """A quantity that is called by points or subscripts, such as AB, |AB|, V_1:V_2 or NO/BO; never a formula such as x^2."""
    if node.kind == "sym":
        return node.value[0].isupper() or "_" in node.value
    if node.kind in ("ratio", "div") and len(set(node.args)) == 2 and all(a.kind == "sym" for a in node.args):
        return True  # a : b, x/y
    if node.kind == "fn" and node.value not in ("abs", "sin", "cos", "tan"):
        return False
    return node.kind in ("mul", "div", "ratio", "fn") and all(_is_quantity(a) for a in node.args)


def _canon_relation(node: Node) -> Node:
    """`x = 5` is an assignment; `x = 2 + 3 = 5` one whose links were checked; `2 + 3 = 5` is the value 5."""
    ops, args = node.value, node.args
    if ops == ("in",) and args[0].kind in ("sym", "tuple") and args[1].kind == "set" and (name := _name(args[0])):
        items = args[1].args
        return Node("assign", (items[0] if len(items) == 1 else Node("list", items, "or"),), name)
    if ops == ("==",) and args[0].kind == "sym" and args[1].kind == "mod":
        return args[1]
    if not set(ops) <= {"=", "~"}:
        return node
    name = _name(args[0])
    if name is None and len(args) == 2 and ops == ("=",) and _name(args[1]) and not symbols(args[0]):
        return Node("assign", (args[0],), _name(args[1]))
    values = args[1:] if name is not None else args
    if name is not None and args[0].kind == "sym" and args[0].value in {s for v in values for s in symbols(v)}:
        return node
    if name is None and (any(symbols(v) for v in values) or any(v.kind in ("list", "tuple", "set", "rel") for v in values)):
        return node if len(args) == 2 else _chain(node)
    best = _agreed(values, ops[1:] if name is not None else ops)
    if best is None or (name is None and len(set(values)) == 1):
        return node
    return best if name is None else Node("assign", (canon(best),), name)


def _chain(node: Node) -> Node:
    """`a = b = c` of formulas: the last one, if all are equal."""
    if set(node.value) == {"="} and _agreed(node.args, node.value) is not None:
        return node.args[-1]
    return node


def _agreed(values: tuple[Node, ...], ops: tuple[str, ...]) -> Node | None:
    """The value that a chain of equal ones has: the last exact one. None where a link is false."""
    exact = values[0]
    for op, value in zip(ops, values[1:], strict=True):
        if op == "=":
            if not same_scalar(exact, value, _DEFAULT).equal:
                return None
            exact = value if decimal_of(value) is None or decimal_of(exact) is not None else exact
        elif not _approximates(exact, value):
            return None
    return exact


def _approximates(exact: Node, shown: Node) -> bool:
    """Whether `shown` is a decimal near `exact`: rounded or cut to its digits, however few. Whole numbers only round."""
    number = decimal_of(shown)
    decimals = number.decimals if number else 0
    try:
        gap = abs(evaluate(exact, 40) - evaluate(shown, 40))
    except (Unevaluable, ValueError):
        return False
    known = rational(exact)
    if known is not None and known.denominator == 1:
        return bool(gap == 0)
    return bool(gap * 10**decimals <= (1 if decimals else 0.5))


def _canon_items(node: Node) -> Node:
    """`x=1, y=2` is a system, `x=1 or x=2` and `n=2, 3` an assignment of several values."""
    items = node.args
    if len(items) == 1 and node.kind == "list":
        return canon(items[0])
    kept = tuple(i for i in items if not _is_whole_number_note(i, items))
    if kept and len(kept) < len(items):
        return canon(Node(node.kind, kept, node.value))
    if items and items[0].kind == "rel" and items[0].value == ("!=",) and all(i.kind not in ("rel", "text") for i in items[1:]):
        items = (items[0], *(Node("rel", (items[0].args[0], i), ("!=",)) for i in items[1:]))  # x != 1, -1
        return Node("list", items, ",")
    made = [canon(i) if i.kind == "rel" else i for i in items]
    if not made or made[0].kind != "assign":
        return node if made == list(items) or any(m.kind == "rel" for m in made) else Node(node.kind, tuple(made), node.value)
    called = [m.value for m in made if m.kind == "assign"]
    if len(set(called)) == 1:
        values: list[Node] = []
        for m in made:
            value = m.args[0] if m.kind == "assign" else m
            values += value.args if value.kind == "list" else (value,)
        return Node("assign", (Node("list", tuple(values), "or"),), called[0])
    if len(called) == len(made) and len({_stem(n) for n in called}) == 1:  # x_1 = …, x_2 = …: the roots x
        return Node("assign", (Node("list", tuple(m.args[0] for m in made), "or"),), _stem(called[0]))
    if len(called) == len(made) and len(set(called)) == len(called) and node.value != "or":
        return Node("system", tuple(m.args[0] for m in made), tuple(called))
    return Node(node.kind, tuple(made), node.value)


def _is_whole_number_note(item: Node, items: tuple[Node, ...]) -> bool:
    """`k in Z` beside a formula that speaks of k, or `x in R` beside anything that does; not what narrows an inequality."""
    if item.kind != "rel" or item.value != ("in",) or item.args[0].kind != "sym" or item.args[1] not in _NUMBERS:
        return False
    about = [
        o for o in items if o is not item and item.args[0].value in symbols(o) and not (o.kind == "rel" and o.value == ("in",))
    ]
    narrowed = item.args[1] != REALS and any(o.kind == "rel" and set(o.value) & {"<", ">", "<=", ">="} for o in about)
    return bool(about) and not narrowed


def _stem(name: str) -> str:
    """The name without a numbered subscript."""
    stem, mark, number = name.rpartition("_")
    return stem if mark and number.isdigit() else name


def relation_of(node: Node) -> Node:
    """An assignment as the relation it was."""
    if node.kind != "assign":
        return node
    return Node("rel", (Node("sym", (), node.value), node.args[0]), ("=",))


def is_assignment_like(node: Node) -> bool:
    """Whether the name on the left names a function's value: y, or f(x)."""
    return node.value == "y" or re.fullmatch(r"[^(]+\([A-Za-z,]+\)", str(node.value)) is not None
