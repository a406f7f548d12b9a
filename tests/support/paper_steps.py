"""The requests that reach a scripted endpoint and the searches of a strategy, next to the steps of its paper.

A strategy is one file ``paper_steps/NAME.toml``, a script (:mod:`tests.support.scripted_models`) with:

``strategy``, ``source``   the strategy's name (NAME where there is none) and the passage of the paper
``questions``              the question in Korean (``ko``) and in English (``en``)
``[[steps]]``              ``paper``, a step of the paper in our words, and ``here``, the lines that it has here, or
                           those for each language
``[final]``                for each language, texts that the final prompt must have

The lines; ``LANGUAGE`` in a file stands for the question's language:

``6 × respond (ko)``       requests by one prompt, in the languages of their system messages; in no order, as parallel
                           ones come as they come
``search: …``              the number of queries, the keywords of each, and the hits asked for by each
``ranking: …``             the number of ranked records, and what ranked them
``final prompt: …``        the prompt of the answer, and the number of records in it
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from shrag.models.chat.client import OpenAIModel
from shrag.models.language_model import Message
from shrag.prompts.prompt import Language
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Event, Hits, Queries, Ranking
from tests.support.fake_endpoint import Behaviour, Endpoint, Handler, answers, serving
from tests.support.hostile_input import first
from tests.support.scripted_models import QUICK, ScriptFile

FOLDER = Path(__file__).parent / "paper_steps"

_RECORD = re.compile(r"⟦(?:문헌|record) \d+⟧")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paper: str
    here: list[str] | dict[Language, list[str]] = []


class PaperCase(msgspec.Struct, frozen=True):
    source: str
    questions: dict[Language, str]
    steps: list[Step]
    strategy: str = ""
    final: dict[Language, list[str]] = {}


@dataclass(frozen=True)
class Request:
    """A request that reached the endpoint: its prompt, the prompt's language, and its two messages."""

    prompt: str
    language: Language
    system: str
    user: str


@dataclass(frozen=True)
class Transcript:
    """The requests of one question in order, and its events."""

    requests: Sequence[Request]
    events: Sequence[Event]

    @property
    def lines(self) -> list[str]:
        counted: dict[str, list[str]] = {}
        for request in self.requests[:-1]:
            counted.setdefault(request.prompt, []).append(request.language)
        asked = [
            f"{len(languages)} × {prompt} ({', '.join(sorted(set(languages)))})"
            for prompt, languages in counted.items()
        ]
        ranking, last = first(Ranking, self.events), self.requests[-1]
        records = len(_RECORD.findall(last.user))
        return [
            *asked,
            f"search: {self._searched}",
            f"ranking: {len(ranking.records)} records by {ranking.reranker}",
            f"final prompt: {last.prompt} ({last.language}), {records} records",
        ]

    @property
    def _searched(self) -> str:
        queries, hits = first(Queries, self.events).queries, first(Hits, self.events)
        sizes = ", ".join(str(len(query)) for query in queries)
        return f"{len(queries)} queries of {sizes} keywords, {hits.depth} hits each"

    @property
    def answer(self) -> Answer:
        return first(Answer, self.events)


def paper_cases() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_case(name: str) -> PaperCase:
    table: dict[str, Any] = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return msgspec.convert({"strategy": name, **table}, PaperCase)


def ask_scripted_endpoint(engine: Engine, name: str, language: Language) -> Transcript:
    """Ask the case's question of a model behind an endpoint that answers by the case's script."""
    case, script = read_case(name), ScriptFile(FOLDER / f"{name}.toml")
    endpoint = Endpoint(_by_script(script))
    with serving(endpoint) as url, closing(OpenAIModel(msgspec.structs.replace(QUICK, url=url))) as model:
        events = list(Engine(engine.open_index, model).events(case.questions[language], strategy=case.strategy))
    requests = [
        Request(*script.prompt_of(system), system, user)
        for system, user in ([message["content"] for message in body["messages"]] for body in endpoint.asked)
    ]
    return Transcript(requests, events)


def _by_script(script: ScriptFile) -> Behaviour:
    def behave(handler: Handler, body: dict[str, Any]) -> None:
        messages = [Message(each["role"], each["content"]) for each in body["messages"]]
        written = script.stream(messages).completion if body.get("stream") else script.complete(messages)
        answers(written.text)(handler, body)

    return behave


def side_by_side(case: PaperCase, language: Language, transcript: Transcript) -> str:
    """Return the steps of the paper next to those of the case, and below them each prompt's last request in full."""
    left = [paper for step in case.steps for paper in [step.paper, *[""] * (len(_lines(step, language)) - 1)]]
    right = [line for step in case.steps for line in (_lines(step, language) or ["–"])]
    width = max(map(len, left))
    table = "\n".join(f"{paper:<{width}} | {line}" for paper, line in zip(left, right, strict=True))
    shown = {(request.prompt, request.language): request for request in transcript.requests}
    prompts = "\n\n".join(
        f"--- {each.prompt} ({each.language})\n{each.system}\n=== user ===\n{each.user}" for each in shown.values()
    )
    return f"{case.strategy}: {case.source}\n{case.questions[language]}\n\n{table}\n\n{prompts}\n"


def expected_lines(case: PaperCase, language: Language) -> list[str]:
    return [line for step in case.steps for line in _lines(step, language)]


def _lines(step: Step, language: Language) -> list[str]:
    lines = step.here if isinstance(step.here, list) else step.here[language]
    return [line.replace("LANGUAGE", language) for line in lines]
