"""Putting a driver around a submission, language by language.

The submission's lines keep their numbers wherever a compiler names them. What it lacks and contest sites give everybody
(usual imports, `ListNode`, `class Solution` around a method) is added where the submission has none of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from verifier_service.verifiers.code.drivers.shapes import Shapes, in_cpp, in_go, in_rust, types_of
from verifier_service.verifiers.code.drivers.text import at_top, parentheses, skeleton

NODES = ("ListNode", "TreeNode")
MOST_CLASSES = 200  # that are searched for the entry point


class Call(NamedTuple):
    """How the cases of a task call the entry point."""

    entry_point: str
    inplace_arg: int | None
    arities: tuple[int, ...]  # numbers of arguments that occur, ascending
    shapes: Shapes = ()  # what the arguments are, for each of these numbers


class Assembled(NamedTuple):
    """A program: its source, and the files beside it."""

    source: str
    files: tuple[tuple[str, bytes], ...] = ()


@cache
def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _lacking(bare: str, definition: str) -> list[str]:
    """The node classes that a submission speaks of and leaves to us; `definition` is the pattern of one's definition."""
    return [name for name in NODES if re.search(rf"\b{name}\b", bare) and not re.search(definition.replace("NODE", name), bare)]


# ---- C++

_CPP_NODES = {
    "ListNode": "struct ListNode { int val; ListNode *next; ListNode() : val(0), next(nullptr) {}"
    " ListNode(int x) : val(x), next(nullptr) {} ListNode(int x, ListNode *next) : val(x), next(next) {} };",
    "TreeNode": "struct TreeNode { int val; TreeNode *left, *right; TreeNode() : val(0), left(nullptr), right(nullptr) {}"
    " TreeNode(int x) : val(x), left(nullptr), right(nullptr) {}"
    " TreeNode(int x, TreeNode *left, TreeNode *right) : val(x), left(left), right(right) {} };",
}
# Global names of <math.h> that a submission may use for its own variables, if it doesn't include that.
_CPP_TAKEN = re.compile(r"\b[jy][01n]\b")
_CPP_OF_STD = re.compile(
    r"(?<![\w:.>])(?:(?:vector|map|set|multiset|multimap|pair|tuple|unordered_map|unordered_set|queue|deque|stack|priority_queue"
    r"|optional|array|list|bitset|function)\s*+<|string\s*+[^\s\w;,=]|string\s++\w|(?:cout|cin|cerr)\s*+(?:<<|>>|\.))"
)
_CPP_CALLS = ("max", "min", "sort", "swap", "reverse", "to_string", "stoi", "accumulate", "make_pair", "gcd", "lower_bound")


def _cpp_wants_std(bare: str) -> bool:
    """Whether it can't compile without `using namespace std`, which it hasn't; then that can't spoil it."""
    if re.search(r"\busing\s++(?:namespace\s++)?std\b", bare):
        return False
    if _CPP_OF_STD.search(bare):
        return True
    called = {name for name in _CPP_CALLS if re.search(rf"(?<![\w:.>]){name}\s*+\(", bare)}
    return any(not re.search(rf"\b(?!return\b|else\b)[A-Za-z_]\w*+[\s&*>]++{name}\s*+\(", bare) for name in called)


