"""A slow file system that is real: another folder's files by FUSE, each read of which takes a while.

The kernel caches what was read, as it does for network file systems. `reads` counts what it has asked for. Needs
/dev/fuse and the right to mount; nothing of libfuse. Source: the protocol of Linux, include/uapi/linux/fuse.h.
"""

import ctypes
import errno
import os
import stat
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_IN = struct.Struct("<IIQQIIIHH")  # fuse_in_header
_OUT = struct.Struct("<IiQ")  # fuse_out_header
_ATTRIBUTES = struct.Struct("<6Q10I")  # fuse_attr
_MOST = 1 << 20  # bytes of one read
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, BATCH_FORGET = 27, 28, 29, 42
_ASYNC_READ, _MAX_PAGES, _KEEP_CACHE = 1 << 0, 1 << 22, 1 << 1
_TTL = 3600  # seconds that names and attributes hold
_LAZY = 2  # MNT_DETACH
_libc = ctypes.CDLL(None, use_errno=True)


class SlowFiles:
    """Shows the files of `source`, a flat folder, below `where`."""

    def __init__(self, source: Path, where: Path, seconds: float, threads: int = 16) -> None:
        """`seconds`: of each read, however long. Raises OSError: this process may not mount."""
        self.where, self.seconds = where, seconds
        self._paths: dict[int, Path] = {1: source}
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self.reads: list[str] = []  # names, in the order of the kernel's questions
        self.most_at_once = 0  # files that were being read
        self._reading: list[str] = []
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = (
            f"fd={self._fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        )
        flags = 1 | 2 | 4  # read-only, no set-user-id, no devices
        if _libc.mount(b"slow", bytes(where), b"fuse", flags, options.encode()):
            os.close(self._fd)
            raise OSError(ctypes.get_errno(), "mount of a FUSE file system")
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        _libc.umount2(bytes(self.where), _LAZY)
        for thread in self._threads:
            thread.join(10)
        os.close(self._fd)

    def _serve(self) -> None:
        while True:
            try:
                message = os.read(self._fd, _MOST + 4096)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return  # it is unmounted
            _, what, unique, node, *_ = _IN.unpack_from(message)
            if what in (FORGET, BATCH_FORGET):
                continue
            try:
                said, error = self._answer(what, node, message[_IN.size :]), 0
            except OSError as failed:
                said, error = b"", -(failed.errno or errno.EIO)
            with suppress(OSError):  # whoever asked has gone
                os.write(self._fd, _OUT.pack(_OUT.size + len(said), error, unique) + said)

    def _answer(self, what: int, node: int, body: bytes) -> bytes:
        if what == INIT:
            major, minor, ahead, _ = struct.unpack_from("<4I", body)
            flags = _ASYNC_READ | _MAX_PAGES
            sizes = 1 << 17, 1, 32, 0, 0  # of a write, of times, pages of a message
            return struct.pack("<4IHHIIHHI7I", 7, 31, ahead, flags, 64, 48, *sizes, *[0] * 7)
        if what == LOOKUP:
            return self._entry(self._child(body.rstrip(b"\0").decode()))
        if what == GETATTR:
            return struct.pack("<QII", _TTL, 0, 0) + self._attributes(node)
        if what in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, _KEEP_CACHE, 0)
        if what == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            path = self._paths[node]
            self.reads.append(path.name)
            self._reading.append(path.name)
            self.most_at_once = max(self.most_at_once, len(set(self._reading)))
            time.sleep(self.seconds)
            self._reading.remove(path.name)
            with open(path, "rb") as file:
                return os.pread(file.fileno(), size, offset)
        if what == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            return self._names(offset, size)
        if what in (RELEASE, RELEASEDIR, FLUSH):
            return b""
        raise OSError(errno.ENOSYS, "not here")

    def _child(self, name: str) -> int:
        path = self._paths[1] / name
        path.stat()
        with self._lock:
            number = self._numbers.setdefault(name, len(self._numbers) + 2)
            self._paths[number] = path
        return number

    def _entry(self, node: int) -> bytes:
        return struct.pack("<QQQQII", node, 0, _TTL, _TTL, 0, 0) + self._attributes(node)

    def _attributes(self, node: int) -> bytes:
        state = os.stat(self._paths[node])
        times = (state.st_atime_ns, state.st_mtime_ns, state.st_ctime_ns)
        whole = [int(one // 10**9) for one in times]
        parts = [int(one % 10**9) for one in times]
        mode = state.st_mode & ~0o222 if stat.S_ISREG(state.st_mode) else state.st_mode
        return _ATTRIBUTES.pack(
            *(node, state.st_size, state.st_blocks, *whole, *parts),
            *(mode, state.st_nlink, state.st_uid, state.st_gid, 0, 4096, 0),
        )

    def _names(self, after: int, size: int) -> bytes:
        """Entries of the folder, as many as there is room for."""
        made = b""
        for at, name in enumerate(sorted(os.listdir(self._paths[1])), 1):
            raw = name.encode()
            entry = struct.pack("<QQII", self._child(name), at, len(raw), 8) + raw
            entry += b"\0" * (-len(entry) % 8)
            if len(made) + len(entry) > size:
                break
            if at > after:
                made += entry
        return made


@contextmanager
def slow_files(source: Path, where: Path, seconds: float) -> Iterator[SlowFiles]:
    where.mkdir(parents=True, exist_ok=True)
    files = SlowFiles(source, where, seconds)
    try:
        yield files
    finally:
        files.close()
