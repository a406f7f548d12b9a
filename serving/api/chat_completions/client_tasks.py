"""Tasks that a chat client gives its model beside the user's questions: a title, tags, follow-up questions.

Open WebUI sends them after each answer as a message of the user. The message begins with ``### Task:`` and has the
conversation between ``<chat_history>`` tags. Such tasks are no questions for an index; they get the simplest valid
reply.
"""

from __future__ import annotations

import json
import re

_TASK = re.compile(r"^\s*###\s*Task:", re.IGNORECASE)
_REPLY_KEY = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>|<text>(.*?)</text>", re.DOTALL)
_FIRST_QUESTION = re.compile(r"^\s*USER:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_LONGEST_TITLE = 40


def task_reply(message: str) -> str | None:
    """Return the reply to a client's task, or None for a question.

    A title is the first question of the conversation, shortened. Tags, follow-up questions and the like are empty.

    >>> task_reply('### Task: name it. Form: { "tags": ["a"] } <chat_history>USER: Why?</chat_history>')
    '{"tags": []}'
    >>> task_reply("What is a chat history?") is None
    True
    """
    history, key = _HISTORY.search(message), _REPLY_KEY.search(message)
    if not _TASK.match(message) or history is None or key is None:
        return None
    name = key.group(1)
    if name != "title":
        return json.dumps({name: "" if name in {"text", "prompt"} else []})
    first = _FIRST_QUESTION.search(history.group(1) or "")
    return json.dumps({name: _shorten(first.group(1)) if first else ""}, ensure_ascii=False)


def _shorten(question: str) -> str:
    text = " ".join(question.split())
    if len(text) <= _LONGEST_TITLE:
        return text.rstrip("?.!")
    return text[:_LONGEST_TITLE].rsplit(" ", 1)[0] + "…"
