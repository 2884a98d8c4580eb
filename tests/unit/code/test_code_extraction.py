"""Which program a reply hands in: every rule of extract.py, and its cost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.verifiers.code.extract import extract_program


def python(reply: str) -> str | None:
    return extract_program(reply, "python")


def test_the_last_block_of_the_language_counts() -> None:
    assert python("First:\n```python\na = 1\n```\nBetter:\n```python\na = 2\n```\nDone.") == "a = 2\n"
    assert python("```python\na = 1\n```\n```\nits output\n```\n") == "a = 1\n"
    assert python("```Python3\na = 1\n```\n```json\n{}\n```") == "a = 1\n"


def test_the_last_block_counts_even_when_it_is_blank() -> None:
    assert python("```python\na = 1\n```\n```python\n\n```") is None


def test_a_block_without_a_tag_stands_in_for_a_missing_one() -> None:
    assert python("```\na = 1\n```\nso\n```\na = 2\n```") == "a = 2\n"
    assert python("~~~\na = 1\n~~~") == "a = 1\n"


def test_a_block_of_another_language_is_never_run() -> None:
    assert python("```cpp\nint main() {}\n```") is None
    assert python('```json\n{"passed": true}\n```\nimport os') is None
    assert extract_program("```python\na\n```\n```c++\nint main() {}\n```", "cpp") == "int main() {}\n"


def test_thinking_is_dropped_up_to_its_last_end() -> None:
    assert python("<think>\n```python\na = 1\n```\n</think>\n```python\na = 2\n```") == "a = 2\n"
    assert python("<think>\n```python\na = 1\n```\n</think>\nno code") is None
    assert python("a ```python\nx\n``` b</think>c</think>\n```python\na = 3\n```") == "a = 3\n"


def test_unclosed_thinking_has_no_answer() -> None:
    assert python("<think>\n```python\na = 1\n```\n") is None
    assert python("<think>x</think>\n<think>\n```python\na = 1\n```\n") is None
    assert python("```python\na = 1\n```\n<think>\n```python\na = 2\n```\n") == "a = 1\n"


def test_the_word_think_inside_a_block_is_part_of_the_program() -> None:
    assert python("```python\ntag = '<think>'\n```") == "tag = '<think>'\n"


def test_a_block_cut_off_at_the_end_is_taken_as_it_stands() -> None:
    assert python("```python\na = 1\nb = 2") == "a = 1\nb = 2\n"


def test_line_ends_and_indentation_of_the_fence_are_taken_off() -> None:
    assert python("1. So:\r\n   ```python\r\n   if x:\r\n       y()\r\n   ```\r\n") == "if x:\n    y()\n"


def test_an_opening_fence_may_stand_behind_text_when_it_names_a_language() -> None:
    assert python("Here it is: ```python\na = 1\n```") == "a = 1\n"
    assert python("Use `x` or ``y`` inline.\n```python\na = 1\n```") == "a = 1\n"


def test_a_fence_glued_to_the_last_line_ends_the_block() -> None:
    assert python("```python\na = 1\nprint(a)```\nThat prints 1.") == "a = 1\nprint(a)\n"
    assert python("```python\na = 1```\nbut better\n```python\na = 2\n```") == "a = 2\n"


@pytest.mark.parametrize("quote", ['"""', "'''"])
def test_a_fence_inside_a_triple_quoted_string_is_part_of_the_program(quote: str) -> None:
    program = f"def f():\n    {quote}Example:\n```\nf()\n```\n    # it's\n    {quote}\n    return \"it's\"\n"
    assert python(f"```python\n{program}```\nand so on") == program


def test_a_triple_quote_never_closed_does_not_swallow_the_reply() -> None:
    assert python('```python\nx = """oops\n```\nSo:\n```python\na = 2\n```\n') == "a = 2\n"
    assert python('```python\na = 1  # a """ in a comment\n```\nprose\n```text\nx\n```') == 'a = 1  # a """ in a comment\n'


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert python("````python\ns = 1\n```\nt = 2\n````") == "s = 1\n```\nt = 2\n"


def test_a_program_in_a_markdown_block_is_found() -> None:
    assert python("```markdown\n# Answer\n```python\na = 1\n```\n```") == "a = 1\n"


def test_a_tag_may_carry_attributes() -> None:
    assert python('```python title="x.py"\na = 1\n```') == "a = 1\n"
    assert python("```{.python .numberLines}\na = 1\n```") == "a = 1\n"


def test_a_bare_program_is_taken_when_the_reply_has_no_fence_and_begins_like_one() -> None:
    assert python("import sys\nprint(1)\n") == "import sys\nprint(1)\n"
    assert python("<think>x</think>\n\ndef f(x):\n    return x") == "def f(x):\n    return x\n"
    assert python("n = int(input())\nprint(n)") == "n = int(input())\nprint(n)\n"
    assert python("The answer is obvious: add the digits. digit_sum(1234) = 10.") is None
    assert python("") is None
    assert extract_program("int main() {}", "cpp") is None


def test_what_is_odd_in_a_program_stays_in_it() -> None:
    assert python("```python\ns = 'a\x00b\u2028c\x0cd'\n```") == "s = 'a\x00b\u2028c\x0cd'\n"


PIECES = st.sampled_from(
    [
        "```",
        "```python",
        "````",
        "~~~",
        "\n",
        "\r\n",
        "x = 1",
        '"""',
        "'''",
        "\\",
        "#",
        " ",
        "</think>",
        "<think>",
        "'",
        '"',
        "```cpp",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_reply_is_read_the_same_twice(reply: str) -> None:
    program = python(reply)
    assert program == python(reply)
    assert program is None or program.strip()


@given(st.lists(st.sampled_from(["x = 1", "", "    y = '```'", "z = `", "# no", "s = '''a'''"]), max_size=8).map("\n".join))
def test_a_program_without_fence_lines_comes_out_as_it_went_in(program: str) -> None:
    program = "import os\n" + program + "\nend = 0\n"
    assert python(f"So:\n\n```python\n{program}```\n") == program


@pytest.mark.parametrize(
    "reply",
    [
        "```python\n" * 100_000,
        '```python\nx = """\n```\n' * 50_000,
        "```\n" * 300_000,
        "```python\nx```\n" * 50_000,
        "```python\n" + '"' * 1_000_000,
        "```python\n" + '"""\\' * 300_000,
        "```python\n" + '\\"' * 500_000 + '"""\n```',
        "a" + " " * 1_000_000 + "```",
        "`" * 1_000_000,
        "a " * 500_000 + "```python",
        "<think>" * 200_000,
        "x," * 500_000 + "=",
    ],
    ids=lambda reply: f"{reply[:20]!r} and so on",
)
def test_a_megabyte_of_anything_is_read_in_a_moment(reply: str) -> None:
    started = time.perf_counter()
    python(reply)
    assert time.perf_counter() - started < 2.0
