"""Stand-ins for the other end's objects and classes.

Each class of the other end gets a local class of the same name, so that `type`, `isinstance`, `except` and operators
work as usual; it has just those special methods that the real one has, and each forwards.

The judge restrains what an answer may claim about itself, since an object that says yes to everything must not pass:
- A stand-in equals plain data only if the test itself built that object by calling its class, or if the class extends a
  built-in type and that type's own data, sent by value, is equal. Likewise for order and membership.
- Arithmetic with plain data may give another stand-in, but no plain result, again unless the test built the object: so
  `abs(f(x) - 2.5) < 1e-9` is decided by numbers alone.
- Two stand-ins are compared by the submission's class; one that also equals an unknown third object is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verifier_service.verifiers.code.harness.codec import WireError
from verifier_service.verifiers.code.harness.described import (
    ARITHMETIC,
    COMPARISONS,
    FORWARDED,
    IMMUTABLE,
    UNARY,
    local_exception,
)

if TYPE_CHECKING:
    from verifier_service.verifiers.code.harness.peer import Peer


class Oversized:
    """Stands for a value too large to be sent. It equals nothing and can do nothing."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


class RemoteMeta(type):
    """Class of the local classes. Calling one builds an object at the other end."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, made_here: bool = False) -> Any:
        if not made_here:
            refuse_subclass(name)
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, made_here: bool = False) -> None:
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        peer, _ = link_of(cls)
        made: object = peer.request("call", cls, args, kwargs)
        if issubclass(type(made), cls):
            trust(made)
        return made

    def __getattr__(cls, name: str) -> Any:
        if name in HIDDEN:
            raise AttributeError(name)
        peer, _ = link_of(cls)
        return peer.request("attr", cls, name)

    def __iter__(cls) -> Any:
        return link_of(cls)[0].request("op", "__iter__", cls, ())

    def __len__(cls) -> Any:
        return link_of(cls)[0].request("op", "__len__", cls, ())

    def __getitem__(cls, key: Any) -> Any:
        return link_of(cls)[0].request("op", "__getitem__", cls, (key,))

    def __contains__(cls, item: Any) -> bool:
        return any(member is item for member in cls)

    def __bool__(cls) -> bool:
        return True


HIDDEN = frozenset({"__dataclass_fields__", "__abstractmethods__", "__wrapped__", "__isabstractmethod__", "__array_interface__"})


class Unproxiable(BaseException):
    """The test asks for something that can't cross between two processes."""


def refuse_subclass(name: str) -> object:
    """A test's own subclass of a submission's class has a foot in each process."""
    raise Unproxiable(f"the test defines {name}, a subclass of a class of the submission")


