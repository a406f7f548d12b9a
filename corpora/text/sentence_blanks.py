"""Insert the missing blank after a sentence (``하였다.또한``, ``method.The``), an introductory word or 에 대한."""

from __future__ import annotations

import re

from shrag.corpora.text.fused_words import Repaired

STARTERS = (
    "The|This|These|Those|That|There|It|Its|They|Their|He|She|We|Our|In|On|At|By|For|From|To|With|As|An|A|If|When|While|Where|Since|"
    "Because|Although|Though|However|Therefore|Thus|Hence|Moreover|Furthermore|Also|Additionally|Besides|Meanwhile|Nevertheless|"
    "First|Firstly|Second|Secondly|Third|Thirdly|Fourth|Fifth|Finally|Lastly|Then|Next|Based|Using|After|Before|During|Among|"
    "Both|Each|Such|Some|Many|Most|Several|Recently|Recent|Currently|Nowadays|Here|Another|Through|Despite|Due|According|"
    "Compared|Experimental|Experiments|Results|Result|Unlike|Under|Especially|Particularly|Specifically|Overall"
)
"""Words that start sentences, as alternatives of a regular expression."""

# The end of a Korean sentence is "있다.", "하였다.", "같다.", "합니다." or "것이다.", but not "캐나다.미국", where the
# full stop stands for a middle dot.
_SYLLABLE = "[\uac00-\ud7a3]"
_FINAL_CONSONANTS = frozenset((4, 6, 17, 18, 20, 25, 26, 27))  # of the syllable before 다: ㄴ ㄶ ㅂ ㅄ ㅆ ㅌ ㅍ ㅎ
_OPEN_SYLLABLES = frozenset("이하니")
_NOUNS = ("판다", "완다", "간다", "란다", "콘다", "니다르", "파니다", "플로니다", "안다", "라하다")
_KOREAN_STOP = re.compile(
    rf"(?<={_SYLLABLE})다\.(?!(?:라고|라는|라며|라면|라|란|는|고|며|면서|면|만)(?![\uac00-\ud7a3]{{2}}))"
    rf"(?=[\uac00-\ud7a3A-Z“‘「『①-⑳]|\[[\uac00-\ud7a3A-Za-z]|\d{{1,4}}[\uac00-\ud7a3])"
)
_KOREAN_QUESTION = re.compile(rf"(?<={_SYLLABLE}[는은인한던])가\?(?={_SYLLABLE})")

_ABBREVIATIONS = frozenset(
    "al fig figs eq eqs eqn ref refs sec secs tab tabs vol vols no nos vs cf dr mr mrs ms prof st sr jr ed eds pp "
    "inc ltd co corp llc dept univ inst etc ca approx resp sp spp var subsp ssp gen col sgt lt capt maj rev hon gov "
    "sen rep pres jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ave blvd mt ft chap "
    "ch art def thm lem prop cor ex viz ibid ie eg phd www com org net edu cn kr io js py".split()
)
# No sign of an address, file name or abbreviation ("a.b.Name") may touch the word before the full stop. The repetitions
# are bounded for linear time.
_BEFORE_STOP = r"(?<![\w./@\\:#&=?+_-])([A-Za-z][A-Za-z'’]{0,40}(?:[-‐–][A-Za-z]{1,40}){0,4}(?<=[a-z]))\."
_ENGLISH_STOP = re.compile(_BEFORE_STOP + r"(?=([A-Z][a-z]*)[ ,])")
# "A" is excluded, since it may be part of a number: "Task 4.A".
_AFTER_SIGN = re.compile(rf"(?<=[\w%][)\]\"”’])\.(?=(?!A )(?:{STARTERS})[ ,])")
_AFTER_NUMBER = re.compile(rf"(?<![\w./@\\:#-])(\d{{1,20}}(?:\.\d{{1,20}})?%?)\.(?=(?!A )(?:{STARTERS})[ ,])")
# A full stop after an acronym: "by ICA.Suggestions were". Before several capitals it may be part of a name: "ASP.NET".
_AFTER_ACRONYM = re.compile(r"(?<![\w./@\\:#&=?+_-])([A-Z]{2,6}s?)\.(?=[A-Z][a-z]{3,20} [a-z])")
_MIXED_STOP = re.compile(
    r"(?<=[a-z] )([a-z]{4,40})\.(?=[\uac00-\ud7a3])"
    r"(?!(?:은|는|이|가|을|를|의|에|와|과|로|도|만|등|및|에서|에게|으로|이나|이라는)[ ,.)])"
)
LABELS_AFTER_STOP = (
    "Backgrounds?|Introduction|Purposes?|Objectives?|Aims?|Methods?|Results?|Findings|Discussion|Conclusions?"
)
"""Labels that follow a full stop without a blank, as alternatives of a regular expression.

Once the blank is there, :mod:`shrag.corpora.text.section_labels` drops the label.
"""

