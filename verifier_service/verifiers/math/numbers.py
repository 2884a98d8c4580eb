"""Plain numbers without a parser: the stage in which most of the data of RL on grade-school maths ends.

Everything here is exact: integers, fractions and finite decimals as `Fraction`, never a float.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 4000
"""Longest numeral read as a number (Python's own conversion limit is 4,300 digits)."""

MIN_ROUNDED_DIGITS = 6
"""Significant digits from which a decimal may stand for an exact value."""

DOUBLE_DIGITS = 16
"""Significant digits from which a decimal may be the shortest text of a double instead of a rounding."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number and, where it was written as a decimal, how many digits it shows."""

    value: Fraction
    decimals: int = 0
    digits: int = 0
    is_decimal: bool = False


_PLAIN = re.compile(
    r"(?P<sign>[-+−]?)\s*(?:\\?\$)?\s*(?P<whole>[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.(?P<part>\d+|(?!\s*\.)))?(?:\s*/\s*(?P<den>\d+))?\s*\.?"
)
_LATEX_FRACTION = re.compile(
    r"(?P<sign>[-+−]?)\s*\\[dt]?frac\s*\{\s*(?P<minus>-?)\s*(?P<num>\d+)\s*\}\s*\{\s*(?P<den>\d+)\s*\}\s*\.?"
)


def plain_number(text: str) -> Number | None:
    """The number that `text` is all of, or None where it is anything else (or is too long)."""
    if len(text) > MAX_DIGITS:
        return None
    match = _PLAIN.fullmatch(text)
    if match is None:
        match = _LATEX_FRACTION.fullmatch(text)
        if match is None or int(match["den"]) == 0:
            return None
        sign = -1 if (match["sign"] in ("-", "−")) != (match["minus"] == "-") else 1
        return Number(Fraction(sign * int(match["num"]), int(match["den"])))
    whole, part, den = match["whole"], match["part"], match["den"]
    if not whole and not part:
        return None
    negative = match["sign"] in ("-", "−")
    digits = (whole or "").replace(",", "")
    if den is not None:
        if part is not None or int(den) == 0:
            return None
        value = Fraction(int(digits), int(den))
        return Number(-value if negative else value)
    return decimal_number(digits, part, negative)


def decimal_number(whole: str, part: str | None, negative: bool = False) -> Number:
    """The number with these digits before and after the point."""
    if not part:
        value = Fraction(int(whole or "0"))
        return Number(-value if negative else value)
    value = Fraction(int((whole + part) or "0"), 10 ** len(part))
    digits = len((whole + part).lstrip("0"))
    return Number(-value if negative else value, len(part), digits, is_decimal=True)


def terminates(value: Fraction) -> bool:
    """Whether the decimal expansion ends."""
    den = value.denominator
    den //= den & -den
    for power in (5**64, 5**8, 5):
        while den % power == 0:
            den //= power
    return den == 1


def rounds_to(exact: Fraction, shown: Number) -> bool:
    """Whether the decimal `shown` is `exact` correctly rounded, six significant digits or more.

    A text of sixteen digits or more may also be a double's shortest representation, which is not a correct rounding
    to the digits it shows.
    """
    if not shown.is_decimal or shown.digits < MIN_ROUNDED_DIGITS:
        return False
    if abs(exact - shown.value) * 2 * 10**shown.decimals <= 1:
        return True
    if shown.digits < DOUBLE_DIGITS:
        return False
    try:
        return float(exact) == float(shown.value)
    except OverflowError:
        return False


def equal_numbers(gold: Number, answer: Number, precision: str = "rounded", rel_tol: float | None = None) -> bool:
    """The precision rule on two exact numbers."""
    if gold.value == answer.value:
        return True
    if rel_tol is not None and abs(gold.value - answer.value) <= Fraction(rel_tol) * abs(gold.value):
        return True
    if precision == "exact" or gold.is_decimal == answer.is_decimal:
        return False
    decimal, exact = (gold, answer) if gold.is_decimal else (answer, gold)
    return not terminates(exact.value) and rounds_to(exact.value, decimal)
