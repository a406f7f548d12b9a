"""``shrag ask``: a cited answer to a question."""

from __future__ import annotations

from typing import get_args

import click

from shrag.cli.options.model import configured_model, no_model_option
from shrag.cli.options.search import strategy_option
from shrag.cli.output import print_json
from shrag.cli.settings import Home, keyword_order_option, reranker_options, verify_option
from shrag.indexing.storage.checksums import Verify
from shrag.serving.answering.formats import DOUBTS, FALLBACKS, AnswerFormat, answer_label, answer_text, choice_line
from shrag.serving.engine import open_engine
from shrag.serving.events import Answer, KeywordOrder


@click.command()
@click.argument("name")
@click.argument("question")
@strategy_option
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(AnswerFormat)),
    default="cited",
    show_default=True,
    help="With citations, as the ScienceON challenge asked for it, or the bare text.",
)
@click.option(
    "--choice", "choices", multiple=True, metavar="TEXT", help="A choice to answer by; give this once for each of them."
)
@keyword_order_option
@click.option("--json", "as_json", is_flag=True, help="The events of answering, one JSON object a line.")
@reranker_options
@no_model_option
@verify_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    question: str,
    strategy: str,
    form: AnswerFormat,
    choices: tuple[str, ...],
    keyword_order: KeywordOrder | None,
    as_json: bool,
    reranker: str,
    min_score: float | None,
    no_model: bool,
    verify: Verify,
) -> None:
    """Answer QUESTION, Korean or English, from the records of the index NAME, with citations.

    Example: shrag ask demo "How long should a lecture video be?"
    """
    model = configured_model(no_model=no_model)
    engine = open_engine(home.indexes, name, question, verify, model=model, reranker=reranker, min_score=min_score)
    if as_json:
        for event in engine.events(question, strategy=strategy, keyword_order=keyword_order, choices=choices):
            print_json(event)
        return
    result = engine.ask(question, strategy=strategy, keyword_order=keyword_order, choices=choices)
    says = FALLBACKS[result.answer.language]
    for line in dict.fromkeys(f"{says[each.cause]} ({each.message})" for each in result.search.fallbacks):
        click.echo(line, err=True)
    if choices:
        click.echo(choice_line(result.answer, result.search.question.choices) + "\n")
    if form == "cited":
        print_answer(result.answer)
    else:
        click.echo(answer_text(result.answer, form))


def print_answer(answer: Answer) -> None:
    """Print the answer with what wrote it, the records it cites, and what did not pass a check."""
    if answer.reason:
        click.echo(answer_text(answer))
        return
    click.echo(f"[{answer_label(answer)}]\n")
    click.echo(answer_text(answer) + "\n")
    for citation in answer.citations:
        click.echo(f"[{citation.number}] {citation.docid}  {citation.title}")
    for section in answer.sections:
        for sentence in section.sentences:
            if not sentence.sound:
                click.echo(f"! {DOUBTS[answer.language][sentence.doubt or 'quote']}: {sentence.text}")
