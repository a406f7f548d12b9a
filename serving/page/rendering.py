"""Render the Jinja templates: the full page, its fragments and the error page."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2

from shrag.corpora.text.cleaning import plain_line
from shrag.messages.text import Text, in_language
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.errors import ClientDisconnected, ServiceUnavailable, StrategyUnavailable, UnknownStrategy
from shrag.serving.events import Event
from shrag.serving.http.problems import HTTPProblem, to_problem
from shrag.serving.page.answer_views import answer_view
from shrag.serving.page.diagrams import ROW, WIDTH, tree_view
from shrag.serving.page.request import SIZES, InterfaceLanguage, PageRequest
from shrag.serving.page.snippets import LONGEST_TITLE, shorten
from shrag.serving.page.start import example_questions, strategy_groups, strategy_view
from shrag.serving.page.state import PageState
from shrag.serving.page.views import records_view, trace_view
from shrag.serving.references.formats import REFERENCE_FILES
from shrag.serving.request import DEFAULT_STRATEGY, LONGEST_QUESTION
from shrag.serving.strategies.tree.policy import VALID_SHARE

PAGE_FOLDER = Path(__file__).parent


def render_page(
    engine: Engine,
    request: PageRequest,
    cancellation: CancellationToken | None = None,
    observe: Callable[[Event], None] = lambda _: None,
) -> str:
    """Answer the question of a request, if it has one, and return the full page; ``observe`` gets the answer's events.

    Raises:
        ClientDisconnected: The question was cancelled.
        ServingError: See :meth:`~shrag.serving.engine.Engine.ask`.
    """
    if request.question is None:
        pattern = interface_texts()[request.language]["example"]
        questions = example_questions(engine.open_index, request.language, pattern)
        return render_full_page("page.html", engine, request, examples=questions)
    parsed = request.parse()
    run = engine.run(parsed)
    if cancellation is not None:
        cancellation.on_cancel(run.close)
    state = PageState(parsed.question.text, parsed.question.language)
    for event in run.take_all():
        state.add(event)
        observe(event)
    if state.timings is None:
        raise ClientDisconnected(Text("The question was cancelled: ask it again."))
    state.cached = state.timings.cached
    return render_full_page(
        "page.html",
        engine,
        request,
        answer=answer_view(state, request, engine.open_index.analyzer),
        tree=tree_view(state, request),
        records=records_view(state, request, engine.open_index.analyzer),
        trace=trace_view(state, request, engine.open_index.store),
    )


def render_full_page(template: str, engine: Engine, request: PageRequest, **values: object) -> str:
    """Return a full page. Regions that are not among ``values`` are empty."""
    other: InterfaceLanguage = "en" if request.language == "ko" else "ko"
    regions = ("problem", "answer", "tree", "records", "trace", "record", "examples")
    shared: dict[str, object] = {
        "switch_url": request.url(language=other, offset=request.offset),
        "question": request.question,
        "title": shorten(plain_line(request.question or ""), LONGEST_TITLE),
        "index": engine.name,
        "index_records": engine.manifest.records,
        "index_built": engine.manifest.created[:10],
        "version": version("shrag"),
        "groups": strategy_groups(engine, request),
        "chosen": strategy_view(request.strategy, request.language),
    }
    return render(template, request, **(shared | dict.fromkeys(regions) | values))


def render(template: str, request: PageRequest, **values: object) -> str:
    """Return the HTML of a template, which also gets the texts in the language of the interface."""
    language = request.language
    return render_template(
        template,
        request=request,
        ui=language,
        texts=interface_texts()[language],
        problem_texts=_problem_texts(language),
        sizes=SIZES,
        **values,
    )


def render_template(name: str, **values: object) -> str:
    """Return the HTML of the template ``name`` with ``values``, which are escaped."""
    return _templates().get_template(name).render(**values)


@cache
def _problem_texts(language: InterfaceLanguage) -> Mapping[str, Mapping[str, str]]:
    """Return the title and the detail of each problem that the page has texts for. Scripts show them."""
    texts, prefix = interface_texts()[language], "problem_"
    codes = [key.removeprefix(prefix) for key in texts if key.startswith(prefix) and f"{key}_detail" in texts]
    return {code: {"title": texts[prefix + code], "detail": texts[f"{prefix}{code}_detail"]} for code in codes}


@cache
def interface_texts() -> Mapping[str, Mapping[str, str]]:
    """Return the texts of the interface by language."""
    texts: dict[str, dict[str, str]] = tomllib.loads((PAGE_FOLDER / "texts/interface.toml").read_text(encoding="utf-8"))
    return texts


def open_templates(folder: Path) -> jinja2.Environment:
    """Return the templates of a folder. Every value is escaped, and a missing value is an error."""
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
    # JSON is for attributes that scripts read: Jinja escapes whatever could end the attribute.
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}
    templates.globals |= {"drawing_width": WIDTH, "drawing_row": ROW, "default_strategy": DEFAULT_STRATEGY}
    templates.globals["valid_percent"] = round(100 * VALID_SHARE)
    templates.globals["longest_question"] = LONGEST_QUESTION
    templates.globals["reference_formats"] = {file.label: form for form, file in REFERENCE_FILES.items()}
    return templates


PROBLEM_CODES = (
    *("overloaded", "shutting_down", "deadline_exceeded", "unexpected"),
    *("document_missing", "index_damaged", "not_found", "strategy_unavailable", "unknown_strategy"),
)
"""Codes of the problems that the page has texts for. Any other problem is shown with the error's message."""


def render_problem(engine: Engine, request: PageRequest, error: Exception) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the page and the headers of ``error``. The question stays in its field on the page."""
    problem = to_problem(error)
    retry_after = error.retry_after if isinstance(error, ServiceUnavailable) else None
    view = problem_view(problem, request.language, retry_after)
    url, default_url = request.url(offset=request.offset) if request.question is not None else "", ""
    if isinstance(error, StrategyUnavailable | UnknownStrategy):  # a retry would fail again
        url, default_url = "", replace(request, strategy=DEFAULT_STRATEGY).url()
    if isinstance(error, StrategyUnavailable):
        view["detail"] = interface_texts()[request.language][f"lacks_{error.lacks}_detail"]
    html = render_full_page("page.html", engine, request, problem=view | {"url": url, "default_url": default_url})
    return problem.status, html, problem.headers


def problem_view(problem: HTTPProblem, language: InterfaceLanguage, retry_after: int | None = None) -> dict[str, Any]:
    """Return the context of an error; ``retry_after`` is in seconds, or None if a retry is of no use."""
    texts = interface_texts()[language]
    if problem.code in PROBLEM_CODES:
        title, detail = texts[f"problem_{problem.code}"], texts.get(f"problem_{problem.code}_detail", "{detail}")
    else:
        title = texts["question_problem" if problem.status == 422 else "failed"]
        detail = texts.get(problem.code, "{detail}")
    # For a damaged index and an invalid pipeline, the text contains the error's own message, which says what to do.
    return {
        "title": title,
        "detail": detail.replace("{detail}", in_language(problem.detail, language)),
        "retry_after": retry_after,
    }
