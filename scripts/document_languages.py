"""Prints docs/languages.md, made from the table of languages and the prose beside this file.

python scripts/document_languages.py >docs/languages.md
"""

from __future__ import annotations

import shlex
from pathlib import Path

from verifier_service.sandbox.runner.languages import LANGUAGES, PROFILES, Command, Language, packages_of

NOTES = Path(__file__).with_suffix(".md")
HEAD = """# Languages

Made from the table in `verifier_service/sandbox/runner/languages.py` and `languages_full.py` by
`python scripts/document_languages.py >docs/languages.md`; a test keeps it so. `language` of a task is the first column. A
service has those of the profiles that `VERIFIER_SANDBOX_PROFILES` names; `GET /v1/verifiers` says which, and their versions.
"""


def command_text(command: Command) -> str:
    """As one would type it, long class paths cut."""
    text = shlex.join(part if len(part) < 80 or "/" not in part or " " in part else "…" for part in command)
    return f"`{text.replace('|', chr(92) + '|')}`"


def extras_text(row: Language) -> str:
    extras = [
        (row.memory_extra_mb, f"{row.memory_extra_mb} MB"),
        (row.time_extra_s, f"{row.time_extra_s:g} s"),
        (row.processes_extra, f"{row.processes_extra} processes"),
    ]
    return ", ".join(text for amount, text in extras if amount)


def names_text(row: Language) -> str:
    others = sorted(row.fence_tags - {row.name})
    return " ".join(f"`{name}`" for name in others)


def page() -> str:
    parts = [HEAD]
    for profile in PROFILES:
        rows = [row for row in LANGUAGES.values() if row.profile == profile]
        parts.append(f"## Profile `{profile}`\n")
        parts.append(f"Debian's packages: {' '.join(packages_of(profile))}.\n")
        parts.append("| language | what it is | fences | source | compiled by | run by | granted on top |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- |")
        for row in rows:
            compiled = "<br>".join(command_text(command) for command in row.compile)
            parts.append(
                f"| `{row.name}` | {row.title} | {names_text(row)} | `{row.file}` | {compiled} | {command_text(row.run)} "
                f"| {extras_text(row)} |"
            )
        parts.append("")
    parts.append(NOTES.read_text().rstrip())
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
