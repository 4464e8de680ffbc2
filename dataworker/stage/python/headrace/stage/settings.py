"""The settings of a process that code can read: how each is read, and how it is written.

Plain values, so that they travel (process_state.py). A library's are there once it is imported.
"""

import csv
import decimal
import gc
import locale
import logging
import os
import re
import resource
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ..process import collection
from ..process.modules import any_own

# Variables by which a worker's processes find programs and libraries on their machine. One of them
# travels all the same where the program itself has set it.
WORKERS_OWN = frozenset(
    (
        "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONPATH",
        "PYTHONSAFEPATH", "XDG_RUNTIME_DIR",
    )
)  # fmt: skip
# Never travels: what this package is told by its own variables is about one process.
OURS = "HEADRACE_"


class Setting(NamedTuple):
    """One thing that code can read. `read` gives plain values, equal where the setting is."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]
    module: str = ""  # there is no such setting before somebody imports that
    default: Any = None  # what an import leaves; `module` is not imported for that


# The process.


def _environment() -> dict[str, str]:
    return {k: v for k, v in sorted(os.environ.items()) if not k.startswith(OURS)}


def _set_environment(wanted: dict[str, str]) -> None:
    for name in list(os.environ):
        if name not in wanted and name not in WORKERS_OWN and not name.startswith(OURS):
            del os.environ[name]
    os.environ.update(wanted)
    time.tzset()


def _umask() -> int:
    """Without a moment in which another thread would see another one."""
    with open("/proc/self/status", "rb") as file:
        found = re.search(rb"^Umask:\s*([0-7]+)$", file.read(), re.MULTILINE)
    assert found is not None
    return int(found[1], 8)


def _open_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _raise_open_files(wanted: int) -> None:
    """Up to what this host allows; a worker that has more keeps it."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY:
        wanted = most if wanted == resource.RLIM_INFINITY else min(wanted, most)
    if soft != resource.RLIM_INFINITY and wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _main_file() -> Any:
    return vars(sys.modules["__main__"]).get("__file__")


def _set_main_file(path: Any) -> None:
    main = sys.modules["__main__"]
    if path is None:
        vars(main).pop("__file__", None)
    else:
        main.__file__ = path


def _temporary() -> Any:
    """None: what it chooses by itself, which it does when it is first asked."""
    usual = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
    return None if tempfile.tempdir == usual else tempfile.tempdir


def _set_temporary(folder: Any) -> None:
    """A folder that this host has not is not asked for: it chooses its own."""
    if folder is None or os.path.isdir(folder):
        tempfile.tempdir = folder


def _set_collector(wanted: Any) -> None:
    enabled, thresholds = wanted
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()


def _context() -> tuple[Any, ...]:
    here = decimal.getcontext()
    flags = tuple(sorted(s.__name__ for s, on in here.flags.items() if on))
    traps = tuple(sorted(s.__name__ for s, on in here.traps.items() if on))
    plain = here.prec, here.rounding, here.Emin, here.Emax, here.capitals, here.clamp
    return (*plain, flags, traps)


def _set_context(value: tuple[Any, ...]) -> None:
    *plain, flags, traps = value
    signals = ([getattr(decimal, name) for name in names] for names in (flags, traps))
    decimal.setcontext(decimal.Context(*plain, *signals))


def _filters() -> list[tuple[Any, ...]]:
    return [
        (action, _pattern(text), _category(category), _pattern(module), line)
        for action, text, category, module, line in warnings.filters
    ]


def _pattern(text: Any) -> Any:
    """Patterns compile to one object in one process only."""
    return (text.pattern, text.flags) if isinstance(text, re.Pattern) else text


def _category(kind: Any) -> Any:
    """The category's name, if a worker has it by that name, otherwise the class itself. So a worker
    need not import a library for a filter."""
    name = kind.__module__, kind.__qualname__
    own = name[0] == "__main__" or any_own([name[0]]) or _named(name) is not kind
    return kind if own else name


def _named(category: Any) -> Any:
    """None: nobody has imported its module here, and nothing warns of its kind."""
    if isinstance(category, type):
        return category
    return getattr(sys.modules.get(category[0]), category[1], None)


def _set_filters(wanted: list[tuple[Any, ...]]) -> None:
    def compiled(text: Any) -> Any:
        return re.compile(*text) if isinstance(text, tuple) else text

    filters: Any = warnings.filters
    filters[:] = [
        (action, compiled(text), known, compiled(module), line)
        for action, text, category, module, line in wanted
        if (known := _named(category)) is not None
    ]
    warnings._filters_mutated()  # type: ignore[attr-defined]  # private


