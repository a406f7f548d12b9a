from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.records import Record
from shrag.corpora.text.cleaning import clean_text
from shrag.corpora.text.fused_words import join_hyphenated_words, split_fused_words
from shrag.corpora.text.private_characters import replace_private_characters
from shrag.corpora.text.reference_marks import drop_reference_marks
from shrag.corpora.text.repairs import REPAIR_KINDS, repair_record
from shrag.corpora.text.section_labels import drop_labels
from shrag.corpora.text.sentence_blanks import insert_blanks
from shrag.corpora.text.stray_blanks import remove_stray_blanks


def _record(text: str, title: str = "") -> Record:
    return Record(docid="1", title=title, text=text, language="en", complete=True)


@pytest.mark.parametrize(
    ("fused", "split"),
    [
        ("The aim of thisstudy is new", "The aim of this study is new"),
        ("The studyis about", "The study is about"),
        ("Thepurpose of variousmaternal-foetal conditions", "The purpose of various maternal-foetal conditions"),
        ("inthe field ofthe", "in the field of the"),
        ("model whichhas", "model which has"),
        ("We comparedand evaluatedthe methods", "We compared and evaluated the methods"),
        ("optimisers andBayesian methods", "optimisers and Bayesian methods"),
        ("the primarypurpose", "the primary purpose"),
        ("stateof-the-art", "state of-the-art"),
    ],
)
def test_a_function_word_glued_to_a_known_word_is_split(fused: str, split: str) -> None:
    assert split_fused_words(fused, fused).text == split


@pytest.mark.parametrize(
    ("fused", "split"),
    [
        (
            "thedata anddata withdata fromdata thisdata thatdata thesedata thosedata whichdata theirdata havedata",
            "the data and data with data from data this data that data these data those data which data their data "
            "have data",
        ),
        ("usingdata variousdata betweendata", "using data various data between data"),
        (
            "aredata weredata wasdata hasdata beendata throughdata manydata alsodata ofdata fordata isdata todata",
            "aredata weredata wasdata hasdata beendata throughdata manydata alsodata ofdata fordata isdata todata",
        ),
        (
            "aremodel weremodel wasmodel hasmodel beenmodel throughmodel manymodel alsomodel ofmodel formodel ismodel "
            "tomodel canmodel wemodel",
            "are model were model was model has model been model through model many model also model of model "
            "for model is model to model canmodel wemodel",
        ),
        ("cantheory wetheory", "can theory we theory"),
        ("morethan thanone atthe", "more than than one at the"),
        ("usingthe whichin ofeach alsobe isused areused", "using the which in of each also be is used are used"),
        ("ourresearch importantin asignificant asingle", "our research important in a significant a single"),
        ("ourE2Emodel theVAE ofDNA withHTTPS, forIT", "our E2E model the VAE of DNA with HTTPS, for IT"),
        (
            "datawere dataof dataand datathe datathat datawhich datawith datafrom datausing databetween",
            "data were data of data and data the data that data which data with data from data using data between",
        ),
        ("datais dataare datawas datafor datahas datahave", "datais dataare datawas datafor datahas datahave"),
        (
            "modelis cellsare modelwas modelfor modelhas modelhave",
            "model is cells are model was model for model has model have",
        ),
    ],
)
def test_each_function_word_is_split_from_words_of_four_five_or_six_letters(fused: str, split: str) -> None:
    assert split_fused_words(fused, "").text == split


