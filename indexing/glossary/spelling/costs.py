"""Costs of English spellings of Korean sounds, and syllables of loanwords: tables learned from the term lists.

A cost is the negative logarithm of the probability that a sound of a loanword has the spelling in its English origin;
the log-odds of a syllable compare loanwords with other nouns. Both were estimated from 2,140 pairs of a Korean and an
English word of the term lists that are near by the distance of :mod:`shrag.indexing.glossary.transliteration` (the
costs by expectation maximization) and from 17,700 other Korean words of these lists. Costs of sounds that the pairs
have seldom (ㄸ, ㅙ) were set by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

SPELLING_COSTS: Mapping[str, Mapping[str, float]] = {
    sound: {
        spelling.strip("-"): float(tenths) / 10
        for spelling, _, tenths in (part.partition(":") for part in spellings.split())
    }
    for sound, spellings in {
        "^ㄹ": "r:7 l:7 rh:46",
        "ㄱ": "g:1 gu:35 gg:36 gh:42 k:56",
        "ㄱ$": "c:8 k:12 ck:23 x:23 g:31 q:49 gg:51 ke:51",
        "ㄲ": "kk:7 c:16 k:16 g:22 qu:30",
        "ㄴ": "n:0 nn:32",
        "ㄴ$": "n:1 ne:24 nn:53",
        "ㄷ": "d:1 th:42 dd:46",
        "ㄷ$": "t:7 d:7",
        "ㄸ": "d:9 t:9 dd:16 tt:30",
        "ㄹ": "r:1 l:31 rr:41 le:57",
        "ㄹㄹ": "l:2 ll:19",
        "ㄹ$": "l:2 le:21 ll:35 r:38 el:44 al:47 lle:48 lly:55 ol:56",
        "ㅁ": "m:0 mm:40 em:58",
        "ㅁ$": "m:1 me:22 mme:54",
        "ㅂ": "b:4 v:12 bb:48 vi:60",
        "ㅂ$": "p:2 b:21 pe:31 v:36 pp:55 be:55",
        "ㅃ": "b:7 p:9",
        "ㅅ": "s:3 c:21 ss:27 sh:35 th:36 -:39 ch:53 z:59",
        "ㅅㅑ": "sha:9 cha:13 sia:25 sho:25 scha:30 tia:30 sh:35",
        "ㅅㅕ": "tio:4 sio:26 tia:28 ssio:30 sia:30 cia:32 ssia:35 shio:35 ture:40",
        "ㅅㅖ": "she:10 sche:25 sha:25 tie:25 chai:30",
        "ㅅㅛ": "sho:4 sh:20 show:25 tio:36",
        "ㅅㅠ": "su:10 shu:16 s:22 siu:23 sho:30 ciu:30 sou:35 shoo:35",
        "ㅅ$": "t:2 d:28 te:37 tte:40 ts:52 s:52 th:52 tt:52 c:52 ss:52",
        "ㅆ": "s:4 ss:15 th:30 c:30",
        "ㅇ$": "ng:2 n:17",
        "ㅈ": "j:12 s:12 g:15 z:22 ge:39 dg:40 d:49 es:50 x:57",
        "ㅉ": "jj:7 j:13 z:15 zz:25 tz:25 ch:30",
        "ㅊ": "ch:2 t:25 ts:28 c:32 z:37 ti:56 tch:56",
        "ㅋ": "c:6 k:12 ch:26 ck:31 qu:35 q:41 cc:54 kh:60",
        "ㅋ$": "k:5 c:15",
        "ㅌ": "t:1 th:32 tt:39 d:59",
        "ㅌ$": "t:3",
        "ㅍ": "p:5 f:13 ph:25 ff:36 pp:39 v:52",
        "ㅍ$": "p:3",
        "ㅎ": "h:0 wh:40 ha:41 -:48 gh:51",
        "ㅎ$": "h:2",
        "ㅏ": "a:1 ar:27 o:43 e:46 -:50 i:51 ah:53 ha:60",
        "ㅏㅜ": "ou:9 au:10 ow:16",
        "ㅏㅣ": "i:4 y:18 ai:28 ei:30 ie:49 ae:51 a:51 ay:56",
        "ㅐ": "a:2 ae:22 ai:46 i:48 -:55",
        "ㅑ": "ya:4 ia:16 a:35 ja:36",
        "ㅒ": "ya:5",
        "ㅓ": "er:12 u:18 a:20 eo:24 o:25 or:27 e:29 ur:38 re:39 ar:42 -:45 ure:46 ir:46 ear:51 our:52 ou:52 io:54",
        "ㅔ": "e:0 ea:45 a:51 ai:51 ee:52 ei:55 r:56",
        "ㅔㅓ": "air:8 are:10 aer:20 ear:25 ayer:25 er:30",
        "ㅔㅣ": "a:5 ai:19 ay:22 ei:29 ey:37 aye:45 ea:49 eigh:49 eo:49",
        "ㅕ": "io:9 yeo:12 ia:26 ye:28 yo:30 e:35 ya:35",
        "ㅖ": "ye:5 e:12 ie:30",
        "ㅗ": "o:1 or:30 au:39 oa:48 aw:51 -:52 ow:56 ou:56 u:56",
        "ㅗㅜ": "ow:1 o:30 ou:30",
        "ㅗㅣ": "oi:3 oy:25 oe:27 awi:34 oei:34 loy:34",
        "ㅘ": "wa:6 ua:17 -:21 oi:29 war:32 wai:32 oa:44 qua:44",
        "ㅙ": "wae:7 we:12 wa:20",
        "ㅚ": "oe:6 eu:12 oi:25 o:30",
        "ㅛ": "yo:3 io:20 eo:30 ho:40",
        "ㅜ": "u:3 oo:20 ou:30 o:39 ue:39 woo:40 -:43 ui:46 oe:54",
        "ㅜㅓ": "ur:12 oor:15 ure:15 ewer:20 uer:20",
        "ㅝ": "wo:10 wor:14 wa:18 ower:28 ua:28 war:32",
        "ㅞ": "wa:7 we:9 ua:33 y:35 ue:47 whe:47",
        "ㅟ": "wi:10 ui:19 i:22 u:22 whi:24 we:30 wee:32 ue:40",
        "ㅠ": "u:6 iu:17 eu:24 ew:29 you:38 hu:39 yu:39 iew:39 eau:43 -:45 lea:46 heu:48 ue:58 y:58",
        "ㅡ": "-:1 e:21 eu:50 o:55",
        "ㅢ": "ui:3 eui:16",
        "ㅣ": "i:4 y:21 e:23 -:38 ee:43 ea:43 ie:44 a:46 ey:48 hy:58 ia:60",
        "ㅣㅓ": "ia:18 ea:19 eer:21 ear:24 io:25 ie:27 ior:29 ier:34 iu:35 i:36 eare:36 ere:36 ew:36 er:48",
    }.items()
}
"""Sound, as :func:`~shrag.indexing.glossary.spelling.model.sounds` gives it → its English spellings and their
costs; the spelling may be empty."""

_SYLLABLES = {
    -4: ("개검격결경공관근급등량력료명법변병분생속습여역염영육응작적증책축출충통표학합행험현형환활"),
    -3: (
        "객건견계교국권귀규년념능동득령례류률문물별상성수숙술압연열용윤율융은의점접정죄준중착참초총최취측층친탐특편폐폭항핵혁혈협"
        "혼화확회획흡"
    ),
    -2: (
        "각간감갑값강곡과광구균금기김낙난낭내냉녹농뇌뇨담답당대독략련렬맹면멸목무반방범벽복봄봉붕석선섭쇄식신심약양억업엽예왕외욕"
        "원을음입자장재쟁전절족좌직진질집찬척철체촉촌칙침탕평품홍황효후흉흑희"
    ),
    -1: (
        "가골곰곱곽괄군굴궐극긍긴길꺼꽃꾸끼납녀높눈는늘늬단댓도돼둥또락렴록론롱륙림막맛망맞먹몸묵민박발밭배번벼보본부불빛사삭산삼"
        "삽색설섬섯셈손송쇠순숭숲슴승실쌀쌍악암액옷완왜요운월위유익읽잎잠젖제조존종주죽쥐즉짓차찰창채첨첩청촬추치쾌탁턱퇴판팡팽풍"
        "핍한함해향헌혐호혹횡훼휘흰힘"
    ),
    1: (
        "갈갓갱걀걱게겹곳곶괘괭굵굼깁깔깥깨꺾꼭꽁꽂꿈끈끓끝낌나낮넓넙노놀뇽누눔눗늑늪다닭닮닷댄덕델돗되둔딱딸땀땅땜떡떨뜸뜻띄란래"
        "럽렁렛룹를리말맑맘맺멍멥멧며모몽묻뭉뮈미밀밖밝밥벅벡벵볍볏볜봇붐붓빅빈빗빙빼뺄뼈쁜쁨삶섀센셰솎솝솥쇤숟숫쉬쉰슐십싸싹쌓썰"
        "썹쓴씻씽앱야얽엄엌엑엔옌옹옻와왈왼우욱울움웹윗윳윷읍이있잉잘잣잿줄줍즙짐징짚짝짠쩌쭉찹찻찾챙쳄춧츠칠캥컵콧큰킴탄탈탭탯텃"
        "텍툼튬팀파패펀펌포퐁풀피픽필하혀혓혜홉홋횔횟훌휨휴힙"
    ),
    2: (
        "글냐너널넘넥뉴닉닐님댐덩둑뒤듈들듬디딕딜딥딧랄랍랑랙랫랭로롭루륨륵른릉린마맨맵먼바밴밸뱅버벨볼뷔샌샘샴샹션셜솔솟쇼숏슬아"
        "앵얀얼엠오올옵웃웰윙젓젤좀즈챔챗춘칩캡콘콥쿠쿨큐킬타탱털텀텐토톨툰툴튀튼틸팔팝펠펨폼푸풋픈헐홈힐"
    ),
    3: (
        "겐겔그깅네니닝더던덤데덴듀드라랜랩러럭럴럼레렉렌롬르릭릴릿머멀메멘몬뮤뮬믹밍베벤뷰브블빔샤셀셔슈슘스알앤에워젝젠카칸칼캐"
        "캠커컬케켓코콕콤쿼퀴크클키킨킹터턴테텔톡톤튜트틀티팅팩펄펙펜폰퓨프핑핸헤헨헬홀히힌"
    ),
    4: (
        "갤갭귄깍낸냅넌넛넬넷놈눌늄닌닛댕덱둡듐든딘딩램랴런렐롤롯룩룬룰룸링맷멕멜멤멩뮴믈벳봅븐빌샐샵섹셉셋솜숍쉽슨싱앗앨엇엘엣옙"
        "옴왑웨윈잭젼즘챤첼촘칵캄캉캔캘컨컴켄켈켐콜콰쾨퀀퀘퀼큘킷탠텅템튤틱틴팟팬팸퍼펑페펩펫펭폴퓰플핀핏햄햅헝휠힉"
    ),
}

SYLLABLE_LOG_ODDS: Mapping[str, int] = {
    syllable: log_odds for log_odds, syllables in _SYLLABLES.items() for syllable in syllables
}
"""Syllable → the rounded natural logarithm of how many times more frequent it is in loanwords than in other nouns."""
