"""The operator NOT in a question that no language model reads: ``solar cells NOT perovskite``, ``딥러닝 NOT 의료``.

Wordings such as *except* and 제외하고 are not read this way, because the records that answer such a question mostly
have the words (docs/en/reference/search-settings.md).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shrag.indexing.open_index import OpenIndex
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.serving.retrieval.query_terms import QueryTerm, query_terms, searchable, text_terms

# "NOT gate" is the subject of a question and no operator.
_NOT = re.compile(
    r"""
    (?:^|\s)(?:(?:AND|OR)\s+)?NOT\s+(?!(?:gates?|operations?|operators?|only|all|every)\b)
    (?:
      \((?P<list>[^()]+)\) | ["“](?P<phrase>[^"”]+)["”]
      | (?P<words>[^\s,.;:?!()"]+(?:\s+(?!(?:AND|OR|NOT)\b)[^\s,.;:?!()"]+)*)
    )
    """,
    re.VERBOSE,
)
_OR = re.compile(r"\s+OR\s+|\s*[,|]\s*")


class Exclusion(NamedTuple):
    """A question without what it leaves out, and the phrases that are left out."""

    rest: AnalyzedQuestion
    phrases: list[list[QueryTerm]]


def read_exclusion(text: str, index: OpenIndex) -> Exclusion | None:
    """Return what a question leaves out by NOT, or None if it leaves out nothing that the index has.

    A question is read as it stands if nothing to search for would be left. It is so too with a question mark or in
    capitals, where NOT emphasizes.
    """
    if "?" in text or (text.isascii() and text.isupper()):
        return None
    given = [found["list"] or found["phrase"] or found["words"] for found in _NOT.finditer(text)]
    phrases = [words for part in given for each in _OR.split(part) if (words := searchable(text_terms(each, index)))]
    if not phrases:
        return None
    rest = analyze_question(" ".join(_NOT.sub(" ", text).split()), index.analyzer, index.searcher, index.glossary)
    return Exclusion(rest, phrases) if searchable(query_terms(rest)) else None
