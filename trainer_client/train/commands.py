"""The commands of `trainer-client`. Heavy imports happen inside them."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from trainer_client.planner import PlanRequest, plan, shape_of
from trainer_client.train.config import ConfigError, load_config, preset_names
from trainer_client.train.report import print_comparison, print_plan

app = typer.Typer(help="GRPO with verified rewards.", no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
console = Console()

TABLE_SIZES = (7e9, 32e9, 70e9)


def _fail(error: Exception) -> typer.Exit:
    Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
    return typer.Exit(2)


@app.command()
def train(
    config: Annotated[str, typer.Option(help="A YAML file, or a preset's name (see `trainer-client presets`).")],
    changes: Annotated[list[str] | None, typer.Option("--set", help="A change, such as grpo.learning_rate=2e-6.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan; load no model.")] = False,
) -> None:
    """Train with GRPO, rewarded by the service. Resumes from the last checkpoint in output_dir."""
    from trainer_client.train.launch import launch_command, needs_launcher, replace_process
    from trainer_client.train.run import prepare
    from trainer_client.train.run import train as run_training

    try:
        loaded = load_config(config, changes)
        prepared = prepare(loaded, console, dry_run=dry_run)
        if dry_run:
            console.print("Dry run: nothing was trained.")
            return
        if needs_launcher(loaded):
            replace_process(launch_command(loaded, sys.argv[2:]))
        run_training(prepared)
    except ConfigError as error:
        raise _fail(error) from None


@app.command("plan")
def plan_command(
    model_params: Annotated[float, typer.Option(help="Parameters of the policy, such as 7e9.")] = 7e9,
    algorithm: Annotated[str, typer.Option(help="grpo, ppo or dpo.")] = "grpo",
    gpus: Annotated[int, typer.Option(help="GPUs that train.")] = 8,
    gpu_memory_gib: Annotated[float, typer.Option(help="Memory of one.")] = 80.0,
    sharding: Annotated[str, typer.Option(help="none, zero1, zero2, zero3 or fsdp.")] = "zero3",
    rollouts: Annotated[str, typer.Option(help="off (transformers), colocate or server (vLLM).")] = "colocate",
    prompt_tokens: Annotated[int, typer.Option(help="Tokens of a prompt.")] = 512,
    completion_tokens: Annotated[int, typer.Option(help="Tokens of a completion.")] = 2048,
    micro_batch: Annotated[int, typer.Option(help="Completions in one forward pass of one GPU.")] = 1,
    sequences: Annotated[int, typer.Option(help="Completions generated at one time, all GPUs.")] = 256,
    beta: Annotated[float, typer.Option(help="KL weight; 0 needs no reference model.")] = 0.04,
    lora_params: Annotated[float, typer.Option(help="Trained parameters of an adapter; 0 trains all.")] = 0.0,
    reward_model: Annotated[bool, typer.Option(help="PPO with a learned reward model.")] = False,
    checkpointing: Annotated[bool, typer.Option(help="Gradient checkpointing.")] = True,
) -> None:
    """Estimate the memory of a run, and compare PPO, GRPO and DPO at 7B, 32B and 70B."""
    try:
        request = PlanRequest(
            shape=shape_of(model_params),
            algorithm=_choice("algorithm", algorithm, ("grpo", "ppo", "dpo")),
            beta=beta,
            gpus=gpus,
            gpu_gib=gpu_memory_gib,
            sharding=_choice("sharding", sharding, ("none", "zero1", "zero2", "zero3", "fsdp")),
            rollouts=_choice("rollouts", rollouts, ("off", "colocate", "server")),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            micro_batch=micro_batch,
            sequences=sequences,
            gradient_checkpointing=checkpointing,
            lora_params=lora_params,
            reward_model=reward_model,
        )
        print_plan(console, plan(request))
    except ValueError as error:
        raise _fail(error) from None
    base = replace(request, gpus=1, sharding="none", rollouts="server", lora_params=0.0)
    print_comparison(console, base, TABLE_SIZES)


def _choice(name: str, value: str, known: tuple[str, ...]) -> Any:
    if value not in known:
        raise ConfigError(f"--{name} is one of {', '.join(known)}, not {value}")
    return value


@app.command()
def presets(show: Annotated[str | None, typer.Argument(help="Print this one.")] = None) -> None:
    """List the presets, or print one to start a file of your own from."""
    from trainer_client.train.config import PRESETS

    if show is None:
        for name in preset_names():
            first = (PRESETS / f"{name}.yaml").read_text().splitlines()[0]
            console.print(f"{name:24}{first.removeprefix('# ')}", markup=False, highlight=False)
        return
    if show not in preset_names():
        raise _fail(ConfigError(f"no preset {show}; there are {', '.join(preset_names())}"))
    sys.stdout.write((PRESETS / f"{show}.yaml").read_text())


@app.command()
def demo(
    task: Annotated[str, typer.Option(help="arithmetic, or code.")] = "arithmetic",
    steps: Annotated[int | None, typer.Option(help="Optimizer steps; absent: the task's own.")] = None,
    url: Annotated[str | None, typer.Option(help="A running service; absent: one is started for the demo.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the model, the log and the plot.")] = Path("out/train-demo"),
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    rollouts: Annotated[str, typer.Option(help="off (transformers), or colocate (vLLM).")] = "off",
) -> None:
    """Let a tiny model learn on this machine's CPU, in minutes, rewarded by the real service."""
    from trainer_client.demo.run import DemoError, run_demo

    try:
        chosen = _choice("task", task, ("arithmetic", "code"))
        mode = _choice("rollouts", rollouts, ("off", "colocate"))
        run_demo(chosen, out, console, url=url, steps=steps, seed=seed, rollouts=mode)
    except (ConfigError, DemoError) as error:
        raise _fail(error) from None
