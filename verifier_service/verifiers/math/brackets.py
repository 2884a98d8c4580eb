"""Brackets of every kind, and environments: tuples, sets, absolute values, groups, matrices, cases."""

from __future__ import annotations

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.cursor import Cursor
from verifier_service.verifiers.math.limits import MAX_MATRIX_CELLS, TooComplex
from verifier_service.verifiers.math.tokens import Token, Unparsed
from verifier_service.verifiers.math.tree import EMPTY, Node, fn, num

_ALIGNED = ("aligned", "align", "gathered", "split", "gather", "eqnarray")
_LINES = (*_ALIGNED, "cases", "dcases", "rcases")
CURRENCY = {"$", "\\$", "€", "£", "¥", "₹"}


class Brackets(Cursor):
    """What opens and closes."""

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
        integrals, self.integrals = self.integrals, 0
        if self.here.text == "}":
            raise Unparsed("an empty group")
        node = self.listing()
        if self.here.text == "\\over":
            self.next()
            node = Node("div", (node, self.listing()))
        elif self.here.text == "\\choose":
            self.next()
            node = fn("binom", node, self.listing())
        if self.here.kind != "end":
            self.take("}")
        self.in_set, self.bars, self.integrals = in_set, bars, integrals
        self.leave()
        return self.count(node)

    def arguments(self) -> tuple[Node, ...]:
        close = {"(": ")", "[": "]"}[self.next().text]
        return self.items_until(close)

    def items_until(self, close: str) -> tuple[Node, ...]:
        self.enter()
        saved, self.bars, self.in_set, in_set = self.bars, 0, False, self.in_set
        inner = self.listing()
        self.take(close)
        self.bars, self.in_set = saved, in_set
        self.leave()
        return inner.args if inner.kind == "list" else (inner,)

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
        if text in CURRENCY:
            return Node("qty", (self.power(),), text.lstrip("\\"))
        if text == "-":
            return Node("neg", (self.power(),))
        if text == "...":
            return Node("dots")
        raise Unparsed(f"{text!a} where a value should be")

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
        integrals, self.integrals = self.integrals, 0
        inner = self.listing()
        if self.here.text not in (")", "]"):
            raise Unparsed("a bracket that never closes")
        closing = self.next().text
        self.bars, self.in_set, self.in_matrix, self.integrals = bars, in_set, in_matrix, integrals
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
        inner = self.listing()
        if self.here.text in ("|", "\\mid", ":"):
            self.next()
            self.in_set = False
            self.bars = 0
            condition = self.listing()
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
        if name in _LINES:
            self.drop_alignment()
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
        self.environment_name()
        self.in_matrix = in_matrix
        self.leave()
        return self.built(name, [row for row in rows if row])

    def drop_alignment(self) -> None:
        """Takes out the `&` beside a relation sign in the lines of this environment, as in `x &= 1`."""
        kept, level, at = self.tokens[: self.at], 1, self.at
        while at < len(self.tokens) and level:
            token = self.tokens[at]
            level += (token.text == "\\begin") - (token.text == "\\end")
            beside = (
                self.tokens[at - 1].text in names.RELATIONS
                or self.tokens[min(at + 1, len(self.tokens) - 1)].text in names.RELATIONS
            )
            if not (level == 1 and token.text == "&" and beside):
                kept.append(token)
            at += 1
        self.tokens = kept + self.tokens[at:]
        self.here = self.tokens[self.at]

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
            if all(len(row) == 1 and row[0].kind == "rel" for row in rows):
                return Node("list", cells, "and")  # a system
            return Node("cases", cells)
        if name in _ALIGNED:
            return cells[0] if len(cells) == 1 else Node("list", cells, "and")
        if len({len(row) for row in rows}) != 1:
            raise Unparsed("matrix rows of different lengths")
        matrix = Node("matrix", cells, (len(rows), len(rows[0])))
        return fn("det" if name == "vmatrix" else "norm", matrix) if name in ("vmatrix", "Vmatrix") else matrix

    def environment_name(self) -> str:
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
