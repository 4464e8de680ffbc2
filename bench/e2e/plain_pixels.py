"""What the ways of pixels cost by the library and natively, in one process: out of a picture of PIL's and back, its
resize, the stack of interleaved pixels, and the pages of a slot. CPU milliseconds, medians in alternation, and how
far they lie apart.
"""

import argparse
import mmap
import os
import statistics
import time

import numpy as np
import torch
from headrace.stage import images, pages, pixel_memory, render, stacking
from headrace.stage.plain_pictures import resized
from PIL import Image

SIDES = ((224, 224), (448, 320), (1024, 768))
OUT = ((224, 160), (64, 48), (640, 480))
FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by PIL's numbers


def timed(call, times):
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times * 1e3


def compare(name, library, native, times=10, rounds=7):
    library(), native()
    found = [], []
    for _ in range(rounds):
        for call, times_of in zip((library, native), found, strict=True):
            times_of.append(timed(call, times))
    medians = [statistics.median(one) for one in found]
    spread = [max(one) - min(one) for one in found]
    cells = " | ".join(f"{m:.3f} ± {s / 2:.3f}" for m, s in zip(medians, spread, strict=True))
    print(f"| {name} | {cells} | {medians[0] / medians[1]:.2f} |", flush=True)


def pictures(random):
    memory, resize = pixel_memory.here(), render.PLAIN["resize"]
    for width, height in SIDES:
        pixels = random.randint(0, 256, (height, width, 3), np.uint8)
        image = Image.fromarray(pixels)
        size = f"{width}x{height}"
        compare(
            f"tobytes {size}",
            lambda image=image: pixel_memory._TOBYTES(image),
            lambda image=image: memory.packed(image),
        )
        compare(
            f"frombytes {size}",
            lambda size=(width, height), pixels=pixels: Image.frombytes("RGB", size, pixels),
            lambda pixels=pixels: memory.image(pixels),
        )
        for out in OUT:
            for number, name in enumerate(FILTERS):
                if number == 0:
                    continue
                compare(
                    f"resize {name} {size} to {out[0]}x{out[1]}",
                    lambda image=image, out=out, by=number: resize(image, out, by),
                    lambda image=image, out=out, by=number: resized(image, out, by).im,
                    times=3,
                )


def stacks(random):
    for kind in (torch.uint8, torch.float32):
        for side in (224, 640):
            shape = 8, side, side, 3
            pixels = torch.from_numpy(random.randint(0, 256, shape, np.uint8)).to(kind)
            batch = list(pixels.permute(0, 3, 1, 2))
            out = torch.empty(8, 3, side, side, dtype=kind)
            compare(
                f"stack of 8 {str(kind)[6:]} {side}x{side}",
                lambda batch=batch, out=out: torch.stack(batch, 0, out=out),
                lambda batch=batch, out=out: stacking._wrote(batch, out),
            )


def slots():
    for size in (1 << 20, 16 << 20):
        fd = os.memfd_create("slot")
        os.posix_fallocate(fd, 0, size)
        content = bytes(size)

        def write(expects, fd=fd, size=size, content=content):
            with mmap.mmap(fd, size) as mapped:
                if expects:
                    pages.Pages(mapped).expect(0, size)
                mapped[:] = content

        compare(
            f"first write of a slot of {size >> 20} MiB",
            lambda w=write: w(False),
            lambda w=write: w(True),
        )
        os.close(fd)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    images.enable([])
    images._current.on = True
    random = np.random.RandomState(1)
    print("| what | library | native | ratio |\n|---|---|---|---|")
    slots()
    stacks(random)
    pictures(random)


if __name__ == "__main__":
    main()
