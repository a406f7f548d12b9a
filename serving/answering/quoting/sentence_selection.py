"""Select the sentences of one record that an extractive answer quotes.

A short abstract is quoted without the outlook at its end, and one of usual size without the background before the
study too. From a longer text, a few sentences are selected. Together they have every distinctive word of the question,
and say what was studied and what was found. Findings take precedence over announcements of the study. The sentences
keep their order, and a sentence that refers back is quoted together with the sentence that it refers to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from shrag.corpora.records import Language
from shrag.serving.answering.definitions import defines_plainly
from shrag.serving.answering.quoting.abstract_structure import (
    MOST_WITH_LIST,
    SHORT,
    beginning,
    linked_sentences,
    result_sentences,
    roles_of,
    study_sentence,
)
from shrag.serving.answering.quoting.discourse import (
    ANNOUNCEMENT,
    METHOD,
    OUTLOOK,
    begins_list,
    begins_study,
    continues_list,
    gives_cause,
    gives_method,
    introduces,
    is_general,
    is_question,
    looks_ahead,
    mentions_earlier,
    names_study,
    refers_back,
)
from shrag.serving.answering.quoting.quotable_text import QuotableSentence, QuotableText, english_length
from shrag.serving.retrieval.query_terms import QueryTerm

USUAL: Mapping[Language, tuple[tuple[int, int], ...]] = {
    "en": ((12, 2_400),),
    "ko": ((8, 2_400), (12, 1_400)),
    "und": ((12, 1_200),),
}
"""The size of a usual abstract by language: pairs of the most sentences and the most characters.

