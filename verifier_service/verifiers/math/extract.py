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
    r"\\(?:[hv]?phantom|st|sout|cancel|xcancel|bcancel|textcolor\{white\}|color\{white\}|verb"
    r"|(?:(?:re)?new|provide)command\*?\s?\{?\\[A-Za-z]{1,40}\}?(?:\[[^\[\]]{0,40}\]){0,2}|def\\[A-Za-z]{1,40}(?:#\d){0,9})"
    r"(?![A-Za-z])"
)
_SCAN = re.compile(r"\\{1,2}(?:boxed|fbox|framebox)(?![A-Za-z])|\\[^A-Za-z]|[{}]|" + _PHANTOM.pattern)
_BOX_WORDS = ("boxed", "fbox", "framebox")
MAX_GAP_CHARS = 120
"""Longest text between two boxes, blanks counted once, that may make them one list."""
MAX_GAP_SIGNS = 3
"""Letters and digits of a gap without words, as in `x_1 =` or `(b)`; more are a formula of its own."""

_MARKUP = re.compile(
    r"</?(?:br|hr|p|s|del|strike|u|b|i|em|strong|sub|sup|span|div|center|li|ul|ol|t[drh])\b[^<>]{0,40}>|\\(?:hspace|vspace|hskip|color|textcolor)\*?\s?\{[^{}]{0,20}\}|\\(?!text|math|mbox)[A-Za-z]+\*?"
    r"|\\(?:text\w{0,6}|math[a-z]{0,6}|mbox)"
)
_GAP_WORD = re.compile(r"[^\W\d_]+")
_OR_WORDS = {
    "or", "maybe", "perhaps", "possibly", "alternatively", "alternative", "another", "otherwise", "else", "also", "either",
    "other", "oder", "ou", "或", "或者", "или",
}  # fmt: skip
_AND_WORDS = {"and", "as", "well", "plus", "und", "et", "和", "及", "и"}
_COUNTING_WORDS = {"option", "choice", "case", "part", "step", "first", "second", "third", "fourth", "fifth", "ii", "iii", "iv"}
_FILLING_WORDS = {"it", "is", "be", "could", "might", "may", "but", "not", "the", "if", "would", "s", "possible", "a", "one"}
_ANSWER_WORDS = {"answer", "answers", "solution", "solutions", "value", "values"}
_TURNS = {
    "is", "was", "not", "no", "wrong", "incorrect", "but", "so", "then", "wait", "actually", "instead", "hence", "thus",
    "therefore",
    "check", "checked", "again", "final", "answer", "or", "correct", "correction", "first", "which", "gives", "mistake", "error",
}  # fmt: skip
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
_HEDGED = re.compile(r"\b(?:or|either|maybe|perhaps|possibly|alternatively|otherwise)\b", re.IGNORECASE)
_LEAD = re.compile(r"^(?:so|thus|hence|then|therefore|finally|and)\b[ ,:]*(?=[A-Za-z\d$\\(-])", re.IGNORECASE)
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
    position = phantoms = 0
    for match in _SCAN.finditer(text):
        sign, at = match.group(), match.start()
        if sign == "{":
            word, start = pending if pending and not text[position:at].strip() else ("", at)
            open_braces.append((word, start, at + 1))
            phantoms += word == "phantom"
            pending = None
        elif sign == "}":
            pending = None
            if open_braces:
                word, start, content = open_braces.pop()
                phantoms -= word == "phantom"
                if word == "box" and not phantoms:
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
        gap = text[box[1] : run[0][0]].strip()
        if len(gap) > MAX_GAP_CHARS:
            gap = " ".join(gap.split())
        if len(gap) > MAX_GAP_CHARS or not _joins(gap):
            break
        run.insert(0, box)
    contents = list(dict.fromkeys(_unbox(box[2]) for box in run))
    return ", ".join(contents) if len(contents) < MAX_BOXES else None


def _joins(gap: str) -> bool:
    """Whether what stands between two boxes is no sentence of its own, so that both are meant.

    Signs, markup, a name (`x =`), counting (`(b)`, `Option 2:`) and words such as `or`, `and`, `another answer` join; any
    other word is text after which a new answer replaces the old one. `3 chickens and` joins too.
    """
    gap = _MARKUP.sub(" ", gap)
    words = [word for word in _GAP_WORD.findall(gap.lower()) if len(word) > 1 or not word.isascii()]
    kinds = set(words)
    if not kinds:
        return sum(map(str.isalnum, gap)) <= MAX_GAP_SIGNS
    if kinds <= _COUNTING_WORDS:
        return True
    if kinds & _OR_WORDS:
        return kinds <= _OR_WORDS | _AND_WORDS | _COUNTING_WORDS | _FILLING_WORDS | _ANSWER_WORDS
    if kinds & _AND_WORDS and kinds <= _AND_WORDS | _COUNTING_WORDS | _FILLING_WORDS:
        return True
    return 1 < len(words) <= 6 and words[-1] == "and" and not _TURNS & kinds


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
    """What follows the last `####`; lines of them, one below the other, are one list."""
    if "####" not in text:
        return None
    end = text.find("\n", text.rfind("####"))
    lines = text[-MAX_PROSE_CHARS:] if end < 0 else text[max(0, end - MAX_PROSE_CHARS) : end]
    found: list[str] = []
    for line in reversed(lines.splitlines()):
        before, mark, after = line.rpartition("####")
        if mark and after.strip("# "):
            found.insert(0, after.strip())
        if line.strip() and (not mark or before.strip("# ")):
            break
    return ", ".join(dict.fromkeys(found)) or None


def _final_answer(text: str) -> str | None:
    text = text[-MAX_PROSE_CHARS:]
    tags = list(_ANSWER_TAG.finditer(text))
    if tags:
        run = [tags[-1]]
        for tag in reversed(tags[:-1]):
            if not _joins(text[tag.end() : run[0].start()].strip()):
                break
            run.insert(0, tag)
        inner = [tag.group(1) for tag in run]
        answers = (_boxed(each) or _final_answer_in(each) or each.strip() for each in inner)
        return ", ".join(dict.fromkeys(answers))
    return _final_answer_in(text)


def _final_answer_in(text: str) -> str | None:
    last = None
    for match in _FINAL.finditer(text):
        last = match
    if last is None:
        return None
    sentence = _sentence(text[last.end() :])
    if sentence and " " in sentence and "$" not in sentence[:1]:
        tail = _said(sentence)
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
    return _said(_LEAD.sub("", _sentence(line))) or None


def _said(sentence: str) -> str:
    """X of "... is X"; all of a sentence that says "or" before it."""
    *before, last = _IS.split(sentence)
    return sentence if any(_HEDGED.search(piece) for piece in before) else last.strip()


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
