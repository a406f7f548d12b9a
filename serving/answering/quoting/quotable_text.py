"""The sentences of a record that an answer may quote, in one language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shrag.corpora.records import Language
from shrag.corpora.text.sentences import detect_language, split_sentences
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.answering.quoting.discourse import is_noise, without_copyright
from shrag.serving.request import AnswerLanguage
from shrag.serving.retrieval.query_terms import QueryTerm, distinctive_words, held_words, matched_share

LONGEST_SENTENCE = 1_000
"""Most characters of a sentence. A longer text is hardly a sentence, and is cut between two words."""

# The least share of each language in a text of two languages.
_LEAST_HALF = 0.25
# A Hangul syllable counts as this many English letters, since the same text is twice as long in English.
_HANGUL_LETTERS = 2
_HANGUL = re.compile("[\uac00-\ud7a3]")
_NO_WORD = re.compile(r"[\W\d_]*")


class QuotableSentence(NamedTuple):
    """A sentence of a record, the question's distinctive words in it, and the share of the question's idf it has."""

    text: str
    words: frozenset[QueryTerm]
    share: float


class QuotableText(NamedTuple):
    """The sentences of a record that may be quoted, in their order, all in one language."""

    language: Language
    sentences: tuple[QuotableSentence, ...]


def quotable_text(analyzed: AnalyzedRecord, words: Sequence[QueryTerm], language: AnswerLanguage) -> QuotableText:
    """Return the sentences of a record that can be quoted for a question with these words.

    From an abstract in two languages, these are the sentences in the question's ``language``. Lines of keywords,
    copyright notices, single words such as headings, and text too long for a sentence are left out, unless there is
    nothing else.
    """
    text = analyzed.record.text
    spans = list(zip(split_sentences(text), analyzed.sentence_terms, strict=True))
    usual = [span for span in spans if _is_sentence(text[span[0].start : span[0].end])]
    distinctive = distinctive_words(words)
    found: list[tuple[Language, QuotableSentence]] = []
    for (start, end), terms in usual or spans:
        sentence = _cut(without_copyright(text[start:end]))
        held = frozenset(terms)
        if not _NO_WORD.fullmatch(sentence):
            asked = frozenset(held_words(distinctive, held))
            found.append((detect_language(sentence), QuotableSentence(sentence, asked, matched_share(words, held))))
    chosen = _language_of(found, language)
    return QuotableText(chosen, tuple([sentence for spoken, sentence in found if spoken in {chosen, "und"}]))


def english_length(sentences: Iterable[QuotableSentence]) -> int:
    """Return the length of sentences in English letters; a Hangul syllable counts as two."""
    return sum(len(each.text) + (_HANGUL_LETTERS - 1) * len(_HANGUL.findall(each.text)) for each in sentences)


def _language_of(found: Sequence[tuple[Language, QuotableSentence]], language: AnswerLanguage) -> Language:
    """Return the question's ``language`` if enough of the text is in it, else the language of most of the text."""
    sizes: dict[Language, int] = {"ko": 0, "en": 0}
    for spoken, sentence in found:
        if spoken in sizes:
            sizes[spoken] += len(sentence.text) * (_HANGUL_LETTERS if spoken == "ko" else 1)
    if not any(sizes.values()):
        return "und"
    if sizes[language] >= _LEAST_HALF * sum(sizes.values()):
        return language
    return "ko" if sizes["ko"] >= sizes["en"] else "en"


def _is_sentence(text: str) -> bool:
    return len(text) <= LONGEST_SENTENCE and " " in text and not is_noise(without_copyright(text))


def _cut(sentence: str) -> str:
    if len(sentence) <= LONGEST_SENTENCE:
        return sentence
    return sentence[:LONGEST_SENTENCE].rpartition(" ")[0] or sentence[:LONGEST_SENTENCE]
