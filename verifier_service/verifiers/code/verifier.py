"""The code verifier: extract the program, run it in a sandbox, compare outside.

The tests never meet the submission: expected outputs stay in this process or in the judge's, never in one that runs
model code. Who is to blame: whatever the program did is scored; a sandbox that failed is an InfrastructureFault; no
slot before the deadline is a DeadlineExceeded; a task that grades nothing is a TaskFault.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from verifier_protocol import (
    CodeSpec,
    FunctionTests,
    InteractiveTests,
    Outcome,
    ScoredVerdict,
    StdinCase,
    StdinTests,
    VerifierId,
)
from verifier_service.faults import DeadlineExceeded, InfrastructureFault, TaskFault
from verifier_service.sandbox.contract import ProgramRefused, SandboxBackend, SandboxFault, SlotWaitTimeout
from verifier_service.sandbox.ranges import ceilings, defaults
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused
from verifier_service.verifiers.code.drivers import LANGUAGES as DRIVEN
from verifier_service.verifiers.code.extract import extract_program
from verifier_service.verifiers.code.function_driven import run_driven
from verifier_service.verifiers.code.host import SecondChance
from verifier_service.verifiers.code.interactive import INTERACTOR_LANGUAGES, run_interactive
from verifier_service.verifiers.code.judged import run_asserts, run_function
from verifier_service.verifiers.code.limits import resolve
from verifier_service.verifiers.code.naming import language_named
from verifier_service.verifiers.code.results import Tally, no_program, verdict_of
from verifier_service.verifiers.code.stdin_style import run_stdin
from verifier_service.verifiers.code.task import CodeTask, make_task, vacuous_tests

VERSION = "2"
CANARY_S = 30.0
RIGHT, WRONG = "print(int(input()) * 2)", "print(int(input()) + 2)"
NO_SANDBOX = "no sandbox is available for running code; see `verifier-service doctor`"


class CodeVerifier:
    """Runs submissions through a sandbox backend.

    Args:
        backend: where programs run; None when the machine has none.
        unavailable: why there is none and how to mend it.
    """

    kind = "code"
    id = VerifierId(name="code", version=VERSION)

    def __init__(
        self,
        backend: SandboxBackend | None,
        settings: Settings,
        *,
        unavailable: str = "",
        second_chance: SecondChance | None = None,
    ) -> None:
        self._backend = backend
        self._settings = settings
        self._unavailable = unavailable or NO_SANDBOX
        self._second_chance = second_chance or SecondChance()

    async def start(self) -> None:
        """Bring up the slots. Raises InfrastructureFault."""
        try:
            await self._sandbox().start()
        except SandboxFault as fault:
            raise InfrastructureFault(str(fault)) from fault

    async def aclose(self) -> None:
        """Remove all that the backend made."""
        if self._backend is not None:
            await self._backend.aclose()

    def prepare(self, spec: CodeSpec) -> CodeTask:
        """Check language and limits against this deployment, and that there is something to verify.

        Raises:
            SpecRefused: a language that isn't installed, or a limit above its ceiling.
            TaskFault: no tests.
        """
        languages = self._backend.info().languages if self._backend is not None else ("python",)
        spec = _with_our_names(spec)
        if spec.language not in languages:
            raise SpecRefused("language", f"{spec.language} is not available here; there is {', '.join(languages)}")
        _check_style(spec, languages)
        if isinstance(spec.tests, StdinTests) and spec.tests.checker is not None and spec.tests.checker.language not in languages:
            there = ", ".join(languages)
            raise SpecRefused("tests.checker.language", f"{spec.tests.checker.language} is not available here; there is {there}")
        if isinstance(spec.tests, InteractiveTests) and spec.tests.interactor.language not in INTERACTOR_LANGUAGES:
            raise SpecRefused("tests.interactor.language", f"interactors are written in {', '.join(INTERACTOR_LANGUAGES)}")
        return make_task(spec, resolve(spec.limits, self._settings), defaults(self._settings))

    async def verify(self, task: CodeTask, completion: str, deadline: Deadline) -> ScoredVerdict:
        """Score one completion.

        Raises:
            TaskFault, InfrastructureFault, DeadlineExceeded: see verifier_service.faults.
        """
        started = time.perf_counter()
        deadline.check()
        source = _program_of(completion, task.spec)
        if source is None:
            why = f"the reply has no {task.spec.language} code block after its thinking"
            return no_program(self.id, task.total, why, _ms(started))
        try:
            async with asyncio.timeout(deadline.remaining_s()):
                tally, in_process = await self._run(task, source, deadline)
        except (SlotWaitTimeout, TimeoutError) as late:
            raise DeadlineExceeded("the request's deadline passed before all tests had run") from late
        except ProgramRefused as refused:
            if len(source) < task.tests_bytes:
                raise TaskFault(f"the tests are too large: {refused}") from refused
            return no_program(self.id, task.total, f"the program was not run: {refused}", _ms(started), too_large=True)
        except SandboxFault as fault:
            raise InfrastructureFault(str(fault)) from fault
        if tally.first_failure() is None and tally.passed < tally.total:
            raise InfrastructureFault("the sandbox ended before it had run all tests")
        return verdict_of(
            tally,
            verifier=self.id,
            program=source,
            fraction=task.fraction,
            ms=_ms(started),
            trust="in_process" if in_process else "isolated",
            extra=self._extra(task),
        )

    async def canary(self) -> None:
        """A right and a wrong program through real slots, and the backend's own proof that its limits bite."""
        tests = StdinTests(style="stdin", cases=[StdinCase(stdin="21\n", expected_stdout="42\n")])
        task = self.prepare(CodeSpec(kind="code", tests=tests))
        for source, expected in ((RIGHT, Outcome.CORRECT), (WRONG, Outcome.INCORRECT)):
            try:
                verdict = await self.verify(task, f"```python\n{source}\n```", Deadline.after(CANARY_S))
            except DeadlineExceeded as late:
                raise InfrastructureFault(f"no sandbox slot ran the canary within {CANARY_S:g} s") from late
            if verdict.outcome is not expected:
                raise InfrastructureFault(f"the canary came out {verdict.outcome}, not {expected}: {verdict.detail}")
        try:
            await self._sandbox().probe()
        except SandboxFault as fault:
            raise InfrastructureFault(f"a sandbox limit does not bite: {fault}") from fault

    def describe(self) -> Mapping[str, Any]:
        """Facts for GET /v1/verifiers."""
        facts: dict[str, Any] = {
            "kind": self.kind,
            "name": self.id.name,
            "version": self.id.version,
            "styles": ["stdin", "function", "asserts", "interactive"],
            "compare": ["lines", "exact", "tokens", "float", "unordered_lines"],
            "limits": {
                "default": asdict(defaults(self._settings)),
                "ceiling": asdict(ceilings(self._settings)),
            },
        }
        if self._backend is None:
            return {**facts, "languages": [], "unavailable": self._unavailable}
        info = self._backend.info()
        sandbox = {"backend": info.name, "isolation": info.isolation, "runtime": info.runtime, "slots": info.slots}
        languages = {"languages": list(info.languages), "language_versions": info.versions, "profiles": info.profiles}
        languages["function_languages"] = [name for name in info.languages if name == "python" or name in DRIVEN]
        return {**facts, **languages, "sandbox": sandbox}

    async def _run(self, task: CodeTask, source: str, deadline: Deadline) -> tuple[Tally, bool]:
        backend, tests = self._sandbox(), task.spec.tests
        if isinstance(tests, StdinTests):
            return await run_stdin(backend, task, source, deadline, self._second_chance), False
        if isinstance(tests, FunctionTests) and task.spec.language != "python":
            return await run_driven(backend, task, source, deadline, self._second_chance), False
        if isinstance(tests, FunctionTests):
            return await run_function(backend, task, source, deadline, self._second_chance), False
        if isinstance(tests, InteractiveTests):
            return await run_interactive(backend, task, source, deadline, self._second_chance), False
        return await run_asserts(backend, task, source, deadline, self._second_chance)

    def _sandbox(self) -> SandboxBackend:
        if self._backend is None:
            raise InfrastructureFault(self._unavailable)
        return self._backend

    def _extra(self, task: CodeTask) -> dict[str, Any] | None:
        """A task's weak spot that its author should know of."""
        if isinstance(task.spec.tests, StdinTests) and (vacuous := vacuous_tests(task.spec.tests)):
            return {"vacuous_tests": vacuous}
        return None


