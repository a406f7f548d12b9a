"""``/sign-in``: a form for the API key, which gives the browser a session cookie. It needs no script."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from shrag.messages.text import Text
from shrag.serving.http.access import CHALLENGE, Access, check_key, client_address
from shrag.serving.http.problems import HTTPProblem
from shrag.serving.http.sessions import end_session
from shrag.serving.page.rendering import interface_texts, render_template
from shrag.serving.page.request import choose_language

# With the page's policy, no-referrer, a browser sends a form with `Origin: null`, which the request guard refuses.
_HEADERS = {"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie", "Referrer-Policy": "same-origin"}

_SAFE_IN_URL = "/?&=%+-._~!*'(),;:@$"


class SignIn:
    """The form and its routes; ``access`` has the key."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def form(self, scope: Scope) -> Response:
        """Return the form in place of the requested page. After signing in, it redirects to that page."""
        query = scope["query_string"].decode("latin-1")
        target = quote(scope["path"], safe=_SAFE_IN_URL) + (f"?{query}" if query else "")
        response = self._form(Request(scope), target, 401)
        response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    def routes(self) -> list[Route]:
        """Return the routes of the form."""
        return [
            Route("/sign-in", self._show),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        return self._form(request, "/", 200)

    async def _sign_in(self, request: Request) -> Response:
        fields = await _read_form(request)
        target = local_address(fields.get("next", ""))
        problem = check_key(fields.get("key", "").strip(), self._access, client_address(request.scope))
        if problem is not None:
            response = self._form(request, target, problem.status, problem.code)
            response.headers.update(problem.headers)
            return response
        secure = request.headers.get("origin", "").startswith("https://")
        headers = {"Location": target, "Set-Cookie": self._access.sessions.begin(secure=secure)}
        return Response(status_code=303, headers=headers | _HEADERS)

    async def _sign_out(self, _: Request) -> Response:
        return Response(status_code=303, headers={"Location": "/sign-in", "Set-Cookie": end_session()} | _HEADERS)

    def _form(self, request: Request, target: str, status: int, problem: str = "") -> Response:
        language = choose_language(request.query_params.get("ui"), request.headers.get("accept-language", ""))
        html = render_template(
            "sign_in.html",
            ui=language,
            texts=interface_texts()[language],
            next=target,
            problem=problem,
            signed_in=status == 200 and self._access.sessions.is_valid(request.headers.get("cookie", "")),
        )
        return HTMLResponse(html, status, headers=dict(_HEADERS))


def local_address(target: str) -> str:
    """Return ``target`` if it is a path of this server, else ``/``, so that nobody is redirected to another site.

    >>> local_address("/?q=a"), local_address("//evil.example"), local_address("https://evil.example")
    ('/?q=a', '/', '/')
    """
    is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
    if not is_path or any(character < " " or character == "\\" for character in target):
        return "/"
    return quote(target, safe=_SAFE_IN_URL)


async def _read_form(request: Request) -> Mapping[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPProblem(415, "encoding_not_read", Text("The key is read from a form: send it as form data."))
    try:
        fields = parse_qs((await request.body()).decode(), max_num_fields=8)
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items()}
