"""Numbers with a percent sign, a degree sign or a unit."""

from __future__ import annotations

from verifier_service.verifiers.math.equal import Comparison, same_scalar
from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.tree import Node, has, num, symbols
from verifier_service.verifiers.math.units import Unit, is_unit, parse_unit, words_key

_MEASURES = ("pct", "deg", "qty")


def has_measure(node: Node) -> bool:
    return has(node, *_MEASURES)


def same_measure(gold: Node, answer: Node, options: Options) -> Comparison:
    """Compare two scalars of which at least one carries a percent sign, a degree sign or a unit."""
    gold, answer = _outward(gold), _outward(answer)
    if gold.kind == "qty" and not has_measure(answer):
        answer = _with_letters(answer) or answer
    elif answer.kind == "qty" and not has_measure(gold):
        gold = _with_letters(gold) or gold
    kinds = gold.kind, answer.kind
    if "pct" in kinds:
        return _percents(gold, answer, options)
    if "deg" in kinds and "qty" not in kinds:
        return _degrees(gold, answer, options)
    if any(has(n, "qty") and n.kind != "qty" for n in (gold, answer)):
        return _compound(gold, answer, options)
    if "qty" in kinds:
        return _quantities(gold, answer, options)
    return same_scalar(gold, answer, options)


def _outward(node: Node) -> Node:
    """-(5 cm) as (-5) cm, and the same for percent and degree; 18 + 2π cm as (18 + 2π) cm."""
    if node.kind == "add":
        *others, last = node.args
        last = _outward(last)
        if last.kind == "qty" and not any(map(has_measure, (*others, *last.args))):
            return Node("qty", (Node("add", (*others, *last.args)),), last.value)
    if node.kind == "neg" and node.args[0].kind in _MEASURES:
        inner = node.args[0]
        return Node(inner.kind, (Node("neg", inner.args),), inner.value)
    return node


def _with_letters(node: Node) -> Node | None:
    """`0.05 m` or `10 m/s`, read as a product of letters, as the quantity it must be beside another quantity."""
    if node.kind == "div":
        upper, lower = _with_letters(node.args[0]), _letter_unit(node.args[1])
        return None if upper is None or lower is None else Node("qty", upper.args, f"{upper.value} / {lower}")
    if node.kind == "mul" and len(node.args) == 2 and node.args[1].kind == "div":
        return _with_letters(Node("div", (Node("mul", (node.args[0], node.args[1].args[0])), node.args[1].args[1])))
    if node.kind == "mul" and not symbols(node.args[0]) and (unit := _letter_unit(node.args[-1])) and len(node.args) == 2:
        return Node("qty", (node.args[0],), unit)
    return None


def _letter_unit(node: Node) -> str | None:
    if node.kind == "pow" and node.args[1].kind == "num" and node.args[1].value.denominator == 1:
        inner = _letter_unit(node.args[0])
        return f"{inner} ^{node.args[1].value}" if inner else None
    return str(node.value) if node.kind == "sym" and is_unit(node.value) else None


def _percents(gold: Node, answer: Node, options: Options) -> Comparison:
    if "qty" in (gold.kind, answer.kind) or "deg" in (gold.kind, answer.kind):
        return Comparison(False, "percent", "a percentage on one side and a unit on the other")
    if gold.kind == answer.kind:
        return same_scalar(gold.args[0], answer.args[0], options)
    percent, other = (gold, answer) if gold.kind == "pct" else (answer, gold)
    inner = percent.args[0]
    forgiven = options.percent == "lenient" and not (percent is answer and _is_share(gold))
    readings = [Node("div", (inner, num(100)))] + ([inner] if forgiven else [])
    for reading in readings:
        found = same_scalar(reading, other, options) if percent is gold else same_scalar(other, reading, options)
        if found.equal:
            return Comparison(True, "percent", f"{found.reason}, the percent sign considered")
    return Comparison(False, "percent", "the numbers differ, with the percent sign and without")


