"""Which transform of torchvision's, or of timm's, an object is. Exact types only."""

import sys
from typing import Any

from .collate import name_of
from .plan import NotNative

MODULES = {"v1": "torchvision.transforms", "v2": "torchvision.transforms.v2"}
# timm's own, by the module that has them.
TIMM = {
    "AutoAugment": "timm.data.auto_augment",
    "MaybePILToTensor": "timm.data.transforms",
    "MaybeToTensor": "timm.data.transforms",
    "RandAugment": "timm.data.auto_augment",
    "RandomErasing": "timm.data.random_erasing",
    "RandomResizedCropAndInterpolation": "timm.data.transforms",
}
CONTAINERS = frozenset(("v1.Compose", "v2.Compose"))


def kind_of(transform: Any) -> str | None:
    """ "v1.Resize" for an object whose type is torchvision.transforms.Resize itself, "timm.X" for
    timm's."""
    return kind_of_class(type(transform))


def kind_of_class(cls: type) -> str | None:
    name = cls.__name__
    for api, module in MODULES.items():
        if getattr(sys.modules.get(module), name, None) is cls:
            return f"{api}.{name}"
    if getattr(sys.modules.get(TIMM.get(name, "")), name, None) is cls:
        return f"timm.{name}"
    return None


def check_unaltered(transform: Any) -> None:
    """Raises NotNative where the object does not do what its class does."""
    cls = type(transform)
    for name, value in vars(transform).items():
        if name == "_compiled_call_impl" and value is not None:
            raise NotNative(f"{name_of(transform)} is compiled", "leave the transform as it is")
        if name in ("_forward_hooks", "_forward_pre_hooks") and value:
            raise NotNative(f"{name_of(transform)} has forward hooks", "remove the hooks")
        if callable(value) and callable(getattr(cls, name, None)):
            raise NotNative(
                f"{name_of(transform)}: its {name} was replaced", "leave the object as it was made"
            )
