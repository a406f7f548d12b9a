"""The specification of an experiment: judged sets, conditions, measures, plots and claims."""

from __future__ import annotations

from typing import Literal

import msgspec

from shrag.evaluation.questions.reference_answers import ReferenceSource

DEFAULT_MEASURES = ("nDCG@10", "R@100", "Success@10")
"""The measures of an experiment that names none."""


class CorpusSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files or folders that a set's corpus is read from, in a format of :mod:`shrag.corpora.formats.registry`.

    The corpus is not stored if more than ``max_rejects`` lines are rejected.
    """

    format: str
    paths: tuple[str, ...]
    max_rejects: int = 0


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of questions: a file whose lines end in a qid. Lines whose first columns equal ``where`` are selected.

    If ``where`` is a mapping, the file is a table of questions (:mod:`shrag.evaluation.questions.question_table`).
    Lines are selected whose columns have these values. A column may have several values, of which a line needs one.
    """

    path: str
    where: tuple[str, ...] | dict[str, str | tuple[str, ...]] = ()


class UnanswerableSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topics file of questions that no record answers.

    ``kinds`` is a table of questions with the column ``kind``, such as near and far; empty if there is one kind.
    """

    topics: str
    kinds: str = ""


class JudgedSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A corpus with questions, judgements and reference answers. Result files are named after its ``name``.

    Attributes:
        qrels: The judgements. They may be empty for a set with ``references``: only answers are evaluated then.
        corpus: The source files of the index. The index is built if it does not exist.
        index: The name of the index; ``name`` if empty. Sets with the same name share an index. Without ``corpus`` the
            index must exist.
        encoder: The encoder of the vectors, for an index that is built from ``corpus``; empty for no vectors.
        sample: Number of evaluated questions, drawn by the experiment's seed; None for all.
        subset: A list that limits the questions.
        references: The file of reference answers, or only its path; empty for none.
        unanswerable: Questions that no record answers, or only their path; empty for none.
        min_grade: The least grade of a record that answers the question. It applies to measures that have the parameter
            ``rel`` and do not set it, to figures of answers and of the candidates, and to the risk.
        compare_with: Another set with the same questions, such as one over an index of only their records.
        bring: What the user has to bring, in words. A set that has this text is left out if a file of it is missing.
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
        """The file of reference answers; None for a set without one."""
        if isinstance(self.references, ReferenceSource):
            return self.references
        return ReferenceSource(self.references) if self.references else None

    @property
    def unanswerable_source(self) -> UnanswerableSource | None:
        """The files of the unanswerable questions; None for a set without any."""
        if isinstance(self.unanswerable, UnanswerableSource):
            return self.unanswerable
        return UnanswerableSource(self.unanswerable) if self.unanswerable else None


class LanguageModelSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language model that conditions name.

    ``url`` is the address of its endpoint, empty for the configured one. ``model`` is its name there, empty for the
    only model that is served. One of the two must be known when the experiment is run.
    """

    name: str
    url: str = ""
    model: str = ""


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One configuration under which the questions are asked: a strategy with settings, or a peer.

    Attributes:
        name: The condition's name. Result files are named after it.
        label: The name shown in reports; ``name`` if empty.
        strategy: A strategy or a pipeline.
        filter: Which records may be found, as :meth:`~shrag.indexing.record_filter.RecordFilter.from_mapping` reads it.
        peer: The name of another system (:mod:`shrag.evaluation.peers.base`) to ask instead.
        encoder: The encoder whose vectors the set's index has for this condition; empty for the set's own.
        model: None uses the configured language model if there is one, true needs it, false uses none. A text is the
            name of one of the experiment's ``models``, which the condition needs.
        answers: Whether to answer the questions, not only search.
        k: Records per question; None for the experiment's number.
        own_paper: Whether to search in the paper that a question's reference names, as the setting ``paper`` does.
        group: The condition from whose ``grid`` this one was expanded, else its own name.
        bring: What the user has to bring, in words. A condition that has this text is left out if its language model or
            the weights of its ``encoder`` are missing.
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
        """The label, or the name if there is no label."""
        return self.label or self.name


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plot with one panel for each measure in ``y``. ``x`` is a setting; if empty, the axis has the conditions.

    A plot of the kind ``risk-coverage`` has no ``y``. It has a panel for each set with unanswerable questions, with a
    line for each condition.
    """

    kind: Literal["line", "bars", "risk-coverage"]
    y: tuple[str, ...] = ()
    x: str = ""
    title: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hypothesis: the baseline's mean of ``measure`` is better than that of each condition in ``over``.

    Better means higher, or lower if ``lower_is_better``. ``over`` names conditions or groups; empty means all other
    conditions.
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
        difference: What differs from the paper, such as the data and the models.
        percent: Measures that the paper prints in percent and SHRAG as a share.
    """

    paper: str
    item: str
    difference: str
    percent: tuple[str, ...] = ()


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values that the paper prints for one condition, by measure; they are compared with those of ``set``."""

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
        seed: Seed of the samples, the intervals, the tests and the language model.
        models: The language models that conditions name.
        repeats: Number of runs of each condition that uses a language model, each with a seed of its own.
        baseline: The condition that the others are compared with; empty for no comparison.
        claims: Hypotheses about the baseline.
        judge: Whether the language model judges the answers. Its scores are measures (:mod:`shrag.evaluation.judging`).
        judge_records: Number of pairs (step, record) that it judges for each set and condition; 0 for none.
        paper: The table or figure that is repeated; None for an experiment of the project's own.
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
    """Return the value of a setting as TOML writes it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)
