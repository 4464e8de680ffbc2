"""The doors that lanes watch: functions of libraries that have a native form, or whose results are kept as leaves.

The next one whose results are kept: a module `..._files.py` with `entries()`, as numpy_files.py, its line in KEPT, a
Door in tests/support/leaf_doors, and a row in docs/reference/lanes.md. Its leaf says what a result depends on; what it
does not know, it leaves to the library. See docs/adr/0105-more-leaves.md.
"""

import functools
from collections.abc import Callable, Hashable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from ..native.genuine import is_genuine

# Modules that name entries, by the library that must be loaded.
NATIVE = {
    "cv2": ".opencv",
    "numpy": ".numpy_functions",
    "pandas": ".pandas_labels",
    "scipy.ndimage": ".scipy_functions",
    "albucore.functions": ".albucore",
    "torchvision.io.image": ".vision_io",
}
# The same, of functions that are kept and have no other native form.
KEPT = {
    "numpy": ".numpy_files",
    "soundfile": ".sound_files",
    "h5py": ".hdf5_files",
    "tifffile.tifffile": ".tiff_files",
    "nibabel.arrayproxy": ".volume_files",
    "librosa.core.audio": ".librosa_files",
}


class Made(NamedTuple):
    """What a native form has made."""

    kind: Hashable  # all that the library's choice of code may depend on
    value: Any


class Entry(NamedTuple):
    """A function of a library, and its native form."""

    owner: Any  # the module, or whatever else the function is an attribute of
    name: str
    own: type  # of the library's function; what the program has put in its place is of another
    library: str  # as people say it: "OpenCV 5.0.0"
    # Takes what the function takes. None, or an exception: the library has to do it.
    native: Callable[..., Made | None]
    # An array whose type, layout and bits are those of a result.
    view: Callable[[Any], Any] = lambda value: value
    # Arguments of calls that are made both ways before the first result of a process is used.
    trials: Callable[[], Iterator[tuple[Any, ...]]] = lambda: iter(())
    pictures: bool = True  # its results are pictures that the program would have to make
    # A result as it is when somebody looks at it.
    settle: Callable[[Any], Any] = lambda value: value
    # How its results are kept beyond this process (leaf_arrays.FileLeaf); None: they are not.
    leaf: Any = None
    # Its calls are many and short, and most may be none of the native form's.
    rests: bool = False
    # Of a function that changes its argument in place: whether both do the same, in place of a comparison of results.
    alike: Callable[[], bool] | None = None
    # It draws. So it raises nothing of its own once it has begun: an exception is that of a handler of signals, and the
    # program has it.
    draws: bool = False
    # Whether a call may be the native form's. If not, it goes to the library, and is no refusal: False, as from the
    # caller's own line, which a warning of compiled code names; None, plainly. Without this all calls may be.
    takes: Callable[..., bool | None] | None = None
    # Makes what stands in the function's place, of the library's function and of what calls the native form: where
    # most calls are none of ours, and so short that a look at their arguments is all that they can bear.
    front: Callable[[Callable[..., Any], Callable[..., Any]], Callable[..., Any]] | None = None


def is_librarys(entry: Entry) -> bool:
    """Whether the function is the library's own, and not what the program has put in its place."""
    function = getattr(entry.owner, entry.name, None)
    if type(function) is not entry.own or not isinstance(function, FunctionType):
        return type(function) is entry.own
    of = entry.owner.__module__ if isinstance(entry.owner, type) else entry.owner.__name__
    return is_genuine(function, of.partition(".")[0])


def standing(
    entry: Entry, real: Callable[..., Any], replaced: Callable[..., Any]
) -> Callable[..., Any]:
    """What is put in the function's place. A class holds a function, which takes its instance."""
    if entry.front is not None:
        return functools.wraps(real)(entry.front(real, replaced))
    if not isinstance(entry.owner, type):
        return replaced

    @functools.wraps(real)
    def method(*args: Any, **named: Any) -> Any:
        return replaced(*args, **named)

    return method
