"""Calibrate the confidence that the best record answers a question, from an index's own titles, without labels.

Questions are made from the titles of a sample of records. Each takes a part of a title's words, and about as many words
of other titles, because about half of a question's words are not in the record that answers it. If the title is short,
as an article's name is, a sentence of the text is taken instead. The evidence for each question is measured twice:

- With its record present: the question is answerable if this record comes first. A title from which a question was made
  is taken out of the record.
- With its record removed: the question is near the collection's subjects, and nothing answers it.

Words drawn from several of these texts make questions about nothing at all, which nothing answers either.

Logistic regression between the answerable and the unanswerable questions weighs the evidence. Each question has two
shares: the share of the answerable questions with less weighted evidence, and the share with a lower score. The lesser
of them counts, where that by score is multiplied by 1.3. The confidence is the share of the answerable questions with
less. So a threshold of 0.05 refuses about 5 % of the questions that are answered.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language, split_sentences
from shrag.indexing.analysis.analyzer import Analyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, to_passage
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.evidence import (
    DEPTH,
    Evidence,
    ScoredByWords,
    best_papers,
    measure_evidence,
    order_by_words,
)
from shrag.indexing.lexical.packed_question import QuestionWeights, pack_question
from shrag.indexing.lexical.reranker import PassageScorer, weigh_question
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import any_of
from shrag.indexing.translation.phrase_translation import BilingualLexicon
from shrag.indexing.translation.query_translation import analyze_question

FILE = "calibration.json"
"""File name in an index's folder."""

SAMPLE = 900
"""Number of records from whose titles questions are made.

Only a few of these questions decide where the confidence is low, so many are needed. With 300 records 10 % of the
English questions to the two Wikipedias in one index are refused, with 900 records 5 %.
"""

DRAWS = 4
"""Number of questions that are made from each title, each with other words.

The threshold depends on the 5 % of the answerable questions that have the least evidence. Six seeds refused, with one
question of each title / with four (``python -m bench.quality.confidence_seeds``):

- 6 to 11 / 5 to 9 of 124 questions with an answer
- 21 to 28 / 22 to 27 of 48 questions near the collection's subjects
"""

SEED = 16
"""The seed of all draws."""

LEAST_ANSWERED = 30 * DRAWS
"""Least number of answerable questions; an index with fewer has no calibration."""

COMPLETE = 0.15
"""Least confidence if the best record has the question's distinctive words together
(:func:`~shrag.indexing.lexical.evidence.is_complete`).

It is low: of 31 short questions with this confidence, 9 were answered well, 7 partly and 15 not.
"""

_KEPT = (0.5, 0.7, 0.9)  # of a title's words
_KEPT_OF_SENTENCE = (0.15, 0.3, 0.45)  # the sentence itself stays in the record, so fewer
_OTHER_WORDS = (0.3, 0.6, 1.0, 1.5)
_UNRELATED = 0.25  # questions about nothing, as a share of the sample
_UNRELATED_WORDS = (2, 3, 4, 5, 6)
_SHORTEST_TITLE = 4
_MOST_WORDS = 100  # of a title or sentence; text without punctuation may be one sentence of thousands
_LONGEST_QUESTION = 2_000  # characters, as in a request
_SEARCHED = 20
# The share by score tells questions about nothing, the share by weighted evidence those near the subjects. Refused of
# 124 answerable, 48 near and 16 far ScienceON questions, the mean of five seeds: 6.4, 22.0 and 16.0 with the factor 1,
# 6.0, 24.0 and 15.8 with 1.3, and 6.8, 24.6 and 14.0 with 2.
_SCORE_FACTOR = 1.3
_L2 = 0.01
_NEWTON_STEPS = 50
_LEAST_STEP = 1e-9
_QUANTILES = 200

_Floats = npt.NDArray[np.float64]


class ConfidenceCalibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Turns evidence into a confidence.

    Attributes:
        weights: Weights of words, lead, lead over the second and over the fifth record.
        log_scores: Quantiles of the log score of the answerable questions, rising.
        weighted: Quantiles of their weighted evidence, rising.
        lesser: Quantiles of the lesser of their two shares, by log score (times 1.3) and by weighted evidence, rising.
    """

    weights: tuple[float, ...]
    log_scores: tuple[float, ...]
    weighted: tuple[float, ...]
    lesser: tuple[float, ...]

    def confidence(self, evidence: Evidence, *, complete: bool = False) -> float:
        """Return the share of the answerable questions that have less evidence, from 0 to 1.

        A question of a few words cannot have much evidence. So the confidence is at least :data:`COMPLETE` if the best
        record is ``complete``: its title and one of its sentences together have the question's distinctive words.
        """
        value = _share(self.lesser, self._lesser(evidence))
        return max(value, COMPLETE) if complete else value

    def _lesser(self, evidence: Evidence) -> float:
        weighted = _weigh(self.weights, evidence)
        return min(_SCORE_FACTOR * _share(self.log_scores, evidence.log_score), _share(self.weighted, weighted))


def write_calibration(path: Path, calibration: ConfidenceCalibration | None) -> None:
    """Write the calibration of an index, or ``null`` if it has none."""
    path.write_bytes(msgspec.json.encode(calibration))


def read_calibration(path: Path) -> ConfidenceCalibration | None:
    """Read the calibration of an index, or None if it has none."""
    return msgspec.json.decode(path.read_bytes(), type=ConfidenceCalibration | None)


def calibrate(
    searcher: LuceneSearcher,
    parameters: Bm25,
    analyzer: Analyzer,
    lexicon: BilingualLexicon | None,
    *,
    seed: int = SEED,
) -> ConfidenceCalibration | None:
    """Calibrate an index; return None if it has too few records with titles to learn from.

    Another ``seed`` shows how much depends on the questions drawn.
    """
    records = [record for record in searcher.sample(SAMPLE) if record.record.complete]
    answered: list[Evidence] = []
    unanswered: list[Evidence] = []
    for question in _questions(records, seed):
        analyzed = analyze_question(question.text, analyzer, searcher, lexicon)
        translated = dict.fromkeys(chain.from_iterable(each.terms for found in analyzed.translations for each in found))
        queries = [any_of(terms) for terms in (analyzed.terms, list(translated)) if terms]
        hits = dict.fromkeys(hit.docid for found in searcher.search(queries, _SEARCHED) for hit in found)
        weights = weigh_question(analyzed, parameters, pair_weight=0.0)
        others = best_papers(_ranked(searcher, weights, [docid for docid in hits if docid != question.docid]))
        unanswered.append(measure_evidence(analyzed, others))
        if question.record is not None:
            own = _without_long_title(question.record)
            # Java scores records as they are stored, that is with their titles.
            score = PassageScorer(weights).score(to_passage(own)).words
            ranked = order_by_words([ScoredByWords(score, own), *others])
            if ranked[0].record is own:
                answered.append(measure_evidence(analyzed, best_papers(ranked)))
    return fit_calibration(answered, unanswered) if len(answered) >= LEAST_ANSWERED else None


def _ranked(searcher: LuceneSearcher, weights: QuestionWeights, docids: Sequence[str]) -> Iterator[ScoredByWords]:
    """Yield the complete records by descending score, ties by docid; no more records are read than are needed."""
    scores = searcher.score_records(pack_question(weights), docids)
    scored = sorted(zip(scores, docids, strict=True), key=lambda each: (-each[0].words, each[1]))
    for start in range(0, len(scored), DEPTH):
        batch = scored[start : start + DEPTH]
        for (score, _), record in zip(batch, searcher.fetch([docid for _, docid in batch]), strict=True):
            if record is not None and record.record.complete:
                yield ScoredByWords(score.words, record)


def fit_calibration(answered: Sequence[Evidence], unanswered: Sequence[Evidence]) -> ConfidenceCalibration:
    """Return the calibration that the evidence of answerable and of unanswerable questions gives."""
    weights = tuple(_fit_weights(*(np.array([_features(each) for each in found]) for found in (answered, unanswered))))
    log_scores = _quantiles([each.log_score for each in answered])
    weighted = _quantiles([_weigh(weights, each) for each in answered])
    lesser = ConfidenceCalibration(weights, log_scores, weighted, ())
    return msgspec.structs.replace(lesser, lesser=_quantiles([lesser._lesser(each) for each in answered]))


class _TitleQuestion(NamedTuple):
    """A question made from titles; ``record`` is the one that it is about, or None if it is about nothing."""

    text: str
    docid: str
    record: AnalyzedRecord | None


def _questions(records: Sequence[AnalyzedRecord], seed: int = SEED) -> Iterator[_TitleQuestion]:
    """Yield :data:`DRAWS` questions about each record, and some about nothing; the same ones each time.

    Each record has random numbers of its own. So an index that hardly changes hardly changes its calibration.
    """

    def chance_of(draw: int, name: str) -> random.Random:
        return random.Random(f"{seed} {draw} {name}")  # noqa: S311  (not for secrets)

    for draw in range(DRAWS):
        texts = [_a_text(each, chance_of(draw, each.record.docid)) for each in records]
        words: dict[str, list[list[str]]] = {"ko": [], "en": []}
        for text in texts:
            words[_language(text)].append(text.split())
        for each, text in zip(records, texts, strict=True):
            chance = chance_of(draw, each.record.docid)
            shares = _KEPT if _has_long_title(each) else _KEPT_OF_SENTENCE
            own = text.split()
            kept = [word for word in own if chance.random() < chance.choice(shares)] or own[:2]
            number = round(len(kept) * chance.choice(_OTHER_WORDS))
            added = _draw_words(words[_language(text)], number, chance)
            yield _TitleQuestion(" ".join(kept + added)[:_LONGEST_QUESTION], each.record.docid, each)
        for number in range(round(_UNRELATED * len(records))):
            chance = chance_of(draw, str(number))
            drawn = words[chance.choice([language for language, found in words.items() if found])]
            text = " ".join(_draw_words(drawn, chance.choice(_UNRELATED_WORDS), chance))
            yield _TitleQuestion(text[:_LONGEST_QUESTION], "", None)


def _draw_words(texts: Sequence[Sequence[str]], number: int, chance: random.Random) -> list[str]:
    """Return ``number`` words, each from a text that is drawn for it."""
    return [chance.choice(chance.choice(texts)) for _ in range(number)]


def _has_long_title(record: AnalyzedRecord) -> bool:
    return len(set(record.title_terms)) >= _SHORTEST_TITLE


def _without_long_title(record: AnalyzedRecord) -> AnalyzedRecord:
    return msgspec.structs.replace(record, title="") if _has_long_title(record) else record


def _a_text(record: AnalyzedRecord, chance: random.Random) -> str:
    """Return the record's title or, if it is short, a sentence, or :data:`_MOST_WORDS` words in a row of it."""
    words = (record.record.title if _has_long_title(record) else _a_sentence(record.record, chance)).split()
    start = chance.randrange(len(words) - _MOST_WORDS + 1) if len(words) > _MOST_WORDS else 0
    return " ".join(words[start : start + _MOST_WORDS])