A text that fits one of the pairs is a usual abstract.
"""

FEWEST_SENTENCES = 4
MOST_SENTENCES = 6
"""The fewest and the most sentences of a longer text that are quoted, if no enumeration needs more."""

_SHORTEST_FINDING, _LONGEST_FINDING = 20, 450
_SHARE_WEIGHT = 1.5
_COVER_TIE = 0.05
_SHORT_ABSTRACT = 8  # sentences
_FEWEST_GENERAL = 2  # distinctive words for which a general sentence at the beginning of a short abstract is quoted
_REPEATED = 0.6  # of a sentence's words
_LONGEST_FILLER = 80
_LEAST_NEW = 3  # distinctive words for which a sentence outside the quoted part is quoted too
_LEAST_WORTH = 0.4  # share of the best sentence's worth
_CAUSE = 0.5  # added to the role_worth() of a sentence with a cause, if the question asks for reasons
_LEAST_FINDING = 0.8  # the role_worth() of a result, or of a finding with a figure


def select_sentences(
    text: QuotableText,
    *,
    reasons: bool = False,
    methods: bool = False,
    wanted: Callable[[str], bool] = lambda sentence: False,
) -> list[QuotableSentence]:
    """Return the sentences of a record to quote, in their order.

    The first sentence that is ``wanted`` is quoted wherever it stands.

    If the question asks for ``reasons``, the background before the study is treated like the text behind it, and
    sentences that state a cause are preferred. If it asks for ``methods``, an announcement that says by what means
    something is done counts as a sentence on how the study was done.
    """
    sentences = text.sentences
    together = linked_sentences(sentences)
    start = 0 if reasons else beginning(sentences)
    roles = roles_of(sentences, start)
    if reasons:
        roles = [role + _CAUSE * gives_cause(each.text) for role, each in zip(roles, sentences, strict=True)]
    if methods:
        roles = [
            METHOD if role == ANNOUNCEMENT and gives_method(each.text) else role
            for role, each in zip(roles, sentences, strict=True)
        ]
    asked = next((together[index] for index, each in enumerate(sentences) if wanted(each.text)), frozenset())
    length = sum(len(each.text) for each in sentences)
    if any(len(sentences) <= most and length <= longest for most, longest in USUAL[text.language]):
        chosen = _without_frame(sentences, together, roles, start) | asked
    else:
        chosen = _best_of_long(sentences, together, roles, asked)
    quoted = [sentences[index] for index in sorted(chosen) if not _repeats(sentences, roles, chosen, index)]
    quoted = _without_fillers(quoted) or quoted
    return [*map(_without_conjunction, quoted[:1]), *quoted[1:]]


def definition_sentences(sentences: Sequence[QuotableSentence], names: Sequence[str]) -> list[QuotableSentence]:
    """Return the first sentence that defines one of the names, and the next one if it does not name the study.

    There are none if none defines a name.
    """
    plain = (index for index, each in enumerate(sentences) if defines_plainly(each.text, names))
    index = next(plain, len(sentences))
    following = [each for each in sentences[index + 1 : index + 2] if not names_study(each.text)]
    return [*sentences[index : index + 1], *following]


def _without_frame(
    sentences: Sequence[QuotableSentence], together: Sequence[frozenset[int]], roles: Sequence[float], start: int
) -> set[int]:
    """Return the sentences of a usual abstract from ``start`` on, without outlooks and late announcements.

    A sentence stays if another one refers to it, or if only it has some of the question's distinctive words. A short
    abstract is returned from its first sentence on the question, or from ``start`` if that comes before. If only a
    short text would remain, all sentences are returned.
    """
    study = study_sentence(sentences)
    if study is None:
        return _without_general_edges(sentences, together)
    if len(sentences) <= _SHORT_ABSTRACT:
        start = min(start, _first_on_topic(sentences))
    telling = [index for index, role in enumerate(roles) if role > 0] if result_sentences(sentences) else []
    last_told = max(telling, default=len(sentences))
    kept = {
        index
        for index in range(start, len(sentences))
        if index <= study
        or not (looks_ahead(sentences[index].text) or (roles[index] == ANNOUNCEMENT and index > last_told))
    }
    held = frozenset[QueryTerm]().union(*(sentences[index].words for index in kept))
    # A sentence that only repeats the words of another one is not needed.
    for index in sorted(range(len(sentences)), key=lambda index: -len(sentences[index].words - held)):
        if len(sentences[index].words - held) >= _LEAST_NEW:
            kept.add(index)
            held |= sentences[index].words
    return _unless_short(sentences, together, kept)


def _without_general_edges(sentences: Sequence[QuotableSentence], together: Sequence[frozenset[int]]) -> set[int]:
    """Return the sentences of an abstract that names no study, without general sentences at its edges.

    These are general sentences at its beginning and outlooks at its end that have no distinctive word of the question.
    If only a short text would remain, all sentences are returned.
    """
    first, last = _first_specific(sentences), len(sentences)
    while first < last and looks_ahead(sentences[last - 1].text) and not sentences[last - 1].words:
        last -= 1
    return _unless_short(sentences, together, set(range(first, last)))


def _first_on_topic(sentences: Sequence[QuotableSentence]) -> int:
    """Return the index of the first sentence on the question: a general one has two of its distinctive words."""
    on_topic = (
        index
        for index, each in enumerate(sentences)
        if len(each.words) >= (_FEWEST_GENERAL if is_general(each.text) else 1)
    )
    return next(on_topic, len(sentences))


def _first_specific(sentences: Sequence[QuotableSentence]) -> int:
    """Return the index of the first sentence that is not general or has a distinctive word of the question."""
    specific = (index for index, each in enumerate(sentences) if each.words or not is_general(each.text))
    return next(specific, len(sentences))


def _unless_short(
    sentences: Sequence[QuotableSentence], together: Sequence[frozenset[int]], kept: AbstractSet[int]
) -> set[int]:
    """Return the ``kept`` sentences and those that they refer to; all sentences if that would be a short text."""
    quoted = set(kept).union(*(together[index] for index in kept))
    return quoted if english_length(sentences[index] for index in quoted) >= SHORT else set(range(len(sentences)))


def _best_of_long(
    sentences: Sequence[QuotableSentence],
    together: Sequence[frozenset[int]],
    roles: Sequence[float],
    asked: AbstractSet[int],
) -> set[int]:
    """Return the sentences of a long text that have the question's words, name the study, and state its results.

    The sentences in ``asked`` are always among them.
    """
    worth = _worths(sentences, roles)
    # Announcements have many of the question's words, but a finding with these words says more.
    telling = {index for index, role in enumerate(roles) if role > 0}
    first = _first_choices(sentences, worth, roles)
    chosen = _with_choices(_covering(sentences, together, worth, telling, asked), first, together, MOST_SENTENCES)
    results = [index for index in result_sentences(sentences) if index >= (study_sentence(sentences) or 0)]
    if chosen.isdisjoint(results):  # sentences about the method left no room for a result
        fitting = [index for index in results if len(asked | together[index]) <= _most_with(together[index])]
        if fitting:
            found = asked | together[max(fitting, key=lambda index: (worth[index], -index))]
            covering = _covering(sentences, together, worth, telling, found)
            chosen = _with_choices(covering, first, together, _most_with(found))
    announcing = {index for index, role in enumerate(roles) if role > OUTLOOK}
    chosen = _covering(sentences, together, worth, announcing, chosen)
    return _filled(together, worth, telling, chosen) or set(range(min(MOST_SENTENCES, len(sentences))))


def _with_choices(
    chosen: AbstractSet[int], choices: Iterable[int], together: Sequence[frozenset[int]], most: int
) -> set[int]:
    """Return ``chosen`` with each of the ``choices``, in order, that does not make it more than ``most`` sentences."""
    chosen = set(chosen)
    for index in choices:
        if len(chosen | together[index]) <= most:
            chosen |= together[index]
    return chosen


def _repeats(
    sentences: Sequence[QuotableSentence], roles: Sequence[float], chosen: AbstractSet[int], index: int
) -> bool:
    """Return whether a sentence announces again what an earlier one of the ``chosen`` announces."""
    words = frozenset(sentences[index].text.split())
    return roles[index] < 0 and any(
        earlier < index and len(words.intersection(sentences[earlier].text.split())) >= _REPEATED * len(words)
        for earlier in chosen
    )


def _without_fillers(quoted: Sequence[QuotableSentence]) -> list[QuotableSentence]:
    """Return the sentences without those that only say that results follow, unless an enumeration does."""
    texts = [*(each.text for each in quoted[1:]), ""]
    return [each for each, after in zip(quoted, texts, strict=False) if not _is_filler(each) or begins_list(after)]


def _is_filler(sentence: QuotableSentence) -> bool:
    """Return whether a sentence only says that results follow: "연구 결과는 다음과 같다."."""
    return introduces(sentence.text) and not sentence.words and len(sentence.text) <= _LONGEST_FILLER


def _without_conjunction(sentence: QuotableSentence) -> QuotableSentence:
    """Return a Korean sentence without a conjunction that stands before the study at its beginning."""
    start = begins_study(sentence.text)
    return sentence._replace(text=sentence.text[start:]) if start and not sentence.text[start].isascii() else sentence


def best_finding(sentences: Sequence[QuotableSentence]) -> QuotableSentence | None:
    """Return the sentence that best states a record's finding about the question; None if none can stand alone."""
    roles = roles_of(sentences, beginning(sentences))
    worth = _worths(sentences, roles)
    able = [
        (value, -index)
        for index, (sentence, value) in enumerate(zip(sentences, worth, strict=True))
        if _SHORTEST_FINDING <= len(sentence.text) <= _LONGEST_FINDING
        and sentence.words
        and roles[index] >= _LEAST_FINDING
        and _stands_alone(sentence.text)
    ]
    return sentences[-max(able)[1]] if able else None