def _is_share(gold: Node) -> bool:
    """Whether a gold without a sign is a share of one: beside 0.25, an answer of 0.25% is a hundredth of it."""
    value = rational(gold)
    return value is not None and abs(value) < 1


def _degrees(gold: Node, answer: Node, options: Options) -> Comparison:
    if gold.kind == answer.kind:
        return same_scalar(gold.args[0], answer.args[0], options)
    degree, other = (gold, answer) if gold.kind == "deg" else (answer, gold)
    readings = [degree] if has(other, "const") else [degree.args[0]]
    if options.units == "strict":
        readings = [degree]
    for reading in readings:
        found = same_scalar(reading, other, options) if degree is gold else same_scalar(other, reading, options)
        if found.equal:
            return Comparison(True, "unit", f"{found.reason}, the degree sign considered")
    return Comparison(False, "unit", "the angles differ")


def _quantities(gold: Node, answer: Node, options: Options) -> Comparison:
    if gold.kind == answer.kind:
        left, right = parse_unit(gold.value), parse_unit(answer.value)
        if left is not None and right is not None:
            return _converted(gold, answer, left, right, options)
        ours, theirs = words_key(gold.value), words_key(answer.value)
        if not (ours <= theirs or theirs <= ours):
            return Comparison(False, "unit", "another unit")
        return same_scalar(gold.args[0], answer.args[0], options)
    quantity, other = (gold, answer) if gold.kind == "qty" else (answer, gold)
    if other.kind in ("pct", "deg"):
        if other.kind == "deg" and quantity.value.lower() in ("celsius", "fahrenheit", "c", "f"):
            other = other.args[0]
        elif other.kind == "deg" and quantity.value.lower() in ("rad", "radian", "radians"):
            return same_scalar(*((quantity.args[0], other) if quantity is gold else (other, quantity.args[0])), options)
        else:
            return Comparison(False, "unit", "another unit")
    if options.units == "strict":
        return Comparison(False, "unit", "a unit on one side only")
    inner = quantity.args[0]
    found = same_scalar(inner, other, options) if quantity is gold else same_scalar(other, inner, options)
    return Comparison(
        found.equal, found.stage, f"{found.reason}; a unit on one side only is forgiven" if found.equal else found.reason
    )


def _converted(gold: Node, answer: Node, left: Unit, right: Unit, options: Options) -> Comparison:
    if left.dimensions != right.dimensions:
        return Comparison(False, "unit", "a unit of another kind")
    if left.factor == right.factor:
        return same_scalar(gold.args[0], answer.args[0], options)
    scaled = [Node("mul", (n.args[0], num(u.factor))) for n, u in ((gold, left), (answer, right))]
    found = same_scalar(scaled[0], scaled[1], options)
    return Comparison(
        found.equal, "unit", "the quantities are equal in one unit" if found.equal else "the quantities differ in one unit"
    )


def _compound(gold: Node, answer: Node, options: Options) -> Comparison:
    """`5 ft 3 in`: sums of quantities of one kind, each brought to base units."""
    sides = []
    for node in (gold, answer):
        parts = node.args if node.kind == "add" else (node,)
        units = [parse_unit(p.value) if p.kind == "qty" else None for p in parts]
        if any(u is None for u in units):
            return Comparison(False, "unit", "units inside a formula could not be compared")
        known = [u for u in units if u is not None]
        if len({u.dimensions for u in known}) != 1:
            return Comparison(False, "unit", "units of different kinds in one sum")
        total = Node("add", tuple(Node("mul", (p.args[0], num(u.factor))) for p, u in zip(parts, known, strict=True)))
        sides.append((total, known[0].dimensions))
    if sides[0][1] != sides[1][1]:
        return Comparison(False, "unit", "a unit of another kind")
    return same_scalar(sides[0][0], sides[1][0], options)
