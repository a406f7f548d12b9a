"""Light words: English adverbs, prepositions and light verbs that a question has besides its subject.

Examples are *actually*, *amid*, *getting* and *make*. They are rare in the records of a field and so have a high idf,
but they hardly tell one record from another. They are not stop words, because they help to find the passage for *What
is granite made of?* Adverbs of frequency and degree (*often*, *largely*) do tell passages apart, and are not light
words.
"""

from __future__ import annotations

LIGHT_WEIGHT = 0.3
"""Factor by which a ranking multiplies the idf of a light word.

Right record first with the factors 1 / 0.5 / 0.3 / 0:

- questions of four language pairs: 0.798 / 0.806 / 0.815 / 0.806
- wiki-en, 1,000 questions: 0.789 / 0.794 / 0.793 / 0.791
- CACM: 0.635 / 0.673 / 0.673 / 0.673

Other sets hardly change.
"""

LIGHT_WORDS = frozenset(
    """
    please
    actually altogether already anyway completely entirely especially even fully indeed instead maybe merely perhaps
    quite really simply somewhat still together totally truly yet
    according across ahead along alongside amid apart around away back behind beside besides beyond despite except like
    onto plus regarding throughout toward towards unlike versus vs whereas
    became become becomes becoming came come comes coming find finding finds gave get gets getting give given gives
    giving go goes going gone got gotten happen happened happens help helped helping helps keep keeping keeps kept let
    lets letting look looked looking looks made make makes making put puts putting said say saying says seem seemed
    seems take taken takes taking tell telling tells think thinking thinks thought took tried tries try trying turn
    turned turns use uses using want wanted wants went
    anybody anyone anything everybody everyone everything kind kinds lot lots nothing ones somebody someone something
    sort sorts thing things way ways
    """.split()
)
"""The light words, in lower case."""
