"""Tokens to a tree: recursive descent by precedence, over LaTeX, ASCII and Unicode maths alike.

From loose to tight: `or`/`and`/comma, relations, union and difference, ratio, sum, product, prefix sign, power. Depth and
node count are bounded. What the grammar doesn't know is `Unparsed`; nothing is ever skipped to make the rest fit.
"""

from __future__ import annotations

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.atoms import Atoms, is_money
from verifier_service.verifiers.math.limits import MAX_CHAIN, MAX_ITEMS, TooComplex
from verifier_service.verifiers.math.tokens import Unparsed, tokenize
from verifier_service.verifiers.math.tree import Node, fn, negate, num

_SET_OPERATORS = {"\\cup": "union", "\\cap": "inter", "\\setminus": "minus"}
_TIMES = {"*", "\\cdot", "\\times"}
_PLUS_MINUS = {"\\pm": "+-", "\\mp": "-+", "+-": "+-", "+/-": "+-", "-+": "-+"}
_JOINERS = {
    ",": ",",
    ";": ";",
    "and": "and",
    "or": "or",
    "\\lor": "or",
    "\\land": "and",
    "\\or": "or",
    "&": "and",
    "\\and": "and",
    "\\\\": ",",
}


def parse(text: str) -> Node:
    """The tree of a whole text. Raises Unparsed or TooComplex."""
    parser = Parser(tokenize(text))
    node = parser.listing()
    if parser.here.text == "\\over":
        parser.next()
        node = Node("div", (node, parser.listing()))
    parser.finish()
    return node


def _as_set(node: Node) -> Node:
    """Beside a sign for sets, `{1,2}` in plain braces is one."""
    return Node("set", node.args) if node.kind == "list" and node.value == "," else node


