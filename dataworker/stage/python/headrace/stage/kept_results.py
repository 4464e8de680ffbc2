"""Results of the program's functions as bytes, and back: numbers, text, arrays, tensors and pictures, and tuples,
lists and dicts of them.

What comes back has memory of its own, and is what the function returned as far as a program can see: types, order,
signs of zeros and payloads of NaN, strides, owners of memory. What is more than that, or is also somebody else's, is
NotPacked.
"""

import functools
import marshal
import mmap
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from . import leaf_maps
from .content_values import memory_at

UNIT = 64
_VERSION = 2  # of marshal: exact floats, and no references between what is equal
_MODES = {"1", "L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "I", "F", "I;16"}
_OF_PICTURES = frozenset(
    ("_im", "im", "_mode", "_readonly", "mode", "_size", "size", "palette", "info", "readonly", "_exif", "pyaccess",
     "_category", "is_animated", "n_frames")
)  # fmt: skip
_MOST_DEPTH = 50
_FEW = 64
_PROBE = 512 << 10  # bytes
# The base of a view may be so many times its size.
_MOST_OF_BASE = 4


class NotPacked(Exception):
    """Says what can't be kept."""


class Packed:
    """A result as bytes. `memory`: where its arrays lie."""

    def __init__(self, value: Any, atoms: list[Any] | None = None) -> None:
        """REQUIRES: the caller holds `value` by one variable, and passes it. `atoms`: numbers and texts that the
        call was given (proven_content.py): where one of these is part of the result, it is this very object.
        None: which object a number, a text or a tuple is does not matter. Raises NotPacked."""
        self._atoms = None if atoms is None else {id(one): i for i, one in enumerate(atoms)}
        self.buffers: list[memoryview] = []
        self.memory: list[tuple[int, int]] = []
        self._seen: set[int] = set()
        self._held: list[Any] = []
        self._depth = self._mutable = self._mapped = 0
        self.spec = self._spec(value)

    calibrates: ClassVar[dict[str, int] | None] = None

    def _only(self, what: str, value: Any) -> None:
        """Nobody else has it, who could see that it was made anew, or change it."""
        count = sys.getrefcount(value)
        if self.calibrates is not None:
            self.calibrates.setdefault(what, count)
        elif count > _COUNTS[what]:
            raise NotPacked("somebody else holds it, or a part of it")

    @property
    def size(self) -> int:
        return sum(map(len, self.buffers))

    @property
    def copied(self) -> int:
        """Bytes that a hit copies."""
        return self.size - self._mapped

    def same(self, entry: Any) -> bool:
        """Whether an entry holds this very result."""
        mine = marshal.dumps(self.spec, _VERSION)
        if mine != entry.spec_bytes or len(self.buffers) != len(entry.sizes):
            return False
        return all(
            memoryview(a).nbytes == b.nbytes and np.array_equal(bytes_of(a), bytes_of(b))
            for a, b in zip(self.buffers, entry.buffers(), strict=True)
        )

    def parts(self, about: Any) -> tuple[Any, ...]:
        """As an entry. `about`: what marshal takes."""
        sizes = tuple(map(len, self.buffers))
        head = marshal.dumps((about, marshal.dumps(self.spec, _VERSION), sizes), _VERSION)
        head = len(head).to_bytes(8, "little") + head
        parts: list[Any] = [head + bytes(-len(head) % UNIT)]
        for buffer in self.buffers:
            parts += [buffer, bytes(-len(buffer) % UNIT)]
        return tuple(parts)

    def _spec(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            return (
                ("p", value)
                if self._atoms is None
                else self._atom(value, "atom" if self._depth else "single")
            )
        if self._atoms is not None and kind is tuple and id(value) in self._atoms:
            return "w", self._atoms[id(value)]
        if self._depth > _MOST_DEPTH:
            raise NotPacked("it is too deep")
        if id(value) in self._seen and kind is not tuple:
            raise NotPacked(f"it holds the same {kind.__name__} twice")
        self._seen.add(id(value))
        self._held.append(value)
        self._depth += 1
        try:
            return self._compound(value, kind)
        finally:
            self._depth -= 1

    def _atom(self, value: Any, what: str) -> Any:
        """A number or a text: which object it is can be told again."""
        if value is None or type(value) is bool or _is_always_the_same(value):
            return "p", value
        assert self._atoms is not None
        if (number := self._atoms.get(id(value))) is not None:
            return "w", number
        # One deeper than _only() calibrates: an argument of this, too.
        count = sys.getrefcount(value)
        if self.calibrates is not None:
            self.calibrates.setdefault(what, count)
        elif count > _COUNTS[what]:
            raise NotPacked(f"somebody else holds a {type(value).__name__} of it")
        return "p", value

    def _compound(self, value: Any, kind: type) -> Any:
        place = "item" if self._depth > 1 else "top"
        if kind is tuple:
            before = self._mutable
            items = [self._spec(value[i]) for i in range(len(value))]
            if self._mutable > before or (self._atoms is not None and value):
                self._only(place, value)
            return "tuple", items
        self._only(place, value)
        self._mutable += 1
        if kind is list:
            return "list", [self._spec(value[i]) for i in range(len(value))]
        if kind is dict:
            if any(type(key) not in (str, int, float, bool, bytes, type(None)) for key in value):
                raise NotPacked("it is a dict with other keys than text and numbers")
            if self._atoms is None:
                return "dict", [(key, self._spec(value[key])) for key in value]
            return "keyed", [(self._atom(key, "key"), self._spec(value[key])) for key in value]
        if issubclass(kind, np.generic) and kind.__module__ == "numpy" and kind is not np.void:
            if value.dtype.kind in "biufcSUMm":
                return "s", value.dtype.str, value.tobytes()
        if weakref.getweakrefcount(value) > 0:
            raise NotPacked("somebody is to be told of its end")
        if kind is np.ndarray:
            return self._array(value)
        torch, image = sys.modules.get("torch"), sys.modules.get("PIL.Image")
        if torch is not None and kind is torch.Tensor:
            return self._tensor(value, torch)
        if image is not None and isinstance(value, image.Image):
            return self._picture(value, image)
        raise NotPacked(f"it is of {kind.__module__}.{kind.__qualname__}")

    def _add(self, flat: Any) -> int:
        """`flat`: an array of uint8."""
        begin = flat.__array_interface__["data"][0]
        if any(begin < b and a < begin + flat.nbytes for a, b in self.memory):
            raise NotPacked("two of its arrays share memory")
        if flat.nbytes:
            self.memory.append((begin, begin + flat.nbytes))
        self.buffers.append(memoryview(flat))
        self._held.append(flat)
        return len(self.buffers) - 1

    def _array_of_bytes(self, value: Any) -> Any:
        """np.asarray of a picture: all of a bytes object, which nobody else holds. Whoever does may write into it, by
        torch.from_numpy of the array."""
        self._only("bytes", value.base)
        kind, shape = value.dtype, value.shape
        is_all = value.nbytes == len(value.base) and kind.kind in "biufc" and kind.metadata is None
        alike = np.ndarray(shape, kind, value.base) if is_all else None
        if alike is None or alike.strides != value.strides or _place(alike) != _place(value):
            raise NotPacked("it is an array in somebody else's memory")
        return "b", self._add(bytes_of(value.base)), kind.str, shape

    def _array(self, value: Any) -> Any:
        if type(value.base) is bytes and value.nbytes:
            return self._array_of_bytes(value)
        base = value if value.flags.owndata else value.base
        if type(base) is not np.ndarray or not base.flags.owndata:
            raise NotPacked("it is an array in somebody else's memory")
        for one in (value, base):
            plain = one.dtype.kind in "biufcSUMm" and one.dtype.metadata is None
            if not plain or not one.flags.writeable or not one.flags.aligned:
                raise NotPacked("it is an array of objects or records, or a read-only one")
        if not base.flags.forc or base.nbytes > _MOST_OF_BASE * value.nbytes + UNIT * UNIT:
            raise NotPacked("it is a small part of an array, or one with gaps")
        if value is not base:
            self._only("base", base)
        order = "C" if base.flags.c_contiguous else "F"
        flat = base.reshape(-1, order="A").view(np.uint8) if base.nbytes else np.empty(0, np.uint8)
        if base.nbytes and not np.shares_memory(flat, base):
            raise NotPacked("it is an array that has to be copied to be read")
        number = self._add(flat)
        of_base = number, base.dtype.str, base.shape, order
        if value is base:
            return "a", of_base, None
        offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return "a", of_base, (value.dtype.str, value.shape, value.strides, offset)

    def _tensor(self, value: Any, torch: Any) -> Any:
        plain = value.device.type == "cpu" and value.layout == torch.strided and not vars(value)
        if not plain or value.requires_grad or value.is_conj() or value.is_neg():
            raise NotPacked("it is a tensor with more than its elements")
        if value.is_inference() or value.is_quantized:
            raise NotPacked("it is a tensor of another kind")
        storage = value.untyped_storage()
        whole = storage.nbytes()
        used = value.numel() * value.element_size()
        if whole > _MOST_OF_BASE * used + UNIT * UNIT:
            raise NotPacked("it is a small part of a tensor")
        resizable = storage.resizable()
        self._mapped += whole if not resizable and leaf_maps.can_be_mapped(whole) else 0
        self._held.append(storage)
        number = self._add(memory_at(storage.data_ptr(), whole))
        dtype = str(value.dtype).removeprefix("torch.")
        return "T", number, dtype, value._is_view(), tuple(value.shape), value.stride(), (
            value.storage_offset()), resizable  # fmt: skip

    def _picture(self, value: Any, image: Any) -> Any:
        settle(value)
        if type(value) is not image.Image or value.mode not in _MODES:
            raise NotPacked(f"it is a picture of mode {value.mode}, or of an open file")
        if set(vars(value)) - _OF_PICTURES or value.palette is not None:
            raise NotPacked("it is a picture with more than its pixels")
        if getattr(value, "_exif", None) is not None:
            raise NotPacked("it is a picture with Exif that was read")
        data = np.frombuffer(value.tobytes(), np.uint8)
        if value.readonly:
            raise NotPacked("it is a picture in somebody else's memory")
        return "P", self._add(data), value.mode, value.size, self._spec(value.info)


def settle(value: Any) -> None:
    """Makes pictures whose pixels nobody has wanted yet (deferred.py), in a result of a few parts."""
    if (image := sys.modules.get("PIL.Image")) is None:
        return
    parts = (
        value
        if type(value) in (tuple, list)
        else value.values()
        if type(value) is dict
        else (value,)
    )
    if len(parts) <= _FEW:
        for part in parts:
            if isinstance(part, image.Image) and "_picture" in vars(part):
                part.load()


@functools.cache
def copying() -> float:
    """Seconds a byte that it takes to copy a large result into memory of its own, in this process. A batch holds
    several at a time, so their memory is new, and the kernel makes it page by page."""
    source, times = np.zeros(_PROBE, np.uint8), []
    for _ in range(3):
        memory = np.frombuffer(mmap.mmap(-1, _PROBE), np.uint8)
        began = time.thread_time()
        memory[:] = source
        times.append(time.thread_time() - began)
    return sorted(times)[1] / _PROBE


def _is_always_the_same(value: Any) -> bool:
    """Whether Python has one object of this value."""
    kind = type(value)
    if kind is int:
        return bool(-5 <= value <= 256)
    if kind is str:
        return len(value) == 0 or (len(value) == 1 and value < "\u0100")
    return kind is bytes and len(value) < 2


def _place(array: Any) -> Any:
    return array.__array_interface__["data"]  # the address, and whether it is read-only


def bytes_of(memory: Any) -> Any:
    return np.frombuffer(memory, np.uint8) if memoryview(memory).nbytes else np.empty(0, np.uint8)


def _calibrated() -> dict[str, int]:
    """How many hold a new value while it is packed, for this interpreter."""
    counts: dict[str, int] = {}
    Packed.calibrates = counts
    makers: tuple[Callable[[], Any], ...] = list, lambda: [[]], lambda: np.zeros(4)[1:]
    makers += (lambda: np.ndarray((2,), np.uint8, bytes([1, 2])),)
    for make in makers:
        value: Any = make()
        Packed(value)
        del value
    for make in (lambda: {float("1.5"): float("2.5")}, lambda: float("1.5")):
        value = make()
        Packed(value, [])
        del value
    Packed.calibrates = None
    return counts


_COUNTS: dict[str, int] = {}
_COUNTS.update(_calibrated())
