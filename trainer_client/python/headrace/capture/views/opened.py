"""A data set's `loader` that is the program's own code and opens pictures with OpenCV.

It is followed as a transform is, with the file's path as the one thing that is not known:

    def open_picture(path):
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        return cv2.resize(image, (224, 224), interpolation=cv2.INTER_AREA)
"""

from typing import Any

from ...native import opencv
from ...native.plan import Node, NotNative
from ...records import dataclass
from .calls import call
from .follower import Follower
from .grounds import Grounds
from .values import Array, File, Held, Stop, name, replaced_builtin

_REMEDY = "a loader that only calls cv2.imread and the functions of cv2 that docs/reference/opencv.md lists"


@dataclass
class Opened:
    """The node that reads the file, the calls after it, and what all of that was found by."""

    source: Node
    calls: list[opencv.Call]
    channels: int
    seen: Grounds


def opened_by(loader: Any) -> Opened:
    """Raises NotNative with the place in the loader's code."""
    f = Follower(call)
    try:
        if replaced := replaced_builtin():
            raise Stop(f"may use builtins.{replaced}, which the program has replaced")
        found = call(f, Held(loader), [File()], {}, name(Held(loader)))
        if type(found) is not Array:
            raise Stop(f"returns {name(found)}, not a picture that cv2.imread read")
        if found.turned:
            raise Stop("returns a view with steps below 0, which torch refuses", "its .copy()")
    except Stop as stop:
        why = f"{stop.place} {stop.text}" if stop.place else f"it {stop.text}"
        raise NotNative(
            f"loader={name(Held(loader))} is Python code: {why}", stop.remedy or _REMEDY
        ) from None
    f.seen.close()
    calls = list(found.calls)
    source = found.source
    # What is read as BGR and turned around at once is read as RGB.
    if calls and calls[0].node.op == "reverse_channels" and source.args["channels"] == "BGR":
        source.args["channels"] = "RGB"
        source.label += ", " + calls.pop(0).node.label
    return Opened(source, calls, found.channels, f.seen)
