"""Objects that a stage's code asks for by headrace.fs: its worker reads them (docs/adr/0068).

A worker passes one end of a socket, the door, to the processes of a session. They and their forks share it.
Whoever asks makes a pair of sockets, passes one of them through the door, and has a connection of its own,
which asks one question at a time. Nothing here has a thread, so that lanes may be forked.

    here -> worker   (door) one byte + socket
    here -> worker   OBJECT [u64 what, first, count, anonymous, size; base, endpoint, region, addressing,
                             name, version, delimiter, token]
    worker -> here   ANSWER [u64 code, detail, size, count; why; version; bytes]  + memory, if count > 0
    here -> worker   TAKEN  []                  the memory has been read
"""

import mmap
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from ..native import binding
from ..process import object_reads, sockets
from . import wire
from .wire import numbers

LOOK, RANGE, WHOLE, LIST, PAID = range(5)
# Of one answer; as ObjectAsk::kMostBytes.
MOST_BYTES = 64 << 20
# Connections that a process keeps for the next questions.
_MOST_FREE = 4

T = TypeVar("T")


class Told(NamedTuple):
    content: bytes
    size: int  # of the object
    version: str


class Door:
    """To one worker. Thread-safe; may be forked."""

    def __init__(self, descriptor: int, may_read: bool) -> None:
        """Owns the descriptor. `may_read`: this process is the trainer's own, and reads by itself what the
        worker does not give it."""
        self._sock = sockets.taken(descriptor)
        self.may_read = may_read
        self.refused: set[Any] = set()  # stores that this process reads by itself
        self._free: dict[int, list[sockets.Socket]] = {}  # by process

    def reader(self, store: Any, own: Any) -> "Reader":
        return Reader(self, store, own)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        """Its worker has gone."""
        self._sock.close()
        for sock in self._connections():
            sock.close()

    def ask(self, what: int, store: Any, name: str, **more: Any) -> Told:
        """Raises what the client of objects raises, and UnavailableError if the worker has gone."""
        frame = question(what, store, name, **more)
        parts, told = self.exchange(frame, lambda *answer: (answer[1], _told(*answer)), name)
        checked(parts)
        return told

    def exchange(
        self,
        frame: bytes,
        read: Callable[[sockets.Socket, list[bytes], list[int]], T],
        name: str,
        passed: tuple[int, ...] = (),
        patience: float | None = None,
    ) -> T:
        """One question, with descriptors; returns what `read` makes of its answer. `name`: for errors. An
        OSError of `read` is the worker's going, and so is silence of `patience` seconds. Raises
        UnavailableError."""
        while True:
            sock, is_new = self._take()
            try:
                sock.settimeout(patience)
                if passed:
                    wire.send_fds(sock, frame, list(passed))
                else:
                    sock.sendall(frame)
                kind, parts, fds = wire.receive(sock)
                if kind != wire.ANSWER:
                    raise wire.unexpected(kind)
                made = read(sock, parts, fds)
            except (EOFError, OSError) as error:
                sock.close()
                if is_new:
                    raise _unavailable(f"{name}: the worker that reads it has gone") from error
                continue  # the worker hangs up on those that ask nothing
            except BaseException:
                sock.close()
                raise
            self._give(sock)
            return made

    def _connections(self) -> list[sockets.Socket]:
        """The free ones of this process. What a fork inherited is its parent's."""
        me = os.getpid()
        for other in [pid for pid in self._free if pid != me]:
            for sock in self._free.pop(other, ()):
                sock.close()
        return self._free.setdefault(me, [])

    def _take(self) -> tuple[sockets.Socket, bool]:
        with suppress(IndexError):
            return self._connections().pop(), False
        ours, theirs = sockets.pair()
        try:
            wire.send_fds(self._sock, b"\0", [theirs.fileno()])
            wire.greet(ours)
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError):
                raise _unavailable("the worker that reads objects has gone") from error
            raise
        finally:
            theirs.close()
        return ours, True

    def _give(self, sock: sockets.Socket) -> None:
        free = self._connections()
        if len(free) < _MOST_FREE:
            free.append(sock)
        else:
            sock.close()


def use(*doors: int) -> None:
    """Has the worker read all objects of this process. Without a door the process reads them itself."""
    object_reads.by = Door(doors[0], may_read=False) if doors else None


