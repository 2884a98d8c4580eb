"""Finding and running pytest functions: parameters, fixtures, marks. See mini_pytest for what tests import."""

from __future__ import annotations

import enum
import inspect
import io
import itertools
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier_service.verifiers.code.harness.mini_pytest import Fixture, Mark, Param, Skipped, XFailed
from verifier_service.verifiers.code.harness.proxies import Unproxiable

if TYPE_CHECKING:
    import pathlib

SCOPES = ("session", "package", "module", "class")


class Outcome(enum.Enum):
    """How a pytest item ended that raised nothing."""

    PASSED = 1
    SKIPPED = 2
    XFAILED = 3
    XPASSED = 4


@dataclass
class PytestItem:
    """One test function with one set of parameters."""

    function: Any
    owner: type | None
    marks: list[Mark]
    values: dict[Any, Any]
    session: Session


@dataclass
class Session:
    """The fixtures of a test module and what they have made."""

    fixtures: dict[str, Fixture]
    fallback: Callable[[str], Any]
    made: dict[Any, Any] = field(default_factory=dict)


@dataclass
class Request:
    """`request`, as a fixture sees it."""

    param: Any = None
    node: Any = None
    finalizers: list[Callable[[], Any]] = field(default_factory=list)

    def addfinalizer(self, finalizer: Callable[[], Any]) -> None:
        self.finalizers.append(finalizer)


def collect(space: dict[str, Any], fallback: Callable[[str], Any]) -> list[PytestItem]:
    """The pytest items of a module, in order of definition.

    Args:
        fallback: gives a fixture that the module doesn't define, or raises.
    """
    session = Session({value.name or name: value for name, value in space.items() if isinstance(value, Fixture)}, fallback)
    module_marks = _marks(space.get("pytestmark", []))
    items: list[PytestItem] = []
    for name, value in list(space.items()):
        if name.startswith("test") and inspect.isfunction(value) and value.__module__ == space["__name__"]:
            if _takes_candidate_only(name, value):
                continue
            items.extend(_expanded(value, None, module_marks, session))
        elif (
            name.startswith("Test")
            and inspect.isclass(value)
            and not _is_unittest(value)
            and value.__module__ == space["__name__"]
        ):
            own = {v.name or n: v for n, v in vars(value).items() if isinstance(v, Fixture)}
            inside = Session({**session.fixtures, **own}, fallback, session.made)
            for method_name, method in vars(value).items():
                function = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
                if method_name.startswith("test") and inspect.isfunction(function):
                    items.extend(_expanded(function, value, module_marks + _marks(vars(value).get("pytestmark", [])), inside))
    return items


def _takes_candidate_only(name: str, function: Any) -> bool:
    return name == "test" and list(inspect.signature(function).parameters) == ["candidate"]


def _is_unittest(kind: type) -> bool:
    return any(base.__module__.startswith("unittest") for base in kind.__mro__)


def _marks(value: Any) -> list[Mark]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _expanded(function: Any, owner: type | None, outer: list[Mark], session: Session) -> Iterator[PytestItem]:
    """One item for each combination of parameters and of parametrised fixtures."""
    marks = outer + _marks(vars(function).get("pytestmark", []))
    axes: list[list[tuple[dict[str, Any], list[Mark]]]]
    axes = [list(_axis(*mark.args, **mark.kwargs)) for mark in marks if mark.name == "parametrize"]
    for name in _wanted(function, session):
        made = session.fixtures.get(name)
        if made is not None and made.params is not None:
            axes.append([({f"param of {name}": value}, []) for value in made.params])
    for combination in itertools.product(*reversed(axes)):
        values = {name: value for part, _ in combination for name, value in part.items()}
        yield PytestItem(function, owner, marks + [mark for _, more in combination for mark in more], values, session)


def _wanted(function: Any, session: Session, seen: frozenset[str] = frozenset()) -> list[str]:
    """Names of the fixtures that a function uses, directly or not."""
    found = []
    for name in (*inspect.signature(function).parameters, *(name for name, made in session.fixtures.items() if made.autouse)):
        if name not in seen and name not in found:
            found.append(name)
            if name in session.fixtures:
                found.extend(_wanted(session.fixtures[name].function, session, seen | {name, *found}))
    return found


def _axis(
    names: Any, values: Any, indirect: Any = False, ids: Any = None, scope: Any = None
) -> Iterator[tuple[dict[str, Any], list[Mark]]]:
    keys = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    for value in values:
        marks: list[Mark] = []
        if isinstance(value, Param):
            marks = value.marks
            value = value.values if len(keys) > 1 else value.values[0]
        row = tuple(value) if len(keys) > 1 else (value,)
        if len(row) != len(keys):
            raise ValueError("parametrize: a row of another length than the names")
        yield {f"param of {key}" if indirect is True else key: part for key, part in zip(keys, row, strict=True)}, marks


def run_item(item: PytestItem) -> Outcome:
    """Run one item with its fixtures; what it raises is its failure."""
    expected = _conditional(item, "xfail")
    if _conditional(item, "skip") is not None or _conditional(item, "skipif") is not None:
        return Outcome.SKIPPED
    try:
        _call_item(item)
    except Skipped:
        return Outcome.SKIPPED
    except XFailed:
        return Outcome.XFAILED
    except Exception:
        if expected is None:
            raise
        return Outcome.XFAILED
    return Outcome.PASSED if expected is None else Outcome.XPASSED


def _conditional(item: PytestItem, name: str) -> Mark | None:
    for mark in item.marks:
        if mark.name == name and all(condition for condition in mark.args if not isinstance(condition, str)):
            return mark
    return None


