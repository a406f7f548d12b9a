"""OpenAI's embeddings API: returns vectors of texts, made by the encoder that an index was built with."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct
from starlette.requests import Request

from shrag.indexing.vectors.vector_index import VectorIndex
from shrag.messages.text import Text
from shrag.models.encoder import Vectors
from shrag.models.reranker import Passage
from shrag.serving.api.service import Service
from shrag.serving.engine import Engine
from shrag.serving.http.endpoint import Operation
from shrag.serving.http.problems import HTTPProblem

MOST_TEXTS = 256

_Text = Annotated[str, Meta(min_length=1, max_length=32_768)]


class EmbeddingRequest(Struct, frozen=True):
    """The body of ``POST /v1/embeddings``. Unknown fields are ignored.

    ``input_type`` is not OpenAI's: some encoders treat questions and passages differently.
    """

    model: Annotated[str, Meta(description="An index, `INDEX/ENCODER`, or the encoder of an index served.")]
    input: _Text | Annotated[list[_Text], Meta(min_length=1, max_length=MOST_TEXTS)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int | None, Meta(description="Number of dimensions; only the encoder's own is accepted.")] = (
        None
    )
    input_type: Literal["query", "passage"] = "query"


@dataclass(frozen=True, slots=True)
class Embedding:
    """The vector of one text, as numbers, or as the base64 of little-endian ``float32``."""

    embedding: list[float] | str
    index: int
    object: Literal["embedding"] = "embedding"


@dataclass(frozen=True, slots=True)
class EmbeddingUsage:
    """Tokens read, always 0: they are not counted."""

    prompt_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class EmbeddingResponse:
    """The vectors in the order of the texts; ``model`` is ``INDEX/ENCODER``."""

    data: tuple[Embedding, ...]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


@Operation(body=EmbeddingRequest, strict=False, returns=EmbeddingResponse, problems=(404, 413, 415, 503), tag="openai")
async def embeddings(request: Request, body: EmbeddingRequest) -> EmbeddingResponse:
    """Return the vectors of texts by the encoder of an index."""
    service: Service = request.app.state.service
    index, encoder = _find_encoder(service, body.model)
    texts = [body.input] if isinstance(body.input, str) else body.input

    def encode(engine: Engine) -> Vectors:
        dense = engine.open_index.dense
        if dense is None:  # the generation may have changed since `_find_encoder`
            raise _no_encoder(service, body.model)
        return _encode(dense, texts, engine, body)

    vectors = await service.use_engine(encode, request, service.asks, index=index)
    data = [Embedding(_written(vector, body.encoding_format), at) for at, vector in enumerate(vectors)]
    return EmbeddingResponse(tuple(data), f"{index}/{encoder}", EmbeddingUsage())


def _encode(dense: VectorIndex, texts: list[str], engine: Engine, body: EmbeddingRequest) -> Vectors:
    encoder = dense.encoder
    if body.dimensions not in (None, encoder.dimension):
        raise HTTPProblem(
            400,
            "wrong_dimensions",
            Text(
                "Vectors have {dimension} dimensions, not {dimensions}: leave it out.",
                dimension=encoder.dimension,
                dimensions=body.dimensions,
            ),
        )
    if body.input_type == "query":
        return encoder.encode_queries(texts)
    terms = engine.open_index.analyzer.terms(texts)
    return encoder.encode_passages([Passage("", text, (), (each,)) for text, each in zip(texts, terms, strict=True)])


def _written(vector: Vectors, encoding_format: str) -> list[float] | str:
    if encoding_format == "float":
        return list(map(float, vector))
    return base64.b64encode(vector.astype(np.dtype("<f4")).tobytes()).decode()


def _find_encoder(service: Service, model: str) -> tuple[str, str]:
    """Return the first index whose encoder ``model`` names, and the name of that encoder."""
    for index, encoder in _encoders(service):
        if model in (index, encoder, f"{index}/{encoder}"):
            return index, encoder
    raise _no_encoder(service, model)


def _encoders(service: Service) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for source in service.sources:
        with source.use() as engine:
            vectors = engine.manifest.vectors
            if vectors is not None:
                found.append((engine.name, vectors.encoder))
    return found


def _no_encoder(service: Service, model: str) -> HTTPProblem:
    names = ", ".join(f"{index}/{encoder}" for index, encoder in _encoders(service))
    way_out = Text("use one of {names}", names=names) if names else Text("build an index with --encoder")
    return HTTPProblem(
        404,
        "model_not_found",
        Text("No index served has the encoder {encoder!r}: {way_out}.", encoder=model[:100], way_out=way_out),
    )