def describing_sentence(
    sentences: Sequence[QuotableSentence],
    wanted: Callable[[str], bool] = lambda sentence: False,
    named: Callable[[str], bool] = lambda sentence: False,
) -> QuotableSentence | None:
    """Return the sentence that says best what a record is about; None if none can stand alone.

    That is the first one that is ``wanted``, else its best finding, else the sentence that names the study, else the
    first one with words of the question that is not general. Sentences in which the subject is ``named``, and then
    those that mention nothing said before (*these issues*), are preferred.
    """
    study = study_sentence(sentences)
    finding = best_finding(sentences)
    able = [
        each
        for each in sentences
        if _SHORTEST_FINDING <= len(each.text) <= _LONGEST_FINDING and _stands_alone(each.text)
    ]
    able = [each for each in able if named(each.text)] or able
    able = [each for each in able if not mentions_earlier(each.text)] or able
    chosen = (
        next((each for each in able if wanted(each.text)), None)
        or (finding if finding in able else None)
        or next((each for each in able if study is not None and each is sentences[study]), None)
        or next((each for each in able if each.words and not is_general(each.text)), None)
        or finding
    )
    return _without_conjunction(chosen) if chosen else None


def _worths(sentences: Sequence[QuotableSentence], roles: Sequence[float]) -> list[float]:
    """Return the worth of each sentence: its weighted share of the question plus the worth of its role."""
    best = max((sentence.share for sentence in sentences), default=0.0) or 1.0
    return [_SHARE_WEIGHT * sentence.share / best + role for sentence, role in zip(sentences, roles, strict=True)]


