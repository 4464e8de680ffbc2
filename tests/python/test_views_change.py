"""What a recognition rests on: every change that could make the code do something else is seen."""

import enum
import functools
import gc
import time
import types

import pytest
import torch
from headrace.capture.views import views_of
from headrace.native.plan import NotNative
from support.view_programs import PROGRAMS, Counted
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

END = v1.ToTensor()
PAD = v1.Pad(1)


@pytest.fixture
def program():
    """A module with names of its own, whose text is a file's: this one's."""
    kept = dict(globals())
    yield globals()
    globals().clear()
    globals().update(kept)


def helper(t, x):
    return t(x)


def other_helper(t, x):
    return END(t(x))


class Part:
    end = END

    def __init__(self, inner):
        self.inner = inner
        self.names = {"a": PAD}

    def __call__(self, x):
        return self.last(self.inner(self.names["a"](x)))

    def last(self, x):
        return self.end(x)

    def another_last(self, x):
        return END(self.end(x))


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Whole(nn.Module):
    count = 2

    def __init__(self):
        super().__init__()
        self.part, self.flip = Part(PAD), v1.RandomHorizontalFlip(0.5)
        self.listed = nn.ModuleList([v1.Pad(2), v1.Pad(3)])
        self.several = [v1.Pad(4), Part(v1.Pad(5))]
        self.partial = functools.partial(helper, END)
        self.closure = closed(END)
        self.unread, self.large = 1, 3
        self.corners, self.ten = v1.FiveCrop(4), v1.TenCrop(4)
        self.nothing = None

    def forward(self, x):
        size = Size.SMALL  # noqa: F841 -- it is read
        views = [self.part(x), helper(END, x), self.partial(x), *self.closure(x)]
        views += [END(t(self.flip(x))) for t in self.listed]
        views += [self.several[1](self.several[0](x)) for _ in range(self.count)]
        views += [torch.stack([END(crop) for crop in self.corners(x)])]
        views += [v1.ToTensor()(crop) for crop in self.ten(x)]
        if self.large > 3 or self.nothing is not None:
            views.append(END(x))
        return views, self.defaults(x)

    def defaults(self, x, t=END, *, last=END):
        return t(PAD(x)), last(x)


def closed(t):
    kept = [t]

    def views(x):
        return [t(x) for t in kept] + [t(x)]

    return views


def cell(function, name):
    return function.__closure__[function.__code__.co_freevars.index(name)]


def setdefaults(name, value):
    return lambda whole: setattr(Whole.defaults, name, value)


def hide(whole):
    globals()["range"] = lambda n: [1]


CHANGES = {
    "a number": lambda w: setattr(w, "large", 4),
    "a setting that was None": lambda w: setattr(w, "nothing", 1),
    "an attribute that hides one of the class": lambda w: setattr(w, "count", 3),
    "an attribute of the class": lambda w: setattr(Whole, "count", 3),
    "a transform of the class": lambda w: setattr(Part, "end", v1.PILToTensor()),
    "an attribute of an inner object": lambda w: setattr(w.part, "inner", v1.Pad(7)),
    "an entry of a dict": lambda w: w.part.names.update(a=v1.Pad(7)),
    "a transform's number": lambda w: setattr(w.flip, "p", 0.6),
    "the size of five crops": lambda w: setattr(w.corners, "size", (3, 3)),
    "the axis of ten crops": lambda w: setattr(w.ten, "vertical_flip", True),
    "torch's stack": lambda w: globals().update(torch=types.SimpleNamespace(stack=helper)),
    "the module of what the code makes": lambda w: globals().update(v1=v2),
    "another transform": lambda w: setattr(w, "flip", v1.RandomHorizontalFlip(0.5)),
    "a transform that is altered": lambda w: setattr(w.flip, "forward", helper),
    "a module more": lambda w: w.listed.append(v1.Pad(3)),
    "a module exchanged": lambda w: w.listed.__setitem__(0, v1.Pad(3)),
    "a list's entry": lambda w: w.several.__setitem__(0, v1.Pad(3)),
    "a list longer": lambda w: w.several.append(v1.Pad(3)),
    "an object in a list": lambda w: setattr(w.several[1], "inner", v1.Pad(3)),
    "a hook": lambda w: w.register_forward_hook(print),
    "a hook before": lambda w: w.register_forward_pre_hook(print),
    "a transform's hook": lambda w: w.flip.register_forward_hook(print),
    "a compiled call": lambda w: setattr(w, "_compiled_call_impl", print),
    "torch's way to forward": lambda w: setattr(w, "_call_impl", helper),
    "torch's way to forward, of the class": lambda w: setattr(Whole, "_call_impl", helper),
    "its way while it is traced": lambda w: setattr(w, "_slow_forward", helper),
    "a forward of the object": lambda w: setattr(w, "forward", helper),
    "a call of the class": lambda w: setattr(Whole, "__call__", helper),
    "a method": lambda w: setattr(Part, "last", Part.another_last),
    "a method's code": lambda w: setattr(Part.last, "__code__", Part.another_last.__code__),
    "a property": lambda w: setattr(Part, "inner", property(lambda self: PAD)),
    "a __getattribute__ of another": lambda w: setattr(Part, "__getattribute__", lambda s, n: PAD),
    "the class": lambda w: setattr(w.part, "__class__", type("Other", (Part,), {})),
    "a global": lambda w: globals().update(PAD=v1.Pad(8)),
    "a global function": lambda w: globals().update(helper=other_helper),
    "a global function's code": lambda w: setattr(helper, "__code__", other_helper.__code__),
    "a builtin that is hidden": hide,
    "a cell": lambda w: setattr(cell(w.closure, "t"), "cell_contents", PAD),
    "a list in a cell": lambda w: cell(w.closure, "kept").cell_contents.append(END),
    "an emptied cell": lambda w: delattr(cell(w.closure, "t"), "cell_contents"),
    "a partial": lambda w: w.partial.__setstate__((other_helper, (END,), {}, {})),
    "a partial's arguments": lambda w: w.partial.__setstate__((helper, (PAD,), {}, {})),
    "a partial's names": lambda w: w.partial.keywords.update(x=1),
    "a default": setdefaults("__defaults__", (PAD,)),
    "no default": setdefaults("__defaults__", None),
    "a default by name": lambda w: Whole.defaults.__kwdefaults__.update(last=PAD),
    "what an enumeration holds for a member": lambda w: type.__setattr__(Size, "SMALL", Size.LARGE),
    "the members of an enumeration": lambda w: Size._member_map_.update(SMALL=Size.LARGE),
    "all its attributes": lambda w: setattr(w.part, "__dict__", {"inner": PAD, "names": {}}),
}


