"""Search for a question that names authors and a topic: their records that fit the topic come before all others."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from shrag.indexing.open_index import OpenIndex
from shrag.indexing.query import Or, Term
from shrag.indexing.record_filter import MOST_VALUES, value_key
from shrag.serving.events import Answer, Event, Fallback, Keywords, ModelCall, RankedRecord, Ranking, Timings
from shrag.serving.request import Question, Request
from shrag.serving.retrieval.asking_words import asks_for_records
from shrag.serving.retrieval.filtered_search import FilteredSearcher
from shrag.serving.retrieval.named_authors import NamedAuthors, authors_event
from shrag.serving.retrieval.query_terms import matched_share, text_terms
from shrag.serving.strategy import Resources, Strategy

_FITTING = 0.5  # share of the topic's idf that the words of a fitting record have
_READ_HITS = 500  # hits of a topic whose authors are read
_SHORT = 6  # words: in a longer question, a name is often that of a person who is no author


def search_with_authors(
    strategy: Strategy, request: Request, resources: Resources, named: NamedAuthors
) -> Generator[Event, None, None]:
    """Yield which authors the question names, and the events of the strategy.

    If the authors are certain, the topic is searched for in their records, and the answer is from these. Records with
    half of the topic's words, weighted by idf, come first. If the authors are not certain, or if no record of theirs
    fits, the question is searched for as it stands in all records. The authors are not reported then if the question is
    long and does not mark them as authors.

    Args:
        strategy: The strategy.
        request: The request.
        resources: The resources, whose index is filtered as the request asks.
        named: The authors.
    """
    # A user who has chosen an author in the filter needs no hint.
    hint = not request.record_filter.author
    if named.certain and named.topic:
        topic = request._replace(question=_topic_question(request.question, named))
        theirs = strategy.run(*_of_authors(topic, resources, named))
        begun = list(_until_ranking(theirs))
        ranking = next((event for event in begun if isinstance(event, Ranking)), None)
        fitting = _fitting(ranking.records[: topic.k], named.topic, resources.index) if ranking else frozenset()
        if fitting:
            if hint:
                yield authors_event(named, "first", resources.index)
            others = strategy.run(topic._replace(answered=False), resources)
            yield from _with_others(chain(begun, theirs), fitting, others, topic, request.question.text)
            return
        theirs.close()
        yield from (event for event in begun if isinstance(event, ModelCall | Fallback))
    events = strategy.run(request, resources)
    if hint and (named.marked or len(request.question.text.split()) <= _SHORT):
        yield authors_event(named, "unmatched" if named.certain else "possible", resources.index)
        events = _without_names(events, " ".join(named.written))
    yield from events


def _topic_question(question: Question, named: NamedAuthors) -> Question:
    """Return the question without the names."""
    asked = question.asked
    if asked is not None and any(_as_word(name).search(question.text[:asked]) for name in named.written):
        # The records of the authors whom a follow-up question itself names have a word of it, whatever else they have.
        asked = len(named.topic)
    return replace(question, text=named.topic, asked=asked)


def _without_names(events: Generator[Event, None, None], names: str) -> Generator[Event, None, None]:
    """Yield the events; words of the names no longer count as words that no record has."""
    for event in events:
        match event:
            case Keywords():
                yield replace(event, unknown=_others(event.unknown, names))
            case Ranking() if event.confidence is not None:
                known = event.confidence
                uncovered, lacking = _others(known.uncovered, names), _others(known.lacking, names)
                yield replace(event, confidence=replace(known, uncovered=uncovered, lacking=lacking))
            case Answer():
                yield replace(event, uncovered=_others(event.uncovered, names))
            case _:
                yield event


def _others(words: tuple[str, ...], names: str) -> tuple[str, ...]:
    return tuple(word for word in words if not _as_word(word).search(names))


def _as_word(text: str) -> re.Pattern[str]:
    """Return a pattern that finds ``text`` where it begins and ends a word.

    A Korean word need not end there: particles follow it, and a given name stands right behind the family name.
    """
    return re.compile(rf"(?<![^\W가-힣]){re.escape(text)}(?![^\W가-힣])")


def _of_authors(request: Request, resources: Resources, named: NamedAuthors) -> tuple[Request, Resources]:
    """Return a request for records of the authors, and resources that find no other records."""
    index = resources.index
    record_filter = replace(request.record_filter, author=_filtered_names(named, index))
    index = index.filtered(FilteredSearcher(index.searcher, record_filter), record_filter)
    return request._replace(record_filter=record_filter), replace(resources, index=index)


def _filtered_names(named: NamedAuthors, index: OpenIndex) -> tuple[str, ...]:
    """Return as many names as a filter may have, those first whose records have words of the topic."""
    if len(named.names) <= MOST_VALUES:
        return named.names
    words = Or(tuple(Term(term) for word in text_terms(named.topic, index) if word.keyword for term in word.terms))
    (hits,) = index.searcher.search([words], _READ_HITS)
    records = index.store.fetch([hit.docid for hit in hits])
    there = {value_key(author) for each in records if each is not None for author in each.record.authors}
    return tuple(sorted(named.names, key=lambda name: name not in there)[:MOST_VALUES])


def _until_ranking(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    for event in events:
        yield event
        if isinstance(event, Ranking):
            return


def _fitting(ranked: Sequence[RankedRecord], topic: str, index: OpenIndex) -> frozenset[str]:
    """Return the docids of the ranked records that fit a topic."""
    words = [word for word in text_terms(topic, index) if word.keyword and not asks_for_records(word.text)]
    records = index.store.fetch([each.record.docid for each in ranked])
    return frozenset(
        each.record.docid
        for each in records
        if each is not None and matched_share(words, frozenset(each.contents_terms)) >= _FITTING
    )


def _with_others(
    theirs: Iterable[Event],
    fitting: frozenset[str],
    others: Generator[Event, None, None],
    request: Request,
    question: str,
) -> Generator[Event, None, None]:
    """Yield the events of a search in the authors' records, and merge the records of all authors into its ranking.

    The request is for the topic. The answer suggests another spelling of the whole ``question``.
    """
    seconds = 0.0
    for event in theirs:
        if isinstance(event, Ranking):
            started = time.perf_counter()
            for other in others:
                if isinstance(other, ModelCall | Fallback):
                    yield other
                elif isinstance(other, Ranking):
                    event = _merge(event, fitting, other, request)  # noqa: PLW2901
            seconds = time.perf_counter() - started
            yield event
        elif isinstance(event, Answer) and event.suggestion:
            yield replace(event, suggestion=_respelled(question, request.question.text, event.suggestion))
        elif isinstance(event, Timings):
            yield replace(event, seconds={**event.seconds, "search": event.seconds.get("search", 0.0) + seconds})
        else:
            yield event


def _respelled(question: str, topic: str, suggestion: str) -> str:
    """Return a question with the words that the suggestion for its topic spells in another way."""
    for written, meant in zip(topic.split(), suggestion.split(), strict=False):
        if written != meant:
            question = _as_word(written).sub(meant.replace("\\", r"\\"), question)
    return question


def _merge(theirs: Ranking, fitting: frozenset[str], others: Ranking, request: Request) -> Ranking:
    """Merge the ranking of the authors' records and that of all records.

    The first page has the first records of the authors, which an answer may cite, and is filled up with others. Fitting
    records come first, all others by score. Further pages have the rest of the authors' records, then the rest of the
    others. Each paper is ranked once, unless the request asks for every record.
    """

    def key(each: RankedRecord) -> str:
        return each.record.docid if request.every_record else each.record.paper

    first = theirs.records[: request.k]
    known = set(map(key, first))
    added = [each for each in others.records if key(each) not in known][: request.k - len(first)]
    page = sorted([*first, *added], key=lambda each: (each.record.docid not in fitting, -each.score))
    known = set(map(key, page))
    further: dict[str, RankedRecord] = {}
    for each in (*theirs.records[request.k :], *others.records):
        if key(each) not in known:
            further.setdefault(key(each), each)
    records = [*page, *further.values()]
    shown = tuple(replace(each, rank=rank) for rank, each in enumerate(records[: request.last_rank], 1))
    return replace(theirs, records=shown, more=theirs.more or others.more or len(records) > len(shown))
