"""Objects of libraries that are called: torchvision's transforms, albumentations, tokenizers.

Such an object is known by its exact class. What it holds is looked through: functions and objects of
the program's own that it may call are followed.
"""

import sys
from typing import Any

import torch

from ..arguments import Arguments
from ..contents import call_any
from ..frames import Frame
from ..interpreter import Interpreter
from ..plain import plain
from ..values import Lasting, Value, describe, live, one
from .entry import ALIAS, FRESH, Entry, Special, apply

# These call what they are given: torchvision's own code is read instead.
_READ = {
    "Compose",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "Lambda",
    "MixUp",
    "CutMix",
    "Transform",
    "RandomTransforms",
}
_CLASSES_IN = (
    "torchvision.transforms.transforms",
    "torchvision.transforms.autoaugment",
    "torchvision.transforms.v2",
    "torch.nn",
)
_LAYERS = {
    "Identity",
    "ReLU",
    "Sigmoid",
    "Tanh",
    "Softmax",
    "AvgPool1d",
    "AvgPool2d",
    "MaxPool2d",
    "MaxPool1d",
    "Flatten",
    "Upsample",
    "Linear",
    "Conv1d",
    "Conv2d",
    "LayerNorm",
    "GELU",
    "ZeroPad2d",
    "ConstantPad1d",
    "ReflectionPad2d",
    "ReplicationPad2d",
    "PixelShuffle",
    "Embedding",
}
_BY_BASE = (
    ("albumentations.core.transforms_interface", "BasicTransform"),
    ("albumentations.core.composition", "BaseCompose"),
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase"),
)
_FUNCTIONAL = (
    "to_tensor pil_to_tensor normalize resize pad crop center_crop resized_crop hflip vflip "
    "five_crop ten_crop adjust_brightness adjust_contrast adjust_saturation adjust_hue "
    "adjust_gamma rotate affine perspective to_grayscale rgb_to_grayscale erase gaussian_blur "
    "invert posterize solarize adjust_sharpness autocontrast equalize get_image_size get_dimensions "
    "convert_image_dtype elastic_transform get_image_num_channels"
)
_DRAW_NOTHING = {
    "CenterCrop", "ConvertImageDtype", "FiveCrop", "Grayscale", "LinearTransformation",
    "Normalize", "Pad", "PILToTensor", "Resize", "TenCrop", "ToDtype", "ToImage", "ToPILImage",
    "ToPureTensor", "ToTensor",
}  # fmt: skip
# Of torchvision.transforms: they give a tensor, or raise.
_GIVE_TENSORS = {"ToTensor", "PILToTensor", "Normalize"}
_classes: dict[type, str] = {}
_seen: set[str] = set()


def _load() -> None:
    for name in _CLASSES_IN:
        module = sys.modules.get(name)
        if module is None or name in _seen:
            continue
        _seen.add(name)
        for found in list(vars(module).values()):
            if isinstance(found, type) and issubclass(found, torch.nn.Module | object):
                of_vision = found.__module__.startswith("torchvision.transforms")
                known = of_vision and found.__name__ not in _READ
                if known or found.__name__ in _LAYERS and found.__module__.startswith("torch.nn"):
                    _classes.setdefault(found, found.__name__)


def instance(part: Any) -> Special | None:
    """A handler for a call of the part; None: its class is not known."""
    if type(part) is not Lasting:
        return None
    _load()
    cls = part.cls
    package = cls.__module__.partition(".")[0]
    by_base = package in ("albumentations", "transformers") and any(
        isinstance(base := getattr(sys.modules.get(module), name, None), type)
        and issubclass(cls, base)
        for module, name in _BY_BASE
    )
    if cls not in _classes and not by_base:
        return None
    for thing in part.objects:
        for name in ("forward", "__call__", "_call_one", "apply", "transform", "make_params"):
            if name in vars(thing):
                return None
        held = vars(thing)
        if any(held.get(n) for n in ("_forward_hooks", "_forward_pre_hooks")):
            return None
    if type(part) is Lasting and cls.__module__.startswith("torch.nn") and _writes(cls):
        return None
    return _call


def _writes(cls: type) -> bool:
    return cls.__name__ not in _LAYERS


def _call(it: Interpreter, frame: Frame, part: Any, given: Arguments) -> Value:
    if any(_draws(thing) for thing in part.objects):
        it.draws()
    code = []
    for thing in part.objects:
        held = [v for v in vars(thing).values()]
        for value in held:
            code += plain(it, one(live(value, describe(part))), own=True)
    if code:
        call_any(it, frame, code, given.all())
    if any(getattr(thing, "inplace", False) for thing in part.objects):
        for value in given.args:
            for inner in value:
                it.writes_if_lasting(inner)
    first = part.cls.__module__ == "torchvision.transforms.transforms"
    cls = torch.Tensor if first and part.cls.__name__ in _GIVE_TENSORS else None
    return apply(it, frame, part.cls.__name__, given, ALIAS, cls)


def _draws(thing: Any) -> bool:
    """Whether it may draw random numbers. None of the layers that are known does."""
    name = type(thing).__name__
    return name not in _LAYERS and name not in _DRAW_NOTHING


ENTRIES = {
    "torchvision.transforms.functional": [("to_tensor pil_to_tensor normalize", Entry(ALIAS, torch.Tensor)),
                                          (_FUNCTIONAL, Entry(ALIAS)),
                                          ("to_pil_image", Entry(ALIAS))],
    "torchvision.transforms.v2.functional": [(_FUNCTIONAL, Entry(ALIAS)),
                                             ("to_pil_image", Entry(ALIAS)),
                                             ("to_image to_dtype", Entry(ALIAS)),
                                             ("get_size get_num_channels", Entry(FRESH))],
    "torchvision.io": [("read_image decode_image decode_jpeg decode_png read_file",
                        Entry(FRESH, torch.Tensor))],
    "torchvision.io.image": [("read_image decode_image decode_jpeg", Entry(FRESH, torch.Tensor))],
    "torchvision.ops": [("box_convert box_iou clip_boxes_to_image remove_small_boxes nms box_area",
                         Entry(FRESH, torch.Tensor))],
    "torchvision.utils": [("_Image_fromarray", Entry(ALIAS))],
    "torchvision.transforms.transforms": [],
    "torchvision.tv_tensors": [("wrap", Entry(ALIAS)),
                               ("Image Mask BoundingBoxes Video KeyPoints", Entry(ALIAS, torch.Tensor))],
}  # fmt: skip
