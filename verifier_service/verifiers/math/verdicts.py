"""What comparisons are told by, and the sets of reals among the shapes."""

from __future__ import annotations

from verifier_service.verifiers.math.equal import Comparison, same_scalar
from verifier_service.verifiers.math.options import Options
from verifier_service.verifiers.math.realsets import Pieces
from verifier_service.verifiers.math.tree import OO, Node, has

SET_KINDS = {"union", "inter", "minus", "builder", "named"}


def no(stage: str, reason: str) -> Comparison:
    return Comparison(False, stage, reason)


def yes(stage: str, reason: str) -> Comparison:
    return Comparison(True, stage, reason)


def kind_of(node: Node) -> str:
    names = {"list": "a list", "set": "a set", "tuple": "a tuple", "rel": "a relation", "text": "words",
        "choice": "a choice letter",
             "union": "a set", "matrix": "a matrix", "assign": "a named value", "system": "several named values",
             "named": "a set",
             "time": "a time", "date": "a date", "ratio": "a ratio", "builder": "a set", "minus": "a set"}  # fmt: skip
    return names.get(node.kind, "a value")


def speaks_of_set(node: Node) -> bool:
    if node.kind in SET_KINDS or (node.kind == "rel" and set(node.value) != {"="}):
        return True
    if node.kind == "tuple" and len(node.args) == 2:
        return node.value not in (("(", ")"), ("[", "]")) or any(
            has(a, "const") and a in (OO, Node("neg", (OO,))) for a in node.args
        )
    return (
        node.kind == "list"
        and any(speaks_of_set(a) for a in node.args)
        and all(a.kind in ("rel", "tuple", "union") for a in node.args)
    )


def same_pieces(left: Pieces, right: Pieces, options: Options) -> Comparison:
    if len(left) != len(right):
        return no("set", "another set")
    for p, q in zip(left, right, strict=True):
        if (p.low_closed, p.high_closed) != (q.low_closed, q.high_closed):
            return no("set", "an end of an interval is open on one side and closed on the other")
        for a, b in ((p.low, q.low), (p.high, q.high)):
            if not same_scalar(a.node, b.node, options).equal:
                return no("set", "an end of an interval differs")
    return yes("set", "the same set of real numbers")