@pytest.mark.parametrize(
    "text",
    [
        "within without therein nearby into together island software healthcare thesis theory genesis forgiven theatre",
        "Bahrainis and Punjabis spoke in parenthesis about digitalis officinalis and Pseudomonas orientalis",
        "atypical acellular amodal astudyx ourselves hoursystem",
        "inform invariable indifferent another online proof thousand demand command protein photo standby breakthrough",
        "groundwater schoolteacher lightweight explainability transferability commonwealth crowdsourcing",
        "instanceOf subClassOf fastText spaCy redMaPPer toString isEmpty hasPart newAthena WordNet",
        "https://example.org/thestudyis www.studyis.com studyis.py theresults_of #thestudy \\texttt{ofthestudy}",
        "design(디자인)은 라틴어 designare에서 왔다.",
        "ONdigital OBserved forEach theA theVAExyz iOS withHTTPS.py theHTTP_PORT",
        "BRCA1 TP53 HER2 mTOR CaCl2 NaOH C6H12O6 malonylCoA acetyl-CoA 1,2;5,6-di-O-isopropylidene",
        "Diese Arbeit untersucht dieStudie und andere Verfahren; l'étude decette méthode",
    ],
)
def test_words_names_addresses_and_chemistry_are_not_split(text: str) -> None:
    assert split_fused_words(text, text) == (text, 0)


def test_a_rare_half_must_be_elsewhere_in_the_record() -> None:
    assert split_fused_words("the lichensare old", "the lichensare old").repairs == 0
    assert split_fused_words("the lichensare old", "the lichensare old; lichens").text == "the lichens are old"


def test_a_fused_form_that_the_record_has_twice_may_be_a_name() -> None:
    text = "andlichen grows; lichen"
    assert split_fused_words(text, text).text == "and lichen grows; lichen"
    assert split_fused_words(text, f"{text} andlichen").repairs == 0


@pytest.mark.parametrize(
    ("cut", "joined"),
    [
        ("An algo- rithm", "An algorithm"),
        ("Em- bedding (lan- guage)", "Embedding (language)"),
        ("the per\u2010 formance", "the performance"),
        ("glauco- nite and glauconite", "glauconite and glauconite"),
        ("adapti-ve and adaptive", "adaptive and adaptive"),
        ("the finite ele-ment and func-tional units", "the finite element and functional units"),
        ("decision-mak-ing in making", "decision-making in making"),
    ],
)
def test_a_word_cut_at_a_line_end_is_joined_if_the_whole_is_known(cut: str, joined: str) -> None:
    assert join_hyphenated_words(cut, cut).text == joined


@pytest.mark.parametrize(
    "text",
    [
        "multi- and single-user", "pre- or post-test", "English- speaking", "Audio- und Text", "phenethyl- amine",
        "N- methyl", "beat- to-beat", "Kyungsangbuk- do", "features- stress, rhythm- are", "a- b", "IL- 6",
        "state-of-the-art follow-up of a verb-ing form", "non-able, Spine-al, x-ity_z and www.a-tion.org",
    ],
)  # fmt: skip
def test_other_hyphens_stay(text: str) -> None:
    assert join_hyphenated_words(text, text) == (text, 0)


@pytest.mark.parametrize(
    ("run_on", "apart"),
    [
        ("하였다.또한 보았다.AI는", "하였다. 또한 보았다. AI는"),
        ("같다.첫째,다양한 예", "같다. 첫째, 다양한 예"),
        ("있다.1995년에 만들었다.[연구결과]", "있다. 1995년에 만들었다. [연구결과]"),
        ("어떻게 나타나는가?본 연구는", "어떻게 나타나는가? 본 연구는"),
        ("a new method.The results", "a new method. The results"),
        ("the network (NFV).Then, we", "the network (NFV). Then, we"),
        ("‘video’ and ‘mobile media’.In this study", "‘video’ and ‘mobile media’. In this study"),
        ("reached 0.82.The data", "reached 0.82. The data"),
        ("However,previous studies", "However, previous studies"),
        ("to the next level.빅데이터 시대", "to the next level. 빅데이터 시대"),
        ("machines (SVM).Results: We", "machines (SVM). Results: We"),
        ("in this form.Methods :A test", "in this form. Methods :A test"),
        ("large datasets.ObjectiveThis article", "large datasets. ObjectiveThis article"),
        ("콘텐츠 설계 연구Study on Design of Contents", "콘텐츠 설계 연구 Study on Design of Contents"),
        ("for good students,but has none", "for good students, but has none"),
        ("by ICA.Suggestions were drawn", "by ICA. Suggestions were drawn"),
        ("이를 위해36명을, 영향으로2021년에는", "이를 위해 36명을, 영향으로 2021년에는"),
        ("검색된1,000개의 논문과 제약에서3가지를", "검색된 1,000개의 논문과 제약에서 3가지를"),
        ("융합에대한 우려와 문제 해결을위한 전략을통하여 본", "융합에 대한 우려와 문제 해결을 위한 전략을 통하여 본"),
        ("방법에 대한내용, 기법에 의한모의 훈련", "방법에 대한 내용, 기법에 의한 모의 훈련"),
        ("유형에 따른적용과 이를 통한융합", "유형에 따른 적용과 이를 통한 융합"),
        ("474편)을대상으로, 성과를바탕으로 보았다", "474편)을 대상으로, 성과를 바탕으로 보았다"),
        ("활용하여워드클라우드를, 분석함으로써선제적으로", "활용하여 워드클라우드를, 분석함으로써 선제적으로"),
        ("‘제도’, ‘공익’ 등의주제에서", "‘제도’, ‘공익’ 등의 주제에서"),
    ],
)
def test_the_blank_between_two_sentences_is_inserted(run_on: str, apart: str) -> None:
    assert insert_blanks(run_on).text == apart


