"""Drop the title page of a thesis, which some abstracts begin with: title, author, department, university, adviser.

It is dropped only if the text begins with the title or with names of people and institutions follow at once, and if it
ends where a sentence begins.
"""

from __future__ import annotations

import re

from shrag.corpora.text.fused_words import Repaired

_LONGEST = 400  # characters of a title page behind the title
_LETTERS = re.compile(r"[^\W_]")
_INSTITUTION = re.compile(
    r"대학원|대학교\s|지도\s?교수|학위\s?논문|\b(?:Graduate\s+School|Department\s+of|Dept\.|Advis[eo]r\s?:|Major\s+in)"
)
_NAME = r"(?:[가-힣]\s){1,3}[가-힣](?=\s)|[가-힣]{2,4}(?=\s)"
# What a title page may end with.
_END = re.compile(
    rf"지도\s?교수\s?[:：]?\s?(?:{_NAME})(?:\s?교수(?=\s))?|[가-힣]*대학원(?=\s)|[가-힣]+(?:학과|학부|전공)(?=\s)"
    r"|(?:19|20)\d\d년(?:\s\d\d?월)?(?=\s)"
    r"|University(?:\s+of(?:\s(?!This|The)[A-Z]\w+)+)?(?=\s)|\b(?:Ph|Ed)\.\s?D\.?(?=\s)"
)
_STOP = re.compile(
    r"[다요음임]\.\s|(?<!Prof)(?<!Dept)(?<!Ph)(?<!Ed)(?<!Eng)(?<!\bD)(?<!Dr)[.!?]\s+(?=[A-Z\uac00-\ud7a3])"
)
_BEGINNING = re.compile(r"\s*(?=[A-Z0-9\uac00-\ud7a3“‘\"'(])")
_ENGLISH_BEGINNING = re.compile(r"\s*(?=(?:This|These|The|In|We|As|With|Since|Although|Recently|Today)\s)")
_BEHIND_TITLE = re.compile(r"[\"'”’』」\])]*\s")
_FEWEST = 2  # institutions on a page without the title
# A line with an author and an institution, and nothing else. The beginning of a sentence follows.
_AUTHOR_LINE = re.compile(
    r"(?!(?:The|An?|In|At) )(?:[A-Z][\w-]+,? ){2,4}(?:Department|Dept\.) of (?:[A-Z]\w+,? |and ){1,8}University "
    r"(?!(?:Hospital|Medical|College|School|Graduate|Press|Library|Faculty|Institute|Cent)\w* )(?=[A-Z][a-z]+ [a-z]+ )"
)


def drop_title_page(text: str, title: str) -> Repaired:
    """Drop the title page at the beginning of a text.

    A text may begin with its title in the other language, which is not known. Then the page must name two institutions
    in English, and an English sentence must follow.

    >>> drop_title_page("Robots Kim, Ann Department of Education A University This study asks.", "Robots")
    Repaired(text='This study asks.', repairs=1)
    >>> drop_title_page("Kim Ann Department of Robots Seoul National University Robots fall often.", "")
    Repaired(text='Robots fall often.', repairs=1)
    """
    if line := _AUTHOR_LINE.match(text):
        return Repaired(text[line.end() :], 1)
    start = _behind_title(text, title)
    stop = _STOP.search(text, start)
    limit = min(_LONGEST + start, stop.start() if stop else len(text))
    institutions = len(_INSTITUTION.findall(text, start, limit))
    end = max((match.end() for match in _END.finditer(text, start, limit)), default=0)
    begins = (_BEGINNING if start else _ENGLISH_BEGINNING).match(text, end)
    if not end or begins is None or institutions < (1 if start else _FEWEST):
        return Repaired(text, 0)
    return Repaired(text[begins.end() :], 1)


def _behind_title(text: str, title: str) -> int:
    """Return where the title ends with which a text begins, whatever its blanks and marks are; 0 if it does not.

    A blank follows the title. Before a particle, it is the subject of a sentence.
    """
    letters = [match.group().lower() for match in _LETTERS.finditer(title)]
    end = 0
    for letter, match in zip(letters, _LETTERS.finditer(text), strict=False):
        if match.group().lower() != letter:
            return 0
        end = match.end()
    return end if _BEHIND_TITLE.match(text, end) else 0
