"""Nouns that Kiwi gets besides its own dictionary, mostly loanwords.

Kiwi runs an unknown noun together with its neighbors (워드임베딩, 임베딩기반), or divides it, perhaps only with a
particle or in a compound (프레임 + 워크 + 를, 데이터 + 마 + 이닝). So a question with one form misses another. A
noun is added only if other words hardly ever have its syllables: 해시 is left out, because of 이해시키다.
"""

from __future__ import annotations

ADDED_NOUNS = frozenset(
    """
    가우시안 게이미피케이션 골든글러브 그라파이트 그래디언트 그래핀 글루카곤 깃허브 다이오드 디노이징 디버깅
    디아스포라 디코더 디코딩 디퓨전 딥페이크 라우터 라우팅 랜섬웨어 랭킹 로지스틱 루브릭 리그닌 리샘플링 리소그래피
    리질리언스 리팩토링 리포지터리 마르코프 마이닝 마이데이터 메트포르민 멤리스터 모듈러 모빌리티 미메시스 미장센
    바이럴 배깅 버퍼링 베이지안 부스팅 브랜딩 브로드캐스트 블렌디드 빔포밍 샤딩 서포트 세그멘테이션 세션 셀룰로스
    소프트맥스 스무딩 스위칭 스캐폴딩 스케줄러 스케줄링 스코어링 스크래핑 스테가노그래피 스테밍 스텐트 스퍼터링
    스펙트로그램 스푸핑 스핀트로닉스 시그모이드 시맨틱 시소러스 실버타운 아바타 아비투스 아카이빙 알트메트릭스 애자일
    액추에이터 어노테이션 어닐링 어포던스 에듀테크 에뮬레이터 에칭 엑소좀 엔탈피 엔트로피 엘라스틴 오가노이드
    오토인코더 오피오이드 온톨로지 와파린 웨이블릿 유니캐스트 이더리움 이사회 익스플로잇 인덕터 인덱싱 인버터 인코더
    인터루킨 인플루언서 임베딩 적란운 제올라이트 지그비 카테터 캐싱 커널 커패시터 컨볼루션 컴플라이언스 케라틴
    케모카인 코르티솔 콜라겐 쿠버네티스 크라우드 크롤러 크롤링 크리스퍼 클라우드 클러스터링 택소노미 토크나이저
    트랜스포머 파사드 파싱 파인튜닝 파티셔닝 패킷 팬덤 퍼셉트론 퍼징 페로브스카이트 페르소나 펜타닐 포레스트 포렌식
    폭소노미 풀링 프레임워크 프로바이오틱스 프로토타이핑 프로토타입 프롬프트 프리바이오틱스 플리핑 피싱 핑거프린팅
    하이드로젤 하이퍼루프 해싱 햅틱 헤파린 홀로그램 휴리스틱
    """.split()
)
"""The nouns; each is a term of its own in every compound."""
