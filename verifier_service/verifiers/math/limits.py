"""Bounds on the work that one answer or gold may cause, checked before the work is done."""

from __future__ import annotations

MAX_TOKENS = 4000
MAX_DEPTH = 240
"""Grammar levels; a pair of brackets takes four."""
MAX_CHAIN = 300
"""Factors in one product, signs in one sum of ±."""
MAX_NODES = 4000
MAX_INTEGER_BITS = 200_000
"""Largest integer that is ever worked out (some 60,000 digits)."""
MAX_FACTORIAL = 5000
MAX_BINOMIAL = 10_000
MAX_MATRIX_CELLS = 400
MAX_ITEMS = 400
MAX_UNORDERED_ITEMS = 60
"""Largest set that is matched by pairwise comparison where normal forms don't settle it."""
MAX_SUM_TERMS = 20_000
MAX_SYMPY_NODES = 150
"""Largest expression handed to SymPy."""
MAX_NUMERIC_DIGITS = 3000


class Undefined(Exception):
    """A value that doesn't exist, such as 0/0 or infinity minus infinity."""


class TooComplex(Exception):
    """The work asked for is over a bound; the message names which."""
