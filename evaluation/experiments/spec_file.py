"""Read and check the TOML file of an experiment, and list the experiments that come with SHRAG."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shrag.corpora.files import is_name
from shrag.corpora.near_names import did_you_mean
from shrag.evaluation.errors import EvaluationError, ExperimentRejected
from shrag.evaluation.experiments.spec import Condition, Experiment, JudgedSet, LanguageModelSource, setting_text
from shrag.evaluation.judging.figures import JUDGE_FIGURES
from shrag.evaluation.judging.record_relevance import RELEVANCE_FIGURES
from shrag.evaluation.peers.base import find_peer
from shrag.evaluation.questions.figures import ANSWER_FIGURES, PROCESS_FIGURES
from shrag.evaluation.questions.tree_figures import TREE_FIGURES
from shrag.messages.text import Text
from shrag.serving.errors import ServingError
from shrag.serving.request import LARGEST_K, parse_filter
from shrag.serving.retrieval.rerankers import check_reranker
from shrag.serving.search_settings import SearchSettings
from shrag.serving.strategies.registry import find_strategy

SPECS_FOLDER = Path(__file__).parent / "specs"
"""The folder of the experiments that come with SHRAG."""


def built_in_experiments() -> dict[str, Path]:
    """Return the experiments that come with SHRAG, by name."""
    return {path.stem: path for path in sorted(SPECS_FOLDER.glob("*.toml"))}


def find_experiment(given: str) -> Path:
    """Return the file of an experiment. ``given`` is its path, or a name of :func:`built_in_experiments`.

    Raises :class:`ExperimentRejected` if it is neither.
    """
    if Path(given).is_file():
        return Path(given)
    try:
        return built_in_experiments()[given]
    except KeyError:
        raise ExperimentRejected(
            Text(
                "There is no experiment {given!r}: give a TOML file or one of {built_in_experiments}.{hint}",
                given=given,
                built_in_experiments=", ".join(built_in_experiments()),
                hint=did_you_mean(given, built_in_experiments()),
            )
        ) from None


def read_experiment(path: Path) -> Experiment:
    """Read an experiment and expand its grids.

    Raises :class:`ExperimentRejected` with the first problem of an invalid file.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        conditions = table.get("conditions", [])
        if isinstance(conditions, list):
            table["conditions"] = [expanded for given in conditions for expanded in _expand(path, given)]
        experiment = msgspec.convert(table, Experiment)
    except OSError as error:
        raise ExperimentRejected(
            Text("{path} cannot be read: {strerror}.", path=path, strerror=error.strerror)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentRejected(Text("{path} is not TOML: {error}.", path=path, error=error)) from None
    except msgspec.ValidationError as error:
        raise ExperimentRejected(
            Text(
                "{path} is not an experiment: {error} (docs/en/reference/experiments.md has the layout).",
                path=path,
                error=error,
            )
        ) from None
    check_experiment(path, experiment)
    return experiment


def check_experiment(path: Path, experiment: Experiment) -> None:
    """Raise :class:`ExperimentRejected` for what would fail later in the run. The message names the file ``path``."""
    from shrag.evaluation.measures.providers import parse_measure

    for problem in _problems(experiment):
        raise ExperimentRejected(Text("{path}: {problem}.", path=path, problem=problem))
    try:
        for measure in experiment.measures:
            parse_measure(measure)
        for condition in experiment.conditions:
            if condition.peer:
                find_peer(condition.peer)
            find_strategy(condition.strategy)
            check_reranker(condition.reranker)
            SearchSettings.from_mapping(condition.settings)
            parse_filter(condition.filter)
    except (EvaluationError, ServingError) as error:
        raise ExperimentRejected(Text("{path}: {error}", path=path, error=error)) from None


def narrow_experiment(
    experiment: Experiment, sets: Sequence[str], conditions: Sequence[str], sample: int | None
) -> Experiment:
    """Return the experiment limited to the named sets, and to the named conditions or groups.

    The baseline is always included. Plots and claims about what is left out are dropped.

    Args:
        experiment: The experiment.
        sets: Names of sets; empty for all.
        conditions: Names of conditions or groups; empty for all.
        sample: Number of questions of each set; None to leave it as it is.

    Raises:
        ExperimentRejected: A name is unknown.
    """
    _check_known(Text("set"), sets, [each.name for each in experiment.sets])
    _check_known(
        Text("condition"), conditions, [name for each in experiment.conditions for name in (each.name, each.group)]
    )
    chosen_sets = tuple(
        msgspec.structs.replace(
            each,
            sample=each.sample if sample is None else sample,
            compare_with=each.compare_with if not sets or each.compare_with in sets else "",
        )
        for each in experiment.sets
        if not sets or each.name in sets
    )
    chosen = tuple(
        each
        for each in experiment.conditions
        if not conditions or {each.name, each.group} & {*conditions, experiment.baseline}
    )
    plots = tuple(plot for plot in experiment.plots if not plot.x or any(plot.x in each.settings for each in chosen))
    named = {name for each in chosen for name in (each.name, each.group)}
    claims = tuple(
        msgspec.structs.replace(claim, over=tuple(name for name in claim.over if name in named))
        for claim in experiment.claims
        if not claim.over or named & set(claim.over)
    )
    return msgspec.structs.replace(experiment, sets=chosen_sets, conditions=chosen, plots=plots, claims=claims)


_TOPICS = ("topics.tsv", "topics.txt", "queries.tsv", "queries.jsonl")
_QRELS = ("qrels.txt", "qrels.tsv", "qrels/test.tsv")


def ask_own_questions(experiment: Experiment, index: str, data: Path) -> Experiment:
    """Return the experiment over an existing index, with the questions and judgements in the folder ``data``.

    The files have the names that TREC or BEIR uses. Conditions that need an index with other vectors are left out. So
    are the values that a paper prints, because they are for other sets.

    Raises:
        ExperimentRejected: The folder lacks one of the files, or no condition is left.
    """
    conditions = tuple(each for each in experiment.conditions if not each.encoder)
    if not conditions:
        raise ExperimentRejected(Text("Each condition needs an index of its own: choose another experiment."))
    own_set = JudgedSet(index, topics=_first(data, _TOPICS), qrels=_first(data, _QRELS), index=index)
    kept = experiment.baseline in {each.name for each in conditions}
    own = msgspec.structs.replace(
        experiment,
        sets=(own_set,),
        claims=experiment.claims if kept else (),
        baseline=experiment.baseline if kept else "",
        paper=None,
        expected=(),
    )
    return narrow_experiment(own, [], [each.name for each in conditions], None)


def _first(data: Path, names: Sequence[str]) -> str:
    """Return the first of ``names`` that is a file in the folder ``data``."""
    for name in names:
        if (data / name).is_file():
            return name
    raise ExperimentRejected(
        Text("{data} has none of {names}: give the folder with --data.", data=data, names=", ".join(names))
    )


def replace_encoders(experiment: Experiment, folders: Mapping[str, str]) -> Experiment:
    """Return the experiment with the encoder ``folders[name]`` wherever it has the encoder ``name``.

    Raises :class:`ExperimentRejected` for a name that the experiment does not have.
    """
    used = [*(each.encoder for each in experiment.sets), *(each.encoder for each in experiment.conditions)]
    _check_known(Text("encoder"), folders, [name for name in used if name])
    return msgspec.structs.replace(
        experiment,
        sets=tuple(msgspec.structs.replace(e, encoder=folders.get(e.encoder, e.encoder)) for e in experiment.sets),
        conditions=tuple(
            msgspec.structs.replace(e, encoder=folders.get(e.encoder, e.encoder)) for e in experiment.conditions
        ),
    )


def replace_models(experiment: Experiment, given: Iterable[LanguageModelSource]) -> Experiment:
    """Return the experiment with the language models ``given`` instead of its own models of the same names.

    A given model without ``model`` keeps the experiment's. Raises :class:`ExperimentRejected` for a name that the
    experiment does not have.
    """
    by_name = {each.name: each for each in experiment.models}
    for each in given:
        _check_known(Text("language model"), [each.name], [*by_name])
        by_name[each.name] = msgspec.structs.replace(each, model=each.model or by_name[each.name].model)
    return msgspec.structs.replace(experiment, models=tuple(by_name.values()))


def _check_known(kind: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise ExperimentRejected(
                Text(
                    "There is no {kind} {name!r}: use one of {known}.",
                    kind=kind,
                    name=name,
                    known=", ".join(dict.fromkeys(known)) or Text("none"),
                )
            )


def _expand(path: Path, given: object) -> Iterator[object]:
    """Yield a condition for each combination of the values in the ``grid`` of ``given``, named after these values.

    A condition without a grid is yielded with itself as its group.
    """
    if not isinstance(given, dict) or "grid" not in given:
        yield {**given, "group": given.get("name", "")} if isinstance(given, dict) else given
        return
    condition = {key: value for key, value in given.items() if key != "grid"}
    grid = given["grid"]
    if not isinstance(grid, dict) or not all(isinstance(values, list) and values for values in grid.values()):
        raise ExperimentRejected(
            Text("{path}: a grid has a list of values for each setting, such as {{ands = [0, 1]}}.", path=path)
        )
    name, settings = condition.get("name", ""), condition.get("settings", {})
    for values in itertools.product(*grid.values()):
        chosen: dict[str, Any] = dict(zip(grid, values, strict=True))
        yield {
            **condition,
            "name": "-".join([str(name), *(f"{key}-{setting_text(value)}" for key, value in chosen.items())]),
            "label": ", ".join(
                [condition.get("label") or str(name), *(f"{k} {setting_text(v)}" for k, v in chosen.items())]
            ),
            "settings": {**settings, **chosen} if isinstance(settings, Mapping) else settings,
            "group": name,
        }


def _problems(experiment: Experiment) -> Iterator[Text]:
    yield from _bad_names(experiment)
    if not experiment.measures:
        yield Text("measures names none: name at least one, such as nDCG@10")
    if not 1 <= experiment.k <= LARGEST_K:
        yield Text("k is {k} but must be from 1 to {largest}", k=experiment.k, largest=LARGEST_K)
    if experiment.repeats < 1:
        yield Text("repeats is {repeats} but must be at least 1", repeats=experiment.repeats)
    yield from _judge_problems(experiment)
    for each in experiment.sets:
        yield from _set_problems(each)
    models = {each.name for each in experiment.models}
    for condition in experiment.conditions:
        yield from _condition_problems(condition)
        if isinstance(condition.model, str) and condition.model not in models:
            yield Text(
                "the condition {name} names the language model {model!r}, which is not in [[models]]: use {known}",
                name=condition.name,
                model=condition.model,
                known=", ".join(sorted(models)) or Text("true, or add it"),
            )
    for label, count in Counter(each.display_name for each in experiment.conditions).items():
        if count > 1:
            yield Text("{count} conditions are shown as {label!r}: give each another label", count=count, label=label)
    yield from _shared_index_problems(experiment.sets)
    if experiment.baseline and experiment.baseline not in {each.name for each in experiment.conditions}:
        yield Text("the baseline {name!r} is not a condition", name=experiment.baseline)
    yield from _plot_problems(experiment)
    yield from _claim_problems(experiment)
    yield from _paper_problems(experiment)


def _judge_problems(experiment: Experiment) -> Iterator[Text]:
    if experiment.judge and experiment.repeats > 1:
        yield Text(
            "repeats is {repeats}, but answers are judged once: leave out repeats or judge", repeats=experiment.repeats
        )
    if experiment.judge_records and experiment.repeats > 1:
        yield Text(
            "repeats is {repeats}, but records are judged once: leave out repeats or judge_records",
            repeats=experiment.repeats,
        )
    if experiment.judge and not any(each.answers for each in experiment.conditions):
        yield Text("answers are judged, but no condition has answers: write `answers = true` in one")
    if experiment.judge_records < 0:
        yield Text("judge_records is {number} but must be at least 0", number=experiment.judge_records)


def _set_problems(each: JudgedSet) -> Iterator[Text]:
    if not each.corpus and not each.index:
        yield Text("the set {name} has neither a corpus nor an index: give one of them", name=each.name)
    if each.encoder and not each.corpus:
        yield Text(
            "the set {name} has an encoder for the existing index {index}: leave it out",
            name=each.name,
            index=each.index,
        )
    if not each.qrels and each.reference_source is None:
        yield Text("the set {name} has neither qrels nor references: give one of them", name=each.name)
    if each.sample is not None and each.sample < 1:
        yield Text(
            "{key} of the set {name} is {value} but must be at least 1", key="sample", name=each.name, value=each.sample
        )
    if each.min_grade < 1:
        yield Text(
            "{key} of the set {name} is {value} but must be at least 1",
            key="min_grade",
            name=each.name,
            value=each.min_grade,
        )


def _shared_index_problems(sets: Sequence[JudgedSet]) -> Iterator[Text]:
    names = {each.name for each in sets}
    built: dict[str, JudgedSet] = {}
    for each in sets:
        if each.compare_with == each.name or (each.compare_with and each.compare_with not in names):
            yield Text(
                "the set {name} is compared with {other!r}, which is no other set",
                name=each.name,
                other=each.compare_with,
            )
        if not each.corpus:
            continue
        other = built.setdefault(each.index or each.name, each)
        if (other.corpus, other.encoder) != (each.corpus, each.encoder):
            yield Text(
                "the sets {first} and {second} share the index {index} but not its corpus and encoder: give them the "
                "same, or another index",
                first=other.name,
                second=each.name,
                index=each.index or each.name,
            )


def _bad_names(experiment: Experiment) -> Iterator[Text]:
    for kind, table, names in (
        (Text("set"), "sets", [each.name for each in experiment.sets]),
        (Text("condition"), "conditions", [each.name for each in experiment.conditions]),
        (Text("language model"), "models", [each.name for each in experiment.models]),
    ):
        if not names and table != "models":
            yield Text("there is no {kind}: write at least one table [[{table}]]", kind=kind, table=table)
        for name, count in Counter(names).items():
            if count > 1:
                yield Text(
                    "two tables [[{table}]] have the name {name!r}: give each another name", table=table, name=name
                )
            if not is_name(name):
                yield Text(
                    "{name!r} cannot name a {kind}, because files are named after it: use up to 64 lower-case "
                    "letters, digits, - and _",
                    name=name,
                    kind=kind,
                )


def _condition_problems(condition: Condition) -> Iterator[Text]:
    if condition.k is not None and not 1 <= condition.k <= LARGEST_K:
        yield Text(
            "k of the condition {name} is {k} but must be from 1 to {largest}",
            name=condition.name,
            k=condition.k,
            largest=LARGEST_K,
        )
    own = (condition.settings, condition.filter, condition.answers, condition.model, condition.encoder)
    if condition.peer and any(own):
        yield Text(
            "the condition {name} is the peer {peer}: leave out settings, filter, answers, model and encoder",
            name=condition.name,
            peer=condition.peer,
        )


def _plot_problems(experiment: Experiment) -> Iterator[Text]:
    known = _measure_names(experiment)
    settings = {key for condition in experiment.conditions for key in condition.settings}
    for plot in experiment.plots:
        for name in plot.y:
            if name not in known:
                yield Text(
                    "a plot shows {name!r}, which is not a measure: use {known}",
                    name=name,
                    known=", ".join(sorted(known)),
                )
        if not plot.y and plot.kind != "risk-coverage":
            yield Text("a plot has no measure: name one in y")
        if (plot.y or plot.x) and plot.kind == "risk-coverage":
            yield Text("a plot of risk and coverage has its own axes: leave out x and y")
        if plot.x and plot.x not in settings:
            yield Text("a plot has x = {x!r}, which no condition sets", x=plot.x)
        if plot.kind == "line" and not plot.x:
            yield Text("a line plot has no x: name the setting on its axis")


def _claim_problems(experiment: Experiment) -> Iterator[Text]:
    named = {name for condition in experiment.conditions for name in (condition.name, condition.group)}
    for claim in experiment.claims:
        if not experiment.baseline:
            yield Text("there is a claim ({text!r}) but no baseline: name one", text=claim.text)
        if claim.measure not in _measure_names(experiment):
            yield Text("a claim is about {measure!r}, which is not measured: add it to measures", measure=claim.measure)
        for name in claim.over:
            if name not in named:
                yield Text(
                    "a claim is about the condition {name!r}, which does not exist: use one of {known}",
                    name=name,
                    known=", ".join(sorted(named)),
                )


def _paper_problems(experiment: Experiment) -> Iterator[Text]:
    if experiment.expected and experiment.paper is None:
        yield Text("there are expected values but no paper: write a table [paper]")
    known = _measure_names(experiment)
    for each in experiment.expected:
        if each.set not in {judged_set.name for judged_set in experiment.sets}:
            yield Text("there are expected values of the set {name!r}, which does not exist", name=each.set)
        if each.condition not in {condition.name for condition in experiment.conditions}:
            yield Text("there are expected values of the condition {name!r}, which does not exist", name=each.condition)
    measures = {measure for each in experiment.expected for measure in each.values}
    for measure in sorted(measures - known):
        yield Text(
            "there is an expected value of {measure!r}, which is not measured: add it to measures", measure=measure
        )
    for measure in experiment.paper.percent if experiment.paper else ():
        if measure not in measures:
            yield Text(
                "{measure!r} is in per cent, but no value of it is expected: leave it out of percent", measure=measure
            )


def _measure_names(experiment: Experiment) -> set[str]:
    judged = (*(JUDGE_FIGURES if experiment.judge else ()), *(RELEVANCE_FIGURES if experiment.judge_records else ()))
    return {*experiment.measures, *PROCESS_FIGURES, *ANSWER_FIGURES, *TREE_FIGURES, *judged}
