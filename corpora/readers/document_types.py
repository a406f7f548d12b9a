"""Types of documents: map the names of ScienceON, RIS, BibTeX and Korean catalogs to the names of CSL."""

from __future__ import annotations

import re

# The names of CSL 1.0.2 (docs.citationstyles.org) and what others call the same types. Elsewhere an "article" is nearly
# always a journal article; CSL's own "article" is a preprint.
_ALIASES: dict[str, str] = {
    "article-journal": "article|jour|ejour|journal|journal article|jako|jafo|nart|논문|"
    "학술논문|학술지논문|국내논문|해외논문",
    "article-magazine": "mgzn|magazine article|잡지기사",
    "article-newspaper": "news|newspaper article|신문기사",
    "article": "preprint|inpr|프리프린트",
    "book": "ebook|edbook|booklet|단행본|도서",
    "chapter": "chap|echap|incollection|inbook|book chapter|book section",
    "dataset": "data|dbase|데이터|데이터셋",
    "document": "gen|misc|generic|기타",
    "manuscript": "unpb|unpublished",
    "paper-conference": "conf|cpaper|inproceedings|conference|conference paper|proceedings-article|cfko|cffo|npap|"
    "학술대회|학술대회논문|학술회의|회의자료|프로시딩",
    "patent": "pat|특허",
    "report": "rprt|techreport|trko|trfo|보고서|연구보고서|기술보고서",
    "software": "comp|소프트웨어",
    "standard": "stand|표준",
    "thesis": "thes|phdthesis|mastersthesis|dissertation|diko|학위논문|석사|박사|석사학위논문|박사학위논문",
    "webpage": "elec|web|blog|online|웹페이지",
}
DOCUMENT_TYPES = tuple(_ALIASES)
"""CSL's names of the types in this table; a record may also have any other type."""

_SIGNS = re.compile(r"[\W_]+")
_TYPE_OF = {_SIGNS.sub("", alias): type for type, aliases in _ALIASES.items() for alias in aliases.split("|")}
_LONGEST = 50


def document_type(name: str) -> str:
    """Return CSL's name for a type of documents; an unknown name is put in lower case and cut at 50 characters.

    Blanks and signs in a name do not matter.

    >>> document_type("JOUR"), document_type("journalArticle"), document_type("학위논문"), document_type("Erratum")
    ('article-journal', 'article-journal', 'thesis', 'erratum')
    """
    key = name.casefold().strip()
    return _TYPE_OF.get(_SIGNS.sub("", key), key[:_LONGEST])
