"""Answers kept and shared: what is the same question, what is kept, what is bounded, who gets what."""

from __future__ import annotations

import itertools
import math
import sys
import threading
import tracemalloc
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

import pytest
from msgspec import structs

from shrag.corpora.records import Record
from shrag.indexing.record_filter import FacetCounts, FacetValue
from shrag.models.errors import ModelUnavailable
from shrag.serving.answer_cache import AnswerCache, AnswerKey, CachedAnswer, memory_size, pack_events, unpack_events
from shrag.serving.engine import Engine
from shrag.serving.errors import QuestionError, UnknownStrategy
from shrag.serving.event_run import EventRun
from shrag.serving.events import (
    Answer,
    AnswerSentence,
    Assessment,
    Authors,
    Citation,
    Confidence,
    Event,
    Facets,
    Fallback,
    FollowUp,
    Hits,
    Keyword,
    Keywords,
    ModelCall,
    NearestRecord,
    Node,
    Queries,
    RankedRecord,
    Ranking,
    ScoredDoc,
    Section,
    Sentence,
    Timings,
    Truncated,
)
from shrag.serving.request import Question, Request, parse_request
from shrag.serving.results import cached_ask
from shrag.serving.retrieval.rerankers import NoReranker
from shrag.serving.search_settings import SearchSettings
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
KEY = AnswerKey("demo", 1, "ab", "cd", "", "", "", Request(Question("q", "en"), 10, answered=True))

END = Timings({"search": 1.0})


def _begin(*events: Event, before: Callable[[], None] = lambda: None) -> Callable[[], Generator[Event, None, None]]:
    def generate() -> Generator[Event, None, None]:
        before()
        yield from events

    return generate


def _run(
    cache: AnswerCache,
    key: AnswerKey,
    begin: Callable[[], Generator[Event, None, None]],
    owner: str = "owner",
    *,
    keep: bool = True,
) -> EventRun[Event]:
    return cache.run(key, owner, begin, lambda: None, lambda: keep)


def _ask(cache: AnswerCache, key: AnswerKey, *events: Event, keep: bool = True) -> list[Event]:
    return list(_run(cache, key, _begin(*events), keep=keep))


def _find(cache: AnswerCache, key: AnswerKey) -> CachedAnswer | None:
    run = _run(cache, key, _begin(), "asker")
    if isinstance(run, CachedAnswer):
        return run
    run.close()
    return None


def _key(number: int) -> AnswerKey:
    return replace(KEY, generation=number)


def _said(text: str) -> Event:
    return Queries(((text,),))


def _again(cache: AnswerCache, key: AnswerKey) -> list[Event]:
    """Return what is kept, without its timings, which say that it was."""
    run = _run(cache, key, _unused, "another owner", keep=False)
    *events, last = run
    assert run.cached
    assert isinstance(last, Timings)
    assert (last.cached, list(last.seconds)) == (True, ["cache"])
    assert last.seconds["cache"] < 0.1
    return events


def _unused() -> Generator[Event, None, None]:
    raise AssertionError("the answer was kept and is made again")


def test_an_answer_is_made_once_and_then_given_as_it_was_but_for_what_is_of_its_own_time() -> None:
    cache = AnswerCache()
    made = [ModelCall("answer", "m", 1, 2, 3.0, 1.0), _said("a"), _said("b"), Timings({"answer": 3.0})]
    assert _ask(cache, KEY, *made) == made
    assert _again(cache, KEY) == made[1:3]
    counters = cache.counters
    assert (counters.hits, counters.misses, counters.joined, counters.answers) == (1, 1, 0, 1)
    assert 500 < counters.bytes < 5_000


def test_a_cached_answer_is_taken_whole_and_once() -> None:
    cache = AnswerCache()
    _ask(cache, KEY, _said("a"), END)
    kept = _find(cache, KEY)
    assert kept is not None
    assert kept.take_all() == (_said("a"), kept.timings)
    assert kept.take_all() == ()
    left = _find(cache, KEY)
    assert left is not None
    left.close()
    assert left.take_all() == ()


