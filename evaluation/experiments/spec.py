"""The specification of an experiment as data: judged sets, conditions, measures, plots, claims."""

from __future__ import annotations

from typing import Literal

import msgspec

from shrag.evaluation.questions.reference_answers import ReferenceSource

DEFAULT_MEASURES = ("nDCG@10", "R@100", "Success@10")
"""The measures of an experiment that names none."""


class CorpusSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files or folders that a set's corpus is read from, in a format of :mod:`shrag.corpora.formats.registry`.

    With more than ``max_rejects`` rejected lines the corpus is not stored.
    """

    format: str
    paths: tuple[str, ...]
    max_rejects: int = 0


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of questions: a file whose lines end in a qid. Lines whose first columns equal ``where`` are selected.

    Where ``where`` is a mapping, the file is a table of questions (:mod:`shrag.evaluation.questions.question_table`),
    and the lines whose columns have these values, or one of several, are selected.
    """

    path: str
    where: tuple[str, ...] | dict[str, str | tuple[str, ...]] = ()


class UnanswerableSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topics file of questions that no record answers.

    ``kinds`` is a table of questions with the column ``kind``, such as near and far; empty for one kind.
    """

    topics: str
    kinds: str = ""


class JudgedSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A corpus with questions, judgements and reference answers; files are named after its ``name``.

    Attributes:
        qrels: May be empty for a set with ``references``, whose answers alone are evaluated.
        corpus: Source files of the index, which is built where it does not exist.
        index: The name of the index, by which sets can share one; ``name`` where empty. Without ``corpus`` it must
            exist.
        encoder: The encoder of the vectors of the index built from ``corpus``; empty for none.
        sample: Number of evaluated questions, drawn by the experiment's seed; None for all.
        subset: A list that limits the questions.
        references: The file of reference answers, or its path alone; empty for none.
        unanswerable: Questions that no record answers, or their path alone; empty for none.
        min_grade: The least grade of a record that answers: of the measures with a ``rel`` that name none, of figures
            of answers, and of the risk.
        compare_with: Another set with the same questions, such as over an index of their own records alone.
        bring: What the user has to bring, in words. Where a file of such a set is missing, the set is left out.
    """

    name: str
    topics: str
    qrels: str = ""
    corpus: CorpusSource | None = None
    index: str = ""
    encoder: str = ""
    sample: int | None = None
    subset: Selection | None = None
    references: ReferenceSource | str = ""
    unanswerable: UnanswerableSource | str = ""
    min_grade: int = 1
    compare_with: str = ""
    bring: str = ""

    @property
    def reference_source(self) -> ReferenceSource | None:
        """The file of reference answers, None for a set without."""
        if isinstance(self.references, ReferenceSource):
            return self.references
        return ReferenceSource(self.references) if self.references else None

    @property
    def unanswerable_source(self) -> UnanswerableSource | None:
        """The files of the unanswerable questions, None for a set without."""
        if isinstance(self.unanswerable, UnanswerableSource):
            return self.unanswerable
        return UnanswerableSource(self.unanswerable) if self.unanswerable else None


class LanguageModelSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language model that conditions name.

    ``url`` is the address of its endpoint, empty for the configured one; ``model`` its name there, empty for the only
    one that is served. One of the two must be known when the experiment is run.
    """

    name: str
    url: str = ""
    model: str = ""


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One configuration that the questions are asked under: a strategy with settings, or a peer.

    Attributes:
        name: The condition's name; files are named after it.
        label: The name shown in reports; ``name`` where empty.
        strategy: A strategy or a pipeline.
        filter: Which records may be found, as :meth:`~shrag.indexing.record_filter.RecordFilter.from_mapping` reads it.
        peer: The name of another system (:mod:`shrag.evaluation.peers.base`) to ask instead.
        encoder: Ask the set's index with vectors by this encoder; empty for the set's own.
        model: None uses the configured language model if there is one, true needs it, false uses none; text is the name
            of one of the experiment's ``models``, which is needed.
        answers: Answer the questions, not only search.
        k: Records per question; None for the experiment's number.
        own_paper: Search in the paper that each question's reference names, as the setting ``paper`` does.
        group: The condition whose ``grid`` this one was expanded from, else its own name.
        bring: What the user has to bring, in words. Where the weights of the ``encoder`` or the language model of such
            a condition are missing, the condition is left out.
    """

    name: str
    label: str = ""
    strategy: str = "shrag"
    settings: dict[str, object] = {}
    filter: dict[str, object] = {}
    peer: str = ""
    reranker: str = "auto"
    encoder: str = ""
    model: bool | str | None = None
    answers: bool = False
    k: int | None = None
    own_paper: bool = False
    group: str = ""
    bring: str = ""

    @property
    def display_name(self) -> str:
        """The label, or the name where there is none."""
        return self.label or self.name


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plot with one panel for each measure in ``y``. ``x`` is a setting; empty puts the conditions on the axis.

    ``risk-coverage`` has no ``y`` but a panel for each set with unanswerable questions, and a line for each condition.
    """

    kind: Literal["line", "bars", "risk-coverage"]
    y: tuple[str, ...] = ()
    x: str = ""
    title: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hypothesis: the baseline's mean of ``measure`` is better than that of each of ``over``.

    Better is higher, unless ``lower_is_better``. ``over`` names conditions or groups; empty means all other conditions.
    """

    text: str
    measure: str
    over: tuple[str, ...] = ()
    lower_is_better: bool = False


class PaperItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table or figure of a paper that an experiment repeats.

    Attributes:
        paper: A paper of :mod:`shrag.evaluation.experiments.papers`.
        item: The table or figure, such as "Table 2".
        difference: What differs from the paper: its data, its models.
        percent: Measures that the paper prints in per cent and SHRAG as a share.
    """

    paper: str
    item: str
    difference: str
    percent: tuple[str, ...] = ()


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values that the paper prints for one condition, by measure; ``set`` is the set that they are compared on."""

    set: str
    condition: str
    values: dict[str, float]


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment: every set is asked under every condition.

    Attributes:
        question: The research question, in one sentence.
        source: Where the question comes from, such as a paper.
        measures: Measures in ir-measures' notation.
        k: Records per question.
        seed: Of samples, intervals, tests and the language model.
        models: The language models that conditions name.
        repeats: Runs of each condition that uses a language model, each with a seed of its own.
        baseline: The condition that the others are compared with; empty for no comparison.
        claims: Hypotheses about the baseline.
        judge_records: Pairs of a step and a record that it judges of each set and condition; 0 for none.
        judge: Have the language model judge the answers; its scores are measures (:mod:`shrag.evaluation.judging`).
        paper: The table or figure that is repeated, None for an experiment of the project's own.
        expected: The values that the paper prints.
    """

    title: str
    question: str
    sets: tuple[JudgedSet, ...]
    conditions: tuple[Condition, ...]
    source: str = ""
    measures: tuple[str, ...] = DEFAULT_MEASURES
    k: int = 100
    seed: int = 0
    models: tuple[LanguageModelSource, ...] = ()
    repeats: int = 1
    baseline: str = ""
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    judge: bool = False
    judge_records: int = 0
    paper: PaperItem | None = None
    expected: tuple[Expected, ...] = ()


def setting_text(value: object) -> str:
    """Return the value of a setting as in TOML, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)
