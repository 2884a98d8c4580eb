"""The judge's process: holds the tests, calls the submission through stand-ins, compares here, and reports.

Reports are JSON frames, in order: `plan` (how many tests), `begin` and `test` for each test, `load_failed`, `bad_task`,
`unproxiable`, `signs`, and `done` at the end of a complete run; before all others, where it is asked for, `text`: what the
test's text says, for other judges of the task. What never gets its `test` frame has not passed.
Texts of the tests' own assertions are never reported, since they may show what was expected.
"""

from __future__ import annotations

import builtins
import functools
import io
import json
import sys
import time
import types
from collections.abc import Callable
from typing import Any

from verifier_service.verifiers.code.harness.agree import agrees
from verifier_service.verifiers.code.harness.asserts import STREAM_WORDS, AssertRun
from verifier_service.verifiers.code.harness.channel import Gone
from verifier_service.verifiers.code.harness.described import catch_up
from verifier_service.verifiers.code.harness.interactive_judge import judge_conversation
from verifier_service.verifiers.code.harness.lent import refill
from verifier_service.verifiers.code.harness.peer import Peer
from verifier_service.verifiers.code.harness.proxies import Oversized, Unproxiable, is_remote
from verifier_service.verifiers.code.harness.restraint import claims_too_much
from verifier_service.verifiers.code.harness.task_code import BadTask
from verifier_service.verifiers.code.harness.task_plan import TaskPlan, packed, planned, unpacked

NOTE_CHARS = 300
RECURSION_LIMIT = 15_000
TEST_MODULE = "tests"
STOPPING_WORDS = ("StopIteration", "__next__", ".send", ".throw")  # of tests that look at how an iteration ends
GRANTED_DUNDERS = ("__name__", "__qualname__", "__doc__")

Report = Callable[[dict[str, Any]], None]