class Parser(Atoms):
    """The levels above atoms."""

    def finish(self) -> None:
        while self.here.text in (".", ";", ",") and self.here.kind == "op" and self.peek().text != ".":
            self.next()
        if self.here.kind != "end":
            raise Unparsed(f"it can't be read from {self.here.text[:20]!a} on")

    def listing(self) -> Node:
        """Items joined by commas, `and`, `or`."""
        self.enter()
        items, joiners, breaks = [self.relation()], set(), [0]
        while (joiner := self.joiner()) is not None:
            joiners.add(joiner)
            if joiner == ";":
                breaks.append(len(items))
            if len(items) >= MAX_ITEMS:
                raise TooComplex(f"more than {MAX_ITEMS} items")
            if self.at_close():
                break
            items.append(self.relation())
        self.leave()
        if len(items) == 1:
            return items[0]
        if {",", ";"} <= joiners:  # p=5, q=2; p=7, q=2
            groups = [items[a:b] for a, b in zip(breaks, [*breaks[1:], len(items)], strict=True)]
            return Node("list", tuple(g[0] if len(g) == 1 else Node("list", tuple(g), ",") for g in groups if g), ",")
        return Node("list", tuple(items), "or" if "or" in joiners else "and" if "and" in joiners else ",")

    def joiner(self) -> str | None:
        """Takes the joiner at the cursor, `, and` as one."""
        found = None
        while True:
            word = self.here.text.lower() if self.here.kind == "text" else self.here.text
            if word in ("either", "both") and found is not None:
                self.next()
                continue
            kind = _JOINERS.get(word) if self.here.kind in ("op", "cmd", "text") else None
            if kind is None or (word in ("&", "\\\\") and self.in_matrix) or (found and word in (",", ";")):
                return found
            found = kind if found in (None, ",") else found
            self.next()

    def relation(self) -> Node:
        first = self.sets()
        operators, chain = [], [first]
        while True:
            op = names.RELATIONS.get(self.here.text) if self.here.kind in ("op", "cmd") else None
            if op is None or (self.here.text in ("\\mid",) and self.in_set):
                break
            self.next()
            if self.here.text == "=" and op in ("<", ">"):
                self.next()
                op += "="
            operators.append(op)
            chain.append(self.sets())
        if not operators:
            return first
        if operators[-1] in ("in", "notin"):
            chain[-1] = _as_set(chain[-1])
        node = Node("rel", tuple(chain), tuple(operators))
        return self.modulo(node) if operators == ["=="] else node

    def modulo(self, node: Node) -> Node:
        if self.here.text in ("\\pmod", "\\mod", "\\pod", "\\bmod"):
            self.next()
            return Node("rel", (node.args[0], Node("mod", (node.args[1], self.modulus()))), node.value)
        return node

    def modulus(self) -> Node:
        """A number is taken whole: `\\mod 12` is never (mod 1) 2."""
        return self.power() if self.here.kind == "num" else self.argument()

    def sets(self) -> Node:
        left = self.ratio()
        while self.here.kind in ("op", "cmd"):
            kind = _SET_OPERATORS.get(self.here.text)
            if kind is None and self.here.text == "-" and left.kind == "named":
                kind = "minus"
            if kind is None and self.here.kind == "cmd" and self.here.text in ("\\pmod", "\\mod", "\\pod"):
                self.next()
                left = Node("mod", (left, self.modulus()))
                continue
            if kind is None:
                break
            self.next()
            left = self.count(Node(kind, (_as_set(left), _as_set(self.ratio()))))
        return left

    def ratio(self) -> Node:
        items = [self.sum()]
        while self.here.text == ":" and not self.in_set:
            self.next()
            items.append(self.sum())
        return items[0] if len(items) == 1 else Node("ratio", tuple(items))

    def sum(self) -> Node:
        self.enter()
        terms = [self.product()]
        while self.here.kind in ("op", "cmd"):
            sign = self.here.text
            if sign == "+":
                self.next()
                terms.append(self.product())
            elif sign == "-" and terms[-1].kind != "named":
                self.next()
                terms.append(negate(self.product()))
            elif sign in _PLUS_MINUS:
                self.next()
                left = terms[0] if len(terms) == 1 else Node("add", tuple(terms))
                terms = [self.count(Node("pm", (left, self.product()), _PLUS_MINUS[sign]))]
            else:
                break
            self.count(terms[-1])
        self.leave()
        return terms[0] if len(terms) == 1 else Node("add", tuple(terms))

    def product(self) -> Node:
        left = self.prefixed()
        chain = 0
        while True:
            chain += 1
            if chain > MAX_CHAIN:
                raise TooComplex(f"more than {MAX_CHAIN} factors in one product")
            text = self.here.text
            if self.here.kind in ("op", "cmd") and text in _TIMES:
                self.next()
                left = self.count(Node("mul", (left, self.prefixed())))
            elif text == "/" and is_money(left) and self.peek().kind == "text":
                left = self.quantity(left)
            elif self.here.kind in ("op", "cmd") and text in ("/", "\\div"):
                self.next()
                left = self.count(Node("div", (left, self.prefixed())))
            elif text in ("\\bmod", "\\mod") and self.here.kind == "cmd":
                break
            elif self.at_unit(left):
                left = self.quantity(left)
            elif self.starts_factor():
                left = self.count(self.beside(left))
            else:
                return left
        return left

    def beside(self, left: Node) -> Node:
        """Two things side by side: a mixed number, a product, or nonsense."""
        token, previous = self.here, self.tokens[self.at - 1]
        if previous.kind == "num" and token.kind == "num":
            if left.kind != "num" or not token.spaced or left.value.denominator != 1 or "." in previous.text:
                raise Unparsed("two numbers side by side")
            return self.mixed(left)
        fraction = token.text == "\\frac" or (token.text == "{" and self.peek(2).text == "\\over")
        right = self.power()
        if left.kind == "num" and left.value.denominator == 1 and previous.kind == "num" and fraction:
            inner = right.args[0] if right.kind in ("pct", "deg") else right
            if inner.kind == "div" and all(a.kind == "num" and a.value.denominator == 1 for a in inner.args):
                whole = self.with_fraction(left, inner.args[0], inner.args[1])
                return whole if inner is right else Node(right.kind, (whole,), right.value)
        if right.kind == "text" or left.kind in ("text", "qty", "pct", "list", "rel", "base", "set", "named"):
            raise Unparsed("words or sets inside a formula")
        if (
            right.kind in ("num", "dec")
            and left.kind in ("num", "dec")
            and token.text not in ("(", "[")
            and previous.text not in (")", "]")
        ):
            raise Unparsed("two numbers side by side")
        if left.kind == "sym" and right.kind == "tuple" and right.value == ("(", ")"):
            binomial = left.value == "C" and len(right.args) == 2
            return fn("binom", *right.args) if binomial else Node("apply", right.args, left.value)
        return Node("mul", (left, right))

    def mixed(self, whole: Node) -> Node:
        """`1 1/2`; the fraction must be proper."""
        upper = self.number()
        if self.here.text != "/" or upper.kind != "num":
            raise Unparsed("two numbers side by side")
        self.next()
        if self.here.kind != "num":
            raise Unparsed("two numbers side by side")
        node = self.with_fraction(whole, upper, self.number())
        if self.here.text == "%" and self.peek().kind not in ("num", "sym"):
            self.next()
            return Node("pct", (node,))
        return node

    def with_fraction(self, whole: Node, upper: Node, lower: Node) -> Node:
        if lower.kind != "num" or lower.value == 0 or not 0 < upper.value / lower.value < 1:
            raise Unparsed("a whole number beside an improper fraction")
        return num(whole.value + upper.value / lower.value)

    def prefixed(self) -> Node:
        """Signs before a factor, however many, in a loop."""
        minus, sign = False, None
        while self.here.kind in ("op", "cmd"):
            text = self.here.text
            if text == "-":
                minus = not minus
            elif text in _PLUS_MINUS:
                sign = _PLUS_MINUS[text]
            elif text in ("~", "\\approx", "\\sim") and not self.at:
                pass
            elif text != "+":
                break
            self.next()
        node = self.power()
        while self.joins_tightly():
            node = self.beside(node)
        if minus:
            node = negate(node)
        return node if sign is None else self.count(Node("pm", (node,), sign))

    def joins_tightly(self) -> bool:
        """A mixed number's fraction belongs to its whole before the sign does: -1 1/2 is -(1 1/2)."""
        if self.tokens[self.at - 1].kind != "num":
            return False
        return (self.here.kind == "num" and self.here.spaced) or self.here.text == "\\frac"
