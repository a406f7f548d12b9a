"""Stop words of English and Korean, and Korean question words."""

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
"""English function words and question words, compared in lower case before stemming."""

ACRONYMS = frozenset("AM AS AT BE CAN DID DO HAS HE HIS IF IS IT ITS MAY NO SO US WAS WHO".split())
"""Stop words that are acronyms in capitals: IT (information technology), WHO, US, CAN (a bus).

Words that people capitalize for emphasis or as operators are left out: AND, OR, NOT, ALL, THE.
"""

KOREAN_STOPWORDS = frozenset(
    """
    하 되 있 없 않 이 그 저 것 수 등 및 때 때문 바 데 나 너 우리 무엇 뭐 누구 언제 어디 왜 어떻 어떠하 이러하 그러하
    """.split()
)
"""Auxiliaries, bound nouns, pronouns and question words that say nothing about a document's subject, in Kiwi's form."""

QUESTION_WORDS = """
    무엇 무엇인가 무엇인가요 무엇인지 무엇입니까 무엇이 무엇을 뭐 뭔가요 어떤 어떠한 어떻게 어떤가 어떤가요
    어떠한가 얼마나 얼마 얼마인가 얼마인가요 왜 언제 어디 어디에서 어디서 어디에 누가 누구 누구인가 누구인가요
    어느 몇 있나 있나요 있는가 있는가요 있는지 있습니까 있을까 있을까요 있었나 있었는가 없나 없나요 없는가
    없는지 인가 인가요 일까 일까요 입니까 하나 하나요 하는가 하는가요 하는지 합니까 할까 할까요 했나 했나요
    했는가 하였는가 하려면 하면 해야 해야하나 해야하는가 되나 되나요 되는가 되는가요 되는지 됩니까 될까 될까요
    되었나 되었는가 됐나 미치나 미치나요 미치는가 미치는지 나타나는가 나타나나요 달라지는가 달라지나요 다른가
    다른가요 좋은가 좋은가요 높은가 낮은가 큰가 많은가 필요한가 필요한가요 가능한가 가능한가요 중요한가
    중요한가요 효과적인가 효과적인가요 무슨 대해 대한 대하여 관한 관하여 관해 위한 위해 위하여 통한 통해 따른
    따라 의한 의해 사이의 사이에 때 경우 설명해 설명해줘 설명해주세요 설명하라 설명하시오 알려줘 알려주세요
    비교하라 비교해줘 논하라 서술하라 차이 차이는 차이점은 이유 이유는 방법 방법은 방법에는 영향 영향은 영향을
    효과 효과는 의미 의미는 의미가 정의 정의는 원인 원인은 특징 특징은 종류 종류는 사례 사례는 사례에는 결과
    결과는 과정 과정은 관계 관계는 역할 역할은 기준 기준은 장점 장점은 단점 단점은 한계 한계는
""".split()
"""Words with which Korean questions ask, as written."""
