"""A plan's nodes, run one after the other by torchvision's own functions: what a plan says, without
operators."""

import operator
import random
from typing import Any

import torch
from headrace.native.plan import Node
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as of_v1
from torchvision.transforms.v2 import functional as of_v2

Pixels = Any  # a PIL image or a tensor


def values_of(nodes: list[Node], files: list[str]) -> list[Any]:
    """What each node makes of a sample of these files. Draws from the generators of torch and Python."""
    return _Run(files).values(nodes)


class _Run:
    def __init__(self, files: list[str]) -> None:
        self._files = files
        self._drawn: dict[int, Any] = {}

    def values(self, nodes: list[Node]) -> list[Any]:
        made: list[Any] = []
        skipped: set[int] = set()
        for number, node in enumerate(nodes):
            before = node.inputs[0] if node.inputs else number - 1
            value = made[before] if before >= 0 else None
            if number in skipped:
                made.append(value)
                continue
            args = dict(node.args)
            leader = args.pop("draws_of", None)
            draw, apply = _RULES[node.op]
            params = self._drawn[leader] if leader is not None else draw(args, value)
            self._drawn[number] = params
            if node.op == "random_apply" and not params:
                skipped.update(range(number + 1, number + 1 + args["nodes"]))
            made.append(self._open(args) if node.op == "decode" else apply(args, value, params))
        return made

    def _open(self, args: dict[str, Any]) -> Image.Image:
        image = Image.open(self._files[args.get("file", 0)])
        if args["mode"] == "index":
            assert image.mode in ("L", "P")
            return image
        return image.convert(args["mode"])


def _modes(args: dict[str, Any]) -> dict[str, Any]:
    mode = InterpolationMode(args["interpolation"])
    return {"interpolation": mode, "antialias": bool(args.get("antialias", 1))}


def _functions(args: dict[str, Any]) -> Any:
    return of_v1 if args["api"] == 1 else of_v2


def _nothing(args: dict[str, Any], value: Pixels) -> None:
    return None


def _draw_resized_crop(args: dict[str, Any], value: Pixels) -> dict[str, int]:
    if args["api"] == 1:
        place = v1.RandomResizedCrop.get_params(value, args["scale"], args["ratio"])
        return dict(zip(("top", "left", "height", "width"), place, strict=True))
    crop = v2.RandomResizedCrop(args["size"], args["scale"], args["ratio"])
    return crop.make_params([value])


def _resized_crop(args: dict[str, Any], value: Pixels, place: dict[str, int]) -> Pixels:
    return _functions(args).resized_crop(value, **place, size=args["size"], **_modes(args))


def _draw_length(args: dict[str, Any], value: Pixels) -> Any:
    if args.get("generator") == "python":
        return {"size": random.randint(args["min_size"], args["max_size"] - 1)}
    return v2.RandomResize(args["min_size"], args["max_size"]).make_params([value])


def _resize_to(args: dict[str, Any], value: Pixels, drawn: Any) -> Pixels:
    return _functions(args).resize(value, drawn["size"], **_modes(args))


def _crop_of(args: dict[str, Any]) -> v2.RandomCrop:
    return v2.RandomCrop(
        args["size"], args.get("padding"), bool(args["pad_if_needed"]), args.get("fill", 0)
    )


def _draw_crop(args: dict[str, Any], value: Pixels) -> Any:
    if args["api"] == 1:
        return v1.RandomCrop.get_params(value, args["size"])
    return _crop_of(args).make_params([value])


def _crop(args: dict[str, Any], value: Pixels, place: Any) -> Pixels:
    return of_v1.crop(value, *place) if args["api"] == 1 else _crop_of(args).transform(value, place)


def _flips(args: dict[str, Any], value: Pixels) -> bool:
    return bool(torch.rand(1) < args["p"])


def _gate(args: dict[str, Any], value: Pixels) -> bool:
    python = args.get("generator") == "python"
    if "cases" in args:
        return bool(random.choice(args["cases"]))
    drawn = random.random() if python else torch.rand(1)
    if "when" in args:
        p = args["p"] if python else torch.tensor(args["p"])
        return bool(getattr(operator, args["when"])(drawn, p))
    return bool(drawn < args["p"]) if args["api"] == 2 else not bool(args["p"] < drawn)


