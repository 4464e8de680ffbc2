"""Writes the operators of real transforms as the first inputs of graph_fuzz, and a dictionary of their
words beside them. Run it after a change of operators:

python tests/fuzz/graph_seeds.py
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1])]

from headrace.capture import NotNative  # noqa: E402
from headrace.native.transforms import nodes_of  # noqa: E402
from support.pipelines import EVERY, chain_with, train_tensors, train_v1  # noqa: E402
from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import v2  # noqa: E402


def value_text(value: Any) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, list | tuple):
        kind = "D" if any(isinstance(part, float) for part in value) else "I"
        return kind + ",".join(str(part) for part in value)
    return f"d{value}" if isinstance(value, float) else f"i{int(value)}"


def node_text(node: Any) -> str:
    parts = [node.op, *(f"{name}={value_text(value)}" for name, value in node.args.items())]
    inputs = getattr(node, "inputs", None)
    return " ".join([*parts, *(["<" + ",".join(map(str, inputs))] if inputs else [])])


def transforms() -> Iterator[tuple[str, Any]]:
    for api in (0, 1):
        for op in EVERY:
            yield f"{op}-{api}", chain_with(op, api)
    yield "train_v1", train_v1()
    for api in (1, 2):
        yield f"tensors-{api}", train_tensors(api)
    for api in (v1, v2):
        for size in (5, (9, 4), 70):
            steps = [api.Resize(size), api.CenterCrop(6), api.ToTensor()]
            yield f"resize-{api.__name__}-{size}", api.Compose(steps)
        steps = [api.RandomCrop(8, 3, pad_if_needed=True), api.ToTensor(), api.RandomErasing(0.9)]
        yield f"crop-{api.__name__}", api.Compose(steps)


def main() -> None:
    folder = Path(__file__).parent / "seeds" / "graph_fuzz"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = set()
    for name, transform in transforms():
        try:
            nodes = nodes_of(transform)
        except NotNative:
            continue
        text = "\n".join(["decode", *(node_text(node) for node in nodes)])
        (folder / re.sub(r"\W+", "-", name)).write_text(text + "\n")
        words.update(re.findall(r"[a-z_]{3,}=?[a-zA-Z]?", text))
    lines = [f'"{word}"' for word in sorted(words)]
    folder.with_suffix(".dict").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
