"""Discourse of abstracts: the role of a Korean or English sentence, and whether it refers to the sentence before it."""

from __future__ import annotations

import re

METHOD, ANNOUNCEMENT, OUTLOOK = 0.2, -0.25, -0.5
"""What :func:`role_worth` returns: for a method; for an announcement; for an outlook, praise or a question."""

# The second line is a journal's reference: (Am J Obstet Gynecol 2001;185:1052-8.)
_NOISE = re.compile(
    r"(?:key ?words?|index terms|키 ?워드|주제어|핵심어|색인어|중심어)\s*[:：;]|"
    r"[(\[]?[A-Z][A-Za-z.& ]{2,60}(?:19|20)\d\d; ?\d+(?: ?\(\w+\))? ?: ?\w+(?:[-–]\w+)?[.)\] ]*$|"
    r".{0,80}(?:©|\(c\) ?(?:19|20)\d\d|all rights reserved|\bdoi ?[:.]|(?:published|copyright)(?: ©| \d{4})? by\b)",
    re.IGNORECASE,
)

_COPYRIGHT = re.compile(
    r"(?:^|(?<=[.!?\w)])\s*)(?:copyright )?(?:©|\(c\) ?(?=(?:19|20)\d\d)).*$", re.IGNORECASE | re.DOTALL
)

_STUDY_KO = "연구|논문|글|고|보고서|조사|실험|책|장|총설"
_BACKWARD_KO = (
    "또한?[ ,]|그리고|더불어|나아가|더 나아가|뿐만|뿐 아니라|아울러|게다가|더구나|더욱이|왜냐하면|"
    "다음으로|동시에|마찬가지로|특히|즉[ ,]|예를 들|"
    "따라서|그러므로|그래서|결국|결과적으로|그러나|하지만|그런데|그렇|그럼에도|반면|반대로|한편|다만|"
    # 이렇게 학습된 모델 can be understood alone.
    "이러한|이런 |이와 |이와같|이처럼|이렇(?!게 [가-힣]+[된한] )|그러한|이는 |이를 |이에 |이것|이들|이때|이로|이중|"
    "이후|여기서|전자는|후자는|"
    "이(?:중|외에|두|세|과정|때문|점|경우|방법|기법|모델|모형|시스템|결과|같은)|그(?:중|외|이유|결과|때문|과정|러)|"
    f"이 (?!{_STUDY_KO})(?=[가-힣])|그 (?=[가-힣])|"
    ".{1,12}(?:이러한|이와 같은|위와 같은) |"  # 본 연구에서는 이러한 문제를
    "해당 (?!연구|논문)|상기|위의? |두 |양자|각각|(?:대조|통제|비교)군은 "
)
_STUDY_NOUN = (
    "(?:study|paper|article|work|research|thesis|review|dissertation|report|survey|chapter|investigation|book|project|"
    "essay|analysis|trial|experiment)"
)
_BACKWARD_EN = (
    "(?:these|those|such|they|their|its|he|she|both|another|then|also|besides|and|but|yet|so|however|moreover|"
    "furthermore|additionally|therefore|thus|hence|consequently|accordingly|nevertheless|nonetheless|conversely|"
    "similarly|likewise|specifically|particularly|instead|meanwhile|otherwise|still|rather|overall|again|"
    rf"in (?:addition|contrast|particular|turn|this(?! {_STUDY_NOUN}\b)|that|these|such|the same|the latter|fact|"
    "other words|doing so|"
    "(?:response|contrast|addition) to (?:this|that|these|those|such))|"
    "by (?:contrast|doing)|on the (?:other|contrary)|as (?:a (?:result|consequence)|such)|at the same time|"
    "for (?:example|instance|this|these|that)|with (?:this|these|that)|(?:through|based on) (?:this|these)|"
    "to (?:this end|do (?:so|this|that)|(?:address|solve|overcome|fill|tackle) (?:this|these|the))|"
    "compared (?:to|with) (?:this|these|it)|"
    "even so|that is(?=,)|that said|in (?:short|sum|summary)|as (?:noted|mentioned|stated) (?:above|earlier|before)|"
    "the (?:latter|former|others?|same|above|second|third|two)|"
    "(?:although|while|since|because|when|if) (?:this|these|it|they)|"
    r"it(?! (?:is|was|has been|can be|may be)\b.{0,40}\bthat)|"
    rf"this(?! {_STUDY_NOUN}\b))\b"
)
_BACKWARD = re.compile(rf"[\"'“‘(]?(?:{_BACKWARD_KO}|{_BACKWARD_EN})", re.IGNORECASE)

