"""Find the framing words of a question: they address the reader of the question and say nothing about its subject.

Examples are ``Could you briefly summarize how …``, ``What does research say about …`` and
``… 간략하게 요약해 주시겠습니까?``. Only their place in the question makes them framing words: ``summarize`` is
content in ``methods that summarize documents``, and ``요약`` is content in ``문서 요약 모델의 성능``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DEPTH = r"(?:briefly|concisely|succinctly|shortly|quickly|clearly|kindly|please|just|also)"
_POLITE = r"""
    (?:(?:could|can|would|will)\s+(?:you|someone|anyone)
      |i(?:['’]d|\s+would)\s+(?:rather\s+)?(?:like|love)(?:\s+you)?\s+to
      |i\s+(?:want|need)(?:\s+you)?\s+to
    )(?:\s+help\s+me(?:\s+to)?)?"""
_PLAIN_VERB = r"(?:(?:summari[sz]e|describe|explain|discuss|elaborate(?:\s+on)?)(?=,?\s+\w))"
# These can be nouns too. They count as verbs only after a polite opening or before a word that begins their object.
_OTHER_VERB = r"""
    (?:outline|sketch|list|review|present|show|report|name|find|introduce|identify
      |(?:give|tell|show|send|provide|offer|write)(?:\s+(?:me|us)(?:\s+with)?)?)"""
_DETAIL = r"in\s+(?:(?:more|some)\s+)?(?:detail|brief|short)"
_BEGINS_OBJECT = r"""
    (?=\s+(?:the|an?|all|any|some|every|each|how|what|which|why|when|where|whether|who|me|us|about|recent|existing|current
      |methods|approaches|ways|research|studies|papers|articles|evidence|work)\b)"""
_ADJECTIVE = r"""
    (?:(?:brief|short|concise|quick|general|detailed|comprehensive|clear|broad|high-level|complete|full|succinct|simple|basic
      |step-by-step|in-depth|recent|existing|current|previous|prior|available|latest|published|relevant|main|key)\s+){0,4}"""
_DETERMINER = r"(?:(?:the|an?|some|all|any|every|your)\s+)?"
_TEXTS = r"(?:research|studies|study|literature|works?|papers?|articles?|publications|evidence|findings)"
_ABOUT = r"""
    (?:on|about|regarding|concerning|(?:that|which)\s+deals?\s+with|dealing\s+with|deals?\s+with|describing|discussing
      |relat(?:ing|ed)\s+to)\b"""
_OBJECT = rf"""
    (?:{_DETERMINER}{_ADJECTIVE}
      (?:(?:overview|summary|outline|description|explanation|account|introduction|sketch|recap|rundown|information|details
          |descriptions?|discussions?|lists?)\s+(?:of|on|about|to|for|regarding|concerning)\b
        |(?:main\s+|key\s+)?(?:findings|results|points|conclusions)\s+(?:of|from)\b
        |{_TEXTS}(?:\s+{_TEXTS})?\s+(?:{_ABOUT}|that\b|into\b|which\b|showing\b)
        |(?:brief|short|concise|quick)\b
      )
    )"""
_KNOWN = r"(?:say|says|said|show|shows|shown|suggest|tell\s+us|know|reveal|report|found|find)"
_EXAMINED = r"(?:examined|investigated|studied|explored|looked\s+at|addressed|considered)"

_ENGLISH_OPENING = re.compile(
    rf"""
    (?:^|(?<=[.?!;:])\s)\W{{0,5}}
    (?:
      (?:(?:{_DEPTH}|hi|hello)\W+){{0,3}}
      (?:{_POLITE}\s+(?:{_DEPTH}\s+){{0,3}}(?:{_PLAIN_VERB}|{_OTHER_VERB})(?:\s+{_DEPTH}){{0,2}}\b
        |{_PLAIN_VERB}\b(?:\s+{_DEPTH}\b){{0,2}}
        |(?:{_OTHER_VERB})(?:\s+{_DEPTH}){{0,2}}{_BEGINS_OBJECT}
        |outline\b(?=(?:\s+\S+){{5}})
        |(?:search|look(?:ing)?|i['’]m\s+looking|i\s+am\s+looking)\s+for(?=\s+{_OBJECT})
      )
      (?:\s+(?:to\s+|for\s+)?(?:me|us)\b(?:\s+with\b)?)?
      (?:,?\s+{_DETAIL}\b,?)?
      (?:\s+{_OBJECT})?
    | (?:{_POLITE}|please)\s+(?:{_DEPTH}\s+)?(?:explain|describe|summari[sz]e|elaborate|discuss)(?=\W{{0,5}}$)
    | (?:please\s+)?(?:tell|let)\s+me\s+know\b
    | what\s+(?:is|are)\s+the\s+(?:key|main)\s+(?:findings|points|conclusions)\s+(?:of|on|about|from|in)\b
    | {_POLITE}\s+(?:know|understand|learn|read|see)\b(?:\s+more)?(?:\s+{_OBJECT})?
    | i(?:['’]d|\s+would)\s+(?:rather\s+)?(?:like|love|see)\s+(?:see\s+)?(?:{_OBJECT})
    | i\s+(?:want|need)\s+{_OBJECT}
    | (?:i\s+am|i['’]m|we\s+are|we['’]re)?\s*(?:(?:not|also|especially|particularly|currently|mainly)\s+){{0,2}}
      interested\s+in\b(?:\s+(?:{_OBJECT}|{_TEXTS}(?=\s+written\b)))?
    | i\s+(?:wonder|was\s+wondering)\b(?:\s+(?:if|whether)\b)?
    | (?:do|does)\s+(?:you|anyone|anybody)\s+know\b(?:\s+(?:if|whether)\b)?
    | has\s+(?:anyone|anybody)\b(?:\s+ever)?
    | (?:(?:any|all|some)\s+)?
      (?:(?:information|discussions?|descriptions?|{_TEXTS})\s+{_ABOUT}|anything\s+dealing\s+with\b)
    | what\s+(?:do|does|did|has|have|can|is|are)\s+{_DETERMINER}{_ADJECTIVE}
      (?:{_TEXTS}|researchers|scholars|scientists|we)(?:\s+{_TEXTS})?\s+{_KNOWN}\b(?:\s+(?:about|on|regarding)\b)?
    | what\s+is\s+(?:(?:currently|already)\s+)?known\s+about\b
    | what\s+(?:has|have)\s+been\s+(?:found|reported|published|written|learnt|learned|shown|said)\s+(?:about|on)\b
    | (?:is|are|has|have)\s+there\s+(?:been\s+)?{_DETERMINER}{_ADJECTIVE}{_TEXTS}\s+(?:{_ABOUT}|that\b|into\b|showing\b)
    | (?:what|which)\s+{_ADJECTIVE}{_TEXTS}\s+(?:exists?\b(?:\s+(?:that|which)\s+deals?\s+with\b|\s+{_ABOUT})?
        |(?:has|have)\s+(?:been\s+done|{_EXAMINED})\b(?:\s+{_ABOUT})?|(?:is|are)\s+there\s+{_ABOUT})
    | (?:areas?|sub-?topics?|topics?|subjects?)?\s*of\s+(?:particular|special|main)\s+interest\s+(?:is|are|include)\b
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENGLISH_END = re.compile(
    r"(?<=[.?!])\s+list\s+them\W*$"
    rf"|(?<![\s,])[\s,]{{1,3}}(?:(?:{_DETAIL}|briefly|concisely|succinctly|please)\b\W{{0,5}}){{1,3}}$",
    re.IGNORECASE,
)
# These count only if another pattern finds a request: elsewhere they are content.
_ENGLISH_REQUEST_END = re.compile(
    r"""(?<![\s,])[\s,]{1,3}(?:(?:to\s+me|for\s+me)\s+)?(?:in|within)\s+(?:simple\s+terms|plain\s+\w+|bullet\s+points|english|korean
        |(?:an?|one|two|three|four|five|\d+|a\s+few|several)\s+(?:words?|sentences?|lines?|paragraphs?))\W*$
      | \s(?:to|for)\s+me\W*$
      | \s(?:and\s+(?:then\s+)?(?:explain|describe|summari[sz]e|discuss|outline))
        (?=\s+(?:the|an?|how|what|which|why|when|where|whether)\b)
      | \s(?:that|which)\s+characteri[sz]es?\b""",
    re.VERBOSE | re.IGNORECASE,
)

_MANNER = r"""
    (?:간략하게|간략히|간단하게|간단히|간결하게|간결히|간추려서?|자세하게|자세히|상세하게|상세히|구체적으로|개략적으로
      |대략적으로|체계적으로|종합적으로|전반적으로|명확하게|명확히|짧게|(?:알기|이해하기)\s+쉽게|쉽게|한눈에|좀|한번|다시|더
      |(?:핵심|요점|요지|개요|핵심\s*내용|주요\s*내용)(?:만|을|를|위주로|중심으로)?|핵심\s+(?:위주로|중심으로)|중심으로|위주로
      |(?:한|두|세|네|다섯|\d+)\s*(?:문장|줄|문단|단락)(?:으로|로|만)?
      |(?:한|두|세|네|다섯|몇|\d+)\s*(?:개|편|건|가지)(?:만|를|을)?|한국어로|우리말로|영어로|항목별로|단계별로)"""
_MATTER = r"""
    (?:(?:(?:핵심|주요|중요|전체|전반적인|전체적인|간략한|간단한|구체적인|자세한|상세한|관련|선행|기존|최근)\s*){0,3}
        (?:내용|요점|요지|개요|줄거리|연구|연구\s*결과|연구\s*내용|논문|문헌)(?:들)?(?:을|를|만|에\s*대해서?|에\s*관해서?)
      |(?:대한|관한)\s+(?:정보|자료|설명|소개)(?:를|을|만)?
      |(?:대해서?|대하여|관해서?|관하여))"""
_ACT = r"(?:요약\s*정리|요약|정리|설명|소개|서술|기술|논의|개괄|개관|안내|약술|열거|나열|브리핑|제시|논)"
_SAY = r"(?:알려|말해|말씀해|가르쳐|보여|들려|찾아|골라|꼽아|적어|써|답해|대답해|이야기해|얘기해|추천해)"
# Plain 줄 수 있나요 is left out: it is content if it asks whether a theory explains something (… 설명해 줄 수 있나요?).
_GIVE = r"""
    (?:주시겠[가-힣]*|주세요|주십시오|주시기\s*바랍니다|주실\s*(?:수|래|런지)\s*[가-힣]*|주시(?:면|길)(?:\s*[가-힣]+)?
      |줘라?|줘요|줄래요?|주라|달라|다오)"""
_ORDER = (
    r"(?:하시오|하라|해라|하여라|하세요|하십시오|해\s*(?:보시오|보세요|보라|봐라?)|해요?|할\s+것|하시기\s+바랍니다)"
)
_EXIST = r"(?:있나요?|있습니까|있는가요?|있는지요?|있을까요?|있어요?|있니)"
_END = r"(?=\s*(?:[.?!~…]|$))"

_KOREAN_END = re.compile(
    rf"""
    (?<!\S)(?:
      (?:{_MATTER}\s+)?(?:{_MANNER}\s+){{0,3}}(?:{_MATTER}\s+)?(?:{_MANNER}\s+){{0,3}}
      (?:{_ACT}(?:해서?|하여|하고)\s+)?(?:{_MANNER}\s+)?
      (?:{_ACT}(?:을|를)?\s*(?:(?:좀|한번)\s*)?
          (?:(?:해|하여)\s*(?:좀\s*)?{_GIVE}|{_ORDER}|부탁[가-힣]*(?:\s*드[가-힣]+|\s*해[가-힣]*)?)
        |{_SAY}\s*(?:좀\s*)?{_GIVE}
        |(?:말|답|대답)(?:하시오|하라|해라)|(?:쓰|적으|찾으|고르)시오
        |(?:더\s+)?(?:알고\s*싶[가-힣]*|궁금[가-힣]*))
    | (?:{_MATTER}|{_MANNER})\s+(?:{_MANNER}\s+){{0,2}}(?:{_ACT}해|알려|가르쳐)\s*줄\s*수\s*있[가-힣]*
    | (?<=[해여려어아워와]\s)(?:{_MANNER}\s+){{0,3}}{_GIVE}
    | (?:(?:관련|선행|기존|최근)\s*){{0,3}}(?:연구\s*결과|연구|논문|문헌|결과)(?:들)?(?:이|가)\s*{_EXIST}
    | (?:(?:관련|선행|기존|최근)\s*){{0,3}}(?:연구|논문|문헌)(?:들)?(?:로는|으로는|에는|에)\s+
      (?:어떤\s+것(?:들)?이|무엇이|뭐가)\s*{_EXIST}
    ){_END}
    """,
    re.VERBOSE,
)
# 이란 after a space (HMM 이란?) is a particle at the end of a question; elsewhere it may be the country (Iran). 수가 is
# a fee in 의료 수가, but not in 할 수가 있나요.
_KOREAN_ANYWHERE = re.compile(
    r"(?<!\S)(?:얼마나|어느\s*정도)(?![가-힣])|(?<=[할될을들볼갈줄올쓸낼질릴칠킬필길일]\s)수가(?=\s+[있없])"
    r"|^\W*(?:혹시|그렇다면|안녕하세요|안녕하십니까)(?=[\s,.!])"
    # 무엇을 써야 하나, 비용은 얼마인가
    r"|(?<=야)\s+하나요?(?=\s*(?:[.,?!~…]|$))"
    r"|(?<!\S)얼마(?:인가요?|입니까|예요|이에요|죠|일까요?|야)?(?=\s*(?:[.?!~…]|$))"
    r"|(?<=[A-Za-z0-9]\s)이?란(?=\s*(?:(?:무엇|뭐|뭔)[가-힣]*\s*)?\W*$)"
)
_GREETING = re.compile(
    r"\W*(?:(?:안녕(?:하세요|하십니까|히\s*계세요)?|반갑습니다|(?:(?:대단히|정말|너무)\s+)?(?:(?:감사|고맙)(?:합니다|습니다|해요|드립니다|드려요)|고마워요?)"
    r"|수고하(?:셨습니다|세요)|(?:네|예|응|아)|(?:잘\s+)?알겠(?:습니다|어요?)|알았(?:습니다|어요?)|좋(?:습니다|아요?|네요?)|됐(?:습니다|어요?)"
    r"|hi|hello|good\s+(?:morning|afternoon|evening)|(?:many\s+)?thanks(?:\s+a\s+lot)?|thx|bye"
    r"|thank\s+you(?:\s+(?:very|so)\s+much)?|ok(?:ay)?|(?:i\s+see|got\s+it|great|perfect|very\s+good))\b\W*)+",
    re.IGNORECASE,
)

# Questions about this program. They name it or say "you": "How does it work?" is about what was asked before.
_HELP = re.compile(
    r"""\W*(?:
      (?:이\s*(?:프로그램|시스템|서비스|사이트)|SHRAG|너|당신|여기)(?:는|은|가|이|의|를|을|로|으로|에서(?:는)?)?\s*
        (?:도움말|사용법|(?:사용|이용)\s*방법|어떻게\s*(?:사용|이용|쓰|써)[가-힣]*|누구[가-힣]*|(?:뭐|무엇)하는\s*[가-힣]+
          |(?:뭘|뭐를|무엇을|무얼|어떤\s*것을)\s*(?:할|해\s*줄)\s*수\s*있[가-힣]*)(?:을|를|은|는)?(?:\s*알려\s*[가-힣]*)*
      |(?:여기서?는?\s*)?(?:뭘|뭐를|무엇을|무얼|어떤\s*것을)\s*(?:물어볼|물을|검색할)\s*수\s*있[가-힣]*
      |도움말(?:\s*(?:보기|알려\s*[가-힣]*))?|help|who\s+are\s+you|what\s+are\s+you
      |what\s+can\s+(?:you|this\s+(?:program|system|site|tool)|shrag)\s+do(?:\s+for\s+me)?
      |what\s+can\s+i\s+(?:ask|search)(?:\s+(?:you|here))?(?:\s+for)?(?:\s+here)?
      |what\s+is\s+(?:shrag|this\s+(?:program|system|site|tool))
      |how\s+(?:do\s+i|to|can\s+i)\s+use\s+(?:you|shrag|this\s+(?:program|system|site|tool))
      |how\s+(?:do\s+you|does\s+(?:shrag|this\s+(?:program|system|site|tool)))\s+work
    )\W*""",
    re.VERBOSE | re.IGNORECASE,
)


_ENGLISH_ALONE = re.compile(
    r"""\W*(?:(?:please|can\s+you|could\s+you)\s+)*
    (?:(?:summari[sz]e|explain|describe|elaborate|clarify)(?:\s+on)?(?:\s+(?:it|this|that|them|these|those|more|further|again))*
      |(?:tell\s+me\s+|say\s+)?(?:some\s+)?more(?:\s+details?)?|(?:in\s+(?:more\s+)?)?details?|go\s+on|continue)
    (?:\s+in\s+(?:(?:more\s+)?detail|(?:one|two|three|a\s+few|\d)\s+(?:sentences?|words?|lines?)|simple\s+terms|english|korean))?
    (?:,?\s+(?:please|briefly|simply|shortly))*\W*""",
    re.VERBOSE | re.IGNORECASE,
)


def asks_for_no_record(text: str) -> bool:
    """Return whether a text only greets, thanks, agrees, or asks about this program.

    >>> asks_for_no_record("네, 감사합니다!"), asks_for_no_record("Hello world programs")
    (True, False)
    >>> asks_for_no_record("이 프로그램은 뭘 할 수 있어?"), asks_for_no_record("help desk")
    (True, False)
    """
    return any(pattern.fullmatch(text) for pattern in (_GREETING, _HELP))


def framing_spans(text: str) -> list[tuple[int, int]]:
    """Return, in order, the character ranges of a question that frame the request; ranges may overlap.

    >>> question = "Could you outline how tides form?"
    >>> [question[start:end] for start, end in framing_spans(question)]
    ['Could you outline']
    """
    return sorted(_spans(text))


def is_framing_alone(text: str) -> bool:
    """Return whether a text frames a request without naming any subject.

    >>> is_framing_alone("요약해 주세요"), is_framing_alone("Explain it in detail"), is_framing_alone("문서 요약")
    (True, True, False)
    """
    if _ENGLISH_ALONE.fullmatch(text):
        return True
    rest = list(text)
    for start, end in _spans(text):
        rest[start:end] = " " * (end - start)
    return not any(map(str.isalnum, rest))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    framed = False
    for pattern in (_ENGLISH_OPENING, _ENGLISH_END, _KOREAN_END):
        for match in pattern.finditer(text):
            framed = True
            yield match.span()
    for match in _KOREAN_ANYWHERE.finditer(text):
        yield match.span()
    if framed:
        for match in _ENGLISH_REQUEST_END.finditer(text):
            yield match.span()
