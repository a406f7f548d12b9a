"""Citations: quotes verified, issues found, precision."""

from __future__ import annotations

import pytest

from shrag.corpora.records import PAGE, Record
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.serving.answering.citations import (
    citation_precision,
    cite,
    find_issue,
    make_citations,
    number_in_order,
    verify_quotes,
    verify_support,
)
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, Citation, Section, Sentence, SentenceIssue
from shrag.serving.retrieval.query_terms import matched_share, text_terms


def test_only_verbatim_sentences_of_the_cited_record_are_supported(record: Record) -> None:
    sentences = {
        "그래핀(graphene) 필름을 만들었다.": (1,),
        "그래핀 차폐재": (1,),
        "그래핀(graphene) 필름을 만들었다": (1,),
        "그래핀(graphene) 필름을 부수었다.": (1,),
        "차폐 효율은 30 dB였다.": (2,),
        "차폐 효율은 30 dB였다": (0,),
        "차폐 효율은": (1, 2),
        "무엇이나": (),
    }
    section = Section("body", tuple(Sentence(text, numbers) for text, numbers in sentences.items()))
    checked = verify_quotes(Answer("extractive", "ko", (section,), ()), [record])
    assert [sentence.supported for sentence in checked.sections[0].sentences] == [
        True, True, True, False, False, False, False, True,
    ]  # fmt: skip


def test_a_record_that_does_not_exist_is_the_issue_of_a_sentence_that_another_lacks(record: Record) -> None:
    section = Section("body", (Sentence("무엇이나", (2, 1)),))
    (checked,) = verify_quotes(Answer("extractive", "ko", (section,), ()), [record]).sections
    assert [sentence.issue for sentence in checked.sentences] == ["no_such_record"]


def test_citations_are_numbered_from_one_in_the_order_of_the_sections(record: Record) -> None:
    sections = [
        Section("record", (Sentence("a", (9,)), Sentence("b", (9,))), cite(9, record)),
        Section("related", (Sentence("c", (2,)),), cite(2, record)),
        Section("related", (), cite(10, record)),
    ]
    cited = tuple(cite(number, record) for number in (2, 9, 10))
    numbered = number_in_order(Answer("extractive", "ko", tuple(sections), cited))
    assert [each.number for each in numbered.citations] == [1, 2, 3]
    assert [each.source and each.source.number for each in numbered.sections] == [1, 2, 3]
    assert [[each.citations for each in section.sentences] for section in numbered.sections] == [
        [(1,), (1,)], [(2,)], [],
    ]  # fmt: skip
    assert number_in_order(Answer("extractive", "ko", (), ())) == Answer("extractive", "ko", (), ())


@pytest.mark.parametrize(
    ("sentences", "precision"),
    [
        ([Sentence("a", (1, 2)), Sentence("b", (1,), supported=False, issue="number")], 2 / 3),
        ([Sentence("a", (1,)), Sentence("b", (), supported=False, issue="no_such_record")], 1 / 2),
        ([Sentence("a", (1,)), Sentence("b", (), supported=False, issue="no_citation")], 1.0),
        ([Sentence("b", (), supported=False, issue="no_citation")], None),
    ],
)
def test_the_precision_counts_citations_and_those_of_records_that_do_not_exist(
    sentences: list[Sentence], precision: float | None
) -> None:
    answer = Answer("generated", "en", (Section("body", tuple(sentences)),), ())
    assert citation_precision(answer) == precision


KOREAN = Record(
    "K",
    "그래핀 복합재의 전자파 차폐",
    "COVID19 이후 그래핀(graphene) 필름 1,200장을 만들었다. 차폐 효율은 30.5 dB였고 세 가지 두께를 견주었다. "
    "저자는 “얇을수록 차폐가 약하다”고 보았다.",
    "ko",
    complete=True,
    year=2021,
)
ENGLISH = Record(
    "E",
    "Telework and family conflict in Daejeon",
    "A survey of 412 parents found that telework increased conflict between work and family. LSTM models were unused.",
    "en",
    complete=True,
    authors=("Park, Jiyoung",),
    journal="Journal of Housework",
    keywords=("NVivo",),
)
ENGLISH_TITLE = Record("T", "Solar panels in Busan", "태양광 패널을 세웠다.", "ko", complete=True)
KOREAN_TITLE = Record("L", "부산의 태양광 패널", "Solar panels of the city.", "en", complete=True)