def test_every_part_of_the_key_makes_another_question() -> None:
    cache = AnswerCache()
    question = Question("q", "en")
    keys = [
        KEY,
        replace(KEY, index="other"),
        replace(KEY, generation=2),
        replace(KEY, manifest="ba"),
        replace(KEY, request=Request(question, 10, answered=True, strategy="bm25")),
        replace(KEY, prompts="dc"),
        replace(KEY, model="m"),
        replace(KEY, reranker="r"),
        replace(KEY, settings="s"),
        replace(KEY, request=Request(Question("r", "en"), 10, answered=True)),
        replace(KEY, request=Request(Question("q", "ko"), 10, answered=True)),
        replace(KEY, request=Request(question, 9, answered=True)),
        replace(KEY, request=Request(question, 10, answered=False)),
        replace(KEY, request=Request(question, 10, answered=True, every_record=True)),
        replace(KEY, request=Request(question, 10, answered=True, settings=SearchSettings(keyword_order="entropy"))),
    ]
    for number, key in enumerate(keys):
        events = [_said(str(number)), END]
        assert _ask(cache, key, *events) == events
    assert (cache.counters.misses, cache.counters.answers) == (15, 15)


def test_what_had_a_fallback_is_cut_or_may_not_be_kept_is_made_again() -> None:
    cache = AnswerCache()
    fallback = Fallback("answer", "unavailable", "away")
    cut: list[tuple[tuple[Event, ...], bool]] = [
        ((fallback, Timings({})), True),
        ((Queries(()),), True),
        ((Timings({}),), False),
        ((Answer("generated", "ko", (), (), complete=False), Timings({})), True),
        ((Truncated("seconds", 90.0), Timings({})), True),
    ]
    for events, keep in cut:
        for _ in range(2):
            assert _ask(cache, KEY, *events, keep=keep) == list(events)
    assert (cache.counters.misses, cache.counters.answers, cache.counters.bytes) == (10, 0, 0)
    assert _ask(cache, KEY, Truncated("calls", 48), Timings({}))
    assert cache.counters.answers == 1


def test_what_is_kept_stays_below_its_bound_and_the_oldest_goes_first() -> None:
    one = AnswerCache()
    _ask(one, _key(100), _said("x" * 1_000), END)
    size = one.counters.bytes
    cache = AnswerCache(most_bytes=3 * size)
    for number in (101, 102, 103):
        _ask(cache, _key(number), _said("x" * 1_000), END)
    _again(cache, _key(101))  # 102 is now the one asked for longest ago
    _ask(cache, _key(104), _said("x" * 1_000), END)
    assert (cache.counters.answers, cache.counters.evicted, cache.counters.bytes) == (3, 1, 3 * size)
    for number in (101, 103, 104):
        _again(cache, _key(number))
    assert _find(cache, _key(102)) is None


def test_what_an_answer_was_encoded_as_is_kept_beside_it_and_counts() -> None:
    cache = AnswerCache(most_bytes=6_500)
    _ask(cache, _key(1), _said("a"), END)
    kept = _find(cache, _key(1))
    assert kept is not None
    assert (kept.key, list(kept)) == (_key(1), [_said("a"), kept.timings])
    assert kept.encoded("search") is None
    before = cache.counters.bytes
    kept.cache_encoding("search", b"x" * 1_000)
    kept.cache_encoding("search", b"y" * 1_000)
    assert kept.encoded("search") == b"x" * 1_000
    assert 1_000 < cache.counters.bytes - before < 1_200
    kept.cache_encoding("plain", b"z" * 6_500)  # more than may be kept at all
    assert kept.encoded("plain") is None
    _ask(cache, _key(2), _said("b" * 4_000), END)
    assert (cache.counters.answers, cache.counters.evicted) == (1, 1)
    full = cache.counters.bytes
    kept.cache_encoding("plain", b"z")  # of an answer that is not kept any more
    assert (cache.counters.bytes, _find(cache, _key(1))) == (full, None)


def test_one_answer_larger_than_the_bound_pushes_nothing_out() -> None:
    cache = AnswerCache(most_bytes=8_000)
    _ask(cache, _key(1), END)
    _ask(cache, _key(2), _said("x" * 10_000), END)
    assert (cache.counters.answers, cache.counters.evicted) == (1, 0)


def test_a_bound_of_0_keeps_nothing_and_a_lower_one_is_refused() -> None:
    cache = AnswerCache(0)
    assert _ask(cache, KEY, Timings({})) == _ask(cache, KEY, Timings({}))
    assert (cache.counters.misses, cache.counters.answers) == (2, 0)
    with pytest.raises(ValueError, match="most_bytes must be at least 0, got -1"):
        AnswerCache(-1)


