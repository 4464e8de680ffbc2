"""Plans that C++ programs compose, against those that the Python package makes of the same pipelines."""

import json
import os
import random
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path

import headrace
import numpy as np
import pytest
import torch
from headrace.capture.capture import capture
from headrace.native.libraries import libraries
from headrace.native.plan import SOURCE, TORCH_DTYPES
from PIL import Image
from support.extent import share
from support.object_server import BUCKET
from support.pipelines import EVERY, MEAN, STD, evaluate_tensors, train_tensors, train_v1, train_v2
from torch.utils.data import DataLoader, Subset, TensorDataset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEADRACE_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = BUILD / "tests" / "integration" / "build_plan"
BINARY = Path(sys.executable).parent / "headrace"
DTYPE_NUMBERS = {
    name: number
    for number, name in enumerate(
        ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"]
    )
}  # fmt: skip
_EXP_HEAD, _EXP_COUNT = 16, 12  # bytes of the constant's head, and where it says how many there are


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two classes of pictures, with sizes of both orientations."""
    root = tmp_path_factory.mktemp("pictures")
    for i in range(12):
        pixels = np.random.default_rng(i).integers(0, 256, (6, 8, 3), np.uint8)
        path = root / "ab"[i % 2] / f"{i}.{'jpg' if i % 3 else 'png'}"
        path.parent.mkdir(exist_ok=True)
        size = (60 + 3 * i, 90 - 4 * i)
        Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC).save(path)
    return root


def run(said, *arguments):
    """What the C++ program makes: its plan, or the message of its refusal."""
    made = subprocess.run(
        [PROGRAM, *map(str, arguments)], input=json.dumps(said), capture_output=True, text=True,
        env=os.environ | {"HEADRACE_BINARY": str(BINARY)}, timeout=120,
    )  # fmt: skip
    return json.loads(made.stdout) if made.returncode == 0 else made.stderr


def calls_of(plan):
    """The calls of a builder that make the nodes and fields of a plan."""
    calls, fields = [], {}
    for number, made in enumerate(plan.fields):
        at = len(plan.chain) - 1 if made.kind == "chain" else made.index
        fields[number] = (made.kind, at)
    before = SOURCE
    for number, node in enumerate(plan.chain):
        if node.op == "stack":
            calls.append(["Stack", node.inputs or [number - 1]])
            continue
        source = node.inputs[0] if node.inputs else number - 1
        if source != before:
            calls.append(["From", source] if source != SOURCE else ["FromSample"])
        args = {name: value for name, value in node.args.items() if value is not None}
        calls.append(["Then", node.op, args])
        before = number
    for kind, at in fields.values():
        if kind == "array":
            calls.append(["LabelField"] if not plan.leaves[0].arrays else ["ArrayField", at])
        else:
            calls += [["From", at], ["ListField" if kind == "list" else "Field"]]
    return calls


def as_json(plan):
    """A plan of the Python package as the C++ program writes its own."""

    def number(blob):
        return -1 if blob is None else blob.hash

    def plain(args):
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in args.items()
            if value is not None
        }

    return {
        "rng": plan.rng,
        "lanes": plan.lanes,
        "row_map": number(plan.row_map),
        "chain": [
            {"op": n.op, "args": plain(n.args), "purity": n.purity, "inputs": list(n.inputs)}
            for n in plan.chain
        ],
        "fields": [{"kind": f.kind, "index": f.index} for f in plan.fields],
        "leaves": [
            {
                "source": leaf.source,
                "args": plain(leaf.args),
                "rows": leaf.rows,
                "table": number(leaf.table),
                "arrays": [
                    {
                        "blob": number(a.blob),
                        "dtype": DTYPE_NUMBERS[a.dtype],
                        "row_shape": list(a.row_shape),
                    }
                    for a in leaf.arrays
                ],
            }
            for leaf in plan.leaves
        ],
        "constants": {name: blob.hash for name, blob in plan.constants.items()},
    }


def said_of(plan, source, folder, calls=None):
    """What build_plan is told so that it makes this plan."""
    of = libraries()
    said = {
        "source": source,
        "calls": calls if calls is not None else calls_of(plan),
        "libraries": [of.pillow, of.torch, of.torchvision, of.cpu_capability],
    }
    if plan.rng != "none":
        said |= {"rng": plan.rng, "lanes": plan.lanes}
    if "torch_exp" in plan.constants:
        table = bytes(plan.constants["torch_exp"])
        count = int.from_bytes(table[_EXP_COUNT : _EXP_COUNT + 4], "little")
        (folder / "exp").write_bytes(table[len(table) - 8 * count :])
        said["exp"] = str(folder / "exp")
    return said


def native(dataset, rng="auto", **named):
    found = capture(DataLoader(dataset, **{"num_workers": 2, **named}), rng, None)
    assert found.path == "native", found
    return found.plan


def check(plan, source, folder, calls=None):
    made = run(said_of(plan, source, folder, calls))
    assert isinstance(made, dict), made
    made.pop("name")
    if plan.rng == "none":
        made["lanes"] = plan.lanes
    assert made == as_json(plan)


def test_a_pipeline_written_in_cpp_is_the_plan_of_the_same_in_python(pictures, tmp_path):
    """The calls are written as a person would, not made of the plan."""
    plan = native(ImageFolder(pictures, train_v1()))
    said = said_of(plan, {"kind": "folder", "root": str(pictures)}, tmp_path)
    ratio = [3 / 4, 4 / 3]
    log_ratio = torch.log(torch.tensor(ratio)).tolist()  # torch does not round it correctly
    crop = {"size": [32, 32], "scale": [0.08, 1], "ratio": ratio, "log_ratio": log_ratio}
    said["calls"] = [
        ["Then", "decode", {"mode": "RGB"}],
        ["Then", "random_resized_crop", crop],
        ["Then", "random_horizontal_flip", {"p": 0.5}],
        ["Then", "to_tensor", {}],
        ["Then", "normalize", {"mean": MEAN, "std": STD}],
        ["Field"],
        ["LabelField"],
    ]  # fmt: skip
    made = run(said)
    assert isinstance(made, dict), made
    want = as_json(plan)
    usual = {
        "interpolation": "bilinear",
        "antialias": 1,
        "tensors": 1,
        "floats": 1,
        "api": 1,
        "inplace": 0,
    }
    for mine, theirs in zip(made["chain"], want["chain"], strict=True):
        assert (mine["op"], mine["purity"], mine["inputs"]) == (
            theirs["op"], theirs["purity"], theirs["inputs"],
        )  # fmt: skip
        more = {k: v for k, v in theirs["args"].items() if k not in mine["args"]}
        assert more.items() <= usual.items()
        assert mine["args"].items() <= theirs["args"].items()
    for part in ("fields", "leaves", "constants", "rng", "lanes", "row_map"):
        assert made[part] == want[part], part


PIPELINES = {
    "v1": train_v1(),
    "v2": train_v2(),
    "tensors": train_tensors(),
    "evaluate": evaluate_tensors(),
    "five crops": v1.Compose(
        [v1.FiveCrop(20), v1.Lambda(lambda crops: torch.stack([v1.ToTensor()(c) for c in crops]))]
    ),
    "order": v1.Compose(
        [
            v1.Resize((30, 30)),
            v1.RandomApply([v1.ColorJitter(0.3)], 0.7),
            v1.RandomGrayscale(0.5),
            v1.ToTensor(),
        ]
    ),
    "gates": v1.Compose(
        [
            v1.Resize((30, 30)),
            v1.RandomApply([v1.ColorJitter(0.3), v1.GaussianBlur(3)], 0.7),
            v1.RandomOrder([v1.RandomHorizontalFlip(), v1.RandomVerticalFlip()]),
            v1.ToTensor(),
        ]
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("rng", ["auto", "sample"])
def test_plans_of_pipelines_are_equal(name, rng, pictures, tmp_path):
    plan = native(ImageFolder(pictures, PIPELINES[name]), rng)
    check(plan, {"kind": "folder", "root": str(pictures)}, tmp_path)


def random_pipeline(random_):
    """A chain that people could write: transforms of pictures, then a tensor of one size."""
    lib = random_.choice([v1, v2])
    at = [v1, v2].index(lib)
    names = [
        n
        for n in EVERY
        if not n.startswith(("to_", "cv_", "normalize", "random_erasing", "pil_to"))
    ]
    parts = []
    for name in random_.choices(names, k=random_.randint(0, 4)):
        transforms = EVERY[name]
        parts.append(transforms[min(at, len(transforms) - 1)])
    end = [v1.ToTensor()] if at == 0 else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    return lib.Compose([*parts, lib.Resize((24, 24)), *end, lib.Normalize(MEAN, STD)])


def test_plans_of_random_chains_are_equal(pictures, tmp_path):
    seed = int(os.environ.get("HEADRACE_TEST_SEED", 2020))
    print(f"HEADRACE_TEST_SEED={seed}")
    random_ = random.Random(seed)
    compared = 0
    for _ in range(share(60, 15)):
        dataset = ImageFolder(pictures, random_pipeline(random_))
        found = capture(
            DataLoader(dataset, num_workers=2), random_.choice(["auto", "sample"]), None
        )
        if found.path != "native":  # such a chain has no native form, in C++ neither
            continue
        check(found.plan, {"kind": "folder", "root": str(pictures)}, tmp_path)
        compared += 1
    assert compared >= share(30, 8)


def test_sources_are_equal(pictures, tmp_path):
    """Files in shards, in groups of several, and in a store; rows of arrays in memory and in files."""
    files = sorted(path for path in pictures.rglob("*.*"))
    transform = v1.Compose([v1.Resize((16, 16)), v1.ToTensor()])
    with (
        tarfile.open(tmp_path / "a.tar", "w") as tar,
        zipfile.ZipFile(tmp_path / "a.zip", "w") as packed,
    ):
        for i, path in enumerate(files):
            label = tmp_path / "label"
            label.write_text(f"{i - 3}\n")
            tar.add(path, f"{i:03d}{path.suffix}")
            tar.add(label, f"{i:03d}.cls")
            packed.write(path, f"{path.parent.name}/{path.name}", i % 2 * zipfile.ZIP_DEFLATED)
    for kind in ("tar", "zip"):
        path = str(tmp_path / f"a.{kind}")
        plan = native(headrace.open_dataset(path, transform))
        check(plan, {"kind": f"{kind}s", "paths": [path]}, tmp_path)
    subset = Subset(ImageFolder(pictures, transform), [3, 1, 1, 7])
    calls = [["Rows", [3, 1, 1, 7]], *calls_of(native(subset))]
    check(native(subset), {"kind": "folder", "root": str(pictures)}, tmp_path, calls)


def test_objects_are_equal(tmp_path):
    base = f"s3://{BUCKET}/train"
    names = ["a/0.jpg", "b/1.jpg"]
    dataset = headrace.open_dataset(
        base, v1.Compose([v1.Resize((8, 8)), v1.ToTensor()]), names=names,
        endpoint="http://127.0.0.1:1", region="here", anonymous=True,
    )  # fmt: skip
    source = {
        "kind": "objects", "base": base, "names": names, "labels": [0, 1],
        "endpoint": "http://127.0.0.1:1", "region": "here", "anonymous": True,
    }  # fmt: skip
    check(native(dataset), source, tmp_path)


def test_arrays_are_equal(tmp_path):
    """Of memory by their bytes, of .npy files by their places."""
    pixels = np.random.default_rng(1).integers(0, 256, (5, 3, 4), np.uint8)
    labels = np.arange(5, dtype=np.int64)
    pixels.tofile(tmp_path / "pixels")
    labels.tofile(tmp_path / "labels")
    plan = native(TensorDataset(torch.from_numpy(pixels), torch.from_numpy(labels)))
    column = {"dtype": "uint8", "row_shape": [3, 4], "path": str(tmp_path / "pixels")}
    of_labels = {"dtype": "int64", "row_shape": [], "path": str(tmp_path / "labels")}
    check(plan, {"kind": "arrays", "rows": 5, "columns": [column, of_labels]}, tmp_path)
    np.save(tmp_path / "a.npy", pixels)
    np.save(tmp_path / "b.npy", labels)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("a.npy", "b.npy")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of maps that nobody writes to
        plan = native(TensorDataset(*map(torch.from_numpy, mapped)))
    assert plan.leaves[0].source == "array_files"
    paths = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    check(plan, {"kind": "npy", "paths": paths}, tmp_path)


def batches_of(said, keys, base_seed, dtypes, shapes, folder):
    made = run(said | {"batches": keys, "base_seed": base_seed}, "--batches", folder)
    assert isinstance(made, dict), made
    return [
        [
            torch.from_numpy(
                np.frombuffer((folder / f"{b}-{f}").read_bytes(), np.uint8).copy()
            ).view(TORCH_DTYPES[dtype]).reshape(len(of), *shape)
            for f, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
        ]
        for b, of in enumerate(keys)
    ]  # fmt: skip


def base_seed_of(generator):
    """What a DataLoader's iter() draws first."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


