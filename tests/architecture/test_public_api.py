from __future__ import annotations

import asyncio
import doctest
import pkgutil
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import shrag
from shrag.corpora.errors import CorpusError
from shrag.indexing.errors import IndexingError, IndexMissing
from shrag.models.language_model import Completion, Message
from shrag.serving.concurrency import CancellationToken
from shrag.serving.engine import Engine
from shrag.serving.event_run import EventRun
from shrag.serving.events import Event
from shrag.serving.request import Request
from tests.support.documented_commands import PAGES
from tests.support.scripted_models import ScriptedModel, listed

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "salt marsh blue carbon"


def test_the_door_opens_an_index_under_a_home(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shrag.open("demo", home=demo_home) as engine:
        found = engine.search(QUESTION, k=2)
        assert {ranked.record.docid for ranked in found} == {"DEMO-OCE-005", "DEMO-ENV-004"}
        answer = engine.ask("재택근무를 많이 할수록 갈등이 커지는가?").answer
        assert answer.citations[0].docid == "DEMO-SOC-012"
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    shrag.open("demo").close()


def test_a_missing_index_is_said_at_once() -> None:
    with pytest.raises(IndexMissing, match="`shrag index nothing`"):
        shrag.open("nothing")


def test_the_version_is_that_of_the_package() -> None:
    assert f'version = "{shrag.__version__}"' in (ROOT / "pyproject.toml").read_text()
    with pytest.raises(AttributeError, match="no attribute 'versoin'"):
        shrag.versoin  # type: ignore[attr-defined]  # noqa: B018


_IN_A_PACKAGE = re.compile(r"\bshrag\.(?:corpora|models|prompts|indexing|serving|evaluation|bundle|cli)(?:\.\w+)+")


@pytest.mark.slow
def test_every_module_class_and_function_that_the_documentation_names_exists() -> None:
    named = {name for page in PAGES for name in _IN_A_PACKAGE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    for name in sorted(named):
        pkgutil.resolve_name(name)


def test_a_table_is_added_indexed_and_asked_by_calls(tmp_path: Path) -> None:
    table = tmp_path / "catalogue.csv"
    lines = [f"K-{n},표본 논문 {n},측정 방법 {n}에 관한 초록이다. 결과를 표로 제시하였다." for n in range(20)]
    lines.append("K-99,벼의 수확량 예측,위성 영상으로 벼의 수확량을 예측하였다. 오차는 4.1%였다.")
    table.write_text("\n".join(["관리번호,논문 제목,요약문", *lines]), encoding="cp949")
    added = shrag.add("lib", table, tmp_path, columns={"id": "관리번호", "title": "논문 제목", "text": "요약문"})
    assert added.manifest.records == 21
    assert shrag.index("lib", tmp_path).records == 21
    with shrag.open("lib", home=tmp_path) as engine:
        assert engine.search("벼 수확량은 어떻게 예측하는가?")[0].record.docid == "K-99"
    with pytest.raises(CorpusError, match="name"):
        shrag.add("lib", table, tmp_path, columns={"name": "관리번호"})


@pytest.mark.parametrize("options", [{"encoder": "none"}, {"force": True}])
def test_an_update_refuses_the_options_of_a_whole_build(demo_home: Path, options: dict[str, Any]) -> None:
    with pytest.raises(IndexingError, match=r"keeps the encoder of its index: leave out force and encoder"):
        shrag.index("demo", demo_home, update=True, **options)


def test_an_index_is_built_run_and_evaluated_by_calls(demo_home: Path, tmp_path: Path) -> None:
    manifest = shrag.index("demo", demo_home)
    assert (manifest.generation, manifest.records) == (shrag.index("demo", demo_home).generation, 235)
    topics, run = ROOT / "corpora/demo/topics.tsv", tmp_path / "demo.run"
    with shrag.open("demo", home=demo_home) as engine:
        assert shrag.run(engine, topics, run, k=10, strategy="bm25").fallbacks == 0
    found = shrag.evaluate(run, ROOT / "corpora/demo/qrels.txt", ["Success@1", "R@10"])
    assert (list(found), len(found)) == ([str(run)], 1)
    assert found.to_dict() == {str(run): found[str(run)]}
    assert 0.5 < found[str(run)]["Success@1"] < found[str(run)]["R@10"] <= 1
    frame = found.to_pandas()
    assert frame.loc[str(run), "R@10"] == found[str(run)]["R@10"]
    assert f"{found[str(run)]['R@10']:.4f}" in found._repr_html_()


def test_questions_are_answered_without_blocking_the_event_loop(demo_home: Path) -> None:
    async def ask() -> None:
        with shrag.open("demo", home=demo_home) as engine:
            events = [event.event async for event in engine.aevents(QUESTION)]
            assert (events[0], events[-1]) == ("keywords", "timings")
            found, answered = await asyncio.gather(engine.asearch(QUESTION, k=1), engine.aask(QUESTION))
            assert found[0].record == engine.search(QUESTION)[0].record
            assert answered.answer == engine.ask(QUESTION).answer

    asyncio.run(ask())


@pytest.mark.parametrize("given", [None, CancellationToken()])
def test_cancelling_the_task_of_an_answer_stops_the_model(demo: Engine, given: CancellationToken | None) -> None:
    asked, cancelled = threading.Event(), threading.Event()

    class _Waiting(ScriptedModel):
        def complete(
            self,
            messages: Sequence[Message],
            schema: Mapping[str, object] | None = None,
            *,
            max_tokens: int = 1024,
            urgent: bool = False,
        ) -> Completion:
            asked.set()
            cancelled.wait(60)
            return super().complete(messages, schema, max_tokens=max_tokens)

    async def ask(model: _Waiting) -> None:
        task = asyncio.create_task(Engine(demo.open_index, model).aask(QUESTION, cancellation=given))
        await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()

    model = _Waiting(listed("염습지"), listed("salt marsh"), ["##Main Body##\nMarshes store carbon [1]."])
    asyncio.run(ask(model))
    assert asked.is_set()
    assert model.streams == []


def test_cancelling_a_task_while_its_events_are_begun_closes_their_run(
    demo: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    runs: list[EventRun[Event]] = []

    def run(request: Request) -> EventRun[Event]:
        begun.set()
        assert go_on.wait(60)
        runs.append(Engine.run(demo, request))
        return runs[0]

    async def take() -> list[Event]:
        return [event async for event in demo.aevents(QUESTION)]

    async def cancel() -> None:
        task = asyncio.create_task(take())
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    monkeypatch.setattr(demo, "run", run)
    asyncio.run(cancel())
    assert [each.closed for each in runs] == [True]


def test_the_python_of_its_page_runs_with_the_output_shown(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHRAG_HOME", str(demo_home))
    results = doctest.testfile(str(ROOT / "docs/en/how-to/python.md"), module_relative=False, encoding="utf-8")
    assert (results.attempted, results.failed) == (11, 0)


def test_the_korean_page_has_the_same_python() -> None:
    english, korean = (
        [re.sub("#.*", "", block) for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]
        for page in (ROOT / "docs" / language / "how-to" / "python.md" for language in ("en", "ko"))
    )
    assert len(english) == 5
    assert korean == english
