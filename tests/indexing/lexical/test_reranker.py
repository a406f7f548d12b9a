from __future__ import annotations

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.bm25 import idf
from shrag.indexing.lexical.reranker import LexicalReranker, QuestionReranker
from shrag.indexing.translation.query_translation import analyze_question
from shrag.models.reranker import Passage
from shrag.serving.engine import Engine

# Written out, so that a change of the module's own is noticed.
LONGEST_SENTENCE = 16
MOST_OF_WORD = 1.2
PAIR_WEIGHT = 0.2
SENTENCE_WEIGHT = 0.3
SENTENCE_WORDS = 6

QUESTION = "graphene shielding"
WORDS = ("shield", "graphen")  # in another order than in the question, so that they are no pair


@pytest.fixture
def reranker(demo: Engine) -> LexicalReranker:
    index = demo.open_index
    return LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25)


def _passage(*sentences: list[str]) -> Passage:
    return Passage("", "", [], sentences)


def _apart(distance: int) -> list[str]:
    """Return a sentence with as many other terms between the question's two, and 200 terms in all."""
    return [WORDS[0], *["other"] * distance, WORDS[1], *["other"] * (198 - distance)]


def test_in_a_text_without_full_stops_words_far_apart_are_not_in_one_sentence(
    reranker: LexicalReranker, demo: Engine
) -> None:
    terms = _apart(150)
    near, far, apart = reranker.score(
        QUESTION, [_passage(_apart(0)), _passage(terms), _passage(terms[:100], terms[100:])]
    )
    assert near > far == apart
    contents = demo.open_index.searcher.statistics(WORDS).contents
    rarest_left_out = min(idf(contents.document_frequencies[word], contents.documents) for word in WORDS)
    assert near - far == pytest.approx(SENTENCE_WEIGHT * rarest_left_out)


def test_a_sentence_as_long_as_sentences_are_is_taken_whole(reranker: LexicalReranker) -> None:
    ends = [WORDS[0], *["other"] * (LONGEST_SENTENCE - 2), WORDS[1]]
    filled = [*WORDS, *["other"] * (LONGEST_SENTENCE - 2)]
    whole, together = reranker.score(QUESTION, [_passage(ends), _passage(filled)])
    assert whole == together


@pytest.mark.parametrize("place", [0, 7, 9, 10, 11, 19, 21, 95, 179, 190, 191, 192, 198])
def test_words_side_by_side_are_found_together_wherever_they_stand(reranker: LexicalReranker, place: int) -> None:
    terms = ["other"] * place + list(WORDS)
    filled = terms + ["other"] * (200 - len(terms))
    assert reranker.score(QUESTION, [_passage(filled)]) == reranker.score(QUESTION, [_passage(_apart(0))])


@pytest.mark.parametrize("often", [1, 2, 9])
def test_a_word_found_often_counts_little_more_than_one_found_once(demo: Engine, often: int) -> None:
    idf_of_word, words, total = _score_of_word(demo, "graphene", ["graphen"] * often + ["other"] * 20)
    assert 0.3 < words / idf_of_word < MOST_OF_WORD
    assert total == pytest.approx(idf_of_word * (words / idf_of_word) ** 0.75)


def test_a_word_of_several_terms_counts_no_more_than_a_single_one(demo: Engine) -> None:
    idf_of_rarest, words, total = _score_of_word(demo, "GPT-4", ["gpt", "4", "gpt4"])
    assert words > 1.5 * idf_of_rarest
    assert total == pytest.approx(idf_of_rarest * MOST_OF_WORD**0.75)


