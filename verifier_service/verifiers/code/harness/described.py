"""What the exporting end says of its classes and functions, and how it sees that a container was changed."""

from __future__ import annotations

import sys
from typing import Any

from verifier_service.verifiers.code.harness.codec import _type_name

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor")
COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
IN_PLACE = frozenset(f"__i{name}__" for name in _BINARY if name != "divmod")
ARITHMETIC = IN_PLACE | {f"__{name}__" for name in _BINARY} | {f"__r{name}__" for name in _BINARY}
UNARY = frozenset(
    "__neg__ __pos__ __abs__ __invert__ __round__ __trunc__ __floor__ __ceil__ "
    "__bool__ __int__ __float__ __complex__ __index__".split()
)
OTHERS = frozenset(
    "__call__ __len__ __iter__ __next__ __reversed__ __contains__ __getitem__ __setitem__ __delitem__ "
    "__str__ __repr__ __format__ __bytes__ __hash__ __enter__ __exit__ __aenter__ __aexit__ __aiter__ __anext__ __await__ "
    "__fspath__ __length_hint__".split()
)
FORWARDED = COMPARISONS | ARITHMETIC | UNARY | OTHERS
IMMUTABLE = (int, float, complex, str, bytes, tuple, frozenset)
MUTABLE = (dict, list, set, bytearray)
NEVER_LOCAL = ("unittest",)


def type_name(kind: Any) -> str | None:
    """The name of a built-in type, which is the same on both ends."""
    return _type_name(kind)


def data_base(kind: type) -> type | None:
    """The built-in data type that a class extends."""
    return next((base for base in (*IMMUTABLE, *MUTABLE) if issubclass(kind, base)), None)


def base_name(kind: type) -> str | None:
    base = data_base(kind)
    return None if base is None else base.__name__


def base_value(value: Any, base: type) -> Any:
    """The data of an instance of a subclass, read by the base's own methods."""
    if base is int:
        return int.__index__(value)
    if base is float:
        return float.__float__(value)
    if base is complex:
        return complex(complex.__add__(value, 0j))
    if base is str:
        return str.__str__(value) if type(str.__str__(value)) is str else "".join(str.__iter__(value))
    if base is bytes:
        return bytes(bytes.__iter__(value))
    if base is bytearray:
        return bytearray(bytearray.__iter__(value))
    if base is dict:
        return {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}
    return base(base.__iter__(value))  # type: ignore[attr-defined]


def shows_bases(kind: type) -> bool:
    """Bases matter for classes that a test may name, and for exceptions."""
    return home_of(kind) == "solution" or issubclass(kind, BaseException)


def home_of(kind: type) -> str:
    return str(getattr(kind, "__module__", "solution"))[:200]


def dunders_of(kind: type) -> list[str]:
    """The special methods that a class has beyond those of `object` or of the built-in type it extends."""
    base = data_base(kind)
    ground = base if base in IMMUTABLE else object
    return sorted(name for name in FORWARDED if getattr(kind, name, None) not in (None, getattr(ground, name, None)))


def local_exception(home: Any, name: Any, bases: list[Any]) -> type | None:
    """The standard library's own exception class, where the description names one that is loaded here."""
    if not bases or not issubclass(bases[0], BaseException) or type(home) is not str:
        return None
    root = home.partition(".")[0]
    if root in NEVER_LOCAL or root not in sys.stdlib_module_names:
        return None
    found = getattr(sys.modules.get(home), name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def named_global(value: Any) -> tuple[str, str] | None:
    """(module, name) of a function of the standard library, which the submission's end finds by itself."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def catch_up() -> None:
    """The sandbox puts something here that is to be called before what may tell one fork of a zygote from another, as
    drawing random numbers would."""


def find_global(module: Any, name: Any) -> Any:
    """The reverse of `named_global`, at the submission's end."""
    catch_up()
    found: Any = __import__(str(module), fromlist=["_"])
    for part in str(name).split("."):
        found = getattr(found, part)
    return found


def snapshot(container: Any) -> Any:
    """What to compare a container with later: its items by identity."""
    if isinstance(container, dict):
        return list(container.items())
    if isinstance(container, (bytearray, set)):
        return container.copy()
    return list(container) if not hasattr(container, "tobytes") else container.tobytes()


def differs(container: Any, before: Any) -> bool:
    """Whether a container was changed since its snapshot."""
    if isinstance(container, dict):
        now = list(container.items())
        return len(now) != len(before) or any(a is not c or b is not d for (a, b), (c, d) in zip(now, before, strict=True))
    if isinstance(container, (bytearray, set)):
        return bool(container != before)
    if hasattr(container, "tobytes"):
        return bool(container.tobytes() != before)
    return len(container) != len(before) or any(map(_is_not, container, before))


def _is_not(one: Any, other: Any) -> bool:
    return one is not other
