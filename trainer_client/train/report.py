"""What is printed of a run before it begins."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from trainer_client.planner import Plan, PlanRequest, compare, gpus_needed, shape_of
from trainer_client.train.checks import Batches, Finding

LEVELS = {"error": "[bold red]error[/]", "warning": "[yellow]warning[/]"}


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    for finding in findings:
        console.print(f"{LEVELS[finding.level]}: ", end="")
        console.print(finding.message, markup=False, highlight=False)


def print_batches(console: Console, batches: Batches, prompts: int | None, epochs: float) -> None:
    table = Table(title="Batches", title_justify="left", show_header=False)
    table.add_row("group size G", str(batches.group_size))
    table.add_row(
        "generation batch",
        f"{batches.generation_batch} completions of {batches.prompts} prompts "
        f"({batches.per_device} per device x {batches.gpus} GPU(s) x {batches.steps_per_generation} steps)",
    )
    table.add_row("optimizer step", f"{batches.optimizer_batch} completions, each generation used {batches.iterations} time(s)")
    if prompts is not None:
        blocks = prompts // max(batches.prompts, 1)
        steps = int(blocks * batches.steps_per_generation * batches.iterations / batches.accumulation * epochs)
        table.add_row("data", f"{prompts} prompts: {blocks} generation batches an epoch, {steps} optimizer steps")
    console.print(table)


def print_plan(console: Console, found: Plan) -> None:
    request = found.request
    title = f"Memory of one GPU: {request.algorithm.upper()}, {request.shape.params / 1e9:.3g}B parameters, {request.sharding}"
    table = Table("part", "GiB", "", title=title, title_justify="left")
    for part in found.parts:
        table.add_row(part.name, f"{part.gib:.2f}", part.note)
    verdict = "fits" if found.fits else "does not fit" if found.rollouts_fit else "vLLM's share is too small"
    table.add_section()
    table.add_row("[bold]total[/]", f"[bold]{found.total_gib:.1f}[/]", f"{verdict} in {request.gpu_gib:g} GiB")
    console.print(table)
    per_param = f"{found.state_bytes_per_param:.3g} bytes per parameter of states before sharding"
    console.print(f"Assumed: {'; '.join([per_param, *found.assumptions])}.", markup=False, highlight=False)
    if not found.fits:
        needed = gpus_needed(request)
        advice = f"{needed} such GPUs with ZeRO-3 or FSDP" if needed is not None else "no number of such GPUs"
        console.print(f"Needed: {advice}; a smaller micro-batch, LoRA or vllm.mode server also help.")


def print_comparison(console: Console, base: PlanRequest, sizes: Sequence[float]) -> None:
    """The usual table: what GRPO saves over PPO by having no critic, as states alone and with everything else."""
    table = Table(
        title=f"One GPU's peak, GiB, unsharded (states alone), T = {base.prompt_tokens} + {base.completion_tokens}, "
        f"micro-batch {base.micro_batch}",
        title_justify="left",
    )
    table.add_column("parameters")
    rows = compare([shape_of(size) for size in sizes], base)
    for name in rows[0]:
        table.add_column(name, justify="right")
    table.add_column("GRPO saves", justify="right")
    for size, row in zip(sizes, rows, strict=True):
        states = {name: p.state_bytes_per_param * size / (1 << 30) for name, p in row.items()}
        saved = 1 - row["GRPO"].total_gib / row["PPO"].total_gib
        saved_states = 1 - states["GRPO"] / states["PPO"]
        cells = [f"{p.total_gib:.0f} ({states[name]:.0f})" for name, p in row.items()]
        table.add_row(f"{size / 1e9:.3g}B", *cells, f"{saved:.0%} ({saved_states:.0%})")
    console.print(table)
    console.print(
        "States per parameter: PPO 34 bytes (36 with a learned reward model), GRPO 18, GRPO without a reference 16, DPO 18. "
        '"Half of PPO\'s memory" is the limit for states alone; activations, logits and the KV cache are the same for both.',
        markup=False,
        highlight=False,
    )
