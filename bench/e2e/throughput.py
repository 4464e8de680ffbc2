"""Samples a second on one core, trainer included: Headrace against the stock loader, same bits.

Everything of one variant (training process, coordinator, worker, or the stock loader's worker) is
pinned to the same single CPU, so samples per wall second are samples per core second.
"""

import argparse
import pathlib

import harness


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

    stock = harness.Variant("stock", None, args.cpu)
    plain = harness.Variant("headrace", ["--workers", "1", "--threads", "1"], args.cpu)
    cached = harness.Variant("cached", [*plain.headrace, "--cache", args.cache], args.cpu)
    program = [str(args.data), "--num-workers", "1", "--epochs", "3"]

    jpeg = harness.alternate(plain, stock, program, args.pairs)
    decoded = harness.alternate(cached, stock, program, args.pairs)
    own = harness.alternate(plain, stock, [*program, "--own"], args.pairs)

    # The bits, on the same pipeline, in runs of their own: checksums cost the trainer time.
    checked = [harness.run(v, [*program, "--sums"]) for v in (stock, plain, cached)]
    checked.append(harness.run(plain, [*program, "--sums", "--own"]))
    equal = [
        sum(
            x == y
            for a, b in zip(sums(checked[0]), sums(c), strict=True)
            for x, y in zip(a, b, strict=True)
        )
        for c in checked[1:]
    ]
    total = sum(len(e) for e in sums(checked[0]))

    jpeg_ratio = harness.spread([rate(a, 1) / rate(b, 1) for a, b in jpeg])
    cache_ratio = harness.spread([rate(a, 1) / rate(b, 1) for a, b in decoded])
    own_ratio = harness.spread([rate(a, 1) / rate(b, 1) for a, b in own])
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
        (
            "Headrace, a dataset class of the program's own, samples/s a core",
            harness.show(harness.spread([rate(a, 1) for a, _ in own]), 0),
        ),
        (
            "**ratio for a dataset class of the program's own** (epochs after the first)",
            harness.show(own_ratio),
        ),
        ("batches equal to stock, from JPEG", f"{equal[0]} of {total}"),
        ("batches equal to stock, from the cache", f"{equal[1]} of {total}"),
        ("batches equal to stock, own dataset class", f"{equal[2]} of {total}"),
    ]
    harness.write_report(
        "throughput",
        "Throughput on one core",
        rows,
        {
            "photos": photos,
            "jpeg_ratio": jpeg_ratio,
            "cache_ratio": cache_ratio,
            "own_ratio": own_ratio,
            "jpeg": jpeg,
            "cached": decoded,
            "own": own,
        },
    )
    if equal != [total] * len(equal):
        raise SystemExit("batches differ from the stock loader's")


if __name__ == "__main__":
    main()
