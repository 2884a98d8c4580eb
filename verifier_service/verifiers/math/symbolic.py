"""The only module that knows SymPy. It gets trees, never text, and only ones small enough.

A symbol is real, or positive where the caller saw that neither side has a value otherwise. Time and memory are bounded by
the worker process around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import MAX_SYMPY_NODES, TooComplex
from verifier_service.verifiers.math.tree import Node, walk

Expr = Any
MAX_SIGN_PATTERNS = 8

_FUNCTIONS: dict[str, Any] = {
    "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "cot": sp.cot, "sec": sp.sec, "csc": sp.csc, "asin": sp.asin, "acos": sp.acos,
    "atan": sp.atan, "acot": sp.acot, "asec": sp.asec, "acsc": sp.acsc, "sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh,
    "coth": sp.coth, "sech": sp.sech, "csch": sp.csch, "asinh": sp.asinh, "acosh": sp.acosh, "atanh": sp.atanh, "ln": sp.log,
    "log": lambda x: sp.log(x, 10), "logb": sp.log, "abs": sp.Abs, "floor": sp.floor, "ceil": sp.ceiling, "sign": sp.sign,
    "max": sp.Max, "min": sp.Min, "re": sp.re, "im": sp.im, "conj": sp.conjugate, "arg": sp.arg, "fact": sp.factorial,
    "fact2": sp.factorial2, "binom": sp.binomial, "gcd": sp.gcd, "lcm": sp.lcm,
}  # fmt: skip
_CONSTANTS = {"pi": sp.pi, "e": sp.E, "i": sp.I, "oo": sp.oo}


class _NoExpression(Exception):
    """The tree is no expression that SymPy can have."""


def warm_up() -> None:
    """Run SymPy's usual paths once, so that forked workers share them."""
    x = sp.Symbol("x", real=True)
    sp.simplify(sp.sqrt(x**2) - sp.Abs(x))
    sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1)
    sp.expand_log(sp.log(x**2))


def proves_equal(left: Node, right: Node, signs: Sequence[Mapping[str, int]], complex_wanted: bool) -> bool:
    """Whether SymPy reduces the difference to zero: for real symbols at once, or for each combination of `signs`.

    `signs` are the sign patterns under which the two have values; where every one has a symbol positive it is taken so.
    """
    names = signs[0].keys() if signs else ()
    known = {name: 1 for name in names if all(pattern[name] > 0 for pattern in signs)}
    if _proves(left, right, known, complex_wanted):
        return True
    return (
        not complex_wanted and 0 < len(signs) <= MAX_SIGN_PATTERNS and all(_proves(left, right, p, complex_wanted) for p in signs)
    )


def _proves(left: Node, right: Node, signs: Mapping[str, int], complex_wanted: bool) -> bool:
    try:
        build = _Builder(signs, complex_wanted)
        difference = build.expr(left) - build.expr(right)
    except (_NoExpression, TypeError, ValueError, ZeroDivisionError, AttributeError):
        return False
    return any(
        _is_zero(step, difference)
        for step in (
            sp.expand,
            sp.expand_log,
            _factored,
            sp.radsimp,
            sp.logcombine,
            sp.simplify,
            _squares,
            _arcs,
            _logs,
            _log_factors,
        )
    )


def _factored(difference: Expr) -> Expr:
    """With what stands under roots factored, so that perfect squares come out."""
    under = difference.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer, lambda e: sp.factor(e.base) ** e.exp
    )
    return sp.expand(under)


def _squares(difference: Expr) -> Expr:
    return sp.simplify(sp.sqrtdenest(sp.expand(difference, func=True)).rewrite(sp.Abs))


def _arcs(difference: Expr) -> Expr:
    return sp.simplify(difference.rewrite(sp.asin).rewrite(sp.atan))


def _logs(difference: Expr) -> Expr:
    """With logarithms merged as if their arguments were positive: right but for the branch, which the caller has tried."""
    return sp.simplify(sp.logcombine(difference, force=True))


def _log_factors(difference: Expr) -> Expr:
    """The same the other way: logarithms of products taken apart."""
    return sp.simplify(sp.expand_log(sp.factor(difference), force=True))


def _is_zero(step: Any, difference: Expr) -> bool:
    try:
        return bool(step(difference) == 0)
    except (TypeError, ValueError, NotImplementedError, ZeroDivisionError, AttributeError, RecursionError, KeyError, IndexError):
        return False  # SymPy has no proof this way


