"""HTML of results, for notebooks. Every text of a record or a model is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from shrag.serving.answering.formats import REASONS, answer_label, answer_text
from shrag.serving.events import Answer, RankedRecord, Ranking
from shrag.serving.request import AnswerLanguage

_COLUMNS = ("", "docid", "title", "year", "journal", "score")


def ranking_html(ranking: Ranking, language: AnswerLanguage) -> str:
    """Return the records found as a table, or a paragraph that says why there are none."""
    if not ranking.records:
        return _paragraph(REASONS[language][ranking.reason] if ranking.reason else "")
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    rows = "".join(f"<tr>{_cells(ranked)}</tr>" for ranked in ranking.records)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def answer_html(answer: Answer) -> str:
    """Return the answer with its label, and a list of the records that it cites."""
    cited = _items(f"[{each.number}] {each.docid} {each.title}" for each in answer.citations)
    label = _paragraph(f"[{answer_label(answer)}]") if not answer.reason else ""
    return label + "".join(map(_paragraph, answer_text(answer).split("\n"))) + cited


def _cells(ranked: RankedRecord) -> str:
    record = ranked.record
    values = (ranked.rank, record.docid, record.title, record.year or "", record.journal, f"{ranked.score:.3f}")
    return "".join(f"<td>{escape(str(value))}</td>" for value in values)


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""


def _items(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
