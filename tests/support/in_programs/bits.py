"""For programs that tests run both ways: a line on stdout for all that a program can see of its
batches, of its random generators and of its errors.

`describe` tells type, dtype, shape, strides, aliasing and bits of a whole tree; equal lines mean that a
program sees no difference. Nothing in a line changes from one run of a program to the next: process
numbers, addresses and the working directory are left out (`steady`).
"""

import dataclasses
import enum
import os
import random
import re
import sys
import traceback
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch

SEED = int(os.environ.get("BITS_SEED", "1234"))
_LONGEST = 400  # characters of a line's readable part; its checksum covers the rest


def say(line: str) -> None:
    """Writes the line in one piece, whoever else writes to the same pipe."""
    os.write(1, f"{steady(line)}\n".encode(errors="replace"))


def steady(text: str) -> str:
    """Without what is never the same twice."""
    text = text.replace(os.environ.get("BITS_FOLDER", "\0"), "{folder}")
    text = re.sub(r"0x[0-9a-f]{4,}", "0x", text)
    return re.sub(r"(pid(?:\(s\)|s)?:?\s*)\d+(?:, \d+)*", r"\1N", text)


def seed_all(seed: int = SEED) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def show(value: Any, name: str = "batch") -> None:
    """One line for a batch, or for anything else."""
    text = describe(value)
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    say(f"{name} {zlib.crc32(steady(text).encode()):08x} {cut}")


def states() -> None:
    """One line for the three global generators, which training code draws from, too."""
    name, keys, *rest = np.random.get_state()
    parts = {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": keys.tobytes() + repr((name, rest)).encode(),
        "random": repr(random.getstate()).encode(),
    }
    say("states " + " ".join(f"{key} {zlib.crc32(part):08x}" for key, part in parts.items()))


def tell_error(error: BaseException) -> None:
    """Type, message and the program's own frames: those of the libraries are nobody's promise."""
    lines = [line for line in str(error).splitlines() if not line.startswith(" ")]
    say(f"error {type(error).__module__}.{type(error).__qualname__}: {' | '.join(lines)}")
    inner = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', str(error))
    outer = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    for file, line, function in [*inner, *outer]:
        if os.path.dirname(file).endswith("cases"):
            say(f"  at {os.path.basename(file)}:{line} in {function}")


def epochs(
    loader: Iterable,
    count: int = 1,
    *,
    before: Callable[[int], Any] | None = None,
    each: Callable[[int, int, Any], Any] | None = None,
    stop: int | None = None,
) -> None:
    """Iterates as a training program does, and tells all that it is given. `before(epoch)` and
    `each(epoch, number, batch)` are the program's own actions; `stop` breaks after that many batches."""
    for epoch in range(count):
        if before is not None:
            before(epoch)
        try:
            for number, batch in enumerate(loader):
                show(batch, f"batch {epoch}.{number}")
                if each is not None:
                    each(epoch, number, batch)
                if number + 1 == stop:
                    break
        except Exception as error:
            tell_error(error)
        states()


def drain(iterator: Any, most: int = 100) -> None:
    """Asks on after errors, to the end."""
    for number in range(most):
        try:
            show(next(iterator), f"batch {number}")
        except StopIteration:
            say(f"end after {number}")
            return
        except Exception as error:
            tell_error(error)


