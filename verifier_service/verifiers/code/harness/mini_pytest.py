"""What test files use of pytest, run by the judge: raises, approx, parametrize, fixtures, marks, skip and xfail.

The module is installed as `pytest` in the judge's process. A skip or an expected failure counts only where the test's
own code asks for it; exceptions of the submission never are one of these, whatever their class is called.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import io
import itertools
import math
import os
import pathlib
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from verifier_service.verifiers.code.harness.proxies import Unproxiable, is_remote

SCOPES = ("session", "package", "module", "class")


class Outcome(enum.Enum):
    """How a pytest item ended that raised nothing."""

    PASSED = 1
    SKIPPED = 2
    XFAILED = 3
    XPASSED = 4


class Skipped(BaseException):
    """Raised by `pytest.skip`."""


class XFailed(BaseException):
    """Raised by `pytest.xfail`."""


class Failed(AssertionError):
    """Raised by `pytest.fail`."""


@dataclass
class Mark:
    """A mark, or the result of calling one."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and not self.args and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return self._put_on(args[0])
        marked = Mark(self.name, args, kwargs)
        return marked

    def _put_on(self, target: Any) -> Any:
        target.pytestmark = [*vars(target).get("pytestmark", []), self]
        return target


class AppliedMark(Mark):
    """A mark with arguments: calling it decorates."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._put_on(args[0])


class MarkMaker:
    """`pytest.mark`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Mark(name)


class _Mark(Mark):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return self._put_on(args[0])
        return AppliedMark(self.name, args, kwargs)


@dataclass
class Param:
    """`pytest.param`."""

    values: tuple[Any, ...]
    marks: list[Mark]


def param(*values: Any, marks: Any = (), id: Any = None) -> Param:
    return Param(values, [marks] if isinstance(marks, Mark) else list(marks))


class ExceptionInfo:
    """What `with pytest.raises(...) as info` gives."""

    def __init__(self) -> None:
        self.value: Any = None

    @property
    def type(self) -> Any:
        return type(self.value)

    def match(self, pattern: str) -> bool:
        assert re.search(pattern, str(self.value)), "the exception's text doesn't match"
        return True

    def __str__(self) -> str:
        return str(self.value)


class Raises:
    """`pytest.raises` as a context manager."""

    def __init__(self, expected: Any, match: Any = None, check: Any = None) -> None:
        self.expected, self.pattern, self.check = expected, match, check
        self.info = ExceptionInfo()

    def __enter__(self) -> ExceptionInfo:
        return self.info

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        if kind is None:
            raise Failed("did not raise")
        if not issubclass(kind, self.expected):
            return False
        self.info.value = error
        if self.pattern is not None:
            self.info.match(self.pattern)
        assert self.check is None or self.check(error)
        return True


def raises(expected: Any, *args: Any, match: Any = None, check: Any = None, **kwargs: Any) -> Any:
    context = Raises(expected, match, check)
    if not args:
        return context
    with context as info:
        args[0](*args[1:], **kwargs)
    return info


class Warns:
    """`pytest.warns` and `pytest.deprecated_call`; the submission's warnings stay in its process."""

    def __enter__(self) -> Any:
        raise Unproxiable("the test looks at warnings of the submission")

    def __exit__(self, *exc: Any) -> None:
        """Never reached."""


