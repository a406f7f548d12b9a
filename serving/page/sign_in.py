"""``/sign-in``: a form that takes the API key from a person and gives the browser a cookie. It needs no script."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from shrag.serving.http.access import CHALLENGE, Access, check_key, client_address
from shrag.serving.http.problems import HTTPProblem
from shrag.serving.http.sessions import end_session
from shrag.serving.page.rendering import interface_texts, render_template
from shrag.serving.page.request import choose_language

# Under the page's own policy, no-referrer, a browser sends `Origin: null` with a form, which the guard refuses.
_HEADERS = {"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie", "Referrer-Policy": "same-origin"}

_SAFE_IN_ADDRESS = "/?&=%+-._~!*'(),;:@$"


class SignIn:
    """The form and what it does. ``access`` has the key that is asked for."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def form(self, scope: Scope) -> Response:
        """Return the form in place of the page that ``scope`` asks for; it leads on to that page."""
        query = scope["query_string"].decode("latin-1")
        wanted = quote(scope["path"], safe=_SAFE_IN_ADDRESS) + (f"?{query}" if query else "")
        response = self._form(Request(scope), wanted, 401)
        response.headers["WWW-Authenticate"] = CHALLENGE
        return response

    def routes(self) -> list[Route]:
        """Return the routes of the form and of what it sends."""
        return [
            Route("/sign-in", self._show),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]

    async def _show(self, request: Request) -> Response:
        return self._form(request, "/", 200)

    async def _sign_in(self, request: Request) -> Response:
        fields = await _read_form(request)
        wanted = local_address(fields.get("next", ""))
        problem = check_key(fields.get("key", "").strip(), self._access, client_address(request.scope))
        if problem is not None:
            response = self._form(request, wanted, problem.status, problem.code)
            response.headers.update(problem.headers)
            return response
        secure = request.headers.get("origin", "").startswith("https://")
        headers = {"Location": wanted, "Set-Cookie": self._access.sessions.begin(secure=secure)}
        return Response(status_code=303, headers=headers | _HEADERS)

    async def _sign_out(self, _: Request) -> Response:
        return Response(status_code=303, headers={"Location": "/sign-in", "Set-Cookie": end_session()} | _HEADERS)

    def _form(self, request: Request, wanted: str, status: int, problem: str = "") -> Response:
        language = choose_language(request.query_params.get("ui"), request.headers.get("accept-language", ""))
        html = render_template(
            "sign_in.html",
            ui=language,
            texts=interface_texts()[language],
            next=wanted,
            problem=problem,
            signed_in=status == 200 and self._access.sessions.holds(request.headers.get("cookie", "")),
        )
        return HTMLResponse(html, status, headers=dict(_HEADERS))


def local_address(wanted: str) -> str:
    """Return ``wanted`` where it is an address of this server, else its page: a form leads nowhere else.

    >>> local_address("/?q=a"), local_address("//evil.example"), local_address("https://evil.example")
    ('/?q=a', '/', '/')
    """
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    if not is_path or any(character < " " or character == "\\" for character in wanted):
        return "/"
    return quote(wanted, safe=_SAFE_IN_ADDRESS)


async def _read_form(request: Request) -> Mapping[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPProblem(415, "encoding_not_read", "The key is read from a form: send it as one.")
    try:
        fields = parse_qs((await request.body()).decode(), max_num_fields=8)
    except ValueError:
        return {}
    return {name: values[0] for name, values in fields.items()}
