"""The page: what an engine returned → HTML. Everything from a record, a question or a model is escaped by Jinja."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jinja2

from shrag.indexing.errors import IndexDamaged
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError
from shrag.serving.page_request import SIZES, Asked, InterfaceLanguage
from shrag.serving.page_view import answer_view, records_view, seen_of, way_view
from shrag.serving.way_picture import ROW, WIDTH

PAGE_FOLDER = Path(__file__).parent / "page"


def render_page(engine: Engine, asked: Asked) -> tuple[int, str]:
    """Ask the engine what the page asks; return the HTTP status and the page."""
    shown: dict[str, object] = {"problem": None, "answer": None, "records": None, "way": None}
    status = 200
    if asked.question is not None:
        try:
            seen = seen_of(engine.ask(asked.question, k=asked.k))
        except (QuestionError, IndexDamaged) as error:
            status, shown["problem"] = problem_of(error, asked.language)
        else:
            shown["answer"] = answer_view(seen, asked)
            shown["records"] = records_view(seen, asked, engine.open_index.analyzer)
            shown["way"] = way_view(seen)
    other: InterfaceLanguage = "en" if asked.language == "ko" else "ko"
    html = render(
        "page.html",
        asked,
        switch_url=asked.address(language=other),
        question=asked.question,
        index=engine.name,
        index_records=engine.manifest.records,
        index_built=engine.manifest.created[:10],
        version=version("shrag"),
        **shown,
    )
    return status, html


def render(template: str, asked: Asked, **values: object) -> str:
    """Return a template's HTML, with the words of the interface's language beside its values."""
    words = page_words()[asked.language]
    return (
        _templates()
        .get_template(template)
        .render(ui=asked.language, words=words, asked=asked, filters=asked.filters, sizes=SIZES, **values)
    )


def render_template(name: str, **values: object) -> str:
    """Return the template ``name`` with ``values``, which it escapes."""
    return _templates().get_template(name).render(**values)


def problem_of(error: QuestionError | IndexDamaged, language: InterfaceLanguage) -> tuple[int, dict[str, str]]:
    """Return the HTTP status of an error and what the page says of it."""
    words = page_words()[language]
    if isinstance(error, IndexDamaged):
        return 503, {"title": words["index_damaged"], "detail": str(error)}
    return 422, {"title": words["question_problem"], "detail": words.get(error.code, str(error))}


@cache
def page_words() -> Mapping[str, Mapping[str, str]]:
    """Return the page's own words by interface language."""
    words: dict[str, dict[str, str]] = tomllib.loads((PAGE_FOLDER / "words.toml").read_text(encoding="utf-8"))
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
    templates.globals |= {"drawing_width": WIDTH, "drawing_row": ROW}
    return templates
