"""The table of languages: all that anybody has to know of one stands in its row.

Read on both sides: by the runner, which compiles and runs; by the host, which makes images of the packages, extracts
programs by their fence tags, and tells clients what there is. Standard library only, like all that runs in a sandbox.
What the columns mean stands in language.py; the rows of the profile `full` are in languages_full.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from .language import JVM_MAIN, JVM_RUN, PROFILES, Command, Language
from .languages_full import FULL

__all__ = ["LANGUAGES", "NAMES", "PROFILES", "Command", "Language", "available", "most_processes_extra", "packages_of"]

_CPP_FLAGS = ("-O2", "-pipe", "-Wno-unused-result", "-o", "main", "main.cpp")  # -O2 as the precompiled header: image/install.sh
_GO_PARTS = ("-importcfg", "/opt/verifier/go.importcfg")  # the standard library, compiled: image/install.sh
# Everything before the submission comes from the task: its tables and their rows.
_SQL = "{ cat; echo; cat '{built}/main.sql'; } | exec sqlite3 -batch -bail :memory:"

BASE = (
    Language(
        "python", "Python", "python", "python3 python3-numpy python3-pytest", "solution.py",
        run=("python3", "{built}/solution.py"), version=("python3", "--version"),
        names="py python3 py3 pypy3 cpython",
    ),
    Language(
        "bash", "Bash", "python", "bash", "main.sh",
        run=("bash", "{built}/main.sh"), version=("bash", "--version"), names="sh shell",
    ),
    Language(
        "sql", "SQL (SQLite)", "python", "sqlite3", "main.sql",
        run=("sh", "-c", _SQL), version=("sqlite3", "--version"), names="sqlite sqlite3", processes_extra=2,
    ),
)  # fmt: skip

COMPILED = (
    Language(
        "c", "C (C17)", "compiled", "gcc libc6-dev", "main.c",
        compile=(("gcc", "-std=gnu17", "-fpermissive", "-O2", "-pipe", "-Wno-unused-result", "-o", "main", "main.c", "-lm"),),
        run=("{built}/main",), version=("gcc", "-dumpfullversion"), names="c11 c17 c99 gcc",
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
        compile=(
            ("javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData",
             "-J-XX:SharedArchiveFile=/opt/verifier/javac.jsa", "-J-Xshare:auto", "-encoding", "UTF-8", "-nowarn", "-proc:none",
             "-d", ".", "{file}"),
            JVM_MAIN,
        ),
        run=JVM_RUN, version=("java", "--version"), memory_extra_mb=128, time_extra_s=0.25, processes_extra=32, sparse=True,
        out_of_memory="OutOfMemoryError",
    ),
    Language(
        "javascript", "JavaScript (Node)", "compiled", "nodejs", "main.js",
        run=("node", "--max-old-space-size={memory_mb}", "--stack-size=50000", "{built}/main.js"), version=("node", "--version"),
        names="js node nodejs node-javascript", memory_extra_mb=96, time_extra_s=0.25, processes_extra=16, sparse=True,
        out_of_memory="JavaScript heap out of memory",
    ),
    Language(
        "typescript", "TypeScript (types are not checked)", "compiled", "esbuild nodejs", "main.ts",
        compile=(
            ("esbuild", "main.ts", "--log-level=warning", "--color=false", "--platform=node", "--format=cjs", "--target=node20",
             "--outfile=main.js"),
        ),
        run=("node", "--max-old-space-size={memory_mb}", "--stack-size=50000", "{built}/main.js"),
        version=("esbuild", "--version"), names="ts", memory_extra_mb=96, time_extra_s=0.25, processes_extra=16, sparse=True,
        out_of_memory="JavaScript heap out of memory",
    ),
    Language(
        "go", "Go", "compiled", "golang-go", "main.go",
        compile=(
            ("go", "tool", "compile", "-p", "main", "-complete", *_GO_PARTS, "-o", ".main.a", "main.go"),
            ("go", "tool", "link", *_GO_PARTS, "-s", "-w", "-buildmode=exe", "-o", "main", ".main.a"),
        ),
        run=("{built}/main",), version=("go", "version"), names="golang",
        environment=(("GOTOOLCHAIN", "local"), ("GOTELEMETRY", "off")),
        memory_extra_mb=32, processes_extra=16, sparse=True,
    ),
    Language(
        "rust", "Rust (2021)", "compiled", "rustc", "main.rs",
        compile=(("rustc", "--edition", "2021", "-O", "-C", "strip=symbols", "-o", "main", "main.rs"),),
        run=("{built}/main",), version=("rustc", "--version"), names="rs",
    ),
)  # fmt: skip

LANGUAGES: dict[str, Language] = {row.name: row for row in (*BASE, *COMPILED, *FULL)}

# What clients call a language → our name.
NAMES: dict[str, str] = {name: row.name for row in LANGUAGES.values() for name in (*row.names.split(), row.name)}


def available(is_here: Callable[[str], bool], exists: Callable[[str], bool] = os.path.exists) -> list[str]:
    """Names of the languages whose commands are all here, and the files that those need."""
    return [
        row.name
        for row in LANGUAGES.values()
        if all(is_here(command[0]) for command in (*row.compile, row.run, row.version) if "{" not in command[0])
        and all(map(exists, row.needs))
    ]


def packages_of(profile: str) -> list[str]:
    """What an image of this profile installs besides those of the profiles before it."""
    earlier = {p for name in PROFILES[: PROFILES.index(profile)] for p in packages_of(name)}
    return sorted({p for row in LANGUAGES.values() if row.profile == profile for p in row.packages.split()} - earlier)


def most_processes_extra() -> int:
    return max(row.processes_extra for row in LANGUAGES.values())
