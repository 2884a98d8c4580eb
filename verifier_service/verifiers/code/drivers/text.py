"""What a source looks like without its comments and the contents of its literals, for tolerant questions by pattern.

No parser: a question answered wrongly costs a submission a compile error, at worst. All patterns are linear.
"""

from __future__ import annotations

import re

_BLOCK, _LINE = r"/\*.*?(?:\*/|\Z)", r"//[^\n]*"
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_CHARACTER = r"'(?:\\[^\n][^'\n]*|[^\\'\n])'"

_BLANKED = {
    "cpp": re.compile(
        rf'{_LINE}|{_BLOCK}|R"(?P<raw>[^()\\\s]{{0,16}})\(.*?(?:\)(?P=raw)"|\Z)|{_DOUBLE}|(?<![0-9A-Fa-f]){_CHARACTER}', re.DOTALL
    ),
    "java": re.compile(rf'{_LINE}|{_BLOCK}|"""(?:\\.|.)*?(?:"""|\Z)|{_DOUBLE}|{_CHARACTER}', re.DOTALL),
    "go": re.compile(rf"{_LINE}|{_BLOCK}|`[^`]*`?|{_DOUBLE}|{_CHARACTER}", re.DOTALL),
    "javascript": re.compile(
        rf"{_LINE}|{_BLOCK}|`(?:\\.|[^`\\])*`?|{_DOUBLE}|'(?:\\.|[^'\\\n])*'?", re.DOTALL
    ),
    "rust": re.compile(
        rf'{_LINE}|{_BLOCK}|\bb?r(?P<hashes>#{{0,8}})".*?(?:"(?P=hashes)|\Z)|"(?:\\.|[^"\\])*"?|{_CHARACTER}', re.DOTALL
    ),
}  # fmt: skip
_NOT_NEWLINE = re.compile(r"[^\n]")


def skeleton(source: str, family: str) -> str:
    """The source, as long as ever, with blanks for comments and literals."""
    return _BLANKED[family].sub(lambda found: _NOT_NEWLINE.sub(" ", found[0]), source)


def at_top(bare: str, pattern: str) -> bool:
    """Whether something in a skeleton stands outside all braces."""
    depth = 0
    for found in re.compile(rf"[{{}}]|{pattern}").finditer(bare):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
        elif depth == 0:
            return True
    return False


def parentheses(bare: str, opening: int) -> tuple[list[str], int]:
    """The parts between commas of what the bracket at `opening` holds, and where it closes (the end, if it doesn't)."""
    depth, start = 0, opening + 1
    parts: list[str] = []
    for found in re.compile(r"=>|[][(){}<>,]").finditer(bare, opening):
        mark = found[0]
        if mark in "([{<":
            depth += 1
        elif mark in ")]}>":
            depth -= 1
            if not depth:
                return [*parts, bare[start : found.start()]], found.start()
        elif mark == "," and depth == 1:
            parts.append(bare[start : found.start()])
            start = found.end()
    return parts, len(bare)
