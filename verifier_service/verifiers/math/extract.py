"""Where the answer stands in a completion: the only part that reads prose.

Everything up to the last `</think>` is dropped and an unclosed `<think>` leaves no answer. A box is a brace-matched
`\\boxed{…}` or `\\fbox{…}`; of several the last counts, and boxes that only "and", "or", a comma or a blank keep apart
are one list. Boxes in comments, in phantoms and in struck-out text are not seen. Linear time: every scan is one pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_BOXES = 1000
"""Boxes read in one completion; a sweep beyond is cut, which can't turn a wrong answer into a right one."""

MAX_PROSE_CHARS = 4000
"""How far from the end prose is searched for a final answer."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """`answer` is None where there is none, and `reason` says why in words."""

    answer: str | None
    place: str
    reason: str = ""


_HIDDEN_PAIRS = (("<!--", "-->"), ("\\iffalse", "\\fi"), ("\\begin{comment}", "\\end{comment}"))
_LINE_COMMENT = re.compile(r"(?:^|(?<=[^\d\\\s]))[ \t]*(?<![\\\d])%(?!(?<=\{%)\})[^\n]*|~~[^~\n]{1,400}~~", re.MULTILINE)
_PHANTOM = re.compile(
    r"\\(?:[hv]?phantom|st|sout|cancel|xcancel|bcancel|textcolor\{white\}|color\{white\}|verb|renewcommand|newcommand|def)\b"
)
_SCAN = re.compile(r"\\{1,2}(?:boxed|fbox|framebox)(?![A-Za-z])|\\[^A-Za-z]|[{}]|" + _PHANTOM.pattern)
_BOX_WORDS = ("boxed", "fbox", "framebox")
_JOINER = re.compile(
    r"[\s$.,;:&*_]*(?:\\[()\[\],;! ]|\\(?:quad|qquad|text\{\s*(?:and|or)\s*,?\s*\}|cup|lor|vee|land)|and|or|as well as"
    r"|(?:or |and )?(?:maybe|perhaps|possibly|alternatively|otherwise|else)(?: it is| it's| is)?|or it is|[\s$.,;:&*_])*",
    re.IGNORECASE,
)
_TURNS = {
    "is", "was", "not", "no", "wrong", "incorrect", "but", "so", "then", "wait", "actually", "instead", "hence", "thus",
    "therefore",
    "check", "checked", "again", "final", "answer", "or", "correct", "correction", "first", "which", "gives", "mistake", "error",
}  # fmt: skip
_NAMED_NEXT = re.compile(r"[A-Za-z](?:_\{?\w\}?)?\s*=\s*\$?\s*$")
_HASH = re.compile(r"^[ \t]*#{4}[ \t]*(.+)$|####[ \t]*([^\n]+)$", re.MULTILINE)
_ANSWER_TAG = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(
    r"(?:final\s+answer|correct\s+(?:answer|option|choice)|answer)\**\s*(?:\([^()\n]{0,40}\)\s*)?"
    r"(?:is|are|:|=|would be|should be|will be|option)\**[ \t]*:?[ \t]*\n{0,2}|^\**A\**:[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$)|[!?](?=\s|$)|\n")
_REASON_WORDS = re.compile(r"(?:,\s*|\s+)(?:because|since|as (?:we|the)|so that|which|where|by the)\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|equals|becomes|get|gives|be|obtain|was|costs|=)\s*:?\s+(?=\S)", re.IGNORECASE)
_DISPLAY = re.compile(r"^\s*(?:\$\$?|\\\[|\\\()(.+?)(?:\$\$?|\\\]|\\\))\s*[.,]?\s*$", re.DOTALL)


def after_thinking(completion: str) -> str | None:
    """The text after the last `</think>`; None where a `<think>` is still open."""
    end = completion.rfind("</think>")
    rest = completion if end < 0 else completion[end + 8 :]
    return None if "<think>" in rest else rest


def extract(completion: str, places: Sequence[str]) -> Extraction:
    """The answer of a completion by the first of `places` (boxed, hash, final_answer, last_line) that has one."""
    text = after_thinking(completion)
    if text is None:
        return Extraction(None, "", "the thinking is not closed")
    reason = "no box after the thinking" if places[0] == "boxed" else "no answer where the options look for one"
    for place in places:
        found = _FINDERS[place](text)
        if found is None:
            continue
        if found.strip():
            return Extraction(found.strip(), place)
        reason = "the box is empty"
    return Extraction(None, "", reason)


def boxes(text: str) -> list[tuple[int, int, str]]:
    """The outermost closed boxes as (start, end, content), in order; hidden ones are left out."""
    if "\\" not in text:
        return []
    if "%" in text or "<!--" in text or "\\iffalse" in text or "~~" in text or "{comment}" in text:
        text = _blank_out(text)
    found: list[tuple[int, int, str]] = []
    open_braces: list[tuple[str, int, int]] = []  # (what opened it, where it began, where its content begins)
    pending: tuple[str, int] | None = None
    position = 0
    for match in _SCAN.finditer(text):
        sign, at = match.group(), match.start()
        if sign == "{":
            word, start = pending if pending and not text[position:at].strip() else ("", at)
            open_braces.append((word, start, at + 1))
            pending = None
        elif sign == "}":
            pending = None
            if open_braces:
                word, start, content = open_braces.pop()
                if word == "box" and not any(w == "phantom" for w, _, _ in open_braces[-8:]):
                    while found and found[-1][0] > start:
                        found.pop()  # inside this one
                    found.append((start, at + 1, text[content:at]))
        elif sign.lstrip("\\") in _BOX_WORDS:
            pending, position = ("box", at), match.end()
            bare = re.compile(r"[ \t]+(\$?-?[\w.]+)").match(text, match.end()) if len(found) < MAX_BOXES else None
            if bare and sign.endswith("\\boxed") and re.search(r"\d", bare.group(1)):
                found.append((at, bare.end(), bare.group(1).strip("$").rstrip(".")))
        elif sign[1].isalpha():
            pending, position = ("phantom", at), match.end()
        if len(found) > 2 * MAX_BOXES:
            del found[:-MAX_BOXES]
    return found or _one_brace_short(text, open_braces)


def _one_brace_short(text: str, open_braces: list[tuple[str, int, int]]) -> list[tuple[int, int, str]]:
    """A box whose content lost its last brace, as in `\\boxed{\\frac{1}{2}`: the brace that ends the text is the box's."""
    if len(open_braces) != 1 or open_braces[0][0] != "box":
        return []
    _, start, content = open_braces[0]
    end = len(text.rstrip(" \t\r\n$."))
    if text[end - 1 : end] != "}" or end <= content or "\n" in text[content:end]:
        return []
    return [(start, end, text[content : end - 1])]


