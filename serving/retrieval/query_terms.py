"""Query terms: the content words of a question with their idf and translations.

The module also joins them to phrases, and weights them as keywords.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, TokenKind
from shrag.indexing.bm25 import idf
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.search_engine import FieldStatistics, SearchEngine
from shrag.indexing.translation.query_translation import (
    AnalyzedQuestion,
    QuerySegment,
    Translation,
    analyze_question,
    has_word,
    least_distinctive_idf,
    word_forms,
)
from shrag.serving.events import EmptyReason, Keyword, KeywordOrder, Keywords
from shrag.serving.search_settings import WordChoice

# Where a name may be written with a blank or without: at its blanks, and between two Hangul syllables.
_BLANKS = re.compile("[\\s-]+|(?<=[\uac00-\ud7a3])(?=[\uac00-\ud7a3])")
_MOST_POSTINGS = 5_000
"""Most documents from which the entropy of a term is computed; it is an estimate if the term has more."""

_CONTENT_KINDS: frozenset[TokenKind] = KEYWORD_KINDS | {"predicate"}


class QueryTerm(NamedTuple):
    """A word of a question with its index terms: ``GPT-4`` has gpt4, gpt and 4.

    Any of them finds candidates; a text has the word if it has gpt4, or gpt and 4.

    Attributes:
        text: The word as written.
        terms: Its distinct index terms.
        idf: The idf of its rarest term in the index, else of its translations' rarest term, else of an unseen term.
        frequency: How often the question has it.
        keyword: Whether it can be a keyword, by its kind, and since it is no light word.
        known: Whether the index has it or a translation of it.
        translations: Its translations, the most confident first.
        start: Where its first occurrence begins in the question.
        end: Where its first occurrence ends.
        parts: The words of a phrase, all of which must match; ``terms`` has the terms of all of them.
        framing: Whether it only frames the request (``Could you summarize``).
        whole: The index's term of the whole phrase (강화학습), which is an alternative to all parts; empty without one.
        forms: Sets of terms. A text has the word if it has all terms of one set
            (:func:`~shrag.indexing.translation.query_translation.word_forms`). Without sets, one of ``terms`` is
            enough.
    """

    text: str
    terms: tuple[str, ...]
    idf: float
    frequency: int
    keyword: bool
    known: bool
    translations: tuple[Translation, ...] = ()
    start: int = 0
    end: int = 0
    parts: tuple[QueryTerm, ...] = ()
    framing: bool = False
    whole: str = ""
    forms: tuple[frozenset[str], ...] = ()


def content_terms(segment: QuerySegment) -> tuple[str, ...]:
    """Return the distinct terms of a segment's content words."""
    return tuple(dict.fromkeys([token.term for token in segment.tokens if token.kind in _CONTENT_KINDS]))


def query_terms(question: AnalyzedQuestion) -> list[QueryTerm]:
    """Return the distinct content words of a question in order of first occurrence, without stop words and affixes."""
    contents = question.statistics.contents
    found: dict[tuple[str, ...], QueryTerm] = {}
    for segment, translations in zip(question.segments, question.translations, strict=True):
        tokens = [token for token in segment.tokens if token.kind in _CONTENT_KINDS]
        if not tokens:
            continue
        terms = tuple(dict.fromkeys([token.term for token in tokens]))
        start, end = tokens[0].start, max([token.end for token in tokens])
        earlier = found.get(terms)
        if earlier is not None and segment.is_framing != earlier.framing:
            if segment.is_framing:
                continue
            earlier = None  # a framing use does not count if the word is also content
        frequencies = _frequencies(terms, contents)
        translated = [frequency for each in translations for frequency in _frequencies(each.terms, contents)]
        found[terms] = QueryTerm(
            text=earlier.text if earlier else question.text[start:end],
            terms=terms,
            idf=idf(min(frequencies or translated, default=0), contents.documents),
            frequency=earlier.frequency + 1 if earlier else 1,
            keyword=not segment.is_light and any(token.kind in KEYWORD_KINDS for token in tokens),
            known=bool(frequencies or translated),
            translations=tuple(dict.fromkeys((*(earlier.translations if earlier else ()), *translations))),
            start=earlier.start if earlier else start,
            end=earlier.end if earlier else end,
            framing=segment.is_framing,
            forms=word_forms(tokens),
        )
    return list(found.values())


