"""Cuts a few large photographs into a class-per-folder JPEG set that resembles ImageNet's files.

    python examples/make_photos.py SOURCE OUT [--per-class 80]

SOURCE holds the unpacked Debian packages lomiri-wallpapers-16.04 and mate-backgrounds (photographs
under free licences; `./dev demo` fetches them). One photograph is one class. Each image is a random
crop (30 to 90 % of the photograph's shorter side) in landscape or portrait shape, scaled to about
500x375 with Lanczos, and saved as JPEG.

What is made to resemble ImageNet, because it decides how long a decoder and a resizer work:
sizes (most have a long side of 500, a third are portrait or square, some are larger or smaller),
bytes (a mean of about 110 kB), chroma sub-sampling (76 % 4:4:4, 20 % 4:2:0, 2 % gray, and the
rest 4:2:2), and Huffman tables: 98 % of the files bring tables of their own. What is not: there are few scenes, and each is seen many times. So the set says
something about speed and equal bits, and nothing about the quality of a model.

Deterministic: the same sources and the same Pillow give the same bytes. Four images in five go to
train/, one to val/.
"""

import argparse
import json
import os
import random
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import PIL
from PIL import Image

LOMIRI = "usr/share/backgrounds"
MATE = "usr/share/backgrounds/mate/nature"
PHOTOGRAPHS = {
    "autumn_hills": f"{LOMIRI}/aitzgorri_by_Aitzol_Berasategi.jpg",
    "brushes": f"{LOMIRI}/Picture_1A_by_freespace.jpg",
    "clock": f"{LOMIRI}/greentock_by_Peter_Nerlich.jpg",
    "dandelions": f"{LOMIRI}/seeding_by_Clements_Engelhardt.jpg",
    "dogs": f"{LOMIRI}/friends_by_Aitzol_Berasategi.jpg",
    "dragonfly": f"{LOMIRI}/Dragonfly_by_Bolly.jpg",
    "drum": f"{LOMIRI}/Wine_by_Jakkub_Mede.jpg",
    "dune": f"{MATE}/Dune.jpg",
    "fig": f"{LOMIRI}/Picture_0B_by_freespace.jpg",
    "ladybird": f"{MATE}/LadyBird.jpg",
    "mountains": f"{LOMIRI}/picosdeeuropa_by_Aitzol_Berasategi.jpg",
    "rain_drops": f"{MATE}/RainDrops.jpg",
    "stream": f"{LOMIRI}/life_by_Aitzol_Berasategi.jpg",
    "sunset": f"{LOMIRI}/sunset_by_Aitzol_Berasategi.jpg",
    "wood": f"{MATE}/Wood.jpg",
    "yellow_flower": f"{MATE}/YellowFlower.jpg",
}
# (width, height), how often of 100
SHAPES = [
    ((500, 375), 44), ((500, 333), 16), ((375, 500), 14), ((333, 500), 6), ((500, 500), 4),
    ((500, 400), 4), ((640, 480), 4), ((400, 300), 3), ((250, 188), 2), ((800, 600), 2), ((1024, 768), 1),
]  # fmt: skip
SUBSAMPLING = [("4:4:4", 76), ("4:2:0", 20), ("gray", 2), ("4:2:2", 2)]
TARGET_BYTES = 110_000  # at 500x375


def draw(rng, weighted):
    return rng.choices([value for value, _ in weighted], [weight for _, weight in weighted])[0]


def encode(image, path, sampling, wanted_bytes, own_tables):
    """Saves with the lowest quality of a short ladder that reaches wanted_bytes."""
    options = {"optimize": own_tables}
    if sampling == "gray":
        image = image.convert("L")
    else:
        options["subsampling"] = sampling
    for quality in (75, 84, 90, 94, 96, 98):
        image.save(path, "JPEG", quality=quality, **options)
        if path.stat().st_size >= wanted_bytes:
            break


def make_class(job):
    name, photograph, out, per_class = job
    rng = random.Random(name)
    sizes = []
    with Image.open(photograph) as file:
        source = file.convert("RGB")
    for number in range(per_class):
        width, height = draw(rng, SHAPES)
        sampling = draw(rng, SUBSAMPLING)
        scale = rng.uniform(0.3, 0.9) * min(source.width / width, source.height / height)
        crop_width, crop_height = width * scale, height * scale
        left = rng.uniform(0, source.width - crop_width)
        top = rng.uniform(0, source.height - crop_height)
        box = (left, top, left + crop_width, top + crop_height)
        image = source.resize((width, height), Image.Resampling.LANCZOS, box=box)
        wanted = TARGET_BYTES * (width * height) / (500 * 375) * rng.uniform(0.6, 1.5)
        path = out / ("val" if number % 5 == 4 else "train") / name / f"{name}_{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        encode(image, path, sampling, wanted, own_tables=number % 50 != 0)
        sizes.append((width, height, path.stat().st_size))
    return sizes


def make_set(source, out, per_class):
    missing = [path for path in PHOTOGRAPHS.values() if not (source / path).is_file()]
    if missing:
        raise SystemExit(
            f"{source} lacks {missing[0]}: unpack the Debian packages named above there"
        )
    jobs = [(name, source / path, out, per_class) for name, path in PHOTOGRAPHS.items()]
    sizes = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done, part in enumerate(pool.map(make_class, jobs), start=1):
            sizes += part
            if sys.stderr.isatty():
                print(f"\r      {done}/{len(jobs)} photographs cut ", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--per-class", type=int, default=80)
    args = parser.parse_args()

    recipe = {
        "per_class": args.per_class,
        "pillow": PIL.__version__,
        "script": Path(__file__).read_text(),
    }
    made = args.out / "made.json"
    if made.is_file() and json.loads(made.read_text())["recipe"] == recipe:
        summary = json.loads(made.read_text())["summary"]
        print(f"      {args.out} is there already: {summary}")
        return
    work = args.out.with_name(args.out.name + ".new")
    shutil.rmtree(work, ignore_errors=True)
    sizes = make_set(args.source, work, args.per_class)
    count = len(sizes)
    summary = (
        f"{count} images of {len(PHOTOGRAPHS)} photographs, mean "
        f"{sum(s[0] for s in sizes) / count:.0f}x{sum(s[1] for s in sizes) / count:.0f}, "
        f"{sum(s[2] for s in sizes) / count / 1000:.0f} kB"
    )
    (work / "made.json").write_text(json.dumps({"recipe": recipe, "summary": summary}))
    shutil.rmtree(args.out, ignore_errors=True)
    work.rename(args.out)
    print(f"      made {args.out}: {summary}")


if __name__ == "__main__":
    main()
