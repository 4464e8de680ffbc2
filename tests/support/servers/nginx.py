"""nginx: files over HTTP/1.1, and over TLS with HTTP/2."""

import contextlib
import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.headrace_program import free_port, wait_for

from .processes import Processes, processes

_SETTINGS = """
daemon off;
worker_processes 1;
# Folders of tests are their user's alone; who is not root gets a warning of no use.
user root;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 512; }}
http {{
  log_format told '$server_port $server_protocol $connection $status $request_method $request_uri $http_range';
  access_log {folder}/access told;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  limit_req_zone $binary_remote_addr zone=throttled:1m rate=100r/s;
  root {root};
  server {{ listen 127.0.0.1:{plain}; }}
  server {{
    listen 127.0.0.1:{tls} ssl http2;
    ssl_certificate {folder}/server.crt;
    ssl_certificate_key {folder}/server.key;
    location /throttled/ {{ alias {root}/; limit_req zone=throttled; limit_req_status 429; }}
    location /slow/ {{ alias {root}/; limit_rate 200k; }}
  }}
}}
"""


@dataclass
class WebServer:
    plain: str  # "http://localhost:port"
    tls: str  # "https://localhost:port", by a name that is in its certificate
    ca_file: str
    root: Path  # of what it serves
    log: Path

    def told(self, url: str = "") -> list[list[str]]:
        """Of each answer: protocol, number of the connection, status, method, path, range.

        `url`: of these alone, self.plain or self.tls. An answer is told after it is sent, so those of the
        test before may come late."""
        lines = [line.split(" ", 6) for line in self.log.read_text().splitlines()]
        return [line[1:] for line in lines if url.rpartition(":")[2] in ("", line[0])]


@contextlib.contextmanager
def nginx(folder: Path, root: Path) -> Iterator[WebServer]:
    plain, tls = free_port(), free_port()
    with processes(folder) as made:
        _certify(made)
        settings = folder / "nginx.conf"
        settings.write_text(_SETTINGS.format(folder=folder, root=root, plain=plain, tls=tls))
        made.start("nginx", "-p", folder, "-c", settings, "-e", folder / "errors")
        wait_for(lambda: _answers(plain), f"nginx: {made.said()}", 30)
        log = folder / "access"
        os.truncate(log, 0)
        here = f"http://localhost:{plain}", f"https://localhost:{tls}"
        yield WebServer(*here, str(folder / "ca.crt"), root, log)


def _certify(made: Processes) -> None:
    """An authority of the test's own, and a certificate by it for localhost."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    made.run(
        "openssl", "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=test"
    )  # fmt: skip
    made.run(
        "openssl", "req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=x"
    )
    names = made.folder / "names"
    names.write_text("subjectAltName=DNS:localhost\n")
    made.run(
        "openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
        "-CAcreateserial", "-out", "server.crt", "-days", "2", "-extfile", names,
    )  # fmt: skip


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except OSError:
        return False
    finally:
        connection.close()
