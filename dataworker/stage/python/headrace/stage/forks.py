"""What the two processes that fork others have in common (base.py, zygote.py)."""

import os
import select
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable

from . import wire
from .memory import libc
from .wire import numbers, receive_any, send

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    parent = os.getppid()
    libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


class Forks(ABC):
    """Forks when it is told to by its socket, and says there how the children end."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.children: dict[int, int] = {}  # pid -> the number that the other side gave it
        self.wake: tuple[int, ...] = ()

    def run(self) -> None:
        """Until the other side hangs up: EOFError or ConnectionError."""
        wire.greet(self.control)
        self.wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake[1], warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake[0], select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wake[0]:
                    os.read(fd, 4096)
                    self.reap()
                    continue
                frame = receive_any(self.control)
                if frame[0] != wire.HELLO:
                    self.handle(*frame)

    @abstractmethod
    def handle(self, kind: int, parts: list[bytes], fds: list[int]) -> None: ...

    @abstractmethod
    def how(self, pid: int, status: int) -> str:
        """A sentence about a child's end."""

    def let_go(self) -> None:
        """Releases what belongs to this role, in a process that takes on another."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.control.close()
        for fd in self.wake:
            os.close(fd)

    def fork(self, number: int, serve: Callable[[], None], theirs: list[int]) -> int:
        """A child that serves until its own other side hangs up; its pid. `theirs`: its descriptors."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self.children[pid] = number
            for fd in theirs:
                os.close(fd)
            send(self.control, wire.FORKED, numbers(number), numbers(pid))
            return pid
        status = 1
        try:
            die_with_parent()
            self.let_go()
            serve()
        except (EOFError, ConnectionError):
            status = 0  # nobody needs this process any more
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def reap(self) -> None:
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if (number := self.children.pop(pid, None)) is not None:
                send(self.control, wire.ENDED, numbers(number), self.how(pid, status).encode())
