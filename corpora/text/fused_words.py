"""Repair English words that lost a blank at a line break (``studyis``) or kept a hyphen there (``algo- rithm``).

A fused word is split only between a function word and a known word, or between two long words of ``common-words.txt``.
A known word is in ``common-words.txt`` or elsewhere in the same record. No counts over the corpus are needed, so a
record is repaired in the same way in every corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

# Function words that may be glued before any known word, and the fewest letters of that word.
_BEFORE = {
    "the": 4, "and": 4, "with": 4, "from": 4, "this": 4, "that": 4, "these": 4, "those": 4, "which": 4, "their": 4,
    "are": 5, "were": 5, "was": 5, "have": 4, "has": 5, "been": 5, "using": 4, "various": 4, "between": 4, "through": 5,
    "many": 5, "also": 5, "our": 5, "can": 6,
}  # fmt: skip
# Function words that are split only from a common word; with other words they form too many real words ("islands",
# "towards").
_BEFORE_COMMON = {"of": 5, "for": 5, "is": 5, "to": 5, "we": 6}
# Function words that form real words with most words ("inform", "another", "online"), and the only words that they are
# split from.
_BEFORE_FEW = {
    "in": "this these which order recent addition particular general korea korean terms future research various many "
    "both our contrast practice education",
    "by": "using this these providing analyzing means applying comparing considering combining introducing",
    "on": "this these which various public",
    "an": "important effective efficient approach algorithm analysis example experiment average empirical evaluation "
    "integrated optimal intelligent",
    "more": "effective efficient important accurate flexible",
    "a": "comparative comprehensive framework large method model novel significant single study system",
}  # fmt: skip
# Function words that may be glued behind any known word, and the fewest letters of that word.
_BEHIND = {
    "is": 5, "are": 5, "was": 5, "were": 4, "of": 4, "and": 4, "the": 4, "that": 4, "which": 4, "with": 4, "from": 4,
    "for": 5, "has": 5, "have": 5, "using": 4, "between": 4,
}  # fmt: skip
# Function words that end many real words ("protein", "photo"), and the endings of the words that they are split from.
_BEHIND_ENDINGS = {"in": ("ed", "ions", "ments", "ing", "ities", "ant"), "to": ("ed", "ion", "ing", "ment", "ity")}
_BEHIND_FEW = {
    "on": "based depend depending depends focused focuses focusing effect effects impact impacts influence "
    "influences research",
    "as": "such used known defined regarded",
    "by": "affected caused collected conducted followed measured obtained performed used",
}
_PAIRS = {
    pair.replace(" ", ""): pair.index(" ")
    for pair in (
        "of the,in the,to the,on the,for the,by the,with the,from the,and the,that the,is the,"
        "are the,in this,of this,to this,for this,on this,by this,of these,in these,to these,"
        "in which,of which,that is,that are,this is,which is,which are,which has,can be,has been,"
        "have been,should be,will be,such as,it is,it was,there is,there are,there was,as well,"
        "than one,than the,using the,which in,of each,also be,is used,are used,be used,"
        "more than,less than,rather than,as the,at the,into the"
    ).split(",")
}
_FRONT = frozenset((*_BEFORE, *_BEFORE_COMMON, *_BEFORE_FEW))
_BACK = frozenset((*_BEHIND, *_BEHIND_ENDINGS, *_BEHIND_FEW))
_LONGEST_FUNCTION_WORD = max(map(len, _FRONT | _BACK))

_WORD = re.compile(r"(?<![\w\\/@.:#$&_%~=+‐–-])[A-Za-z][a-z]{3,27}(?![\w@/\\_=(]|\.\w|[‐–-]\w*[A-Z_])")
_LETTERS = re.compile(r"(?<![A-Za-z])[A-Za-z]{4,28}(?![A-Za-z])")
_GLUED_NAME = re.compile(
    r"(?<![\w\\/@.:#$&_%~=+-])(and|with|the|using|various)([A-Z][a-z]{3,20})(?![\w@/\\_=(]|\.\w|-\w*[A-Z_])"
)
_CAPITAL_IN_WORD = re.compile("[a-z][A-Z]")
# An acronym behind a function word, and perhaps a common word behind the acronym: "ourE2Emodel", "theDNA". Without the
# function word it may be a name ("ONdigital") or the explanation of an acronym ("OBserved").
_GLUED_ACRONYM = re.compile(
    r"(?<![\w\\/@.:#$&_%~=+-])(and|with|the|using|our|this|of|for)([A-Z][A-Z0-9]{1,6})([a-z]{5,20})?(?![\w@/\\_=(]|\.\w)"
)
_HYPHENATED = re.compile(r"(?<![\w\\/@.:#$&_-])([A-Za-z]{2,15})[-\u2010] ([a-z]{2,15})(?![\w@/\\_-]|\.\w)")
# Endings that are not words themselves and never follow a prefix, so a hyphen before them was made at a line end. After
# an ending of the last group, the joined word must be known too.
_CERTAIN_ENDINGS = "tions?|sions?|ments?|ness|tive|tional|ity|ities|ture|tures|ence"
_ENDINGS = "ve|ing|ed|er|ers|ly|al|ally|ance|able|ible|ble|tic|tics|cal|tation|sis|ty|ate|ated"
_CUT_END = re.compile(rf"-(?:{_CERTAIN_ENDINGS}|{_ENDINGS})(?![\w@/\\_-]|\.\w)")
_CUT = re.compile(
    rf"(?<![\w\\/@.:#$&_])((?:[A-Za-z]+-)?[A-Za-z]{{2,15}})-"
    rf"(?:({_CERTAIN_ENDINGS})|({_ENDINGS}))(?![\w@/\\_-]|\.\w)"
)
_RECORD_WORD = re.compile(r"(?<![\w\\/@.:#$&_-])[A-Za-z][a-z]{4,20}(?![\w@/\\_-])")
_ACRONYM = re.compile("[a-z][A-Z](?:[A-Z]|$)")  # "ourE" of "ourE2Emodel"
_PLURALS = frozenset(("data", "people", "women", "children", "media", "criteria", "phenomena"))
_SHORTEST_RECORD_WORD = 5
_NEVER = 99
# The fewest letters of each of two common words without a function word; shorter words form compounds ("groundwater",
# "schoolteacher").
_SHORTEST_OF_TWO = 7
_SUFFIXES = ("ability", "ontology")
_CACHED_WORDS = 262_144
# Endings before "is" in the Latin names of species and muscles: "generalis", "vulgaris".
_LATIN = ("al", "ar", "il", "or", "at", "ens")


class Repaired(NamedTuple):
    """A text and the number of repairs made in it."""

    text: str
    repairs: int


class _Split(NamedTuple):
    """A place where a fused word may be split.

    ``unknown`` is the half that must occur as a word in the record; it is empty if the half is a common word.
    """

    at: int
    unknown: str


def split_fused_words(text: str, context: str) -> Repaired:
    """Insert the missing blank into fused words.

    Args:
        text: The text to repair.
        context: All text of the record. Its words count as known. A fused word that occurs in it twice may be a name,
            so it is split only between common words.

    >>> split_fused_words("The aim of thisstudy is to studyis", "").text
    'The aim of this study is to study is'
    """
    suspicious = [word for word in set(_LETTERS.findall(text)) if not _is_whole(word)]
    if not suspicious:
        return Repaired(text, 0)
    own: Counter[str] | None = None
    pieces: list[str] = []
    start = 0
    for match in _WORD.finditer(text) if any(_splits(word.lower()) for word in suspicious) else ():
        word = match.group().lower()
        for split in _splits(word):
            if split.unknown:
                own = _record_words(context) if own is None else own
                if own[word] > 1 or not own[split.unknown]:
                    continue
            pieces += text[start : match.start() + split.at], " "
            start = match.start() + split.at
            break
    repaired = "".join((*pieces, text[start:]))
    if not _CAPITAL_IN_WORD.search(repaired):
        return Repaired(repaired, len(pieces) // 2)
    repaired, names = _GLUED_NAME.subn(r"\1 \2", repaired)
    repaired, acronyms = _split_acronyms(repaired)
    return Repaired(repaired, len(pieces) // 2 + names + acronyms)


def _split_acronyms(text: str) -> Repaired:
    """Insert blanks between a function word and an acronym, and between the acronym and a word behind it."""
    repairs = 0

    def split(match: re.Match[str]) -> str:
        nonlocal repairs
        before, acronym, behind = match.groups()
        if behind and behind not in _common_words():
            return match.group()
        words = [word for word in (before, acronym, behind) if word]
        repairs += len(words) - 1
        return " ".join(words)

    return Repaired(_GLUED_ACRONYM.sub(split, text), repairs)


def join_hyphenated_words(text: str, context: str) -> Repaired:
    """Join words that were hyphenated at a line end if the result is a known word.

    A hyphen without a blank is also removed if only the ending of a word follows it.

    Args:
        text: The text to repair.
        context: All text of the record; its words count as known.

    >>> join_hyphenated_words("An algo- rithm for multi- and single-user systems of inten-tions", "").text
    'An algorithm for multi- and single-user systems of intentions'
    """
    if "-" not in text and "\u2010 " not in text:
        return Repaired(text, 0)
    own: Counter[str] | None = None
    repairs = 0

    def join(match: re.Match[str]) -> str:
        nonlocal own, repairs
        joined = match.group(1) + match.group(2)
        word = joined.lower()
        if word not in _common_words():
            own = _record_words(context) if own is None else own
            if not own[word]:
                return match.group()
        repairs += 1
        return joined

    def join_end(match: re.Match[str]) -> str:
        nonlocal own, repairs
        before, _, last = match.group(1).rpartition("-")
        end = match.group(2) or match.group(3)
        if match.group(3) and (word := (last + end).lower()) not in _common_words():
            own = _record_words(context) if own is None else own
            if not own[word]:
                return match.group()
        repairs += 1
        return f"{before}-{last}{end}" if before else last + end

    if "- " in text or "\u2010 " in text:
        text = _HYPHENATED.sub(join, text)
    if _CUT_END.search(text):
        text = _CUT.sub(join_end, text)
    return Repaired(text, repairs)


@lru_cache(maxsize=_CACHED_WORDS)
def _is_whole(word: str) -> bool:
    """Return whether no pattern of fused words can split the word; most texts have only such words."""
    return not _splits(word.lower()) and not _GLUED_NAME.fullmatch(word) and not _ACRONYM.search(word)


@lru_cache(maxsize=_CACHED_WORDS)
def _splits(word: str) -> tuple[_Split, ...]:
    """Return where a word in lower case may be split; if one place is certain, only that place."""
    common = _common_words()
    if word in common:
        return ()
    if word in _PAIRS:
        return (_Split(_PAIRS[word], ""),)
    longest = min(_LONGEST_FUNCTION_WORD, len(word) - 2)
    found = [split for length in range(1, longest + 1) for split in _splits_at(word, length)]
    found += (
        _Split(at, "")
        for at in range(_SHORTEST_OF_TWO, len(word) - _SHORTEST_OF_TWO + 1)
        if word[:at] in common and word[at:] in common and not word.endswith(_SUFFIXES)
    )
    certain = [split for split in found if not split.unknown]
    return tuple(certain[:1] or found)


def _splits_at(word: str, length: int) -> Iterator[_Split]:
    """Yield the splits after the first and before the last ``length`` letters, if they are a function word."""
    common = _common_words()
    front, behind = word[:length], word[length:]
    if front in _FRONT:
        if behind in common and _splits_before(front, behind):
            yield _Split(length, "")
        elif len(behind) >= max(_BEFORE.get(front, _NEVER), _SHORTEST_RECORD_WORD):
            yield _Split(length, behind)
    before, back = word[:-length], word[-length:]
    if back in _BACK:
        if before in common and _splits_behind(before, back):
            yield _Split(len(before), "")
        elif len(before) >= max(_BEHIND.get(back, _NEVER), _SHORTEST_RECORD_WORD) and _fits(before, back):
            yield _Split(len(before), before)


def _splits_before(before: str, common: str) -> bool:
    return (
        len(common) >= _BEFORE.get(before, _BEFORE_COMMON.get(before, _NEVER))
        or common in _BEFORE_FEW.get(before, "").split()
    )


def _splits_behind(common: str, behind: str) -> bool:
    if len(common) >= _BEHIND.get(behind, _NEVER):
        return _fits(common, behind)
    return common.endswith(_BEHIND_ENDINGS.get(behind, ())) or common in _BEHIND_FEW.get(behind, "").split()


def _fits(word: str, behind: str) -> bool:
    """Return whether ``behind`` may be a verb after the word, and not the end of a Latin word ("generalis")."""
    if behind == "is":
        return word in _common_words() and not word.endswith(_LATIN)
    return behind != "are" or word.endswith("s") or word in _PLURALS


@lru_cache(maxsize=1)  # title and text of a record have the same context
def _record_words(context: str) -> Counter[str]:
    return Counter(word.lower() for word in _RECORD_WORD.findall(context))


@cache
def _common_words() -> frozenset[str]:
    lines = resources.files("shrag.corpora.text").joinpath("common-words.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
