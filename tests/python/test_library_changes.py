"""Libraries that the program changed, and settings of its process: batches are the stock loader's, and
where native code would make others there is no native plan."""

import functools
import os
import random
import signal
import sys
from types import ModuleType
from unittest.mock import MagicMock

import pytest
import torch
import typing_extensions
from headrace.loader.seam import state_of
from headrace.native import alterations, intact
from PIL import Image, ImageFile, ImageOps
from support.compare import assert_same, errors, served, stock
from support.photos import write_jpegs
from support.pipelines import train_v1, train_v2
from torch.overrides import TorchFunctionMode
from torch.utils.data import TensorDataset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import functional, v2

SEED_OF_MODULES = 20261201


def compared(make, **named):
    """What the stock loader gives, and the report of the served one, which gives the same."""
    loaders = []

    def keep(cls):
        loaders.append(make(cls))
        return loaders[-1]

    expected = stock(make, **named)
    assert_same(served(keep, path=None, **named), expected)
    return expected, state_of(loaders[0]).report


def of_folder(root, **named):
    data = datasets.ImageFolder(root, train_v1())
    return lambda cls: cls(data, 4, **{"num_workers": 2, **named})


def turned(real):
    return lambda *args, **named: ImageOps.exif_transpose(real(*args, **named))


def test_image_open_that_turns_by_exif(tmp_path, monkeypatch):
    """One photograph has an orientation, and it is none that admission tries."""
    root = write_jpegs(tmp_path / "photos", classes=2, count=40)
    paths = sorted(root.glob("*/*"))
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(paths[7]) as image:
        image.save(paths[7], exif=exif)
    monkeypatch.setattr(Image, "open", turned(Image.open))
    _, report = compared(of_folder(root))
    assert report.path != "native"
    assert "the program has replaced PIL.Image.open" in report.reasons[0]


def test_fewer_pixels_allowed(tmp_path, monkeypatch):
    root = write_jpegs(tmp_path / "photos", classes=2, count=40)
    paths = sorted(root.glob("*/*"))
    Image.new("RGB", (700, 700)).save(paths[7])
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500 * 400)
    expected, report = compared(of_folder(root), epochs=1)
    assert [kind for kind, _ in errors(expected)] == [Image.DecompressionBombError]
    assert report.path != "native"
    assert "PIL.Image.MAX_IMAGE_PIXELS is 200000" in report.reasons[0]


