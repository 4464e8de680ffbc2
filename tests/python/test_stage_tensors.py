"""torchvision.io in stage hosts: tensors that are deferred are the library's, whoever looks at them."""

import copy
import io
import pickle
import random
import warnings

import numpy as np
import pytest
import torch
from support.own_process import in_own_process
from support.photos import encode_photo, without_tables
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image, decode_jpeg
from torchvision.transforms import v2

SEED = 20261125
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TAIL = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


def enable():
    """Enables them as in a host while it makes a batch."""
    from headrace.stage import functions, images

    images.enable([])
    functions.enable()
    images._current.on = True
    return images._current


def photo(rng, sides=(2, 160), **options):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6), **options)


def encoded(file):
    return torch.frombuffer(bytearray(file), dtype=torch.uint8)


def decoded(maker, file, on, mode=ImageReadMode.RGB):
    maker.on = on
    tensor = decode_image(encoded(file), mode)
    maker.on = True
    return tensor


def checked(maker):
    """After the checks of every kind of file, when tensors stay deferred."""
    for seed in range(3):
        for _ in range(3):
            for mode in (ImageReadMode.RGB, ImageReadMode.UNCHANGED):
                decoded(maker, encode_photo(20, 30, seed), True, mode)


def is_deferred(tensor):
    from headrace.stage.tensors import DeferredTensor

    return type(tensor) is DeferredTensor


def as_bits(value):
    if isinstance(value, torch.Tensor):
        order = value.stride() if value.is_contiguous() else value.contiguous().stride()
        return type(value), value.dtype, tuple(value.shape), order, value.numpy().tobytes()
    if isinstance(value, torch.Size | torch.UntypedStorage):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [as_bits(part) for part in value]
    if isinstance(value, dict):
        return {key: as_bits(part) for key, part in value.items()}
    return value


def by_script(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor + 1) * tensor


def saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


# What a program may do to a tensor that it has read.
LOOKS = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "array": np.array,
    "from_dlpack": np.from_dlpack,
    "torch.from_dlpack": torch.from_dlpack,
    "as_tensor": lambda t: torch.as_tensor(t) + 1,
    "torch.asarray": lambda t: torch.asarray(t) + 1,
    "stack": lambda t: torch.stack([t, t]),
    "cat": lambda t: torch.cat((t, t)),
    "out": lambda t: torch.add(t, 1, out=torch.empty_like(t)),
    "into": lambda t: torch.zeros(t.shape, dtype=torch.uint8).copy_(t),
    "setitem": lambda t: torch.zeros(t.shape).__setitem__(slice(None), t),
    "float": lambda t: t.float() / 255,
    "index": lambda t: t[0],
    "rows": list,
    "item": lambda t: t[0, 0, 0].item(),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "equal": lambda t: (t == t).all(),
    "where": lambda t: torch.where(t > 9, t, t),
    "data": lambda t: t.data,
    "bytes": lambda t: t.untyped_storage().nbytes(),
    "view": lambda t: t.permute(1, 2, 0),
    "contiguous": lambda t: t.contiguous(),
    "T": lambda t: t.mT,
    "in place": lambda t: t.add_(1),
    "clone": lambda t: t.clone(),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "save": saved,
    "parameter": lambda t: torch.nn.Parameter(t, requires_grad=False).data,
    "vmap": lambda t: torch.vmap(lambda x: x + 1)(t),
    "tensor": torch.tensor,
    "capsule": lambda t: torch.utils.dlpack.from_dlpack(torch._C._to_dlpack(t)),
    "module": lambda t: torch.jit.script(torch.nn.MaxPool2d(2))(t.float()),
    "script": lambda t: torch.jit.script(by_script)(t),
    "interpolate": lambda t: torch.nn.functional.interpolate(t[None].float(), size=(3, 3)),
    "tv_tensor": tv_tensors.Image,
    "collate": lambda t: torch.utils.data.default_collate([t, t]),
    "nested": lambda t: torch.utils.data.default_collate([{"a": (t, 1)}]),
    "form": lambda t: (t.shape, t.size(0), t.dim(), t.ndim, t.dtype, t.numel(), t.stride(), len(t)),
    "device": lambda t: (str(t.device), t.is_cpu, t.is_meta, t.is_cuda, t.requires_grad),
    "isinstance": lambda t: (isinstance(t, torch.Tensor), torch.is_tensor(t), f"{type(t)}"),
    "functional": lambda t: v2.functional.horizontal_flip(t),
    "transform": lambda t: v2.Grayscale()(t),
}


