"""Generated mathematics: equal pairs made by rewriting, unequal ones by spoiling, and noise that nothing may raise on."""

from __future__ import annotations

import random
import time
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verifier_service.faults import TaskFault
from verifier_service.verifiers.math.judge import Judgement, judge, judge_answer, prepare_gold
from verifier_service.verifiers.math.options import Options

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
OPTIONS = Options()
EVERY = Options(extract=("boxed", "hash", "final_answer", "last_line"))

Tree = tuple  # ("n", value) | ("v", name) | (operator, left, right)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Tree:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return ("v", draw(st.sampled_from("xyz"))) if draw(st.booleans()) else ("n", draw(st.integers(1, 30)))
    operator = draw(st.sampled_from(["+", "-", "*", "/", "^", "sqrt", "sin"]))
    left = draw(trees(depth=depth - 1))
    if operator == "^":
        return ("^", left, ("n", draw(st.integers(2, 4))))
    if operator in ("sqrt", "sin"):
        return (operator, left)
    return (operator, left, draw(trees(depth=depth - 1)))


def latex(tree: Tree, style: random.Random) -> str:
    """One of the many ways to write a tree."""
    kind = tree[0]
    if kind in "nv":
        return str(tree[1])
    left = latex(tree[1], style)
    if kind == "sqrt":
        return style.choice([f"\\sqrt{{{left}}}", f"sqrt({left})", f"({left})^{{1/2}}"])
    if kind == "sin":
        return style.choice([f"\\sin({left})", f"sin({left})", f"\\sin\\left({left}\\right)"])
    right = latex(tree[2], style)
    if kind in "+*" and style.random() < 0.5:
        left, right = right, left
    if kind == "+":
        return f"({left} + {right})"
    if kind == "-":
        return style.choice([f"({left} - {right})", f"(-({right}) + {left})"])
    if kind == "*":
        sign = style.choice(["*", " \\cdot ", " × ", ""])
        return f"({left}){sign}({right})"
    if kind == "/":
        return style.choice([f"\\frac{{{left}}}{{{right}}}", f"({left})/({right})", f"\\dfrac{{{left}}}{{{right}}}"])
    return style.choice([f"({left})^{{{right}}}", f"({left})**{right}", f"({left})^{right}"])


def run(gold: str, answer: str) -> Judgement | None:
    """The judgement; None where the generated gold itself has no value."""
    started = time.monotonic()
    try:
        done = judge_answer(prepare_gold(gold), answer, OPTIONS)
    except TaskFault:
        return None
    assert time.monotonic() - started < 10.0
    return done


def has_value(text: str) -> bool:
    done = run(text, f"({text})*1")
    return done is not None and done.outcome == "correct"


@QUICK
@given(trees(), st.integers(0, 2**32))
def test_two_ways_to_write_one_thing_are_equal(tree: Tree, seed: int) -> None:
    first, second = latex(tree, random.Random(seed)), latex(tree, random.Random(seed + 1))
    if not has_value(first):
        return
    done = run(first, second)
    assert done is not None
    assert done.outcome == "correct", (first, second, done)


@QUICK
@given(trees(), st.integers(0, 2**32), st.sampled_from(["1", "x", "10^{-40}", "\\frac{1}{1000003}", "-7", "e^{-300}"]))
def test_what_is_spoiled_by_however_little_is_unequal(tree: Tree, seed: int, spoil: str) -> None:
    text = latex(tree, random.Random(seed))
    done = run(text, f"{latex(tree, random.Random(seed + 1))} + ({spoil})")
    assert done is None or done.outcome != "correct", (text, spoil, done)


@QUICK
@given(st.fractions(max_denominator=10**6), st.integers(0, 5))
def test_a_fraction_equals_each_of_its_spellings(value: Fraction, which: int) -> None:
    n, d = value.numerator, value.denominator
    spelling = [
        f"\\frac{{{n}}}{{{d}}}",
        f"{n}/{d}",
        f"{3 * n}/{3 * d}",
        f"\\frac{{{-n}}}{{{-d}}}",
        f"{n} \\div {d}",
        f"{n} \\cdot {d}^{{-1}}",
    ][which]
    done = run(f"\\frac{{{n}}}{{{d}}}", spelling)
    assert done is not None
    assert done.outcome == "correct", done


@QUICK
@given(st.fractions(-99, 99, max_denominator=10**4), st.integers(6, 12))
def test_a_decimal_stands_for_a_fraction_only_when_rounded_rightly(value: Fraction, places: int) -> None:
    scale = 10**places
    rounded = round(value * scale)
    if Fraction(rounded, scale) == value or abs(rounded) < 10**6:
        return
    gold = f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
    shown, off = (f"{'-' if r < 0 else ''}{abs(r) // scale}.{abs(r) % scale:0{places}d}" for r in (rounded, rounded + 1))
    good, bad = run(gold, shown), run(gold, off)
    assert good is not None
    assert bad is not None
    den = value.denominator
    while den % 2 == 0:
        den //= 2
    while den % 5 == 0:
        den //= 5
    assert good.outcome == ("incorrect" if den == 1 else "correct")
    assert bad.outcome == "incorrect" or abs(value * scale - rounded - 1) * 2 <= 1


@QUICK
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.integers(0, 2**32))
def test_a_set_has_no_order_and_a_tuple_has_one(items: list[int], seed: int) -> None:
    shuffled = items[:]
    random.Random(seed).shuffle(shuffled)
    joined, other = ", ".join(map(str, items)), ", ".join(map(str, shuffled))
    done = run(f"\\{{{joined}\\}}", f"\\{{{other}\\}}")
    assert done is not None
    assert done.outcome == "correct"
    done = run(f"({joined})", f"({other})")
    assert done is not None
    assert (done.outcome == "correct") == (items == shuffled)


PIECES_TEXT = r"""\frac \sqrt { } ( ) [ ] \{ \} \left \right ^ _ 1 23 0.5 x y \pi e i + - \pm * / = < \le \in \cup , ; : | ! % $
    \% \text{ \text{or} and or \sin \log_ \int \sum_{k=1}^{3} dx \infty \begin{pmatrix} \end{pmatrix} & \\ ° ½ ² √ \boxed{ ####
    </think> <think> cm A (B) 12:30 \overline{3} ... \mathbb{R} \circ f( ' \choose \over \binom \max( \lfloor \rfloor \mod
    \pmod{7} \ne \mid"""
PIECES = st.sampled_from([*PIECES_TEXT.split(), " ", "\n", " or ", "\u202e", "\x00"])


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PIECES, max_size=14).map("".join), st.lists(PIECES, max_size=14).map("".join))
def test_nothing_that_is_written_raises_or_takes_long(gold: str, answer: str) -> None:
    started = time.monotonic()
    try:
        prepared = prepare_gold(gold)
        judge_answer(prepared, answer, OPTIONS)
        judge(prepared, answer, EVERY)
        judge(prepared, f"\\boxed{{{answer}}}", OPTIONS)
    except TaskFault:
        pass
    assert time.monotonic() - started < 10.0


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_at_all_is_judged(text: str) -> None:
    for gold in ("7", "x+1", "(1,2)", "Evelyn"):
        done = judge(prepare_gold(gold), f"\\boxed{{{text}}}", EVERY)
        assert done.outcome in ("correct", "incorrect", "no_answer", "malformed_answer", "answer_too_complex")
