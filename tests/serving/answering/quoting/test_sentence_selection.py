from __future__ import annotations

from collections.abc import Sequence

import pytest

from shrag.corpora.records import Language, Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.serving.answering.quoting.quotable_text import QuotableSentence, QuotableText, quotable_text
from shrag.serving.answering.quoting.sentence_selection import (
    _covering,
    best_finding,
    definition_sentences,
    describing_sentence,
    select_sentences,
)
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.query_terms import QueryTerm

# Written out, so that a change of the module's own is noticed.
LONGEST_SENTENCE = 1_000
MOST_SENTENCES = 6
MOST_WITH_LIST = 8

ANALYZER = KoreanEnglishAnalyzer()


def _record(text: str) -> AnalyzedRecord:
    return analyze_record(Record("d", "Title", text, detect_language(text), complete=True), ANALYZER)


def _words(*words: str) -> list[QueryTerm]:
    return [QueryTerm(word, tuple(ANALYZER.terms([word])[0]), 1.0, 1, keyword=True, known=True) for word in words]


def _quotable(text: str, *words: str, language: AnswerLanguage = "en") -> list[str]:
    return [each.text for each in quotable_text(_record(text), _words(*words), language).sentences]


def _selected(text: str | Sequence[str], *words: str, language: AnswerLanguage = "en") -> list[str]:
    joined = text if isinstance(text, str) else " ".join(text)
    return [each.text for each in select_sentences(quotable_text(_record(joined), _words(*words), language))]


# Fifteen sentences of more than 1,200 characters; a film of graphene is what the questions are about.
BACKGROUND = [
    "Electronic devices disturb each other by electromagnetic waves, and their number has been growing for many years.",
    "Sheets of copper have long been used as a shield, although their weight makes them expensive in aircraft.",
]
STUDY = "In this study, films of graphene were made by three methods and compared as shields against radio waves."
METHODS = [
    "The films were pressed at a temperature of 300 degrees and at a pressure that was changed between the samples.",
    "Samples were cut to squares and were held between two antennas in a room without echoes during all measurements.",
    "Every sample was measured on three days by the same person, so that drifts of the instrument could be seen early.",
]
RESULTS = [
    "We found that the films of graphene weakened the waves by 35.2 dB, which is 12% more than sheets of copper did.",
    "However, the difference vanished for films that were thinner than a hundredth of the thickness of a human hair.",
    "The results show that pressing at a high pressure improved the films more than heating them for a long time did.",
]
REST = [
    "Costs of the machines that were needed are listed for the reader in a table at the end of the printed article.",
    "Pressing takes an hour for each sample, and nine samples could be pressed on a day when two people were there.",
    "Antennas were lent by a neighbouring institute, whose workshop also repaired them twice during the measurements.",
    "The room was built in an old hall of the institute, where the noise of the street is hardly heard on any day.",
    "This paper describes the instruments and discusses the history of such measurements in several other countries.",
    "Future research should test the films in the open air and for much longer than was possible in this first year.",
]
LONG = [*BACKGROUND, STUDY, *METHODS, *RESULTS, *REST]


def test_of_a_usual_abstract_all_is_quoted_but_the_background_before_the_study_and_the_outlook_behind_it() -> None:
    sentences = [*BACKGROUND, STUDY, *METHODS, *RESULTS, REST[4], REST[5]]
    assert _selected(sentences, "graphene") == [STUDY, *METHODS, *RESULTS]
    assert _selected([STUDY, *METHODS, REST[0]], "graphene") == [STUDY, *METHODS, REST[0]]


def test_of_an_abstract_that_names_no_study_the_times_at_its_beginning_and_the_outlook_at_its_end_are_left_out() -> (
    None
):
    times = "In recent years films have become common in devices of all kinds, and so have the waves between them."
    assert _selected([times, *METHODS, *RESULTS[1:], REST[5]], "pressing") == [*METHODS, *RESULTS[1:]]
    # What has a word of the question stays, as does a text that would be too short without it.
    assert _selected([times, *METHODS, REST[5]], "devices", "air") == [times, *METHODS, REST[5]]
    assert _selected([times, "Films shield.", REST[5]], "pressing") == [times, "Films shield.", REST[5]]
    assert _selected([times, "These films shield.", *METHODS], "pressing") == [times, "These films shield.", *METHODS]