@pytest.mark.parametrize("name", ["v1", "tensors", "order"])
def test_batches_are_those_of_the_stock_loader(name, pictures, tmp_path):
    dataset = ImageFolder(pictures, PIPELINES[name])
    loader = DataLoader(
        dataset, batch_size=5, num_workers=2, generator=torch.Generator().manual_seed(7)
    )
    want = list(loader)
    plan = native(dataset)
    said = said_of(plan, {"kind": "folder", "root": str(pictures)}, tmp_path)
    keys = [list(range(12))[i : i + 5] for i in range(0, 12, 5)]
    seed = base_seed_of(torch.Generator().manual_seed(7))
    shape = list(want[0][0].shape[1:])
    got = batches_of(said, keys, seed, ["float32", "int64"], [shape, []], tmp_path)
    for mine, theirs in zip(got, want, strict=True):
        assert torch.equal(mine[0].view(torch.int32), theirs[0].view(torch.int32))
        assert torch.equal(mine[1], theirs[1])


def test_windows_of_a_file_are_rows(tmp_path):
    tokens = (np.arange(100) * 601 % 65536).astype(np.uint16)
    tokens.tofile(tmp_path / "tokens")
    column = {
        "path": str(tmp_path / "tokens"), "first": 4, "stride": 6, "dtype": "int64",
        "row_shape": [8], "elements": "<u2",
    }  # fmt: skip
    said = {
        "source": {"kind": "array_files", "rows": 30, "columns": [column]},
        "calls": [["ArrayField", 0]],
    }
    (got,) = batches_of(said, [[0, 29, 4]], 0, ["int64"], [[8]], tmp_path)[0]
    want = [tokens[2 + 3 * row : 10 + 3 * row].astype(np.int64) for row in (0, 29, 4)]
    assert np.array_equal(got.numpy(), np.stack(want))


def test_what_is_wrong_is_said(pictures):
    source = {"kind": "folder", "root": str(pictures)}
    refused = run(
        {"source": source, "calls": [["Then", "decode", {}], ["Then", "resize", {"size": 0}]]}
    )
    assert "step 1 resize: argument size is 0, and may be 1..1048576" in refused
