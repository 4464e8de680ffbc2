"""Caches that no sample can see: what is written only where it is missing, and is then what
any other sample would have written there.

This file is long because the rules that make a cache invisible belong beside each other.

Once for all, for an attribute of a live object, all of them stored in the one branch:

    if self.file is None:            (or: not hasattr(self, "file"), not self.file)
        self.file = open_it(self.path)

By key, for a dict:

    if key not in self.cache:        if key in self.cache:         found = self.cache.get(key)
        self.cache[key] = f(key)         return self.cache[key]    if found is None:
    ... self.cache[key] ...          ...                               found = f(key)
                                     self.cache[key] = found           self.cache[key] = found
                                     return found

A filled value may depend only on what lasts and on the key: it draws nothing, reads no local name
of the sample and sets none that the rest of the sample uses. Nothing else may look at it. It is
read only where every way to there has filled it, so that no sample can tell whether it is the
first. Anything else is a write, and state.
"""

import ast
from typing import Any

from . import expressions
from .arguments import Arguments
from .fill_shapes import (
    _is_chain,
    _is_quiet,
    _key_names,
    _leaves,
    _missing,
    _names_bound,
    _sets_nothing_else,
    _shape,
    _stored_at,
)
from .frames import Frame, parameters
from .interpreter import Interpreter
from .proof import Code, Doubt
from .values import (
    NOTHING,
    Bound,
    Lasting,
    Made,
    Method,
    Value,
    describe,
    is_scalar,
    lasts,
    make_lasting,
    one,
    values_of,
)

_SIMPLE = ast.Assign | ast.AnnAssign | ast.Expr | ast.With | ast.Import | ast.ImportFrom


