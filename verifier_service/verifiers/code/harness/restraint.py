"""The special methods of stand-ins, and how far the judge takes an answer at its word.

The judge restrains what an answer may claim about itself, since an object that says yes to everything must not pass:
- A stand-in equals plain data only if the test itself built that object by calling a class (by a name that begins with a
  capital and that it uses as a class, so that a class in the place of a function is none), or if the class extends a
  built-in type and that type's own data, sent by value, is equal. Likewise for order and membership. What a call gives
  back is an answer, also where it is an object that the test built.
- Arithmetic with plain data may give another stand-in, but no plain result, again unless the test built the object: so
  `abs(f(x) - 2.5) < 1e-9` is decided by numbers alone.
- Two stand-ins are compared by the submission's class; one that also equals an unknown third object is refused.
"""

from __future__ import annotations

from typing import Any

from verifier_service.verifiers.code.harness.described import ARITHMETIC, COMPARISONS, IN_PLACE, UNARY
from verifier_service.verifiers.code.harness.proxies import is_remote, link_of, standing, trust


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
        built = peer.restrains and standing(self) == "built"
        result = _forward(self, dunder, operands)
        if result is self and built and dunder in GIVING_ITSELF:
            trust(self)
        return _considered(self, dunder, operands, result) if peer.restrains else result

    method.__name__ = dunder
    return method


_ASK = object()
# These return their object by rule, which makes it no answer.
GIVING_ITSELF = frozenset({"__enter__", "__aenter__", "__iter__"}) | IN_PLACE


def _forward(self: Any, dunder: str, operands: tuple[Any, ...]) -> Any:
    if dunder in ("__exit__", "__aexit__"):
        operands = (*operands[:2], None)  # a traceback can't cross, and contextlib puts it on the exception
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
    claims_too_much(self)
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
    if dunder in ("__eq__", "__le__", "__ge__") and result is True and claims_too_much(self):
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


def claims_too_much(self: Any) -> bool:
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
