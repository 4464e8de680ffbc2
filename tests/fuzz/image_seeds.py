"""Writes small images of every layout into a folder, as the first inputs of image_fuzz.

python tests/fuzz/image_seeds.py FOLDER
"""

import io
import itertools
import random
import sys
from pathlib import Path

from PIL import Image

WINDOW = bytes([120, 30, 60, 10])


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


if __name__ == "__main__":
    main()
