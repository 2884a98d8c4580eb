"""Drivers around submissions: what is added, what is renamed, and that lines keep their numbers."""

from __future__ import annotations

import re

import pytest

from verifier_service.sandbox.runner.languages import LANGUAGES as TABLE
from verifier_service.verifiers.code.drivers import LANGUAGES, Assembled, Call, assembled
from verifier_service.verifiers.code.drivers.text import at_top, parentheses, skeleton

CALL = Call("f", None, (1,))
PLAIN = {
    "cpp": "int f(int x) { return x; }",
    "cpp20": "int f(int x) { return x; }",
    "go": "func f(x int) int { return x }",
    "java": "class Solution { int f(int x) { return x; } }",
    "javascript": "function f(x) { return x; }",
    "rust": "fn f(x: i32) -> i32 { x }",
    "typescript": "function f(x: number): number { return x; }",
}


def whole(program: Assembled) -> str:
    return program.source + "".join(data.decode() for _, data in program.files)


def test_drivers_are_for_languages_of_the_table() -> None:
    assert set(LANGUAGES) <= set(TABLE)
    assert set(LANGUAGES) == set(PLAIN)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_depends_on_the_submission_and_the_call_alone(language: str) -> None:
    one, other = (assembled(language, PLAIN[language], CALL) for _ in range(2))
    assert one == other
    assert PLAIN[language] in whole(one)
    assert assembled(language, PLAIN[language], Call("g", None, (1,))) != one
    assert assembled(language, PLAIN[language], Call("f", 0, (1,))) != one


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_the_template_is_left_open(language: str) -> None:
    text = whole(assembled(language, PLAIN[language], Call("f", 0, (1, 2))))
    assert not re.search(r"ENTRY_POINT|INPLACE_ARG|ARITIES|CALLEE|@CLASSES@", text.replace('"ENTRY"', ""))


@pytest.mark.parametrize(
    ("language", "source", "family"),
    [
        ("go", '// a\npackage solution\nimport "fmt"\nfunc main() { }\nfunc f(x int) int { return x } // here', "go"),
        ("java", "package a.b;\n\nimport java.io.*;\npublic class Solution {\n int f(int x) { return x; } // here\n}", "java"),
        ("rust", "#![allow(x)]\n#![deny(warnings)]\nfn main() {}\nfn f(x: i32) -> i32 { x } // here", "rust"),
        ("typescript", "import * as a from 'fs';\n\nfunction f(x: number) { return x } // here", "javascript"),
    ],
)  # fmt: skip
def test_lines_keep_their_numbers_where_both_share_a_file(language: str, source: str, family: str) -> None:
    def line(text: str) -> int:
        return next(number for number, line in enumerate(text.splitlines()) if line.endswith("// here"))

    assert line(assembled(language, source, CALL).source) == line(source)
    assert len(skeleton(source, family)) == len(source)


def test_a_main_function_gives_way() -> None:
    go = assembled("go", "package main\nfunc f(x int) int { return x }\nfunc main() { }", CALL).source
    assert len(re.findall(r"^func main\(", go, re.MULTILINE)) == 1
    rust = assembled("rust", 'fn f(x: i32) -> i32 { x }\nfn main() { println!("fn main() {}"); }', CALL).source
    assert len(re.findall(r"^fn main\(", rust, re.MULTILINE)) == 1
    assert 'println!("fn main() {}")' in rust
    assert "#define main" in assembled("cpp", "int f(int x) { return x; }\nint main() {}", CALL).source


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ("class Solution { public: vector<int> f(string s) { return {}; } };", True),
        ("int f(int a) { return max(a, 2); }", True),
        ("template<class T> T max(T a, T b) { return a; }\nint f(int a) { return max(a, 2); }", False),
        ("#include <vector>\nusing namespace std;\nvector<int> f(int a) { return {}; }", False),
        ("#include <vector>\nint stack[5];\nstd::vector<int> f(int a) { return {stack[a]}; }", False),
        ("// vector<int> x;\nint f(int a) { return a; }", False),
    ],
)
def test_the_standard_namespace_is_opened_only_for_what_could_not_do_without(source: str, added: bool) -> None:
    assert ("\nusing namespace std;\n" in assembled("cpp", source, CALL).source) is added


