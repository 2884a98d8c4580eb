"""Text to tokens, in one pass. Nothing here knows what a sentence means.

A token is (kind, text, spaced): kinds are `num`, `sym`, `cmd` (LaTeX commands and known names), `text` (words), `op` and
`end`. `spaced` says whether blank space stood before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.limits import MAX_TOKENS, TooComplex
from verifier_service.verifiers.math.units import is_unit

MAX_TEXT_NESTING = 6


class Token(NamedTuple):
    kind: str
    text: str
    spaced: bool


class Unparsed(Exception):
    """The text is no mathematics that the grammar knows; the message says what stopped it."""


_SKIP = re.compile(
    r"(?:\s+|~|\\(?:left|right)\s*\.|\\(?:left|right|displaystyle|textstyle|scriptstyle|limits|nolimits|[bB]igg?[lrm]?|quad|qquad"
    r"|hfill|nonumber|mathstrut|mathopen|mathclose|mathrel|rm|bf|it|normalsize|large|Large|small|enspace|thinspace|hskip|hline|bm|pmb"
    r"|unicode|therefore|checkmark)(?![A-Za-z])"
    r"|\\[,;:!> ]|\\(?:phantom|hphantom|vphantom|label|tag|color|textcolor|hspace|vspace)\*?\{[^{}]*\})+"
)
_GROUPING = r"(?: ?\{ ?, ?\} ?(?:\\!)?|(?:\\!)?,\\!\s?|\{,\\!\}|\\,|\\!|\\;|\\ |')"
_NUMBER = re.compile(
    rf"(?:[1-9]\d{{0,2}}(?:{_GROUPING}\d{{3}})+(?!\d)|(?P<comma>[1-9]\d{{0,2}}(?:,\d{{3}})+(?!\d|,\d))"
    r"|(?P<blank>[1-9]\d{0,2}(?: \d{3})+(?!\d|\s*/|\s+\d|\.\d|\\))|\d+)"
    r"(?:\.\d+|\.(?=\s*(?:\\overline|\\bar|\\dot|\\overset|\(\d+\))))?"
    r"(?:[eE][+-]?\d+(?![\w.]))?|\.\d+(?:[eE][+-]?\d+(?![\w.]))?"
)
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?|.)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_OPERATOR = re.compile(r"\*\*|<=|>=|!=|<>|==|->|:=|=>|\+/?-|-\+|\.\.\.+|[-+*/^_=<>(){}\[\]|,;:!%&'.?@#\"$€£¥₹]")
_TEXT_COMMANDS = {
    "\\text", "\\textbf", "\\textit", "\\textrm", "\\textnormal", "\\texttt", "\\textsf", "\\textsc", "\\mbox", "\\hbox",
    "\\emph",
    "\\mathrm", "\\operatorname", "\\operatorname*", "\\mathbf", "\\mathit", "\\mathsf", "\\mathtt", "\\mathcal", "\\boldsymbol",
    "\\bold", "\\mathnormal", "\\underline", "\\mathbb", "\\mathscr", "\\mathfrak", "\\textup", "\\textmd", "\\boxed",
    "\\fbox", "\\bm",
    "\\bf", "\\mathds",
}  # fmt: skip
_WORDY = {"\\text", "\\textbf", "\\textit", "\\textrm", "\\textnormal", "\\texttt", "\\textsf", "\\textsc", "\\mbox", "\\hbox",
    "\\emph",
          "\\mathrm", "\\operatorname", "\\operatorname*", "\\textup", "\\textmd"}  # fmt: skip
_ALIASES = {"\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\nicefrac": "\\frac", "\\sfrac": "\\frac",
            "\\dbinom": "\\binom", "\\tbinom": "\\binom", "\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]",
            "\\lparen": "(", "\\rparen": ")", "\\vert": "|", "\\lvert": "|", "\\rvert": "|", "\\Vert": "\\|", "\\lVert": "\\|",
            "\\rVert": "\\|", "\\dots": "\\ldots", "\\cdots": "\\ldots", "\\vdots": "\\ldots", "\\dotsc": "\\ldots",
            "\\lgroup": "(", "\\rgroup": ")",
            "\\newline": "\\\\", "\\cr": "\\\\", "\\lang": "\\langle", "\\rang": "\\rangle", "\\wedge": "\\land",
            "\\vee": "\\lor",
            "\\colon": ":", "\\ast": "*", "\\star": "*", "\\bullet": "\\cdot", "\\degree": "\\circ", "\\deg": "\\circ",
            "\\backslash": "\\setminus", "\\smallsetminus": "\\setminus", "\\bigcup": "\\cup", "\\bigcap": "\\cap",
            "\\textdollar": "\\$",
            "\\mathdollar": "\\$", "\\surd": "\\sqrt", "\\euro": "€", "\\texteuro": "€",
            "\\pounds": "£", "\\textdegree": "\\circ"}  # fmt: skip
_SPLIT_PREFIXES = sorted([*names.FUNCTIONS, "pi"], key=len, reverse=True)
_KNOWN_COMMANDS = {
    "\\frac", "\\sqrt", "\\binom", "\\cdot", "\\times", "\\div", "\\pm", "\\mp", "\\cup", "\\cap", "\\setminus", "\\lor",
    "\\land",
    "\\infty", "\\pi", "\\sum", "\\prod", "\\int", "\\lim", "\\begin", "\\end", "\\ldots", "\\overline", "\\bar", "\\dot",
    "\\vec",
    "\\hat", "\\widehat", "\\tilde", "\\overrightarrow", "\\overset", "\\underset", "\\langle", "\\rangle", "\\lfloor",
    "\\rfloor",
    "\\lceil", "\\rceil", "\\over", "\\choose", "\\atop", "\\mod", "\\bmod", "\\pmod", "\\pod", "\\circ", "\\angle", "\\triangle",
    "\\prime", "\\iint", "\\oint", "\\top", "\\stackrel", "\\mathbb", "\\dagger",
}  # fmt: skip


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, ending with an `end`. Raises Unparsed or TooComplex."""
    out: list[Token] = []
    _lex(text, out, wordy=False, nesting=0)
    out.append(Token("end", "", True))
    return out


