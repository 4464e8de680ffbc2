"""What the two processes that fork others have in common (base.py, zygote.py)."""

import ctypes
import os
import pwd
import resource
import select
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable

from . import wire
from .wire import numbers, receive_any, send

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38


def die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def gain_nothing() -> None:
    """From here on no program that this process or a child starts has more rights than it has (setuid,
    file capabilities), and none leaves a picture of its memory. Nobody can undo it."""
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(word) for word in (1, 0, 0, 0)]
    if libc.prctl(PR_SET_NO_NEW_PRIVS, *words) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def become_user() -> None:
    """As `headrace worker --stage-user` says. Before die_with_parent, which the kernel forgets with a
    change of user. Raises OSError, KeyError: what to do is the worker's matter."""
    name = os.environ.get("HEADRACE_STAGE_USER", "")
    if not name:
        return
    user = pwd.getpwnam(name)
    if os.geteuid() == user.pw_uid:
        return  # this interpreter has begun again
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


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
