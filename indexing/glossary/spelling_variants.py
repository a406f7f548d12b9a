"""Spelling variants of terms: British forms of American spellings, and common misspellings of Korean loanwords.

A variant that no record of the corpus has is not used, so a rule may form a word that does not exist.
"""

from __future__ import annotations

import re

# The analyzer gives "optimize" and "optimise" different terms: a record is found by its own spelling only.
_BRITISH = [
    (re.compile(american), british)
    for american, british in (
        (r"([a-z]{3})iz(e|ed|er|es|ing|ation|ations|able)\b", r"\1is\2"),
        (r"(anal|catal|paral)yz", r"\1ys"),
        (r"(behavi|neighb|harb|flav|vap)or", r"\1our"),
        (r"\b(col|lab|od|hum|tum|fav|hon|rum|vig)or(s|ed|ing|al|able)?\b", r"\1our\2"),
        (r"\bcentere", "centre"),
        (r"\bcenter", "centre"),
        (r"fiber", "fibre"),
        (r"\btheater", "theatre"),
        (r"\b(milli|centi|kilo|nano|micro)?meter(s?)\b", r"\1metre\2"),
        (r"\bliter(s?)\b", r"litre\1"),
        (r"(model|label|signal|travel|cancel|channel|tunnel|counsel)(ing|ed|er|or)\b", r"\1l\2"),
        (r"\baging\b", "ageing"),
        (r"pediatric", "paediatric"),
        (r"orthopedic", "orthopaedic"),
        (r"gynecolog", "gynaecolog"),
        (r"anesthe", "anaesthe"),
        (r"\bhem(o|at)", r"haem\1"),
        (r"\besophag", "oesophag"),
        (r"edema\b", "oedema"),
        (r"\bestrogen", "oestrogen"),
        (r"diarrhea", "diarrhoea"),
        (r"(isch|an|leuk|septic|glyc|ur|lipid|natr|kal|bacter)em(ia|ic)\b", r"\1aem\2"),
        (r"sulf(ur|ate|ide|on)", r"sulph\1"),
        (r"\baluminum\b", "aluminium"),
        (r"\bdefense\b", "defence"),
        (r"\boffense\b", "offence"),
        (r"\blicense\b", "licence"),
        (r"\bpractice\b", "practise"),
        (r"\bprogram(s?)\b", r"programme\1"),
        (r"\b(cat|dia|ana)log(s?)\b", r"\1logue\2"),
        (r"\bmold(s|ing|ed)?\b", r"mould\1"),
        (r"\bgray\b", "grey"),
        (r"\bfetal\b", "foetal"),
        (r"\bpaleo", "palaeo"),
        (r"\barcheolog", "archaeolog"),
        (r"\b(ful|en)(fill|roll)ment\b", r"\1\2ment"),
        (r"\bjudgment", "judgement"),
        (r"\btire(s?)\b", r"tyre\1"),
        (r"\bplow(s|ing|ed)?\b", r"plough\1"),
        (r"\bmaneuver", "manoeuvre"),
        (r"\bskeptic", "sceptic"),
    )
]
# Every rule has one of these letters, few other words do; the rules take 15 times as long as this.
_MAY_DIFFER = re.compile(
    "iz|yz|vior|ighbor|[lbdmvnpg]or|fiber|(?:ent|eat|et|it)er|[lr](?:ing|ed|er|or)|aging|iatric|opedic|ecolog|anes|hem"
    "|esoph|edem|estro|rrhea|em[ia]|sulf|uminum|[ef]ense|icense|ctice|rogram|log|mold|gray|fetal|paleo|archeo|llment"
    "|judgm|tire|plow|maneu|skept"
)
_KOREAN = {
    "콘텐츠": "컨텐츠", "메시지": "메세지", "데이터": "데이타", "알고리즘": "알고리듬",
    "애플리케이션": "어플리케이션", "센터": "센타", "디지털": "디지탈", "로봇": "로보트", "리더십": "리더쉽",
    "멤버십": "멤버쉽", "인턴십": "인턴쉽", "파트너십": "파트너쉽", "멘토십": "멘토쉽",
    "프레젠테이션": "프리젠테이션", "심포지엄": "심포지움", "비전": "비젼", "텔레비전": "텔레비젼",
    "워크숍": "워크샵", "라이선스": "라이센스", "매뉴얼": "메뉴얼", "초콜릿": "초콜렛", "콘셉트": "컨셉",
    "컨소시엄": "콘소시엄", "콘퍼런스": "컨퍼런스", "컬렉션": "콜렉션", "파라미터": "파라메터", "액세스": "억세스",
    "블록": "블럭", "슈퍼": "수퍼", "타깃": "타겟", "로켓": "로케트", "스케줄": "스케쥴", "소시지": "소세지",
    "케이크": "케익", "재킷": "자켓", "나이트로": "니트로", "메테인": "메탄", "글루코스": "글루코오스",
    "셀룰로스": "셀룰로오스", "다이어그램": "다이아그램", "모니터링": "모니터닝", "네트워크": "네트웍",
    "버전": "버젼", "커뮤니케이션": "커뮤니케이숀", "밸런스": "발란스", "캐릭터": "케릭터",
    "휴머노이드": "휴매노이드", "섀도": "섀도우", "윈도": "윈도우", "스노": "스노우", "옐로": "옐로우",
    "렌터카": "렌트카", "카탈로그": "카달로그", "카페": "까페", "앙케트": "앙케이트", "난센스": "넌센스",
    "시뮬레이터": "시뮬레이타", "레이다": "레이더", "모터": "모타", "컨트롤": "콘트롤", "릴레이션십": "릴레이션쉽",
    "스킨십": "스킨쉽", "오너십": "오너쉽", "팔로어십": "팔로워십",
}  # fmt: skip


def english_spellings(term: str) -> tuple[str, ...]:
    """Return the term and, where the rules form another, its British spelling.

    >>> english_spellings("color center"), english_spellings("model")
    (('color center', 'colour centre'), ('model',))
    """
    if not _MAY_DIFFER.search(term):
        return (term,)
    british = term
    for american, replacement in _BRITISH:
        british = american.sub(replacement, british)
    return (term,) if british == term else (term, british)


def korean_spellings(term: str) -> tuple[str, ...]:
    """Return the term and its variants with another common spelling of a loanword, in either direction.

    >>> korean_spellings("디지털 콘텐츠"), korean_spellings("워크샵")
    (('디지털 콘텐츠', '디지털 컨텐츠', '디지탈 콘텐츠'), ('워크샵', '워크숍'))
    """
    found = [term]
    for standard, other in _KOREAN.items():
        if standard in term and other not in term:
            found.append(term.replace(standard, other))
        elif other in term and standard not in term:
            found.append(term.replace(other, standard))
    return tuple(found)
