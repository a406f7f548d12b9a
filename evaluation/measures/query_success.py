"""Query success, evidence recall and all-recall, by document or by article.

In the SHRAG paper (arXiv 2512.00772) a question is successful if its retrieved set has at least one relevant document;
the share of successful questions is the Query Success Rate (section 5.2, equation 6). The paper compares *titles*:
passages of one article count as that article. Its figure 3 shows another measure, the share of the relevant documents
that were retrieved. All-recall is that of HippoRAG (arXiv 2405.14831): the share of questions with all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

Level = Literal["document", "article"]

ARTICLE_MARK = "#"
"""Ends the article's identifier in a docid such as MIRACL's ``39#0``."""


def article(docid: str) -> str:
    """Return the article's identifier in ``docid``; a docid without :data:`ARTICLE_MARK` is an article itself.

    >>> article("39#0"), article("DEMO-EN-001")
    ('39', 'DEMO-EN-001')
    """
    return docid.partition(ARTICLE_MARK)[0] or docid


def success(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 if the first ``cutoff`` documents of ``ranking`` (None: all) include a relevant one, else 0."""
    return float(not relevant.isdisjoint(ranking[:cutoff]))


def recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return the share of ``relevant`` among the first ``cutoff`` of ``ranking`` (None: all); 0 if none is relevant."""
    return len(relevant.intersection(ranking[:cutoff])) / len(relevant) if relevant else 0.0


def all_recall(ranking: Sequence[str], relevant: frozenset[str], cutoff: int | None) -> float:
    """Return 1 if the first ``cutoff`` of ``ranking`` (None: all) include all of ``relevant``, which is not empty."""
    return float(bool(relevant) and relevant.issubset(ranking[:cutoff]))


def ranking_at(ranking: Sequence[str], level: Level) -> list[str]:
    """Return ``ranking`` by document or by article; an article has the position of its best document.

    >>> ranking_at(["39#2", "7#0", "39#0"], "article")
    ['39', '7']
    """
    return list(dict.fromkeys(map(article, ranking))) if level == "article" else list(ranking)


def relevant_at(grades: Mapping[str, int], rel: int, level: Level) -> frozenset[str]:
    """Return the documents graded at least ``rel``, or the articles that have such a document."""
    relevant = (docid for docid, grade in grades.items() if grade >= rel)
    return frozenset(map(article, relevant) if level == "article" else relevant)
