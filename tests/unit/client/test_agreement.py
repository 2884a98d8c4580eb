"""With real process groups (gloo, two processes): every rank gets the same sums, so every rank stops or none."""

from __future__ import annotations

import asyncio
import multiprocessing

import httpx
import pytest

from trainer_client.client_errors import VerifierClientError
from trainer_client.trl_reward_agreement import sum_over_ranks


def test_a_process_without_a_group_is_alone():
    assert sum_over_ranks([1, 2.5, True]) == [1, 2.5, True]


def answer(request: httpx.Request) -> httpx.Response:
    """A service that is dead for whoever asks about 'dead', and else finds everything correct."""
    import json

    if request.method == "GET":
        verifier = {"name": "math", "version": "1"}
        return httpx.Response(200, json={"protocol": "1", "kinds": {"math": {"ready": True}}, "verifiers": {"math": verifier}})
    body = json.loads(request.content)
    groups = []
    for group in body["groups"]:
        if "dead" in group["completions"]:
            raise httpx.ConnectError("refused")
        verdict = {"status": "scored", "kind": "math", "score": 1.0, "outcome": "correct"}
        rows = [[verdict | {"verifier": {"name": "math", "version": "1"}}] for _ in group["completions"]]
        stats = {"unscored": 0, "zero_variance": True}
        groups.append({"id": group["id"], "rewards": [1.0] * len(rows), "verdicts": rows, "stats": stats})
    return httpx.Response(200, json={"protocol": "1", "groups": groups, "timing": {"total_ms": 1}})


def one_rank(rank: int, store: str, steps: list[dict[int, dict]], pipe) -> None:
    import torch.distributed

    from trainer_client.trl_reward import make_reward_function

    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    reward = make_reward_function("http://s", "math", deadline_s=0.4, backoff_base_s=0.01)
    reward.keywords["reward_plan"].client._transport = lambda: httpx.MockTransport(answer)
    said = []
    for step in steps:
        try:
            said.append(asyncio.run(reward(**step[rank])))
        except VerifierClientError as error:
            said.append(type(error).__name__)
    pipe.send(said)
    reward.keywords["reward_plan"].client.close()
    torch.distributed.destroy_process_group()


def rows(*texts):
    return {"completions": list(texts), "prompts": ["p"] * len(texts), "answer": ["42"] * len(texts)}


@pytest.mark.trainer
def test_two_ranks_go_on_and_stop_together(tmp_path):
    pytest.importorskip("torch")
    no_gold = {"completions": ["42"], "prompts": ["p"]}
    steps = [
        {0: rows("42", "42"), 1: rows("42")},
        {0: rows("42"), 1: rows("dead")},  # half of the step is lost: both stop
        {0: no_gold, 1: rows("42")},  # a bug that one rank alone has
        {0: rows("42"), 1: rows("42")},  # and they are still in step with one another
    ]
    context = multiprocessing.get_context("spawn")
    ranks, ends = [], []
    for rank in (0, 1):
        here, there = context.Pipe()
        process = context.Process(target=one_rank, args=(rank, str(tmp_path / "store"), steps, there))
        process.start()
        ranks.append(process)
        ends.append(here)
    said = [end.recv() if end.poll(90) else None for end in ends]
    for process in ranks:
        process.join(20)
        process.kill()
    assert said[0] == [[1.0, 1.0], "VerificationAborted", "RequestRefused", [1.0]]
    assert said[1] == [[1.0], "VerificationAborted", "VerificationAborted", [1.0]]