def _lex(text: str, out: list[Token], wordy: bool, nesting: int) -> None:
    at, size, depth, spaced = 0, len(text), 0, bool(nesting)
    while at < size:
        if len(out) > MAX_TOKENS:
            raise TooComplex(f"more than {MAX_TOKENS} symbols in it")
        char = text[at]
        if char.isspace() or char in "~\\":
            match = _SKIP.match(text, at)
            if match and not (match.group().startswith("\\\\")):
                at, spaced = match.end(), True
                continue
        if char.isdigit() or (char == "." and text[at + 1 : at + 2].isdigit()):
            match = _NUMBER.match(text, at)
            if match is None:
                raise Unparsed("digits of another script")
            literal = match.group()
            if depth and match["comma"]:
                literal = literal.partition(",")[0]
            out.append(Token("num", _digits(literal), spaced))
            at += len(literal)
        elif char == "\\":
            at = _lex_command(text, at, out, spaced, nesting)
        elif char.isascii() and char.isalpha():
            match = _WORD.match(text, at)
            assert match is not None
            _lex_word(match.group(), out, spaced, wordy)
            at = match.end()
        else:
            match = _OPERATOR.match(text, at)
            if match is None:
                raise Unparsed(f"an unknown sign {char!a}")
            sign = match.group()
            depth += (sign in "([") - (sign in ")]")
            out.append(Token("op", sign, spaced))
            at = match.end()
        spaced = False


def _digits(literal: str) -> str:
    mantissa, e, exponent = literal.replace("E", "e").partition("e")
    return re.sub(r"[^\d.]", "", mantissa) + e + exponent


def _lex_command(text: str, at: int, out: list[Token], spaced: bool, nesting: int) -> int:
    match = _COMMAND.match(text, at)
    if match is None:
        raise Unparsed("a backslash at the end")
    name, end = match.group(), match.end()
    if name in ("\\{", "\\}"):
        out.append(Token("op", name, spaced))
        return end
    if name in _TEXT_COMMANDS and text[end:].lstrip()[:1] == "{":
        start = text.index("{", end) + 1
        stop = closing_brace(text, start)
        if nesting >= MAX_TEXT_NESTING:
            raise TooComplex("text groups nested too deeply")
        content = text[start:stop]
        if name in ("\\mathbb", "\\mathds", "\\mathbf") and content.strip() in ("R", "Z", "Q", "N", "C"):
            out.append(Token("cmd", f"\\mathbb{{{content.strip()}}}", spaced))
        elif name in _WORDY and _is_last_unit(content.strip(), out, text[stop + 1 :]):
            out.append(Token("text", content.strip(), True))
        elif name in ("\\boxed", "\\fbox"):
            out.append(Token("op", "{", spaced))
            _lex(content, out, wordy=False, nesting=nesting + 1)
            out.append(Token("op", "}", False))
        else:
            _lex(content, out, wordy=name in _WORDY, nesting=nesting + 1)
        return min(stop + 1, len(text))
    if name in _TEXT_COMMANDS and name not in ("\\boxed", "\\fbox"):
        return end  # a font switch without a group
    name = _ALIASES.get(name, name)
    if name[1:2].isalpha():
        return _lex_name(name, end, out, spaced)
    if name == "\\%":
        name = "%"
    out.append(Token("op", name, spaced))
    return end


