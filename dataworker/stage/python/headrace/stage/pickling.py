"""How a batch made on a worker reaches the trainer: a pickle whose tensors and arrays lie in a slot.

The functions of made_tensors.py and arrays.py, by_name and exception_by_name are what such a pickle
refers to; the trainer calls them.
"""

import copyreg
import importlib
import io
import mmap
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.reduction import ForkingPickler
from typing import Any

from . import arrays, special_tensors
from .made_tensors import (
    rebuild_empty,
    rebuild_storage,
    rebuild_tensor,
    rebuild_typed,
    rebuild_view,
)
from .pages import Pages
from .stacking import stacking

# Buffers below this stay inside the pickle.
SMALLEST_BUFFER = 512
ALIGNMENT = 64
# Bytes of a pickle that travel beside the slot; a larger one lies in it.
LARGEST_PICKLE = 1 << 20


def by_name(module: str, qualname: str) -> Any:
    """The trainer's own class or function of that name."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def exception_by_name(module: str, qualname: str) -> Any:
    """Does what by_name does; RuntimeError if the trainer has no such type (one made inside a
    function)."""
    try:
        return by_name(module, qualname)
    except (ImportError, AttributeError):
        return RuntimeError


def pickle_value(value: Any) -> bytes:
    """The pickle of a batch by itself, without a slot."""
    with io.BytesIO() as file:
        BatchPickler(file, lambda _: True).dump(value)
        return file.getvalue()


class Arena:
    """The memory that batches are written to: the trainer's arena, or memory of the worker."""

    def __init__(self, fd: int, channel: int = -1) -> None:
        """`channel`: the trainer does not use the memory for anything else while that is open."""
        self._descriptors = [fd] if channel < 0 else [fd, channel]
        self._map = mmap.mmap(fd, os.fstat(fd).st_size)
        self.memory = memoryview(self._map)
        self._pages = Pages(self._map)

    def expect(self, offset: int, size: int) -> None:
        """These bytes are about to be written."""
        self._pages.expect(offset, size)

    def descriptors(self) -> list[int]:
        """What another Arena of the same memory is made from, in another process."""
        return self._descriptors

    def __del__(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


class Slot:
    """Places buffers one after the other. Goes on counting when there is no room."""

    def __init__(self, arena: Arena | None, offset: int, size: int) -> None:
        self.arena, self.offset, self.size = arena, offset, size
        self.needed = 0
        self._lent: dict[tuple[int, int], int] = {}  # (address, size) -> offset

    def take(self, size: int) -> int | None:
        """Offset in the slot, or None: no room, or no arena."""
        begin = (self.needed + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.needed = begin + size
        if self.arena is None or self.needed > self.size:
            return None
        self.arena.expect(self.offset + begin, size)
        return begin

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

    storages: Any = torch.UntypedStorage
    original = storages.__dict__.get("_new_shared")
    storages._new_shared = classmethod(new_shared)
    try:
        with nullcontext() if slot is None else stacking():
            yield
    finally:
        if original is None:
            del storages._new_shared
        else:
            storages._new_shared = original


def keeps_nothing(collate_fn: Any) -> bool:
    """Whether it is torch's own, with no entries of the program in its table."""
    from torch.utils.data._utils import collate

    functions = collate.default_collate_fn_map.values()
    return collate_fn is collate.default_collate and all(
        getattr(function, "__module__", "") == collate.__name__ for function in functions
    )


class _Shared(Exception):
    """A storage belongs to more than one tensor: all of it has to travel."""


class BatchPickler(pickle.Pickler):
    """Tensors and arrays out of band; classes that came by value are named, not copied back.

    Tensors that share a storage share it on the other side, as they do with the stock loader. A
    tensor that has its storage for itself travels alone.
    """

    def __init__(
        self,
        file: Any,
        buffer_callback: Callable[[pickle.PickleBuffer], Any],
        whole: set[int] | None = None,
        shares: bool = False,
    ) -> None:
        """`whole`: addresses of storages of more than one tensor. Raises _Shared, with the address
        added, where there is one more. `shares`: memory that the program shares between its processes
        is the same memory on the other side, as with the stock loader."""
        super().__init__(file, protocol=5, buffer_callback=buffer_callback)
        self.dispatch_table = _reducers()
        self._shares = shares
        self._whole: set[int] = set() if whole is None else whole
        self._alone: set[int] = set()  # storages of tensors that travelled alone
        self._storages: dict[int, Any] = {}  # one object each, so that pickle knows it again

    def reducer_override(self, obj: Any) -> Any:
        import torch

        if type(obj) in self.dispatch_table:
            return NotImplemented
        if type(obj) is torch.Tensor or type(obj) is torch.nn.Parameter:
            return self._tensor(obj)
        if isinstance(obj, torch.Tensor):
            return special_tensors.reduced_subclass(obj, self._view)
        if isinstance(obj, torch.UntypedStorage) and obj.device.type == "cpu":
            if self._shares and obj.is_shared():
                from torch.multiprocessing.reductions import reduce_storage

                return reduce_storage(obj)
            return rebuild_storage, (pickle.PickleBuffer(_bytes_of(obj)),)
        if isinstance(obj, torch.storage.TypedStorage):
            storage = obj._untyped_storage  # public names of it warn
            if storage.device.type == "cpu":
                return rebuild_typed, (self._storage(storage), str(obj.dtype)[6:])
        if isinstance(obj, type | _FUNCTION):
            if _is_importable(obj):
                return NotImplemented
            if "<locals>" in obj.__qualname__:
                raise pickle.PicklingError(f"Can't pickle local object {obj.__qualname__!r}")
            is_exception = isinstance(obj, type) and issubclass(obj, BaseException)
            find = exception_by_name if is_exception else by_name
            return find, (obj.__module__, obj.__qualname__)
        return arrays.reduced(obj)

    def _view(self, typed: Any, place: Any) -> Any:
        """The arguments of rebuild_view. `typed`: a TypedStorage."""
        offset, shape, stride = place
        dtype = str(typed.dtype).removeprefix("torch.")
        return self._storage(typed._untyped_storage), dtype, offset, tuple(shape), tuple(stride)

    def _tensor(self, tensor: Any) -> Any:
        if special_tensors.is_special(tensor):
            if tensor.device.type not in ("cpu", "meta"):
                return NotImplemented
            return special_tensors.reduced(tensor, self._view)
        dtype, shape = str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)
        if tensor.numel() == 0:
            return rebuild_empty, (dtype, shape, tensor.stride())
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        if address in self._alone:
            self._whole.add(address)
            raise _Shared
        apart = self._shares and storage.is_shared()
        if apart or address in self._whole or not tensor.is_contiguous():
            place = tensor.storage_offset(), shape, tensor.stride()
            return rebuild_view, (self._storage(storage), dtype, *place)
        self._alone.add(address)
        flat = tensor.detach().view(-1).view(_uint8()).numpy()
        return rebuild_tensor, (pickle.PickleBuffer(flat), dtype, shape)

    def _storage(self, storage: Any) -> Any:
        address = storage.data_ptr()
        if address in self._alone and address:
            self._whole.add(address)
            raise _Shared
        if address:
            self._whole.add(address)
        return self._storages.setdefault(address, storage) if address else storage


_FUNCTION = type(lambda: None)


def _reducers() -> dict[type, Callable[[Any], Any]]:
    """What a queue of multiprocessing's, in which the stock loader's batches go, reduces in ways of its
    own: the program may have registered some. Tensors have theirs here, in the place of torch's."""
    of_queues: Any = ForkingPickler
    registered = {**copyreg.dispatch_table, **of_queues._extra_reducers}
    return {
        kind: reduce
        for kind, reduce in registered.items()
        if getattr(reduce, "__module__", "") != "torch.multiprocessing.reductions"
    }


def _uint8() -> Any:
    import torch

    return torch.uint8


def _bytes_of(storage: Any) -> Any:
    import torch

    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


def _is_importable(obj: Any) -> bool:
    found: Any = sys.modules.get(obj.__module__)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def pickle_batch(
    value: Any, slot: Slot, shares: bool = False
) -> tuple[bytes, list[int], list[int]]:
    """The pickle, and where in the slot its buffers lie. A pickle that is large by itself is the last
    of the buffers, and empty here (unpickle_batch). MemoryError when the slot is too small. `shares`:
    this process is one of the trainer's, on its host (BatchPickler)."""
    whole: set[int] = set()
    taken = slot.needed
    while True:
        slot.needed = taken
        try:
            return _pickled(value, slot, whole, shares)
        except _Shared:
            continue  # with one more storage known to be shared


def _pickled(
    value: Any, slot: Slot, whole: set[int], shares: bool
) -> tuple[bytes, list[int], list[int]]:
    offsets: list[int] = []
    sizes: list[int] = []
    fits = True

    def put(raw: memoryview) -> None:
        nonlocal fits
        begin = slot.place(raw)
        fits = fits and begin is not None
        offsets.append(begin or 0)
        sizes.append(raw.nbytes)

    def place(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < SMALLEST_BUFFER:
            return True  # stays in the pickle
        put(raw)
        return False

    with io.BytesIO() as file:
        BatchPickler(file, place, whole, shares).dump(value)
        body = file.getvalue()
    if len(body) > LARGEST_PICKLE:
        put(memoryview(body))
        body = b""
    if not fits:
        raise MemoryError
    return body, offsets, sizes


def unpickle_batch(pickled: bytes, buffers: list[Any]) -> Any:
    """What pickle_batch was given. `buffers`: the memory where it put them."""
    if not pickled:
        *buffers, last = buffers
        pickled = bytes(last)
    return pickle.loads(pickled, buffers=plain(buffers))


def plain(buffers: list[Any]) -> list[memoryview]:
    """As the functions that make arrays and tensors take them."""
    return [memoryview(buffer).cast("B") for buffer in buffers]


def pickle_error(wrapper: Any) -> bytes:
    """Pickles an ExceptionWrapper. An exception type that can't travel becomes RuntimeError with
    its text."""
    for kind in (wrapper.exc_type, RuntimeError):
        wrapper.exc_type = kind
        try:
            return pickle_value(wrapper)
        except Exception:
            wrapper.exc_msg = f"{kind.__qualname__} can't be pickled: {wrapper.exc_msg}"
    raise AssertionError("RuntimeError pickles")
