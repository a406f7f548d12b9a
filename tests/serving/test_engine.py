from __future__ import annotations

import json
import threading
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from shrag.corpora.formats.topics import read_qrels, read_topics
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.serving.engine import Engine, open_engine
from shrag.serving.errors import QuestionError, UnknownStrategy
from shrag.serving.events import Answer, AnswerSentence, Event, Ranking
from shrag.serving.request import Request, Turn, parse_request
from shrag.serving.results import search_result
from shrag.serving.strategies.registry import find_strategy
from shrag.serving.strategy import Resources
from tests.support.incomplete_store import IncompleteStore
from tests.support.scripted_models import ScriptFile

DEMO = Path(__file__).resolve().parents[2] / "corpora" / "demo"


def test_demonstration_questions_find_a_record_that_answers_first_or_near_the_top(demo: Engine) -> None:
    best: dict[str, set[str]] = {}
    for qrel in read_qrels(DEMO / "qrels.txt"):
        if qrel.relevance == 2:
            best.setdefault(qrel.qid, set()).add(qrel.docid)
    ranks = {}
    for topic in read_topics(DEMO / "topics.tsv"):
        records = demo.search(topic.text).ranking.records
        ranks[topic.qid] = min((r.rank for r in records if r.record.docid in best[topic.qid]), default=99)
    assert sum(rank == 1 for rank in ranks.values()) == 70
    assert {qid: rank for qid, rank in ranks.items() if rank > 4} == {}


def test_candidates_are_what_the_queries_find_each_record_once(demo: Engine) -> None:
    result = demo.search("LSTM으로 양파 도매가격을 예측하면 ARIMA보다 오차가 얼마나 줄어드는가?")
    keywords = len(result.keywords.keywords)
    assert [len(query) for query in result.queries.queries[:keywords]] == list(range(keywords, 0, -1))
    assert len(result.queries.queries) == keywords + 3  # the same in the other language
    assert all(len(hits) <= 20 for hits in result.hits.hits)
    found = {hit.docid for hits in result.hits.hits for hit in hits}
    assert found == {*result.hits.candidates, *result.hits.incomplete}
    assert len(result.hits.candidates) == len(set(result.hits.candidates))


@pytest.mark.parametrize("strategy", ["shrag", "hybrid", "bm25"])
def test_a_record_without_abstract_is_found_and_never_cited(demo: Engine, strategy: str) -> None:
    question = "결핵 접촉자 검진 사업의 성과"
    assert demo.search(question, strategy=strategy)[0].record.docid == "DEMO-MED-011"
    found = demo.ask(question, strategy=strategy)
    assert found.search[0].record.docid == "DEMO-MED-011"
    assert "DEMO-MED-011" not in [citation.docid for citation in found.answer.citations]


def test_an_answer_that_quotes_behind_a_record_without_abstract_is_uncertain(demo: Engine) -> None:
    found = demo.ask("결핵 접촉자 검진 사업의 성과", min_confidence=0)
    assert (bool(found.answer.citations), found.answer.uncertain) == (True, True)
    assert found.answer.uncovered == ()  # the record without abstract, which is shown first, has them all


def test_records_without_abstract_are_at_most_half_of_those_for_an_answer(demo: Engine) -> None:
    index = replace(demo.open_index, store=IncompleteStore(demo.open_index.store))
    engine = Engine(index)
    found = {k: engine.ask("결핵 접촉자 검진 사업의 성과", k=k) for k in (1, 4)}
    assert [len(found[k].search) for k in (1, 4)] == [0, 2]
    assert not any(each.answer.citations for each in found.values())
    assert len(engine.search("결핵 접촉자 검진 사업의 성과", k=4)) == 4


@pytest.mark.parametrize("strategy", ["chain", "decompose", "pipeline-2", "pipeline-3"])
def test_no_incomplete_record_is_a_candidate_or_cited(demo: Engine, strategy: str) -> None:
    index = replace(demo.open_index, store=IncompleteStore(demo.open_index.store))
    found = Engine(index).ask("결핵 접촉자 검진 사업의 성과", strategy=strategy)
    assert found.search.hits.incomplete
    assert (found.search.hits.candidates, found.search.ranking.records, found.answer.citations) == ((), (), ())


