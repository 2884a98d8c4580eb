"""What people call a language: in a task's `language`, in a protocol's field, as the tag of a fence.

The table of languages (`sandbox.runner.languages`) has the usual names of each; here is what is usual besides, and how a
name is read: in any case, with or without blanks, with a version behind it where versions don't tell programs apart.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from verifier_service.sandbox.runner.languages import LANGUAGES, NAMES

_BESIDES = {
    "javascript": "node.js ecmascript mjs cjs",
    "python": "ipython ipython3",
    "cpp": "gnuc++17 gnuc++14 gnuc++11 gnuc++",
    "cpp20": "gnuc++20",
    "c": "gnuc gnuc11 gnuc17 ansic",
}
_NAMES = {**NAMES, **{name: ours for ours, names in _BESIDES.items() if ours in LANGUAGES for name in names.split()}}
# Of these a version is a dialect of its own, so that one that the table doesn't name is none that we have.
_DIALECTS = frozenset({"c", "cpp", "cpp20"})
_VERSION = re.compile(r"[\s-]*v?\d+(?:\.\d+){0,3}\Z")

# Tags of languages whose programs are most often programs of this one, too: plain JavaScript is TypeScript, and much C is C++.
_RELATED = {
    "c": ("cpp", "cpp20"),
    "cpp": ("c",),
    "cpp20": ("c",),
    "javascript": ("typescript",),
    "typescript": ("javascript",),
}
_RELATED_TAGS = {
    "bash": "zsh ksh",
    "javascript": "jsx tsx",
    "typescript": "tsx jsx",
    "sql": "mysql postgresql postgres psql plsql plpgsql tsql mssql",
}


def language_named(name: str, available: Collection[str] = ()) -> str:
    """Our name of a language; of one that we don't know, the name itself in lower case.

    Args:
        available: names of ours that are there, and win over another language's second name.
    """
    lower = " ".join(name.lower().split())
    closed = lower.replace(" ", "")
    for known in (lower, closed, closed.replace("-", "")):
        if known in available:
            return known
        if known in _NAMES:
            return _NAMES[known]
    bare = _VERSION.sub("", lower).replace(" ", "")
    ours = _NAMES.get(bare, "")
    return ours if ours and ours not in _DIALECTS else lower


def fence_tags(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tags of a language's own blocks, and those of blocks that are taken where none of these is there."""
    own = _own_tags(language)
    related = {tag for other in _RELATED.get(language, ()) for tag in _own_tags(other)}
    return own, frozenset(related.union(_RELATED_TAGS.get(language, "").split()) - own)


def _own_tags(language: str) -> frozenset[str]:
    row = LANGUAGES.get(language)
    return frozenset({language}) if row is None else row.fence_tags.union(_BESIDES.get(language, "").split())


def all_tags() -> frozenset[str]:
    """Every tag that names a language."""
    return frozenset(tag for language in LANGUAGES for tags in fence_tags(language) for tag in tags)