def test_what_an_earlier_sentence_announces_is_not_announced_again() -> None:
    times = "In recent years films have become common in devices of all kinds, and so have the waves between them."
    first = "This paper aims to discuss how films of graphene should be made in order to shield devices from waves."
    again = "To sum up, this paper aims to discuss how films of graphene should be made to shield devices in future."
    assert _selected([times, first, *METHODS, again], "graphene") == [first, *METHODS]
    assert _selected([times, first, again], "graphene") == [first]


def test_of_a_short_abstract_all_is_quoted_but_what_is_not_on_the_question_before_it_and_the_outlook_behind_it() -> (
    None
):
    times = "Recently, shields of copper have become common, and the weight of aircraft has been growing."
    sentences = [BACKGROUND[0], STUDY, *METHODS, *RESULTS]
    assert _selected(sentences, "graphene") == sentences[1:]
    assert _selected(sentences, "graphene", "waves") == sentences
    assert _selected([times, *sentences[1:]], "graphene", "copper") == sentences[1:]  # it is general
    assert _selected([times, *sentences[1:]], "graphene", "copper", "weight") == [times, *sentences[1:]]
    assert _selected([*sentences[1:7], REST[5]], "graphene") == sentences[1:7]
    assert _selected([BACKGROUND[0], *BACKGROUND, STUDY, *METHODS, *RESULTS], "graphene")[0] == STUDY  # nine sentences


def test_finally_without_items_before_it_belongs_to_no_enumeration() -> None:
    verified = "Finally, extensive experiments are conducted to verify the effectiveness of the films as shields."
    assert _selected([STUDY, *METHODS, verified], "graphene") == [STUDY, *METHODS]
    items = ["First, the films were heated in an oven.", "Second, they were cut.", verified]
    assert _selected([STUDY, *METHODS, *items], "oven") == [STUDY, *METHODS, *items]


def test_where_reasons_are_asked_for_the_background_is_quoted_and_the_outlook_is_not() -> None:
    sentences = [*BACKGROUND, STUDY, *RESULTS, REST[5]]
    quoted = select_sentences(quotable_text(_record(" ".join(sentences)), _words("graphene"), "en"), reasons=True)
    assert [each.text for each in quoted] == sentences[:-1]


def test_of_a_long_text_the_background_counts_as_much_as_the_rest_where_reasons_are_asked_for() -> None:
    text = quotable_text(_record(" ".join(LONG)), _words("copper", "aircraft"), "en")
    assert BACKGROUND[1] in [each.text for each in select_sentences(text, reasons=True)]
    assert text.sentences[1].words


def test_a_sentence_that_is_wanted_is_quoted_though_it_stands_in_the_background() -> None:
    definition = "Graphene is a sheet of carbon that is one atom thick and carries a current very well for its weight."
    usual, long = [BACKGROUND[0], definition, STUDY, *METHODS, *RESULTS], [BACKGROUND[0], definition, *LONG[1:]]
    for sentences in (usual, long):
        text = quotable_text(_record(" ".join(sentences)), _words("graphene"), "en")
        with_it = [each.text for each in select_sentences(text, wanted=lambda each: each == definition)]
        assert definition in with_it
        assert definition not in [each.text for each in select_sentences(text)]
        assert len(with_it) <= (len(usual) - 1 if sentences == usual else MOST_SENTENCES)
        assert with_it == [each for each in sentences if each in with_it]


def test_where_reasons_are_asked_for_what_limits_earlier_work_is_quoted_though_it_looks_like_an_outlook() -> None:
    limitation = "A limitation of earlier shields is that they are heavy and hardly let anyone open the case again."
    sentences = [BACKGROUND[0], limitation, STUDY, *METHODS, *RESULTS]
    text = quotable_text(_record(" ".join(sentences)), _words("graphene"), "en")
    assert [each.text for each in select_sentences(text, reasons=True)] == sentences
    assert limitation not in [each.text for each in select_sentences(text)]