def _blank_out(text: str) -> str:
    for opening, closing in _HIDDEN_PAIRS:
        start = text.find(opening)
        if start < 0:
            continue
        parts, done = [], 0
        while start >= 0 and (end := text.find(closing, start)) >= 0:
            parts.append(text[done:start])
            done = end + len(closing)
            parts.append(" " * (done - start))
            start = text.find(opening, done)
        text = "".join([*parts, text[done:]])
    return _LINE_COMMENT.sub(lambda m: " " * len(m.group()), text)


def _boxed(text: str) -> str | None:
    found = boxes(text)
    if not found:
        return None
    filled = [box for box in found if box[2].strip()]
    if not filled:
        return ""
    run = [filled[-1]]
    for box in reversed(filled[:-1]):
        gap = text[box[1] : run[0][0]]
        if len(gap) > 80 or not _joins(gap):
            break
        run.insert(0, box)
    contents = list(dict.fromkeys(_unbox(box[2]) for box in run))
    return ", ".join(contents) if len(contents) < MAX_BOXES else None


def _joins(gap: str) -> bool:
    """Whether what stands between two boxes makes them one list: a joiner, or the name of what was counted and `and`."""
    gap = _NAMED_NEXT.sub("", gap)
    if len(gap) <= 60 and _JOINER.fullmatch(gap):
        return True
    words = re.sub(r"\\(?:text|mathrm|quad|[()\[\],;! ])|[${}(),.]", " ", gap).lower().split()
    return 1 < len(words) <= 6 and words[-1] == "and" and all(w.isalpha() for w in words) and not _TURNS & set(words)


def _unbox(content: str) -> str:
    """`\\boxed{7}` inside a box that holds nothing else is 7."""
    content = content.strip()
    for _ in range(4):
        inner = boxes(content)
        if len(inner) != 1 or inner[0][0] != 0 or inner[0][1] != len(content):
            break
        content = inner[0][2].strip()
    return content


def _hash(text: str) -> str | None:
    if "####" not in text:
        return None
    line = text[text.rfind("####") + 4 :].partition("\n")[0].strip()
    return line or None


def _final_answer(text: str) -> str | None:
    text = text[-MAX_PROSE_CHARS:]
    tags = _ANSWER_TAG.findall(text)
    if tags:
        inner = str(tags[-1])
        return _boxed(inner) or _final_answer_in(inner) or inner.strip()
    return _final_answer_in(text)


def _final_answer_in(text: str) -> str | None:
    last = None
    for match in _FINAL.finditer(text):
        last = match
    if last is None:
        return None
    sentence = _sentence(text[last.end() :])
    if sentence and " " in sentence and "$" not in sentence[:1]:
        tail = _IS.split(sentence)[-1].strip()
        return tail if tail and not re.match(r"(?:not|a|an|the|wrong|correct)\b", tail) else sentence
    return sentence or None


def _last_line(text: str) -> str | None:
    lines = [line for line in text[-MAX_PROSE_CHARS:].splitlines() if line.strip()]
    if not lines:
        return None
    line = lines[-1].strip()
    display = _DISPLAY.match(line)
    if display:
        return display.group(1)
    pieces = _IS.split(_sentence(line))
    return pieces[-1].strip() or None


def _sentence(text: str) -> str:
    """The first sentence, without markdown, a reason that follows, or the dollars around all of it."""
    text = text.lstrip("*_` \t")
    if text.startswith(("$$", "\\[", "\\(", "$")):
        close = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}.get(text[:2], "$")
        width = 2 if text[:2] in ("$$", "\\[", "\\(") else 1
        end = text.find(close, width)
        if end > 0 and re.match(r"[\s.*_`]*(?:$|[.\n])", text[end + len(close) :]):
            return text[width:end].strip()
    end_of = _SENTENCE_END.search(text)
    if end_of:
        text = text[: end_of.start()]
    reason = _REASON_WORDS.search(text)
    if reason:
        text = text[: reason.start()]
    return text.strip().strip("*_`").strip().rstrip(".,;")


_FINDERS = {"boxed": _boxed, "hash": _hash, "final_answer": _final_answer, "last_line": _last_line}


def gold_text(gold: str) -> str:
    """The answer in a gold: the last box or the last `####` of a whole solution, else all of it."""
    if "\\boxed" in gold or "\\fbox" in gold:
        found = _boxed(gold)
        if found is not None:
            return found
    if "####" in gold:
        return _hash(gold) or ""
    return gold.strip()
