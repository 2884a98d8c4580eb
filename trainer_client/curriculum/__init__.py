"""Batches at a pass rate worth training on. Nothing here imports torch but `sampler`, `trl_trainer` and `resampling`."""

from trainer_client.curriculum.advice import SizeAdvice, advise_group_size, tabulate, zero_variance_probability
from trainer_client.curriculum.selection import Choice, PromptSelector
from trainer_client.curriculum.tracker import (
    BatchReport,
    CurriculumSettings,
    Observation,
    PassRateTracker,
    Pool,
    merge,
    observations_of,
)

__all__ = [
    "BatchReport",
    "Choice",
    "CurriculumSettings",
    "Observation",
    "PassRateTracker",
    "Pool",
    "PromptSelector",
    "SizeAdvice",
    "advise_group_size",
    "merge",
    "observations_of",
    "tabulate",
    "zero_variance_probability",
]
