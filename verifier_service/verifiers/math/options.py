"""The options of a math task inside the verifier: the wire's MathOptions as a plain value that crosses to workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verifier_protocol import MathOptions

BAD_TASK = "bad_task"
"""What a worker answers in place of an outcome where the gold is at fault."""
MEMORY_EXIT = 77
"""Exit status of a worker that ran out of memory on an item."""
RETIRED_EXIT = 78
"""Exit status of a worker that has grown and asks for a successor."""


@dataclass(frozen=True, slots=True)
class Options:
    """See verifier_protocol.MathOptions for the meaning of each."""

    precision: str = "rounded"
    rel_tol: float | None = None
    percent: str = "lenient"
    units: str = "lenient"
    extract: tuple[str, ...] = ("boxed",)
    order_matters: bool | None = None
    allow_unevaluated: bool = False

    @classmethod
    def of(cls, options: MathOptions) -> Options:
        return cls(
            options.precision,
            options.rel_tol,
            options.percent,
            options.units,
            tuple(options.extract),
            options.order_matters,
            options.allow_unevaluated,
        )

    def to_list(self) -> list[Any]:
        return [
            self.precision,
            self.rel_tol,
            self.percent,
            self.units,
            list(self.extract),
            self.order_matters,
            self.allow_unevaluated,
        ]

    @classmethod
    def from_list(cls, fields: list[Any]) -> Options:
        precision, rel_tol, percent, units, extract, order_matters, allow_unevaluated = fields
        return cls(precision, rel_tol, percent, units, tuple(extract), order_matters, allow_unevaluated)