def _a_sentence(record: Record, chance: random.Random) -> str:
    span = chance.choice(split_sentences(record.text))
    return record.text[span.start : span.end]


def _language(text: str) -> str:
    return "ko" if detect_language(text) == "ko" else "en"


def _features(evidence: Evidence) -> tuple[float, ...]:
    return (float(evidence.words), evidence.lead, evidence.lead_over_second, evidence.lead_over_fifth)


def _weigh(weights: Sequence[float], evidence: Evidence) -> float:
    return sum(weight * value for weight, value in zip(weights, _features(evidence), strict=True))


def _fit_weights(answered: _Floats, unanswered: _Floats) -> list[float]:
    """Return the weights of a logistic regression between two tables of features, each class with half the weight.

    The loss is convex: Newton's method (iteratively reweighted least squares) finds its minimum in a few steps.
    """
    features = np.concatenate([answered, unanswered])
    spread = features.std(axis=0) + 1e-9
    inputs = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / spread])
    labels = np.repeat([1.0, 0.0], [len(answered), len(unanswered)])
    weights = np.repeat([0.5 / len(answered), 0.5 / len(unanswered)], [len(answered), len(unanswered)])

    penalty = np.full(inputs.shape[1], 2 * _L2)
    penalty[0] = 0.0

    def loss(beta: _Floats) -> float:
        logits = inputs @ beta
        return float(weights @ (np.logaddexp(0, logits) - labels * logits) + beta @ (penalty * beta) / 2)

    fitted = np.zeros(inputs.shape[1])
    for _ in range(_NEWTON_STEPS):
        shares = 1 / (1 + np.exp(-(inputs @ fitted)))
        gradient = inputs.T @ (weights * (shares - labels)) + penalty * fitted
        hessian = (inputs.T * (weights * shares * (1 - shares))) @ inputs + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        while loss(fitted - step) > loss(fitted) and np.abs(step).max() > _LEAST_STEP:
            step = step / 2  # a full step goes too far if the classes hardly overlap
        fitted = fitted - step
    return [float(value) for value in fitted[1:] / spread]


def _quantiles(values: Sequence[float]) -> tuple[float, ...]:
    finite = [value for value in values if math.isfinite(value)]
    return tuple(float(value) for value in np.quantile(finite, np.linspace(0, 1, _QUANTILES + 1)))


def _share(quantiles: Sequence[float], value: float) -> float:
    """Return the share of the values with these quantiles that are below ``value``, interpolated."""
    if value >= quantiles[-1]:
        return 1.0
    place = bisect_right(quantiles, value)
    if place == 0:
        return 0.0
    below, above = quantiles[place - 1], quantiles[place]
    return (place - 1 + (value - below) / (above - below)) / (len(quantiles) - 1)
