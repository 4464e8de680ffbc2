"""A function's syntax tree, believed only where compiling its file again gives the very function.

The file may have been edited since, or the function made by other means. All that a function does
is compared: bytecode, names, constants, and the functions inside it.
"""

import ast
import linecache
import warnings
from types import CodeType, FunctionType

Tree = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LARGEST = 600_000  # bytes of a file that is read
_COMPARED = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount",
    "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_exceptiontable",
)  # fmt: skip


class _File:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.trees: dict[tuple[int, str], list[Tree]] = {}
        self.codes: dict[tuple[int, str], list[CodeType]] = {}


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
    key = code.co_firstlineno, code.co_name
    same = any(_same(code, known) for known in file.codes.get(key, ()))
    trees = file.trees.get(key, []) if same else []
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
    known = _files.get(name)
    if known is not None and known.lines is lines:
        return known
    text = "".join(lines)
    if not lines or len(text) > _LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's compilation gave them
            tree = ast.parse(text, name)
            compiled = compile(tree, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    file = _files[name] = _File(lines)
    for node in ast.walk(tree):
        if isinstance(node, Tree):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            file.trees.setdefault((first, getattr(node, "name", "<lambda>")), []).append(node)
    todo = [compiled]
    while todo:
        code = todo.pop()
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                file.codes.setdefault((constant.co_firstlineno, constant.co_name), []).append(
                    constant
                )
                todo.append(constant)
    return file


def forget_edited(names: list[str]) -> None:
    """Looks whether the files are still what they were. Once a proof, since it asks the disk."""
    for name in names:
        linecache.checkcache(name)


def files_read() -> list[str]:
    return list(_files)
