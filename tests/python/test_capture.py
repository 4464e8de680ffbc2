"""From datasets, transforms and hooks to a plan, or to the reason why not."""

import functools
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
import torch
import torchvision
from headrace.capture import Local, NotNative, capture
from headrace.capture.hooks import seeds_only
from headrace.native import binding
from headrace.native.transforms import nodes_of
from headrace.process.modules import names_in
from support.pipelines import (
    EVERY,
    MEAN,
    STD,
    Numbers,
    chain_with,
    collate_names,
    evaluate_tensors,
    seed_other_generators,
    seed_torch,
    train_tensors,
    train_v1,
)
from support.torch_bits import with_products
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

# Whether tensors are resized natively: not for torch's build without AVX2.
KNOWS_TENSORS = torch.backends.cpu.get_cpu_capability() != "DEFAULT"


def captured(dataset, before=None, rng="auto", **named):
    named = {"num_workers": 1, **named}
    return capture(DataLoader(dataset, **named), rng, before)


def test_imagenet_chain():
    nodes = nodes_of(
        v1.Compose(
            [
                v1.RandomResizedCrop(224, interpolation=v1.InterpolationMode.BICUBIC),
                v1.Compose([v1.RandomHorizontalFlip(0.3)]),
                v1.ToTensor(),
                v1.Normalize(MEAN, STD, inplace=True),
            ]
        )
    )
    assert [(node.op, node.args, node.purity) for node in nodes] == [
        (
            "random_resized_crop",
            {
                "size": [224, 224],
                "scale": [0.08, 1.0],
                "ratio": [3 / 4, 4 / 3],
                "log_ratio": torch.log(torch.tensor((3 / 4, 4 / 3))).tolist(),
                "interpolation": "bicubic",
                "antialias": 1,
                "tensors": int(KNOWS_TENSORS),
                "api": 1,
            },
            "random",
        ),
        ("random_horizontal_flip", {"p": 0.3}, "random"),
        ("to_tensor", {}, "pure"),
        ("normalize", {"mean": list(MEAN), "std": list(STD), "inplace": 1}, "pure"),
    ]
    assert nodes[1].label == "RandomHorizontalFlip(p=0.3)"


@pytest.mark.parametrize("api", [0, 1], ids=["v1", "v2"])
@pytest.mark.parametrize("op", with_products(EVERY, {"aug_mix"}))
def test_every_transform_is_native(photos, op, api):
    found = captured(datasets.ImageFolder(photos, chain_with(op, api)))
    assert found.path == "native", found
    assert op in [node.op for node in found.plan.chain]


@pytest.mark.parametrize(
    "transform",
    [train_tensors(1), train_tensors(2), evaluate_tensors()],
    ids=["v1", "v2", "validation"],
)
def test_tensors_are_resized_natively(photos, transform):
    found = captured(datasets.ImageFolder(photos, transform))
    if KNOWS_TENSORS:
        assert found.path == "native", found
    else:
        assert found.path == "python" and "resizes tensors to other bits" in found.reason


@pytest.mark.parametrize("api", [v1, v2])
@pytest.mark.parametrize("padding", [3, [1, 2], [1, 2, 3, 4]])
def test_sides_of_a_random_crops_padding(api, padding):
    """v2 keeps them in another order than it is given."""
    node, _ = nodes_of(v1.Compose([api.RandomCrop(8, padding), v1.ToTensor()]))
    given = {3: [3] * 4, 2: [1, 2, 1, 2], 4: [1, 2, 3, 4]}[
        padding if padding == 3 else len(padding)
    ]
    kept = node.args["padding"]
    sides = [kept] * 4 if kept == 3 else kept * 2 if len(kept) == 2 else kept
    assert sides == given


class MyCrop(v1.CenterCrop):
    pass


def test_what_is_not_exactly_the_librarys_is_not_native():
    hooked = v2.CenterCrop(3)
    hooked.register_forward_hook(lambda *args: None)
    replaced = v1.CenterCrop(3)
    replaced.forward = lambda image: image
    compiled = v2.CenterCrop(3)
    compiled._compiled_call_impl = compiled._call_impl  # as compile() does
    for transform, reason in [
        (compiled, "CenterCrop is compiled"),
        (v2.RandomHorizontalFlip(torch.tensor([0.1], dtype=torch.float64)), "p=tensor"),
        (MyCrop(3), "MyCrop has no native form"),
        (v1.Lambda(abs), "Lambda has no native form"),
        (v2.RandomChoice([v2.CenterCrop(3)]), "RandomChoice has no native form"),
        (hooked, "CenterCrop has forward hooks"),
        (replaced, "its forward was replaced"),
        (v1.Normalize("ab", "cd"), "is not a list of numbers"),
        (v1.RandomErasing(value="random"), "value='random'"),
        (v2.RandomErasing(value="random"), "value='random'"),
        (v2.ToDtype({torch.Tensor: torch.float32}), "has no native form"),
    ]:
        with pytest.raises(NotNative, match=reason):
            nodes_of(v1.Compose([transform, v1.ToTensor()]))
    with pytest.raises(NotNative, match="yields PIL images"):
        nodes_of(v1.CenterCrop(3))