def _cpp(submission: str, call: Call) -> Assembled:
    bare = skeleton(submission, "cpp")
    lines = []
    # All of the standard library, as its header is precompiled, but where that could take a name of the submission's.
    if not (re.search(r"^[ \t]*+#[ \t]*+include", bare, re.MULTILINE) and _CPP_TAKEN.search(bare)):
        lines.append("#include <bits/stdc++.h>\n")
    lines += [_text("driver.hpp"), _text("driver_call.hpp")]
    if _cpp_wants_std(bare):
        lines.append("using namespace std;\n")
    lines += [_CPP_NODES[name] + "\n" for name in _lacking(bare, r"\b(?:struct|class)\s++NODE\b[^;{}()]{0,200}\{")]
    lines.append('#define main verifier_submission_main\n#include "solution.cpp"\n#undef main\n')
    entry = "verifier_submission_main" if call.entry_point == "main" else call.entry_point
    of_class = re.search(r"\b(?:class|struct)\s++Solution\b", bare) and not at_top(bare, rf"\b{call.entry_point}\b\s*+[(=]")
    lines.append(_text("driver_method.hpp" if of_class else "driver_function.hpp").replace("ENTRY_POINT", entry))
    manifold = _CPP_MANIFOLD.search(bare) or _defined_twice(bare, call.entry_point)
    lines.append(_cpp_guesses(call.shapes if manifold else ()))
    how = "VerifierFind, verifier_driver::VerifierCall, verifier_driver::VerifierGuess"
    inplace = -1 if call.inplace_arg is None else call.inplace_arg
    arities = f"verifier_driver::Arities<{', '.join(map(str, call.arities))}>()"
    lines.append(f"void verifier_serve() {{ verifier_driver::serve<verifier_driver::{how}, {inplace}>({arities}); }}\n")
    return Assembled("".join(lines), (("solution.cpp", submission.encode("utf-8", "replace")),))


_CPP_MANIFOLD = re.compile(r"\btemplate\b|\bauto\b|\bconcept\b")


def _defined_twice(bare: str, entry: str) -> bool:
    return len(re.findall(rf"[\w>&*]\s*+\b{entry}\s*+\(", bare)) > 1


def _cpp_guesses(shapes: Shapes) -> str:
    """What the arguments are by themselves, for an entry point that takes various types."""
    lines = ["    static Absent of(...);"]
    for shape in shapes:
        types = [in_cpp(one) for one in shape]
        if None not in types:
            lines.append(f"    static Types<{', '.join(map(str, types))}> of(Arity<{len(types)}>);")
    return "\n".join(["namespace verifier_driver {", "struct VerifierGuess {", *lines, "};", "}\n"])


# ---- Java

_JAVA_NODES = {
    "ListNode": "class ListNode { int val; ListNode next; ListNode() {} ListNode(int val) { this.val = val; }"
    " ListNode(int val, ListNode next) { this.val = val; this.next = next; } }",
    "TreeNode": "class TreeNode { int val; TreeNode left, right; TreeNode() {} TreeNode(int val) { this.val = val; }"
    " TreeNode(int val, TreeNode left, TreeNode right) { this.val = val; this.left = left; this.right = right; } }",
}
_JAVA_PACKAGES = ("util", "util.concurrent", "util.function", "util.regex", "util.stream", "math", "io", "time")
_JAVA_IMPORTS = "".join(f"import java.{name}.*; " for name in _JAVA_PACKAGES)
_JAVA_TYPES = re.compile(r"\b(?:class|interface|enum|record)\s+([A-Za-z_$][\w$]*)")


def _java(submission: str, call: Call) -> Assembled:
    bare = skeleton(submission, "java")
    names = list(dict.fromkeys(_JAVA_TYPES.findall(bare)))
    package = re.search(r"^[ \t]*+package\s++[\w.]++\s*+;", bare, re.MULTILINE)
    start = package.end() if package is not None else 0
    if names:
        body = submission[:start] + _JAVA_IMPORTS + submission[start:]
    else:  # methods alone
        imports = list(re.finditer(r"\bimport\s[^;{}]{0,300};", bare))
        end = imports[-1].end() if imports else start
        body = f"{submission[:start]}{_JAVA_IMPORTS}{submission[start:end]} class Solution {{ {submission[end:]}\n}}"
        names = ["Solution"]
    driver = (
        (_text("DriverValues.java") + _text("Driver.java"))
        .replace("@ENTRY_POINT@", call.entry_point)
        .replace("@CLASSES@", " ".join(names))
    )
    driver = driver.replace("@INPLACE_ARG@", str(-1 if call.inplace_arg is None else call.inplace_arg))
    nodes = [_JAVA_NODES[name] for name in _lacking(bare, r"\bclass\s+NODE\b")]
    return Assembled("\n".join([body, driver, *nodes]) + "\n")


# ---- JavaScript and TypeScript