@pytest.fixture(scope="module")
def evidence(demo: Engine) -> list[AnalyzedRecord]:
    return [
        analyze_record(record, demo.open_index.analyzer) for record in (KOREAN, ENGLISH, ENGLISH_TITLE, KOREAN_TITLE)
    ]


@pytest.mark.parametrize(
    ("text", "citations", "issue"),
    [
        ("그래핀 필름 1200장의 차폐 효율은 30.5 dB였다.", (1,), ""),
        ("그래핀 필름의 두께 3가지를 견주었다.", (1,), ""),
        ("2021년 연구에서 COVID-19 이후 필름을 만들었다.", (1,), ""),
        ("저자는 “얇을수록 차폐가 약하다”고 하였다.", (1,), ""),
        ("그래핀 필름의 차폐 효율은 31 dB였다.", (1,), "number"),
        ("그래핀 필름 4가지를 견주었다.", (1,), "number"),
        # The record has 이후 and 얇을수록, which are no numbers, and neither is "found" of the English one.
        ("그래핀 필름 2장을 만들었다.", (1,), "number"),
        ("그래핀 필름은 MXene보다 차폐가 약하다.", (1,), "name"),
        ("저자는 “두꺼울수록 차폐가 약하다”고 하였다.", (1,), "quote"),
        ("고양이는 우유를 좋아하지만 개는 그렇지 않다.", (1,), "unrelated"),
        ("그래핀 필름의 차폐 효율을 쟀다.", (), "no_citation"),
        ("그래핀 필름의 차폐 효율을 쟀다.", (1, 5), "no_such_record"),
        ("그래핀 필름의 차폐 효율을 쟀다.", (0,), "no_such_record"),
        ("Telework increased conflict for 412 parents in Daejeon.", (2,), ""),
        ("Telework increased conflict for parents in Busan.", (2,), "name"),
        ("Transformers and LSTM models predicted the conflict.", (1,), "name"),
        ("Cats drink milk while dogs bark at strangers.", (2,), "unrelated"),
        # In the other language words are told apart by numbers and names alone.
        ("부모 412명을 조사하니 재택근무가 갈등을 키웠다.", (2,), ""),
        ("부모 413명을 조사하니 재택근무가 갈등을 키웠다.", (2,), "number"),
        ("The film of Seoul shields 30.5 dB.", (1,), ""),
        ("Film and telework: 30.5 dB for 412 parents.", (1, 2), ""),
        ("Telework increased conflict for parents.", (1, 2), ""),
        ("Cats drink milk while dogs bark at strangers.", (3,), "unrelated"),
        ("Cats drink milk while dogs bark at strangers.", (4,), "unrelated"),
        # The names of a record are those of all its fields, and a Korean sentence's are Latin words from three letters.
        ("Park의 조사에서 갈등이 커졌다.", (2,), ""),
        ("Lee의 조사에서 갈등이 커졌다.", (2,), "name"),
        ("Xu의 조사에서 갈등이 커졌다.", (2,), ""),
        ("Housework에 실린 조사에서 갈등이 커졌다.", (2,), ""),
        ("조사를 NVivo로 풀었다.", (2,), ""),
        ("그래핀 필름의 차폐 효율에 R&D가 들었다.", (1,), "name"),
        # The first word of a sentence has a capital letter, also in quotation marks or parentheses.
        ('"Mostly" telework increased conflict for parents.', (2,), ""),
        ("“Mostly” telework increased conflict for parents.", (2,), ""),
        ("'Mostly' telework increased conflict for parents.", (2,), ""),
        ("(Mostly) telework increased conflict for parents.", (2,), ""),
    ],
)
def test_an_unsupported_sentence_has_its_issue(
    demo: Engine, evidence: list[AnalyzedRecord], text: str, citations: tuple[int, ...], issue: SentenceIssue
) -> None:
    assert find_issue(Sentence(text, citations), evidence, demo.open_index) == issue


def test_of_the_citations_of_a_sentence_those_of_records_stay(demo: Engine, evidence: list[AnalyzedRecord]) -> None:
    text = "Telework increased conflict for parents."
    supported, unsupported, lacking = (
        verify_support(Sentence(text, numbers), evidence[:2], demo.open_index) for numbers in ((2, 1), (1,), (0, 2, 3))
    )
    assert supported == Sentence(text, (2, 1))
    assert unsupported == Sentence(text, (1,))  # in the record's other language words do not count
    assert lacking == Sentence(text, (2,), supported=False, issue="no_such_record")


