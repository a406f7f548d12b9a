"""Golden token lists: a change of Kiwi or of a rule must show here."""

from __future__ import annotations

import gc
import unicodedata
from weakref import WeakValueDictionary

import pytest

from shrag.corpora.text.cleaning import plain_line
from shrag.indexing.analysis import morphological_analysis
from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes, load_kiwi
from shrag.indexing.analysis.user_dictionary import UserDictionary, parse_dictionary


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        # Nouns by their parts, and a run of nouns as one term more: what has the compound ranks before its parts apart.
        (
            "인공지능 교육에서 설명 가능한 인공지능은 어떤 의미가 있나요?",
            ["인공", "지능", "인공지능", "교육", "설명", "가능", "인공", "지능", "인공지능", "의미"],
        ),
        (
            "인공신경망(Artificial Neural Network, ANN)을",
            ["인공", "신경망", "인공신경망", "artifici", "neural", "network", "ann"],
        ),
        # A prefix is no term of its own, a suffix (적, 화) none at all; with the prefix the noun is one term more.
        ("비정상적인 초고속 반응속도", ["정상", "비정상", "고속", "초고속", "반응", "속도", "반응속도"]),
        ("2차전지의 용량은 1,200 mAh이다", ["2", "차", "전지", "용량", "1200", "mah"]),
        ("GPT-4와 A₃, H2O, 5G를 비교", ["gpt", "gpt4", "4", "a3", "h2o", "5g", "비교"]),
        # Every way to a -하다 or -되다 word ends at its root, whether Kiwi has it whole (깨끗하) or in two (복잡 + 하).
        ("자동화된 깨끗한 물", ["자동", "깨끗", "물"]),
        ("복잡하고 복잡한 것을 학습하였다. 사용되었다", ["복잡", "복잡", "학습", "사용"]),
        # A particle goes, whatever it stands behind: letters, Greek ones too, digits, signs, closing brackets.
        ("딥러닝AI를 BERT를 C++을 50%를 (DNN)의", ["딥", "러닝", "딥러닝", "ai", "bert", "c++", "50", "dnn"]),
        ("β-카로틴의 TNF-α를", ["beta", "카로틴", "tnf", "alpha", "tnfalpha"]),
        ("Fe²⁺의 5℃에서", ["fe2+", "fe", "5", "c"]),
        # Numbers and their units are terms apart; joined ones (30세) cost more than they found.
        ("5mg을 30세 2023년", ["5mg", "mg", "30", "세", "2023", "년"]),
        ("β-carotene(카로틴)의 PM2.5", ["beta", "betacaroten", "caroten", "카로틴", "pm2", "pm25", "pm", "5"]),
        ("東洋의 大學", ["東洋", "大學"]),
        ("무엇을 어떻게 하는 것인가?", []),
        ("…!? · 「」", []),
        ("", []),
    ],
)
def test_these_texts_have_these_terms(analyzer: KoreanEnglishAnalyzer, text: str, terms: list[str]) -> None:
    (found,) = analyzer.terms([text])
    assert sorted(found) == sorted(terms)


def test_nfd_half_width_and_spacing_make_no_difference(analyzer: KoreanEnglishAnalyzer) -> None:
    plain = "한글 검색 GPT-4"
    for form in (unicodedata.normalize("NFD", plain), "한글\u3000검색  ＧＰＴ－４", "ﾤﾡﾱ" and "한글\t검색\nGPT‑4"):
        assert analyzer.terms([plain_line(form)]) == analyzer.terms([plain]), form


def test_tokens_have_the_offsets_of_their_characters(analyzer: KoreanEnglishAnalyzer) -> None:
    text = "「검색엔진을」 ㎏당 A₃와"
    (tokens,) = analyzer.tokens([text])
    assert tokens == [
        Token("검색", 1, 3, "noun"),
        Token("검색엔진", 1, 5, "compound"),
        Token("엔진", 3, 5, "noun"),
        Token("kg", 8, 9, "foreign"),
        Token("a3", 11, 13, "foreign"),
    ]


