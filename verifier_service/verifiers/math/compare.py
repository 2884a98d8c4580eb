"""Typed comparison: two trees are brought to canonical structures, and like is compared with like.

A number never equals a set that holds it, a name never equals a number, a hedge never equals either of its halves. Where
a convention is open (see docs/math.md) the options decide.
"""

from __future__ import annotations

from verifier_service.verifiers.math.canon import canon, is_assignment_like, relation_of
from verifier_service.verifiers.math.equal import Comparison, same_scalar
from verifier_service.verifiers.math.exact import valid_digits
from verifier_service.verifiers.math.likeness import as_vector, in_name_order, is_residue, other_function, same_parameter
from verifier_service.verifiers.math.limits import MAX_UNORDERED_ITEMS, TooComplex, Undefined
from verifier_service.verifiers.math.measures import has_measure, same_measure
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.readings import reread
from verifier_service.verifiers.math.realsets import NoSet, interval_of, real_set
from verifier_service.verifiers.math.relations import same_relation
from verifier_service.verifiers.math.tree import Node, has, num, replace, symbols
from verifier_service.verifiers.math.verdicts import SET_KINDS, kind_of, no, same_pieces, speaks_of_set, yes
from verifier_service.verifiers.math.wordings import same_choice, same_time, same_words

_SCALARS = {
    "num", "dec", "sym", "const", "add", "mul", "neg", "div", "pow", "root", "fn", "apply", "big", "pct", "deg", "qty", "base",
}  # fmt: skip


def compare(gold: Node, answer: Node, options: Options) -> Comparison:
    """Compare two shapes. Raises TooComplex."""
    if gold == answer and not has(answer, "div", "fn"):
        return yes("form", "the same expression")
    try:
        gold, answer = reread(gold, answer)
        return _compare(canon(gold), canon(same_parameter(gold, answer)), options, 0)
    except Undefined as error:
        return no("value", f"a value is undefined: {error}")


def _compare(gold: Node, answer: Node, options: Options, depth: int) -> Comparison:
    if depth > 12:
        raise TooComplex("structures nested too deeply to compare")
    if "either" in (gold.kind, answer.kind):
        other = answer if gold.kind == "either" else gold
        pick = 1 if other.kind in _SCALARS else 0
        gold, answer = (n.args[pick] if n.kind == "either" else n for n in (gold, answer))
    for rule in (_wordings, _named_values, _sets, _lists, _tuples, _special):
        found = rule(gold, answer, options, depth)
        if found is not None:
            return found
    if gold.kind in _SCALARS and answer.kind in _SCALARS:
        if answer.kind == "base":
            if gold.kind == "base" and gold.value[1] != answer.value[1]:
                return no("base", "a number in another base")
            if gold.kind == "num" and answer.value[0].lstrip("0") == str(gold.value) and valid_digits(*answer.value):
                return yes("base", "the digits are the wanted ones; the base that the answer adds is forgiven")
        if has_measure(gold) or has_measure(answer):
            return same_measure(gold, answer, options)
        return same_scalar(gold, answer, options)
    if gold == answer:
        return yes("form", "the same expression")
    return no("structure", f"{kind_of(answer)} where another kind of answer is wanted")


