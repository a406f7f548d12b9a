"""An experiment as plain values: judged sets, conditions, measures."""

from __future__ import annotations

from typing import Literal

import msgspec

from shrag.evaluation.questions.reference_answers import ReferenceSource

DEFAULT_MEASURES = ("nDCG@10", "R@100", "Success@10")
"""What is measured where the experiment does not say."""


class CorpusSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files a set's corpus is read from, by a format of :mod:`shrag.corpora.formats`; paths are relative to the data.

    ``max_rejects`` lines may be no record before nothing is stored.
    """

    format: str
    paths: tuple[str, ...]
    max_rejects: int = 0


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The questions of a list: a file whose lines end in a qid; those count whose first columns are ``where``."""

    path: str
    where: tuple[str, ...] = ()


class JudgedSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A corpus, questions and judgements, and ``references`` where answers are looked at too, alone without ``qrels``.

    ``index`` names an index that is there; without it the ``corpus`` is read and indexed under the set's own ``name``.
    ``encoder`` makes that index's vectors. ``sample`` of its judged questions are asked, drawn by the experiment's
    seed; ``only`` limits them to a list.
    """

    name: str
    topics: str
    qrels: str = ""
    corpus: CorpusSource | None = None
    index: str = ""
    encoder: str = ""
    sample: int | None = None
    only: Selection | None = None
    references: ReferenceSource | str = ""

    @property
    def reference_source(self) -> ReferenceSource | None:
        """Where the references are, None where there are none."""
        if isinstance(self.references, ReferenceSource):
            return self.references
        return ReferenceSource(self.references) if self.references else None


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to answer the questions: a strategy with its settings, or a ``peer``.

    ``encoder`` asks an index of the set with those vectors. ``model``: a language model is used where one is configured
    (None), is needed (true), is left out (false). With ``answers`` the questions are answered, not only searched for.
    ``group`` is the condition that a ``grid`` was expanded from, the condition itself where there was none.
    """

    name: str
    label: str = ""
    strategy: str = "shrag"
    settings: dict[str, object] = {}
    peer: str = ""
    reranker: str = "auto"
    encoder: str = ""
    model: bool | None = None
    answers: bool = False
    group: str = ""

    @property
    def shown(self) -> str:
        """What people read."""
        return self.label or self.name


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture: one panel for each of ``y``, which are measures; ``x`` is a setting, empty for the conditions."""

    kind: Literal["line", "bars"]
    y: tuple[str, ...]
    x: str = ""
    title: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is expected: the baseline has more of ``measure`` (less, with ``lower``) than each of ``over``.

    ``over`` names conditions or the grids they are of; without it, all others.
    """

    text: str
    measure: str
    over: tuple[str, ...] = ()
    lower: bool = False


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every set is asked under every condition, ``k`` records a question.

    A condition with chance in it is run ``repeats`` times, each time by a seed of its own. ``baseline`` is the
    condition that the others are compared with, and ``claims`` say what that is expected to show.
    """

    title: str
    question: str
    sets: tuple[JudgedSet, ...]
    conditions: tuple[Condition, ...]
    source: str = ""
    measures: tuple[str, ...] = DEFAULT_MEASURES
    k: int = 100
    seed: int = 0
    repeats: int = 1
    baseline: str = ""
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
