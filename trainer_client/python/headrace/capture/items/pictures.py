"""Files and pictures that an entry of a data set opens."""

from typing import Any

from ..views.attributes import attribute
from ..views.values import Image, Special, Stop
from .columns import Column

# Whose picture it is: PIL's own kind, a tensor of torchvision.io's, or an array of cv2's.
PIL, TORCHVISION, OPENCV = "PIL", "torchvision.io", "cv2"


class OpenFile(Special):
    """open(path, "rb")"""

    called = "an open file"

    def __init__(self, paths: Column) -> None:
        self.paths = paths
        self.is_closed = False
        self.is_read = False

    def enter(self, f: Any) -> "OpenFile":
        return self

    def leave(self, f: Any) -> None:
        self.is_closed = True


class Opened(Special):
    """PIL.Image.open(path): the picture is read when somebody first uses it."""

    called = "a picture that is opened"

    def __init__(self, file: OpenFile) -> None:
        self.file = file

    def enter(self, f: Any) -> "Opened":
        return self

    def leave(self, f: Any) -> None:
        self.file.is_closed = True

    def attribute(self, f: Any, of: str) -> Any:
        if of == "convert":
            return _Convert(self)
        if of in ("size", "width", "height"):
            return attribute(f, self.read(f, ""), of)
        return super().attribute(f, of)

    def is_of(self, classes: tuple[type, ...]) -> bool:
        return object in classes

    def read(self, f: Any, mode: str) -> Image:
        """The picture in this mode; empty: the one of the file."""
        if self.file.is_closed:
            raise Stop("reads a picture of a file that is closed")
        self.file.is_read = True
        image: Image = f.open(self.file.paths, mode, PIL)
        return image


class FileBytes(Special):
    """torchvision.io.read_file(path): a tensor of the file's bytes."""

    called = "the bytes of a file"

    def __init__(self, file: OpenFile) -> None:
        self.file = file

    def decode(self, f: Any, mode: str) -> Image:
        """The tensor that torchvision.io makes of them."""
        self.file.is_read = True
        image: Image = f.open(self.file.paths, mode, TORCHVISION)
        return image


class _Convert(Special):
    called = "convert of a picture"

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        given = args or list(named.values())
        if len(args) + len(named) != 1 or set(named) - {"mode"} or type(given[0]) is not str:
            raise Stop("calls convert with more than a mode")
        return self._opened.read(f, given[0])
