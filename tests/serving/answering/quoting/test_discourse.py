from __future__ import annotations

import pytest

from shrag.serving.answering.quoting.discourse import (
    asks_for_reasons,
    begins_list,
    begins_study,
    continues_list,
    contrasts,
    ends_list,
    gives_cause,
    introduces,
    is_general,
    is_noise,
    looks_ahead,
    mentions_earlier,
    names_study,
    refers_back,
    role_worth,
    states_result,
    without_copyright,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "또한, 필름은 얇다.",
        "따라서 필름이 필요하다.",
        "이러한 결과는 크다.",
        "이를 위해 재었다.",
        "이 결과는 크다.",
        "반면 알루미늄은 무겁다.",
        "그 결과 차폐 효율이 올랐다.",
        "두 집단은 달랐다.",
        "이 전략에서는 필름을 나눈다.",
        "그 대표적인 방법으로 필름을 쓴다.",
        "These films shield.",
        "Such films shield.",
        "However, it fell.",
        "This shows a rise.",
        "It fell.",
        "In addition, films shield.",
        "As a result, it fell.",
        "On the other hand, it rose.",
        "For example, films shield.",
        "The latter is thin.",
        "“Thus it fell.”",
        "Even so, it fell.",
        "본 연구에서는 이러한 문제를 해결하기 위해 필름을 재었다.",
        "최근 이와 같은 필름이 늘었다.",
        "That is, it fell.",
    ],
)
def test_a_sentence_refers_back_by_its_first_words(sentence: str) -> None:
    assert refers_back(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "본 연구는 필름을 재었다.",
        "이 연구는 필름을 재었다.",
        "이 논문에서는 재었다.",
        "이 고찰은 필름을 다룬다.",
        "그래핀은 얇다.",
        "이온은 작다.",
        "해당 연구는 필름을 재었다.",
        "This study measured films.",
        "This paper shows a rise.",
        "The films shield.",
        "It is known that films shield.",
        "Thin films shield.",
        "Italian films shield.",
        "Sowing took a day.",
    ],
)
def test_a_sentence_that_opens_otherwise_stands_alone(sentence: str) -> None:
    assert not refers_back(sentence)


def test_items_of_an_enumeration_are_seen_by_their_first_words() -> None:
    first = ["첫째, 얇다.", "First, it is thin.", "1) 얇다.", "① 얇다.", "먼저 재었다."]
    first += ["The findings are as follows: First, it is thin.", "결과는 다음과 같다. 첫째, 얇다."]
    later = [
        "둘째, 가볍다.",
        "셋째, 싸다.",
        "마지막으로 재었다.",
        "Second, it is light.",
        "Finally, it is cheap.",
        "3) 싸다.",
        "② 싸다.",
    ]
    assert all(begins_list(each) and not continues_list(each) for each in first)
    assert all(continues_list(each) and not begins_list(each) for each in later)
    assert [each for each in later if ends_list(each)] == ["마지막으로 재었다.", "Finally, it is cheap."]
    assert not any(begins_list(each) or continues_list(each) for each in ("1.5 mm thick.", "3.2배 올랐다.", "Film."))


def test_what_introduces_names_and_states_is_told_apart() -> None:
    assert introduces("연구 결과는 다음과 같다.")
    assert introduces("The results are as follows:")
    assert not introduces("결과가 컸다.")
    assert names_study("본 연구에서는 재었다.")
    assert names_study("Here we measure films.")
    assert not names_study("In general, we often need to make an assumption.")
    assert not names_study("At present, we find ourselves at the beginning of a stage.")
    assert not names_study("What are we preparing for?")
    assert not names_study("The results of this study are as follows.")
    assert states_result("측정 결과 효율은 30 dB로 나타났다.")
    assert states_result("The results show a rise of 3%.")
    assert not states_result("The results are expected to help.")
    assert not states_result("At present, we find ourselves at the beginning of a stage.")


