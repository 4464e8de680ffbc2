"""Writes small images of every layout, and maimed PNG files, into a folder, as the first inputs of image_fuzz.

python tests/fuzz/image_seeds.py FOLDER
"""

import io
import itertools
import random
import struct
import sys
import zlib
from pathlib import Path

from PIL import Image

WINDOW = bytes([120, 30, 60, 10])

# Colour types of PNG: bit depths, samples a pixel.
PNG_KINDS = {
    0: ((1, 2, 4, 8, 16), 1),
    2: ((8, 16), 3),
    3: ((1, 2, 4, 8), 1),
    4: ((8, 16), 2),
    6: ((8, 16), 4),
}
# Adam7: first row, first column, row step, column step.
ADAM7 = [
    (0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)
]  # fmt: skip


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(noise: random.Random, color: int, depth: int, interlaced: bool) -> bytes:
    width, height = 21, 18
    rows = b""
    for top, left, row_step, column_step in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        pixels = len(range(left, width, column_step))
        size = (pixels * PNG_KINDS[color][1] * depth + 7) // 8
        for _ in range(top, height, row_step) if pixels else ():
            rows += bytes([noise.randrange(5)]) + noise.randbytes(size)
    file = b"\x89PNG\r\n\x1a\n"
    file += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced))
    if color == 3:
        file += chunk(b"PLTE", noise.randbytes(3 << depth))
    return file + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pngs(noise: random.Random) -> dict[str, bytes]:
    files = {
        f"png-{color}-{depth}-{interlaced}": png(noise, color, depth, interlaced)
        for color, (depths, _) in PNG_KINDS.items()
        for depth in depths
        for interlaced in (False, True)
    }
    whole = files["png-2-8-False"]
    end = whole.rindex(b"IEND") - 4  # of the chunk of pixels: its sum, and before that the pixels'
    files["png-cut"] = whole[: len(whole) * 2 // 3]
    for name, at in (("chunk-sum", end - 1), ("pixel-sum", end - 5), ("pixels", end - 99)):
        files[f"png-wrong-{name}"] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    return files


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    noise = random.Random(1)
    picture = Image.frombytes("RGB", (48, 40), noise.randbytes(48 * 40 * 3))
    gray, palette = picture.convert("L"), picture.convert("P")
    files: dict[str, tuple[Image.Image, str, dict]] = {}
    for sampling, progressive, restart in itertools.product((0, 1, 2), (False, True), (0, 3)):
        options = {"subsampling": sampling, "progressive": progressive, "quality": 85}
        options |= {"restart_marker_blocks": restart, "optimize": sampling == 1}
        files[f"jpeg-{sampling}-{progressive}-{restart}"] = (picture, "JPEG", options)
    files["jpeg-gray"] = (gray, "JPEG", {})
    files["jpeg-cmyk"] = (picture.convert("CMYK"), "JPEG", {})
    for name, image in (("rgb", picture), ("gray", gray), ("palette", palette)):
        files[f"png-{name}"] = (image, "PNG", {})
    for name, (image, form, options) in files.items():
        out = io.BytesIO()
        image.save(out, form, **options)
        (folder / name).write_bytes(WINDOW + out.getvalue())
    for name, file in pngs(noise).items():
        (folder / name).write_bytes(WINDOW + file)


if __name__ == "__main__":
    main()
