"""Drop section labels (``Abstract``, ``Purpose:``, ``[연구목적]``) and bullets of abstracts, which disturb sentences.

A label is dropped at the start of an abstract and between two of its sentences, and only if a sentence begins behind
it. The same words in ordinary text ("Abstract Meaning Representation", "목적 지향 대화") stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrag.corpora.text.fused_words import Repaired
from shrag.corpora.text.sentence_blanks import LABELS_AFTER_STOP, STARTERS

_ENGLISH = (
    "abstract|summary|background(?: and (?:aims?|objectives?|purpose))?|"
    "background/(?:introduction|aims?|objectives?)|introduction|"
    "(?:research )?(?:purposes?|objectives?|aims?)(?: and (?:background|methods?))?|aims? and objectives?|"
    "introduction and aims?|purpose of (?:the )?(?:study|review|research)|context|motivation|rationale|"
    "(?:materials?|patients|subjects|participants|data) and methods?|"
    "methods?(?: and (?:materials?|results|analysis))?|methods?/approach|methodology|methodologies|"
    "design/methodology/approach|design/methods?|study design|research methods?|"
    "(?:research )?design,? data,?(?: and|,|&) methodology|research design(?: and methods?)?|design and methods?|"
    "setting|participants|main outcome measures?|measurements?|"
    "(?:main |key |research )?(?:results?|findings?)(?: and (?:discussions?|conclusions?))?|"
    "discussions?(?: and conclusions?)?|"
    "conclusions?(?: and (?:implications?|recommendations?|discussions?|relevance))?|interpretation|significance|"
    "(?:practical |social |managerial |theoretical |research |clinical )?implications?|"
    "research limitations?(?:/implications?)?|limitations?|originality(?:/value)?|novelty|clinical relevance|"
    "applications?|recommendations?"
)
_KOREAN_NOUN = (
    r"배\s?경|목\s?적|필요성|방\s?법|대\s?상|재\s?료|결\s?과|결\s?론|서\s?론|고\s?찰|논\s?의|제\s?언|의\s?의|시사점|내\s?용|"
    r"요\s?약|요\s?지|초\s?록|독창성"
)
_KOREAN = (
    rf"(?:연구(?:의|\s)?\s?|논문\s?|국문\s?|한글\s?|영문\s?)?(?:{_KOREAN_NOUN})"
    rf"(?:\s?(?:및|과|와|/|·|・|,)\s?(?:연구\s?)?(?:{_KOREAN_NOUN}))*"
)
# A capital distinguishes the label from the word: "Results:" and "RESULTS:", not "with these results: …".
_LABEL = rf"(?:(?=[A-Z])(?i:{_ENGLISH})|{_KOREAN})"
_MARKED = (
    rf"(?:{_LABEL}\s?[:：]\s?|{_LABEL}\s?[-–—]\s(?=[A-Z])|[\[【<〔(]\s?{_LABEL}\s?[\])】>〕]\s?[:：]?\s?"
    rf"|(?:Abstract|Aims?|Context|Methods?|Results?|Conclusions?|Purpose|Objectives?|Background|Summary)\.\s)"
)
# Only the beginning of a sentence may follow a label; before a lower-case word, the label is a part of the sentence.
_SENTENCE = r"(?=[A-Z0-9\uac00-\ud7a3“‘「『\"'(\[<$①-⑳])"
_MARKED_START = re.compile(rf"{_MARKED}{_SENTENCE}")
_BARE_START = re.compile(
    rf"(?:(?i:abstract)(?={_LABEL}\b|(?:{STARTERS})\b)|(?:Abstract|{LABELS_AFTER_STOP})(?=[A-Z][a-z]{{2,}})|(?:ABSTRACT|Abstract)\s(?={_LABEL}|[A-Z‘“])"
    rf"|(?:Purpose|Objectives?|Aims?|Background|Introduction|Summary)\s(?=(?:{STARTERS}|Much)\s)"
    r"|[-–—]?\s?(?:국문\s?(?:초록|요약|요지)|논문\s?(?:초록|요약)|초 록|요 약|서 론|목 적)"
    r"\s?[-–—]?\s(?=[\uac00-\ud7a3A-Z“‘「『0-9])"
    r"|(?:Ⅰ|I|1)\s?\.\s?(?:서\s?론|머리말|들어가며)\s)"
)
# These count only in a structured abstract, that is, if another label follows.
_FIRST_OF_SEVERAL = re.compile(r"(?:Purpose|Objectives?|Aims?|Background|Introduction)\s(?=[A-Z])")
# Labels between sentences; a bare label counts only before a word that starts sentences: "… was significant. Results
# The …".
_INSIDE = re.compile(
    rf"(?:{_MARKED}){{1,4}}{_SENTENCE}"
    r"|(?:Purpose|Objectives?|Aims?|Background|Methods?|Results|Findings|Conclusions?|Discussion|Implications)\s"
    rf"(?=(?:{STARTERS})\s)"
    # Hardly a sentence begins with one of these words before a capital, except for "Results Based Management".
    r"|(?:Results|Findings|Conclusions)\s(?!Based\b)(?=[A-Z][a-z]+(?:-[a-z]+)?\s)"
    rf"|(?:{LABELS_AFTER_STOP})(?=[A-Z][a-z]+\s)|Highlights\s(?=[A-Z])"
    # Labels that are no words of a sentence need no mark behind them.
    r"|(?:Design/methodology/approach|Originality/value|Research limitations/implications)\s(?=[A-Z])"
)
_BEFORE_INSIDE = re.compile(r"[.!?。\])”\"] ")
# At the end of a text: the name of a picture, which the text does not have, and a database's note.
_AT_END = re.compile(
    r" Graphical [Aa]bstract(?<=[.!?] Graphical .bstract)(?: \[DISPLAY OMISSION\])?$|(?<=[.!?]) ?\(Author abstract\)$"
)
# A bullet at the start of a text or behind a sentence or a part of one.
_BULLET = re.compile(r"[●•►▶■◆▪] (?=\w)(?:(?<=^..)|(?<=[.;:!?] ..))")
_STOP_BEFORE = re.compile(r"[.!?。][\])”\"']*\s$")
# Names that begin with the adjective: "Abstract Meaning Representation", "Abstract Syntax Trees".
_ABSTRACT_NAMES = re.compile(
    r"Abstract (?:"
    r"Meaning|Syntax|Data [Tt]yp|State|Interpretation|Argument|Algebra|Wikipedia|Machines?\b|Unscoped|"
    r"Reasoning|Concept|Class|Art\b|Expressionis|Anaphora|Visual|Text|Scene|Categor|Dialectical|Domain|"
    r"Game|Homotop|Harmonic|Factor|Simplicial|Rewriting|Nouns?\b|Words?\b|Nonsense|Painting|Thinking|"
    r"Structure|Model\b|Logic|Window|Hidden|Screening|Sentence|Summar|Gener|Sens"
    r")"
)


def drop_labels(text: str, title: str) -> Repaired:
    """Drop the section labels and bullets of an abstract.

    >>> drop_labels("Abstract Purpose: We test. Results: It works (p: 3). The results: good.", "")
    Repaired(text='We test. It works (p: 3). The results: good.', repairs=3)
    """
    repairs = start = 0
    while start < (end := _skip_label(text, start, title)) < len(text):
        start = end
        repairs += 1
    text = text[start:]
    pieces: list[str] = []
    rest = 0
    for label in _labels_inside(text):
        pieces.append(text[rest : label.start()])
        rest = label.end()
    text, at_end = _AT_END.subn("", "".join((*pieces, text[rest:])))
    text, bullets = _BULLET.subn("", text)
    return Repaired(text, repairs + len(pieces) + at_end + bullets)


def _skip_label(text: str, start: int, title: str) -> int:
    """Return where the label that begins at ``start`` ends, or ``start`` if no label begins there."""
    match = _MARKED_START.match(text, start)
    if match:
        return match.end()
    match = _BARE_START.match(text, start)
    if match:
        of_abstract = match.group().lower().strip() == "abstract"
        named = of_abstract and (_ABSTRACT_NAMES.match(text, start) or "abstract" in title.lower())
        return start if named else match.end()
    match = _FIRST_OF_SEVERAL.match(text, start)
    return match.end() if match and _is_structured(text) else start


def _is_structured(text: str) -> bool:
    """Return whether a label stands between two sentences of the text."""
    return next(_labels_inside(text), None) is not None


def _labels_inside(text: str) -> Iterator[re.Match[str]]:
    """Yield the labels between two sentences of the text."""
    end = 0
    for before in _BEFORE_INSIDE.finditer(text):
        start = before.end()
        if start >= end and (label := _INSIDE.match(text, start)):
            end = label.end()
            if _STOP_BEFORE.search(text, max(0, start - 4), start):
                yield label
