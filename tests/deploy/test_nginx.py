"""nginx with TLS before the server: pages, questions, and the events of an answer as they come."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.clients import events
from tests.support.fake_endpoint import Endpoint, Handler, answers, serving
from tests.support.fault_modes import only_the_answer
from tests.support.live import QUESTION, wait_until
from tests.support.served_process import served

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        shutil.which("nginx") is None or shutil.which("openssl") is None, reason="no nginx, or no openssl"
    ),
]

FILE = ROOT / "deploy" / "nginx.conf"
NAME = "search.example.ac.kr"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _configuration(folder: Path, port: int, ports: tuple[int, int]) -> Path:
    """Write the file with this machine's ports and a certificate of its own, and nginx's main file around it."""
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}",
            "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", folder / "key.pem", "-out", folder / "certificate.pem",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    text = FILE.read_text(encoding="utf-8").replace("/etc/ssl/shrag/", f"{folder}/")
    for old, new in (("127.0.0.1:8080", f"127.0.0.1:{port}"), ("listen 80;", f"listen 127.0.0.1:{ports[0]};")):
        assert old in text
        text = text.replace(old, new)
    (folder / "shrag.conf").write_text(text.replace("listen 443 ", f"listen 127.0.0.1:{ports[1]} "), encoding="utf-8")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = folder / "nginx.conf"
    main.write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}include {folder}/shrag.conf;\n}}\n",
        encoding="utf-8",
    )
    return main


class _WaitingModel:
    """A model that begins an answer, and goes on only when it is told to."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()

    def __call__(self, handler: Handler, body: dict[str, Any]) -> None:
        assert self.may_go_on.wait(60)
        answers("재택근무는 갈등을 줄인다 ⟦문헌 1⟧.")(handler, body)


class _Proxied:
    """The running server behind nginx, and the model that it asks."""

    def __init__(self, folder: Path, ports: tuple[int, int], model: _WaitingModel) -> None:
        self.http, self.https = ports
        self.model = model
        self.context = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    @contextmanager
    def opened(self, method: str, path: str, body: object = None, **headers: str) -> Iterator[http.client.HTTPResponse]:
        """Give the answer over TLS, whose certificate is checked, by the name that clients use."""
        connection = http.client.HTTPSConnection(NAME, self.https, timeout=60, context=self.context)
        plain = socket.create_connection(("127.0.0.1", self.https), timeout=60)
        connection.sock = self.context.wrap_socket(plain, server_hostname=NAME)
        data = None if body is None else json.dumps(body).encode()
        try:
            named = {"host": NAME, "content-type": "application/json", "connection": "close", **headers}
            connection.request(method, path, data, named)
            with connection.getresponse() as response:
                yield response
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Return status and body of an answer."""
        with self.opened(method, path, body, **headers) as response:
            return response.status, response.read().decode()


@pytest.fixture(scope="module")
def proxied(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Proxied]:
    folder = tmp_path_factory.mktemp("nginx")
    ports, model = (_free_port(), _free_port()), _WaitingModel()
    with serving(Endpoint(only_the_answer(model))) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHRAG_LLM_URL", address)
        patch.setenv("SHRAG_LLM_MODEL", "m")
        with served(demo_home, "--allow-host", NAME) as server:
            main = _configuration(folder, server.port, ports)
            subprocess.run(["nginx", "-t", "-c", main], check=True, capture_output=True)
            nginx = subprocess.Popen(["nginx", "-c", main], stderr=subprocess.DEVNULL)
            try:
                wait_until(lambda: _listens(ports[1]), 20)
                yield _Proxied(folder, ports, model)
            finally:
                model.may_go_on.set()
                nginx.terminate()
                nginx.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_is_reached_by_tls_alone_and_under_its_name(proxied: _Proxied) -> None:
    with proxied.opened("GET", "/", accept="text/html") as page:
        assert (page.status, page.getheader("strict-transport-security")) == (200, "max-age=31536000")
        assert "</html>" in page.read().decode()
    plain = http.client.HTTPConnection("127.0.0.1", proxied.http, timeout=20)
    with closing(plain):
        plain.request("GET", "/v1/search?q=x", headers={"host": NAME})
        with plain.getresponse() as moved:
            assert (moved.status, moved.getheader("location")) == (308, f"https://{NAME}/v1/search?q=x")


def test_a_search_of_the_page_passes_with_its_origin_and_another_origin_does_not(proxied: _Proxied) -> None:
    body = {"question": QUESTION}
    status, found = proxied.ask("POST", "/v1/search", body, origin=f"https://{NAME}")
    assert status == 200
    assert "DEMO-SOC-012" in found
    assert proxied.ask("POST", "/v1/search", body, origin="https://elsewhere.example.org")[0] == 403


def test_figures_of_the_server_are_for_the_machine_itself(proxied: _Proxied) -> None:
    assert proxied.ask("GET", "/metrics")[0] == 403
    assert proxied.ask("GET", "/health/live")[0] == 200


def test_events_come_while_the_answer_is_being_written(proxied: _Proxied) -> None:
    with proxied.opened("POST", "/v1/ask", {"question": QUESTION, "stream": True}) as stream:
        assert stream.getheader("content-type", "").startswith("text/event-stream")
        read = b""
        while b"event: hits" not in read:
            piece = stream.read1(65536)
            assert piece, read.decode()
            read += piece
        # The model has not written anything: what was found came before it.
        assert b"event: answer" not in read
        proxied.model.may_go_on.set()
        read += stream.read()
    assert [name for name, _ in events(read.decode())][-1] == "timings"


def test_citations_of_a_chat_are_links_by_tls(proxied: _Proxied) -> None:
    proxied.model.may_go_on.set()
    body = {"model": "demo/shrag", "messages": [{"role": "user", "content": QUESTION}]}
    status, answer = proxied.ask("POST", "/v1/chat/completions", body)
    assert status == 200
    (cited, *_) = json.loads(answer)["choices"][0]["message"]["annotations"]
    assert cited["url_citation"]["url"].startswith(f"https://{NAME}/record?docid=DEMO-")


def test_the_file_names_no_path_but_that_of_the_certificate() -> None:
    paths = re.findall(r" (/[a-z/.-]*)", re.sub(r"#.*", "", FILE.read_text(encoding="utf-8")))
    assert paths == ["/etc/ssl/shrag/certificate.pem", "/etc/ssl/shrag/key.pem", "/metrics", "/"]