_BEFORE_LABEL = re.compile(rf"(?<=[a-z)\]%\d][.])(?=(?:{LABELS_AFTER_STOP})(?:\s?[:：]|[A-Z][a-z]+ ))")
_COMMA = re.compile(r"(?<= )([a-z]{4,30}),(?=[a-z]{3,30}(?: [a-z]|[,.]\s))")
# A Korean title and its English translation: "연구Study on".
_ENGLISH_TITLE = re.compile("[\uac00-\ud7a3](?=(?:An? |The )?[A-Z][a-z]{2,20} (?:on|of|for|in|and|to|the|with) )")
# A number behind a particle or an ending: "이를 위해36명을".
_COUNT = re.compile(
    r"(?:위해|위하여|통해|통하여|으로|에서|된)(?=\d[\d,.]*(?:명|개|년|가지|편|건|곳|종|회|차례|문항|세|대|%))"
)
# A pattern that begins with a certain character is found fast, so what stands before it is tested behind it.
# 에 대한, 을 위한 and the like without the blank before the verb (융합에대한 우려) or behind it (방법에 대한내용).
# A name may begin with 대한 (대한민국, 대한의사협회, 대한항공), and 다 may end a sentence (따른다).
_BEFORE_VERB = re.compile(
    "[에을를](?<=[\uac00-\ud7a3]{3})(?:(?<=에)(?=(?:대(?:한|해|하여)|관(?:한|하여)|의(?:한|해|하여)|따른|따라) )|"
    "(?<!에)(?=(?:위|통)(?:한|해|하여) ))"
)
_BEHIND_VERB = re.compile(
    " (?:대한|관한|위한|통한|의한|인한|따른)(?<=[에을를로]...)(?=[\uac00-\ud7a3]{2})"
    "(?![다답단]|[\uac00-\ud7a3]{0,12}(?:민국|제국|회|항공|통운|연맹))"
)
# 을 대상으로 and the like without the blank before them (논문을대상으로), and what follows a verb or 등의 without one
# (활용하여워드클라우드를, 등의주제에서), unless it may be an ending or an auxiliary verb (하여야, 하여왔다).
_BEFORE_NOUN = re.compile("[을를](?<=[\uac00-\ud7a3)].)(?=(?:대상|중심|바탕|토대|기반|기준)으로[ ,])")
_BEHIND_PREDICATE = re.compile(
    "하여(?<=[\uac00-\ud7a3]..)(?![야서도금는선만지진질져졌간튼왔온올오])(?=[\uac00-\ud7a3]{3})|"
    "함으로써(?<=[\uac00-\ud7a3]....)(?!도)(?=[\uac00-\ud7a3]{3})|"
    "의(?<=[ ,]등의)(?!자)(?=[\uac00-\ud7a3]{3})"
)
_HANGUL = re.compile(_SYLLABLE)
# Every pattern except those above needs a match of this one.
_STOP_WITHOUT_BLANK = re.compile(r"[.,?][^\W\d_]|다\.[\d“‘「『①-⑳\[]")
_STARTER = re.compile(rf"(?:{STARTERS})")
_SHORTEST_WORD = 3

