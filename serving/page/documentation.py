"""``/docs``: the documentation in both languages, as HTML that was built with the package."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from shrag.serving.http.endpoint import Operation
from shrag.serving.page.rendering import PAGE_FOLDER, interface_texts, render_template
from shrag.serving.page.request import choose_language

FOLDER = PAGE_FOLDER / "docs"
"""Built by `make docs`, with the wheel, or with an editable installation; ignored by git."""

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy of the page with two differences. It allows the icons in the theme's style sheet. It does without Trusted
Types, since the search of the documentation reads its own pages as HTML."""

_HEADERS = {"Vary": "Accept-Language", "Cache-Control": "no-store"}


@Operation()
async def documentation(request: Request) -> Response:
    """Return a redirect to the documentation in the language of the request."""
    language = choose_language(None, request.headers.get("accept-language", ""))
    return RedirectResponse(f"/docs/{language}/", headers=_HEADERS)


class Documentation(StaticFiles):
    """ASGI application of the files in ``folder``, or of a page that says how to make them."""

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)
        self.config_checked = True  # the folder may be missing, or may be made while the server runs
        self._folder = folder

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file ``path``, with its ``ETag``."""
        if not self._folder.is_dir():
            return _missing(Request(scope))
        if path == ".":
            return RedirectResponse("/docs")
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["Cache-Control"] = "no-cache"  # browsers ask again each time, and mostly get a 304
        return response


def _missing(request: Request) -> Response:
    language = choose_language(None, request.headers.get("accept-language", ""))
    html = render_template("docs_missing.html", ui=language, texts=interface_texts()[language])
    return HTMLResponse(html, HTTPStatus.NOT_FOUND, headers=_HEADERS)
