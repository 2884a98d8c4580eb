"""A cursor over tokens with the bounds on depth and size; the levels of the grammar are built on it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.limits import MAX_DEPTH, MAX_NODES, TooComplex
from verifier_service.verifiers.math.tokens import Token, Unparsed
from verifier_service.verifiers.math.tree import Node

BIG = {"\\sum": "sum", "\\prod": "prod", "\\int": "int", "\\lim": "lim"}
_STARTERS = {
    "\\frac", "\\sqrt", "\\binom", "\\infty", "\\pi", "\\begin", "\\overline", "\\bar", "\\vec", "\\hat", "\\widehat", "\\tilde",
    "\\overrightarrow", "\\langle", "\\lfloor", "\\lceil", "\\angle", "\\triangle", *BIG,
}  # fmt: skip
_CLOSERS = (")", "]", "}", "\\}", "\\rangle", "\\end", "\\\\")


class Cursor(ABC):
    """Where the parser stands, how deep, and in what surroundings."""

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
    def listing(self) -> Node: ...

    @abstractmethod
    def relation(self) -> Node: ...

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def product(self) -> Node: ...

    @abstractmethod
    def power(self) -> Node: ...

    @abstractmethod
    def atom(self) -> Node: ...

    @abstractmethod
    def exponent(self) -> Node: ...

    @abstractmethod
    def symbol(self) -> Node: ...

    @abstractmethod
    def named(self, name: str) -> Node: ...

    @abstractmethod
    def subscript_text(self) -> str: ...

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
            raise Unparsed(
                f"{text!a} expected" + (f" before {self.here.text[:20]!a}" if self.here.kind != "end" else " at the end")
            )
        self.next()

    def at_close(self) -> bool:
        return self.here.kind == "end" or (self.here.kind in ("op", "cmd") and self.here.text in _CLOSERS)

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
