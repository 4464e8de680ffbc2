"""Put on PYTHONPATH by `headrace run`: installs the seam when the program imports torch's loader, or
torchdata's.

Every interpreter below `headrace run` executes this file, so it imports nothing but gc, sys and os
unless one of them is really imported.
"""

import gc
import os
import sys

MYPY = False  # to type checkers it is true
if MYPY:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_MODULES = {
    "torch.utils.data.dataloader",
    "torchdata.stateful_dataloader.stateful_dataloader",
}
_OTHER_PYTHON = (
    "{package} is not for Python {0}.{1}: install the wheel of that version into this environment"
)


def _headrace() -> "Any":
    """The package, also where the program's interpreter has it nowhere on its path. What it needs comes
    from its own environment, then, where the program's has none."""
    import importlib
    import importlib.util

    # A folder of that name, such as an environment beside the program, is a package without a file.
    found = importlib.util.find_spec("headrace")
    if found is None or found.origin is None:
        root = os.path.dirname(_HERE)
        _load("headrace", root)
        pickler = os.path.join(os.path.dirname(root), "cloudpickle")
        if importlib.util.find_spec("cloudpickle") is None and os.path.isdir(pickler):
            _load("cloudpickle", pickler)
    # It is imported late, when the first loader is served.
    if importlib.util.find_spec("headrace._client") is None:
        package = os.path.dirname(str(sys.modules["headrace"].__file__))
        raise ImportError(_OTHER_PYTHON.format(*sys.version_info, package=package))
    return importlib.import_module("headrace.loader.hook")


def _load(name: str, folder: str) -> None:
    """The package of this folder, which is on no path."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)


def _before() -> None:
    pass


def _in_parent() -> None:
    pass


def _in_child() -> None:
    pass


def _find_fork_lists() -> "tuple[tuple[Any, ...], list[list[Any]]]":
    """What process/fork_hooks.py looks for: functions of ours, and the lists in which the interpreter keeps
    what runs at forks. Now, because every object of the process is looked at, and there are few."""
    markers = _before, _in_parent, _in_child
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
    return markers, [one for one in gc.get_referrers(*markers) if type(one) is list]


class _SeamFinder:
    """A meta path finder that waits for these modules."""

    def __init__(self) -> None:
        self._fork_lists = _find_fork_lists()

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        if name not in _MODULES:
            return None
        _MODULES.remove(name)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                break
        else:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: "Any") -> None:
            execute(module)
            try:
                hook = _headrace()
            except ImportError as error:
                print(f"headrace: not used in this program: {error}", file=sys.stderr)
            else:
                hook.patch(module, self._fork_lists)

        spec.loader.exec_module = exec_module
        return spec


def _chain() -> None:
    """Runs the sitecustomize that this one hides, if there is one."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    def elsewhere(entry: str) -> bool:
        return os.path.abspath(entry or os.getcwd()) != _HERE

    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if elsewhere(p)])
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("HEADRACE", "").strip().lower() not in ("off", "0", "no", "false"):
    sys.meta_path.insert(0, _SeamFinder())
_chain()
