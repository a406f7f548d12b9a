"""F1: cases made of the OpenAPI file. No 5xx, and every response is as the file says."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any, cast

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from starlette.testclient import TestClient

from shrag.serving.api.openapi import openapi_document, write_openapi
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from tests.conftest import ROOT
from tests.support.live import KeptEngine

CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
# Making a case takes longer than answering it: 300 an operation would take everybody two minutes.
EXAMPLES_EVERY_DAY = 30
EXAMPLES_SOAK = 500


@pytest.fixture(scope="module")
def app(demo: Engine) -> Any:  # noqa: ANN401
    return create_app(KeptEngine(demo.open_index))


def _run(app: Any, examples: int) -> int:  # noqa: ANN401
    """Try so many examples of each operation, that fit the file and that do not; return how many were sent."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "127.0.0.1"})
    # A body that breaks the file's rules may also be over the limit of its size, and so may an address.
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, "413", "414"]
    sent = 0
    operations = [cast("Any", result).ok() for result in schema.get_all_operations()]
    for operation, mode in itertools.product(operations, GenerationMode):
        if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
            continue  # there is nothing to be wrong about

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=examples == EXAMPLES_EVERY_DAY,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def try_case(case: Any) -> None:  # noqa: ANN401
            nonlocal sent
            sent += 1
            response = case.call(headers={"host": "127.0.0.1"})
            case.validate_response(response, checks=CHECKS)

        try_case()
    return sent


@pytest.mark.slow
def test_no_request_made_of_the_file_fails_and_every_response_is_as_it_says(app: Any) -> None:  # noqa: ANN401
    assert _run(app, EXAMPLES_EVERY_DAY) >= 300


@pytest.mark.soak
def test_thousands_of_requests_made_of_the_file(app: Any) -> None:  # noqa: ANN401
    assert _run(app, EXAMPLES_SOAK) >= 5_000


def test_the_interface_is_the_one_that_was_frozen(app: Any) -> None:  # noqa: ANN401
    frozen = (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert write_openapi(app.routes) == frozen, "where this is meant, `make openapi` writes docs/openapi.json anew"


def test_everything_but_the_sign_of_life_may_need_a_key_and_says_so(app: Any) -> None:  # noqa: ANN401
    file = openapi_document(app.routes)
    assert file["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, operations in file["paths"].items():
        for operation in operations.values():
            public = path == "/health/live"
            assert ("401" in operation["responses"]) is not public
            assert operation.get("security") == (None if public else [{"key": []}, {}])


def test_errors_are_described_in_the_form_they_are_sent_in(app: Any) -> None:  # noqa: ANN401
    file = openapi_document(app.routes)
    assert "HTTPValidationError" not in json.dumps(file)
    for path, operations in file["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status == "200":
                    continue
                form = (
                    "application/json"
                    if path.startswith(("/v1/models", "/v1/chat", "/v1/embeddings"))
                    else "application/problem+json"
                )
                assert list(response["content"]) == [form]


def test_the_docs_page_has_every_operation_and_shape_and_no_address_but_our_own(app: Any) -> None:  # noqa: ANN401
    client = TestClient(app, base_url="http://127.0.0.1")
    html = client.get("/docs/api").text
    file = openapi_document(app.routes)
    for path, operations in file["paths"].items():
        for method in operations:
            assert f"<code>{method.upper()} {path}</code>" in html
    for shape in file["components"]["schemas"]:
        assert f'id="schema-{shape}"' in html
    assert "http://" not in html
    assert "https://" not in html
    assert "<script" not in html


def test_the_document_is_valid_openapi_3_1(app: Any) -> None:  # noqa: ANN401
    document = dict(openapi_document(app.routes))
    schemathesis.openapi.from_dict(document).validate()
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations) == 13


def test_a_document_that_is_not_valid_is_found_out(app: Any) -> None:  # noqa: ANN401
    document = json.loads(write_openapi(app.routes))
    del document["paths"]["/v1/ask"]["post"]["responses"]["200"]["description"]
    with pytest.raises(Exception, match="is a required property"):
        schemathesis.openapi.from_dict(document).validate()


def test_bodies_and_parameters_have_the_bounds_that_are_checked(app: Any) -> None:  # noqa: ANN401
    document = openapi_document(app.routes)
    ask = document["components"]["schemas"]["AskRequest"]
    assert (ask["required"], ask["additionalProperties"]) == (["question"], False)
    assert {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}.items() <= ask["properties"]["k"].items()
    assert "additionalProperties" not in document["components"]["schemas"]["ChatRequest"]
    docid, index = document["paths"]["/v1/documents"]["get"]["parameters"]
    assert (index["name"], index["required"]) == ("index", False)
    assert (docid["name"], docid["in"], docid["required"]) == ("docid", "query", True)
    assert docid["schema"] == {"type": "string", "minLength": 1, "maxLength": 512}
    (model,) = document["paths"]["/v1/models/{model}"]["get"]["parameters"]
    assert model == {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}


def test_a_stream_of_answers_names_its_events(app: Any) -> None:  # noqa: ANN401
    paths = openapi_document(app.routes)["paths"]
    stream = paths["/v1/ask"]["post"]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    names = stream["properties"]["event"]["enum"]
    assert (names[0], names[-2:], "answer_sentence" in names) == ("started", ["timings", "error"], True)
    chunks = paths["/v1/chat/completions"]["post"]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    assert list(chunks["properties"]) == ["data"]


def test_descriptions_are_markdown_and_attributes_of_a_docstring_describe_fields(app: Any) -> None:  # noqa: ANN401
    text = write_openapi(app.routes)
    assert not re.search(r"``|:\w+:`|Attributes:", text)
    record = json.loads(text)["components"]["schemas"]["Record"]
    assert record["description"] == "One document as it is searched, shown and cited."
    assert record["properties"]["docid"]["description"] == "Its identifier, unique in the corpus."