def _with_our_names(spec: CodeSpec) -> CodeSpec:
    """The task, with its languages called as our table calls them."""
    tests = spec.tests
    if isinstance(tests, StdinTests) and tests.checker is not None:
        checker = tests.checker.model_copy(update={"language": language_named(tests.checker.language)})
        tests = tests.model_copy(update={"checker": checker})
    if isinstance(tests, InteractiveTests):
        language = language_named(tests.interactor.language)
        tests = tests.model_copy(update={"interactor": tests.interactor.model_copy(update={"language": language})})
    return spec.model_copy(update={"language": language_named(spec.language), "tests": tests})


def _check_style(spec: CodeSpec, languages: Sequence[str]) -> None:
    """Not every language has tests that call the submission. Raises SpecRefused."""
    tests = spec.tests
    if spec.language == "python" or isinstance(tests, StdinTests | InteractiveTests):
        return
    having = ("python", *DRIVEN) if isinstance(tests, FunctionTests) else ("python",)
    if spec.language not in having:
        there = ", ".join(language for language in having if language in languages)
        raise SpecRefused(
            "language", f"tests of style {tests.style} are for {there}; use style stdin or interactive for {spec.language}"
        )
    if isinstance(tests, FunctionTests) and any(case.kwargs for case in tests.cases):
        raise SpecRefused("tests.cases", f"kwargs are for python; give the arguments of {spec.language} by position, in args")


def _program_of(completion: str, spec: CodeSpec) -> str | None:
    if spec.extract == "whole":
        program = completion.removeprefix("\ufeff").replace("\r\n", "\n")  # as it is in a block
        return program if program.strip() else None
    return extract_program(completion, spec.language)


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
