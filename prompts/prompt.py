"""Load and render prompt templates.

A file ``NAME.LANGUAGE.txt`` has the system message, a line ``=== user ===``, and the user message. Variables are
written ``$name``, a dollar sign ``$$``. Values are inserted verbatim and never parsed for variables. A file with an
unknown variable, or without a required one, is rejected when it is loaded.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from shrag.messages.text import Text

FOLDER = Path(__file__).parent
"""Folder of the prompts that come with SHRAG."""

VARIABLES: Mapping[str, frozenset[str]] = {
    "keywords": frozenset({"question", "least", "most"}),
    "answer": frozenset({"question", "records", "count", "estimate"}),
    "decompose": frozenset({"question", "most"}),
    "chain": frozenset({"question", "most"}),
    "in_context": frozenset({"question", "turns"}),
    "rewrite": frozenset({"question", "records", "count"}),
    "span": frozenset({"question", "records", "count"}),
    "query": frozenset({"question"}),
    "reasoned_query": frozenset({"question"}),
    "respond": frozenset({"question", "records", "count"}),
    "evaluate": frozenset({"question", "query", "response"}),
    "branch": frozenset({"question", "most"}),
    "substeps": frozenset({"question", "choices", "most"}),
    "logical": frozenset({"question", "query"}),
    "principle": frozenset({"question"}),
    "passage": frozenset({"question"}),
    "solve": frozenset({"question", "choices", "worked", "principle", "step", "records", "count"}),
    "choose": frozenset({"question", "choices", "worked", "records", "count", "letters"}),
    "compose": frozenset({"question", "choices", "choice", "worked", "records", "count", "estimate"}),
    "brief": frozenset({"question", "choices", "choice", "topic", "worked", "records", "count"}),
    "closed_book": frozenset({"question", "choices", "choice", "worked"}),
    "relevance": frozenset({"question", "step", "record"}),
    "augment": frozenset({"question", "count"}),
    "hypotheses": frozenset({"question", "count"}),
    "followup": frozenset({"question", "choices", "worked"}),
    "thought": frozenset({"question", "choices", "thoughts", "records", "count"}),
    "judge": frozenset({"question", "answer", "references"}),
}
"""The variables of each prompt, all of them required."""

ANSWER_PROMPTS = ("answer", "keywords")
"""The prompts that determine an answer."""

Language = Literal["ko", "en"]

_USER = "\n=== user ===\n"


class PromptError(Exception):
    """A prompt file is invalid; the message names it and the change it needs."""


class PromptMessage(NamedTuple):
    """One message of a rendered prompt."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt in one language; ``fingerprint`` is the SHA-256 of its file."""

    name: str
    language: Language
    system: string.Template
    user: string.Template
    fingerprint: str

    def render(self, values: Mapping[str, str]) -> tuple[PromptMessage, PromptMessage]:
        """Return the system and the user message with ``values`` inserted; raises ``KeyError`` for a missing one."""
        return (
            PromptMessage("system", self.system.substitute(values)),
            PromptMessage("user", self.user.substitute(values)),
        )


@cache
def load_prompt(name: str, language: Language, folder: Path = FOLDER) -> Prompt:
    """Load a prompt, once per file; raises :class:`PromptError` for a missing file or wrong variables."""
    path = folder / f"{name}.{language}.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(
            Text("The prompt {path} cannot be read ({error}): restore the file.", path=path, error=error)
        ) from None
    system, mark, user = text.partition(_USER)
    if not mark:
        raise PromptError(
            Text(
                "The prompt {path} has no line {line!r}: write the user message below such a line.",
                path=path,
                line=_USER.strip(),
            )
        )
    parts = string.Template(system.strip()), string.Template(user.strip())
    _check_variables(path, parts, VARIABLES[name])
    return Prompt(name, language, *parts, fingerprint=hashlib.sha256(text.encode()).hexdigest())


def prompts_fingerprint(folder: Path = FOLDER) -> str:
    """Return a SHA-256 over the fingerprints of :data:`ANSWER_PROMPTS` in both languages."""
    prompts = [load_prompt(name, language, folder) for name in ANSWER_PROMPTS for language in ("en", "ko")]
    return hashlib.sha256("\n".join(prompt.fingerprint for prompt in prompts).encode()).hexdigest()


def _check_variables(path: Path, parts: tuple[string.Template, ...], wanted: frozenset[str]) -> None:
    if not all(part.is_valid() for part in parts):
        raise PromptError(
            Text("The prompt {path} has a dollar sign without a variable: write $$ for the sign itself.", path=path)
        )
    found = {name for part in parts for name in part.get_identifiers()}
    for wrong, problem in ((found - wanted, "has the unknown variables"), (wanted - found, "lacks the variables")):
        if wrong:
            names = ", ".join(f"${name}" for name in sorted(wrong))
            known = ", ".join(f"${name}" for name in sorted(wanted))
            raise PromptError(
                Text(
                    "The prompt {path} {problem} {names}: its variables are {known}.",
                    path=path,
                    problem=problem,
                    names=names,
                    known=known,
                )
            )