def test_a_korean_verb_may_end_in_each_of_eight_final_consonants() -> None:
    assert (
        insert_blanks("한다.갑 많다.갑 쉽다.갑 없다.갑 있다.갑 같다.갑 높다.갑 좋다.갑 책다.갑 달다.갑 곰다.갑").text
        == "한다. 갑 많다. 갑 쉽다. 갑 없다. 갑 있다. 갑 같다. 갑 높다. 갑 좋다. 갑 책다.갑 달다.갑 곰다.갑"
    )


def test_a_word_of_three_letters_ends_a_sentence_and_a_name_only_before_a_word_that_starts_one() -> None:
    assert insert_blanks("the two.Deep nets, it.Deep nets, Adam.The data, Adam.Deep nets").text == (
        "the two. Deep nets, it.Deep nets, Adam. The data, Adam.Deep nets"
    )


@pytest.mark.parametrize(
    "text",
    [
        "U.S.A, e.g. this, i.e.it, Ph.D. and 3.5 or 1.2.3",
        "Node.js, ASP.Net is, scikit.Learn_x, torch.nn.Module and www.Example.com or https://a.io/b.The c",
        "10.1000/abc.The def, doi:10.1/x.In y, report.The.txt",
        "Ms.Marvel met Mr.Anderson, Dr.Kim said, in Fig.Three and St.Louis (D.Clin.Psych. degree)",
        "as subtask 4.A was, Task 1.B is",
        "ASP.NET and OWL.Lite, the class IO.Reader",
        "제36조, 코로나19, 총36명, 만3세, 위해3",
        "캐나다.미국, 우간다.르완다, 교수.학습, 육상.해상.공중, 혁신적.광역적 융합",
        "중요하다.'는 인식, 옳다.라고 말했다, 옳다.는 주장",
        "교양?전공?교과교육학, 비교?분석, 전문가?학생",
        "Streptomyces sp.의 CYP, Kim et al.는, A. E.에서는",
        "이에 대한민국은, 최근에 대한의사협회가, 지분을 대한항공에, 곡선을 따른다고, 이를 위한답시고, 세대한 사람",
        "하여야한다고, 위하여서는, 구하여지는데, 통하여선가, 보존하여왔던, 시작하여오던, 함으로써도있는, 등의자에앉아",
        "東京。大阪、京都.奈良 これはペンです.次に 研究.方法",
        "Привет.Мир и γεια.Σας, f(x)=a.B and $a.The$",
        "x,y,z and alpha,beta-unsaturated 1,2-diol; HLA-A,B",
        "f(alpha,beta) of [noun,topic] in a=some,other",
    ],
)
def test_abbreviations_names_addresses_formulas_and_other_scripts_get_no_blank(text: str) -> None:
    assert insert_blanks(text) == (text, 0)


