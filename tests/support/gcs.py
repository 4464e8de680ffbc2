"""A fake of GCS's interface for programs that know S3, as its documentation has it: keys that begin with
GOOG, signatures by AWS's fourth version for any region, its own headers, another namespace of lists."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY_ID, SECRET = "GOOG1EXAMPLE", "words-of-a-test"


@dataclass
class Gcs:
    objects: dict[str, bytes]  # by "bucket/key"
    page: int = 1000
    packed: set[str] = field(default_factory=set)  # kept with gzip, sent without
    damage: int = 0  # so many answers of objects have a wrong checksum
    queries: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # "GET /path", headers
    url: str = ""

    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}


def crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def is_signed(method: str, target: str, headers: dict[str, str]) -> bool:
    """By the one key, for GCS's region "auto"."""
    said = headers.get("authorization", "").removeprefix("AWS4-HMAC-SHA256 ")
    parts = dict(part.strip().split("=", 1) for part in said.split(",") if "=" in part)
    if not {"Credential", "SignedHeaders", "Signature"} <= set(parts):
        return False
    key_id, day, region, service, kind = parts["Credential"].split("/")
    if (key_id, region, service, kind) != (KEY_ID, "auto", "s3", "aws4_request"):
        return False
    path, _, query = target.partition("?")
    names = parts["SignedHeaders"].split(";")
    lines = [method, path, query, *(f"{name}:{headers[name]}" for name in names), ""]
    lines += [parts["SignedHeaders"], headers["x-amz-content-sha256"]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    scope = f"{day}/{region}/{service}/{kind}"
    text = f"AWS4-HMAC-SHA256\n{headers['x-amz-date']}\n{scope}\n{digest}"
    key = f"AWS4{SECRET}".encode()
    for word in (day, region, service, kind, text):
        key = hmac.digest(key, word.encode(), "sha256")
    return hmac.compare_digest(key.hex(), parts["Signature"])


def listing(store: Gcs, bucket: str, query: dict[str, list[str]]) -> bytes:
    """ListObjectsV2. Names are not encoded."""
    prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
    entries: dict[str, str] = {}
    for whole, content in sorted(store.objects.items()):
        name = whole.removeprefix(f"{bucket}/")
        if whole == name or not name.startswith(prefix):
            continue
        at = name.find(delimiter, len(prefix)) if delimiter else -1
        if at >= 0:
            folder = name[: at + 1]
            entries[folder] = f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
        else:
            entries[name] = (
                f"<Contents><Key>{escape(name)}</Key><Generation>1</Generation>"
                f"<MetaGeneration>1</MetaGeneration><Size>{len(content)}</Size></Contents>"
            )
    begin = int(query.get("continuation-token", ["0"])[0])
    end = begin + store.page
    more = end < len(entries)
    token = f"<NextContinuationToken>{end}</NextContinuationToken>" if more else ""
    return (
        "<?xml version='1.0' encoding='UTF-8'?>"
        "<ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'>"
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
        f"<KeyCount>{min(end, len(entries)) - begin}</KeyCount>"
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}"
        f"{''.join(list(entries.values())[begin:end])}</ListBucketResult>"
    ).encode()


@contextlib.contextmanager
def serve(store: Gcs) -> Iterator[Gcs]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            store.queries.append((f"{self.command} {self.path}", headers))
            if not is_signed(self.command, self.path, headers):
                return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
            split = urlsplit(self.path)
            name, query = unquote(split.path).removeprefix("/"), parse_qs(split.query)
            if query.get("list-type") == ["2"]:
                return self.answer(200, listing(store, name, query))
            if name not in store.objects:
                return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            content = store.objects[name]
            kept = content[::-1] if name in store.packed else content
            store.damage, damaged = max(0, store.damage - 1), store.damage > 0
            crc = base64.b64encode((crc32c(kept) ^ damaged).to_bytes(4, "big")).decode()
            md5 = base64.b64encode(hashlib.md5(kept).digest()).decode()
            told = [
                ("ETag", f'"{hashlib.md5(kept).hexdigest()}"'),
                ("x-goog-generation", "1"),
                ("x-goog-hash", f"crc32c={crc}"),
                ("x-goog-hash", f"md5={md5}"),
                ("x-goog-stored-content-encoding", "gzip" if name in store.packed else "identity"),
            ]
            if (wanted := headers.get("range")) is None:
                return self.answer(200, content, told)
            first, last = map(int, wanted.removeprefix("bytes=").split("-"))
            part = content[first : last + 1]
            told.append(("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}"))
            self.answer(206, part, told)

        def answer(self, status: int, body: bytes, headers: Any = ()) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

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
