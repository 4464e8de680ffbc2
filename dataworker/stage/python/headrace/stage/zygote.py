"""What a session's hosts are forked from: it unpickles the bundle. host.py tells the messages."""

import gc
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
from types import SimpleNamespace
from typing import Any

from ..process.output import Output
from . import functions, memory, wire
from .forks import Forks
from .lane_host import Host
from .ranks import take_place
from .wire import send


class OtherPython(Exception):
    """This worker's Python is not the trainer's."""


def remedy(error: Exception) -> str:
    """What its user can do on this worker."""
    this = f"HEADRACE_PYTHON (now {sys.executable})"
    if isinstance(error, OtherPython):
        return (
            f"install the trainer's version here, or set {this} for this worker to one that has it"
        )
    if isinstance(error, ImportError):
        name = (error.name or "the package").partition(".")[0]
        return f"install {name} here, or set {this} for this worker to a Python that has it"
    return f"is the program's code the same here? {this} is the interpreter of this worker"


def prepare(settings: dict[str, Any]) -> None:
    """What all sessions of a program need. Raises what keeps this interpreter from running its code."""
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if settings["version"] != mine:
        raise OtherPython(f"the trainer runs Python {settings['version']}, this worker {mine}")
    sys.path[:] = settings["sys_path"] + [p for p in sys.path if p not in settings["sys_path"]]
    if os.path.isdir(settings["working_directory"]):
        os.chdir(settings["working_directory"])
    # Before the fork, so that hosts share it; one thread, because a fork keeps only one.
    import torch
    import torch.utils.data

    torch.set_num_threads(1)


def load(settings: dict[str, Any], bundle_fd: int) -> SimpleNamespace:
    """Raises what keeps this interpreter from running the trainer's code."""
    prepare(settings)
    with os.fdopen(bundle_fd, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            bundle = SimpleNamespace(**pickle.loads(data))
    take_place(bundle)
    if "PIL" in settings["packages"]:
        enable_images(bundle.by_pil)
    functions.enable()
    for name, version in settings["packages"].items():
        found = getattr(sys.modules.get(name), "__version__", version)
        if str(found) != version:
            raise OtherPython(f"the trainer has {name} {version}, this worker {found}")
    gc.freeze()  # a collection in a host must not copy the pages that it shares
    return bundle


def enable_images(by_pil: list[str]) -> None:
    try:
        from .images import enable
    except ImportError:
        return  # no PIL here, which the program's code need not miss
    enable(by_pil)


class Zygote(Forks):
    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self.bundle: SimpleNamespace | None = None
        self.outputs: dict[int, Output] = {}  # by pid

    def serve(self, settings: dict[str, Any], bundle_fd: int) -> None:
        problem = ""
        try:
            self.bundle = load(settings, bundle_fd)
        except Exception as error:
            kind = "" if isinstance(error, OtherPython) else f"{type(error).__name__}: "
            problem = f"{kind}{error}; {remedy(error)}"
        send(self.control, wire.READY, problem.encode())
        self.run()

    def handle(self, kind: int, parts: list[bytes], fds: list[int]) -> None:
        if kind == wire.FORK:
            (host,) = struct.unpack("<Q", parts[0])
            output = Output()
            pid = self.fork(
                host, lambda: self.become_host(socket.socket(fileno=fds[0]), output), fds
            )
            self.outputs[pid] = output

    def become_host(self, sock: socket.socket, output: Output) -> None:
        memory.keep(memory.ALL)
        output.catch()
        assert self.bundle is not None
        Host(self.bundle).serve(sock, output)

    def how(self, pid: int, status: int) -> str:
        worker = f"DataLoader worker (pid {pid})"
        how = f"exited unexpectedly with exit code {os.WEXITSTATUS(status)}."
        if os.WIFSIGNALED(status):
            how = f"is killed by signal: {signal.strsignal(os.WTERMSIG(status))}."
        last = self.outputs.pop(pid).close().decode(errors="replace")
        return f"{worker} {how}" + (f" Its last output:\n{last}" if last else "")
