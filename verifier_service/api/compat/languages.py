"""What other systems call the languages that we have."""

from __future__ import annotations

from collections.abc import Collection

from verifier_service.api.problems import RequestRefused

ALIASES = {
    "python3": "python",
    "py": "python",
    "py3": "python",
    "pypy3": "python",
    "cpython": "python",
    "c++": "cpp",
    "cc": "cpp",
    "cxx": "cpp",
    "g++": "cpp",
    "c++11": "cpp",
    "c++14": "cpp",
    "c++17": "cpp",
    "c++20": "cpp",
    "cpp11": "cpp",
    "cpp14": "cpp",
    "cpp17": "cpp",
    "cpp20": "cpp",
    "gcc": "c",
    "js": "javascript",
    "node": "javascript",
    "nodejs": "javascript",
    "node-javascript": "javascript",
    "ts": "typescript",
    "golang": "go",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "sqlite": "sql",
    "sqlite3": "sql",
    "cs": "csharp",
    "c#": "csharp",
    "csharp.net": "csharp",
    "rb": "ruby",
    "pl": "perl",
    "rscript": "r",
    "kotlin_script": "kotlin",
    "kt": "kotlin",
    "hs": "haskell",
    "jl": "julia",
    "d_ut": "d",
}
COMPILED = frozenset({"c", "cpp", "java", "go", "rust", "csharp", "kotlin", "scala", "haskell", "pascal", "d", "swift"})


def language_of(name: str, available: Collection[str], field: str = "language") -> str:
    """Our name of a language.

    Raises:
        RequestRefused: 422; this service doesn't have it.
    """
    ours = name.strip().lower()
    ours = ours if ours in available else ALIASES.get(ours, ours)
    if ours not in available and available:
        raise RequestRefused(422, f"{field}: this service runs {', '.join(sorted(available))}", field)
    return ours
