"""Processes of one server, which end with a test."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.headrace_program import clean_environment


class Processes:
    """Started in a folder, where each has a file with what it says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        name = f"{len(self._open)}-{Path(words[0]).name}.out"
        with open(self.folder / name, "wb") as output:
            process = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # with what it starts it is a group, which ends together
            )
        self._open.append(process)
        return process

    def run(self, *words: str | Path) -> str:
        """To its end; its standard output."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def said(self) -> str:
        """Of those that have ended, for a test's error."""
        return "\n".join(
            (self.folder / f"{i}-{Path(process.args[0]).name}.out").read_text(errors="replace")[
                -2000:
            ]
            for i, process in enumerate(self._open)
            if process.poll() is not None
        )

    def end(self) -> None:
        """What they keep is the test's, and thrown away: none needs to end well."""
        for process in reversed(self._open):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    os.makedirs(folder, exist_ok=True)
    made = Processes(folder)
    try:
        yield made
    finally:
        made.end()
