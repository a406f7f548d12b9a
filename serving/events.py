"""Event types of one question (keywords, hits, ranking, answer, timings).

Each carries an ``event`` tag, so a stream of them survives JSON in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shrag.corpora.records import Record

Part = Literal["title", "introduction", "body", "conclusion"]
"""The parts of an answer, in their order."""

Reason = Literal["", "no_keywords", "unknown_words", "nothing_found", "nothing_fits", "not_searched"]
"""Why there is nothing: the question has no word to search for; the index has none of its words; no complete record was
found; none of those found answers; the way of answering looks nothing up. Empty where there is something."""


KeywordOrder = Literal["tfidf", "model", "entropy"]
"""What keywords are ranked by: tf-idf, the place a language model gave them, or log-entropy."""

Issue = Literal["", "no_citation", "no_such_record", "number", "name", "quote", "unrelated"]
"""What is wrong with a sentence: it cites nothing; it cites a record that is not there; a number, a name or a quotation
of it does not stand in the records cited; it shares too little with them. Empty where nothing is."""


Purpose = Literal["keywords", "decompose", "query", "hypothesis", "step", "evaluate", "answer"]
"""What a language model is asked for: keywords; questions that a question is made of; words to search by; an answer
supposed before anything was found; the answer to one step; whether an answer answers; the answer."""

NodeKind = Literal[
    "question",
    "rewrite",
    "part",
    "step",
    "bridging",
    "intersection",
    "comparison",
    "hybrid",
    "augmentation",
    "hypothesis",
    "expansion",
]
"""How a question came to be asked: by the reader; as the reader's in simpler words; as one of independent parts; as one
of ordered steps; by what joins it to its siblings in a tree of questions; as a further query for the reader's; as an
answer supposed to it; or as the reader's in the other language."""

NodeState = Literal["open", "answered", "unanswered", "skipped"]
"""How far a question of the plan is; ``skipped`` is one that was not worked on because something had run out."""

Budget = Literal["depth", "nodes", "calls", "seconds"]
"""What a plan has a budget of."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A language model was asked. ``repaired`` says that its first answer had to be asked for again."""

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
    """A stage was done without the language model, because of what ``message`` says of it.

    ``cause`` is for programs: the model does not answer, it refuses, or what it wrote is not what it was asked for.
    """

    stage: Purpose
    cause: Literal["unavailable", "refused", "invalid_output"]
    message: str
    event: Literal["fallback"] = "fallback"


@dataclass(frozen=True, slots=True)
class Assessment:
    """How well an answer answers.

    ``coherence`` is from 1 to 10, ``answerability`` in percent, ``overall`` the mean of both on the scale of the first.
    ``valid`` is the verdict; ``judge`` names the model that gave it, empty where it was reckoned without one.
    """

    coherence: int
    answerability: int
    overall: float
    valid: bool
    judge: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A question of the plan as it stands now; a later event of the same ``number`` takes its place.

    The reader's own question is number 0 and has no parent. ``needs`` are the nodes whose answers its text has, or is
    waiting for. ``query`` is what was searched by, ``docids`` what was found, best first. ``answer`` is what is known,
    and stands word for word in the record ``source`` where that is not empty.
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
class Truncated:
    """The plan ended early: it used up the budget ``exhausted``, of which it was ``allowed`` so much."""

    exhausted: Budget
    allowed: float
    event: Literal["truncated"] = "truncated"


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword, its terms, its weight and its translations, the surest first.

    ``weight`` is what it was ranked by: tf-idf, log-entropy, or one over the place a model gave it.
    """

    text: str
    terms: tuple[str, ...]
    weight: float
    translations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords in order of importance, and the question's words that the index does not have.

    ``model`` names the language model that chose them, empty where they are the question's own words.
    """

    keywords: tuple[Keyword, ...]
    unknown: tuple[str, ...]
    order: KeywordOrder = "tfidf"
    model: str = ""
    event: Literal["keywords"] = "keywords"


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries in the order they are run, each as the keywords it joins by OR.

    Where settings ask for them, AND is a plus between keywords, and what is left out stands behind a minus.
    """

    queries: tuple[tuple[str, ...], ...]
    event: Literal["queries"] = "queries"


@dataclass(frozen=True, slots=True)
class ScoredDoc:
    """A hit of one query."""

    docid: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits of each query, best first; docids of the candidates they make together, and of those left out as incomplete.

    ``dense`` are the hits of the vectors, best first, scored by cosine; they are candidates too. ``encoder`` names what
    made the vectors, empty where they were not searched, and ``encoder_is_model`` says whether that is a model.
    """

    hits: tuple[tuple[ScoredDoc, ...], ...]
    candidates: tuple[str, ...]
    incomplete: tuple[str, ...]
    dense: tuple[ScoredDoc, ...] = ()
    encoder: str = ""
    encoder_is_model: bool = False
    event: Literal["hits"] = "hits"


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """A record in its final place. ``candidate_rank`` is its place before re-ranking; both ranks count from 1.

    ``duplicates`` are the docids of the same paper's other records, which have no place of their own.
    """

    rank: int
    candidate_rank: int
    score: float
    record: Record
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The records found, best first. ``reranker`` names what ranked, ``reranker_is_model`` whether that is a model."""

    records: tuple[RankedRecord, ...]
    reranker: str
    reranker_is_model: bool
    reason: Reason = ""
    event: Literal["ranking"] = "ranking"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer and the numbers of the records it cites.

    ``supported`` is false where a check failed, and ``issue`` says which.
    """

    text: str
    citations: tuple[int, ...]
    supported: bool = True
    issue: Issue = ""


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """The answer grows by a sentence."""

    part: Part
    sentence: Sentence
    event: Literal["answer_sentence"] = "answer_sentence"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of an answer."""

    part: Part
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A record the answer may cite, under the number it cites it by."""

    number: int
    docid: str
    title: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer; where ``reason`` is not empty, nothing is claimed or cited.

    ``kind``: ``extractive`` is made of sentences of the records; ``generated`` was written from them by the language
    model ``model``; ``closed_book`` was written without records, so it cites nothing and no sentence is supported.
    ``citation_precision`` is the share of citations whose sentences are supported, None where there is no citation.
    ``complete`` is false where the model was cut off. ``choice`` is the letter of the choice made, or empty; where
    there is also a ``reason``, no record supports it.
    """

    kind: Literal["extractive", "generated", "closed_book"]
    language: Literal["ko", "en"]
    sections: tuple[Section, ...]
    citations: tuple[Citation, ...]
    reason: Reason = ""
    model: str = ""
    citation_precision: float | None = None
    complete: bool = True
    choice: str = ""
    event: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds each stage took, in order; the last event of every stream.

    ``cached`` says that the answer was made for an earlier question like this one: the only stage is finding it again.
    """

    seconds: dict[str, float]
    cached: bool = False
    event: Literal["timings"] = "timings"


Event = (
    Keywords | Queries | Hits | Ranking | AnswerSentence | Answer | ModelCall | Fallback | Node | Truncated | Timings
)