class Reader:
    """As the extension's ObjectReader, for one store."""

    def __init__(self, door: Door, store: Any, own: Any) -> None:
        self._door, self._store, self._own = door, store, own

    @property
    def base(self) -> str:
        return str(self._own.base)

    def look(self, name: str) -> tuple[int, str]:
        def ask() -> tuple[int, str]:
            told = self._ask(LOOK, name)
            return told.size, told.version

        looked: tuple[int, str] = self._read(ask, lambda: self._own.look(name))
        return looked

    def list(self, query: str) -> bytes:
        def ask() -> bytes:
            said = {word: values[0] for word, values in parse_qs(query).items()}
            scheme, _, rest = self._store.base.partition("://")
            name = f"{scheme}://{rest.partition('/')[0]}/{said.get('prefix', '')}"
            token = said.get("continuation-token", "")
            return self._ask(LIST, name, delimiter=said.get("delimiter", ""), token=token).content

        text: bytes = self._read(ask, lambda: self._own.list(query))
        return text

    def read(self, name: str) -> bytes:
        def ask() -> bytes:
            try:
                return self._ask(WHOLE, name, count=MOST_BYTES).content
            except NotImplementedError:  # it is larger
                size, version = self.look(name)
                if size > 1 << 30:
                    raise
                return self._parts(name, 0, size, version, size).content

        content: bytes = self._read(ask, lambda: self._own.read(name))
        return content

    def read_range(
        self, name: str, first: int, count: int, version: str = "", size: int = 0
    ) -> Told:
        return self._read(
            lambda: self._parts(name, first, count, version, size),
            lambda: Told(*self._own.read_range(name, first, count, version, size)),
        )

    def _parts(self, name: str, first: int, count: int, version: str, size: int) -> Told:
        """Of one version, in as many answers as it takes."""
        known = Told(b"", size, version) if version else None
        parts: list[bytes] = []
        while True:
            more = {} if known is None else {"version": known.version, "size": known.size}
            part = self._ask(RANGE, name, first=first, count=min(count, MOST_BYTES), **more)
            if parts and known is not None and part[1:] != known[1:]:
                raise _unavailable(f"{name}: it changed while it was read")
            parts.append(part.content)
            known = part
            first += MOST_BYTES
            count -= MOST_BYTES
            if count <= 0 or first >= part.size:
                return Told(b"".join(parts), part.size, part.version)

    def _ask(self, what: int, name: str, **more: Any) -> Told:
        return self._door.ask(what, self._store, name, **more)

    def _read(self, ask: Callable[[], T], itself: Callable[[], T]) -> T:
        door = self._door
        if not door.may_read:
            return ask()
        if self._store not in door.refused:
            try:
                return ask()
            except FileNotFoundError:
                raise
            except Exception:
                # Other rights, or other keys, than this process has. What it can read it reads.
                door.refused.add(self._store)
        made = itself()
        with suppress(Exception):  # the worker has gone
            door.ask(PAID, self._store, "", count=_bytes_in(made))
        return made


def _bytes_in(made: Any) -> int:
    parts = made if isinstance(made, tuple) else (made,)
    return sum(len(part) for part in parts if isinstance(part, bytes))


def question(
    what: int,
    store: Any,
    name: str,
    first: int = 0,
    count: int = 0,
    version: str = "",
    size: int = 0,
    delimiter: str = "",
    token: str = "",
) -> bytes:
    place = store.base, store.endpoint, store.region, store.addressing
    texts = *place, name, version, delimiter, token
    head = numbers(what, first, count, store.anonymous, size)
    # As names of files are bytes: some are no text.
    return wire.encode(
        wire.OBJECT, head, *(text.encode(errors="surrogateescape") for text in texts)
    )


def _told(sock: sockets.Socket, parts: list[bytes], fds: list[int]) -> Told:
    """Of an answer, also of one that says an error."""
    _, _, size, count = struct.unpack("<4Q", parts[0])
    content = parts[3]
    if fds:
        try:
            # A map, since what is read by read() counts as a file's (docs/reference/sharing.md).
            flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
            with mmap.mmap(fds[0], count, flags, mmap.PROT_READ) as view:
                content = view[:]
        finally:
            for fd in fds:
                os.close(fd)
        wire.send(sock, wire.TAKEN)
    return Told(content, size, parts[2].decode(errors="replace"))


def checked(parts: list[bytes]) -> None:
    """Raises the error that an answer says."""
    code, detail = struct.unpack_from("<2Q", parts[0])
    if code:
        binding.raise_status(code, detail, parts[1].decode(errors="replace"))


def _unavailable(why: str) -> Exception:
    error: Exception = binding.UnavailableError(why)
    return error
