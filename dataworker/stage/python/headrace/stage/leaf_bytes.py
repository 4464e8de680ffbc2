"""What library functions make of encoded bytes in memory, as leaves (functions.py).

Such bytes come from anywhere: a database, an archive, a socket, a file that the program has read. So they are named
by what they are: by a hash that nobody can find two contents of, since whoever gave some pictures of a data set must
not choose what a program gets for the others. What a hash of them costs is part of what a leaf costs (leaf_cost.py):
half a nanosecond a byte, where their decoding takes five or more.
"""

import functools
import hashlib
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .leaf_arrays import ArrayLeaf, Plain, packed
from .leaf_keys import Key, form_of, key_of_words
from .leaves import Leaves

_FOUR = struct.Struct("<4Q")
# Names of a processor's instructions for SHA-256, in the list of what it has.
_INSTRUCTIONS = frozenset((b"sha_ni", b"sha2"))


@functools.cache
def _hash() -> tuple[str, Callable[[Any], Any]]:
    """256 bits. SHA-256 where the processor has it, BLAKE2b elsewhere: each there takes 1 ns a byte or less."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            has = not _INSTRUCTIONS.isdisjoint(file.read(1 << 14).split())  # the first one
    except OSError:
        has = False
    if has:
        return "sha256", hashlib.sha256
    return "blake2b", functools.partial(hashlib.blake2b, digest_size=32)


def key_of_bytes(data: Any, text: str) -> Key:
    """`data`: a contiguous buffer. `text`: all else that the entry depends on."""
    name, of = _hash()
    words = _FOUR.unpack(of(data).digest())
    return key_of_words((*words, memoryview(data).nbytes, *form_of(f"{name}\n{text}")))


class Encoded(NamedTuple):
    """What a function is given to decode."""

    data: Any  # a contiguous buffer
    text: str  # all else that its result depends on
    is_fixed: bool  # nobody can write into the buffer


class Wanted(NamedTuple):
    key: Key
    encoded: Encoded
    seconds: float  # that it took to name it


class ByteLeaf(ArrayLeaf):
    """Of a function that takes bytes. `form`: takes what the function takes, and returns Encoded."""

    def rests(self, leaves: Leaves) -> bool:
        """Whether a call is not looked at. In a loader's first iteration no result is worth its keeping, so its
        bytes need no name; nor do those of results that were poor lately, since a name costs more than a
        search."""
        return not leaves.looks_for_pictures or not self.worth.is_likely(leaves.is_first)

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        """None: the call is none whose result is a leaf."""
        try:
            encoded = self._form(*args, **named)
            if encoded is None:
                return None
            began = time.thread_time()
            key = self._key(encoded)
            return Wanted(key, encoded, time.thread_time() - began)
        except Exception:
            return None  # the library meets it too, in its own way

    def _keep(
        self, leaves: Leaves, wanted: Wanted, value: Any, began: int, seconds: float, heard: bool
    ) -> None:
        if heard:
            return
        leaves.first_iteration.spend(wanted.seconds)
        array: Any
        array, more = self._to(value) or (None, None)
        if is_worth := type(array) is np.ndarray:
            saved = self.worth.undisturbed(seconds, array.nbytes, wanted.seconds)
            is_worth = leaves.keeps(saved, array.nbytes)
            self.worth.judge(is_worth, saved, array.nbytes, leaves.is_first)
        else:
            self.worth.note(False)
        if not is_worth:
            return
        memory = None if array is value else Plain(array.dtype.str, array.shape, None)
        before = time.thread_time()
        parts = packed(array, more, memory)
        same = wanted.encoded.is_fixed or self._key(wanted.encoded) == wanted.key
        leaves.first_iteration.spend(time.thread_time() - before)
        if parts is not None and same:
            leaves.offer(wanted.key, 0, began, parts, seconds)

    def _key(self, encoded: Encoded) -> Key:
        return key_of_bytes(encoded.data, f"{self.name}\n{encoded.text}\n{self._build()}")
