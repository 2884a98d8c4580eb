"""One end of the socket between judge and submission: requests out, requests in, replies back.

Calls nest strictly: while an end waits for a reply it serves the other's requests (a callback, say). Each end keeps a
table of what it exported; the other end's proxies hold numbers in it. What an end does when asked is its `Servant`'s
business, what a proxy may ask is its `Policy`'s; both sides share this file and differ only there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from verifier_service.verifiers.code.harness.channel import Channel, Gone
from verifier_service.verifiers.code.harness.codec import Decoder, Encoder, TooLarge, WireError
from verifier_service.verifiers.code.harness.described import (
    IMMUTABLE,
    base_name,
    base_value,
    data_base,
    differs,
    dunders_of,
    find_global,
    home_of,
    named_global,
    shows_bases,
    snapshot,
    type_name,
)
from verifier_service.verifiers.code.harness.lent import LENT_KINDS, MAX_LENT, Lent, changed, lent
from verifier_service.verifiers.code.harness.making import add_details, exception_details, make_class, make_exception, make_remote
from verifier_service.verifiers.code.harness.proxies import Oversized, RemoteMeta, distrust, no_end, remote_of, trust

MAX_SIGNS = 20
MAX_EXPORTS = 500_000
MAX_NESTING = 400
UNTOUCHING = ("load", "get", "names")  # requests that run nothing of what the test wants to know about


class PlainResult:
    """An answer that is sent as plain data: instances of subclasses as what they extend, arrays as lists."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Peer:
    """This end: exports, proxies, and the loop that waits for replies while serving requests.

    Args:
        servant: called with (peer, operation, decoded arguments) for each request of the other end.
        restrains: whether what the other end names is untrusted (the judge's end).
    """

    def __init__(self, fd: int, servant: Callable[[Peer, str, list[Any]], Any], *, restrains: bool) -> None:
        self.channel = Channel(fd)
        self.servant = servant
        self.restrains = restrains
        self.exports: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.described: dict[int, None] = {}  # in order
        self.objects: dict[int, Any] = {}
        self.classes: dict[int, type] = {}
        self.lock = threading.RLock()
        self.nesting = 0
        self.stops_iterate = True  # whether any call may end an iteration of this end by StopIteration
        self.touches = 0
        self.gone = ""
        self.after_reply: Callable[[Any], None] | None = None
        self.notes: Callable[[], Any] = lambda: None
        self.signs: list[str] = []
        self.probed: dict[type, bool] = {}
        self.class_names: dict[type, bool] = {}  # whether the test only ever named this class as one names classes
        self.distrusted: list[Any] = []  # objects that the test built and a call gave back
        self.classes_in_use: frozenset[str] = frozenset()  # names that the test uses as classes
        self.lends = not restrains  # whether containers in attributes are changed at this end
        self.lent: list[Lent] = []

    def request(self, operation: str, *arguments: Any) -> Any:
        """Ask the other end and return its answer, or raise the exception that it raised.

        Raises:
            TooLarge: the arguments don't fit.
            Gone: there is nobody left to answer.
        """
        if self.gone:
            raise Gone(self.gone)
        with self.lock:
            if self.lent:
                self._give_back()
            encoder = Encoder(self.export)
            self.touches += operation not in UNTOUCHING
            self.nesting += 1
            try:
                if self.nesting > MAX_NESTING:
                    raise RecursionError("calls between test and submission are nested too deeply")
                self._send(encoder, lambda: ["q", operation, [encoder.node(argument) for argument in arguments]])
                return self._await_reply(encoder.kept)
            except Gone as gone:
                self.gone = self.gone or str(gone)
                raise
            except StopIteration as stop:
                raise stop if self.stops_iterate or arguments[:1] == ("__next__",) else no_end(stop) from None
            finally:
                self.nesting -= 1

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute of a stand-in."""
        value = self.named(name, self.request("attr", owner, name))
        if self.lends and type(value) in LENT_KINDS:
            one = lent(owner, name, value)
            if one is not None:
                self.lent = [*self.lent[1 - MAX_LENT :], one]
        return value

    def _give_back(self) -> None:
        """Tell the other end what was done here to containers that it lent."""
        due, self.lent = self.lent, []
        again: list[Lent | None] = []
        for one in due:
            if changed(one):
                self.request("refill", one.owner, one.name, one.before, one.value)
                again.append(lent(one.owner, one.name, one.value))
            else:
                again.append(one)
        self.lent = [one for one in again if one is not None]

    def named(self, name: str, value: Any) -> Any:
        """The value that the test found under `name`.

        A class by a name in lower case, or by one that the test doesn't use as a class, may stand where the test expects
        a function: what such a call gives is an answer, not an object that the test built.
        """
        if type(value) is RemoteMeta:
            as_class = name[:1].isupper() and name in self.classes_in_use
            self.class_names[value] = as_class and self.class_names.get(value, True)
        return value

    def trust_dropped(self, mark: int, dropped: Any) -> None:
        """Trust an object again that a call gave back, as far as that was no answer: the test dropped it."""
        if any(known is dropped for known in self.distrusted[mark:]):
            trust(dropped)

    def sign(self, sign: str) -> None:
        """Note what looks like an attack on the grader."""
        if sign not in self.signs and len(self.signs) < MAX_SIGNS:
            self.signs.append(sign)

    def _send(self, encoder: Encoder, make: Callable[[], list[Any]]) -> None:
        """Send a message; classes described in one that can't be sent are described again later."""
        known = len(self.described)
        try:
            self.channel.send(make())
        except (TooLarge, RecursionError):
            for number in list(self.described)[known:]:
                del self.described[number]
            raise

    def serve_forever(self) -> None:
        """Serve requests until the other end hangs up."""
        while True:
            try:
                message = self.channel.receive()
            except Gone:
                return
            self._serve(message)

    def _await_reply(self, kept: list[Any]) -> Any:
        while True:
            message = self.channel.receive()
            if message[0] == "q":
                self._serve(message)
                continue
            if message[0] not in ("a", "x") or len(message) != 4:
                raise Gone("a message that is neither request nor reply")
            decoder = Decoder(self.resolve, kept)
            try:
                value = decoder.value(message[1])
                self._apply(decoder, kept, message[2])
            except (WireError, IndexError, TypeError, ValueError) as error:
                self.sign("broke the protocol of the tests")
                raise Gone(f"a reply that breaks the protocol: {error}") from None
            if self.after_reply is not None:
                self.after_reply(message[3])
            if message[0] == "x":
                if not isinstance(value, BaseException):
                    raise Gone("an exception that is none")
                if message[1][0] != "o":  # else it is one of ours, come back
                    value.__dict__["__from_other_end__"] = True
                raise value
            return value

    def _apply(self, decoder: Decoder, kept: list[Any], updates: Any) -> None:
        if type(updates) is not list:
            raise WireError("updates that are no list")
        for update in updates:
            number, node = update
            if type(number) is not int or not 0 <= number < len(kept):
                raise WireError("an update of an unknown container")
            decoder.refill(kept[number], node)

    def _serve(self, message: list[Any]) -> None:
        if message[0] != "q" or len(message) != 3 or type(message[1]) is not str or type(message[2]) is not list:
            raise Gone("a message that is no request")
        decoder = Decoder(self.resolve)
        try:
            arguments = decoder.values(message[2])
        except WireError as error:
            raise Gone(f"a request that breaks the protocol: {error}") from None
        before = [snapshot(container) for container in decoder.table]
        started = time.process_time()
        try:
            kind, value = "a", self.servant(self, message[1], arguments)
        except Gone:
            raise
        except BaseException as error:
            kind, value = "x", error
        self._reply(kind, value, decoder.table, before, time.process_time() - started)

    def _reply(self, kind: str, value: Any, table: list[Any], before: list[Any], cpu_s: float) -> None:
        if self.lent:
            self._give_back()
            self.lent = []
        encoder = Encoder(self.export, table)
        if type(value) is PlainResult:
            encoder.plain, value = True, value.value

        def make() -> list[Any]:
            node = self.export_exception(value, encoder) if kind == "x" else encoder.node(value)
            changed = [number for number, container in enumerate(table) if differs(container, before[number])]
            updates = [[number, encoder.contents(table[number])] for number in changed]
            return [kind, node, updates, [cpu_s, self.notes()]]

        try:
            self._send(encoder, make)
        except (TooLarge, RecursionError) as error:
            too_large = ["big", str(error)[:100]]
            self.channel.send(["a", too_large, [], [cpu_s, None]])

    # ---- handles

    def number_of(self, value: Any) -> int:
        """The number under which `value` is exported, from now on if need be."""
        number = self.numbers.get(id(value))
        if number is None:
            if len(self.exports) >= MAX_EXPORTS:
                raise TooLarge("too many objects")
            number = len(self.exports)
            self.exports.append(value)  # which also keeps its id() from being given to another
            self.numbers[id(value)] = number
        return number

    def export(self, value: Any, encoder: Encoder) -> Any:
        """The node of something that doesn't travel by value."""
        remote = remote_of(value, self)
        if remote is not None:
            return ["o", remote]
        if isinstance(value, type):
            return self._export_class(value, encoder)
        if isinstance(value, BaseException):
            return self.export_exception(value, encoder)
        named = named_global(value) if self.restrains else None
        if named is not None:
            return ["g", *named]
        base = data_base(type(value))
        if encoder.plain and base is not None:
            return encoder.node(base_value(value, base))
        data = None
        if base in IMMUTABLE:
            data = encoder.node(base_value(value, base))
        return ["h", self.number_of(value), self._export_class(type(value), encoder, of_object=True), data]

    def export_exception(self, error: BaseException, encoder: Encoder) -> Any:
        """The node of an exception: its class, what it was made of, and its text."""
        remote = remote_of(error, self)
        if remote is not None:
            return ["o", remote]
        arguments = []
        for argument in error.args:
            try:
                arguments.append(encoder.node(argument))
            except TooLarge:
                arguments.append("...")
        try:
            text = str(error)[:2000]
        except Exception as broken:  # the class may be anybody's
            text = f"({type(broken).__name__} in __str__)"
        error.__traceback__ = None  # it would keep every frame alive
        number = self.number_of(error)
        cause = error.__cause__
        if isinstance(cause, BaseException) and id(cause) not in self.numbers:  # one that is known already may be a circle
            cause_node = self.export_exception(cause, encoder)
        else:
            cause_node = None
        details = exception_details(error, encoder)
        return ["e", number, self._export_class(type(error), encoder), ["t", arguments], text, cause_node, details]

    def _export_class(self, kind: type, encoder: Encoder, *, of_object: bool = False) -> Any:
        """The node of a class. That of an object is always described: a `map` object, say, is no plain data."""
        remote = remote_of(kind, self)
        if remote is not None:
            return ["o", remote]
        name = None if of_object else type_name(kind)
        if name is not None:
            return ["ty", name]
        number = self.number_of(kind)
        if number in self.described:
            return ["k", number]
        self.described[number] = None
        bases = [self._export_class(base, encoder) for base in kind.__bases__ if base is not object] if shows_bases(kind) else []
        return ["k", number, str(kind.__name__)[:200], home_of(kind), bases, dunders_of(kind), base_name(kind)]

    def resolve(self, node: list[Any], decoder: Decoder) -> Any:
        """The value of a node that names something exported. Raises WireError."""
        tag = node[0]
        if tag == "o" and len(node) == 2:
            return self._own(node[1])
        if tag == "h" and len(node) == 4:
            return self._object(node[1], node[2], node[3], decoder)
        if tag == "k":
            return self._class(node, decoder)
        if tag == "e" and len(node) == 7:
            return self._exception(node, decoder)
        if tag == "g" and len(node) == 3 and not self.restrains:
            return find_global(node[1], node[2])
        if tag == "big" and len(node) == 2:
            return Oversized(str(node[1])[:100])
        raise WireError("an unknown tag")

    def _own(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.exports):
            raise WireError("an unknown object")
        return self.exports[number]

    def _object(self, number: Any, class_node: Any, data: Any, decoder: Decoder) -> Any:
        if type(number) is not int:
            raise WireError("a bad number")
        known = self.objects.get(number)
        if known is not None:
            if distrust(known):
                self.distrusted.append(known)
            return known
        kind = decoder.value(class_node)
        if not isinstance(kind, RemoteMeta):
            raise WireError("an object of no exported class")
        if len(self.objects) >= MAX_EXPORTS:
            raise WireError("too many objects")
        made = make_remote(kind, self, number, None if data is None else decoder.value(data))
        self.objects[number] = made
        return made

    def _class(self, node: list[Any], decoder: Decoder) -> type:
        number = node[1] if len(node) > 1 else None
        if type(number) is not int:
            raise WireError("a bad number")
        known = self.classes.get(number)
        if known is not None:
            return known
        if len(node) != 7:
            raise WireError("a class without a description")
        made = make_class(self, number, node[2], node[3], decoder.values(node[4]), decoder.values(node[5]), node[6])
        self.classes[number] = made
        return made

    def _exception(self, node: list[Any], decoder: Decoder) -> BaseException:
        known = self.objects.get(node[1]) if type(node[1]) is int else None
        if known is not None:
            return known  # type: ignore[no-any-return]
        kind = decoder.value(node[2])
        arguments = decoder.value(node[3])
        if not (isinstance(kind, type) and issubclass(kind, BaseException)) or type(arguments) is not tuple:
            raise WireError("an exception of no exception class")
        made = make_exception(kind, self, node[1], arguments, str(node[4]))
        self.objects[node[1]] = made
        cause, details = decoder.value(node[5]), decoder.value(node[6])
        if isinstance(cause, BaseException):
            made.__cause__ = cause
        add_details(made, details)
        return made
