"""The tree that the grammar makes and everything after it reads. It is data only: nothing in it can be run.

Kinds, with `args` and `value`:
    num      value: Fraction                    dec      value: the digits as written, such as "0.3333"
    sym      value: name                        const    value: pi, e, i, oo
    add mul  two args or more                   neg      one arg            div pow   two args
    root     radicand, index                    pm       one arg or two; value "+-" or "-+"
    fn       value: a known function            apply    value: an unknown function's name
    big      value: sum prod int lim; args: body, variable, lower, upper (absent ones are `none`)
    pct deg  one arg                            qty      one arg; value: unit words
    base     value: (digits, base)              ratio    two args or more
    list     args; value "," or "and" or "or"   set      args
    tuple    args; value: (opening, closing)    rel      a chain; value: tuple of operators
    union inter minus  two args                 named    value: R Z Q N C or empty
    builder  element, condition                 matrix   args row by row; value (rows, columns)
    cases    value, condition, value, …         text     value: words
    mod      two args: value, modulus           dots     none
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple


class Node(NamedTuple):
    """One node; equal nodes are equal trees."""

    kind: str
    args: tuple[Node, ...] = ()
    value: Any = None


def num(value: int | Fraction) -> Node:
    return Node("num", (), Fraction(value))


def sym(name: str) -> Node:
    return Node("sym", (), name)


def fn(name: str, *args: Node) -> Node:
    return Node("fn", args, name)


ZERO, ONE, TWO, TEN = num(0), num(1), num(2), num(10)
NONE = Node("none")
PI, EULER, IMAGINARY, OO = (Node("const", (), name) for name in ("pi", "e", "i", "oo"))
REALS = Node("named", (), "R")
EMPTY = Node("named", (), "empty")


def walk(node: Node) -> list[Node]:
    """Every node, the root first. Iterative: depth costs nothing."""
    seen, todo = [], [node]
    while todo:
        here = todo.pop()
        seen.append(here)
        todo.extend(here.args)
    return seen


def symbols(node: Node) -> set[str]:
    """Names of the symbols in a tree, unknown functions and bound variables included."""
    return {n.value for n in walk(node) if n.kind in ("sym", "apply")}


def has(node: Node, *kinds: str) -> bool:
    return any(n.kind in kinds for n in walk(node))


def negate(node: Node) -> Node:
    if node.kind == "neg":
        return node.args[0]
    return num(-node.value) if node.kind == "num" else Node("neg", (node,))


def replace(node: Node, old: Node, new: Node) -> Node:
    """The tree with each `old` made `new`."""
    if node == old:
        return new
    if not node.args:
        return node
    args = tuple(replace(arg, old, new) for arg in node.args)
    return node if args == node.args else Node(node.kind, args, node.value)
