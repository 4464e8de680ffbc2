"""Whether timm's code is the code that native/timm.py stands for, as it is now in this process.

A function is known by its text, which releases of timm share or do not. What the program has replaced in
timm's modules, alterations.py sees; here is what these modules are read for beside that: the modules that
their functions call, and numbers that they compute with.

Pure but for the looking; any thread; nothing is imported.
"""

import functools
import sys
from typing import Any

from .genuine import digest
from .python_random import own_functions

TRANSFORMS, ERASING = "timm.data.transforms", "timm.data.random_erasing"
MODULES = (TRANSFORMS, ERASING)
# The samples' code in each, with the digests of its texts. timm 0.9 and 1.0.
_FUNCTIONS: dict[str, dict[str, str]] = {
    TRANSFORMS: {
        "MaybePILToTensor.__call__": "c7e60de24b8b8287fd35ebdf2926e8c9151fff66dad7fd4d0584498b7b4c66fb",
        "MaybeToTensor.__call__": "c8a696bd8382fbc539bacd43fb9e590776d2f8729a98c11de30ad3e9e118ef3d",
        "RandomResizedCropAndInterpolation.__call__": "1f079ab5a1559c6bd87ab0c9f29433e73b8b4ea21e27ac8e3b6eead60ca5f38f",
        "RandomResizedCropAndInterpolation.get_params": "99dcee8f4cb4f0b30632f4dd4d8828792d5389a3fed8d2f9509140282f8b79a8",
    },
    ERASING: {
        "RandomErasing.__call__": "0312ced5407c28e1530db15bdf3c31ed806d177ff935808816b55a0df8b99035",
        "RandomErasing._erase": "cb62bfe7873257bf8b39616060bdd812d89a881a67775deedca705775072d76d",
        "_get_pixels": "ff0ea6b7c5e333287eb2855708e6f54f4c1a23817aef6acce6594d3f8c0fe327",
    },
}
# The modules that this code calls, by the names that it has for them.
_CALLED = {
    TRANSFORMS: {
        "F": "torchvision.transforms.functional",
        "math": "math",
        "random": "random",
        "torch": "torch",
    },
    ERASING: {"math": "math", "random": "random", "torch": "torch"},
}
_OF_RANDOM = ("choice", "randint", "random", "uniform")


def first_difference() -> str:
    """What of timm's is not known, in words; empty: all of it is. Modules that the program has not
    imported stand for nothing."""
    modules = [(name, vars(sys.modules[name])) for name in MODULES if name in sys.modules]
    for name, space in modules:
        for own, of in _CALLED[name].items():
            if space.get(own) is not sys.modules.get(of):
                return f"{name}.{own}"
        for path, known in _FUNCTIONS[name].items():
            function = _function(space, path)
            code = getattr(function, "__code__", None)
            if function is not None and (code is None or _digest(function, code) != known):
                return f"{name}.{path}, or a release of timm is installed that is not known"
    for of in _OF_RANDOM if modules else ():
        if own_functions(of) is None:
            return f"random.{of}, or what it calls"
    return ""


def _function(space: dict[str, Any], path: str) -> Any:
    """A module's function, or a class's own; None: a release without it."""
    cls, _, name = path.rpartition(".")
    if cls:
        space = vars(space[cls]) if cls in space else {}
    found = space.get(name)
    return found.__func__ if isinstance(found, staticmethod) else found


@functools.lru_cache(maxsize=256)
def _digest(function: Any, code: Any) -> str:
    """`code`: of the function, by which a change of it is seen."""
    return digest([function])