@pytest.mark.parametrize(
    "sentence",
    [
        "Keywords: film, shield",
        "키워드 : 필름",
        "주제어: 차폐",
        "© 2020 A Publisher B.V. All rights reserved.",
        "Published by A Press.",
        "J. Films 2012, 4:168. doi: 10.1/x",
        "(Am J Obstet Gynecol 2001;185:1052-8.)",
        "J. Appl. Phys. 1998; 12 (3): 45–50.",
    ],
)
def test_keywords_copyright_and_addresses_are_noise(sentence: str) -> None:
    assert is_noise(sentence)


def test_a_sentence_with_a_year_and_numbers_is_none() -> None:
    assert not is_noise("Films of 2001; 12: 3 of them were heated.")
    assert not is_noise("Films were heated in 2001; 185 were cut.")


@pytest.mark.parametrize(
    ("sentence", "without"),
    [
        ("Radars are not covered.©1993 A Publisher Inc", "Radars are not covered."),
        ("Radars are not covered. (C) 1993 A Publisher", "Radars are not covered."),
        ("Radars are wide. COPYRIGHT © 2001 A Publisher", "Radars are wide."),
        ("Radars are wide.\n© 1993 A\nPublisher", "Radars are wide."),
        ("© 1993 A Publisher", ""),
        ("Films (c) and (d) were heated.", "Films (c) and (d) were heated."),
        ("Radars are wide.", "Radars are wide."),
    ],
)
def test_a_copyright_notice_at_the_end_is_left_out_to_the_last_line(sentence: str, without: str) -> None:
    assert without_copyright(sentence) == without


def test_findings_are_worth_more_than_methods_and_these_more_than_announcements() -> None:
    korean = [
        "측정 결과 효율은 30 dB로 나타났다.",
        "측정 결과 효율이 높았다.",
        "필름을 가열하였다.",
        "효율을 재고자 한다.",
        "향후 연구가 필요하다.",
    ]
    english = [
        "We found a rise of 3.5%.",
        "We found a rise.",
        "Films were heated.",
        "We describe films.",
        "Future work is needed.",
    ]
    for sentences in (korean, english):
        worths = [role_worth(each) for each in sentences]
        assert worths == sorted(worths, reverse=True)
        assert len(set(worths)) == len(worths)


@pytest.mark.parametrize(
    ("sentence", "worth"),
    [
        ("Films were heated.", 0.2),
        ("Films were heated for 3.5 hours.", 0.5),
        ("Films were better.", 0.5),
        ("필름이 우수하였다.", 0.5),
        ("We found films.", 0.8),
        ("측정 결과 필름이 얇아졌다.", 0.8),
        ("Films were better by 3.5%.", 0.8),
        ("We found a rise of 3.5%.", 1.1),
        ("측정 결과 효율은 30 dB로 나타났다.", 1.1),
    ],
)
def test_a_finding_a_result_and_a_figure_each_add_as_much_to_a_sentence(sentence: str, worth: float) -> None:
    assert role_worth(sentence) == pytest.approx(worth)


def test_praise_of_the_study_is_worth_less_than_an_announcement_and_this_less_than_a_method() -> None:
    praise = [
        "This study is valuable in that it examines films in detail.",
        "본 연구는 필름 연구의 초석이 된다는 점에서 의미가 있다.",
        "연구 결과는 정책 수립의 기초 자료로 활용될 수 있다.",
        "연구의 결과는 기업에 지침을 제공해 줄 것이다.",
        "These results provide a useful basis for further measurements.",
    ]
    announcements = [
        "필름의 역사를 검토하였다.",
        "차폐 방안을 제시하였다.",
        "시장을 살펴보았다.",
        "Limits will be discussed.",
    ]
    methods = ["필름을 두 번 가열하였다.", "자료를 두 집단으로 나누었다.", "Films were heated twice."]
    assert {role_worth(each) for each in praise} == {-0.5}
    assert {role_worth(each) for each in announcements} == {-0.25}
    assert {role_worth(each) for each in methods} == {0.2}


def test_a_conclusion_of_an_argument_is_a_finding() -> None:
    findings = [
        "책임의 소재를 명확히 하여야 한다.",
        "지위를 인정하는 것은 어렵다고 보았다.",
        "가장 큰 요인은 가격이었다.",
    ]
    assert all(role_worth(each) >= 0.5 for each in findings)