def test_the_citations_of_an_answer_are_those_of_its_sentences_and_sections_in_order() -> None:
    records = [Record(f"D{number}", f"Waves {number}", "High.", "en", complete=True) for number in range(1, 9)]
    source = cite(4, records[3])
    sections = [Section("body", (Sentence("High.", (8, 1)),)), Section("record", (Sentence("High.", (1,)),), source)]
    assert [(each.number, each.docid, each.title) for each in make_citations(sections, records)] == [
        (1, "D1", "Waves 1"), (4, "D4", "Waves 4"), (8, "D8", "Waves 8"),
    ]  # fmt: skip
    paged = Record("P", "Waves", "High.", "en", complete=True, other=((PAGE, "3-4"),))
    assert cite(1, paged) == Citation(1, "P", "Waves", "3-4")


@pytest.mark.parametrize("marks", ["“”", '""', "「」", "『』", "‘’"])
def test_a_quotation_counts_from_eight_characters(demo: Engine, evidence: list[AnalyzedRecord], marks: str) -> None:
    opening, closing = marks[0], marks[1]

    def issue(quoted: str) -> SentenceIssue:
        text = f"그래핀 필름의 차폐 효율을 {opening}{quoted}{closing} 하고 견주었다."
        return find_issue(Sentence(text, (1,)), evidence, demo.open_index)

    assert [issue("얇으면 강하다"), issue("얇으면 더강하다")] == ["", "quote"]
    assert issue("얇을수록 차폐가 약하다") == ""


def test_a_sentence_is_related_from_three_tenths_of_its_words(demo: Engine, evidence: list[AnalyzedRecord]) -> None:
    index = demo.open_index
    cited = "그래핀 필름 차폐 효율 전자파 복합재 두께".split()
    others = "고양이 우유 대학 교육 도서관 양파 소음 갈등 가격 하천 토양 기후".split()
    shares: dict[str, list[float]] = {"": [], "unrelated": []}
    for held in range(1, len(cited) + 1):
        for other in range(len(others) + 1):
            text = " ".join([*cited[:held], *others[:other], "보았다."])
            share = matched_share(text_terms(text, index), set(evidence[0].contents_terms))
            shares[find_issue(Sentence(text, (1,)), evidence, index)].append(share)
    assert 0.28 < max(shares["unrelated"]) < 0.3 <= min(shares[""]) < 0.32


@pytest.mark.parametrize(
    ("held", "of", "share", "issue"),
    [(3, 10, 0.3, ""), (29, 100, pytest.approx(0.29), "unrelated"), (31, 100, pytest.approx(0.31), "")],
)
def test_a_sentence_with_exactly_the_least_share_is_supported(
    demo: Engine, held: int, of: int, share: float, issue: SentenceIssue
) -> None:
    index = demo.open_index
    texts = [each.record.text for each in index.store.sample(1_000) if each.record.language == "en"]
    found = {word.terms: word for text in texts for word in text_terms(text, index)}
    # Words that one record of the index has weigh the same: ten of them add up without a rounding error in the share.
    rare = [word for word in found.values() if word.text.isalpha() and word.text.islower() and not word.translations]
    words = [word for word in rare if word.idf == pytest.approx(5.0584, abs=1e-4)][:of]
    record = Record("I", "Nothing", " ".join([*(word.text for word in words[:held]), "."]), "en", complete=True)
    evidence = [analyze_record(record, index.analyzer)]
    text = " ".join(word.text for word in words)
    assert matched_share(text_terms(text, index), set(evidence[0].contents_terms)) == share
    assert find_issue(Sentence(text, (1,)), evidence, index) == issue


def test_every_sentence_of_a_record_is_supported_by_it(demo: Engine) -> None:
    index = demo.open_index
    ranked = demo.search("연구", k=60).ranking.records + demo.search("study", k=60).ranking.records
    unsupported = 0
    sentences = 0
    for each in ranked:
        (analysed,) = index.store.fetch([each.record.docid])
        assert analysed is not None
        for sentence in each.record.text.split(". "):
            sentences += 1
            unsupported += bool(find_issue(Sentence(sentence, (1,)), [analysed], index))
    assert (sentences > 200, unsupported) == (True, 0)
