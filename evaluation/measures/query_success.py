"""Query success, evidence recall and all-recall, by document or by article.

The paper (arXiv 2512.00772) calls a question successful whose retrieved set has at least one relevant document, and
the share of successful questions the Query Success Rate (section 5.2, equation 6). It compares *titles*: passages of
one article count as that article. Its figure 3 shows another number, the share of the relevant documents that were
collected. All-recall is that of HippoRAG (arXiv 2405.14831): the share of questions for which all of them were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Level = Literal["document", "article"]

ARTICLE_MARK = "#"
"""In an identifier such as MIRACL's ``39#0``, what stands before the first of these names the article."""


def article(docid: str) -> str:
    """Return the identifier of the article that a passage is of; one without a mark is its own article.

    >>> article("39#0"), article("DEMO-EN-001")
    ('39', 'DEMO-EN-001')
    """
    return docid.partition(ARTICLE_MARK)[0] or docid


def success(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 where the first ``cutoff`` of ``ranking`` (all of it where None) have a relevant one, else 0."""
    return float(not relevant.isdisjoint(ranking[:cutoff]))


def recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return which share of ``relevant`` the first ``cutoff`` of ``ranking`` have; 0 where nothing is relevant."""
    return len(relevant.intersection(ranking[:cutoff])) / len(relevant) if relevant else 0.0


def all_recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 where the first ``cutoff`` of ``ranking`` have all of ``relevant``, else 0, as where that is nothing."""
    return float(bool(relevant) and relevant.issubset(ranking[:cutoff]))


def ranking_at(ranking: Sequence[str], level: Level) -> list[str]:
    """Return ``ranking`` at a level: an article stands where its best document stood, once.

    >>> ranking_at(["39#2", "7#0", "39#0"], "article")
    ['39', '7']
    """
    return list(dict.fromkeys(map(article, ranking))) if level == "article" else list(ranking)


def relevant_at(grades: Mapping[str, int], rel: int, level: Level) -> frozenset[str]:
    """Return what is relevant at a level: graded at least ``rel``, or an article with a document that is."""
    relevant = (docid for docid, grade in grades.items() if grade >= rel)
    return frozenset(map(article, relevant) if level == "article" else relevant)