@pytest.mark.parametrize(
    ("labelled", "plain"),
    [
        ("Abstract In recent years", "In recent years"),
        ("AbstractThe advent", "The advent"),
        ("Abstract. Purpose To show", "To show"),
        ("ABSTRACT Deep learning is", "Deep learning is"),
        ("Purpose: We test. Methods:We ask 12 people. Results - It works.", "We test. We ask 12 people. It works."),
        ("Context. Stars shine. Aims. We look. Results. They do.", "Stars shine. We look. They do."),
        ("Purpose Fashion is new. Design/methodology/approach – We look.", "Fashion is new. We look."),
        ("It was significant. Results The rate rose.", "It was significant. The rate rose."),
        ("[연구목적] 본 연구는 보았다. [연구결과] 첫째, 좋다.", "본 연구는 보았다. 첫째, 좋다."),
        ("요 약 본 연구는 보았다. 결 론: 좋다.", "본 연구는 보았다. 좋다."),
        ("-국문 초록- 본고는", "본고는"),
        ("AbstractArtificial stars shine", "Artificial stars shine"),
        ("AbstractBackgroundIncreasing numbers shine", "Increasing numbers shine"),
        ("Stars shine. ResultsThere are many.", "Stars shine. There are many."),
        ("Stars shine. Highlights Many stars shine.", "Stars shine. Many stars shine."),
        ("Stars shine. Graphical abstract [DISPLAY OMISSION]", "Stars shine."),
        ("Stars shine. Design/methodology/approach Stars were seen.", "Stars shine. Stars were seen."),
        ("Stars shine. Originality/value None saw them before.", "Stars shine. None saw them before."),
        ("Stars shine. (Author abstract)", "Stars shine."),
        (
            "● Two grow. ● The higher one. We see: • a rise; ► a fall.",
            "Two grow. The higher one. We see: a rise; a fall.",
        ),
        ("Ⅰ. 서론 본고는", "본고는"),
        ("연구배경 및 목적 : 본고는", "본고는"),
    ],
)
def test_a_section_label_is_dropped_at_the_start_and_between_sentences(labelled: str, plain: str) -> None:
    assert drop_labels(labelled, "").text == plain


@pytest.mark.parametrize(
    "text",
    [
        "Abstract Meaning Representation (AMR) is", "Abstract words refer to", "Abstract Syntax Trees are",
        "Its originality/value is high", "(Author abstract) of",
        "Abstractive summarization is", "Stars shine. Highlights of stars", "a Graphical abstract shines.",
        "MethodsX is a journal", "Background subtraction is", "Objective function values", "Summary statistics",
        "Purpose: to determine", "목적 지향 대화에서", "결과적으로 좋다.", "초록 식물은", "배경 소음은",
        "요약 시스템은",
        "We ask with these results: The first", "three conclusions. Results section", "a p-value (Results: 3)",
        "Keywords: a, b", "주제어: 가, 나", "Purpose:", "Abstract", "[Fe/H] is low. [OIII] is high. [결합] 규칙",
        "<구운몽>과 <TEX>", "the ● symbol; ●is, 상 • 하위", "Purpose of life is", "研究目的: 本研究", "目的:本研究",
    ],
)  # fmt: skip
def test_words_that_are_no_label_stay(text: str) -> None:
    assert drop_labels(text, "") == (text, 0)


def test_abstract_stays_where_the_title_has_it() -> None:
    assert drop_labels("Abstract Painting of", "On abstract painting").repairs == 0


