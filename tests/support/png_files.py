"""PNG files of every kind, written by hand: encoders make few of them."""

import struct
import zlib

import numpy as np

from support.image_kernels import picture

# Colour type -> bit depths, samples a pixel.
KINDS = {
    0: ((1, 2, 4, 8, 16), 1),
    2: ((8, 16), 3),
    3: ((1, 2, 4, 8), 1),
    4: ((8, 16), 2),
    6: ((8, 16), 4),
}
# Adam7: first row, first column, row step, column step.
PASSES = [
    (0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)
]  # fmt: skip


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def pack_row(samples: np.ndarray, depth: int) -> bytes:
    if depth == 16:
        return samples.astype(">u2").tobytes()
    if depth == 8:
        return samples.astype(np.uint8).tobytes()
    bits = (samples[:, None] >> np.arange(depth)[::-1]) & 1
    return np.packbits(bits.astype(np.uint8).ravel()).tobytes()


def filtered(rows: list[bytes], pixel_bytes: int, rng) -> bytes:
    """Rows with a random filter each, as the specification defines them."""
    out, above = bytearray(), np.zeros(len(rows[0]) if rows else 0, np.int64)
    for row in rows:
        here = np.frombuffer(row, np.uint8).astype(np.int64)
        left = np.concatenate([np.zeros(pixel_bytes, np.int64), here])[: len(here)]
        corner = np.concatenate([np.zeros(pixel_bytes, np.int64), above])[: len(here)]
        estimate = left + above - corner
        distances = np.stack([abs(estimate - left), abs(estimate - above), abs(estimate - corner)])
        paeth = np.choose(distances.argmin(axis=0), [left, above, corner])
        kind = int(rng.integers(0, 5))
        prediction = [np.zeros_like(here), left, above, (left + above) // 2, paeth][kind]
        out.append(kind)
        out += ((here - prediction) & 255).astype(np.uint8).tobytes()
        above = here
    return bytes(out)


def encode(seed, width, height, color, depth, interlaced, extra=(), behind=(), pieces=1) -> bytes:
    rng = np.random.default_rng(seed)
    samples = KINDS[color][1]
    entries = min(1 << depth, int(rng.integers(1, 257))) if color == 3 else 0
    top = entries if color == 3 else 1 << depth
    values = rng.integers(0, top, (height, width, samples))
    if rng.integers(0, 2) and depth >= 8 and color != 3:
        values = picture(seed, height, width, 4)[:, :, :samples].astype(np.int64)
        values = values * 257 if depth == 16 else values
    data = b""
    pixel_bytes = max(1, samples * depth // 8)
    for top_row, left, row_step, column_step in PASSES if interlaced else [(0, 0, 1, 1)]:
        part = values[top_row::row_step, left::column_step]
        if part.size:
            rows = [pack_row(row.ravel(), depth) for row in part]
            data += filtered(rows, pixel_bytes, rng)
    data = zlib.compress(data, int(rng.integers(0, 10)))
    file = b"\x89PNG\r\n\x1a\n"
    file += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    if color == 3:
        file += chunk(b"PLTE", rng.integers(0, 256, 3 * entries, np.uint8).tobytes())
    for name, content in extra:
        file += chunk(name, content)
    cuts = sorted(rng.integers(0, len(data) + 1, pieces - 1).tolist())
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        file += chunk(b"IDAT", data[begin:end])
    for name, content in behind:
        file += chunk(name, content)
    return file + chunk(b"IEND", b"")
