"""Restrict a search to one paper by its title: to the chunks whose titles begin with it."""

from __future__ import annotations

from dataclasses import dataclass

from shrag.corpora.formats.papers import HEADING_MARK
from shrag.corpora.text.cleaning import clean_text
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import And, Boost, Query, Term
from shrag.messages.text import Text
from shrag.serving.errors import SettingRejected

MOST_CHUNKS = 1_000
"""Chunks of a paper that are searched."""

_NO_SCORE = 1e-6  # a weight that restricts a query without changing its order


@dataclass(frozen=True, slots=True)
class PaperScope:
    """The chunks of one paper: their docids, and the terms of its title, which each of them has."""

    docids: frozenset[str]
    title_terms: tuple[str, ...]

    def restrict(self, query: Query) -> Query:
        """Return the query of the documents that match ``query`` and have all terms of the title, scored by ``query``.

        Documents of other papers may have those terms too, so callers must leave out hits that are not in ``docids``.
        """
        return And((query, Boost(And(tuple(map(Term, self.title_terms))), _NO_SCORE)))


def find_paper(title: str, index: OpenIndex) -> PaperScope:
    """Return the scope of the paper called ``title``, letter case and spaces ignored.

    Raises :class:`SettingRejected` if the index has no record with that title.
    """
    (terms,) = index.analyzer.terms([title])
    title_terms = tuple(dict.fromkeys(terms))
    docids: list[str] = []
    if title_terms:
        (hits,) = index.searcher.search([And(tuple(map(Term, title_terms)))], MOST_CHUNKS)
        wanted = _normalize(title)
        docids = [
            each.record.docid
            for each in index.store.fetch([hit.docid for hit in hits])
            if each is not None and _normalize(each.record.title.partition(HEADING_MARK)[0]) == wanted
        ]
    if not docids:
        raise SettingRejected(
            Text(
                "Index {name} has no paper called {title!r}: write its title as a search shows it, before the dash.",
                name=index.name,
                title=title,
            )
        )
    return PaperScope(frozenset(docids), title_terms)


def _normalize(title: str) -> str:
    return " ".join(clean_text(title).casefold().split())
