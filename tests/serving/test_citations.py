from __future__ import annotations

from shrag.corpora.records import Record
from shrag.serving.citations import check_quotes
from shrag.serving.events import Answer, Section, Sentence


def test_only_what_stands_in_the_record_cited_is_sound(record: Record) -> None:
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
    checked = check_quotes(Answer("extractive", "ko", (section,), ()), [record])
    assert [sentence.sound for sentence in checked.sections[0].sentences] == [
        True, True, True, False, False, False, False, True,
    ]  # fmt: skip