class Judge:
    """One run of one task against one submission."""

    def __init__(self, task: dict[str, Any], channel_fd: int, report: Report) -> None:
        self.task = task
        self.report = report
        self.peer = Peer(channel_fd, serve_submission, restrains=True)
        self.peer.after_reply = self._after_reply
        self.cpu_s = 0.0

    def run(self) -> None:
        """Load the submission, run the tests, report."""
        try:
            if self.task["style"] == "function":
                self._run_function()
            elif self.task["style"] == "in_process":
                self._run_in_process()
            else:
                self._run_asserts()
        except Gone:
            self.report({"kind": "gone", "why": self.peer.gone})
        except BadTask as fault:
            self.report({"kind": "bad_task", "detail": str(fault)[:NOTE_CHARS]})
        except Unproxiable as fault:
            self.report({"kind": "unproxiable", "detail": str(fault)[:NOTE_CHARS]})
        else:
            self.report({"kind": "done"})
        if self.peer.signs:
            self.report({"kind": "signs", "signs": self.peer.signs})

    def _load(self, *, mirrors: bool = False) -> bool:
        try:
            self.peer.request("load", mirrors)
        except Gone:
            raise
        except BaseException as error:
            outcome = "compile_error" if isinstance(error, SyntaxError) else "runtime_error"
            self.report({"kind": "load_failed", "outcome": outcome, "note": in_words(error)})
            return False
        return True

    def _run_function(self) -> None:
        cases = self.task["cases"]
        if not self._load():
            return
        for number, case in enumerate(cases):
            if self._timed(number, case) != "correct" and self.task["stop"]:
                return

    def _judge_case(self, case: dict[str, Any]) -> tuple[str, str]:
        task = self.task
        try:
            got = self.peer.request("invoke", task["entry_point"], case["args"], case["kwargs"], task["inplace_arg"])
        except Gone:
            raise
        except BaseException as error:
            return "runtime_error", in_words(error)
        if isinstance(got, Oversized):
            return "output_limit_exceeded", f"the result is {got.why}"
        if agrees(case["expected"], got, task["float_tol"], task["rel_tol"]):
            return "correct", ""
        if is_remote(got):
            if "__eq__" in dir(type(got)):
                claims_too_much(got)
            return "incorrect", f"the result is a {type(got).__name__[:60]}, not plain data"
        return "incorrect", ""

    def _run_asserts(self) -> None:
        code = self.task["code"]
        plan = self._plan()
        self.report({"kind": "plan", "total": plan.total})
        if plan.reaches:
            raise Unproxiable(f"the test replaces {plan.reaches} in the submission's process")
        self.peer.stops_iterate = any(word in code for word in STOPPING_WORDS)
        self.peer.classes_in_use = plan.classes_in_use
        self.peer.lends = plan.changes_attributes
        run = AssertRun(plan, self.task["entry_point"], self, TEST_MODULE)
        if plan.drops:
            run.tell_of_dropped_results(lambda: len(self.peer.distrusted), self.peer.trust_dropped)
        if not self._load(mirrors=any(word in code for word in STREAM_WORDS)):
            return
        run.execute(
            stop=self.task["stop"],
            begin=lambda number: self.report({"kind": "begin", "test": number}),
            ended=self._report_test,
            planned=lambda total: self.report({"kind": "plan", "total": total}),
            touched=lambda: self.peer.touches > 0,
            checked=self._check_alive,
            in_words=in_words,
        )

    def _plan(self) -> TaskPlan:
        """What an earlier judge of this task made of its text, if that is here; else it is made, and told if asked for."""
        known = self.task.get("plan")
        plan = unpacked(known) if known else None
        if plan is None:
            plan = planned(self.task["code"], self.task["entry_point"], tells_of_drops=True)
            if "plan" in self.task:
                self.report({"kind": "text", "plan": packed(plan)})
        return plan

    def _run_in_process(self) -> None:
        """Hand the tests to the submission's process and pass on what it says of them."""
        task = self.task
        plan = planned(task["code"], task["entry_point"], tells_of_drops=False)
        self.report({"kind": "plan", "total": plan.total})
        if not self._load():
            return
        frames = self.peer.request("run_tests", task["code"], task["entry_point"], task["stop"])
        for frame in frames if type(frames) is list else ():
            if type(frame) is dict and _is_frame(frame):
                self.report(frame)

    def set_name(self, name: str, value: Any) -> None:
        self.peer.request("setglobal", name, value)

    def delete_name(self, name: str) -> None:
        self.peer.request("delglobal", name)

    def library(self, module: str, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return self.peer.request("library", module, name, arguments, keywords)

    def seed(self, arguments: tuple[Any, ...]) -> None:
        self.peer.request("seed", arguments)

    def lookup(self, name: str) -> Any:
        """A name of the submission, or raise NameError."""
        try:
            return self.peer.named(name, self.peer.request("get", name))
        except AttributeError:
            raise NameError(f"the submission defines no {name}") from None

    def _check_alive(self) -> None:
        if self.peer.gone:
            raise Gone(self.peer.gone)

    def _timed(self, number: int, case: dict[str, Any]) -> str:
        self.report({"kind": "begin", "test": number})
        started = time.monotonic()
        outcome, note = self._judge_case(case)
        self._report_test(number, outcome, note, time.monotonic() - started)
        return outcome

    def _report_test(self, number: int, outcome: str, note: str, wall_s: float) -> None:
        cpu_s, self.cpu_s = self.cpu_s, 0.0
        self.report({"kind": "test", "test": number, "outcome": outcome, "note": note, "wall_s": wall_s, "cpu_s": cpu_s})

    def _after_reply(self, news: Any) -> None:
        """What comes with each reply: CPU seconds, as the submission says, and what it printed meanwhile."""
        if type(news) is not list or len(news) != 2:
            return
        if type(news[0]) in (int, float) and 0 <= news[0] < 1e6:
            self.cpu_s += news[0]
        if type(news[1]) is str and news[1]:
            self._show_printed(news[1])

    def _show_printed(self, text: str) -> None:
        """Where the test has put something in the place of `sys.stdout` or `print`, it sees what the submission prints."""
        if builtins.print is not ORIGINAL_PRINT:
            for line in text.splitlines():
                builtins.print(line)  # noqa: T201 - the test's own, in print's place
        elif sys.stdout is not sys.__stdout__:
            sys.stdout.write(text)


def _is_frame(frame: dict[Any, Any]) -> bool:
    """Whether what the submission's process says of its tests has the shape of a report."""
    kind = frame.get("kind")
    if kind == "plan":
        return type(frame.get("total")) is int and 0 < frame["total"] < 1_000_000
    if kind == "begin":
        return type(frame.get("test")) is int
    times = all(type(frame.get(name)) in (int, float) and 0 <= frame[name] < 1e6 for name in ("wall_s", "cpu_s"))
    return kind == "test" and times and frame.get("outcome") in IN_PROCESS_OUTCOMES and type(frame.get("note")) is str


IN_PROCESS_OUTCOMES = ("correct", "incorrect", "runtime_error", "skipped")


def serve_submission(peer: Peer, operation: str, arguments: list[Any]) -> Any:
    """What the submission may do with what a test handed to it: call it and use it, never look inside."""
    if operation == "input" and len(arguments) == 1:
        return _read_input(arguments[0])
    if operation == "stdin" and len(arguments) == 2 and arguments[0] in ("read", "readline"):
        return "" if sys.stdin is sys.__stdin__ else getattr(sys.stdin, arguments[0])(int(arguments[1]))
    if operation == "call" and len(arguments) == 3 and may_call(arguments[0]):
        callee, positional, keywords = arguments
        return callee(*tuple(positional), **dict(keywords))
    if operation == "op" and len(arguments) == 3 and type(arguments[0]) is str and type(arguments[2]) is tuple:
        dunder, owner, operands = arguments
        if dunder in USABLE and may_use(owner):
            return getattr(type(owner), dunder)(owner, *operands)
    if operation in ("attr", "setattr") and len(arguments) >= 2 and type(arguments[1]) is str:
        return _attribute(operation, *arguments)
    if operation == "refill" and len(arguments) == 4 and type(arguments[1]) is str:
        refill(_attribute("attr", arguments[0], arguments[1]), arguments[2], arguments[3])
        return None
    if operation == "await" and len(arguments) == 1 and may_use(arguments[0]):
        return _awaited_here(arguments[0])
    peer.sign("reached for the inside of a test's object")
    raise AttributeError("not available to the submission")


USABLE = frozenset(
    "__len__ __iter__ __next__ __reversed__ __contains__ __getitem__ __setitem__ __delitem__ "
    "__bool__ __int__ __float__ __index__ __str__ __repr__ __format__ __hash__ "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ "
    "__rmul__ __truediv__ __rtruediv__ __floordiv__ __mod__ __pow__ __neg__ __pos__ __abs__ __and__ __or__ __xor__ __enter__ "
    "__exit__ __call__ __fspath__ __iadd__ __isub__ __imul__ __invert__ __matmul__ __round__".split()
)
CALLABLE_TYPES = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinMethodType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    functools.partial,
)
READERS = (io.StringIO, io.BytesIO, io.TextIOWrapper, io.BufferedReader)


