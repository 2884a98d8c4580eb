"""Equality of trees as rational functions, decided in finite fields.

Each symbol, and π and e, gets a pseudo-random value modulo a prime of some 120 bits; i is a square root of -1 there. Two
rational functions that agree at a random point modulo such a prime are the same but for a chance of degree/p
(Schwartz-Zippel), however close to one another their values may be: nothing is rounded here. A function that is no
rational one (a root, a sine) is taken as an unknown function of its argument, so agreement still proves equality and
only disagreement proves nothing (`exact` is False then).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction

from verifier_service.verifiers.math.exact import rational, valid_digits
from verifier_service.verifiers.math.limits import MAX_INTEGER_BITS, Undefined
from verifier_service.verifiers.math.tree import Node

# Primes of the form 4k+1, so that -1 has a square root.
PRIMES = (1329227995784915872903807060280344457, 1329227995784915872903807060280344181)


class NotAlgebra(Exception):
    """The tree holds something that is no number: a set, a relation, words."""


@dataclass(slots=True)
class _Field:
    prime: int
    root_of_minus_one: int
    exact: bool = True
    transcendentals: set[str] = field(default_factory=set)

    def random(self, *what: object) -> int:
        digest = hashlib.blake2b(repr((self.prime, *what)).encode("ascii", "backslashreplace"), digest_size=24).digest()
        return int.from_bytes(digest, "big") % self.prime


def _root_of_minus_one(prime: int) -> int:
    for candidate in range(2, 100):
        root = pow(candidate, (prime - 1) // 4, prime)
        if root * root % prime == prime - 1:
            return root
    raise ValueError("not a prime of the form 4k+1")


_ROOTS = tuple(_root_of_minus_one(p) for p in PRIMES)


def same_function(left: Node, right: Node) -> bool | None:
    """True: equal. False: different. None: not decided here. Raises NotAlgebra, Undefined, TooComplex."""
    decisive = True
    for prime, root in zip(PRIMES, _ROOTS, strict=True):
        here = _Field(prime, root)
        equal = _value(left, here) == _value(right, here)
        decisive = decisive and here.exact and len(here.transcendentals) < 2
        if not equal:
            return False if decisive else None
    return True


def _value(node: Node, f: _Field) -> int:
    kind, args, value = node
    p = f.prime
    if kind in ("num", "dec"):
        number = value if kind == "num" else Fraction(value)
        return number.numerator % p * pow(number.denominator, -1, p) % p
    if kind == "sym":
        return f.random("sym", value)
    if kind == "const":
        if value == "i":
            return f.root_of_minus_one
        if value == "oo":
            raise NotAlgebra
        f.transcendentals.add(value)
        return f.random("const", value)
    if kind == "add":
        return sum(_value(a, f) for a in args) % p
    if kind == "mul":
        product = 1
        for a in args:
            product = product * _value(a, f) % p
        return product
    if kind == "neg":
        return -_value(args[0], f) % p
    if kind == "div":
        lower = _value(args[1], f)
        if lower == 0:
            raise Undefined("a division by zero")
        return _value(args[0], f) * pow(lower, -1, p) % p
    if kind == "pow":
        return _power(args[0], args[1], f)
    if kind == "base" and valid_digits(*value):
        return int(value[0], value[1]) % p
    if kind == "root":
        return _opaque_power(args[0], Node("div", (Node("num", (), Fraction(1)), args[1])), f)
    if kind in ("fn", "apply"):
        if kind == "fn" and (known := rational(node)) is not None:
            return known.numerator % p * pow(known.denominator, -1, p) % p
        f.exact = f.exact and kind == "apply"
        return f.random(kind, value, *(_value(a, f) for a in args))
    if kind == "pct":
        return _value(args[0], f) * pow(100, -1, p) % p
    if kind == "deg":
        f.transcendentals.add("pi")
        return _value(args[0], f) * f.random("const", "pi") * pow(180, -1, p) % p
    raise NotAlgebra


def _power(base: Node, exponent: Node, f: _Field) -> int:
    n = rational(exponent)
    if n is None or n.denominator != 1:
        return _opaque_power(base, exponent, f)
    if abs(n.numerator).bit_length() > MAX_INTEGER_BITS:
        raise NotAlgebra
    value = _value(base, f)
    if value == 0 and n <= 0:
        raise Undefined("zero to the power of zero or less")
    return pow(value, int(n), f.prime)


def _opaque_power(base: Node, exponent: Node, f: _Field) -> int:
    """A power with no whole exponent: exact where the value is rational, else an unknown function of base and exponent."""
    b, n = rational(base), rational(exponent)
    if b is not None and n is not None:
        known = rational(Node("pow", (base, exponent)))
        if known is not None:
            return known.numerator % f.prime * pow(known.denominator, -1, f.prime) % f.prime
    f.exact = False
    return f.random("pow", _value(base, f), _value(exponent, f))
