"""The strategies shrag and hybrid: keywords, reduced OR queries, re-ranking, an answer (the SHRAG paper).

A language model, if there is one, chooses the keywords in both languages and writes the answer; the search is then the
paper's: at most ten keywords, SQ_10 … SQ_1, ten hits of each. Without a model, Kiwi and tf-idf choose the keywords, and
the answer is extractive. Separate queries have the translations of the keywords by the index's glossary.

``hybrid`` adds candidates by the index's vectors. Whether words or vectors are better differs between collections
(``docs/en/explanation/vectors.md``). So fusion only gathers the candidates, and re-ranking adds the scores of words and
vectors on one scale.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.open_index import OpenIndex
from shrag.indexing.search_engine import Hit
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.indexing.vectors.hybrid_reranker import HybridReranker, add_vectors
from shrag.indexing.vectors.vector_index import VectorReranker
from shrag.messages.text import Text
from shrag.models.reranker import Reranker
from shrag.serving.answering.answer import StageTimer, answer
from shrag.serving.answering.definitions import asks_for_definition, defined_names
from shrag.serving.events import Confidence, Event, Hits, KeywordOrder, Keywords, Queries, Ranking
from shrag.serving.request import AnswerLanguage, Request, deepest_rank
from shrag.serving.retrieval.broad_questions import BroadQuestion, read_broad_question
from shrag.serving.retrieval.confidence import MENTIONING, OF_KIND, assess_confidence
from shrag.serving.retrieval.exclusions import read_exclusion
from shrag.serving.retrieval.known_phrases import join_known_phrases
from shrag.serving.retrieval.model_keywords import extract_keywords
from shrag.serving.retrieval.query_builder import QueryPlan, build_queries, filter_languages
from shrag.serving.retrieval.query_terms import (
    QueryTerm,
    choose_phrases,
    has_phrase,
    keyword_of,
    query_terms,
    rank_keywords,
    searchable,
    why_nothing,
    without_terms,
)
from shrag.serving.retrieval.ranking import (
    Listing,
    Nearest,
    RetrievalResult,
    ScoredRecord,
    bind_question,
    continue_page,
    has_more,
    limit_incomplete,
    own_language_first,
    rank_records,
    rerank,
    search_candidates,
)
from shrag.serving.retrieval.rerankers import NoReranker, open_lexical_reranker
from shrag.serving.search_settings import (
    ANSWERING,
    SEARCH,
    Candidates,
    SearchSettings,
    WordChoice,
    refuse_unused,
)
from shrag.serving.strategies.leading_records import FEWEST_TITLES, broad_first, definitions_first, titled_with
from shrag.serving.strategy import Resources, require_vectors

DEPTH = 10
"""Hits of each query, as in the paper. Without a model's keywords there are more if more records are wanted."""

_KIND_DEPTH = 100  # hits of each query if a definition is asked for or the question is broad


class ShragStrategy:
    """Implements :class:`~shrag.serving.strategy.Strategy`.

    ``candidates`` says where candidates come from, unless the settings of a request say it. ``cosine_weight`` is the
    weight of the cosine in the ranking score; None stands for the weight that fits the index's vectors.
    """

    def __init__(
        self, name: str = "shrag", candidates: Candidates = "lexical", cosine_weight: float | None = 0.0
    ) -> None:
        self.name = name
        self._candidates = candidates
        self._cosine_weight = cosine_weight

    def run(self, request: Request, resources: Resources) -> Generator[Event, None, None]:
        """See :class:`~shrag.serving.strategy.Strategy`."""
        refuse_unused(request.settings, self.name, SEARCH | ANSWERING)
        source = self._candidates if request.settings.candidates == "strategy" else request.settings.candidates
        if self._cosine_weight != 0 or source != "lexical":
            require_vectors(
                resources.index, Text("the strategy {name}", name=self.name), Text("ask with another strategy")
            )
        return self._run(request, resources, source)

    def _run(self, request: Request, resources: Resources, source: Candidates) -> Generator[Event, None, None]:
        timer = StageTimer()
        found = yield from retrieve(request, resources, source, timer, self._cosine_weight, by_user=True)
        yield from answer(request, found, resources, timer)


