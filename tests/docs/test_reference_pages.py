"""The generated pages of the reference are what the program gives now."""

from __future__ import annotations

import pytest

from reference_pages import FOLDER, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_is_written_now(name: str) -> None:
    stored = (FOLDER / name).read_text(encoding="utf-8")
    assert PAGES[name]() == stored, "where this is meant, `make reference` writes the pages anew"


def test_the_settings_of_commands_within_a_group_are_listed_too() -> None:
    page = PAGES["settings.md"]()
    assert "## [corpus.add]" in page
    assert "| `max_seconds` | `SHRAG_CORPUS_ADD_MAX_SECONDS` | `--max-seconds` |" in page
