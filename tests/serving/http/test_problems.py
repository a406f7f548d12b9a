"""What the server can answer is in the documentation's table of error codes, and has a title."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from starlette.exceptions import HTTPException

from shrag.serving.errors import QuestionError, ServiceUnavailable
from shrag.serving.http import problems
from shrag.serving.http.problems import HTTPProblem, problem_body, to_problem
from tests.conftest import ROOT

_ROW = re.compile(r"^\| (?P<status>\d{3}|other) \| (?P<codes>[^|]+) \|", re.MULTILINE)


def _raised() -> Iterator[tuple[str, str]]:
    """Yield status and code of each problem that a module of the server makes; each is written out."""
    for path in (ROOT / "serving").rglob("*.py"):
        # The tools of `shrag mcp` are not served over HTTP, and `problems` makes problems of what others raised.
        if "agents" in path.parts or path.name == "problems.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id == "HTTPProblem":
                status, code = (ast.literal_eval(argument) for argument in node.args[:2])
                yield str(status), code
            elif node.func.id == "QuestionError":
                yield str(to_problem(QuestionError("", "")).status), ast.literal_eval(node.args[0])


def _unavailable(kind: type[ServiceUnavailable] = ServiceUnavailable) -> Iterator[Exception]:
    for each in kind.__subclasses__():
        yield each("")
        yield from _unavailable(each)


def _answered() -> set[tuple[str, str]]:
    """Return status and code of every problem that the server can answer."""
    http = (HTTPException(status) for status in problems._HTTP_CODES)
    others = (kind.__new__(kind) for kind, _, _ in problems._STATUSES)
    made = [to_problem(error) for error in (*http, *others, *_unavailable(), Exception())]
    other = to_problem(HTTPException(418)).code
    return {*_raised(), *((str(problem.status), problem.code) for problem in made), ("other", other)}


def test_the_documentation_lists_every_code_with_its_status_and_no_other() -> None:
    page = (ROOT / "docs" / "en" / "reference" / "http.md").read_text(encoding="utf-8")
    listed = [(row["status"], code) for row in _ROW.finditer(page) for code in re.findall(r"`(\w+)`", row["codes"])]
    assert len(listed) == len(set(listed))
    assert set(listed) == _answered()


def test_every_problem_has_a_title_of_its_own_but_for_that_of_a_client_who_has_left() -> None:
    statuses = {int(status) for status, _ in _answered() if status != "other"}
    titles = {status: problem_body(HTTPProblem(status, "", "")).title for status in statuses}
    assert [status for status, title in titles.items() if title == "Request not served"] == [499]
    assert titles[429] == "Too many requests"
