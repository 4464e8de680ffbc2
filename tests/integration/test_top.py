"""`headrace top` in a terminal: it fits, its keys work, and what was on the screen is there again afterwards."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    wait_for,
    wait_for_answer,
)


class Terminal:
    """A program in a pseudo-terminal, and what it painted last."""

    def __init__(self, *words: str, columns: int = 80, rows: int = 24):
        self.ours, theirs = pty.openpty()
        self.size(columns, rows)
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [HEADRACE, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=clean_environment(TERM="xterm"),
        )
        self.theirs = theirs
        self.text = ""

    def size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def key(self, key: str) -> None:
        os.write(self.ours, key.encode())

    def read(self) -> None:
        while select.select([self.ours], [], [], 0.05)[0]:
            self.text += os.read(self.ours, 65536).decode()

    def page(self) -> list[str]:
        """The lines of the last page that was painted whole."""
        self.read()
        pages = re.findall(r"\x1b\[H(.*?)\x1b\[K\x1b\[J", self.text, re.DOTALL)
        return re.split(r"\x1b\[K\r+\n", pages[-1]) if pages else []

    def wait(self, fragment: str, line: int | None = None) -> list[str]:
        def there():
            page = self.page()
            shown = page if line is None else page[line : line + 1]
            return page if any(fragment in each for each in shown) else None

        return wait_for(there, f"page with {fragment!r}")

    def end(self) -> int:
        status = self.process.wait(20)
        self.read()
        return status

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


def test_top_in_a_terminal():
    address = free_address()
    with coordinator("--listen", address, "--workers", "3", "--threads", "3"):
        wait_for_answer(address)
        wait_for(lambda: len(ready_workers(address)) == 3, "workers")
        terminal = Terminal("top", "--coordinator", address)
        try:
            page = terminal.wait("3 workers", line=0)
            assert terminal.text.startswith("\x1b[?1049h")
            assert len(page) <= 24 and all(len(line) <= 80 for line in page)
            assert page[1].split()[:2] == ["JOB", "NAME"] and "no jobs" in page[2]
            assert page[-1].startswith("jobs, page 1 of 1")

            terminal.key("\t")
            page = terminal.wait("WORKER", line=1)
            assert [line.split()[2] for line in page[2:5]] == ["ready"] * 3
            assert terminal.text.count("\n") < 24 * 30, "it paints over what is there"
            terminal.key("s")
            terminal.wait("HOST^", line=1)

            terminal.size(30, 6)
            page = terminal.wait("page 1 of 1")
            wait_for(lambda: all(len(line) <= 30 for line in terminal.page()), "narrow page")
            assert len(terminal.page()) <= 6

            terminal.key("\x1b[C")  # an arrow is no key of its own
            began = time.monotonic()
            terminal.key("q")
            assert terminal.end() == 0
            assert time.monotonic() - began < 5
            assert terminal.text.endswith("\x1b[?25h\x1b[?1049l")
            assert termios.tcgetattr(terminal.theirs) == terminal.before
        finally:
            terminal.close()


def test_top_leaves_the_screen_when_it_is_ended_and_when_it_fails():
    address = free_address()
    terminal = Terminal("top", "--coordinator", address)
    try:
        assert terminal.end() == 1
        assert "\x1b[?1049l" in terminal.text.partition("headrace:")[0], (
            "the error is on the screen that stays"
        )
    finally:
        terminal.close()
    with coordinator("--listen", address):
        wait_for_answer(address)
        terminal = Terminal("top", "--coordinator", address)
        try:
            terminal.wait("no jobs")
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.end() == 0
            assert terminal.text.endswith("\x1b[?25h\x1b[?1049l")
        finally:
            terminal.close()