def test_where_a_method_is_asked_for_an_announcement_that_says_it_is_quoted() -> None:
    method = "We also propose a way to find torn films by smoothing the curves that the antennas have recorded."
    aim = "We also discuss the history of such films in industry and in the homes of people in many countries."
    for sentences in ([STUDY, RESULTS[0], method, aim], [*LONG[:-1], method, aim]):
        text = quotable_text(_record(" ".join(sentences)), _words("smoothing", "graphene"), "en")
        quoted = [each.text for each in select_sentences(text, methods=True)]
        assert method in quoted
        assert aim not in quoted
    announced = [STUDY, RESULTS[0], method]
    text = quotable_text(_record(" ".join(announced)), _words("graphene"), "en")
    assert [each.text for each in select_sentences(text)] == announced[:2]


def test_of_a_long_text_a_sentence_that_says_a_cause_is_preferred_only_where_reasons_are_asked_for() -> None:
    cause = "Sheets of copper are rarely chosen because the weight of every part is paid for in each hour of a flight."
    text = quotable_text(_record(" ".join([BACKGROUND[0], cause, *LONG[2:]])), _words("graphene"), "en")
    assert cause in [each.text for each in select_sentences(text, reasons=True)]
    assert cause not in [each.text for each in select_sentences(text)]


def test_what_was_found_is_quoted_where_the_words_of_the_question_are_in_many_sentences_on_how() -> None:
    study = "본 연구의 목적은 그래핀 필름을 만드는 방법과 그 쓰임과 평가를 함께 살펴보는 데 있다."
    methods = [
        "이를 위해 필름을 삼백 도에서 누르면서 압력을 바꾸어 가며 여러 시료를 만들었다.",
        "또한 시료를 네모나게 잘라 두 안테나 사이에 놓고 메아리가 없는 방에서 재었다.",
        "또한 모든 시료를 같은 사람이 사흘 동안 재어 기기의 변화를 미리 알아차리게 하였다.",
    ]
    results = [
        "첫째, 필름은 전파를 구리판보다 십이 퍼센트 더 약하게 하는 것으로 나타났다.",
        "또한 두꺼운 필름일수록 전파를 더 많이 막는 것으로 나타났다.",
        "둘째, 높은 압력에서 누른 필름이 오래 데운 필름보다 나은 것으로 나타났다.",
        "또한 얇은 필름에서는 두 방법의 차이가 거의 없는 것으로 나타났다.",
        "셋째, 비용은 시료의 수가 늘수록 줄어드는 것으로 나타났다.",
    ]
    rest = ["필름의 값은 표로 실었다.", "방은 오래된 건물에 있었다.", "안테나는 이웃 기관에서 빌렸다."] * 2
    introduction = "상기와 같이 잰 결과는 다음과 같다."  # which refers to all before it
    assert _selected([study, *methods, *results, *rest], "사흘", language="ko") == [study, *results]
    introduced = [study, *methods, introduction, *results, *rest]
    assert _selected(introduced, "사흘", language="ko") == [study, introduction, *results]


def test_a_study_that_is_named_with_its_result_is_what_was_found() -> None:
    study = "본 연구의 결과 그래핀 필름은 전파를 구리판보다 십이 퍼센트 더 약하게 하는 것으로 나타났다."
    how = [
        f"또한 시료를 네모나게 잘라 두 안테나 사이에 놓고 {day} 재었다."
        for day in ("월요일에", "화요일에", "수요일에", "목요일에")
    ]
    how = ["시료는 이웃 기관에서 만들었다.", *how, "또한 그 값을 표로 만들어 사흘 뒤에 다시 견주었다."]
    rest = ["필름의 값은 표로 실었다.", "방은 오래된 건물에 있었다.", "안테나는 이웃 기관에서 빌렸다."] * 3
    assert study in _selected([study, *how, *rest], "사흘", language="ko")


def test_an_announcement_is_left_out_only_behind_the_last_sentence_that_says_more() -> None:
    announcement = "Also, a measure of the weight is proposed and its use for other films is discussed in the article."
    assert _selected([STUDY, RESULTS[0], announcement], "graphene") == [STUDY, RESULTS[0]]
    told = [STUDY, RESULTS[0], announcement, METHODS[0]]
    assert _selected(told, "graphene") == told


