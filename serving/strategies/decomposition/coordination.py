"""Split coordinated and comparative questions by rules.

"Was X or Y born first?" becomes "Was X born first?" and "Was Y born first?". A question of two clauses becomes one
question for each clause. Particles and endings that Kiwi finds show where to split Korean, conjunctions where to split
English. Other questions are not split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shrag.indexing.analysis.morphological_analysis import KoreanMorphemes, Morpheme
from shrag.serving.request import Question

_split_morphemes = KoreanMorphemes().split

_LEAST_CLAUSE = 2

# English: words before the first name that are no part of it, and words that end the second name.
_LEAD = re.compile(
    r"(?:^|\b)(?:are|is|was|were|do|does|did|have|has|had|can|could|will|would|between|both|of|from|than|in|for|by|"
    r"with|films?|movies?|songs?|which|who|what|whether|either|the same|first|last|later|earlier|older|younger|longer|"
    r"more)\s+$|"
    r"[,:;–—]\s*$",
    re.IGNORECASE,
)
_LONGEST_LEAD = 20
"""Characters before a name in which _LEAD is searched for: its longest word, "the same", and blanks."""
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
_COMPARING = frozenset((form, "JKB") for form in ("보다", "와", "과", "이랑", "랑", "하고"))
_JOINING_WORDS = frozenset({"및", "또는", "혹은"})
_CLAUSE_ENDINGS = frozenset({"고", "며", "으며", "지만", "으나", "는데", "은데"})
_TOPICS, _TOPIC_TAGS = frozenset({"은", "는", "이", "가"}), frozenset({"JX", "JKS"})
_NOUNS = frozenset({"NNG", "NNP", "SL", "SH", "SN"})
_NAME_TAGS = _NOUNS | {"NNB", "NR", "XPN", "XSN", "SO", "SW", "SP", "SSO", "SSC", "SS"}


def split_coordination(question: Question) -> list[str]:
    """Return the two or more questions that ``question`` coordinates, or none."""
    parts = _korean(question.text) if question.language == "ko" else _english(question.text)
    plain = list(dict.fromkeys(" ".join(part.split()) for part in parts))
    return plain if len(plain) > 1 else []


def _english(text: str) -> list[str]:
    clauses = _CLAUSE.split(text)
    if len(clauses) > 1 and all(len(clause.split()) > _LEAST_CLAUSE for clause in clauses):
        return [clause.strip(" ,") for clause in clauses]
    # The last conjunction is the likeliest: "the nationality and age of the director of A or B".
    for join in reversed(list(_JOIN.finditer(text))):
        first, second = _first_name(text[: join.start()]), _second_name(text[join.end() :])
        if first and second:
            before = text[: join.start() - len(first)]
            behind = text[join.end() + len(second) :]
            return [f"{before}{first}{behind}", f"{before}{second}{behind}"]
    return []


def _first_name(before: str) -> str:
    """Return the name at the end of ``before``, back to a word of _LEAD; at most _LONGEST_NAME words."""
    words = list(re.finditer(r"\S+", before))[-_LONGEST_NAME:]
    for word in reversed(words):
        name = before[word.start() :]
        if _is_name(name) and _LEAD.search(before, max(0, word.start() - _LONGEST_LEAD), word.start()):
            return name
    return ""


def _second_name(behind: str) -> str:
    """Return the name at the beginning of ``behind``."""
    end = _TAIL.search(behind)
    name = behind[: end.start()] if end else behind
    return name if name and len(name.split()) <= _LONGEST_NAME and _is_name(name) else ""


def _is_name(text: str) -> bool:
    return any(character.isupper() or character.isdigit() for character in text.lstrip()[:1])


def _korean(text: str) -> list[str]:
    morphemes = _split_morphemes(text)
    return _joined(text, morphemes) or _compared(text, morphemes) or _clauses(text, morphemes)


def _joined(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Split "A와 B": the text with only A, and with only B."""
    for position, each in enumerate(morphemes):
        if each.tag == "JC" or (each.tag == "MAJ" and each.form in _JOINING_WORDS):
            first, second = _name_before(morphemes, position), _name_behind(morphemes, position + 1)
            if first and second:
                before, behind = text[: first[0]], text[second[1] :]
                return [f"{before}{text[slice(*first)]}{behind}", f"{before}{text[slice(*second)]}{behind}"]
    return []


def _compared(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Split "A는 B보다 …" and "A는 B와 …": the rest of the text with A, and with B."""
    than = next((position for position, each in enumerate(morphemes) if (each.form, each.tag) in _COMPARING), None)
    if than is None or not (second := _name_before(morphemes, than)):
        return []
    for position, each in enumerate(morphemes):
        if not (each.tag in _TOPIC_TAGS and each.form in _TOPICS and (first := _name_before(morphemes, position))):
            continue
        if position > than and first[0] - morphemes[than].end > 1:
            break  # a later topic is not compared
        names = [text[slice(*first)], text[slice(*second)]]
        said = _without(text, [(first[0], each.end), (second[0], morphemes[than].end)])
        return [f"{name} {said}" for name in names]
    return []


def _clauses(text: str, morphemes: Sequence[Morpheme]) -> list[str]:
    """Split a sentence of two clauses that each have two nouns or more."""
    for position, each in enumerate(morphemes):
        if each.tag == "EC" and each.form in _CLAUSE_ENDINGS:
            sides = (morphemes[:position], morphemes[position + 1 :])
            if all(sum(one.tag in _NOUNS for one in side) >= _LEAST_CLAUSE for side in sides):
                return [text[: each.end], text[each.end :]]
    return []


def _name_before(morphemes: Sequence[Morpheme], position: int) -> tuple[int, int] | None:
    """Return start and end of the run of adjoining nouns and signs that ends at ``position``, None without a noun."""
    first = position
    while first and morphemes[first - 1].tag in _NAME_TAGS and (first == position or _adjoins(morphemes, first)):
        first -= 1
    return _bounds(morphemes[first:position])


def _name_behind(morphemes: Sequence[Morpheme], position: int) -> tuple[int, int] | None:
    """Return the start and end of the run that begins at ``position``."""
    end = position
    while end < len(morphemes) and morphemes[end].tag in _NAME_TAGS and (end == position or _adjoins(morphemes, end)):
        end += 1
    return _bounds(morphemes[position:end])


def _adjoins(morphemes: Sequence[Morpheme], position: int) -> bool:
    return morphemes[position].start - morphemes[position - 1].end <= 1


def _bounds(run: Sequence[Morpheme]) -> tuple[int, int] | None:
    return (run[0].start, run[-1].end) if any(each.tag in _NOUNS for each in run) else None


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text