def text_terms(text: str, index: OpenIndex) -> list[QueryTerm]:
    """Return the :func:`query_terms` of any text, translated by the index's glossary."""
    return query_terms(analyze_question(text, index.analyzer, index.searcher, index.glossary))


def searchable(terms: Iterable[QueryTerm]) -> list[QueryTerm]:
    """Return the terms that can be keywords: nouns, foreign words and numbers that are known and frame no request."""
    return [term for term in terms if term.keyword and term.known and not term.framing]


def distinctive_words(query: Iterable[QueryTerm]) -> list[QueryTerm]:
    """Return the words that say what a question is about: nouns, foreign words and numbers, the rarest by idf."""
    words = [word for word in query if word.keyword and not word.framing]
    least = least_distinctive_idf([word.idf for word in words])
    return [word for word in words if word.idf >= least]


def held_words(query: Iterable[QueryTerm], terms: AbstractSet[str]) -> list[QueryTerm]:
    """Return the words of a query that ``terms`` have in one of their forms, without words that frame a request.

    A translation matches if all of its terms do.
    """
    return [word for word in query if not word.framing and _is_held(word, terms)]


def spellings(name: str) -> str:
    """Return a pattern for a name, which may be written with blanks or without.

    >>> re.fullmatch(spellings("기계 학습"), "기계학습") is not None
    True
    """
    return r"[\s-]?".join(map(re.escape, _BLANKS.split(name)))


def has_phrase(terms: AbstractSet[str], phrases: Iterable[Sequence[QueryTerm]]) -> bool:
    """Return whether ``terms`` have all words of one of the ``phrases``, in either language."""
    return any(all(_is_held(word, terms) for word in phrase) for phrase in phrases)


def _is_held(word: QueryTerm, terms: AbstractSet[str]) -> bool:
    return has_word(terms, forms_of(word), word.translations)


def forms_of(word: QueryTerm) -> tuple[frozenset[str], ...]:
    """Return the sets of terms of a word; a text has the word if it has all terms of one set."""
    return word.forms or tuple(frozenset((term,)) for term in word.terms)


def matched_share(query: Sequence[QueryTerm], terms: AbstractSet[str]) -> float:
    """Return the share of the query's idf, from 0 to 1, of the words that match ``terms``.

    Words that frame a request do not count. A translation matches if all of its terms do.
    """
    total = sum([word.idf for word in query if not word.framing])
    return sum([word.idf for word in held_words(query, terms)]) / total if total else 0.0


def why_nothing(terms: Sequence[QueryTerm], *, filtered: bool = False) -> EmptyReason:
    """Return why a question with these words found no record, among all or among those that pass a filter."""
    if searchable(terms):
        return "filtered_out" if filtered else "nothing_found"
    return "unknown_words" if any(term.keyword and not term.framing for term in terms) else "no_keywords"


def join_terms(parts: Sequence[QueryTerm], text: str = "") -> QueryTerm:
    """Return the phrase of ``parts``, all of which must match; a single part is returned as it is.

    The idf of the phrase is the sum of its parts' idf, as if these occurred independently. ``text`` is the text that
    has the parts, if there is one; the phrase is shown as it stands there, or else as its parts.
    """
    if len(parts) == 1:
        return parts[0]
    return QueryTerm(
        text=text[parts[0].start : parts[-1].end] or " ".join(part.text for part in parts),
        terms=tuple(dict.fromkeys(term for part in parts for term in part.terms)),
        idf=sum(part.idf for part in parts),
        frequency=min(part.frequency for part in parts),
        keyword=True,
        known=all(part.known for part in parts),
        start=parts[0].start,
        end=parts[-1].end,
        parts=tuple(parts),
    )


def choose_phrases(keywords: Sequence[QueryTerm], question: str, choice: WordChoice) -> list[QueryTerm]:
    """Return the keywords, joined to phrases as ``choice`` says.

    - ``morphemes``: the keywords as they are;
    - ``blanks``: the keywords between two blanks as one;
    - ``compound``: neighbors as phrases (free textbook), and other keywords as they are;
    - ``both``: these phrases, and all keywords as they are.

    :func:`~shrag.serving.retrieval.known_phrases.join_known_phrases` joins phrases that the index knows. Keywords with
    only space between them are neighbors. Source: the SHRAG paper; for neighbors Metzler and Croft, *A Markov random
    field model for term dependencies*, SIGIR 2005.
    """
    if choice == "morphemes":
        return list(keywords)
    if choice == "blanks":
        return [join_terms(parts, question) for parts in _between_blanks(keywords, question)]
    pairs = [pair for pair in pairwise(keywords) if _are_neighbours(*pair, question)]
    joined = [join_terms(pair) for pair in pairs]
    paired = {word.terms for pair in pairs for word in pair}
    single = [word for word in keywords if choice == "both" or word.terms not in paired]
    return sorted([*joined, *single], key=lambda word: (word.start, -word.end))


