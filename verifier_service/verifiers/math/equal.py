"""Whether two scalar trees are the same number or the same function.

Order: same tree, exact rationals, finite fields, high-precision values, SymPy. A value is only ever a filter for
functions that can switch branch (|x|, √x², ln): those need SymPy's proof as well. Undecided is unequal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from mpmath import mp

from verifier_service.verifiers.math import numeric
from verifier_service.verifiers.math.exact import decimal_of, rational
from verifier_service.verifiers.math.limits import TooComplex, Undefined
from verifier_service.verifiers.math.modular import NotAlgebra, same_function
from verifier_service.verifiers.math.numbers import Number, equal_numbers, rounds_to, terminates
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.symbolic import closed_form, proves_equal
from verifier_service.verifiers.math.tree import Node, has, replace, symbols, walk

_BRANCHY = {"abs", "floor", "ceil", "sign", "min", "max", "ln", "log", "logb", "asin", "acos", "atan", "acot", "asec", "acsc",
    "asinh",
            "acosh", "atanh", "re", "im", "conj", "arg", "gcd", "lcm"}  # fmt: skip


_C = Node("sym", (), "C")
_C_NAMES = {"c", "k", "K", "C_1", "c_1", "C'", "const"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A decision with the stage that made it and the reason in words."""

    equal: bool
    stage: str
    reason: str


def same_scalar(gold: Node, answer: Node, options: Options) -> Comparison:
    """Compare two numbers or functions. Raises TooComplex."""
    try:
        return _same_scalar(gold, answer, options)
    except Undefined as error:
        return Comparison(False, "value", f"a value is undefined: {error}")
    except (NotAlgebra, numeric.Unevaluable):
        return Comparison(False, "value", "the two could not be shown equal")


def _same_scalar(gold: Node, answer: Node, options: Options) -> Comparison:
    if has(answer, "big") or has(gold, "big"):
        return _with_operators(gold, answer, options)
    infinite = _infinity(gold), _infinity(answer)
    if infinite != (0, 0):
        same = infinite[0] == infinite[1]
        return Comparison(same, "infinity", "both are the same infinity" if same else "only one is infinite, or the signs differ")
    answer = _same_constant(gold, answer)
    exact = _exact(gold, answer, options)
    if exact is not None:
        return exact
    algebra = same_function(gold, answer)
    if algebra is not None:
        word = "the same" if algebra else "different"
        return _or_rounded(Comparison(algebra, "algebra", f"{word} rational function in exact arithmetic"), gold, answer, options)
    return _by_value(gold, answer, options)


def _same_constant(gold: Node, answer: Node) -> Node:
    """The answer with its constant of integration named as the gold's `+ C`."""
    if gold.kind == answer.kind == "add" and _C in gold.args and _C not in answer.args:
        others = [a for a in answer.args if a.kind == "sym" and a.value in _C_NAMES and a.value not in symbols(gold)]
        if len(others) == 1:
            return replace(answer, others[0], _C)
    return answer


def _infinity(node: Node) -> int:
    if node.kind == "const" and node.value == "oo":
        return 1
    if node.kind == "neg":
        return -_infinity(node.args[0])
    if any(n.kind == "const" and n.value == "oo" for n in walk(node)):
        raise Undefined("arithmetic with infinity")
    return 0


def _exact(gold: Node, answer: Node, options: Options) -> Comparison | None:
    """Both sides rational: the precision rule decides."""
    left, right = rational(gold), rational(answer)
    if left is None or right is None:
        return None
    gold_number, answer_number = decimal_of(gold) or Number(left), decimal_of(answer) or Number(right)
    same = equal_numbers(gold_number, answer_number, options.precision, options.rel_tol)
    return Comparison(same, "exact number", "the numbers are equal" if same else "the numbers differ")


def _or_rounded(found: Comparison, gold: Node, answer: Node, options: Options) -> Comparison:
    """Where exact comparison says no, a decimal may still be the rounding of an exact constant."""
    if found.equal or symbols(gold) or symbols(answer):
        return found
    shown = decimal_of(gold) or decimal_of(answer)
    other = answer if decimal_of(gold) else gold
    if options.rel_tol is not None:
        x, y = numeric.evaluate(gold, numeric.LOW_DIGITS), numeric.evaluate(answer, numeric.LOW_DIGITS)
        if abs(x - y) <= mp.mpf(options.rel_tol) * abs(x):
            return Comparison(True, "tolerance", "equal within the relative tolerance that the task allows")
    if shown is None or options.precision == "exact" or decimal_of(other) is not None:
        return found
    if any(n.kind == "dec" for n in walk(other)):
        return found
    exact = rational(other)
    if exact is None:
        digits = max(numeric.LOW_DIGITS, shown.digits + shown.decimals + 20)
        if digits > 4000:
            raise TooComplex("a decimal of too many digits")
        value = numeric.evaluate(other, digits)
        if not numeric.is_real(value, digits):
            return found
        exact = _to_fraction(mp.re(value))
    elif terminates(exact):
        return found
    if rounds_to(exact, shown):
        return Comparison(True, "rounding", "one is the other correctly rounded to the digits shown")
    return found


