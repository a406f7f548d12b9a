"""Write ``indexing/glossary/terms/headwords.json``: the index terms of the vocabulary and the synonyms.

    python deploy/headwords.py        # or `make headwords`

The file is committed. A test compares it with the analyzer's output.
"""

from __future__ import annotations

import json

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.synonyms import read_synonyms
from shrag.indexing.glossary.vocabulary import HEADWORDS, headword_forms, read_vocabulary


def headwords() -> list[str]:
    """Return the Korean and English terms of the vocabulary, and the words that have synonyms, sorted."""
    terms = {word for term in read_vocabulary() for word in (term.korean, term.english)}
    return sorted(terms.union(*read_synonyms()))


def headwords_file() -> str:
    """Return the content of the file, one headword per line."""
    analyzer = KoreanEnglishAnalyzer()
    lines = ",\n".join(f"{_json(each)}:{_json(headword_forms(analyzer, each))}" for each in headwords())
    return f'{{"analyzer":{_json(analyzer.fingerprint)},"forms":{{\n{lines}\n}}}}\n'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    HEADWORDS.write_text(headwords_file(), encoding="utf-8")