_EARLIER = re.compile(
    rf"\b(?:these|those|this(?! {_STUDY_NOUN}\b)) [a-z]+|\bthe (?:above|aforementioned)\b|"
    rf"(?:이러한|이런|그러한|이와 ?같은|위와 ?같은|상기) ?[가-힣]|(?:^|\s)이 (?!{_STUDY_KO})[가-힣]",
    re.IGNORECASE,
)

# Such a sentence gives the reason for the one before it: 편견이 담기기 때문이다.
_REASON_KO = re.compile(r"기 때문(?:이다|입니다)\W*$")

_FIRST_ITEM = re.compile(
    r"(?:[^.:：]{0,200}(?:as follows|following|다음과 같다)[.:：] ?)?"  # "The findings are as follows: First, …"
    r"(?:첫째|첫 ?번째|먼저[ ,]|우선[ ,]|\(?1[).](?!\d)|①|\(?i\)|first(?:ly)?\b)",
    re.IGNORECASE,
)
_LAST = r"마지막으로|끝으로|last(?:ly)?\b|finally\b"
_LAST_ITEM = re.compile(_LAST, re.IGNORECASE)
_NEXT_ITEM = re.compile(
    r"(?:둘|셋|넷|다섯|여섯|일곱|여덟)째|(?:두|세|네) ?번째|\(?\d{1,2}[).](?!\d)|[②-⑳]|"
    r"\(?(?:ii|iii|iv|v)\)|"
    rf"(?:second|third|fourth|fifth|sixth|seventh|eighth)(?:ly)?\b|{_LAST}",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    "(?:최근|근래|현재|오늘날|현대)(?:에는?|의|에 ?들어)?[ ,][^.]*(?:있다|있으며|왔다|되었다|하였다)|"
    "(?:recently|nowadays|currently|today|in (?:recent|the (?:past|last)) |over the (?:past|last) |in today's )|"
    r"[^.]{0,80}\b(?:has|have) (?:recently |long |rapidly )?"
    r"(?:become|emerged|attracted|received|been (?:rapidly |widely ))",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"다음과 같(?:다|이|습니다|았다)[^.]*\.$|(?:as follows|the following)\W*$|[:：]$", re.IGNORECASE
)