def _between_blanks(keywords: Sequence[QueryTerm], question: str) -> list[list[QueryTerm]]:
    """Return the keywords in the order of the question, grouped by the blanks between them."""
    words: list[list[QueryTerm]] = []
    for keyword in sorted(keywords, key=lambda each: (each.start, -each.end)):
        if words and not any(map(str.isspace, question[words[-1][-1].end : keyword.start])):
            words[-1].append(keyword)
        else:
            words.append([keyword])
    return words


def _frequencies(terms: Iterable[str], contents: FieldStatistics) -> list[int]:
    """Return the document frequencies of the terms that the index has."""
    return [frequency for term in terms if (frequency := contents.document_frequencies[term])]


def _are_neighbours(left: QueryTerm, right: QueryTerm, question: str) -> bool:
    return left.end <= right.start and not question[left.end : right.start].strip()


def keyword_of(word: QueryTerm, weight: float) -> Keyword:
    """Return a word as the event of the keywords shows it."""
    translations = tuple([each.text for each in word.translations if each.text != word.text])
    return Keyword(word.text, word.terms, weight, translations)


def question_keywords(words: Sequence[QueryTerm]) -> Keywords:
    """Return all words of a question as its keywords, in the order of the question, with tf-idf weights."""
    return Keywords(
        keywords=tuple(keyword_of(word, word.frequency * word.idf) for word in words if word.known),
        unknown=tuple(word.text for word in words if not word.known),
    )


def rank_keywords(
    words: Sequence[QueryTerm], order: KeywordOrder, engine: SearchEngine
) -> list[tuple[QueryTerm, float]]:
    """Return the words with their weights, largest first, ties as they came.

    Args:
        words: The words, in the order of the language model that chose them, or else in the order of the question.
        order: By tf-idf, the model's own order, or log-entropy (the SHRAG paper, 3).
        engine: The search engine, which has the frequencies from which entropy is computed.
    """
    if order == "model":
        return [(word, 1 / rank) for rank, word in enumerate(words, 1)]
    if order == "entropy":
        weights = [word.frequency * log_entropy(word, engine) for word in words]
    else:
        weights = [word.frequency * word.idf for word in words]
    return sorted(zip(words, weights, strict=True), key=lambda weighted: -weighted[1])


def log_entropy(word: QueryTerm, engine: SearchEngine) -> float:
    """Return how unevenly the index's documents use a word: 1 if only one has it, 0 if all use it alike.

    The formula is ``g = 1 + Σ p log p / log N``, where ``p`` is a document's share of all uses of the term, and N the
    number of documents. If a word has several terms, the most uneven one in the index counts. Source: Dumais,
    *Improving the retrieval of information from external sources*, Behavior Research Methods 23 (1991).
    """
    statistics = engine.statistics(word.terms).contents
    weights = [
        _log_entropy(engine.frequencies(term, _MOST_POSTINGS), documents, statistics.documents)
        for term in word.terms
        if (documents := statistics.document_frequencies[term])
    ]
    return max(weights, default=0.0)


def without_terms(words: Sequence[QueryTerm], phrases: Iterable[Sequence[QueryTerm]]) -> list[QueryTerm]:
    """Return the ``words`` that share no term with the ``phrases``."""
    excluded = {term for phrase in phrases for word in phrase for term in word.terms}
    return [word for word in words if excluded.isdisjoint(word.terms)]


def _log_entropy(frequencies: Sequence[int], having: int, documents: int) -> float:
    """Return the log-entropy of a term from its ``frequencies`` in the first of all documents ``having`` it."""
    if documents < 2:
        return 0.0
    total = sum(frequencies)
    entropy = -sum(count / total * math.log(count / total) for count in frequencies)
    # This assumes that the other documents use the term as these do.
    entropy += math.log(having / len(frequencies))
    return 1 - entropy / math.log(documents)
