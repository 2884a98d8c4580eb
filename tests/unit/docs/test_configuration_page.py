"""docs/configuration.md is what the settings say."""

from __future__ import annotations

import runpy
from pathlib import Path

from verifier_service.settings import Settings

ROOT = Path(__file__).parents[3]


def test_the_configuration_page_is_up_to_date() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "document_settings.py"))["page"]()
    on_disk = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == on_disk, "run: python scripts/document_settings.py >docs/configuration.md"


def test_every_setting_is_explained() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
