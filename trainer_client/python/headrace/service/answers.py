"""Reads the answers of workers elsewhere: pickles that may call nothing but what makes plain values, and
what this job's own code has used on this host. docs/adr/0049-answers.md says why so.

The client looks through each such pickle before it is handed out (pickle_names.h), and says which names
it has. Here it is read by those names alone.
"""

import builtins
import functools
import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import WorkersUnavailable
from ..stage import pickling

# Each of them makes its value of the arguments and does nothing else: no file, no import, no call of
# an argument that it is not given by one of these. None makes more memory than its arguments have; so
# range is not among them, which list or deque would count through. Those that check what they are
# given say so themselves.
_CALLED = {
    "builtins": ("complex", "slice"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "headrace.stage.arrays": (
        *("fill_objects", "rebuild_array", "rebuild_dtype", "rebuild_objects", "rebuild_scalar"),
    ),
    "headrace.stage.made_tensors": (
        *("rebuild_empty", "rebuild_special", "rebuild_storage", "rebuild_tensor", "rebuild_typed"),
        *("rebuild_view",),
    ),
    "pathlib": ("PosixPath", "PurePosixPath", "PureWindowsPath"),
    "pathlib._local": ("PosixPath", "PurePosixPath", "PureWindowsPath"),  # of Python 3.13
    "torch": ("Size", "device"),
    "torch.serialization": ("_get_layout",),
    "torch.multiprocessing.reductions": ("rebuild_meta_tensor",),
    "types": ("SimpleNamespace",),
}
# Made without their __init__; then they get their attributes.
_NEW = {"torch._utils": ("ExceptionWrapper",), "uuid": ("UUID",)}
# Made by a __new__ that looks at its tensors.
_NEW_TUPLES = {"torch.nn.utils.rnn": ("PackedSequence",)}
# Filled by their own methods.
_ENTRIES = {"collections": ("Counter", "OrderedDict", "defaultdict")}
_ITEMS = {"collections": ("deque",)}
_STATES = {"types": ("SimpleNamespace",), **_NEW}
# Held and not called: types, as the factory of a defaultdict, and what torch has one of.
_HELD = {
    "builtins": (
        *("Ellipsis", "NotImplemented", "bool", "bytes", "dict", "float", "frozenset", "int"),
        *("list", "object", "set", "str", "tuple"),
    ),
    "torch": ("Tensor", "channels_last", "contiguous_format", "preserve_format"),
    "torch.nn.parameter": ("Parameter",),
    "uuid": ("SafeUUID",),
}

# What answers of this host use of these is still not allowed to others: their functions open files, run
# code, or believe what they are given.
CLOSED = sorted(
    {*sys.stdlib_module_names, "cloudpickle", "dill", "headrace", "joblib", "numpy", "torch"}
)


def _allowed() -> Iterator[str]:
    """Each as SessionOptions::answer_names wants it."""
    exceptions = [
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    uses: list[tuple[str, Mapping[str, Iterable[str]]]] = [
        *(("vc", _CALLED), ("vn", _NEW), ("vn", _NEW_TUPLES), ("s", _ENTRIES), ("a", _ITEMS)),
        *(("b", _STATES), ("v", _HELD), ("v", _torch_types()), ("vcb", {"builtins": exceptions})),
    ]
    for kinds, by_module in uses:
        for module, names in by_module.items():
            yield from (f"{kind} {module} {name}" for kind in kinds for name in names)


def _torch_types() -> dict[str, Iterable[str]]:
    import torch

    return {
        "torch": [name for name, value in vars(torch).items() if isinstance(value, torch.dtype)]
    }


@functools.cache
def allowed() -> list[str]:
    """What answers may use from the beginning."""
    return list(_allowed())


class Reader(pickle.Unpickler):
    """Looks up these names and no others."""

    def __init__(self, pickled: Any, names: Iterable[tuple[str, str]], buffers: Any = None) -> None:
        super().__init__(io.BytesIO(pickled), buffers=pickling.plain(buffers or []))
        self._names = frozenset(names)

    def find_class(self, module: str, name: str) -> Any:
        if module == pickling.__name__ and name in ("by_name", "exception_by_name"):
            return functools.partial(self._find, getattr(pickling, name))
        self._check(module, name)
        return super().find_class(module, name)

    def _find(self, find: Callable[[str, str], Any], module: str, name: str) -> Any:
        self._check(module, name)
        return find(module, name)

    def _check(self, module: str, name: str) -> None:
        if (module, name) not in self._names:
            raise pickle.UnpicklingError(f"{module}.{name} is no name of this answer")


def value_of(batch: Any, buffers: list[Any]) -> Any:
    """The batch that was made. `buffers`: its own, or copies. WorkersUnavailable: its worker, which is
    elsewhere, answers with what can't be read."""
    if batch.names is None:
        return pickling.unpickle_batch(batch.pickle, buffers)
    pickled = batch.pickle
    if not pickled:
        *buffers, pickled = buffers
    return _read(batch, pickled, buffers)


def error_of(batch: Any) -> Any:
    """The ExceptionWrapper of what was raised in its place. Raises what value_of raises."""
    if batch.names is None:
        return pickle.loads(batch.python_error)
    return _read(batch, batch.python_error, None, _checked_error)


def _checked_error(wrapper: Any) -> Any:
    from torch._utils import ExceptionWrapper

    if type(wrapper) is not ExceptionWrapper:
        raise TypeError(f"{type(wrapper).__name__} in the place of an error")
    state = vars(wrapper)
    kind = state.get("exc_type")
    if set(state) != {"exc_type", "exc_msg", "where"} or not (
        isinstance(kind, type)
        and issubclass(kind, BaseException)
        and type(wrapper.exc_msg) is type(wrapper.where) is str
    ):
        raise TypeError("an error without its type and texts")
    return wrapper


def _read(
    batch: Any, pickled: Any, buffers: Any, check: Callable[[Any], Any] = lambda value: value
) -> Any:
    try:
        return check(Reader(pickled, batch.names, buffers).load())
    except Exception as error:
        raise WorkersUnavailable(
            f"worker {batch.worker} answers with what can't be read: {type(error).__name__}: {error}"
        ) from error
