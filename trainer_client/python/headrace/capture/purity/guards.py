"""Conditions that say "it is not there yet", behind which a write only fills in."""

import ast
from collections.abc import Callable

PathOf = Callable[[ast.AST], str]
_EMPTY: frozenset[str] = frozenset()


def when_true(test: ast.expr, path_of: PathOf) -> frozenset[str]:
    """Paths that are absent where the test holds."""
    if isinstance(test, ast.BoolOp):
        return _EMPTY.union(*(when_true(part, path_of) for part in test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return when_false(test.operand, path_of)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        side = test.comparators[0]
        if isinstance(test.ops[0], ast.Is | ast.Eq) and _is_none(side):
            return _paths(path_of(test.left))
        if isinstance(test.ops[0], ast.NotIn):
            return _paths(path_of(side), _named_in_dict(test.left, side, path_of))
    return _EMPTY


def when_false(test: ast.expr, path_of: PathOf) -> frozenset[str]:
    """Paths that are absent where the test does not hold."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return when_true(test.operand, path_of)
    if isinstance(test, ast.BoolOp):
        return _EMPTY.union(*(when_false(part, path_of) for part in test.values))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        side = test.comparators[0]
        if isinstance(test.ops[0], ast.IsNot | ast.NotEq) and _is_none(side):
            return _paths(path_of(test.left))
        if isinstance(test.ops[0], ast.In):
            return _paths(path_of(side), _named_in_dict(test.left, side, path_of))
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        if test.func.id == "hasattr" and len(test.args) == 2:
            name = test.args[1]
            if isinstance(name, ast.Constant) and path_of(test.args[0]):
                return _paths(f"{path_of(test.args[0])}.{name.value}")
    return _paths(path_of(test))


def leaves(block: list[ast.stmt]) -> bool:
    """Whether what follows the block runs only where it did not."""
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def asks_for_none(test: ast.Compare) -> bool:
    return len(test.ops) == 1 and _is_none(test.comparators[0])


def returns(block: list[ast.stmt]) -> bool:
    """Whether nothing that follows the block runs."""
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise)


def _named_in_dict(name: ast.expr, side: ast.expr, path_of: PathOf) -> str:
    """`"x" in self.__dict__`"""
    if isinstance(name, ast.Constant) and isinstance(side, ast.Attribute):
        if side.attr == "__dict__" and path_of(side.value):
            return f"{path_of(side.value)}.{name.value}"
    return ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _paths(*paths: str) -> frozenset[str]:
    return frozenset(path for path in paths if path)
