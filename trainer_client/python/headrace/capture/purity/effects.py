"""Follows the code that makes samples, from the dataset on, and notes what it does to lasting state.

The code is read, not run: every branch counts. Names are resolved on the live objects, so a method,
a transform in a list or a closure's function is the one that will run. Library code is trusted
(values.py); the user code that a library's object holds is followed.
"""

import ast
import builtins
import functools
import os
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import calls, guards, paths
from .events import Event, place
from .frames import Frame, bind
from .live import Settings
from .source import may_write, trees_of
from .values import FRESH, Value, attribute, is_immutable, is_own_code, items, joined

_MOST_CALLS = 1_500  # some seconds
_MOST_DEPTH = 60
_BLOCKS = ("body", "orelse", "finalbody")


class Walker:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.events: list[Event] = []
        self.unread: list[str] = []  # functions that may write and whose text is not known
        self.whole = True  # False: there was more code than is followed
        self._seen: dict[Any, Value] = {}
        self._met: dict[int, Value] = {}
        self.frames: list[Frame] = []
        self._conditions = 0
        self._testing = False  # in a condition
        self._guards: frozenset[str] = frozenset()

    # Functions.

    def run(self, function: types.FunctionType, args: list[Value], named: Any = None) -> Value:
        """Reads a function as called with these arguments; returns what it may return."""
        named = named or {}
        args = [self._as_first_met(value) for value in args]
        mark = tuple((v.path, v.made_by, *map(id, v.objects)) for v in [*args, *named.values()])
        key = function.__code__, tuple(named), mark
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = FRESH
        if len(self._seen) > _MOST_CALLS or len(self.frames) > _MOST_DEPTH:
            self.whole = False
            return FRESH
        trees = trees_of(function)
        if not trees and may_write(function.__code__):
            self.unread.append(function.__qualname__)
        values = [self._run_tree(function, tree, args, named) for tree in trees]
        self._seen[key] = joined(values) if values else FRESH
        return self._seen[key]

    def _as_first_met(self, value: Value) -> Value:
        """An object that is reached in several ways goes by the first."""
        if not value.shared or len(value.objects) != 1 or not is_own_code(type(value.objects[0])):
            return value
        return self._met.setdefault(id(value.objects[0]), value)

    def _run_tree(self, function: types.FunctionType, tree: Any, args: Any, named: Any) -> Value:
        where = f"{function.__qualname__} ({os.path.basename(function.__code__.co_filename)}"
        frame = Frame(function, bind(function, args, named), where)
        self.frames.append(frame)
        try:
            if isinstance(tree, ast.Lambda):
                return self.value(tree.body)
            self._block(tree.body)
        finally:
            self.frames.pop()
        return joined(frame.returns) if frame.returns else FRESH

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def note(self, kind: str, value: Value | str, node: ast.AST, **more: Any) -> None:
        path, key = (value, "") if isinstance(value, str) else place(value)
        if not path:
            return
        shown = value if isinstance(value, str) else value.path.removesuffix("[...]")
        where = f"{self.frame.where}:{getattr(node, 'lineno', '?')})"
        more.setdefault("key", key)
        more.update(certain=self._conditions == 0, behind=self._guards, shown=shown)
        self.events.append(Event(kind, path, where, **more))

    def note_size(self, value: Value, node: ast.AST) -> None:
        """Is it there, how much is there: caches ask in conditions, elsewhere it is read."""
        self.note("size" if self._testing else "read", place(value)[0], node)

    def write(self, value: Value | str, node: ast.AST, derived: bool = False, **more: Any) -> None:
        path = value if isinstance(value, str) else place(value)[0]
        self.note("write", value, node, derived=derived, guarded=path in self._guards, **more)

    @contextmanager
    def _condition(self, guard: frozenset[str] = frozenset(), certain: bool = False) -> Iterator:
        kept = self._guards
        self._guards |= guard
        self._conditions += not certain
        try:
            yield
        finally:
            self._conditions -= not certain
            self._guards = kept

    # Statements.

    def _block(self, statements: list[ast.stmt]) -> None:
        kept = self._guards
        for statement in statements:
            self._statement(statement)
            if isinstance(statement, ast.If):
                known = self.settings.truth(statement.test, self.frame.me)
                if known is not None and guards.returns(
                    statement.body if known else statement.orelse
                ):
                    break
                if guards.leaves(statement.body):
                    self._guards |= guards.when_false(statement.test, self._path_of)
        self._guards = kept

    def _statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        for name in _BLOCKS:
            self._block(getattr(node, name, []))

    def _do_return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.frame.returns.append(self.value(node.value))

    def _do_global(self, node: ast.Global) -> None:
        self.frame.globals.update(node.names)

    def _do_nonlocal(self, node: ast.Nonlocal) -> None:
        self.frame.nonlocals.update(node.names)

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._store(target, value, node.value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store(node.target, self.value(node.value), node.value)

    def _do_augassign(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        target = node.target
        if isinstance(target, ast.Name):
            held = self._name(target)
            if target.id in self.frame.globals | self.frame.nonlocals:
                self._store(target, FRESH, node.value, derived=True)
            elif held.shared and held.objects and not all(map(is_immutable, held.objects)):
                self.write(held, node, derived=True)  # in place: an array, a list
            return
        self._store(target, FRESH, node.value, derived=True)

    def _do_delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name) or target.id in self.frame.globals:
                self._store(target, FRESH, None, derived=True)

    def _do_if(self, node: ast.If) -> None:
        known = self.settings.truth(node.test, self.frame.me)
        self._test(node.test)
        if known is not None:
            return self._block(node.body if known else node.orelse)
        with self._condition(guards.when_true(node.test, self._path_of)):
            self._block(node.body)
        with self._condition(guards.when_false(node.test, self._path_of)):
            self._block(node.orelse)

    def _do_while(self, node: ast.While) -> None:
        self._test(node.test)
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        with self._condition(certain=forever):
            self._block(node.body)
        with self._condition():
            self._block(node.orelse)

    def _do_for(self, node: ast.For) -> None:
        self._bind_each(node.target, node.iter)
        with self._condition():
            self._block(node.body)
            self._block(node.orelse)

    def _do_try(self, node: ast.Try) -> None:
        before = len(self.events)
        self._block(node.body)
        done = len(self.events)
        tried = frozenset(e.path for e in self.events[before:] if e.kind in ("read", "item"))
        with self._condition(tried):
            for handler in node.handlers:
                self._block(handler.body)
        # A handler may run before any of the body has: what it reads is what was there.
        self.events[before:] = self.events[done:] + self.events[before:done]
        self._block(node.orelse)
        self._block(node.finalbody)

    def _do_with(self, node: ast.With) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self._store(item.optional_vars, value, None)
        self._block(node.body)

    def _do_functiondef(self, node: ast.FunctionDef) -> None:
        self._inside(node.args, lambda: self._block(node.body))

    def _inside(self, arguments: ast.arguments, read: Callable[[], Any]) -> None:
        """An inner function: read where it is defined, as if called there."""
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        inner = Frame(self.frame.function, dict(self.frame.names), self.frame.where)
        inner.names.update({argument.arg: FRESH for argument in named})
        self.frames.append(inner)
        with self._condition():
            read()
        self.frames.pop()

    def _do_classdef(self, node: ast.ClassDef) -> None:
        pass

    # Targets.

    def _store(self, target: ast.expr, value: Value, source: Any, derived: bool = False) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._store(part, items(value), None, derived)
        elif isinstance(target, ast.Starred):
            self._store(target.value, value, source, derived)
        elif isinstance(target, ast.Name):
            if target.id in self.frame.globals:
                self.write(f"global {target.id}", target, derived, what="global")
            elif target.id in self.frame.nonlocals and target.id not in self.frame.own_names:
                self.write(f"closure variable {target.id}", target, derived, what="global")
            else:
                known = self.frame.names.get(target.id)
                self.frame.names[target.id] = joined([known, value]) if known else value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value, as_owner=True)
            if owner.shared:
                path = Value(f"{owner.path}.{target.attr}", item=owner.item)
                self._write_from(path, target, source, derived, owner)
        elif isinstance(target, ast.Subscript):
            owner = self.value(target.value, as_owner=True)
            self.value(target.slice)
            if owner.shared:
                entry = calls.entry_of(owner, target.slice)
                self._write_from(entry, target, source, derived, owner)

    def _write_from(self, at: Value, node: Any, source: Any, derived: bool, owner: Value) -> None:
        if paths.converts(source, at.path, self._path_of):
            return
        if source is not None and not derived:
            before = {at.path, at.path.removesuffix("[...]")}
            derived = any(self._path_of(part) in before for part in ast.walk(source))
        outside = any(isinstance(thing, type | types.ModuleType) for thing in owner.objects)
        self.write(at, node, derived, what="global" if outside else "")

    def _bind_each(self, target: ast.expr, iterated: ast.expr) -> None:
        parts = calls.entries(self, iterated)
        if isinstance(target, ast.Tuple | ast.List) and len(parts) == len(target.elts):
            for name, value in zip(target.elts, parts, strict=True):
                self._store(name, value, None)
        else:
            self._store(target, joined(parts), None)

    # Expressions.

    def value(self, node: ast.expr | None, as_owner: bool = False) -> Value:
        """What the expression may stand for. `as_owner`: only a part of it will be read."""
        if node is None:
            return FRESH
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node, as_owner)
        if isinstance(node, ast.IfExp):
            known = self.settings.truth(node.test, self.frame.me)
            self._test(node.test)
            if known is not None:
                return self.value(node.body if known else node.orelse)
            return joined([self.value(node.body), self.value(node.orelse)])
        if isinstance(node, ast.BoolOp):
            return joined([self.value(part) for part in node.values])
        return self._visit(node)

    def _visit(self, node: ast.AST) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.keyword | ast.FormattedValue):
                self.value(child.value)
        return FRESH

    def _of_name(self, node: ast.Name, as_owner: bool) -> Value:
        value = self._name(node)
        if not as_owner and value.shared:
            self.read(value, node)
        return value

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.frame.names and node.id not in self.frame.globals:
            return self.frame.names[node.id]
        function = self.frame.function
        code = getattr(function, "__code__", None)
        if code is not None and node.id in code.co_freevars and function.__closure__:
            cell = function.__closure__[code.co_freevars.index(node.id)]
            try:
                return Value(f"closure variable {node.id}", (cell.cell_contents,))
            except ValueError:  # empty
                return Value(f"closure variable {node.id}")
        if function is not None and node.id in function.__globals__:
            return Value(f"global {node.id}", (function.__globals__[node.id],))
        if hasattr(builtins, node.id):
            return Value(f"global {node.id}", (getattr(builtins, node.id),))
        return FRESH

    def read(self, value: Value, node: ast.AST) -> None:
        container, key = place(value)
        self.note("item" if key else "read", container, node, key=key)

    def _of_attribute(self, node: ast.Attribute, as_owner: bool) -> Value:
        owner = self.value(node.value, as_owner=True)
        if node.attr == "__class__" and owner.shared:
            return calls.class_of(owner)
        if node.attr == "__dict__":
            return calls.dict_of(owner)
        value = attribute(owner, node.attr)
        for found in value.objects:
            if isinstance(found, property) and found.fget is not None and value.bound is not None:
                return self.run(found.fget, [value.bound])
            if isinstance(found, functools.cached_property) and value.bound is not None:
                return self.run(found.func, [value.bound])
        if value.shared and not as_owner and not callable(next(iter(value.objects), None)):
            self.read(value, node)
        if value.shared and value.item == "" and owner.item:
            value = Value(value.path, value.objects, owner.item, bound=value.bound)
        return value

    def _of_subscript(self, node: ast.Subscript, as_owner: bool) -> Value:
        owner = self.value(node.value, as_owner=True)
        self.value(node.slice)
        return calls.take_item(self, owner, node)

    def _of_call(self, node: ast.Call, as_owner: bool) -> Value:
        return calls.call(self, node)

    def _of_compare(self, node: ast.Compare, as_owner: bool) -> Value:
        is_there = guards.asks_for_none(node) and isinstance(node.left, ast.Attribute)
        left = self.value(node.left, as_owner=is_there)
        if is_there and left.shared:
            self.note_size(left, node)
        for operator, side in zip(node.ops, node.comparators, strict=True):
            held = self.value(side, as_owner=isinstance(operator, ast.In | ast.NotIn))
            if isinstance(operator, ast.In | ast.NotIn) and held.shared:
                self.note_size(held, node)
        return FRESH

    def _of_lambda(self, node: ast.Lambda, as_owner: bool) -> Value:
        self._inside(node.args, lambda: self.value(node.body))
        return FRESH

    def _of_namedexpr(self, node: ast.NamedExpr, as_owner: bool) -> Value:
        value = self.value(node.value)
        self._store(node.target, value, node.value)
        return value

    def _comprehension(self, node: Any, as_owner: bool) -> Value:
        for generator in node.generators:
            self._bind_each(generator.target, generator.iter)
            for test in generator.ifs:
                self.value(test)
        with self._condition():
            for part in ("elt", "key", "value"):
                self.value(getattr(node, part, None))
        return FRESH

    _of_listcomp = _of_setcomp = _of_generatorexp = _of_dictcomp = _comprehension

    def _test(self, condition: ast.expr) -> None:
        before, self._testing = self._testing, True
        self.value(condition)
        self._testing = before

    def _path_of(self, node: ast.AST) -> str:
        return paths.path_of(node, lambda name: self._name(name).path)
