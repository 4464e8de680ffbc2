"""Methods of a tensor that transforms made: `PILToTensor()(mask).squeeze(0).long()`."""

from dataclasses import replace
from types import MethodDescriptorType
from typing import Any

import torch

from ...native import joint as sorts
from ...native.plan import DTYPES, Node
from ..proof.lookup import lookup
from .follower import Follower
from .joint import sort_of
from .values import Held, Image, Special, Stop, name
from .views import SOURCE, Known

_ONE_CHANNEL = ("L", sorts.INDEX)
_TYPES = {"long": "int64", "int": "int32", "float": "float32", "double": "float64"}
_CASTS = (*_TYPES, "to", "type")


class TensorMethod(Special):
    called = "a method of what was made of the picture"

    def __init__(self, image: Image, of: str) -> None:
        self._image, self._of = image, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        if self._of == "squeeze":
            return _squeezed(f, self._image, args, named)
        return _cast(f, self._image, self._of, args, named)


def method(f: Follower, image: Image, of: str) -> TensorMethod | None:
    """None: it is none that is known, or the picture is no tensor."""
    if of not in (*_CASTS, "squeeze") or image.step <= SOURCE:
        return None
    if sort_of(f, image).kind not in (sorts.PURE, sorts.IMAGE, sorts.MASK):
        return None
    found = f.seen.read(("torch.Tensor", of), lambda: lookup(torch.Tensor, of))
    if type(found) is not MethodDescriptorType or found.__objclass__ is torch.Tensor:
        raise Stop(f"uses .{of} of a tensor, which the program has replaced")
    return TensorMethod(image, of)


def _cast(f: Follower, image: Image, of: str, args: list[Any], named: dict[str, Any]) -> Image:
    given = [*args, *named.values()]
    if of in _TYPES:
        if given:
            raise Stop(f"calls {of} with arguments")
        dtype = _TYPES[of]
    else:
        if len(given) != 1 or set(named) - {"dtype"} or type(given[0]) is not Held:
            raise Stop(f"calls {of} with other than a type")
        thing = given[0].thing
        if type(thing) is not torch.dtype or thing not in DTYPES:
            raise Stop(f"calls {of} with {name(given[0])}")
        dtype = DTYPES[thing]
    before = sort_of(f, image)
    # torch hands on what has the type already. A tv_tensor's own type survives `to` alone.
    kind = before.kind if of == "to" or before.kind == sorts.PURE else ""
    sort = replace(before, kind=kind)
    node = Node("to_dtype", {"dtype": dtype, "scale": 0, "api": 2}, label=f".{of}()")
    done = f.steps[image.step].transform
    if type(done) is not Known or done.node.op != "squeeze":
        return f.add(Known(node, sort=sort), image, "")
    # Elements are cast before a dimension is dropped, which changes nothing but the plan.
    f.superseded.add(image.step)
    cast = f.add(Known(node, sort=sort), Image(f.steps[image.step].of), "")
    return f.add(Known(done.node, sort=sort), cast, "")


def _squeezed(f: Follower, image: Image, args: list[Any], named: dict[str, Any]) -> Image:
    """Of [1, H, W], as it was made of a PIL image of one channel."""
    before = sort_of(f, image)
    done = f.steps[image.step].transform
    squeezed = type(done) is Known and done.node.op == "squeeze"
    if [*args, *named.values()] != [0] or set(named) - {"dim"}:
        raise Stop("calls squeeze with other than 0")
    if before.mode not in _ONE_CHANNEL or squeezed or before.flat:
        raise Stop("calls squeeze of a tensor that is not known to have one channel")
    made = sorts.Sort(sorts.PURE, before.mode)
    return f.add(Known(Node("squeeze", label=".squeeze(0)"), sort=made), image, "")
