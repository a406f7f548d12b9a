"""Events of answering one question: keywords, queries, hits, ranking, answer, timings, and those of a plan.

Strategies yield them; results, streams and the page are made from them. Each event has an ``event`` tag, which names
its type in JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from shrag.corpora.records import Language, Record
from shrag.indexing.record_filter import FacetCounts

AnswerPart = Literal["title", "introduction", "body", "conclusion", "record", "related"]
"""The parts of an answer, in their order. An extractive answer has ``record``, which quotes the record that answers,
and a ``related`` part for each related record. A generated answer has the other parts."""

ConfidenceLevel = Literal["high", "medium", "low"]
"""The levels of a confidence, which is shown in words."""

ListingKind = Literal["", "subject", "definition", "undefined", "mentions", "comparison", "separate"]
"""What an answer lists, if no single record answers the question; empty if it does not list records.

- ``subject``: records about the subject of a broad question;
- ``definition``: the same, behind a record that says what the subject is;
- ``undefined``: the same, if the question asks what the subject is and no record says so;
- ``mentions``: records that mention the subject, which few titles name;
- ``comparison``: records that compare two subjects;
- ``separate``: records about each of two subjects, if none compares them.
"""

EmptyReason = Literal[
    "",
    "no_keywords",
    "unknown_words",
    "nothing_found",
    "filtered_out",
    "nothing_fits",
    "not_searched",
    "names_author",
    "past_end",
]
"""Why there is no record or no answer; empty if there is one.

- ``no_keywords``: the question has no word to search for.
- ``unknown_words``: the index has none of the question's words.
- ``nothing_found``: no complete record was found.
- ``filtered_out``: no record that passes the filter was found.
- ``nothing_fits``: none of the records found answers the question.
- ``not_searched``: the strategy does not search.
- ``names_author``: the question is an author's name, and the author's records are found.
- ``past_end``: the ranking ends before the requested page.
"""

AuthorsRole = Literal["listed", "first", "unmatched", "possible"]
"""What was done with the authors that a question names: see :class:`Authors`."""

KeywordOrder = Literal["tfidf", "model", "entropy"]
"""What keywords are ranked by: tf-idf, the order in which the language model wrote them, or log-entropy."""

SentenceIssue = Literal["", "no_citation", "no_such_record", "number", "name", "quote", "unrelated"]
"""Why a sentence is not supported; empty if it is supported.

- ``no_citation``: it cites nothing.
- ``no_such_record``: it cites a record that does not exist.
- ``number``, ``name``, ``quote``: the cited records lack a number, a name or a quotation of the sentence.
- ``unrelated``: it shares too few words with the cited records.
"""

Purpose = Literal["keywords", "decompose", "query", "hypothesis", "step", "evaluate", "answer"]
"""The purpose of a model call.

- ``keywords``: to choose the keywords.
- ``decompose``: to write sub-questions.
- ``query``: to write a search query.
- ``hypothesis``: to write a hypothetical answer, which is searched for.
- ``step``: to answer one step.
- ``evaluate``: to evaluate an answer.
- ``answer``: to write the final answer.
"""

NodeKind = Literal[
    "question", "rewrite", "part", "step", "bridging", "intersection", "comparison", "hybrid", "augmentation",
    "hypothesis", "expansion",
]  # fmt: skip
"""The origin of a question.

