"""The tight end of the grammar: powers, numbers, names, words and units."""

from __future__ import annotations

from fractions import Fraction

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.brackets import CURRENCY
from verifier_service.verifiers.math.commands import Commands
from verifier_service.verifiers.math.limits import TooComplex
from verifier_service.verifiers.math.numbers import MAX_DIGITS
from verifier_service.verifiers.math.tokens import Token, Unparsed
from verifier_service.verifiers.math.tree import EULER, IMAGINARY, Node, fn, num
from verifier_service.verifiers.math.units import is_unit

MAX_EXPONENT_FORM = 10_000
_MONEY = {sign.lstrip("\\") for sign in CURRENCY}
_AFTER_MONEY = {"per", "a", "an", "each", *names.SCALE_WORDS}
_APPLIED = {"f", "g", "h", "F", "G", "H", "O"}
_BASE_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
               "sixteen": 16}  # fmt: skip


_CHANGES_VALUE = {"squared", "cubed", "factorial", "doubled", "halved", "tripled", "halves", *names.ORDINALS}
_CHANGES_VALUE |= {f"{word}s" for word in names.ORDINALS if not word.endswith("s")}
"""What follows a number and makes another of it: `5 squared`, `3 halves`."""


def _period(decimals: str) -> int:
    """How many digits `decimals` repeat at their end: one digit thrice or more, or several twice or more; 0 where none do."""
    if len(decimals) > 2 and len(set(decimals[-3:])) == 1:
        return 1
    return next((n for n in range(2, min(len(decimals) // 2, 20) + 1) if decimals[-n:] == decimals[-2 * n : -n]), 0)


def is_money(node: Node) -> bool:
    """An amount with its currency sign, to which a rate or a scale may still be added."""
    return node.kind == "qty" and node.value in _MONEY


class Atoms(Commands):
    """Everything from a power down."""

    def power(self) -> Node:
        self.enter()
        base = self.atom()
        while self.here.kind in ("op", "cmd"):
            text = self.here.text
            if text in ("^", "**"):
                base = self.count(self.raised(base))
            elif text == "!":
                self.next()
                base = self.count(fn("fact2" if self.here.text == "!" else "fact", base))
                if self.here.text == "!":
                    self.next()
            elif text == "%" and self.peek().kind not in ("num", "sym"):
                self.next()
                base = Node("pct", (base,))
            elif text == "\\circ":
                self.next()
                base = Node("deg", (base,))
            elif text in CURRENCY and base.kind in ("num", "dec"):
                self.next()
                base = Node("qty", (base,), text.lstrip("\\"))
            else:
                break
        self.leave()
        return base

    def raised(self, base: Node) -> Node:
        self.next()
        if self.here.text == "\\circ" or (self.here.text == "{" and self.peek().text == "\\circ" and self.peek(2).text == "}"):
            while self.next().text not in ("\\circ",):
                pass
            if self.here.text == "}":
                self.next()
            if self.here.text in ("C", "F") and self.here.kind == "sym":
                return Node("qty", (base,), "celsius" if self.next().text == "C" else "fahrenheit")
            return Node("deg", (base,))
        if self.here.text == "{" and self.peek().text.lower() in ("st", "nd", "rd", "th") and self.peek(2).text == "}":
            self.go(self.at + 3)
            return base
        if self.here.text == "{" and self.peek().kind == "sym" and self.peek(2).kind == "sym" and self.peek(3).text == "}":
            if (self.peek().text + self.peek(2).text) in ("st", "nd", "rd", "th"):
                self.go(self.at + 4)
                return base
        return Node("pow", (base, self.exponent()))

    def exponent(self) -> Node:
        self.enter()
        minus = False
        while self.here.text in ("-", "+") and self.here.kind == "op":
            minus ^= self.next().text == "-"
        node = self.group() if self.here.text == "{" else self.atom()
        if self.here.text in ("^", "**"):
            self.next()
            node = self.count(Node("pow", (node, self.exponent())))
        self.leave()
        return Node("neg", (node,)) if minus else node

    def atom(self) -> Node:
        token = self.here
        if token.kind == "num":
            return self.number()
        if token.kind == "sym":
            return self.symbol()
        if token.kind == "cmd":
            return self.command()
        if token.kind == "text":
            return self.words()
        if token.kind == "op":
            return self.bracketed()
        raise Unparsed("it ends too soon")

    def number(self) -> Node:
        token = self.next()
        if (
            token.text.endswith(".")
            or (self.here.text in ("\\overline", "\\bar", "\\dot") and "." in token.text)
            or (
                "." in token.text
                and self.here.text == "("
                and not self.here.spaced
                and self.peek().kind == "num"
                and self.peek(2).text == ")"
            )
        ):
            return self.repeating(token.text)
        if "." in token.text and self.here.text in ("\\ldots", "...") and (period := _period(token.text.partition(".")[2])):
            self.next()
            return self.cycle(token.text[:-period], token.text[-period:])
        node = self.literal(token)
        if self.here.text == "_" and self.here.kind == "op":
            return self.in_base(token.text)
        return node

    def literal(self, token: Token) -> Node:
        text, e, exponent = token.text.partition("e")
        if len(text) > MAX_DIGITS:
            raise TooComplex(f"a number of more than {MAX_DIGITS} digits")
        if e:
            if len(exponent) > 8 or abs(int(exponent)) > MAX_EXPONENT_FORM:
                raise TooComplex("an exponent too large to write out")
            return num(Fraction(text) * Fraction(10) ** int(exponent))
        return Node("dec", (), text) if "." in text else num(int(text))

    def repeating(self, text: str) -> Node:
        """`0.1\\overline{6}`, `0.\\dot{3}`, `0.(3)`."""
        opener = self.next().text
        if opener not in ("\\overline", "\\bar", "\\dot", "("):
            raise Unparsed("a number that ends in a point")
        if opener != "(":
            self.take("{")
        if self.here.kind != "num" or not self.here.text.isdigit():
            raise Unparsed("a repeating decimal without its digits")
        cycle = self.next().text
        self.take(")" if opener == "(" else "}")
        return self.cycle(text, cycle)

    def cycle(self, text: str, cycle: str) -> Node:
        whole, _, part = text.partition(".")
        if len(text) + len(cycle) > 200:
            raise TooComplex("a repeating decimal of more than 200 digits")
        head = Fraction(int((whole + part) or "0"), 10 ** len(part))
        return num(head + Fraction(int(cycle), (10 ** len(cycle) - 1) * 10 ** len(part)))

    def in_base(self, digits: str) -> Node:
        self.next()
        text = self.subscript_text().strip("()").lower()
        base = _BASE_WORDS.get(text) or (int(text) if text.isdigit() and len(text) < 3 else 0)
        if not 2 <= base <= 36 or not digits.isdigit():
            raise Unparsed("a number with an odd subscript")
        return Node("base", (), (digits, base))

    def subscript_text(self) -> str:
        """The text of a subscript, as a name."""
        if self.here.text != "{":
            return self.next().text.lstrip("\\")
        self.next()
        parts, level = [], 1
        while self.here.kind != "end":
            level += (self.here.text == "{") - (self.here.text == "}")
            if level == 0:
                self.next()
                break
            parts.append(self.next().text)
        return "".join(p for p in parts if p not in "{}").lstrip("\\")

    def symbol(self) -> Node:
        token = self.next()
        name = token.text
        after = self.here
        if after.kind == "num" and not after.spaced and after.text.isdigit():
            self.next()
            return self.named(f"{name}_{after.text}")
        if after.text == "(" and not after.spaced and name in _APPLIED:
            return Node("apply", self.arguments(), name)
        return self.named(name)

    def named(self, name: str) -> Node:
        """A name with its subscripts and primes; e and i are the constants unless bound."""
        while self.here.kind == "op" and self.here.text in ("_", "'"):
            if self.next().text == "'":
                name += "'"
            else:
                name += "_" + self.subscript_text()
        if name == "e" and name not in self.bound:
            return EULER
        if name == "i" and name not in self.bound:
            return IMAGINARY
        if self.here.text == "(" and not self.here.spaced and name.rstrip("'") in _APPLIED:
            return Node("apply", self.arguments(), name)
        return Node("sym", (), names.SAME_GREEK.get(name, name))

    def words(self) -> Node:
        """Words: a number word, noise before a formula, a currency before an amount, or text."""
        first = self.here.text.lower()
        if first in names.NOISE_PREFIX or (first in ("approximately", "about") and self.at == 0):
            mark = self.at
            while self.here.kind == "text" and self.here.text.lower() in names.NOISE_PREFIX | {"approximately", "about"}:
                self.next()
            if self.here.text == ":":
                self.next()
            if self.here.kind not in ("text", "end"):
                return self.product()
            self.go(mark)
        if is_unit(self.here.text) and self.peek().kind == "num":
            unit = self.next().text
            return Node("qty", (self.power(),), unit)
        if first in names.NUMBER_WORDS and self.peek().kind != "text" and self.peek().text != "-":
            self.next()
            return num(names.NUMBER_WORDS[first])
        words = [self.next().text]
        while self.here.kind == "text" and self.here.text.lower() not in ("or", "and"):
            words.append(self.next().text)
        return Node("text", (), " ".join(words).lower())

    def at_unit(self, left: Node) -> bool:
        if is_money(left):
            return self.here.kind == "text" and self.here.text.lower() in _AFTER_MONEY
        return (
            (self.here.kind == "text" or (self.here.text == "(" and self.peek().kind == "text" and self.peek(2).text == ")"))
            and self.here.text.lower() not in ("and", "or", "either", "both")
            and left.kind not in ("text", "qty", "list", "rel", "set", "tuple", "named")
        )

    def quantity(self, value: Node) -> Node:
        """A value and the unit words behind it."""
        parts: list[str] = []
        if is_money(value):
            while self.here.kind == "text" and self.here.text.lower() in names.SCALE_WORDS:
                parts.append(self.next().text)
            parts.append(str(value.value))
            value = value.args[0]
        while True:
            kind, text = self.here.kind, self.here.text
            if kind == "text":
                if text.lower() in ("and", "or"):
                    break
                if text.lower() in names.HEDGES or text.lower() in names.NUMBER_WORDS:
                    raise Unparsed("words that are no unit behind a number")
                parts.append(text)
            elif text == "^" and parts and (power := self.unit_power()) is not None:
                if parts[-1] == "ms" and power.startswith("-"):
                    parts[-1:] = ["m", "*", "s"]  # m/s is meant, not a rate per millisecond
                parts.append("^" + power)
                continue
            elif (
                text in ("/", "*", "\\cdot", "\\times")
                and parts
                and (self.peek().kind == "text" or (self.peek().kind == "sym" and is_unit(self.peek().text)))
            ):
                parts.append("/" if text == "/" else "*")
                self.next()
                parts.append(self.here.text)
            elif text == "(" and not parts and self.peek().kind == "text" and self.peek(2).text == ")":
                self.next()
                if self.here.text.lower() in names.HEDGES:
                    raise Unparsed("words that are no unit behind a number")
                parts.append(self.here.text)
                self.next()
            elif not (text == "." and parts and kind == "op" and self.peek().kind in ("text", "end")):
                break
            self.next()
        return self.with_unit(value, parts)

    def unit_power(self) -> str | None:
        """The whole exponent at the cursor, taken; None (and nothing taken) where it is anything else."""
        mark = self.at
        self.next()
        braced = self.here.text == "{"
        if braced:
            self.next()
        sign = "-" if self.here.text == "-" else ""
        if sign:
            self.next()
        if self.here.kind == "num" and self.here.text.isdigit():
            digits = self.next().text
            if not braced or self.here.text == "}":
                if braced:
                    self.next()
                return sign + digits
        self.go(mark)
        return None

    def with_unit(self, value: Node, parts: list[str]) -> Node:
        if value.kind == "pct" and parts and parts[0].lower() == "of":  # 50% of the students
            return value
        while parts and parts[0].lower() in names.SCALE_WORDS:
            value = Node("mul", (value, num(names.SCALE_WORDS[parts.pop(0).lower()])))
        if not parts:
            return value
        unit = " ".join(parts)
        if unit.lower() in ("percent", "per cent", "pct", "percentage", "percentage points"):
            return Node("pct", (value,))
        if unit.lower() in ("degrees", "degree", "deg"):
            return Node("deg", (value,))
        if parts[0].lower() in _CHANGES_VALUE:
            raise Unparsed("words that change the number before them")
        if len(unit) > 120:
            raise Unparsed("too many words behind a number")
        node = Node("qty", (value,), unit)
        if self.here.kind == "num" and is_unit(parts[-1]) and self.peek().kind == "text" and is_unit(self.peek().text):
            return Node("add", (node, self.quantity(self.number())))
        return node
