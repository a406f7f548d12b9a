"""List the tables and figures of the papers, with the experiments that repeat them, as one page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from shrag.evaluation.experiments.spec import Experiment
from shrag.evaluation.experiments.spec_file import built_in_experiments, read_experiment

_CATALOG = Path(__file__).parent / "papers.toml"


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table or figure of a paper, or a section with a comparison.

    An experiment repeats an item that has no ``command``, ``files`` and ``same_as``. Its file has the paper's values.
    The values of other items are in ``values``.

    Attributes:
        item: Its name, such as "Table 2".
        shows: What it shows.
        command: The command that shows the same thing here.
        files: The files that correspond to it, relative to the project's folder.
        same_as: Another item that is the same.
        values: The paper's values, in words.
    """

    item: str
    shows: str
    command: str = ""
    files: tuple[str, ...] = ()
    same_as: str = ""
    values: str = ""


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper with its items, in the order of the paper."""

    name: str
    title: str
    items: tuple[Item, ...]


class _Catalog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    papers: tuple[Paper, ...]


class PaperExperiment(NamedTuple):
    """An experiment that comes with SHRAG and repeats an item of a paper."""

    name: str
    experiment: Experiment

    @property
    def needs(self) -> tuple[str, ...]:
        """What the user has to bring for all its sets and conditions, without duplicates."""
        sets, conditions = self.experiment.sets, self.experiment.conditions
        needed = [*(each.bring for each in sets), *(each.bring for each in conditions)]
        return tuple(dict.fromkeys(each for each in needed if each))


def read_papers() -> tuple[Paper, ...]:
    """Return the papers in the order of the catalog."""
    return msgspec.toml.decode(_CATALOG.read_bytes(), type=_Catalog).papers


def paper_experiments() -> dict[tuple[str, str], PaperExperiment]:
    """Return (paper, item) → experiment that repeats it, for the experiments that come with SHRAG."""
    found = {}
    for name, path in built_in_experiments().items():
        experiment = read_experiment(path)
        if experiment.paper is not None:
            found[experiment.paper.paper, experiment.paper.item] = PaperExperiment(name, experiment)
    return found


def papers_page() -> str:
    """Return the text of the page ``docs/en/explanation/reproduction.md``."""
    return "\n".join(_lines()) + "\n"


_INTRODUCTION = """\
# Reproduction

This page lists every table and figure of the papers that SHRAG implements, each with the command that repeats it here.
`shrag experiment --papers` writes the page; it is not edited by hand.

An experiment runs with what is there. It leaves out a set whose files are missing, and a condition whose weights or
language model are missing, and says so in one line each. Its report has the paper's values beside the measured ones,
with intervals, and "–" for what was left out. `--data` (or `SHRAG_DATA`) names the folder of the data, `SHRAG_LLM_URL`
the language model; [Experiments](../reference/experiments.md) describes the other options.

Every experiment has a set over the demonstration, which needs no data. The other data is not a part of SHRAG: folders
such as `wiki-ko` and `multihop-ko` hold questions, judgements and records in the layouts of
[Corpus formats](../reference/formats.md). You can put sets of your own in their place.

With an encoder and a language model of random weights, every experiment runs on a processor without a GPU
(`pytest -m "vllm and soak" tests/vllm/test_papers.py`, after `make test-vllm`). The values mean nothing then."""


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    experiments = paper_experiments()
    for paper in read_papers():
        yield from ("", f"## {paper.name}", "", f"{paper.title}.", "")
        yield from ("| item | shows | here |", "| --- | --- | --- |")
        for item in paper.items:
            yield f"| {item.item} | {item.shows} | {_here(item, experiments.get((paper.name, item.item)))} |"
        notes = [note for item in paper.items if (note := _note(item, experiments.get((paper.name, item.item))))]
        if notes:
            yield from ("", *notes)


def _here(item: Item, found: PaperExperiment | None) -> str:
    if found is not None:
        return f"`shrag experiment {found.name}`"
    if item.same_as:
        return f"see {item.same_as}"
    if item.command:
        return f"`{item.command}`"
    return ", ".join(f"[{Path(each).name}](../../../{each})" for each in item.files)


def _note(item: Item, found: PaperExperiment | None) -> str:
    """Return what an experiment needs and what differs from the paper, or the values of another item."""
    if found is None or found.experiment.paper is None:
        return f"- **{item.item}.** The paper's values: {item.values}" if item.values else ""
    needs = f"Needs {'; '.join(found.needs)}. " if found.needs else ""
    return f"- **{item.item}.** {needs}{found.experiment.paper.difference}"