def describe(value: Any, memory: "_Memory | None" = None) -> str:
    """The tree as text. Leaves that share memory are marked with the number of the first."""
    memory = memory or _Memory()
    if isinstance(value, torch.Tensor):
        return _tensor(value, memory)
    if isinstance(value, np.ndarray) and value.dtype != object:
        alias = memory.alias(value.ctypes.data, value.nbytes)
        flag = "" if value.flags.writeable else " read-only"
        bits = zlib.crc32(np.ascontiguousarray(value).tobytes())
        kind = f"{_name(value)} {value.dtype.str}{list(value.shape)}{value.strides}"
        return f"{kind}{flag} {bits:08x}{alias}"
    if isinstance(value, np.generic):
        return f"{_name(value)}({value!s} {value.tobytes().hex()})"
    known = memory.seen_object(value)
    if known is not None:
        return known
    if isinstance(value, Mapping):
        items = (f"{key!r}: {describe(item, memory)}" for key, item in value.items())
        return f"{_name(value)}{{{', '.join(items)}}}"
    if isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)
        marks = names or [""] * len(value)
        items = (f"{m and m + '='}{describe(v, memory)}" for m, v in zip(marks, value, strict=True))
        return f"{_name(value)}[{', '.join(items)}]"
    if isinstance(value, set | frozenset):
        return f"{_name(value)}{{{', '.join(sorted(map(repr, value)))}}}"
    if isinstance(value, np.ndarray):
        return f"{_name(value)} object{[describe(item, memory) for item in value.ravel()]}"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{_name(value)} {len(value)} {zlib.crc32(value):08x}"
    if isinstance(value, enum.Enum | str | int | float | complex | type(None)):
        return f"{_name(value)} {value!r}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return f"{_name(value)}({describe(fields, memory)})"
    if callable(getattr(value, "tobytes", None)) and hasattr(value, "mode"):  # a PIL picture
        bits = zlib.crc32(value.tobytes())
        return f"{_name(value)} {value.mode} {value.size} {value.format} {bits:08x}"
    if type(value).__repr__ is object.__repr__ and hasattr(value, "__dict__"):
        return f"{_name(value)}({describe(vars(value), memory)})"
    return f"{_name(value)} {value!r}"


def _name(value: Any) -> str:
    kind = type(value)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _tensor(value: torch.Tensor, memory: "_Memory") -> str:
    plain = value.detach().as_subclass(torch.Tensor)
    kind = "" if type(value) is torch.Tensor else f"{_name(value)} "
    own = {key: item for key, item in vars(value).items()} if hasattr(value, "__dict__") else {}
    extra = f" with {describe(own, memory)}" if own else ""
    extra += " requires_grad" if value.requires_grad else ""
    extra += " inference" if value.is_inference() else ""
    dtype = str(value.dtype).removeprefix("torch.")
    if plain.layout != torch.strided:
        dense = plain.coalesce() if plain.layout == torch.sparse_coo else plain
        parts = f"{plain.layout}{list(plain.shape)} {_tensor(dense.to_dense(), _Memory())}"
        return f"{kind}{dtype} {parts}{extra}"
    if plain.device.type != "cpu":
        return f"{kind}{dtype} {plain.device}{list(plain.shape)}{plain.stride()}{extra}"
    size = plain.element_size()
    reach = sum((n - 1) * s for n, s in zip(plain.shape, plain.stride(), strict=True)) + 1
    alias = memory.alias(plain.data_ptr(), reach * size if plain.numel() else 0)
    flat = plain.resolve_conj().resolve_neg().contiguous().reshape(-1)
    bits = zlib.crc32(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else 0
    return f"{kind}{dtype}{list(plain.shape)}{plain.stride()} {bits:08x}{alias}{extra}"


class _Memory:
    """Which leaves of one tree share memory, and which objects are the same one."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._objects: dict[int, int] = {}
        self._kept: list[Any] = []  # an address must not be used again meanwhile

    def alias(self, start: int, size: int) -> str:
        for number, (other, end) in enumerate(self._ranges):
            if size and start < end and other < start + size:
                self._ranges.append((start, start + size))
                return f" =#{number}{start - other:+}"
        self._ranges.append((start, start + size))
        return ""

    def seen_object(self, value: Any) -> str | None:
        """Only containers and objects that can be changed: equal small values are often one."""
        if isinstance(value, str | bytes | int | float | complex | tuple | type(None) | enum.Enum):
            return None
        if id(value) in self._objects:
            return f"same as object {self._objects[id(value)]}"
        self._objects[id(value)] = len(self._objects)
        self._kept.append(value)
        return None


def flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
