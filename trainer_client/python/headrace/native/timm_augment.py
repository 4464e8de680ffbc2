"""timm's RandAugment and AutoAugment as a node: which operations, with which chances, and how large.

An operation is known by the two functions that it calls, one for its argument and one for its pixels
(timm_text.py says that they are timm's own). Magnitudes are drawn natively, so nothing is computed here.
"""

import math
import sys
from typing import Any

from .arguments import interpolation
from .collate import name_of
from .kinds import check_unaltered
from .plan import RANDOM, Node, NotNative

_MODULE = "timm.data.auto_augment"
# The names in the order of ops/timm_augment/timm_step.h, with the functions of their arguments and of
# their pixels.
_OPS: dict[str, tuple[str | None, str]] = {
    "AutoContrast": (None, "auto_contrast"),
    "Equalize": (None, "equalize"),
    "Invert": (None, "invert"),
    "Rotate": ("_rotate_level_to_arg", "rotate"),
    "Posterize": ("_posterize_level_to_arg", "posterize"),
    "PosterizeIncreasing": ("_posterize_increasing_level_to_arg", "posterize"),
    "PosterizeOriginal": ("_posterize_original_level_to_arg", "posterize"),
    "Solarize": ("_solarize_level_to_arg", "solarize"),
    "SolarizeIncreasing": ("_solarize_increasing_level_to_arg", "solarize"),
    "SolarizeAdd": ("_solarize_add_level_to_arg", "solarize_add"),
    "Color": ("_enhance_level_to_arg", "color"),
    "ColorIncreasing": ("_enhance_increasing_level_to_arg", "color"),
    "Contrast": ("_enhance_level_to_arg", "contrast"),
    "ContrastIncreasing": ("_enhance_increasing_level_to_arg", "contrast"),
    "Brightness": ("_enhance_level_to_arg", "brightness"),
    "BrightnessIncreasing": ("_enhance_increasing_level_to_arg", "brightness"),
    "Sharpness": ("_enhance_level_to_arg", "sharpness"),
    "SharpnessIncreasing": ("_enhance_increasing_level_to_arg", "sharpness"),
    "ShearX": ("_shear_level_to_arg", "shear_x"),
    "ShearY": ("_shear_level_to_arg", "shear_y"),
    "TranslateX": ("_translate_abs_level_to_arg", "translate_x_abs"),
    "TranslateY": ("_translate_abs_level_to_arg", "translate_y_abs"),
    "TranslateXRel": ("_translate_rel_level_to_arg", "translate_x_rel"),
    "TranslateYRel": ("_translate_rel_level_to_arg", "translate_y_rel"),
}
_KNOWN = {functions: code for code, functions in enumerate(_OPS.values())}
_ATTRIBUTES = {
    "name", "aug_fn", "level_fn", "prob", "magnitude", "hparams", "kwargs", "magnitude_std",
    "magnitude_max",
}  # fmt: skip
_RANDOM_WAYS = ["bilinear", "bicubic"]
_MISSING = object()
_MOST_WEIGHT_ERROR = 1e-9  # NumPy raises from about 1e-8 on


def rand_augment(t: Any) -> Node:
    if type(t.ops) is not list or not t.ops:
        raise NotNative(f"{name_of(t)} holds its operations in an unknown kind of list")
    if type(t.num_layers) is not int:
        raise NotNative(f"num_layers={t.num_layers!r} has no native form")
    args = {
        **_operations(t.ops),
        "num_layers": t.num_layers,
        "weights": _weights(t),
        "choices_from": "numpy",
    }
    return Node("timm_augment", args, RANDOM, label=f"RandAugment(n={t.num_layers})")


def auto_augment(t: Any) -> Node:
    lists = type(t.policy) is list and all(type(part) in (list, tuple) for part in t.policy)
    if not lists or not t.policy:
        raise NotNative(f"{name_of(t)} holds its policies in an unknown kind of list")
    steps = [op for part in t.policy for op in part]
    args = {**_operations(steps), "policies": [len(part) for part in t.policy]}
    return Node("timm_augment", args, RANDOM, label="AutoAugment()")


