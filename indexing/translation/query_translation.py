"""Translate query terms (cross-language information retrieval, CLIR).

Only the best translation of a word counts for a document. Each translation is weighted so that it counts as much as the
word that it translates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer, Token
from shrag.indexing.analysis.genre_words import genre_spans
from shrag.indexing.analysis.light_words import LIGHT_WORDS
from shrag.indexing.analysis.request_framing import asks_for_no_record, framing_spans
from shrag.indexing.analysis.year_limits import year_limit_spans
from shrag.indexing.bm25 import idf
from shrag.indexing.search_engine import SearchEngine, Statistics
from shrag.indexing.translation.listed_synonyms import add_listed_synonyms
from shrag.indexing.translation.phrase_translation import (
    BilingualLexicon,
    PhraseTranslation,
    translate_phrases,
    transliterate_words,
)
from shrag.indexing.translation.synonyms import add_synonyms

_KOREAN_SHARE = 0.2
# Matches once for each term with Hangul, so that a passage is tested as one string. This takes a sixth of the time.
_HANGUL_TERM = re.compile("[\uac00-\ud7a3][^ ]*")
_CONFIDENCE_EXPONENT = 0.3
_LEAST_SCALE = 0.25
_DISTINCTIVE = 0.5


class Translation(NamedTuple):
    """A translation with the weight that makes it count as much as the translated word.

    ``rest`` are the terms of the word's parts that it does not translate.
    """

    text: str
    terms: tuple[str, ...]
    weight: float
    rest: tuple[str, ...] = ()

    @property
    def all_terms(self) -> tuple[str, ...]:
        """All terms that a text needs in order to have the word."""
        return (*self.terms, *self.rest)


@dataclass(frozen=True, slots=True)
class QuerySegment:
    """Tokens of a question that share characters (GPT-4: gpt, 4, gpt4), with their distinct terms and translations.

    Attributes:
        tokens: The tokens.
        terms: The distinct terms.
        translations: The translations, the most confident first.
        is_framing: Whether the segment only frames the request (``Could you summarize``), or repeats the words before
            it in the other language (라이다 LiDAR). It is then neither a keyword nor translated, and should not weigh
            in a ranking.
        is_light: Whether it is a light word (:mod:`shrag.indexing.analysis.light_words`), a genre word or a limit by
            year. It is then neither a keyword nor translated, and has little weight.
        forms: The :func:`word_forms` of its tokens.
    """

    tokens: tuple[Token, ...]
    terms: tuple[str, ...]
    translations: tuple[PhraseTranslation, ...]
    is_framing: bool = False
    is_light: bool = False
    forms: tuple[frozenset[str], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "forms", word_forms(self.tokens))

    @property
    def is_compound(self) -> bool:
        """Whether it is a compound. The parts of a compound are segments of their own."""
        return self.tokens[0].kind == "compound"

    @property
    def is_content(self) -> bool:
        """Whether it counts in a ranking. Compounds do not, since their parts do; nor do framing words."""
        return not (self.is_compound or self.is_framing)

    @property
    def is_keyword(self) -> bool:
        """Whether it is a noun, a foreign word or a number that counts in a ranking and is not light."""
        return self.is_content and not self.is_light and any(token.kind in KEYWORD_KINDS for token in self.tokens)

    @property
    def start(self) -> int:
        """Where it begins in the question."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it ends in the question."""
        return max([token.end for token in self.tokens])

    def written_in(self, question: str) -> str:
        """Return it as the question writes it."""
        return question[self.start : self.end]


@dataclass(frozen=True, slots=True)
class AnalyzedQuestion:
    """A question's tokens and translations with their weights, for queries, ranking and extracts.

    Attributes:
        text: The question.
        tokens: Its tokens by rising start, without stop words.
        segments: The tokens in groups that share characters, compounds last.
        translations: The weighted translations of each segment, the most confident first.
        statistics: Document frequencies of all terms of the segments and of their translations.
        idf: The idf of each of those terms in the contents.
        lexicon: The lexicon that translated it, if any.
    """

    text: str
    tokens: tuple[Token, ...]
    segments: tuple[QuerySegment, ...]
    translations: tuple[tuple[Translation, ...], ...]
    statistics: Statistics
    idf: Mapping[str, float]
    lexicon: BilingualLexicon | None

    @property
    def terms(self) -> list[str]:
        """The terms of the question in its order, including repeated ones."""
        return [token.term for token in self.tokens]

    @property
    def light(self) -> set[str]:
        """The terms that only light words have."""
        light, others = set[str](), set[str]()
        for segment in self.segments:
            translated = chain.from_iterable(each.terms for each in segment.translations)
            (light if segment.is_light else others).update(segment.terms, translated)
        return light - others


