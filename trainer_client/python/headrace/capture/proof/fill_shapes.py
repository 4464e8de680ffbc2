"""How code that fills in what is missing is written."""

import ast
from typing import Any

from .frames import Frame


def _missing(test: ast.expr) -> ast.Attribute | None:
    """The attribute that the condition finds to be missing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = test.operand
        if isinstance(inner, ast.Call) and _called(inner) == "hasattr" and len(inner.args) == 2:
            return _named(inner.args[0], inner.args[1])
        return inner if isinstance(inner, ast.Attribute) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is):
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            left = test.left
            if isinstance(left, ast.Call) and _called(left) == "getattr" and len(left.args) == 3:
                return _named(left.args[0], left.args[1])
            return left if isinstance(left, ast.Attribute) else None
    return None


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _named(owner: ast.expr, name: ast.expr) -> ast.Attribute | None:
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        return ast.Attribute(owner, name.value, ast.Load())
    return None


def _is_quiet(frame: Frame, test: ast.expr) -> bool:
    return all(
        not isinstance(n, ast.Call) or _called(n) in ("hasattr", "getattr") for n in ast.walk(test)
    )


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _key_names(key: ast.expr) -> set[str] | None:
    if isinstance(key, ast.Name):
        return {key.id}
    if isinstance(key, ast.Tuple) and all(isinstance(e, ast.Name | ast.Constant) for e in key.elts):
        return {e.id for e in key.elts if isinstance(e, ast.Name)}
    return None


def _assign(node: ast.stmt) -> ast.Assign:
    assert isinstance(node, ast.Assign)
    return node


def _stored_at(statement: ast.stmt) -> ast.Subscript | None:
    if isinstance(statement, ast.Assign):
        found = [t for t in statement.targets if isinstance(t, ast.Subscript)]
        others = [t for t in statement.targets if not isinstance(t, ast.Subscript | ast.Name)]
        return found[0] if len(found) == 1 and not others else None
    return None


def _names_bound(body: list[ast.stmt]) -> set[str]:
    return {
        n.id for s in body for n in ast.walk(s)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }  # fmt: skip


def _leaves(body: list[ast.stmt]) -> bool:
    kinds = ast.Return | ast.Yield | ast.YieldFrom | ast.Break | ast.Continue | ast.Global
    return any(isinstance(n, kinds) for s in body for n in ast.walk(s))


def _sets_nothing_else(body: list[ast.stmt]) -> bool:
    return not _leaves(body)


def _in(test: ast.expr, kind: type) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], kind):
        return test.comparators[0], test.left
    return None


def _shape(body: list[ast.stmt], at: int) -> Any:
    """(cache, key, branch, statements taken, whether the function returns, name bound)"""
    node = body[at]
    if isinstance(node, ast.If) and not node.orelse:
        if (found := _in(node.test, ast.NotIn)) is not None:
            return *found, node.body, 1, False, ""
        if (found := _in(node.test, ast.In)) is not None:
            return _early(body, at, node.body, *found)
    if isinstance(node, ast.If) and (found := _in(node.test, ast.NotIn)) is not None:
        last = node.orelse
        if len(last) == 1 and isinstance(last[0], ast.Assign) and _reads(last[0].value, *found):
            name = last[0].targets[0]
            if isinstance(name, ast.Name):
                return *found, node.body, 1, False, name.id
    if isinstance(node, ast.If) and (found := _in(node.test, ast.In)) is not None:
        first = node.body
        if len(first) == 1 and isinstance(first[0], ast.Assign) and _reads(first[0].value, *found):
            name = first[0].targets[0]
            if isinstance(name, ast.Name) and node.orelse:
                return *found, node.orelse, 1, False, name.id
    if isinstance(node, ast.If) and (walrus := _by_walrus(node)) is not None:
        return walrus
    if isinstance(node, ast.Assign) and at + 1 < len(body):
        return _by_get(body, at)
    if isinstance(node, ast.Try):
        return _by_error(node)
    return None


def _early(body: list[ast.stmt], at: int, inner: list[ast.stmt], cache: Any, key: Any) -> Any:
    """if key in cache: return cache[key]; ...; cache[key] = x; return x"""
    if len(inner) != 1 or not isinstance(inner[0], ast.Return):
        return None
    rest = body[at + 1 :]
    if not _reads(inner[0].value, cache, key) or len(rest) < 2:
        return None
    store, end = _stored_at(rest[-2]), rest[-1]
    if store is None or not isinstance(end, ast.Return) or end.value is None:
        return None
    same = ast.dump(end.value) == ast.dump(_assign(rest[-2]).value) and isinstance(
        end.value, ast.Name
    )
    if same or _reads(end.value, cache, key):
        return cache, key, rest[:-1], len(rest) + 1, True, ""
    return None


def _reads(node: Any, cache: ast.expr, key: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and ast.dump(node.value) == ast.dump(cache)
        and ast.dump(node.slice) == ast.dump(key)
    )


def _got(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(cache, key) of cache.get(key), or of cache.get(key, None)."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr != "get" or node.keywords or not 1 <= len(node.args) <= 2:
        return None
    if len(node.args) == 2 and not _is_none(node.args[1]):
        return None
    return node.func.value, node.args[0]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _none_test(test: ast.expr, kind: type) -> ast.expr | None:
    """What `x is None`, or `x is not None`, asks of."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], kind):
        return None
    return test.left if len(test.ops) == 1 and _is_none(test.comparators[0]) else None


