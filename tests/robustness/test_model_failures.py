"""R17: the language model fails in every way there is. The records come, and no half answer passes as a whole one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping

import openai
import pytest

from shrag.serving.engine import Engine
from shrag.serving.runtime.admission import ServerLimits
from tests.support.clients import (
    Exchange,
    Kind,
    chunks,
    closed_loop,
    events,
    exchange,
    faults,
    finish_reasons,
    question,
)
from tests.support.fake_endpoint import Endpoint, answers, says
from tests.support.fault_modes import FAULTS, NEVER_ENDS, SPLIT_CHARACTERS, Fault, only_the_answer
from tests.support.live import QUESTION, wait_until
from tests.support.scripted_models import modelled

pytestmark = pytest.mark.slow

ASKING: tuple[Kind, ...] = ("ask", "stream", "chat", "page")
FALLEN_BACK: Mapping[Kind, str] = {
    "chat": "모델 없이 처리했습니다.",
    "page": "언어 모델 없이 처리했습니다. 검색은 그대로 이용할 수 있습니다.",
}
DEADLINE = 2.0
RECOVERY = 10.0
"""Seconds within which a model that is back is asked again."""


async def _ask_each(port: int) -> tuple[dict[Kind, Exchange], list[Exchange]]:
    """Ask in every form at once, and search all the while."""
    answered = asyncio.Event()

    async def search() -> list[Exchange]:
        found = [await exchange(port, "search", f"{QUESTION} 0")]
        while not answered.is_set():
            found.append(await exchange(port, "search", f"{QUESTION} {len(found)}"))
        return found

    searching = asyncio.create_task(search())
    asked = await asyncio.gather(*(exchange(port, kind) for kind in ASKING))
    answered.set()
    return dict(zip(ASKING, asked, strict=True)), await searching


def _causes(asked: Mapping[Kind, Exchange]) -> set[str]:
    whole = {fallback["cause"] for fallback in json.loads(asked["ask"].body)["search"]["fallbacks"]}
    return whole | {data["cause"] for name, data in events(asked["stream"].body) if name == "fallback"}


def test_each_way_to_ask_gets_the_records_and_an_answer_that_says_it_is_the_models_no_longer(
    demo: Engine, fault: Fault
) -> None:
    behaviour = fault.behaviour if fault.name == "refuses" else only_the_answer(fault.behaviour)
    with modelled(demo, Endpoint(behaviour)) as server:
        asked, searched = asyncio.run(_ask_each(server.port))
    assert faults([*asked.values(), *searched]) == {}
    assert {each.status for each in [*asked.values(), *searched]} == {200}
    assert not any(each.failed for each in asked.values())
    assert _causes(asked) == {"invalid_output" if fault.name == "writes without end" else "unavailable"}
    answer = json.loads(asked["ask"].body)
    assert (answer["answer"]["kind"], answer["answer"]["complete"]) == ("extractive", True)
    assert answer["search"]["records"][0]["record"]["docid"] == "DEMO-SOC-012"
    happened = dict(events(asked["stream"].body))
    assert happened["ranking"]["records"]
    assert (happened["answer"]["kind"], list(happened)[-1]) == ("extractive", "timings")
    first, *_ = chunks(asked["chat"].body)
    assert first["shrag"]["hits"]
    assert finish_reasons(asked["chat"].body) == ["stop"]
    assert all(says in asked[kind].body for kind, says in FALLEN_BACK.items())
    assert "DEMO-SOC-012" in asked["page"].body


def test_an_answer_that_never_ends_is_an_error_at_the_deadline_in_every_form_and_the_model_is_let_go(
    demo: Engine,
) -> None:
    endpoint = Endpoint(only_the_answer(NEVER_ENDS))
    with modelled(demo, endpoint, ServerLimits(deadline=DEADLINE), read_timeout=30) as server:
        asked, searched = asyncio.run(_ask_each(server.port))
        wait_until(lambda: endpoint.left == len(ASKING), 20)
        wait_until(lambda: server.service.in_flight == 0, 20)
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
            stream = client.chat.completions.create(
                model="demo/shrag", messages=[{"role": "user", "content": QUESTION}], stream=True
            )
            with pytest.raises(openai.APIError, match="not complete within 2 s"):
                list(stream)
    assert faults([*asked.values(), *searched]) == {}
    assert all(DEADLINE - 0.1 < each.seconds < DEADLINE + 10 for each in asked.values())
    assert asked["ask"].status == asked["page"].status == 503
    assert asked["stream"].failed == asked["chat"].failed == "deadline_exceeded"
    assert "ranking" in dict(events(asked["stream"].body))
    assert chunks(asked["chat"].body)[0]["shrag"]["hits"]


def test_characters_cut_between_chunks_come_out_whole_in_every_form(demo: Engine) -> None:
    with modelled(demo, Endpoint(only_the_answer(SPLIT_CHARACTERS))) as server:
        asked, _ = asyncio.run(_ask_each(server.port))
    assert faults(asked.values()) == {}
    for each in asked.values():
        assert "관계를 분석하였다" in each.body
        assert "\ufffd" not in each.body
        assert "extractive" not in each.body


def test_the_circuit_opens_after_three_failures_and_a_model_that_is_back_is_asked_within_10_seconds(
    demo: Engine,
) -> None:
    endpoint = Endpoint(says(500, "dead"))

    def health() -> tuple[str, str]:
        status, _, body = server.ask("GET", "/health/ready")
        assert status == 200
        said = json.loads(body)
        return said["generator_status"], said["generator_failure"]

    with modelled(demo, endpoint) as server:
        assert health() == ("ready", "")
        for _ in range(3):
            assert server.ask("POST", "/v1/ask", {"question": QUESTION})[0] == 200
        generation, failure = health()
        assert (generation, "500" in failure) == ("degraded", True)
        assert "shrag_llm_up 0.0" in server.ask("GET", "/metrics")[2]
        asked = len(endpoint.asked)
        for _ in range(3):
            body = server.ask("POST", "/v1/ask", {"question": QUESTION})[2]
            assert json.loads(body)["answer"]["kind"] == "extractive"
        assert all(body["max_tokens"] == 1 for body in endpoint.asked[asked:])  # only whether it is back
        endpoint.behaviours = [answers("1")]
        back = time.monotonic()
        wait_until(lambda: health() == ("ready", ""), RECOVERY)
        assert time.monotonic() - back < RECOVERY
        assert "shrag_llm_up 1.0" in server.ask("GET", "/metrics")[2]


def test_a_model_that_hangs_from_the_first_word_holds_no_search_up(demo: Engine) -> None:
    """Keywords come before a search: whoever searches waits for them once, and three times nobody does."""
    with modelled(demo, Endpoint(FAULTS["accepts and hangs"]), ServerLimits(searches=2), keyword_timeout=1) as server:
        done = asyncio.run(closed_loop(server.port, 16, 3, lambda number: ("search", question(number))))
        fallbacks = [json.loads(each.body)["fallbacks"] for each in done]
    assert faults(done) == {}
    assert {each.status for each in done} == {200}
    assert all(cause["cause"] == "unavailable" for each in fallbacks for cause in each)
    assert len(done) > 16  # two places would have served six, had each search waited for the model
