"""From a file or a hub data set to the rows that TRL trains on: `prompt`, `prompt_id`, and the columns of the reward."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer_client.client_errors import RequestRefused
from trainer_client.rewards import RewardRecipe
from trainer_client.train.config import ConfigError, DataConfig, TrainConfig

READERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
ID_COLUMN = "prompt_id"


def load_rows(config: TrainConfig) -> Any:
    """A `datasets.Dataset` whose every row can be verified. Raises ConfigError with the first row that can't."""
    rows = _read(config.data)
    if config.data.prompt_column not in rows.column_names:
        raise ConfigError(
            f"data.prompt_column: {config.data.path} has no column {config.data.prompt_column!r}; "
            f"it has {', '.join(rows.column_names)}"
        )
    if config.data.limit is not None:
        rows = rows.select(range(min(config.data.limit, len(rows))))
    if len(rows) == 0:
        raise ConfigError(f"{config.data.path} has no rows")
    prompts = [_prompt(value, config.data) for value in rows[config.data.prompt_column]]
    ids = _ids(rows, prompts)
    drop = [name for name in (config.data.prompt_column, "prompt", ID_COLUMN, "completion") if name in rows.column_names]
    rows = rows.remove_columns(sorted(set(drop)))
    rows = rows.add_column("prompt", prompts).add_column(ID_COLUMN, ids)
    _check_verifiable(rows, recipe_of(config))
    return rows


def recipe_of(config: TrainConfig) -> RewardRecipe:
    try:
        return RewardRecipe.make(config.reward.verifiers, gold_column=config.reward.gold_column)
    except ValueError as error:
        raise ConfigError(f"reward.verifiers: {error}") from None


def kinds_and_full_marks(config: TrainConfig, rows: Any) -> tuple[set[str], float]:
    """The verifier kinds that the rows ask for, and the reward of a completion that all of a row's verifiers like best."""
    recipe = recipe_of(config)
    specs = [recipe.specs(row) for row in rows]
    kinds = {str(spec["kind"]) for row in specs for spec in row}
    marks = Counter(round(sum(max(float(spec.get("weight", 1.0)), 0.0) for spec in row), 6) for row in specs)
    return kinds, marks.most_common(1)[0][0]


def _read(data: DataConfig) -> Any:
    import datasets

    suffix = Path(data.path).suffix
    if suffix in READERS:
        if not Path(data.path).is_file():
            raise ConfigError(f"data.path: there is no file {data.path}")
        try:
            return datasets.load_dataset(READERS[suffix], data_files=data.path, split="train")
        except datasets.exceptions.DatasetGenerationError as error:
            raise ConfigError(f"data.path: {data.path} can't be read as {READERS[suffix]}: {error.__cause__ or error}") from None
    try:
        return datasets.load_dataset(data.path, data.name, split=data.split)
    except (OSError, ValueError, datasets.exceptions.DatasetNotFoundError) as error:
        raise ConfigError(
            f"data.path: {data.path} is no file ({', '.join(READERS)}), and the hub says: {str(error)[:300]}"
        ) from None


def _prompt(value: Any, data: DataConfig) -> Any:
    """A list of messages, or with `chat: false` the string itself."""
    if isinstance(value, str) and not data.chat:
        if data.system_prompt is not None:
            raise ConfigError("data.system_prompt needs data.chat: a plain prompt has no system message")
        return value
    messages = [{"role": "user", "content": value}] if isinstance(value, str) else value
    if not isinstance(messages, list) or not all(isinstance(message, dict) and "role" in message for message in messages):
        raise ConfigError(f"data.prompt_column: a prompt must be a string or a list of messages, not {type(value).__name__}")
    if data.system_prompt is not None and messages[0]["role"] != "system":
        return [{"role": "system", "content": data.system_prompt}, *messages]
    return messages


def _ids(rows: Any, prompts: Sequence[Any]) -> list[str]:
    """Stable over runs: the data set's own ids where they are unique, else a digest of the prompt; twins get a number."""
    for name in (ID_COLUMN, "id"):
        if name in rows.column_names:
            own = [str(value) for value in rows[name]]
            if len(set(own)) == len(own):
                return own
    seen: Counter[str] = Counter()
    ids = []
    for prompt in prompts:
        digest = hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]
        seen[digest] += 1
        ids.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return ids


def _check_verifiable(rows: Any, recipe: RewardRecipe) -> None:
    for number, row in enumerate(rows):
        try:
            recipe.specs(row)
        except RequestRefused as error:
            raise ConfigError(f"row {number} of the data set: {error}") from None
