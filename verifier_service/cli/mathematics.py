"""`explain` and `check-golds`: mathematics judged in front of a person, gold and all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import ValidationError
from rich.markup import escape
from rich.table import Table

from verifier_protocol import MathOptions
from verifier_service.cli.killable import Killable, TookTooLong
from verifier_service.cli.terminal import USAGE_ERROR, console, fail

if TYPE_CHECKING:
    from verifier_service.verifiers.math.explain import Explanation, GoldReport

EXPLAIN_TIMEOUT_S = 30.0
GOLD_TIMEOUT_S = 10.0
SHOWN_GOLDS = 50
SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class NoGold:
    """What stands where a gold should be."""

    status: Literal["missing", "unusable"]
    why: str


def explain(
    gold: Annotated[str, typer.Option(help="The reference answer, or a solution that ends in one.")],
    completion: Annotated[str, typer.Option(help="The completion, with its \\boxed{…}.")],
    options: Annotated[str, typer.Option(help='Options of the math verifier as JSON, such as {"extract": ["hash"]}.')] = "{}",
) -> None:
    """Say why the math verifier gives a completion its score: what was extracted, how it was read, what decided.

    Exit status: 0 right, 1 wrong, 2 the gold or the call can't be used.

        verifier-service explain --gold '0.5' --completion '\\boxed{\\frac{1}{2}}'
    """
    try:
        chosen = MathOptions.model_validate_json(options)
    except ValidationError as error:
        fail(f"--options: {_option_trouble(error)}", USAGE_ERROR)
    try:
        with Killable(EXPLAIN_TIMEOUT_S) as child:
            found = child.call(_explained, gold, completion, chosen)
    except (TookTooLong, ValueError) as error:
        fail(str(error), USAGE_ERROR)
    if isinstance(found, str):
        fail(f"unscored (bad_task): {found}", USAGE_ERROR)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = {
        "outcome": found.outcome,
        "score": f"{found.score:g}",
        "extracted": found.extracted if found.extracted is not None else "nothing",
        "found in": found.place or "-",
        "answer read as": found.answer_form or "-",
        "gold read as": found.gold_form or "-",
        "decided by": found.stage,
        "because": found.reason,
    }
    for name, text in rows.items():
        table.add_row(name, escape(_printable(text)))
    console.print(table)
    raise typer.Exit(0 if found.score == 1.0 else 1)


def check_golds(
    file: Annotated[Path, typer.Argument(help="JSON lines, or one JSON list.", exists=True, dir_okay=False, readable=True)],
    gold_field: Annotated[str, typer.Option(help="Field that holds the gold; a.b is field b of field a.")] = "gold",
) -> None:
    """Read every gold of a data set as the math verifier would, and list those that can't be verified.

    `verifiable`: any equal answer counts, of mathematics or of words such as Paris. `text_only`: the same text counts;
    any other answer is unscored (bad_task) where the gold can't be read, and wrong where the gold has no value, as 0/0.
    `unusable`: every completion would be unscored or refused. `missing`: there is no gold. Exit status 1 when any gold is
    not verifiable.
    """
    counts: Counter[str] = Counter()
    known: dict[str, tuple[str, str]] = {}
    shown = Table("line", "status", "gold", "why", box=None, padding=(0, 2, 0, 0))
    with Killable(GOLD_TIMEOUT_S) as child, console.status("reading golds") as status:
        verdict: str
        for number, gold in _golds(file, gold_field):
            if isinstance(gold, NoGold):
                verdict, why = gold.status, gold.why
            else:
                verdict, why = known.get(gold) or known.setdefault(gold, _checked(child, gold))
            counts[verdict] += 1
            if verdict != "verifiable" and shown.row_count < SHOWN_GOLDS:
                text = _printable("" if isinstance(gold, NoGold) else gold)
                cut = text[:SHOWN_CHARS] + ("…" if len(text) > SHOWN_CHARS else "")
                shown.add_row(str(number), verdict, escape(cut), escape(_printable(why)))
            status.update(f"reading golds: {counts.total():,}")
    if not counts:
        fail(f"{file} has no lines", USAGE_ERROR)
    bad = counts.total() - counts["verifiable"]
    if bad:
        console.print(shown)
        if bad > SHOWN_GOLDS:
            console.print(f"and {bad - SHOWN_GOLDS:,} more")
    console.print(f"{counts.total():,} golds: " + ", ".join(f"{count:,} {name}" for name, count in counts.most_common()))
    raise typer.Exit(1 if bad else 0)


def _option_trouble(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"no option {where}; there are {', '.join(MathOptions.model_fields)}"
    if fault["type"] == "json_invalid":
        return f'no JSON; write it as {{"extract": ["hash"]}} ({fault["msg"].removeprefix("Invalid JSON: ")})'
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])


def _explained(gold: str, completion: str, options: MathOptions) -> Explanation | str:
    """In the child. The text of a TaskFault instead of the fault."""
    from verifier_service.faults import TaskFault
    from verifier_service.verifiers.math.explain import explain as explain_answer

    try:
        return explain_answer(gold, completion, options)
    except TaskFault as fault:
        return str(fault)


def _report(gold: str) -> GoldReport:
    """In the child."""
    from verifier_service.verifiers.math.explain import check_gold

    return check_gold(gold)


def _checked(child: Killable, gold: str) -> tuple[str, str]:
    try:
        report = child.call(_report, gold)
    except (TookTooLong, ValueError) as error:
        return "unusable", str(error)
    return report.status, report.reason


def _golds(file: Path, field: str) -> Iterator[tuple[int, str | NoGold]]:
    """(line or index, gold) of each record."""
    for number, record in _records(file):
        value: Any = record
        for name in field.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(record, NoGold):
            yield number, record
        elif isinstance(value, str):
            yield number, value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield number, NoGold("unusable", 'a number, which is refused: write it as a string, such as "7"')
        else:
            yield number, NoGold("missing", f"no text in the field {field}")


def _records(file: Path) -> Iterator[tuple[int, Any]]:
    with file.open("rb") as lines:
        if lines.read(1) == b"[":
            try:
                yield from enumerate(json.loads(file.read_bytes()), 1)
            except (ValueError, RecursionError) as error:
                fail(f"{file} is no JSON list: {error}", USAGE_ERROR)
            return
        lines.seek(0)
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError):
                    yield number, NoGold("unusable", "the line is no JSON")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
