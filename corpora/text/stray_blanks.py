"""Remove blanks before a comma (``자료 , 기하``), a full stop, a particle (``시스템 을``) or 적인 (``구체 적인``).

A particle counts only if the syllable before it allows it. 의, 에, 과 and 와 may be words too, or the beginning of a
word that is cut (``의 사결정``), so the text around them must show that they are not.

Words that are broken behind the first syllable (``창 업기업``) or before a suffix (``정확 성을``) are joined if the
same record has two of them whole elsewhere. Other broken words stay, because only a morphological analysis can tell a
wrong blank from a right one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from shrag.corpora.text.fused_words import Repaired

# Only behind a whole word; behind an address or a formula the blank may be intended.
_BEFORE_MARK = re.compile(r"(?<![^\s(\[\"'“‘])([A-Za-z\uac00-\ud7a3]{2,40}[)\]]?) ([,.])(?= |$)")
# A pattern that begins with a certain character is found fast, so what stands before the blank is tested behind it.
_PARTICLE = re.compile(" (?=(?:를|는|을|으로|에서)[ ,])(?<=[\uac00-\ud7a3] )")
# 의, 에, 과 and 와 by themselves between two words, but not the cut beginning of a word (의 사결정, 과 몰입) or a verb.
_SHORT_PARTICLE = re.compile(
    " (?<=[\uac00-\ud7a3]{2} )(?=(?:"
    "의 (?![하해한거사료학약미견식지존심무도뢰류상혹자복장])|에 (?![듀너세피러이스어코센토])|"
    "과 (?![몰잉대도제목학정거반연장실업열세속부다감민])|와 (?![있서네쉴]))[\uac00-\ud7a3]{2})"
)
# Behind an adnominal form or an adverbial case the next word is a noun or a verb: 활용한 의 약품, 신고에 의, 들어 와.
_BEFORE_SHORT = {"의": "한인던할될운에의", "에": "한의", "와": "에어아러로고까지서해"}
# Behind these syllables 적 may be an enemy: 그를 적으로, 공동의 적이고.
_SUFFIX = re.compile(" (?=적(?:인|으로|이며|이고) )(?<=[\uac00-\ud7a3] )(?<![을를은는이가의과와도만한된할해] )")
_FIRST_SYLLABLE = re.compile("(?<!\\w)([\uac00-\ud7a3]) (?=([\uac00-\ud7a3]{2}))")
# Syllables that are often words: determiners, dependent nouns, adverbs, verbs, numbers, nouns.
_WORDS = frozenset(
    "이그저한두세네전각매본제총첫새옛온양타현구신수등및중간내외시후뿐것데바때더잘못안또즉곧왜다꼭참막갓늘곡몇할될볼줄갈알쓸있없된큰작고어"
    "여년월일차회명건개점위권장절판주만백천억조십의과와에비대암웹빅딥망입팬열극붓삶상팀군뇌책글숲물불술약병눈코귀손발몸집방길강산땅꽃옷밥"
    "쌀콩빛색힘돈값표식선면축핵균종속층급형류쥐소말벌앱칩셀맵툴랩존룸컵톤빔핀홀팜봇"
)
_LAST_SYLLABLE = re.compile(
    "(?<![\uac00-\ud7a3])([\uac00-\ud7a3]{2,20}) "
    "(?=([성화력률율자권학법론감도])(?:[은는이가을를의에로]|으로|에서)?(?:[ ,.)]|$))"
)
_LEAST_BROKEN = 2
_WHOLE = re.compile("(?<![\uac00-\ud7a3])[\uac00-\ud7a3]{3,}")
_PARTICLES = frozenset("을를은는")
_AFTER_VOWEL, _AFTER_CONSONANT = "를는와", "을으과"
_RIEUL = 8  # the final consonant ㄹ, after which the particle is 로 and not 으로


def remove_stray_blanks(text: str, context: str = "") -> Repaired:
    """Remove the blank before a punctuation mark, a particle or the suffix 적, and within words that ``context`` has.

    >>> remove_stray_blanks("시스템 을 구체 적인 자료 , 기하로 썼다 . 갑과 을 사이").text
    '시스템을 구체적인 자료, 기하로 썼다. 갑과 을 사이'
    >>> remove_stray_blanks("창 업기업의 정확 성을", "창업기업과 정확성").text
    '창업기업의 정확성을'
    """
    repairs = 0

    def join(match: re.Match[str]) -> str:
        nonlocal repairs
        before, particle = match.string[match.start() - 1], match.string[match.end()]
        final = (ord(before) - 0xAC00) % 28
        possible = not final if particle in _AFTER_VOWEL else final or particle not in _AFTER_CONSONANT
        if not possible or before in _PARTICLES or before in _BEFORE_SHORT.get(particle, ""):
            return match.group()
        if particle == "으" and final == _RIEUL:
            return match.group()
        repairs += 1
        return ""

    text, suffixes = _SUFFIX.subn("", _SHORT_PARTICLE.sub(join, _PARTICLE.sub(join, text)))
    marks = 0
    if " ," in text or " ." in text:  # most texts have neither
        text, marks = _BEFORE_MARK.subn(r"\1\2", text)
    text, broken = _join_broken_words(text, context)
    return Repaired(text, repairs + suffixes + marks + broken)


def _begins_one(beginning: str, words: Sequence[str]) -> bool:
    """Return whether one of the sorted ``words`` has this beginning."""
    place = bisect_left(words, beginning)
    return place < len(words) and words[place].startswith(beginning)


def _join_broken_words(text: str, context: str) -> Repaired:
    """Join words that are broken behind the first syllable or before a suffix, and stand whole in the context.

    One such word may only be written in two ways (법 체계, 법체계). A text with two of them was broken by a machine.
    """
    found = [
        *(each for each in _FIRST_SYLLABLE.finditer(text) if each.group(1) not in _WORDS),
        *_LAST_SYLLABLE.finditer(text),
    ]
    whole = sorted(_WHOLE.findall(context)) if len(found) >= _LEAST_BROKEN else []
    words = {each.end() - 1: each.group(1) + each.group(2) for each in found}
    broken = {place: word for place, word in words.items() if _begins_one(word, whole)}
    if len(set(broken.values())) < _LEAST_BROKEN:
        return Repaired(text, 0)
    return Repaired("".join(each for place, each in enumerate(text) if place not in broken), len(broken))
