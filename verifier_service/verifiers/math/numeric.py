"""Values of trees to as many digits as their own numbers call for, with mpmath and without SymPy.

A near miss is made of numbers far apart: x + 10^-900, cos(10^-40), e^-1000. So an expression is worked out twice, at 60
and at 120 digits; the parts whose size stays the same are real (the others are zeros drowned in rounding), and the widest
of those sizes says how many digits the comparison needs. What would need more than MAX_NUMERIC_DIGITS is not decided.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mpmath import mp

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import MAX_NUMERIC_DIGITS, TooComplex, Undefined
from verifier_service.verifiers.math.tree import Node, walk

Value = Any
"""An mpf or mpc."""

LOW_DIGITS, HIGH_DIGITS = 60, 120
SIZE_FACTOR = 4
"""Digits per digit of size: what differs by 10^-2n shows even through the square of a term of size 10^-n."""
MARGIN_DIGITS = 20
SCREEN_DIGITS = 30
MAX_GAMMA_DIGITS = 500
"""Digits to which the gamma function is worked out; at 700 its first value takes seconds."""
MAX_LOG10 = 100_000
POINTS = 16
ENOUGH_POINTS = 4


class Unevaluable(Exception):
    """The tree has no number: an unevaluated integral, a relation, words."""


class _Run:
    """One evaluation at one precision; `sizes` are the decimal exponents of every part, in order."""

    def __init__(self, env: Mapping[str, Fraction]) -> None:
        self.env = {name: mp.mpf(v.numerator) / v.denominator for name, v in env.items()}
        self.sizes: list[int | None] = []

    def value(self, node: Node) -> Value:
        result = self._value(node)
        if result == 0:
            self.sizes.append(None)
        else:
            size = int(mp.mag(result) * 0.30103)
            if abs(size) > MAX_LOG10:
                raise TooComplex("a number too large or too small to compare")
            self.sizes.append(size)
        return result

    def _value(self, node: Node) -> Value:
        kind, args, value = node
        if kind in ("num", "dec"):
            number = value if kind == "num" else Fraction(value)
            return mp.mpf(number.numerator) / number.denominator
        if kind == "sym":
            if value not in self.env:
                raise Unevaluable
            return self.env[value]
        if kind == "const":
            return self._constant(value)
        if kind == "add":
            return (
                mp.fsum(self.value(a) for a in args)
                if all(a.kind in ("num", "dec") for a in args)
                else sum(map(self.value, args), mp.mpf(0))
            )
        if kind == "mul":
            product = mp.mpf(1)
            for a in args:
                product = product * self.value(a)
            return product
        if kind == "neg":
            return -self.value(args[0])
        if kind == "div":
            upper, lower = self.value(args[0]), self.value(args[1])
            if lower == 0:
                raise Undefined("a division by zero")
            return upper / lower
        if kind in ("pow", "root"):
            return self._power(node)
        if kind == "fn":
            return self._function(node)
        if kind == "apply":
            return self._unknown(node)
        if kind == "pct":
            return self.value(args[0]) / 100
        if kind == "deg":
            return self.value(args[0]) * mp.pi / 180
        if kind == "base":
            known = rational(node)
            if known is not None:
                return mp.mpf(int(known))
        raise Unevaluable

    @staticmethod
    def _constant(name: str) -> Value:
        if name == "oo":
            raise Unevaluable
        return mp.mpc(0, 1) if name == "i" else +mp.pi if name == "pi" else +mp.e

    def _unknown(self, node: Node) -> Value:
        """An unknown function: some value that depends on nothing but the name and the arguments' values."""
        shown = [mp.nstr(self.value(a), 25) for a in node.args]
        digest = hashlib.blake2b(repr((node.value, shown)).encode(), digest_size=8).digest()
        return mp.mpf(int.from_bytes(digest, "big")) / 2**62 + mp.mpf(1) / 7

    def _power(self, node: Node) -> Value:
        base_node, other = node.args
        base = self.value(base_node)
        exact = rational(other)
        if node.kind == "root":
            if exact is None or exact <= 0 or exact.denominator != 1:
                raise Unevaluable
            exact = 1 / exact
        if exact is None:
            exponent = self.value(other)
            if base == 0:
                raise Undefined("a power of zero")
            self._bound(base, exponent)
            return mp.power(base, exponent)
        if base == 0:
            if exact <= 0:
                raise Undefined("zero to the power of zero or less")
            return mp.mpf(0)
        if exact.denominator == 1:
            if abs(exact.numerator) > 10**9:
                raise TooComplex("an exponent too large to work out")
            self._bound(base, mp.mpf(exact.numerator))
            return base ** int(exact)
        self._bound(base, mp.mpf(exact.numerator) / exact.denominator)
        if _is_negative(base) and exact.denominator % 2 == 1:
            root = -mp.root(-mp.re(base), exact.denominator)
            return root ** int(exact.numerator)
        return mp.power(base, mp.mpf(exact.numerator) / exact.denominator)

    @staticmethod
    def _bound(base: Value, exponent: Value) -> None:
        if abs(exponent) * abs(float(mp.mag(base))) > MAX_LOG10 * 4 or abs(exponent) > 10**9:
            raise TooComplex("a power too large to work out")

    def _function(self, node: Node) -> Value:
        name, args = node.value, node.args
        if name == "det":
            raise Unevaluable
        values = [self.value(a) for a in args]
        if name in ("fact", "fact2", "binom", "gcd", "lcm"):
            return self._counting(node, values)
        if name in ("floor", "ceil", "max", "min", "sign"):
            return self._stepped(name, values)
        rule = _FUNCTIONS.get(name)
        if rule is None:
            raise Unevaluable
        if any(abs(v) > 10**6 for v in values) and name not in ("ln", "log", "logb", "abs", "re", "im", "conj"):
            raise TooComplex("a function of a number too large to work out")
        try:
            return rule(*values)
        except (ZeroDivisionError, ValueError) as error:
            raise Undefined(f"{name} outside its domain") from error

    def _counting(self, node: Node, values: list[Value]) -> Value:
        if any(a.kind in ("num", "dec") for a in node.args) or not any(n.kind == "sym" for n in walk(node)):
            known = rational(node)
            if known is not None:
                return mp.mpf(known.numerator) / known.denominator
        if any(abs(v) > 10_000 for v in values):
            raise TooComplex("a factorial of a number too large")
        if mp.dps > MAX_GAMMA_DIGITS and not all(mp.isint(v) for v in values):
            raise TooComplex("factorials between whole numbers to more digits than there is time for")
        try:
            if node.value == "fact":
                return mp.factorial(values[0])
            if node.value == "fact2":
                return mp.fac2(values[0])
            if node.value == "binom":
                return mp.binomial(*values)
        except ValueError as error:
            raise Undefined("a factorial outside its domain") from error
        raise Unevaluable

    @staticmethod
    def _stepped(name: str, values: list[Value]) -> Value:
        if any(abs(mp.im(v)) > mp.mpf(10) ** (10 - mp.dps) for v in values):
            raise Undefined(f"{name} of a complex number")
        reals = [mp.re(v) for v in values]
        if name in ("max", "min"):
            return max(reals) if name == "max" else min(reals)
        nearest = mp.nint(reals[0])
        if abs(reals[0] - nearest) < mp.mpf(10) ** (10 - mp.dps) * max(1, abs(nearest)):
            if name == "sign" and nearest != 0:
                return mp.sign(reals[0])
            raise Unevaluable  # on a step: rounding must not choose the side
        return {"floor": mp.floor, "ceil": mp.ceil, "sign": mp.sign}[name](reals[0])