_INTRODUCTION = re.compile(
    r"(?<![\w,;/-])(However|Therefore|Moreover|Furthermore|Additionally|Firstly|First|Secondly|Second|Thirdly|Third|Finally|Lastly|"
    r"Nevertheless|Meanwhile|Consequently|Recently|Specifically),(?=[A-Za-z]{1,20} )"
    r"|(?<![\uac00-\ud7a3,])(첫째|둘째|셋째|넷째|다섯째|그러나|따라서|하지만|또한|한편),(?=[\uac00-\ud7a3])"
)

# Patterns, and before each what every match of it has. It is found fast because it begins with a certain character.
_PATTERNS = tuple(
    (re.compile(needed), pattern)
    for needed, pattern in (
        (r"가\?", _KOREAN_QUESTION),
        (rf"\.(?:{LABELS_AFTER_STOP})", _BEFORE_LABEL),
        (",[a-z]{3}", _COMMA),
        (r"\.(?<=[\d%]\.)[A-Z]", _AFTER_NUMBER),
        (r"\.(?<=[)\]\"”’]\.)[A-Z]", _AFTER_SIGN),
        (r"\.(?<=[A-Zs]\.)[A-Z][a-z]{3}", _AFTER_ACRONYM),
        (rf"\.(?<=[a-z]\.){_SYLLABLE}", _MIXED_STOP),
        (",[A-Za-z\uac00-\ud7a3]", _INTRODUCTION),
    )
)
_CAPITAL_AFTER_STOP = re.compile(r"\.(?<=[a-z]\.)[A-Z]")


def insert_blanks(text: str) -> Repaired:
    """Insert a blank between two sentences, behind an introductory word's comma, around 대한 in 에 대한, behind 하여.

    >>> insert_blanks("CNN을 썼다.AI는 빠르다. We test a method.The result, U.S.A, Node.js and 3.5 stay.").text
    'CNN을 썼다. AI는 빠르다. We test a method. The result, U.S.A, Node.js and 3.5 stay.'
    """
    text, repairs = _insert_korean_blanks(text)
    if not _STOP_WITHOUT_BLANK.search(text):
        return Repaired(text, repairs)

    def insert(match: re.Match[str]) -> str:
        nonlocal repairs
        repairs += 1
        return match.group() + " "

    def after_korean(match: re.Match[str]) -> str:
        return insert(match) if _ends_verb(text, match.start()) else match.group()

    def after_english(match: re.Match[str]) -> str:
        word, following = match.group(1), match.group(2)
        if len(word) < _SHORTEST_WORD or word.lower() in _ABBREVIATIONS:
            return match.group()
        # After a name ("Ms.Marvel"), only a word that starts sentences shows that a new sentence begins.
        return insert(match) if word.islower() or _STARTER.fullmatch(following) else match.group()

    if "다." in text:
        text = _KOREAN_STOP.sub(after_korean, text)
    for needed, pattern in _PATTERNS:
        if needed.search(text):
            text = pattern.sub(insert, text)
    if _CAPITAL_AFTER_STOP.search(text):
        text = _ENGLISH_STOP.sub(after_english, text)
    return Repaired(text, repairs)


def _insert_korean_blanks(text: str) -> Repaired:
    """Insert the blanks that a Korean text lacks within a sentence."""
    repairs = 0
    if _HANGUL.search(text):
        for pattern in (_ENGLISH_TITLE, _COUNT, _BEFORE_VERB, _BEHIND_VERB, _BEFORE_NOUN, _BEHIND_PREDICATE):
            text, found = pattern.subn(r"\g<0> ", text)
            repairs += found
    return Repaired(text, repairs)


def _ends_verb(text: str, at: int) -> bool:
    """Return whether ``다`` at this place ends a verb, judged by the syllable before it."""
    before = text[at - 1]
    if text[max(0, at - 2) : at + 1].endswith(_NOUNS):
        return False
    return before in _OPEN_SYLLABLES or (ord(before) - 0xAC00) % 28 in _FINAL_CONSONANTS
