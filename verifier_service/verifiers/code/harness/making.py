"""Making stand-ins from what the other end says of its classes, objects and exceptions."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from verifier_service.verifiers.code.harness.codec import Encoder, TooLarge, WireError
from verifier_service.verifiers.code.harness.described import FORWARDED, IMMUTABLE, MUTABLE, home_of, local_exception
from verifier_service.verifiers.code.harness.proxies import Doc, Remote, RemoteException, RemoteMeta, RemoteWithData
from verifier_service.verifiers.code.harness.restraint import _close, _send, _throw, forwarder

if TYPE_CHECKING:
    from verifier_service.verifiers.code.harness.peer import Peer

# What `isinstance` says of a stand-in for one of these: the real type. None of them is data.
POSED_TYPES: dict[str, type] = {
    str(kind.__name__): kind
    for kind in (
        types.GeneratorType,
        types.AsyncGeneratorType,
        types.CoroutineType,
        types.FunctionType,
        types.MethodType,
        types.BuiltinFunctionType,
        map,
        filter,
        zip,
        enumerate,
        reversed,
    )
}


def make_class(peer: Peer, number: int, name: Any, home: Any, bases: list[Any], dunders: list[Any], data: Any) -> type:
    """The local class for an exported one. Raises WireError."""
    if type(name) is not str or not all(isinstance(base, type) for base in bases):
        raise WireError("a bad class description")
    known = local_exception(home, name, bases)
    if known is not None:
        return known
    forwarded = sorted(FORWARDED.intersection(entry for entry in dunders if type(entry) is str))
    if any(issubclass(base, BaseException) for base in bases):
        kept = [base for base in bases if issubclass(base, BaseException)]
        shape: tuple[type, ...] = (
            (*kept,) if any(issubclass(base, RemoteException) for base in kept) else (RemoteException, *kept)
        )
        namespace: dict[str, Any] = {}
    elif data in {base.__name__ for base in IMMUTABLE}:
        own = next(base for base in IMMUTABLE if base.__name__ == data)
        shape = tuple(base for base in bases if issubclass(base, RemoteWithData)) or (RemoteWithData, own)
        namespace = {dunder: forwarder(dunder, getattr(own, dunder, None)) for dunder in forwarded}
    else:
        shape = tuple(base for base in bases if issubclass(base, Remote)) or (Remote,)
        namespace = {dunder: forwarder(dunder, None) for dunder in forwarded}
        namespace["__slots__"] = ()
        if "__eq__" in namespace and "__hash__" not in namespace:
            namespace["__hash__"] = None
        if "__await__" in namespace:
            namespace.update(send=_send, throw=_throw, close=_close)
    namespace["__module__"] = str(home)[:200] if type(home) is str else "solution"
    namespace["__qualname__"] = name
    namespace["__doc__"] = Doc()
    posed = POSED_TYPES.get(name) if home == "builtins" else _own_container(name, data)
    if posed is not None:
        namespace["__class__"] = property(lambda self: posed)
    if posed is types.FunctionType:
        namespace["__get__"] = _bound
    try:
        made = RemoteMeta(name, shape, namespace, made_here=True)
    except (TypeError, ValueError):  # bases that can't be combined here, or a name that is none
        made = RemoteMeta("Object", (Remote,), {"__module__": "solution", "__slots__": ()}, made_here=True)
    type.__setattr__(made, "__class_link__", (peer, number))
    type.__setattr__(made, "__data__", data if type(data) is str else None)
    return made


def _bound(self: Any, owner: Any, kind: Any = None) -> Any:
    """A function of the submission in a class of the test's, by a decorator say, is a method there."""
    return self if owner is None else types.MethodType(self, owner)


def _own_container(name: str, data: Any) -> type | None:
    """What `isinstance` says of an object whose class extends a list, a dictionary or a set: that it is one."""
    base = next((base for base in MUTABLE if base.__name__ == data), None)
    return None if base is None else type(name, (base,), {})


def make_remote(kind: type, peer: Peer, number: int, data: Any) -> Any:
    """A stand-in for object `number` of class `kind`."""
    own: Any = next((base for base in IMMUTABLE if issubclass(kind, base)), None)
    made: Any
    if own is None:
        made = object.__new__(kind)
    elif type(data) is own or (own is int and type(data) is int):
        made = own.__new__(kind, data)
    else:
        raise WireError("data of another type than the class extends")
    object.__setattr__(made, "__link__", (peer, number))
    object.__setattr__(made, "__standing__", "")
    return made


def exception_details(error: BaseException, encoder: Encoder) -> Any:
    """The node of what an exception of the standard library knows besides its arguments, such as a JSONDecodeError's `pos`."""
    if home_of(type(error)) == "solution":
        return None  # asked for when it is wanted
    found = {name: value for name, value in vars(error).items() if not name.startswith("__") or name == "__notes__"}
    if isinstance(error, OSError) and error.filename is not None:
        found["filename"] = error.filename
    try:
        return encoder.node(found) if found else None
    except TooLarge:
        return None


def add_details(made: BaseException, details: Any) -> None:
    """The reverse."""
    for name, value in details.items() if type(details) is dict else ():
        if type(name) is str and (not name.startswith("__") or (name == "__notes__" and type(value) is list)) and name != "args":
            BaseException.__setattr__(made, name, value)


def make_exception(kind: type, peer: Peer, number: int, arguments: tuple[Any, ...], text: str) -> BaseException:
    """A local exception like the other end's."""
    new: Any = BaseException.__new__ if issubclass(kind, RemoteException) else kind.__new__
    made: BaseException = new(kind, *arguments)
    made.args = arguments
    made.__dict__["__link__"] = (peer, number)
    made.__dict__["__text__"] = text
    if isinstance(made, SystemExit):
        made.code = arguments[0] if arguments else None
    elif isinstance(made, StopIteration):
        made.value = arguments[0] if arguments else None
    return made