class Fills:
    """What one proof found to be filled in. Kept while the code is read again."""

    def __init__(self) -> None:
        self.once: dict[tuple[int, str], Value] = {}  # (object, attribute): what it may be
        self.sites: dict[tuple[int, str], int] = {}  # the branch that fills it
        self.by_key: dict[int, Value] = {}  # dict: its values
        self.kept: list[Any] = []  # keeps the ids of objects theirs
        self._by: dict[Any, Any] = {}  # what is filled in: the object whose method does it
        self._stored: set[tuple[int, str]] | None = None  # in the branch that is read now
        self._guarding = 0
        self.said: Doubt | None = None  # why the last branch does not only fill in

    # Once for all.

    def attribute(self, it: Interpreter, frame: Frame, part: Lasting, name: str) -> Value:
        """What was filled in there. Raises Doubt where it may not be there yet."""
        if len(part.objects) != 1:
            if any((id(o), name) in self.once for o in part.objects):
                raise Doubt(Code.WRITES_STATE, f"reads {describe(part)}.{name}, which is filled in")
            return NOTHING
        key = (id(part.objects[0]), name)
        found = self.once.get(key)
        if found is None or self._guarding:
            return found or NOTHING
        if key not in frame.facts:
            raise Doubt(
                Code.WRITES_STATE,
                f"may read {describe(part)}.{name} before it is filled in, and so tell the first "
                "sample from later ones",
            )
        return found

    def stores(self, it: Interpreter, frame: Frame, part: Lasting, name: str, value: Value) -> bool:
        """Whether a store to what lasts is one of a branch that fills in."""
        if self._stored is None or len(part.objects) != 1 or is_scalar(part):
            return False
        key = (id(part.objects[0]), name)
        if (
            isinstance(part.objects[0], type)
            or self.sites.setdefault(key, it.filling) != it.filling
        ):
            return False
        kept = make_lasting(value)
        self.kept.append(part.objects[0])
        self.once[key] = self._more(it, self.once.get(key), kept)
        self._stored.add(key)
        frame.facts = frame.facts | {key}
        return True

    def _more(self, it: Interpreter, before: Value | None, kept: Value) -> Value:
        """With what is filled in now; the code is read again where that is of another kind."""
        if before is None or _kind(kept) - _kind(before):
            it.overlays += 1
            return (before or NOTHING) | kept
        return before if _kind(before) - _kind(kept) else kept

    def _once(self, it: Interpreter, frame: Frame, node: ast.If) -> bool:
        target = _missing(node.test)
        if target is None or node.orelse or self._stored is not None:
            return False
        if not _sets_nothing_else(node.body) or not _is_quiet(frame, node.test):
            return False
        owner = expressions.value(it, frame, target.value)
        if len(owner) != 1:
            return False
        (part,) = owner
        if type(part) is not Lasting or len(part.objects) != 1 or not hasattr(part.cls, "__dict__"):
            return False
        key = (id(part.objects[0]), target.attr)
        self._guarding += 1
        try:
            truths = expressions.condition(it, frame, node.test)
        finally:
            self._guarding -= 1
        if True not in truths or isinstance(part.objects[0], type):
            return False
        if it.trying:
            raise Doubt(Code.WRITES_STATE, f"fills in {describe(part)}.{target.attr} inside try")
        assert frame.env is not None
        before = dict(frame.env)
        bound = set(before)
        frame.hidden = {n for n in bound if n != "\0facts" and not _is_me(frame, n)} | (
            frame.scope.captured - {n for n in frame.scope.captured if _is_me(frame, n)}
        )
        stored: set[tuple[int, str]] = set()
        it.filling, self._stored = id(node), stored
        try:
            _run_hidden(it, frame, node.body, bound)
        finally:
            frame.hidden = set()
            it.filling = 0
            self._stored = None
        facts = frame.facts
        if key not in stored or key not in facts or frame.env is None:
            raise Doubt(
                Code.WRITES_STATE, f"does something where {describe(part)}.{target.attr} is missing, "
                "and may do it again",
            )  # fmt: skip
        self._one_filler(frame, key)
        frame.env = before
        _forbid(frame, node.body)
        frame.facts = frame.facts | {f for f in facts if f in stored}
        return True

    def _one_filler(self, frame: Frame, what: Any) -> None:
        """What is filled in may depend on the method's object, so that must be the same one."""
        me = next((n for n in parameters(frame.node)[:1] if _is_me(frame, n)), None)
        mine = next(iter(frame.find(me))).objects[0] if me else None
        if self._by.setdefault(what, mine) is not mine:
            raise Doubt(Code.WRITES_STATE, "fills in what several objects share")

    def cached_property(
        self, it: Interpreter, frame: Frame, part: Any, name: str, found: Any
    ) -> Value:
        """functools.cached_property, which computes from the object alone."""
        if type(part) is not Lasting:
            return it.rules.run(it, frame, found.func, [one(part)])
        for thing in part.objects:
            if name in vars(thing):
                return values_of([vars(thing)[name]], None, f"{describe(part)}.{name}")
        filling = it.filling
        it.filling = it.filling or id(found)
        try:
            return make_lasting(it.rules.run(it, frame, found.func, [one(part)]))
        finally:
            it.filling = filling

    def cached_call(self, it: Interpreter, frame: Frame, cache: Any, given: Arguments) -> Value:
        """functools.lru_cache: of whole numbers, texts and what lasts, which are equal where they
        are the same."""
        for part in given.all():
            if not _is_exact(part) and not _is_by_identity(part):
                raise Doubt(
                    Code.WRITES_STATE,
                    f"keeps results of {cache.__wrapped__.__qualname__} by something else than "
                    "whole numbers and texts",
                )
        filling = it.filling
        it.filling = it.filling or id(cache)
        try:
            called = values_of([cache.__wrapped__], None, cache.__wrapped__.__qualname__)
            return make_lasting(it.rules.apply(it, frame, called, given))
        finally:
            it.filling = filling

    # By key.

    def read(self, it: Interpreter, frame: Frame, node: ast.Subscript) -> Value | None:
        """cache[key], where it was filled in under that key."""
        if not isinstance(node.ctx, ast.Load) or not self.by_key:
            return None
        fact = next((f for f in frame.facts if len(f) == 3 and f[1] == ast.dump(node)), None)
        if fact is None:
            return None
        for name in fact[2]:
            frame.find(name)  # of a value that is filled in, it must be one that it may depend on
        return self.by_key[fact[0]] | self._entries(fact[0])

    def _entries(self, of: int) -> Value:
        thing = next(o for o in self.kept if id(o) == of)
        return values_of(list(thing.values()), ("filled", of), "a cache")

    def _cache(self, it: Interpreter, frame: Frame, node: ast.expr, key: ast.expr) -> Any:
        """The live dict, where node[key] is something that may be filled in."""
        names = _key_names(key)
        if names is None or not _is_chain(node) or self._stored is not None or it.filling:
            return None
        self._guarding += 1
        try:
            found = expressions.value(it, frame, node)
            keys = expressions.value(it, frame, key)
        finally:
            self._guarding -= 1
        if len(found) != 1 or isinstance(key, ast.Tuple) is False and not all(map(_is_exact, keys)):
            return None
        if isinstance(key, ast.Tuple):
            for name in names:
                if not all(map(_is_exact, frame.find(name))):
                    return None
        (part,) = found
        if type(part) is not Lasting or len(part.objects) != 1 or part.cls is not dict:
            return None
        return part.objects[0]

    def _by_key(self, it: Interpreter, frame: Frame, body: list[ast.stmt], at: int) -> int:
        shape = _shape(body, at)
        if shape is None:
            return 0
        taken: int
        cache_node, key, branch, taken, result, name = shape
        cache = self._cache(it, frame, cache_node, key)
        if cache is None:
            return 0
        names = _key_names(key)
        text = ast.dump(ast.Subscript(cache_node, key, ast.Load()))
        assert names is not None and frame.env is not None
        bound = set(frame.env)
        if names & {n.id for s in branch for n in ast.walk(s)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}:  # fmt: skip
            return 0
        before = dict(frame.env)
        self._claim(it, cache)
        frame.hidden = {
            n for n in (bound | frame.scope.captured) - names
            if n not in ("\0facts", name) and not _is_me(frame, n)
        }  # fmt: skip
        frame.env = {n: v for n, v in before.items() if n != name}
        it.filling = id(cache)
        try:
            value = self._run_branch(it, frame, branch, cache_node, key, bound - {name})
        finally:
            frame.hidden = set()
            it.filling = 0
        kept = make_lasting(value)
        self.by_key[id(cache)] = self._more(it, self.by_key[id(cache)], kept)
        frame.env = before
        self._one_filler(frame, id(cache))
        _forbid(frame, branch)
        everything = self.by_key[id(cache)] | self._entries(id(cache))
        if name:
            frame.bind(name, everything)
        if result:  # the function ends here, with what was found or made
            frame.returns |= everything
            facts = frame.facts
            frame.return_facts = facts if frame.return_facts is None else frame.return_facts & facts
            frame.env = None
        else:
            frame.facts = frame.facts | {(id(cache), text, frozenset(names))}
        return taken

    def _claim(self, it: Interpreter, cache: Any) -> None:
        if id(cache) not in self.by_key:
            self.by_key[id(cache)] = NOTHING
            self.kept.append(cache)
            it.overlays += 1

    def _run_branch(
        self,
        it: Interpreter,
        frame: Frame,
        branch: list[ast.stmt],
        cache: ast.expr,
        key: ast.expr,
        bound: Any,
    ) -> Value:
        """Reads the statements before the store, and gives what is stored."""
        stored = None
        for statement in branch:
            target = _stored_at(statement)
            if target is not None and ast.dump(target.value) == ast.dump(cache):
                assert isinstance(statement, ast.Assign)
                if stored is not None or ast.dump(target.slice) != ast.dump(key):
                    raise Doubt(Code.WRITES_STATE, "fills a cache in a way that is not followed")
                frame.line = statement.lineno
                stored = expressions.value(it, frame, statement.value)
                for other in statement.targets:
                    if isinstance(other, ast.Name):
                        frame.bind(other.id, stored)
                continue
            if stored is not None:
                raise Doubt(Code.WRITES_STATE, "goes on with what it put into a cache")
            if not isinstance(statement, _SIMPLE | ast.If | ast.For):
                raise Doubt(Code.WRITES_STATE, "fills a cache in a way that is not followed")
            if _leaves([statement]) or _names_bound([statement]) & bound:
                raise Doubt(
                    Code.WRITES_STATE, "does more than to fill a cache where an entry is missing"
                )
            it.rules.run_statement(it, frame, statement)
            if frame.env is None:
                return NOTHING
        if stored is None:
            raise Doubt(Code.WRITES_STATE, "fills a cache in a way that is not followed")
        return stored