def hybrid_strategy(cosine_weight: float | None = None) -> ShragStrategy:
    """Return the strategy ``hybrid``, for an index that was built with an encoder."""
    return ShragStrategy("hybrid", "hybrid", cosine_weight)


def retrieve(
    request: Request,
    resources: Resources,
    source: Candidates,
    timer: StageTimer,
    cosine_weight: float | None = 0.0,
    *,
    by_user: bool = False,
) -> Generator[Event, None, RetrievalResult]:
    """Yield the keywords, the queries, the hits and the ranking of a question; return them with the candidates.

    ``source`` says where candidates come from. If ``source`` or the ``cosine_weight`` of the ranking score needs
    vectors, the index must have them (:func:`~shrag.serving.strategy.require_vectors`). ``by_user`` says that
    it is the user's own question, and not one of a plan. Records without a title or an abstract are then ranked too.
    They cannot support an answer, so that they are at most half of the records if one is wanted. Where the question
    is broad, the records that serve it best come first.
    """
    index = resources.index
    question, terms, chosen = yield from _choose_keywords(request, resources, timer)
    settings = chosen.settings
    plan = QueryPlan(Queries(()), [])
    if source != "dense":
        plan = build_queries(chosen.keywords, chosen.language, settings, chosen.own, chosen.excluded)
    yield plan.event
    vector = None
    if index.dense is not None and source != "lexical":
        with timer.stage("vectors"):
            vector = index.dense.encode(question.text)

    def search(depth: int) -> tuple[Hits, list[AnalyzedRecord]]:
        nearest = None
        if index.dense is not None and vector is not None:
            with timer.stage("vectors"):
                near = _without_phrases(index.dense.search(vector, depth), chosen.excluded, index)
                nearest = Nearest(near, index.dense.encoder)
        with timer.stage("search"):
            return search_candidates(
                plan.queries, index, _hits_per_query(chosen, depth), nearest, complete_only=not by_user
            )

    broad = read_broad_question(question.text, terms, chosen.keywords) if by_user and not chosen.event.model else None
    names = _names_to_define(question.text, terms, broad)
    depth, deeper = _depths(chosen, request, defining=bool(names))
    hits, records = search(depth)
    if broad is not None and depth < _KIND_DEPTH and not settings.depth and _wants_more(broad, records):
        depth, deeper = _KIND_DEPTH, max(_KIND_DEPTH, deeper)
        hits, records = search(depth)
    first, more = len(records), deeper > depth and _may_find_more(hits, depth)
    if request.offset and more:
        known = set(hits.candidates)
        hits, found = search(deeper)
        records += [each for each in found if each.record.docid not in known]
        hits = replace(hits, candidates=tuple([each.record.docid for each in records]))
    yield hits
    with timer.stage("ranking"):
        reranker: Reranker = NoReranker()
        if settings.rerank:
            reranker = bind_question(_with_cosines(resources, cosine_weight), question, index)
        unranked = [ScoredRecord(record, 0.0, rank) for rank, record in enumerate(records, 1)]
        scored = ranked = rerank(question.text, unranked, reranker, first)
        if request.offset:
            ranked = [each for each in scored if each.candidate_rank <= first]
        # The ranking of a model stays as it is.
        kind = _Kind() if reranker.is_model else _Kind(names, broad)
        ranked, confidence, listing = _best_to_quote_first(question, kind, ranked, request, index)
        shown = page = rank_records(ranked, request._replace(offset=0))
        if request.offset:
            shown, more = rank_records(continue_page(page, ranked, scored), request), False
        reason = "nothing_fits" if records else why_nothing(terms, filtered=bool(request.record_filter))
        ranking = Ranking(
            records=shown,
            reranker=reranker.name,
            reranker_is_model=reranker.is_model,
            reason="" if shown else reason,
            confidence=confidence,
            more=more or has_more(scored, shown, request),
        )
    yield ranking
    return RetrievalResult(
        terms, chosen.event, plan.event, hits, ranking, records, first_page=len(page), listing=listing
    )