def analyze_question(
    text: str, analyzer: Analyzer, engine: SearchEngine, lexicon: BilingualLexicon | None = None
) -> AnalyzedQuestion:
    """Analyze a question or another text, and translate it if there is a lexicon."""
    (tokens,) = analyzer.tokens([text])
    segments = translate_query(tokens, lexicon, framing_spans(text), text)
    terms = [
        (*segment.terms, *chain.from_iterable(each.terms for each in segment.translations)) for segment in segments
    ]
    statistics = engine.statistics(list(dict.fromkeys(chain.from_iterable(terms))))
    frequencies, documents = statistics.contents.document_frequencies, statistics.contents.documents
    idfs = {term: idf(frequency, documents) for term, frequency in frequencies.items()}
    weights = {term: idfs[term] if frequencies[term] else 0.0 for term in idfs}
    return AnalyzedQuestion(
        text=text,
        tokens=tuple(tokens),
        segments=tuple(segments),
        translations=tuple(weight_translations(segments, weights)),
        statistics=statistics,
        idf=idfs,
        lexicon=lexicon,
    )


def translate_query(
    tokens: Iterable[Token], lexicon: BilingualLexicon | None, framing: Sequence[tuple[int, int]] = (), text: str = ""
) -> list[QuerySegment]:
    """Group a question's tokens into segments, and translate them.

    Compounds (인공신경망) come last. Each is a segment without translations, because its parts (인공, 신경망) have
    them. Words without a translation may have a transliteration.

    Args:
        tokens: The tokens by rising start.
        lexicon: Translates them.
        framing: The ranges that frame the question, as :func:`~shrag.indexing.analysis.request_framing.framing_spans`
            gives them. They are ignored if nothing else has a keyword, unless ``text`` is a greeting.
        text: The question. Without it no English word is transliterated or light, and phrases extend across ``and`` and
            commas.
    """
    compounds: list[Token] = []
    simple: list[Token] = []
    for token in tokens:
        (compounds if token.kind == "compound" else simple).append(token)
    groups = _overlapping(simple)
    prefixes = _join_prefixes(groups, compounds)
    framed = frozenset(range(len(groups))) if asks_for_no_record(text) else _framed(groups, framing)
    # Framing words are in no phrase to translate.
    translatable = [() if number in framed else group for number, group in enumerate(groups)]
    translations: dict[int, tuple[PhraseTranslation, ...]] = {}
    if lexicon is not None:
        translations = add_synonyms(translatable, translate_phrases(text, translatable, lexicon, prefixes), lexicon)
        translations |= transliterate_words(text, translatable, translations, lexicon)
        translations = add_listed_synonyms(text, translatable, translations, lexicon, prefixes)
    framed |= _repeated(groups, translations)
    light = _light(text, groups, framed, translations)
    if framed:
        framed |= {number for number, token in enumerate(compounds, len(groups)) if _within(token, framing)}
    groups += [[token] for token in compounds]
    untranslated = light | framed
    return [
        QuerySegment(
            tuple(group),
            tuple(dict.fromkeys([token.term for token in group])),
            () if number in untranslated else translations.get(number, ()),
            number in framed,
            number in light,
        )
        for number, group in enumerate(groups)
    ]


def weight_translations(
    segments: Sequence[QuerySegment], weights: Mapping[str, float]
) -> list[tuple[Translation, ...]]:
    """Return each segment's translations with their weights, from 0 to 1.

    A weight is the translation's share, times a power of its confidence, times a factor for its idf. A translation that
    is rarer than its word has a higher idf, and the factor weights it down toward the word's idf. A more common
    translation keeps its own idf, because it tells less than the word.

    ``weights`` has the idf of all terms of the segments and translations, and 0 for terms that the index does not have.
    """
    return [
        tuple(
            [
                Translation(
                    found.text,
                    found.terms,
                    found.share
                    * found.confidence**_CONFIDENCE_EXPONENT
                    * _scale(_weight(segment.terms, weights), found, weights),
                    found.rest,
                )
                for found in segment.translations
            ]
        )
        for segment in segments
    ]


def word_forms(tokens: Sequence[Token]) -> tuple[frozenset[str], ...]:
    """Return the forms of the word that overlapping tokens belong to.

    Each form is a set of terms. A text has the word if it has all terms of one form. *GPT-4* is one term or all its
    parts, so a text with only a 4 does not have it.

    >>> gpt4 = [Token("gpt", 0, 3, "foreign"), Token("gpt4", 0, 5, "foreign"), Token("4", 4, 5, "number")]
    >>> [sorted(form) for form in word_forms(gpt4)]
    [['gpt4'], ['4', 'gpt']]
    """
    start, end = tokens[0].start, max([token.end for token in tokens])
    wholes = [token.term for token in tokens if (token.start, token.end) == (start, end)]
    parts = frozenset([token.term for token in tokens if (token.start, token.end) != (start, end)])
    return (*(frozenset((whole,)) for whole in dict.fromkeys(wholes)), *((parts,) if parts else ()))


def has_word(terms: AbstractSet[str], forms: Iterable[AbstractSet[str]], translations: Iterable[Translation]) -> bool:
    """Return whether ``terms`` contain all terms of one of a word's ``forms``, or of one of its translations."""
    return any(terms >= form for form in forms) or any(terms >= frozenset(each.all_terms) for each in translations)