@pytest.mark.parametrize(
    ("blank", "joined"),
    [
        ("시스템 을 위해", "시스템을 위해"),
        ("이미지 는 크고 결과 를 보였다", "이미지는 크고 결과를 보였다"),
        ("관점 에서 자율적 으로 썼다", "관점에서 자율적으로 썼다"),
        ("구체 적인 예를 정량 적으로 보고", "구체적인 예를 정량적으로 보고"),
        ("체계 적이고 다차원 적이며 좋다", "체계적이고 다차원적이며 좋다"),
        ("소요되는 시간 과 비용을 다음 과 같이", "소요되는 시간과 비용을 다음과 같이"),
        (
            "학생들 의 수학 성취도 와 교사 의 수업에 대한 품질 에 영향을",
            "학생들의 수학 성취도와 교사의 수업에 대한 품질에 영향을",
        ),
        ("자료 , 기하를 썼다 . 또한", "자료, 기하를 썼다. 또한"),
        ("attitudes , had (BLEU) .", "attitudes, had (BLEU)."),
    ],
)
def test_a_blank_before_a_mark_or_a_particle_is_removed(blank: str, joined: str) -> None:
    assert remove_stray_blanks(blank).text == joined


WHOLE = "창업기업과 정확성, 사용자의 자기효능감"


@pytest.mark.parametrize(
    ("broken", "joined"),
    [
        ("창 업기업의 정확 성을 보았다", "창업기업의 정확성을 보았다"),
        ("사 용자, 창 업기업, 사 용자.", "사용자, 창업기업, 사용자."),
        ("정확 성, 자기효능 감이", "정확성, 자기효능감이"),
    ],
)
def test_words_broken_by_a_blank_are_joined_if_the_record_has_them_whole(broken: str, joined: str) -> None:
    assert remove_stray_blanks(broken, f"{WHOLE} {broken}").text == joined
    assert remove_stray_blanks(broken, broken) == (broken, 0)


@pytest.mark.parametrize(
    "text",
    [
        "창 업기업의 기대",  # one broken word may be written in two ways
        "창 업기업의 창 업기업",
        "창 업무와 정확 성격과 사 용역",  # other words
        "정확 성과와 자기효능 감상",
        "4사 용자와 A창 업기업",  # behind a digit or a letter
        "이 사용자와 두 창업기업의 정확도 감소",
    ],
)
def test_words_that_may_be_two_stay_apart(text: str) -> None:
    assert remove_stray_blanks(text, f"{WHOLE} {text}") == (text, 0)


def test_a_syllable_that_is_often_a_word_is_joined_to_nothing() -> None:
    assert remove_stray_blanks("암 환자와 웹 서비스, 한 국가", "암환자와 웹서비스와 한국가스") == (
        "암 환자와 웹 서비스, 한 국가",
        0,
    )


@pytest.mark.parametrize(
    "text",
    [
        "갑과 을 사이, 진동을 을, 금 은 등, 사람들이 와 있던 곳, 그리스의 에게 해, 물 으로",
        "https://example.org/a_b . P (a_s , a_e ) f . n ≤ 16 , we",
        "조사 '를' 와 '을'",
        "활용한 의 약품, 결과에 의 하면, 기반 의 사결정, 표면적 의 미를, 데이터 기반 의 료기기",
        "인터넷 과 몰입, 별도의 과 세멘케릴리스과, 이해 과 제에서, 밑에까지 와 부어, 고문으로 와 살던, 잠깐 와 있던",
        "교사들은 에 듀테크가, 갑 과 을",
        "그를 적으로 보고, 공동의 적이며 강한 적이고, 위해 적으로 부터, 사람 적어",
    ],
)
def test_blanks_that_may_be_right_stay(text: str) -> None:
    assert remove_stray_blanks(text) == (text, 0)


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("has been shown [19]. The", "has been shown. The"),
        ("처음 제시한 이후[1] 2족 보행로봇", "처음 제시한 이후 2족 보행로봇"),
        ("제안되어왔다 [7], [32], [48–49], [4-6].", "제안되어왔다."),
        ("할 수 있다[4][5][9]. 본", "할 수 있다. 본"),
        ("폐위되었다.[2] 연산군", "폐위되었다. 연산군"),
        ("Soleymani [53]가 제안한", "Soleymani가 제안한"),
        ("works (Yao) [16,17], and", "works (Yao), and"),
    ],
)
def test_the_number_of_a_reference_is_dropped(marked: str, plain: str) -> None:
    assert drop_reference_marks(marked).text == plain


