"""The language of messages: a command takes it from its locale, a request from its Accept-Language header."""

from __future__ import annotations

from collections.abc import Mapping

from shrag.messages.text import Language

LANGUAGE_VARIABLE = "SHRAG_LANG"

AUTO = "auto"

_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def locale_language(environment: Mapping[str, str], configured: str = AUTO) -> Language:
    """Return the language of ``SHRAG_LANG``, else the ``configured`` one, else that of the first POSIX variable set.

    >>> locale_language({"LANG": "ko_KR.UTF-8"}), locale_language({"LC_ALL": "C", "LANG": "ko_KR.UTF-8"})
    ('ko', 'en')
    >>> locale_language({"LANG": "ko_KR.UTF-8"}, "en"), locale_language({"SHRAG_LANG": "ko"}, "en")
    ('en', 'ko')
    """
    value = environment.get(LANGUAGE_VARIABLE) or ("" if configured == AUTO else configured)
    value = value or next((environment[name] for name in _LOCALE_VARIABLES if environment.get(name)), "")
    return "ko" if value.lower().replace("-", "_").split(".")[0].split("_")[0] == "ko" else "en"


def accepted_language(header: str) -> Language:
    """Return the language that an ``Accept-Language`` header prefers, English if it prefers neither.

    >>> accepted_language("ko-KR,ko;q=0.9,en;q=0.8"), accepted_language("ko;q=0.1, en"), accepted_language("*")
    ('ko', 'en', 'en')
    """
    qualities: dict[str, float] = {}
    for part in header.lower().split(","):
        tag, _, parameters = part.partition(";")
        code = tag.strip().partition("-")[0]
        qualities[code] = max(qualities.get(code, 0.0), _quality(parameters))
    return "ko" if qualities.get("ko", 0.0) > qualities.get("en", 0.0) else "en"


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if not name:
        return 1.0
    try:
        quality = float(value)
    except ValueError:
        return 0.0
    return quality if name.strip() == "q" and 0 <= quality <= 1 else 0.0
