"""A function while it is read: its names, and what they may stand for at this point."""

import ast
import builtins
import types
from dataclasses import field
from typing import Any

from ...records import dataclass
from .proof import Code, Doubt
from .values import NOTHING, Value, values_of

FACTS = "\0facts"  # in an environment: what was filled in on every way to here

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass
class Scope:
    """Names of a function by its tree. captured: those that functions inside it use, which may run
    at any time: of them all values count that they ever have."""

    local: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    of_module: set[str] = field(default_factory=set)
    of_outer: set[str] = field(default_factory=set)
    generates: bool = False


_scopes: dict[int, tuple[Any, Scope]] = {}


def scope_of(node: Any) -> Scope:
    known = _scopes.get(id(node))
    if known is not None and known[0] is node:
        return known[1]
    scope = Scope()
    for name in parameters(node):
        scope.local.add(name)
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    inner: set[str] = set()
    for part in body:
        _scan(part, scope, inner)
    scope.local -= scope.of_module | scope.of_outer
    scope.captured = scope.local & inner
    _scopes[id(node)] = (node, scope)
    return scope


def parameters(node: Any) -> list[str]:
    given = node.args
    names = [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
    return names + [a.arg for a in (given.vararg, given.kwarg) if a is not None]


def _scan(node: ast.AST, scope: Scope, inner: set[str]) -> None:
    if isinstance(node, _FUNCTIONS):
        if not isinstance(node, ast.Lambda):
            scope.local.add(node.name)
            for outside in [*node.decorator_list, *node.args.defaults]:
                _scan(outside, scope, inner)
        inner |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return
    if isinstance(node, ast.ClassDef):
        scope.local.add(node.name)
        inner |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return
    if isinstance(node, ast.Global):
        scope.of_module |= set(node.names)
    elif isinstance(node, ast.Nonlocal):
        scope.of_outer |= set(node.names)
    elif isinstance(node, ast.Yield | ast.YieldFrom):
        scope.generates = True
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        scope.local.add(node.id)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        scope.local.add(node.name)
    elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        scope.local.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        scope.local.add(node.rest)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        scope.local |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    elif isinstance(node, _COMPREHENSIONS):
        if isinstance(node, ast.GeneratorExp):  # it runs when somebody asks it
            inner |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        bound = Scope()
        for child in ast.iter_child_nodes(node):
            _scan(child, bound, inner)
        scope.local |= {
            n.target.id
            for n in ast.walk(node)
            if isinstance(n, ast.NamedExpr) and isinstance(n.target, ast.Name)
        }
        scope.generates |= bound.generates
        return
    for child in ast.iter_child_nodes(node):
        _scan(child, scope, inner)


class Frame:
    def __init__(self, node: Any, name: str, file: str, context: int) -> None:
        self.node, self.name, self.file, self.context = node, name, file, context
        self.scope = scope_of(node) if node is not None else Scope()
        self.env: dict[str, Value] | None = {FACTS: frozenset()}
        self.cells: dict[str, Value] = {}
        self.comprehensions: list[dict[str, Value]] = []
        self.hidden: set[str] = set()  # names that a filled value must not depend on
        self.poisoned: set[str] = set()  # names that only the first sample binds
        self.outer: Frame | None = None
        self.snapshot: dict[str, Value] = {}  # of comprehensions around a function
        self.function: types.FunctionType | None = None
        self.globals: dict[str, Any] = {}
        self.returns = NOTHING
        self.return_facts: Value | None = None
        self.yields = NOTHING
        self.tries: list[dict[str, Any]] = []
        self.loops: list[Any] = []
        self.guards: list[tuple[str, str]] = []  # (key, dict) of `if key in dict`
        self.line = 0
        self.chain: list[tuple[int, int]] = []  # (context, function) of the calls to here

    # Names.

    def find(self, name: str) -> Value:
        for scope in reversed(self.comprehensions):
            if name in scope:
                return scope[name]
        if name in self.poisoned:
            raise Doubt(Code.WRITES_STATE, f"uses {name}, which is set at the first time only")
        if name in self.hidden:
            raise Doubt(
                Code.WRITES_STATE,
                f"keeps a value that may depend on {name}, and not only on what it is kept by",
            )
        if name in self.scope.captured:
            return self.cells.get(name, NOTHING)
        if name in self.scope.local:
            return (self.env or {}).get(name, NOTHING)
        return self._of_outside(name)

    def _of_outside(self, name: str) -> Value:
        if name in self.snapshot:
            return self.snapshot[name]
        if name not in self.scope.of_module:
            if self.outer is not None:
                return self.outer.find(name)
            function = self.function
            if function is not None and name in function.__code__.co_freevars:
                assert function.__closure__ is not None
                cell = function.__closure__[function.__code__.co_freevars.index(name)]
                try:
                    return values_of([cell.cell_contents], None, name)
                except ValueError:
                    return NOTHING
        if name in self.globals:
            return values_of([self.globals[name]], None, name)
        if hasattr(builtins, name):
            return values_of([getattr(builtins, name)], None, name)
        return NOTHING

    def bind(self, name: str, value: Value) -> bool:
        """Whether a captured name may now be more than before."""
        if name in self.scope.of_module:
            raise Doubt(Code.WRITES_STATE, f"sets the global {name}")
        if name in self.scope.of_outer:
            return self._bind_outer(name, value)
        self._forget(name)
        self.poisoned.discard(name)
        if name in self.scope.captured:
            before = self.cells.get(name, NOTHING)
            self.cells[name] = before | value
            return self.cells[name] != before
        if self.env is not None:
            self.env[name] = value
        for reached in self.tries:
            reached[name] = reached.get(name, NOTHING) | value
        return False

    def _bind_outer(self, name: str, value: Value) -> bool:
        frame = self.outer
        while frame is not None:
            if name in frame.scope.captured:
                before = frame.cells.get(name, NOTHING)
                frame.cells[name] = before | value
                return frame.cells[name] != before
            frame = frame.outer
        raise Doubt(Code.WRITES_STATE, f"sets {name} of the function around it")

    def _forget(self, name: str) -> None:
        facts = self.facts
        if facts and any(name in fact[2] for fact in facts if len(fact) == 3):
            self.facts = frozenset(f for f in facts if len(f) != 3 or name not in f[2])

    # What is filled in.

    @property
    def facts(self) -> Value:
        return (self.env or {}).get(FACTS, frozenset())

    @facts.setter
    def facts(self, facts: Value) -> None:
        if self.env is not None:
            self.env[FACTS] = facts


def join(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    """What holds after either of two ways; None: a way that nobody comes."""
    if one is None or other is None:
        return dict(other) if one is None and other is not None else one and dict(one)
    both = dict(one)
    for name, value in other.items():
        if name != FACTS:
            both[name] = both[name] | value if name in both else value
    both[FACTS] = one[FACTS] & other[FACTS]
    return both
