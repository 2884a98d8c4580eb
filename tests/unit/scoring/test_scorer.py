"""The scorer keeps order, contains failures, and never turns a failure into a number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from verifier_protocol import Group, Outcome, ScoredVerdict, UnscoredReason, UnscoredVerdict, VerifierId
from verifier_service.faults import DeadlineExceeded, InfrastructureFault, Overloaded, TaskFault
from verifier_service.observability.metrics import Metrics
from verifier_service.scoring.scorer import Scorer
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline, SpecRefused

Behaviour = Callable[[str], Awaitable[float]]


class Scripted:
    """A verifier that does what its script says and keeps what it was asked."""

    def __init__(self, behaviour: Behaviour, kind: str = "scripted", outcome: Outcome = Outcome.INCORRECT) -> None:
        self.kind = kind
        self.id = VerifierId(name=kind, version="1")
        self.asked: list[str] = []
        self._behaviour = behaviour
        self._outcome = outcome

    async def start(self) -> None: ...
    async def aclose(self) -> None: ...
    async def canary(self) -> None: ...

    def describe(self) -> Mapping[str, Any]:
        return {}

    def prepare(self, spec: Any) -> Any:
        if spec.options.get("refuse"):
            raise SpecRefused("options.refuse", "not here")
        if spec.options.get("broken"):
            raise TaskFault("the task is broken")
        return spec

    async def verify(self, task: Any, completion: str, deadline: Deadline) -> ScoredVerdict:
        self.asked.append(completion)
        score = await self._behaviour(completion)
        return ScoredVerdict(kind=self.kind, score=score, outcome=self._outcome, verifier=self.id)


async def by_length(text: str) -> float:
    await asyncio.sleep(0)
    return 1.0 if len(text) == 1 else 0.0


def scorer_of(*verifiers: Scripted, **settings: Any) -> Scorer:
    return Scorer({v.kind: v for v in verifiers}, Settings(**settings), Metrics())


def group(*completions: str, **spec: Any) -> Group:
    return Group.model_validate({"completions": list(completions), "verifiers": [{"kind": "scripted"} | spec]})


async def test_verdict_i_answers_completion_i_however_long_each_takes() -> None:
    async def slow_first(text: str) -> float:
        await asyncio.sleep({"a": 0.03, "b": 0.01, "c": 0.0}[text])
        return {"a": 0.1, "b": 0.2, "c": 0.3}[text]

    answer = await scorer_of(Scripted(slow_first)).score([group("a", "b", "c"), group("c", "a")])
    assert [g.rewards for g in answer.groups] == [[0.1, 0.2, 0.3], [0.3, 0.1]]


async def test_identical_completions_of_a_group_are_verified_once() -> None:
    verifier = Scripted(by_length)
    answer = await scorer_of(verifier).score([group("x", "x", "yy", "x")])
    assert sorted(verifier.asked) == ["x", "yy"]
    assert answer.groups[0].rewards == [1.0, 1.0, 0.0, 1.0]


async def test_a_repeatable_verdict_is_cached_by_task_and_completion() -> None:
    verifier = Scripted(by_length)
    scorer = scorer_of(verifier)
    await scorer.score([group("x")])
    again = await scorer.score([group("x")])
    await scorer.score([group("x", options={"other": 1})])
    assert verifier.asked == ["x", "x"]
    verdict = again.groups[0].verdicts[0][0]
    assert isinstance(verdict, ScoredVerdict)
    assert verdict.cached


async def test_a_limit_exceeded_is_never_cached_since_it_depends_on_the_load() -> None:
    verifier = Scripted(by_length, outcome=Outcome.TIME_LIMIT_EXCEEDED)
    scorer = scorer_of(verifier)
    await scorer.score([group("xx")])
    await scorer.score([group("xx")])
    assert verifier.asked == ["xx", "xx"]


async def test_the_same_work_of_two_requests_at_once_is_done_once() -> None:
    verifier = Scripted(by_length)
    scorer = scorer_of(verifier)
    first, second = await asyncio.gather(scorer.score([group("x", "yy")]), scorer.score([group("x", "yy")]))
    assert len(verifier.asked) == 2
    assert first.groups[0].rewards == second.groups[0].rewards == [1.0, 0.0]


async def test_a_request_that_shared_work_survives_the_other_ones_deadline() -> None:
    async def slow(text: str) -> float:
        await asyncio.sleep(0.2)
        return 1.0

    scorer = scorer_of(Scripted(slow))
    hasty, patient = await asyncio.gather(scorer.score([group("x")], deadline_s=0.05), scorer.score([group("x")], deadline_s=5))
    assert hasty.groups[0].rewards == [None]
    assert patient.groups[0].rewards == [1.0]


@pytest.mark.parametrize(
    ("fault", "reason", "retryable", "runs"),
    [
        (TaskFault("no tests"), UnscoredReason.BAD_TASK, False, 1),
        (DeadlineExceeded("late"), UnscoredReason.DEADLINE, True, 1),
        (InfrastructureFault("engine down"), UnscoredReason.INFRASTRUCTURE, True, 2),
        (ZeroDivisionError("a bug of ours"), UnscoredReason.INFRASTRUCTURE, True, 2),
    ],
)
async def test_a_fault_is_unscored_with_its_reason_and_never_a_number(
    fault: Exception, reason: UnscoredReason, retryable: bool, runs: int
) -> None:
    async def fail_on_long(text: str) -> float:
        if len(text) > 1:
            raise fault
        return 1.0

    verifier = Scripted(fail_on_long)
    answer = await scorer_of(verifier).score([group("a", "bad", "c")])
    assert answer.groups[0].rewards == [1.0, None, 1.0]
    verdict = answer.groups[0].verdicts[1][0]
    assert isinstance(verdict, UnscoredVerdict)
    assert (verdict.reason, verdict.retryable) == (reason, retryable)
    assert verifier.asked.count("bad") == runs
    assert answer.groups[0].stats.unscored == 1
    assert answer.groups[0].stats.mean == 1.0


async def test_our_fault_is_tried_once_more_before_it_counts() -> None:
    tries = 0

    async def flaky(text: str) -> float:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise InfrastructureFault("the container died")
        return 1.0

    answer = await scorer_of(Scripted(flaky)).score([group("x")])
    assert answer.groups[0].rewards == [1.0]


async def test_a_bug_says_nothing_of_itself_on_the_wire() -> None:
    async def bug(text: str) -> float:
        raise KeyError("the gold is forty-two")

    answer = await scorer_of(Scripted(bug)).score([group("x")])
    assert "forty-two" not in answer.model_dump_json()


async def test_what_has_not_run_by_the_deadline_is_unscored_and_the_rest_keeps_its_score() -> None:
    async def slow_on_long(text: str) -> float:
        await asyncio.sleep(30 if len(text) > 1 else 0)
        return 1.0

    answer = await scorer_of(Scripted(slow_on_long)).score([group("a", "slow")], deadline_s=0.1)
    assert answer.groups[0].rewards == [1.0, None]
    verdict = answer.groups[0].verdicts[1][0]
    assert isinstance(verdict, UnscoredVerdict)
    assert verdict.reason is UnscoredReason.DEADLINE


async def test_a_broken_task_makes_its_group_unscored_and_no_other() -> None:
    answer = await scorer_of(Scripted(by_length)).score([group("a", options={"broken": True}), group("a")])
    assert [g.rewards for g in answer.groups] == [[None], [1.0]]


async def test_a_refused_spec_is_named_by_its_path_and_nothing_is_run() -> None:
    verifier = Scripted(by_length)
    with pytest.raises(SpecRefused) as e:
        await scorer_of(verifier).score([group("a"), group("a", options={"refuse": True})])
    assert e.value.field == "groups[1].verifiers[0].options.refuse"
    assert verifier.asked == []


async def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SpecRefused, match="scripted"):
        await scorer_of(Scripted(by_length)).score([group("a", kind="unheard_of")])


async def test_a_reward_is_the_weighted_sum_and_null_when_any_part_is_unscored() -> None:
    async def fail(text: str) -> float:
        if text == "c":
            raise InfrastructureFault("down")
        return 0.5

    scorer = scorer_of(Scripted(by_length), Scripted(fail, "second"))
    both = {"completions": ["a", "bb", "c"], "verifiers": [{"kind": "scripted", "weight": 2}, {"kind": "second", "weight": -0.5}]}
    answer = await scorer.score([Group.model_validate(both)])
    assert answer.groups[0].rewards == [1.75, -0.25, None]


async def test_a_full_service_refuses_the_whole_request_and_says_when_to_come_back() -> None:
    release = asyncio.Event()

    async def wait(text: str) -> float:
        await release.wait()
        return 1.0

    verifier = Scripted(wait)
    scorer = scorer_of(verifier, max_inflight_completions=2)
    first = asyncio.create_task(scorer.score([group("a", "b")]))
    await asyncio.sleep(0.01)
    with pytest.raises(Overloaded) as e:
        await scorer.score([group("c")])
    assert e.value.retry_after_s >= 1
    release.set()
    assert (await first).groups[0].rewards == [1.0, 1.0]
    assert (await scorer.score([group("c")])).groups[0].rewards == [1.0]


async def test_room_is_given_back_when_a_request_is_cancelled() -> None:
    async def never(text: str) -> float:
        await asyncio.sleep(60)
        return 1.0

    scorer = scorer_of(Scripted(never), max_inflight_completions=1)
    task = asyncio.create_task(scorer.score([group("a")]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    answer = await scorer.score([group("b")], deadline_s=0.01)
    assert answer.groups[0].rewards == [None]


async def test_statistics_are_over_the_rewards_there_are() -> None:
    async def graded(text: str) -> float:
        if text == "?":
            raise InfrastructureFault("down")
        return float(text)

    answer = await scorer_of(Scripted(graded)).score([group("1", "0", "1", "?"), group("0", "0.0"), group("?")])
    first, second, third = (g.stats for g in answer.groups)
    assert first.mean == pytest.approx(2 / 3)
    assert first.std == pytest.approx((2 / 9) ** 0.5)
    assert first.pass_rate == pytest.approx(2 / 3)
    assert (first.unscored, first.zero_variance) == (1, False)
    assert (second.std, second.zero_variance) == (0.0, True)
    assert (third.mean, third.std, third.pass_rate, third.zero_variance) == (None, None, None, False)
