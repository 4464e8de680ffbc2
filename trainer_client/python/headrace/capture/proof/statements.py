"""Statements, one function for each kind. A kind that is not here is not understood."""

import ast
import sys
from typing import Any

from . import attributes, contents, expressions, fills, items, operators
from .arguments import Arguments
from .frames import FACTS, Frame, join
from .interpreter import Interpreter
from .patterns import _match
from .proof import Code, Doubt
from .specials import enter, leave
from .values import FRESH, NONE, NOTHING, Lasting, Made, Value, one, values_of

_MOST_ROUNDS = 25
_SHORT = 16  # what is gone through one by one


def run_block(it: Interpreter, frame: Frame, body: list[ast.stmt]) -> None:
    position = 0
    while position < len(body) and frame.env is not None:
        taken = fills.fill(it, frame, body, position)
        if not taken:
            run_statement(it, frame, body[position])
            taken = 1
        position += taken


def run_statement(it: Interpreter, frame: Frame, node: ast.stmt) -> None:
    it.step()
    line, frame.line = frame.line, node.lineno
    at, it.at = it.at, (frame, node.lineno)
    kind = _KINDS.get(type(node))
    try:
        if kind is None:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"has {_article(node)}, which is not followed")
        kind(it, frame, node)
    except Doubt as doubt:
        if not doubt.where:
            doubt.where = f"{frame.name} ({frame.file}:{node.lineno})"
        raise
    frame.line, it.at = line, at


def _article(node: ast.AST) -> str:
    return f"a statement of kind {type(node).__name__}"


def _pass(it: Interpreter, frame: Frame, node: Any) -> None:
    pass


def _expression(it: Interpreter, frame: Frame, node: ast.Expr) -> None:
    expressions.value(it, frame, node.value)


def _return(it: Interpreter, frame: Frame, node: ast.Return) -> None:
    if node.value is not None:
        frame.returns |= expressions.value(it, frame, node.value)
    else:
        frame.returns |= NONE
    facts = frame.facts
    frame.return_facts = facts if frame.return_facts is None else frame.return_facts & facts
    frame.env = None


def _assign(it: Interpreter, frame: Frame, node: ast.Assign) -> None:
    value = expressions.value(it, frame, node.value)
    for target in node.targets:
        assign(it, frame, target, value)


