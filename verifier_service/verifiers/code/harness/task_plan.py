"""What a test's text says before any of it runs: its statements as code, which of them are tests, whose the names are.

It follows from the text and the interpreter alone, and is made before the judge has had anything to do with the submission.
So the judges of a task's other submissions can be handed what the first one made.
"""

from __future__ import annotations

import ast
import base64
import builtins
import importlib
import marshal
import re
import sys
import typing
from types import CodeType
from typing import Any, NamedTuple

from verifier_service.verifiers.code.harness.class_use import Dropping, classes_in_use
from verifier_service.verifiers.code.harness.task_code import (
    BadTask,
    asserts,
    bound_names,
    changes_attributes,
    future_flags,
    parsed,
    patched_library,
    with_main_guard,
)

PRESET_MODULES = frozenset(
    "math random re string time collections itertools functools operator heapq bisect copy json datetime decimal fractions "
    "statistics numpy typing unittest pytest".split()
)
PRESET_FROM = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "copy": ("deepcopy",),
    "math": ("inf", "isclose", "nan", "pi"),
}
CHECKERS = ("check", "check_solution", "check_candidate", "run_tests", "test", "run_test")
CANDIDATES = ("candidate", "solution", "func", "f")
CAPITALS = re.compile(r"\b[A-Z]\w*")
NO_CLASSES = frozenset({"METADATA", "True", "False", "None"})
INTERPRETER = f"{sys.hexversion:x} "
MOST_PACKED = 1 << 18


class TaskPlan(NamedTuple):
    """The result; `statements` are those of the module in order, `units` the positions of those that verify something.

    `ours`: names that are the submission's even where something built-in has them too. `static`: test functions and
    methods, parameters not counted. `drops`: the statements tell of method calls whose result is dropped.
    """

    statements: tuple[CodeType, ...]
    units: tuple[int, ...]
    static: int
    checker: tuple[str, str] | None
    bound: frozenset[str]
    ours: frozenset[str]
    classes_in_use: frozenset[str]
    reaches: str
    drops: bool
    has_classes: bool  # the test defines some
    changes_attributes: bool  # it changes containers that it finds in attributes of objects

    @property
    def total(self) -> int:
        return len(self.units) + self.static + (self.checker is not None)


def planned(code: str, entry_point: str | None, *, tells_of_drops: bool) -> TaskPlan:
    """Raises BadTask."""
    tree = parsed(code)
    bound = bound_names(tree)
    ours = _names_under_test(tree, bound, entry_point)
    reaches = patched_library(tree) if "patch" in code or "setattr" in code else ""
    tree.body = with_main_guard(tree)
    units = tuple(index for index, statement in enumerate(tree.body) if asserts(statement, tree))
    checker = _checker(tree, entry_point)
    static = _static_tests(tree, checker)
    if not units and not static and checker is None:
        raise BadTask("the test code has no assertion and no test function")
    used = _classes(tree, code, entry_point)
    drops = tells_of_drops and bool(used)
    changes = changes_attributes(tree)
    has_classes = any(isinstance(node, ast.ClassDef) for node in ast.walk(tree)) if "class" in code else False
    statements = _compiled(tree, drops=drops)
    return TaskPlan(statements, units, static, checker, bound, ours, used, reaches, drops, has_classes, changes)


def _compiled(tree: ast.Module, *, drops: bool) -> tuple[CodeType, ...]:
    flags = future_flags(tree)
    statements = [Dropping().visit(statement) for statement in tree.body] if drops else tree.body
    try:
        return tuple(
            compile(ast.Module([statement], []), "<tests>", "exec", flags=flags, dont_inherit=True) for statement in statements
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise BadTask(f"the test code is no valid Python: {type(error).__name__}{where}") from None


def packed(plan: TaskPlan) -> str | None:
    """As text, for judges of the same task; None where it is too long to be worth it."""
    data = marshal.dumps(tuple(plan))
    return INTERPRETER + base64.b64encode(data).decode("ascii") if len(data) <= MOST_PACKED else None


def unpacked(text: str) -> TaskPlan | None:
    """The plan that a judge before this one made; None where that was another interpreter's."""
    if not text.startswith(INTERPRETER):
        return None
    return TaskPlan(*marshal.loads(base64.b64decode(text[len(INTERPRETER) :])))  # noqa: S302 - from the service


def preset(name: str) -> Any:
    """What a name that nobody defines usually stands for in tests; None if nothing."""
    if name == "np":
        name = "numpy"
    if name in PRESET_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            return None
    for module, names in PRESET_FROM.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    return getattr(typing, name) if name in typing.__all__ and name != "Text" else None


def _classes(tree: ast.Module, code: str, entry_point: str | None) -> frozenset[str]:
    """Names that the test uses as classes; none where no name could be a class of the submission's."""
    if not (entry_point or "")[:1].isupper():
        if code.isascii() and NO_CLASSES.issuperset(CAPITALS.findall(code)):
            return frozenset()
        if not any(map(_names_a_class, ast.walk(tree))):
            return frozenset()
    used = classes_in_use(tree)
    if entry_point is not None and not used.isdisjoint(CANDIDATES):
        used |= {entry_point}
    return used


def _names_a_class(node: ast.AST) -> bool:
    """Whether this has a name that begins with a capital; only such may name a class, see Peer.named."""
    if isinstance(node, ast.Name):
        return node.id[:1].isupper() and node.id not in NO_CLASSES
    if isinstance(node, ast.Attribute):
        return node.attr[:1].isupper()
    return isinstance(node, ast.alias) and (node.name[:1].isupper() or (node.asname or "")[:1].isupper())


def _names_under_test(tree: ast.Module, bound: frozenset[str], entry_point: str | None) -> frozenset[str]:
    if entry_point is not None and entry_point not in bound:
        return frozenset({entry_point})
    nodes = list(ast.walk(tree))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    free = used - bound - set(vars(builtins))
    if any(preset(name) is None for name in free):
        return frozenset()
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return frozenset(called - bound)


def _checker(tree: ast.Module, entry_point: str | None) -> tuple[str, str] | None:
    """(function, name under test) for test code that defines `check(candidate)` and leaves calling it to us."""
    called = {
        statement.value.func.id
        for statement in tree.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
    }
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in CHECKERS and statement.name not in called:
            if len(statement.args.args) == 1 and entry_point is not None and not statement.decorator_list:
                return statement.name, entry_point
    return None


def _static_tests(tree: ast.Module, checker: tuple[str, str] | None) -> int:
    found = 0
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found += statement.name.startswith("test") and statement.name != (checker or ("",))[0]
        elif isinstance(statement, ast.ClassDef):
            found += sum(
                isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and part.name.startswith("test")
                for part in statement.body
            )
    return found