def _lex_name(name: str, end: int, out: list[Token], spaced: bool) -> int:
    """A command of letters; one that is unknown may be a known one run into letters, as in `\\cotx`."""
    bare = name[1:].rstrip("*")
    if _is_known(bare):
        out.append(Token("cmd", "\\" + bare, spaced))
        return end
    if bare in ("imath", "jmath"):
        out.append(Token("sym", bare[0], spaced))
        return end
    for length in range(len(bare) - 1, 1, -1):
        if _is_known(bare[:length]):
            out.append(Token("cmd", "\\" + bare[:length], spaced))
            return end - (len(name) - 1 - length)
    for blank in ("qquad", "quad"):
        if bare.startswith(blank):
            return end - (len(name) - 1 - len(blank))
    raise Unparsed(f"an unknown command \\{bare[:30]}")


def _is_known(bare: str) -> bool:
    command = "\\" + bare
    return (
        bare in names.FUNCTIONS or bare in names.GREEK or command in _KNOWN_COMMANDS or command in names.RELATIONS
        or command in names.SETS or bare in ("or", "and", "cup", "cap", "lor", "land", "square", "blacksquare")
    )  # fmt: skip


def closing_brace(text: str, start: int) -> int:
    """Where the group that began before `start` closes; the end of the text where it doesn't."""
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return len(text)


def _lex_word(word: str, out: list[Token], spaced: bool, wordy: bool) -> None:
    if len(word) == 1:
        out.append(Token("text" if _is_unit_letter(word, out, wordy) else "sym", word, spaced))
    elif word == "min" and out and out[-1].kind == "num":
        out.append(Token("text", word, spaced))
    elif word in names.FUNCTIONS or word in names.GREEK or word in names.CONSTANTS:
        out.append(Token("cmd", "\\" + {"inf": "infty", "infinity": "infty"}.get(word, word), spaced))
    elif _is_product(word, wordy, bool(out) and (out[-1].kind == "num" or out[-1].text in ("square", "cubic"))):
        out.extend(Token("sym", letter, spaced and not i) for i, letter in enumerate(word))
    else:
        prefix = None if wordy else next((p for p in _SPLIT_PREFIXES if word.startswith(p) and len(word) - len(p) <= 2), None)
        if prefix and word not in names.SHORT_WORDS and not is_unit(word):
            out.append(Token("cmd", "\\" + prefix, spaced))
            out.extend(Token("sym", letter, False) for letter in word[len(prefix) :])
        else:
            out.append(Token("text", word, spaced))


_LAST = re.compile(r"\s*(?:\^\{?[23]\}?)?\s*\.?\s*")


def _is_last_unit(letter: str, out: list[Token], rest: str) -> bool:
    """Whether `\\text{ m}` ends the text behind a root, a fraction or π: a unit there, not a variable."""
    if len(letter) != 1 or not is_unit(letter) or not out or out[-1].text not in ("}", ")", "\\pi"):
        return False
    return _LAST.fullmatch(rest) is not None


def _is_unit_letter(letter: str, out: list[Token], wordy: bool) -> bool:
    if not out or not is_unit(letter):
        return False
    return (wordy and out[-1].kind in ("num", "text")) or (out[-1].kind == "text" and out[-1].text in ("square", "cubic"))


def _is_product(word: str, wordy: bool, after_number: bool) -> bool:
    """Whether a run of letters is a product of variables rather than a word."""
    if word in names.SHORT_WORDS or word.lower() in names.NUMBER_WORDS:
        return False
    if wordy:
        return word.isupper() and len(word) <= 4 and not is_unit(word)
    if after_number and is_unit(word) and word not in ("ab",):
        return False
    if len(word) == 2:
        return True
    if len(word) == 3:
        return (
            any(set(word) <= family for family in names.VARIABLE_FAMILIES)
            or not set(word.lower()) & set("eiou")
            or len(set(word)) == 1
        )
    return len(word) <= 6 and (any(set(word) <= family for family in names.VARIABLE_FAMILIES))
