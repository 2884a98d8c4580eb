"""Reading test code without running it: what it binds, which of its statements verify something, whether it is valid."""

from __future__ import annotations
import __future__

import ast
import sys
from typing import TypeGuard


class BadTask(Exception):
    """The test code itself can't be run; the message says why and quotes nothing of it."""


class Stop(Exception):
    """A test failed and the rest is not wanted."""


def parsed(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise BadTask(f"the test code is no valid Python: {type(error).__name__}{where}") from None


def future_flags(tree: ast.Module) -> int:
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            flags |= sum(
                getattr(__future__, alias.name).compiler_flag for alias in statement.names if hasattr(__future__, alias.name)
            )
    return flags


def bound_names(tree: ast.Module) -> frozenset[str]:
    """Names that the module's own top level binds, also inside its blocks, but not inside functions and classes."""
    found: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        todo.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def asserts(statement: ast.stmt, tree: ast.Module) -> bool:
    """Whether a top-level statement verifies something when it runs."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or is_main_guard(statement):
        return False
    return verifies(statement, {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}, set())


def verifies(root: ast.AST, functions: dict[str, ast.FunctionDef], seen: set[str]) -> bool:
    for node in ast.walk(root):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        if isinstance(node, ast.Call):
            name = (
                node.func.id
                if isinstance(node.func, ast.Name)
                else node.func.attr
                if isinstance(node.func, ast.Attribute)
                else ""
            )
            if name.startswith(("assert", "raises", "fail")) or name == "exit":
                return True
            if name in functions and isinstance(node.func, ast.Name) and name not in seen:
                seen.add(name)
                if verifies(functions[name], functions, seen):
                    return True
    return False


CHANGING_METHODS = frozenset(
    "append appendleft extend insert add update pop popleft popitem remove discard clear sort reverse setdefault".split()
)


def changes_attributes(tree: ast.Module) -> bool:
    """Whether the test calls `x.items.append(…)`, sets `x.items[…]` or the like: changes what it finds in an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING_METHODS:
            if _in_attribute(node.func.value):
                return True
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and _in_attribute(node.value):
            return True
    return False


def _in_attribute(node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)


def is_main_guard(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Whether this is `if __name__ == ...:`."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.left, ast.Name)
        and statement.test.left.id == "__name__"
    )


def with_main_guard(tree: ast.Module) -> list[ast.stmt]:
    """The module's statements; those of `if __name__ == "__main__":` too where nothing else verifies anything."""
    body = tree.body
    if any(asserts(statement, tree) or _defines_tests(statement) for statement in body):
        return body
    return [part for statement in body for part in (statement.body if is_main_guard(statement) else [statement])]


def _defines_tests(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ClassDef) or (
        isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        and statement.name.startswith(("test", "check", "run_test"))
    )


def patched_library(tree: ast.Module) -> str:
    """A name of the standard library that the test replaces by `patch` or `monkeypatch`; '' if none that matters.

    What the judge can pass on (printing and reading, and names of the submission itself) doesn't count.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        target = node.args[0].value
        if name in ("patch", "setattr") and isinstance(target, str) and target not in MIRRORED:
            if target.partition(".")[0] in sys.stdlib_module_names | {"numpy"}:
                return target
    return ""


MIRRORED = frozenset({"builtins.print", "builtins.input", "sys.stdout", "sys.stdin", "sys.stderr"})
