"""Samples a second on one core, trainer included: Headrace against the stock loader, same bits.

Everything of one variant (training process, coordinator, worker, or the stock loader's worker) is
pinned to the same single CPU, so samples per wall second are samples per core second.
"""

import argparse
import pathlib

import harness
from loader_program import mask_path
from PIL import Image

# Other programs: kind of the loader program -> what it is. Those that say so are made by a Python
# stage, the others are native.
KINDS = {
    "tensor": "torchvision's v2 transforms of tensors",
    "floats": "transforms of tensors of float32, from `ToTensor` on",
    "simclr": "two SimCLR views of a picture, blur included",
    "own": "a dataset class of the program's own",
    "forgiving": "such a class that catches errors: a Python stage",
    "mixup": "MixUp and CutMix in `collate_fn`: a Python stage",
    "views": "two SimCLR views of a picture, of an own dataset class",
    "masks": "a picture and its mask, of an own dataset class",
    "boxes": "pictures with boxes, of an own dataset class",
    "timm": "timm's transforms with RandAugment and erasing",
}


def make_masks(photos: pathlib.Path) -> None:
    """Masks of 20 labels with a palette, as large as their photographs."""
    for photo in sorted(photos.rglob("*.jpg")):
        path = pathlib.Path(mask_path(str(photos), str(photo)))
        if path.exists():
            continue
        image = Image.open(photo)
        coarse = image.convert("L").resize((image.width // 16 + 1, image.height // 16 + 1))
        mask = coarse.point([value // 13 for value in range(256)]).resize(image.size, Image.NEAREST)
        mask.putpalette([value * 12 % 256 for value in range(768)])
        path.parent.mkdir(parents=True, exist_ok=True)
        mask.save(path)


def rate(result: dict, first_epoch: int) -> float:
    epochs = result["epochs"][first_epoch:]
    return sum(e["samples"] for e in epochs) / sum(e["wall_s"] for e in epochs)


def sums(result: dict) -> list:
    return [e["sums"] for e in result["epochs"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cpu", default="0")
    parser.add_argument("--cache", default="2G", help="for the cached variant")
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    make_masks(args.data)

    stock = harness.Variant("stock", None, args.cpu)
    plain = harness.Variant("headrace", ["--workers", "1", "--threads", "1"], args.cpu)
    cached = harness.Variant("cached", [*plain.headrace, "--cache", args.cache], args.cpu)
    program = [str(args.data), "--num-workers", "1", "--epochs", "3"]

    jpeg = harness.alternate(plain, stock, program, args.pairs)
    decoded = harness.alternate(cached, stock, program, args.pairs)
    others = {
        kind: harness.alternate(plain, stock, [*program, f"--kind={kind}"], args.pairs)
        for kind in KINDS
    }

    # The bits, on the same pipeline, in runs of their own: checksums cost the trainer time.
    equal = {}
    for name, variant, kind in (
        ("from JPEG", plain, "folder"),
        ("from the cache", cached, "folder"),
        *((what, plain, kind) for kind, what in KINDS.items()),
    ):
        checked = [*program, "--sums", f"--kind={kind}"]
        theirs, ours = (sums(harness.run(v, checked)) for v in (stock, variant))
        pairs = [pair for a, b in zip(theirs, ours, strict=True) for pair in zip(a, b, strict=True)]
        equal[name] = (sum(x == y for x, y in pairs), len(pairs))

    jpeg_ratio = harness.spread([rate(a, 1) / rate(b, 1) for a, b in jpeg])
    cache_ratio = harness.spread([rate(a, 1) / rate(b, 1) for a, b in decoded])
    kind_ratios = {
        kind: harness.spread([rate(a, 1) / rate(b, 1) for a, b in pairs])
        for kind, pairs in others.items()
    }
    first_ratio = harness.spread([rate(a, 0) / rate(b, 0) for a, b in jpeg])
    rows = [
        (
            "stock loader, samples/s a core",
            harness.show(harness.spread([rate(b, 1) for _, b in jpeg]), 0),
        ),
        (
            "Headrace from JPEG, samples/s a core",
            harness.show(harness.spread([rate(a, 1) for a, _ in jpeg]), 0),
        ),
        ("**ratio from JPEG** (epochs after the first)", harness.show(jpeg_ratio)),
        ("ratio from JPEG, first epoch and start-up included", harness.show(first_ratio)),
        (
            "Headrace from the decoded cache, samples/s a core",
            harness.show(harness.spread([rate(a, 1) for a, _ in decoded]), 0),
        ),
        ("**ratio from the cache** (epochs after the first)", harness.show(cache_ratio)),
    ]
    for kind, what in KINDS.items():
        rows += [
            (
                f"{what}: stock loader, samples/s a core",
                harness.show(harness.spread([rate(b, 1) for _, b in others[kind]]), 0),
            ),
            (
                f"{what}: Headrace, samples/s a core",
                harness.show(harness.spread([rate(a, 1) for a, _ in others[kind]]), 0),
            ),
            (f"**ratio: {what}** (epochs after the first)", harness.show(kind_ratios[kind])),
        ]
    rows += [
        (f"batches equal to stock, {name}", f"{same} of {total}")
        for name, (same, total) in equal.items()
    ]
    harness.write_report(
        "throughput",
        "Throughput on one core",
        rows,
        {
            "photos": photos,
            "jpeg_ratio": jpeg_ratio,
            "cache_ratio": cache_ratio,
            "kind_ratios": kind_ratios,
            "jpeg": jpeg,
            "cached": decoded,
            "kinds": others,
        },
    )
    if any(same != total for same, total in equal.values()):
        raise SystemExit("batches differ from the stock loader's")


if __name__ == "__main__":
    main()
