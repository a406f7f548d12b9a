"""The retrievers for LangChain and LlamaIndex in docs/en/how-to/python.md, with the real libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shrag
from shrag.serving.engine import Engine

pytestmark = pytest.mark.clients

PAGE = Path(__file__).resolve().parents[2] / "docs/en/how-to/python.md"
QUESTION = "How much does milk yield fall in dairy cows under heat stress?"
FOUND = ["DEMO-AGR-008", "DEMO-AGR-011"]


@pytest.fixture
def engine(demo_home: Path) -> Iterator[Engine]:
    with shrag.open("demo", home=demo_home) as engine:
        yield engine


def _documented_class(library: str) -> Any:  # noqa: ANN401  (its base has no types here)
    """Run the lines that the page shows for a library and return their class."""
    (lines,) = re.findall(rf"^{library}:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(lines, names)
    return names["ShragRetriever"]


def test_langchain_gets_documents_with_their_docids_and_titles(engine: Engine) -> None:
    retriever = _documented_class("LangChain")(engine=engine, k=2)
    documents = retriever.invoke(QUESTION)
    assert [each.metadata["docid"] for each in documents] == FOUND
    best = engine.document(FOUND[0])
    assert best is not None
    assert (documents[0].page_content, documents[0].metadata["title"]) == (best.text, best.title)


def test_llama_index_gets_nodes_with_scores(engine: Engine) -> None:
    nodes = _documented_class("LlamaIndex")(engine, k=2).retrieve(QUESTION)
    assert [each.node.node_id for each in nodes] == FOUND
    assert [each.score for each in nodes] == [each.score for each in engine.search(QUESTION, k=2)]


def test_a_follow_up_question_is_read_after_the_questions_before_it(engine: Engine) -> None:
    before, follow_up = "How much does milk yield fall in dairy cows under heat stress?", "And their conception rate?"
    (document,) = _documented_class("LangChain")(engine=engine, k=1, history=[before]).invoke(follow_up)
    (node,) = _documented_class("LlamaIndex")(engine, k=1, history=[before]).retrieve(follow_up)
    assert document.metadata["docid"] == node.node.node_id == "DEMO-AGR-008"
