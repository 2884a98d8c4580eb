"""TRL's own code calls the reward function: found to be async, awaited on its loop, None kept out of the statistics."""

from __future__ import annotations

import types
from collections import defaultdict

import httpx
import pytest

from trainer_client.trl_reward import make_reward_function, make_reward_functions

pytestmark = pytest.mark.trainer


@pytest.fixture
def calculate(service, kit):
    """GRPOTrainer._calculate_rewards with only what it reads of a trainer."""
    pytest.importorskip("trl")
    import torch
    from accelerate import PartialState
    from trl import GRPOTrainer
    from trl.trainer.utils import get_callable_name, shutdown_event_loop_in_daemon, start_event_loop_in_daemon

    PartialState(cpu=True)
    thread, loop, ready = start_event_loop_in_daemon(name="test")
    ready.wait()
    clients = []

    def run(functions, rows, completions):
        for function in functions:
            client = function.keywords["reward_plan"].client
            client._transport = lambda: httpx.MockTransport(service)
            clients.append(client)
        trainer = types.SimpleNamespace(
            accelerator=types.SimpleNamespace(device=torch.device("cpu"), is_main_process=True),
            args=types.SimpleNamespace(report_to=[]),
            reward_funcs=functions,
            reward_func_names=[get_callable_name(function) for function in functions],
            reward_processing_classes=[None] * len(functions),
            state=types.SimpleNamespace(global_step=1),
            environments=None,
            async_loop=loop,
            _pending_extra_logs=defaultdict(list),
            _pending_metrics=defaultdict(list),
        )
        trainer._log_completion_extra = types.MethodType(GRPOTrainer._log_completion_extra, trainer)
        trainer._log_metric = types.MethodType(GRPOTrainer._log_metric, trainer)
        prompts = [row["prompt"] for row in rows]
        rewards = GRPOTrainer._calculate_rewards(trainer, rows, prompts, completions, [[1]] * len(rows))
        return rewards, trainer

    yield run
    for client in clients:
        client.close()
    shutdown_event_loop_in_daemon(thread, loop)
    loop.close()


def rows(*answers):
    return [{"prompt": "p", "answer": answer, "prompt_id": 1} for answer in answers]


def test_trl_detects_the_functions_and_names_them():
    utils = pytest.importorskip("trl.trainer.utils")
    functions = [make_reward_function("http://s"), *make_reward_functions("http://s")]
    assert all(utils.is_async_callable(function) for function in functions)
    assert [utils.get_callable_name(f) for f in functions] == ["verified_reward", "accuracy_reward", "format_reward"]


def test_trl_gets_rewards_nan_for_the_unscored_and_the_metrics(calculate, service, kit):
    service.verdict = lambda text, spec: (
        service.unscored(spec, "bad_task", retryable=False) if text == "lost" and spec["kind"] == "math" else None
    )
    function = make_reward_function("http://s", ["math"], **kit.fast)
    rewards, trainer = calculate([function], rows("42", "42", "42"), ["42", "1", "lost"])
    assert rewards[:, 0].tolist()[:2] == [1.0, 0.0]
    assert rewards[:, 0].isnan().tolist() == [False, False, True]
    assert trainer._pending_metrics["verifier/pass_rate"] == [0.5]
    assert len(trainer._pending_extra_logs["verdict"]) == 3


def test_with_separate_functions_an_unscored_row_is_nan_in_both(calculate, service, kit):
    service.verdict = lambda text, spec: (
        service.unscored(spec, "bad_task", retryable=False) if text == "lost" and spec["kind"] == "math" else None
    )
    functions = make_reward_functions("http://s", ["math", "format"], **kit.fast)
    rewards, _ = calculate(functions, rows("42", "42", "42"), ["42", "1", "lost"])
    assert rewards.isnan().tolist() == [[False, False], [False, False], [True, True]]
    assert len(service.requests) == 1