class Recipe:
    def __init__(self, *steps):
        """Holds them."""
        self.steps = v1.Compose(steps)

    def __call__(self, img):
        """Does what they do."""
        return self.steps(img)


class RecipeWithMore(Recipe):
    def __call__(self, img):
        return self.steps(img).half()


class RecipeWithProperty:
    def __call__(self, img):
        return self.steps(img)

    @property
    def steps(self):
        return v1.ToTensor()


class RecipeOfAnother(Recipe):
    def __getattribute__(self, name):
        return v1.PILToTensor() if name == "steps" else super().__getattribute__(name)


def test_a_class_around_a_transform_is_what_it_holds():
    steps = v1.CenterCrop(20), v1.ToTensor()
    assert nodes_of(Recipe(*steps)) == nodes_of(v1.Compose([Recipe(Recipe(*steps))]))
    assert nodes_of(Recipe(*steps)) == nodes_of(v1.Compose(steps))
    for cls in (RecipeWithMore, RecipeOfAnother):
        with pytest.raises(NotNative, match=f"{cls.__name__} has no native form"):
            nodes_of(cls(*steps))
    with pytest.raises(NotNative, match="RecipeWithProperty has no native form"):
        nodes_of(RecipeWithProperty())


def test_image_folder(photos):
    found = captured(datasets.ImageFolder(photos, train_v1()))
    plan = found.plan
    assert found.path == "native" and found.name == f"ImageFolder({photos})"
    assert plan.leaves[0].source == "local_dir" and plan.leaves[0].rows == 27
    assert plan.chain[0].op == "decode" and plan.rng == "torch" and plan.lanes == 1
    assert [field.kind for field in plan.fields] == ["chain", "array"]
    assert plan.row_map is None and "torch_exp" in plan.constants
    assert plan.libraries.torch == torch.__version__ and plan.libraries.pillow


def test_rows_of_subset_and_concat(photos):
    data = datasets.ImageFolder(photos, train_v1())
    found = captured(ConcatDataset([Subset(data, [5, -1]), data]))
    rows = np.frombuffer(found.plan.row_map, np.int64)
    assert rows.tolist() == [5, 26, *range(27, 54)] and len(found.plan.leaves) == 2


class MyFolder(datasets.ImageFolder):
    def __getitem__(self, index):
        return super().__getitem__(index)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: setattr(data, "target_transform", abs), "target_transform=abs"),
        (lambda data: setattr(data, "loader", np.load), "loader=numpy.load"),
        (lambda data: setattr(data, "transform", None), "yields PIL images"),
        (lambda data: data.samples.__setitem__(0, ("a", 1.5)), "labels that are not int"),
        (lambda data: data.samples.__setitem__(0, ("\udc80", 1)), "names that are not text"),
        (lambda data: setattr(data, "__class__", MyFolder), "MyFolder is not a dataset with"),
    ],
)
def test_image_folder_that_is_not_native(photos, change, reason):
    data = datasets.ImageFolder(photos, train_v1())
    change(data)
    found = captured(data)
    assert found.path == "python" and reason in found.reason


@pytest.mark.parametrize("elsewhere", ["/elsewhere/0.jpg", "elsewhere/1.jpg", "class0/ä.jpg"])
def test_entries_that_are_not_in_the_folder(photos, elsewhere):
    data = datasets.ImageFolder(photos, train_v1())
    data.samples = [*data.samples[:2], (elsewhere, 1), *data.samples[2:]]
    leaf = captured(data).plan.leaves[0]
    inside = [os.path.relpath(path, photos) for path, _ in data.samples]
    inside[2] = os.path.join(os.getcwd(), elsewhere)
    labels = [label for _, label in data.samples]
    expected = binding.encode_file_table(str(photos), inside, labels)
    assert leaf.table.hash == expected.hash


def test_relative_root(photos, monkeypatch):
    monkeypatch.chdir(photos.parent)
    relative = captured(datasets.ImageFolder(photos.name, train_v1()))
    absolute = captured(datasets.ImageFolder(photos, train_v1()))
    assert relative.plan.leaves[0].table.hash == absolute.plan.leaves[0].table.hash


def test_capturing_again_keeps_the_tables(photos):
    data = datasets.ImageFolder(photos, train_v1())
    first = captured(data)
    again = captured(data, before=first)
    assert again.rows is first.rows and again.signature == first.signature
    data.samples[0] = data.samples[1]
    changed = captured(data, before=first)
    assert changed.rows is not first.rows and changed.signature != first.signature


def test_signature_of_equal_loaders(photos):
    a, b = (captured(datasets.ImageFolder(photos, train_v1())) for _ in range(2))
    assert a.signature == b.signature
    assert (
        a.signature != captured(datasets.ImageFolder(photos, train_v1()), num_workers=2).signature
    )