@pytest.mark.parametrize(
    "text",
    [
        "as in [3], by [1] and [2]; 문헌 [4]에서, 식 [2]는, Figure [1]",
        "a velocity of roughly [5, 11] km/s, F [1,306] = 0.37, x [1, 2], the interval [1, 5] and [0, 1] of [0.5]",
        "the [100] direction, silicon [110] surfaces, 실리콘 [111] 방향",
        "[1] 목적을 본다. [2] 방법을 쓴다.",
        "dibenzo[1,4]dioxin, calix[4]arene, bicyclo[2.2.1], [18]F-FDG, since [1947] or data[i]",
        "a" * 50_000 + "[1]" * 10_000 + "x",
    ],
)
def test_other_numbers_in_brackets_stay(text: str) -> None:
    assert drop_reference_marks(text) == (text, 0)


def test_private_characters_are_replaced_where_their_meaning_is_known() -> None:
    assert (
        replace_private_characters("0.61 \uf06dM at 5 \uf0b0C, \uf044x \uf0a3 \uf02d3").text
        == "0.61 μM at 5 °C, Δx ≤ -3"
    )
    assert replace_private_characters("초등학교 4\U000f080f6학년").text == "초등학교 4-6학년"
    for unknown in ("므 변칙, \ued6b 변칙", "\U000f080f 처음", "\uf0ff", "\U000f0100"):
        assert replace_private_characters(unknown) == (unknown, 0)


def test_the_title_keeps_its_labels_and_all_repairs_are_counted_by_kind() -> None:
    text = "Abstract Thestudy has an algo- rithm.We test \uf06d , now. Results: We win [1] , too."
    record, repairs = repair_record(_record(text, "Results [1]: A thestudy of labels"))
    assert record.text == "The study has an algorithm. We test μ , now. We win, too."
    assert record.title == "Results [1]: A the study of labels"
    assert repairs == {
        "fused words": 2,
        "missing blanks": 1,
        "stray blanks": 1,
        "hyphenated words": 1,
        "section labels": 2,
        "reference marks": 1,
        "private characters": 1,
    }
    assert {*repairs, "title pages"} == set(REPAIR_KINDS)


def test_the_title_page_of_a_thesis_is_dropped_behind_a_label_and_counted() -> None:
    text = "[논문 초록] 로봇 수업의 분석 박사학위논문 지도교수: 홍후조 한국대학교 대학원 교육학과 로봇은 기계이다."
    repaired = repair_record(_record(text, "로봇 수업의 분석"))
    assert repaired.record.text == "로봇은 기계이다."
    assert repaired.repairs == {"section labels": 1, "title pages": 1}


def test_broken_korean_words_stay() -> None:
    record = _record("의미와 역할이 창 언연구 대상이다.")
    assert repair_record(record) == (record, {})


_WORDS = (
    "를 는 을 Highlights ment ing the study is Abstract Purpose Results 결과 목적 다 하였다 첫째 가 The We algo rithm"
).split()
_PIECES = st.sampled_from([*_WORDS, *" .,:?-()[]–—'’ⅠA1aé漢"])


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_repaired_text_does_not_change(raw: str) -> None:
    record = repair_record(_record(clean_text(raw))).record
    assert repair_record(record) == (record, {})
    assert clean_text(record.text) == record.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "the",
        "가",
        "다.",
        "1",
        "a'",
        "a-",
        "a.",
        "Aa.",
        "Results: ",
        "Abstract ",
        "결과:",
        "[목적]",
        "가 를 ",
        "aa , ",
        "a-ing",
        "a- b",
        "studyis ",
        ". A",
        "((",
    ],
)
def test_three_million_characters_take_linear_time(piece: str) -> None:
    record = _record((piece * (3_000_000 // len(piece))).strip())
    began = time.process_time()
    repair_record(record)
    assert time.process_time() - began < 30