def _weights(t: Any) -> list[float] | None:
    given = t.choice_weights
    if given is None:
        return None
    numpy = sys.modules["numpy"]  # timm has imported it
    if type(given) is not numpy.ndarray or given.dtype != numpy.float64 or given.ndim != 1:
        raise NotNative(f"choice_weights={given!r} has no native form")
    weights: list[float] = given.tolist()
    if any(not 0 <= weight <= 1 for weight in weights) or (
        abs(math.fsum(weights) - 1) > _MOST_WEIGHT_ERROR
    ):
        raise NotNative("choice_weights are no probabilities")
    return weights


def _operations(ops: list[Any]) -> dict[str, Any]:
    space = vars(sys.modules[_MODULE])
    for op in ops:
        if type(op) is not space["AugmentOp"] or set(vars(op)) != _ATTRIBUTES:
            raise NotNative(f"{name_of(op)} is no operation of timm's")
        check_unaltered(op)
    args = {
        "ops": [_code_of(op, space) for op in ops],
        "probabilities": [number("prob", op.prob) for op in ops],
        "magnitudes": [number("magnitude", op.magnitude) for op in ops],
        "least_bits": _least_bits(),
        "generator": "python",
    }
    shared = [_shared(op) for op in ops]
    if any(one != shared[0] for one in shared):
        raise NotNative("its operations differ in more than magnitudes and probabilities")
    return {**args, **shared[0]}


def _code_of(op: Any, space: dict[str, Any]) -> int:
    for (level, pixels), code in _KNOWN.items():
        of_level = None if level is None else space.get(level, _MISSING)
        if op.aug_fn is space.get(pixels, _MISSING) and op.level_fn is of_level:
            return code
    raise NotNative(f"the operation {op.name!r} of timm has no native form")


def _shared(op: Any) -> dict[str, Any]:
    """What operations of one transform have alike."""
    hparams, kwargs = op.hparams, op.kwargs
    if type(hparams) is not dict or type(kwargs) is not dict:
        raise NotNative(f"the operation {op.name!r} of timm has settings of an unknown kind")
    if set(kwargs) != {"fillcolor", "resample"}:
        raise NotNative(f"the operation {op.name!r} of timm is called with {sorted(kwargs)}")
    fill = kwargs["fillcolor"]
    if type(fill) is not tuple or not all(type(value) is int for value in fill) or len(fill) != 3:
        raise NotNative(f"fillcolor={fill!r} has no native form")
    if not all(0 <= value <= 255 for value in fill):
        raise NotNative(f"fillcolor={fill!r} has no native form")
    std, most = op.magnitude_std, op.magnitude_max
    uniform = type(std) is float and std == math.inf
    args: dict[str, Any] = {
        "fill": [float(value) for value in fill],
        "magnitude_std": 0.0 if uniform else max(0.0, number("magnitude_std", std)),
        "uniform": int(uniform),
        "magnitude_max": number("magnitude_max", most) if most else None,  # else timm's 10
        "translate_pct": number("translate_pct", hparams.get("translate_pct", 0.45)),
        "translate_const": None,
        **_way(kwargs["resample"]),
    }
    if "translate_const" in hparams:
        args["translate_const"] = number("translate_const", hparams["translate_const"])
    elif "translate_abs" in op.aug_fn.__name__:
        raise NotNative("translate_const is not given: timm raises")
    return args


def _way(given: Any) -> dict[str, Any]:
    several = isinstance(given, list | tuple)
    ways = list(given) if several else [given]
    if any(type(way).__name__ != "Resampling" for way in ways):
        raise NotNative(f"resample={given!r} has no native form")
    names = [interpolation(way) for way in ways]
    if not several:
        return {"interpolation": names[0]}
    if names != _RANDOM_WAYS:
        raise NotNative(f"resample={given!r} has no native form")
    return {"random_interpolation": 1}


def number(name: str, value: Any) -> float:
    """Of Python's own types alone: others compute in ways of their own."""
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > 2**53:
        raise NotNative(f"{name}={value!r} is not a number of Python's")
    return float(value)


def _least_bits() -> int:
    """With fewer, this Pillow raises."""
    image = sys.modules["PIL.Image"].new("L", (1, 1))
    try:
        sys.modules["PIL.ImageOps"].posterize(image, 0)
    except Exception:  # Pillow's ValueError, or what the program has put there, which is seen later
        return 1
    return 0
