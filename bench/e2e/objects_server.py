"""A web server of a folder's files whose answers take a time, over a link of a rate. Prints its port.

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
        name = urllib.parse.unquote(target)
        if name == "/count":
            text = str(count).encode()
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
            )
            return
        body = files.get(name)
        if body is None:
            self.transport.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
            return
        status, more = "200 OK", ""
        for line in lines[1:]:
            if line.lower().startswith("range: bytes="):
                first, last = map(int, line.partition("=")[2].split("-"))
                size, body = len(body), body[first : last + 1]
                status = "206 Partial Content"
                more = f"Content-Range: bytes {first}-{first + len(body) - 1}/{size}\r\n"
        head = f'HTTP/1.1 {status}\r\nETag: "{etags[name]}"\r\n{more}Content-Length: {len(body)}\r\n\r\n'
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