def _log_base(value: Value, base: Value) -> Value:
    return mp.log(value) / mp.log(base)


def _nonzero_log(value: Value) -> Value:
    if value == 0:
        raise ValueError
    return mp.log(value)


_FUNCTIONS: dict[str, Any] = {
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "cot": mp.cot, "sec": mp.sec, "csc": mp.csc, "asin": mp.asin, "acos": mp.acos,
    "atan": mp.atan, "acot": lambda x: mp.atan(1 / x), "asec": mp.asec, "acsc": mp.acsc, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "coth": mp.coth, "sech": mp.sech, "csch": mp.csch, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "ln": _nonzero_log, "log": lambda x: _nonzero_log(x) / mp.log(10), "logb": _log_base, "abs": abs, "re": mp.re, "im": mp.im,
    "arg": mp.arg, "conj": mp.conj,
}  # fmt: skip


def _is_negative(value: Value) -> bool:
    return bool(mp.im(value) == 0 and mp.re(value) < 0)


def evaluate(node: Node, digits: int, env: Mapping[str, Fraction] | None = None) -> Value:
    """The value to about `digits` digits. Raises Undefined, Unevaluable, TooComplex."""
    with mp.workdps(digits):
        return _Run(env or {}).value(node)


def needed_digits(nodes: list[Node], env: Mapping[str, Fraction]) -> int:
    """Digits that a comparison of these trees must carry. Raises TooComplex over MAX_NUMERIC_DIGITS."""
    widest = 0
    for node in nodes:
        runs = []
        for digits in (LOW_DIGITS, HIGH_DIGITS):
            with mp.workdps(digits):
                run = _Run(env)
                run.value(node)
                runs.append(run.sizes)
        for low, high in zip(*runs, strict=True):
            if low is not None and high is not None and abs(low - high) <= 1:
                widest = max(widest, abs(high))
    digits = HIGH_DIGITS + SIZE_FACTOR * widest
    if digits > MAX_NUMERIC_DIGITS:
        raise TooComplex("numbers too far apart to compare")
    return digits


