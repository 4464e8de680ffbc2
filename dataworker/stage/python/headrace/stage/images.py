"""Pictures in Python stages: PIL's interface with the native operators.

In a stage host, a JPEG file that user code opens with PIL is not decoded where the code says so. The
image that `convert("RGB")`, `crop`, `resize` or `transpose` returns only notes what was asked, and
so does the opened one when the code calls load(), to have its file closed. Code that then needs the
pixels (NumPy, ToTensor, any other method) gets them from one native pass over the file, which
decodes no more than the crop shows. User code runs as it is and draws what it draws.

The bits are PIL's:
  - the first images of every sequence of steps are made both ways and compared; a step that differs is
    PIL's from then on, in this host, and one line says so;
  - what has no native form is made by PIL from the noted steps;
  - a truncated file is PIL's at once, and raises where it does without us; one that turns out to be
    damaged in another way ends the batch by Redo, and the host makes it again with PIL alone.

The images themselves: deferred.py. Why so, and what user code could notice:
docs/adr/0010-deferred-images.md. What torchvision's transforms do to such an image: transforms.py.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import PIL

from ..native.intact import OF_CHAIN, first_change
from ..process.output import tell
from . import pil
from .finding import FoundOut
from .picture_files import made_by
from .render import ImageMaker

_OLDEST_PIL = (10, 1)  # before it, an image's size and mode were attributes of another kind

_current: ImageMaker | None = None
_kit: "Kit | None" = None


class Kit:
    """What makes a process's pictures natively, and what it has learned of it. May be made before the
    fork of the process that uses it."""

    def __init__(self, maker: ImageMaker, performer: Any) -> None:
        """`performer`: transforms.Performer; None: transforms are all torchvision's."""
        self.maker, self.performer = maker, performer

    @property
    def news(self) -> int:
        """Grows with what is found out."""
        return self.maker.news

    def know(self, found_out: FoundOut) -> None:
        self.maker.know(found_out)
        if self.performer is not None:
            self.performer.know(found_out)

    def tell_into(self, found_out: FoundOut) -> None:
        self.maker.tell_into(found_out)
        if self.performer is not None:
            self.performer.tell_into(found_out)


def kit(kept: list[str]) -> Kit | None:
    """Changes nothing in this process. `kept`: as enable()'s. None: this PIL or this installation does
    not allow it."""
    if "decode" in kept or _version(PIL.__version__) < _OLDEST_PIL:
        return None
    try:
        from .. import _images
    except ImportError:
        return None  # without the native part everything still runs
    import torch

    torchvision = sys.modules.get("torchvision")
    renderer = _images.Renderer(
        PIL.__version__,
        torch.__version__,
        getattr(torchvision, "__version__", ""),
        torch.backends.cpu.get_cpu_capability(),
    )
    maker = ImageMaker(renderer, frozenset(kept))
    if "torchvision.transforms.functional" not in sys.modules or kept:
        return Kit(maker, None)
    from . import transforms

    return Kit(maker, transforms.Performer(maker))


def enable(kept: list[str], made: Kit | None = None, intact: bool = False) -> Kit | None:
    """Once in a process, after the imports of user code. `kept`: of decode, crop, resize, flip and
    to_tensor, what stays PIL's; with anything in it, transforms are all torchvision's. `made`: of the
    process that this one is a fork of; `intact`: that one has seen that the program has put nothing in
    PIL's place, and no code of the program has run since. None: this PIL, this installation or what the
    program did to PIL does not allow it, and nothing was changed."""
    global _current, _kit
    if _kit is not None:
        return _kit
    if not intact and _is_changed():
        return None
    used = made or kit(kept)
    if used is None:
        return None
    _kit, _current = used, used.maker
    made_by(_current)
    pil.replace_names()
    if used.performer is not None:
        from . import transforms

        transforms.enable(used.performer)
    return used


def _is_changed() -> bool:
    """Whether the program has put something of its own in the place of what pictures stand for; says so."""
    if change := first_change(OF_CHAIN):
        tell(f"headrace: {change}: pictures are PIL's")
    return bool(change)


def take_count() -> int:
    """Images that were made natively since the last call."""
    if _current is None:
        return 0
    count, _current.made = _current.made, 0
    return count


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


@contextmanager
def deferring() -> Iterator[None]:
    """Images are deferred inside, and may raise Redo; outside all is PIL's, errors too."""
    if _current is not None:
        _current.on = True
    try:
        yield
    finally:
        if _current is not None:
            _current.on = False
