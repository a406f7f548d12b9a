from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shrag.corpora.formats.topics import read_topics
from shrag.indexing.analyzed_record import AnalyzedRecord, PackedRecord
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.packed_question import RecordScore, pack_question
from shrag.indexing.lexical.reranker import QuestionReranker, weigh_question
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.query import any_of
from shrag.indexing.translation.query_translation import AnalyzedQuestion, analyze_question
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine

DEMO = Path(__file__).resolve().parents[3] / "corpora" / "demo"

QUESTIONS = (
    "딥러닝과 강화학습을 이용한 자율주행 자동차의 경로 계획은 어떻게 하는가?",
    "How do deep neural networks and reinforcement learning plan the path of self-driving cars?",
    "graphene graphene shielding of graphene",
    "the GPT-4 model",
    "논문을 요약해 주세요",
    "?",
)


def _ask(demo: Engine, question: str) -> AnalyzedQuestion:
    index = demo.open_index
    return analyze_question(question, index.analyzer, index.searcher, index.glossary)


def test_records_of_the_demonstration_have_the_same_scores_in_java_as_in_python_to_the_last_bit(demo: Engine) -> None:
    index, compared, pairs = demo.open_index, 0, 0
    assert index.scorer is not None
    for topic in read_topics(DEMO / "topics.tsv"):
        question = _ask(demo, topic.text)
        (hits,) = index.searcher.search([any_of(question.terms)], 40)
        records = [each for each in index.store.fetch([hit.docid for hit in hits]) if each is not None]
        expected = QuestionReranker(question, index.manifest.bm25).score_records(records)
        scored = QuestionReranker(question, index.manifest.bm25, scorer=index.scorer).score_records(records)
        assert scored == expected, topic.text
        without = QuestionReranker(question, index.manifest.bm25, 0.0).score_records(records)
        assert [each.words for each in scored] == [each.words for each in without], topic.text
        compared += len(records)
        pairs += any(one.total > other.total for one, other in zip(scored, without, strict=True))
    assert compared > 1_000
    assert pairs > 20, "few rankings depend on pairs of words"


class _Texts:
    """An index of texts of any terms, and the same texts as passages."""

    def __init__(self, folder: Path, texts: Sequence[Sequence[Sequence[str]]]) -> None:
        self.passages = [Passage("", "", title, sentences, f"d{n}") for n, (title, *sentences) in enumerate(texts)]
        with LuceneIndexWriter(folder, Bm25()) as writer:
            for passage, lines in zip(self.passages, texts, strict=True):
                title, contents = " ".join(passage.title_terms), "\n".join(" ".join(line) for line in lines)
                writer.add([PackedRecord(passage.docid, title, contents, "{}", "")])
            writer.commit({})
        self.searcher = LuceneSearcher(folder, Bm25())

    def scores(self, question: AnalyzedQuestion) -> list[RecordScore]:
        packed = pack_question(weigh_question(question, Bm25()))
        return self.searcher.score_records(packed, [each.docid for each in self.passages])


@pytest.fixture(scope="module")
def texts(demo: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Texts]:
    """Three hundred texts of the questions' terms and others, with titles and sentences of any length, also none."""
    rng = random.Random(7)
    own = [term for question in map(_ask, [demo] * len(QUESTIONS), QUESTIONS) for term in question.idf]
    compounds = [one + other for one in own[:8] for other in own[:8]]
    vocabulary = [*own, *own, *compounds, "x", "딥러닝망", "\U0001f600", "a\u0301", *(f"other{n}" for n in range(40))]

    def line() -> list[str]:
        return rng.choices(vocabulary, k=rng.choice((0, 1, 2, 5, 15, 16, 17, 24, 25, 60)))

    folder = tmp_path_factory.mktemp("texts") / "lucene"
    made = _Texts(folder, [[line() for _ in range(rng.randrange(1, 8))] for _ in range(300)])
    yield made
    made.searcher.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize("question", QUESTIONS)
def test_texts_of_any_length_have_the_same_scores_in_java_as_in_python(
    demo: Engine, texts: _Texts, question: str
) -> None:
    asked = _ask(demo, question)
    expected = QuestionReranker(asked, Bm25()).score(asked.text, texts.passages)
    assert [each.total for each in texts.scores(asked)] == expected
    assert [each.total for each in texts.scores(asked)] == expected, "of contents that were kept"
    assert len(set(expected)) > 100 or not asked.idf or question == QUESTIONS[4]


def test_no_records_and_no_terms_have_no_scores(demo: Engine, texts: _Texts) -> None:
    asked = pack_question(weigh_question(_ask(demo, QUESTIONS[0]), Bm25()))
    assert texts.searcher.score_records(asked, []) == []
    nothing = pack_question(weigh_question(_ask(demo, "?"), Bm25()))
    assert texts.searcher.score_records(nothing, ["d0", "d1"]) == [(0.0, 0.0)] * 2


def test_a_record_that_is_not_in_the_index_is_the_callers_error_and_no_damage(demo: Engine, texts: _Texts) -> None:
    asked = pack_question(weigh_question(_ask(demo, QUESTIONS[0]), Bm25()))
    with pytest.raises(ValueError, match="'missing' is not in the index"):
        texts.searcher.score_records(asked, ["d0", "missing"])


def test_without_a_scorer_records_are_scored_as_their_passages(demo: Engine) -> None:
    index, question = demo.open_index, _ask(demo, QUESTIONS[1])
    records: list[AnalyzedRecord] = index.store.sample(20)
    in_python = QuestionReranker(question, index.manifest.bm25).score_records(records)
    assert QuestionReranker(question, index.manifest.bm25, scorer=index.scorer).score_records(records) == in_python
