"""A real browser before a real server on a loopback port. Whatever a test does, no request may leave the server.

Playwright's own browsers are not used: Debian's Chromium is, or the one that SHRAG_TEST_BROWSER names. Its only font is
the one that the plots are drawn in: Chromium crashes where it finds no font at all, and a machine may have none.
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from shrag.evaluation.reports.plots import korean_font_file
from shrag.models.language_model import LanguageModel
from shrag.serving.app import create_app
from shrag.serving.engine import Engine
from shrag.serving.http.access import Access

# The headless shell starts and ends a page in four fifths of the time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = os.environ.get("SHRAG_TEST_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), None)

Serve = Callable[..., str]

_REPORTS = """document.addEventListener("securitypolicyviolation",
    ({violatedDirective, blockedURI, sample}) => window.reported(`${violatedDirective} ${blockedURI} ${sample}`))"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder ``browser``, before ``-m`` selects; skip them where there is no Chromium."""
    marks = [pytest.mark.browser]
    if CHROMIUM is None:
        reason = "no Chromium here: install Debian's chromium, or name a browser in SHRAG_TEST_BROWSER"
        marks.append(pytest.mark.skip(reason=reason))
    for item in items:
        if item.path.parent == Path(__file__).parent:
            for mark in marks:
                item.add_marker(mark)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a headless Chromium."""
    fonts = tmp_path_factory.mktemp("fonts")
    (fonts / "fonts.conf").write_text(
        f"<fontconfig><dir>{korean_font_file().parent}</dir><cachedir>{fonts}</cachedir></fontconfig>"
    )
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking"],
            env={**os.environ, "FONTCONFIG_FILE": str(fonts / "fonts.conf")},
        )
        yield launched
        launched.close()


@contextmanager
def _serving(engine: Engine, access: Access | None = None) -> Iterator[str]:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(engine, access), log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def serve(demo: Engine) -> Iterator[Serve]:
    """Return what serves the demonstration index, or another engine's, with a model or without, and says where.

    The server without a model is one for a file's tests.
    """
    with ExitStack() as running:
        shared: list[str] = []

        def start(
            model: LanguageModel | None = None, engine: Engine | None = None, access: Access | None = None
        ) -> str:
            if model is not None or engine is not None or access is not None:
                return running.enter_context(_serving(engine or Engine(demo.open_index, model), access))
            if not shared:
                shared.append(running.enter_context(_serving(Engine(demo.open_index), None)))
            return shared[0]

        yield start


@pytest.fixture(scope="module")
def plain(serve: Serve) -> str:
    """Return the address of a server without a language model."""
    return serve()


@dataclass
class Reader:
    """Opens pages, and remembers where their requests went and what their console said."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)
    reports: list[str] = field(default_factory=list)

    def open(self, address: str, path: str = "/", language: str = "ko-KR", **options: object) -> Page:
        """Open a path of a server in a browser of its own."""
        self.addresses.add(address)
        context = self.browser.new_context(locale=language, **options)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        context.expose_function("reported", self._reported)
        context.add_init_script(_REPORTS)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)
        page.goto(address + path)
        return page

    def _reported(self, violation: str) -> None:
        self.reports.append(violation)

    def _heard(self, line: ConsoleMessage) -> None:
        # That an answer is an error (a 422), or the browser offline, is what some tests are about; everything else is a
        # fault of the page.
        expected = ("the server responded with a status of", "net::ERR_INTERNET_DISCONNECTED")
        if line.type == "error" and not any(text in line.text for text in expected):
            self.complaints.append(line.text)

    def foreign(self) -> list[str]:
        """Return the requests that went anywhere but to the servers opened."""
        return [url for url in self.requests if not any(url.startswith(f"{own}/") for own in self.addresses)]


@pytest.fixture
def reader(browser: Browser) -> Iterator[Reader]:
    """Return a reader.

    Behind the test nothing may have been asked of another address, no script have failed, no policy been broken.
    """
    reader = Reader(browser)
    yield reader
    for context in reader.contexts:
        context.close()
    assert reader.foreign() == []
    assert reader.complaints == []
    assert reader.reports == []