class Approx:
    """`pytest.approx` for numbers, and for sequences and mappings of them."""

    __array_ufunc__ = None
    __array_priority__ = 100

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> None:
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok

    def __eq__(self, actual: object) -> bool:
        return self._close(self.expected, actual)

    def __ne__(self, actual: object) -> bool:
        return not self == actual

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"

    def _close(self, expected: Any, actual: Any) -> bool:
        if is_remote(actual):
            return False
        if hasattr(expected, "tolist"):
            expected = expected.tolist()
        if hasattr(actual, "tolist"):
            actual = actual.tolist()
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and actual.keys() == expected.keys()
                and all(self._close(expected[k], actual[k]) for k in expected)
            )
        if isinstance(expected, (list, tuple)):
            alike = isinstance(actual, (list, tuple)) and len(actual) == len(expected)
            return alike and all(self._close(mine, theirs) for mine, theirs in zip(expected, actual, strict=True))
        if isinstance(expected, bool) or not isinstance(expected, (int, float, complex)):
            return bool(expected == actual) if not _number(expected) else self._near(float(expected), actual)
        return self._near(expected, actual)

    def _near(self, expected: Any, actual: Any) -> bool:
        if isinstance(actual, bool) or not _number(actual):
            return False
        if expected == actual:
            return True
        if isinstance(expected, complex) or isinstance(actual, complex):
            return abs(expected - actual) <= self._tolerance(abs(expected))
        if math.isnan(expected) and math.isnan(actual):
            return self.nan_ok
        if not math.isfinite(expected) or not math.isfinite(actual):
            return False
        return bool(abs(float(expected) - float(actual)) <= self._tolerance(abs(expected)))

    def _tolerance(self, size: float) -> float:
        absolute = 1e-12 if self.abs is None else float(self.abs)
        if self.rel is None and self.abs is not None:
            return absolute
        return max(absolute, (1e-6 if self.rel is None else float(self.rel)) * size)


def _number(value: Any) -> bool:
    return hasattr(type(value), "__float__") and not isinstance(value, str) or isinstance(value, complex)


@dataclass
class Fixture:
    """A fixture function and how it is shared."""

    function: Callable[..., Any]
    scope: str = "function"
    params: list[Any] | None = None
    autouse: bool = False
    name: str | None = None


def fixture(
    function: Any = None, *, scope: str = "function", params: Any = None, autouse: bool = False, ids: Any = None, name: Any = None
) -> Any:
    def wrap(wrapped: Any) -> Fixture:
        return Fixture(wrapped, scope, None if params is None else list(params), autouse, name)

    return wrap if function is None else wrap(function)


def skip(reason: str = "", *, allow_module_level: bool = False, msg: str = "") -> None:
    raise Skipped(reason)


def xfail(reason: str = "") -> None:
    raise XFailed(reason)


def fail(reason: str = "", pytrace: bool = True, msg: str = "") -> None:
    raise Failed(reason)


def importorskip(name: str, *args: Any, **kwargs: Any) -> Any:
    return __import__(name)


def install() -> None:
    """Make `import pytest` find this."""
    module = types.ModuleType("pytest")
    public = (raises, fixture, skip, xfail, fail, importorskip, param)
    vars(module).update({function.__name__: function for function in public})
    vars(module).update(
        approx=Approx, mark=MarkMaker(), main=lambda *a, **k: 0, yield_fixture=fixture, ExceptionInfo=ExceptionInfo
    )
    vars(module).update(warns=lambda *a, **k: Warns(), deprecated_call=lambda *a, **k: Warns())
    vars(module)["skip"].Exception = Skipped  # type: ignore[attr-defined]
    vars(module)["fail"].Exception = Failed  # type: ignore[attr-defined]
    sys.modules["pytest"] = module


@dataclass
class PytestItem:
    """One test function with one set of parameters."""

    function: Any
    owner: type | None
    marks: list[Mark]
    values: dict[str, Any]
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
            session.fixtures.update({v.name or n: v for n, v in vars(value).items() if isinstance(v, Fixture)})
            for method_name, method in vars(value).items():
                function = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
                if method_name.startswith("test") and inspect.isfunction(function):
                    items.extend(_expanded(function, value, module_marks + _marks(vars(value).get("pytestmark", [])), session))
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
    axes: list[list[tuple[dict[str, Any], list[Mark]]]] = []
    for mark in marks:
        if mark.name == "parametrize":
            axes.append(list(_axis(*mark.args, **mark.kwargs)))
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
            value, marks = value.values if len(keys) > 1 else value.values[0], value.marks
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
            asyncio.run(result)
    finally:
        for cleanup in reversed(cleanups):
            cleanup()


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
    key = (name, id(value), item.owner if made.scope == "class" else None)
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
        result = asyncio.run(result)
    kept[key] = result  # type: ignore[index]
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
    "recwarn": lambda cleanups: warnings.catch_warnings(record=True),
}