@in_own_process
def test_whoever_looks_sees_what_the_library_makes():
    maker = enable()
    checked(maker)
    rng = random.Random(SEED)
    for name, look in LOOKS.items():
        for case in range(3):
            file = photo(rng)
            mine, theirs = decoded(maker, file, True), decoded(maker, file, False)
            assert is_deferred(mine) and not is_deferred(theirs), (SEED, name)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # of NumPy's about torch, and of torch's about scripts
                assert as_bits(look(mine)) == as_bits(look(theirs)), (SEED, name, case)
            assert mine.stride() == theirs.stride() and torch.equal(mine, theirs), name
            assert type(mine) is torch.Tensor and vars(mine) == {}


@in_own_process
def test_form_is_told_without_decoding():
    maker = enable()
    checked(maker)
    tensor = decoded(maker, encode_photo(20, 30, 1), True)
    assert (tensor.shape, tensor.size(-1), tensor.ndim) == ((3, 20, 30), 30, 3)
    assert tensor.dtype is torch.uint8 and not tensor.is_floating_point() and is_deferred(tensor)


TRANSFORMS = {
    "training": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), *TAIL]),
    "bicubic": lambda: v2.Compose([v2.RandomResizedCrop((20, 31), interpolation=3), *TAIL]),
    "whole": lambda: v2.Compose([v2.RandomResizedCrop(24, scale=(0.7, 1)), *TAIL]),
    "same": lambda: v2.Compose([v2.RandomResizedCrop(24, scale=(1, 1), ratio=(1, 1)), *TAIL]),
    "bytes": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomVerticalFlip()]),
    "evaluation": lambda: v2.Compose([v2.Resize(32), v2.CenterCrop(24), *TAIL]),
    "part": lambda: v2.Compose([v2.Resize(32), v2.CenterCrop(24)]),
    "border": lambda: v2.Compose([v2.Resize(20), v2.CenterCrop(24), *TAIL]),
    "image": lambda: v2.Compose([v2.ToImage(), v2.Resize((20, 30)), v2.ToDtype(torch.float32)]),
    "own": lambda: v2.Compose([lambda t: t + 1, v2.Resize(20), *TAIL]),
    "then own": lambda: v2.Compose([v2.RandomResizedCrop(24), lambda t: t.float() + 1]),
    "nearest": lambda: v2.Compose([v2.Resize(20, interpolation=0), *TAIL]),
    "colors": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.ColorJitter(0.3), *TAIL]),
    "gray": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomGrayscale(0.5), *TAIL]),
}
# Of those that are not here, the library makes the tensor.
NATIVE = {
    "training", "bicubic", "whole", "bytes", "evaluation", "border", "image", "then own", "colors", "gray",
}  # fmt: skip


@in_own_process
def test_transforms_have_torchvisions_bits_draws_and_order():
    maker = enable()
    checked(maker)
    rng = random.Random(SEED)
    for name, make in TRANSFORMS.items():
        transform, stayed = make(), 0
        for case in range(40):
            # Widths of the crop's side, too, and crops of full width, which keep another order.
            file = photo(rng, (2, 60)) if case % 2 else encode_photo(24, 24, rng.randrange(9**6))
            results = []
            for on in (True, False):
                tensor = decoded(maker, file, on)
                maker.on = on
                torch.manual_seed(case)
                made = transform(tensor)
                stayed += is_deferred(tensor)
                results.append((made, torch.get_rng_state()))
            maker.on = True
            (mine, state), (theirs, expected) = results
            note = (SEED, name, case)
            assert torch.equal(state, expected), note
            assert type(mine) is type(theirs) and mine.dtype is theirs.dtype, note
            assert mine.stride() == theirs.stride(), (*note, mine.shape)
            assert mine.numpy().tobytes() == theirs.numpy().tobytes(), note
        assert (stayed > 20) == (name in NATIVE), (name, stayed)


