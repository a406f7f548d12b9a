"""Jinja environment; full page and error page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2

from shrag.corpora.text.cleaning import plain_line
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import ServiceUnavailable, StrategyUnavailable, UnknownStrategy
from shrag.serving.http.problems import HTTPProblem, to_problem
from shrag.serving.page.diagrams import ROW, WIDTH, tree_view
from shrag.serving.page.request import SIZES, InterfaceLanguage, PageRequest
from shrag.serving.page.snippets import LONGEST_TITLE, shorten
from shrag.serving.page.start import examples, strategy_groups, strategy_view
from shrag.serving.page.state import page_state_of
from shrag.serving.page.views import answer_view, records_view, trace_view
from shrag.serving.request import DEFAULT_STRATEGY

PAGE_FOLDER = Path(__file__).parent


def render_page(engine: Engine, asked: PageRequest, cancellation: CancellationToken | None = None) -> str:
    """Ask the engine what the page asks; return the page.

    ``cancellation`` is as of :meth:`~shrag.serving.engine.Engine.ask`, and it raises as that does.
    """
    if asked.question is None:
        pattern = interface_texts()[asked.language]["example"]
        return render_full_page(
            "page.html", engine, asked, examples=examples(engine.open_index, asked.language, pattern)
        )
    seen = page_state_of(engine.ask(asked.question, k=asked.k, strategy=asked.strategy, cancellation=cancellation))
    return render_full_page(
        "page.html",
        engine,
        asked,
        answer=answer_view(seen, asked),
        tree=tree_view(seen, asked),
        records=records_view(seen, asked, engine.open_index.analyzer),
        trace=trace_view(seen, asked),
    )


def render_full_page(template: str, engine: Engine, asked: PageRequest, **values: object) -> str:
    """Return a template's whole page; what is not among ``values`` has not happened."""
    other: InterfaceLanguage = "en" if asked.language == "ko" else "ko"
    parts = ("problem", "answer", "tree", "records", "trace", "record")
    nothing: dict[str, object] = dict.fromkeys(parts) | {"examples": ()}
    return render(
        template,
        asked,
        **{
            "switch_url": asked.url(language=other),
            "question": asked.question,
            "title": shorten(plain_line(asked.question or ""), LONGEST_TITLE),
            "index": engine.name,
            "index_records": engine.manifest.records,
            "index_built": engine.manifest.created[:10],
            "version": version("shrag"),
            "groups": strategy_groups(engine, asked),
            "chosen": strategy_view(asked.strategy, asked.language),
            **nothing,
            **values,
        },
    )


def render(template: str, asked: PageRequest, **values: object) -> str:
    """Return a template's HTML, with the words of the interface's language beside its values."""
    words, said = interface_texts()[asked.language], _said(asked.language)
    shared = {"ui": asked.language, "texts": words, "problem_texts": said, "sizes": SIZES}
    return _templates().get_template(template).render(request=asked, filters=asked.filters, **shared, **values)


def render_template(name: str, **values: object) -> str:
    """Return the template ``name`` with ``values``, which it escapes."""
    return _templates().get_template(name).render(**values)


@cache
def _said(language: InterfaceLanguage) -> Mapping[str, Mapping[str, str]]:
    """Return the title and the sentence of each problem that the page has words for, for scripts to show."""
    words, beginning = interface_texts()[language], "problem_"
    codes = [key.removeprefix(beginning) for key in words if key.startswith(beginning) and f"{key}_detail" in words]
    return {code: {"title": words[beginning + code], "detail": words[f"{beginning}{code}_detail"]} for code in codes}


@cache
def interface_texts() -> Mapping[str, Mapping[str, str]]:
    """Return the page's own words by interface language."""
    words: dict[str, dict[str, str]] = tomllib.loads(
        (PAGE_FOLDER / "texts" / "interface.toml").read_text(encoding="utf-8")
    )
    return words


def open_templates(folder: Path) -> jinja2.Environment:
    """Return the templates of a folder: every value is escaped, and one that is missing is an error."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _templates() -> jinja2.Environment:
    templates = open_templates(PAGE_FOLDER / "templates")
    # For attributes that scripts read: Jinja escapes what could end the attribute.
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}
    templates.globals |= {"drawing_width": WIDTH, "drawing_row": ROW, "default_strategy": DEFAULT_STRATEGY}
    return templates


PROBLEM_CODES = (
    *("overloaded", "shutting_down", "deadline_exceeded", "unexpected"),
    *("document_missing", "index_damaged", "strategy_unavailable", "unknown_strategy"),
)
"""The codes that the page has words of its own for; any other is shown with the words of the error."""


def render_problem(engine: Engine, asked: PageRequest, error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the page and the headers of ``error``, the question still in its field."""
    told = to_problem(error)
    retry_after = error.retry_after if isinstance(error, ServiceUnavailable) else None
    problem = problem_view(told, asked.language, retry_after)
    address, usual = asked.url() if asked.question is not None else "", ""
    if isinstance(error, StrategyUnavailable | UnknownStrategy):  # asking again in the same way is no use
        address, usual = "", replace(asked, strategy=DEFAULT_STRATEGY).url()
    if isinstance(error, StrategyUnavailable):
        problem["detail"] = interface_texts()[asked.language][f"lacks_{error.lacks}_detail"]
    html = render_full_page("page.html", engine, asked, problem=problem | {"url": address, "default_url": usual})
    return told.status, html, told.headers


def problem_view(told: HTTPProblem, language: InterfaceLanguage, retry_after: int | None = None) -> dict[str, Any]:
    """Return what the page shows of an error; ``retry_after`` is in seconds, None where asking again is no use."""
    words = interface_texts()[language]
    if told.code in PROBLEM_CODES:
        # Of a damaged index, and of a line that composes none, the error itself says what to do.
        detail = words.get(f"problem_{told.code}_detail", told.detail)
        return {"title": words[f"problem_{told.code}"], "detail": detail, "retry_after": retry_after}
    return {
        "title": words["question_problem"] if told.status == 422 else words["failed"],
        "detail": words.get(told.code, told.detail),
        "retry_after": retry_after,
    }