- ``question``: the user.
- ``rewrite``: a rewriting of another question.
- ``part``, ``step``: an independent part of a question, or one of its ordered steps.
- ``bridging``, ``intersection``, ``comparison``, ``hybrid``: a tree of questions. The kind says how siblings combine.
- ``augmentation``: a further query.
- ``hypothesis``: a hypothetical answer.
- ``expansion``: a translation.
"""

NodeState = Literal["open", "answered", "unanswered", "skipped"]
"""The state of a question of a plan. A ``skipped`` one was not searched for, because a budget was used up."""

Budget = Literal["depth", "nodes", "calls", "seconds"]
"""The budgets of a plan: the levels of a tree, its nodes, the model calls, and the seconds in which calls may start."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of a language model; ``first_seconds`` is the time to its first token.

    ``repaired`` says that the reply was invalid and was requested once more.
    """

    stage: Purpose
    model: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    first_seconds: float
    repaired: bool = False
    event: Literal["model_call"] = "model_call"


@dataclass(frozen=True, slots=True)
class Fallback:
    """A stage was done without the language model: it did not answer, it refused, or its output was invalid."""

    stage: Purpose
    cause: Literal["unavailable", "refused", "invalid_output"]
    message: str
    event: Literal["fallback"] = "fallback"


@dataclass(frozen=True, slots=True)
class Assessment:
    """How well a response answers its question.

    ``coherence`` is from 1 to 10, ``answerability`` in percent, ``overall`` from 1 to 10: :func:`overall_assessment`.
    ``valid`` is the verdict; ``judge`` names the model that gave it, empty for rules.
    """

    coherence: int
    answerability: int
    overall: float
    valid: bool
    judge: str = ""


def overall_assessment(coherence: float, answerability: float) -> float:
    """Return the mean of a coherence from 1 to 10 and an answerability in percent, which is put on the same scale.

    The Tree-of-Question paper (section 3.4) names the two scales but gives no formula. This one is linear: 0 % becomes
    1, and 100 % becomes 10.

    >>> overall_assessment(1, 0), overall_assessment(9, 50), overall_assessment(10, 100)
    (1.0, 7.25, 10.0)
    """
    return (coherence + 1 + 9 * answerability / 100) / 2


@dataclass(frozen=True, slots=True)
class Node:
    """A question of a plan in its current state; a later event with the same ``number`` replaces it.

    The user's question has number 0 and no parent. ``needs`` are the nodes whose answers its text contains or waits
    for. ``query`` is what was searched by, ``docids`` are the records found, best first. ``answer`` is the answer so
    far, from the record ``source`` where that is not empty.
    """

    number: int
    parent: int | None
    kind: NodeKind
    question: str
    state: NodeState = "open"
    needs: tuple[int, ...] = ()
    query: str = ""
    docids: tuple[str, ...] = ()
    answer: str = ""
    source: str = ""
    assessment: Assessment | None = None
    event: Literal["node"] = "node"


@dataclass(frozen=True, slots=True)
class FollowUp:
    """How a question is read after the turns before it: ``question`` is searched for and answered instead.

    ``added`` are the keywords of earlier questions that were added to it; a question that the language model ``model``
    rewrote has none.
    """

    question: str
    added: tuple[str, ...] = ()
    model: str = ""
    event: Literal["follow_up"] = "follow_up"


@dataclass(frozen=True, slots=True)
class Authors:
    """The authors that the question names, or may name.

    Attributes:
        names: Their names as records have them, those with the most records first, a few at most.
        count: How many names there are.
        role: ``listed``: their records are listed, the newest first. ``first``: those of their records that fit the
            rest of the question come first. ``unmatched``: none fits it, and all records were searched. ``possible``:
            the question was searched for as it stands, since texts have the name as a word too.
    """

    names: tuple[str, ...]
    count: int
    role: AuthorsRole
    event: Literal["authors"] = "authors"


@dataclass(frozen=True, slots=True)
class Truncated:
    """A plan ended early, because it used up the budget ``exhausted``, of which it was ``allowed`` so much."""

    exhausted: Budget
    allowed: float
    event: Literal["truncated"] = "truncated"


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword, its terms, its weight and its translations.

    ``weight`` is what it is ranked by: tf-idf, log-entropy, or one over its rank in a model's list. The best
    translation comes first.
    """

    text: str
    terms: tuple[str, ...]
    weight: float
    translations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords, most important first, and as ``unknown`` the question's words that are not in the index.

    ``model`` is the name of the language model that chose the keywords; empty if they are words of the question.
    Records with all words of one of the ``excluded`` phrases are left out.
    """

    keywords: tuple[Keyword, ...]
    unknown: tuple[str, ...]
    order: KeywordOrder = "tfidf"
    model: str = ""
    excluded: tuple[str, ...] = ()
    event: Literal["keywords"] = "keywords"


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries in the order in which they run. Each is a tuple of keywords, which are joined by OR.

    If the settings ask for ANDs, keywords that are joined by AND are shown as ``a+b``. An excluded one follows a minus.
    """

    queries: tuple[tuple[str, ...], ...]
    event: Literal["queries"] = "queries"


class ScoredDoc(msgspec.Struct, frozen=True):
    """A hit of one query: a struct, since a search makes a hundred of them."""

    docid: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits of all queries, and the candidates that they make together.

    Attributes:
        hits: The hits of each query, best first.
        candidates: The docids of the candidates.
        incomplete: The docids of the records that were left out because they are incomplete.
        dense: The hits of the vectors, best first, scored by cosine. They are candidates too.
        encoder: The name of the encoder that made the vectors; empty if vectors were not searched.
        encoder_is_model: Whether that encoder is a model.
        depth: The number of hits that each query asked for; the largest number if there were several searches, and 0
            if there was none.
    """

    hits: tuple[tuple[ScoredDoc, ...], ...]
    candidates: tuple[str, ...]
    incomplete: tuple[str, ...]
    dense: tuple[ScoredDoc, ...] = ()
    encoder: str = ""
    encoder_is_model: bool = False
    depth: int = 0
    event: Literal["hits"] = "hits"


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """A record in its final place. ``candidate_rank`` is its place before re-ranking; both ranks count from 1.

    ``duplicates`` are the docids of the same paper's other records, which are not ranked.
    """

    rank: int
    candidate_rank: int
    score: float
    record: Record
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confidence:
    """How likely the best record answers the question.

    Attributes:
        value: The share of the answerable questions that the index was calibrated with that have less evidence, from 0
            to 1; where that is below 0.5, less for each word of the question that the best records do not have.
        level: The same in three levels.
        uncovered: The distinctive words of the question that the best records do not have; none at the level high.
        threshold: The value below which the question is refused, unless the request sets another.
        lacking: The distinctive words that an answer names: those that the best record with an abstract, which it
            quotes, does not have. If this record is in the other language, they are the uncovered words without a known
            translation, or none at the level medium. None at the level high.
    """

    value: float
    level: ConfidenceLevel
    uncovered: tuple[str, ...] = ()
    threshold: float = 0.0
    lacking: tuple[str, ...] = ()

    def answers(self, min_confidence: float | None = None) -> bool:
        """Return whether the confidence is enough to answer; ``min_confidence`` replaces the threshold."""
        return self.value >= (self.threshold if min_confidence is None else min_confidence)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The records found, best first; ``reranker`` is the name of the re-ranker.

    ``confidence`` is None if the strategy or the index has no calibration. ``more`` says whether a further page has
    records, or may have some.
    """

    records: tuple[RankedRecord, ...]
    reranker: str
    reranker_is_model: bool
    reason: EmptyReason = ""
    confidence: Confidence | None = None
    more: bool = False
    event: Literal["ranking"] = "ranking"