def test_terms_are_the_terms_of_the_tokens(analyzer: KoreanEnglishAnalyzer) -> None:
    texts = ["COVID-19 백신(vaccine)의 효과", "", "plain English only"]
    assert analyzer.terms(texts) == [[token.term for token in tokens] for tokens in analyzer.tokens(texts)]


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["가", "a", "ㅋ", "中", "1", "가a1"])
def test_one_endless_word_is_analyzed_in_pieces_and_in_time(analyzer: KoreanEnglishAnalyzer, letter: str) -> None:
    (terms,) = analyzer.terms([letter * 20_000])
    assert bool(terms) is (letter != "ㅋ")  # laughter is no word
    assert all(len(term) <= 64 for term in terms)


def test_the_cache_forgets_its_oldest_half_when_full() -> None:
    small = KoreanEnglishAnalyzer(cached_words=100)
    small.terms([" ".join(f"word{n}" for n in range(101))])
    assert small.terms(["word3 word100"]) == [["word3", "word", "word100", "word"]]


def test_the_fingerprint_names_what_determines_the_terms(analyzer: KoreanEnglishAnalyzer) -> None:
    assert analyzer.fingerprint == (
        "rules 5; kiwipiepy 0.24.1, model 0.24.0, no name dictionaries; tags NNG NNP NR XR SH NNB NP VV VA MAG; "
        "snowball english (PyStemmer 3.1.0); stop words df08b534; added nouns 49fc62d6; misread nouns 007d785e; "
        "loanwords 36ca1ec2; irregular forms c425342b; British spellings c0312341; dictionary none"
    )


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("IT convergence: is it new?", ["it", "converg", "new"]),
        ("정보기술(IT)과 IT융합", ["정보", "정보기술", "기술", "it", "it", "융합"]),
        ("WHO", ["who"]),
        ("IT 융합 AI IOT", ["it", "융합", "ai", "iot"]),
        ("THE USE OF IT IN SCHOOLS", ["use", "school"]),
        ("The use of IT in schools", ["use", "it", "school"]),
    ],
)
def test_acronyms_are_words_unless_all_is_in_capitals(
    analyzer: KoreanEnglishAnalyzer, text: str, terms: list[str]
) -> None:
    assert analyzer.terms([text]) == [terms]
    assert [[token.term for token in tokens] for tokens in analyzer.tokens([text])] == [terms]


def test_analyzers_of_one_dictionary_share_a_kiwi(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class _Loaded:
        """Stands for a Kiwi."""

    loaded: list[str] = []

    def load(dictionary: UserDictionary) -> _Loaded:
        loaded.append(dictionary.fingerprint)
        return _Loaded()

    monkeypatch.setattr(morphological_analysis, "load_kiwi", load)
    monkeypatch.setattr(morphological_analysis, "_loaded", WeakValueDictionary())
    words = parse_dictionary(["삼원전지"], "words.txt")
    one, other, different = KoreanEnglishAnalyzer(), KoreanEnglishAnalyzer(), KoreanEnglishAnalyzer(dictionary=words)
    for analyzer in (one, other, different, one):
        analyzer.prepare()
    assert loaded == ["none", words.fingerprint]
    del one, other, analyzer
    gc.collect()
    KoreanEnglishAnalyzer().prepare()
    assert loaded == ["none", words.fingerprint, "none"]


@pytest.mark.slow
def test_an_unused_kiwi_is_released_and_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(morphological_analysis, "load_kiwi", load_kiwi)
    monkeypatch.setattr(morphological_analysis, "_loaded", WeakValueDictionary())
    for _ in range(3):
        assert [each.form for each in KoreanMorphemes().split("검색은 빠르다.")] == ["검색", "은", "빠르", "다", "."]
        gc.collect()
        assert dict(morphological_analysis._loaded) == {}
