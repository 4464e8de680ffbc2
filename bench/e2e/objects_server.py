"""A server of a folder's files whose answers take a time, over a link of a rate. Prints its port. It is a
web server, and S3 without signatures: the folders in FOLDER are buckets, which it lists.

    python bench/e2e/objects_server.py FOLDER MILLISECONDS BYTES_PER_SECOND [ADDRESS]

It runs until its standard input ends, and then prints its CPU seconds and the bytes that it sent. Asked
for "/count" it says how many files it has sent.
"""

import asyncio
import hashlib
import pathlib
import sys
import time
import urllib.parse
from xml.sax.saxutils import escape

folder, delay, rate = pathlib.Path(sys.argv[1]), float(sys.argv[2]) / 1e3, float(sys.argv[3])
files = {
    f"/{path.relative_to(folder)}": path.read_bytes()
    for path in folder.rglob("*")
    if path.is_file()
}
files["/names.txt"] = "\n".join(name[1:] for name in sorted(files)).encode()
etags = {name: hashlib.md5(body).hexdigest() for name, body in files.items()}
address = sys.argv[4] if len(sys.argv) > 4 else "127.0.0.1"
free_at = sent = 0.0  # when the link is free again
count = 0


def listing(bucket, query):
    """All of a prefix on one page (ListObjectsV2), as one level of folders where "delimiter" says so."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    folders, parts = set(), []
    for name in sorted(files):
        inside = name.removeprefix(f"/{bucket}/")
        if inside == name or not inside.startswith(prefix):
            continue
        end = inside.find(delimiter, len(prefix)) if delimiter else -1
        if end >= 0:
            folders.add(inside[: end + 1])
            continue
        parts.append(
            f"<Contents><Key>{escape(inside)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"{etags[name]}"</ETag><Size>{len(files[name])}</Size></Contents>'
        )
    parts += [
        f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
        for one in sorted(folders)
    ]
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(parts)}</KeyCount>"
        f"<IsTruncated>false</IsTruncated>{''.join(parts)}</ListBucketResult>"
    ).encode()


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.text = transport, b""

    def data_received(self, data):
        self.text += data
        while (end := self.text.find(b"\r\n\r\n")) >= 0:
            lines = self.text[:end].decode("latin-1").split("\r\n")
            self.text = self.text[end + 4 :]
            self.answer(lines)

    def answer(self, lines):
        global free_at, sent, count
        method, target, _ = lines[0].split(" ")
        path, _, words = target.partition("?")
        name = urllib.parse.unquote(path)
        if name == "/count":
            text = str(count).encode()
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
            )
            return
        query = dict(urllib.parse.parse_qsl(words))
        body, etag = files.get(name), etags.get(name, "")
        if "list-type" in query:
            body = listing(name.strip("/"), query)
        if body is None:
            self.transport.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
            return
        status, more = "200 OK", ""
        for line in lines[1:]:
            if line.lower().startswith("range: bytes="):
                words = line.partition("=")[2].split("-")
                size = len(body)
                first, last = int(words[0]), int(words[1] or size - 1)
                body = body[first : last + 1]
                status = "206 Partial Content"
                more = f"Content-Range: bytes {first}-{first + len(body) - 1}/{size}\r\n"
        head = (
            f'HTTP/1.1 {status}\r\nETag: "{etag}"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n'
            f"{more}Content-Length: {len(body)}\r\n\r\n"
        )
        if method == "HEAD":
            body = b""
        else:
            count += 1
        loop = asyncio.get_running_loop()
        at = loop.time() + delay
        if rate:
            free_at = max(free_at, at) + len(body) / rate
            at = free_at
        sent += len(body)
        loop.call_at(at, self.transport.write, head.encode() + body)


async def main():
    server = await asyncio.get_running_loop().create_server(Connection, address, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(time.process_time(), sent, flush=True)


asyncio.run(main())
