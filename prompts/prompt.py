"""Prompts as files ``NAME.LANGUAGE.txt``: what the system says, a line ``=== user ===``, what the user says.

Variables are written ``$name``, a dollar sign ``$$``. A value is put in as it is and never read for variables, so that
text from a record or a question cannot bring any. A file with a variable that its prompt does not have, or without one
that it has, is refused when it is read, not when a question is asked.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

FOLDER = Path(__file__).parent
"""Where the prompts that come with SHRAG lie."""

VARIABLES: Mapping[str, frozenset[str]] = {
    "keywords": frozenset({"question", "least", "most"}),
    "answer": frozenset({"question", "records", "count"}),
    "decompose": frozenset({"question", "most"}),
    "chain": frozenset({"question", "most"}),
    "rewrite": frozenset({"question"}),
    "span": frozenset({"question", "records", "count"}),
    "query": frozenset({"question"}),
    "respond": frozenset({"question", "records", "count"}),
    "evaluate": frozenset({"question", "query", "response"}),
    "branch": frozenset({"question", "most"}),
    "substeps": frozenset({"question", "choices", "most"}),
    "logical": frozenset({"question", "query"}),
    "principle": frozenset({"question"}),
    "passage": frozenset({"question"}),
    "solve": frozenset({"question", "choices", "worked", "principle", "step", "records", "count"}),
    "choose": frozenset({"question", "choices", "worked", "records", "count", "letters"}),
    "compose": frozenset({"question", "choices", "choice", "worked", "records", "count"}),
    "unaided": frozenset({"question", "choices", "choice", "worked"}),
    "relevance": frozenset({"question", "step", "record"}),
    "augment": frozenset({"question", "count"}),
    "hypotheses": frozenset({"question", "count"}),
    "followup": frozenset({"question", "choices", "worked"}),
    "thought": frozenset({"question", "choices", "thoughts", "records", "count"}),
    "judge": frozenset({"question", "answer", "references"}),
}
"""The prompts there are and the variables of each."""

ANSWER_PROMPTS = ("answer", "keywords")
"""The prompts that an answer depends on."""

Language = Literal["ko", "en"]

_USER = "\n=== user ===\n"


class PromptError(Exception):
    """A prompt file cannot be used; the message names it and says what to change."""


class PromptMessage(NamedTuple):
    """What one side says."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt in one language. ``fingerprint`` changes with every change of its words."""

    name: str
    language: Language
    system: string.Template
    user: string.Template
    fingerprint: str

    def turns(self, values: Mapping[str, str]) -> tuple[PromptMessage, PromptMessage]:
        """Return what is said with ``values`` put in; raises ``KeyError`` where one is missing."""
        return (
            PromptMessage("system", self.system.substitute(values)),
            PromptMessage("user", self.user.substitute(values)),
        )


@cache
def load_prompt(name: str, language: Language, folder: Path = FOLDER) -> Prompt:
    """Read a prompt; raises :class:`PromptError` where the file is missing or its variables are not the prompt's."""
    path = folder / f"{name}.{language}.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"The prompt {path} cannot be read ({error}): put it back or leave it out.") from None
    system, mark, user = text.partition(_USER)
    if not mark:
        raise PromptError(
            f"The prompt {path} has no line {_USER.strip()!r}: write what the user says below such a line."
        )
    parts = string.Template(system.strip()), string.Template(user.strip())
    _check_variables(path, parts, VARIABLES[name])
    return Prompt(name, language, *parts, fingerprint=hashlib.sha256(text.encode()).hexdigest())


def prompts_fingerprint(folder: Path = FOLDER) -> str:
    """Return a digest over the prompts that determine an answer besides the question, the records and the model."""
    prompts = [load_prompt(name, language, folder) for name in ANSWER_PROMPTS for language in ("en", "ko")]
    return hashlib.sha256("\n".join(prompt.fingerprint for prompt in prompts).encode()).hexdigest()


def _check_variables(path: Path, parts: tuple[string.Template, ...], wanted: frozenset[str]) -> None:
    if not all(part.is_valid() for part in parts):
        raise PromptError(f"The prompt {path} has a dollar sign that begins no variable: write $$ for the sign itself.")
    found = {name for part in parts for name in part.get_identifiers()}
    for wrong, rule in ((found - wanted, "which it does not have"), (wanted - found, "which it has to use")):
        if wrong:
            names = ", ".join(f"${name}" for name in sorted(wrong))
            known = ", ".join(f"${name}" for name in sorted(wanted))
            raise PromptError(f"The prompt {path} is wrong about {names}, {rule}: its variables are {known}.")
