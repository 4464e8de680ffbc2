"""Measures what LZ4 and zstd -1 make of cached samples: ratio, and CPU time a byte of the sample.

python bench/cache/compress.py PHOTOGRAPH...   (files that PIL reads; liblz4 and libzstd of the system)
"""

from __future__ import annotations

import ctypes
import ctypes.util
import io
import sys
import time
from collections.abc import Callable

import numpy as np
from PIL import Image

_SIZE = (500, 375)
_Room = ctypes.Array[ctypes.c_char]
# From data to room, and back; the first tells how much it takes.
_Code = tuple[Callable[[bytes, _Room], int], Callable[[bytes, _Room], object]]


def _lz4() -> _Code:
    lib = ctypes.CDLL(ctypes.util.find_library("lz4"))
    return (
        lambda data, room: lib.LZ4_compress_default(data, room, len(data), len(room)),
        lambda data, room: lib.LZ4_decompress_safe(data, room, len(data), len(room)),
    )


def _zstd() -> _Code:
    lib = ctypes.CDLL(ctypes.util.find_library("zstd"))
    size = ctypes.c_size_t
    lib.ZSTD_compress.restype = lib.ZSTD_decompress.restype = size
    return (
        lambda data, room: lib.ZSTD_compress(room, size(len(room)), data, size(len(data)), 1),
        lambda data, room: lib.ZSTD_decompress(room, size(len(room)), data, size(len(data))),
    )


def _seconds(call: Callable[[], object]) -> float:
    """The least CPU time of a few calls."""
    best = float("inf")
    for _ in range(7):
        begin = time.thread_time()
        call()
        best = min(best, time.thread_time() - begin)
    return best


def _mask(seed: int) -> Image.Image:
    """21 classes in regions, as a segmentation has them."""
    random = np.random.default_rng(seed)
    centers = random.uniform(0, 1, (12, 2)) * [_SIZE[1], _SIZE[0]]
    y, x = np.mgrid[: _SIZE[1], : _SIZE[0]]
    wave = 15 * np.sin(x / 17) + 11 * np.sin(y / 23)
    far = [(y - cy + wave) ** 2 + (x - cx - wave) ** 2 for cy, cx in centers]
    classes = random.integers(0, 21, 12).astype(np.uint8)
    return Image.fromarray(classes[np.argmin(far, axis=0)])


def _files(pictures: list[Image.Image], kind: str, **how: object) -> list[bytes]:
    files = []
    for picture in pictures:
        out = io.BytesIO()
        picture.save(out, kind, **how)
        files.append(out.getvalue())
    return files


def _row(name: str, samples: list[bytes], decode_s: float, code: _Code) -> None:
    pack, unpack = code
    size = packed = 0
    pack_s = unpack_s = 0.0
    for sample in samples:
        room = ctypes.create_string_buffer(len(sample) + len(sample) // 8 + 1024)
        used = pack(sample, room)
        small = room.raw[:used]
        back = ctypes.create_string_buffer(len(sample))
        unpack(small, back)
        if back.raw != sample:
            raise AssertionError(name)
        pack_s += _seconds(lambda sample=sample, room=room: pack(sample, room))
        unpack_s += _seconds(lambda small=small, back=back: unpack(small, back))
        size += len(sample)
        packed += used
    print(
        f"| {name} | {size / len(samples) / 1e3:.0f} kB | {size / packed:.2f} | "
        f"{pack_s / size * 1e9:.2f} | {unpack_s / size * 1e9:.2f} | {decode_s / size * 1e9:.2f} |"
    )


def main() -> None:
    """Prints a table."""
    photographs = [Image.open(path).convert("RGB").resize(_SIZE) for path in sys.argv[1:]]
    masks = [_mask(seed) for seed in range(8)]
    jpegs, pngs = _files(photographs, "JPEG", quality=90), _files(masks, "PNG")
    groups = []
    for name, files in (("photographs", jpegs), ("masks", pngs)):
        decode_s = sum(_seconds(lambda f=f: np.asarray(Image.open(io.BytesIO(f)))) for f in files)
        pixels = [np.asarray(Image.open(io.BytesIO(f))).tobytes() for f in files]
        groups += [(f"{name}, pixels", pixels, decode_s), (f"{name}, files", files, 0.0)]
    print(
        "| sample | size | ratio | pack, ns/B | unpack, ns/B | decode its file, ns/B |\n|---|---|---|---|---|---|"
    )
    for code_name, code in (("LZ4", _lz4()), ("zstd -1", _zstd())):
        for name, samples, decode_s in groups:
            _row(f"{name}: {code_name}", samples, decode_s, code)


if __name__ == "__main__":
    main()
