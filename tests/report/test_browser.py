"""The report in a real browser: every figure is drawn, nothing is reported, nothing is asked for.

Needs Chromium (Debian package `chromium`) and is skipped without it. Off by default (marker
`slow`).
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from openrebench.analysis.options import Options
from openrebench.analysis.suites import find_suite
from openrebench.report.build import build_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--remote-debugging-pipe"),
)
DRAWN = """
Array.from(document.querySelectorAll('figure')).map(f => {
  const i = f.querySelector('img'), b = i.getBoundingClientRect();
  return [f.id, i.complete && i.naturalWidth > 100 && b.width > 100 && b.height > 40,
          b.right <= document.documentElement.clientWidth + 1];
})
"""
WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"


class Browser:
    """One page of a browser, spoken to through pipes: no port, no further package."""

    def __init__(self, commands: IO[bytes], replies: IO[bytes]) -> None:
        self._commands, self._replies = commands, replies
        self._number = 0
        self.session = ""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command and wait for its answer, keeping the events that come before."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            reply = self._next()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return reply["result"]

    def wait_for(self, method: str) -> None:
        while all(event["method"] != method for event in self.events):
            self._next()

    def _next(self) -> dict[str, Any]:
        found = bytearray()
        while (byte := self._replies.read(1)) != b"\0":
            assert byte, "the browser is gone"
            found += byte
        reply: dict[str, Any] = json.loads(found)
        if "method" in reply:
            self.events.append(reply)
        return reply

    def evaluate(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with pipes at its file descriptors 3 and 4, and end it."""
    assert CHROMIUM is not None
    to_read, to_write = os.pipe(), os.pipe()
    script = f'exec "$0" "$@" 3<&{to_read[0]} 4>&{to_write[1]}'
    command = ["bash", "-c", script, CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, pass_fds=(to_read[0], to_write[1]), stderr=subprocess.DEVNULL
    )
    os.close(to_read[0])
    os.close(to_write[1])
    with os.fdopen(to_read[1], "wb") as commands, os.fdopen(to_write[0], "rb") as replies:
        found = Browser(commands, replies)
        try:
            target = found.call("Target.createTarget", url="about:blank")["targetId"]
            attached = found.call("Target.attachToTarget", targetId=target, flatten=True)
            found.session = attached["sessionId"]
            yield found
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report without attempts. One with attempts is made by the test that has them."""
    folder = tmp_path_factory.mktemp("reports")
    return {"published": build_report([], folder / "published", options=Options(resamples=100))}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [1000, 390])
@pytest.mark.parametrize("which", ["published", "own"])
def test_every_figure_is_drawn_without_errors_or_requests(
    real_drawing, make_folder, reports: dict[str, Path], tmp_path: Path, which: str, width: int
) -> None:
    path = reports["published"]
    if which == "own":
        folder = make_folder(environments=find_suite("all").environments, n=3)
        path = build_report([folder], tmp_path / "report", options=Options(resamples=100))
    with browser(tmp_path / "profile") as page:
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        page.call("Page.navigate", url=path.as_uri())
        page.wait_for("Page.loadEventFired")
        figures = page.evaluate(DRAWN)
        too_wide = page.evaluate(WIDER)
        script_runs = page.evaluate("document.scripts.length")
    assert len(figures) >= 4 and script_runs == 0
    assert [name for name, drawn, _ in figures if not drawn] == []
    assert [name for name, _, inside in figures if not inside] == []
    assert not too_wide
    assert requests(page) == [path.as_uri()]
    assert complaints(page) == []


def requests(page: Browser) -> list[str]:
    """Addresses that the page asked for, apart from data it holds itself."""
    sent = (e["params"]["request"]["url"] for e in page.events if e["method"] == REQUEST)
    return [url for url in sent if not url.startswith("data:")]


REQUEST = "Network.requestWillBeSent"
COMPLAINTS = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")


def complaints(page: Browser) -> list[dict[str, Any]]:
    """What the page wrote to the console."""
    return [event["params"] for event in page.events if event["method"] in COMPLAINTS]
