"""Characters before grammar: one spelling for each sign, and refusal of what must never be guessed at.

Unicode signs become the LaTeX or ASCII the grammar knows. Control characters, lone surrogates and direction overrides
make an answer malformed: what a reader sees is not what is there. Compatibility forms are never folded wholesale, since
NFKC makes `5²` into `52`.
"""

from __future__ import annotations

import re
import unicodedata

from verifier_service.verifiers.math.spellings import respelt

MAX_ANSWER_CHARS = 10_000
"""Longest answer or gold that is parsed; longer ones match by text only."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffd]")

_SIGNS = {
    "−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "﹣": "-", "－": "-", "➖": "-", "˗": "-",
    "×": r"\times ", "⋅": r"\cdot ", "·": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ", "✕": r"\times ", "∗": "*", "⁎": "*",
    "÷": r"\div ", "∕": "/", "⁄": "/", "±": r"\pm ", "∓": r"\mp ", "√": r"\sqrt ", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]",
    "∞": r"\infty ", "π": r"\pi ", "≤": r"\le ", "≥": r"\ge ", "≦": r"\le ", "≧": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "≃": r"\approx ", "≅": r"\cong ", "≡": r"\equiv ", "∈": r"\in ", "∉": r"\notin ",
    "∪": r"\cup ", "∩": r"\cap ", "∖": r"\setminus ", "⊂": r"\subset ", "⊆": r"\subseteq ", "∅": r"\emptyset ",
    "ø": r"\emptyset ", "Ø": r"\emptyset ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℚ": r"\mathbb{Q}", "ℕ": r"\mathbb{N}",
    "ℂ": r"\mathbb{C}", "∨": r"\lor ", "∧": r"\land ", "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "∘": r"^\circ ",
    "′": "'", "″": "''", "’": "'", "‘": "'", "“": '"', "”": '"', "…": r"\ldots ", "⋯": r"\cdots ", "∣": "|", "｜": "|",
    "‖": r"\|", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "→": r"\to ", "⇒": r"\Rightarrow ",
    "⟹": r"\Rightarrow ", "⟨": r"\langle ", "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ", "∑": r"\sum ",
    "∏": r"\prod ", "∫": r"\int ", "∂": r"\partial ", "∠": r"\angle ", "△": r"\triangle ", "⊥": r"\perp ", "∥": r"\parallel ",
    "ℓ": r"\ell ", "ℯ": "e", "ⅇ": "e", "ⅈ": "i", "％": r"\%", "﹪": r"\%", "，": ",", "；": ";", "：": ":", "（": "(",
    "）": ")", "［": "[", "］": "]", "｛": "{", "｝": "}", "＝": "=", "＋": "+", "＜": "<", "＞": ">", "。": ".", "、": ",",
    "．": ".", "￥": "¥", "∶": ":", "﹕": ":", "＄": "$",
    "\u00a0": " ", "\u2007": " ", "\u2008": " ", "\u2009": r"\,", "\u200a": " ", "\u202f": r"\,",
    "\u3000": " ", "\u2002": " ", "\u2003": " ", "\u2061": "", "\u2062": "*", "\u2063": ",", "\u200b": " ", "\u200c": " ",
    "\u200d": " ", "\u2060": " ", "\ufeff": " ", "\u00ad": "", "\t": " ", "\r": " ", "\n": " ",
}  # fmt: skip
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξρστυφχψωΓΔΘΛΞΠΣΦΨΩϵϕϑµ",
        [
            "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
            "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi",
            "Sigma", "Phi", "Psi", "Omega", "epsilon", "phi", "theta", "mu",
        ],
        strict=True,
    )
)  # fmt: skip
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸᵏᵐᵗ", "0123456789+-=()nixykmt", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₓᵢⱼₖₘ", "0123456789+-()nxijkm", strict=True))
_FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5), "⅘": (4, 5),
    "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
_ENTITIES = {"lt": "<", "gt": ">", "le": r"\le ", "ge": r"\ge ", "ne": r"\ne ", "nbsp": " ", "times": r"\times ", "minus": "-",
             "deg": r"^\circ ", "pi": r"\pi ", "plusmn": r"\pm ", "radic": r"\sqrt ", "infin": r"\infty "}  # fmt: skip
_ENTITY = re.compile(f"&({'|'.join(_ENTITIES)});")
_TABLE = {ord(k): v for k, v in _SIGNS.items()}
_TABLE |= {ord(k): f"\\{v} " for k, v in _GREEK.items()}
_TABLE |= {ord(k): rf"\frac{{{n}}}{{{d}}}" for k, (n, d) in _FRACTIONS.items()}
_UP = re.compile("[" + "".join(map(re.escape, _SUPERSCRIPTS)) + "]+")
_DOWN = re.compile("[" + "".join(map(re.escape, _SUBSCRIPTS)) + "]+")
_STYLED = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]")
_REPEATING_MARK = re.compile("((?:\\d\u0305)+)")
_QUOTES = re.compile(r'^(?:\\?")+|(?:\\?")+$')
_DOLLAR_AMOUNT = re.compile(r"(?<!\\)\$(?=\s*[\d.,]+(?:\s|$|[^$]*$))")


_BROKEN_ESCAPES = re.compile(
    "\x0c(?=rac)|\x08(?=egin|inom|oxed|eta|ar)|\x07(?=lpha|ngle|pprox)|\x0b(?=ec|ar)|\t(?=ext|imes|heta|frac|au)|\r(?=ight|ho)"
)
_ESCAPE_LETTERS = {"\x0c": "\\f", "\x08": "\\b", "\x07": "\\a", "\x0b": "\\v", "\t": "\\t", "\r": "\\r"}


def mended(text: str) -> str:
    """With the control characters that a forgotten raw string makes of `\\frac`, `\\text` or `\\begin` made LaTeX again."""
    if text.isprintable():
        return text
    return _BROKEN_ESCAPES.sub(lambda m: _ESCAPE_LETTERS[m.group()], text)


def forbidden(text: str) -> bool:
    """Whether the text holds characters that hide what it says."""
    return _FORBIDDEN.search(text) is not None


def to_grammar(text: str) -> str:
    """The text in the signs of the grammar; ASCII text is returned as it is but for its dollars."""
    if not text.isascii():
        text = _STYLED.sub(lambda m: unicodedata.normalize("NFKC", m.group()), text)
        text = _REPEATING_MARK.sub(lambda m: "\\overline{" + m.group().replace("\u0305", "") + "}", text)
        text = _UP.sub(lambda m: "^{" + "".join(_SUPERSCRIPTS[c] for c in m.group()) + "}", text)
        text = _DOWN.sub(lambda m: "_{" + "".join(_SUBSCRIPTS[c] for c in m.group()) + "}", text)
        text = text.translate(_TABLE)
    if "&" in text and ";" in text:
        text = _ENTITY.sub(lambda m: _ENTITIES[m[1]], text)
    if "\\\\" in text and "\\begin" not in text and "\n" not in text:
        text = re.sub(r"\\\\(?=[A-Za-z]{2}|[{},;!$%(\[])", r"\\", text)  # escaped once too often
    return respelt(unwrap(text))


def unwrap(text: str) -> str:
    """Without the delimiters of inline and display maths; a dollar before an amount becomes a currency sign."""
    text = text.strip()
    if '"' in text:
        text = _QUOTES.sub("", text).strip()
    if "$" in text:
        bare = text.replace("\\$", "")
        if bare.count("$") % 2 == 0:
            text = re.sub(r"(?<!\\)\$\$?", " ", text).strip()
        else:
            text = _DOLLAR_AMOUNT.sub(r"\\$", text)
            text = re.sub(r"(?<!\\)\$", r"\\$", text)
    for _ in range(3):
        for opening, closing in (
            ("\\(", "\\)"),
            ("\\$", "\\$"),
            ("\\[", "\\]"),
            ("**", "**"),
            ("*", "*"),
            ("`", "`"),
            ("'", "'"),
        ):
            if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
                text = text[len(opening) : -len(closing)].strip()
    return text


_KEY_NOISE = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|[bB]igg?[lr]?|limits|,|!|;|:| |quad|qquad)(?![A-Za-z])|[$~]|\s+"
    r"|\\(?:text|mathrm|textbf|mathbf)\s*(?=\{)"
)
_KEY_SPELLING = re.compile(r"\\[dt]frac(?![A-Za-z])")


def text_key(text: str) -> str:
    """A spelling for the string stage: equal keys mean equal answers. Blanks between digits and words are kept."""
    if text.isalnum():
        return text
    text = _KEY_SPELLING.sub(r"\\frac", text)
    key = _KEY_NOISE.sub(" ", text).strip()
    if key.endswith(".") and not key.endswith(".."):  # dots that go on are more than a full stop
        key = key[:-1].strip()
    return re.sub(r"(?<![A-Za-z0-9,]) +| +(?![A-Za-z0-9])", "", key)
