"""What a lane switches on for pictures, where its program has PIL."""

import functools
from collections.abc import Callable
from typing import Any


def native_images(
    by_pil: tuple[str, ...], made: Any, intact: bool, defers: bool
) -> tuple[Any, Any]:
    """The module of deferred images, switched on, and its kit, where this process has PIL as it is
    installed; else nothing. `made`, `intact`: as images.enable's. `defers`: also pictures of files,
    which may be damaged."""
    try:
        from . import images
    except ImportError:
        return None, None
    kit = images.enable(list(by_pil), made, intact)
    if kit is None:
        return None, None
    kit.maker.decodes = defers
    return images, kit


def opened_pictures() -> Callable[[], bool]:
    """Says whether a JPEG file was opened with PIL since."""
    try:
        from PIL.JpegImagePlugin import JpegImageFile
    except ImportError:
        return lambda: True  # as far as anybody knows
    real = JpegImageFile._open
    opened = False

    @functools.wraps(real)
    def _open(self: Any) -> None:
        nonlocal opened
        opened = True
        if vars(JpegImageFile).get("_open") is _open:  # once is enough
            JpegImageFile._open = real  # type: ignore[method-assign]
        real(self)

    JpegImageFile._open = _open  # type: ignore[method-assign]
    return lambda: opened


def keep_pictures() -> None:
    """Has pictures of files kept beyond this process (leaves.py)."""
    try:
        from . import leaf_pictures
    except ImportError:
        return  # a PIL that is not known
    leaf_pictures.enable()
