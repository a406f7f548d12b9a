"""``shrag ask``: answer a question with citations."""

from __future__ import annotations

from typing import get_args

import click

from shrag.cli.options.filter import (
    counts_hits,
    facets_option,
    filter_options,
    print_authors,
    print_facets,
    print_undated,
)
from shrag.cli.options.names import index_argument
from shrag.cli.options.search import SearchOptions, min_confidence_option, read_settings, search_options, set_option
from shrag.cli.output import echo, language, print_json
from shrag.cli.settings import Home
from shrag.indexing.record_filter import RecordFilter
from shrag.serving.answering.formats import (
    FALLBACKS,
    ISSUES,
    AnswerFormat,
    answer_label,
    answer_text,
    choice_line,
    confidence_line,
    follow_up_line,
    for_reader,
    title_and_page,
    unknown_value_line,
)
from shrag.serving.events import Answer, Confidence
from shrag.serving.request import Turn


@click.command()
@index_argument()
@click.argument("question")
@search_options
@filter_options
@facets_option
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(AnswerFormat)),
    default="cited",
    show_default=True,
    help="Output format: with citations, in the form of the ScienceON challenge, or plain text.",
)
@click.option(
    "--choice", "choices", multiple=True, metavar="TEXT", help="One choice of a multiple-choice question; repeatable."
)
@min_confidence_option
@click.option(
    "--after",
    "earlier",
    multiple=True,
    metavar="QUESTION",
    help="An earlier question that this question follows up; repeatable, the oldest first.",
)
@set_option
@click.option("--json", "as_json", is_flag=True, help="Print the events of answering, one JSON object per line.")
@click.pass_obj
def command(
    home: Home,
    name: str,
    question: str,
    form: AnswerFormat,
    choices: tuple[str, ...],
    min_confidence: float | None,
    earlier: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
    options: SearchOptions,
    record_filter: RecordFilter,
    facets: bool,
) -> None:
    """Answer QUESTION, Korean or English, from the records of the index NAME, with citations.

    Example: shrag ask demo "How long should a lecture video be?"
    """
    ask_settings, turns = read_settings(settings), [Turn(each) for each in earlier]
    engine = options.open_engine(home, name, question)
    strategy, order = options.strategy, options.keyword_order
    if as_json:
        for event in engine.events(
            question, strategy=strategy, keyword_order=order, settings=ask_settings, choices=choices,
            min_confidence=min_confidence, record_filter=record_filter, facets=facets, history=turns,
        ):  # fmt: skip
            print_json(event)
        return
    result = engine.ask(
        question, strategy=strategy, keyword_order=order, settings=ask_settings, choices=choices,
        min_confidence=min_confidence, record_filter=record_filter,
        facets=facets or counts_hits(record_filter, options.engine), history=turns,
    )  # fmt: skip
    answer = for_reader(result.answer, result.search.question.text, language.get())
    print_undated(record_filter, result.search.facets)
    if line := unknown_value_line(record_filter, result.search.facets, answer.language):
        echo(line, err=True)
    print_authors(result.search.authors, answer.language)
    causes = FALLBACKS[answer.language]
    for line in dict.fromkeys(f"{causes[each.cause]} ({each.message})" for each in result.search.fallbacks):
        echo(line, err=True)
    if facets and result.search.facets is not None:
        print_facets(result.search.facets)
    if result.search.follow_up is not None:
        echo(follow_up_line(result.search.follow_up, answer.language), err=True)
    if choices:
        echo(choice_line(answer, result.search.question.choices) + "\n")
    if form == "cited":
        print_answer(answer, result.search.ranking.confidence)
    else:
        echo(answer_text(answer, form))


def print_answer(answer: Answer, confidence: Confidence | None) -> None:
    """Print the answer, what wrote it, the confidence, the cited records, and the sentences that failed a check."""
    if answer.reason:
        echo(answer_text(answer))
        return
    echo(f"[{answer_label(answer)}]")
    if confidence is not None:
        echo(confidence_line(confidence, answer.language))
    echo("")
    echo(answer_text(answer) + "\n")
    for citation in answer.citations:
        echo(f"[{citation.number}] {citation.docid}  {title_and_page(citation.title, citation.page, answer.language)}")
    for section in answer.sections:
        for sentence in section.sentences:
            if not sentence.supported:
                echo(f"! {ISSUES[answer.language][sentence.issue or 'quote']}: {sentence.text}")