def _levels() -> tuple[int, list[tuple[str, int, bool, bool]]]:
    """The levels of loggers that are not as they are made; the root logger is ""."""
    found = [
        (name, logger.level, logger.disabled, logger.propagate)
        for name, logger in sorted(logging.root.manager.loggerDict.copy().items())
        if isinstance(logger, logging.Logger)
    ]
    found.append(("", logging.root.level, logging.root.disabled, logging.root.propagate))
    return logging.root.manager.disable, [one for one in found if one[1:] != (0, False, True)]


def _set_levels(wanted: Any) -> None:
    disable, loggers = wanted
    logging.disable(disable)
    for name, level, disabled, propagate in loggers:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.disabled, logger.propagate = disabled, propagate


def _types() -> Any:
    import mimetypes

    if mimetypes._db is None:  # type: ignore[attr-defined]  # private
        return None
    kept = ("encodings_map", "suffix_map", "types_map", "types_map_inv")
    return {name: getattr(mimetypes._db, name) for name in kept}  # type: ignore[attr-defined]  # private


def _set_types(wanted: Any) -> None:
    import mimetypes

    mimetypes.init()
    if wanted is not None:
        vars(mimetypes._db).update(wanted)  # type: ignore[attr-defined]  # private
        mimetypes.encodings_map, mimetypes.suffix_map = (
            wanted["encodings_map"],
            wanted["suffix_map"],
        )
        mimetypes.common_types, mimetypes.types_map = wanted["types_map"]


# Libraries.


def _torch() -> Any:
    return sys.modules["torch"]


def _set_inference(on: bool) -> None:
    """Sets it while the process lives."""
    mode = _torch().inference_mode(on)
    mode.__enter__()
    _kept.append(mode)


_kept: list[Any] = []


def _deterministic() -> tuple[bool, bool, bool]:
    torch = _torch()
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )


def _set_deterministic(value: tuple[bool, bool, bool]) -> None:
    on, warn_only, fill = value
    _torch().use_deterministic_algorithms(on, warn_only=warn_only)
    _torch().utils.deterministic.fill_uninitialized_memory = fill


def _flushes() -> bool:
    """torch does not tell. The processor does it to every number of this thread."""
    smallest = float.fromhex("0x1p-1074")
    return smallest * float(len("x")) == 0.0


def _autocast() -> tuple[bool, Any, bool]:
    torch = _torch()
    on = torch.is_autocast_enabled("cpu")
    return on, torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()


def _set_autocast(value: tuple[bool, Any, bool]) -> None:
    torch = _torch()
    torch.set_autocast_enabled("cpu", value[0])
    torch.set_autocast_dtype("cpu", value[1])
    torch.set_autocast_cache_enabled(value[2])


def _anomaly() -> tuple[bool, bool]:
    torch = _torch()
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _print_options() -> dict[str, Any]:
    return dict(vars(sys.modules["torch._tensor_str"].PRINT_OPTS))


def _numpy() -> Any:
    return sys.modules["numpy"]


def _set_print_options(value: dict[str, Any]) -> None:
    _numpy().set_printoptions(**value)


def _threads_of_cv2() -> int | None:
    """None: one for each CPU, as it is at first."""
    count = sys.modules["cv2"].getNumThreads()
    return None if count == len(os.sched_getaffinity(0)) else count


def _set_threads_of_cv2(wanted: int | None) -> None:
    sys.modules["cv2"].setNumThreads(-1 if wanted is None else wanted)


def _gif() -> Any:
    return sys.modules["PIL.GifImagePlugin"]


def _flag(module: str, name: str, default: Any) -> Setting:
    """A global name that a module means its users to set."""
    return Setting(
        f"{module}.{name}",
        lambda: getattr(sys.modules[module], name, default),
        lambda value: setattr(sys.modules[module], name, value),
        module,
        default,
    )


def _of_torch(
    name: str, read: Callable[[], Any], write: Callable[[Any], Any], module: str = "torch"
) -> Setting:
    """Always there: a worker imports torch before anything else."""
    return Setting(name, read, write, module, object())


# What says something of one package only, and changes when somebody imports another one.
LEVELS, FILTERS = BY_PACKAGE = ("levels of loggers", "filters of warnings")