def may_call(callee: Any) -> bool:
    """Functions, methods, and classes and objects of the test's own."""
    if isinstance(callee, type):
        return callee.__module__ == TEST_MODULE
    return type(callee) in CALLABLE_TYPES or of_the_test(callee)


def may_use(owner: Any) -> bool:
    """Anything handed over may be used by its special methods, but not classes, modules and functions."""
    return not isinstance(owner, (type, type(sys)))


def of_the_test(value: Any) -> bool:
    """Whether an object's class is the test's own, or a mock."""
    return getattr(type(value), "__module__", "") in (TEST_MODULE, "unittest.mock")


def _attribute(operation: str, owner: Any, name: str, value: Any = None) -> Any:
    public = not name.startswith("_") and (of_the_test(owner) or (isinstance(owner, READERS) and operation == "attr"))
    mock = sys.modules.get("unittest.mock")
    if mock is not None and isinstance(owner, mock.NonCallableMock) and hasattr(mock.NonCallableMock, name):
        public = False  # what a mock is asked by the test, such as assert_called_with
    if operation == "setattr" and callable(getattr(type(owner), name, None)):
        public = False  # a method of the test's class
    if operation == "attr" and (public or (name in GRANTED_DUNDERS and type(owner) in CALLABLE_TYPES)):
        return getattr(owner, name)
    if operation == "setattr" and public:
        return setattr(owner, name, value)
    raise AttributeError(name)


def _read_input(prompt: Any) -> str:
    if builtins.input is ORIGINAL_INPUT and sys.stdin is sys.__stdin__:
        raise EOFError("EOF when reading a line")
    return builtins.input(str(prompt))


def _awaited_here(awaitable: Any) -> Any:
    step = awaitable.__await__() if hasattr(type(awaitable), "__await__") else awaitable
    try:
        while True:
            step.send(None) if hasattr(step, "send") else next(step)
    except StopIteration as end:
        return end.value


ORIGINAL_INPUT, ORIGINAL_PRINT = builtins.input, builtins.print


def in_words(error: BaseException) -> str:
    """What is told of an exception: its class, and its text only where it is the submission's."""
    name = type(error).__name__[:80]
    if not error.__dict__.get("__from_other_end__"):
        return name
    try:
        text = str(error)
    except Exception:  # made of a stranger's data
        text = ""
    return f"{name}: {text}"[:NOTE_CHARS] if text else name


def judge(payload: bytes, channel_fd: int, emit: Callable[[bytes], None]) -> None:
    """Entry point of the judge's process."""

    def report(frame: dict[str, Any]) -> None:
        emit(json.dumps(frame).encode())

    task = json.loads(payload)
    if task["style"] == "interactive":
        catch_up()
        judge_conversation(task, channel_fd, report)
        return
    sys.setrecursionlimit(RECURSION_LIMIT)
    judge = Judge(task, channel_fd, report)
    try:
        judge.run()
    except BaseException as error:
        if not judge.peer.touches:
            raise
        report({"kind": "confused", "why": type(error).__name__})