def _annotated(it: Interpreter, frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(it, frame, node.target, expressions.value(it, frame, node.value))


def _augmented(it: Interpreter, frame: Frame, node: ast.AugAssign) -> None:
    load = expressions.as_load(node.target)
    old = expressions.value(it, frame, load)
    more = expressions.value(it, frame, node.value)
    new = operators.in_place(it, frame, node.op, old, more)
    if new is not None:
        assign(it, frame, node.target, new)


def assign(it: Interpreter, frame: Frame, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        for scope in reversed(frame.comprehensions):
            if target.id in scope:
                scope[target.id] = value
                return
        if frame.bind(target.id, value):
            it.version += 1
    elif isinstance(target, ast.Attribute):
        owner = expressions.value(it, frame, target.value)
        attributes.store(it, frame, owner, target.attr, value)
    elif isinstance(target, ast.Subscript):
        owner = expressions.value(it, frame, target.value)
        key = expressions.value(it, frame, target.slice)
        items.store(it, frame, owner, key, value)
    elif isinstance(target, ast.Starred):
        made = it.make(frame, target, list)
        it.grow(made, value)
        assign(it, frame, target.value, one(made))
    else:
        _unpack(it, frame, target, value)


def _unpack(it: Interpreter, frame: Frame, target: Any, value: Value) -> None:
    count = len(target.elts)
    starred = any(isinstance(t, ast.Starred) for t in target.elts)
    parts = [NOTHING] * count
    for part in value:
        known = None if starred else _elements(part, count)
        if known is None:
            each = contents.iterate(it, frame, one(part))
            known = [each] * count
        parts = [a | b for a, b in zip(parts, known, strict=True)]
    for one_target, part in zip(target.elts, parts, strict=True):
        assign(it, frame, one_target, part)


def _elements(part: Any, count: int) -> list[Value] | None:
    if type(part) is Made and part.elements is not None:
        return part.elements if len(part.elements) == count else [NOTHING] * count
    if type(part) is Lasting and part.cls in (tuple, list):
        # The caches that are filled change no list that is unpacked: a list is then looked at whole.
        same = [o for o in part.objects if len(o) == count]
        if len(part.objects) <= 64 and part.cls is tuple:
            return [
                values_of([o[n] for o in same], (part.key, n), f"{part.path}[{n}]")
                for n in range(count)
            ]
    return None


def _delete(it: Interpreter, frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.bind(target.id, NOTHING)
        elif isinstance(target, ast.Attribute):
            owner = expressions.value(it, frame, target.value)
            attributes.delete(it, frame, owner, target.attr)
        elif isinstance(target, ast.Subscript):
            owner = expressions.value(it, frame, target.value)
            key = expressions.value(it, frame, target.slice)
            items.delete(it, frame, owner, key)
        else:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "deletes in a way that is not followed")


def _if(it: Interpreter, frame: Frame, node: ast.If) -> None:
    truths = expressions.condition(it, frame, node.test)
    if frame.env is None:
        return
    before = frame.env
    after = None
    if True in truths:
        frame.env = dict(before)
        guard = items.guard_of(node.test, node.body)
        frame.guards += guard
        run_block(it, frame, node.body)
        del frame.guards[len(frame.guards) - len(guard) :]
        after = frame.env
    if False in truths:
        frame.env = dict(before)
        run_block(it, frame, node.orelse)
        after = join(after, frame.env)
    frame.env = after


class _Loop:
    def __init__(self) -> None:
        self.left: dict[str, Any] | None = None
        self.again: dict[str, Any] | None = None


def _repeat(
    it: Interpreter, frame: Frame, start: Any, body: list[ast.stmt]
) -> tuple[Any, Any, _Loop]:
    """Reads the body until nothing new comes of it. `start` is what happens before each round.
    Returns what holds before a round, and what holds after `start`."""
    head = frame.env
    loop = _Loop()
    frame.loops.append(loop)
    for round_ in range(_MOST_ROUNDS):
        version = it.version
        frame.env = dict(head) if head is not None else None
        start()
        out = frame.env and dict(frame.env)
        run_block(it, frame, body)
        again = join(join(head, frame.env), loop.again)
        if again is not None and round_ > 1:
            again = {n: v if n == FACTS else it.widen(v) for n, v in again.items()}
        if again == head and it.version == version:
            break
        head = again
    else:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "has a loop that is too odd to be followed")
    frame.loops.pop()
    return head, out, loop


def _for(it: Interpreter, frame: Frame, node: ast.For) -> None:
    over = expressions.value(it, frame, node.iter)

    def start() -> None:
        assign(it, frame, node.target, contents.iterate(it, frame, over))

    each = _one_by_one(over)
    if each is not None:
        _unroll(it, frame, node, each)
        return
    head, _, loop = _repeat(it, frame, start, node.body)
    frame.env = head
    _after_loop(it, frame, node.orelse, loop)


def _one_by_one(over: Value) -> list[Value] | None:
    """What a loop over a short sequence that lasts, or a tuple that is made, binds in turn."""
    if len(over) != 1:
        return None
    (part,) = over
    if type(part) is Made and part.elements is not None and len(part.elements) <= _SHORT:
        return list(part.elements)
    if type(part) is Lasting and part.cls in (list, tuple) and len(part.objects) == 1:
        if len(part.objects[0]) <= _SHORT:
            things = enumerate(part.objects[0])
            return [values_of([thing], None, f"{part.path}[{n}]") for n, thing in things]
    return None


def _unroll(it: Interpreter, frame: Frame, node: ast.For, each: list[Value]) -> None:
    loop = _Loop()
    frame.loops.append(loop)
    for value in each:
        if frame.env is None:
            break
        assign(it, frame, node.target, value)
        run_block(it, frame, node.body)
        frame.env, loop.again = join(frame.env, loop.again), None
    frame.loops.pop()
    _after_loop(it, frame, node.orelse, loop)


def _while(it: Interpreter, frame: Frame, node: ast.While) -> None:
    truths: set[bool] = set()

    def start() -> None:
        truths.clear()
        truths.update(expressions.condition(it, frame, node.test))

    _, out, loop = _repeat(it, frame, start, node.body)
    frame.env = out if False in truths else None
    _after_loop(it, frame, node.orelse, loop)


def _after_loop(it: Interpreter, frame: Frame, orelse: list[ast.stmt], loop: _Loop) -> None:
    if orelse and frame.env is not None:
        run_block(it, frame, orelse)
    frame.env = join(frame.env, loop.left)


def _break(it: Interpreter, frame: Frame, node: ast.Break) -> None:
    frame.loops[-1].left = join(frame.loops[-1].left, frame.env)
    frame.env = None


def _continue(it: Interpreter, frame: Frame, node: ast.Continue) -> None:
    frame.loops[-1].again = join(frame.loops[-1].again, frame.env)
    frame.env = None


def _raise(it: Interpreter, frame: Frame, node: ast.Raise) -> None:
    if node.exc is not None:
        raised = expressions.value(it, frame, node.exc)
        for part in raised:
            if type(part) is Lasting and isinstance(part.objects[0], type):
                it.rules.apply(it, frame, one(part), Arguments())
    frame.env = None


def _assert(it: Interpreter, frame: Frame, node: ast.Assert) -> None:
    truths = expressions.condition(it, frame, node.test)
    if node.msg is not None and False in truths:
        expressions.value(it, frame, node.msg)


def _try(it: Interpreter, frame: Frame, node: ast.Try) -> None:
    start = dict(frame.env or {})
    reached = dict(start)
    frame.tries.append(reached)
    it.trying += 1
    run_block(it, frame, node.body)
    it.trying -= 1
    frame.tries.pop()
    after = frame.env
    if node.orelse and after is not None:
        frame.env = after
        run_block(it, frame, node.orelse)
        after = frame.env
    for handler in node.handlers:
        frame.env = dict(reached)
        if handler.type is not None:
            expressions.value(it, frame, handler.type)
        if handler.name:
            frame.bind(handler.name, FRESH)
        run_block(it, frame, handler.body)
        after = join(after, frame.env)
    if node.finalbody:
        frame.env = join(after, reached)
        run_block(it, frame, node.finalbody)
        after = frame.env if after is not None else None
    frame.env = after


def _with(it: Interpreter, frame: Frame, node: ast.With) -> None:
    managers = []
    for item in node.items:
        manager = expressions.value(it, frame, item.context_expr)
        entered = enter(it, frame, manager)
        if item.optional_vars is not None:
            assign(it, frame, item.optional_vars, entered)
        managers.append(manager)
    reached = dict(frame.env or {})
    frame.tries.append(reached)
    run_block(it, frame, node.body)
    frame.tries.pop()
    after = frame.env
    for manager in reversed(managers):
        frame.env = join(after, reached)
        if leave(it, frame, manager):  # it may have swallowed an exception
            after = frame.env
    frame.env = after


def _function(it: Interpreter, frame: Frame, node: ast.FunctionDef) -> None:
    made = expressions.closure(it, frame, node)
    value = one(made)
    for decorator in reversed(node.decorator_list):
        applied = expressions.value(it, frame, decorator)
        value = it.rules.apply(it, frame, applied, Arguments([value]))
    if frame.bind(node.name, value):
        it.version += 1


def _import(it: Interpreter, frame: Frame, node: ast.Import) -> None:
    for alias in node.names:
        module = _module(alias.name)
        name = alias.asname or alias.name.partition(".")[0]
        found = module if alias.asname else _module(alias.name.partition(".")[0])
        frame.bind(name, values_of([found], None, name))


def _import_from(it: Interpreter, frame: Frame, node: ast.ImportFrom) -> None:
    name = node.module or ""
    if node.level:
        package = frame.globals.get("__package__") or ""
        base = package.split(".")[: len(package.split(".")) - node.level + 1]
        name = ".".join([*base, *([name] if name else [])])
    module = _module(name)
    for alias in node.names:
        if alias.name == "*":
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "imports *")
        found = vars(module).get(alias.name, sys.modules.get(f"{name}.{alias.name}"))
        if found is None and alias.name not in vars(module):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"imports {name}.{alias.name}, not loaded so far")
        frame.bind(alias.asname or alias.name, values_of([found], None, alias.name))


def _module(name: str) -> Any:
    module = sys.modules.get(name)
    if module is None:
        raise Doubt(
            Code.UNKNOWN_CONSTRUCT,
            f"imports {name}, which is not loaded so far",
            "import it at the head of the file",
        )
    return module


_KINDS = {
    ast.Pass: _pass, ast.Expr: _expression, ast.Return: _return, ast.Assign: _assign,
    ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Delete: _delete, ast.If: _if,
    ast.For: _for, ast.While: _while, ast.Break: _break, ast.Continue: _continue,
    ast.Raise: _raise, ast.Assert: _assert, ast.Try: _try, ast.With: _with,
    ast.FunctionDef: _function, ast.Import: _import, ast.ImportFrom: _import_from,
    ast.Match: _match, ast.Global: _pass, ast.Nonlocal: _pass,
}  # fmt: skip
