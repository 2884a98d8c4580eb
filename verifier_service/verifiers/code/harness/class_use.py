"""Which names a test uses as classes: it does with what calling them gives as one does with objects, not with answers.

A test that only compares `Name(...)` with plain data may mean a function just as well, whose answer must not be an object
that decides by itself what it equals.
"""

from __future__ import annotations

import ast


def classes_in_use(tree: ast.Module) -> frozenset[str]:
    """Names that the test uses as classes.

    That is: an attribute of the name, of a call of it, or of a variable that holds such a call, and an item that is set in
    such a variable; `isinstance`, `raises` and `except` with it; an operator between two calls of it, or what was made of
    such calls; `with`, `return` and `yield` of a call of it.
    """
    used: set[str] = set()
    held: dict[str, set[str]] = {}  # variable: names of what was called for it
    looked_into: set[str] = set()  # variables of which an attribute is used
    aliases = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.asname
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                held.setdefault(ast.unparse(target), set()).update(_called(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            used.update(_named(node.value) | _called(node.value))
            looked_into.add(ast.unparse(node.value))
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            looked_into.add(ast.unparse(node.value))  # an item is set: that is no way to look at an answer
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
            used.update(set.intersection(*(_made_of(side, held) for side in sides)))
        elif isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
            used.update(_called(node.value))
        elif isinstance(node, ast.withitem):
            used.update(_called(node.context_expr))
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            used.update(_named(node.type))
        elif isinstance(node, ast.Call) and _named(node.func) & TYPE_TAKERS:
            used.update(name for argument in node.args for name in _named(argument))
    for variable in looked_into & held.keys():
        used.update(held[variable])
    return frozenset(used | {aliases[name] for name in used if name in aliases})


TYPE_TAKERS = frozenset({"isinstance", "issubclass", "raises", "assertRaises", "assertIsInstance", "assertNotIsInstance"})


def _named(node: ast.expr) -> set[str]:
    """The name, or the last part of a dotted one; those of a tuple."""
    if isinstance(node, ast.Tuple):
        return {name for part in node.elts for name in _named(part)}
    return {node.id} if isinstance(node, ast.Name) else {node.attr} if isinstance(node, ast.Attribute) else set()


def _made_of(node: ast.expr, held: dict[str, set[str]]) -> set[str]:
    """What was called for an operand: by itself, for its variable, or for an operand of its own."""
    if isinstance(node, ast.BinOp):
        return _made_of(node.left, held) | _made_of(node.right, held)
    if isinstance(node, ast.UnaryOp):
        return _made_of(node.operand, held)
    return held.get(ast.unparse(node), set()) if isinstance(node, (ast.Name, ast.Attribute)) else _called(node)


def _called(node: ast.expr) -> set[str]:
    """What a call calls."""
    return _named(node.func) if isinstance(node, ast.Call) else set()


MARK, DROP = "__mark__", "__drop__"


class Dropping(ast.NodeTransformer):
    """Tells of each method call whose result the test drops: `x.m()` becomes `__drop__(__mark__(), x.m())`.

    A method may return its own object so that calls can be chained; dropped, that is no answer.
    """

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            mark = ast.Call(ast.Name(MARK, ast.Load()), [], [])
            node.value = ast.Call(ast.Name(DROP, ast.Load()), [mark, node.value], [])
            ast.fix_missing_locations(ast.copy_location(node.value, node))
        return node
