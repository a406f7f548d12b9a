"""Where things are kept, and the options of ``shrag.toml``: the environment is read here and nowhere below."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click_default_group import DefaultGroup

from shrag.indexing.storage.checksums import Verify
from shrag.serving.events import KeywordOrder

if TYPE_CHECKING:
    from shrag.serving.search_settings import SearchSettings

CONFIG_FILE = "shrag.toml"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of everything built."""

    path: Path

    @property
    def corpora(self) -> Path:
        """Stored corpora, a folder each."""
        return self.path / "corpora"

    @property
    def indexes(self) -> Path:
        """Published indexes, a folder each."""
        return self.path / "indexes"

    @property
    def weights(self) -> Path:
        """Models' weights, a folder each; carried in by hand."""
        return self.path / "weights"

    @property
    def runs(self) -> Path:
        """Results of experiments, a folder each."""
        return self.path / "runs"

    def find_run(self, given: Path) -> Path:
        """Return the folder of results that is named: ``given`` where it is one, else that name under :attr:`runs`."""
        return given if given.is_dir() else self.runs / given


verify_option = click.option(
    "--verify",
    type=click.Choice(get_args(Verify)),
    default="full",
    show_default=True,
    help="Read every byte before the first answer, or names and sizes now and the bytes while questions are answered.",
)
"""For commands that open an index."""

keyword_order_option = click.option(
    "--keyword-order",
    type=click.Choice(get_args(KeywordOrder)),
    show_default="tfidf",
    help="What keywords are ranked by; the model's order is there only where a language model chooses them.",
)
"""For commands that ask questions."""

set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A search setting for experiments (docs/search-settings.md), such as ands=1; repeatable.",
)
"""For commands that search."""


def read_settings(pairs: Sequence[str]) -> SearchSettings:
    """Return what ``--set`` asks for; the last of two values for one key counts."""
    from shrag.serving.search_settings import SearchSettings

    for pair in pairs:
        if "=" not in pair:
            raise click.UsageError(f"--set {pair} has no value: write KEY=VALUE, such as ands=1.")
    keys_and_values = (pair.partition("=") for pair in pairs)
    return SearchSettings.from_mapping({key.strip(): value.strip() for key, _, value in keys_and_values})


_Command = TypeVar("_Command", bound=Callable[..., Any])


def reranker_options(command: _Command) -> _Command:
    """Give a command that answers questions the options ``--reranker`` and ``--min-score``."""
    reranker = click.option(
        "--reranker",
        default="auto",
        show_default=True,
        help="auto; lexical; vectors (the index's own); cross-encoder, or the name or folder of one.",
    )
    min_score = click.option(
        "--min-score", type=click.FloatRange(0, 1), help="Leave out what a cross-encoder scores lower, from 0 to 1."
    )
    return reranker(min_score(command))


def read_config(path: Path, commands: Mapping[str, object]) -> dict[str, Any]:
    """Return the options in ``path``, none where there is no such file.

    Top-level keys are options of ``shrag`` itself (``home``), tables are commands: ``[search]`` with ``k = 5`` is
    ``shrag search -k 5``; ``[llm]`` is the language model of all of them (:mod:`shrag.cli.options.model`). The command
    line and ``SHRAG_*`` variables go before.
    """
    if not path.is_file():
        return {}
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path} is not TOML: {error}.") from None
    known = {"home", "llm", *commands}
    for key in config:
        if key not in known:
            raise click.UsageError(f"{path} has the unknown key {key!r}: use {', '.join(sorted(known))}.")
    return config


def check_options(section: Mapping[str, Any], command: click.Command, where: str) -> None:
    """Refuse options the command does not have: a misspelt one would otherwise be ignored in silence."""
    known = {parameter.name for parameter in command.params if parameter.name}
    if isinstance(command, click.Group):
        known |= set(command.commands)
    if isinstance(command, DefaultGroup):
        known |= {parameter.name for parameter in command.commands[command.default_cmd_name].params if parameter.name}
    for key in section:
        if key not in known:
            raise click.UsageError(f"[{where}] in {CONFIG_FILE} has no option {key!r}: use {', '.join(sorted(known))}.")
