"""A TCP relay that changes bytes on their way: a peer of another release, made of real ones."""

import selectors
import socket
import threading
from types import TracebackType


class Relay:
    """Passes connections on to `target` ("tcp://HOST:PORT"), `changes` applied in both directions."""

    def __init__(self, target: str, changes: dict[bytes, bytes]) -> None:
        assert all(len(before) == len(after) for before, after in changes.items())
        host, port = target.removeprefix("tcp://").split(":")
        self._target = (host, int(port))
        self._changes = changes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._other: dict[socket.socket, socket.socket] = {}
        self._held: dict[socket.socket, bytes] = {}
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wake.close()
        self._thread.join()

    def _run(self) -> None:
        with self._selector, self._listener, self._woken:
            while True:
                for key, _ in self._selector.select():
                    if key.fileobj is self._woken:
                        for end in self._other:
                            end.close()
                        return
                    if key.fileobj is self._listener:
                        self._join(self._listener.accept()[0])
                    elif key.fileobj in self._other:
                        self._pass(key.fileobj)

    def _join(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        for end, other in ((near, far), (far, near)):
            self._other[end], self._held[end] = other, b""
            self._selector.register(end, selectors.EVENT_READ)

    def _pass(self, end: socket.socket) -> None:
        other = self._other[end]
        try:
            data = end.recv(65536)
            if data:
                other.sendall(self._changed(end, data))
                return
        except OSError:
            pass
        for closed in (end, other):
            self._selector.unregister(closed)
            del self._other[closed], self._held[closed]
            closed.close()

    def _changed(self, end: socket.socket, data: bytes) -> bytes:
        """What can be sent on. The beginning of what is to be changed waits for its rest."""
        data = self._held[end] + data
        for before, after in self._changes.items():
            data = data.replace(before, after)
        most = max(map(len, self._changes)) - 1
        for kept in range(min(most, len(data)), 0, -1):
            if any(before.startswith(data[-kept:]) for before in self._changes):
                break
        else:
            kept = 0
        self._held[end] = data[len(data) - kept :]
        return data[: len(data) - kept]