class Remote(metaclass=RemoteMeta, made_here=True):
    """Base of all stand-ins."""

    __slots__ = ("__link__", "__standing__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") or name in HIDDEN:
            raise AttributeError(name)
        return link_of(self)[0].request("attr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        link_of(self)[0].request("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        link_of(self)[0].request("delattr", self, name)

    def __copy__(self) -> Any:
        return link_of(self)[0].request("copy", self, False)

    def __deepcopy__(self, memo: Any) -> Any:
        return link_of(self)[0].request("copy", self, True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the submission can't be pickled here")


class RemoteWithData:
    """Mixin of stand-ins whose class extends an immutable built-in type: they are their data, and forward the rest."""

    def __getattr__(self, name: str) -> Any:
        if name in HIDDEN:
            raise AttributeError(name)
        return link_of(self)[0].request("attr", self, name)


class RemoteException:
    """Mixin of exceptions whose class is the other end's."""

    def __getattr__(self, name: str) -> Any:
        if name in HIDDEN or name == "__notes__":
            raise AttributeError(name)
        return link_of(self)[0].request("attr", self, name)

    def __str__(self) -> str:
        return str(object.__getattribute__(self, "__dict__").get("__text__", ""))


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
    try:
        made = RemoteMeta(name, shape, namespace, made_here=True)
    except (TypeError, ValueError):  # bases that can't be combined here
        made = RemoteMeta(name, (Remote,), {"__module__": "solution", "__slots__": ()}, made_here=True)
    type.__setattr__(made, "__class_link__", (peer, number))
    type.__setattr__(made, "__data__", data if type(data) is str else None)
    return made


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


def link_of(stand_in: Any) -> tuple[Peer, int]:
    """(peer, number) of a stand-in or of its class."""
    if isinstance(stand_in, type):
        return type.__getattribute__(stand_in, "__class_link__")  # type: ignore[no-any-return]
    return object.__getattribute__(stand_in, "__link__")  # type: ignore[no-any-return]


def remote_of(value: Any, peer: Peer) -> int | None:
    """The number of a stand-in at the end it stands for; None for anything else."""
    kind = type(value)
    if kind is RemoteMeta:
        link = value.__dict__.get("__class_link__")
    elif isinstance(kind, RemoteMeta):
        link = link_of(value)
    else:
        link = value.__dict__.get("__link__") if isinstance(value, BaseException) else None
    return link[1] if link is not None and link[0] is peer else None


def trust(made: Any) -> None:
    """Mark a stand-in as built by the test itself."""
    if isinstance(type(made), RemoteMeta) and not isinstance(made, BaseException):
        object.__setattr__(made, "__standing__", "built")


def standing(stand_in: Any) -> str:
    """'built' by the test, 'tainted' by arithmetic with the test's data, or ''."""
    return object.__getattribute__(stand_in, "__standing__")  # type: ignore[no-any-return]


def is_remote(value: Any) -> bool:
    """Whether this is a stand-in for an object (not for a class)."""
    return isinstance(type(value), RemoteMeta)


def forwarder(dunder: str, own: Any) -> Any:
    """The special method `dunder` of a local class. `own` is that of the built-in type it extends."""
    if dunder == "__call__":
        return call_remote
    if dunder == "__await__":
        return _await
    if dunder == "__hash__":
        return lambda self: _forward(self, dunder, ())
    if own is not None and dunder in ("__str__", "__repr__", "__format__", "__bool__"):
        return lambda self, *rest: _forward(self, dunder, rest)

    def method(self: Any, *operands: Any) -> Any:
        peer = link_of(self)[0]
        if peer.restrains:
            verdict = _restrained(self, dunder, operands, own)
            if verdict is not _ASK:
                return verdict
        result = _forward(self, dunder, operands)
        return _considered(self, dunder, operands, result) if peer.restrains else result

    method.__name__ = dunder
    return method


_ASK = object()


def _forward(self: Any, dunder: str, operands: tuple[Any, ...]) -> Any:
    return link_of(self)[0].request("op", dunder, self, operands)


def _await(self: Any) -> Any:
    yield from ()
    return link_of(self)[0].request("await", self)


def _send(self: Any, value: Any) -> Any:
    raise StopIteration(link_of(self)[0].request("await", self))


def _throw(self: Any, kind: Any, value: Any = None, traceback: Any = None) -> Any:
    raise kind if value is None else value


def _close(self: Any) -> None:
    """A coroutine of the other end is closed there."""


def call_remote(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`__call__` of a stand-in."""
    return link_of(self)[0].request("call", self, args, kwargs)


def _restrained(self: Any, dunder: str, operands: tuple[Any, ...], own: Any) -> Any:
    """The answer where the submission isn't asked; _ASK where it is."""
    other = operands[0] if operands else None
    if standing(self) == "built" or (operands and is_remote(other)):
        return _ASK
    if dunder in COMPARISONS:
        return _against_plain(self, dunder, other, own)
    if dunder == "__contains__":
        return _contains(self, other, own)
    if dunder in ARITHMETIC and own is not None:
        return own(self, other)
    return _ASK


def _against_plain(self: Any, dunder: str, other: Any, own: Any) -> Any:
    if own is not None:
        return own(self, other)
    data = type.__getattribute__(type(self), "__data__")
    if data is not None and dunder in ("__eq__", "__ne__"):
        equal = bool(link_of(self)[0].request("plain", self) == other)
        return equal if dunder == "__eq__" else not equal
    _probe(self)
    return NotImplemented


def _contains(self: Any, item: Any, own: Any) -> Any:
    if own is not None:
        return own(self, item)
    data = type.__getattribute__(type(self), "__data__")
    if data is not None:
        return item in link_of(self)[0].request("plain", self)
    if "__iter__" in dir(type(self)):
        return any(entry is item or entry == item for entry in self)
    raise TypeError("membership in an object of the submission is only decided by its items")


def _considered(self: Any, dunder: str, operands: tuple[Any, ...], result: Any) -> Any:
    """The submission's answer, as far as it is taken."""
    other = operands[0] if operands else None
    if dunder in ("__eq__", "__le__", "__ge__") and result is True and _probe(self):
        return False
    if result is NotImplemented:
        return result
    if dunder in UNARY and standing(self) == "tainted":
        if not is_remote(result):
            raise TypeError("the value of an object that was given the test's data is not taken at its word")
        taint(result)
    if dunder not in ARITHMETIC:
        return result
    both = [value for value in (self, other) if is_remote(value)]
    if is_remote(result):
        if all(standing(value) == "built" for value in both):
            trust(result)
        elif len(both) == 1 or any(standing(value) == "tainted" for value in both):
            taint(result)
        return result
    if len(both) == 1 and standing(self) != "built":
        raise TypeError(
            "arithmetic of an object of the submission with plain data gave plain data, which is not taken at its word"
        )
    return result


def taint(result: Any) -> None:
    """Mark a stand-in as informed by the test's data."""
    if standing(result) != "built":
        object.__setattr__(result, "__standing__", "tainted")


class Stranger:
    """Equal to nothing that was written before it."""


def _probe(self: Any) -> bool:
    """Whether this object also claims to equal something that it can't know; that is a sign of tampering.

    Each class is asked once.
    """
    peer, kind = link_of(self)[0], type(self)
    claims = peer.probed.get(kind)
    if claims is None:
        peer.probed[kind] = True  # until answered: the question itself must not ask again
        try:
            claims = peer.request("op", "__eq__", self, (Stranger(),)) is True
        except Exception:  # an object may refuse to be compared with a stranger
            claims = False
        peer.probed[kind] = claims
        if claims:
            peer.sign("always-equal object")
    return claims
