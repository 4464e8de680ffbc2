"""Tells whether a function is from the library whose name it has, or from somebody else.

Pure but for the looking; any thread. What is said of files is kept.
"""

import functools
import hashlib
import inspect
import os
import sys
import sysconfig
import types
from typing import Any

# Not functions of Python: no file names their author.
BUILTIN = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodWrapperType,
)  # fmt: skip
_STDLIB = os.path.join(sysconfig.get_paths()["stdlib"], "")
OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_MOST_WRAPPED = 16


def is_genuine(function: Any, package: str) -> bool:
    """Whether it and all that it wraps was written by the package, or wraps what was."""
    home = folder_of(package)
    for _ in range(_MOST_WRAPPED):
        if not isinstance(function, types.FunctionType):
            return isinstance(function, BUILTIN)
        file = function.__code__.co_filename
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            return bool(home) and file.startswith(home)
        if not file.startswith((home or OURS, OURS, folder_of("torch") or OURS)):
            if not _is_standard(file):
                return False
        function = inner
    return False


def digest(functions: list[Any]) -> str:
    """Of their texts, in that order; empty: one has none."""
    try:
        text = "".join(map(inspect.getsource, functions))
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _is_standard(file: str) -> bool:
    below = file[len(_STDLIB) :] if file.startswith(_STDLIB) else ""
    return (
        bool(below)
        and not below.startswith(("site-packages", "dist-packages"))
        or (os.path.basename(file) == "typing_extensions.py")
    )


@functools.cache
def folder_of(package: str) -> str:
    """Where a package's files are, with a slash at the end; of the standard library, its own."""
    module = sys.modules.get(package)
    file: str | None = getattr(module, "__file__", None)
    if not file:
        return ""
    if os.path.basename(file).startswith("__init__."):
        return os.path.join(os.path.dirname(file), "")
    return file