def _names_to_define(question: str, terms: Sequence[QueryTerm], broad: BroadQuestion | None) -> Sequence[str]:
    """Return the names of what a question asks to define; none if it compares, or asks to be told about a subject."""
    if broad is not None and (broad.compares or not asks_for_definition(question)):
        return ()
    return defined_names(question, terms)


class _Kind(NamedTuple):
    """What a question asks for: the definition of a thing with these names, or something broad.

    Both are None if the ranking is not to change. Other questions have no names.
    """

    names: Sequence[str] | None = None
    broad: BroadQuestion | None = None


class _Led(NamedTuple):
    """Ranked records, the confidence that the first one answers, and those in front that a broad question wants."""

    records: list[ScoredRecord]
    confidence: Confidence | None
    listing: Listing | None = None


def _best_to_quote_first(
    question: AnalyzedQuestion, kind: _Kind, ranked: list[ScoredRecord], request: Request, index: OpenIndex
) -> _Led:
    """Put the records in front that serve a question of this kind best, and among equal ones the reader's language.

    A question counts as broad only if the confidence is low: otherwise one record answers it. If it asks which of two
    is better for a purpose, a record about the purpose may compare neither, so that only a high confidence is enough.
    """
    asked, defines = request.question, False
    if kind.names is not None:
        ranked, defines = definitions_first(kind.names, own_language_first(question, ranked, asked.language))
    if request.answered:
        ranked = limit_incomplete(ranked, request.k // 2)
    confidence = assess_confidence(asked, question, index, ranked, least=OF_KIND if defines else 0.0)
    enough = {"high"} if kind.broad is not None and kind.broad.purpose else {"high", "medium"}
    if kind.broad is None or confidence is None or (confidence.level in enough and not defines):
        return _Led(ranked, confidence)
    found = broad_first(kind.broad, ranked, asked.language, defines=defines)
    if not found.docids:
        return _Led(ranked, confidence)
    least = OF_KIND if found.kind in {"subject", "definition"} else MENTIONING
    confidence = assess_confidence(asked, question, index, found.records, least=least)
    return _Led(found.records, confidence, Listing(kind.broad, found.docids, found.kind))


def _depths(chosen: _ChosenKeywords, request: Request, *, defining: bool) -> tuple[int, int]:
    """Return the hits of each query for the first page, and those for all further pages.

    A language model's keywords are searched for as deep as in the paper, on every page. Where a definition is asked
    for, words alone hardly tell which of many records has it, so more are read.
    """
    if chosen.settings.depth or chosen.event.model:
        depth = chosen.settings.depth or DEPTH
        return depth, depth
    depth = max(_KIND_DEPTH if defining else DEPTH, request.k)
    return depth, max(depth, deepest_rank(request.k))


def _wants_more(broad: BroadQuestion, records: Sequence[AnalyzedRecord]) -> bool:
    """Return whether more records are read for a broad question: to compare, or since several are about its subject."""
    return broad.compares or len(titled_with(broad.subject, records)) >= FEWEST_TITLES


def _may_find_more(hits: Hits, depth: int) -> bool:
    """Return whether a deeper search may find more, since a query found as many hits as it was asked for."""
    return len(hits.dense) == depth or any(len(found) == hits.depth for found in hits.hits)


def _without_phrases(hits: list[Hit], phrases: Sequence[Sequence[QueryTerm]], index: OpenIndex) -> list[Hit]:
    """Return the hits of a vector search without the records that the queries exclude for one of the phrases."""
    if not phrases:
        return hits
    records = index.store.fetch([hit.docid for hit in hits])
    return [
        hit
        for hit, record in zip(hits, records, strict=True)
        if record is not None and not has_phrase(frozenset(record.contents_terms), phrases)
    ]


def _with_cosines(resources: Resources, weight: float | None) -> Reranker:
    """Return the re-ranker of ``resources`` with cosines of this weight added, unchanged if the weight is 0.

    A re-ranker by cosines alone is replaced by the lexical one, since words would otherwise have no part in the
    ranking. A re-ranker that adds cosines already gets the new weight.
    """
    reranker, dense = resources.reranker, resources.index.dense
    if weight == 0 or dense is None:
        return reranker
    if isinstance(reranker, HybridReranker):
        reranker = reranker.words
    elif isinstance(reranker, VectorReranker):
        reranker = open_lexical_reranker(resources.index)
    return add_vectors(reranker, VectorReranker(dense), weight)


class _ChosenKeywords(NamedTuple):
    """The keywords to search for, the most important first, their event, and the resolved settings of the queries.

    Keywords without a translation are searched for in ``language``. ``own`` are the question's own keywords, for a
    query beside those of a model's keywords. Records with one of the ``excluded`` phrases are left out.
    """

    event: Keywords
    keywords: list[QueryTerm]
    settings: SearchSettings
    language: AnswerLanguage
    own: list[QueryTerm]
    excluded: Sequence[Sequence[QueryTerm]]


def _hits_per_query(chosen: _ChosenKeywords, depth: int) -> int:
    """Return ``depth``, or more if known phrases of the question make fewer queries than single words would.

    All queries together then find as many hits. A model's keywords are searched for at ``depth``, as in the paper.
    """
    settings, keywords = chosen.settings, chosen.keywords
    if settings.depth or chosen.event.model or settings.words != "known" or not keywords:
        return depth
    words = min(settings.keywords, sum(max(1, len(keyword.parts)) for keyword in keywords))
    return -(-depth * words // len(keywords))


def _choose_keywords(
    request: Request, resources: Resources, timer: StageTimer
) -> Generator[Event, None, tuple[AnalyzedQuestion, list[QueryTerm], _ChosenKeywords]]:
    """Yield the model's calls and the keywords; return the analyzed question, its terms and the keywords.

    Without a model, or if it fails, the keywords are words of the question.
    """
    index, model, language = resources.index, resources.model, request.question.language
    with timer.stage("keywords"):
        question = analyze_question(request.question.text, index.analyzer, index.searcher, index.glossary)
        terms = query_terms(question)
    by_model = None
    if model is not None and any(term.keyword for term in terms):
        words = request.settings.resolve(model_keywords=True).words
        with timer.stage("keywords"):
            by_model, events = extract_keywords(request.question, question.terms, index, model, words)
        yield from events
    excluded: Sequence[Sequence[QueryTerm]] = ()
    if by_model is not None:
        excluded = by_model.excluded
    elif request.question.asked is None and (exclusion := read_exclusion(request.question.text, index)):
        question, excluded = exclusion
        terms = query_terms(question)
    settings = request.settings.resolve(model_keywords=by_model is not None)
    order: KeywordOrder = "tfidf" if settings.keyword_order == "model" and not by_model else settings.keyword_order
    with timer.stage("keywords"):
        own: list[QueryTerm] = []
        if by_model is None or settings.own_query:
            own = _own_keywords(question, terms, request.settings.resolve(model_keywords=False).words, index)
        if by_model is None:
            candidates, additional = filter_languages(own, settings.languages, language), []
        else:
            candidates, additional = by_model.written_in(settings.languages), without_terms(own, by_model.excluded)
            language = language if settings.languages == "both" else settings.languages
        ranked = rank_keywords(candidates, order, index.searcher)[: settings.keywords]
        additional = [word for word, _ in rank_keywords(additional, "tfidf", index.searcher)[: settings.keywords]]
    event = Keywords(
        keywords=tuple([keyword_of(word, weight) for word, weight in ranked]),
        unknown=tuple([term.text for term in terms if not (term.known or term.framing)]),
        order=order,
        model=model.name if model is not None and by_model else "",
        excluded=tuple([" ".join([word.text for word in phrase]) for phrase in excluded]),
    )
    yield event
    chosen = _ChosenKeywords(event, [word for word, _ in ranked], settings, language, additional, excluded)
    return question, terms, chosen


def _own_keywords(
    question: AnalyzedQuestion, terms: Sequence[QueryTerm], words: WordChoice, index: OpenIndex
) -> list[QueryTerm]:
    """Return the keywords that are words of the question."""
    if words == "known":
        return join_known_phrases(question, searchable(terms), index.searcher)
    return choose_phrases(searchable(terms), question.text, words)
