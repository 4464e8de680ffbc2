"""Connected sockets of this host, whatever the program does to the module `socket`.

Programs put a guard in the place of `socket.socket` that refuses connections, and set a default timeout.
Both are about the network. So these are of the interpreter's own class below it, and wait for ever.
"""

import _socket
from multiprocessing import reduction
from typing import Any


class Socket(_socket.socket):
    """What socket.send_fds and socket.recv_fds want, too. Pickles for a process that is being spawned."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self.fileno()),)

    def __del__(self) -> None:
        """Without the ResourceWarning: an iterator that is garbage closes its sockets in any order."""
        self.close()


def pair() -> tuple[Socket, Socket]:
    one, other = _socket.socketpair()
    return taken(one.detach()), taken(other.detach())


def taken(descriptor: int) -> Socket:
    """Returns the socket of this descriptor, and owns the descriptor after that."""
    sock = Socket(fileno=descriptor)
    sock.settimeout(None)
    return sock


def _received(descriptor: Any) -> Socket:
    return taken(descriptor.detach())