def _call_item(item: PytestItem) -> None:
    cleanups: list[Callable[[], Any]] = []
    instance = item.owner() if item.owner is not None else None
    try:
        if item.owner is not None:
            _set_up_class(item)
            _call_if_there(instance, "setup_method", item.function)
            cleanups.append(lambda: _call_if_there(instance, "teardown_method", item.function))
        arguments: dict[str, Any] = {}
        for name, made in item.session.fixtures.items():
            if made.autouse:
                _fixture_value(name, item, instance, cleanups)
        for mark in item.marks:
            if mark.name == "usefixtures":
                for name in mark.args:
                    _fixture_value(name, item, instance, cleanups)
        parameters = list(inspect.signature(item.function).parameters)
        for name in parameters[1:] if instance is not None and parameters[:1] == ["self"] else parameters:
            arguments[name] = item.values[name] if name in item.values else _fixture_value(name, item, instance, cleanups)
        result = item.function(instance, **arguments) if parameters[:1] == ["self"] else item.function(**arguments)
        if inspect.iscoroutine(result):
            _awaited_result(result)
    finally:
        for cleanup in reversed(cleanups):
            cleanup()


def _awaited_result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio  # rarely wanted, and much to fork

    return asyncio.run(coroutine)


def _set_up_class(item: PytestItem) -> None:
    key = ("setup_class", item.owner)
    if key not in item.session.made:
        item.session.made[key] = True
        set_up = getattr(item.owner, "setup_class", None)
        if set_up is not None:
            set_up()


def _call_if_there(instance: Any, name: str, function: Any) -> None:
    method = getattr(instance, name, None)
    if method is not None:
        method(function) if len(inspect.signature(method).parameters) else method()


def _fixture_value(name: str, item: PytestItem, instance: Any, cleanups: list[Callable[[], Any]]) -> Any:
    made = item.session.fixtures.get(name)
    if made is None:
        built_in = BUILT_IN.get(name)
        return built_in(cleanups) if built_in is not None else item.session.fallback(name)
    value = item.values.get(f"param of {name}")
    key = (made.function, id(value), item.owner if made.scope == "class" else None)
    kept = item.session.made if made.scope in SCOPES else item.values
    if key in kept:
        return kept[key]
    request = Request(param=value, node=item)
    arguments = {}
    parameters = list(inspect.signature(made.function).parameters)
    for wanted in parameters:
        if wanted == "self":
            arguments[wanted] = instance
        else:
            arguments[wanted] = request if wanted == "request" else _fixture_value(wanted, item, instance, cleanups)
    result = made.function(**arguments)
    ends = cleanups if made.scope not in SCOPES else []  # shared fixtures live as long as the judge does
    ends.extend(request.finalizers)
    if inspect.isgenerator(result):
        generator = result
        result = next(generator)
        ends.append(lambda: next(generator, None))
    elif inspect.iscoroutine(result):
        result = _awaited_result(result)
    kept[key] = result
    return result


class Captured(tuple[str, str]):
    """What `capsys.readouterr()` gives."""

    @property
    def out(self) -> str:
        return self[0]

    @property
    def err(self) -> str:
        return self[1]


class Capture:
    """`capsys`: what is printed in the judge, which shows what the submission prints."""

    def __init__(self, cleanups: list[Callable[[], Any]]) -> None:
        self.real, self.buffer = sys.stdout, io.StringIO()
        sys.stdout = self.buffer
        cleanups.append(self._end)

    def _end(self) -> None:
        sys.stdout = self.real

    def readouterr(self) -> Captured:
        text = self.buffer.getvalue()
        self.buffer.seek(0)
        self.buffer.truncate()
        return Captured((text, ""))


class MonkeyPatch:
    """`monkeypatch`: sets and restores."""

    def __init__(self, cleanups: list[Callable[[], Any]]) -> None:
        self.undoes: list[Callable[[], Any]] = []
        cleanups.append(self.undo)

    def setattr(self, target: Any, name: Any, value: Any = None, raising: bool = True) -> None:
        if isinstance(target, str):
            value = name
            path, _, name = target.rpartition(".")
            target = __import__(path, fromlist=["_"])
        before = getattr(target, name)
        setattr(target, name, value)
        self.undoes.append(lambda: setattr(target, name, before))

    def setitem(self, mapping: Any, key: Any, value: Any) -> None:
        absent = key not in mapping
        before = None if absent else mapping[key]
        mapping[key] = value
        self.undoes.append(lambda: mapping.pop(key) if absent else mapping.__setitem__(key, before))

    def setenv(self, name: str, value: str, prepend: Any = None) -> None:
        raise Unproxiable("the test sets an environment variable for the submission")

    def delenv(self, name: str, raising: bool = True) -> None:
        self.setenv(name, "")

    def undo(self) -> None:
        while self.undoes:
            self.undoes.pop()()


def _tmp_path(cleanups: list[Callable[[], Any]]) -> pathlib.Path:
    import pathlib
    import tempfile

    path = pathlib.Path(tempfile.mkdtemp())
    os.chmod(path, 0o777)  # noqa: PTH101, S103 - the submission runs under another uid
    return path


BUILT_IN: dict[str, Callable[[list[Callable[[], Any]]], Any]] = {
    "capsys": Capture,
    "capfd": Capture,
    "monkeypatch": MonkeyPatch,
    "tmp_path": _tmp_path,
    "tmpdir": _tmp_path,
    "request": lambda cleanups: Request(),
}
