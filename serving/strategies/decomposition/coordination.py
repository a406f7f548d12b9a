"""Split coordinated and comparative questions by rule.

"Was X or Y born first?" becomes "Was X born first?" and "Was Y born first?"; a question of two clauses becomes one for
each. Korean goes by Kiwi's particles and endings, English by its joining words. What has none of these is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from shrag.indexing.analysis.morphemes import Morpheme
from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes
from shrag.serving.request import Question

Parser = Callable[[str], Sequence[Morpheme]]
"""Gives the morphemes of a Korean sentence."""

parse_sentence: Parser = KoreanMorphemes().split

_LEAST_CLAUSE = 2
_SPACES = re.compile(r"\s+")

# English. What stands before the joined things and is no part of them, and what ends the second of them.
_LEAD = re.compile(
    r"(?:^|\b)(?:are|is|was|were|do|does|did|have|has|had|can|could|will|would|between|both|of|from|than|in|for|by|"
    r"with|films?|movies?|songs?|which|who|what|whether|either|the same|first|last|later|earlier|older|younger|longer|"
    r"more)\s+$|"
    r"[,:;–—]\s*$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s+(?:both|born|located|from|of|in|at|on|for|have|has|had|are|is|was|were|do|does|did|the same|members?|share|"
    r"known|used|made|found|work|works|worked|die|died|live|lived|with|as|that|who|which)\b|[,?;:]|$",
    re.IGNORECASE,
)
_JOIN = re.compile(r"\s+(?:or|and|versus|vs\.?|compared (?:to|with))\s+", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:,|;)?\s+and\s+(?=(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did)\b)",
    re.IGNORECASE,
)
_LONGEST_NAME = 12  # words

# Korean.
_BESIDE = frozenset((form, "JKB") for form in ("보다", "와", "과", "이랑", "랑", "하고"))
_JOINING_WORDS = frozenset({"및", "또는", "혹은"})
_CLAUSE_ENDINGS = frozenset({"고", "며", "으며", "지만", "으나", "는데", "은데"})
_TOPICS, _TOPIC_TAGS = frozenset({"은", "는", "이", "가"}), frozenset({"JX", "JKS"})
_NOUNS = frozenset({"NNG", "NNP", "SL", "SH", "SN"})
_NAME_TAGS = _NOUNS | {"NNB", "NR", "XPN", "XSN", "SO", "SW", "SP", "SSO", "SSC", "SS"}


def split_coordination(question: Question, parse: Parser) -> list[str]:
    """Return the questions that ``question`` joins, two or more, or none. ``parse`` is asked for Korean alone."""
    parts = _korean(question.text, parse(question.text)) if question.language == "ko" else _english(question.text)
    plain = list(dict.fromkeys(_SPACES.sub(" ", part).strip() for part in parts))
    return plain if len(plain) > 1 else []


def _english(text: str) -> list[str]:
    clauses = _CLAUSE.split(text)
    if len(clauses) > 1 and all(len(clause.split()) > _LEAST_CLAUSE for clause in clauses):
        return [clause.strip(" ,") for clause in clauses]
    # The last join is the likeliest: "the nationality and age of the director of A or B".
    for join in reversed(list(_JOIN.finditer(text))):
        first, second = _first_name(text[: join.start()]), _second_name(text[join.end() :])
        if first and second:
            before = text[: join.start() - len(first)]
            behind = text[join.end() + len(second) :]
            return [f"{before}{first}{behind}", f"{before}{second}{behind}"]
    return []


def _first_name(before: str) -> str:
    """Return the name that ends ``before``: back to a word that leads up to it, as far as names are long."""
    words = list(re.finditer(r"\S+", before))[-_LONGEST_NAME:]
    for word in reversed(words):
        name = before[word.start() :]
        if _LEAD.search(before[: word.start()]) and _is_name(name):
            return name
    return ""


def _second_name(behind: str) -> str:
    """Return the name that begins ``behind``."""
    end = _TAIL.search(behind)
    name = behind[: end.start()] if end else behind
    return name if name and len(name.split()) <= _LONGEST_NAME and _is_name(name) else ""


def _is_name(text: str) -> bool:
    return any(character.isupper() or character.isdigit() for character in text.lstrip()[:1])


def _korean(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    return _joined(text, morphemes) or _compared(text, morphemes) or _clauses(text, morphemes)


def _joined(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Take apart "A와 B": the text with A alone, and with B alone."""
    for place, each in enumerate(morphemes):
        if each.tag == "JC" or (each.tag == "MAJ" and each.form in _JOINING_WORDS):
            first, second = _name_before(morphemes, place), _name_behind(morphemes, place + 1)
            if first and second:
                before, behind = text[: first[0]], text[second[1] :]
                return [f"{before}{text[slice(*first)]}{behind}", f"{before}{text[slice(*second)]}{behind}"]
    return []


def _compared(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Take apart "A는 B보다 …" and "A는 B와 …": what is said, of A alone and of B alone."""
    than = next((place for place, each in enumerate(morphemes) if (each.form, each.tag) in _BESIDE), None)
    if than is None or not (second := _name_before(morphemes, than)):
        return []
    for place, each in enumerate(morphemes):
        if not (each.tag in _TOPIC_TAGS and each.form in _TOPICS and (first := _name_before(morphemes, place))):
            continue
        if place > than and first[0] - morphemes[than].end > 1:
            break  # what follows later is not what is compared
        names = [text[slice(*first)], text[slice(*second)]]
        said = _without(text, [(first[0], each.end), (second[0], morphemes[than].end)])
        return [f"{name} {said}" for name in names]
    return []


def _clauses(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Take apart a sentence of two clauses, each of which names something."""
    for place, each in enumerate(morphemes):
        if each.tag == "EC" and each.form in _CLAUSE_ENDINGS:
            sides = (morphemes[:place], morphemes[place + 1 :])
            if all(sum(one.tag in _NOUNS for one in side) >= _LEAST_CLAUSE for side in sides):
                return [text[: each.end], text[each.end :]]
    return []


def _name_before(morphemes: Sequence[Morpheme], place: int) -> tuple[int, int] | None:
    """Return where the unbroken run of nouns and signs begins and ends that stands right before ``place``."""
    first = place
    while first and morphemes[first - 1].tag in _NAME_TAGS and (first == place or _beside(morphemes, first)):
        first -= 1
    return _bounds(morphemes[first:place])


def _name_behind(morphemes: Sequence[Morpheme], place: int) -> tuple[int, int] | None:
    """Return the same of the run that begins at ``place``."""
    end = place
    while end < len(morphemes) and morphemes[end].tag in _NAME_TAGS and (end == place or _beside(morphemes, end)):
        end += 1
    return _bounds(morphemes[place:end])


def _beside(morphemes: Sequence[Morpheme], place: int) -> bool:
    return morphemes[place].start - morphemes[place - 1].end <= 1


def _bounds(run: Sequence[Morpheme]) -> tuple[int, int] | None:
    return (run[0].start, run[-1].end) if any(each.tag in _NOUNS for each in run) else None


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text