def _covering(
    sentences: Sequence[QuotableSentence],
    together: Sequence[frozenset[int]],
    worth: Sequence[float],
    able: AbstractSet[int],
    chosen: AbstractSet[int],
) -> set[int]:
    """Return ``chosen`` and further sentences, which together have the text's distinctive words of the question.

    Only the sentences in ``able`` count. Each step adds the group with the most idf of new words, divided by the square
    root of the number of sentences that it adds.
    """
    chosen = set(chosen)
    total = sum(word.idf for word in frozenset[QueryTerm]().union(*(each.words for each in sentences)))
    while True:
        held = frozenset[QueryTerm]().union(*(sentences[index].words for index in chosen & able))
        best, best_value = frozenset[int](), 0.0
        for index in able - chosen:
            added = together[index] - chosen
            new = sum(word.idf for word in sentences[index].words - held)
            if not new or len(chosen) + len(added) > _most_with(together[index]) - 1:  # room for a result
                continue
            value = new / total / math.sqrt(len(added)) + _COVER_TIE * worth[index]
            if value > best_value:
                best, best_value = added, value
        if not best:
            return chosen
        chosen |= best


def _filled(
    together: Sequence[frozenset[int]], worth: Sequence[float], telling: AbstractSet[int], chosen: AbstractSet[int]
) -> set[int]:
    """Return ``chosen`` and further sentences of high worth.

    The sentences in ``telling`` come first; beyond :data:`FEWEST_SENTENCES`, only these are added. The result may be
    empty if every sentence refers to too many others.
    """
    chosen = set(chosen)
    while len(chosen) < MOST_SENTENCES:
        enough = len(chosen) >= FEWEST_SENTENCES
        best, best_worth = frozenset[int](), (enough, _LEAST_WORTH * max(worth) if enough else 0.0)
        for group in together:
            added = group - chosen
            if not added or len(chosen) + len(added) > _most_with(group):
                continue
            values = [worth[index] for index in added]
            value = not telling.isdisjoint(added), (max(values) + sum(values) / len(values)) / 2
            if value > best_worth:
                best, best_worth = added, value
        if not best:
            break
        chosen |= best
    return chosen


def _most_with(group: AbstractSet[int]) -> int:
    """Return the largest number of sentences that may be quoted if ``group`` is among them."""
    return MOST_WITH_LIST if len(group) > MOST_SENTENCES // 2 else MOST_SENTENCES


def _first_choices(sentences: Sequence[QuotableSentence], worth: Sequence[float], roles: Sequence[float]) -> list[int]:
    """Return the indexes of the best sentence, the one that names the study, and the best and the surest result."""
    best = max(range(len(sentences)), key=lambda index: (worth[index], -index))
    results = result_sentences(sentences)
    result = max(results, key=lambda index: (worth[index], -index), default=None)
    surest = max(results, key=lambda index: (roles[index], worth[index], -index), default=None)
    return [index for index in (best, study_sentence(sentences), result, surest) if index is not None]


def _stands_alone(text: str) -> bool:
    return not any(bound(text) for bound in (refers_back, begins_list, continues_list, introduces, is_question))