def test_a_contrast_is_seen_by_its_first_words() -> None:
    contrasting = ("반면 구리는 무겁다.", "In contrast, copper is heavy.", "On the other hand, it is cheap.")
    assert all(map(contrasts, contrasting))
    assert not any(map(contrasts, ("반면교사로 삼는다고 하였다."[2:], "However, it is cheap.", "또한 구리는 무겁다.")))


def test_only_a_statement_of_results_states_a_result() -> None:
    stating = [
        "측정 결과 효율이 올랐다.",
        "두 필름의 차이는 관찰되지 않았다.",
        "결과는 컸다.",
        "The results of the tests show a rise.",
        "Results show a rise.",
        "The mapping of answers demonstrates that the purchase is aimed at the image of oneself.",
    ]
    other = [
        "주산기 결과에 대해 평가하였다.",
        "분석 결과로 나눈 필름을 쓴다.",
        "This paper describes the results of the task.",
        "결과를 보고자 한다.",
        "The findings will be discussed in future work.",
    ]
    assert all(map(states_result, stating))
    assert not any(map(states_result, other))


@pytest.mark.parametrize(
    ("sentence", "study"),
    [
        ("따라서, 본 연구는 필름을 재었다.", "본 연구는 필름을 재었다."),
        ("이에 따라 이 논문에서는 재었다.", "이 논문에서는 재었다."),
        ("하지만 이번 조사는 다르다.", "이번 조사는 다르다."),
        ("Therefore, in this study we measured films.", "in this study we measured films."),
        ("Thus we heat films.", "we heat films."),
        ("To this end, our work compares films.", "our work compares films."),
        ("따라서 필름이 필요하다.", ""),
        ("본 연구는 필름을 재었다.", ""),
        ("이러한 연구는 많다.", ""),
        ("Thus films are heated.", ""),
        ("However, it fell in this study.", ""),
        ("Therefore, a model of films is proposed in this paper.", "a model of films is proposed in this paper."),
        ("Thus, films are heated and the analysis of a project is shown.", ""),
        ("Therefore, for these films a model is proposed in this paper.", ""),
        ("Hence this weight of films was measured in our study.", ""),
    ],
)
def test_a_conjunction_before_the_study_is_known(sentence: str, study: str) -> None:
    start = begins_study(sentence)
    assert (sentence[start:] if start else "") == study


@pytest.mark.parametrize(
    ("sentence", "ahead"),
    [
        ("향후 더 많은 필름을 재어야 한다.", True),
        ("본 연구는 필름 개발의 기초 자료로 활용될 수 있을 것이다.", True),
        ("기업에 도움을 줄 수 있다.", True),
        ("These findings provide a basis for guidelines.", True),
        ("This study is significant in that it measures films.", True),
        ("It is meaningful that films were measured.", True),
        ("The results can be used as a guide.", True),
        ("It is expected that films will shield.", True),
        ("필름 설계에 이론적 근거를 제공한다.", True),
        ("필름에 대한 이해를 넓히는 데 기여한다.", True),
        ("Besides, it shows an academic contribution in that it measures films.", True),
        ("It has a practical contribution, since the films shield.", False),
        ("Further research should test the films.", True),
        ("Finally, extensive experiments are conducted to verify the shields.", True),
        ("Experiments were conducted with films of 30 mm.", False),
        ("필름이 얇을수록 낮은 것으로 나타났으며 향후 더 재어야 한다.", False),
        ("We found thin films, and further work will heat them.", False),
        ("We show that films shield, and where their limitations are.", False),
        ("The results provide a basis for shields of 35.2 dB.", False),
        ("필름을 재었다.", False),
    ],
)
def test_a_sentence_that_says_what_a_study_is_good_for_and_nothing_that_was_found_looks_ahead(
    sentence: str, ahead: bool
) -> None:
    assert looks_ahead(sentence) is ahead