def test_a_study_that_is_only_announced_behind_the_result_of_others_is_quoted() -> None:
    other = "The results of a test by others show that sheets of copper weaken the waves of many devices."
    aim = "The aim of this paper is to describe films of graphene as shields against the waves of devices."
    more = "Their history in several countries and the instruments of the measurements are also discussed."
    all_of_it = [other, aim, *(more.replace("several", f"{number}") for number in range(10, 17))]
    assert _selected(all_of_it, "graphene")[0] == aim


def test_background_is_quoted_where_three_words_of_the_question_are_only_there() -> None:
    sentences = [*BACKGROUND, STUDY, *METHODS, *RESULTS]
    assert _selected(sentences, "graphene", "aircraft", "weight", "expensive") == sentences[1:]
    assert _selected(sentences, "graphene", "aircraft", "weight", "copper") == sentences[2:]


def test_background_that_repeats_the_words_of_other_background_is_not_quoted() -> None:
    repeated = "The weight of an aircraft makes its flights expensive for the company that runs the aircraft."
    for first, other in ((BACKGROUND[1], repeated), (repeated, BACKGROUND[1])):
        sentences = [first, other, STUDY, *METHODS, *RESULTS]
        quoted = [first, STUDY, *METHODS, *RESULTS]
        assert _selected(sentences, "graphene", "aircraft", "weight", "expensive") == quoted


def test_background_before_a_study_that_is_named_late_is_left_out_unless_it_states_a_result() -> None:
    late = [*BACKGROUND, *REST[:3], STUDY]
    told = [*BACKGROUND, RESULTS[2], *REST[:2], STUDY]
    assert _selected([*late, *METHODS], "graphene") == [STUDY, *METHODS]
    assert _selected([*told, *METHODS], "graphene") == [*told[len(BACKGROUND) :], *METHODS]
    missed = "However, earlier results show that sheets of copper weaken the waves."
    assert _selected([*BACKGROUND, missed, *REST[:2], STUDY, *METHODS], "graphene") == [STUDY, *METHODS]
    # The study alone would be short.
    last = [*METHODS, *late]
    assert _selected(last, "graphene") == last[-2:]
    assert _selected([*METHODS, *told], "graphene") == [*METHODS, *told]


def test_an_abstract_that_names_no_study_is_quoted_whole() -> None:
    assert _selected([*BACKGROUND, *RESULTS[1:]], "graphene") == [*BACKGROUND, *RESULTS[1:]]


def test_what_is_left_of_a_short_text_without_its_background_is_enough_from_150_characters() -> None:
    times = "In recent years shields have become common in devices of all kinds, and so have the waves between them."
    study = "In this study we saw films of graphene."
    for length, whole in ((149, True), (150, False)):
        more = f"{'Each was measured ':x<{length - len(study) - 1}}."
        sentences = [times, study, more]
        assert (_selected(sentences, "graphene") == sentences) is whole


def test_the_conjunction_before_the_study_is_left_out_in_korean() -> None:
    background = "그래핀 필름은 얇고 가벼워서 여러 해 전부터 전자파를 막는 재료로 널리 주목을 받아 왔다."
    study = "따라서 본 연구에서는 그래핀 필름의 전자파 차폐 효율을 세 가지 방법으로 재어 그 값을 견주었다."
    results = ["효율은 구리판보다 12% 높은 것으로 나타났다.", "두꺼운 필름일수록 효율이 높은 것으로 나타났다."] * 4
    chosen = _selected([background, study, *results], "효율", language="ko")
    assert chosen == [study.removeprefix("따라서 "), *results]


def test_twelve_sentences_are_a_usual_abstract_unless_they_are_long_and_thirteen_are_not() -> None:
    assert _selected(LONG[2:14], "graphene") == LONG[2:13]
    assert 3 <= len(_selected(LONG[:13], "graphene")) <= MOST_SENTENCES
    assert len(_selected([each.replace(" ", " well known, often described, ", 5) for each in LONG[2:14]])) < 11


