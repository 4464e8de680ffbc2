"""The functions that transforms and collation call in torch, NumPy, math and random. They are too
many to look at whole, but programs do replace them (`torch.rand = antithetic`, `Tensor.uniform_ =
clipped`).

Pure but for the looking; any thread; nothing is imported. Some hundred microseconds.
"""

import sys
import types
from typing import Any

from .genuine import BUILTIN, is_genuine
from .python_random import own_functions

# Module -> the functions of it that are looked at. Those that an installed version has not are left out.
WATCHED: dict[str, tuple[str, ...]] = {
    "torch": (
        "arange", "as_tensor", "bernoulli", "cat", "clamp", "div", "empty", "empty_like", "exp", "flip",
        "from_numpy", "frombuffer", "full", "linspace", "log", "max", "mean", "min", "normal", "ones",
        "permute", "rand", "randint", "randn", "randperm", "reshape", "round", "stack", "tensor", "where",
        "zeros",
    ),
    "torch.nn.functional": ("affine_grid", "conv2d", "grid_sample", "interpolate", "pad"),
    "numpy": ("array", "asarray"),
    "math": (
        "atan", "ceil", "cos", "degrees", "exp", "floor", "log", "radians", "sin", "sqrt", "tan",
    ),
}  # fmt: skip
_OF_RANDOM = ("choices", "shuffle")  # v1's RandomChoice and RandomOrder call them
# How a tensor is shown, which no sample depends on: libraries replace these.
_SHOWN = ("__dir__", "__format__", "__repr__", "__str__")

# What the class holds beside methods: its module, its annotations, properties.
_PLAIN = (str, int, dict, type(None), property, classmethod)


def first_altered_primitive() -> str:
    """Its name; empty: all are the libraries' own."""
    for module, names in WATCHED.items():
        space = vars(sys.modules[module]) if module in sys.modules else {}
        for name in names:
            if name in space and not _is_own(space[name], name, module.partition(".")[0]):
                return f"{module}.{name}"
    for name in _OF_RANDOM:
        if own_functions(name) is None:
            return f"random.{name}, or what it calls"
    torch = sys.modules.get("torch")
    return _altered_method(torch) if torch is not None else ""


def _is_own(value: Any, name: str, package: str) -> bool:
    if isinstance(value, types.FunctionType):
        return value.__name__ == name and is_genuine(value, package)
    kind = type(value)
    return (isinstance(value, BUILTIN) or kind.__module__.partition(".")[0] == package) and (
        value.__name__ == name
    )


def _altered_method(torch: Any) -> str:
    """The name of a tensor method that torch defines, in C++ or in Python, and that somebody has
    replaced. What programs add is no part of a transform."""
    base = torch._C.TensorBase
    value: Any
    for name, value in vars(torch.Tensor).items():
        if name in _SHOWN or not hasattr(base, name):
            continue
        if isinstance(value, types.FunctionType):
            own = is_genuine(value, "torch")
        else:  # torch binds operators (`__neg__`) to methods of other names
            own = isinstance(value, (*BUILTIN, *_PLAIN)) and (
                name.startswith("__") or getattr(value, "__name__", "") == name
            )
        if not own:
            return f"torch.Tensor.{name}"
    return ""
