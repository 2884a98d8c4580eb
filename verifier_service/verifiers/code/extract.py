"""Which program a reply hands in.

1. All up to the last `</think>` is thinking and is dropped. A `<think>` that is opened outside a code block after that
   and never closed drops the rest: what a model was still thinking is no answer.
2. The program is the last fenced block tagged with the task's language (or one of its other names), whatever it holds:
   the last word counts, even an empty one.
3. Else it is the last block tagged with a near relative (C for C++ and the reverse, JavaScript for TypeScript and the
   reverse, a dialect of SQL), run as the task's language. Blocks tagged with another language are never run.
4. Else it is the last block without a tag.
5. Else, for Python and without any fence, the whole reply, if its first line begins like a Python program.

A fence is three or more backticks or tildes, at any indentation (which is then taken off the block's lines). An opening
fence with a language may stand behind text on its line. A fence ends at a line with at least as many of the same
character; not where that line lies inside a triple-quoted Python string, nor where it names a language, which opens the
next block. Behind a closing fence there may be a tag such as `</answer>` or `<|im_end|>`. A block that is still open at
the end of the reply (cut off, or a stop token) is taken as it stands.
Everything is linear in the reply's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from verifier_service.verifiers.code.naming import all_tags, fence_tags

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
TRACKED_CHARS = 200_000  # of lines with triple quotes; beyond, a fence inside a string ends its block
MAX_MARKED_LINES = 20_000  # lines with a fence, a triple quote or a tag; a reply with more hands in no program

_MARKS = re.compile(r"```|~~~|\'\'\'|\"\"\"|<think>")
_OPENING = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)\Z")
_LATE_OPENING = re.compile(r"[^`]*[^`\s][ \t]*(?P<fence>`{3})(?P<info>[A-Za-z][A-Za-z0-9_+#.-]*)[ \t]*\Z")
_AFTER_FENCE = re.compile(r"(?:[ \t]*<[/|]?\w[\w|]{0,30}>){1,4}\Z")  # the end of an answer, or of a turn
_TAG = re.compile(r"[{.]*([A-Za-z0-9_+#-]+)")
_PYTHON_STARTS = re.compile(
    r"(?:(?:import|from|def|class|async|if|for|while|try|with|lambda|global|print)\b.*[:(.]|import\s+\w|from\s+\S+\s+import\b"
    r"|[#@]|[A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_]\w*)*\s*(?:[-+*/]?=(?!=)|\())"
)
_OUTSIDE_STRINGS = re.compile(r"#.*|\"\"\"|'''|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\\.")

_IN_STRING = {quote: re.compile(r"\\.|" + quote) for quote in ('"""', "'''")}


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its tag in lower case ('' without one), where its body lies, and its fence's indentation.

    `rest` is what stands before a closing fence on the fence's own line.
    """

    tag: str
    start: int
    end: int
    indent: int
    rest: str = ""

    def text(self, answer: str) -> str:
        """The body's lines, without the fence's indentation and carriage returns, each with a newline."""
        lines = answer[self.start : self.end].split("\n")
        if not lines[-1]:
            lines.pop()
        lines += [self.rest] if self.rest else []
        return "".join(f"{_dedented(line.rstrip(chr(13)), self.indent)}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Scan:
    """The blocks in order, whether there was any fence, and where an unclosed `<think>` begins (or the end)."""

    blocks: list[Block]
    has_fence: bool
    end: int


def extract_program(reply: str, language: str) -> str | None:
    """The program of `reply` in `language`, or None when it hands in none (a blank block is none)."""
    answer = reply.rpartition(THINK_CLOSE)[2]
    marks = _marked_lines(answer)
    if marks is None:
        return None
    scan = _scan(answer, marks)
    for wanted in (*fence_tags(language), frozenset({""})):
        for block in reversed(scan.blocks):
            if block.tag in wanted:
                program = block.text(answer)
                return program if program.strip() else None
    prose = answer[: scan.end]
    if language == "python" and not scan.has_fence and _PYTHON_STARTS.match(prose.lstrip()):
        return prose.strip("\n") + "\n"
    return None


def _marked_lines(answer: str) -> list[tuple[int, int]] | None:
    """(start, end) of the lines that hold a fence, a triple quote or `<think>`; None when there are too many.

    Only these lines are looked at one by one: a reply may be a million lines long.
    """
    found: list[tuple[int, int]] = []
    end = -1
    for mark in _MARKS.finditer(answer):
        if mark.start() < end:
            continue
        if len(found) >= MAX_MARKED_LINES:
            return None
        start = max(answer.rfind("\n", 0, mark.start()) + 1, end + 1, 0)
        end = answer.find("\n", mark.start())
        end = len(answer) if end < 0 else end
        found.append((start, end))
    return found


def _scan(answer: str, marks: list[tuple[int, int]]) -> Scan:
    blocks: list[Block] = []
    tracking = TRACKED_CHARS  # left to read for Python's triple quotes; none after one was never closed
    index, has_fence = 0, False
    while index < len(marks):
        start, end = marks[index]
        line = answer[start:end]
        opening = _opening(line.rstrip("\r"))
        if opening is None:
            if THINK_OPEN in line:
                return Scan(blocks, has_fence, start + line.index(THINK_OPEN))
            index += 1
            continue
        has_fence = True
        fence, indent, tag = opening
        close, rest, tracking = _block_end(answer, marks, index + 1, fence, tag, tracking)
        body_end = marks[close][0] if close < len(marks) else len(answer)
        blocks.append(Block(tag, min(end + 1, len(answer)), body_end, indent, rest or ""))
        reopened = close < len(marks) and rest is None and _names_a_language(answer[slice(*marks[close])])
        index = close if reopened else close + 1
    return Scan(blocks, has_fence, len(answer))


def _opening(line: str) -> tuple[str, int, str] | None:
    """(fence, indentation, tag) when this line opens a block."""
    stripped = line.lstrip(" \t")
    match = _OPENING.match(stripped)
    if match is not None:
        tag = _TAG.match(match["info"])
        return match["fence"], len(line) - len(line.lstrip(" \t")), tag[1].lower() if tag else ""
    late = _LATE_OPENING.match(line) if "```" in line else None
    if late is not None and late["info"].lower() in _KNOWN_TAGS:
        return late["fence"], 0, late["info"].lower()
    return None


def _block_end(
    answer: str, marks: list[tuple[int, int]], first: int, fence: str, tag: str, tracking: int
) -> tuple[int, str | None, int]:
    """(index of the marked line that ends the block, what of that line still belongs to it, characters left to track)."""
    python = tag in _PYTHON_TAGS or not tag
    inside = ""  # the open triple quote, if any
    in_string_end: int | None = None
    glued: tuple[int, str] | None = None
    for index in range(first, len(marks)):
        line = answer[slice(*marks[index])]
        if fence in line:
            stripped = line.strip(" \t\r")
            closes = not _AFTER_FENCE.sub("", stripped).strip(fence[0]) and stripped.startswith(fence)
            if closes or _names_a_language(line):
                if not inside:
                    if glued is not None and not closes:
                        return (*glued, tracking)
                    return index, None, tracking
                in_string_end = index if in_string_end is None else in_string_end
            elif glued is None and not inside and stripped.endswith(fence) and not stripped.startswith("#"):
                glued = index, line.rstrip(" \t\r").rstrip(fence[0])
        if python and tracking > len(line):
            tracking -= len(line)
            inside = _string_state(line, inside)
    if inside and in_string_end is not None:
        return in_string_end, None, 0
    return (*glued, tracking) if glued is not None else (len(marks), None, tracking)


def _string_state(line: str, inside: str) -> str:
    """Which triple quote is open after `line`, given the one open before it."""
    if '"""' not in line and "'''" not in line:
        return inside
    position = 0
    while position < len(line):
        if inside:
            end = _unescaped(line, inside, position)
            if end < 0:
                return inside
            position, inside = end + 3, ""
            continue
        match = _OUTSIDE_STRINGS.search(line, position)
        if match is None:
            return ""
        position = match.end()
        if match[0] in ('"""', "'''"):
            inside = match[0]
    return inside


def _unescaped(line: str, quote: str, start: int) -> int:
    """Where `quote` next stands without a backslash before it; -1 if nowhere."""
    for match in _IN_STRING[quote].finditer(line, start):
        if match[0] == quote:
            return match.start()
    return -1


def _names_a_language(line: str) -> bool:
    """Whether this line opens a block of a language we know; such a line never closes one."""
    match = _OPENING.match(line.strip(" \t\r"))
    tag = _TAG.match(match["info"]) if match is not None else None
    return tag is not None and tag[1].lower() in _KNOWN_TAGS


def _dedented(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip(" \t"))) :] if indent else line


_PYTHON_TAGS = fence_tags("python")[0]
_KNOWN_TAGS = all_tags() | {"swift", "julia", "dart", "json", "text"}
