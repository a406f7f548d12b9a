"""Rankings: each paper once, and the re-ranker that keeps the order."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Sequence

import pytest

from shrag.cli.main import run
from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.models.errors import ModelUnavailable
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine
from shrag.serving.events import Event, Keywords, RankedRecord, Ranking
from shrag.serving.page.rendering import render_page
from shrag.serving.page.request import PageRequest
from shrag.serving.request import Request, parse_question
from shrag.serving.retrieval.ranking import (
    ScoredRecord,
    collapse_duplicates,
    continue_page,
    has_more,
    leave_out_earlier_pages,
    limit_incomplete,
    own_language_first,
    rank_records,
    reciprocal_rank_fusion,
    rerank,
)
from shrag.serving.retrieval.rerankers import NoReranker
from shrag.serving.strategies.registry import STRATEGIES
from tests.support.analyzed import analyzed_question, analyzed_records
from tests.support.scripted_models import ScriptedModel

QUESTION = "재택근무를 많이 할수록 갈등이 커지는가?"
TWICE = ("DEMO-SOC-004", "DEMO-SOC-012")
ELSEWHERE = {"cot", "least-to-most", "step-back", "raise-0.84", "raise-0.80"}
"""Strategies that look nothing up, or only by a model's vectors, which the demonstration has not."""


def _ranked(*docids: str) -> list[RankedRecord]:
    """Return records ranked in the order given; ``B=A`` is B, the same paper as A."""
    ranked = []
    for rank, text in enumerate(docids, 1):
        docid, _, first = text.partition("=")
        record = Record(docid, "제목", "초록.", "ko", complete=True, duplicate_of=first)
        ranked.append(RankedRecord(rank, rank + 10, -rank, record))
    return ranked


class _SameScore:
    """Implements :class:`~shrag.models.reranker.Reranker`: one score for all."""

    name = "same score"
    is_model = False

    def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """See :class:`~shrag.models.reranker.Reranker`."""
        return [1.0] * len(passages)


def test_records_of_one_score_come_by_docid_whatever_their_order_before(demo: Engine) -> None:
    analyzer = demo.open_index.analyzer
    candidates = [
        ScoredRecord(analyze_record(Record(docid, "제목", "초록.", "ko", complete=True), analyzer), 0.0, rank)
        for rank, docid in enumerate(("c", "a", "d", "b"), 1)
    ]
    reranked = rerank("?", candidates, _SameScore())
    assert [(each.record.record.docid, each.candidate_rank) for each in reranked] == [
        ("a", 2),
        ("b", 4),
        ("c", 1),
        ("d", 3),
    ]


def _scored(*docids: str) -> list[ScoredRecord]:
    """Return scored records in the order given; ``B=A`` is B, the same paper as A; ``-B`` has no abstract."""
    scored = []
    for rank, text in enumerate(docids, 1):
        docid, _, first = text.removeprefix("-").partition("=")
        complete = not text.startswith("-")
        record = Record(docid, "T", "" if not complete else "It.", "en", complete=complete, duplicate_of=first)
        scored.append(ScoredRecord(AnalyzedRecord(record, "", ()), 1 / rank, rank))
    return scored


def _docids(records: Iterable[ScoredRecord | RankedRecord]) -> list[str]:
    analyzed = (each.record.record if isinstance(each, ScoredRecord) else each.record for each in records)
    return [record.docid for record in analyzed]


def test_a_record_that_a_reranker_leaves_out_is_not_ranked_and_one_that_scores_0_is() -> None:
    class ByPlace(_SameScore):
        def score(self, question: str, passages: Sequence[Passage]) -> list[float]:
            return [-math.inf, 0.0, -5.0, 2.0][: len(passages)]

    assert [(*_docids([each]), each.score) for each in rerank("?", _scored("a", "b", "c", "d"), ByPlace())] == [
        ("d", 2.0),
        ("b", 0.0),
        ("c", -5.0),
    ]