def _to_fraction(value: numeric.Value) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    whole = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -whole if sign else whole


def _by_value(gold: Node, answer: Node, options: Options) -> Comparison:
    names = sorted({n.value for tree in (gold, answer) for n in walk(tree) if n.kind == "sym"})
    if not names:
        if numeric.clearly_differs(gold, answer, {}) or numeric.differs(gold, answer, {}):
            return _or_rounded(Comparison(False, "value", "the values differ"), gold, answer, options)
        return Comparison(True, "value", "the values agree to every digit that their size calls for")
    if set(names) != _free(gold) | _free(answer):
        return Comparison(False, "value", "the two could not be shown equal")
    return _functions(gold, answer, names)


def _free(node: Node) -> set[str]:
    return {n.value for n in walk(node) if n.kind == "sym"}


def _functions(gold: Node, answer: Node, names: list[str]) -> Comparison:
    """Functions of `names`: compared at sample points as real functions on their natural domain."""
    complex_wanted = any(_is_complex(n) for tree in (gold, answer) for n in walk(tree))
    agreed, dead, live = 0, set[tuple[int, ...]](), set[tuple[int, ...]]()
    different = Comparison(False, "value", "the two differ as functions")
    needs_proof = _can_switch(gold) or _can_switch(answer)
    for point in numeric.sample_points(names, _reach(gold, answer)):
        left, right = _at(gold, point, complex_wanted), _at(answer, point, complex_wanted)
        if left != right:
            return Comparison(False, "value", "one is undefined where the other is not")
        pattern = tuple(1 if point[name] > 0 else -1 for name in names)
        (live if left else dead).add(pattern)
        if not left:
            continue
        if numeric.clearly_differs(gold, answer, point) or numeric.differs(gold, answer, point):
            return different
        agreed += 1
        if agreed >= numeric.ENOUGH_POINTS and not needs_proof:
            return Comparison(True, "value", "the same function: equal to every digit at each of the points tried")
    if agreed < 3:
        return Comparison(False, "value", "the two could not be shown equal")
    if not needs_proof:
        return Comparison(True, "value", "the same function: equal to every digit at each of the points tried")
    signs = (
        [dict(zip(names, p, strict=True)) for p in product((1, -1), repeat=len(names)) if p in live or p not in dead]
        if len(names) < 4
        else []
    )
    if proves_equal(gold, answer, signs, complex_wanted):
        return Comparison(True, "algebra system", "their difference simplifies to zero")
    return Comparison(False, "algebra system", "the two could not be shown equal")


def _is_complex(node: Node) -> bool:
    """i itself, or a power such as (-1)^n, which is real at whole numbers only."""
    if node.kind == "pow" and symbols(node.args[1]):
        base = rational(node.args[0])
        return base is not None and base < 0
    return node.kind == "const" and node.value == "i"


def _reach(*trees: Node) -> Fraction:
    """A size beyond every number written in the trees: what switches there must show at a point farther out."""
    written = [abs(Fraction(n.value)) for tree in trees for n in walk(tree) if n.kind in ("num", "dec")]
    return min(max(written, default=Fraction(1)) + 1, Fraction(10**30))


def _at(node: Node, point: Mapping[str, Fraction], complex_wanted: bool) -> bool:
    """Whether the function has a value (a real one, unless i occurs) at the point."""
    try:
        value = numeric.evaluate(node, numeric.SCREEN_DIGITS, point)
    except Undefined:
        return False
    return complex_wanted or numeric.is_real(value, numeric.SCREEN_DIGITS)


def _can_switch(node: Node) -> bool:
    """Whether the tree has a function with branches of something that varies."""
    for n in walk(node):
        if n.kind == "fn" and n.value in _BRANCHY and symbols(n):
            return True
        if n.kind == "root" and symbols(n):
            return True
        if n.kind == "pow" and symbols(n.args[0]):
            exponent = rational(n.args[1])
            if exponent is None or exponent.denominator != 1:
                return True
    return False


def _with_operators(gold: Node, answer: Node, options: Options) -> Comparison:
    """Sums, products, integrals and limits. An answer may hold one only if the gold does or the task allows it."""
    if has(answer, "big") and not has(gold, "big") and not options.allow_unevaluated:
        return Comparison(False, "form", "an unevaluated sum, product, integral or limit, which this task does not allow")
    if gold == answer:
        return Comparison(True, "form", "the same expression")
    pair = []
    for tree in (gold, answer):
        exact = rational(tree)
        pair.append(Node("num", (), exact) if exact is not None else tree)
    if not any(has(tree, "big") for tree in pair):
        return _same_scalar(pair[0], pair[1], options)
    for tree in pair:
        if any(n.kind == "big" and n.args[0].kind == "dots" for n in walk(tree)):
            return Comparison(False, "value", "the two could not be shown equal")
    if closed_form(pair[0], pair[1]):
        return Comparison(True, "algebra system", "their difference simplifies to zero")
    return Comparison(False, "algebra system", "the two could not be shown equal")
