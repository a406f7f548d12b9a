"""Every stage and every preset with a scripted model, without one, and with models that write anything at all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shrag.indexing.lexical.reranker import LexicalReranker
from shrag.models.errors import ModelRefused, ModelUnavailable
from shrag.serving.engine import Engine
from shrag.serving.errors import PipelineRejected, StrategyUnavailable, UnknownStrategy
from shrag.serving.events import Answer, Event, Fallback, Hits, Keywords, ModelCall, Node, Queries, Ranking, Timings
from shrag.serving.strategies.pipeline.presets import PRESETS
from shrag.serving.strategies.registry import STRATEGIES, find_strategy
from tests.support.scripted_models import ScriptFile

QUESTION = "LSTM으로 양파 도매가격을 예측하면 오차가 얼마나 줄어드는가?"
RIGHT = "DEMO-AGR-002"


def _events(demo: Engine, strategy: str, model: ScriptFile | None = None, question: str = QUESTION) -> list[Event]:
    return list(Engine(demo.open_index, model=model).events(question, strategy=strategy))


def _ranking(events: Sequence[Event]) -> Ranking:
    (ranking,) = [event for event in events if isinstance(event, Ranking)]
    return ranking


def _docids(events: Sequence[Event]) -> list[str]:
    return [ranked.record.docid for ranked in _ranking(events).records]


def _hits(events: Sequence[Event]) -> Hits:
    (hits,) = [event for event in events if isinstance(event, Hits)]
    return hits


def _nodes(events: Sequence[Event]) -> list[tuple[int, str, str, str]]:
    return [(node.number, node.kind, node.state, node.question) for node in events if isinstance(node, Node)]


def _calls(events: Sequence[Event]) -> list[tuple[str, int, int]]:
    return [(call.stage, call.prompt_tokens, call.completion_tokens) for call in events if isinstance(call, ModelCall)]


def _stages(events: Sequence[Event]) -> list[str]:
    assert isinstance(events[-1], Timings)
    return list(events[-1].seconds)


# --- the eight pipelines with a scripted model ---

CALLS = {
    "pipeline-1": [],
    "pipeline-2": [],
    "pipeline-3": ["augment"],
    "pipeline-4": ["hypotheses"],
    "pipeline-5": ["augment", "hypotheses"],
    "pipeline-6": ["augment"],
    "pipeline-7": ["augment", "hypotheses"],
    "pipeline-8": ["augment", "respond"],
}
STAGES = {
    "pipeline-1": ["retrieve"],
    "pipeline-2": ["retrieve", "rerank"],
    "pipeline-3": ["augment", "retrieve", "rrf", "rerank"],
    "pipeline-4": ["hypothesis", "retrieve", "rrf", "rerank"],
    "pipeline-5": ["augment", "hypothesis", "retrieve", "rrf", "rerank"],
    "pipeline-6": ["augment", "retrieve", "rrf", "rerank", "filter"],
    "pipeline-7": ["augment", "hypothesis", "retrieve", "rrf", "rerank", "filter"],
    "pipeline-8": ["augment", "retrieve", "rrf", "temp_answer", "answer_rerank", "filter"],
}
# The right record is in English alone: by the question's own words another goes before it.
FIRST = {"pipeline-1": "DEMO-SOC-007"}
# A temporary answer that is a sentence of another record leads to that one.
FIRST_ALONE = {**FIRST, "pipeline-8": "DEMO-ENE-001"}
PURPOSES = {"augment": "query", "hypotheses": "hypothesis", "respond": "step"}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_makes_the_calls_of_its_stages_and_reports_calls_and_stages(demo: Engine, preset: str) -> None:
    model = ScriptFile("pipelines")
    events = _events(demo, preset, model)
    assert sorted(model.asked) == CALLS[preset]
    assert _calls(events) == [*((PURPOSES[prompt], 200, 20) for prompt in CALLS[preset]), ("answer", 700, 80)]
    assert _stages(events) == ["keywords", *STAGES[preset], "answer"]
    assert _docids(events)[0] == FIRST.get(preset, RIGHT)
    assert len(_docids(events)) <= 5
    assert len(_hits(events).hits) == 1 + 2 * ("augment" in CALLS[preset]) + 2 * ("hypotheses" in CALLS[preset])
    (answer,) = [event for event in events if isinstance(event, Answer)]
    # The script's answer cites the right record by its first number: anywhere else it rests on nothing.
    assert answer.kind == ("generated" if _docids(events)[0] == RIGHT else "extractive")


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_works_without_a_model(demo: Engine, preset: str) -> None:
    events = _events(demo, preset)
    assert _stages(events) == ["keywords", *STAGES[preset], "answer"]
    assert _docids(events)[0] == FIRST_ALONE.get(preset, RIGHT)
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert (answer.kind, answer.reason) == ("extractive", "")


# --- stage by stage ---


def test_retrieve_ranks_as_many_records_by_bm25_as_its_number_says(demo: Engine) -> None:
    events = _events(demo, "retrieve(7)")
    assert len(_hits(events).hits[0]) == 7
    assert _ranking(events).reranker == "BM25"
    assert _docids(events) == list(_hits(events).candidates)
    assert [event for event in events if isinstance(event, Node)] == []


def test_k_can_only_reduce_the_records_of_a_pipeline(demo: Engine) -> None:
    assert len(demo.search(QUESTION, k=3, strategy="retrieve(7)").ranking.records) == 3
    assert len(demo.search(QUESTION, k=100, strategy="retrieve(7)").ranking.records) == 7
    assert len(demo.search(QUESTION, k=100, strategy="pipeline-2(20, 12)").ranking.records) == 12


def test_rerank_orders_the_candidates_by_the_rerankers_scores(demo: Engine) -> None:
    found, reranked = _events(demo, "retrieve(15)"), _events(demo, "retrieve(15) > rerank(5)")
    ranking = _ranking(reranked)
    assert ranking.reranker == "BM25 + best sentence"
    assert {each.record.docid for each in ranking.records} <= set(_hits(found).candidates)
    scores = [each.score for each in ranking.records]
    assert scores == sorted(scores, reverse=True)
    for each in ranking.records:
        assert _hits(found).candidates[each.candidate_rank - 1] == each.record.docid


def test_augment_adds_the_models_queries_without_the_question_and_within_its_number(demo: Engine) -> None:
    events = _events(demo, "augment(2) > retrieve(10) > rrf(15)", ScriptFile("pipelines"))
    assert _nodes(events) == [
        (0, "question", "open", QUESTION),
        (1, "augmentation", "answered", "onion price forecasting LSTM"),
        (2, "augmentation", "answered", "양파 출하량 예측"),
        (0, "question", "answered", QUESTION),
    ]
    (queries,) = [event for event in events if isinstance(event, Queries)]
    assert queries.queries[1] == ("onion", "price", "forecasting", "LSTM")
    assert _ranking(events).reranker == "reciprocal rank fusion of 3 lists"


def test_hypothesis_searches_for_the_models_hypothetical_answers(demo: Engine) -> None:
    events = _events(demo, "hypothesis(2) > retrieve(10) > rrf(15)", ScriptFile("pipelines"))
    assert [node[1:] for node in _nodes(events)[1:3]] == [
        ("hypothesis", "answered", "LSTM의 오차는 ARIMA보다 작다."),
        ("hypothesis", "answered", "기상 변수를 빼면 오차가 커진다."),
    ]


def test_rrf_scores_are_sums_of_reciprocal_ranks(demo: Engine) -> None:
    events = _events(demo, "augment(2) > retrieve(10) > rrf(4)", ScriptFile("pipelines"))
    hits, ranking = _hits(events), _ranking(events)
    assert len(ranking.records) == 4
    best = ranking.records[0]
    places = [[found.docid for found in one].index(best.record.docid) + 1 for one in hits.hits]
    assert best.score == pytest.approx(sum(1 / (60 + place) for place in places))


def test_expand_adds_the_translated_question_without_a_model(demo: Engine) -> None:
    model = ScriptFile("pipelines")
    events = _events(demo, "expand(glossary) > retrieve(10) > rrf(15)", model)
    assert model.asked == []
    assert _nodes(events)[1] == (1, "expansion", "answered", "LSTM onion wholesale price prediction error")


def test_filter_keeps_records_above_its_score_with_calibrated_scores(demo: Engine) -> None:
    ranked = _ranking(_events(demo, "retrieve(15) > rerank(15)")).records
    kept = _ranking(_events(demo, "retrieve(15) > rerank(15) > filter(0.6)"))
    all_of_them = _ranking(_events(demo, "retrieve(15) > rerank(15) > filter(0)"))
    assert [each.record.docid for each in all_of_them.records] == [each.record.docid for each in ranked[:10]]
    assert all(0.6 < each.score <= 1 for each in kept.records)
    assert 0 < len(kept.records) < len(all_of_them.records)
    assert kept.reranker == "BM25 + best sentence, calibrated > 0.6"


def test_a_filter_that_keeps_nothing_ends_in_a_refusal(demo: Engine) -> None:
    events = _events(demo, "retrieve(15) > rerank(5) > filter(0.9)", question="김치찌개를 끓이는 시간과 온도는?")
    assert _ranking(events).records == ()
    assert _ranking(events).reason == "nothing_fits"
    (answer,) = [event for event in events if isinstance(event, Answer)]
    assert answer.reason == "nothing_fits"


def test_a_temporary_answer_is_reported_and_records_are_ranked_by_it(demo: Engine) -> None:
    events = _events(demo, "retrieve(15) > temp_answer > answer_rerank(5)", ScriptFile("pipelines"))
    (node,) = [event for event in events if isinstance(event, Node)]
    assert node.answer == "LSTM의 평균 절대 백분율 오차는 7.8%로 ARIMA의 13.1%보다 작다."
    ranked = _ranking(events)
    plain = {each.record.docid: each.score for each in _ranking(_events(demo, "retrieve(15) > rerank(15)")).records}
    assert ranked.records[0].record.docid == RIGHT
    assert ranked.records[0].score > plain[RIGHT]  # the answer's words count as well


def test_an_empty_temporary_answer_ranks_by_the_question(demo: Engine) -> None:
    model = ScriptFile("pipelines")
    model.say("respond", '{"answer": "", "record": 0}')
    events = _events(demo, "retrieve(15) > temp_answer > answer_rerank(5)", model)
    assert _docids(events) == _docids(_events(demo, "retrieve(15) > rerank(5)"))


def test_lists_by_words_and_by_vectors_are_fused(demo: Engine) -> None:
    events = _events(demo, "retrieve(10) > dense(10) > rrf(15) > rerank(5)")
    hits = _hits(events)
    assert len(hits.hits) == 2
    assert hits.hits[1] == hits.dense
    assert hits.encoder
    assert _stages(events) == ["keywords", "retrieve", "dense", "rrf", "rerank", "answer"]
    alone = _ranking(_events(demo, "dense(5)"))
    assert alone.reranker.endswith("cosine")
    assert len(alone.records) == 5


def test_dense_without_vectors_is_rejected_before_any_event(demo: Engine) -> None:
    from dataclasses import replace

    bare = Engine(replace(demo.open_index, dense=None))
    with pytest.raises(StrategyUnavailable, match=r"which the stage dense\(10\) needs.*put retrieve\(10\)"):
        bare.events(QUESTION, strategy="retrieve(10) > dense(10) > rrf(15)")


# --- what fails, what is asked twice, what runs beside ---


@pytest.mark.parametrize(
    ("prompt", "purpose", "line"),
    [
        ("augment", "query", "augment(2) > retrieve(10) > rrf(15) > rerank(5)"),
        ("hypotheses", "hypothesis", "hypothesis(2) > retrieve(10) > rrf(15) > rerank(5)"),
        ("respond", "step", "retrieve(15) > temp_answer > answer_rerank(5)"),
    ],
)
def test_a_stage_in_which_the_model_fails_is_done_without_it_and_reported(
    demo: Engine, prompt: str, purpose: str, line: str
) -> None:
    model = ScriptFile("pipelines")
    model.fail(prompt, ModelRefused("The prompt is too long."))
    events = _events(demo, line, model)
    told = [(each.stage, each.cause) for each in events if isinstance(each, Fallback)]
    assert told[0] == (purpose, "refused")
    assert {stage for stage, _ in told[1:]} <= {"answer"}  # the script's answer rests on another first record
    assert _docids(events) == _docids(_events(demo, line))


def test_an_unavailable_model_is_called_once_and_every_stage_is_done_without_it(demo: Engine) -> None:
    model = ScriptFile("pipelines")
    for prompt in ("augment", "hypotheses", "respond"):
        model.fail(prompt, ModelUnavailable("Nothing answers."))
    events = _events(demo, "augment(2) > retrieve(10) > rrf(15) > temp_answer > answer_rerank(5)", model)
    assert model.asked == ["augment"]
    assert [each.stage for each in events if isinstance(each, Fallback)][:2] == ["query", "step"]


def test_augment_and_hypothesis_run_in_parallel(demo: Engine) -> None:
    together = threading.Barrier(2, timeout=20)
    model = ScriptFile("pipelines")

    def made(text: str) -> str:
        together.wait()  # neither ends before the other has begun
        return text

    model.make("augment", lambda: made('{"queries": ["onion"]}'))
    model.make("hypotheses", lambda: made('{"answers": ["가격이 오른다."]}'))
    events = _events(demo, "augment(1) > hypothesis(1) > retrieve(5) > rrf(5)", model)
    assert [node[1] for node in _nodes(events)] == ["question", "augmentation", "hypothesis", "question"]
    assert {event.stage for event in events if isinstance(event, Fallback)} <= {"answer"}


def test_queries_of_the_same_terms_are_searched_for_once(demo: Engine) -> None:
    model = ScriptFile("pipelines")
    model.say("augment", '{"queries": ["LSTM onion", "onion  LSTM", "…", " "]}')
    events = _events(demo, "augment(4) > retrieve(5) > rrf(5)", model)
    assert len(_hits(events).hits) == 2


# --- what is found by no word, and what a line may cost ---


@pytest.mark.parametrize(
    ("question", "reason"), [("…?!", "no_keywords"), ("zzzz qqqq", "unknown_words"), ("what is it?", "no_keywords")]
)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_question_without_a_known_word_gives_a_reason(demo: Engine, preset: str, question: str, reason: str) -> None:
    events = _events(demo, preset, question=question)
    assert _ranking(events).reason == reason
    assert _hits(events).candidates == ()


def test_the_largest_pipeline_makes_sixteen_searches_and_keeps_a_thousand_records(demo: Engine) -> None:
    model = ScriptFile("pipelines")
    model.say("augment", '{"queries": [' + ", ".join(f'"onion {n}"' for n in range(16)) + "]}")
    model.say("hypotheses", '{"answers": [' + ", ".join(f'"LSTM {n}"' for n in range(16)) + "]}")
    events = _events(demo, "augment(8) > hypothesis(7) > retrieve(1000) > rrf(1000) > rerank(1000)", model)
    assert len(_hits(events).hits) == 16
    assert len(_hits(events).candidates) <= 1_000


def test_a_line_is_a_strategy_and_a_wrong_one_is_an_unknown_strategy() -> None:
    assert find_strategy("retrieve( 15 )>rerank(5)").name == "retrieve(15) > rerank(5)"
    assert find_strategy("pipeline-2(15, 5)").name == "pipeline-2(15, 5)"
    assert find_strategy("pipeline-2").name == "pipeline-2"
    assert set(PRESETS) <= set(STRATEGIES)
    with pytest.raises(PipelineRejected, match="did you mean augment"):
        find_strategy("augmnt(2) > retrieve(10)")
    with pytest.raises(PipelineRejected, match="The stage retrieve does not have the form"):
        find_strategy("retrieve")
    with pytest.raises(UnknownStrategy, match=r"compose stages, as in 'retrieve\(15\) > rerank\(5\)'"):
        find_strategy("toq")
    with pytest.raises(UnknownStrategy) as long:
        find_strategy("x" * 1_000_000)
    assert len(str(long.value)) < 1_000


# --- models that write anything ---

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    augmented=st.one_of(st.text(max_size=200), _JSON.map(str)),
    supposed=st.lists(st.text(max_size=400), max_size=20).map(lambda texts: {"answers": texts}),
    answered=st.tuples(st.text(max_size=700), st.integers(-3, 60)),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_output_of_a_model_gives_well_formed_events(
    demo: Engine, augmented: str, supposed: dict[str, list[str]], answered: tuple[str, int]
) -> None:
    import msgspec

    for preset in ("pipeline-7", "pipeline-8"):
        model = ScriptFile("pipelines")
        model.say("augment", augmented)
        model.say("hypotheses", msgspec.json.encode(supposed).decode())
        model.say("respond", msgspec.json.encode({"answer": answered[0], "record": answered[1]}).decode())
        events = _events(demo, preset, model)
        kinds = [type(event) for event in events]
        assert [kinds.count(kind) for kind in (Keywords, Queries, Hits, Ranking, Answer, Timings)] == [1] * 6
        assert kinds[-1] is Timings
        assert len(model.asked) <= 4  # each of two steps, and once more to repair it
        assert len(_hits(events).hits) <= 5
        assert len(_docids(events)) <= 5
        (answer,) = [event for event in events if isinstance(event, Answer)]
        assert bool(answer.reason) == (not answer.sections)


def test_expand_without_a_glossary_adds_nothing(demo: Engine) -> None:
    from dataclasses import replace

    index = replace(demo.open_index, glossary=None)
    bare = Engine(index, reranker=LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25))
    events = list(bare.events(QUESTION, strategy="expand(glossary) > retrieve(10) > rrf(15) > rerank(5)"))
    assert len(_hits(events).hits) == 1
    assert len(_docids(events)) == 5


@pytest.mark.slow
def test_a_tiny_index_answers_with_every_preset(tmp_path: Path) -> None:
    from shrag.corpora.ingest.add import add_corpus
    from shrag.indexing.build.builder import build_index
    from shrag.serving.engine import open_engine

    line = '{"docid": "1#0", "title": "그래핀", "text": "그래핀 필름의 차폐 효율은 30 dB였다."}\n'
    (tmp_path / "docs-0.jsonl").write_text(line, encoding="utf-8")
    add_corpus(tmp_path / "corpora", "one", "miracl", [tmp_path / "docs-0.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "one")
    engine = open_engine(tmp_path / "indexes", "one")
    try:
        for preset in PRESETS:
            assert len(engine.ask("그래핀 필름의 차폐 효율은?", strategy=preset).search.ranking.records) == 1
    finally:
        engine.close()
