"""A function's syntax tree, believed only where compiling its text again gives the very function.

The file may have been edited since, or the function made by other means. All that a function does
is compared: bytecode, names, constants, and the functions inside it.
"""

import __future__

import ast
import linecache
import warnings
from contextlib import suppress
from types import CodeType, FunctionType

from .blocks import block_of

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LARGEST = 600_000  # characters that are compiled
# What `from __future__` may say, as it stands in the flags of codes.
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag
_COMPARED = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_exceptiontable",
)  # fmt: skip


class _Part:
    """Trees and codes of the functions in some lines of a file, by first line and name."""

    def __init__(self, text: str, name: str, flags: int) -> None:
        """`flags`: what `from __future__` said. Raises what compiling does."""
        self.trees: dict[tuple[int, str], list[Tree]] = {}
        self._codes: dict[tuple[int, str], list[CodeType]] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's compilation gave them
            tree = ast.parse(text, name)
            compiled = compile(tree, name, "exec", flags, dont_inherit=True)
        for node in ast.walk(tree):
            if isinstance(node, Tree):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                key = first, getattr(node, "name", "<lambda>")
                self.trees.setdefault(key, []).append(node)
        todo = [compiled]
        while todo:
            for constant in todo.pop().co_consts:
                if isinstance(constant, CodeType):
                    key = constant.co_firstlineno, constant.co_name
                    self._codes.setdefault(key, []).append(constant)
                    todo.append(constant)

    def trees_of(self, code: CodeType) -> list[Tree]:
        """None that do not compile to this code."""
        key = code.co_firstlineno, code.co_name
        same = any(_same(code, known) for known in self._codes.get(key, ()))
        return self.trees.get(key, []) if same else []


class _File:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._parts: dict[tuple[int, int, int], _Part | None] = {}

    def trees_of(self, code: CodeType) -> list[Tree]:
        """Compiles the statement that the function is in, and the whole file only where that does not
        give the function."""
        count = len(self.lines)
        if not 0 < code.co_firstlineno <= count:
            return []
        for first, end in block_of(self.lines, code.co_firstlineno), (1, count + 1):
            flags = code.co_flags & _FUTURE if (first, end) != (1, count + 1) else 0
            part = self._part(code.co_filename, first, end, flags)
            trees = part.trees_of(code) if part is not None else []
            if trees:
                return trees
        return []

    def _part(self, name: str, first: int, end: int, flags: int) -> _Part | None:
        """None: it does not compile."""
        key = first, end, flags
        if key not in self._parts:
            # Its lines have their numbers.
            text = "\n" * (first - 1) + "".join(self.lines[first - 1 : end - 1])
            self._parts[key] = None
            if len(text) <= _LARGEST:
                with suppress(SyntaxError, ValueError, RecursionError):
                    self._parts[key] = _Part(text, name, flags)
        return self._parts[key]


_files: dict[str, _File] = {}
_known: dict[CodeType, tuple[_File, list[Tree]]] = {}


def trees_of(function: FunctionType) -> list[Tree]:
    """The function's tree; several for lambdas that share a line; none if there is no telling."""
    code = function.__code__
    file = _file(code.co_filename, function)
    if file is None:
        return []
    found = _known.get(code)
    if found is not None and found[0] is file:
        return found[1]
    trees = file.trees_of(code)
    _known[code] = (file, trees)
    return trees


def _same(a: CodeType, b: CodeType) -> bool:
    if any(getattr(a, name, None) != getattr(b, name, None) for name in _COMPARED):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for one, other in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(one, CodeType) and isinstance(other, CodeType):
            if not _same(one, other):
                return False
        elif type(one) is not type(other) or repr(one) != repr(other):
            # The order in which a set is printed is not its meaning.
            if not (isinstance(one, frozenset) and one == other):
                return False
    return True


def _file(name: str, function: FunctionType) -> _File | None:
    lines = linecache.getlines(name, function.__globals__)
    if not lines:
        return None
    known = _files.get(name)
    if known is None or known.lines is not lines:
        known = _files[name] = _File(lines)
    return known


def forget_edited(names: list[str]) -> None:
    """Looks whether the files are still what they were. Once a proof, since it asks the disk."""
    for name in names:
        linecache.checkcache(name)


def files_read() -> list[str]:
    return list(_files)
