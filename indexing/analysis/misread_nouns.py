"""Nouns that Kiwi misreads when they stand alone: 전이 (학습), 회로, 아이, 저해, 예후, 사서.

Kiwi reads such a noun as a shorter word with a particle, an ending or a suffix (전 + 이, 회 + 로), or as an
interjection. With a particle and in compounds it reads the noun, so without this table ``전이 학습`` would not find
``전이를`` and ``전이학습``. Words of titles and questions often stand alone. The table leaves out nouns whose other
reading is common: 대한, 통한, 물의, 남아.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ALONE = frozenset(
    """
    가나 가면 가성 가요 가지 각성도 간담 간만 간이 갈구 갈래 개방도 결합도 경사면 경중 경험론 고가 고랑 고분 고약 고차
    고초 공막 공차 과로 관계인 관심도 관여도 괴로움 교수자 교육론 구김 구박 구입자 구적 국내선 국별 군제 군중 군화 권원
    귀로 금제 기고 기니 기쁨 기아나 긴장도 나들이 나선 나염 난간 난대 난도 난막 난민자 난해 날림 내규 내막 내면 내벽
    내수 내이 노출도 놀람 놀림 농업인 능숙도 다극 다변 다양도 단음 단초 당도 대내 독초 돌림 둔감 듣기 마이크로 말하기
    멜라닌 명도 모법 무가 무고 무도 무신 묶음 문서고 물성 물음 물화 미감 미등록어 미움 밀림 반대론자 반음 반일 밝기
    방문의도 배고픔 배치도 배타 번거로움 범음 법도 보고 보어 보조제 보탬 복잡도 본거지 본연 부고 부끄러움 부신 분만 분임
    분해 비주기 비지도 사대 사도 사림 사면 사부 사서 사심 사어 사원 사위 사이클론 사조 사화 사회인 산도 산별 상관도 상임
    상한 상해 색채감 생활상 서고 서지 석단 선명도 선상 선의 선형 성인기 세도 세원 세인 세자 소고 소나 소도 소로 소속도
    소임 속어 쇼와 수가 수렴도 수로 수용의도 순응도 스토리지 시가 시급도 시어 시일 식이 신음 신중 심음 심해 싱글 아쉬움
    아악 아우 아이 아크 아픔 안감 안녕 안대 안와 안정도 안치 알집 애도 애상 야욕 약도 약어 약지 양각 양극 양도 양론 양막
    양비론 어감 어구 어려움 어로 어원 역산 역임 연막 연장음 열대 열화 영원 영화인 예각 예법 예인 예후 오감 오니 오도
    오름 오심 오일 오탐 온대 와우 왕가 왜도 외생 외이도 외적 외침 요골 요도 요로 용해 우리말 우림 우세도 우식 운기 위용
    위인 위임 위험도 위화 유사도 유용도 유한 유해 은화 음감 음기 음수 음차 음치 음표 음해 응고 응전 응집도 이상치 이승
    이용도 이임 이젤 이직의도 이착륙 이출 이해도 인가 인감 인광 인식도 인자 인적 일대 일면 일시 일원 일주 일치도 임도
    임해 입문자 입장권 입질 자가 자아 자유도 장방형 장생 장음 장해 재방문의도 재현도 저가 저류 저변 저해 전공의 전도도
    전두 전미 전이 전초 절호 젊음 점도 점술 접근도 정공 정상인 정합도 제기 제다 제원 조건부 조도 족저근막 종중 주기
    주변인 주심 주야 주요어 주체자 준지도 중심도 지가 지레 지론 지면 지속의도 지적도 직제 진가 집중도 짝짓기 차고 차내
    차도 차로 차시 차양 차임 착용자 참여도 참화 채도 채점자 책사 천부 천이 첨도 첫날 청음 청일 청진음 체고 체육인 초가
    초로 초어 총림 총망라 최적해 추나 추상화 축상 출연자 측도 치마 치어 치자 친숙도 침하 쿠란 타지 탈의 트임 파고 파급도
    파도 판다 판도 판매고 평가지 평균대 평음 폐가 폐로 포로 표면적 피고 피로도 피막 하구 하위어 하자 학도 한일 한쪽
    합성음 해면 행동의도 행복도 향상도 호도 화기 황도 회랑 회로 회임 회전력 회칙 휘도 흐름 흐름도 흥미도
    """.split()
)
"""Nouns that Kiwi misreads only without a particle."""

_ANYWHERE = frozenset(
    """
    과적합 관류 길항제 내진 동위 문양 미성년자 분류기 분석기 승률 심각성 아름다움 어절 오래전 요건 우리나라 유연성
    윗부분 응결 응력 응집 이복 이산화 이수 이식 이원 이종 이주 이주자 이중 이질 자연어 작동제 저산소성 저작권자 적절성
    전공자 정당성 제어기 지지율 참여율 총소득 측위 타당성 학습자 한방 항생 허혈성 효현제
    """.split()
)
"""Nouns that Kiwi misreads with some particles too. In compounds (자연어처리) it recognizes them."""

_DIVIDED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "마이크로": (("마이크로", "NNG"),),
    "방문의도": (("방문", "NNG"), ("의도", "NNG")),
    "비주기": (("비", "XPN"), ("주기", "NNG")),
    "비지도": (("비", "XPN"), ("지도", "NNG")),
    "수용의도": (("수용", "NNG"), ("의도", "NNG")),
    "스토리지": (("스토리지", "NNG"),),
    "이직의도": (("이직", "NNG"), ("의도", "NNG")),
    "재방문의도": (("재", "XPN"), ("방문", "NNG"), ("의도", "NNG")),
    "준지도": (("준", "XPN"), ("지도", "NNG")),
    "지속의도": (("지속", "NNG"), ("의도", "NNG")),
    "행동의도": (("행동", "NNG"), ("의도", "NNG")),
}
"""Parts, with tags, of nouns whose first part Kiwi misreads (비지 of 비지도) or that end with another noun
(방문의도).
"""

_PARTICLES = (
    "들?(?:은|는|이|가|을|를|의|에|와|과|도|만|로|으로|에는|에도|에서|에서는|에서의|에게|에게는|까지|부터|보다|처럼|이나|나"
    "|이며|로서|으로서|로의|으로의|로는|으로는|과의|와의|이란|란|이라는|라는|이다|인|일)|들"
)
_ANYWHERE_WITH_PARTICLE = re.compile(rf"({'|'.join(sorted(_ANYWHERE, key=len, reverse=True))})(?:{_PARTICLES})?")


def misread_noun(run: str) -> str:
    """Return the noun in a run of Hangul, alone or with a particle, if Kiwi would misread it; else an empty text.

    Args:
        run: A whole run of adjacent Hangul syllables, folded.

    >>> misread_noun("전이"), misread_noun("자연어를"), misread_noun("전이가"), misread_noun("학습")
    ('전이', '자연어', '', '')
    """
    if run in _ALONE:
        return run
    match = _ANYWHERE_WITH_PARTICLE.fullmatch(run)
    return match.group(1) if match else ""


def parts_of(noun: str) -> tuple[tuple[str, str], ...]:
    """Return the morphemes of a misread noun, with tags, if Kiwi's own first morpheme would be wrong; else none.

    >>> parts_of("비지도"), parts_of("학습자")
    ((('비', 'XPN'), ('지도', 'NNG')), ())
    """
    return _DIVIDED.get(noun, ())


MISREAD_NOUNS = _ALONE | _ANYWHERE
"""All nouns that Kiwi misreads."""
