from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter
from shrag.serving.engine import Engine
from shrag.serving.events import Authors
from shrag.serving.retrieval.named_authors import NamedAuthors, authors_event, find_named_authors
from tests.support.author_index import AuthoredRecord, open_author_index

KAVRAKI = "kavraki, lydia e."


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An index of authors with rare and with common names."""
    records = [
        AuthoredRecord("Motion planning of robots", "Kavraki, Lydia E.;Moll, Mark"),
        AuthoredRecord("Planning under uncertainty", "Kavraki, Lydia E."),
        AuthoredRecord("Protein folding as Hassabis saw it", "Chilton, Lydia"),
        AuthoredRecord("Guiding intuition in mathematics", "Hassabis, Demis"),
        *[AuthoredRecord(f"신경망으로 수요를 예측하는 연구 {number}", "신경망;La, Hyun-Jung") for number in range(4)],
        AuthoredRecord("조명 제어 기술", "장혁진"),
        *[AuthoredRecord(f"Baker's yeast and young people {number}", "Baker, Ann") for number in range(4)],
        AuthoredRecord("Bread", "Baker, Tom;Young, Ann"),
        *[AuthoredRecord(f"Nests that a weaver builds {number}", "Weaver, Jo") for number in range(3)],
    ]
    with open_author_index(tmp_path_factory.mktemp("authors"), records) as engine:
        yield engine


def find(question: str, authors: Engine, record_filter: RecordFilter = EVERY_RECORD) -> NamedAuthors | None:
    return find_named_authors(question, record_filter, authors.open_index)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Kavraki", KAVRAKI),
        ("kavraki", KAVRAKI),
        ("L. Kavraki", KAVRAKI),
        ("Kavraki, L. E.", KAVRAKI),
        ("Lydia E. Kavraki", KAVRAKI),
        ("Lydia Kavraki", KAVRAKI),
        ("papers by Kavraki", KAVRAKI),
        ("Kavraki's papers", KAVRAKI),
        ("Kavraki et al.", KAVRAKI),
        ("What did Kavraki publish?", KAVRAKI),
        ("Kavraki의 논문", KAVRAKI),
        ("author: Hassabis", "hassabis, demis"),
        ("papers by Hassabis", "hassabis, demis"),
        ("Hassabis의 논문", "hassabis, demis"),
        ("Hyunjung La", "la, hyun-jung"),
        ("Tom Baker", "baker, tom"),
        ("장혁진", "장혁진"),
        ("장혁진의 논문", "장혁진"),
        ("장혁진 교수의 논문", "장혁진"),
        ("장혁진교수님의 논문", "장혁진"),
        ("논문 by 장혁진", "장혁진"),
        ("저자: 신경망", "신경망"),
        ("신경망 교수의 논문", "신경망"),
    ],
)
def test_a_question_may_be_an_authors_name_alone(authors: Engine, question: str, name: str) -> None:
    found = find(question, authors)
    assert found is not None
    assert (found.names, found.certain, found.topic) == ((name,), True, "")


@pytest.mark.parametrize(
    ("question", "name", "topic"),
    [
        ("Kavraki motion planning", KAVRAKI, "motion planning"),
        ("papers by Kavraki on motion planning", KAVRAKI, "papers on motion planning"),
        ("papers by Lydia E. Kavraki on robots", KAVRAKI, "papers on robots"),
        ("What did Kavraki find about robots?", KAVRAKI, "What did find about robots?"),
        ("Kavraki가 발표한 로봇 연구", KAVRAKI, "로봇 연구"),
        ("장혁진의 조명 연구", "장혁진", "조명 연구"),
        ("조명 연구, 저자 장혁진", "장혁진", "조명 연구,"),
        ("papers by Hassabis on intuition", "hassabis, demis", "papers on intuition"),
    ],
)
def test_the_rest_of_a_question_is_its_topic(authors: Engine, question: str, name: str, topic: str) -> None:
    found = find(question, authors)
    assert found is not None
    assert (found.names, found.certain, found.topic) == ((name,), True, topic)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Hassabis", ("hassabis, demis",)),
        ("Hassabis AlphaFold", ("hassabis, demis",)),
        ("신경망", ("신경망",)),
        ("Baker", ("baker, ann", "baker, tom")),
        ("Weaver nests", ("weaver, jo",)),  # three texts have it; of Baker there are four
    ],
)
def test_a_word_of_texts_only_may_be_a_name(authors: Engine, question: str, names: tuple[str, ...]) -> None:
    found = find(question, authors)
    assert found is not None
    assert (found.names, found.certain) == (names, False)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "robots",
        "Baker yeast",
        "studies by young people",
        "신경망 수요 예측",
        "Lydia Newton robots",
        "Is kavraki a word of the English language?",
        "How do Hassabis and his group predict how proteins fold?",
        "Kavraki " * 30,
    ],
)
def test_common_words_and_given_names_among_other_words_are_no_names(authors: Engine, question: str) -> None:
    assert find(question, authors) is None


def test_all_authors_of_a_name_are_found_those_with_more_records_first(authors: Engine) -> None:
    found = find("papers by Baker", authors)
    assert found is not None
    assert (found.names, found.marked) == (("baker, ann", "baker, tom"), True)
    given = find("Lydia", authors)
    assert given is not None
    assert given.names == (KAVRAKI, "chilton, lydia")


def test_two_authors_may_be_named(authors: Engine) -> None:
    found = find("Kavraki and Moll", authors)
    assert found is not None
    assert (found.names, found.topic, found.written) == ((KAVRAKI, "moll, mark"), "", ("Kavraki", "Moll"))


def test_words_of_one_name_are_no_other_names_and_the_next_author_is_found_too(authors: Engine) -> None:
    found = find("Lydia E. Kavraki with Mark Moll", authors)
    assert found is not None
    assert (set(found.names), found.written) == ({KAVRAKI, "moll, mark"}, ("Lydia E. Kavraki", "Mark Moll"))


def test_a_name_of_the_filter_is_certain_and_others_are_not_named(authors: Engine) -> None:
    found = find("Hassabis intuition", authors, RecordFilter(author=("Hassabis, Demis",)))
    assert found is not None
    assert (found.names, found.certain, found.topic) == (("hassabis, demis",), True, "intuition")
    assert find("Kavraki", authors, RecordFilter(author=("Hassabis, Demis",))) is None


def test_an_index_that_finds_no_authors_has_none(authors: Engine) -> None:
    assert find_named_authors("Kavraki", EVERY_RECORD, replace(authors.open_index, authors=None)) is None


def test_the_event_has_the_first_names_as_records_have_them_and_counts_all(authors: Engine) -> None:
    names = (KAVRAKI, "baker, ann", "moll, mark", "baker, tom", "young, ann", "장혁진")
    named = NamedAuthors(names, True, "", (), False)
    shown = ("Kavraki, Lydia E.", "Baker, Ann", "Moll, Mark", "Baker, Tom", "Young, Ann")
    assert authors_event(named, "first", authors.open_index) == Authors(shown, 6, "first")
