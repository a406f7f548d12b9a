"""The synonyms of an index: words and phrases of one language that mean the same.

Acronyms and their expansions are mined from the records: *hidden Markov model (HMM)*. Other synonyms come with SHRAG. A
line of ``thesaurus/*.txt`` is a group: the members, separated by a comma and a blank. Each member is a synonym of each
other one. Groups with a common member are not joined, because it can have two meanings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path

from shrag.indexing.analysis.analyzer import KEYWORD_KINDS, Analyzer
from shrag.indexing.glossary.corrections import REPORTED, SynonymCorrection
from shrag.indexing.glossary.store import MAX_TERMS, Entry, Synonym, phrase_terms
from shrag.indexing.glossary.vocabulary import HANGUL, HeadwordForm, forms_of, headword_forms, read_vocabulary
from shrag.indexing.glossary.vocabulary_selection import DocumentFrequencies
from shrag.messages.text import Text

_FOLDER = Path(__file__).with_name("thesaurus")


def read_synonyms() -> list[tuple[str, ...]]:
    """Return the groups of all files, in alphabetical order of the files."""
    return [
        tuple(line.split(", "))
        for path in sorted(_FOLDER.glob("*.txt"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def select_synonyms(
    entries: Iterable[Entry],
    acronyms: Iterable[tuple[str, str]],
    corrections: Sequence[SynonymCorrection],
    frequencies: DocumentFrequencies,
    analyzer: Analyzer,
    notify: Callable[[str], None],
) -> list[Synonym]:
    """Return the synonyms that help to find records of a corpus.

    The terms of such a synonym occur in the corpus, or the glossary translates it. A synonym that has all terms of its
    word is left out, since a record with it has the word too.

    Args:
        entries: The entries of the glossary.
        acronyms: Acronyms of the records, and their expansions. Those that are spelt like a listed word, or
            have the term of one, are left out: *AIDS* and *AID*, an autoimmune disease, would be one for *aid*.
        corrections: The synonyms that the user adds and removes.
        frequencies: Document frequencies of the corpus.
        analyzer: The index's analyzer.
        notify: Called with a message about each of the first of the user's synonyms that are not used, since their
            terms leave out a part of them, and with one about their number.
    """
    added = [each.words for each in corrections if each.is_added]
    listed = read_synonyms()
    words = {member for group in listed for member in group} | {term.english for term in read_vocabulary()}
    usable = [
        pair for pair in acronyms if words.isdisjoint({pair[0].lower(), " ".join(phrase_terms(analyzer, pair[0]))})
    ]
    groups = [*added, *usable, *listed]
    removed = [(each.words[0], other) for each in corrections if not each.is_added for other in each.words[1:]]
    members = sorted({member for group in groups for member in group})
    forms = {word: _complete(known) for word, known in forms_of(members, analyzer).items()}
    forms.update({word: _own_forms(word, analyzer) for each in corrections for word in each.words})
    _notify_of_unused([each for each in corrections if each.is_added], forms, analyzer, notify)
    counts = frequencies(list(dict.fromkeys(term for terms in _flat(forms) for term in terms)))
    useful = {terms for entry in entries for terms in (entry.korean_terms, entry.english_terms)}
    useful.update(terms for terms in _flat(forms) if all(counts[term] for term in terms))
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Synonym] = {}
    for group in groups:
        for word, synonym in permutations(group, 2):
            for terms, theirs in product(forms[word], forms[synonym]):
                if theirs in useful and not set(terms) <= set(theirs):
                    records, word_records = (min(counts[term] for term in each) for each in (theirs, terms))
                    found.setdefault((terms, theirs), Synonym(word, terms, synonym, theirs, records, word_records))
    for pair in removed:
        for word, other in permutations(pair):
            for terms, theirs in product(forms[word], forms[other]):
                found.pop((terms, theirs), None)
    return list(found.values())


def _complete(forms: Iterable[HeadwordForm]) -> list[tuple[str, ...]]:
    return [form.terms for form in forms if form.is_complete]


def _own_forms(phrase: str, analyzer: Analyzer) -> list[tuple[str, ...]]:
    """Return the sequences of index terms of a word of the user.

    A Korean word may lose its ending (정체성), as in the user's pairs. A prefix is kept by the compound that has it
    (비대면).
    """
    if not HANGUL.search(phrase):
        return _complete(headword_forms(analyzer, phrase))
    (tokens,) = analyzer.tokens([phrase])
    begins = min((token.start for token in tokens if token.kind in KEYWORD_KINDS), default=0)
    for token in tokens:
        if token.kind == "compound" and token.start == 0 < begins and token.end == len(phrase):
            return [(token.term,)]
    known = headword_forms(analyzer, phrase)
    return [form.terms for form in known if form.is_complete or phrase.startswith(form.terms[0])]


def _notify_of_unused(
    added: Sequence[SynonymCorrection],
    forms: Mapping[str, Sequence[tuple[str, ...]]],
    analyzer: Analyzer,
    notify: Callable[[str], None],
) -> None:
    unused = [(each.origin, word) for each in added for word in each.words if not forms[word]]
    for origin, word in unused[:REPORTED]:
        terms = ", ".join(phrase_terms(analyzer, word)) or Text("none")
        notify(
            Text(
                "{origin}: {word!r} is not used as a synonym. Its terms are {terms}; a synonym has 1 to {most} terms "
                "that leave out no part of it.",
                origin=origin,
                word=word,
                terms=terms,
                most=MAX_TERMS,
            )
        )
    if len(unused) > REPORTED:
        notify(Text("In all, {unused:,} synonyms of the user's lists are not used.", unused=len(unused)))


def _flat(forms: Mapping[str, Sequence[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    for each in forms.values():
        yield from each
