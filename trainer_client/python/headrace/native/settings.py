"""Settings of the program's process that native operators do not follow.

Each is looked at at every iter(). What native code follows by itself is not here: a picture that PIL
makes only with ImageFile.LOAD_TRUNCATED_IMAGES is one that the native decoders refuse, so the program's
own code makes it. Nor is what cannot show in a sample (gradient and deterministic modes: no transform with
a native form has another result under them; Image.WARN_POSSIBLE_FORMATS, which is about a message).

Pure but for the looking; any thread. Microseconds.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from .alterations import BATCHES, PICTURES, TRANSFORMS
from .genuine import is_genuine

# PIL's default limit: pictures of twice as many pixels raise.
_PIL_PIXELS = 1024 * 1024 * 1024 // 4 // 3
_DECODED_NATIVELY = ("JPEG", "PNG")


def first_setting(groups: Iterable[str]) -> str:
    """What of these groups (alterations.py) is set so that native code would make other samples, in
    words; empty: nothing."""
    for group in groups:
        for look in _LOOKS.get(group, ()):
            if found := look():
                return found
    return ""


def _pixels() -> str:
    image = sys.modules.get("PIL.Image")
    most = getattr(image, "MAX_IMAGE_PIXELS", None)
    if most is None or most >= _PIL_PIXELS:
        return ""  # what is refused then, native code refuses too, or has PIL look at it
    return f"PIL.Image.MAX_IMAGE_PIXELS is {most}: larger pictures raise"


def _openers() -> str:
    """An opener of the program's, if it is asked before PIL's own of the files that are decoded
    natively. Source: PIL.Image.open, which asks in the order of PIL.Image.ID."""
    image = sys.modules.get("PIL.Image")
    if image is None:
        return ""
    own_first = set(_DECODED_NATIVELY)
    for kind in image.ID:
        factory, accept = image.OPEN.get(kind, (None, None))
        if _is_pils(factory) and (accept is None or _is_pils(accept)):
            own_first.discard(kind)
        elif own_first:
            return f"PIL.Image.register_open: the program's own opener for {kind} is asked first"
    for coder in ("jpeg", "zip"):
        if coder in getattr(image, "DECODERS", {}):
            return f"PIL.Image.register_decoder: {coder} is decoded by the program's own code"
    return ""


def _is_pils(value: Any) -> bool:
    if isinstance(value, type):
        return getattr(sys.modules.get(value.__module__), value.__name__, None) is value and (
            value.__module__.startswith("PIL.")
        )
    return is_genuine(value, "PIL")


def _modes() -> str:
    """Modes that see every call of torch's functions, on this thread."""
    for module, name in (
        ("torch.overrides", "_get_current_function_mode_stack"),
        ("torch.utils._python_dispatch", "_get_current_dispatch_mode_stack"),
    ):
        stack = getattr(sys.modules.get(module), name, None)
        for mode in stack() if stack is not None else ():
            if not _only_says_cpu(mode):
                return f"{type(mode).__qualname__} sees every call of torch's functions"
    return ""


def _only_says_cpu(mode: Any) -> bool:
    """torch.set_default_device, and `with torch.device`."""
    cls = getattr(sys.modules.get("torch.utils._device"), "DeviceContext", None)
    return type(mode) is cls and mode.device.type == "cpu"


def _hooks() -> str:
    module = sys.modules.get("torch.nn.modules.module")
    for name in ("_global_forward_pre_hooks", "_global_forward_hooks"):
        if getattr(module, name, None):
            return f"torch.nn.modules.module.{name}: a hook sees every call of a module"
    return ""


def _return_type() -> str:
    """Operations on tv_tensors make tv_tensors, and so does the stacking of a batch."""
    module = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    if getattr(module, "_TORCHFUNCTION_SUBCLASS", False):
        return "torchvision.tv_tensors.set_return_type: batches are tv_tensors"
    return ""


def _reducers() -> str:
    """Stock batches go through a queue, natively made ones do not."""
    torch, reduction = sys.modules.get("torch"), sys.modules.get("multiprocessing.reduction")
    registered = getattr(getattr(reduction, "ForkingPickler", None), "_extra_reducers", {})
    reduce = registered.get(getattr(torch, "Tensor", None))
    if reduce is None or reduce.__module__ == "torch.multiprocessing.reductions":
        return ""
    return "multiprocessing's ForkingPickler reduces tensors in the program's own way"


_LOOKS: dict[str, tuple[Callable[[], str], ...]] = {
    BATCHES: (_modes, _reducers, _return_type),
    PICTURES: (_pixels, _openers),
    TRANSFORMS: (_hooks,),
}
