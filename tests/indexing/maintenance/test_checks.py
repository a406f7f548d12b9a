"""The checks of an index: what is said of a Lucene index that is not clean."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from shrag.indexing.maintenance import checks
from shrag.indexing.maintenance.checks import check_lucene
from shrag.messages.text import in_language


def test_an_index_that_is_not_clean_without_a_reason_is_a_problem_in_both_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    java = MagicMock()
    java.return_value.checkIndex.return_value.clean = False
    for name in ("java_class", "lucene_class"):
        monkeypatch.setattr(checks, name, lambda _: java)
    monkeypatch.setattr(checks, "java_errors", nullcontext)
    (problem,) = check_lucene(Path("lucene"))
    assert problem == "CheckIndex finds it not clean"
    assert in_language(problem, "ko") == "CheckIndex 검사에서 이상이 발견되었습니다"
