"""Reward functions for TRL's GRPOTrainer (and whatever else calls `f(prompts=, completions=, **columns)`).

    trainer = GRPOTrainer(..., reward_funcs=make_reward_function("http://127.0.0.1:8000", verifiers=["math", "format"]))

One composite function, since TRL reads a None in one of several functions as 0: the components go to the log. What can
fail is settled inside one deadline; what stays unscored is None, and TRL leaves such a row out of its group's
statistics. A step of which too large a share stays unscored stops the run, on every rank together. This module is the
client's edge to the trainer, the second of the two places where everything is caught (and raised again, by all ranks).

The functions are partials of module-level coroutine functions: TRL finds them to be async, and they can be pickled.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from trainer_client.answers import ScoredGroup
from trainer_client.client import VerifierClient
from trainer_client.client_errors import VerificationAborted
from trainer_client.rewards import ANSWER_KINDS, RewardRecipe, Template, component_rewards, flat_rewards, rows_to_groups
from trainer_client.trl_reward_agreement import sum_over_ranks
from trainer_client.trl_reward_metrics import BatchReport, describe_batch

log = logging.getLogger(__name__)

# Shorter than the NCCL time-out of ten minutes, after which the other ranks would be killed.
DEADLINE_S = 240.0
READY_WAIT_S = 60.0
ANSWER_KIND_SET = frozenset(ANSWER_KINDS)
SHARED_STEPS = 4

RewardFunction = Callable[..., Awaitable[list[float | None]]]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a step may lack before the run is stopped; shares of the step's completions, over all ranks.

    unscored_share: unscored by a failure of the service or by the deadline. bad_task_share: unscored since the data
    set's own gold or tests are broken.
    """

    unscored_share: float = 0.25
    bad_task_share: float = 0.5


class SharedSteps:
    """The separate functions of one step share one call of the service: TRL hands all of them the same list."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: list[tuple[Sequence[Any], Future[Any]]] = []

    def __reduce__(self) -> tuple[type[SharedSteps], tuple[()]]:
        return (SharedSteps, ())

    def of(self, completions: Sequence[Any], start: Callable[[], Future[Any]]) -> Future[Any]:
        with self._lock:
            for known, future in self._steps:
                if known is completions:
                    return future
            future = start()
            self._steps = [*self._steps[-SHARED_STEPS + 1 :], (completions, future)]
            return future


@dataclass(frozen=True, slots=True)
class RewardPlan:
    """All that a reward function needs; plain data and a client, both picklable."""

    client: VerifierClient
    recipe: RewardRecipe
    deadline_s: float = DEADLINE_S
    tolerance: Tolerance = Tolerance()
    ready_wait_s: float = READY_WAIT_S
    log_outcomes: bool = True
    shared: SharedSteps | None = None
    checked: set[str] = field(default_factory=set, compare=False)

    def __getstate__(self) -> list[Any]:
        # What was checked was checked by that process, which may have stood elsewhere.
        return [getattr(self, name) if name != "checked" else set() for name in self.__slots__]

    def __setstate__(self, state: list[Any]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            object.__setattr__(self, name, value)


def make_reward_plan(
    url: str | Sequence[str],
    verifiers: Sequence[Template] | Template | None = None,
    *,
    gold_column: str | None = None,
    deadline_s: float = DEADLINE_S,
    tolerance: Tolerance | None = None,
    ready_wait_s: float = READY_WAIT_S,
    log_outcomes: bool = True,
    **client_options: Any,
) -> RewardPlan:
    """What make_reward_function takes, as a plan.

    Args:
        url: the service, or several replicas of it.
        verifiers: kinds or specs, see RewardRecipe.make; None: `tests` means code, else a gold means math.
        gold_column: the column with the gold, if it isn't one of gold, answer, solution, ground_truth, final_answer.
        deadline_s: total seconds for a step's rewards; keep it below the process group's time-out.
        tolerance: when to stop the run.
        ready_wait_s: how long the first step waits for the service to be ready.
        log_outcomes: add a column with each completion's outcomes to TRL's completions table.
        client_options: fields of ClientSettings, such as token or max_inflight.
    """
    client = VerifierClient(url, **client_options)
    recipe = RewardRecipe.make(verifiers, gold_column=gold_column)
    return RewardPlan(client, recipe, deadline_s, tolerance or Tolerance(), ready_wait_s, log_outcomes)


def make_reward_function(
    url: str | Sequence[str], verifiers: Sequence[Template] | Template | None = None, **options: Any
) -> RewardFunction:
    """One composite reward: the weighted sum of the verifiers' scores, None where one of them left a row unscored.

    Takes the options of make_reward_plan.
    """
    return functools.partial(verified_reward, reward_plan=make_reward_plan(url, verifiers, **options))


def make_reward_functions(
    url: str | Sequence[str], verifiers: Sequence[Template] | Template | None = ("math", "format"), **options: Any
) -> list[RewardFunction]:
    """The same reward as two functions, `accuracy_reward` (math and code) and `format_reward` (all else).

    For trainers and logs that want them apart. They share one call of the service, and a row is None in both or in
    neither, so that no trainer can add half a reward. Takes the options of make_reward_plan.
    """
    plan = dataclasses.replace(make_reward_plan(url, verifiers, **options), shared=SharedSteps())
    return [functools.partial(function, reward_plan=plan) for function in (accuracy_reward, format_reward)]


async def verified_reward(
    completions: Sequence[Any], prompts: Sequence[Any] | None = None, *, reward_plan: RewardPlan, **columns: Any
) -> list[float | None]:
    """One reward per completion, in order; None for the unscored.

    Raises VerificationAborted (on all ranks together) over the tolerance, and what a person must mend.
    """
    report = await _score_step(reward_plan, prompts, completions, columns)
    _log(reward_plan, report, columns)
    return flat_rewards(report.results)


async def accuracy_reward(
    completions: Sequence[Any], prompts: Sequence[Any] | None = None, *, reward_plan: RewardPlan, **columns: Any
) -> list[float | None]:
    """The part of the reward that math and code give. It also writes the step's metrics."""
    report = await _score_step(reward_plan, prompts, completions, columns)
    _log(reward_plan, report, columns)
    return component_rewards(report.results, report.weights, ANSWER_KIND_SET, others=False)


