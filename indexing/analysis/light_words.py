"""Light words: English adverbs, prepositions and light verbs that a question has besides its subject.

*Actually*, *amid*, *getting*, *make*: in records of a field they are rare, so that their idf says that they are
distinctive, but they hardly tell one record from another. Stop words would go too far: *What is granite made of?*
finds its passage by them too. Adverbs of frequency and degree (*often*, *largely*) do tell passages apart and are none.
"""

from __future__ import annotations

LIGHT_WEIGHT = 0.3
"""What the idf of a light word is multiplied by in a ranking.

Right record first with 1, 0.5, 0.3 and 0: the questions of four language pairs 0.798, 0.806, 0.815 and 0.806, wiki-en
0.789, 0.794, 0.793 and 0.791 of 1,000, CACM 0.635, 0.673, 0.673 and 0.673; other sets hardly change.
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
