"""What an answer is before it is mathematics: a choice, a time, a date, number words, a definition, or plain text.

What none of these is goes to the grammar. Text that the grammar refuses is text if it is made of words, else unparsed.
Besides the grammar's kinds there are here:
    either  args: a list, a decimal; `1,22` may be both
    choice  args: what follows the letter, if anything; value: the letter
    time    args: the same as a ratio; value: (hours, minutes, seconds, "am" | "pm" | "")
    date    value: (year or None, month, day)
    func    args: the body; value: (name, (parameters…))
"""

from __future__ import annotations

import re
from fractions import Fraction

from verifier_service.verifiers.math import names
from verifier_service.verifiers.math.limits import MAX_NODES, TooComplex
from verifier_service.verifiers.math.parser import parse
from verifier_service.verifiers.math.spellings import respelt
from verifier_service.verifiers.math.tokens import Unparsed, closing_brace
from verifier_service.verifiers.math.tree import EMPTY, REALS, Node, num, walk
from verifier_service.verifiers.math.units import is_unit

Shape = Node

MAX_TEXT_CHARS = 500
"""Longest answer that is taken as words."""

_WRAPPERS = re.compile(
    r"\\(?:text(?:bf|it|rm|tt|sf|sc|normal)?|mathrm|mathbf|mathit|mathsf|mbox|operatorname|emph|bold|boldsymbol)\s*(?=\{)"
)
_SPACES = re.compile(r"\\[ ,;:!]|~|\\q?quad(?![A-Za-z])")
_CHOICE = re.compile(r"\(?([A-J])\s*[).:]\)?\.?(?:\s+(.+)|([^\s\w].*)|(\d.*))?", re.DOTALL)
_CHOICE_PAREN = re.compile(r"\(([A-Ja-j])\)\s*[:.,]?\s*(.*)", re.DOTALL)
_CHOICE_WORD = re.compile(
    r"(?:the\s+)?(?:(?:correct|right|best|final)\s+)?(?:option|choice|answer)\s*(?:is)?\s*:?\s*\(?([A-J])\)?\.?", re.IGNORECASE
)
_COMMA_DECIMAL = re.compile(r"(-?)(0|[1-9]\d{0,8}|[1-9]\d{0,2}(?:[. ]\d{3})+),(\d{1,2}|\d{4,9}|(?<=\b0,)\d{3})")
_DOTTED_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3}){2,10}")
_ALL_BUT = re.compile(
    r"all (?:real numbers|reals|real values(?: of [a-z])?|real [a-z]|numbers)(?: [a-z])?,? (?:except|but|other than)(?: for)?"
    r"(?: [a-z]\s?=)? ([^a-z]{1,80})",
    re.IGNORECASE,
)
_TIME = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?\s*([ap]\.?\s?m\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})\s*([ap]\.?\s?m\.?)", re.IGNORECASE)
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?", re.IGNORECASE)
_DAY_MONTH = re.compile(r"(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?([a-z]{3,9})\.?(?:,?\s+(\d{4}))?", re.IGNORECASE)
_BASE = re.compile(
    r"\(?([0-9]*[A-Za-z0-9]+)\)?\s*(?:_\s*\{?\s*(?:base\s*)?\(?(\d{1,2})\)?\s*\}?|\(?(?:in\s+)?base\s+(\d{1,2})\)?)",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\s*([A-Za-z](?:_\{?\w+\}?|'+)?(?:\^\{-1\})?)\s*\(\s*([a-zA-Z](?:\s*,\s*[a-zA-Z])*)\s*\)\s*(?:=|:=)(?!=)(.+)", re.DOTALL
)
_TURNED = re.compile(r"([\[\]])([^\[\]]{1,200}?[,;][^\[\]]{1,200}?)([\[\]])")
_KNOWN_WORDS = dict.fromkeys(
    ("all real numbers", "all reals", "real numbers", "set of all real numbers", "set of real numbers", "all real x",
     "all real values", "all real values of x", "all values of x", "any real number", "every real number",
     "all real numbers x"), REALS
)  # fmt: skip
_KNOWN_WORDS |= dict.fromkeys(
    ("no solution", "no solutions", "no real solutions", "no real solution", "empty set", "none", "no roots", "no real roots",
     "no solution exists", "no solutions exist", "there is no solution", "there are no solutions", "there is no real solution",
     "there are no real solutions", "no real solutions exist"), EMPTY
)  # fmt: skip
_SEVERAL_CHOICES = re.compile(r"^(?:or|and|&|,|/)(?![a-z])|(?:^|\W)\(?[A-J][).](?=\W|$)", re.IGNORECASE)
_LONE_LETTER = re.compile(r"\(?[A-J]\)?\.?")
_ORDINAL_FORMS = {"halves": "half"} | {f"{w}s": w for w in names.ORDINALS if not w.endswith("s")}
_TO = re.compile(r"(\d+)\s+(to|out of|in)\s+(\d+)")
_FEET = re.compile(r"(?:(\d+)')?\s*(?:(\d+(?:\.\d+)?)\s*(?:''|\"))?")
_LEFT_RIGHT = re.compile(r"\\(?:left|right)(?![A-Za-z])")
_MAPSTO = re.compile(r"\s*(?:[A-Za-z]\s*(?::|\\colon)\s*)?([a-z])\s*\\mapsto(.+)", re.DOTALL)
_LABEL = re.compile(
    r"\s*(?:(?:the|final|so|my)\s+)*(?:answer|result|solution)\s*(?:is)?\s*:?\s*=?\s*(?=[\d\\(\[$+\-{xyn])"
    r"|\s*\\text\{\s?(?:the )?(?:final )?(?:answer|result|solution)\s?:?\s?\}\s?[=:]?\s?(?=[\d\\(\[$+\-{xyn])",
    re.IGNORECASE,
)


def interpret(text: str) -> Shape:
    """The shape of an answer or a gold (already in the grammar's signs). Raises Unparsed or TooComplex."""
    text = text.strip()
    for _ in range(3):
        if text[:1] != "{" or "\\over" in text or "\\choose" in text or closing_brace(text, 1) != len(text) - 1:
            break
        text = respelt(text[1:-1].strip())
    if not text:
        raise Unparsed("nothing in it")
    plain = plain_words(text) if len(text) <= MAX_TEXT_CHARS else ""
    if text[0] == "]" or text[-1] == "[":
        text = _turned_brackets(text)
    if plain:
        known = _KNOWN_WORDS.get(words_key(plain))
        if known is not None:
            return known
        special = (
            _comma_decimal(plain)
            or _all_but(plain)
            or _choice(plain)
            or _clock(plain)
            or _date(plain)
            or _number_words(plain)
            or _counted(plain)
            or _feet(plain)
            or _ratio_words(plain)
            or _in_base(plain)
        )
        if special is not None:
            return special
    label = _LABEL.match(text)
    if label and label.end():
        text = text[label.end() :]
    definition = _definition(text)
    if definition is not None:
        return definition
    try:
        node = parse(text)
    except Unparsed:
        if plain and re.search(r"[A-Za-z]{2}", plain) and "\\" not in plain:
            return Node("text", (), words_key(plain))
        raise
    if len(walk(node)) > MAX_NODES:
        raise TooComplex(f"more than {MAX_NODES} parts")
    return Node("text", (), words_key(plain or node.value)) if node.kind == "text" else node


def _turned_brackets(text: str) -> str:
    """`]a, b[` is an open interval in half of Europe."""
    bare = _LEFT_RIGHT.sub("", text)
    return _TURNED.sub(lambda m: ("(" if m[1] == "]" else "[") + m[2] + (")" if m[3] == "[" else "]"), bare)


def plain_words(text: str) -> str:
    """The text without font commands, their braces and LaTeX blanks."""
    if "\\" in text or "{" in text or "~" in text:
        text = _WRAPPERS.sub("", _SPACES.sub(" ", text))
        bare = re.sub(r"[{}]", "", text) if "_" not in text and "^" not in text and "\\" not in text else text
        return re.sub(r"\s+", " ", bare).strip()
    return text.strip()


def words_key(text: str) -> str:
    """Words as they are compared: lower case, no articles, no punctuation."""
    words = re.findall(r"[^\W_]+", text.lower())
    key = " ".join(w for w in words if w not in ("a", "an", "the")) or text.lower().strip()
    return f"{key}?" if text.rstrip().endswith("?") and not key.endswith("?") else key


def _comma_decimal(plain: str) -> Node | None:
    """`1,22` is a list of two numbers or a decimal with a comma; what it is compared with decides."""
    if _DOTTED_THOUSANDS.fullmatch(plain):
        return num(int(plain.replace(".", "")))
    match = _COMMA_DECIMAL.fullmatch(plain)
    if match is None:
        return None
    whole = match[2].replace(" ", "")
    decimal = Node("dec", (), f"{whole.replace('.', '')}.{match[3]}")
    first = Fraction(match[1] + whole) if whole.count(".") < 2 else Fraction(match[1] + whole.replace(".", ""))
    listed = Node("list", (num(first), num(int(match[3]))), ",")
    return Node("either", (listed, Node("neg", (decimal,)) if match[1] else decimal))


def _all_but(plain: str) -> Node | None:
    """`all real numbers except 2 and 3`."""
    match = _ALL_BUT.fullmatch(plain.rstrip("."))
    if match is None:
        return None
    try:
        left_out = parse(match[1])
    except Unparsed:
        return None
    return Node("minus", (REALS, Node("set", left_out.args if left_out.kind == "list" else (left_out,))))


def _choice(plain: str) -> Node | None:
    match = _CHOICE_WORD.fullmatch(plain)
    if match:
        return Node("choice", (), match[1].upper())
    match = _CHOICE_PAREN.fullmatch(plain)
    if match and not match[2]:
        return Node("choice", (), match[1].upper())
    rest = match[2] if match else None
    if match is None:
        match = _CHOICE.fullmatch(plain)
        if match is None:
            return None
        rest = match[2] or match[3] or match[4]
        if plain[0] != "(" and rest and re.match(r"[A-Ja-z\d]\s*(?:$|[:=])", rest) and ":" in plain[:3]:
            return None  # A : B is a ratio
    if rest and (_SEVERAL_CHOICES.search(rest) or _LONE_LETTER.fullmatch(rest) or rest.startswith("?") or not rest.strip(". ")):
        return None
    if rest is None:
        return Node("choice", (), match[1])
    if re.match(r"[-+*/^=<>]|\\(?:cdot|times|le|ge|cup|cap)", rest):
        return None
    try:
        return Node("choice", (interpret(rest),), match[1].upper())
    except Unparsed:
        return Node("choice", (Node("text", (), words_key(rest)),), match[1].upper())


def _clock(plain: str) -> Node | None:
    match = _TIME.fullmatch(plain)
    if match:
        hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
        parts = (num(hours), num(minutes)) if match[3] is None else (num(hours), num(minutes), num(seconds))
        return Node("time", (Node("ratio", parts),), (hours, minutes, seconds, (match[4] or "")[:1].lower()))
    match = _HOUR.fullmatch(plain)
    if match and 1 <= int(match[1]) <= 12:
        return Node("time", (num(int(match[1])),), (int(match[1]), 0, 0, match[2][:1].lower()))
    return None


def _date(plain: str) -> Node | None:
    match = _ISO_DATE.fullmatch(plain)
    if match:
        return Node("date", (), (int(match[1]), int(match[2]), int(match[3])))
    plain = plain.rstrip(".")
    match = _MONTH_DAY.fullmatch(plain)
    if match and (month := _month(match[1])):
        return Node("date", (), (int(match[3]) if match[3] else None, month, int(match[2])))
    match = _DAY_MONTH.fullmatch(plain)
    if match and (month := _month(match[2])):
        return Node("date", (), (int(match[3]) if match[3] else None, month, int(match[1])))
    return None


def _month(word: str) -> int:
    word = word.lower()
    return next(
        (i for i, m in enumerate(_MONTHS, 1) if word == m or (len(word) >= 3 and word == m[: len(word)] and len(word) <= 4)), 0
    )


def _number_words(plain: str) -> Node | None:
    words = [_ORDINAL_FORMS.get(w, w) for w in re.split(r"[\s-]+", plain.lower().rstrip("."))]
    known = names.NUMBER_WORDS.keys() | names.SCALE_WORDS.keys() | names.ORDINALS.keys() | {"and", "a", "negative", "minus"}
    if not words or not known.issuperset(words):
        return None
    if words[-1] in names.ORDINALS:
        return _fraction_words(words)
    total, here, seen = 0, 0, False
    sign = -1 if words[0] in ("negative", "minus") else 1
    for word in words[1:] if sign < 0 else words:
        if word in ("and", "a"):
            continue
        if word in names.NUMBER_WORDS:
            value = names.NUMBER_WORDS[word]
            if here % 100 and not (here % 100 >= 20 and here % 10 == 0 and value < 10):
                return None
            here += value
        elif word in names.SCALE_WORDS:
            scale = names.SCALE_WORDS[word]
            if scale == 100:
                here = max(here, 1) * 100
            else:
                total += max(here, 1) * scale
                here = 0
        else:
            return None
        seen = True
    return num(sign * (total + here)) if seen else None


def _counted(plain: str) -> Node | None:
    """`ten dollars`: number words and a unit."""
    words, _, unit = plain.rpartition(" ")
    if not words or not words[0].isalpha() or not is_unit(unit):
        return None
    number = _number_words(words)
    kind = {"percent": "pct", "degree": "deg", "degrees": "deg"}.get(unit.lower())
    if number is None or kind:
        return None if number is None or kind is None else Node(kind, (number,))
    return Node("qty", (number,), unit)


def _feet(plain: str) -> Node | None:
    """5'3'' is five feet three inches."""
    match = _FEET.fullmatch(plain)
    if match is None or not (match[1] or match[2]):
        return None
    parts = [Node("qty", (num(Fraction(n)),), unit) for n, unit in ((match[1], "ft"), (match[2], "in")) if n]
    return parts[0] if len(parts) == 1 else Node("add", tuple(parts))


def _ratio_words(plain: str) -> Node | None:
    match = _TO.fullmatch(plain)
    return Node("ratio" if match[2] == "to" else "div", (num(int(match[1])), num(int(match[3])))) if match else None


def _fraction_words(words: list[str]) -> Node | None:
    """`three quarters`, `half`, `one and a half`, `negative two thirds`."""
    sign = -1 if words[0] in ("negative", "minus") else 1
    words = words[1:] if sign < 0 else words
    whole = Fraction(0)
    if "and" in words:
        cut = words.index("and")
        head, words = _number_words(" ".join(words[:cut])), words[cut + 1 :]
        if head is None or head.kind != "num" or head.value.denominator != 1 or head.value < 0:
            return None
        whole = head.value
    if not 1 <= len(words) <= 2:
        return None
    count = 1 if words[0] == "a" or len(words) == 1 else names.NUMBER_WORDS.get(words[0])
    return num(sign * (whole + Fraction(count, names.ORDINALS[words[-1]][1]))) if count else None


def _in_base(plain: str) -> Node | None:
    match = _BASE.fullmatch(plain)
    if match is None or not re.search(r"\d|[A-Z]{2}", match[1]):
        return None
    digits, base = match[1].upper(), int(match[2] or match[3])
    if not 2 <= base <= 36 or any(int(c, 36) >= base for c in digits) or (match[1][0].isalpha() and base < 11):
        return Node("base", (), (digits, base)) if digits.isdigit() and 2 <= base <= 36 else None
    return Node("base", (), (digits, base))


def _definition(text: str) -> Node | None:
    bare = _LEFT_RIGHT.sub("", text)
    match = _DEFINITION.fullmatch(bare)
    if match is None:
        arrow = _MAPSTO.fullmatch(bare)
        return Node("func", (parse(arrow[2]),), ("", (arrow[1],))) if arrow else None
    parameters = tuple(p.strip() for p in match[2].split(","))
    try:
        body = parse(match[3])
    except Unparsed:
        return None
    if body.kind == "rel" and set(body.value) == {"="}:
        body = body.args[-1]
    return Node("func", (body,), (match[1], parameters))