@pytest.mark.parametrize(
    ("most", "kept"), [(0, ["b", "d"]), (1, ["a", "b", "d"]), (2, ["a", "b", "c", "d"]), (9, ["a", "b", "c", "d", "e"])]
)
def test_of_the_records_without_an_abstract_the_first_are_kept_in_their_places(most: int, kept: list[str]) -> None:
    assert _docids(limit_incomplete(_scored("-a", "b", "-c", "d", "-e"), most)) == kept


@pytest.mark.parametrize(
    ("k", "offset", "every_record", "shown", "more"),
    [
        (2, 0, False, [("a", 1), ("c", 2)], True),
        (3, 0, False, [("a", 1), ("c", 2), ("d", 3)], False),
        (1, 2, False, [("a", 1), ("c", 2), ("d", 3)], False),
        (3, 0, True, [("a", 1), ("b", 2), ("c", 3)], True),
        (2, 2, True, [("a", 1), ("b", 2), ("c", 3), ("d", 4)], False),
    ],
)
def test_a_ranking_goes_to_the_end_of_its_page_and_says_whether_there_is_more(
    k: int, offset: int, every_record: bool, shown: list[tuple[str, int]], more: bool
) -> None:
    request = Request(parse_question("?"), k, offset=offset, every_record=every_record)
    scored = _scored("a", "b=a", "c", "d")
    ranked = rank_records(scored, request)
    assert [(each.record.docid, each.rank) for each in ranked] == shown
    assert has_more(scored, ranked, request) == more


def test_a_further_page_begins_behind_the_records_of_the_first_in_their_order_there() -> None:
    page = rank_records(_scored("b", "a"), Request(parse_question("?"), 2))
    first, deeper = _scored("a", "x", "b"), _scored("c", "b", "x", "a", "d")
    assert _docids(continue_page(page, first, deeper)) == ["a", "b", "c", "x", "d"]


def test_the_records_of_earlier_pages_are_left_out_and_an_empty_ranking_keeps_its_reason() -> None:
    records = rank_records(_scored("a", "b", "c"), Request(parse_question("?"), 3))
    keywords = Keywords((), ())

    def left(offset: int, ranking: Ranking) -> tuple[list[int], str]:
        def events() -> Generator[Event, None, None]:
            yield keywords
            yield ranking

        first, page = leave_out_earlier_pages(events(), offset)
        assert first is keywords
        assert isinstance(page, Ranking)
        return [each.rank for each in page.records], page.reason

    assert left(1, Ranking(records, "r", reranker_is_model=False)) == ([2, 3], "")
    assert left(2, Ranking(records, "r", reranker_is_model=False)) == ([3], "")
    assert left(3, Ranking(records, "r", reranker_is_model=False)) == ([], "past_end")
    assert left(3, Ranking((), "r", reranker_is_model=False, reason="nothing_found")) == ([], "nothing_found")


def test_documents_of_one_fused_score_come_by_docid() -> None:
    fused = reciprocal_rank_fusion([["b", "d"], ["a", "c"]])
    assert [docid for docid, _ in fused] == ["a", "b", "c", "d"]
    assert dict(fused) == pytest.approx({"a": 1 / 61, "b": 1 / 61, "c": 1 / 62, "d": 1 / 62})


