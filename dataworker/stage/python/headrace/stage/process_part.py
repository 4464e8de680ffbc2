"""The part of a call's name that is the process's: its folder, its locale, filters of warnings, and settings of
libraries on which results may depend. It is read at each call, so it is read fast: what stands for a setting here
is compared, and the setting itself is read if that is another one."""

import functools
import hashlib
import locale
import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ..process.modules import namespace
from .settings import SETTINGS, Setting

_NOT_OF_RESULTS = ("mimetypes", "torch.hub")
OF_RESULTS = [one for one in SETTINGS if one.module and one.module not in _NOT_OF_RESULTS]
LIBRARIES = frozenset(one.module for one in OF_RESULTS)
_PLAIN = frozenset(
    (int, str, bool, type(None))
)  # with types beside, these are equal if their texts are


def settings(only: frozenset[str] | None = None) -> tuple[str, frozenset[str]]:
    """Settings of libraries as text, and which libraries are loaded. One that is not, or is not among `only`, has
    its defaults."""
    loaded = _loaded() if only is None else only
    reader = _readers.get(loaded)
    if reader is None:
        reader = _readers[loaded] = _Reader(loaded)
    return reader.text(), loaded


def _loaded() -> frozenset[str]:
    global _latest_loaded
    now = list(map(sys.modules.__contains__, _NAMES))
    known, loaded = _latest_loaded
    if now != known:
        loaded = frozenset(LIBRARIES & sys.modules.keys())
        _latest_loaded = now, loaded
    return loaded


_NAMES = sorted(LIBRARIES)
_latest_loaded: tuple[list[bool], frozenset[str]] = [], frozenset()


def digest(folder: str, only: frozenset[str] | None) -> tuple[bytes, frozenset[str]]:
    """All of it, in 32 bytes, and which libraries count."""
    global _latest
    text, loaded = settings(only)
    torch: Any = sys.modules.get("torch")
    threads = -1 if torch is None else torch.get_num_threads()  # sums depend on it
    now = folder, locale.setlocale(locale.LC_ALL), _filters(), threads, text
    known, found = _latest
    if now != known:
        found = hashlib.blake2b(repr(now).encode(*_CODEC), digest_size=32).digest()
        _latest = now, found
    return found, loaded


_CODEC = "utf-8", "surrogatepass"
_latest: tuple[tuple[Any, ...], bytes] = (), b""
_latest_filters: tuple[tuple[Any, ...], str] = (), "[]"


def _filters() -> str:
    """Filters of warnings as text. One filter never changes."""
    global _latest_filters
    now: Any = warnings.filters
    known, text = _latest_filters
    if len(now) != len(known) or not all(map(operator.is_, now, known)):
        text = repr(now)
        _latest_filters = tuple(now), text
    return text


class _Reader:
    """Of the settings, where these libraries are loaded."""

    def __init__(self, loaded: frozenset[str]) -> None:
        self._settings = [one for one in OF_RESULTS if one.module in loaded]
        self._loaded = loaded
        flags = [one for one in self._settings if _is_flag(one)]
        self._spaces = [namespace(sys.modules[one.module]) for one in flags]
        self._names = [one.name.rpartition(".")[2] for one in flags]
        if "torch" in loaded:
            text = namespace(sys.modules["torch._tensor_str"])
            options = vars(text["PRINT_OPTS"])
            self._spaces += [text, *[options] * len(options)]
            self._names += ["PRINT_OPTS", *options]
        self._calls: list[Callable[[], Any]] = []
        for one in self._settings:
            self._calls += [] if one in flags else _in_short(one)
        self._known: list[Any] | None = None
        self._flags: list[Any] = []
        self._text = ""

    def text(self) -> str:
        now = [call() for call in self._calls]
        flags = list(map(dict.get, self._spaces, self._names))
        if now != self._known or not all(map(operator.is_, flags, self._flags)):
            # In one order, whatever is loaded: so a library's defaults have the same text before and after.
            values = [
                one.read() if one.module in self._loaded else _default(one) for one in OF_RESULTS
            ]
            self._text, self._known, self._flags = repr(values), now, flags
        return self._text


_readers: dict[frozenset[str], _Reader] = {}


def _default(one: Setting) -> Any:
    return "unknown" if type(one.default) is object else one.default


def _is_flag(one: Setting) -> bool:
    """Whether it is a global name of its module."""
    module, _, name = one.name.rpartition(".")
    return module == one.module and name in namespace(sys.modules[module])


def _in_short(one: Setting) -> list[Callable[[], Any]]:
    """What stands for a setting: where all that they return compares equal, the setting is the same."""
    short = _SHORT.get(one.name)
    if short is not None:
        try:
            calls = short()
            for call in calls:
                call()
            return calls
        except Exception:  # of another release of the library
            pass
    return [lambda: _exact(one.read())]


def _exact(value: Any) -> Any:
    """Compares equal to what has the same text alone."""
    return (type(value), value) if type(value) in _PLAIN else repr(value)


def _of_torch(*names: str) -> Callable[[], list[Callable[[], Any]]]:
    """Functions in C of torch's, which return numbers, texts and types, each always of one kind."""

    def short() -> list[Callable[[], Any]]:
        return [operator.attrgetter(name)(sys.modules["torch"]) for name in names]

    return short


def _autocast() -> list[Callable[[], Any]]:
    torch = sys.modules["torch"]
    of_cpu = [functools.partial(getattr(torch, name), "cpu")
              for name in ("is_autocast_enabled", "get_autocast_dtype")]  # fmt: skip
    return [*of_cpu, torch.is_autocast_cache_enabled]


def _items(value: Any) -> tuple[Any, ...]:
    return (*value, *map(_exact, value.values()))


def _print_options() -> list[Callable[[], Any]]:
    """numpy puts another dict there."""
    return [sys.modules["numpy._core.printoptions"].format_options.get]


def _errors() -> list[Callable[[], Any]]:
    """numpy.geterr(), numpy.geterrcall() and numpy.getbufsize() at once."""
    return [sys.modules["numpy._core._multiarray_umath"]._get_extobj_dict]


def _nothing() -> list[Callable[[], Any]]:
    """_errors() has it."""
    _errors()
    return []


_SHORT: dict[str, Callable[[], list[Callable[[], Any]]]] = {
    "torch's default dtype": _of_torch("get_default_dtype"),
    "inference mode": _of_torch("is_inference_mode_enabled"),
    "grad mode": _of_torch("is_grad_enabled"),
    "deterministic algorithms": _of_torch(
        "_C._get_deterministic_algorithms",
        "_C._get_deterministic_algorithms_warn_only",
        "_C._get_deterministic_fill_uninitialized_memory",
    ),
    "autocast on CPUs": _autocast,
    "precision of float32 products": _of_torch("_C._get_float32_matmul_precision"),
    "oneDNN": _of_torch("_C._get_mkldnn_enabled"),
    "anomaly mode": _of_torch("is_anomaly_enabled", "is_anomaly_check_nan_enabled"),
    "torch's warn_always": _of_torch("_C._get_warnAlways"),
    "torch's print options": lambda: [],  # among the flags
    "numpy.geterr()": _errors,
    "numpy.geterrcall()": _nothing,
    "numpy.getbufsize()": _nothing,
    "numpy.get_printoptions()": _print_options,
    "cv2.useOptimized()": lambda: [sys.modules["cv2"].useOptimized],
}
