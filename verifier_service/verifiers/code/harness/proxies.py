"""Stand-ins for the other end's objects and classes.

Each class of the other end gets a local class of the same name, so that `type`, `isinstance`, `except` and operators
work as usual; it has just those special methods that the real one has, and each forwards (see `restraint`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        if peer.class_names.get(cls) and issubclass(type(made), cls):
            trust(made)
        return made

    def __getattr__(cls, name: str) -> Any:
        if name in HIDDEN:
            raise AttributeError(name)
        return link_of(cls)[0].attribute(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        link_of(cls)[0].request("setattr", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        link_of(cls)[0].request("delattr", cls, name)

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


class Doc:
    """`__doc__` of a stand-in, and of its class. Each local class needs it in its own namespace, else it has None there."""

    def __get__(self, stand_in: Any, kind: Any) -> Any:
        owner = kind if stand_in is None else stand_in
        return link_of(owner)[0].request("attr", owner, "__doc__")


class Remote(metaclass=RemoteMeta, made_here=True):
    """Base of all stand-ins."""

    __slots__ = ("__link__", "__standing__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") or name in HIDDEN:
            raise AttributeError(name)
        return link_of(self)[0].attribute(self, name)

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


def no_end(stop: StopIteration) -> RuntimeError:
    """What a StopIteration of a call is: else a function that raises one would end a `map` over it, and with it the test."""
    error = RuntimeError("the call raised StopIteration")
    error.__dict__["__from_other_end__"] = "__from_other_end__" in stop.__dict__
    return error


def trust(made: Any) -> None:
    """Mark a stand-in as built by the test itself."""
    if isinstance(type(made), RemoteMeta) and not isinstance(made, BaseException):
        object.__setattr__(made, "__standing__", "built")


def distrust(known: Any) -> bool:
    """What the submission hands over is its answer, even if the test built it once: a method may return its own object.

    Whether it was trusted until now.
    """
    built = isinstance(type(known), RemoteMeta) and not isinstance(known, BaseException) and standing(known) == "built"
    if built:
        object.__setattr__(known, "__standing__", "")
    return built


def standing(stand_in: Any) -> str:
    """'built' by the test, 'tainted' by arithmetic with the test's data, or ''."""
    return object.__getattribute__(stand_in, "__standing__")  # type: ignore[no-any-return]


def is_remote(value: Any) -> bool:
    """Whether this is a stand-in for an object (not for a class)."""
    return isinstance(type(value), RemoteMeta)
