"""Spellings of Korean loanwords: all spellings of a word have the term of its standard spelling (컨텐츠 → 콘텐츠).

The standard spellings follow the rules of the National Institute of Korean Language, unless records mostly have another
one (플라스마, 레이더). A chemical's name in the nomenclature of 1998 and its earlier name are one word too (메테인 →
메탄). The table leaves out words whose other spelling is a word of its own (매트릭스, 메트릭스).
"""

from __future__ import annotations

import re

STANDARD_SPELLINGS = dict(
    pair.split(":")
    for pair in """
    컨텐츠:콘텐츠 메세지:메시지 데이타:데이터 알고리듬:알고리즘 어플리케이션:애플리케이션 센타:센터 디지탈:디지털
    로보트:로봇 리더쉽:리더십 멤버쉽:멤버십 인턴쉽:인턴십 파트너쉽:파트너십 멘토쉽:멘토십 오너쉽:오너십 스킨쉽:스킨십
    카운셀링:카운슬링 케릭터:캐릭터 프렌차이즈:프랜차이즈 캠패인:캠페인 프리젠테이션:프레젠테이션 심포지움:심포지엄
    비젼:비전 텔레비젼:텔레비전 워크샵:워크숍 라이센스:라이선스 메뉴얼:매뉴얼 초콜렛:초콜릿 초코렛:초콜릿 컨셉:콘셉트
    컨셉트:콘셉트 콘소시엄:컨소시엄 콘소시움:컨소시엄 컨소시움:컨소시엄 컨퍼런스:콘퍼런스 콜렉션:컬렉션
    파라메터:파라미터 파라메타:파라미터 억세스:액세스 엑세스:액세스 블럭:블록 수퍼:슈퍼 타겟:타깃 로케트:로켓
    스케쥴:스케줄 소세지:소시지 케익:케이크 자켓:재킷 다이아그램:다이어그램 네트웍:네트워크 버젼:버전 발란스:밸런스
    섀도우:섀도 윈도우:윈도 렌트카:렌터카 카달로그:카탈로그 앙케이트:앙케트 넌센스:난센스 시뮬레이타:시뮬레이터
    시물레이션:시뮬레이션 씨뮬레이션:시뮬레이션 레이다:레이더 모타:모터 콘트롤:컨트롤 콘트롤러:컨트롤러
    웨이블렛:웨이블릿 매커니즘:메커니즘 메카니즘:메커니즘 플라즈마:플라스마 콜레스트롤:콜레스테롤 프라스틱:플라스틱
    싸이클:사이클 싸이트:사이트 싸이버:사이버 써비스:서비스 씨스템:시스템 테크놀러지:테크놀로지 텍스쳐:텍스처
    캡쳐:캡처 제스쳐:제스처 벤쳐:벤처 아키텍쳐:아키텍처 레져:레저 챠트:차트 쥬스:주스 레포트:리포트 밧데리:배터리
    액츄에이터:액추에이터 엑츄에이터:액추에이터 오리지날:오리지널 컴팩트:콤팩트 콤퓨터:컴퓨터 클라스터:클러스터
    터미날:터미널 트랜드:트렌드 트랜지스타:트랜지스터 팜플렛:팸플릿 파라독스:패러독스
    플래쉬:플래시 플렛폼:플랫폼 애니매이션:애니메이션 에니메이션:애니메이션 악세사리:액세서리 악세서리:액세서리
    캐패시터:커패시터 엔코더:인코더 레이져:레이저 스팩트럼:스펙트럼 크로마토그라피:크로마토그래피
    토모그라피:토모그래피 리쏘그래피:리소그래피 리소그라피:리소그래피 다이나믹:다이내믹 다이나믹스:다이내믹스
    스테인레스:스테인리스 알미늄:알루미늄 쇼셜:소셜 알러지:알레르기 앨러지:알레르기 카톨릭:가톨릭 크리스찬:크리스천
    마켓팅:마케팅 브렌드:브랜드 바베큐:바비큐 데스크탑:데스크톱 디렉토리:디렉터리 리모콘:리모컨 쉬프트:시프트
    컨버젼스:컨버전스 컨버젼:컨버전 퓨젼:퓨전 쎄션:세션 에이젼트:에이전트 에이젼시:에이전시
    까페:카페 휴매노이드:휴머노이드 릴레이션쉽:릴레이션십 팔로워쉽:팔로워십 팔로어십:팔로워십 모니터닝:모니터링
    커뮤니케이숀:커뮤니케이션 스노우:스노 옐로우:옐로
    컨벌루션:컨볼루션 런닝:러닝 쳇봇:챗봇 트렌스포머:트랜스포머 렌덤:랜덤 시멘틱:시맨틱 마코프:마르코프 퓨리에:푸리에
    엠베디드:임베디드 엠베딩:임베딩 블랜디드:블렌디드 디퓨젼:디퓨전 베이시안:베이지안 뉴랄:뉴럴
    클러스트링:클러스터링 온토로지:온톨로지 벨리데이션:밸리데이션

    글루코오스:글루코스 셀룰로오스:셀룰로스 폴리에칠렌:폴리에틸렌 에칠렌:에틸렌 메테인:메탄 에테인:에탄 뷰테인:부탄
    헥세인:헥산 아이오딘:요오드 저마늄:게르마늄 망가니즈:망간 타이타늄:티타늄 티탄:티타늄 크로뮴:크롬
    플루오린:불소 소듐:나트륨 포타슘:칼륨 아밀레이스:아밀라아제 아밀라제:아밀라아제
    리파제:리파아제 프로테이스:프로테아제 펩티다제:펩티다아제 펩타이드:펩티드 폴리펩타이드:폴리펩티드
    뉴클레오타이드:뉴클레오티드 알데히드:알데하이드 포름알데히드:폼알데하이드 포름알데하이드:폼알데하이드
    카복실:카르복실 카보닐:카르보닐
    """.split()
)
"""A noun in another spelling → its standard spelling, whose term both have."""

_OF_SAME_LENGTH = {other: standard for other, standard in STANDARD_SPELLINGS.items() if len(other) == len(standard)}
_OTHER = re.compile("|".join(sorted(_OF_SAME_LENGTH, key=len, reverse=True)))


def with_standard_spellings(text: str) -> str:
    """Replace other spellings by the standard ones of the same length, so that no position changes.

    They are replaced within longer words too (데이타베이스), which Kiwi would read as one unknown noun.

    >>> with_standard_spellings("유전알고리듬과 데이타베이스, 네트웍")
    '유전알고리즘과 데이터베이스, 네트웍'
    """
    return _OTHER.sub(lambda found: _OF_SAME_LENGTH[found.group()], text)
