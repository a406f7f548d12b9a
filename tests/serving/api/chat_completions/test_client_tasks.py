from __future__ import annotations

import json

import pytest

from shrag.serving.api.chat_completions.client_tasks import task_reply

HISTORY = "<chat_history>\nUSER: How long should a lecture video be?\nASSISTANT: Six minutes.\n</chat_history>"


@pytest.mark.parametrize(
    ("form", "reply"),
    [
        ('{ "title": "your title" }', {"title": "How long should a lecture video be"}),
        ('{ "tags": ["tag1", "tag2"] }', {"tags": []}),
        ('{ "follow_ups": ["a", "b"] }', {"follow_ups": []}),
        ('{\n    "queries": ["a"]\n}', {"queries": []}),
        ('{\n    "prompt": "a"\n}', {"prompt": ""}),
    ],
)
def test_each_task_gets_a_reply_of_its_form(form: str, reply: dict[str, object]) -> None:
    message = f"### Task:\nDo this.\n### Output:\nJSON format: {form}\n### Chat History:\n{HISTORY}"
    assert json.loads(task_reply(message) or "") == reply


def test_an_autocompletion_is_empty() -> None:
    message = '### Task:\nContinue.\nRespond in JSON format: `{ "text": "<your_completion>" }`.\n<text>The sun</text>'
    assert json.loads(task_reply(message) or "") == {"text": ""}


def test_a_long_first_question_is_cut_between_words() -> None:
    history = HISTORY.replace("lecture video", "lecture video in an open online course for adults")
    reply = task_reply(f'### Task:\nName it: {{ "title": "x" }}\n{history}')
    assert json.loads(reply or "") == {"title": "How long should a lecture video in an…"}


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("a" * 35 + " bcde", "a" * 35 + " bcde"),  # 40 characters
        ("a" * 35 + " bcdef", "a" * 35 + "…"),
        ("Who was it?!", "Who was it"),
        ("Say it... ", "Say it"),
    ],
)
def test_a_title_has_at_most_40_characters_and_no_sign_at_its_end(question: str, title: str) -> None:
    history = f"<chat_history>\nUSER: {question}\n</chat_history>"
    reply = task_reply(f'### Task:\nName it: {{ "title": "x" }}\n{history}')
    assert json.loads(reply or "") == {"title": title}


@pytest.mark.parametrize(
    "question",
    [
        "How long should a lecture video be?",
        "### Task: what does it mean?",
        'What is { "title": "x" } in JSON?',
        f"What is {HISTORY}?",
        "",
    ],
)
def test_a_question_is_no_task(question: str) -> None:
    assert task_reply(question) is None
