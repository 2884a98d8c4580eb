from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trainer_client.train.config import ConfigError, TrainConfig
from trainer_client.train.data import kinds_and_full_marks, load_rows


def config(folder: Path, rows: list[dict[str, Any]], reward: dict[str, Any] | None = None, **data: Any) -> TrainConfig:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return TrainConfig.model_validate(
        {"model": "m", "output_dir": "o", "data": {"path": str(file), **data}, "reward": reward or {}}
    )


SUMS = [{"prompt": "1+1?", "answer": "2"}, {"prompt": "1+2?", "answer": "3"}]


def test_plain_prompts_become_chats_with_the_system_prompt(tmp_path: Path) -> None:
    rows = load_rows(config(tmp_path, SUMS, system_prompt="Think."))
    assert rows[0]["prompt"] == [{"role": "system", "content": "Think."}, {"role": "user", "content": "1+1?"}]
    assert rows[0]["answer"] == "2"


def test_without_chat_prompts_stay_strings(tmp_path: Path) -> None:
    assert load_rows(config(tmp_path, SUMS, chat=False))["prompt"] == ["1+1?", "1+2?"]


def test_prompt_ids_are_stable_and_unique_even_for_twins(tmp_path: Path) -> None:
    once = load_rows(config(tmp_path, [*SUMS, SUMS[0]]))["prompt_id"]
    again = load_rows(config(tmp_path, [*SUMS, SUMS[0]]))["prompt_id"]
    assert list(once) == list(again)
    assert len(set(once)) == 3
    assert once[2] == f"{once[0]}-2"


def test_the_data_sets_own_ids_are_kept_where_they_are_unique(tmp_path: Path) -> None:
    rows = load_rows(config(tmp_path, [{**row, "id": f"s{i}"} for i, row in enumerate(SUMS)]))
    assert list(rows["prompt_id"]) == ["s0", "s1"]


def test_full_marks_are_the_sum_of_the_weights(tmp_path: Path) -> None:
    found = config(tmp_path, SUMS, {"verifiers": ["math", {"kind": "format", "weight": 0.5}]})
    assert kinds_and_full_marks(found, load_rows(found)) == ({"math", "format"}, 1.5)


@pytest.mark.parametrize(
    ("rows", "data", "message"),
    [
        ([{"question": "1?", "answer": "2"}], {}, "no column 'prompt'"),
        ([{"prompt": "1?", "other": "2"}], {}, "row 0 of the data set"),
        ([{"prompt": 3, "answer": "2"}], {}, "must be a string or a list of messages"),
        (SUMS, {"chat": False, "system_prompt": "x"}, "needs data.chat"),
    ],
)
def test_rows_that_cannot_be_used_are_told_before_the_start(
    tmp_path: Path, rows: list[dict[str, Any]], data: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_rows(config(tmp_path, rows, **data))


def test_a_missing_or_broken_file_is_said_so(tmp_path: Path) -> None:
    found = config(tmp_path, SUMS)
    Path(found.data.path).write_text("{broken\n")
    with pytest.raises(ConfigError, match="can't be read"):
        load_rows(found)
    Path(found.data.path).unlink()
    with pytest.raises(ConfigError, match="there is no file"):
        load_rows(found)
