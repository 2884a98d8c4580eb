"""Which part of a decoded text is the reply."""

from __future__ import annotations

import pytest

from verifier_service.api.compat.labels import reply_in
from verifier_service.api.problems import RequestRefused

QWEN = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is \\boxed{1}?<|im_end|>\n<|im_start|>assistant\n"


def test_the_prompt_is_cut_off_the_front() -> None:
    assert reply_in(QWEN + "\\boxed{2}", QWEN, "query") == "\\boxed{2}"


@pytest.mark.parametrize("closing", ["<|im_end|>", "<|im_end|>\n", "<|eot_id|>", "</s>", "<|im_end|><|endoftext|>", "</s></s> "])
def test_the_tokens_that_end_a_turn_are_cut_off_the_back(closing: str) -> None:
    assert reply_in("p" + "\\boxed{2}" + closing, "p", "query") == "\\boxed{2}"


def test_white_space_of_a_reply_without_a_closing_token_stays() -> None:
    assert reply_in("p a \n", "p", "query") == " a \n"


def test_a_prompt_that_was_cut_at_the_left_is_still_found() -> None:
    assert reply_in(QWEN[30:] + "\\boxed{2}", QWEN, "query") == "\\boxed{2}"


def test_a_prompt_that_decodes_a_little_differently_is_cut_behind_its_assistants_turn() -> None:
    decoded = "<s>" + QWEN.replace("Be brief.", "Be  brief.")
    assert reply_in(decoded + "\\boxed{2}", QWEN, "query") == "\\boxed{2}"


def test_a_reply_that_opens_a_turn_itself_is_not_cut() -> None:
    reply = "<|im_start|>assistant\n\\boxed{3}"
    assert reply_in("<s>" + QWEN + reply, QWEN, "query") == reply


def test_a_text_of_another_prompt_is_refused() -> None:
    with pytest.raises(RequestRefused, match="prompt"):
        reply_in("quite different \\boxed{1}", QWEN, "query")


def test_an_empty_prompt_leaves_all() -> None:
    assert reply_in("\\boxed{2}", "", "query") == "\\boxed{2}"


def test_a_hostile_overlap_takes_no_time() -> None:
    prompt, query = "ab" * 300_000, "ab" * 299_000 + "c"
    with pytest.raises(RequestRefused):
        reply_in(query, prompt, "query")
