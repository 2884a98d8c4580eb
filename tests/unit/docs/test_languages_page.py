"""docs/languages.md is what the table of languages says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_of_languages_is_up_to_date() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "document_languages.py"))["page"]()
    on_disk = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    assert page == on_disk, "run: python scripts/document_languages.py >docs/languages.md"
