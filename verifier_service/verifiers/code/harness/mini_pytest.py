"""What test files use of pytest, run by the judge: raises, approx, parametrize, fixtures, marks, skip and xfail.

The module is installed as `pytest` in the judge's process. A skip or an expected failure counts only where the test's
own code asks for it; exceptions of the submission never are one of these, whatever their class is called.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from verifier_service.verifiers.code.harness.proxies import Unproxiable, is_remote


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
        if len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0])):
            return self._put_on(args[0])
        return AppliedMark(self.name, args, kwargs)

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
        return Mark(name)


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
            return bool(abs(expected - actual) <= self._tolerance(abs(expected)))
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
    return (hasattr(type(value), "__float__") and not isinstance(value, str)) or isinstance(value, complex)


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
    vars(module)["skip"].Exception = Skipped
    vars(module)["fail"].Exception = Failed
    sys.modules["pytest"] = module
