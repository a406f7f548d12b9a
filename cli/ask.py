"""``shrag ask``: a cited answer to a question."""

from __future__ import annotations

import click

from shrag.cli.settings import Home, reranker_options, verify_option
from shrag.indexing.seals import Verify
from shrag.serving.answer_text import answer_text
from shrag.serving.engine import DEFAULT_STRATEGY, STRATEGIES, open_engine
from shrag.serving.events import Answer
from shrag.serving.phrases import EXTRACTIVE_LABEL


@click.command()
@click.argument("name")
@click.argument("question")
@click.option("--strategy", type=click.Choice(list(STRATEGIES)), default=DEFAULT_STRATEGY, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The events of answering, one JSON object a line.")
@reranker_options
@verify_option
@click.pass_obj
def command(
    home: Home,
    name: str,
    question: str,
    strategy: str,
    as_json: bool,
    reranker: str,
    min_score: float | None,
    verify: Verify,
) -> None:
    """Answer QUESTION, Korean or English, from the records of the index NAME, with citations.

    Example: shrag ask demo "How long should a lecture video be?"
    """
    engine = open_engine(home.indexes, name, question, verify, reranker=reranker, min_score=min_score)
    if as_json:
        import msgspec

        for event in engine.events(question, strategy=strategy):
            click.echo(msgspec.json.encode(event).decode())
        return
    print_answer(engine.ask(question, strategy=strategy).answer)


def print_answer(answer: Answer) -> None:
    """Print the answer with what wrote it, and the records it cites."""
    if answer.reason:
        click.echo(answer_text(answer))
        return
    click.echo(f"[{EXTRACTIVE_LABEL[answer.language]}]\n")
    click.echo(answer_text(answer) + "\n")
    for citation in answer.citations:
        click.echo(f"[{citation.number}] {citation.docid}  {citation.title}")