@pytest.mark.parametrize(
    ("num_workers", "rng", "expected"),
    [
        (1, "auto", "torch"),
        (0, "auto", "torch"),
        (0, "torch", "torch"),
        (0, "sample", "sample"),
        (1, "sample", "sample"),
        (2, "torch", "torch"),
    ],
)
def test_rng_modes(photos, num_workers, rng, expected):
    data = datasets.ImageFolder(photos, train_v1())
    assert captured(data, num_workers=num_workers, rng=rng).plan.rng == expected


def test_nothing_random_needs_no_generator():
    found = captured(TensorDataset(torch.arange(3)))
    assert found.plan.rng == "none" and found.plan.constants == {}


def test_settings_of_torch_that_change_samples(photos):
    data = datasets.ImageFolder(photos, train_v1())
    torch.set_default_dtype(torch.float64)
    try:
        assert "default dtype is torch.float64" in captured(data).reason
    finally:
        torch.set_default_dtype(torch.float32)


def test_capture_draws_nothing(photos):
    before = torch.get_rng_state()
    captured(datasets.ImageFolder(photos, train_v1()))
    captured(Numbers())
    assert torch.equal(before, torch.get_rng_state())


def test_too_much_to_copy(monkeypatch):
    monkeypatch.setattr("headrace.capture.array_leaf.MAX_ARRAY_BYTES", 10)
    found = captured(TensorDataset(torch.arange(30)))
    assert found.path == "local" and "GiB of tensors would be copied" in found.reason


def test_collate_fn_and_hooks(photos):
    data = datasets.ImageFolder(photos, train_v1())
    found = captured(data, collate_fn=collate_names)
    assert found.path == "python" and "collate_fn=support.pipelines.collate_names" in found.reason
    found = captured(data, worker_init_fn=seed_torch)
    assert found.path == "python" and "worker_init_fn=support.pipelines.seed_torch" in found.reason
    assert captured(data, worker_init_fn=seed_other_generators).path == "native"


def seeds_torch_by_another_name(worker):
    torch.random.seed()


def seeds_and_more(worker):
    np.random.seed(worker)
    print(worker)


def reads_the_worker(worker):
    np.random.seed(torch.utils.data.get_worker_info().seed % 2**32)


def with_arguments(worker, base, rank):
    random.seed(base + rank + worker)


def test_which_hooks_only_seed():
    assert seeds_only(seed_other_generators)
    assert seeds_only(functools.partial(with_arguments, base=3, rank=1))
    assert seeds_only(lambda worker: np.random.seed(np_seed(worker))) is False
    for hook in (seed_torch, seeds_torch_by_another_name, seeds_and_more, reads_the_worker, print):
        assert not seeds_only(hook)


def np_seed(worker):
    return worker


@pytest.fixture
def pool(monkeypatch):
    """There are other hosts. Nobody is asked."""
    monkeypatch.setenv("HEADRACE_COORDINATOR", "tcp://127.0.0.1:9")


def test_python_stage_carries_what_a_worker_needs(pool):
    found = captured(Numbers(), num_workers=3)
    stage = found.plan.python
    assert found.path == "python" and found.plan.lanes == 3 and found.plan.rng == "torch"
    assert stage.executable == sys.executable
    assert stage.packages["torch"] == torch.__version__
    assert stage.sys_path and all(entry.startswith("/") for entry in stage.sys_path)


def test_own_modules_travel_by_value(pool):
    """`pipelines` is a file of the program, not an installed package."""
    bundle = bytes(captured(Numbers(), collate_fn=collate_names).plan.python.bundle)
    code = "import pickle, sys; print(type(pickle.load(sys.stdin.buffer)['dataset']).__name__)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input=bundle, capture_output=True, check=False
    )
    assert done.stdout == b"Numbers\n", done.stderr.decode()
    assert type(pickle.loads(bundle)["dataset"]) is Numbers


class Overlaps(Numbers):
    def __getitem__(self, index):
        boxes = torch.tensor([[0, 0, 2, index + 1]], dtype=torch.float32)
        return torchvision.ops.boxes.box_area(boxes)


def test_torch_and_something_else_called_ops(pool):
    """torch.ops is a module of a class of its own."""
    found = captured(Overlaps())
    assert found.path == "python", found
    data = pickle.loads(bytes(found.plan.python.bundle))["dataset"]
    assert data[4].item() == 10


def test_installed_modules_that_a_bundle_refers_to_are_named_after_it(pool):
    data = Numbers()
    data.transform = v1.Compose([v1.ToTensor(), v1.Normalize(0.5, 0.5)])
    bundle = bytes(captured(data, collate_fn=collate_names).plan.python.bundle)
    fd = os.memfd_create("bundle")
    os.write(fd, bundle)
    names = names_in(fd)
    os.close(fd)
    assert "torchvision.transforms.transforms" in names
    assert all(name in sys.modules for name in names)
    assert not {"__main__", __name__, "support.pipelines"} & set(names)


def test_local_is_an_error_of_its_own():
    assert not issubclass(Local, NotNative)
