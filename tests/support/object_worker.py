"""The data worker's side of the door by which a stage's processes ask for objects."""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headrace.stage import object_reads, wire

# As base/result.h.
NOT_FOUND, UNAVAILABLE, UNSUPPORTED = 2, 3, 10
NO_FILE, NOT_ALLOWED = 5, 6
FEW = 64 << 10


@dataclass
class Ask:
    what: int
    first: int
    count: int
    size: int
    base: str
    name: str
    version: str
    delimiter: str
    token: str


@dataclass
class Worker:
    """Answers from `objects`, in threads. What is forbidden it says so of."""

    objects: dict[str, bytes]
    forbidden: tuple[str, ...] = ()
    version: str = '"1"'
    asks: list[Ask] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    paid: int = 0
    door: int = -1  # the processes' end
    on_ask: Callable[[Ask], None] = lambda _: None

    def answer(self, ask: Ask) -> tuple[int, int, int, str, bytes]:
        """Code, detail, size, why and content."""
        self.on_ask(ask)
        self.asks.append(ask)
        if ask.what == object_reads.PAID:
            self.paid += ask.count
            return 0, 0, 0, "", b""
        if ask.name.startswith(self.forbidden):
            return UNAVAILABLE, NOT_ALLOWED, 0, f"{ask.name} may not be read", b""
        if ask.what == object_reads.LIST:
            keys = sorted(n for n in self.objects if n.startswith(ask.name))
            entries = "".join(
                f"<Contents><Key>{key.split('/', 3)[3]}</Key><Size>{len(self.objects[key])}</Size>"
                "</Contents>"
                for key in keys
            )
            return 0, 0, 0, "", f"<ListBucketResult>{entries}</ListBucketResult>".encode()
        content = self.objects.get(ask.name)
        if content is None:
            return NOT_FOUND, NO_FILE, 0, f"{ask.name}: 404", b""
        if ask.what == object_reads.WHOLE and len(content) > ask.count:
            return UNSUPPORTED, 0, 0, "it is larger", b""
        first, end = 0, len(content)
        if ask.what == object_reads.RANGE:
            first, end = ask.first, ask.first + ask.count
        if ask.what == object_reads.LOOK:
            end = 0
        return 0, 0, len(content), "", content[first:end]

    def serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(EOFError, OSError):
            wire.greet(sock)
            while True:
                kind, parts, _ = wire.receive(sock)
                assert kind == wire.OBJECT
                what, first, count, _, size = struct.unpack("<5Q", parts[0])
                base, _, _, _, name, version, delimiter, token = (p.decode() for p in parts[1:])
                code, detail, whole, why, content = self.answer(
                    Ask(what, first, count, size, base, name, version, delimiter, token)
                )
                large = len(content) > FEW
                head = wire.numbers(code, detail, whole, len(content) if large else 0)
                texts = why.encode(), b"" if code else self.version.encode()
                if not large:
                    wire.send(sock, wire.ANSWER, head, *texts, content)
                    continue
                memory = os.memfd_create("object")
                os.write(memory, content)
                frame = wire.encode(wire.ANSWER, head, *texts, b"")
                socket.send_fds(sock, [frame], [memory])
                os.close(memory)
                assert wire.receive(sock)[:2] == (wire.TAKEN, [])

    def run(self, door: socket.socket) -> None:
        while True:
            data, fds, _, _ = socket.recv_fds(door, 1, 1)
            if not data:
                return
            for fd in fds:
                sock = socket.socket(fileno=fd)
                self.connections.append(sock)
                threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def hang_up(self) -> None:
        for sock in self.connections:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def serving(worker: Worker) -> Iterator[Worker]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    worker.door = theirs.fileno()
    thread = threading.Thread(target=worker.run, args=(ours,), daemon=True)
    thread.start()
    try:
        yield worker
    finally:
        theirs.send(b"")
        thread.join(10)
        worker.hang_up()
        ours.close()
        theirs.close()