def test_identical_questions_in_flight_are_answered_once() -> None:
    cache = AnswerCache()
    begun = itertools.count()
    go_on = threading.Event()

    def hold() -> None:
        next(begun)
        assert go_on.wait(20)

    def ask() -> list[Event]:
        return list(_run(cache, KEY, _begin(Timings({"a": 1.0}), before=hold)))

    with ThreadPoolExecutor(16) as threads:
        asked = [threads.submit(ask) for _ in range(16)]
        while cache.counters.joined < 15:
            assert not any(each.done() for each in asked)
        go_on.set()
        assert [each.result(10) for each in asked] == [[Timings({"a": 1.0})]] * 16
    counters = cache.counters
    assert (next(begun), counters.hits, counters.misses, counters.joined, counters.answers) == (1, 0, 1, 15, 1)


def test_a_question_in_flight_is_shared_within_one_engine_only() -> None:
    # Each of those who share it keeps its own engine open, so the engine must be the same.
    cache = AnswerCache()
    one = _run(cache, KEY, _begin(Timings({"one": 0.0})), "one")
    other = _run(cache, KEY, _begin(Timings({"other": 0.0})), "other")
    assert list(one) == [Timings({"one": 0.0})]
    assert list(other) == [Timings({"other": 0.0})]
    assert (cache.counters.misses, cache.counters.answers) == (2, 1)
    assert cache.counters.bytes == sum(kept.size for kept in cache._entries.values())


def test_a_failure_is_given_to_all_who_wait_and_the_next_one_begins_anew() -> None:
    cache = AnswerCache()

    def fail() -> None:
        raise ValueError("broken")

    runs = [_run(cache, KEY, _begin(Timings({}), before=fail)) for _ in range(3)]
    for run in runs:
        with pytest.raises(ValueError, match="broken"):
            list(run)
    assert (cache.counters.misses, cache.counters.joined, cache.counters.answers) == (1, 2, 0)
    assert _ask(cache, KEY, Timings({})) == [Timings({})]


def test_a_question_given_up_by_all_begins_anew_and_is_kept() -> None:
    cache = AnswerCache()
    for _ in range(2):
        _run(cache, KEY, _begin(Timings({"given up": 0.0}))).close()
    assert _ask(cache, KEY, _said("new"), END) == [_said("new"), END]
    assert _again(cache, KEY) == [_said("new")]


def test_many_threads_asking_leaving_and_failing_leave_nothing_behind_and_mix_nothing_up() -> None:
    cache = AnswerCache(most_bytes=20_000)
    wrong: list[object] = []

    def ask(thread: int) -> None:
        for turn in range(200):
            number = (thread * 7 + turn) % 23
            events = [_said(f"{number}"), _said(f"end {number}"), END]

            def fail(turn: int = turn) -> None:
                if turn % 11 == 5:
                    raise ValueError("broken")

            run = _run(cache, _key(number), _begin(*events, before=fail))
            if turn % 5 == 3:
                run.close()
                continue
            try:
                got = list(run)
            except ValueError:
                continue
            if got[:-1] != events[:-1]:
                wrong.append((number, got))

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(16)))
    assert wrong == []
    assert cache._flights == {}
    assert sum(kept.size for kept in cache._entries.values()) == cache.counters.bytes <= 20_000


def test_an_engine_with_a_cache_answers_as_one_without(demo: Engine) -> None:
    cache = AnswerCache()
    engine = Engine(demo.open_index, cache=cache)
    plain = demo.ask(QUESTION)
    first, again = engine.ask(QUESTION), engine.ask(f"  {QUESTION}\n")
    assert (first.answer, first.search.ranking) == (plain.answer, plain.search.ranking)
    assert first.search.timings.cached is False
    assert again.search.timings.cached is True
    assert again == replace(first, search=replace(first.search, timings=again.search.timings))
    stream = engine.events(QUESTION)
    assert (stream.cached, [event.event for event in stream][-1]) == (True, "timings")
    assert not engine.run(parse_request(QUESTION, answered=False)).cached
    kept = engine.run(parse_request(QUESTION, answered=True))
    assert isinstance(kept, CachedAnswer)
    assert cached_ask(kept) == replace(first, search=replace(first.search, timings=kept.timings))
    counters = cache.counters
    assert (counters.hits, counters.misses, counters.answers) == (3, 1, 1)
    engine.search(QUESTION)
    engine.ask(QUESTION, k=3)
    engine.ask(QUESTION, strategy="bm25")
    engine.ask(QUESTION, keyword_order="entropy")
    assert cache.counters.misses == 5