@pytest.fixture
def definitions():
    """What the cases change of this module's classes and functions is put back."""
    functions = [helper, Part.last, Whole.defaults]
    parts = [(f.__code__, f.__defaults__, dict(f.__kwdefaults__ or {})) for f in functions]
    classes = [(cls, dict(vars(cls))) for cls in (Part, Whole)]
    members, held = dict(Size._member_map_), dict(vars(Size))
    yield
    Size._member_map_.update(members)
    # By type's own functions: an enumeration refuses. Python 3.10 keeps members elsewhere.
    if "SMALL" in held:
        type.__setattr__(Size, "SMALL", held["SMALL"])
    elif "SMALL" in vars(Size):
        type.__delattr__(Size, "SMALL")
    for cls, then in classes:
        for name in set(vars(cls)) - set(then):
            delattr(cls, name)
        for name, value in then.items():
            if vars(cls)[name] is not value:
                setattr(cls, name, value)
    for function, (code, defaults, named) in zip(functions, parts, strict=True):
        function.__code__, function.__defaults__ = code, defaults
        function.__kwdefaults__ = named or None


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name, program, definitions):
    whole = Whole()
    seen = views_of(whole).seen
    assert seen.same() and seen.same()
    CHANGES[name](whole)
    assert not seen.same()


def test_what_is_not_read_may_change(program):
    whole = Whole()
    seen = views_of(whole).seen
    whole.unread, whole.new = 2, 3
    whole.large = int("3")
    program["unread"] = 1
    whole.__dict__["__call__"] = print  # Python calls what the class has
    assert seen.same()


def test_the_next_look_finds_the_change():
    program = Counted(END)
    assert views_of(program).result == [0, 1]
    program.n_views = 3
    assert views_of(program).result == [0, 1, 2]


def test_objects_are_kept_so_that_no_number_comes_again():
    made = Counted(v1.Compose([v1.Pad(1), END]))
    seen = views_of(made).seen
    made.base = None
    gc.collect()
    made.base = v1.Compose([v1.Pad(1), END])
    assert not seen.same()


def test_a_look_takes_microseconds():
    """Said for people; the bound is a hundred times of it, since machines are busy."""
    seen = views_of(PROGRAMS["DINO"]()).seen
    begin = time.process_time()
    for _ in range(100):
        assert seen.same()
    took = (time.process_time() - begin) / 100
    print(f"{took * 1e6:.0f} us a look")
    assert took < 0.05


OTHER_CODE = {
    "by position": {"co_posonlyargcount": 1},
    "by name": {"co_kwonlyargcount": 1, "co_argcount": 1},
    "flags": {"co_flags": other_helper.__code__.co_flags | 0x2000},
    "another name": {"co_names": ("PAD",)},
}


@pytest.mark.parametrize("name", OTHER_CODE)
def test_a_function_whose_code_is_not_that_of_its_text(name):
    made = types.FunctionType(other_helper.__code__.replace(**OTHER_CODE[name]), globals())
    with pytest.raises(NotNative, match="is not what its file says"):
        views_of(functools.partial(made, END))


def test_a_function_of_no_file_is_not_followed_by_its_name():
    same = types.FunctionType(other_helper.__code__, globals())
    same.__code__ = other_helper.__code__.replace(co_filename=helper.__code__.co_filename + "x")
    with pytest.raises(NotNative, match="is not what its file says"):
        views_of(functools.partial(same, END))
