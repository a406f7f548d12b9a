"""General words, which may occur in any question and name no subject: *effect*, *difference*, 장단점, 동향.

A record may answer a question without having its general words if it has all its other words.
"""

from __future__ import annotations

from shrag.indexing.analysis.light_words import LIGHT_WORDS

GENERAL_WORDS = LIGHT_WORDS | frozenset(
    """
    advantages affect affects afterwards always avoid best better bit bring brought built cause causes choose chose
    cons current cut define defined definition difference differences disadvantages do done earlier effect effects
    enough ever example examples far faster fed happy history impact impacts important improve improves introduction
    issue issues key later little lower main major many mean means much never often overview past people per primary
    pros raise raises rather real reason reasons recent reduce reduces regardless role roles same save see set
    single slower smaller state stuck trend trends type types upon whole worse
    가운데 각각 개념 결과 곳 과제 관계 까닭 나라 나머지 내내 내용 누구 다음 단점 대신 동안 동향 뒤 때문 며칠
    목적 무엇 문제 문제점 방법 방식 배경 분야 사람 사례 사이 속 실제 안 앞 애초 어디 언제 얼마 역사 역할 영향
    옆 요인 요즘 우리 우리나라 원인 위 의미 이상 이슈 이유 이전 이하 이후 장단점 장점 쟁점 전망 전부 정도 정의
    종류 주변 주요 중간 중요성 쪽 차이 처음 최소한 최신 특성 특징 편 필요성 하나 현재 현황 효과
    """.split()
)
"""The general words in lower case. The light words are among them: a capitalized one at the beginning of a question is
not light, but it is general.
"""