def test_all_of_the_library_is_there_unless_it_takes_a_name() -> None:
    assert assembled("cpp", PLAIN["cpp"], CALL).source.startswith("#include <bits/stdc++.h>\n")
    taken = "#include <vector>\nint y1 = 3;\nint f(int x) { return y1; }"
    assert "bits/stdc++.h" not in assembled("cpp", taken, CALL).source


@pytest.mark.parametrize(
    ("language", "uses", "defines", "definition"),
    [
        ("cpp", "int f(ListNode* x) { return 1; }", "struct ListNode { int val; ListNode* next; };\n", "struct ListNode {"),
        ("java", "class Solution { int f(TreeNode x) { return 1; } }", "class TreeNode { int val; }\n", "class TreeNode {"),
        ("go", "func f(x *ListNode) int { return 1 }", "type ListNode struct { Next *ListNode }\n", "type ListNode struct"),
        ("rust", "fn f(x: Box<ListNode>) -> i32 { 1 }", "struct ListNode { val: i32 }\n", "struct ListNode {"),
    ],
)  # fmt: skip
def test_node_classes_are_given_to_who_defines_none(language: str, uses: str, defines: str, definition: str) -> None:
    assert whole(assembled(language, uses, CALL)).count(definition) == 1
    assert whole(assembled(language, defines + uses, CALL)).count(definition) == 1
    commented = f"/* {defines.strip()} */\n{uses}"
    assert whole(assembled(language, commented, CALL)).count(definition) == 2
    assert definition not in whole(assembled(language, PLAIN[language], CALL))


def test_go_gets_the_usual_imports_that_it_lacks() -> None:
    source = assembled("go", 'import "fmt"\nfunc f(x []int) int { sort.Ints(x); fmt.Print("math.A"); return x[0] }', CALL).source
    assert source.count('import "sort";') == 1
    assert source.count('import "fmt"') == 1
    assert 'import "math"' not in source
    own = "type H struct{}\nfunc (h H) Len() int { return 1 }\nfunc f(x int) int { list := H{}; return list.Len() }"
    assert '"container/list"' not in assembled("go", own, CALL).source


def test_java_methods_without_a_class_get_one() -> None:
    source = assembled("java", "import java.util.List;\npublic int f(List<Integer> x) { return 1; }", CALL).source
    assert "class Solution {" in source
    assert source.index("import java.util.List;") < source.index("class Solution {")


@pytest.mark.parametrize(
    ("source", "hints", "result"),
    [
        ("function f(head: ListNode | null, k: number): ListNode | null { return head }", ["ListNode", ""], "ListNode"),
        ("const f = (lists: Array<ListNode | null>): number => 1", ["[ListNode"], ""),
        ("class Solution { f(root: TreeNode, xs: Map<string, number>): number[] { return [] } }", ["TreeNode", ""], ""),
        ("/** @param {number} k\n * @param {TreeNode} r\n@return {TreeNode[]} */f = (k, r) => 1", ["", "TreeNode"], "[TreeNode"),
        ("function f(head) { return head.next }", ["ListNode"], "ListNode"),
        ("function f(head) { return head + 1 }", [""], ""),
        ("const f = async (xs) => xs", [""], ""),
        ("function g(x) {}", [], ""),
    ],
)  # fmt: skip
def test_scripts_say_which_arguments_are_nodes(source: str, hints: list[str], result: str) -> None:
    from verifier_service.verifiers.code.drivers.assemble import _node_hints

    assert _node_hints(source, "f") == (hints, result)