def test_more_pixels_allowed_is_no_reason(photos, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert compared(of_folder(photos), epochs=1)[1].path == "native"


def test_truncated_files_allowed(own_photos, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    path = sorted(own_photos.glob("*/*"))[5]
    path.write_bytes(path.read_bytes()[:-900])
    expected, report = compared(of_folder(own_photos))
    assert errors(expected) == [] and report.path == "native"
    assert report.samples_by_path["local"] == 2  # one in each epoch, made by its own code


def _black(file, name):
    """An opener that claims every file."""
    return Image.new("RGB", (300, 200))


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_registered_opener(photos, monkeypatch, first):
    Image.preinit()
    monkeypatch.setattr(Image, "OPEN", {**Image.OPEN, "BLACK": (_black, lambda prefix: True)})
    order = ["BLACK", *Image.ID] if first else [*Image.ID, "BLACK"]
    monkeypatch.setattr(Image, "ID", order)
    _, report = compared(of_folder(photos), epochs=1)
    assert (report.path == "native") is not first
    if first:
        assert "PIL.Image.register_open" in report.reasons[0]


def test_method_of_a_transform_replaced(photos, monkeypatch):
    monkeypatch.setattr(v1.Normalize, "forward", lambda self, tensor: tensor + 1)
    _, report = compared(of_folder(photos), epochs=1)
    assert report.path != "native"
    assert "torchvision.transforms.transforms.Normalize.forward" in report.reasons[0]


def _in_order(options, weights=None, *, cum_weights=None, k=1):
    return list(options)[:k]


@pytest.mark.parametrize(
    ("gate", "name", "changed"),
    [
        (v1.RandomOrder, "shuffle", lambda order: order.reverse()),
        (v1.RandomChoice, "choices", _in_order),
    ],
)
def test_function_of_random_replaced_between_two_epochs(photos, gate, name, changed):
    """v1's gates draw by it."""
    parts = [v1.RandomVerticalFlip(1.0), v1.RandomRotation(20)]
    ended = [v1.RandomResizedCrop(32), gate(parts), v1.ToTensor()]
    data = datasets.ImageFolder(photos, v1.Compose(ended))
    real = getattr(random, name)

    def before(loader, epoch):
        setattr(random, name, changed if epoch == 1 else real)

    try:
        _, report = compared(lambda cls: cls(data, 4, num_workers=2), epochs=3, before=before)
    finally:
        setattr(random, name, real)
    assert f"the program has replaced random.{name}" in report.reasons[0]


def test_function_of_torchvision_replaced_between_two_epochs(photos):
    real = functional.normalize

    def before(loader, epoch):
        changed = lambda tensor, *args, **named: real(tensor, *args, **named) + 1  # noqa: E731
        functional.normalize = changed if epoch == 1 else real

    try:
        _, report = compared(of_folder(photos), epochs=3, before=before)
    finally:
        functional.normalize = real
    assert report.path == "native"
    assert report.samples_by_path["native"] == 2 * 27
    assert "torchvision.transforms.functional.normalize" in report.reasons[0]


def test_draws_replaced(photos, monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *size: torch.full(size, 0.2))
    assert compared(of_folder(photos), epochs=1)[1].path != "native"


def test_hook_on_every_module(photos):
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, inputs, output: output + 1 if type(module) is v1.Normalize else None
    )
    try:
        _, report = compared(of_folder(photos), epochs=1)
    finally:
        hook.remove()
    assert report.path != "native" and "_global_forward_hooks" in report.reasons[0]


class _Negative(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        return -made if function is torch.stack else made


def test_mode_that_sees_torchs_functions():
    data = TensorDataset(torch.arange(12.0))
    with _Negative():
        _, report = compared(lambda cls: cls(data, 4, num_workers=1), epochs=1)
    assert report.path != "native" and "_Negative" in report.reasons[0]


def wrapped(real):
    @functools.wraps(real)
    def call(*args, **named):
        return real(*args, **named)

    return call


def posed(real):
    """Returns a function with the names of what it replaces, which does not say so."""
    call = wrapped(real)
    del call.__wrapped__
    return call


REPLACED = [
    (Image, "open", posed),
    (functional, "normalize", posed),
    (v1.Normalize, "forward", posed),
    (Image, "open", wrapped),
    (Image, "open", lambda real: MagicMock()),
    (Image.Image, "convert", wrapped),
    (Image.Image, "resize", wrapped),
    (functional, "normalize", functools.partial),
    (functional, "normalize", lambda real: functional.to_tensor),
    (functional, "normalize", lambda real: torch.no_grad()(lambda *args: real(*args))),
    (functional, "normalize", lambda real: len),
    (v1.Normalize, "forward", wrapped),
    (v1.Normalize, "forward", lambda real: v1.Grayscale.forward),
    (v1.Normalize, "forward", lambda real: MagicMock()),
    (v1.Normalize, "__call__", lambda real: lambda self, tensor: tensor),  # it has none of its own
    (v1.RandomResizedCrop, "get_params", lambda real: staticmethod(lambda *args: (0, 0, 9, 9))),
    (v2.Resize, "transform", wrapped),
    (v2.functional, "resize", wrapped),
    (datasets.ImageFolder, "__getitem__", wrapped),
    (datasets.folder, "pil_loader", wrapped),
    (torch.utils.data._utils.collate, "default_collate", wrapped),
    (TensorDataset, "__getitem__", wrapped),
    (torch, "rand", lambda real: torch.randn),
    (torch, "stack", wrapped),
]


@pytest.mark.parametrize(
    ("owner", "name", "change"), REPLACED, ids=lambda value: getattr(value, "__name__", None)
)
def test_what_is_replaced_is_found_by_name(monkeypatch, owner, name, change):
    assert intact.first_change(intact.OF_IMAGES) == ""
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, change(getattr(owner, name)))
        assert name in intact.first_change(intact.OF_IMAGES)
    assert intact.first_change(intact.OF_IMAGES) == ""


def test_code_put_into_a_function_is_found():
    real = functional.normalize.__code__
    try:
        functional.normalize.__code__ = (lambda tensor, mean, std, inplace=False: tensor).__code__
        assert "functional.normalize" in intact.first_change(intact.OF_IMAGES)
    finally:
        functional.normalize.__code__ = real
    assert intact.first_change(intact.OF_IMAGES) == ""


def test_file_opener_of_the_program(monkeypatch):
    monkeypatch.setattr("builtins.open", lambda *args, **named: open(*args, **named))
    assert "builtins.open" in intact.first_change(intact.OF_IMAGES)


def test_kernel_of_the_programs_own_for_a_type_of_the_librarys(monkeypatch):
    registry = v2.functional._utils._KERNEL_REGISTRY[v2.functional.resize]
    monkeypatch.setitem(registry, Image.Image, lambda image, *args, **named: image)
    assert "the kernel of resize for Image" in intact.first_change(intact.OF_IMAGES)


def test_a_second_look_reads_no_text(monkeypatch):
    """A look is made at each iter()."""
    assert intact.first_change(intact.OF_IMAGES) == ""
    looked = []
    monkeypatch.setattr(alterations, "_module_alteration", lambda module: looked.append(module))
    assert intact.first_change(intact.OF_IMAGES) == "" and looked == []


def test_v2_is_intact_as_well(photos):
    data = datasets.ImageFolder(photos, train_v2())
    _, report = compared(lambda cls: cls(data, 4, num_workers=1), epochs=1)
    assert report.path == "native"


def test_a_fork_while_another_thread_looks():
    """Two threads may begin loaders: in the lane nobody holds the lock."""
    with alterations._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # its default is the end of the process
            os._exit(1 if alterations.first_alteration((alterations.BATCHES,)) else 0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_module_that_comes_as_two_go_is_looked_at(monkeypatch):
    """The count is as before, and the last one is the last one again."""
    name = "torchvision.transforms.of_the_program"
    first, last = ModuleType("first"), ModuleType("last")
    monkeypatch.setitem(sys.modules, "first", first)
    monkeypatch.setitem(sys.modules, "last", last)
    assert not alterations.first_alteration((alterations.TRANSFORMS,))
    del sys.modules["first"], sys.modules["last"]
    other = ModuleType(name)
    other.flip = lambda image: image
    monkeypatch.setitem(sys.modules, name, other)
    monkeypatch.setitem(sys.modules, "last", last)
    assert alterations.first_alteration((alterations.TRANSFORMS,)) == f"{name}.flip"


def test_names_for_types_are_no_changes(monkeypatch):
    """Python 3.10 has no typing.Self, and torch takes that of typing_extensions there."""
    monkeypatch.setattr(torch.nn.modules.module, "Self", typing_extensions.ReadOnly)
    assert alterations.first_alteration((alterations.TRANSFORMS,)) == ""


def test_modules_that_come_and_go_between_two_looks_are_noticed(monkeypatch):
    """Also one that comes while two go and the last one of all comes again."""
    rng = random.Random(SEED_OF_MODULES)
    print("seed", SEED_OF_MODULES)
    prefix, others = "some_library.parts.", [f"other_{i}" for i in range(4)]
    below = [
        "some_library.parts",
        *(f"some_library.parts.p{i}" for i in range(4)),
        "some_library.partsman",
    ]
    monkeypatch.setattr(alterations.sys, "modules", dict(sys.modules))
    for _ in range(400):
        for name in rng.sample(below + others, rng.randrange(4)):
            if name in sys.modules:
                del sys.modules[name]
            else:
                sys.modules[name] = ModuleType(name)
        if rng.random() < 0.3:  # as many, and the same last one
            last = next(reversed(sys.modules))
            sys.modules[last] = sys.modules.pop(last)
        assert alterations._names_below(prefix) == [
            name for name in sys.modules if f"{name}.".startswith(prefix)
        ]
