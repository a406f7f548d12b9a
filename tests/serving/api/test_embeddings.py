"""OpenAI's embeddings, by OpenAI's own client, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openai
import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.build.builder import build_index
from shrag.serving.engine import Engine, open_engine
from tests.support.live import live

TEXTS = ["젖소의 열 스트레스", "transformer attention", "%&"]


@pytest.fixture(scope="module")
def client(demo: Engine) -> Iterator[openai.OpenAI]:
    with (
        live(demo) as running,
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0) as opened,
    ):
        yield opened


@pytest.mark.parametrize("model", ["demo", "lsa", "demo/lsa"])
def test_texts_have_the_vectors_of_the_indexs_encoder(client: openai.OpenAI, demo: Engine, model: str) -> None:
    dense = demo.open_index.dense
    assert dense is not None
    wanted = dense.encoder.encode_queries(TEXTS)
    for encoding_format in ("float", "base64"):
        created = client.embeddings.create(model=model, input=TEXTS, encoding_format=encoding_format)
        assert (created.model, [each.index for each in created.data]) == ("demo/lsa", [0, 1, 2])
        raw = [each.embedding for each in created.data]
        assert (isinstance(raw[0], str)) == (encoding_format == "base64")
    plain = client.embeddings.create(model=model, input=TEXTS)  # the client asks for base64 and decodes it
    assert np.array_equal(np.array([each.embedding for each in plain.data], np.float32), wanted)
    assert np.linalg.norm(wanted, axis=1) == pytest.approx([1, 1, 0], abs=1e-6)


def test_a_passage_has_the_vector_that_it_would_have_in_the_index(client: openai.OpenAI, demo: Engine) -> None:
    dense = demo.open_index.dense
    assert dense is not None
    record = demo.document("DEMO-AGR-008")
    assert record is not None
    created = client.embeddings.create(
        model="demo", input=f"{record.title} {record.text}", extra_body={"input_type": "passage"}
    )
    (vector,) = (np.array(each.embedding, np.float32) for each in created.data)
    assert dense.cosines(vector[None], [record.docid]) == pytest.approx([1.0], abs=1e-3)


def test_what_cannot_be_encoded_is_refused_with_the_way_out(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="has the encoder 'bge-m3': use one of demo/lsa"):
        client.embeddings.create(model="bge-m3", input="a")
    with pytest.raises(openai.BadRequestError, match="not 3: leave it out"):
        client.embeddings.create(model="demo", input="a", dimensions=3)
    for texts in ("", [], ["a"] * 257, [1, 2], ["a" * 40_000]):
        with pytest.raises(openai.BadRequestError, match="input"):
            client.embeddings.create(model="demo", input=texts)


def test_an_index_without_vectors_says_how_to_build_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"docid": "a", "title": "t", "text": "그래핀"}\n', encoding="utf-8")
    add_corpus(tmp_path / "corpora", "plain", "miracl", [tmp_path / "a.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "plain")
    engine = open_engine(tmp_path / "indexes", "plain")
    with (
        live(engine) as running,
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0) as client,
        pytest.raises(openai.NotFoundError, match="build an index with --encoder"),
    ):
        client.embeddings.create(model="plain", input="a")
