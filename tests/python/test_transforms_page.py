"""docs/reference/transforms.md lists every transform of torchvision, and timm's that are native, and says
what becomes of it."""

import inspect
import os
from pathlib import Path

from headrace.capture.items.boxes import OF_TARGETS
from headrace.native import transforms as table
from headrace.stage import recipes
from torchvision import transforms as v1
from torchvision.transforms import v2

PAGE = Path(__file__).parents[2] / "docs/reference/transforms.md"
NATIVE, CONTAINER, CHOICE, CODE, NONE = "native", "opened", "branches", "Python", ""
TARGETS = "with a picture"

HEAD = """# What becomes of torchvision's transforms

Generated from the capture's table and from the installed torchvision; `HEADRACE_UPDATE_DOCS=1` and `tests/python/test_transforms_page.py` write it.

- **native**: an [operator](operators.md) with the very bits, and the very random draws, of torchvision. None is only close: an operator whose bits would differ with these arguments, in this place or on this machine is not used.
- **opened**: what it holds is looked at one by one.
- **branches**: torchvision's own code draws and decides, in a Python stage; what it holds is looked at one by one.
- **with a picture**: the trainer calls it on boxes and labels, [beside a picture that workers make](own-transforms.md#pictures-with-boxes).
- **Python**: it is called as it is, in a Python stage.

A pipeline is native as a whole if every transform of it is, its samples come from a dataset with a native form, and `collate_fn` is torch's or [one that is followed](collate.md). Else it is a Python stage: the program's own code runs on the workers. There each stretch of native transforms in a `Compose` still runs as one native chain, with its draws, whatever `Dataset` class calls it, and whatever stands around it; so does a `ColorJitter`, `GaussianBlur` or `ToTensor` that is called by itself; pictures that the code opens with PIL are decoded, cropped, resized, mirrored, transformed and enhanced natively, so that timm's augmentations that are not native (AugMix, `3a`) run on native pixels with timm's own draws; tensors of `torchvision.io` are decoded by the v2 chain that takes them ([0016](../adr/0016-native-functions.md), [0010](../adr/0010-deferred-images.md), [0014](../adr/0014-native-chains-in-stages.md)).

A transform may also be the program's own code: a class or function that only applies transforms of this table [counts as what it applies](own-transforms.md). There it also says which data sets that read by `torchvision.io` have a native form: tensors of these are as those after `ToImage`.

Operators of geometry and colour take PIL images and, after `PILToTensor` or `ToImage`, tensors of uint8 (plain ones and `tv_tensors.Image`). The exceptions:

- Tensors are resized with the bits of torch's own kernels, where the client finds its torch's to be the known ones; in v1 `bilinear` and `bicubic` with antialias only ([0017](../adr/0017-resize-of-tensors.md)).
- Of tensors that are no longer uint8 (after `ToTensor`, `ConvertImageDtype` or `ToDtype`), crops, flips, constant padding, `Normalize`, `RandomErasing`, conversions of the element type and `ToPureTensor` are native. Of those of float32 so are padding in every mode, `Resize` and `RandomResizedCrop` (`bilinear` and `bicubic` with antialias, or nearest), what changes colours except `RandomEqualize`, `GaussianBlur`, `RandomAdjustSharpness`, rotations, affine transforms, perspectives and `ElasticTransform`; contrast needs three channels. The auto-augment policies of such tensors stay in Python ([0041](../adr/0041-float-operators.md)).
- Affine transforms of tensors are nearest or bilinear, as in torchvision. Tensors' bits are those of torch's AVX2 and AVX512 builds on one thread, as in the loader's workers; affine transforms, and so AugMix of images too, are native where torch's products of matrices have bits that are known: those of MKL on CPUs of Intel and on CPUs of AMD are, which differ.
- `GaussianBlur`, of PIL images too, is native where the client finds that its torch convolves as oneDNN 3.12 does on CPUs with AVX2 or later: row by row of the kernel, one fused multiply-add each ([bits of torch's kernels](tensors.md)). The trainer makes images smaller than half of the kernel. It also makes images of one channel where a side of the kernel is 3 and the padded image has 20,480 pixels or less.
- `RandomPerspective` is native on PIL images and on tensors of uint8 and float32. The last bits of its coefficients depend on the machine, since `torch.linalg.lstsq` solves for them. So the trainer calls the LAPACK of its own torch where it draws; the result is the same on any number of threads. The trainer makes images of which three corners come to lie on a line, and tensors where a pixel's place is divided by almost 0.
- `ElasticTransform` is native on PIL images and on tensors of uint8 and float32, nearest or bilinear, where the client's torch blurs as for `GaussianBlur` and samples with the known bits. It draws two numbers for each pixel. The trainer skips them, and the worker draws them again from the generator's state, which it is sent (2.5 kB a sample). The trainer makes images smaller than half of the blur's kernel (41 pixels with the default `sigma`), and images of more than 1,048,576 pixels.
- `RandomResize`, `RandomShortestSize`, `ScaleJitter` and `RandomZoomOut` make a size that is drawn. An operator that makes one size follows them, or the `collate_fn` [keeps the pictures apart](collate.md#lists-of-tensors). `RandomZoomOut` is native on PIL images and tensors of uint8.
- What `RandomApply` and `RandomOrder` hold must leave type and shape of a PIL image or a tensor of uint8 or float32 as they are, and `Normalize` may not be among them; what is drawn would decide the shape of a batch otherwise. `RandomOrder` and `RandomChoice` of v1 draw from Python's generator, which native plans draw from, too ([0044](../adr/0044-python-random.md)); in a Python stage torchvision's own code draws there. `RandomChoice` of v2 draws by `torch.multinomial`, whose numbers come from MKL: it stays in Python.
- `FiveCrop` and `TenCrop` are native where the program's own code makes a tensor of each of the crops and returns all of them, in a list, tuple or dict, or joined by `torch.stack`. Where it leaves one out, it stays in Python.
- Contrast of tensors of more than 2,105,376 pixels, also as one of the operations of an auto-augment policy, and quarter turns by `v2` of square tensors of more than 65,793 pixels, are made by the trainer, sample by sample.

torchvision's classification presets are native with their PIL backend, all four auto-augment policies included; where `MixUp` or `CutMix` is in `collate_fn`, their transforms are native chains in a Python stage. With the tensor backend everything of them but `Resize` and `RandomResizedCrop` has a native form. In a Python stage, whose code may look at a tensor, auto-augment policies, `RandomResizedCrop`, `RandomGrayscale` and `RandomEqualize` of tensors stay torchvision's: whether their result lies in memory with the channels last depends on what they draw. Of a `RandomResizedCrop` by v2 that comes first on a tensor of `torchvision.io` this is known, and it is native.

| transform | torchvision.transforms | torchvision.transforms.v2 |
| --- | --- | --- |
"""  # noqa: E501


