"""The syntax tree of a function, if its file still says what was compiled from it.

The tree is only believed where compiling the file again gives the very bytecode that the function
has: the file may have been edited since, or the function rewritten by an import hook.
"""

import ast
import dis
import inspect
import linecache
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_WRITES = {
    "STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_SUBSCR", "DELETE_SUBSCR",
    "STORE_SLICE",
}  # fmt: skip


@dataclass
class _File:
    lines: list[str]  # as linecache holds them
    trees: dict[tuple[int, str], list[Tree]]
    codes: dict[tuple[int, str], list[CodeType]]


_files: dict[str, _File] = {}


def trees_of(function: FunctionType) -> list[Tree]:
    """The function's tree; several for lambdas that share a line; none if there is no telling."""
    code = function.__code__
    file = _file(code.co_filename, function)
    if file is None:
        return []
    key = code.co_firstlineno, code.co_name
    if not any(_same(code, known) for known in file.codes.get(key, ())):
        return []
    return file.trees.get(key, [])


def may_write(code: CodeType) -> bool:
    """Whether bytecode stores anything but locals. For functions without a tree."""
    for step in dis.get_instructions(code):
        if step.opname in _WRITES:
            return True
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            return True
    return any(may_write(inner) for inner in code.co_consts if isinstance(inner, CodeType))


def _same(a: CodeType, b: CodeType) -> bool:
    return a.co_code == b.co_code and a.co_names == b.co_names and a.co_varnames == b.co_varnames


def _file(name: str, function: FunctionType) -> _File | None:
    linecache.checkcache(name)
    lines = linecache.getlines(name, function.__globals__)
    known = _files.get(name)
    if known is not None and known.lines is lines:
        return known
    if not lines:
        return None
    text = "".join(lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's compilation gave them
            tree = ast.parse(text, name)
            compiled = compile(tree, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    file = _files[name] = _File(lines, {}, {})
    for node in ast.walk(tree):
        if isinstance(node, Tree):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            file.trees.setdefault((first, getattr(node, "name", "<lambda>")), []).append(node)
    for code in _codes(compiled):
        file.codes.setdefault((code.co_firstlineno, code.co_name), []).append(code)
    return file


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield constant
            yield from _codes(constant)