def _score_of_word(demo: Engine, word: str, sentence: list[str]) -> tuple[float, float, float]:
    """Return the idf of a word's rarest term, and what BM25 and the ranking score count of it in a sentence."""
    index = demo.open_index
    asked = analyze_question(word, index.analyzer, index.searcher)
    (segment,) = (each for each in asked.segments if each.is_content)
    record = AnalyzedRecord(Record("d", "", "x", "en", complete=True), "", (" ".join(sentence),))
    (score,) = QuestionReranker(asked, index.manifest.bm25).score_records([record])
    in_sentence = SENTENCE_WEIGHT * sum(asked.idf[term] for term in segment.terms)
    return max(asked.idf[term] for term in segment.terms), score.words - in_sentence, score.total - in_sentence


def test_a_word_counts_by_its_translation_in_every_passage_whatever_its_language(demo: Engine) -> None:
    index = demo.open_index
    bilingual = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25, index.glossary)
    assert index.glossary is not None
    entry = next(
        entry
        for entry in index.glossary.entries()
        if len(entry.korean_terms) == len(entry.english_terms) == 1 and entry.source != "user"
    )
    (korean,), (english,) = entry.korean_terms, entry.english_terms
    in_english, mixed, neither = bilingual.score(
        entry.korean, [_passage([english, "other"]), _passage([english, "다른"]), _passage(["other", "다른"])]
    )
    assert in_english == mixed > neither == 0
    own, both = bilingual.score(entry.korean, [_passage([korean, "other"]), _passage([korean, english])])
    assert both >= own > 0


def test_words_that_follow_each_other_as_in_the_question_add_the_lesser_idf(
    reranker: LexicalReranker, demo: Engine
) -> None:
    ordered, reversed_, apart = reranker.score(
        QUESTION,
        [_passage(["graphen", "shield"]), _passage(["shield", "graphen"]), _passage(["graphen", "x", "shield"])],
    )
    contents = demo.open_index.searcher.statistics(WORDS).contents
    lesser = min(idf(contents.document_frequencies[word], contents.documents) for word in WORDS)
    assert ordered - reversed_ == pytest.approx(PAIR_WEIGHT * lesser)
    assert apart < reversed_  # the longer passage


def test_a_pair_counts_once_however_often_and_not_across_sentences(reranker: LexicalReranker) -> None:
    once, twice, divided, reversed_ = reranker.score(
        QUESTION,
        [
            _passage(["graphen", "shield"], ["graphen", "shield"]),
            _passage(["graphen", "shield", "graphen", "shield"]),
            _passage(["graphen"], ["shield"], ["shield", "graphen"]),
            _passage(["shield", "graphen"], ["shield", "graphen"]),
        ],
    )
    assert once == twice > reversed_ == divided


def test_the_parts_of_a_compound_and_of_its_translation_are_pairs(demo: Engine) -> None:
    index = demo.open_index
    reranker = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25, index.glossary)
    compound, reversed_, in_english, scattered = reranker.score(
        "인공 신경망",
        [
            _passage(["인공", "인공신경망", "신경망"]),
            _passage(["신경망", "인공신경망", "인공"]),
            _passage(["artifici", "neural", "network"]),
            _passage(["network", "neural", "artifici"]),
        ],
    )
    assert compound > reversed_ > 0
    assert in_english > scattered > 0


def test_a_long_question_asks_less_of_a_single_sentence(reranker: LexicalReranker, demo: Engine) -> None:
    together, apart = [list(WORDS)], [[WORDS[0]], [WORDS[1]]]
    short, long = QUESTION, f"{QUESTION} {' '.join(f'unheard{number}' for number in range(10))}"

    def bonus(question: str) -> float:
        first, second = reranker.score(question, [_passage(*together), _passage(*apart)])
        return first - second

    assert bonus(long) == pytest.approx(bonus(short) * SENTENCE_WORDS / 12)


def test_a_compound_counts_by_its_words_alone(demo: Engine) -> None:
    index = demo.open_index
    reranker = LexicalReranker(index.analyzer, index.searcher, index.manifest.bm25)
    parts, whole = reranker.score(
        "인공신경망", [_passage(["인공", "신경망"]), _passage(["인공", "신경망", "인공신경망"])]
    )
    assert parts >= whole > 0