def classes(module):
    return {
        name
        for name, found in vars(module).items()
        if inspect.isclass(found) and not name.startswith("_")
        and name not in ("AutoAugmentPolicy", "InterpolationMode", "Transform")
    }  # fmt: skip


def what(api, name, module):
    kind = f"{api}.{name}"
    if name not in classes(module):
        return NONE
    if kind in table.CONTAINERS:
        return CONTAINER
    if kind in table.GATES:
        return NATIVE
    if kind in recipes.CHOICES:
        return CHOICE
    if kind in OF_TARGETS:
        return TARGETS
    return NATIVE if kind in table._TABLE or kind in table.several.KINDS else CODE


OF_TIMM = """
# timm's transforms

Those of timm 0.9 and 1.0 whose code is known by its text ([0045](../adr/0045-timm.md)). They draw from Python's generator and from NumPy's, as timm's code does. Others, such as `ResizeKeepRatio`, `RandomCropOrPad` and `AugMixAugment`, stay in Python.

| transform of timm's | what becomes of it |
| --- | --- |
"""  # noqa: E501
# Of a class, what of it has a native form.
TIMM = {
    "AutoAugment": "native, of PIL images in RGB: `original`, `originalr`, `v0`, `v0r`; `3a` stays in Python",
    "MaybePILToTensor": "native, of PIL images",
    "MaybeToTensor": "native, of PIL images",
    "RandAugment": "native, of PIL images in RGB, weighted too; with `t3a` and `t3aw` it stays in Python",
    "RandomErasing": "native, of one tensor with `mode='const'` on the CPU, with up to 64 rectangles",
    "RandomResizedCropAndInterpolation": "native, of PIL images, with one interpolation or `random`",
}


def of_timm():
    return "".join(f"| {name} | {what} |\n" for name, what in sorted(TIMM.items()))


def page():
    rows = [
        f"| {name} | {what('v1', name, v1)} | {what('v2', name, v2)} |\n"
        for name in sorted(classes(v1) | classes(v2))
    ]
    return HEAD + "".join(rows) + OF_TIMM + of_timm()


def test_page_is_up_to_date():
    if os.environ.get("HEADRACE_UPDATE_DOCS"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_every_native_transform_is_on_it():
    listed = {f"{api}.{name}" for api, m in (("v1", v1), ("v2", v2)) for name in classes(m)}
    listed |= {f"timm.{name}" for name in TIMM}
    assert set(table._TABLE) <= listed