async def format_reward(
    completions: Sequence[Any], prompts: Sequence[Any] | None = None, *, reward_plan: RewardPlan, **columns: Any
) -> list[float | None]:
    """The part of the reward that all other verifiers give."""
    report = await _score_step(reward_plan, prompts, completions, columns)
    return component_rewards(report.results, report.weights, ANSWER_KIND_SET, others=True)


async def _score_step(
    plan: RewardPlan, prompts: Sequence[Any] | None, completions: Sequence[Any], columns: dict[str, Any]
) -> BatchReport:
    """Score this rank's rows, then agree with the other ranks whether to go on."""
    report: BatchReport | None = None
    fault: Exception | None = None
    start = time.monotonic()
    try:
        groups = rows_to_groups(prompts, completions, columns, plan.recipe)
        await _check_ready(plan, groups)
        results = await _results(plan, completions, groups)
        report = describe_batch(groups, results, time.monotonic() - start)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        fault = VerificationAborted("the client was closed while this step was being scored")
    except Exception as error:  # noqa: BLE001  the edge to the trainer: whatever it is, all ranks must hear of it
        fault = error
    _agree(plan.tolerance, report, fault)
    assert report is not None
    return report


async def _check_ready(plan: RewardPlan, groups: list[dict[str, Any]]) -> None:
    """Before the first step of a process, and when a new kind of verifier comes up, ask whether it can be scored."""
    kinds = {_kind(spec) for group in groups for spec in group["verifiers"]} - {""} - plan.checked
    if not kinds:
        return
    report = await plan.client.preflight(kinds, wait_s=plan.ready_wait_s)
    for warning in report.warnings:
        log.warning("a replica will not be of use: %s", warning)
    plan.checked.update(kinds)


def _kind(spec: Any) -> str:
    kind = spec.get("kind") if isinstance(spec, dict) else getattr(spec, "kind", None)
    return kind if isinstance(kind, str) else ""


async def _results(plan: RewardPlan, completions: Sequence[Any], groups: list[dict[str, Any]]) -> list[ScoredGroup]:
    if not groups:
        return []

    def start() -> Future[list[ScoredGroup]]:
        return plan.client.submit(groups, deadline_s=plan.deadline_s)

    if plan.shared is None:
        return await asyncio.wrap_future(start())
    return await asyncio.shield(asyncio.wrap_future(plan.shared.of(completions, start)))


def _agree(tolerance: Tolerance, report: BatchReport | None, fault: Exception | None) -> None:
    """Raise on every rank, or on none."""
    counts = [0, 0, 0] if report is None else [report.completions, report.failed, report.bad_tasks]
    total, failed, bad_tasks, faults = sum_over_ranks([*counts, fault is not None])
    if fault is not None:
        raise fault
    if faults:
        raise VerificationAborted(f"{faults:.0f} other ranks could not score their rows; their logs say why")
    if total and failed / total > tolerance.unscored_share:
        raise VerificationAborted(
            f"{failed:.0f} of {total:.0f} completions of this step could not be verified, more than the tolerated "
            f"{tolerance.unscored_share:.0%}: {report.first_failure if report else ''}. Mend the service (`verifier-service "
            "doctor`), then resume from the last checkpoint"
        )
    if total and bad_tasks / total > tolerance.bad_task_share:
        raise VerificationAborted(
            f"{bad_tasks:.0f} of {total:.0f} completions of this step have a gold or tests that can't be used, more than the "
            f"tolerated {tolerance.bad_task_share:.0%}: {report.first_bad_task if report else ''}. Is the right column read?"
        )


def _log(plan: RewardPlan, report: BatchReport, columns: dict[str, Any]) -> None:
    """Components to log_metric and log_extra, where the trainer has them."""
    if report.bad_tasks:
        log.warning(
            "%d of this step's completions have a gold or tests that can't be used: %s", report.bad_tasks, report.first_bad_task
        )
    log_metric, log_extra = columns.get("log_metric"), columns.get("log_extra")
    if callable(log_metric):
        for name, value in report.metrics.items():
            log_metric(name, value)
    if plan.log_outcomes and callable(log_extra) and report.outcomes:
        log_extra("verdict", report.outcomes)


__all__ = [
    "RewardPlan",
    "Tolerance",
    "accuracy_reward",
    "format_reward",
    "make_reward_function",
    "make_reward_functions",
    "make_reward_plan",
    "verified_reward",
]
