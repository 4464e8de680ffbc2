"""A network and a store in trouble: a server that passes requests on to another one, and fails some."""

import contextlib
import http.client
import http.server
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from support.object_server import Faults

# What the client and each hop say to each other alone.
_OF_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@dataclass
class Between:
    """What is between a client and a server."""

    faults: Faults
    endpoint: str = ""
    queries: list[str] = field(default_factory=list)  # "GET /path"
    failed: int = 0
    # Called before a request is passed on, with its line.
    before: Callable[[str], None] = lambda line: None


@contextlib.contextmanager
def between(endpoint: str, faults: Faults | None = None) -> Iterator[Between]:
    """The Host header stays the client's: it is signed."""
    made = Between(faults or Faults())
    upstream, lock = endpoint.partition("://")[2], threading.Lock()
    draw = random.Random(made.faults.seed)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            faults, line = made.faults, f"{self.command} {self.path}"
            with lock:
                made.queries.append(line)
                chance = draw.random()
                made.failed += chance < faults.busy + faults.throttled or chance > 1 - faults.cut
            if faults.slow_seconds:
                threading.Event().wait(faults.slow_seconds)
            if chance < faults.busy:
                return self.answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
            if chance < faults.busy + faults.throttled:
                return self.answer(429, {"Retry-After": "0"}, b"")
            made.before(line)
            connection = http.client.HTTPConnection(upstream, timeout=60)
            try:
                connection.putrequest(
                    self.command, self.path, skip_host=True, skip_accept_encoding=True
                )
                for name, value in self.headers.items():
                    if name.lower() not in _OF_HOP:
                        connection.putheader(name, value)
                connection.endheaders()
                answer = connection.getresponse()
                kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in _OF_HOP]
                length = answer.getheader("Content-Length")
                self.answer(answer.status, kept, answer.read(), length, chance > 1 - faults.cut)
            finally:
                connection.close()

        def answer(
            self,
            status: int,
            headers: Any,
            body: bytes,
            length: str | None = None,
            cut: bool = False,
        ) -> None:
            self.send_response_only(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = self.close_connection or cut

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    made.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
