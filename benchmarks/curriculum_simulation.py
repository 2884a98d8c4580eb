"""How much the curriculum raises the share of groups that teach, against uniform sampling; no model, one page of maths.

The world: a prompt has a difficulty d, the policy a skill s, and a completion is right with probability
sigmoid(s - d). A group teaches only if its rewards differ; each such group raises the skill by `gain`, times the
group's reward deviation (what the advantage's numerator scales with), and nothing else does. Difficulties spread widely
(deviation 4), as in real maths sets where most prompts are always solved or never.

    python benchmarks/curriculum_simulation.py --out out/curriculum.png
"""

from __future__ import annotations

import argparse
import math
import random
from dataclasses import dataclass, field
from pathlib import Path

from trainer_client.curriculum import CurriculumSettings, Observation, PassRateTracker, PromptSelector, zero_variance_probability


@dataclass
class Curve:
    informative: list[float] = field(default_factory=list)
    in_band: list[float] = field(default_factory=list)
    pass_rate: list[float] = field(default_factory=list)
    skill: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)


def simulate(sampling: str, args: argparse.Namespace, seed: int) -> Curve:
    world = random.Random(seed)
    difficulty = {f"p{i}": world.gauss(1.0, args.spread) for i in range(args.prompts)}
    ids = list(difficulty)
    selector = PromptSelector(ids, PassRateTracker(CurriculumSettings()), seed=seed)
    skill, curve = 0.0, Curve()
    for batch in range(1, args.batches + 1):
        chosen = world.sample(ids, args.batch_size) if sampling == "uniform" else selector.choose(args.batch_size).prompt_ids
        observations = []
        expected = 0.0
        for prompt_id in chosen:
            chance = 1 / (1 + math.exp(difficulty[prompt_id] - skill))
            expected += 1 - zero_variance_probability(chance, args.group_size)
            passed = sum(world.random() < chance for _ in range(args.group_size))
            low, high = float(passed == args.group_size), float(passed > 0)
            observations.append(Observation(prompt_id, passed, args.group_size, low, high))
        report = selector.tracker.observe(observations, batch)
        for seen in observations:
            rate = seen.passed / seen.scored
            skill += args.gain * math.sqrt(rate * (1 - rate)) / args.batch_size
        curve.informative.append(report.informative_share)
        curve.in_band.append(report.in_band_share)
        curve.pass_rate.append(report.pass_rate)
        curve.expected.append(expected / args.batch_size)
        curve.skill.append(skill)
    return curve


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def smooth(values: list[float], width: int = 15) -> list[float]:
    return [mean(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))]


def plot(curves: dict[str, Curve], path: Path, group_size: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4), layout="constrained")
    for (name, curve), colour in zip(curves.items(), ("#9a9a9a", "#0b6e4f"), strict=True):
        batches = range(1, len(curve.skill) + 1)
        axes[0].plot(batches, smooth(curve.informative), color=colour, label=name)
        axes[1].plot(batches, smooth(curve.pass_rate), color=colour, label=name)
        axes[2].plot(batches, curve.skill, color=colour, label=name)
    axes[0].set(title=f"Groups that teach (G = {group_size})", ylim=(0, 1), ylabel="share of a batch's groups")
    axes[1].set(title="Pass rate of the batches", ylim=(0, 1), ylabel="mean pass rate")
    axes[1].axhspan(0.2, 0.8, color="#0b6e4f", alpha=0.08)
    axes[2].set(title="Skill gained", ylabel="skill (log-odds)")
    for axis in axes:
        axis.set_xlabel("generation batch")
        axis.grid(alpha=0.25)
        axis.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=4000)
    parser.add_argument("--batches", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--spread", type=float, default=4.0)
    parser.add_argument("--gain", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("out/curriculum_simulation.png"))
    args = parser.parse_args()
    print(f"{'sampling':12}{'seed':>5}{'informative':>13}{'second half':>13}{'in band':>9}{'pass rate':>11}{'skill':>8}")
    for seed in range(args.seeds):
        curves = {name: simulate(name, args, seed) for name in ("uniform", "curriculum")}
        for name, curve in curves.items():
            half = curve.informative[len(curve.informative) // 2 :]
            row = [mean(curve.informative), mean(half), mean(curve.in_band), mean(curve.pass_rate), curve.skill[-1]]
            print(f"{name:12}{seed:5}{row[0]:13.3f}{row[1]:13.3f}{row[2]:9.3f}{row[3]:11.3f}{row[4]:8.2f}")
        gain = mean(curves["curriculum"].informative) / mean(curves["uniform"].informative)
        print(f"{'':12}{seed:5}  x {gain:.2f} informative groups a batch")
        if seed == 0:
            plot(curves, args.out, args.group_size)
    print(f"plot of seed 0: {args.out}")


if __name__ == "__main__":
    main()
