"""Units: names, dimensions and exact factors. A unit nobody knows is compared by its words."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

Dimensions = tuple[tuple[str, int], ...]


class Unit(NamedTuple):
    """A multiple of base units; `factor` is exact. Angles are in radians over pi, so that degrees stay rational."""

    factor: Fraction
    dimensions: Dimensions


def _f(text: str) -> Fraction:
    return Fraction(text)


_BASE: dict[str, tuple[str, Fraction]] = {}


def _add(dimension: str, factor: str, *words: str) -> None:
    for word in words:
        _BASE[word] = (dimension, _f(factor))


_add("m", "1", "m", "meter", "metre")
_add("m", "1/100", "cm", "centimeter", "centimetre")
_add("m", "1/1000", "mm", "millimeter", "millimetre")
_add("m", "1/10", "dm", "decimeter", "decimetre")
_add("m", "1000", "km", "kilometer", "kilometre")
_add("m", "1/1000000", "μm", "micrometer", "micron")
_add("m", "1/1000000000", "nm", "nanometer")
_add("m", "0.0254", "in", "inch", "inche")
_add("m", "0.3048", "ft", "foot", "feet")
_add("m", "0.9144", "yd", "yard")
_add("m", "1609.344", "mi", "mile")
_add("s", "1", "s", "sec", "second")
_add("s", "1/1000", "ms", "millisecond")
_add("s", "60", "min", "minute")
_add("s", "3600", "h", "hr", "hour")
_add("s", "86400", "day")
_add("s", "604800", "week", "wk")
_add("month", "1", "month")
_add("month", "12", "year", "yr")
_add("g", "1", "g", "gram", "gramme")
_add("g", "1000", "kg", "kilogram", "kilo")
_add("g", "1/1000", "mg", "milligram")
_add("g", "1000000", "tonne")
_add("g", "453.59237", "lb", "pound-mass")
_add("g", "28.349523125", "oz", "ounce")
_add("litre", "1", "l", "L", "liter", "litre")
_add("litre", "1/1000", "ml", "mL", "milliliter", "millilitre", "cc")
_add("litre", "1/10", "dl", "dL", "deciliter")
_add("dollar", "1", "$", "dollar", "usd", "buck")
_add("dollar", "1/100", "cent", "¢", "penny", "pennie")
_add("euro", "1", "€", "euro", "eur")
_add("pound", "1", "£", "gbp")
_add("yuan", "1", "yuan", "rmb", "cny", "元")
_add("yen", "1", "¥", "yen", "jpy")
_add("rupee", "1", "₹", "rupee", "rs", "inr")
_add("", "1", "radian", "rad")
_add("deg", "1", "degree", "deg", "°")
_add("joule", "1", "j", "joule")
_add("joule", "1000", "kj", "kilojoule")
_add("watt", "1", "watt", "w")
_add("watt", "1000", "kw", "kilowatt")
_add("newton", "1", "n", "newton")
_add("pascal", "1", "pa", "pascal")
_add("hertz", "1", "hz", "hertz")
_add("volt", "1", "volt", "v")
_add("bit", "1", "bit")
_add("bit", "8", "byte")
_add("celsius", "1", "celsius", "°c")
_add("fahrenheit", "1", "fahrenheit", "°f")
_add("unit", "1", "unit")
_add("pair", "1", "pair")

_WHOLE = {
    "mph": ("mile", "hour"), "kph": ("km", "hour"), "kmh": ("km", "hour"), "kmph": ("km", "hour"), "mps": ("m", "s"),
    "fps": ("ft", "s"),
    "bps": ("bit", "s"), "mpg": ("mile", "gallon"),
}  # fmt: skip
_SCALES = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_SKIPPED = {"units", "unit", "of", "a", "the", "total", "in", "long", "each"}
_WORD = re.compile(r"[A-Za-z$€£¥₹°¢μ]+|\^?-?\d+|[/*^]")
_SINGLE = {"m", "s", "h", "g", "l", "L", "j", "w", "n", "v"}
_UNIT_WORDS = {
    *(w for w in _BASE if len(w) > 1), *_WHOLE, *_SCALES, "units", "degrees", "inches", "lbs", "hrs", "mins", "secs", "yrs",
    "gallon",
    "gallons", "acre", "acres", "knot", "knots", "people", "percent",
}  # fmt: skip


def is_unit(word: str) -> bool:
    """Whether a word is known as a unit or part of one; single letters count (only `\\text{m}` asks about them)."""
    return (
        word in _SINGLE
        or word in _UNIT_WORDS
        or _singular(word) in _UNIT_WORDS
        or (len(word) > 2 and word.lower() in _UNIT_WORDS)
    )


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ches"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 2 and not word.endswith("ss") else word


def parse_unit(phrase: str) -> Unit | None:
    """The unit that a phrase such as `miles per hour`, `cm^2` or `square feet` names; None where a word is unknown."""
    powers: dict[str, int] = {}
    factor, sign, pending = Fraction(1), 1, 1
    words = _WORD.findall(phrase)
    if not words or len(words) > 12:
        return None
    last: tuple[str, Fraction] | None = None
    for word in words:
        lower = word.lower()
        if lower in ("per", "/", "an") or (lower == "a" and last):
            sign = -1
        elif word.lstrip("^-").isdigit():
            if last is None or abs(power := int(word.lstrip("^"))) > 6:
                return None
            powers[last[0]] += sign * (power - 1)
            factor *= last[1] ** (sign * (power - 1))
        elif lower in _SCALES:
            if lower in ("squared", "cubed") and last:
                extra = _SCALES[lower] - 1
                powers[last[0]] += sign * extra
                factor *= last[1] ** (sign * extra)
            else:
                pending = _SCALES[lower]
        elif lower in _WHOLE:
            above, below = (_find(w) for w in _WHOLE[lower])
            if above is None or below is None:
                return None
            for (dimension, scale), s in ((above, 1), (below, -1)):
                powers[dimension] = powers.get(dimension, 0) + sign * s
                factor *= scale ** (sign * s)
        elif lower in ("*", "^"):
            continue
        else:
            last = _find(word)
            if last is None:
                return None
            powers[last[0]] = powers.get(last[0], 0) + sign * pending
            factor *= last[1] ** (sign * pending)
            pending = 1
    if pending != 1:
        return None
    if powers.get("litre"):  # a litre is a cubic decimetre
        n = powers.pop("litre")
        powers["m"] = powers.get("m", 0) + 3 * n
        factor *= Fraction(1, 1000) ** n
    return Unit(factor, tuple(sorted((d, p) for d, p in powers.items() if d and p)))


def _find(word: str) -> tuple[str, Fraction] | None:
    for spelling in (word, word.lower(), _singular(word), _singular(word.lower())):
        if spelling in _BASE:
            return _BASE[spelling]
    return None


def words_key(phrase: str) -> frozenset[str]:
    """Words of an unknown unit, singular and without articles."""
    return frozenset(_singular(w.lower()) for w in re.findall(r"[A-Za-z$€£¥₹°]+", phrase)) - {"a", "the", "of", "an"}
