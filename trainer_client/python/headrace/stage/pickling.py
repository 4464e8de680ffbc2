"""How a batch made on a worker reaches the trainer: a pickle whose tensors and arrays lie in a slot.

rebuild_tensor, by_name and exception_by_name are what such a pickle refers to; the trainer calls them.
"""

import importlib
import io
import mmap
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Buffers below this stay inside the pickle.
SMALLEST_BUFFER = 512
ALIGNMENT = 64


def rebuild_tensor(buffer: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A tensor that is the memory of `buffer`."""
    import torch

    kind = getattr(torch, dtype)
    if 0 in shape:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(buffer, dtype=kind).view(shape)


def by_name(module: str, qualname: str) -> Any:
    """The trainer's own class or function of that name."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def exception_by_name(module: str, qualname: str) -> Any:
    """As by_name; RuntimeError where the trainer has no such type (one made inside of a function)."""
    try:
        return by_name(module, qualname)
    except (ImportError, AttributeError):
        return RuntimeError


class Arena:
    """The memory that batches are written to: the trainer's arena, or memory of the worker."""

    def __init__(self, fd: int, channel: int = -1) -> None:
        self._channel = channel
        self._map = mmap.mmap(fd, os.fstat(fd).st_size)
        os.close(fd)
        self.memory = memoryview(self._map)

    def __del__(self) -> None:
        if self._channel >= 0:
            os.close(self._channel)


class Slot:
    """Places buffers one behind the other. Goes on counting when there is no room."""

    def __init__(self, arena: Arena | None, offset: int, size: int) -> None:
        self.arena, self.offset, self.size = arena, offset, size
        self.needed = 0
        self._lent: dict[tuple[int, int], int] = {}  # (address, size) -> offset

    def take(self, size: int) -> int | None:
        """Offset in the slot, or None: no room, or no arena."""
        begin = (self.needed + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.needed = begin + size
        return begin if self.arena is not None and self.needed <= self.size else None

    def lend(self, size: int) -> Any:
        """A storage of torch's that is a part of the slot, or None: no room, or not worth it."""
        import torch

        if size < SMALLEST_BUFFER:
            return None
        before, begin = self.needed, self.take(size)
        if begin is None:
            self.needed = before  # it will be counted when it is placed
            return None
        tensor = torch.frombuffer(self.view(begin, size), dtype=torch.uint8)
        self._lent[tensor.data_ptr(), size] = begin
        return tensor.untyped_storage()

    def place(self, raw: memoryview) -> int | None:
        """Offset in the slot at which the bytes are now, or None: no room."""
        if self._lent:
            import numpy

            address = numpy.frombuffer(raw, numpy.uint8).ctypes.data
            if (address, raw.nbytes) in self._lent:
                return self._lent[address, raw.nbytes]
        begin = self.take(raw.nbytes)
        if begin is not None:
            self.view(begin, raw.nbytes)[:] = raw
        return begin

    def view(self, begin: int, size: int) -> memoryview:
        assert self.arena is not None
        return self.arena.memory[self.offset + begin : self.offset + begin + size]


@contextmanager
def collating(slot: Slot | None) -> Iterator[None]:
    """Inside, default_collate stacks tensors, which in a worker it does into shared storage, into the
    slot. None: into ordinary memory, because code may keep a batch (to mix the next one with it), and
    the slot is used again."""
    import torch

    def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        lent = slot.lend(size) if slot is not None else None
        return torch.UntypedStorage(size) if lent is None else lent

    original = torch.UntypedStorage.__dict__.get("_new_shared")
    torch.UntypedStorage._new_shared = classmethod(new_shared)
    try:
        yield
    finally:
        if original is None:
            del torch.UntypedStorage._new_shared
        else:
            torch.UntypedStorage._new_shared = original


def keeps_nothing(collate_fn: Any) -> bool:
    """It is torch's own, with no entries of the program's in its table."""
    from torch.utils.data._utils import collate

    functions = collate.default_collate_fn_map.values()
    return collate_fn is collate.default_collate and all(
        getattr(function, "__module__", "") == collate.__name__ for function in functions
    )


class BatchPickler(pickle.Pickler):
    """Tensors and arrays out of band; classes that came by value are named, not copied back."""

    def __init__(self, file: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffer_callback)

    def reducer_override(self, obj: Any) -> Any:
        import torch

        if type(obj) is torch.Tensor:
            return _reduce_tensor(obj)
        if isinstance(obj, type | _FUNCTION) and not _is_importable(obj):
            if "<locals>" in obj.__qualname__:
                raise pickle.PicklingError(f"Can't pickle local object {obj.__qualname__!r}")
            is_exception = isinstance(obj, type) and issubclass(obj, BaseException)
            find = exception_by_name if is_exception else by_name
            return find, (obj.__module__, obj.__qualname__)
        return NotImplemented


_FUNCTION = type(lambda: None)


def _reduce_tensor(tensor: Any) -> Any:
    import torch

    if (
        tensor.device.type != "cpu"
        or tensor.layout != torch.strided
        or tensor.requires_grad
        or tensor.is_quantized
        or tensor.is_conj()
        or tensor.is_neg()
        or not tensor.is_contiguous()
        or tensor.__dict__
    ):
        return NotImplemented  # torch's own way, inside the pickle
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    if tensor.numel() == 0:
        return rebuild_tensor, (None, dtype, shape)
    flat = tensor.detach().view(-1).view(torch.uint8).numpy()
    return rebuild_tensor, (pickle.PickleBuffer(flat), dtype, shape)


def _is_importable(obj: Any) -> bool:
    found: Any = sys.modules.get(obj.__module__)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def pickle_batch(value: Any, slot: Slot) -> tuple[bytes, list[int], list[int]]:
    """The pickle, and where in the slot its buffers lie. MemoryError when the slot is too small."""
    offsets: list[int] = []
    sizes: list[int] = []
    fits = True

    def place(buffer: pickle.PickleBuffer) -> bool:
        nonlocal fits
        raw = buffer.raw()
        size = raw.nbytes
        if size < SMALLEST_BUFFER:
            return True  # stays in the pickle
        begin = slot.place(raw)
        if begin is None:
            fits = False
            begin = 0
        offsets.append(begin)
        sizes.append(size)
        return False

    with io.BytesIO() as file:
        BatchPickler(file, place).dump(value)
        if not fits:
            raise MemoryError
        return file.getvalue(), offsets, sizes


def pickle_error(wrapper: Any) -> bytes:
    """Of an ExceptionWrapper; an exception type that can't travel becomes RuntimeError with its text."""
    for kind in (wrapper.exc_type, RuntimeError):
        wrapper.exc_type = kind
        try:
            with io.BytesIO() as file:
                BatchPickler(file, lambda _: True).dump(wrapper)
                return file.getvalue()
        except Exception:
            wrapper.exc_msg = f"{kind.__qualname__} can't be pickled: {wrapper.exc_msg}"
    raise AssertionError("RuntimeError pickles")