def _script_task(submission: str, call: Call) -> str:
    hints, result = _node_hints(submission, call.entry_point)
    return json.dumps({"entry": call.entry_point, "inplace": call.inplace_arg, "hints": hints, "result": result})


def _javascript(submission: str, call: Call) -> Assembled:
    task = _script_task(submission, call)
    source = _text("driver.js") + f'\nserve(() => load("solution.js", {task}), {task});\n'
    return Assembled(source, (("solution.js", submission.encode("utf-8", "replace")),))


def _typescript(submission: str, call: Call) -> Assembled:
    driver = 'require(process.cwd() + "/verifier_driver.js")'
    names = ", ".join(
        f'{name}: typeof {name} === "undefined" ? undefined : {name}' for name in (call.entry_point, "Solution", *NODES)
    )
    found = f"async () => ({{ names: {{ {names} }}, exported: module.exports }})"
    source = f"{driver}.begin(); {submission}\n;{driver}.serve({found}, {_script_task(submission, call)});\n"
    return Assembled(source, (("verifier_driver.js", _text("driver.js").encode()),))


def _hint(text: str) -> str:
    """'ListNode', '[ListNode' for an array of them, '' for neither; of an annotation."""
    name = next((name for name in NODES if name in text), "")
    arrays = text.count("[]") + text.count("Array<") if name else 0
    return "[" * arrays + name


def _node_hints(source: str, entry: str) -> tuple[list[str], str]:
    """Which arguments are linked lists or trees, and whether the result is one: by annotations, else JSDoc, else use."""
    bare = skeleton(source, "javascript")
    found = re.search(
        rf"\b{entry}\b\s*+(?:[:=]\s*+(?:async\b\s*+)?(?:function\b\s*+\w*+\s*+)?)?(?:<[^()]{{0,200}}>\s*+)?\(", bare
    )
    if found is None:
        return [], ""
    parts, end = parentheses(bare, found.end() - 1)
    result = _hint(re.split(r"[{=]", bare[end + 1 : end + 200], maxsplit=1)[0])
    hints = [_hint(part) for part in parts]
    comment = source.rfind("/**", 0, found.start())
    if not any(hints) and comment >= 0 and "*/" in source[comment : found.start()]:
        notes = source[comment : source.index("*/", comment)]
        hints = [_hint(kind) for kind in re.findall(r"@param\s*+\{([^}\n]{0,200})\}", notes)]
        returned = re.search(r"@returns?\s*+\{([^}\n]{0,200})\}", notes)
        result = _hint(returned[1]) if returned is not None else result
    if not any(hints):
        hints = [_guess(part.strip(), bare) for part in parts]
        result = next(filter(None, hints), "")
    return hints, result


def _guess(name: str, bare: str) -> str:
    """Of a parameter without any annotation, by its usual name and what is done with it."""
    if re.fullmatch(r"head\w?|l[12]|list[12]", name) and ".next" in bare:
        return "ListNode"
    return "TreeNode" if re.fullmatch(r"root[12]?", name) and re.search(r"\.(?:left|right)\b", bare) else ""


# ---- Go

