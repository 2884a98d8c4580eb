"""Exact rational values of trees, without SymPy. `None` means: no rational number that is cheap to work out."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from verifier_service.verifiers.math.limits import (
    MAX_BINOMIAL,
    MAX_FACTORIAL,
    MAX_INTEGER_BITS,
    MAX_SUM_TERMS,
    TooComplex,
    Undefined,
)
from verifier_service.verifiers.math.numbers import Number, decimal_number
from verifier_service.verifiers.math.tree import Node, num, replace, walk


def rational(node: Node) -> Fraction | None:
    """The value of a closed rational tree. Raises Undefined for what has no value, TooComplex over a bound."""
    kind, args, value = node
    if kind == "num":
        return value  # type: ignore[no-any-return]
    if kind == "dec":
        return Fraction(value)
    if kind in ("sym", "const", "apply", "text", "matrix", "big") and kind != "big":
        return None
    if kind == "base":
        return Fraction(int(value[0], value[1])) if valid_digits(*value) else None
    if kind == "big":
        return _finite(node)
    if kind not in _RULES:
        return None
    values = []
    for arg in args:
        part = rational(arg)
        if part is None:
            return None
        values.append(part)
    return _checked(_RULES[kind](node, values))


def valid_digits(digits: str, base: int) -> bool:
    try:
        int(digits, base)
    except ValueError:
        return False
    return len(digits) < 1000


def decimal_of(node: Node) -> Number | None:
    """The decimal literal, with its sign, that the whole tree is."""
    if node.kind == "neg" and node.args[0].kind == "dec":
        inner = decimal_of(node.args[0])
        assert inner is not None
        return Number(-inner.value, inner.decimals, inner.digits, is_decimal=True)
    if node.kind == "dec":
        whole, _, part = node.value.partition(".")
        return decimal_number(whole, part)
    return None


def _checked(value: Fraction | None) -> Fraction | None:
    if value is None or value.numerator.bit_length() + value.denominator.bit_length() > MAX_INTEGER_BITS:
        return None
    return value


def _div(_: Node, v: list[Fraction]) -> Fraction:
    if v[1] == 0:
        raise Undefined("a division by zero")
    return v[0] / v[1]


def power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """base^exponent where it is rational and small enough. The odd root of a negative number is the real one."""
    if exponent.denominator == 1:
        n = int(exponent)
        if base == 0 and n < 0:
            raise Undefined("a division by zero")
        if base == 0 and n == 0:
            raise Undefined("zero to the power of zero")
        if abs(base) == 1 or base == 0:
            return base ** (n % 2) if base == -1 else base
        size = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(n)
        return base**n if size <= MAX_INTEGER_BITS else None
    root = integer_root(base, exponent.denominator)
    return None if root is None else power(root, Fraction(exponent.numerator))


def integer_root(value: Fraction, index: int) -> Fraction | None:
    """The exact real root of a rational, or None."""
    if index > 10_000 or index < 1:
        return None
    if value < 0:
        if index % 2 == 0:
            return None
        inner = integer_root(-value, index)
        return None if inner is None else -inner
    parts = []
    for whole in (value.numerator, value.denominator):
        root = _whole_root(whole, index)
        if root is None:
            return None
        parts.append(root)
    return Fraction(parts[0], parts[1])


def _whole_root(whole: int, index: int) -> int | None:
    if whole < 2:
        return whole
    if index == 2:
        root = math.isqrt(whole)
    else:
        low, high = 1, 1 << (whole.bit_length() // index + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**index <= whole else (low, middle - 1)
        root = low
    return root if root**index == whole else None


def _root(_: Node, v: list[Fraction]) -> Fraction | None:
    if v[1].denominator != 1 or v[1] < 1:
        return None
    return integer_root(v[0], int(v[1]))


def _function(node: Node, v: list[Fraction]) -> Fraction | None:
    name = node.value
    if name in ("fact", "fact2"):
        return _factorial(v[0], step=1 if name == "fact" else 2)
    if name == "binom" and len(v) == 2:
        return _binomial(v[0], v[1])
    if name in ("gcd", "lcm"):
        uppers, lowers = [x.numerator for x in v], [x.denominator for x in v]
        if name == "gcd":
            return Fraction(math.gcd(*uppers), math.lcm(*lowers))
        return Fraction(math.lcm(*uppers), math.gcd(*lowers))
    if name in ("log", "logb"):
        return _logarithm(v[0], v[1] if name == "logb" else Fraction(10))
    if name in ("sin", "tan", "asin", "atan", "sinh", "tanh") and v[0] == 0:
        return Fraction(0)
    if name == "ln" and v[0] == 1:
        return Fraction(0)
    if name in ("cos", "cosh") and v[0] == 0:
        return Fraction(1)
    rule = _SIMPLE.get(name)
    if rule is not None:
        return rule(v[0])
    if name in ("max", "min"):
        return max(v) if name == "max" else min(v)
    return None


def _factorial(value: Fraction, step: int) -> Fraction | None:
    if value.denominator != 1:
        return None
    if value < 0:
        raise Undefined("the factorial of a negative number")
    if value > MAX_FACTORIAL:
        raise TooComplex(f"the factorial of a number above {MAX_FACTORIAL}")
    return Fraction(math.factorial(int(value)) if step == 1 else math.prod(range(int(value), 0, -2)))


def _binomial(n: Fraction, k: Fraction) -> Fraction | None:
    if n.denominator != 1 or k.denominator != 1:
        return None
    if n > MAX_BINOMIAL or n < 0 or k < 0:
        raise TooComplex(f"a binomial coefficient outside 0 to {MAX_BINOMIAL}")
    return Fraction(math.comb(int(n), int(k)))


def _logarithm(value: Fraction, base: Fraction) -> Fraction | None:
    """log_base(value) where both are powers of one rational number."""
    if value <= 0 or base <= 0 or base == 1:
        raise Undefined("a logarithm outside its domain")
    if value == 1:
        return Fraction(0)
    for denominator in range(1, 13):
        power_of = value**denominator if value.numerator.bit_length() < 2000 else value
        estimate = round((math.log(value.numerator) - math.log(value.denominator)) * denominator
                         / (math.log(base.numerator) - math.log(base.denominator)))  # fmt: skip
        if estimate and abs(estimate) < 4000 and power(base, Fraction(estimate)) == power_of:
            return Fraction(estimate, denominator)
    return None


def _finite(node: Node) -> Fraction | None:
    """A sum or product with whole bounds, term by term."""
    body, variable, low, high = node.args
    if node.value not in ("sum", "prod") or variable.kind != "sym":
        return None
    lower, upper = rational(low) if low.kind != "none" else None, rational(high) if high.kind != "none" else None
    if lower is None or upper is None or lower.denominator != 1 or upper.denominator != 1:
        return None
    size = len(walk(body))
    if (upper - lower + 1) * size > MAX_SUM_TERMS:
        raise TooComplex("a sum or product of too many terms")
    total = Fraction(0 if node.value == "sum" else 1)
    for k in range(int(lower), int(upper) + 1):
        term = rational(replace(body, variable, num(k)))
        if term is None:
            return None
        total = total + term if node.value == "sum" else total * term
        if _checked(total) is None:
            return None
    return total


_SIMPLE: dict[str, Callable[[Fraction], Fraction]] = {
    "abs": abs,
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "re": lambda x: x,
    "im": lambda _: Fraction(0),
    "conj": lambda x: x,
    "sign": lambda x: Fraction((x > 0) - (x < 0)),
}
_RULES: dict[str, Callable[[Node, list[Fraction]], Fraction | None]] = {
    "add": lambda _, v: sum(v, Fraction(0)),
    "mul": lambda _, v: math.prod(v, start=Fraction(1)),
    "neg": lambda _, v: -v[0],
    "div": _div,
    "pow": lambda _, v: power(v[0], v[1]),
    "root": _root,
    "fn": _function,
}
