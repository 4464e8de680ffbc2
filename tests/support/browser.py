"""Chromium without a screen, driven over the pipe of its DevTools protocol. Nothing but Debian's package is
needed, and nothing but this host is reached."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

CHROMIUM = shutil.which("chromium")
PATIENCE_S = 60

FLAGS = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-pipe",
]
# The names of keys, and what the protocol wants of them.
KEYS = {
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Escape": {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27},
    " ": {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
    "ArrowRight": {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39},
}


class Browser:
    """One process of Chromium."""

    def __init__(self, process: subprocess.Popen, to: int, back: int):
        self.process = process
        self._to, self._back = to, back
        self._number = 0
        self._answers: dict[int, queue.Queue] = {}
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[[dict], None]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        kept = b""
        while chunk := os.read(self._back, 1 << 20):
            kept += chunk
            *messages, kept = kept.split(b"\0")
            for text in messages:
                message = json.loads(text)
                if "id" in message:
                    self._answers[message["id"]].put(message)
                elif handler := self._handlers.get(message.get("sessionId", "")):
                    handler(message)

    def call(self, method: str, session: str = "", **params: Any) -> dict:
        with self._lock:
            self._number += 1
            number = self._number
            answer = self._answers[number] = queue.Queue()
            message = {"id": number, "method": method, "params": params}
            if session:
                message["sessionId"] = session
            data = memoryview(json.dumps(message).encode() + b"\0")
            while data:
                data = data[os.write(self._to, data) :]
        got = answer.get(timeout=PATIENCE_S)
        del self._answers[number]
        if "error" in got:
            raise RuntimeError(f"{method}: {got['error']}")
        return got["result"]

    def page(self, width: int = 1280, height: int = 800) -> "Page":
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"], context)
        self._handlers[attached["sessionId"]] = page.heard
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility", "Performance"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        return page


class Page:
    """A tab with storage of its own. `errors` has what its console said as an error, `requests` what it asked
    for."""

    def __init__(self, browser: Browser, session: str, context: str):
        self.browser, self.session, self.context = browser, session, context
        self.errors: list[str] = []
        self.requests: list[str] = []

    def heard(self, message: dict) -> None:
        params = message["params"]
        match message["method"]:
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(json.dumps(params["entry"]))

    def call(self, method: str, **params: Any) -> dict:
        return self.browser.call(method, self.session, **params)

    def close(self) -> None:
        """With its storage and its connections."""
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        got = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in got:
            raise AssertionError(f"{expression}: {json.dumps(got['exceptionDetails'])}")
        return got["result"].get("value")

    def wait(self, expression: str, seconds: float = PATIENCE_S) -> None:
        """Until the expression is true. A page that is just being loaded again has none."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.run(f"Boolean({expression})"):
                    return
            except RuntimeError as error:
                if "navigated" not in str(error) and "context" not in str(error):
                    raise  # else what the expression was asked in has just gone
            time.sleep(0.02)
        text = self.run("document.body.innerText")
        raise AssertionError(f"not within {seconds} s: {expression}\n{text}\n{self.errors}")

    def size(self, width: int, height: int, scale: float = 1) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefers(self, scheme: str) -> None:
        """ "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def press(self, key: str, shift: bool = False) -> None:
        words = KEYS[key] | {"modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **words)
        words.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, path: pathlib.Path, whole: bool = False) -> pathlib.Path:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)[
            "data"
        ]
        path.write_bytes(base64.b64decode(data))
        return path

    def tree(self) -> list[dict]:
        """What a screen reader is told: role, name and value of each node."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            {
                "role": node.get("role", {}).get("value", ""),
                "name": node.get("name", {}).get("value", ""),
            }
            for node in nodes
            if not node.get("ignored")
        ]


def _above_ten(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    assert CHROMIUM, "chromium is missing; ./dev test --full installs it"
    # The protocol's pipes are its descriptors 3 and 4, so none of ours may have these numbers.
    to_read, to_write = map(_above_ten, os.pipe())
    back_read, back_write = map(_above_ten, os.pipe())
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{back_write}'
        process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *FLAGS, *root, f"--user-data-dir={home}"],
            pass_fds=(to_read, back_write),
            env=os.environ | {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(back_write)
        browser = Browser(process, to_write, back_read)
        try:
            yield browser
        finally:
            with contextlib.suppress(OSError, RuntimeError, queue.Empty):
                browser.call("Browser.close")
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(to_write)
            os.close(back_read)
