"""What a session's hosts are forked from: it unpickles the bundle. host.py tells the messages."""

import gc
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..process.modules import names_in
from ..process.output import Output
from . import functions, memory, wire
from .forks import Forks, die_with_parent
from .handles.files import OtherFile
from .lane_host import Host
from .ranks import take_place
from .wire import send

_SAID = b"\0"  # after what a process that tries a bundle says
# A bundle that names this module has handles that no two processes may share.
_EACH_OPENS = f"{__package__}.handles.opened"


class OtherPython(Exception):
    """This worker's Python is not the trainer's."""


def remedy(error: Exception) -> str:
    """What its user can do on this worker."""
    this = f"HEADRACE_PYTHON (now {sys.executable})"
    if isinstance(error, OtherFile):
        return "give this host the trainer's file under this path"
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


def tried(settings: dict[str, Any], bundle_fd: int) -> str:
    """What problem_of() says in a process of its own, which ends then."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            _, problem = problem_of(settings, os.dup(bundle_fd))
            _write_all(writing, problem.encode() + _SAID)
        finally:
            os._exit(0)
    os.close(writing)
    said = b""
    # Not to the pipe's end: what the program's code has started there may hold it.
    while not said.endswith(_SAID) and (more := os.read(reading, 1 << 16)):
        said += more
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    if said.endswith(_SAID):
        return said.removesuffix(_SAID).decode(errors="replace")
    return f"the process that tried it has ended: {_end_of(status)}"


def _end_of(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.strsignal(os.WTERMSIG(status)) or "a signal"
    return f"exit code {os.WEXITSTATUS(status)}"


def _write_all(fd: int, content: bytes) -> None:
    while content:
        content = content[os.write(fd, content) :]


def enable_images(by_pil: list[str]) -> None:
    try:
        from .images import enable
    except ImportError:
        return  # no PIL here, which the program's code need not miss
    enable(by_pil)


def problem_of(settings: dict[str, Any], bundle_fd: int) -> tuple[SimpleNamespace | None, str]:
    """The bundle, or what keeps this interpreter from running the trainer's code, for people."""
    try:
        return load(settings, bundle_fd), ""
    except Exception as error:
        known = isinstance(error, OtherPython | OtherFile)
        kind = "" if known else f"{type(error).__name__}: "
        return None, f"{kind}{error}; {remedy(error)}"


class Zygote(Forks):
    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self.bundle: Callable[[], SimpleNamespace] | None = None  # for a host that begins
        self.outputs: dict[int, Output] = {}  # by pid

    def serve(self, settings: dict[str, Any], bundle_fd: int) -> None:
        if _EACH_OPENS in names_in(bundle_fd):
            problem = tried(settings, bundle_fd)
            if not problem:
                prepare(settings)  # what hosts can share of it
            self.bundle = lambda: load(settings, bundle_fd)
        else:
            bundle, problem = problem_of(settings, bundle_fd)
            self.bundle = None if bundle is None else lambda: bundle
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
        Host(self.bundle()).serve(sock, output)

    def how(self, pid: int, status: int) -> str:
        worker = f"DataLoader worker (pid {pid})"
        how = f"exited unexpectedly with exit code {os.WEXITSTATUS(status)}."
        if os.WIFSIGNALED(status):
            how = f"is killed by signal: {signal.strsignal(os.WTERMSIG(status))}."
        last = self.outputs.pop(pid).close().decode(errors="replace")
        return f"{worker} {how}" + (f" Its last output:\n{last}" if last else "")
