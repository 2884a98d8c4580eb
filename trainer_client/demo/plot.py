"""The demo's curve as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def plot_rewards(rewards: Sequence[float], others: Mapping[str, Sequence[float]], title: str, path: Path) -> None:
    """Rewards of each step with their running mean, the first and the last fifth marked; `others` are shares beneath."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 7), sharex=True, layout="constrained")
    steps = range(1, len(rewards) + 1)
    above.plot(steps, rewards, color="#9ccbb8", linewidth=1, label="reward of each step")
    above.plot(steps, running_mean(rewards), color="#0b6e4f", linewidth=2, label="running mean")
    fifth = max(1, len(rewards) // 5)
    for begin, values in ((1, rewards[:fifth]), (len(rewards) - fifth + 1, rewards[-fifth:])):
        mean = sum(values) / len(values)
        above.hlines(mean, begin, begin + fifth - 1, color="#c1440e", linewidth=3)
        above.annotate(f"{mean:.2f}", (begin + fifth / 2, mean), textcoords="offset points", xytext=(0, 8), ha="center")
    above.set(title=title, ylabel="mean reward")
    above.legend(frameon=False, loc="lower right")
    for name, values in others.items():
        below.plot(range(1, len(values) + 1), running_mean(values), label=name)
    below.set(xlabel="optimizer step", ylabel="share (running mean)", ylim=(-0.02, 1.02))
    below.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=max(len(others), 1))
    for axis in (above, below):
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def running_mean(values: Sequence[float], width: int = 9) -> list[float]:
    return [sum(values[max(0, i - width + 1) : i + 1]) / len(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))]
