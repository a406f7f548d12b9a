"""Words of follow-up questions that name no subject of their own: ``더 최근 연구는?``, ``What are the limits?``.

A short question with only such words has no subject. In a longer one they may be part of it: ``표본 크기를 정하는
방법``.
"""

from __future__ import annotations

import re

from shrag.indexing.analysis.general_words import GENERAL_WORDS
from shrag.indexing.analysis.light_words import LIGHT_WORDS

RECORD_WORDS = LIGHT_WORDS | frozenset(
    """
    additional after analysed analyzed another any article articles available before book books carried comparable
    compared conducted current different document documents done earlier early else english examined exist exists few
    following foreign found further international investigated journal journals korean language languages last late
    later latest list literature many more most much new newer newest next old older oldest one ones other others
    paper papers past present previous prior publication publications published rather recent recently record records
    reference references related report reported reports research review reviews same second several show similar
    since some source sources studied studies study such survey surveys tested title titles today used work works
    written year years
    것 게재 공개 과거 관련 국내 국내외 국문 국외 근래 글 글로벌 금년 기사 기존 나머지 년 년대 년도 논문 다른 다음 대상
    도서 등 또 마찬가지 목록 문서 문헌 발간 발표 발행 별도 보고서 사용 서적 선행 수록 수행 실시 언어
    연구 연도 영문 영어 예전 오늘 올해 외 외국 외국어 요즘 우리말 원문 유사 이외 이용 이전 이후 일본어 일어 자료 작년
    작성 재작년 저널 전 제목 조사 존재 중국어 지난해 진행 참고 책 처음 최근 최신 추가 출간 출처 출판 학술지
    한국어 한글 해외 현재 활용 후
    """.split()
)
"""Words that ask for records: kinds of records, times and languages, and words such as more and other."""

ASPECT_WORDS = (GENERAL_WORDS - RECORD_WORDS) | frozenset(
    """
    accuracy accurate advantage affiliation aim aims alternative alternatives amount amounts analyses analysis
    approach approaches author authors average background benefit benefits challenge challenges cities city
    comparison conclusion conclusions condition conditions cost costs countries country data dataset datasets design
    disadvantage drawback drawbacks duration error errors evaluated evaluation evidence experiment experiments
    feature features findings future goal goals implication implications input inputs large limit limitation
    limitations limits long meaning measure measured measures method methodology methods metric metrics model models
    number numbers outcome outcomes output outputs parameter parameters participant participants performance period
    place places point points price problem problems purpose rate rates region regions result results sample samples
    scale sets size sizes solution solutions strength strengths summary technique techniques time times variable
    variables weakness weaknesses worst
    값 강점 개수 개요 결론 국가 규모 근거 금액 기간 기관 기대 기준 단위 대안 대책 데이터 데이터셋 도시 모델 모형
    목표 방법론 변수 분석 비교 비용 비율 설계 성과 성능 소속 수 수준 수치 시간 시사점 실험 약점 양 연구자 예 예시
    오차 요약 원리 의의 이점 입력 장소 저자 절차 정확 정확도 조건 증거 지역 지은이 지표 차이점 참가자 참여자 최대
    최소 출력 취약점 측정 크기 파라미터 평가 평균 표본 피험자 한계 한계점 해결 해결책 핵심 횟수
    """.split()
)
"""Words for aspects of any subject: parts of a record, measurements, places, people, and general words."""

_YEAR = re.compile(r"(?:19|20)\d\d")


def asks_for_records(word: str) -> bool:
    """Return whether a word asks for records, whatever they are about.

    >>> [asks_for_records(word) for word in ("Studies", "영어", "2020", "한계", "그래핀")]
    [True, True, True, False, False]
    """
    return word.lower() in RECORD_WORDS or _YEAR.fullmatch(word) is not None


def names_subject(word: str) -> bool:
    """Return whether a word names a subject, and not only records or an aspect of any subject.

    >>> [names_subject(word) for word in ("Studies", "한계", "그래핀")]
    [False, False, True]
    """
    return not asks_for_records(word) and word.lower() not in ASPECT_WORDS
