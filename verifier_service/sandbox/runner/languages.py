"""The table of languages: all that anybody has to know of one stands in its row.

Read on both sides: by the runner, which compiles and runs; by the host, which makes images of the packages, extracts
programs by their fence tags, and tells clients what there is. Standard library only, like all that runs in a sandbox.

`{built}` in a command is the folder of the finished program, `{memory_mb}` the memory that the task grants. A program is
compiled in an empty folder, as the uid that will run it, with its source under its file name; what the compiler leaves
there is the build. A language without `compile` has its source as its build.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

PROFILES = ("python", "compiled", "full")  # images, each with all of those before it

Command = tuple[str, ...]


class Language(NamedTuple):
    """One row."""

    name: str
    title: str
    profile: str  # the smallest image that has it
    packages: str  # Debian's, space-separated
    file: str  # what the source is called; where `file_from` matches, its first group instead of the stem
    run: Command
    version: Command  # prints it
    compile: tuple[Command, ...] = ()
    file_from: str = ""
    names: str = ""  # that clients use and fences have, beside its own; nobody else's; space-separated
    tags: str = ""  # more that its fences have
    environment: tuple[tuple[str, str], ...] = ()
    # What the language's own machinery takes, granted on top of a task's limits.
    memory_extra_mb: int = 0
    time_extra_s: float = 0.0
    processes_extra: int = 0
    sparse: bool = False  # reserves far more address space than it uses, so none can be set as a limit

    def file_name(self, source: str) -> str:
        """What this source must be called."""
        found = re.search(self.file_from, source) if self.file_from else None
        return f"{found[1]}.{self.file.rpartition('.')[2]}" if found is not None else self.file

    @property
    def fence_tags(self) -> frozenset[str]:
        return frozenset({self.name, *self.names.split(), *self.tags.split()})


_CPP_FLAGS = ("-O2", "-pipe", "-Wno-unused-result", "-o", "main", "main.cpp")
_JVM = ("-Xmx{memory_mb}m", "-Xss64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")

LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python", "Python", "python", "python3 python3-numpy python3-pytest sqlite3", "solution.py",
            run=("python3", "{built}/solution.py"), version=("python3", "--version"),
            names="py python3 py3 pypy3 cpython",
        ),
        Language(
            "c", "C (C17)", "compiled", "gcc libc6-dev", "main.c",
            compile=(("gcc", "-std=gnu17", "-O2", "-pipe", "-o", "main", "main.c", "-lm"),),
            run=("{built}/main",), version=("gcc", "-dumpfullversion"), names="c11 c17 gcc",
        ),
        Language(
            "cpp", "C++ (C++17)", "compiled", "g++", "main.cpp",
            compile=(("g++", "-std=gnu++17", *_CPP_FLAGS),),
            run=("{built}/main",), version=("g++", "-dumpfullversion"),
            names="c++ cc cxx g++ cpp17 c++17 cpp14 c++14 cpp11 c++11", tags="cpp20 c++20",
        ),
        Language(
            "cpp20", "C++ (C++20)", "compiled", "g++", "main.cpp",
            compile=(("g++", "-std=gnu++20", *_CPP_FLAGS),),
            run=("{built}/main",), version=("g++", "-dumpfullversion"), names="c++20", tags="cpp c++ cc cxx g++ cpp17 c++17",
        ),
        Language(
            "java", "Java", "compiled", "openjdk-21-jdk-headless", "Main.java",
            file_from=r"\bpublic\s+(?:(?:final|abstract|sealed|strictfp)\s+)*(?:class|interface|enum|record)\s+(\w+)",
            compile=(("javac", "-nowarn", "-proc:none", "-d", ".", "{file}"), ("python3", "-I", "/opt/verifier/runner/jvm_main.py")),
            run=("java", *_JVM, "@{built}/launch"), version=("java", "--version"),
            memory_extra_mb=192, time_extra_s=1.0, processes_extra=32, sparse=True,
        ),
        Language(
            "javascript", "JavaScript (Node)", "compiled", "nodejs", "main.js",
            run=("node", "--max-old-space-size={memory_mb}", "--stack-size=50000", "{built}/main.js"), version=("node", "--version"),
            names="js node nodejs node-javascript", memory_extra_mb=96, processes_extra=16, sparse=True,
        ),
        Language(
            "go", "Go", "compiled", "golang-go", "main.go",
            compile=(("go", "build", "-o", "main", "."),),
            run=("{built}/main",), version=("go", "version"), names="golang",
            environment=(("GO111MODULE", "off"), ("GOFLAGS", "-p=1"), ("GOCACHE", "/tmp/.cache")),
            memory_extra_mb=32, processes_extra=16, sparse=True,
        ),
        Language(
            "bash", "Bash", "compiled", "bash", "main.sh",
            run=("bash", "{built}/main.sh"), version=("bash", "--version"), names="sh shell",
        ),
    )
}  # fmt: skip

# What clients call a language → our name.
NAMES: dict[str, str] = {name: row.name for row in LANGUAGES.values() for name in (*row.names.split(), row.name)}


def available(is_here: Callable[[str], bool]) -> list[str]:
    """Names of the languages whose commands are all there."""
    return [
        row.name
        for row in LANGUAGES.values()
        if all(is_here(command[0]) for command in (*row.compile, row.run) if "{" not in command[0])
    ]
