# ruff: noqa: E501 - programs stand here as they are sent
"""Submissions of compiled and other languages talk to an interactor as those of Python do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from verifier_protocol import CodeSpec, Outcome, ScoredVerdict
from verifier_service.sandbox.select import make_docker_backend
from verifier_service.settings import Settings
from verifier_service.verifiers.base import Deadline
from verifier_service.verifiers.code.verifier import CodeVerifier

SETTINGS = Settings(sandbox_slots=1, sandbox_spares=0)
pytestmark = [
    pytest.mark.docker,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
]  # a first run builds the image

INTERACTOR = """
import sys
secret = int(open(sys.argv[1]).read())
print(1000)
for _ in range(11):
    kind, number = input().split()
    if kind == "!":
        sys.exit(int(number) != secret)
    print("<" if secret < int(number) else ">=")
sys.exit("too many queries")
"""
PROGRAMS = {
    "c": '#include <stdio.h>\nint main(void) {\n    int low = 1, high;\n    char word[4];\n    if (scanf("%d", &high) != 1) return 1;\n    while (low < high) {\n        int middle = (low + high + 1) / 2;\n        printf("? %d\\n", middle);\n        fflush(stdout);\n        if (scanf("%3s", word) != 1) return 1;\n        if (word[0] == \'<\') high = middle - 1; else low = middle;\n    }\n    printf("! %d\\n", low);\n    return 0;\n}\n',
    "cpp": '#include <iostream>\n#include <string>\nint main() {\n    int low = 1, high;\n    std::string word;\n    std::cin >> high;\n    while (low < high) {\n        int middle = (low + high + 1) / 2;\n        std::cout << "? " << middle << std::endl;\n        std::cin >> word;\n        if (word == "<") high = middle - 1; else low = middle;\n    }\n    std::cout << "! " << low << std::endl;\n}\n',
    "java": 'import java.util.Scanner;\npublic class Main {\n    public static void main(String[] arguments) {\n        Scanner in = new Scanner(System.in);\n        int low = 1, high = in.nextInt();\n        while (low < high) {\n            int middle = (low + high + 1) / 2;\n            System.out.println("? " + middle);\n            if (in.next().equals("<")) high = middle - 1; else low = middle;\n        }\n        System.out.println("! " + low);\n    }\n}\n',
    "javascript": 'const lines = require("readline").createInterface({ input: process.stdin });\nlet low = 1, high = 0, middle = 0;\nlines.on("line", (line) => {\n    if (high === 0) high = Number(line);\n    else if (line === "<") high = middle - 1;\n    else low = middle;\n    if (low < high) {\n        middle = (low + high + 1) >> 1;\n        console.log("? " + middle);\n    } else {\n        console.log("! " + low);\n        lines.close();\n    }\n});\n',
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {\n    low, high, word := 1, 0, ""\n    fmt.Scan(&high)\n    for low < high {\n        middle := (low + high + 1) / 2\n        fmt.Println("?", middle)\n        fmt.Scan(&word)\n        if word == "<" {\n            high = middle - 1\n        } else {\n            low = middle\n        }\n    }\n    fmt.Println("!", low)\n}\n',
    "rust": 'use std::io::stdin;\n\nfn main() {\n    let mut line = String::new();\n    stdin().read_line(&mut line).unwrap();\n    let (mut low, mut high) = (1, line.trim().parse::<i32>().unwrap());\n    while low < high {\n        let middle = (low + high + 1) / 2;\n        println!("? {}", middle);\n        line.clear();\n        stdin().read_line(&mut line).unwrap();\n        if line.trim() == "<" { high = middle - 1 } else { low = middle }\n    }\n    println!("! {}", low);\n}\n',
    "bash": 'read -r high\nlow=1\nwhile [ "$low" -lt "$high" ]; do\n    middle=$(( (low + high + 1) / 2 ))\n    echo "? $middle"\n    read -r word\n    if [ "$word" = "<" ]; then high=$((middle - 1)); else low=$middle; fi\ndone\necho "! $low"\n',
    "python": 'low, high = 1, int(input())\nwhile low < high:\n    middle = (low + high + 1) // 2\n    print("?", middle)\n    low, high = (low, middle - 1) if input() == "<" else (middle, high)\nprint("!", low)\n',
}  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def verifier() -> AsyncIterator[CodeVerifier]:
    made = CodeVerifier(make_docker_backend(SETTINGS, profile="compiled"), SETTINGS)
    try:
        await made.start()
        yield made
    finally:
        await made.aclose()


async def play(verifier: CodeVerifier, language: str, source: str) -> ScoredVerdict:
    tests = {
        "style": "interactive",
        "interactor": {"source": INTERACTOR},
        "cases": [{"stdin": str(secret)} for secret in (1, 617, 1000)],
    }
    document = {"kind": "code", "language": language, "extract": "whole", "tests": tests, "limits": {"wall_time_s": 30.0}}
    return await verifier.verify(verifier.prepare(CodeSpec.model_validate(document)), source, Deadline.after(110))


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_search_wins_in_every_language(verifier: CodeVerifier, language: str) -> None:
    found = await play(verifier, language, PROGRAMS[language])
    assert (found.score, found.passed, found.tamper) == (1.0, 3, []), found
    assert found.tests is not None
    assert found.tests[1].stdout_tail.endswith("! 617\n")


LOSES = {
    "forgets to flush": ("c", PROGRAMS["c"].replace("fflush(stdout);", ""), Outcome.TIME_LIMIT_EXCEEDED, "flushed"),
    "reads once too often": ("java", PROGRAMS["java"].replace("        int low", "        in.next(); in.next(); int low"), Outcome.TIME_LIMIT_EXCEEDED, "flushed"),
    "answers wrongly": ("cpp", PROGRAMS["cpp"].replace("<< low <<", "<< low + 1 <<"), Outcome.INCORRECT, "does not accept"),
    "leaves early": ("go", PROGRAMS["go"].replace("for low < high", "for low > high").replace('fmt.Println("!", low)\n', ""), Outcome.INCORRECT, "ended before"),
    "crashes": ("c", PROGRAMS["c"].replace("fflush(stdout);", "fflush(stdout); *(volatile int *)0 = 1;"), Outcome.RUNTIME_ERROR, "signal 11"),
    "fails after its answer": ("cpp", PROGRAMS["cpp"].replace("<< low << std::endl;", "<< low << std::endl; return 3;"), Outcome.RUNTIME_ERROR, "exit status 3"),
    "does not compile": ("cpp", PROGRAMS["cpp"].replace("while", "whilst"), Outcome.COMPILE_ERROR, "compile error"),
    "asks for ever": ("rust", PROGRAMS["rust"].replace("low < high", "low > 0"), Outcome.INCORRECT, "does not accept"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSES)
async def test_a_losing_program_gets_its_outcome(verifier: CodeVerifier, name: str) -> None:
    language, source, outcome, said = LOSES[name]
    found = await play(verifier, language, source)
    assert (found.score, found.outcome) == (0.0, outcome), found
    assert said in found.detail
