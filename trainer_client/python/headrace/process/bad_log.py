"""What processes of one program say of samples that could not be made."""

import fcntl
import json
import mmap
import os
import struct
import threading
from multiprocessing import reduction
from typing import Any

_COUNT = struct.Struct("<Q")
_LENGTH = struct.Struct("<I")
_ENTRIES, _ENTRY_BYTES = 128, 1024
_HEAD_BYTES = 64
_MOST_TEXT = 200  # characters of one text, so that any entry fits


class BadLog:
    """The number of bad samples, and the last 128 of them, in memory that the program shares with the
    workers of its loaders: forked ones inherit it, and it pickles for those that are spawned. A process
    that ends in the middle lets go of its lock. Thread-safe."""

    def __init__(self, descriptor: int = -1) -> None:
        """`descriptor`: of one that another process has made; it is this one's from now on."""
        if descriptor < 0:
            descriptor = os.memfd_create("headrace-bad-samples", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, _HEAD_BYTES + _ENTRIES * _ENTRY_BYTES)
        self._descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _HEAD_BYTES + _ENTRIES * _ENTRY_BYTES)
        self._lock, self._owner = threading.Lock(), os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._descriptor),)

    @property
    def count(self) -> int:
        return int(_COUNT.unpack_from(self._memory)[0])

    def add(self, entry: dict[str, Any]) -> int:
        """Returns the number of entries up to this one, which names nothing but texts and numbers."""
        short = {
            name: value[:_MOST_TEXT] if isinstance(value, str) else value
            for name, value in entry.items()
        }
        text = json.dumps(short).encode()[: _ENTRY_BYTES - _LENGTH.size]
        if self._owner != os.getpid():  # the thread that held it is not here
            self._lock, self._owner = threading.Lock(), os.getpid()
        with self._lock:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX)
            try:
                number = self.count
                at = _HEAD_BYTES + number % _ENTRIES * _ENTRY_BYTES
                self._memory[at : at + _LENGTH.size + len(text)] = _LENGTH.pack(len(text)) + text
                _COUNT.pack_into(self._memory, 0, number + 1)
            finally:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        return number + 1

    def after(self, seen: int) -> tuple[int, list[dict[str, Any]]]:
        """The number of entries, and those after the first `seen` that are still there. Waits for
        nobody: what another process is about to add comes with a later call."""
        count = self.count
        entries = []
        for number in range(max(seen, count - _ENTRIES), count):
            at = _HEAD_BYTES + number % _ENTRIES * _ENTRY_BYTES
            (length,) = _LENGTH.unpack_from(self._memory, at)
            try:
                entry = json.loads(self._memory[at + _LENGTH.size : at + _LENGTH.size + length])
            except ValueError:  # cut, or being replaced
                continue
            if isinstance(entry, dict):
                entries.append(entry)
        return count, entries


def _received(descriptor: Any) -> BadLog:
    return BadLog(descriptor.detach())
