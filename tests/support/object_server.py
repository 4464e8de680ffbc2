"""Stores of objects for tests: moto, which checks signatures, and one that fails as a seed says."""

import contextlib
import hashlib
import http.server
import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from support.headrace_program import clean_environment, free_port, wait_for

BUCKET = "pictures"
_KEY = re.compile("Credential=([^/]+)/")


@dataclass
class Bucket:
    """Of a server that knows whom it serves."""

    endpoint: str
    key_id: str
    secret: str

    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_REGION": "us-east-1",
        }


# In a process of its own: what boto3 imports runs at each fork, and code of the program's then stays
# with the stock loader's workers.
_FILL = """
import json, pathlib, sys
import boto3
endpoint, bucket, folder, prefix = sys.argv[1:]
given = {"endpoint_url": endpoint, "region_name": "us-east-1"}
iam = boto3.client("iam", aws_access_key_id="none", aws_secret_access_key="none", **given)
iam.create_user(UserName="tester")
key = iam.create_access_key(UserName="tester")["AccessKey"]
statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
iam.put_user_policy(UserName="tester", PolicyName="all", PolicyDocument=policy)
key_id, secret = key["AccessKeyId"], key["SecretAccessKey"]
s3 = boto3.client("s3", aws_access_key_id=key_id, aws_secret_access_key=secret, **given)
s3.create_bucket(Bucket=bucket)
folder = pathlib.Path(folder)
for path in folder.rglob("*.*"):
    s3.put_object(Bucket=bucket, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes())
print(key_id, secret)
"""


@contextlib.contextmanager
def moto(folder: Path, prefix: str) -> Iterator[Bucket]:
    """A bucket of moto's with a folder's files, which takes no request without a right signature."""
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    server = "import moto.server; moto.server.main()"
    # Its first requests are taken from anybody: they make the user.
    process = subprocess.Popen(
        [sys.executable, "-c", server, "-H", "127.0.0.1", "-p", str(port)],
        env=clean_environment(INITIAL_NO_AUTH_ACTION_COUNT="3"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: _answers(port), "moto", 60)
        fill = [sys.executable, "-c", _FILL, endpoint, BUCKET, str(folder), prefix]
        filled = subprocess.run(fill, check=True, capture_output=True, text=True, timeout=100)
        yield Bucket(endpoint, *filled.stdout.split())
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


_MOST_IN_A_ROW = 3


@dataclass
class Faults:
    """How often what goes wrong, each 0..1, drawn from the seed. After three faults in a row a range is
    given well: a client tries eight times, and no draw may make all of them fail."""

    seed: int = 0
    busy: float = 0  # 503
    throttled: float = 0  # 429
    cut: float = 0  # the body ends early
    slow_seconds: float = 0  # each answer takes so long


@dataclass
class Store:
    """Objects by name, below a bucket or below "/"."""

    objects: dict[str, bytes]
    faults: Faults = field(default_factory=Faults)
    page: int = 1000
    queries: list[str] = field(default_factory=list)  # "GET /path"
    parts: int = 0  # queries for a range
    signers: dict[str, int] = field(default_factory=dict)  # queries by the id of their key
    url: str = ""


@contextlib.contextmanager
def serve(store: Store) -> Iterator[Store]:
    """The store by HTTP; it signs and checks nothing."""
    draw, lock = random.Random(store.faults.seed), threading.Lock()
    in_a_row: dict[tuple[str, str | None], int] = {}  # faults, by path and range

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def chance_of(self, faults: Faults) -> float:
            """Less than what is busy or throttled, or more than what is not cut: a fault."""
            asked = self.path, self.headers.get("Range")
            chance, refused = draw.random(), faults.busy + faults.throttled
            if refused <= chance <= 1 - faults.cut or in_a_row.get(asked, 0) >= _MOST_IN_A_ROW:
                in_a_row[asked] = 0
                return refused
            in_a_row[asked] = in_a_row.get(asked, 0) + 1
            return chance

        def do_GET(self) -> None:
            faults = store.faults
            with lock:
                store.queries.append(f"{self.command} {self.path}")
                store.parts += "Range" in self.headers
                if (key := _KEY.search(self.headers.get("Authorization", ""))) is not None:
                    store.signers[key[1]] = store.signers.get(key[1], 0) + 1
                chance = self.chance_of(faults)
            if faults.slow_seconds:
                threading.Event().wait(faults.slow_seconds)
            if chance < faults.busy:
                return self.answer(503, b"<Error><Code>SlowDown</Code></Error>")
            if chance < faults.busy + faults.throttled:
                return self.answer(429, b"", {"Retry-After": "0"})
            cut = chance > 1 - faults.cut
            split = urlsplit(self.path)
            query = parse_qs(split.query)
            if "list-type" in query:
                return self.answer(200, listing(store, query))
            body = store.objects.get(
                unquote(split.path).removeprefix(f"/{BUCKET}").removeprefix("/")
            )
            if body is None:
                return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            headers = {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}
            status = 200
            if (wanted := self.headers.get("Range")) is not None:
                first, last = map(int, wanted.removeprefix("bytes=").split("-"))
                size, body, status = len(body), body[first : last + 1], 206
                headers["Content-Range"] = f"bytes {first}-{first + len(body) - 1}/{size}"
            return self.answer(status, body, headers, cut)

        def answer(self, status: int, body: bytes, headers: Any = (), cut: bool = False) -> None:
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = self.close_connection or cut

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    store.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def listing(store: Store, query: dict[str, list[str]]) -> bytes:
    """ListObjectsV2."""
    prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
    after = query.get("continuation-token", [""])[0]
    entries = []  # (what it sorts by, is a folder)
    for name in sorted(store.objects, key=str.encode):
        if not name.startswith(prefix):
            continue
        at = name.find(delimiter, len(prefix)) if delimiter else -1
        entry = (name, False) if at < 0 else (name[: at + 1], True)
        if entry not in entries[-1:]:
            entries.append(entry)
    entries = [entry for entry in entries if entry[0] > after]
    page, more = entries[: store.page], len(entries) > store.page
    parts = [
        f"<CommonPrefixes><Prefix>{quote(name)}</Prefix></CommonPrefixes>"
        if is_folder
        else f"<Contents><Key>{quote(name)}</Key><Size>{len(store.objects[name])}</Size></Contents>"
        for name, is_folder in page
    ]
    if more:
        parts.append(f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>")
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Prefix>{quote(prefix)}</Prefix><EncodingType>url</EncodingType>"
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{''.join(parts)}</ListBucketResult>"
    ).encode()


def objects_of(folder: Path, prefix: str = "") -> dict[str, bytes]:
    return {
        prefix + str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
