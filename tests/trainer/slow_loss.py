"""The losses once more, with Python floats and loops straight from the formulas: what the tensors are compared with."""

from __future__ import annotations

import math

from trainer_client.grpo_loss import LossOptions

Rows = list[list[float]]


def slow_loss(policy: Rows, old: Rows, ref: Rows, mask: list[list[int]], advantages: list[float], o: LossOptions) -> float:
    sequences: list[list[float]] = []
    for row in range(len(policy)):
        tokens = [t for t in range(len(policy[row])) if mask[row][t]]
        if tokens:
            sequences.append([_token(policy[row], old[row], ref[row], tokens, t, advantages[row], o) for t in tokens])
    if o.reduction == "sequence_mean":
        return sum(sum(values) / len(values) for values in sequences) / len(sequences)
    everything = [value for values in sequences for value in values]
    if o.reduction == "token_mean":
        return sum(everything) / len(everything)
    assert o.constant_length is not None
    return sum(everything) / (len(sequences) * o.constant_length)


def _token(
    policy: list[float], old: list[float], ref: list[float], tokens: list[int], t: int, advantage: float, o: LossOptions
) -> float:
    if o.importance_level == "sequence":
        ratio = math.exp(sum(policy[i] - old[i] for i in tokens) / len(tokens))
    else:
        ratio = math.exp(policy[t] - old[t])
    if o.surrogate == "cispo":
        value = -min(ratio, o.ratio_cap) * advantage * policy[t]
    else:
        clipped = min(max(ratio, 1 - o.epsilon_low), 1 + o.epsilon_high)
        bounded = ratio if o.delta is None else min(ratio, o.delta)
        value = -min(bounded * advantage, clipped * advantage)
    distance = ref[t] - policy[t]
    kl = {"k1": -distance, "k2": distance**2 / 2, "k3": math.exp(distance) - distance - 1}[o.kl_estimator]
    return value + o.beta * kl * (ratio if o.kl_bias_correction else 1.0)