def fill(it: Interpreter, frame: Frame, body: list[ast.stmt], at: int) -> int:
    """How many statements from there on were read as ones that fill in; 0: none. Where they do not
    only fill in, everything is as before, and they are read as any others."""
    node = body[at]
    if not isinstance(node, ast.If | ast.Assign | ast.Try):
        return 0
    if frame.outer is not None or frame.comprehensions or frame.function is None:
        return 0  # names of functions around it are not followed here
    fills = it.fills
    if isinstance(node, ast.If) and _missing(node.test) is None and _shape(body, at) is None:
        return 0
    if not isinstance(node, ast.If) and _shape(body, at) is None:
        return 0
    kept = (dict(fills.once), dict(fills.sites), dict(fills.by_key), dict(fills._by))
    assert frame.env is not None
    before = (dict(frame.env), frame.returns, frame.return_facts, set(frame.poisoned), it.overlays,
              frame.line, dict(frame.cells))  # fmt: skip
    frame.line = node.lineno
    try:
        if isinstance(node, ast.If) and fills._once(it, frame, node):
            return 1
        return fills._by_key(it, frame, body, at)
    except Doubt as doubt:
        fills.once, fills.sites, fills.by_key, fills._by = kept
        frame.env, frame.returns, frame.return_facts, frame.poisoned, it.overlays = before[:5]
        frame.cells = before[6]
        fills.said = doubt
        return 0
    finally:
        frame.line = before[5]


