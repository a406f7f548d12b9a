"""Suggest another spelling for a question that is not answered, from the English words of the records."""

from __future__ import annotations

import difflib
import re

from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Term
from shrag.indexing.search_engine import SpellingSearch
from shrag.serving.request import Question

# Shorter words resemble too many others. A word with capitals behind the first letter is a name or an acronym.
_WORD = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z][a-z]{4,}(?![A-Za-z0-9_-])")
_MOST_TERMS = 3
_READ_RECORDS = 5
_LEAST_LIKENESS = 0.82  # difflib's ratio: "tones" was not meant to be "tunes"
_MOST_LONGER = 1  # letter: "contractors" was not meant to be "contracts"
# Each look-up takes some milliseconds, and a question with more unknown words is in another language.
_MOST_UNKNOWN = 5


def suggest_spelling(question: Question, index: OpenIndex) -> str:
    """Return the question with its misspelled words corrected; empty if no word seems to be misspelled.

    An English word is misspelled if no record has it in any form, and if its spelling resembles a word of several
    records. A follow-up question is left alone, since words of earlier questions were added to it.
    """
    if index.spelling is None or question.asked is not None:
        return ""
    found = list(_WORD.finditer(question.text))
    terms = index.analyzer.terms([match.group() for match in found])
    words = [(match, each[0]) for match, each in zip(found, terms, strict=True) if len(each) == 1]
    known = index.searcher.count_hits([Term(term) for _, term in words], 1)
    unknown = [word for word, hits in zip(words, known, strict=True) if not hits][:_MOST_UNKNOWN]
    corrected = question.text
    for match, term in reversed(unknown):
        meant = _meant(match.group(), term, index.spelling, index)
        corrected = corrected[: match.start()] + meant + corrected[match.end() :]
    return corrected if corrected != question.text else ""


def _meant(word: str, term: str, spelling: SpellingSearch, index: OpenIndex) -> str:
    """Return the word of the records that an unknown word was meant to be, or the word itself if it resembles none.

    Both words have the same ending behind their stems: *contractors* was not meant to be *contractions*.
    """
    ending = word[len(term) :].lower()
    forms = (
        form
        for similar in spelling.similar_terms(term, _MOST_TERMS)
        for form in _forms(similar, index)
        if form[len(similar) :] == ending
    )
    alike = [form for form in dict.fromkeys(forms) if abs(len(form) - len(word)) <= _MOST_LONGER]
    near = difflib.get_close_matches(word.lower(), alike, n=1, cutoff=_LEAST_LIKENESS)
    if not near:
        return word
    return near[0].capitalize() if word[0].isupper() else near[0]


def _forms(term: str, index: OpenIndex) -> list[str]:
    """Return the words of a few records, in lower case, whose stem is ``term``."""
    (hits,) = index.searcher.search([Term(term)], _READ_RECORDS)
    texts = [
        f"{each.record.title} {each.record.text}"
        for each in index.store.fetch([hit.docid for hit in hits])
        if each is not None
    ]
    return [
        text[token.start : token.end].lower()
        for text, tokens in zip(texts, index.analyzer.tokens(texts), strict=True)
        for token in tokens
        if token.term == term
    ]