def _pad(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    padding, least = args["padding"], args.get("least")
    if least is not None:
        width, height = value.size
        padding = [0, 0, max(0, least[1] - width), max(0, least[0] - height)]
    return of_v2.pad(value, padding, args["fill"])


def _draw_angle(args: dict[str, Any], value: Pixels) -> float:
    assert args["generator"] == "python"
    return random.choice(args["choices"]) if "choices" in args else random.uniform(*args["degrees"])


def _rotate(args: dict[str, Any], value: Pixels, angle: float) -> Pixels:
    mode = InterpolationMode(args["interpolation"])
    return of_v1.rotate(value, angle, mode, fill=args.get("fill"))


def _either(function: Any) -> Any:
    return lambda args, value, runs: function(value) if runs else value


def _resize(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    return _functions(args).resize(value, args["size"], **_modes(args))


def _to_dtype(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    return of_v2.to_dtype(value, getattr(torch, args["dtype"]), bool(args["scale"]))


def _normalize(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    return of_v1.normalize(value, args["mean"], args["std"])


def _flip(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    return of_v1.hflip(value) if args["axis"] == "horizontal" else of_v1.vflip(value)


def _jitter(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    named = {
        key: args[key] for key in ("brightness", "contrast", "saturation", "hue") if key in args
    }
    return v2.ColorJitter(**named)(value)


def _grayscale(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    return v2.RandomGrayscale(args["p"])(value)


def _blur(args: dict[str, Any], value: Pixels, _: None) -> Pixels:
    sides = [len(args["positions_x"]), len(args["positions_y"])]
    return v2.GaussianBlur(sides, args["sigma"])(value)


def _draw_displacement(args: dict[str, Any], value: Pixels) -> torch.Tensor:
    height, width = of_v2.get_size(value)
    planes = []
    for axis, alpha, side in zip(("across", "down"), args["alpha"], (width, height), strict=True):
        plane = torch.rand(1, 1, height, width) * 2 - 1
        columns, rows = (torch.tensor(args[f"{axis}_{of}"]) for of in ("columns", "rows"))
        left, top = len(columns) // 2, len(rows) // 2
        padded = torch.nn.functional.pad(plane, [left, left, top, top], mode="reflect")
        kernel = rows[:, None] * columns[None, :]
        planes.append(torch.conv2d(padded, kernel[None, None]) * alpha / side)
    return torch.concat(planes, 1).permute(0, 2, 3, 1)


def _displace(args: dict[str, Any], value: Pixels, displacement: torch.Tensor) -> Pixels:
    mode = InterpolationMode(args["interpolation"])
    return of_v2.elastic(value, displacement, mode, args["fill"])


def _of(function: Any) -> tuple[Any, Any]:
    return _nothing, lambda args, value, _: function(value)


_RULES: dict[str, tuple[Any, Any]] = {
    "decode": _of(None),
    "identity": _of(lambda value: value),
    "pil_to_tensor": _of(of_v1.pil_to_tensor),
    "to_image": _of(of_v2.pil_to_tensor),
    "to_tensor": _of(of_v1.to_tensor),
    "squeeze": _of(lambda value: value.squeeze(0)),
    "resize": (_nothing, _resize),
    "center_crop": (_nothing, lambda args, value, _: of_v2.center_crop(value, args["size"])),
    "pad": (_nothing, _pad),
    "random_rotation": (_draw_angle, _rotate),
    "flip": (_nothing, _flip),
    "normalize": (_nothing, _normalize),
    "to_dtype": (_nothing, _to_dtype),
    "color_jitter": (_nothing, _jitter),
    "random_grayscale": (_nothing, _grayscale),
    "gaussian_blur": (_nothing, _blur),
    "elastic_transform": (_draw_displacement, _displace),
    "random_horizontal_flip": (_flips, _either(of_v2.horizontal_flip)),
    "random_vertical_flip": (_flips, _either(of_v2.vertical_flip)),
    "random_resized_crop": (_draw_resized_crop, _resized_crop),
    "random_resize": (_draw_length, _resize_to),
    "random_crop": (_draw_crop, _crop),
    "random_apply": (_gate, lambda args, value, _: value),
}