def _run_hidden(it: Interpreter, frame: Frame, body: list[ast.stmt], bound: set[str]) -> None:
    for statement in body:
        if frame.env is None:
            return
        if _names_bound([statement]) & bound:
            raise Doubt(Code.WRITES_STATE, "sets a name where something is missing")
        it.rules.run_statement(it, frame, statement)


def _forbid(frame: Frame, branch: list[ast.stmt]) -> None:
    """Names that only the first sample binds."""
    bound = _names_bound(branch)
    if bound & frame.scope.captured:
        raise Doubt(Code.WRITES_STATE, "sets a name where something is missing")
    frame.poisoned |= bound - set(frame.env or ())


def _kind(value: Value, depth: int = 4) -> Value:
    """Parts by what they are like, since each reading makes its own."""
    kinds: set[Any] = set()
    for part in value:
        if type(part) is Made and depth:
            inner = [(n, _kind(v, depth - 1)) for n, v in part.fields.items()
                     if isinstance(v, frozenset)]  # fmt: skip
            elements = tuple(_kind(e, depth - 1) for e in part.elements or ())
            kinds.add((part.cls, frozenset(inner), _kind(part.items, depth - 1), elements))
        elif type(part) is Made:
            kinds.add(part.cls)
        elif type(part) in (Method, Bound):
            kinds.add((type(part), getattr(part, "name", ""), _kind(one(part.owner), depth)))
        else:
            kinds.add(part)
    return frozenset(kinds)


def _is_me(frame: Frame, name: str) -> bool:
    """A name that stands for one live object in every sample."""
    names = parameters(frame.node)
    if not names or names[0] != name:
        return False
    found = (frame.env or {}).get(name) or frame.cells.get(name, NOTHING)
    if len(found) != 1:
        return False
    (part,) = found
    return type(part) is Lasting and len(part.objects) == 1 and lasts(part)


def _is_exact(part: Any) -> bool:
    """Equal to another only where it is the same: whole numbers and texts."""
    cls = getattr(part, "cls", None)
    return is_scalar(part) and cls in (int, str, bytes, type(None))


def _is_by_identity(part: Any) -> bool:
    if type(part) is not Lasting or len(part.objects) != 1 or is_scalar(part):
        return False
    cls: Any = part.cls
    return cls.__eq__ is object.__eq__ and cls.__hash__ is object.__hash__
