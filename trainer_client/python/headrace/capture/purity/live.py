"""Branches that the pipeline's own settings rule out: `if self.augment:` where it is off.

Settings are looked up on the live objects, on the assumption that no code which makes samples
changes them. If it turns out that some does, the assumption is dropped and the code is read again.
Between epochs the program may change them: it is looked at anew at each epoch.
"""

import ast
import types
from typing import Any

from .events import Event
from .values import Value, attribute

_SETTINGS = (bool, int, float, str, type(None))
_MOST_ROUNDS = 4


class Settings:
    def __init__(self, trusted: bool = True) -> None:
        self._trusted = trusted
        self._looked_up: set[str] = set()  # attributes whose value ruled a branch out
        self._changed: set[str] = set()
        self._rounds = 0

    def hold(self, events: list[Event]) -> bool:
        """Whether the code leaves the settings alone. If not, it must be read again."""
        written = {event.path.rpartition(".")[2] for event in events if event.kind == "write"}
        changed = written & self._looked_up
        by_any_name = any(e.path.endswith("__dict__") or e.by_any_name for e in events)
        self._changed |= changed
        self._rounds += 1
        if self._looked_up and (by_any_name or self._rounds == _MOST_ROUNDS):
            self._trusted = False
        held = not changed and (self._trusted or not self._looked_up)
        self._looked_up = set()
        return held

    def truth(self, test: ast.expr, me: tuple[str, Value]) -> bool | None:
        """What the condition is at each sample; None: no telling. `me`: the method's object, by its
        name and its value."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand, me)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            return self._of_parts(test, me)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._of_compare(test, me)
        found = self._setting(test, me)
        return bool(found[0]) if found and type(found[0]) in _SETTINGS else None

    def _of_parts(self, test: ast.BoolOp, me: tuple[str, Value]) -> bool | None:
        parts = [self.truth(part, me) for part in test.values]
        decides = isinstance(test.op, ast.Or)
        if decides in parts:
            return decides
        return None if None in parts else not decides

    def _of_compare(self, test: ast.Compare, me: tuple[str, Value]) -> bool | None:
        found, other = self._setting(test.left, me), test.comparators[0]
        if not found or not isinstance(other, ast.Constant):
            return None
        operator = test.ops[0]
        if other.value is None and isinstance(operator, ast.Is | ast.IsNot):
            return (found[0] is None) == isinstance(operator, ast.Is)
        if type(found[0]) in _SETTINGS and isinstance(operator, ast.Eq | ast.NotEq):
            return (found[0] == other.value) == isinstance(operator, ast.Eq)
        return None

    def _setting(self, node: ast.expr, me: tuple[str, Value]) -> tuple[Any] | None:
        """The value of self.name, or of self.options.name."""
        if not self._trusted:
            return None
        names: list[str] = []
        if _is_getattr(node):
            names, node = [node.args[1].value], node.args[0]
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not names or not isinstance(node, ast.Name) or node.id != me[0] or not me[1].shared:
            return None
        held = me[1]
        for name in reversed(names):
            if len(held.objects) != 1 or name in self._changed or _is_rewritten(held.objects[0]):
                return None
            held = attribute(held, name)
            if held.bound is not None:  # a property, a method
                return None
        if len(held.objects) != 1:
            return None
        self._looked_up.update(names)
        return held.objects


def _is_getattr(node: ast.expr) -> bool:
    """getattr(self, "name", ...)"""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    function, name = node.func, node.args[1]
    known = isinstance(function, ast.Name) and function.id == "getattr"
    return known and isinstance(name, ast.Constant) and isinstance(name.value, str)


def _is_rewritten(thing: Any) -> bool:
    """Whether its copies on the workers may differ from it."""
    if isinstance(thing, types.ModuleType | type):
        return True
    return any(
        isinstance(vars(cls).get(name), types.FunctionType)
        for cls in type(thing).__mro__[:-1]
        for name in ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getattr__")
    )