def test_korean_text_is_denser_and_quoted_whole_up_to_fewer_characters() -> None:
    sentence = (
        "그래핀 필름의 전자파 차폐 효율을 세 가지 방법으로 재어 그 값을 서로 견주어 보았으며 " * 2 + "표로 적었다."
    )
    assert _selected([sentence] * 12, "그래핀", language="ko") == [sentence] * 12
    longer = sentence.replace("표로", "온도와 습도를 맞춘 방에서 나온 값은 표로")
    assert len(_selected([longer] * 12, "그래핀", language="ko")) <= MOST_SENTENCES
    assert _selected([longer] * 8, "그래핀", language="ko") == [longer] * 8


@pytest.mark.parametrize(
    ("language", "sentences", "characters", "whole"),
    [
        ("en", 12, 2_400, True),
        ("en", 13, 2_400, False),
        ("en", 12, 2_401, False),
        ("ko", 8, 2_400, True),
        ("ko", 9, 1_401, False),
        ("ko", 12, 1_400, True),
        ("ko", 13, 1_400, False),
        ("und", 12, 1_200, True),
        ("und", 12, 1_201, False),
    ],
)
def test_a_text_is_quoted_whole_up_to_a_number_of_sentences_and_characters_of_its_language(
    language: Language, sentences: int, characters: int, whole: bool
) -> None:
    texts = ["x" * 100] * (sentences - 1)
    texts.append("x" * (characters - 100 * (sentences - 1)))
    text = QuotableText(language, tuple(QuotableSentence(each, frozenset(), 0.0) for each in texts))
    assert (len(select_sentences(text)) == sentences) is whole


def test_of_a_longer_text_what_was_studied_and_found_is_quoted_in_its_order() -> None:
    chosen = _selected(LONG, "graphene", "shield", "waves")
    assert 3 <= len(chosen) <= MOST_SENTENCES
    assert chosen == [each for each in LONG if each in chosen]
    assert {STUDY, RESULTS[0], RESULTS[2]} <= set(chosen)
    assert not {REST[4], REST[5]} & set(chosen)


def test_a_sentence_with_the_questions_words_is_preferred() -> None:
    assert REST[2] in _selected(LONG, "antennas", "workshop", "repaired", "lent")
    assert REST[2] not in _selected(LONG, "graphene", "shield", "waves")


def test_every_distinctive_word_of_the_question_that_the_text_has_is_in_a_sentence_quoted() -> None:
    for words in (("copper", "heating", "antennas", "noise"), ("hair", "costs", "drifts"), ("pressed", "workshop")):
        chosen = " ".join(_selected(LONG, *words))
        assert all(word in chosen.lower() for word in words)


def test_a_word_that_only_an_outlook_has_is_not_covered() -> None:
    assert REST[5] not in _selected(LONG, "graphene", "waves", "air")


def test_a_word_is_covered_by_a_finding_rather_than_an_announcement_of_it() -> None:
    announcement = (
        "We discuss the price of graphene, the price of copper and the price of every other shield of this kind."
    )
    finding = "The price of graphene was found to be higher than the price of copper by 20% for shields of this kind."
    chosen = _selected([*LONG[:6], announcement, *LONG[9:14], finding, REST[5]], "price", "copper", "antennas")
    assert finding in chosen
    assert announcement not in chosen


def test_a_contrast_is_quoted_with_the_sentence_that_it_contrasts_with() -> None:
    first = "Films of graphene that were pressed twice at a high temperature weakened the waves of all radios by 50 dB."
    second = "In contrast, those that were pressed once and then left to cool for a day changed almost nothing at all."
    chosen = _selected([*LONG[:6], first, second, *LONG[9:]], "graphene", "radios", "twice")
    assert chosen.index(second) == chosen.index(first) + 1


def test_a_contrast_is_quoted_with_the_sentence_before_it() -> None:
    chosen = _selected(LONG, "difference", "vanished", "thinner", "hair")
    assert chosen.index(RESULTS[1]) == chosen.index(RESULTS[0]) + 1


