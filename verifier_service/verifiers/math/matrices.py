"""Arithmetic of matrices inside an answer: sums, scalar multiples, products and small powers, worked out cell by cell."""

from __future__ import annotations

from verifier_service.verifiers.math.exact import rational
from verifier_service.verifiers.math.limits import MAX_MATRIX_CELLS, TooComplex, Undefined
from verifier_service.verifiers.math.tree import Node, fn, has, negate

MAX_POWER = 64
MAX_CELL_PRODUCTS = 4000


def folded(node: Node) -> Node:
    """The tree with arithmetic on matrices done; trees without matrices come back as they are."""
    if not has(node, "matrix") or node.kind == "matrix":
        return node
    args = tuple(folded(a) for a in node.args)
    matrices = [a for a in args if a.kind == "matrix"]
    if not matrices:
        return node if args == node.args else Node(node.kind, args, node.value)
    if node.kind == "add":
        return _sum(args)
    if node.kind == "neg":
        return Node("matrix", tuple(negate(c) for c in args[0].args), args[0].value)
    if node.kind == "mul":
        total = args[0]
        for arg in args[1:]:
            total = _product(total, arg)
        return total
    if node.kind == "div" and args[1].kind != "matrix":
        return Node("matrix", tuple(Node("div", (c, args[1])) for c in args[0].args), args[0].value)
    if node.kind == "pow" and args[0].kind == "matrix":
        return _power(args[0], args[1])
    if node.kind == "fn" and node.value == "det":
        return _determinant(args[0])
    return Node(node.kind, args, node.value)


def _sum(args: tuple[Node, ...]) -> Node:
    shape = args[0].value
    if any(a.kind != "matrix" or a.value != shape for a in args):
        raise Undefined("a sum of matrices of different shapes")
    return Node("matrix", tuple(Node("add", cells) for cells in zip(*(a.args for a in args), strict=True)), shape)


def _product(left: Node, right: Node) -> Node:
    if left.kind != "matrix" and right.kind != "matrix":
        return Node("mul", (left, right))
    if left.kind != "matrix" or right.kind != "matrix":
        matrix, scalar = (left, right) if left.kind == "matrix" else (right, left)
        return Node("matrix", tuple(Node("mul", (scalar, c)) for c in matrix.args), matrix.value)
    (rows, inner), (height, columns) = left.value, right.value
    if inner != height:
        raise Undefined("a product of matrices whose shapes don't fit")
    if rows * inner * columns > MAX_CELL_PRODUCTS:
        raise TooComplex("a product of matrices of too many cells")
    cells = []
    for r in range(rows):
        for c in range(columns):
            terms = tuple(_cell(left.args[r * inner + k], right.args[k * columns + c]) for k in range(inner))
            cells.append(terms[0] if inner == 1 else _reduced(Node("add", terms)))
    return Node("matrix", tuple(cells), (rows, columns))


def _cell(a: Node, b: Node) -> Node:
    return _reduced(Node("mul", (a, b)))


def _reduced(node: Node) -> Node:
    value = rational(node)
    return node if value is None else Node("num", (), value)


def _power(matrix: Node, exponent: Node) -> Node:
    n = rational(exponent)
    if n is None or n.denominator != 1 or not 1 <= n <= MAX_POWER or not all(rational(c) is not None for c in matrix.args):
        return Node("pow", (matrix, exponent))
    total = matrix
    for _ in range(int(n) - 1):
        total = _product(total, matrix)
    return total


def _determinant(matrix: Node) -> Node:
    """Laplace expansion, for what people write out: up to four rows."""
    rows, columns = matrix.value
    if rows != columns or rows > 4 or len(matrix.args) > MAX_MATRIX_CELLS:
        return fn("det", matrix)
    if rows == 1:
        return matrix.args[0]
    terms = []
    for c in range(columns):
        minor = tuple(matrix.args[r * columns + k] for r in range(1, rows) for k in range(columns) if k != c)
        term = Node("mul", (matrix.args[c], _determinant(Node("matrix", minor, (rows - 1, rows - 1)))))
        terms.append(negate(term) if c % 2 else term)
    return Node("add", tuple(terms))
