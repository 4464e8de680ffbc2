"""The interpreter that the zygotes of one program's sessions are forked from.

It imports what takes long, torch and the installed modules that bundles refer to, and runs nothing
else: no bundle is unpickled here, so no session sees what another one did.

No fork may happen beside threads that do not know of it, and none may inherit the program's own
modules. If an import leaves such a thing, this process takes on the session itself, or, with
sessions forked already, asks for a fresh one.
"""

import gc
import importlib
import json
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ..process.modules import any_own, import_installed, names_in
from . import object_reads, wire
from .forks import Forks
from .wire import numbers, send
from .zygote import Zygote, prepare

# Threads that come through a fork: their library's fork handlers see to it. jemalloc (pyarrow has its
# own) holds all its locks during one.
_SAFE_THREADS = ("jemalloc_bg_thd",)


class Base(Forks):
    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self.settings: dict[str, Any] = {}
        self.fit = True
        self.seen = set(
            sys.modules
        )  # when that was last looked at; at first, what an interpreter has
        if len(sys.argv) > 2:
            with os.fdopen(int(sys.argv[2]), "rb") as told:
                told.seek(0)
                self.settle(told.read())

    def handle(self, kind: int, parts: list[bytes], fds: list[int]) -> None:
        if kind == wire.PREPARE:
            self.settle(parts[0])
        elif kind == wire.SESSION:
            (number,) = struct.unpack("<Q", parts[0])
            self.begin(number, json.loads(parts[1]), fds)
        elif kind == wire.END:
            (number,) = struct.unpack("<Q", parts[0])
            for pid, child in self.children.items():
                if child == number:
                    os.kill(pid, signal.SIGKILL)

    def settle(self, settings: bytes) -> None:
        self.settings = json.loads(settings)
        seed = self.settings.get("hash_seed", "")
        if seed and os.environ.get("PYTHONHASHSEED", "") != seed:
            begin_again(seed, settings, self.control)
        self.prepare()

    def prepare(self) -> None:
        try:
            prepare(self.settings)
        except Exception:
            self.fit = False  # the session says why
            return
        if "numpy" in self.settings["packages"]:
            import_installed(["numpy.random"])  # NumPy does so when it is first asked for one
        if "PIL" in self.settings["packages"]:
            # Not what looks at PIL (images.py), which comes after what a program does to it.
            with suppress(ImportError):
                importlib.import_module("PIL.JpegImagePlugin")
                importlib.import_module("PIL.Image").preinit()  # as the first open() does
                if "torchvision" in self.settings["packages"]:
                    importlib.import_module(".recipes", __package__)
        self.look()

    def begin(self, number: int, own: dict[str, Any], fds: list[int]) -> None:
        if self.fit and not own["alone"]:
            import_installed(names_in(fds[1]))
            self.look()

        def serve() -> None:
            start_anew()
            object_reads.use(*fds[2:])
            Zygote(socket.socket(fileno=fds[0])).serve({**self.settings, **own}, fds[1])

        if self.fit and not own["alone"]:
            self.fork(number, serve, fds)
        elif self.children:
            send(self.control, wire.UNFIT, numbers(number))
            for fd in fds:
                os.close(fd)
        else:
            send(self.control, wire.BECAME, numbers(number))
            self.let_go()
            serve()

    def look(self) -> None:
        """Whether a fork of this process is as good as a fresh interpreter."""
        if not (new := sys.modules.keys() - self.seen):
            return
        self.seen |= new
        self.fit = not any_own(new) and not left_threads()
        gc.freeze()  # a collection in a fork must not copy the pages that it shares

    def how(self, pid: int, status: int) -> str:
        if os.WIFSIGNALED(status):
            return (
                f"its Python process was killed by signal: {signal.strsignal(os.WTERMSIG(status))}"
            )
        return f"its Python process has ended with exit code {os.WEXITSTATUS(status)}"


def begin_again(seed: str, settings: bytes, control: socket.socket) -> NoReturn:
    """This process from the beginning of its interpreter, which hashes text by `seed` then: one that
    runs can't be told to. Its last argument is a memory file with the settings, which came already."""
    told = os.memfd_create("headrace settings", 0)
    os.write(told, settings)
    control.set_inheritable(True)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    os.execve(sys.executable, [*sys.orig_argv, str(told)], environment)


def left_threads() -> bool:
    """Whether threads would run during a fork. Pools that handle forks stop for one (OpenBLAS's
    does), so this looks after a fork."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    me = str(os.getpid())
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended
            if task.name != me and task.joinpath("comm").read_text().strip() not in _SAFE_THREADS:
                return True
    return False


def start_anew() -> None:
    """What a fresh interpreter would not share with another one."""
    importlib.invalidate_caches()
    if (random := sys.modules.get("numpy.random")) is not None:
        random.seed()