@pytest.mark.parametrize("words", [("difference",), ("thinner", "hair"), ("vanished", "antennas"), ("costs", "hair")])
def test_no_sentence_is_quoted_without_the_one_that_it_refers_to(words: tuple[str, ...]) -> None:
    plain = (
        "All samples lay in a dry box for a week, and nobody opened the box before the first day of the measurements."
    )
    text = [plain if each == RESULTS[0] else each for each in LONG]
    assert plain not in _selected(text, "pressure")
    chosen = _selected(text, *words)
    assert chosen[chosen.index(RESULTS[1]) - 1] == plain


def test_an_enumeration_is_quoted_as_a_whole_with_the_line_that_introduces_it() -> None:
    items = [
        "The results are as follows.",
        "First, films of graphene weakened the waves by 35.2 dB, which is 12% more than sheets of copper did.",
        "Second, pressing improved the films more than heating them did, whatever the method by which they were made.",
        "Third, the difference vanished for the films that were thinner than a hundredth of the thickness of a hair.",
    ]
    text = [*BACKGROUND, STUDY, *METHODS, *items, *REST]
    for words in (("graphene", "waves"), ("difference", "vanished"), ("pressing", "improved")):
        chosen = [each for each in _selected(text, *words) if each in items]
        assert chosen == items


def test_a_line_that_only_says_that_results_follow_is_left_out() -> None:
    line = "The results are as follows."
    assert _selected([STUDY, line, *RESULTS], "graphene") == [STUDY, *RESULTS]
    told = line.replace("results", "results on graphene")
    assert _selected([STUDY, told, *RESULTS], "graphene") == [STUDY, told, *RESULTS]


def test_the_reason_for_a_sentence_is_quoted_behind_it() -> None:
    text = [
        "규제기관은 구체적인 방법을 사업자에게 알려 주어야 한다.",
        "사업자는 결과를 예측할 수 있어야 하기 때문이다.",
    ]
    rest = ["필름의 값은 표로 실었다.", "방은 오래된 건물에 있었다.", "안테나는 이웃 기관에서 빌렸다."] * 5
    assert _selected([*rest, *text], "예측", language="ko")[-2:] == text


def test_of_an_enumeration_that_is_too_long_the_first_item_is_quoted_with_those_that_answer() -> None:
    ordinals = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth"]
    filler = "the film was measured by the same person in the same room on the same day of the week as all the others"
    items = [f"{ordinal}, {filler}." for ordinal in ordinals]
    items[4] = f"Fifth, copper was better than graphene by 12%, and {filler}."
    more = [f"Its weight was noted, and {filler}." for _ in ordinals]
    text = [STUDY, *(each for pair in zip(items, more, strict=True) for each in pair)]
    chosen = _selected(text, "film", "copper")
    assert len(chosen) <= MOST_WITH_LIST
    assert {items[0], items[4]} <= set(chosen)
    for words in ("film",), ("weight",), ("person", "week"):
        selected = _selected(text, *words)
        assert items[0] in selected or not set(items) & set(selected)


def test_an_item_far_behind_the_first_is_quoted_with_it() -> None:
    first = "First, films of graphene weakened the waves by 35.2 dB, which is 12% more than sheets of copper did."
    second = "Second, the workshop lent its antennas for a price that was 20% higher than that of all the years before."
    text = [*BACKGROUND, STUDY, first, *METHODS, *REST[:4], second, *REST[4:]]
    chosen = _selected(text, "workshop", "antennas", "price")
    assert {first, second} <= set(chosen)


def test_of_a_text_in_two_languages_the_half_in_the_questions_language_is_quoted() -> None:
    korean = ["그래핀 필름의 전자파 차폐 효율을 재었다.", "효율은 35.2 dB로 나타났다."]
    english = ["The shielding of graphene films was measured.", "The films weakened the waves by 35.2 dB."]
    both = " ".join(korean + english)
    assert _quotable(both, "graphene", language="ko") == korean
    assert _quotable(both, "graphene", language="en") == english
    assert _quotable(" ".join(korean), "graphene", language="en") == korean


