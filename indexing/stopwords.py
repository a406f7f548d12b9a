"""Words too common to search for."""

from __future__ import annotations

ENGLISH_STOPWORDS = frozenset(
    """
    a about above after again all also although am among an and any are as at be because been before being below between
    both but by can could did do does doing down during each either etc few for from further had has have having he her
    here hers him his how however i if in into is it its itself just may me might more most much must my neither no nor
    not of off on once only or other our ours out over own per rather same shall she should since so some such than that
    the their theirs them themselves then there therefore these they this those through thus to too under until up upon
    us very via was we were what when where whether which while who whom whose why will with within without would you
    your yours
    """.split()
)
"""Function words and question words of English, matched after lower-casing and before stemming."""

KOREAN_STOPWORDS = frozenset(
    """
    하 되 있 없 않 이 그 저 것 수 등 및 때 때문 바 데 나 너 우리 무엇 뭐 누구 언제 어디 왜 어떻 어떠하 이러하 그러하
    """.split()
)
"""Kiwi forms of auxiliaries, bound nouns, pronouns and question words that say nothing of a document's subject."""
