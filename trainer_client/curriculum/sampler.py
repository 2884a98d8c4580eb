"""The curriculum as a torch sampler with the layout that TRL's GRPOTrainer expects of its own `RepeatSampler`.

For each generation batch: `prompts_per_batch` row numbers, each `group_size` times in a row, and that block `repeats`
times. A block is chosen when the data loader asks for it. With `repeats` == 1 the loader asks one block ahead, so that
a choice doesn't know the results of the block before it; with more it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torch.utils.data import Sampler

from trainer_client.curriculum.selection import Choice, PromptSelector


class CurriculumSampler(Sampler[int]):
    """prompt_ids: of the data set's rows, in their order. An epoch has as many blocks as the data set fills."""

    def __init__(
        self,
        prompt_ids: Sequence[str],
        selector: PromptSelector,
        *,
        prompts_per_batch: int,
        group_size: int,
        repeats: int,
        on_choice: Callable[[Choice], None] | None = None,
    ) -> None:
        self.selector = selector
        self.prompts_per_batch = prompts_per_batch
        self.group_size = group_size
        self.repeats = repeats
        self._on_choice = on_choice
        self._rows = {prompt_id: row for row, prompt_id in enumerate(prompt_ids)}
        self._blocks = len(self._rows) // prompts_per_batch
        if self._blocks == 0:
            raise ValueError(
                f"a generation batch asks {prompts_per_batch} different prompts, but the data set has {len(self._rows)}; "
                "lower generation_batch_size or raise num_generations"
            )

    def __iter__(self) -> Iterator[int]:
        for _ in range(self._blocks):
            choice = self.selector.choose(self.prompts_per_batch)
            if self._on_choice is not None:
                self._on_choice(choice)
            block = [self._rows[prompt_id] for prompt_id in choice.prompt_ids]
            for _ in range(self.repeats):
                for row in block:
                    yield from [row] * self.group_size

    def __len__(self) -> int:
        return self._blocks * self.prompts_per_batch * self.group_size * self.repeats
