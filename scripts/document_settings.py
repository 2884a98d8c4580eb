"""Prints docs/configuration.md, made from the settings themselves.

python scripts/document_settings.py >docs/configuration.md
"""

from __future__ import annotations

import inspect
import re
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from verifier_service.settings import Settings

HEAD = """# Configuration

Every setting is an environment variable with the prefix `VERIFIER_`; the most used ones are also options of
`.venv/bin/verifier-service serve` (`--help` lists them). A value that makes no sense stops the service at start with a
message that names the setting; a variable that begins with `VERIFIER_` and is no setting is warned about in the log, since
it is most likely misspelt. Units are in the names.
"""


def type_text(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return " \\| ".join(f"`{value}`" for value in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(type_text(part) for part in get_args(annotation) if part is not type(None))
    if annotation is Path:
        return "path"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}.get(
        annotation.__name__, str(annotation)
    )


def default_text(field: FieldInfo) -> str:
    value = field.default
    return "" if value is None else f"`{value}`"


def range_text(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [f"{sign} {getattr(part, name)}" for part in field.metadata for name, sign in signs.items() if hasattr(part, name)]
    return f", {', '.join(bounds)}" if bounds else ""


def sections() -> list[tuple[str, list[str]]]:
    """The settings under the headings that the class gives them in `# --- heading` comments."""
    found: list[tuple[str, list[str]]] = []
    for line in inspect.getsource(Settings).splitlines():
        if match := re.match(r"\s+# --- (.+)", line):
            found.append((match[1], []))
        elif (match := re.match(r"    (\w+): .*= Field\(", line)) and match[1] in Settings.model_fields:
            found[-1][1].append(match[1])
    missing = set(Settings.model_fields) - {name for _, names in found for name in names}
    assert not missing, f"settings outside every section: {missing}"
    return found


def page() -> str:
    parts = [HEAD]
    for title, names in sections():
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts.append("| variable | default | kind | what it is |\n| --- | --- | --- | --- |")
        for name in names:
            field = Settings.model_fields[name]
            kind = f"{type_text(field.annotation)}{range_text(field)}"
            words = (field.description or "").replace("|", "\\|")
            parts.append(f"| `VERIFIER_{name.upper()}` | {default_text(field)} | {kind} | {words} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
