"""What an expression stands for by its text: "self.cache", without reading what is there."""

import ast
from collections.abc import Callable
from typing import Any

from . import names

PathOf = Callable[[Any], str]


def entry_path(container: str, key: ast.expr) -> str:
    """The path of container[key]: constants name their entry."""
    if container.endswith(".__dict__") and isinstance(key, ast.Constant):
        return f"{container.removesuffix('.__dict__')}.{key.value}"
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return f"{container}[{key.value!r}]"
    return container


def path_of(node: ast.AST, path_of_name: PathOf) -> str:
    """Empty: none."""
    if isinstance(node, ast.Name):
        return path_of_name(node)
    if isinstance(node, ast.Attribute):
        base = path_of(node.value, path_of_name)
        return f"{base}.{node.attr}" if base else ""
    if isinstance(node, ast.Subscript):
        base = path_of(node.value, path_of_name)
        return entry_path(base, node.slice) if base else ""
    return ""


def converts(source: ast.expr | None, path: str, path_of_node: PathOf) -> bool:
    """self.table = self.table.to(...): done again, it changes nothing."""
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Attribute):
        return False
    return source.func.attr in names.CONVERT and path_of_node(source.func.value) == path
