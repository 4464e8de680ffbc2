"""Names of many objects in little memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

# Names are made of the buffer in blocks: a call of NumPy's takes longer than a name.
_AT_A_TIME = 4096


class PackedNames(Sequence[str]):
    """Names one after the other in one buffer: their bytes and 8 more for each. Immutable."""

    def __init__(self, pool: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]) -> None:
        self.pool, self.ends = pool, ends  # uint8[bytes], int64[count]
        pool.flags.writeable = ends.flags.writeable = False

    @classmethod
    def of(cls, names: Iterable[str]) -> "PackedNames":
        """Each is text in UTF-8, as objects are named."""
        pool = bytearray()
        ends = []
        for name in names:
            pool += name.encode()
            ends.append(len(pool))
        return cls(np.frombuffer(bytes(pool), np.uint8), np.array(ends, np.int64))

    @classmethod
    def joined(cls, parts: Sequence["PackedNames"]) -> "PackedNames":
        if not parts:
            return cls.of(())
        shifts = np.cumsum([0, *(len(part.pool) for part in parts[:-1])])
        ends = [part.ends + shift for part, shift in zip(parts, shifts, strict=True)]
        return cls(np.concatenate([part.pool for part in parts]), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        begin = self.ends[row - 1] if row else 0
        return self.pool[begin : self.ends[row]].tobytes().decode(errors="surrogateescape")

    def __iter__(self) -> Iterator[str]:
        begin = 0
        for first in range(0, len(self), _AT_A_TIME):
            ends = self.ends[first : first + _AT_A_TIME].tolist()
            start, block = begin, self.pool[begin : ends[-1]].tobytes()
            for end in ends:
                yield block[begin - start : end - start].decode(errors="surrogateescape")
                begin = end

    def __reduce__(self) -> Any:
        return PackedNames, (self.pool, self.ends)


class Samples(Sequence[tuple[str, int]]):
    """ImageFolder's `samples`: a URL and a label each, made when they are looked at."""

    def __init__(self, base: str, names: PackedNames, labels: np.ndarray[Any, Any]) -> None:
        self._base, self._names, self._labels = base, names, labels

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[str, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, int] | Sequence[tuple[str, int]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._base + self._names[index], int(self._labels[index])