def test_a_line_in_the_other_language_is_no_half() -> None:
    korean = ["그래핀 필름의 전자파 차폐 효율을 세 방법으로 재었고 값을 서로 견주어 보았다."] * 4
    assert _quotable(" ".join([*korean, "Graphene was measured."]), "graphene", language="en") == korean


def test_headings_keywords_and_copyright_notices_are_not_quoted() -> None:
    text = (
        "Abstract. Films of graphene were measured. Keywords: graphene, film. © 2020 A Publisher. All rights reserved."
    )
    assert _quotable(text, "graphene") == ["Films of graphene were measured."]


def test_a_copyright_notice_behind_a_sentence_is_cut_off() -> None:
    text = (
        "Films of graphene were measured by three methods and compared as shields with sheets of copper.©1993 A Press"
    )
    assert _quotable(text, "graphene") == [text.partition("©")[0]]
    assert _quotable("Films were measured. Copyright © 2013 A Press, Ltd.", "films") == ["Films were measured."]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("One sentence only.", ["One sentence only."]),
        ("그래핀", ["그래핀"]),
        ("no end", ["no end"]),
        ("1.5 ± 0.2", []),
        ("… . . .", []),
        ("Keywords: film", ["Keywords: film"]),
        ("", []),
    ],
)
def test_a_text_of_little_gives_what_it_has(text: str, quoted: list[str]) -> None:
    assert _quotable(text, "film") == quoted
    assert _selected(text, "film") == quoted


def test_a_sentence_without_an_end_is_cut_between_two_words_and_left_out_beside_others() -> None:
    endless = "graphene " * 50_000
    (cut,) = _quotable(endless, "graphene")
    assert len(cut) <= LONGEST_SENTENCE
    assert endless.startswith(cut + " ")
    assert _quotable(f"Films were measured. G{endless}", "graphene") == ["Films were measured."]
    assert len(_quotable("x" * 5_000, "x")[0]) == LONGEST_SENTENCE


def test_where_every_sentence_refers_to_the_one_before_the_beginning_is_quoted() -> None:
    chain = [f"However, film number {number} was thin and " + "thin and " * 12 + "thin." for number in range(20)]
    assert _selected(chain, "graphene") == chain[:MOST_SENTENCES]


def test_the_finding_of_a_related_record_stands_alone_and_is_no_announcement() -> None:
    def finding(*sentences: str) -> str | None:
        held = frozenset(_words("x"))
        best = best_finding([QuotableSentence(each, held, 0.5) for each in sentences])
        return best.text if best else None

    result = "Films of graphene improved shielding by 12%."
    assert finding("This paper describes films of graphene.", result, "However, it fell by 30% later.") == result
    assert finding("However, it fell by 30% later.", "Second, it rose by 30% later.") is None
    assert finding("This paper describes films of graphene.", "Is it a film of graphene?") is None
    assert finding("Films of graphene were made by three methods.") is None
    assert finding("Films of graphene were heated to 300 degrees and cut to 35.2% of their size.") is None
    assert best_finding([QuotableSentence(result, frozenset(), 0.5)]) is None
    assert best_finding([]) is None


@pytest.mark.parametrize(("letters", "language"), [(72, "ko"), (73, "en")])
def test_an_abstract_in_two_languages_is_quoted_in_the_questions_from_a_quarter_of_it(
    letters: int, language: str
) -> None:
    korean = "그래핀 필름을 재었다."
    english = f"Films {'a' * (letters - 14)} shield."
    assert (len(korean), len(english)) == (12, letters)  # a syllable counts as two letters
    text = quotable_text(_record(f"{korean} {english}"), _words("graphene"), "ko")
    assert text.language == language


@pytest.mark.parametrize(("share", "best"), [(0.81, "result"), (0.79, "finding")])
def test_a_fifth_of_the_best_share_of_the_question_counts_as_much_as_a_figure(share: float, best: str) -> None:
    held = frozenset(_words("x"))
    texts = {"finding": "We found thin films of graphene.", "result": "We found that films improved shielding by 12%."}
    chosen = best_finding([QuotableSentence(texts["finding"], held, 1), QuotableSentence(texts["result"], held, share)])
    assert chosen is not None
    assert chosen.text == texts[best]