@dataclass(frozen=True, slots=True)
class Facets:
    """The counts over all hits of the question. The event follows the ranking if the request asks for facets."""

    counts: FacetCounts
    event: Literal["facets"] = "facets"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer, the numbers of the records it cites, and why it is not supported by them, if so.

    ``after_gap`` is true for a quoted sentence where its record has more between it and the one quoted before it.
    """

    text: str
    citations: tuple[int, ...]
    supported: bool = True
    issue: SentenceIssue = ""
    after_gap: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """A record that the answer cites, and its number in the answer.

    ``page`` is the page of the file that a passage stands on, where it was read from a PDF.
    """

    number: int
    docid: str
    title: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """The next sentence of the answer; ``source`` is the source of its section."""

    part: AnswerPart
    sentence: Sentence
    source: Citation | None = None
    event: Literal["answer_sentence"] = "answer_sentence"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of an answer.

    Where all its sentences are of one record, ``source`` is that record, whose title is the heading of the section, and
    ``language`` is that of its text. A related record may be named without a sentence.
    """

    part: AnswerPart
    sentences: tuple[Sentence, ...]
    source: Citation | None = None
    language: Language = "und"


@dataclass(frozen=True, slots=True)
class NearestRecord:
    """A record that is nearest to a question that no record answers."""

    docid: str
    title: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer. If ``reason`` is not empty, it has no sections and no citations.

    Attributes:
        kind: ``extractive``: made of sentences of the records. ``generated``: written from the records by a language
            model. ``closed_book``: written without records, so it cites nothing and no sentence is supported.
        language: The language of the answer.
        sections: The sections, in their order.
        citations: The records that the answer cites.
        reason: Why there is no answer; empty if there is one.
        model: The name of the language model that wrote the answer.
        citation_precision: The share of a generated answer's citations whose sentences are supported. None for the
            other kinds, and for an answer without citations.
        complete: False if the model was cut off.
        choice: The letter of the choice made, or empty. If there is also a ``reason``, no record supports the choice.
        nearest: The records nearest to a question that was refused. They are no citations.
        uncovered: Distinctive words of the question that the quoted record of an extractive answer does not have, or
            that the best records do not have if the answer is a refusal or was generated.
        quoted_language: The language of the quoted record, if it is not the question's.
        uncertain: Whether an extractive answer has low confidence, or a record without title or abstract fits better.
            The answer then quotes the nearest record that can be quoted, which may not answer the question.
        listing: What an extractive answer lists for a question that no single record answers; empty for other
            questions. It then quotes one of these records, and names the others.
        suggestion: The question with misspelled words as the records spell them. Only a refused question or an
            uncertain answer can have one, and most have none.
    """

    kind: Literal["extractive", "generated", "closed_book"]
    language: Literal["ko", "en"]
    sections: tuple[Section, ...]
    citations: tuple[Citation, ...]
    reason: EmptyReason = ""
    model: str = ""
    citation_precision: float | None = None
    complete: bool = True
    choice: str = ""
    nearest: tuple[NearestRecord, ...] = ()
    uncovered: tuple[str, ...] = ()
    quoted_language: Literal["ko", "en"] | None = None
    uncertain: bool = False
    listing: ListingKind = ""
    suggestion: str = ""
    event: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True)
class Timings:
    """The seconds of each stage, in order; the last event of every stream.

    ``cached`` says that the answer was made for an earlier question. Then the look-up is the only stage.
    """

    seconds: dict[str, float]
    cached: bool = False
    event: Literal["timings"] = "timings"


Event = (
    FollowUp
    | Authors
    | Keywords
    | Queries
    | Hits
    | Ranking
    | Facets
    | AnswerSentence
    | Answer
    | ModelCall
    | Fallback
    | Node
    | Truncated
    | Timings
)
