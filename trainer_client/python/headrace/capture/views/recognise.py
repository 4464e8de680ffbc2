"""From a transform of the program's own to Views, or to the reason why not.

The code of `__call__`, `forward` or the function is followed as Python would run it, on its live
objects, with the picture as the one thing that is not known. Nothing of it is run. Transforms of
torchvision's are noted, in order. Whatever else could do more than compute with what is known ends
the following: what is found is therefore what the code does, for every picture.
"""

from dataclasses import replace
from typing import Any

from ...native.kinds import kind_of
from ...native.plan import NotNative
from .calls import call
from .follower import Follower, Step
from .numbers import check_used
from .stacked import Stacked, check_returned
from .values import Held, Image, Stop, is_constant, name, replaced_builtin
from .views import SOURCE, Applied, Known, Stack, Structure, Together, Views

REMEDY = (
    "code that only applies torchvision's transforms to the picture: docs/reference/own-transforms.md "
    "says what of it is followed"
)
# They make a tensor of a picture. A tensor they leave as it is, or refuse.
_MAKE_TENSORS = ("ToTensor", "PILToTensor", "ToImage", "MaybeToTensor", "MaybePILToTensor")


def views_of(transform: Any) -> Views:
    """What `transform(picture)` computes and returns. Raises NotNative with the name of the
    transform, and the place in its code."""
    f = Follower(call)
    try:
        if replaced := replaced_builtin():
            raise Stop(f"may use builtins.{replaced}, which the program has replaced")
        found = call(f, Held(transform), [Image(SOURCE)], {}, name(Held(transform)))
        values, result = shaped(f, found)
    except Stop as stop:
        culprit = stop.culprit or name(Held(transform))
        why = f"it {stop.text}" if stop.bare is None else stop.bare
        why = f"{stop.place} {stop.text}" if stop.place else why
        reason = f"{culprit} has no native form" + (f": {why}" if why else "")
        raise NotNative(reason, stop.remedy or REMEDY) from None
    except (NotNative, AssertionError):
        raise
    except Exception as error:  # objects may do anything when they are looked at
        text = f"it is not understood ({type(error).__name__}: {error})"
        raise NotNative(f"{name(Held(transform))} has no native form: {text}") from None
    f.seen.close()
    return Views(values, result, f.seen)


def shaped(f: Follower, found: Any) -> tuple[tuple[Applied, ...], Structure]:
    """What was computed, and what of it is in `found`. Raises Stop."""
    steps = f.steps
    returned: list[int] = []
    stacks: list[Stacked] = []
    _returned(f, found, returned, stacks)
    if not returned:
        raise Stop("returns no picture")
    check_returned(f, stacks)
    _check_draws(f)
    inside = [number for stack in f.stacks for number in stack.parts]
    uses = [0] * len(steps)
    for number in [*returned, *inside, *(step.of for step in steps)]:
        if number > SOURCE:
            uses[number] += 1
    _check_values_stay(f, uses)
    for number in [*returned, *inside]:
        way = _way_to(steps, number)
        if not f.is_tensor(steps[way[0]].of) and not any(_makes_tensors(steps[at]) for at in way):
            raise Stop(
                "returns a PIL image, not a tensor",
                "end each view with a transform that makes tensors, ToTensor or PILToTensor",
            )
    values: list[Applied] = []
    value_of: dict[int, int] = {}  # by step
    for number, step in enumerate(steps):
        if number in f.superseded and not uses[number]:
            continue
        if step.of > SOURCE and step.of == number - 1 and uses[step.of] == 1:
            before = values.pop()
            values.append(replace(before, transforms=(*before.transforms, step.transform)))
        else:
            of = value_of.get(step.of, step.of)  # below 0: a picture itself
            values.append(Applied((step.transform,), of, step.where))
        value_of[number] = len(values) - 1
    return tuple(values), _structure(f, found, value_of)


def _check_draws(f: Follower) -> None:
    check_used(f)
    if any(type(step.transform) is Together and not step.transform.nodes for step in f.steps):
        raise Stop("draws by get_params for a picture that it does not crop there")


def _returned(f: Follower, found: Any, numbers: list[int], stacks: list[Stacked]) -> None:
    """The steps whose pictures are in what is returned, and the stacks."""
    f.spend()
    found = f.returned(found)
    if type(found) is Image:
        if found.step <= SOURCE:
            kind = "as it was read" if f.is_tensor(found.step) else "a PIL image"
            raise Stop(f"returns the picture itself, {kind}")
        numbers.append(found.step)
    elif type(found) is Stacked:
        numbers.extend(found.parts)
        stacks.append(found)
    elif f.is_leaf(found):
        pass
    elif type(found) in (list, tuple, dict):
        if type(found) is dict and any(type(key) not in (str, int) for key in found):
            raise Stop("returns a dict whose keys are neither texts nor integers")
        for part in found.values() if type(found) is dict else found:
            _returned(f, part, numbers, stacks)
    elif is_constant(found):
        raise Stop(f"returns {found!r}, which is no picture")
    else:
        raise Stop(f"returns {name(found)}")


def _structure(f: Follower, found: Any, value_of: dict[int, int]) -> Structure:
    found = f.returned(found)
    if type(found) is Image:
        return value_of[found.step]
    if type(found) is Stacked:
        return Stack(tuple(value_of[step] for step in found.parts))
    if (other := f.leaf(found)) is not None:
        return other
    if type(found) is dict:
        return {key: _structure(f, part, value_of) for key, part in found.items()}
    parts = [_structure(f, part, value_of) for part in found]
    return tuple(parts) if type(found) is tuple else parts


def _way_to(steps: list[Step], number: int) -> list[int]:
    """The steps from the picture to this one."""
    way = []
    while number > SOURCE:
        way.append(number)
        number = steps[number].of
    return way[::-1]


def _makes_tensors(step: Step) -> bool:
    done = step.transform
    if type(done) is Known:
        return done.makes_tensors
    if type(done) is Together:
        done = done.transform
    return type(done).__name__ in _MAKE_TENSORS


def changes_its_input(part: Any) -> bool:
    """A transform with inplace=True, or one that holds such, as RandomApply may."""
    if type(part) is Together:
        return changes_its_input(part.transform)
    if type(part) in (list, tuple):
        return any(map(changes_its_input, part))
    if kind_of(part) == "timm.RandomErasing":
        return True
    if not type(part).__module__.startswith(("torchvision.", "torch.nn.")):
        return False  # a part of the program's own, which has no native form there
    held = vars(part)
    inner = [held.get("transforms"), *(held.get("_modules") or {}).values()]
    return bool(held.get("inplace")) or any(map(changes_its_input, inner))


def _check_values_stay(f: Follower, uses: list[int]) -> None:
    """Some transforms change the tensor that they get, and others may hand on the one they got. So
    nobody else may have it, back to where the tensor was made of a picture, or was read."""
    steps = f.steps
    of_pictures = [step.of for step in steps if step.of <= SOURCE]
    for step in steps:
        if not changes_its_input(step.transform):
            continue
        way = _way_to(steps, step.of)
        made = [_makes_tensors(steps[at]) for at in way]
        shared = way[made.index(True) :] if True in made else []
        picture = steps[way[0]].of if way else step.of
        if f.is_tensor(picture):
            shared = way
        read_twice = f.is_tensor(picture) and of_pictures.count(picture) > 1
        if read_twice or any(uses[at] > 1 for at in shared):
            raise Stop(
                f"applies {type(step.transform).__name__} with inplace=True to a tensor that it "
                "uses elsewhere as well",
                "inplace=False",
            )