def test_an_engine_gives_no_answer_that_was_made_by_other_means(demo: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = AnswerCache(settings="s")
    asked = Engine(demo.open_index, cache=cache)

    def is_cached(engine: Engine) -> list[bool]:
        """Search twice: only the first time may be new."""
        return [engine.search("그래핀").timings.cached for _ in range(2)]

    assert is_cached(asked) == [False, True]
    assert is_cached(Engine(demo.open_index, cache=cache)) == [True, True]
    cache.settings = "t"
    assert is_cached(asked) == [False, True]
    assert is_cached(Engine(demo.open_index, reranker=NoReranker(), cache=cache)) == [False, True]
    for name in ("one model", "another model"):
        model = ScriptedModel(listed("그래핀"), listed("graphene"))
        model.name = name
        assert is_cached(Engine(demo.open_index, model, cache=cache)) == [False, True]
    with monkeypatch.context() as other:
        other.setattr("shrag.serving.engine.prompts_fingerprint", lambda: "other prompts")
        assert is_cached(Engine(demo.open_index, cache=cache)) == [False, True]
    asked.name = "another index"
    assert is_cached(asked) == [False, True]
    asked.digest = "another manifest"
    assert is_cached(asked) == [False, True]
    asked.manifest = structs.replace(asked.manifest, generation=77)
    assert is_cached(asked) == [False, True]


def test_an_engine_with_a_cache_refuses_what_one_without_does(demo: Engine) -> None:
    engine = Engine(demo.open_index, cache=AnswerCache())
    with pytest.raises(UnknownStrategy, match="'toq'"):
        engine.ask(QUESTION, strategy="toq")
    with pytest.raises(QuestionError, match="empty"):
        engine.ask(" ")
    with pytest.raises(QuestionError, match="k must be"):
        engine.ask(QUESTION, k=0)


def test_an_answer_that_the_model_was_cut_off_in_is_made_again(demo: Engine) -> None:
    text = "##본론##\n재택근무는 일과 가정 사이의 갈등을 줄인다 [1]. 재택근무는"
    model = ScriptedModel(listed("재택근무"), listed("work"), [text], finish_reason="length")
    cache = AnswerCache(settings="s")
    engine = Engine(demo.open_index, model, cache=cache)
    assert not engine.ask(QUESTION).answer.complete
    asked = len(model.asked)
    assert not engine.ask(QUESTION).answer.complete
    assert (len(model.asked), cache.counters.answers, cache.counters.hits) == (2 * asked, 0, 0)


def test_an_answer_made_without_the_model_because_it_was_away_is_made_again(demo: Engine) -> None:
    model = ScriptedModel(listed("재택근무"), listed("work"), [ModelUnavailable("away")])
    cache = AnswerCache(settings="s")
    engine = Engine(demo.open_index, model, cache=cache)
    assert engine.ask(QUESTION).answer.kind == "extractive"
    model.answer = ["##본론##\n재택근무는 일과 가정 사이의 갈등을 줄인다 [1]."]
    first = engine.ask(QUESTION)
    asked = len(model.asked)
    again = engine.ask(QUESTION)
    assert again.answer == first.answer
    # The model was not asked again, so there is no call of it to tell of.
    assert (len(first.search.model_calls), again.search.model_calls) == (3, ())
    assert (first.answer.kind, first.search.fallbacks) == ("generated", ())
    assert (len(model.asked), cache.counters.answers) == (asked, 1)


RECORD = Record("D-1", "그래핀 film", "본문 \u202e 😀 'q' " * 60, "ko", complete=True, authors=("김", "Lee"), year=1999)
SENTENCE = Sentence("A sentence.", (1, 2), supported=False, issue="number")

EVERY: tuple[Event, ...] = (
    ModelCall("answer", "m", 1, 2, 3.0, 0.5, repaired=True),
    Fallback("keywords", "refused", "no"),
    Node(0, None, "question", "q?", assessment=Assessment(7, 80, 0.5, valid=True)),
    Node(1, 0, "bridging", "r?", "answered", (0,), "r", ("D-1",), "span", "D-1"),
    Truncated("calls", 48.0),
    FollowUp("q? film", ("film",), "m"),
    Authors(("Ann", "Bob"), 7, "first"),
    Keywords((Keyword("film", ("film",), 1.5, ("막",)),), ("zz",), "model", "m"),
    Queries((("a", "b"), ())),
    Hits(((ScoredDoc("D-1", 2.0), ScoredDoc("D-2", 1e-300)), ()), ("D-1",), ("D-2",), (ScoredDoc("D-1", -1.0),), "lsa"),
    Ranking((RankedRecord(1, 1, -math.inf, RECORD, ("D-9",)), RankedRecord(2, 2, 1 / 3, RECORD)), "r", True),
    Ranking((), "r", False, "", Confidence(0.1, "low", ("막",), 0.2)),
    Facets(FacetCounts(2, 1, (FacetValue("2015", 1),), (FacetValue("ko", 2),), (), (), (FacetValue("김민수", 2),))),
    AnswerSentence("body", SENTENCE),
    AnswerSentence("related", SENTENCE, Citation(2, "D-2", "film")),
    Answer("extractive", "en", (), (), "nothing_fits", nearest=(NearestRecord("D-1", "film"),), uncovered=("막",)),
    Answer(
        "generated", "ko", (Section("body", (SENTENCE,)),), (Citation(1, "D-1", "그래핀 film"),), "", "m", 0.1 + 0.2
    ),
    Timings({"a": 1e-9, "b": 0.0}, cached=True),
)


def test_events_of_every_kind_come_back_as_they_were() -> None:
    assert {type(event) for event in EVERY} == set(get_args(Event))
    unpacked = unpack_events(pack_events(EVERY))
    assert unpacked == EVERY
    assert repr(unpacked) == repr(EVERY)  # 1 and 1.0 are equal, and not the same
    assert unpack_events(pack_events(())) == ()


def test_those_of_one_kind_come_back_in_their_order() -> None:
    packed = pack_events(EVERY)
    assert unpack_events(packed, "node") == tuple(event for event in EVERY if isinstance(event, Node))
    assert unpack_events(packed, "no such") == ()


def test_they_take_less_than_two_thirds_of_the_memory_of_the_values() -> None:
    records = [Record(f"D-{number}", f"제목 {number}", "재택근무 " * 60, "ko", complete=True) for number in range(10)]
    ranking = Ranking(tuple(RankedRecord(n, n, n / 3, record) for n, record in enumerate(records, 1)), "r", True)
    hits = Hits(tuple(tuple(ScoredDoc(f"D-{n}", n / 7) for n in range(10)) for _ in range(10)), (), ())
    assert memory_size(pack_events((ranking, hits))) < memory_size((ranking, hits)) * 2 / 3


def _ranking(number: int) -> Ranking:
    """Return a ranking of ten records whose texts are objects of their own."""
    records = tuple(
        Record(f"D-{number}-{place}", f"제목 {number} {place}", f"본문 {number} {place} " * 60, "ko", complete=True)
        for place in range(10)
    )
    ranked = tuple(RankedRecord(rank, rank, rank / 3, record) for rank, record in enumerate(records, 1))
    return Ranking(ranked, "r", reranker_is_model=False)


def test_it_is_what_the_interpreter_takes_for_the_same_objects_within_a_tenth() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        made = [_ranking(number) for number in range(100)]
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert memory_size(made) == pytest.approx(taken, rel=0.1)


def test_the_parts_of_every_kind_of_container_count() -> None:
    text = "x" * 10_000
    for value in ((text,), [text], {text: 1}, {1: text}, ScoredDoc(text, 1.0), Timings({text: 1.0}), ((((text,),),),)):
        assert 10_000 < memory_size(value) < 11_000
    assert memory_size(()) == sys.getsizeof(())


def test_what_is_met_twice_counts_once() -> None:
    text = "x" * 10_000
    assert memory_size((text, text, Hits((), (text,), (text,)))) < 11_000
    circle: list[object] = [text]
    circle.append(circle)
    assert memory_size(circle) < 11_000