@in_own_process
def test_a_change_without_torchs_functions_is_no_change_of_the_file():
    maker = enable()
    checked(maker)
    compose = TRANSFORMS["training"]()
    file = encode_photo(40, 50, 1)
    for _ in range(6):  # the chain is compared first, and trusted then
        compose(decoded(maker, file, True))
    made = []
    for on in (True, True, False):
        tensor = decoded(maker, file, on)
        with torch._C.DisableTorchFunctionSubclass():
            tensor.add_(1)
        torch.manual_seed(SEED)
        made.append(compose(tensor))
    for other in made[:-1]:
        assert torch.equal(other, made[-1])


@in_own_process
def test_one_tensor_may_be_transformed_twice():
    maker = enable()
    checked(maker)
    transform = TRANSFORMS["training"]()
    for case in range(6):
        file = encode_photo(50, 60, case)
        results = []
        for on in (True, False):
            tensor = decoded(maker, file, on)
            maker.on = on
            torch.manual_seed(case)
            results.append([transform(tensor), transform(tensor), tensor])
        maker.on = True
        for mine, theirs in zip(*results, strict=True):
            assert mine.stride() == theirs.stride() and torch.equal(mine, theirs)


@in_own_process
def test_the_file_is_the_one_that_was_decoded():
    """A program may read the next file into the same memory."""
    maker = enable()
    checked(maker)
    data = encoded(encode_photo(20, 30, 1))
    expected = decoded(maker, bytes(data.numpy()), False)
    tensor = decode_image(data, ImageReadMode.RGB)
    data.zero_()
    assert is_deferred(tensor) and torch.equal(tensor, expected)


@in_own_process
def test_what_is_not_deferred():
    maker = enable()
    checked(maker)
    file = encode_photo(20, 30, 1)
    for _ in range(4):
        assert not is_deferred(decoded(maker, file, True, ImageReadMode.GRAY))
        assert not is_deferred(decoded(maker, encode_photo(1, 30, 1), True))
        gray = encode_photo(20, 30, 1, gray=True)
        assert not is_deferred(decoded(maker, gray, True, ImageReadMode.UNCHANGED))
        assert not is_deferred(decoded(maker, encode_photo(20, 30, 1, progressive=True), True))
    with pytest.raises(RuntimeError):
        decoded(maker, file[:-300], False)
    with pytest.raises(RuntimeError):
        decoded(maker, file[:-300], True)
    for case in range(3):
        assert is_deferred(decode_jpeg(encoded(file), ImageReadMode.RGB)) == (case == 2)


@in_own_process
def test_a_damaged_file_ends_the_batch_behind_the_programs_back():
    from headrace.stage.redo import Redo

    maker = enable()
    checked(maker)
    file = without_tables(encode_photo(200, 300, 1))
    tensor = decoded(maker, file, True)
    if is_deferred(tensor):
        with pytest.raises(Redo):
            tensor.sum()
        maker.on = False
        with pytest.raises(RuntimeError):
            tensor.sum()


@in_own_process
def test_code_that_wants_the_memory_itself_ends_the_batch():
    """It is made again. Whatever else was deferred in it counts, too."""
    from headrace.stage import images
    from headrace.stage.pickling import BatchPickler
    from headrace.stage.redo import Redo

    maker = enable()
    checked(maker)
    maker.on = False
    file = encode_photo(20, 30, 1)
    with pytest.raises(Redo), images.deferring():
        tensor = decode_image(encoded(file), ImageReadMode.RGB)
        torch.zeros(3, 20, 30, dtype=torch.uint8).data = tensor
    with pytest.raises(Redo), images.deferring():
        tensor = decode_image(encoded(file), ImageReadMode.RGB)
        BatchPickler(io.BytesIO(), lambda _: True).dump([torch.empty(3, device="meta")])
    with pytest.raises(KeyError), images.deferring():  # no tensor was deferred in it
        raise KeyError
    with images.deferring():
        BatchPickler(io.BytesIO(), lambda _: True).dump([torch.empty(3, device="meta")])
        tensor = decode_image(encoded(file), ImageReadMode.RGB)
        buffers = []
        with io.BytesIO() as out:
            BatchPickler(out, buffers.append).dump([tensor])
            made = pickle.loads(out.getvalue(), buffers=buffers)
    assert len(buffers) == 1 and torch.equal(made[0], decoded(maker, file, False))
