"""The shell commands of README and docs: each page's fenced blocks, and the simple commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

_AT_THE_ROOT = ("README.md", "README.ko.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")

PAGES = (*(ROOT / name for name in _AT_THE_ROOT), *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>.*)$")
_REASON = re.compile(r"^<!-- not run: (.+) -->$")
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'\n.*?^\1\n", re.MULTILINE | re.DOTALL)
_OPERATORS = {"&&", "||", ";", "|", "&"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page. ``reason`` says why it is not run, empty where it is."""

    page: Path
    line: int
    language: str
    text: str
    reason: str

    @property
    def script(self) -> str:
        """Return the commands, without the prompts and the output of a ``console`` block."""
        if self.language != "console":
            return self.text
        prompted = re.findall(r"^\$ (.*(?:\\\n.*)*)$", self.text, re.MULTILINE)
        return "\n".join(prompted) + "\n"

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            at += 1
            continue
        end = next(after for after in range(at + 1, len(lines)) if lines[after].strip() == fence["fence"])
        reason = _REASON.match(lines[at - 1]) if at else None
        text = "".join(f"{line}\n" for line in lines[at + 1 : end])
        yield Block(page, at + 1, fence["language"].strip(), text, reason[1] if reason else "")
        at = end + 1


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a shell script, without variables set before it."""
    without_files = _HERE_DOCUMENT.sub(r"\n", script)
    for line in without_files.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word in _OPERATORS:
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                    words = words[1:]
                if words:
                    yield words
                words = []
            else:
                words.append(word)