def least_distinctive_idf(idfs: Iterable[float]) -> float:
    """Return the least idf of a distinctive word of a question: half the idf of the question's rarest word."""
    return _DISTINCTIVE * max(idfs, default=0.0)


def is_korean(terms: Iterable[str]) -> bool:
    """Return whether at least a fifth of the terms have Hangul; ``detect_language`` requires the same of letters."""
    terms = list(terms)
    text, wanted = " ".join(terms), math.ceil(_KOREAN_SHARE * len(terms))
    if not wanted or text.isascii():
        return not wanted
    return any(islice(_HANGUL_TERM.finditer(text), wanted - 1, wanted))


def _scale(weight: float, translation: PhraseTranslation, weights: Mapping[str, float]) -> float:
    theirs = _weight(translation.terms, weights) * translation.share
    return math.sqrt(min(1.0, max(_LEAST_SCALE, weight / theirs))) if theirs else 1.0


def _weight(terms: Iterable[str], weights: Mapping[str, float]) -> float:
    return sum([weights[term] for term in terms])


def _overlapping(tokens: Iterable[Token]) -> list[list[Token]]:
    """Group tokens that share characters."""
    groups: list[list[Token]] = []
    end = -1
    for token in tokens:
        if token.start < end:
            groups[-1].append(token)
        else:
            groups.append([token])
        end = max(end, token.end)
    return groups


def _join_prefixes(groups: list[list[Token]], compounds: list[Token]) -> dict[int, str]:
    """Join the prefix of a Korean word (비대면, 비지도학습) to the noun after it; a prefix is no term by itself.

    A compound of a prefix and one noun becomes a token of the noun's group, with the kind of a noun. In a compound with
    more nouns, the first noun is extended to begin with the prefix.

    Args:
        groups: The groups of the question's tokens; changed.
        compounds: Its compounds; those that became nouns are removed.

    Returns:
        The prefixes of the groups that have one.
    """
    prefixes: dict[int, str] = {}
    for compound in list(compounds):
        inside = [n for n, group in enumerate(groups) if compound.start <= group[0].start < compound.end]
        if not inside or groups[inside[0]][0].start == compound.start:
            continue
        first = groups[inside[0]]
        prefixes[inside[0]] = compound.term[: first[0].start - compound.start]
        if len(inside) == 1:
            first.insert(0, compound._replace(kind="noun"))
            compounds.remove(compound)
        else:
            first[0] = first[0]._replace(start=compound.start)
    return prefixes


def _framed(groups: Sequence[Sequence[Token]], framing: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Return the positions of the groups within the ranges, or none if no other group has a keyword."""
    framed = frozenset(number for number, group in enumerate(groups) if all(_within(token, framing) for token in group))
    return framed if _have_keyword(groups, framed) else frozenset()


def _have_keyword(groups: Sequence[Sequence[Token]], left_out: AbstractSet[int]) -> bool:
    """Return whether a group has a keyword, not counting the groups at the positions ``left_out``."""
    others = (token for number, group in enumerate(groups) if number not in left_out for token in group)
    return any(token.kind in KEYWORD_KINDS for token in others)


def _light(
    text: str,
    groups: Sequence[Sequence[Token]],
    framed: AbstractSet[int],
    translations: Mapping[int, Sequence[PhraseTranslation]],
) -> frozenset[int]:
    """Return the positions of light words, genre words and limits by year, or none if no other group has a keyword.

    A word is not light if it belongs to a phrase that is translated as a whole (*decision making*) or to a name
    (*Children in Need*).
    """
    spans = [*genre_spans(text), *year_limit_spans(text)]
    light = frozenset(
        number
        for number, group in enumerate(groups)
        if number not in framed
        and (
            all(_within(token, spans) for token in group)
            or (
                text[group[0].start : group[0].end] in LIGHT_WORDS
                and all(found.share == 1 for found in translations.get(number, ()))
            )
        )
    )
    return light if _have_keyword(groups, light | framed) else frozenset()


def _repeated(
    groups: Sequence[Sequence[Token]], translations: Mapping[int, Sequence[PhraseTranslation]]
) -> frozenset[int]:
    """Return the positions of words that translate those before them: 라이다 LiDAR, 연합학습(federated learning).

    Each must be a translation of the other. So 월드컵 counts in ``FIFA 월드컵``, where it translates only FIFA.
    """
    repeated: set[int] = set()
    terms = [{token.term for token in group} for group in groups]
    texts = [{each.text for each in translations.get(number, ())} for number in range(len(groups))]
    for number, found in translations.items():
        for each in found if number not in repeated else ():
            begin = number + 1
            while begin < len(groups) and each.text in texts[begin]:  # the other words of the translated phrase
                begin += 1
            end = begin
            while end < len(groups) and terms[end] <= set(each.terms):
                end += 1
            translated = set[str]().union(*terms[number:begin])
            if set[str]().union(*terms[begin:end]) == set(each.terms) and any(
                set(back.terms) == translated for back in translations.get(begin, ())
            ):
                repeated.update(range(begin, end))
    return frozenset(repeated)


def _within(token: Token, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(start <= token.start and token.end <= end for start, end in ranges)