@pytest.mark.parametrize(
    ("sentence", "general"),
    [
        ("최근 인공지능 기술은 산업 전반에 걸쳐서 활용되고 있다.", True),
        ("현재 예술 창작도구는 NFT 산업에서 사용되고 있으며, 작품이 판매되기도 하였다.", True),
        ("오늘날의 필름은 널리 쓰이고 있다.", True),
        ("Recently, films are being applied to various fields.", True),
        ("In recent years films have been studied.", True),
        ("Graphene has attracted much attention.", True),
        ("최근 3년의 필름을 재었다.", False),
        ("최근 필름이 늘고 있는 것으로 나타났다.", False),
        ("Films have a weight.", False),
        ("Recently we found thin films.", False),
    ],
)
def test_a_sentence_that_tells_of_the_times_and_of_no_finding_is_general(sentence: str, general: bool) -> None:
    assert is_general(sentence) is general


@pytest.mark.parametrize(
    "sentence",
    [
        "Furthermore, we suggest improvement directions of future projects.",
        "We also propose several strategies.",
        "We present implications.",
    ],
)
def test_a_sentence_that_says_that_something_is_suggested_announces(sentence: str) -> None:
    assert role_worth(sentence) < 0
    assert role_worth("We suggest that these strategies improve films.") > 0


def test_what_was_done_for_a_purpose_named_before_refers_back_and_what_was_made_so_does_not() -> None:
    assert refers_back("To do this, films were tested.")
    assert refers_back("이렇게 하여 막을 얻었다.")
    assert refers_back("대조군은 같은 나이의 환자로 하였다.")
    assert not refers_back("이렇게 학습된 모델의 정확도는 0.74였다.")


def test_what_most_of_the_asked_said_is_a_finding_though_it_is_about_further_research() -> None:
    assert not looks_ahead("The majority of the surgeons support further research.")
    assert looks_ahead("The surgeons hope for further research.")


@pytest.mark.parametrize(
    ("sentence", "mentions"),
    [
        ("We solve these two issues.", True),
        ("We tackle this problem by heat.", True),
        ("We heat films in this study.", False),
        ("That is why films are heated.", False),
        ("본 연구는 이러한 문제를 푼다.", True),
        ("막의 이 성질을 쓴다.", True),
        ("막을 다룬 이 연구는 크다.", False),
        ("막의 이점을 본다.", False),
    ],
)
def test_a_sentence_may_mention_what_was_said_before_anywhere(sentence: str, mentions: bool) -> None:
    assert mentions_earlier(sentence) is mentions


def test_a_response_to_what_was_said_before_refers_back() -> None:
    assert refers_back("In response to this need, films were tested.")
    assert refers_back("In contrast to these films, sheets are heavy.")
    assert not refers_back("In response to heat, films shrink.")
    assert refers_back("In this way, films are tested.")
    assert not refers_back("In this study, films were tested.")


@pytest.mark.parametrize(
    "question",
    [
        "Why do clients rarely choose it?", "What is the reason for it?", "the need for bioethics education",
        "motivation of volunteers",
        "What causes fake news to spread?", "causes of dropout",
        "청소년 중독의 원인은 무엇인가요?", "노인 우울증의 원인",
        "왜 발주자는 선택하지 않는가?", "발주자가 선택하지 않는 이유", "생명윤리 교육 필요성",
    ],
)  # fmt: skip
def test_a_question_that_asks_why_asks_for_reasons(question: str) -> None:
    assert asks_for_reasons(question)


@pytest.mark.parametrize(
    "question",
    [
        "사고 원인 분석 방법",
        "the case of fake news",
        "How do clients choose?",
        "background subtraction in videos",
        "reasoning of children",
        "왜곡 보정",
    ],
)
def test_words_that_only_look_like_it_do_not_ask_for_reasons(question: str) -> None:
    assert not asks_for_reasons(question)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("이는 신뢰가 부족하기 때문이다.", True),
        ("전문성 부족에 기인한 것으로 분석된다.", True),
        ("지진으로 인해 발생한다.", True),
        ("It fails because the data are few.", True),
        ("Dropout results from a lack of time.", True),
        ("The results of this study are good.", False),
        ("필름을 재었다.", False),
    ],
)
def test_a_sentence_that_says_what_something_is_due_to_gives_a_cause(sentence: str, expected: bool) -> None:
    assert gives_cause(sentence) is expected
