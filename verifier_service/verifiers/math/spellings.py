"""Spellings that mean one thing and that the grammar has no rule for, rewritten to those it knows. Text in, text out.

Each rule is one bounded pass. None may take anything away that could change a value: what is removed is punctuation, a
mark of the end of a proof, or a condition that holds of every value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TEXT = r"\\(?:text(?:bf|it|rm|normal)?|mathrm|mathbf|mbox)"
_PLUS_OR_MINUS = r"(?<![A-Za-z])(?:" + _TEXT + r"\{\s?)?plus(?: or |/|-)minus(?:\s?\}|(?![A-Za-z]))\s?"
_ONE = r"\{?(\w{1,6})\}?"
_UNITS = {"元": "yuan", "米": "m", "厘米": "cm", "千米": "km", "千克": "kg", "克": "g", "小时": "hours", "分钟": "minutes",
          "天": "days", "度": "degrees"}  # fmt: skip
_COUNTERS = "个只人岁条本次种名张件辆棵颗块支枚位头"


def _chinese_unit(match: re.Match[str]) -> str:
    unit = _UNITS.get(match[1], "")
    return rf"\text{{ {unit}}}" if unit else ""


def _chosen(match: re.Match[str]) -> str:
    """`C_5^2` and `C^2_5`, in digits: the ways to choose 2 of 5."""
    below, above = (match[1], match[2]) if match[1] else (match[4], match[3])
    return rf"\binom{{{below}}}{{{above}}}" if int(above) <= int(below) else match.group()


def _arranged(match: re.Match[str]) -> str:
    total, taken = match[1], match[3]
    if match[2] == "C":
        return rf"\binom{{{total}}}{{{taken}}}"
    return rf"\frac{{({total})!}}{{({total}-{taken})!}}"


_Rule = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]
_RULES: tuple[_Rule, ...] = (
    ("[", re.compile(r"\\\\\s{0,4}\[-?\d{0,3}\.?\d{1,3}\s?(?:pt|em|ex|mm|cm|in)\]"), r"\\\\ "),
    ("\\ensuremath", re.compile(r"\\ensuremath(?=\{)"), ""),
    ("\\math", re.compile(r"\\math(?:ord|bin|rel|op)\{([^{}]{0,8})\}"), r"\1"),
    ("\\Gamma", re.compile(r"\\Gamma\s?(?:\\left\s?)?\(\s?([a-zA-Z]|\d{1,4})\s?\+\s?1\s?(?:\\right\s?)?\)"), r"\1!"),
    ("{-}", re.compile(r"\{-\}"), "-"),
    ("\\frac{\\", re.compile(
        r"(?<=\d)\s?\\[dt]?frac\{\s?" + _TEXT + r"\{([A-Za-z ]{1,20})\}\s?\}\{\s?" + _TEXT + r"\{([A-Za-z ]{1,20})\}\s?\}"
    ), r"\\text{ \1/\2}"),
    ("\\SI", re.compile(r"\\SI\{([^{}]{1,40})\}\{([A-Za-z/^\d-]{1,30})\}"), r"\1\\text{ \2}"),
    ("\\qty", re.compile(r"\\qty\{([^{}]{1,40})\}\{([A-Za-z/^\d-]{1,30})\}"), r"\1\\text{ \2}"),
    ("{d", re.compile(r"^\\[dt]?frac\{d([a-z])\}\{d[a-z]\}\s?(?==)"), r"\1'"),
    ("\\num", re.compile(r"\\num\{([^{}]{1,60})\}"), r"\1"),
    ("\\ang", re.compile(r"\\ang\{([^{}]{1,40})\}"), r"\1^\\circ "),
    ("\\angle", re.compile(r"(?<![A-Za-z\\])m\s?\\angle"), r"\\angle"),
    ("\\not", re.compile(r"\\not\s?(?:=|\\eq(?![A-Za-z]))"), r"\\ne "),
    ("\\not", re.compile(r"\\not\s?\\in(?![A-Za-z])"), r"\\notin "),
    ("o", re.compile(r"(?<=\d)\s?\^\s?(?:o(?![A-Za-z])|\{\s?o\s?\}|\{\s?" + _TEXT + r"\{\s?o\s?\}\s?\})"), r"^\\circ "),
    ("{.}", re.compile(r"(?<=\d)\{\.\}(?=\d)"), "."),
    ("\\dot", re.compile(r"(?<=\d)\.(\d{0,20})\\dot\s?(\d)$"), r".\1\\dot{\2}"),
    (".\\over", re.compile(r"(?<![\d.])\.(?=\\overline\{\d)"), "0."),
    ("S", re.compile(r"(?<![A-Za-z\\])(?:US|U\.S\.)\s?(?=\\?\$)"), ""),
    ("min", re.compile(r"(?<=\d)\s?h\s?(?=\d{1,2}\s?min)"), " hours "),
    ("minus", re.compile(_PLUS_OR_MINUS, re.IGNORECASE), r"\\pm "),
    ("matrix{", re.compile(r"\\([pbvBV]?)matrix\{((?:[^{}]|\{[^{}]{0,60}\}){1,2000})\}"), r"\\begin{\1matrix}\2\\end{\1matrix}"),
    ("Matrix(", re.compile(r"^(?:Immutable)?(?:Dense)?Matrix\((\[.{1,2000}\])\)$", re.DOTALL), r"\1"),
    ("\\right", re.compile(
        r"\\left\s?(?:\\\{|\\lbrace)\s?\\begin\{(array|aligned|matrix|gathered|split)\}(?:\{[lcr| ]{0,9}\})?"
        r"((?:(?!\\begin).){1,2000}?)\\end\{\1\}\s?\\right\s?\.", re.DOTALL
    ), r"\\begin{cases}\2\\end{cases}"),
    ("both", re.compile(r"^(?:" + _TEXT + r"\{\s?)?both(?:\s?\}\s?|\s)(?=\S.{0,200}and)"), ""),
    ("superscript", re.compile(r"\\textsuperscript\{(st|nd|rd|th)\}"), r"\1"),
    ("forall", re.compile(r"(?<=\S)(?:,\s?|\s)\\forall\s?[a-zA-Z]\s?(?:\\in\s?\\mathbb\{R\})?$"), ""),
    ("constant", re.compile(
        r",?\s?(?:" + _TEXT + r"\{)?\s?,?\s?where\s?\}?\s?C\s?(?:" + _TEXT + r"\{)?\s?is (?:an?|the|any)(?: arbitrary| real)?"
        r" constant(?: of integration)?\s?\}?\.?$"
    ), ""),
    ("that", re.compile(
        r"^([a-z])\s?(?:" + _TEXT + r"\{)?\s?such that\s?\}?\s?(?=\S)"
    ), ""),
    ("th", re.compile(r"^(\d{1,6})\s?(?:th|st|nd|rd)$"), r"\1"),
    ("sq", re.compile(r"(?<=[\d}])\s?\bsq\.?\s(?=[a-z]{1,6}\.?$)"), r" square "),
    ("\\m", re.compile(r"\\m(?=(?:left|right)(?![A-Za-z]))"), r"\\"),
    ("0b", re.compile(r"^0b([01]{1,400})$"), r"\1_2"),
    ("0x", re.compile(r"^0x([0-9A-Fa-f]{2,100})$"), r"(\1)_{16}"),
    ("\\Pr", re.compile(r"\\Pr(?![A-Za-z])"), "P"),
    ("\\cent", re.compile(r"\\cents?(?![A-Za-z])"), r"\\text{ cents}"),
    ("\\textcent", re.compile(r"\\textcent(?![A-Za-z])"), r"\\text{ cents}"),
    ("¢", re.compile("¢"), r"\\text{ cents}"),
    ("\\&", re.compile(r"(,?)\s?\\&(?=\s)"), r"\1\\text{ and }"),
    ("\\dot", re.compile(r"(\.\d{0,20})\\dot\{?(\d)\}?(\d{0,20})\\dot\{?(\d)\}?"), r"\1\\overline{\2\3\4}"),
    ("10", re.compile(r"(?<=\d)\s?[xX]\s?(?=10\s?(?:\^|\*\*))"), r"\\times "),
    ("log", re.compile(r"(?<![\\A-Za-z])\\?log(2|10)(?=\s?\()"), r"\\log_{\1}"),
    ("C", re.compile(r"(?<![\w}])(?:\{\s?\})?[_^]" + _ONE + r"\s?([CP])\s?_" + _ONE), _arranged),
    ("C", re.compile(r"(?<![\w\\])C(?:_\{?(\d{1,4})\}?\^\{?(\d{1,4})\}?|\^\{?(\d{1,4})\}?_\{?(\d{1,4})\}?)"), _chosen),
    ("P", re.compile(r"(?<![\w}])(?:\{\s?\})?[_^]" + _ONE + r"\s?([CP])\s?_" + _ONE), _arranged),
    ("U", re.compile(r"(?<=[\])}])\s?(?:U|" + _TEXT + r"\{\s?U\s?\})\s?(?=[\[(\\])(?!\\(?!\{|left))"), r"\\cup "),
    ("base", re.compile(r"_\s?\{\s?" + _TEXT + r"\{\(?\s?base[\s~]*\}?\s?(\d{1,2})\s?\)?\s?\}{1,2}"), r"_{\1}"),
    ("pprox", re.compile(
        r"\(\s?(?:\\approx|" + _TEXT + r"\{\s?approx(?:imately)?\.?\s?\}|approx(?:imately)?\.?)\s?"
        r"([-\d.,]{1,30}[^()]{0,20})\)\s?\.?$"
    ), r"\\approx \1"),
    ("for ", re.compile(
        r",?\s?(?:" + _TEXT + r"\{\s?)?for (?:all|any|every)(?: real)?(?: numbers?)?\s?\}?\s?[a-zA-Z]\s?"
        r"(?:\\in\s?\\mathbb\{R\})?\s?\}?\.?$"
    ), ""),
    ("_", re.compile(
        r"(?<![_^\\A-Za-z])([A-Za-z]|\\[A-Za-z]{2,12}|\\(?:overline|bar)\{[A-Za-z]\})\s?\^(\{[^{}]{1,20}\}|\w)_(\{[^{}]{1,30}\}|\w)"
    ), r"\1_\3^\2"),
)  # fmt: skip
_START = re.compile(
    r"(?:=|\\(?:Rightarrow|implies|therefore|Longrightarrow)(?![A-Za-z])|∴)\s*(?=[^\s=])"
    r"|(?:" + _TEXT + r"\{\s?)?(?:for )?all\s*(?:real\s?)?(?:numbers |values of )?\}?\s?(?=[a-z]\s?(?:[<>=]|\\(?:le|ge|ne|in)))"
    r"|(?:" + _TEXT + r"\{\s?)?all\s*(?:real\s?)?(?:numbers |values of )?\}?\s?(?=[a-z]\s?(?:" + _TEXT + r"\{)?\s?such that)"
    r"|(?:" + _TEXT + r"\{\s?)?(?:the )?points?\s?\}?\s?(?=\(|\\left\s?\()"
)
_NEGATIVE = re.compile(r"(?:" + _TEXT + r"\{\s?)?(?:negative|minus)(?:\s?\}\s?|\s)(?=[\d\\$])", re.IGNORECASE)
_LETTERED = re.compile(_TEXT + r"\{\s?(\([A-J]\)|[A-J][.:)])\s?\}(?=.)")
_END = re.compile(r"(?:\s|\\\\|\\(?:blacksquare|qed|qquad|quad)(?![A-Za-z]))+$")
_CHINESE = re.compile(
    r"(?<=[\d}])\s?(?:" + _TEXT + r"\{\s?)?(" + "|".join(sorted(_UNITS, key=len, reverse=True)) + f"|[{_COUNTERS}])" + r"\s?\}?$"
)


def respelt(text: str) -> str:
    """`text`, already in the grammar's signs, in the spellings that the grammar knows."""
    if text.isascii() and text.isalnum() and (text.isdigit() or not text[:1].isdigit()):
        return text
    if text[-1:] in "\\ek" or text.endswith("d"):
        text = _END.sub("", text[-200:]).join((text[:-200], "")) if text[:-200] else _END.sub("", text)
    text = text.strip()
    start = _START.match(text)
    if start and start.end() < len(text):
        text = text[start.end() :]
    text = _NEGATIVE.sub("-", text, count=1) if _NEGATIVE.match(text) else text
    lettered = _LETTERED.match(text)
    if lettered:
        text = f"{lettered[1]} {text[lettered.end() :].strip()}"
    for sign, pattern, instead in _RULES:
        if sign in text:
            text = pattern.sub(instead, text)
    if not text.isascii():
        text = _CHINESE.sub(_chinese_unit, text)
    return text