SETTINGS: tuple[Setting, ...] = (
    Setting("environment", _environment, _set_environment),
    Setting("sys.argv", lambda: list(sys.argv), lambda v: sys.argv.__setitem__(slice(None), v)),
    Setting("__main__.__file__", _main_file, _set_main_file),
    Setting("umask", _umask, os.umask),
    Setting("locale", lambda: locale.setlocale(locale.LC_ALL),
            lambda v: locale.setlocale(locale.LC_ALL, v)),
    Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("sys.get_int_max_str_digits()", sys.get_int_max_str_digits,
            sys.set_int_max_str_digits),
    Setting("thread switch interval", sys.getswitchinterval, sys.setswitchinterval),
    Setting("limit of open files", _open_files, _raise_open_files),
    Setting("garbage collector", lambda: (collection.wanted(), gc.get_threshold()), _set_collector),
    Setting("tempfile.tempdir", _temporary, _set_temporary),
    Setting("decimal context", _context, _set_context),
    Setting("csv.field_size_limit()", csv.field_size_limit, csv.field_size_limit),
    Setting("socket.getdefaulttimeout()", socket.getdefaulttimeout, socket.setdefaulttimeout),
    Setting(LEVELS, _levels, _set_levels),
    Setting("types of files", _types, _set_types, "mimetypes", None),
    _of_torch("torch's default dtype", lambda: _torch().get_default_dtype(),
              lambda v: _torch().set_default_dtype(v)),
    _of_torch("inference mode", lambda: _torch().is_inference_mode_enabled(), _set_inference),
    _of_torch("grad mode", lambda: _torch().is_grad_enabled(),
              lambda v: _torch().set_grad_enabled(v)),
    _of_torch("deterministic algorithms", _deterministic, _set_deterministic),
    _of_torch("flush of denormal numbers", _flushes, lambda v: _torch().set_flush_denormal(v)),
    _of_torch("autocast on CPUs", _autocast, _set_autocast),
    _of_torch("precision of float32 products", lambda: _torch().get_float32_matmul_precision(),
              lambda v: _torch().set_float32_matmul_precision(v)),
    _of_torch("oneDNN", lambda: _torch()._C._get_mkldnn_enabled(),
              lambda v: _torch()._C._set_mkldnn_enabled(v)),
    _of_torch("anomaly mode", _anomaly, lambda v: _torch().autograd.set_detect_anomaly(*v)),
    _of_torch("torch's warn_always", lambda: _torch().is_warn_always_enabled(),
              lambda v: _torch().set_warn_always(v)),
    _of_torch("torch's print options", _print_options,
              lambda v: vars(sys.modules["torch._tensor_str"].PRINT_OPTS).update(v)),
    Setting("folder of torch.hub", lambda: sys.modules["torch.hub"]._hub_dir,
            lambda v: setattr(sys.modules["torch.hub"], "_hub_dir", v), "torch.hub", None),
    Setting("numpy.geterr()", lambda: _numpy().geterr(), lambda v: _numpy().seterr(**v), "numpy",
            {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}),
    Setting("numpy.geterrcall()", lambda: _numpy().geterrcall(),
            lambda v: _numpy().seterrcall(v), "numpy", None),
    Setting("numpy.getbufsize()", lambda: _numpy().getbufsize(),
            lambda v: _numpy().setbufsize(v), "numpy", 8192),
    Setting("numpy.get_printoptions()", lambda: _numpy().get_printoptions(), _set_print_options,
            "numpy", None),
    Setting("cv2.useOptimized()", lambda: sys.modules["cv2"].useOptimized(),
            lambda v: sys.modules["cv2"].setUseOptimized(v), "cv2", True),
    Setting("cv2.getNumThreads()", _threads_of_cv2, _set_threads_of_cv2, "cv2", None),
    _flag("PIL.Image", "MAX_IMAGE_PIXELS", 1024 * 1024 * 1024 // 4 // 3),
    _flag("PIL.Image", "WARN_POSSIBLE_FORMATS", False),
    _flag("PIL.ImageFile", "LOAD_TRUNCATED_IMAGES", False),
    _flag("PIL.ImageFile", "MAXBLOCK", 65536),
    _flag("PIL.ImageFile", "SAFEBLOCK", 1024 * 1024),
    _flag("PIL.PngImagePlugin", "MAX_TEXT_CHUNK", 1024 * 1024),
    _flag("PIL.PngImagePlugin", "MAX_TEXT_MEMORY", 64 * 1024 * 1024),
    Setting("PIL.GifImagePlugin.LOADING_STRATEGY", lambda: int(_gif().LOADING_STRATEGY),
            lambda v: setattr(_gif(), "LOADING_STRATEGY", _gif().LoadingStrategy(v)),
            "PIL.GifImagePlugin", 0),
    _flag("PIL.TiffImagePlugin", "READ_LIBTIFF", False),
    _flag("torchvision", "_image_backend", "PIL"),
    _flag("torchvision", "_video_backend", "pyav"),
    _flag("torchvision.tv_tensors._torch_function_helpers", "_TORCHFUNCTION_SUBCLASS", False),
    # The last one: warnings that the others give are given as they were until now.
    Setting(FILTERS, _filters, _set_filters),
)  # fmt: skip
