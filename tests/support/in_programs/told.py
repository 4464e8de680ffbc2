"""For programs that tests run both ways: a line on stdout for each batch that they are given."""

import os
import zlib
from typing import Any

import torch


def say(line: str) -> None:
    """Writes the line in one piece, whoever else writes to the same pipe."""
    os.write(1, f"{line}\n".encode())


def tell(where: object, samples: int, batch: Any) -> None:
    say(f"batch {where} {samples} {bits_of(batch):08x}")


def bits_of(value: Any, before: int = 0) -> int:
    """A checksum of containers, types, shapes and bits."""
    before = zlib.crc32(type(value).__name__.encode(), before)
    if isinstance(value, torch.Tensor):
        value = value.detach().as_subclass(torch.Tensor).contiguous()
        before = zlib.crc32(f"{value.dtype}{tuple(value.shape)}".encode(), before)
        return zlib.crc32(value.reshape(-1).view(torch.uint8).numpy().tobytes(), before)
    if isinstance(value, dict):
        for key, item in value.items():
            before = bits_of(item, zlib.crc32(repr(key).encode(), before))
        return before
    if isinstance(value, list | tuple):
        for item in value:
            before = bits_of(item, before)
        return before
    return zlib.crc32(repr(value).encode(), before)
