"""A network in user space: TCP relays that cut, delay, hold and half open what they carry."""

import collections
import heapq
import itertools
import random
import selectors
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType

_MOST = 1 << 20  # bytes under way in one direction; then the sender feels it, as on a wire


class _End:
    """One end of a connection: what is under way to it."""

    def __init__(self, sock: socket.socket, link: "Link") -> None:
        self.sock = sock
        self.link = link
        self.other: _End | None = None  # None: half open, what comes is swallowed
        self.due: collections.deque[tuple[float, bytes]] = collections.deque()
        self.size = 0
        self.ready = b""
        self.closing = False  # the other end is closed: after what is under way, this one is


class Link:
    """What listens at one address and carries to another. Set its attributes through `Network`."""

    def __init__(self, near: tuple[str, int], far: tuple[str, int]) -> None:
        self.far = far
        self.listener = socket.create_server(near, backlog=64)
        self.listener.setblocking(False)
        self.ends: set[_End] = set()
        self.held = False
        self.delay = self.jitter = 0.0


class Network:
    """All links of a run, in one thread."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = random.Random(rng.random())
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._timers: list[tuple[float, int, _End]] = []
        self._order = itertools.count()
        self._links: list[Link] = []
        self._done = False
        self._thread = threading.Thread(target=self._run, name="network")

    def link(self, near: tuple[str, int], far: tuple[str, int]) -> Link:
        link = Link(near, far)
        with self._lock:
            self._links.append(link)
            self._selector.register(link.listener, selectors.EVENT_READ, link)
        return link

    def works(self) -> bool:
        return self._thread.is_alive()

    def __enter__(self) -> "Network":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done = True
        self._wake.send(b"x")
        self._thread.join()
        for link in self._links:
            link.listener.close()
            for end in list(link.ends):
                end.sock.close()
        self._selector.close()
        self._wake.close()
        self._woken.close()

    # Faults. Each returns the number of connections that it met.

    def cut(self, link: Link) -> int:
        """Every connection ends, as by a reset of what lies between."""
        with self._lock:
            met = len(link.ends)
            for end in list(link.ends):
                self._close(end)
            return met // 2

    def half_open(self, link: Link) -> int:
        """The far side is closed. The near side stays open, and what it sends goes nowhere."""
        with self._lock:
            met = 0
            for end in list(link.ends):
                if end.other is not None and end.sock.getpeername()[:2] == link.far:
                    near = end.other
                    near.other = None
                    end.other = None
                    self._close(end)
                    met += 1
            return met

    def hold(self, link: Link, held: bool) -> int:
        """A partition: nothing crosses, nobody is told. At its end what was sent arrives."""
        with self._lock:
            link.held = held
            for end in list(link.ends):
                self._watch(end)
                if not held:
                    self._push(end)
        self._wake.send(b"x")
        return len(link.ends) // 2

    def slow(self, link: Link, delay: float, jitter: float) -> int:
        """Each piece takes `delay` and up to `jitter` seconds more. Order stays, as TCP keeps it."""
        with self._lock:
            link.delay, link.jitter = delay, jitter
        return len(link.ends) // 2

    def _run(self) -> None:
        while not self._done:
            with self._lock:
                now = time.monotonic()
                wait = max(0.0, self._timers[0][0] - now) if self._timers else None
            events = self._selector.select(wait)
            with self._lock:
                for key, mask in events:
                    if key.fileobj is self._woken:
                        with suppress(BlockingIOError):
                            self._woken.recv(4096)
                    elif isinstance(key.data, Link):
                        self._join(key.data)
                    elif key.data in key.data.link.ends:
                        if mask & selectors.EVENT_READ:
                            self._read(key.data)
                        if mask & selectors.EVENT_WRITE and key.data in key.data.link.ends:
                            self._push(key.data)
                now = time.monotonic()
                while self._timers and self._timers[0][0] <= now:
                    end = heapq.heappop(self._timers)[2]
                    if end in end.link.ends:
                        self._push(end)

    def _join(self, link: Link) -> None:
        with suppress(BlockingIOError):
            sock, _ = link.listener.accept()
            try:
                far = socket.create_connection(link.far, timeout=1)
            except OSError:
                sock.close()
                return
            near_end, far_end = _End(sock, link), _End(far, link)
            near_end.other, far_end.other = far_end, near_end
            for end in (near_end, far_end):
                end.sock.setblocking(False)
                end.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.ends.add(end)
                self._selector.register(end.sock, selectors.EVENT_READ, end)
                self._watch(end)

    def _read(self, end: _End) -> None:
        try:
            data = end.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        other = end.other
        if other is None:  # half open, or it only gets its last bytes
            if not data:
                self._close(end)
        elif not data:
            other.other = end.other = None  # it gets what is under way first
            other.closing = True
            self._close(end)
            self._push(other)
        else:
            link = end.link
            due = time.monotonic() + link.delay + self._rng.uniform(0, link.jitter)
            if other.due:
                due = max(due, other.due[-1][0])
            other.due.append((due, data))
            other.size += len(data)
            heapq.heappush(self._timers, (due, next(self._order), other))
            self._watch(end)

    def _push(self, end: _End) -> None:
        """Sends what is due."""
        if end.link.held or end not in end.link.ends:
            return
        now = time.monotonic()
        while True:
            if not end.ready:
                if not end.due or end.due[0][0] > now:
                    break
                end.ready = end.due.popleft()[1]
            try:
                sent = end.sock.send(end.ready)
            except BlockingIOError:
                break
            except OSError:
                self._close(end)
                return
            end.size -= sent
            end.ready = end.ready[sent:]
        if end.closing and not end.ready and not end.due:
            self._close(end)
            return
        self._watch(end)
        if end.other is not None:
            self._watch(end.other)

    def _watch(self, end: _End) -> None:
        """Reads unless much is under way from here. Writes where the socket was full."""
        if end not in end.link.ends:
            return
        wanted = 0
        if not end.link.held:
            if end.other is None or end.other.size < _MOST:
                wanted |= selectors.EVENT_READ
            if end.ready:
                wanted |= selectors.EVENT_WRITE
        known = self._selector.get_map().get(end.sock)
        if known is None:
            if wanted:
                self._selector.register(end.sock, wanted, end)
        elif not wanted:
            self._selector.unregister(end.sock)
        elif known.events != wanted:
            self._selector.modify(end.sock, wanted, end)

    def _close(self, end: _End) -> None:
        if end not in end.link.ends:
            return
        end.link.ends.discard(end)
        if self._selector.get_map().get(end.sock) is not None:
            self._selector.unregister(end.sock)
        end.sock.close()
        if end.other is not None:
            other, end.other = end.other, None
            other.other = None
            self._close(other)
