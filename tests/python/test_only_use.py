"""What stands for a picture that nobody has decoded is given out only where no code can see it."""

import os
import random

import torch
import torchvision
from support.deferred_tensors import Deferred, as_bits, checked, enable
from support.own_process import in_own_process
from support.photos import encode_photo
from support.picture_programs import RGB, Pictures, Seen, names_of_caller
from torchvision.io import ImageReadMode, decode_image, read_image

SEED = 20261125
ask = dict


# Where it is shown that the picture only goes to the transform.


class Shown(Pictures):
    def nested(self, i):
        return self.transform(decode_image(self.data[i], RGB)), self.labels[i]

    def by_path(self, i):
        return self.transform(decode_image(self.paths[i], RGB))

    def by_joined_path(self, i):
        return self.transform(read_image(os.path.join(self.root, f"{i}.jpg"), RGB)), self.labels[i]

    def by_computed_path(self, i):
        image = read_image(str(self.paths[i].parent / f"{self.labels[i]}.jpg"), RGB)
        return self.transform(image), self.labels[i]

    def by_module(self, i):
        data = self.data[i]
        return self.transform(torchvision.io.decode_image(data, mode=ImageReadMode.RGB))

    def with_condition(self, i):
        data, label = self.files[i]
        image = decode_image(data, RGB)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label

    def with_truth(self, i):
        image = decode_image(self.data[i], RGB)
        label = self.labels[i]
        if self.transform:
            image = self.transform(image)
        return {"image": image, "label": int(label)}

    def with_target_first(self, i):
        self.transform = self.first
        image = decode_image(self.data[i], RGB)
        label = self.labels[i]
        if self.target_transform is not None:
            label = self.target_transform(label)
        return self.transform(image), label

    def with_new_objects(self, i):
        self.last = object()
        image = decode_image(self.data[i], RGB)
        if self.last is not None:
            image = self.transform(image)
        return image

    def each(self, i):
        made = []
        for data in self.data[i:]:
            image = decode_image(data, RGB)
            image = self.transform(image)
            made.append(image)
        return made

    def kept_until_the_end(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, str(self)[:1]

    def names_are_kept_elsewhere(self, i):
        names = names_of_caller()
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, names["i"]

    def what_names_hold_is_kept_elsewhere(self, i):
        names_of_caller()["mine"] = i
        made = self.transform(decode_image(self.data[i], RGB))
        return made, names_of_caller()["mine"]

    def asks(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, sorted(ask())

    def asks_itself(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, sorted(self.ask())

    def one_of_two_ways(self, i):
        first, second = self.transform, self.small
        image = decode_image(self.data[i], RGB)
        if self.target_transform is None:
            return first(image)
        return second(image)


def pictures(kind):
    rng = random.Random(SEED)
    sides = [(rng.randint(30, 60), rng.randint(30, 60)) for _ in range(4)]
    return kind([encode_photo(*size, rng.randrange(10**6)) for size in sides])


def both_ways(maker, data, name, i):
    """What the method makes with deferring, and without."""
    results = []
    for on in (True, False):
        maker.on = on
        torch.manual_seed(SEED + i)
        results.append(as_bits(getattr(data, name)(i)))
    maker.on = True
    return results


def names_of(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


def prepared():
    maker = enable()
    checked(maker)
    warm = pictures(Shown)
    for i in range(4):
        warm.nested(i)
    return maker, Deferred()


@in_own_process
def test_programs_that_only_hand_it_on_pay_for_less():
    maker, count = prepared()
    for name in names_of(Shown):
        data = pictures(Shown)
        for i in range(4):
            mine, theirs = both_ways(maker, data, name, i)
            assert mine == theirs, (SEED, name, i)
        made, settled = count.take()
        assert made >= 4 and settled <= 2, (name, made, settled)


@in_own_process
def test_programs_that_see_it_see_the_librarys_tensor():
    maker, count = prepared()
    for name in names_of(Seen):
        data = pictures(Seen)
        for i in range(4):
            mine, theirs = both_ways(maker, data, name, i)
            assert mine == theirs, (SEED, name, i)
        assert count.take() == (0, 0), name


CHANGES = {
    "another way": lambda d: setattr(d, "target_transform", lambda label: d.update() or label),
    "another object": lambda d: d.update(),
    "no object": lambda d: setattr(d, "transform", None),
    "a function": lambda d: setattr(d, "transform", lambda t: (type(t), t)),
    "a property": lambda d: setattr(
        type(d), "transform", property(lambda self: lambda t: (type(t), t))
    ),
    "getattribute": lambda d: setattr(
        type(d), "__getattribute__", lambda self, name: _other(self, name)
    ),
    "a hook": lambda d: d.transform.register_forward_pre_hook(lambda m, args: _note(args)),
    "another step": lambda d: d.transform.transforms.insert(0, lambda t: _note(t) or t),
    "its forward": lambda d: setattr(
        d.transform, "forward", lambda t: (type(t), torch.as_tensor(t))
    ),
    "another reader": lambda d: globals().__setitem__("decode_image", _reader),
}
seen = []
real_decode_image = decode_image


def _note(value):
    seen.append(type(value[0] if isinstance(value, tuple) else value))


def _other(self, name):
    found = object.__getattribute__(self, name)
    return (lambda t: (type(t), t)) if name == "transform" else found


def _reader(data, mode):
    return [real_decode_image(data, mode)][0][:, 1:]


@in_own_process
def test_a_change_after_it_was_shown_is_seen():
    for name, change in CHANGES.items():
        maker, count = _prepared.setdefault("once", None) or _prepare()
        data = pictures(type("Changed", (Shown,), {}))
        method = "with_target_first" if name == "another way" else "with_condition"
        for i in range(4):
            getattr(data, method)(i)
        assert count.take()[0] == 4, name
        change(data)
        for i in range(4):
            mine, theirs = both_ways(maker, data, method, i)
            assert mine == theirs, (SEED, name, i)
        assert count.take() == (0, 0) and set(seen) <= {torch.Tensor}, name
        globals()["decode_image"] = real_decode_image


_prepared = {}


def _prepare():
    _prepared["once"] = prepared()
    return _prepared["once"]


@in_own_process
def test_nothing_is_shown_while_a_trace_function_may_look():
    import sys

    _, count = prepared()
    data = pictures(Shown)
    sys.setprofile(lambda frame, event, arg: None)
    try:
        data.nested(0)
    finally:
        sys.setprofile(None)
    assert count.take() == (0, 0)
    data.nested(0)
    assert count.take()[0] == 1


@in_own_process
def test_a_look_keeps_no_value_of_the_function():
    """A frame that was asked for its variables would keep them until the function returns."""
    import weakref

    _, count = prepared()

    class Thing:
        pass

    def sample(transform, data):
        thing = Thing()
        gone = weakref.ref(thing)
        made = transform(decode_image(data, RGB))
        thing = None
        return made, gone() is None

    class Things(Shown):
        def sample(self, i):
            self.last = Thing()
            image = decode_image(self.data[i], RGB)
            if self.last is not None:
                image = self.transform(image)
            return weakref.ref(self.last)

    things = pictures(Things)
    seen = [things.sample(i % 4) for i in range(40)]
    assert count.take()[0] == 40 and [thing() is None for thing in seen] == [True] * 39 + [False]
    shown = pictures(Shown)
    assert all(sample(shown.transform, data)[1] for data in shown.data)
    assert count.take()[0] == 4


@in_own_process
def test_a_name_that_comes_to_hold_locals_is_seen():
    _, count = prepared()
    data = pictures(Shown)
    methods = {
        "asks": lambda: globals().__setitem__("ask", locals),
        "asks_itself": lambda: setattr(data, "ask", locals),
    }
    for name, change in methods.items():
        getattr(data, name)(0)
        assert count.take()[0] == 1, name
        change()
        assert getattr(data, name)(0)[1] == ["i", "image", "made", "self"]
        assert count.take() == (0, 0), name