_GO_NODES = {
    "ListNode": "type ListNode struct { Val int; Next *ListNode }",
    "TreeNode": "type TreeNode struct { Val int; Left *TreeNode; Right *TreeNode }",
}
_GO_DRIVER_IMPORTS = "".join(
    f'import verifier_{path.rpartition("/")[2]} "{path}"; '
    for path in ("bytes", "encoding/json", "fmt", "io", "os", "reflect", "strconv", "strings")
)
_GO_USUAL = (
    *("bufio", "bytes", "cmp", "container/heap", "container/list", "errors", "fmt", "maps", "math", "math/big", "math/bits"),
    *("math/rand", "os", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8"),
)


def _go(submission: str, call: Call) -> Assembled:
    bare = skeleton(submission, "go")
    entry = call.entry_point
    start = "package main; " + _GO_DRIVER_IMPORTS
    used = set(re.findall(r"(?<![\w.])([a-z]\w*+)\.[A-Z]", bare))
    start += "".join(f'import "{path}"; ' for path in _GO_USUAL if _go_lacks(submission, bare, path, used))
    package = re.search(r"^[ \t]*(package[ \t]+\w+[ \t]*;?)", bare, re.MULTILINE)
    changes = [(package.start(1), package.end(1), start) if package is not None else (0, 0, start)]
    changes += [(*main.span(1), "verifierSubmissionMain") for main in re.finditer(r"^func\s++(main)\s*+\(", bare, re.MULTILINE)]
    added = [_GO_NODES[name] for name in _lacking(bare, r"\btype\s+NODE\s")]
    callee = "verifierSubmissionMain" if entry == "main" else entry
    if re.search(rf"^func\s*+\(\s*+(?:\w++\s++)?\*?\s*+Solution\s*+\)\s*+{entry}\s*+\(", bare, re.MULTILINE):
        callee = f"(&Solution{{}}).{entry}"
        added += [] if re.search(r"\btype\s+Solution\b", bare) else ["type Solution struct{}"]
    generic = re.search(rf"^func\s++{re.escape(entry)}\s*+\[", bare, re.MULTILINE)
    if generic is not None:
        callee = _go_instance(bare, entry, generic.end() - 1, call.shapes) or callee
    inplace = str(-1 if call.inplace_arg is None else call.inplace_arg)
    driver = _text("driver.go").replace("CALLEE", callee).replace("INPLACE_ARG", inplace)
    return Assembled("\n".join([_changed(submission, changes), *added, driver, _text("driver_values.go")]))


def _go_instance(bare: str, entry: str, bracket: int, shapes: Shapes) -> str:
    """A function that calls a generic one with the types that the arguments have by themselves; '' where that can't be."""
    _, end = parentheses(bare, bracket)
    opening = bare.find("(", end)
    types = types_of(shapes, in_go)
    if opening < 0 or types is None:
        return ""
    _, close = parentheses(bare, opening)
    results = bare[close + 1 : bare.find("{", close)].strip()
    if results.startswith("("):
        return ""
    names = [f"verifierA{place}" for place in range(len(types))]
    taken = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    body = f"{entry}({', '.join(names)})"
    return f"func({taken}) interface{{}} {{ return {body} }}" if results else f"func({taken}) {{ {body} }}"


def _go_lacks(submission: str, bare: str, path: str, used: set[str]) -> bool:
    """Whether a package of the standard library is used and not imported; a variable may have its name.

    `used`: what stands before a point and a capital.
    """
    name = path.rpartition("/")[2]
    if name not in used or f'"{path}"' in submission:
        return False
    return not re.search(
        rf"\b(?:{name}\s*+(?:,\s*+\w++\s*+){{0,8}}:=|(?:var|func|type|const)\s++{name}\b|{name}\s++[*\[\]]*+\w++\s*+[,)])", bare
    )


def _changed(text: str, changes: list[tuple[int, int, str]]) -> str:
    """The text with stretches replaced, which don't overlap."""
    for start, end, by in sorted(changes, reverse=True):
        text = text[:start] + by + text[end:]
    return text


# ---- Rust

_RUST_NODES = {
    "ListNode": "#[derive(PartialEq, Eq, Clone, Debug)] pub struct ListNode { pub val: i32, pub next: Option<Box<ListNode>> }"
    " impl ListNode { #[inline] #[allow(dead_code)] fn new(val: i32) -> Self { ListNode { next: None, val } } }",
    "TreeNode": "#[derive(Debug, PartialEq, Eq)] pub struct TreeNode { pub val: i32,"
    " pub left: Option<std::rc::Rc<std::cell::RefCell<TreeNode>>>, pub right: Option<std::rc::Rc<std::cell::RefCell<TreeNode>>> }"
    " impl TreeNode { #[inline] #[allow(dead_code)] pub fn new(val: i32) -> Self { TreeNode { val, left: None, right: None } } }",
}
_RUST_STRICT = re.compile(r"#!\[\s*+(?:deny|forbid)\b[^\]]{0,500}\]")


def _rust(submission: str, call: Call) -> Assembled:
    bare = skeleton(submission, "rust")
    changes = [(*main.span(1), "verifier_submission_main") for main in re.finditer(r"\bfn\s++(main)\s*+\(", bare)]
    changes += [(*strict.span(), " " * len(strict[0])) for strict in _RUST_STRICT.finditer(bare)]
    added = [_RUST_NODES[name] for name in _lacking(bare, r"\bstruct\s+NODE\b")]
    driver = [_text("driver.rs"), _text("driver_call.rs")]
    driver += [_text(file) for name, file in (("ListNode", "driver_list.rs"), ("TreeNode", "driver_tree.rs")) if name in bare]
    entry = rf"\bfn\s++{call.entry_point}\s*+(?:<[^()]{{0,200}}>\s*+)?\("
    callee = "verifier_submission_main" if call.entry_point == "main" else call.entry_point
    method = None if at_top(bare, entry) else re.search(entry, bare)
    if method is not None:
        callee = f"Solution::{callee}"
        added += [] if re.search(r"\bstruct\s+Solution\b", bare) else ["struct Solution;"]
        if re.compile(r"\s*+&?\s*+(?:'\w++\s++)?(?:mut\s++)?self\b").match(bare, method.end()):
            driver.append(_rust_receiver(bare))
    generic = re.search(entry, bare)
    if generic is not None and re.match(rf"\bfn\s++{call.entry_point}\s*+<\s*+(?!')", bare[generic.start() : generic.end()]):
        callee = _rust_instance(bare, callee, generic.end() - 1, call.shapes) or callee
    inplace = "None" if call.inplace_arg is None else f"Some({call.inplace_arg})"
    main = f"fn main() {{\n    verifier_driver::serve({callee}, {inplace})\n}}\n"
    return Assembled("\n".join([_changed(submission, changes), *added, *driver, "}", main]))


def _rust_instance(bare: str, callee: str, opening: int, shapes: Shapes) -> str:
    """A closure that calls a generic function with the types that the arguments have by themselves; '' where that can't be."""
    parts, _ = parentheses(bare, opening)
    kinds = [part.partition(":")[2].strip() for part in parts if part.strip()]
    types = types_of(shapes, in_rust)
    if types is None or len(kinds) != len(types) or any(kind.startswith("&mut") for kind in kinds):
        return ""
    taken = ", ".join(f"verifier_a{place}: {kind}" for place, kind in enumerate(types))
    given = ", ".join(f"{'&' if kind.startswith('&') else ''}verifier_a{place}" for place, kind in enumerate(kinds))
    return f"|{taken}| {callee}({given})"


def _rust_receiver(bare: str) -> str:
    """How a method gets its object, which no argument gives."""
    if re.search(r"\bstruct\s+Solution\s*;", bare) or not re.search(r"\bstruct\s+Solution\b", bare):
        made = "super::Solution"
    elif re.search(r"\bstruct\s+Solution\s*\{\s*\}", bare):
        made = "super::Solution {}"
    elif re.search(r"\bfn\s+new\s*\(\s*\)", bare):
        made = "super::Solution::new()"
    else:
        made = "::std::default::Default::default()"
    return (
        "    impl Given for super::Solution {\n"
        '        fn given(_: Json) -> Fit<Self> {\n            unfit("a Solution")\n        }\n'
        f"        fn take(_: &mut Args) -> Fit<Self> {{\n            Ok({made})\n        }}\n    }}\n"
        "    impl Written for super::Solution {\n        fn written(&self, _: &mut String) {}\n    }\n"
    )


_ASSEMBLERS: dict[str, Callable[[str, Call], Assembled]] = {
    "cpp": _cpp,
    "cpp20": _cpp,
    "go": _go,
    "java": _java,
    "javascript": _javascript,
    "rust": _rust,
    "typescript": _typescript,
}
LANGUAGES = tuple(_ASSEMBLERS)  # that have a driver, by the names of the table of languages


def assembled(language: str, submission: str, call: Call) -> Assembled:
    """The submission with the driver of its language, one of LANGUAGES, around it."""
    return _ASSEMBLERS[language](submission, call)
