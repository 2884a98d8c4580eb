"""LaTeX commands and named functions: fractions, roots, function calls, sums and integrals, decorations."""

from __future__ import annotations

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.brackets import Brackets
from verifier_service.verifiers.math.cursor import BIG
from verifier_service.verifiers.math.tokens import Unparsed
from verifier_service.verifiers.math.tree import EMPTY, EULER, IMAGINARY, NONE, ONE, OO, PI, REALS, Node, fn, num, walk

_DECORATIONS = {"\\overline", "\\bar", "\\vec", "\\hat", "\\widehat", "\\tilde", "\\overrightarrow", "\\dot"}
_INVERSES = {"sin": "asin", "cos": "acos", "tan": "atan", "cot": "acot", "sec": "asec", "csc": "acsc", "sinh": "asinh",
             "cosh": "acosh", "tanh": "atanh"}  # fmt: skip
_D = Node("sym", (), "d")
_COLLECTIONS = {"set", "tuple", "union", "inter", "minus", "named", "builder", "rel", "matrix"}
_VARIADIC = {"max", "min", "gcd", "lcm", "binom"}


def _with_differential_taken(body: Node) -> tuple[Node, Node]:
    """`dx/x` and `(x dx)` under an integral as 1/x and x, with the variable; the body itself where no dx ends its numerator."""
    if body.kind == "div":
        upper, variable = _with_differential_taken(body.args[0])
        return Node("div", (upper, body.args[1])), variable
    if body.kind == "mul" and body.args[1].kind == "sym":
        left, variable = body.args
        if left == _D:
            return ONE, variable
        if left.kind == "mul" and left.args[1] == _D:
            return left.args[0], variable
    return body, NONE


class Commands(Brackets):
    """What a name calls for."""

    def command(self) -> Node:
        text = self.here.text
        name = text[1:]
        if text == "\\frac":
            self.next()
            upper, lower = self.argument(), self.argument()
            if upper == _D and lower.kind == "mul" and lower.args[0] == _D and lower.args[1].kind == "sym":
                return self.count(fn("derivative", lower.args[1]))  # not worked out: equals nothing but itself
            return self.count(Node("div", (upper, lower)))
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
        if text in BIG:
            return self.big(BIG[text])
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
            return self.corners(text)
        if text == "\\ldots":
            return Node("dots")
        raise Unparsed(f"{text!a} where a value should be")

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

    def corners(self, sign: str) -> Node:
        """An angle is called by its corners: ABC is CBA, but not ACB. A triangle's may stand in any order."""
        names_of = [self.peek(i).text for i in (0, 1, 2) if self.peek(i).kind == "sym" and self.peek(i).text.isupper()]
        if sign == "\\triangle" or len(names_of) < 3 or self.peek(3).kind == "sym":
            return self.product()
        self.go(self.at + 3)
        word = "".join(names_of)
        return Node("sym", (), f"∠{min(word, word[::-1])}")

    def decorated(self, name: str) -> Node:
        inner = self.argument()
        if name in ("overline", "bar") and inner.kind in _COLLECTIONS:
            raise Unparsed("a bar over something that is no number")
        if name in ("overline", "bar") and inner.kind == "sym":
            return self.named(f"bar({inner.value})")
        if name in ("overline", "bar") and IMAGINARY in walk(inner):
            return fn("conj", inner)
        if name not in ("overline", "bar", "dot") and inner.kind in ("num", "dec"):
            raise Unparsed("a hat or an arrow on a number")
        return inner

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
        if name in _VARIADIC and len(args) == 1 and args[0].kind == "set":  # max{3, 5}
            args = args[0].args
        if (name not in _VARIADIC and len(args) != 1) or (name == "binom" and len(args) != 2):
            raise Unparsed(f"{name} of {len(args)} arguments")
        if name == "exp":
            node = Node("pow", (EULER, args[0]))
        elif name == "cis":
            node = Node("add", (fn("cos", args[0]), Node("mul", (IMAGINARY, fn("sin", args[0])))))
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
                body, variable = _with_differential_taken(body)
        else:
            body = self.product()
        self.bound = bound
        return self.count(Node("big", (body, variable, lower, upper), kind))