def differs(left: Node, right: Node, env: Mapping[str, Fraction]) -> bool:
    """Whether two closed trees (under `env`) differ, at a precision that their own numbers ask for."""
    digits = needed_digits([left, right], env)
    fewer = HIGH_DIGITS + (digits - HIGH_DIGITS) // SIZE_FACTOR  # where they differ, these mostly show it at a part of the cost
    return (fewer < digits and _apart(left, right, env, fewer)) or _apart(left, right, env, digits)


def _apart(left: Node, right: Node, env: Mapping[str, Fraction], digits: int) -> bool:
    """Whether the two differ by more than the rounding of `digits` digits explains."""
    with mp.workdps(digits):
        a, b = _Run(env), _Run(env)
        gap = abs(a.value(left) - b.value(right))
        widest = max((s for s in (*a.sizes, *b.sizes) if s is not None), default=0)
        return bool(gap > mp.mpf(10) ** (max(widest, 0) + MARGIN_DIGITS - digits))


def clearly_differs(left: Node, right: Node, env: Mapping[str, Fraction]) -> bool:
    """A cheap screen: True only where the values are far apart and no large numbers cancel."""
    with mp.workdps(SCREEN_DIGITS):
        a, b = _Run(env), _Run(env)
        x, y = a.value(left), b.value(right)
        widest = max((s for s in (*a.sizes, *b.sizes) if s is not None), default=0)
        return bool(widest < SCREEN_DIGITS // 3 and abs(x - y) > mp.mpf(10) ** -6 * max(1, abs(x), abs(y)))


def is_real(value: Value, digits: int) -> bool:
    return bool(abs(mp.im(value)) <= mp.mpf(10) ** (MARGIN_DIGITS - digits) * max(1, abs(value)))


def sample_points(names: list[str], reach: Fraction = Fraction(1)) -> list[dict[str, Fraction]]:
    """Points for these symbols: both signs, several scales, some beyond `reach`, no whole numbers; always the same ones."""
    points = []
    for index in range(POINTS):
        point = {}
        for name in names:
            digest = hashlib.blake2b(f"{index}:{name}".encode("ascii", "backslashreplace"), digest_size=12).digest()
            size = Fraction(int.from_bytes(digest[:6], "big") * 2 + 1, 1 << 48)
            sign = -1 if digest[8] & 1 else 1
            if index in (0, 3, 7):
                sign = 1
            if index in (1, 4):
                sign = -1
            point[name] = sign * size * (1, 1, Fraction(1, 3), 3, 7, 40, 3 * reach, 1000)[index % 8]
        points.append(point)
    return points