def closed_form(left: Node, right: Node) -> bool:
    """Whether two trees with sums, products, integrals or limits are the same once those are worked out."""
    try:
        build = _Builder({}, complex_wanted=True)
        a, b = build.expr(left), build.expr(right)
        if a == b:
            return True
        difference = a.doit() - b.doit()
        if difference.has(sp.nan, sp.zoo):
            return False
        return bool(difference == 0 or sp.simplify(difference) == 0)
    except (
        _NoExpression,
        TypeError,
        ValueError,
        NotImplementedError,
        ZeroDivisionError,
        AttributeError,
        RecursionError,
        KeyError,
    ):
        return False


class _Builder:
    """Trees to SymPy expressions."""

    def __init__(self, signs: Mapping[str, int], complex_wanted: bool) -> None:
        self._signs = signs
        self._complex = complex_wanted

    def expr(self, node: Node) -> Expr:
        if len(walk(node)) > MAX_SYMPY_NODES:
            raise TooComplex(f"more than {MAX_SYMPY_NODES} operations to simplify")
        return self._expr(node)

    def symbol(self, name: str) -> Expr:
        if name in self._signs:
            symbol = sp.Symbol(name, positive=True)
            return symbol if self._signs[name] > 0 else -symbol
        return sp.Symbol(name) if self._complex else sp.Symbol(name, real=True)

    def _expr(self, node: Node) -> Expr:
        kind, args, value = node
        exact = rational(node) if kind not in ("sym", "const", "big") else None
        if exact is not None:
            if exact.numerator.bit_length() + exact.denominator.bit_length() > 4000:
                raise TooComplex("numbers too long to simplify")
            return sp.Rational(exact.numerator, exact.denominator)
        if kind == "sym":
            return self.symbol(value)
        if kind == "const":
            return _CONSTANTS[value]
        if kind == "add":
            return sp.Add(*map(self._expr, args))
        if kind == "mul":
            return sp.Mul(*map(self._expr, args))
        if kind == "neg":
            return -self._expr(args[0])
        if kind == "div":
            return self._expr(args[0]) / self._expr(args[1])
        if kind == "pow":
            return self._power(args[0], args[1])
        if kind == "root":
            index = rational(args[1])
            if index is None or index.denominator != 1 or not 0 < index < 100:
                raise _NoExpression
            return self._rational_power(self._expr(args[0]), sp.Rational(1, int(index)))
        if kind == "deg":
            return self._expr(args[0]) * sp.pi / 180
        if kind == "pct":
            return self._expr(args[0]) / 100
        if kind == "fn" and value in _FUNCTIONS:
            return _FUNCTIONS[value](*map(self._expr, args))
        if kind == "apply":
            return sp.Function(value)(*map(self._expr, args))
        if kind == "big":
            return self._big(node)
        raise _NoExpression

    def _power(self, base: Node, exponent: Node) -> Expr:
        upper = rational(exponent)
        if upper is not None and abs(upper) > 1000:
            raise TooComplex("a power too large to simplify")
        below = self._expr(base)
        if upper is not None and upper.denominator != 1:
            return self._rational_power(below, sp.Rational(upper.numerator, upper.denominator))
        return below ** self._expr(exponent)

    def _rational_power(self, base: Expr, exponent: Expr) -> Expr:
        """Odd roots are real ones here, as school has it."""
        if exponent.q % 2 == 1 and base.is_real and not base.is_nonnegative:
            return (sp.sign(base) * sp.Abs(base) ** sp.Rational(1, exponent.q)) ** exponent.p
        return base**exponent

    def _big(self, node: Node) -> Expr:
        body, variable, low, high = node.args
        if variable.kind != "sym":
            raise _NoExpression
        name = self.symbol(variable.value)
        inner = self._expr(body)
        if node.value == "lim":
            target = low.args[0] if low.kind == "pow" else low
            return sp.Limit(inner, name, self._expr(target))
        if low.kind == "none" and high.kind == "none" and node.value == "int":
            return sp.Integral(inner, name)
        bounds = (name, self._expr(low), self._expr(high))
        return {"sum": sp.Sum, "prod": sp.Product, "int": sp.Integral}[node.value](inner, bounds)