_STUDY = re.compile(
    r"(?:본|이|이번|해당) ?(?:연구|논문|글|고는|보고서|조사|실험)|본고|우리는|"
    # "We need to assume" and "we find ourselves" say what people do, not what the study did.
    rf"\b(?:this|(?:the )?present|our) {_STUDY_NOUN}|"
    r"\bwe\b(?! (?:\w+ly |often )?(?:need|must|can|cannot|have to|should|find ourselves|live|are living|are facing)\b)",
    re.IGNORECASE,
)
_AIM = re.compile(
    "목적(?:은|으로|이|을|에서|하에)|고자[ ,]|고자 ?(?:한다|하였다|하며|했다)|하려(?:고| 한다)|"
    "(?:살펴|알아)(?:보고|본다|보았)|구성은 다음|"
    r"(?:고찰|논의|소개|검토|기술|설명|제시|제안|분석|조사|연구|탐색|언급)(?:한다|해 본다|하고 있다)\.?$|"
    r"(?:고찰|논의|소개|검토|설명|제시|모색|탐색|개관|언급)(?:하였|했)다\.?$|"
    r"(?:살펴|알아)보았다\.?$|다루었다\.?$|"
    r"\b(?:aim(?:s|ed)?|objectives?|purposes?|goal|intend(?:s|ed)?|attempts? to|seeks? to|sought to)\b|"
    r"\b(?:paper|article|study|work|review|chapter|thesis|we|authors?|survey|report)\b.{0,30}?"
    r"\b(?:describ|discuss|present|review|introduc|investigat|examin|explor|propos|outlin|summari[sz]|address|"
    r"provid|report|deal|consider|study|studied|focus|look)\w*|"
    r"\b(?:is|are|was|were|be) (?:also )?(?:presented|discussed|described|reviewed|introduced|outlined|considered)\b|"
    r"\bwe (?:also )?(?:suggest|propose|recommend|present|provide|offer)(?:ed)? (?:(?!that\b)\w+ ){0,3}"
    r"(?:directions?|strateg(?:y|ies)|suggestions?|recommendations?|implications?)\b",
    re.IGNORECASE,
)
_INTENDED = re.compile(r"(?:고자|려고|려) ?(?:한다|하였다|했다|합니다)\W*$")
_FINDING = re.compile(
    "결과|나타(?:났|내|난)|보(?:였|인다|여 ?주)|확인(?:되|하였|했|할 수|한)|밝혀|드러|도출|시사|유의|향상|감소|증가|"
    r"높[았은아게]|낮[았은아게]|우수|입증|증명|결론|차이[가는를]|영향을 (?:미|주|끼)|효과(?:가|적)|"
    r"필요(?:하|성)|바람직|(?:하여야|해야) (?:한다|할)|어렵다|볼 수 있|판단된다|있었다|(?:이었|[^하]였)다\.$|"
    r"\b(?:outperform|results?\b|findings?\b|found\b|show|reveal|indicat|suggest|demonstrat|conclu|improv|increas|"
    r"decreas|reduc|achiev|significant|confirm|better\b|higher\b|lower\b|superior|effective|resulted|accura|argue|"
    r"observ|should\b|must\b|need\b)",
    re.IGNORECASE,
)
_RESULT = re.compile(
    "결과(?:[,는]|가 | (?=[^ ])|를 (?:보|얻|나타))|나타났|보였다|확인(?:되었|하였|할 수 있었)|관찰되(?:었|지)|"
    "밝혀|시사|결론|"
    r"\b(?:outperform|we (?:found|find(?! ourselves)|show|conclude)|"
    r"results? (?:of [^.]{0,80})?(?:show|indicat|suggest|demonstrat|reveal)|"
    r"(?:demonstrate[sd]?|reveal(?:s|ed)?|show(?:s|ed)?|confirm(?:s|ed)?) that\b|"
    r"findings?\b|conclu|it was found|significantly)",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d(?:\.\d+)? ?(?:%|％|퍼센트|배|명|개|건|점|가지|dB|ms|times\b|percent)|\d\.\d|[<>=≥≤] ?\d")
_OUTLOOK = re.compile(
    r"^(?:향후|추후)|(?:향후|추후|후속)[^.]{0,12}연구|연구의 한계|한계(?:점|가 있)|기대(?:된다|한다|할|되어)|의의가|"
    r"[할될줄을] 것(?:이다|으로 (?:전망|예상|사료|생각|보인다))|"
    r"\bexperiments? (?:are|were) (?:\w+ )?(?:conducted|performed|carried out) to (?:verify|evaluate|validate|show)\b|"
    r"\b(?:limitations?|expected (?:to|that)|implications?|(?:future|further) (?:\w+ )?(?:work|research|stud)|hope)",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    r"의미(?:가|를) (?:있|갖|지니|가지)|의의(?:를|는)|기여(?:할|하[고는]|한다\W*$|를 할)|초석|밑거름|"
    "(?:기초|참고) ?자료(?:로|를|가)|(?:근거|토대|기초)를 제공|시사점을 (?:제공|제시|준|주)|"
    "도움이 (?:될|되[고는])|도움을 (?:줄|주)|활용(?:될|할) 수 있을|"
    r"\b(?:study|paper|research|work|findings?|results?|thesis|article)\b[^.]{0,20}?"
    r"\b(?:valuable|meaningful|helpful|of (?:great |high )?(?:significance|value|importance)|contributes?|sheds?|"
    r"(?:provides?|offers?|gives?) (?:\w+ ){0,3}(?:basis|foundation|insights?|guidance|guidelines?|reference)|"
    r"can be (?:used|utili[sz]ed) (?:as|to)|significant in that)\b|\bit is (?:meaningful|significant) that\b|"
    r"\b(?:academic|managerial|scholarly|theoretical) contributions?\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"나타났|확인(?:되었|하였|했|할 수 있었)|밝혀졌|"
    r"\b(?:we (?:found|find|conclude|show|prove|demonstrate)|it was found|significantly|(?:majority|most) of)\b",
    re.IGNORECASE,
)
# A conjunction before the study. Without the conjunction, the sentence needs none of the sentences before it, unless
# something else in it refers to them.
_STUDY_BEGINS = re.compile(
    "(?:이에(?: 따라)?|따라서|그러므로|그래서|그러나|하지만|이를 위해)[ ,]+"
    "(?=(?:본|이|이번) ?(?:연구|논문|글|고|보고서|조사|실험))|"
    r"(?:therefore|thus|hence|accordingly|consequently|however|to this end),? "
    rf"(?={_STUDY_NOUN}\b|we\b|"
    rf"(?:(?!\b(?:these|those|such|its?|their|they|the (?:above|former|latter)|this(?! {_STUDY_NOUN}))\b).)*?"
    rf"\b(?:this|the present|our) {_STUDY_NOUN}\b)",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"반면|반대로|이에 ?반(?:해|하여)|(?:in|by) contrast\b|conversely\b|on the (?:other hand|contrary)\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\?[\"'”’)]*$")
_REASONS = re.compile(
    r"\bwhy\b|\breasons?\b|\brationales?\b|\bmotivat\w+|\bneeds? for\b|\bbackground (?:of|to)\b|"
    r"\bwhat (?:causes?|leads? to|prevents?|hinders?)\b|\bcauses of\b|"
    r"(?<![가-힣])왜(?![가-힣])|이유|까닭|배경|필요성|원인(?=(?:[은이을도]|에는)?\s*(?:무엇|뭐|뭘|어떤|알|[?.]|$))",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    "때문|원인|이유|까닭|기인|(?:으로|로) ?인(?:해|하여|한)|말미암|비롯(?:된|되|한다)|"
    r"\b(?:because|due to|owing to|caus(?:e[sd]?|ing)|reasons?|attribut(?:ed|able) to|"
    r"(?:result|stem)(?:s|ed|ming|ing)? from|leads? to|led to|barriers?|hinder\w*)\b",
    re.IGNORECASE,
)
_METHODS = re.compile(
    r"\bhow (?:do|does|did|can|could|is|are|was|were|to|should|might|would)\b|\b(?:ways?|methods?) (?:of|to)\b|"
    "어떻게|어떤 (?:방법|방식|기법|절차)|방법(?=[은이을도]|에는|$)",
    re.IGNORECASE,
)
_METHOD = re.compile(
    r"\b(?:based on|by \w+ing|using|via|through|by means of|with the help of)\b|"
    "(?:이용|활용|적용|사용)(?:하|한|해)|통(?:해|하여)|기반|토대로|바탕으로|방법|기법|방식",
    re.IGNORECASE,
)


def is_noise(sentence: str) -> bool:
    """Return whether a sentence is not part of the text: keywords, a journal's reference or a copyright notice."""
    return bool(_NOISE.match(sentence))


def without_copyright(sentence: str) -> str:
    """Return a sentence without the copyright notice at its end.

    >>> without_copyright("Radars are not covered.©1993 A Publisher Inc")
    'Radars are not covered.'
    """
    return _COPYRIGHT.sub("", sentence)


def refers_back(sentence: str) -> bool:
    """Return whether a sentence refers to the one before: by 또한, 이러한, such, however, or as its reason (때문이다).

    >>> [refers_back(each) for each in ("Such films shield.", "This study shows it.", "이러한 결과는 크다.")]
    [True, False, True]
    """
    return bool(_BACKWARD.match(sentence) or _REASON_KO.search(sentence))


def mentions_earlier(sentence: str) -> bool:
    """Return whether a sentence mentions, anywhere in it, something of the sentences before: these issues, 이러한 문제.

    >>> [mentions_earlier(each) for each in ("We solve these issues.", "We solve it in this study.", "이런 막은 얇다.")]
    [True, False, True]
    """
    return bool(_EARLIER.search(sentence))


def contrasts(sentence: str) -> bool:
    """Return whether a sentence opens with a contrast to the sentence before, which is only half the story alone."""
    return bool(_CONTRAST.match(sentence))


def introduces(sentence: str) -> bool:
    """Return whether a sentence only introduces the next one: "The results are as follows."."""
    return bool(_INTRODUCES.search(sentence))


def begins_study(sentence: str) -> int:
    """Return where the study begins behind an opening conjunction (따라서 본 연구는, thus we); 0 without these.

    >>> [begins_study(each) for each in ("따라서, 본 연구는 막을 잰다.", "Thus we heat films.", "Thus films are hot.")]
    [5, 5, 0]
    """
    found = _STUDY_BEGINS.match(sentence)
    return found.end() if found else 0


def looks_ahead(sentence: str) -> bool:
    """Return whether a sentence tells only the use of the study or future work, and no finding."""
    return _is_outlook(sentence) and not _FOUND.search(sentence)


def begins_list(sentence: str) -> bool:
    """Return whether a sentence opens with the word or number of the first item of an enumeration."""
    return bool(_FIRST_ITEM.match(sentence))


def continues_list(sentence: str) -> bool:
    """Return whether a sentence opens with the word or number of a later item of an enumeration."""
    return not begins_list(sentence) and bool(_NEXT_ITEM.match(sentence))


def ends_list(sentence: str) -> bool:
    """Return whether a sentence opens with a word for a last item (finally), which may also end any text."""
    return bool(_LAST_ITEM.match(sentence))


def is_general(sentence: str) -> bool:
    """Return whether a sentence describes general developments, not a study: 최근 … 있다, recently, has become.

    >>> [is_general(each) for each in ("최근 인공지능이 쓰이고 있다.", "Films have become common.", "Films shield.")]
    [True, True, False]
    """
    return bool(_GENERAL.match(sentence)) and not _FOUND.search(sentence)


def names_study(sentence: str) -> bool:
    """Return whether a sentence mentions the study itself: this paper, 본 연구, we."""
    return bool(_STUDY.search(sentence)) and not (introduces(sentence) or is_question(sentence))


def states_result(sentence: str) -> bool:
    """Return whether a sentence says what was found: 결과, 나타났다, we found, results show."""
    return role_worth(sentence) > 0 and bool(_RESULT.search(sentence))


def is_question(sentence: str) -> bool:
    """Return whether a sentence is a question."""
    return bool(_QUESTION.search(sentence))


def asks_for_reasons(question: str) -> bool:
    """Return whether a question asks for reasons, which an abstract gives in the background before the study."""
    return bool(_REASONS.search(question))


def asks_for_method(question: str) -> bool:
    """Return whether a question asks how something is done, which an abstract may say only where it announces it.

    >>> [asks_for_method(each) for each in ("How are films made?", "How many films?", "막을 어떻게 만드나?", "막이란?")]
    [True, False, True, False]
    """
    return bool(_METHODS.search(question))


def gives_method(sentence: str) -> bool:
    """Return whether a sentence says by what means something is done: based on, by heating, 이용하여, 방법."""
    return bool(_METHOD.search(sentence))


def gives_cause(sentence: str) -> bool:
    """Return whether a sentence states the cause of something: 때문이다, 기인한다, because, is caused by."""
    return bool(_CAUSE.search(sentence))


def role_worth(sentence: str) -> float:
    """Return the worth of a sentence by its role: results come first, then methods, aims, and outlooks and praise.

    >>> [role_worth(each) for each in ("We found films.", "Films were heated.", "We describe films.", "Which film?")]
    [0.8, 0.2, -0.25, -0.5]
    """
    if is_question(sentence) or _is_outlook(sentence):
        return OUTLOOK
    figure = 0.3 * bool(_FIGURE.search(sentence))
    result = bool(_RESULT.search(sentence))
    if _INTENDED.search(sentence) or (not result and _AIM.search(sentence)):
        return ANNOUNCEMENT
    return METHOD + 0.3 * bool(_FINDING.search(sentence)) + 0.3 * result + figure


def _is_outlook(sentence: str) -> bool:
    """Return whether a sentence is an outlook or, without a figure, praise of the study."""
    return bool(_OUTLOOK.search(sentence)) or bool(_PRAISE.search(sentence) and not _FIGURE.search(sentence))
