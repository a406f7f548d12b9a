"""Costs of English spellings of Korean sounds, and syllables of loanwords: tables learned from the term lists.

A cost is the negative logarithm of the probability that a sound of a loanword has the spelling in its English origin.
The log-odds of a syllable compare loanwords with other nouns. ``bench/analysis/transliteration_costs.py`` estimates
both from 2,165 pairs of a Korean and an English word and 18,010 other words of the term lists. Costs of sounds that are
rare in the pairs (ㄸ, ㅙ) were set by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

SPELLING_COSTS: Mapping[str, Mapping[str, float]] = {
    sound: {
        spelling.strip("-"): float(tenths) / 10
        for spelling, _, tenths in (part.partition(":") for part in spellings.split())
    }
    for sound, spellings in {
        "^ㄹ": "r:7 l:7 rh:41",
        "ㄱ": "g:1 gu:32 gg:36 gh:43",
        "ㄱ$": "c:7 k:11 ck:21 g:32 x:46 q:46",
        "ㄱㅅ": "x:9 cs:13 ks:21 gs:29 cks:33",
        "ㄲ": "kk:7 c:16 k:16 g:22 qu:30",
        "ㄴ": "n:1 nn:30",
        "ㄴ$": "n:1 ne:24 nn:53",
        "ㄷ": "d:1 ad:34 ard:40 th:42 dd:46",
        "ㄷ$": "d:7 t:7",
        "ㄸ": "d:9 t:9 dd:16 tt:30",
        "ㄹ": "r:1 l:31 rr:46 le:55",
        "ㄹ$": "l:3 le:21 ll:35 r:38 al:42 lle:47 el:50 ol:52 lly:53",
        "ㄹㄹ": "l:2 ll:19",
        "ㅁ": "m:0 mm:39 em:55",
        "ㅁ$": "m:1 me:22 mme:50",
        "ㅂ": "b:4 v:12 bb:48 bu:52 vi:57",
        "ㅂ$": "p:2 b:20 pe:31 v:34",
        "ㅃ": "b:7 p:9",
        "ㅅ": "s:3 c:20 ss:26 th:36 sh:38 ch:50 urc:55 z:58",
        "ㅅ$": "t:1 d:28 tte:37 te:37",
        "ㅅㅑ": "sha:9 cha:13 sho:25 sia:25 scha:30 tia:30 sh:35",
        "ㅅㅕ": "tio:4 sio:26 tia:26 shio:32 cia:32 ssio:32",
        "ㅅㅖ": "she:10 sche:25 sha:25 tie:25 chai:30",
        "ㅅㅛ": "sho:4 sh:20 show:25 tio:36",
        "ㅅㅠ": "su:10 shu:16 s:22 siu:23 ciu:30 sho:30 shoo:35 sou:35",
        "ㅆ": "s:4 ss:15 c:30 th:30",
        "ㅇ$": "ng:2 n:17",
        "ㅈ": "s:12 j:12 g:15 z:23 dg:40 ge:42 es:45 d:49 x:54",
        "ㅉ": "jj:7 j:13 z:15 tz:25 zz:25 ch:30",
        "ㅊ": "ch:2 t:25 ts:27 c:31 z:35",
        "ㅋ": "c:6 k:12 ch:27 ck:31 qu:34 q:43 cc:54",
        "ㅋ$": "k:5 c:15",
        "ㅌ": "t:1 th:33 tt:40 d:58",
        "ㅌ$": "t:3",
        "ㅍ": "p:5 f:14 ph:25 ff:36 pp:39 v:51",
        "ㅍ$": "p:3",
        "ㅎ": "h:1 ha:38 wh:40 -:48 gh:49",
        "ㅎ$": "h:2",
        "ㅏ": "a:1 ar:27 -:45 o:47 e:48 i:51 ah:53 ha:54",
        "ㅏㅜ": "ou:9 au:10 ow:16",
        "ㅏㅣ": "i:4 y:18 ai:28 ei:30 ie:49 ae:49 a:49",
        "ㅐ": "a:1 ae:22 ai:43 i:47 -:52",
        "ㅑ": "ya:4 ia:16 a:35 ja:36",
        "ㅒ": "ya:5",
        "ㅓ": "er:12 u:18 a:20 eo:25 o:25 or:27 e:28 ur:39 re:39 ar:42 -:43 ure:46 ir:46 ear:51 ou:52 our:53 io:53",
        "ㅔ": "e:0 er:43 a:51 ai:51 ee:51",
        "ㅔㅓ": "air:8 are:10 aer:20 ayer:25 ear:25 er:30",
        "ㅔㅣ": "a:5 ai:19 ay:22 ei:29 ey:37 aye:43 ea:47 eigh:47 eo:47",
        "ㅕ": "io:9 yeo:12 ia:26 ye:28 yo:30 e:35 ya:35",
        "ㅖ": "ye:5 e:12 ie:30",
        "ㅗ": "o:1 or:30 au:39 oa:48 -:50 aw:51 u:56 ow:56",
        "ㅗㅜ": "ow:1 o:30 ou:30",
        "ㅗㅣ": "oi:3 oy:25 oe:27 awi:34 loy:34 oei:34",
        "ㅘ": "wa:6 ua:17 -:21 oi:29 wai:32 war:32 oa:44 qua:44",
        "ㅙ": "wae:7 we:12 wa:20",
        "ㅚ": "oe:6 eu:12 oi:25 o:30",
        "ㅛ": "yo:3 io:20 eo:30 ho:40",
        "ㅜ": "u:3 oo:20 ou:29 ue:39 woo:39 o:39 ui:46 -:47 oe:51",
        "ㅜㅓ": "ur:12 oor:15 ure:15 ewer:20 uer:20",
        "ㅝ": "wor:11 wo:15 wa:20 ower:22 ua:28 e:28 war:34",
        "ㅞ": "wa:7 we:9 y:33 ua:33",
        "ㅟ": "wi:10 ui:19 i:22 u:22 whi:24 we:30 wee:32 ue:40",
        "ㅠ": "u:6 iu:18 eu:23 ew:29 hu:38 you:38 yu:38 iew:38 eau:44 lea:44",
        "ㅡ": "-:1 e:21 eu:49 o:51",
        "ㅢ": "ui:3 eui:16",
        "ㅣ": "i:4 y:21 e:23 ea:41 -:41 ee:43 a:46 ie:47 ey:48 h:49 hy:56",
        "ㅣㅓ": "ia:18 ea:20 eer:24 io:24 ear:24 ior:28 wire:28 ie:28 iu:28 i:34 eare:34 ere:34 ew:34 ier:34",
    }.items()
}
"""Sound, as :func:`~shrag.indexing.glossary.spelling.model.sounds` gives it → its English spellings and their costs. A
spelling may be empty.
"""

_SYLLABLES = {
    -4: ("개검격결경공관근급등량력료명법변병분생속습여역염영육응작적증책축출충통편표학합행험현형환활회"),
    -3: (
        "객건견계교국권귀규년념능동득령례류률문물별상성수숙술압억연열왕용윤율융은의점접정죄준중착참초총최취측층친탐특폐폭항핵혁혈"
        "협혼화확획흡"
    ),
    -2: (
        "각간감갑값강곡과광구균금기김낙난낭내냉녀녹농뇌뇨담답당대독략련렬맹면멸목무반방벽복봄봉붕산석선섭쇄식신심약양업엽예외욕원"
        "을음입자장재쟁전절족좌직진질집찬척철체촉촌칙침탕평품홍황효후흉흑희"
    ),
    -1: (
        "가골곰곱곽괄군굴궐극긍긴꺼꼬꽃꾸끼납높눈는늘늬단댓도돼둥또락렴록론롱륙막맛망맞먹몸묵민박발밭배범벼보본부불빛사삭삼삽색설"
        "섬섯셈손송쇠순숭숲슴승실쌀쌍악암액옷완왜요운월위유익읽잎잠젖제조존종주죽쥐즉짓차찰창채첨첩청촬추치쾌탁턱퇴판팡팽풍핍한함"
        "해향헌혐호혹횡훼휘흰힘"
    ),
    1: (
        "갈갓걀걱게겨겹곳곶괘괭굵굼깁깨꺾꼭꽁꽂꿈끈끓끝낌나낮낱냥넓넙노놀뇽누눔눗늑늪님다닭닮댄덕덩델돗되된둔듬딱딸땀땅땜떡떨뜸뜻"
        "띄란래럽렁렛룹른리말맑맘맺멥멧며모몽묻뭉뮈미믿밀밖밝밥벅벡벵볍볏볜봇붉붐붓빅빈빗빙빼뺄뼈쁜쁨삶섀센셰솎솝솥쇤숟숫쉬쉰슐십"
        "싹쌓썰썹쓴씻씽앱야얽엄엌엑옌옛옹옻와왈왼우욱울웹윗윳윷읍이있잉잘잣잿젊줄줍즙짐징짚짠쩌쭉찹찻찾챙쳄춧츠칠캥컵콧큰킴탄탈탭"
        "탯텃텍툼튬팀파패펀펌포풀피픽필하혀혓혜홉홋횔횟훌휨휴힙"
    ),
    2: (
        "글냐널넘넥뉴닉닐댐데둑뒤듈들디딕딜딥딧랄랍랑랙랫랭로롭루륨륵를릉린마맨맵머바밴밸뱅버벨볼뷔샌샘샴샹션셜솔솟쇼숏슬아앵얀얼"
        "엔엠오올옵웃웰윙젓젤좀즈챔챗춘칩캡콘콥쿠쿨큐킬타탱털텀텐토톨툰툴튀튼틸팔팝펠펨폼푸풋픈헐홈힐"
    ),
    3: (
        "겐겔그깅너네니닝더던덤덴듀드라랜랩러럭럴럼레렉렌롬르릭릴릿먼멀메멘몬뮤뮬믹밍베벤뷰브블빔샤셀셔슈슘스알앤에워젝젠카칸칼캐"
        "캠커컬케켓코콕콤쿼퀴크클키킨킹터턴테텔톡톤튜트틀티팅팩펄펙펜폰퓨프핑핸헤헨헬홀히힌"
    ),
    4: (
        "갤갭귄깍낸냅넌넛넬넷놈눌늄닌닛댕덱둡듐든딘딩램랴런렐롤롯룩룬룰룸링맷멕멜멤멩뮴믈벳봅븐빌샐샵섹셉셋솜숍쉽슨싱앗앨엇엘엣옙"
        "옴왑웨윈잭젼즌즘챤첼촘칵캄캉캔캘컨컴켄켈켐콜콰쾨퀀퀘퀼큘킷탠텅템튤틱틴팟팬팸퍼펑페펩펫펭폴퐁퓰플핀핏햄햅헝휠힉"
    ),
}

SYLLABLE_LOG_ODDS: Mapping[str, int] = {
    syllable: log_odds for log_odds, syllables in _SYLLABLES.items() for syllable in syllables
}
"""Syllable → the rounded natural logarithm of how many times more frequent it is in loanwords than in other nouns."""
