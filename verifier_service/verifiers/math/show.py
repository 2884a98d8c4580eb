"""A tree as text for people: the normal form that verdicts and `explain` show. Bounded in length."""

from __future__ import annotations

from fractions import Fraction

from verifier_service.verifiers.math.tree import Node

MAX_SHOWN = 400
_SIGNS = {"union": " ∪ ", "inter": " ∩ ", "minus": " ∖ ", "ratio": ":"}
_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠", "in": "∈", "notin": "∉", "~": "≈", "==": "≡", "to": "→", "imp": "⇒"}
_NAMED = {"R": "ℝ", "Z": "ℤ", "Q": "ℚ", "N": "ℕ", "C": "ℂ", "empty": "∅"}
_LOOSE = {"add", "pm", "neg", "rel", "list"}


def show(node: Node) -> str:
    """The tree in one line, cut at MAX_SHOWN characters."""
    text = _show(node, 0)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _number(value: Fraction) -> str:
    if value.numerator.bit_length() > 4000 or value.denominator.bit_length() > 4000:
        return "(a long number)"
    return str(value)


def _wrap(node: Node, depth: int, *, tight: bool = False) -> str:
    text = _show(node, depth)
    loose = node.kind in _LOOSE or (
        tight and (node.kind in ("mul", "div", "pow") or (node.kind == "num" and ("/" in text or "-" in text)))
    )
    return f"({text})" if loose else text


def _show(node: Node, depth: int) -> str:
    if depth > 40:
        return "…"
    kind, args, value = node
    deeper = depth + 1
    if kind == "num":
        return _number(value)
    if kind in ("dec", "sym", "const", "text"):
        return {"oo": "∞", "pi": "π"}.get(value, str(value)) if kind == "const" else str(value)
    if kind == "add":
        text = _show(args[0], deeper)
        for arg in args[1:]:
            term = (
                _wrap(arg.args[0], deeper)
                if arg.kind == "neg"
                else _wrap(arg, deeper)
                if arg.kind == "pm"
                else _show(arg, deeper)
            )
            text += f" - {term}" if arg.kind == "neg" else f" - {term[1:]}" if term.startswith("-") else f" + {term}"
        return text
    if kind == "neg":
        return "-" + _wrap(args[0], deeper)
    if kind == "mul":
        return "*".join(_wrap(arg, deeper) for arg in args)
    if kind == "div":
        return f"{_wrap(args[0], deeper)}/{_wrap(args[1], deeper, tight=True)}"
    if kind == "pow":
        return f"{_wrap(args[0], deeper, tight=True)}^{_wrap(args[1], deeper, tight=True)}"
    if kind == "root":
        index = _show(args[1], deeper)
        return f"sqrt({_show(args[0], deeper)})" if index == "2" else f"root({_show(args[0], deeper)}, {index})"
    if kind == "pm":
        sign = "±" if value == "+-" else "∓"
        return sign + _wrap(args[0], deeper) if len(args) == 1 else f"{_show(args[0], deeper)} {sign} {_wrap(args[1], deeper)}"
    return _show_structure(kind, args, value, deeper)


def _show_structure(kind: str, args: tuple[Node, ...], value: object, depth: int) -> str:
    parts = [_show(arg, depth) for arg in args]
    if kind in ("fn", "apply", "big"):
        return f"{value}({', '.join(p for p in parts if p)})"
    if kind in ("pct", "deg"):
        return parts[0] + ("%" if kind == "pct" else "°")
    if kind == "qty":
        return f"{parts[0]} {value}"
    if kind in _SIGNS:
        return _SIGNS[kind].join(parts)
    if kind == "list":
        return (f" {value} " if value != "," else ", ").join(parts)
    if kind == "set":
        return "{" + ", ".join(parts) + "}"
    if kind == "tuple" and isinstance(value, tuple):
        return f"{value[0]}{', '.join(parts)}{value[1]}"
    if kind == "rel" and isinstance(value, tuple):
        return parts[0] + "".join(f" {_RELATIONS.get(op, op)} {part}" for op, part in zip(value, parts[1:], strict=True))
    if kind == "base" and isinstance(value, tuple):
        return f"{value[0]} (base {value[1]})"
    if kind == "named":
        return _NAMED.get(str(value), str(value))
    if kind == "builder":
        return "{" + " | ".join(parts) + "}"
    if kind == "matrix" and isinstance(value, tuple):
        rows = [parts[i : i + value[1]] for i in range(0, len(parts), value[1])]
        return "[" + "; ".join(", ".join(row) for row in rows) + "]"
    if kind == "mod":
        return f"{parts[0]} (mod {parts[1]})"
    if kind == "none":
        return ""
    return "…" if kind == "dots" else f"{kind}({', '.join(parts)}{'' if value is None else f' {value}'})"
