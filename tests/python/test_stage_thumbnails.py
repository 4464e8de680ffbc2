"""thumbnail() on pictures that stage hosts defer."""

import random
from pathlib import Path

from PIL import Image
from support.own_process import in_own_process
from support.photos import encode_photo


@in_own_process
def test_thumbnails_of_opened_files(tmp_path):
    """thumbnail() puts what resize() returns into the image itself."""
    from headrace.stage import images

    images.enable([])
    rng = random.Random(20261121)
    for case in range(24):
        path = Path(tmp_path, "photo.jpg")
        path.write_bytes(encode_photo(rng.randint(30, 400), rng.randint(30, 400), case))
        named = rng.choice(({}, {"reducing_gap": None}, {"reducing_gap": 1.5}))
        begin = rng.choice((lambda i: None, lambda i: i.load(), lambda i: i.draft("RGB", (9, 9))))
        made = []
        for images._current.on in (True, False):
            image = Image.open(path)
            begin(image)
            image.thumbnail((64, 40), **named)
            again = image.resize((20, 20))
            made.append((image.size, image.mode, image.tobytes(), again.tobytes(), image.format))
        assert made[0] == made[1], f"case {case}"
