"""Single rows of the operators' table against torchvision with Pillow or torchvision.io: from a file's
bytes to a tensor,
CPU time a sample on one core, in alternation in one process. Bits and draws of the first pass are
compared.
"""

import argparse
import io
import pathlib
import statistics
import time

import harness
import numpy as np
import torch
from headrace import _images
from headrace.native.libraries import libraries
from headrace.native.plan import Node, Plan
from headrace.native.torch_exp import torch_exp
from headrace.native.transforms import node_of, nodes_of
from PIL import Image
from torchvision import transforms as v1
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import InterpolationMode, v2

END = [v1.ToTensor(), v1.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
TENSOR = "tensor"  # the form of JPEG files whose pictures are torchvision.io's
TAIL = [
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
]
TRAINING = [v1.RandomResizedCrop(224), v1.RandomHorizontalFlip()]


def perspective(mode: str) -> v1.RandomPerspective:
    return v1.RandomPerspective(0.5, 1.0, InterpolationMode(mode))


ROWS = {
    "PNG, training": ("PNG", [*TRAINING, *END]),
    "PNG, evaluation": ("PNG", [v1.Resize(256), v1.CenterCrop(224), *END]),
    "PNG, 16-bit gray, training": ("gray", [*TRAINING, *END]),
    "PNG, RGBA, training": ("RGBA", [*TRAINING, *END]),
    **{
        f"JPEG, training, RandomPerspective {mode}": ("JPEG", [*TRAINING, perspective(mode), *END])
        for mode in ("nearest", "bilinear", "bicubic")
    },
    "JPEG, training, ElasticTransform": ("JPEG", [*TRAINING, v1.ElasticTransform(), *END]),
    "JPEG, training, ElasticTransform of a tensor": (
        "JPEG",
        [*TRAINING, v2.ToImage(), v2.ElasticTransform(), *TAIL],
    ),
    "torchvision.io, training": (
        TENSOR,
        [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), *TAIL],
    ),
    "torchvision.io, training, TrivialAugmentWide": (
        TENSOR,
        [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.TrivialAugmentWide(), *TAIL],
    ),
    "torchvision.io, evaluation": (TENSOR, [v2.Resize(256), v2.CenterCrop(224), *TAIL]),
}


def encoded(path: pathlib.Path, form: str) -> bytes:
    if form in ("JPEG", TENSOR):
        return path.read_bytes()
    image = Image.open(path).convert("RGB")
    if form == "gray":
        image = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 3)
    elif form == "RGBA":
        image.putalpha(image.convert("L"))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def compiled(form: str, transform: v1.Compose, renderer: "_images.Renderer") -> "_images.Chain":
    if form == TENSOR:
        decode = Node("decode", {"mode": "RGB", "library": "torchvision.io"})
        nodes = [decode, Node("pil_to_tensor"), *map(node_of, transform.transforms)]
    else:
        nodes = [Node("decode", {"mode": "RGB"}), *nodes_of(transform)]
    plan = Plan(chain=nodes, libraries=libraries())
    chain = renderer.compile([(node.op, node.args) for node in plan.chain], torch_exp(plan))
    if chain is None:
        raise SystemExit(f"{transform} has no native form here")
    return chain


def stock(form: str, transform: v1.Compose, files: list[bytes]) -> list[torch.Tensor]:
    if form == TENSOR:
        tensors = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]
        return [transform(decode_jpeg(data, ImageReadMode.RGB)) for data in tensors]
    return [transform(Image.open(io.BytesIO(file)).convert("RGB")) for file in files]


def native(chain: "_images.Chain", files: list[bytes]) -> list[np.ndarray]:
    state = torch.get_rng_state().numpy()
    return [chain.run_file(file, state) for file in files]


def check(form: str, transform: v1.Compose, chain: "_images.Chain", files: list[bytes]) -> None:
    torch.manual_seed(1)
    theirs = stock(form, transform, files)
    torch.manual_seed(1)
    ours = native(chain, files)
    same = [
        b is not None and a.numpy().tobytes() == b.tobytes()
        for a, b in zip(theirs, ours, strict=True)
    ]
    if not all(same):
        raise SystemExit(f"{same.count(False)} of {len(same)} samples differ: {transform}")


def milliseconds(call, *args) -> float:
    torch.manual_seed(2)
    started = time.process_time()
    made = call(*args)
    return (time.process_time() - started) / len(made) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=9)
    args = parser.parse_args()
    torch.set_num_threads(1)
    photos = harness.describe_photos(args.data)
    paths = sorted(args.data.rglob("*.jpg"))
    paths = paths[:: max(len(paths) // args.files, 1)][: args.files]
    program = libraries()
    renderer = _images.Renderer(
        program.pillow, program.torch, program.torchvision, program.cpu_capability
    )
    rows, data = [], {}
    for name, (form, steps) in ROWS.items():
        files = [encoded(path, form) for path in paths]
        transform = v1.Compose(steps)
        chain = compiled(form, transform, renderer)
        check(form, transform, chain, files)
        pairs = [
            (milliseconds(stock, form, transform, files), milliseconds(native, chain, files))
            for _ in range(args.pairs)
        ]
        data[name] = pairs
        before, after = map(statistics.median, zip(*pairs, strict=True))
        ratios = harness.spread([theirs / ours for theirs, ours in pairs])
        rows.append((name, f"{before:.2f} ms, {after:.2f} ms, ratio {harness.show(ratios)}"))
    harness.write_report(
        "native_rows",
        "Single native rows, CPU time a sample",
        rows,
        {"photos": photos, "stock_and_native_ms": data},
    )


if __name__ == "__main__":
    main()
