"""The tight end of the grammar: numbers, names, groups, functions, fractions, roots, powers, units and matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.limits import MAX_DEPTH, MAX_MATRIX_CELLS, MAX_NODES, TooComplex
from verifier_service.verifiers.math.numbers import MAX_DIGITS
from verifier_service.verifiers.math.tokens import Token, Unparsed
from verifier_service.verifiers.math.tree import E, EMPTY, I, NONE, OO, PI, REALS, Node, fn, num
from verifier_service.verifiers.math.units import is_unit

MAX_EXPONENT_FORM = 10_000
"""Largest exponent of `1e…` that is written out."""
_CURRENCY = {"$", "\\$", "€", "£", "¥", "₹"}
_APPLIED = {"f", "g", "h", "F", "G", "H", "O"}
_DECORATIONS = {"\\overline", "\\bar", "\\vec", "\\hat", "\\widehat", "\\tilde", "\\overrightarrow", "\\dot"}
_BIG = {"\\sum": "sum", "\\prod": "prod", "\\int": "int", "\\lim": "lim"}
_STARTERS = {
    "\\frac", "\\sqrt", "\\binom", "\\infty", "\\pi", "\\begin", "\\overline", "\\bar", "\\vec", "\\hat", "\\widehat", "\\tilde",
    "\\overrightarrow", "\\langle", "\\lfloor", "\\lceil", "\\angle", "\\triangle", *_BIG,
}  # fmt: skip
_BASE_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
               "sixteen": 16}  # fmt: skip
_INVERSES = {"sin": "asin", "cos": "acos", "tan": "atan", "cot": "acot", "sec": "asec", "csc": "acsc", "sinh": "asinh",
             "cosh": "acosh", "tanh": "atanh"}  # fmt: skip
_VARIADIC = {"max", "min", "gcd", "lcm", "binom"}


class Atoms(ABC):
    """A cursor over tokens, and everything from a power down."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.here = tokens[0]
        self.depth = 0
        self.nodes = 0
        self.bars = 0
        self.in_set = False
        self.in_matrix = False
        self.integrals = 0
        self.bound: set[str] = set()

    @abstractmethod
    def list(self) -> Node: ...

    @abstractmethod
    def relation(self) -> Node: ...

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def product(self) -> Node: ...

    # --- cursor and bounds

    def next(self) -> Token:
        token = self.here
        self.at += 1
        self.here = self.tokens[min(self.at, len(self.tokens) - 1)]
        return token

    def go(self, at: int) -> None:
        self.at = at
        self.here = self.tokens[at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooComplex(f"nested more than {MAX_DEPTH} levels deep")

    def leave(self) -> None:
        self.depth -= 1

    def count(self, node: Node) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise TooComplex(f"more than {MAX_NODES} operations")
        return node

    def take(self, text: str) -> None:
        if self.here.text != text:
            raise Unparsed(f"{ascii(text)} expected" + (f" before {ascii(self.here.text[:20])}" if self.here.kind != "end" else " at the end"))
        self.next()

    def at_close(self) -> bool:
        return self.here.kind == "end" or (self.here.kind in ("op", "cmd") and self.here.text in (")", "]", "}", "\\}", "\\rangle", "\\end", "\\\\"))

    def starts_factor(self) -> bool:
        kind, text = self.here.kind, self.here.text
        if kind == "num":
            return True
        if kind == "sym":
            return not (self.integrals and text == "d" and self.peek().kind == "sym")
        if kind == "cmd":
            return text in _STARTERS or text[1:] in names.FUNCTIONS or text[1:] in names.GREEK
        if kind == "op":
            return text in ("(", "[", "{") or (text == "|" and not self.bars) or (text == "\\|" and not self.bars)
        return False

    # --- powers and what stands behind an atom

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
            elif text in _CURRENCY and base.kind in ("num", "dec"):
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

    # --- atoms

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
        if token.text.endswith(".") or (self.here.text in ("\\overline", "\\bar", "\\dot") and "." in token.text) or (
            "." in token.text and self.here.text == "(" and not self.here.spaced and self.peek().kind == "num" and self.peek(2).text == ")"
        ):
            return self.repeating(token.text)
        if "." in token.text and self.here.text in ("\\ldots", "...") and len(token.text) > 4 and len(set(token.text[-3:])) == 1:
            self.next()
            return self.cycle(token.text[:-1], token.text[-1])
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
            return E
        if name == "i" and name not in self.bound:
            return I
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
        return (
            self.here.kind == "text"
            and self.here.text.lower() not in ("and", "or", "either", "both")
            and left.kind not in ("text", "qty", "list", "rel", "set", "tuple", "named")
        )

    def quantity(self, value: Node) -> Node:
        """A value and the unit words behind it."""
        parts: list[str] = []
        while True:
            kind, text = self.here.kind, self.here.text
            if kind == "text":
                if text.lower() in ("and", "or"):
                    break
                if text.lower() in names.HEDGES or text.lower() in names.NUMBER_WORDS:
                    raise Unparsed("words that are no unit behind a number")
                parts.append(text)
            elif text == "^" and parts and (self.peek().kind == "num" or (self.peek().text == "{" and self.peek(2).kind == "num" and self.peek(3).text == "}")):
                self.next()
                braced = self.here.text == "{"
                if braced:
                    self.next()
                parts.append("^" + self.here.text)
                if braced:
                    self.next()
            elif text in ("/", "*", "\\cdot", "\\times") and parts and (self.peek().kind == "text" or (self.peek().kind == "sym" and is_unit(self.peek().text))):
                parts.append("/" if text == "/" else "*")
                self.next()
                parts.append(self.here.text)
            elif not (text == "." and parts and kind == "op" and self.peek().kind in ("text", "end")):
                break
            self.next()
        return self.with_unit(value, parts)

    def with_unit(self, value: Node, parts: list[str]) -> Node:
        while parts and parts[0].lower() in names.SCALE_WORDS:
            value = Node("mul", (value, num(names.SCALE_WORDS[parts.pop(0).lower()])))
        if not parts:
            return value
        unit = " ".join(parts)
        if unit.lower() in ("percent", "per cent", "pct", "percentage", "percentage points"):
            return Node("pct", (value,))
        if unit.lower() in ("degrees", "degree", "deg"):
            return Node("deg", (value,))
        if len(unit) > 120:
            raise Unparsed("too many words behind a number")
        node = Node("qty", (value,), unit)
        if self.here.kind == "num" and is_unit(parts[-1]) and self.peek().kind == "text" and is_unit(self.peek().text):
            return Node("add", (node, self.quantity(self.number())))
        return node

    # --- commands

    def command(self) -> Node:
        text = self.here.text
        name = text[1:]
        if text == "\\frac":
            self.next()
            upper = self.argument()
            return self.count(Node("div", (upper, self.argument())))
        if text == "\\sqrt":
            return self.root()
        if name in names.FUNCTIONS and text != "\\binom":
            return self.function(names.FUNCTIONS[name])
        self.next()
        if text == "\\binom":
            upper = self.argument()
            return self.count(fn("binom", upper, self.argument()))
        if text == "\\pi":
            return PI
        if text == "\\infty":
            return OO
        if name in names.GREEK:
            return self.named(name)
        if text in names.SETS:
            return self.named_set(names.SETS[text])
        if text in _BIG:
            return self.big(_BIG[text])
        if text == "\\begin":
            return self.environment()
        if text in ("\\langle",):
            items = self.items_until("\\rangle")
            return Node("tuple", items, ("(", ")"))
        if text in ("\\lfloor", "\\lceil"):
            inner = self.sum()
            self.take("\\r" + name[1:])
            return self.count(fn("floor" if name == "lfloor" else "ceil", inner))
        if text in _DECORATIONS:
            return self.decorated(name)
        if text in ("\\angle", "\\triangle"):
            return self.product()
        if text == "\\ldots":
            return Node("dots")
        raise Unparsed(f"{ascii(text)} where a value should be")

    def named_set(self, name: str) -> Node:
        node = EMPTY if name == "empty" else REALS if name == "R" else Node("named", (), name)
        while self.here.text in ("^", "_"):
            self.next()
            if self.here.text == "*":
                self.next()
                mark = "*"
            else:
                mark = self.subscript_text()
            node = Node("named", (), f"{node.value}{mark}")
        return node

    def decorated(self, name: str) -> Node:
        inner = self.argument()
        if name in ("overline", "bar") and inner.kind == "sym":
            return Node("sym", (), f"bar({inner.value})")
        return inner

    def argument(self) -> Node:
        """A braced group, or one token: one digit, one letter, one command."""
        if self.here.text == "{" and self.here.kind == "op":
            return self.group()
        token = self.here
        if token.kind == "num" and len(token.text) > 1:
            self.tokens[self.at] = Token("num", token.text[1:], False)
            self.here = self.tokens[self.at]
            return num(int(token.text[0])) if token.text[0].isdigit() else self.bad_argument()
        return self.atom()

    def bad_argument(self) -> Node:
        raise Unparsed("a fraction of something that is no digit")

    def group(self) -> Node:
        """`{…}`; a brace that never closes closes at the end."""
        self.take("{")
        self.enter()
        in_set, self.in_set = self.in_set, False
        bars, self.bars = self.bars, 0
        if self.here.text == "}":
            raise Unparsed("an empty group")
        node = self.list()
        if self.here.text == "\\over":
            self.next()
            node = Node("div", (node, self.list()))
        elif self.here.text == "\\choose":
            self.next()
            node = fn("binom", node, self.list())
        if self.here.kind != "end":
            self.take("}")
        self.in_set, self.bars = in_set, bars
        self.leave()
        return self.count(node)

    def root(self) -> Node:
        self.next()
        index = num(2)
        if self.here.text == "[":
            self.next()
            index = self.sum()
            self.take("]")
        if self.here.text in ("{", "("):
            inner = self.group() if self.here.text == "{" else self.bracketed()
        else:
            inner = self.atom()
        if inner.kind in ("tuple", "list", "text", "set"):
            raise Unparsed("a root of something that is no number")
        return self.count(Node("root", (inner, index)))

    def function(self, name: str) -> Node:
        self.next()
        if name == "cbrt":
            return self.count(Node("root", (self.function_argument()[0], num(3))))
        power: Node | None = None
        base: Node | None = None
        while self.here.text in ("^", "_") and self.here.kind == "op":
            if self.next().text == "^":
                power = self.exponent()
            elif name in ("log", "ln"):
                base = self.argument()
            else:
                self.subscript_text()
        args = self.function_argument()
        if (name not in _VARIADIC and len(args) != 1) or (name == "binom" and len(args) != 2):
            raise Unparsed(f"{name} of {len(args)} arguments")
        if name == "exp":
            node = Node("pow", (E, args[0]))
        elif base is not None:
            node = fn("logb", args[0], base)
        elif name == "sqrt":
            node = Node("root", (args[0], num(2)))
        else:
            inverse = power is not None and power in (num(-1), Node("neg", (num(1),))) and name in _INVERSES
            node = fn(_INVERSES[name] if inverse else name, *args)
            power = None if inverse else power
        self.count(node)
        return node if power is None else self.count(Node("pow", (node, power)))

    def function_argument(self) -> tuple[Node, ...]:
        """A bracketed list, or the factors that follow up to the next sign, function or joiner."""
        if self.here.text in ("(", "["):
            return self.arguments()
        if self.here.text == "{":
            inner = self.group()
            return inner.args if inner.kind == "list" else (inner,)
        self.enter()
        minus = False
        while self.here.text == "-" and self.here.kind == "op":
            self.next()
            minus = not minus
        node = self.power()
        while self.starts_factor() and self.here.text[1:] not in names.FUNCTIONS and self.here.text not in ("(", "["):
            node = self.count(Node("mul", (node, self.power())))
        self.leave()
        return (Node("neg", (node,)),) if minus else (node,)

    def arguments(self) -> tuple[Node, ...]:
        close = {"(": ")", "[": "]"}[self.next().text]
        return self.items_until(close)

    def items_until(self, close: str) -> tuple[Node, ...]:
        self.enter()
        saved, self.bars, self.in_set, in_set = self.bars, 0, False, self.in_set
        inner = self.list()
        self.take(close)
        self.bars, self.in_set = saved, in_set
        self.leave()
        return inner.args if inner.kind == "list" else (inner,)

    def big(self, kind: str) -> Node:
        """Sums, products, integrals, limits, with their bounds."""
        lower, upper, variable = NONE, NONE, NONE
        bound = set(self.bound)
        while self.here.text in ("_", "^") and self.here.kind == "op":
            if self.next().text == "^":
                upper = self.argument()
            elif kind == "int":
                lower = self.argument()
            else:
                if self.here.text == "{" and self.peek().kind == "sym":
                    self.bound = self.bound | {self.peek().text}
                lower = self.argument()
        if lower.kind == "rel" and len(lower.args) == 2:
            variable, lower = lower.args
        if kind == "int":
            self.integrals += 1
            body = self.sum()
            self.integrals -= 1
            if self.here.text == "d" and self.peek().kind == "sym":
                self.next()
                variable = self.symbol()
        else:
            body = self.product()
        self.bound = bound
        return self.count(Node("big", (body, variable, lower, upper), kind))

    # --- brackets and environments

    def bracketed(self) -> Node:
        token = self.next()
        text = token.text
        if text in ("(", "["):
            return self.tuple_or_group(text)
        if text == "{":
            self.go(self.at - 1)
            return self.group()
        if text == "\\{":
            return self.braces()
        if text in ("|", "\\|") or text == "||":
            return self.bar_group(text)
        if text in _CURRENCY:
            return Node("qty", (self.power(),), text.lstrip("\\"))
        if text == "-":
            return Node("neg", (self.power(),))
        if text == "...":
            return Node("dots")
        raise Unparsed(f"{ascii(text)} where a value should be")

    def bar_group(self, text: str) -> Node:
        self.enter()
        self.bars += 1
        in_set, self.in_set = self.in_set, False
        inner = self.sum()
        self.bars -= 1
        self.in_set = in_set
        self.take(text)
        self.leave()
        return self.count(fn("abs", inner))

    def tuple_or_group(self, opening: str) -> Node:
        self.enter()
        bars, self.bars = self.bars, 0
        in_set, self.in_set = self.in_set, False
        in_matrix, self.in_matrix = self.in_matrix, False
        inner = self.list()
        if self.here.text not in (")", "]"):
            raise Unparsed("a bracket that never closes")
        closing = self.next().text
        self.bars, self.in_set, self.in_matrix = bars, in_set, in_matrix
        self.leave()
        if inner.kind == "list" and inner.value == ",":
            return self.count(Node("tuple", inner.args, (opening, closing)))
        if (opening, closing) in (("(", ")"), ("[", "]")):
            return self.count(inner)
        raise Unparsed("brackets that don't match")

    def braces(self) -> Node:
        self.enter()
        bars, self.bars = self.bars, 1  # a bar here separates, it opens nothing
        in_set, self.in_set = self.in_set, True
        if self.here.text == "\\}":
            self.next()
            self.bars, self.in_set = bars, in_set
            self.leave()
            return EMPTY
        inner = self.list()
        if self.here.text in ("|", "\\mid", ":"):
            self.next()
            self.in_set = False
            self.bars = 0
            condition = self.list()
            inner = Node("builder", (inner, condition))
        self.take("\\}")
        self.bars, self.in_set = bars, in_set
        self.leave()
        if inner.kind == "builder":
            return self.count(inner)
        return self.count(Node("set", inner.args if inner.kind == "list" else (inner,)))

    def environment(self) -> Node:
        name = self.environment_name()
        if name == "array":
            self.group_skip()
        self.enter()
        in_matrix, self.in_matrix = self.in_matrix, True
        rows: list[list[Node]] = [[]]
        cells = 0
        while self.here.text != "\\end":
            if self.here.kind == "end":
                raise Unparsed("an environment that never ends")
            if self.here.text in ("&", ";") and self.here.kind == "op":
                self.next()
                continue
            if self.here.text == "\\\\":
                self.next()
                rows.append([])
                continue
            cells += 1
            if cells > MAX_MATRIX_CELLS:
                raise TooComplex(f"a matrix of more than {MAX_MATRIX_CELLS} cells")
            rows[-1].append(self.cell())
        self.next()
        self.environment_name(begun=True)
        self.in_matrix = in_matrix
        self.leave()
        return self.built(name, [row for row in rows if row])

    def cell(self) -> Node:
        while self.here.kind == "text" and self.here.text.lower() in ("if", "for", "when", "otherwise"):
            word = self.next().text.lower()
            if word == "otherwise":
                return Node("text", (), "otherwise")
        node = self.relation()
        while self.here.text in (",", ".") and self.here.kind == "op":
            self.next()
        return node

    def built(self, name: str, rows: list[list[Node]]) -> Node:
        cells = tuple(cell for row in rows for cell in row)
        if not cells:
            raise Unparsed("an empty environment")
        if name in ("cases", "dcases", "rcases"):
            return Node("cases", cells)
        if name in ("aligned", "align", "gathered", "split", "gather", "eqnarray"):
            return cells[0] if len(cells) == 1 else Node("list", cells, "and")
        if len({len(row) for row in rows}) != 1:
            raise Unparsed("matrix rows of different lengths")
        matrix = Node("matrix", cells, (len(rows), len(rows[0])))
        return fn("det", matrix) if name == "vmatrix" else matrix

    def environment_name(self, begun: bool = False) -> str:
        self.take("{")
        parts = []
        while self.here.text != "}":
            if self.here.kind == "end":
                raise Unparsed("an environment without a name")
            parts.append(self.next().text)
        self.next()
        return "".join(parts).lstrip("\\").strip("*")

    def group_skip(self) -> None:
        if self.here.text == "{":
            while self.next().text != "}":
                if self.here.kind == "end":
                    raise Unparsed("an array without its columns")
