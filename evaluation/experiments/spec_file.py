"""Read an experiment's TOML file; find those that come with SHRAG."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.files import is_name
from shrag.evaluation.errors import EvaluationError, ExperimentRejected
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet
from shrag.evaluation.peers.base import find_peer
from shrag.evaluation.questions.figures import ANSWER_FIGURES, PROCESS_FIGURES
from shrag.serving.errors import ServingError
from shrag.serving.request import LARGEST_K
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.registry import find_strategy

FOLDER = Path(__file__).parent / "specs"
"""Where the experiments lie that come with SHRAG."""


def built_in() -> dict[str, Path]:
    """Return the experiments that come with SHRAG, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def find_experiment(given: str) -> Path:
    """Return the file that ``given`` names: a path, or a name of :func:`built_in`."""
    if Path(given).is_file():
        return Path(given)
    try:
        return built_in()[given]
    except KeyError:
        raise ExperimentRejected(
            f"There is no experiment {given!r}: give a TOML file or one of {', '.join(built_in())}."
        ) from None


def read_experiment(path: Path) -> Experiment:
    """Read an experiment, its grids expanded; raises :class:`ExperimentRejected` naming what is wrong with it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        conditions = table.get("conditions", [])
        if isinstance(conditions, list):
            table["conditions"] = [expanded for given in conditions for expanded in _expand(path, given)]
        experiment = msgspec.convert(table, Experiment)
    except OSError as error:
        raise ExperimentRejected(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentRejected(f"{path} is not TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ExperimentRejected(f"{path} is no experiment: {error} (docs/experiments.md has the layout).") from None
    check_experiment(path, experiment)
    return experiment


def check_experiment(path: Path, experiment: Experiment) -> None:
    """Raise :class:`ExperimentRejected`, naming the file ``path``, for what would fail once questions are asked."""
    from shrag.evaluation.measures.providers import parse_measure

    for problem in _problems(experiment):
        raise ExperimentRejected(f"{path}: {problem}.")
    try:
        for measure in experiment.measures:
            parse_measure(measure)
        for condition in experiment.conditions:
            if condition.peer:
                find_peer(condition.peer)
            find_strategy(condition.strategy)
            SearchSettings.from_mapping(condition.settings)
    except (EvaluationError, ServingError) as error:
        raise ExperimentRejected(f"{path}: {error}") from None


def narrow(experiment: Experiment, sets: Sequence[str], conditions: Sequence[str], sample: int | None) -> Experiment:
    """Return the experiment with the ``sets`` and ``conditions`` named alone, none named for all of them.

    A condition is named by itself or by the one whose grid it is of. The baseline stays; a plot along a setting that no
    condition kept has goes, and so does a claim about none of them. Raises :class:`ExperimentRejected` for a name there
    is not.
    """
    _check_named("set", sets, [each.name for each in experiment.sets])
    _check_named("condition", conditions, [name for each in experiment.conditions for name in (each.name, each.group)])
    kept_sets = tuple(
        each if sample is None else msgspec.structs.replace(each, sample=sample)
        for each in experiment.sets
        if not sets or each.name in sets
    )
    kept = tuple(
        each
        for each in experiment.conditions
        if not conditions or {each.name, each.group} & {*conditions, experiment.baseline}
    )
    plots = tuple(plot for plot in experiment.plots if not plot.x or any(plot.x in each.settings for each in kept))
    named = {name for each in kept for name in (each.name, each.group)}
    claims = tuple(
        msgspec.structs.replace(claim, over=tuple(name for name in claim.over if name in named))
        for claim in experiment.claims
        if not claim.over or named & set(claim.over)
    )
    return msgspec.structs.replace(experiment, sets=kept_sets, conditions=kept, plots=plots, claims=claims)


def _check_named(kind: str, named: Iterable[str], there: Sequence[str]) -> None:
    for name in named:
        if name not in there:
            raise ExperimentRejected(f"There is no {kind} {name!r}: use one of {', '.join(dict.fromkeys(there))}.")


def _expand(path: Path, given: object) -> Iterator[object]:
    """Yield a condition for each combination of the values of its ``grid``, named and labelled after them."""
    if not isinstance(given, dict) or "grid" not in given:
        yield {**given, "group": given.get("name", "")} if isinstance(given, dict) else given
        return
    condition = {key: value for key, value in given.items() if key != "grid"}
    grid = given["grid"]
    if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
        raise ExperimentRejected(f"{path}: a grid gives each setting a list of values, such as {{ands = [0, 1]}}.")
    name, settings = condition.get("name", ""), condition.get("settings", {})
    for values in itertools.product(*grid.values()):
        chosen: dict[str, Any] = dict(zip(grid, values, strict=True))
        yield {
            **condition,
            "name": "-".join([str(name), *(f"{key}-{_word(value)}" for key, value in chosen.items())]),
            "label": ", ".join([condition.get("label") or str(name), *(f"{k} {_word(v)}" for k, v in chosen.items())]),
            "settings": {**settings, **chosen} if isinstance(settings, Mapping) else settings,
            "group": name,
        }


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problems(experiment: Experiment) -> Iterator[str]:
    yield from _bad_names(experiment)
    if not experiment.measures:
        yield "measures names none: name at least one, such as nDCG@10"
    if not 1 <= experiment.k <= LARGEST_K:
        yield f"k is {experiment.k} and must be from 1 to {LARGEST_K}"
    if experiment.repeats < 1:
        yield f"repeats is {experiment.repeats} and must be at least 1"
    for each in experiment.sets:
        yield from _set_problems(each)
    for condition in experiment.conditions:
        yield from _condition_problems(condition)
    if experiment.baseline and experiment.baseline not in {each.name for each in experiment.conditions}:
        yield f"the baseline {experiment.baseline!r} is no condition"
    yield from _plot_problems(experiment)
    yield from _claim_problems(experiment)


def _set_problems(each: JudgedSet) -> Iterator[str]:
    if not each.corpus and not each.index:
        yield f"the set {each.name} has neither a corpus nor an index to ask: give one of them"
    if each.corpus and each.index:
        yield f"the set {each.name} names an index and a corpus to build one from: give one of them"
    if each.encoder and each.index:
        yield f"the set {each.name} names an encoder for the index {each.index}, which has the vectors it has"
    if not each.qrels and each.reference_source is None:
        yield f"the set {each.name} has neither qrels nor references to hold anything against: give one of them"
    if each.sample is not None and each.sample < 1:
        yield f"sample of the set {each.name} is {each.sample} and must be at least 1"


def _bad_names(experiment: Experiment) -> Iterator[str]:
    for kind, names in (
        ("set", [each.name for each in experiment.sets]),
        ("condition", [each.name for each in experiment.conditions]),
    ):
        if not names:
            yield f"there is no {kind}: give at least one [[{kind}s]]"
        for name, count in Counter(names).items():
            if count > 1:
                yield f"two {kind}s are called {name!r}: names tell them apart"
            if not is_name(name):
                yield (
                    f"{name!r} cannot name a {kind}, files are called by it: use up to 64 lower-case letters, digits, "
                    "- and _"
                )


def _condition_problems(condition: Condition) -> Iterator[str]:
    if condition.peer and (condition.settings or condition.answers or condition.model or condition.encoder):
        yield f"the condition {condition.name} is the peer {condition.peer}, which takes no settings of ours"


def _plot_problems(experiment: Experiment) -> Iterator[str]:
    known = _known(experiment)
    settings = {key for condition in experiment.conditions for key in condition.settings}
    for plot in experiment.plots:
        for name in plot.y:
            if name not in known:
                yield f"a plot shows {name!r}, which is not measured: measure it, or use {', '.join(sorted(known))}"
        if not plot.y:
            yield "a plot shows nothing: name what in y"
        if plot.x and plot.x not in settings:
            yield f"a plot has {plot.x!r} as x, which no condition sets"
        if plot.kind == "line" and not plot.x:
            yield "a plot of lines has no x: name the setting that changes along it"


def _claim_problems(experiment: Experiment) -> Iterator[str]:
    named = {name for condition in experiment.conditions for name in (condition.name, condition.group)}
    for claim in experiment.claims:
        if not experiment.baseline:
            yield f"it claims {claim.text!r} of a baseline and has none: name one"
        if claim.measure not in _known(experiment):
            yield f"a claim is about {claim.measure!r}, which is not measured: measure it, or leave the claim out"
        for name in claim.over:
            if name not in named:
                there = ", ".join(sorted(named))
                yield f"a claim is about the condition {name!r}, which there is not: use one of {there}"


def _known(experiment: Experiment) -> set[str]:
    return {*experiment.measures, *PROCESS_FIGURES, *ANSWER_FIGURES}
