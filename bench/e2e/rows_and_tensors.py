"""What functions of NumPy's, pandas', SciPy's and torchvision's cost by the library and in lanes, in one process:
shuffles of rows, short sums, normal numbers, labels of tables, a spline zoom and a turn of scans, the hue of tensors,
crops by overlap, and buffers of samples. CPU milliseconds, medians in alternation, and how far they lie apart.
"""

import argparse
import functools

import numpy as np
import pandas as pd
import torch
from headrace.stage import functions, images
from numpy._core import fromnumeric
from plain_pixels import compare
from scipy import ndimage
from scipy.ndimage import _nd_image
from torchvision import tv_tensors
from torchvision.transforms import functional as v1
from torchvision.transforms import v2 as transforms_v2
from torchvision.transforms.v2 import functional as v2

OWN = {}  # what stands in the places of functions that reductions end in


def replaced(owner, name):
    return getattr(owner, name).real, getattr(owner, name)


def reduced(function, *args):
    """Calls with the library's and with our function in its place, in which sums and the like end."""
    name = "_wrapreduction_any_all" if function in (np.all, np.any) else "_wrapreduction"
    if not hasattr(fromnumeric, name):
        name = "_wrapreduction"

    def by(way):
        def called():
            setattr(fromnumeric, name, way)
            function(*args)

        return called

    return [by(way) for way in (OWN[name].__wrapped__, OWN[name])]


def rows(random):
    points = random.random_sample((20_000, 4)).astype(np.float32)
    library, native = replaced(np.random, "shuffle")
    compare("shuffle of 20,000 x 4", lambda: library(points), lambda: native(points), 3)
    functions._MOST_REFUSED = 1 << 30
    for count in (400, 2048, 20_000):
        some = points[:count, :3].copy()
        for function, given in ((np.sum, some), (np.all, some > 0.5)):
            compare(f"{function.__name__} of {count} x 3", *reduced(function, given, 1), 200)
    few = points[:10]
    compare("max of 10 x 4, which is NumPy's", *reduced(np.max, few), 2000)
    compare("sum of 10 x 4, which is NumPy's", *reduced(np.sum, few), 2000)
    functions._MOST_REFUSED = 64
    compare("the same, resting", *reduced(np.sum, few), 2000)


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


def numbers():
    library, native = replaced(np.random, "normal")
    for count in (1024, 6144, 131_072):
        ways = [functools.partial(way, 0, 0.1, count) for way in (library, native)]
        compare(f"normal of {count}", *ways, 20)
    compare("normal of one", library, native, 2000)


def tables():
    frame = pd.DataFrame(np.arange(16_000.0).reshape(2000, 8), columns=list("abcdefgh"))
    frame["name"] = "a name"
    row, ours, labels = frame.iloc[5], pd.Index._get_indexer_strict, ["c", "a", "d"]
    library = ours.__wrapped__

    def by(way, of):
        def called():
            pd.Index._get_indexer_strict = way
            of[labels]

        return called

    compare("row[three labels]", by(library, row), by(ours, row), 100)
    compare("frame[three labels]", by(library, frame), by(ours, frame), 100)


def overlaps():
    maker, random = images._current, torch.Generator().manual_seed(1)
    boxes = torch.rand(20, 3, 4, generator=random) * 200
    boxes[..., 2:] += boxes[..., :2]
    size, crop = (375, 500), transforms_v2.RandomIoUCrop()
    picture = tv_tensors.Image(torch.zeros(3, *size, dtype=torch.uint8))
    samples = [
        [picture, tv_tensors.BoundingBoxes(some, format="XYXY", canvas_size=size)] for some in boxes
    ]

    def by(on):
        def called():
            maker.on = on
            torch.manual_seed(1)
            for sample in samples:
                crop.make_params(sample)

        return called

    compare("RandomIoUCrop of 20 pictures with 3 boxes", by(False), by(True), 1)


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
    OWN.update((name, one) for name, one in vars(fromnumeric).items() if "_wrapreduction" in name)
    random = np.random.RandomState(1)
    rows(random)
    numbers()
    tables()
    scans(random)
    hues()
    overlaps()


if __name__ == "__main__":
    main()
