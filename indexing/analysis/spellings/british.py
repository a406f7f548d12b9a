"""Replace British spellings by American ones, so that *behaviour* and *behavior* have one term.

The rules apply to single words of documents and questions alike. A rule may form a word that does not exist, as long as
no other word has that form. It is only important that all forms of a word change, or none (*precise*, *precision*).
"""

from __future__ import annotations

import re

# Beginnings of words that keep -ise in American English (advise, franchise), including verbs with a noun in -ision.
_IN_ISE = (
    "adverti|advi|ani|appri|ari|chasti|circumci|compri|conci|demi|despi|devi|enterpri|exerci|experti|franchi|improvi"
    "|inci|merchandi|morti|paradi|practi|premi|promi|repri|revi|sunri|surmi|surpri|televi|treati|upri"
    "|[a-z]*(?:[aou]i|compromi|exci|preci|supervi|wi)"
)
_SINGLE_L = (
    "bevel|cancel|channel|chisel|counsel|dial|enamel|equal|fuel|funnel|grovel|initial|label|level|libel|marshal|model"
    "|panel|parcel|pedal|pencil|rival|shovel|shrivel|signal|spiral|stencil|swivel|total|travel|tunnel|unravel"
)
RULES = [
    (re.compile(british), american)
    for british, american in (
        (rf"^(?!(?:{_IN_ISE})s)([a-z]{{3,}})is(e[drs]?|ers|ing|ations?|ational|able)$", r"\1iz\2"),
        (r"(anal|catal|dial|electrol|hydrol|paral|pyrol)ys(e[drs]?|ers|ing|able)$", r"\1yz\2"),
        (
            "(arm|behavi|cand|clam|col|demean|endeav|fav|ferv|flav|harb|hon|hum|lab|neighb|parl|ranc|rig|rum|sav|savi"
            "|splend|succ|tum|val|vap|vig|^(?:mal)?od)our",
            r"\1or",
        ),
        (r"(calib|cent|fib|goit|lit|lust|meag|met|sab|somb|spect|theat)re(s?)$", r"\1er\2"),
        (r"(cent|lust)red$", r"\1ered"),
        (r"^(bi|de|con|multi)?centring$", r"\1centering"),
        (r"(cent|fib)re(?=[a-z]{3})", r"\1er"),
        (r"(anal|catal|dial|homol)ogue(s?)$", r"\1og\2"),
        ("(anal|catal|dial|homol)ogu(?=e[dr]|ing)", r"\1og"),
        (rf"^((?:de|mis|over|re|un)?(?:{_SINGLE_L}))l(ed|ers?|ing|ings|ors?)$", r"\1\2"),
        ("haem(?=[aio])", "hem"),
        ("aem(?=i[ac])", "em"),
        ("paed", "ped"),
        ("anaesth", "anesth"),
        ("(?<=gyn)aec", "ec"),
        ("^(arch|pal)ae", r"\1e"),
        ("^oesoph", "esoph"),
        ("(?<!h)oestr", "estr"),
        ("^(lymph|myx|papill)?oedem", r"\1edem"),
        ("^foet", "fet"),
        ("(pn|rrh)oe", r"\1e"),
        ("^coeliac", "celiac"),
        ("^cae(?=c|sarea?n|siu)", "ce"),
        ("^faec", "fec"),
        ("^aeti", "eti"),
        ("^homoeo", "homeo"),
        ("^amoeb", "ameb"),
        ("leucocyt", "leukocyt"),
        (r"^manoeuvre(s?)$", r"maneuver\1"),
        ("^manoeuvr(?=ab|ed|ing)", "maneuver"),
        ("sulph", "sulf"),
        ("^aluminium", "aluminum"),
        ("^plough", "plow"),
        ("^(s?)mould", r"\1mold"),
        (r"^grey(?=$|e[dr]|i|l|n|s)", "gray"),
        (r"^tyre(s?)$", r"tire\1"),
        ("^artefact", "artifact"),
        (r"^(un)?sceptic", r"\1skeptic"),
        ("^ageing", "aging"),
        ("dgement", "dgment"),
        ("^(enrol|instal|fulfil)ment", r"\1lment"),
        (r"^(enrol|fulfil)(s?)$", r"\1l\2"),
        ("^(skil|wil)ful", r"\1lful"),
        (r"^(def|off|pret)ence(s?)$", r"\1ense\2"),
        (r"^licence([ds]?)$", r"license\1"),
        (r"^practis(?=e|ing)", "practic"),
        (r"^(sub)?programme(s?)$", r"\1program\2"),
        (r"^((?:micro|milli|kilo)?gram)me(s?)$", r"\1\2"),
        (r"^specialit(?=y$|ies$)", "specialt"),
        ("^aeroplane", "airplane"),
        ("^yoghurt", "yogurt"),
        ("^woollen", "woolen"),
    )
]
"""Patterns and their replacements, applied in this order."""

# Every rule needs one of these, and few other words have one: most words need only this test.
_MAY_DIFFER = re.compile(
    "is(?:e|ing|ation|able)|ys(?:e|ing|able)|[bdglmnprv]i?our|(?:ran|suc)cour"
    "|(?:cent|fib|goit|lib|lit|lust|ag|met|sab|omb|ect|eat)re"
    "|centring|logu|l(?:ed|er|ing|or)|ae|oe|leuco|sulph|minium|plough|mould|grey|tyre|artefact|sceptic|ageing|dgement"
    "|lment|^enrol|^fulfil|lful|[fi]ence|cence|pretence|practis|gramme|specialit|yoghurt|woollen"
)


def american_spelling(word: str) -> str:
    """Return the American spelling of a word in lower case.

    >>> american_spelling("colourised"), american_spelling("centres"), american_spelling("precise")
    ('colorized', 'centers', 'precise')
    """
    if _MAY_DIFFER.search(word):
        for british, american in RULES:
            word = british.sub(american, word)
    return word
