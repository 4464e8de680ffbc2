"""What functions of NumPy's, SciPy's and torchvision's cost by the library and in lanes, in one process: shuffles of
rows, short sums, a spline zoom and a turn of scans, the hue of tensors, and buffers of samples. CPU milliseconds,
medians in alternation, and how far they lie apart.
"""

import argparse
import functools

import numpy as np
import torch
from headrace.stage import functions, images
from plain_pixels import compare
from scipy import ndimage
from scipy.ndimage import _nd_image
from torchvision.transforms import functional as v1
from torchvision.transforms.v2 import functional as v2


def replaced(owner, name):
    return getattr(owner, name).real, getattr(owner, name)


def rows(random):
    points = random.random_sample((20_000, 4)).astype(np.float32)
    library, native = replaced(np.random, "shuffle")
    compare("shuffle of 20,000 x 4", lambda: library(points), lambda: native(points), 3)
    functions._MOST_REFUSED = 1 << 30
    for count in (400, 2048, 20_000):
        some = points[:count, :3].copy()
        for name, given in (("sum", some), ("all", some > 0.5)):
            ways = [functools.partial(way, given, 1) for way in replaced(np, name)]
            compare(f"{name} of {count} x 3", *ways, 200)
    few, (library, native) = points[:10], replaced(np, "sum")
    compare("sum of 10 x 4, which is NumPy's", lambda: library(few), lambda: native(few), 2000)
    functions._MOST_REFUSED = 64
    compare("the same, resting", lambda: library(few), lambda: native(few), 2000)


def scans(random):
    names = "spline_filter1d", "zoom_shift", "geometric_transform"
    ways = [{name: replaced(_nd_image, name)[way] for name in names} for way in (0, 1)]
    image = random.random_sample((512, 512)).astype(np.float32)

    def by(way, call):
        def called():
            vars(_nd_image).update(ways[way])
            call()

        return called

    zoom = lambda: ndimage.zoom(image, 224 / 512, order=3)  # noqa: E731
    turn = lambda: ndimage.rotate(image, 13, order=0, reshape=False)  # noqa: E731
    compare("zoom of 512 x 512 to 224 x 224, order 3", by(0, zoom), by(1, zoom), 3)
    compare("rotate of 512 x 512, order 0", by(0, turn), by(1, turn), 3)


def hues():
    pixels = torch.randint(0, 256, (320, 448, 3), dtype=torch.uint8)
    maker = images._current
    for layout, image in (
        ("interleaved", pixels.permute(2, 0, 1)),
        ("planes", pixels.permute(2, 0, 1).contiguous()),
    ):
        for name, functional in (("v1", v1), ("v2", v2)):

            def by(on, functional=functional, image=image):
                def called():
                    maker.on = on
                    functional.adjust_hue(image, 0.2)

                return called

            compare(f"{name} adjust_hue of 448 x 320, {layout}", by(False), by(True), 3)


def buffers():
    from headrace.stage import memory
    from torchvision import transforms

    made = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.4] * 3, [0.2] * 3)])
    pixels = np.zeros((320, 448, 3), np.uint8)
    images._current.on = False
    compare(
        "ToTensor and Normalize of an array of 448 x 320",
        lambda: made(pixels),
        lambda: made(pixels),
    )
    memory.Buffers()
    compare("the same after a lane has begun", lambda: made(pixels), lambda: made(pixels))


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    print("| what | library | native | ratio |\n|---|---|---|---|")
    images.enable([])
    buffers()
    images._current.on = True
    functions.enable()
    random = np.random.RandomState(1)
    rows(random)
    scans(random)
    hues()


if __name__ == "__main__":
    main()