def _wordings(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    if gold.kind == "choice" or answer.kind == "choice":
        if answer.kind == "choice" and gold.kind != "choice" and answer.args and not _is_letter(gold):
            return None if gold.kind in ("ratio",) else no("choice", "a choice letter where another kind of answer is wanted")
        return same_choice(gold, answer, lambda g, a: _compare(canon(g), canon(a), options, depth + 1))
    if (
        answer.kind == "ratio"
        and _is_letter(gold)
        and len(answer.args) == 2
        and _is_letter(answer.args[0])
        and not _is_letter(answer.args[1])
    ):
        return same_choice(gold, answer.args[0], lambda g, a: _compare(g, a, options, depth + 1))
    if gold.kind == "text" or answer.kind == "text":
        return same_words(gold, answer)
    if gold.kind in ("time", "date") or answer.kind in ("time", "date"):
        return same_time(gold, answer, lambda g, a: _compare(g, a, options, depth + 1))
    if has(answer, "dots") or has(gold, "dots"):
        return Comparison(gold == answer, "form", "the same expression" if gold == answer else "an ellipsis matches only itself")
    return None


def _is_letter(node: Node) -> bool:
    return node.kind == "choice" or (node.kind == "sym" and len(node.value) == 1 and "A" <= node.value <= "J")


def _named_values(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    """x = 5, f(x) = …, x = 1 and y = 2."""
    if gold.kind == "func" or answer.kind == "func":
        return _functions(gold, answer, options, depth)
    if gold.kind == "assign" and answer.kind == "assign":
        if gold.value == answer.value or (is_assignment_like(gold) and is_assignment_like(answer)):
            return _compare(gold.args[0], answer.args[0], options, depth + 1)
        return same_relation(relation_of(gold), relation_of(answer), options)
    if gold.kind == "assign" or answer.kind == "assign":
        named, other = (gold, answer) if gold.kind == "assign" else (answer, gold)
        if other.kind == "rel":
            return _relations(relation_of(gold), relation_of(answer), options)
        if other.kind == "system" and named.value == f"({','.join(other.value)})" and named.args[0].kind == "tuple":
            pairs = list(
                zip(
                    gold.args[0].args if named is gold else gold.args,
                    answer.args[0].args if named is answer else answer.args,
                    strict=True,
                )
            )
            return _all(pairs, options, depth, "each named value is equal", "a named value differs")
        if other.kind == "system":
            return no("structure", "one named value where several are wanted, or the reverse")
        if other.kind == "mod":
            return no("structure", "one value where a whole class of them is meant, or the reverse")
        value = in_name_order(named, other)
        if named is answer and value.kind == "list" and other.kind == "tuple":
            return no("structure", "several values of one name where a tuple is wanted")
        if value.kind in ("tuple", "set") and other.kind == "union":
            return None
        return _compare(value, other, options, depth + 1) if named is gold else _compare(other, value, options, depth + 1)
    if gold.kind == "system" and answer.kind == "system":
        if set(gold.value) != set(answer.value):
            return no("structure", "other names than those wanted")
        pairs = [(gold.args[gold.value.index(n)], answer.args[answer.value.index(n)]) for n in gold.value]
        return _all(pairs, options, depth, "each named value is equal", "a named value differs")
    if gold.kind == "system" or answer.kind == "system":
        system, other = (gold, answer) if gold.kind == "system" else (answer, gold)
        if other.kind not in ("tuple", "list") or (other.kind == "tuple" and other.value != ("(", ")")):
            return no("structure", f"{kind_of(answer)} where another kind of answer is wanted")
        if len(other.args) != len(system.args) or any(a.kind == "assign" for a in other.args):
            return no("structure", "several named values where another kind of answer is wanted")
        named_values = list(zip(system.value, system.args, strict=True))
        if other.kind == "tuple" and set(system.value) <= set("xyzt"):  # coordinates stand in the order of their names
            named_values.sort(key=lambda pair: "xyzt".index(pair[0]))
        pairs = list(zip((value for _, value in named_values), other.args, strict=True))
        return _all(
            pairs if system is gold else [(b, a) for a, b in pairs],
            options,
            depth,
            "the values are equal in order",
            "a value differs",
        )
    return None


def _functions(gold: Node, answer: Node, options: Options, depth: int) -> Comparison:
    bodies = []
    if other_function(gold, answer):
        return no("structure", "a derivative, an inverse or the value at one place instead of the function, or the reverse")
    for node in (gold, answer):
        if node.kind == "func":
            bodies.append((node.args[0], node.value[1]))
        elif node.kind == "assign" and len(symbols(node.args[0])) <= 2:
            bodies.append((node.args[0], None))
        elif node.kind in _SCALARS or node.kind in ("cases", "matrix", "tuple"):
            bodies.append((node, None))
        else:
            return no("structure", "a function on one side only")
    (left, parameters), (right, others) = bodies
    if parameters and others and len(parameters) == len(others):
        if symbols(right) & (set(parameters) - set(others)):
            return no("structure", "it speaks of another variable than its own")
        for old in others:
            right = replace(right, Node("sym", (), old), Node("sym", (), f"its {old}"))
        for old, new in zip(others, parameters, strict=True):
            right = replace(right, Node("sym", (), f"its {old}"), Node("sym", (), new))
    elif parameters and others:
        return no("structure", "functions of different numbers of arguments")
    return _compare(canon(left), canon(right), options, depth + 1)


def _sets(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    """Intervals, unions, inequalities and memberships, both ways round; relations that are no sets."""
    if gold.kind == "rel" and answer.kind == "rel" and (set(gold.value) | set(answer.value)) <= {"="}:
        return _relations(gold, answer, options)
    plain = {"tuple", "list", "set"}
    if not (speaks_of_set(gold) or speaks_of_set(answer)):
        return None
    if any(n.kind not in SET_KINDS | plain | {"rel", "assign"} for n in (gold, answer)):
        return no("structure", f"{kind_of(answer)} where another kind of answer is wanted")
    if gold.kind == "named" and answer.kind == "named":
        return Comparison(gold == answer, "set", "the same set" if gold == answer else "another set")
    try:
        (name, left), (other, right) = real_set(gold), real_set(answer)
    except NoSet:
        return _set_forms(gold, answer, options, depth)
    if name and other and name != other:
        return no("set", "it speaks of another variable")
    return same_pieces(left, right, options)


def _set_forms(gold: Node, answer: Node, options: Options, depth: int) -> Comparison:
    """Sets with symbols in them, and relations on several variables: compared part by part."""
    if gold.kind == answer.kind == "tuple" and gold.value == answer.value and len(gold.args) == len(answer.args):
        return _all(
            list(zip(gold.args, answer.args, strict=True)), options, depth, "the parts are equal", "an end of an interval differs"
        )
    if gold.kind == answer.kind == "rel":
        return _relations(gold, answer, options)
    if gold.kind == answer.kind and gold.kind in ("union", "inter"):
        for order in (answer.args, answer.args[::-1]):
            found = _all(list(zip(gold.args, order, strict=True)), options, depth, "the same parts", "a part differs")
            if found.equal:
                return found
        return no("set", "a part of the set differs")
    if gold.kind == answer.kind and gold.kind in ("minus", "builder", "list") and len(gold.args) == len(answer.args):
        return _all(list(zip(gold.args, answer.args, strict=True)), options, depth, "the same parts", "a part of the set differs")
    if gold.kind == "rel" and answer.kind == "tuple":
        return _interval_with_symbols(gold, answer, options, depth)
    if answer.kind == "rel" and gold.kind == "tuple":
        return _interval_with_symbols(answer, gold, options, depth)
    return Comparison(gold == answer, "set", "the same set" if gold == answer else "the two sets could not be shown equal")


def _interval_with_symbols(relation: Node, interval: Node, options: Options, depth: int) -> Comparison:
    if relation.value == ("in",) and relation.args[0].kind == "sym":
        return _compare(canon(relation.args[1]), interval, options, depth + 1)
    names = {a.value for a in relation.args if a.kind == "sym"} - symbols(interval)
    found = interval_of(relation, names.pop()) if len(names) == 1 else None
    if found is None or found.value != interval.value:
        return no("set", "the two sets could not be shown equal")
    return _all(
        list(zip(found.args, interval.args, strict=True)), options, depth, "the same interval", "an end of an interval differs"
    )


def _relations(gold: Node, answer: Node, options: Options) -> Comparison:
    return same_relation(gold, answer, options)


def _lists(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    many = ("list", "set")
    if gold.kind not in many and answer.kind not in many:
        return None
    letters = _letters(gold)
    if letters and letters == _letters(answer):
        return yes("choice", "the same choices")
    pair = []
    for node in (gold, answer):
        if node.kind == "matrix" or (
            node.kind not in many and node.kind not in _SCALARS | {"tuple", "rel", "assign", "mod", "ratio"}
        ):
            return no("structure", f"{kind_of(answer)} where another kind of answer is wanted")
        pair.append(node)
    left, right = pair
    if left.kind in many and right.kind in many:
        return _items(left, right, options, depth)
    several, other = (left, right) if left.kind in many else (right, left)
    if other.kind == "tuple":
        if len(several.args) == 1 and several.args[0].kind == "tuple":  # the set of one point
            return _compare(
                left.args[0] if left is several else left, right.args[0] if right is several else right, options, depth + 1
            )
        if several.kind == "set" or (other.value[0] != "(" and len(other.args) < 3) or options.order_matters is False:
            return no("structure", "a tuple on one side and a set on the other")
        if len(several.args) != len(other.args):
            return no("structure", "another number of items")
        pairs = list(zip(left.args, right.args, strict=True))
        return _all(pairs, options, depth, "the items are equal in order", "an item differs, or their order")
    if len(several.args) > 1 and several.kind == "list" and other.kind in _SCALARS and _all_equal(several, options, depth):
        several = Node("list", several.args[:1], several.value)
        left, right = (several, right) if left.kind in many else (left, several)
    if len(several.args) == 1:
        return _compare(
            canon(left.args[0]) if left is several else left,
            canon(right.args[0]) if right is several else right,
            options,
            depth + 1,
        )
    return no("structure", "several values where one is wanted, or the reverse")


def _all_equal(items: Node, options: Options, depth: int) -> bool:
    """One value in several forms, as in `2.5 or 5/2`."""
    first = items.args[0]
    return len(items.args) <= MAX_UNORDERED_ITEMS and all(
        a.kind in _SCALARS and first.kind in _SCALARS and _compare(canon(first), canon(a), options, depth + 1).equal
        for a in items.args[1:]
    )


def _letters(node: Node) -> list[str] | None:
    """The choices that `BC` or `B, C` names, sorted; None for anything else."""
    parts = node.args if node.kind in ("list", "mul") else ()
    flat = [p for part in parts for p in (part.args if part.kind == "mul" else (part,))]
    return sorted(str(p.value) for p in flat) if len(flat) > 1 and all(_is_letter(p) and not p.args for p in flat) else None


def _items(gold: Node, answer: Node, options: Options, depth: int) -> Comparison:
    left, right = list(gold.args), list(answer.args)
    if options.order_matters and gold.kind == "list" and answer.kind == "list":
        if len(left) != len(right):
            return no("structure", "another number of items")
        return _all(
            list(zip(left, right, strict=True)), options, depth, "the items are equal in order", "an item differs, or their order"
        )
    if "set" in (gold.kind, answer.kind) or any(i.kind == "tuple" for i in left):
        left, right = _distinct(left, options, depth), _distinct(right, options, depth)
    if len(left) != len(right):
        return no("structure", "another number of items")
    exact = [b for b in right if b in left]
    if len(exact) == len(right) and sorted(map(repr, left)) == sorted(map(repr, right)):
        return yes("structure", "the same items")
    if len(left) > MAX_UNORDERED_ITEMS:
        raise TooComplex(f"more than {MAX_UNORDERED_ITEMS} items to match")
    if any(i.kind == "set" for i in left) != any(i.kind == "set" for i in right):
        return no("structure", "sets among the items on one side only")
    remaining = list(right)
    for item in left:
        match = next((r for r in remaining if _compare(canon(item), canon(r), options, depth + 1).equal), None)
        if match is None:
            return no("structure", "an item of the wanted ones is missing")
        remaining.remove(match)
    return yes("structure", "the same items, each equal to one of the wanted ones")


def _distinct(items: list[Node], options: Options, depth: int) -> list[Node]:
    out: list[Node] = []
    for item in items[: MAX_UNORDERED_ITEMS + 1]:
        if not any(
            item == o or (item.kind in _SCALARS and o.kind in _SCALARS and _compare(o, item, options, depth + 1).equal)
            for o in out
        ):
            out.append(item)
    return out + items[MAX_UNORDERED_ITEMS + 1 :]


def _all(pairs: list[tuple[Node, Node]], options: Options, depth: int, good: str, bad: str) -> Comparison:
    for a, b in pairs:
        if not _compare(canon(a), canon(b), options, depth + 1).equal:
            return no("structure", bad)
    return yes("structure", good)


def _tuples(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    vectors = ("tuple", "matrix")
    gold, answer = as_vector(gold, answer), as_vector(answer, gold)
    if gold.kind not in vectors or answer.kind not in vectors:
        return (
            no("structure", f"{kind_of(answer)} where another kind of answer is wanted")
            if {gold.kind, answer.kind} & set(vectors)
            else None
        )
    if gold.kind == answer.kind == "matrix" and gold.value != answer.value:
        return no("matrix", "a matrix of another shape")
    if gold.kind != answer.kind:
        matrix = gold if gold.kind == "matrix" else answer
        if 1 not in matrix.value:
            return no("matrix", "a matrix on one side and a tuple on the other")
    if len(gold.args) != len(answer.args):
        return no("structure", "another number of parts")
    if (
        gold.kind == answer.kind == "tuple"
        and gold.value != answer.value
        and (len(gold.args) == 2 or not {gold.value, answer.value} <= {("(", ")"), ("[", "]")})
    ):
        return no("structure", "other brackets around two numbers: an end is open on one side and closed on the other")
    return _all(
        list(zip(gold.args, answer.args, strict=True)),
        options,
        depth,
        "the parts are equal in order",
        "a part differs, or the order",
    )


def _special(gold: Node, answer: Node, options: Options, depth: int) -> Comparison | None:
    if gold.kind == "ratio" or answer.kind == "ratio":
        return _ratios(gold, answer, options, depth)
    if gold.kind == "mod" or answer.kind == "mod":
        left, right = (n.args[0] if n.kind == "mod" else n for n in (gold, answer))
        if gold.kind == answer.kind and not _compare(canon(gold.args[1]), canon(answer.args[1]), options, depth + 1).equal:
            return no("structure", "another modulus")
        if gold.kind != answer.kind and not is_residue(gold if gold.kind == "mod" else answer):
            return no("structure", "a congruence whose number is no residue")
        return _compare(canon(left), canon(right), options, depth + 1)
    if gold.kind == answer.kind == "cases" and len(gold.args) == len(answer.args):
        return _all(list(zip(gold.args, answer.args, strict=True)), options, depth, "the same cases", "a case differs")
    if gold.kind == answer.kind == "rel":
        return _relations(gold, answer, options)
    return None


def _ratios(gold: Node, answer: Node, options: Options, depth: int) -> Comparison:
    if gold.kind == answer.kind:
        if len(gold.args) != len(answer.args):
            return no("ratio", "a ratio of another number of parts")
        first_gold, first_answer = gold.args[0], answer.args[0]
        pairs = [
            (Node("mul", (g, first_answer)), Node("mul", (a, first_gold)))
            for g, a in zip(gold.args[1:], answer.args[1:], strict=True)
        ]
        if same_scalar(first_answer, num(0), options).equal:
            return Comparison(gold == answer, "ratio", "the same ratio" if gold == answer else "another ratio")
        return _all(pairs, options, depth, "the same ratio", "another ratio")
    ratio, other = (gold, answer) if gold.kind == "ratio" else (answer, gold)
    if len(ratio.args) != 2 or other.kind not in _SCALARS or has(other, "qty", "pct"):
        return no("structure", "a ratio where another kind of answer is wanted, or the reverse")
    quotient = Node("div", ratio.args)
    return _compare(quotient, other, options, depth + 1) if ratio is gold else _compare(other, quotient, options, depth + 1)