def test_an_engine_and_a_request_set_the_least_confidence(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []
    strategy = find_strategy("shrag")

    def run(_self: object, request: Request, resources: Resources) -> Generator[Event, None, None]:
        seen.append(request.min_confidence)
        yield from ran(request, resources)

    ran = strategy.run
    monkeypatch.setattr(type(strategy), "run", run)
    engine = Engine(demo.open_index, min_confidence=0.6)
    engine.ask("그래핀?")
    engine.ask("그래핀?", min_confidence=0.1)
    engine.search("그래핀?")
    demo.ask("그래핀?")
    assert seen == [0.6, 0.1, None, None]
    with pytest.raises(QuestionError, match="min_confidence must be from 0 to 1, got 2"):
        Engine(demo.open_index, min_confidence=2)


def test_the_same_question_gives_the_same_result(demo: Engine) -> None:
    question = "아파트 층간소음을 줄이려면 바닥 완충재를 어떻게 골라야 하는가?"
    one, other = demo.ask(question), demo.ask(f"  {question}\n")
    assert (one.answer, one.search.ranking) == (other.answer, other.search.ranking)


def test_what_is_not_asked_for_is_not_done(demo: Engine) -> None:
    events = demo.events("그래핀")
    assert not isinstance(next(events), Ranking)
    events.close()


@pytest.mark.parametrize("k", [0, -1, 1001])
def test_k_has_bounds(demo: Engine, k: int) -> None:
    with pytest.raises(QuestionError, match=f"k must be from 1 to 1000, got {k}"):
        demo.search("그래핀", k=k)


@pytest.mark.parametrize(
    ("k", "offset", "largest"), [(10, 91, 90), (10, -1, 90), (3, 28, 27), (500, 501, 500), (1_000, 1, 0)]
)
def test_pages_end_after_ten_and_at_record_1000(demo: Engine, k: int, offset: int, largest: int) -> None:
    with pytest.raises(QuestionError, match=f"offset must be from 0 to {largest} where k is {k}, got {offset}") as told:
        demo.search("그래핀", k=k, offset=offset)
    assert told.value.code == "offset_out_of_range"
    assert demo.search("그래핀", k=k, offset=largest).ranking.reason == ("past_end" if largest else "")


def test_what_only_a_deeper_search_finds_is_ranked_behind_the_first_page(demo: Engine) -> None:
    question = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
    first = [each.record.docid for each in demo.search(question)]
    large = [each.record.docid for each in demo.search(question, k=100)]
    assert (first[9], large[9]) == ("DEMO-ECO-008", "DEMO-ENE-001")
    second = demo.search(question, offset=10)
    assert [each.record.docid for each in second] == [docid for docid in large if docid not in first][:10]
    assert second[0].record.docid == "DEMO-ENE-001"
    assert [each.rank for each in second] == list(range(11, 21))


def test_a_page_behind_all_records_is_empty_and_says_so(demo: Engine) -> None:
    whole = demo.search("그래핀", k=50)
    assert (len(whole), whole.ranking.more) == (3, False)
    page = demo.search("그래핀", k=50, offset=3)
    assert (len(page), page.ranking.reason, page.ranking.more) == (0, "past_end", False)
    assert page.message == "검색 결과가 더 없습니다. 순위에 오른 문헌은 모두 앞 페이지에 있습니다."
    nothing = demo.search("zzzz qqqq", offset=10)
    assert (nothing.ranking.reason, nothing.ranking.records) == ("unknown_words", ())


def test_pages_of_a_ranking_for_an_answer_continue_it_and_have_no_answer(demo: Engine) -> None:
    question = "결핵 접촉자 검진 사업의 성과"
    engine = Engine(replace(demo.open_index, store=IncompleteStore(demo.open_index.store)))
    answered = engine.ask(question, k=4).search  # two of the four, since none has an abstract
    assert (len(answered), answered.ranking.more) == (2, True)
    request = parse_request(question, answered=True, k=4, offset=2)
    events = engine.run(request).take_all()
    assert not any(isinstance(event, Answer | AnswerSentence) for event in events)
    page = search_result(engine.name, 1, request, events)
    assert [each.rank for each in page] == [3, 4, 5, 6]
    assert [each.record for each in (*answered, *page)][:4] == [each.record for each in engine.search(question, k=4)]


def test_an_unknown_strategy_is_answered_with_those_there_are(demo: Engine) -> None:
    with pytest.raises(UnknownStrategy, match="'toq': use one of shrag, bm25"):
        demo.events("그래핀", strategy="toq")
    assert find_strategy("shrag").name == "shrag"


@pytest.mark.slow
def test_a_document_is_found_by_an_identifier_of_any_characters(tmp_path: Path) -> None:
    docids = ["10.1/a;b", "39#0", "a<b>&c", "논문-1", "a/../b", "%2e"]
    (tmp_path / "docs-0.jsonl").write_text(
        "".join(f'{{"docid": "{docid}", "title": "제목", "text": "본문 {n}"}}\n' for n, docid in enumerate(docids)),
        encoding="utf-8",
    )
    add_corpus(tmp_path / "corpora", "ids", "miracl", [tmp_path / "docs-0.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "ids")
    engine = open_engine(tmp_path / "indexes", "ids")
    for n, docid in enumerate(docids):
        record = engine.document(docid)
        assert record is not None
        assert (record.docid, record.text) == (docid, f"본문 {n}")
    assert engine.document("39") is None
    engine.close()


def test_many_threads_get_what_one_gets(demo: Engine) -> None:
    questions = [topic.text for topic in read_topics(DEMO / "topics.tsv")][:12]
    alone = [demo.ask(question).answer for question in questions]
    wrong: list[str] = []

    def ask(offset: int) -> None:
        for turn in range(len(questions)):
            place = (turn + offset) % len(questions)
            if demo.ask(questions[place]).answer != alone[place]:
                wrong.append(questions[place])

    threads = [threading.Thread(target=ask, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_only_keywords_and_the_reading_of_a_follow_up_question_have_less_time(demo: Engine) -> None:
    question = "LSTM은 양파와 지하수위를 얼마나 잘 예측하는가?"
    model = ScriptFile("raise")
    model.say("in_context", json.dumps({"question": question}))
    for strategy in ("raise", "shrag"):
        Engine(demo.open_index, model).ask(question, strategy=strategy, history=[Turn("LSTM")])
    assert {"in_context", "keywords", "substeps", "logical", "solve"} <= set(model.asked)
    assert model.urgent == {"in_context", "keywords"}
