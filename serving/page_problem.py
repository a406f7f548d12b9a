"""What the page says where it has no answer: what happened, what to do, and when asking again may help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shrag.serving.engine import Engine
from shrag.serving.errors import NotServed
from shrag.serving.page_request import Asked, InterfaceLanguage
from shrag.serving.problems import Refusal, read_error
from shrag.serving.rendering import page_words, whole_page

SAID = ("overloaded", "stopping", "deadline_exceeded", "unexpected", "document_missing", "index_damaged")
"""The codes that the page has words of its own for; any other is shown with the words of the error."""


def render_problem(engine: Engine, asked: Asked, error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the page and the headers of ``error``, the question still in its field."""
    told = read_error(error)
    retry_after = error.retry_after if isinstance(error, NotServed) else None
    problem = problem_view(told, asked.language, retry_after)
    address = asked.address() if asked.question is not None else ""
    html = whole_page("page.html", engine, asked, problem=problem | {"address": address})
    return told.status, html, told.headers


def problem_view(told: Refusal, language: InterfaceLanguage, retry_after: int | None = None) -> dict[str, Any]:
    """Return what the page shows of an error; ``retry_after`` is in seconds, None where asking again is no use."""
    words = page_words()[language]
    if told.code in SAID:
        # Of a damaged index the error itself says what to do.
        detail = words.get(f"problem_{told.code}_detail", told.detail)
        return {"title": words[f"problem_{told.code}"], "detail": detail, "retry_after": retry_after}
    return {
        "title": words["question_problem"] if told.status == 422 else words["failed"],
        "detail": words.get(told.code, told.detail),
        "retry_after": retry_after,
    }
