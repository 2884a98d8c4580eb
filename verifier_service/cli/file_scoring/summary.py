"""Counts over all results of a file, and the table that shows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table

from verifier_protocol import ScoredVerdict
from verifier_service.cli.file_scoring.results import Record


@dataclass(slots=True)
class Summary:
    """`full`: completions that every verifier gave its full score. `agreed` of `labelled`: verdicts as the labels say;
    what is unscored or labelled null counts in neither."""

    groups: int = 0
    completions: int = 0
    rewarded: int = 0
    full: int = 0
    reward_sum: float = 0.0
    zero_variance: int = 0
    labelled: int = 0
    agreed: int = 0
    false_accepts: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    unscored: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: dict[str, set[str]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.groups += 1
        self.zero_variance += record.stats.zero_variance
        labels = record.labels or [None] * len(record.rewards)
        for reward, row, label in zip(record.rewards, record.verdicts, labels, strict=True):
            self.completions += 1
            for verdict in row:
                self.versions.setdefault(verdict.kind, set()).add(verdict.verifier.version)
                if isinstance(verdict, ScoredVerdict):
                    self.outcomes[verdict.kind, verdict.outcome.value] += 1
                else:
                    self.unscored[verdict.kind, verdict.reason.value] += 1
            if reward is None:
                continue
            passed = all(isinstance(v, ScoredVerdict) and v.score == 1.0 for v in row)
            self.rewarded += 1
            self.full += passed
            self.reward_sum += reward
            if label is not None:
                self.labelled += 1
                self.agreed += passed == label
                self.false_accepts += passed and not label

    @property
    def mixed_versions(self) -> dict[str, list[str]]:
        """Kinds whose verdicts come from several versions of their verifier, that is, from several reward functions."""
        return {kind: sorted(found) for kind, found in self.versions.items() if len(found) > 1}

    @property
    def without_reward(self) -> int:
        return self.completions - self.rewarded

    def table(self, new_completions: int, seconds: float, failed_lines: int) -> RenderableType:
        """For a terminal. `new_completions` were scored in this run, within `seconds`."""
        facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        facts.add_column(style="bold")
        facts.add_column()
        facts.add_row("groups", f"{self.groups:,}")
        facts.add_row("completions", f"{self.completions:,}")
        facts.add_row("pass rate", _share(self.full, self.rewarded))
        facts.add_row("mean reward", f"{self.reward_sum / self.rewarded:.4f}" if self.rewarded else "-")
        facts.add_row("groups without variance", _share(self.zero_variance, self.groups))
        if self.labelled:
            facts.add_row("agreement with labels", f"{self.agreed:,} of {self.labelled:,} ({_share(self.agreed, self.labelled)})")
            facts.add_row("  accepted against the label", f"{self.false_accepts:,}")
            facts.add_row("  refused against the label", f"{self.labelled - self.agreed - self.false_accepts:,}")
        facts.add_row("unscored completions", f"{self.without_reward:,}", style="yellow" if self.without_reward else None)
        facts.add_row("lines that failed", f"{failed_lines:,}", style="red" if failed_lines else None)
        rate = f", {new_completions / seconds:,.0f} completions/s" if seconds > 0 and new_completions else ""
        facts.add_row("this run", f"{new_completions:,} completions in {seconds:.1f} s{rate}")
        return Stack(facts, self._outcomes())

    def _outcomes(self) -> Table:
        table = Table("verifier", "outcome", box=SIMPLE_HEAD, padding=(0, 2, 0, 0))
        table.add_column("count", justify="right")
        table.add_column("share", justify="right")
        totals: Counter[str] = Counter()
        for (kind, _), count in (self.outcomes + self.unscored).items():
            totals[kind] += count
        for (kind, outcome), count in sorted(self.outcomes.items(), key=lambda item: (item[0][0], -item[1])):
            table.add_row(kind, outcome, f"{count:,}", _share(count, totals[kind]))
        for (kind, reason), count in sorted(self.unscored.items()):
            table.add_row(kind, f"unscored: {reason}", f"{count:,}", _share(count, totals[kind]), style="yellow")
        return table


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "-"