@pytest.mark.parametrize(
    ("callee", "source"),
    [
        ("serve(f, None)", "fn f(x: i32) -> i32 { x }\nimpl Solution { fn g(x: i32) -> i32 { x } }"),
        ("serve(Solution::f, None)", "impl Solution { pub fn f(x: i32) -> i32 { x } }"),
        ("Ok(super::Solution)", "struct Solution; impl Solution { pub fn f(&self, x: i32) -> i32 { x } }"),
        ("Ok(super::Solution::new())", "struct Solution { n: u8 } impl Solution { fn new() -> Self { x } fn f(&self) {} }"),
    ],
)  # fmt: skip
def test_rust_methods_are_called_on_an_object_of_theirs(callee: str, source: str) -> None:
    assert callee in assembled("rust", source, CALL).source


@pytest.mark.parametrize(
    ("family", "source", "bare"),
    [
        ("cpp", "a \"b{\" /* { */ '{' // {\nc 1'000'000 R\"x({)x\" d", "a                      \nc 1'000'000          d"),
        ("java", 'a """\n{ " """ b', "a    \n        b"),
        ("go", "a `{\n}` b '{'", "a   \n   b    "),
        ("rust", "<'a>('{') r#\"{\"#", "<'a>(   )       "),
        ("javascript", "a `{${b}` '{'", "a            "),
    ],
)
def test_skeletons_have_blanks_for_comments_and_literals(family: str, source: str, bare: str) -> None:
    assert skeleton(source, family) == bare


HOSTILE = (
    *('"', "'", "/*", 'R"(', 'R"a(', 'r#"', '"""', "`", "\\", "'\\", "//", " ", "\n", "(", "<", "{", "/** ", "@param{"),
    *("f", "f(", "f<", "f =", "fn f(", "fn f<", "f(f<", "head.next ", "ListNode ", "struct ListNode ", "class ListNode "),
    *("import ", "package ", "#include ", "# ", "using ", "func main", "func (", "func(a ", "sort.A", "sort,", "sort a", "main"),
    *("fn main", "#![deny", "max(", "int max", "vector ", "string ", "class A ", "function f", "f: async "),
)  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_driver_is_put_around_a_hostile_source_in_linear_time(language: str) -> None:
    for piece in HOSTILE:
        assembled(language, piece * (30_000 // len(piece)), CALL)
        assembled(language, f"func sort. f ListNode {piece}" + f"{piece}\n" * 5_000 + "x", CALL)


def test_brackets_are_read_to_their_end() -> None:
    assert parentheses("f(a: Map<b, c>, d = [1, 2]) {", 1) == (["a: Map<b, c>", " d = [1, 2]"], 26)
    assert parentheses("f(a, ", 1) == (["a"], 5)


def test_what_stands_outside_all_braces_is_told_from_what_does_not() -> None:
    assert not at_top("impl A { fn f() {} }", r"\bfn\s++f\b")
    assert at_top("impl A { fn f() {} } fn f() {}", r"\bfn\s++f\b")


@pytest.mark.parametrize(
    ("source", "called"),
    [
        ("class Solution { public: int f(int x) { return x; } };", "verifier_object->f("),
        ("class Solution { }; int f(int x) { return x; }", " ::f("),
        ("int f(int x) { return x; }", " ::f("),
        ("auto f = [](int x) { return x; };", " ::f("),
    ],
)
def test_functions_are_told_from_methods_whatever_the_library_calls_the_same(source: str, called: str) -> None:
    assert called in assembled("cpp", source, CALL).source


@pytest.mark.parametrize("language", ["cpp", "go", "rust"])
def test_an_entry_point_may_be_called_main(language: str) -> None:
    source = PLAIN[language].replace(" f(", " main(")
    assert re.search("verifier_?submission_?main", assembled(language, source, Call("main", None, (1,))).source, re.IGNORECASE)
