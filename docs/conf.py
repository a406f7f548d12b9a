"""Sphinx configuration of the documentation, for both languages: `make docs`."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.search import SearchLanguage

_DOCS = Path(__file__).resolve().parent
_PROJECT = tomllib.loads((_DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_LANGUAGES = {"en": "English", "ko": "한국어"}
_LANDMARKS = {"en": ("All pages", "On this page"), "ko": ("전체 문서", "이 문서")}

project = "SHRAG"
version = release = _PROJECT["version"]
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "text"
smartquotes = False  # it makes a dash of the two hyphens of an option
templates_path = ["templates"]

html_theme = "furo"
html_title = "SHRAG"
html_static_path = ["static"]
html_favicon = "../serving/page/static/icon.svg"
html_css_files = ["shrag.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_permalinks_icon = "#"
html_theme_options = {"top_of_page_buttons": []}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}


class KoreanSearch(SearchLanguage):
    """Search in Korean pages: a word is found by itself and by its beginnings of two and more syllables.

    So 색인 finds 색인을 and 색인합니다; the script takes common particles off the words of a query.
    """

    lang = "ko"
    language_name = "Korean"
    _word = re.compile(r"[가-힣]+|[^\W가-힣]+")
    js_splitter_code = """
var splitQuery = (query) =>
  (query.match(/[가-힣]+|(?:(?![가-힣])[\\p{L}\\p{N}_])+/gu) || []).filter((word) => !/^[가-힣]$/.test(word));
"""
    js_stemmer_code = """
var Stemmer = function () {
  const particles = /(?<=[가-힣]{2})(?:으로|에서|에게|까지|부터|은|는|이|가|을|를|의|에|로|와|과|도|만)$/;
  this.stemWord = (word) => word.replace(particles, "");
};
"""

    def split(self, input: str) -> list[str]:
        """Return the words of a text, Korean ones with their beginnings."""
        return [part for word in self._word.findall(input) for part in _beginnings(word)]

    def stem(self, word: str) -> str:
        """Return the word as it stands in the index."""
        return word.lower()


def _beginnings(word: str) -> list[str]:
    if not "가" <= word[0] <= "힣":
        return [word]
    return [word[:length] for length in range(2, len(word) + 1)]


def _add_languages(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Give the page's template its languages: name, code, and the relative address of the same page or of the index."""
    up = "../" * (page.count("/") + 1)
    context["languages"] = []
    for code, name in _LANGUAGES.items():
        same = page == "search" or (_DOCS / code / f"{page}.md").is_file()
        context["languages"].append((name, code, f"{up}{code}/{page if same else 'index'}.html"))


def _link_other_language(app: Sphinx, page: str, source: list[str]) -> None:
    """Make links to Markdown files of the other language links to its pages: it is a site of its own for Sphinx."""
    link = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+(?:en|ko)/[\w/-]+)\.md\)")
    source[0] = link.sub(r'<a href="\2.html">\1</a>', source[0])


def _without_inline_code(app: Sphinx, error: Exception | None) -> None:
    """Move the theme's inline script and style into files, as the server's Content-Security-Policy asks for.

    The addresses of the theme's makers in the footer are taken out, and the source maps, which only they need.
    """
    if error is not None:
        return
    folder = Path(app.outdir)
    styles: set[str] = set()
    for path in folder.rglob("*.html"):
        static = os.path.relpath(folder / "_static", path.parent)
        html = path.read_text(encoding="utf-8")
        styles |= set(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))
        html = re.sub(r"<style>.*?</style>", f'<link rel="stylesheet" href="{static}/code.css">', html, flags=re.DOTALL)
        theme = f'<script src="{static}/theme.js"></script>'
        html = re.sub(r"<script>\s*document\.body.*?</script>", theme, html, flags=re.DOTALL)
        html = re.sub(r'(<div class="left-details">).*?(</div>)', r"\1\2", html, flags=re.DOTALL)
        html = html.replace('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"')
        site, contents = _LANDMARKS[app.config.language]
        html = html.replace('<aside class="sidebar-drawer"', f'<aside aria-label="{site}" class="sidebar-drawer"')
        html = html.replace('<aside class="toc-drawer', f'<aside aria-label="{contents}" class="toc-drawer')
        html = html.replace("<pre>", '<pre tabindex="0">')  # so that the keyboard scrolls it, too
        html = html.replace('style="display: none;"', "hidden").replace('style="opacity: 50%"', 'opacity="50%"')
        path.write_text(html, encoding="utf-8")
    (folder / "_static" / "code.css").write_text("\n".join(sorted(styles)), encoding="utf-8")
    _repair_translations(folder / "_static")
    for path in [*folder.rglob("*.map"), folder / "objects.inv", folder / ".buildinfo"]:
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / "_sources", ignore_errors=True)


def _repair_translations(static: Path) -> None:
    """Repair Sphinx's scripts for Korean: it evaluates the plural rule as code, and lacks the count of results.

    Of the two languages only Korean has translations of the scripts' texts, and one form for every number.
    """
    doctools = static / "doctools.js"
    script, found = re.subn(
        r"new Function\(\s*\"n\",\s*`[^`]*`,?\s*\)", "(n) => 0", doctools.read_text(encoding="utf-8")
    )
    if found != 1:
        raise ExtensionError("doctools.js of this Sphinx sets its plural rule otherwise: adapt docs/conf.py.")
    doctools.write_text(script, encoding="utf-8")
    translations = static / "translations.js"
    if translations.is_file():
        text = translations.read_text(encoding="utf-8")
        text = re.sub(
            r'("Search finished, found one page[^"]*": \[\s*)""', r'\1"문서 ${resultCount}개를 찾았습니다."', text
        )
        translations.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Add what the project needs of Sphinx."""
    app.add_search_language(KoreanSearch)
    app.connect("source-read", _link_other_language)
    app.connect("html-page-context", _add_languages)
    app.connect("build-finished", _without_inline_code)
