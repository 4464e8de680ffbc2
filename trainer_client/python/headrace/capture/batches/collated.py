"""From a collate_fn of the program's own to a BatchForm, or to the reason why not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import torch

from ...native import padding
from ...native.batch_form import Each as EachForm
from ...native.batch_form import Form
from ...native.batch_form import Stacked as StackedForm
from ...native.collate import name_of
from ...native.plan import NotNative
from ...native.structure import Structure, fields_of
from ...records import dataclass
from ..views.calls import call
from ..views.grounds import Grounds
from ..views.values import Held, Stop, is_constant, name, replaced_builtin
from .filled import Made
from .follower import BatchFollower
from .values import ITERATOR, Each, Joined, Part, Scope

REMEDY = (
    "leave collate_fn out where torch's default_collate gives the same batch; "
    "docs/reference/collate.md says which code is followed"
)


@dataclass(frozen=True)
class Collated:
    """form: of the batch. lists: the tensors of samples that it does not stack, by field. copied: those
    of them that are not in it, but copied to a tensor that is."""

    form: Form
    lists: frozenset[int]
    copied: frozenset[int]
    seen: Grounds


def form_of(
    collate_fn: Any,
    structure: Structure,
    labels: list[int],
    columns: list[int],
    ranks: dict[int, int] | None = None,
    beside: Sequence[int] = (),
    shared: Sequence[int] = (),
) -> Collated:
    """What `collate_fn(samples)` makes of samples of this structure. `labels`: the fields that are
    Python's integers; `columns`: those that are rows of tensors of the data set; `ranks`: the numbers
    of dimensions of the others, where they are known; `beside`: those that the trainer makes, and
    `shared` those of them that may be tensors of the data set. Raises NotNative."""
    f = BatchFollower(labels, columns, ranks or {}, beside)
    f.shared = frozenset(shared)
    try:
        if replaced := replaced_builtin():
            raise Stop(f"may use builtins.{replaced}, which the program has replaced")
        if torch.get_default_device().type != "cpu":
            raise Stop(f"makes tensors on {torch.get_default_device()}, torch's default device")
        scope = Scope()
        found = call(f, Held(collate_fn), [Each(list, Part(structure, scope), scope)], {}, "")
        used: Counter[int] = Counter()
        lists: set[int] = set()
        met = _Met()
        form = _form(f, found, used, lists, met)
        _check(f, used, met)
    except Stop as stop:
        why = f"{stop.place} {stop.text}" if stop.place else f"it {stop.text}"
        raise NotNative(_refused(collate_fn, why), stop.remedy or REMEDY) from None
    except (NotNative, AssertionError):
        raise
    except Exception as error:  # objects may do anything when they are looked at
        why = f"it is not understood ({type(error).__name__}: {error})"
        raise NotNative(_refused(collate_fn, why), REMEDY) from None
    f.seen.close()
    # What the batch leaves out is made as well: its errors and draws are the program's.
    seen = {*used, *met.padded, *labels, *columns, *beside}
    unused = {one for one in fields_of(structure) if one not in seen}
    copied = met.padded - f.columns - lists
    return Collated(form, frozenset(lists | unused | copied), frozenset(copied), f.seen)


def _refused(collate_fn: Any, why: str) -> str:
    return f"collate_fn={name_of(collate_fn)} is Python code: {why}"


@dataclass
class _Met:
    """What was met so far in the batch. things: by identity. stacked: fields that are a tensor.
    held: those in a list or dict that the code makes for each sample. padded: those that are copied to a
    tensor, or whose lengths are in one."""

    things: set[int] = field(default_factory=set)
    padded: set[int] = field(default_factory=set)
    stacked: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)

    def once(self, found: Any) -> None:
        if id(found) in self.things:
            raise Stop(f"returns {name(found)} twice")
        self.things.add(id(found))


def _form(f: BatchFollower, found: Any, used: "Counter[int]", lists: set[int], seen: _Met) -> Form:
    f.spend()
    if isinstance(found, Each | Joined | Made) or type(found) in (list, dict):
        seen.once(found)
    if type(found) is Made:
        seen.padded |= padding.fields_of(found.form)
        return found.form
    if type(found) is Joined and isinstance(found.form, padding.Form):
        seen.padded |= padding.fields_of(found.form)
        return found.form
    if type(found) is Joined:
        made = found.form
        if type(made) is StackedForm and made.field in seen.stacked:
            raise Stop("returns the same tensors twice")
        if type(made) is StackedForm:
            seen.stacked.add(made.field)
        used[made.field] += 1
        return made  # type: ignore[no-any-return]
    if isinstance(found, Each):
        return _each(f, found, used, lists, seen.held)
    if type(found) is dict:
        if any(type(key) not in (str, int) for key in found):
            raise Stop("returns a dict whose keys are neither texts nor integers")
        return {key: _form(f, part, used, lists, seen) for key, part in found.items()}
    if type(found) in (list, tuple):
        parts = [_form(f, part, used, lists, seen) for part in found]
        return tuple(parts) if type(found) is tuple else parts
    raise Stop(f"returns {name(found)}")


def _each(
    f: BatchFollower, each: Each, used: "Counter[int]", lists: set[int], held: set[int]
) -> EachForm:
    if each.kind is ITERATOR:
        raise Stop("returns an iterator")
    of, scope = each.once(f)
    inside: Counter[int] = Counter()
    structure = _structure(of, scope, inside)
    # Two places may hold one list of the code's, which is not known any more.
    if any(times > 1 or one in held for one, times in inside.items()):
        raise Stop("returns a sample's number twice in lists or dicts of its own")
    held.update(inside)
    fields = fields_of(structure)
    if not fields:
        raise Stop("returns a list of nothing")
    used.update(fields)
    for one in fields:
        if one in f.columns | f.shared:
            raise Stop("returns rows of the data set's tensors, which share their memory")
    lists.update(one for one in fields if one not in f.labels | f.beside)
    return EachForm(each.kind, structure)


def _structure(of: Any, scope: Scope, inside: "Counter[int]", mutable: bool = False) -> Structure:
    """`inside`: gets the fields in lists and dicts, of which `mutable` is one around it."""
    if isinstance(of, Part):
        if of.scope is not scope:
            raise Stop("uses a sample outside of its turn")
        if mutable:
            inside.update(fields_of(of.structure))
        return of.structure
    if type(of) in (list, dict) and not of:
        raise Stop("returns something empty for each sample")
    if type(of) is dict and all(type(key) in (str, int) for key in of):
        return {key: _structure(part, scope, inside, True) for key, part in of.items()}
    if type(of) in (list, tuple):
        inner = mutable or type(of) is list
        parts = [_structure(part, scope, inside, inner) for part in of]
        return tuple(parts) if type(of) is tuple else parts
    what = repr(of) if is_constant(of) else name(of)
    raise Stop(f"returns {what} for each sample")


def _check(f: BatchFollower, used: "Counter[int]", met: _Met) -> None:
    """A tensor of the batch that comes twice shares its memory with itself."""
    twice = [one for one, times in used.items() if times > 1 and one not in f.labels | f.beside]
    if twice:
        raise Stop("returns the same tensors twice")
    if met.padded & met.stacked:
        raise Stop("stacks tensors that it pads as well")
    if not used and not met.padded:
        raise Stop("returns nothing of the samples")
