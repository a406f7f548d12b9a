"""Ask the installed server where there is no network: over HTTP, and in Chromium where there is one.

    python -m tests.air_gap.far_side INSTALLATION TRACE STRACE...

Only the server is SHRAG's, and followed by strace; this program and the browser are those of who looks at it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.air_gap.loopback import raise_loopback

RECORDS = """\
관리번호,논문 제목,초록,저자,발행년도
R-01,벼 재배지의 메탄 배출,논에 물을 얕게 대면 메탄 배출이 삼분의 일 줄었다.,김하나,2021
R-02,초등학교 급식의 나트륨,급식 국의 나트륨을 석 달 동안 조금씩 줄였으나 잔반은 늘지 않았다.,이두리,2020
R-03,전기 버스 배터리의 겨울 성능,영하 십 도에서 전기 버스의 주행 거리가 사분의 일 줄었다.,박세나,2022
R-04,도서관 야간 개관과 이용,밤 열 시까지 연 도서관은 대출이 아니라 체류 시간이 늘었다.,최네온,2019
R-05,Coastal wetlands and storm damage,Houses behind wetlands lost less of their value after storms.,A. Kim,2021
R-06,Sleep and shift work in hospitals,Nurses on forward-rotating shifts slept longer.,B. Lee,2020
R-07,한옥 단열 보강과 난방비,한옥의 지붕과 바닥을 단열재로 보강하면 겨울 난방비가 38% 줄었다.,정다솜,2023
R-08,Urban trees and summer heat,Streets with closed canopies were two degrees cooler in the afternoon.,C. Park,2022
R-09,해조류 양식장의 수온,수온이 일 도 오르면 다시마의 수확이 열흘 빨라졌다.,한여름,2023
R-10,청소년의 독서 모임,독서 모임에 석 달 참여한 학생은 혼자 읽는 책도 늘었다.,오가을,2018
"""
"""An export as Korean libraries have it: a table in CP949 with Korean columns."""

QUESTION = "한옥을 단열재로 보강하면 난방비가 얼마나 줄어드나요?"
CARRIED_QUESTION = "How long should a lecture video be?"
_PATIENCE = 180.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The first record that an answer cites, who asked, and how long it took."""

    by: str
    docid: str
    seconds: float


def main(folder: Path, trace: Path, strace: Sequence[str]) -> None:
    """Start the server, ask, stop it, and print the answers as JSON."""
    raise_loopback()
    program = [str(folder / "bin" / "shrag-serve"), "own", "demo", "--port", "0"]
    with served([*strace, "--output", str(trace), *program], folder / "home") as address:
        answers = [_asked(address, "own", QUESTION), _asked(address, "demo", CARRIED_QUESTION)]
        if chromium := shutil.which("chromium"):
            answers.append(_ask_in_browser(address, chromium, folder))
    print(json.dumps([dataclasses.asdict(answer) for answer in answers]))


@contextmanager
def served(command: Sequence[str], folder: Path) -> Iterator[str]:
    """Start a server that is followed by strace, in ``folder``; give its address, and stop it."""
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stderr=log, cwd=folder)
        try:
            started = time.monotonic()
            text = ""
            while "Ctrl-C stops" not in text:
                if server.poll() is not None or time.monotonic() - started > _PATIENCE:
                    raise RuntimeError(text)
                time.sleep(0.1)
                log.seek(0)
                text = log.read()
            yield text.partition(" at ")[2].split()[0].rstrip("/")
        finally:
            subprocess.run(["pkill", "-INT", "-P", str(server.pid)], check=False)
            server.send_signal(signal.SIGINT)
            server.wait(60)


def ask(address: str, index: str, question: str) -> dict[str, Any]:
    """Ask a question; return what the HTTP interface gives: the answer and the search."""
    body = json.dumps({"question": question, "index": index}).encode()
    request = Request(f"{address}/v1/ask", body, {"content-type": "application/json"})
    with urlopen(request, timeout=_PATIENCE) as response:
        given: dict[str, Any] = json.load(response)
    return given


def _asked(address: str, index: str, question: str) -> Answer:
    started = time.monotonic()
    docid = ask(address, index, question)["answer"]["citations"][0]["docid"]
    return Answer("HTTP", docid, round(time.monotonic() - started, 2))


def _ask_in_browser(address: str, chromium: str, folder: Path) -> Answer:
    from playwright.sync_api import sync_playwright

    (font,) = (folder / "current" / "venv").rglob("koreanize_matplotlib/fonts/NanumGothic.ttf")
    fonts = folder.parent / "fonts.conf"
    fonts.write_text(f"<fontconfig><dir>{font.parent}</dir><cachedir>{fonts}.cache</cachedir></fontconfig>")
    started = time.monotonic()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-background-networking"],
            env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
        )
        page = browser.new_page(locale="ko-KR")
        page.goto(address)
        page.fill("[name=q]", QUESTION)
        page.press("[name=q]", "Enter")
        page.get_by_text("난방비가 38% 줄었다").locator("visible=true").first.wait_for(timeout=_PATIENCE * 1000)
        browser.close()
    return Answer("Chromium", "R-07", round(time.monotonic() - started, 2))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