def _keeps(branch: list[ast.stmt], name: str) -> bool:
    """Whether what the branch stores is what the name is bound to after it."""
    store = next((_assign(s) for s in branch if _stored_at(s) is not None), None)
    if store is None or not isinstance(store.value, ast.Name | ast.Call):
        return False
    if isinstance(store.value, ast.Name) and store.value.id == name:
        return True
    return any(isinstance(t, ast.Name) and t.id == name for t in store.targets)


def _by_get(body: list[ast.stmt], at: int) -> Any:
    """x = cache.get(key); if x is None: x = ...; cache[key] = x"""
    node, test = _assign(body[at]), body[at + 1]
    found = _got(node.value)
    if found is None or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    name = node.targets[0].id
    if not isinstance(test, ast.If) or test.orelse:
        return None
    asked = _none_test(test.test, ast.IsNot)
    if isinstance(asked, ast.Name) and asked.id == name:
        return _early_get(body, at, *found, name)
    asked = _none_test(test.test, ast.Is)
    if not isinstance(asked, ast.Name) or asked.id != name or not _keeps(test.body, name):
        return None
    return *found, test.body, 2, False, name


def _early_get(body: list[ast.stmt], at: int, cache: ast.expr, key: ast.expr, name: str) -> Any:
    """x = cache.get(key); if x is not None: return x; x = ...; cache[key] = x; return x"""
    test, rest = body[at + 1], body[at + 2 :]
    assert isinstance(test, ast.If)
    inner = test.body[0]
    if len(test.body) != 1 or not isinstance(inner, ast.Return) or len(rest) < 2:
        return None
    if not isinstance(inner.value, ast.Name) or inner.value.id != name:
        return None
    store, end = _stored_at(rest[-2]), rest[-1]
    if store is None or not isinstance(end, ast.Return) or end.value is None:
        return None
    kept = _assign(rest[-2]).value
    same = isinstance(kept, ast.Name) and ast.dump(end.value) == ast.dump(kept)
    if not (same or _reads(end.value, cache, key)) or _reads_before(rest[:-1], name):
        return None
    return cache, key, rest[:-1], len(rest) + 2, True, ""


def _reads_before(branch: list[ast.stmt], name: str) -> bool:
    """Whether a statement may read the name before one has bound it anew."""
    for statement in branch:
        uses = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if any(isinstance(n.ctx, ast.Load) for n in uses):
            return True
        if uses and isinstance(statement, ast.Assign):
            return False
    return False


def _by_walrus(node: ast.If) -> Any:
    """if (x := cache.get(key)) is None: x = cache[key] = ..."""
    asked = _none_test(node.test, ast.Is)
    if node.orelse or not isinstance(asked, ast.NamedExpr):
        return None
    found = _got(asked.value)
    if found is None or not _keeps(node.body, asked.target.id):
        return None
    return *found, node.body, 1, False, asked.target.id


def _by_error(node: ast.Try) -> Any:
    """try: return cache[key] / x = cache[key]; except KeyError: ...; cache[key] = x"""
    if len(node.body) != 1 or len(node.handlers) != 1 or node.orelse or node.finalbody:
        return None
    handler, first = node.handlers[0], node.body[0]
    if not isinstance(handler.type, ast.Name) or handler.type.id != "KeyError" or handler.name:
        return None
    if isinstance(first, ast.Assign) and isinstance(first.value, ast.Subscript):
        read, name = first.value, first.targets[0]
        last = _stored_at(handler.body[-1])
        if not isinstance(name, ast.Name) or last is None:
            return None
        stored = _assign(handler.body[-1])
        same = isinstance(stored.value, ast.Name) and stored.value.id == name.id
        if not same and not any(
            isinstance(t, ast.Name) and t.id == name.id for t in stored.targets
        ):
            return None
        return read.value, read.slice, handler.body, 1, False, name.id
    return None