@pytest.mark.parametrize(("worth", "chosen"), [(1.9, {0}), (2.1, {0, 1})])
def test_of_sentences_that_add_words_a_worth_of_two_counts_as_much_as_a_tenth_of_the_words(
    worth: float, chosen: set[int]
) -> None:
    words = [QueryTerm(word, (word,), 1.0, 1, keyword=True, known=True) for word in "abcdefghij"]
    sentences = [QuotableSentence("All.", frozenset(words), 1.0), QuotableSentence("Nine.", frozenset(words[1:]), 0.9)]
    # Where the one of nine words is taken first, the other is taken for the tenth.
    assert _covering(sentences, [frozenset({0}), frozenset({1})], [0.0, worth], {0, 1}, set()) == chosen


@pytest.mark.parametrize(("share", "quoted"), [(0.33, True), (0.31, False)])
def test_of_a_longer_text_no_sentence_is_quoted_that_is_worth_less_than_two_fifths_of_the_best(
    share: float, quoted: bool
) -> None:
    # A method is worth 0.2, and 1.5 more with the best share of the question.
    best = QuotableSentence("Films were cut to squares.", frozenset(), 1.0)
    weak = QuotableSentence("Samples were held upright.", frozenset(), share)
    sentences = [best] * 4 + [weak] + [QuotableSentence("Antennas were lent.", frozenset(), 0.0)] * 8
    selected = select_sentences(QuotableText("en", tuple(sentences)))
    assert selected == sentences[: 5 if quoted else 4]


@pytest.mark.parametrize(
    ("sentences", "shown"),
    [
        (
            [
                "Robots are popular.",
                "In this paper, we study robots.",
                "The results show that the robot fell less often.",
            ],
            2,
        ),
        (["Robots are popular.", "In this paper, we study robots.", "Robots need more study in future."], 1),
        (["It began in 1990.", "A robot arm has six joints and a gripper."], 1),
        (["However, robots are difficult to build."], None),
        ([], None),
    ],
)
def test_a_record_is_described_by_its_finding_its_study_or_a_sentence_with_words_of_the_question(
    sentences: list[str], shown: int | None
) -> None:
    word = QueryTerm("robot", ("robot",), 1.0, 1, keyword=True, known=True)
    quotable = [QuotableSentence(each, frozenset([word] if "obot" in each else []), 0.5) for each in sentences]
    described = describing_sentence(quotable)
    assert (described and described.text) == (None if shown is None else sentences[shown])


def test_a_sentence_that_names_the_subject_and_mentions_nothing_said_before_describes_better() -> None:
    sentences = [
        "We found that these issues are solved by 40% in all of the tests.",
        "We found that the method saves 30% of the energy in all of the tests.",
        "We found that this problem of robots is solved by 20% in all of the tests.",
        "We found that robots save 10% of the energy in all of the tests.",
    ]
    word = QueryTerm("test", ("test",), 1.0, 1, keyword=True, known=True)
    quotable = [QuotableSentence(each, frozenset([word]), 0.5) for each in sentences]

    def described(count: int, *, by_name: bool) -> str:
        found = describing_sentence(quotable[:count], named=lambda text: by_name and "robots" in text)
        assert found is not None
        return found.text

    assert described(4, by_name=True) == sentences[3]
    assert described(3, by_name=True) == sentences[2]  # the only one that names the subject
    assert described(3, by_name=False) == sentences[1]
    assert described(1, by_name=True) == sentences[0]


def test_of_a_definition_the_sentence_is_quoted_and_the_next_unless_it_names_the_study() -> None:
    definition, more = "A robot is a machine that moves by itself.", "It has motors."
    study = "In this study, robots were built by children."

    def quoted(*texts: str) -> list[str]:
        sentences = [QuotableSentence(each, frozenset(), 0.5) for each in texts]
        return [each.text for each in definition_sentences(sentences, ["robot"])]

    assert quoted("Robots are popular.", definition, more, study) == [definition, more]
    assert quoted(definition, study, more) == [definition]
    assert quoted(more, definition) == [definition]
    assert quoted(more, study) == []
    assert quoted() == []
