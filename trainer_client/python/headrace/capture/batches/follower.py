"""One following of a collate_fn."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..views.calls import call
from ..views.containers import entries
from ..views.expressions import assign, truth, value
from ..views.follower import Follower, Frame
from ..views.statements import block, is_continue
from ..views.values import Stop
from . import numbers, tensors
from .library import rule_of, unzipped
from .values import Each, Grown, Part, Scope, Spent


class BatchFollower(Follower):
    """`labels`: the fields that are Python's integers; `columns`: those that are rows of the data
    set's own tensors; `ranks`: the number of dimensions of the others; `beside`: those that the
    trainer makes, of which nothing is known."""

    def __init__(
        self,
        labels: list[int],
        columns: list[int],
        ranks: dict[int, int],
        beside: Sequence[int] = (),
    ) -> None:
        super().__init__(call)
        self.beside = frozenset(beside)
        self.shared: frozenset[int] = (
            frozenset()
        )  # those of them that may be the data set's tensors
        self.labels, self.columns = frozenset(labels), frozenset(columns)
        self.ranks = ranks
        self.first = Scope()  # of what belongs to the first sample, at all times
        self.turns: list[Scope] = []  # the loops that are followed
        self.folded: list[Callable[[], None]] = []  # what is known at the end of a loop
        self.functions = 0  # and what is called, or made by a comprehension, for each sample

    # What views/ asks.

    stars = True

    def known(self, callee: Any) -> Callable[..., Any] | None:
        return rule_of(callee)

    def starred(self, callee: Any, value: Any, named: dict[str, Any]) -> Any:
        if isinstance(value, Each):
            return unzipped(self, callee, value, named)
        return self.call(self, callee, list(entries(self, value)), named, "")

    def new_list(self) -> Any:
        return Grown()

    def combine(self, kind: type, left: Any, right: Any) -> Any:
        return numbers.combine(kind, left, right)

    def set_item(self, owner: list[Any], key: Any, value: Any) -> None:
        if self.turns:
            numbers.fold(self, owner, key, value)
            return
        self.changes(owner)
        if type(key) is not int or not -len(owner) <= key < len(owner):
            raise Stop("sets an entry of a list that it does not have")
        owner[key] = value

    def of_tensor(self, part: Part, of: str) -> Any:
        """An attribute of a sample's tensor; None: it is not followed."""
        return tensors.attribute(self, part, of) if self.is_tensor_of_sample(part) else None

    def changes(self, owner: Any) -> None:
        if self.turns or self.functions:
            raise Stop("changes a container in a loop over the samples")

    # Turns over the samples. What one does must be what each does, so nothing that a turn leaves is
    # seen by another.

    def comprehension(
        self, each: Each, frame: Frame, node: Any, make: Callable[[Frame], Any]
    ) -> Each:
        if len(node.generators) > 1 or node.generators[0].is_async:
            raise Stop("has a comprehension with several loops over the samples")
        (generator,) = node.generators
        of, scope = each.once(self)
        inner = frame.inside(node)
        self.functions += 1
        assign(self, inner, generator.target, of)
        for test in generator.ifs:
            self.keeps(truth(self, value(self, inner, test)))
        made = make(inner)
        self.functions -= 1
        return Each(list, made, scope)

    def function(self, function: Any, of: Any) -> Any:
        """function(of), for each sample."""
        self.functions += 1
        made = self.call(self, function, [of], {}, "")
        self.functions -= 1
        return made

    def keeps(self, kept: bool) -> None:
        if not kept:
            raise Stop("leaves samples out")

    def loop(self, each: Each, frame: Frame, node: ast.For, turn: type[Scope] = Scope) -> None:
        of, scope = each.once(self, turn)
        names = set(filter(frame.binds, _names_set_by(node)))
        for name in names:
            frame.names[name] = Spent()
        self.turns.append(scope)
        assign(self, frame, node.target, of)
        left = block(self, frame, node.body)
        if left is not None and not is_continue(left):
            raise Stop("leaves a loop over the samples")
        self.turns.pop()
        for name in names:
            frame.names[name] = Spent()
        folded, self.folded = self.folded, []
        for done in folded:
            done()

    def is_number(self, part: Any) -> bool:
        """Whether it is a Python integer of a sample."""
        return isinstance(part, Part) and part.structure in self.labels

    def is_tensor_of_sample(self, part: Any) -> bool:
        if not isinstance(part, Part) or type(part.structure) is not int:
            return False
        return part.structure not in self.labels | self.beside


def _names_set_by(node: ast.For) -> set[str]:
    """In the target and the body, by comprehensions too."""
    return {
        one.id if isinstance(one, ast.Name) else one.name
        for one in ast.walk(node)
        if (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        or isinstance(one, ast.FunctionDef)
    }
