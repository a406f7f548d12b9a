"""The built documentation: both languages, complete, without outside addresses or inline code."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from importlib.metadata import requires
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import build_docs
from tests.conftest import ROOT

LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background"}
"""Attributes that make a browser load or send something."""

CITED = (
    "https://arxiv.org/",
    "https://cosmic-ray.readthedocs.io",
    "https://github.com/kivy/pyjnius/issues/",
    "https://ir-measur.es",
    "https://modelcontextprotocol.io",
    "https://www.starlette.io",
)
"""Where a link of the text may lead, for a reader who has a network."""


class _Page(HTMLParser):
    """What a page loads, where it links to, and the code in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            text = value or ""
            if name in LOADING or (name == "href" and tag not in {"a", "use"}):
                self.loaded.append(text)
            elif name == "href":
                self.links.append(text)
            elif name == "id":
                self.ids.add(text)
            elif name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}={text}")
        if tag == "style" or (tag == "script" and "src" not in dict(attributes)):
            self.inline.append(tag)


@pytest.fixture(scope="module")
def pages(built_docs: Path) -> dict[Path, _Page]:
    """Return path → page of both languages."""
    return {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(built_docs.rglob("*.html"))}


def test_every_markdown_file_is_a_page(built_docs: Path) -> None:
    for language in build_docs.LANGUAGES:
        sources = {
            path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs" / language).rglob("*.md")
        }
        made = {path.relative_to(built_docs) for path in (built_docs / language).rglob("*.html")}
        assert made == sources | {Path(language, "search.html")}


def test_nothing_is_loaded_from_another_site(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        assert [each for each in page.loaded if urlsplit(each).scheme or urlsplit(each).netloc] == [], path


def test_links_lead_to_pages_and_headings_that_are_there_or_to_what_is_cited(pages: dict[Path, _Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if not link.startswith(CITED):
                    broken.append(f"{path.name}: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if link.startswith("/"):
                continue  # an address of the server
            fragment = unquote(parts.fragment)
            if not target.is_file() or (fragment and target in pages and fragment not in pages[target].ids):
                broken.append(f"{path.name}: {link}")
    assert sorted(broken) == []


def test_no_page_has_inline_code_which_the_servers_policy_would_block(pages: dict[Path, _Page]) -> None:
    for path, page in pages.items():
        assert page.inline == [], path


def test_no_style_sheet_and_no_script_loads_from_another_site(built_docs: Path) -> None:
    files = [*built_docs.rglob("*.css"), *built_docs.rglob("*.js")]
    assert len(files) > 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"url\(\s*[\"']?(?!data:)([^)\"']+)|@import\s+([^;]+)", text)
        assert [one or other for one, other in loaded if re.match(r"(?:[a-z]+:)?//", (one or other).strip("\"'"))] == []
        if path.suffix == ".js" and path.name != "searchindex.js":
            assert re.findall(r"(?:fetch|import|open)\s*\(\s*[\"'`](?:[a-z]+:)?//", text) == [], path


def test_every_page_links_to_the_same_page_in_the_other_language_or_to_its_beginning(
    built_docs: Path, pages: dict[Path, _Page]
) -> None:
    for path, page in pages.items():
        language, *rest = path.relative_to(built_docs).parts
        other = "ko" if language == "en" else "en"
        same = built_docs.joinpath(other, *rest)
        wanted = same if same.is_file() else built_docs / other / "index.html"
        assert wanted in {(path.parent / unquote(urlsplit(link).path)).resolve() for link in page.links}, path


def test_the_korean_search_index_has_words_by_their_beginnings(built_docs: Path) -> None:
    index = (built_docs / "ko" / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"]
    assert {"학술", "문헌", "문헌을"} <= set(terms)


def test_the_same_sources_are_not_built_again_and_a_source_distribution_is_left_as_it_is(
    built_docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "docs"
    shutil.copytree(built_docs, copy)
    (copy / "en" / "index.html").unlink()
    monkeypatch.setattr(build_docs, "_build", lambda *_: pytest.fail("built again"))
    build_docs.make_docs(copy)
    (copy / "sources.sha256").write_text("other")
    monkeypatch.setattr(build_docs, "SOURCE", tmp_path / "none")
    build_docs.make_docs(copy)
    assert not (copy / "en" / "index.html").exists()


def test_a_page_that_sphinx_warns_of_is_an_error_and_what_was_built_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "sources"
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("*.md", "*.png", "*.svg"))
    shutil.copy(ROOT / "pyproject.toml", source)
    (source / "docs" / "en").mkdir(exist_ok=True)
    (source / "docs" / "en" / "index.md").write_text("# Title\n\n[nowhere](nowhere.md)\n")
    monkeypatch.setattr(build_docs, "SOURCE", source / "docs")
    folder = tmp_path / "html"
    folder.mkdir()
    with pytest.raises(build_docs.DocsNotBuilt, match=r"index\.md:3: WARNING: .*nowhere"):
        build_docs.make_docs(folder)
    assert list(tmp_path.glob(".docs-*")) == []
    assert folder.is_dir()


def test_the_packages_of_the_build_are_sphinx_its_theme_and_all_that_they_need() -> None:
    needed, open_names = set[str](), ["sphinx", "myst-parser", "furo"]
    while open_names:
        name = open_names.pop()
        if name not in needed:
            needed.add(name)
            found = (Requirement(each) for each in requires(name) or ())
            open_names += [
                canonicalize_name(each.name) for each in found if not each.marker or each.marker.evaluate({"extra": ""})
            ]
    assert needed == set(build_docs.PACKAGES)
    assert [line.partition("==")[0] for line in build_docs.requirements()] == list(build_docs.PACKAGES)