@pytest.mark.parametrize(
    ("ranked", "shown"),
    [
        ([], []),
        (["A", "B"], [("A", ()), ("B", ())]),
        (["A", "X", "B=A"], [("A", ("B",)), ("X", ())]),
        (["B=A", "X", "A"], [("B", ("A",)), ("X", ())]),
        (["B=A", "X"], [("B", ("A",)), ("X", ())]),
        (["C=A", "X=Y", "B=A"], [("C", ("B", "A")), ("X", ("Y",))]),
    ],
)
def test_a_paper_is_shown_once_as_its_best_record_which_names_the_others(
    ranked: list[str], shown: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = collapse_duplicates(_ranked(*ranked))
    assert [(each.record.docid, each.duplicates) for each in found] == shown
    assert [each.rank for each in found] == list(range(1, len(shown) + 1))
    places = {text.partition("=")[0]: number for number, text in enumerate(ranked, 11)}
    assert [each.candidate_rank for each in found] == [places[each.record.docid] for each in found]


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name not in ELSEWHERE])
def test_every_strategy_shows_a_paper_once_and_a_caller_may_have_every_record(demo: Engine, strategy: str) -> None:
    away = ModelUnavailable("It is away.")
    engine = Engine(demo.open_index, ScriptedModel(away, away))  # which some strategies do not begin without
    once = engine.search(QUESTION, strategy=strategy).ranking.records
    every = engine.search(QUESTION, strategy=strategy, every_record=True).ranking.records
    assert (once[0].record.docid, once[0].duplicates) in ((TWICE[0], TWICE[1:]), (TWICE[1], TWICE[:1]))
    assert {each.record.docid for each in every[:2]} == set(TWICE)
    assert not any(each.duplicates for each in every)
    assert len({each.record.docid for each in once} & set(TWICE)) == 1


@pytest.mark.parametrize("k", [1, 2, 10, 60])
def test_showing_a_paper_once_costs_no_place_in_a_list_of_k(demo: Engine, k: int) -> None:
    once = demo.search(QUESTION, k=k, strategy="bm25").ranking.records
    every = demo.search(QUESTION, k=k + 1, strategy="bm25", every_record=True).ranking.records
    dropped = {docid for each in once for docid in each.duplicates}
    assert [each.record.docid for each in once] == [e.record.docid for e in every if e.record.docid not in dropped][:k]


def test_an_answer_has_no_paper_twice_among_its_sources(demo: Engine) -> None:
    citations = demo.ask(QUESTION).answer.citations
    assert len({citation.docid for citation in citations} & set(TWICE)) == 1


def test_the_command_and_the_page_name_the_other_records(
    demo: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, demo_home: object
) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    best = demo.search(QUESTION).ranking.records[0]
    assert run(["search", "demo", QUESTION, "-k", "1"]) == 0
    assert capsys.readouterr().out.endswith(f"\n     also as {best.duplicates[0]}\n")
    for language, words in (("ko", "같은 논문의 다른 문헌번호"), ("en", "Also listed as")):
        html = render_page(demo, PageRequest(QUESTION, "ko" if language == "ko" else "en"))
        assert re.search(rf'{words}: <a class="docid" href="[^"]+" [^>]+><bdi>{best.duplicates[0]}</bdi></a>', html)


def test_the_score_falls_with_the_place_and_says_nothing_else() -> None:
    passage = Passage("", "", (), ())
    assert NoReranker().score("anything", [passage] * 4) == [1, 1 / 2, 1 / 3, 1 / 4]
    assert NoReranker().score("anything", []) == []
    assert not NoReranker().is_model


@pytest.mark.parametrize(
    ("scores", "texts", "first"),
    [
        ((10.0, 9.5), ("Graphene shields.", "그래핀 차폐."), 1),  # about as good
        ((10.0, 9.4), ("Graphene shields.", "그래핀 차폐."), 0),
        ((10.0, 9.9), ("Graphene shields.", "차폐."), 0),  # it has fewer words of the question
        ((10.0, 9.9), ("그래핀 차폐.", "Graphene shields."), 0),
        ((10.0, 9.95, 9.9), ("Graphene shields.", "Graphene shields.", "그래핀 차폐."), 2),
        ((), (), None),
    ],
)
def test_a_record_in_the_questions_language_comes_first_where_it_is_as_good(
    demo: Engine, scores: Sequence[float], texts: Sequence[str], first: int | None
) -> None:
    records = analyzed_records(demo, *texts)
    ranked = [
        ScoredRecord(each, score, rank) for rank, (each, score) in enumerate(zip(records, scores, strict=True), 1)
    ]
    question = analyzed_question(demo, "그래핀의 전자파 차폐")
    found = own_language_first(question, ranked, "ko")
    assert sorted(each.candidate_rank for each in found) == list(range(1, len(texts) + 1))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    if first is not None:
        assert found[0].candidate_rank == first + 1
