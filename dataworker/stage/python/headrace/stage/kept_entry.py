"""A result that was kept, from its bytes (kept_results.py)."""

import ctypes
import marshal
from typing import Any

import numpy as np

from . import leaf_maps
from .content_values import memory_at
from .kept_results import UNIT, bytes_of
from .leaf_memory import place_of


class Entry:
    """What Packed.parts has written. Raises ValueError for anything else."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        end = 8 + int.from_bytes(memory[:8], "little")
        try:
            self.about, self.spec_bytes, self.sizes = marshal.loads(memory[8:end])
        except (EOFError, TypeError, ValueError) as error:
            raise ValueError("no entry of a result") from error
        self._begin = -(-end // UNIT) * UNIT

    def buffers(self) -> list[memoryview]:
        found, at = [], self._begin
        for size in self.sizes:
            found.append(self._memory[at : at + size])
            at += -(-size // UNIT) * UNIT
        return found

    def value(self, atoms: list[Any] | None = None) -> Any:
        """A new one. `atoms`: as Packed's, of the call that it is for. Raises IndexError if these are others."""
        self._atoms: list[Any] = atoms or []
        self._buffers = self.buffers()
        return self._made(marshal.loads(self.spec_bytes))

    def _made(self, spec: Any) -> Any:
        kind = spec[0]
        if kind == "p":
            return spec[1]
        if kind == "w":
            return self._atoms[spec[1]]
        if kind == "a":
            return self._array(spec)
        if kind == "b":
            return np.ndarray(spec[3], np.dtype(spec[2]), bytes(self._buffers[spec[1]]))
        if kind == "T":
            return self._tensor(spec)
        if kind == "list":
            return [self._made(one) for one in spec[1]]
        if kind == "tuple":
            return tuple([self._made(one) for one in spec[1]])
        if kind == "dict":
            return {key: self._made(one) for key, one in spec[1]}
        if kind == "keyed":
            return {self._made(key): self._made(one) for key, one in spec[1]}
        if kind == "s":
            return np.frombuffer(spec[2], np.dtype(spec[1]))[0]
        return self._picture(spec)

    def _array(self, spec: Any) -> Any:
        (number, dtype, shape, order), view = spec[1:]
        base: Any = np.empty(shape, np.dtype(dtype), order)
        if base.nbytes:
            base.reshape(-1, order="A").view(np.uint8)[:] = bytes_of(self._buffers[number])
        if view is None:
            return base
        dtype, shape, strides, offset = view
        return np.ndarray(shape, np.dtype(dtype), base, offset, strides)

    def _tensor(self, spec: Any) -> Any:
        import torch

        number, dtype, is_view, shape, strides, offset, resizable = spec[1:]
        data = bytes_of(self._buffers[number])
        kind = getattr(torch, dtype)
        if resizable and not is_view and offset == 0:
            made = torch.empty(
                shape, dtype=kind, device="cpu"
            )  # as most are: without memory beside its elements
            if made.stride() == strides and made.numel() * made.element_size() == data.nbytes:
                ctypes.memmove(made.data_ptr(), place_of(data), data.nbytes)
                return made
        if resizable:
            flat = torch.empty(data.nbytes, dtype=torch.uint8, device="cpu")
            memory_at(flat.data_ptr(), data.nbytes)[:] = data
        else:
            flat = torch.from_numpy(leaf_maps.own(self._buffers[number]))
        with torch.no_grad():
            made = torch.empty(0, dtype=kind, device="cpu")
            if not is_view:
                return made.set_(flat.untyped_storage(), offset, shape, strides)
            count = data.nbytes // made.element_size()
            made.set_(flat.untyped_storage(), 0, (count,), (1,))
        return made.as_strided(shape, strides, offset)

    def _picture(self, spec: Any) -> Any:
        from PIL import Image

        number, mode, size, info = spec[1:]
        made = Image.frombytes(mode, size, bytes(self._buffers[number]))
        made.info = self._made(info)
        return made
