"""Transforms as programs of self-supervised learning write them: several views of one picture.

PROGRAMS: by name, how each is made. Their parts are torchvision's own transforms.

This file is long because it is a list of small programs, each of which is read by itself.
"""

import functools

import torch
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

NORMALIZE = v1.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.2))
VIEWS_HERE = 2


def augment(size=8, p=0.5):
    steps = [v1.RandomCrop(size, pad_if_needed=True), v1.RandomHorizontalFlip(p), v1.ToTensor()]
    return v1.Compose([*steps, NORMALIZE])


class Counted:
    """SimCLR: one augmentation, a counted number of times."""

    def __init__(self, base, n_views=2):
        self.base, self.n_views = base, n_views

    def __call__(self, x):
        return [self.base(x) for _ in range(self.n_views)]


class QueryAndKey:
    """MoCo."""

    def __init__(self, base):
        self.base = base

    def __call__(self, x):
        q = self.base(x)
        k = self.base(x)
        return [q, k]


class FiveCrops:
    """Evaluation: the corners and the middle, a tensor each."""

    def __init__(self, crops, only=None):
        self.crops, self.only, self.end = crops, only, augment()

    def __call__(self, x):
        made = self.crops(x)
        if self.only is not None:
            return self.end(made[self.only])
        return tuple(self.end(crop) for crop in made)


LISTED = lambda crops: [NORMALIZE(crop) for crop in crops]  # noqa: E731


STACKED = lambda crops: torch.stack([TO_TENSOR(crop) for crop in crops])  # noqa: E731
NORMALIZED = lambda crops: torch.stack([NORMALIZE(crop) for crop in crops])  # noqa: E731
MADE_THERE = lambda crops: torch.stack([v1.ToTensor()(crop) for crop in crops])  # noqa: E731
MADE_WITH = lambda crops: torch.stack([v1.Normalize((0.5,), (0.2,))(c) for c in crops])  # noqa: E731
JOINED = lambda crops: torch.stack(crops)  # noqa: E731


class Stacks:
    """Views of one shape as one tensor; it is nested, and returned twice."""

    def __init__(self, crops):
        self.crops, self.end, self.whole = crops, augment(), v1.ToTensor()

    def __call__(self, x):
        whole = self.whole(x)
        crops = torch.stack(tuple(self.end(crop) for crop in self.crops(x)))
        others = torch.stack(tensors=[whole, self.whole(x), whole], dim=0)
        return {"crops": (crops, others), "whole": whole, "again": crops}


def stack_of_one(image):
    return torch.stack([TO_TENSOR(image)], 0)


class Twins:
    """Barlow Twins and VICReg: two augmentations."""

    def __init__(self):
        self.one, self.other = augment(8), augment(8, 0.1)

    def __call__(self, sample):
        first = self.one(sample)
        second = self.other(sample)
        return first, second


class MultiCrop:
    """DINO: two large crops, and small ones."""

    def __init__(self, local=4):
        self.first, self.second, self.small = augment(16), augment(16, 0.2), augment(4)
        self.local = local

    def __call__(self, image):
        crops = []
        crops.append(self.first(image))
        crops.append(self.second(image))
        for _i, _name in enumerate(range(self.local), 1):
            crops.append(self.small(image))
        return crops


class Mapped:
    """SwAV: a list of augmentations, mapped."""

    def __init__(self, counts=(2, 3)):
        trans = []
        for size, count in zip((16, 4), counts, strict=True):
            trans.extend([augment(size)] * count)
        self.trans = trans

    def __call__(self, sample):
        return list(map(lambda trans: trans(sample), self.trans))


class MappedPartials:
    def __init__(self):
        self.trans = [functools.partial(applied, augment(n)) for n in (4, 8)]

    def __call__(self, sample):
        return list(map(lambda i, trans: trans(picture=sample), [1, 2], self.trans))


def applied(trans, picture):
    return trans(picture)


class GivenAgain:
    """A partial's argument that the call gives in its place."""

    def __init__(self):
        self.view = functools.partial(applied_by_name, by=v1.Pad(1), end=TO_TENSOR)

    def __call__(self, image):
        return self.view(image), self.view(image, by=v1_pad_of_three)


def applied_by_name(image, *, by, end):
    return end(by(image))


class Each:
    """lightly: whatever it is given, once each."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image):
        return [transform(image) for transform in self.transforms]


class Named:
    def __init__(self):
        self.transforms = {"global": augment(16), "local": augment(4)}

    def __call__(self, image):
        out = {name: transform(image) for name, transform in self.transforms.items()}
        out["again"] = self.transforms["global"](image)
        return out


class Teacher(nn.Module):
    """BYOL as a module, with a branch by attributes."""

    def __init__(self, two=True, teacher=None):
        super().__init__()
        self.online = v2.Compose([v2.Resize(8), v2.ToImage()])
        self.target = augment()
        self.two, self.teacher = two, teacher

    def forward(self, x):
        """A student's and a teacher's view."""
        if not self.two:
            return self.online(x)
        other = self.target(x) if self.teacher is None else self.teacher(x)
        return {"student": self.online(x), "teacher": other}


class Shared:
    """One resized picture, two views of it; the other order out."""

    def __init__(self):
        self.resize, self.a, self.b = v1.Resize(16), augment(4), augment(8)
        self.unused = v1.Pad(1)

    def __call__(self, x):
        base = self.resize(x)
        late = self.b(base)
        self.a(x)
        return self.a(base), late, [late, (late,)]


class Staged:
    """Methods, defaults, an early return, a loop that is left."""

    limit = 2

    def __init__(self):
        self.steps = [v1.Pad(1), v1.Pad(2), v1.Pad(3), v1.Pad(4)]
        self.end = v1.ToTensor()

    def _prepare(self, image, /, first=0, *, last=None):
        for i, step in enumerate(self.steps[first:last]):
            if i == self.limit:
                break
            if i == 0 and first:
                continue
            image = step(image)
        else:
            return self.end(image)
        return image

    @staticmethod
    def finish(image, end):
        assert end is not None, "an end is needed"
        return end(image)

    def __call__(self, image):
        views: list = []
        views += [self._prepare(image, 3)]
        views += (self.finish(self._prepare(image, last=2 + 1), self.end),)
        a, (b, c) = views[0], (views[1], views[0])
        views.append(self.finish(self._prepare(image), end=self.end))
        return views + [a, *[b, c]][:2] + [c] * (self.limit - 1)


class Lazily:
    """Iterators: what they make is made when it is taken."""

    def __init__(self):
        self.trans = nn.ModuleList([v1.Pad(1), v1.Pad(2)])
        self.end = v1.ToTensor()

    def __call__(self, x):
        padded = (t(x) for t in self.trans)
        ended = map(self.end, padded)
        first = self.end(x)
        rest = []
        rest.extend(ended)
        pairs = tuple((a, self.end(b)) for a, b in zip(rest, [x, self.trans[0](x)], strict=False))
        return first, rest, pairs, {f"view{i}": v for i, v in enumerate(rest)}


def two_of(base, count=2):
    """A function with a closure."""

    def views(image, flip=NORMALIZE):
        whole = base(image)
        return {"views": [base(image) for _ in range(count)], "again": flip(whole), "whole": whole}

    return views


def module_level(image):
    return [TO_TENSOR(image) for _ in range(VIEWS_HERE)]


TO_TENSOR = v1.ToTensor()


class OfOthers:
    """Views of views: a callable of the program's in another one, and in a Compose."""

    def __init__(self):
        self.prepare = v1.Compose([v1.Pad(3), lambda image: PAD(PAD(image))])
        self.views = Counted(augment(4), 3)

    def __call__(self, x):
        x = self.prepare(x)
        local = self.views(x)
        return dict_of(local), local[0] if len(local) > 3 else local[-1]


PAD = v1.Pad(2)


def dict_of(views):
    made = dict()
    for i in range(0, len(views), 2):
        made[i] = views[i]
    return made


class OneView:
    """A recipe that is one chain of transforms."""

    def __init__(self, train=True, mode="rgb"):
        self.train, self.mode = train, mode
        self.crop, self.flip, self.end = v1.CenterCrop(8), v1.RandomHorizontalFlip(), augment()

    def __call__(self, img):
        img = self.crop(img)
        if self.train and self.mode == "rgb" or not self.train:
            img = self.flip(img)
        return self.end(img)


A_LAMBDA = lambda image: (TO_TENSOR(image), NORMALIZE(TO_TENSOR(image)))  # noqa: E731


def inner_functions(image):
    pad = PAD

    def view(n, base=pad, *, end=TO_TENSOR):
        for _ in range(n):
            image_here = base(image)
        return end(pad(image_here))

    pad = v1_pad_of_three
    makers = [lambda by, i=i: view(i, by) for i in range(1, 3)]
    return [make(PAD) for make in makers], view(1, end=NORMALIZE_ALL)


def shadows(image):
    """A comprehension's names are its own."""
    views = [TO_TENSOR(image) for image in [image, PAD(image)]]
    return views, TO_TENSOR(image), {n: TO_TENSOR(t(image)) for n, t in enumerate([PAD])}


def first_at_once(image):
    """What a generator goes through first is made with it, the rest when it is taken."""
    later = (TO_TENSOR(one) for one in [PAD(image)] for _ in [PAD(one)])
    first = TO_TENSOR(image)
    return first, list(later)


def asserts(image, n=2):
    assert n == 2, "pytest rewrites asserts of its own files, so this one is here"
    return TO_TENSOR(image)


v1_pad_of_three = v1.Pad(3)
NORMALIZE_ALL = v1.Compose([v1.ToTensor(), NORMALIZE])

PROGRAMS = {
    "SimCLR": lambda: Counted(augment(), 2),
    "SimCLR of five": lambda: Counted(augment(), 5),
    "MoCo": lambda: QueryAndKey(augment()),
    "Barlow Twins": Twins,
    "DINO": MultiCrop,
    "SwAV": Mapped,
    "SwAV by a partial": MappedPartials,
    "a partial's argument given again": GivenAgain,
    "lightly": lambda: Each([augment(), v1.ToTensor(), v2.ToImage()]),
    "lightly with a tuple": lambda: Each((augment(), Counted(augment()))),
    "named": Named,
    "BYOL": Teacher,
    "BYOL of one": lambda: Teacher(two=False),
    "BYOL with a teacher": lambda: Teacher(teacher=augment(4)),
    "shared": Shared,
    "staged": Staged,
    "lazily": Lazily,
    "a closure": lambda: two_of(augment(), 3),
    "a partial": lambda: functools.partial(applied, augment()),
    "a partial with a name": lambda: functools.partial(
        two_of(TO_TENSOR), flip=v1.RandomErasing(1.0)
    ),
    "a lambda": lambda: A_LAMBDA,
    "a Lambda": lambda: v1.Compose([v1.Pad(1), v1.Lambda(A_LAMBDA)]),
    "inner functions": lambda: inner_functions,
    "shadows": lambda: shadows,
    "first at once": lambda: first_at_once,
    "a bound method": lambda: MultiCrop(1).__call__,
    "globals": lambda: module_level,
    "of others": OfOthers,
    "in a Sequential": lambda: nn.Sequential(v1.Pad(1), nn.Identity(), Teacher()),
    "one view": OneView,
    "one view for evaluation": lambda: OneView(train=False),
    "torchvision's alone": augment,
    "five crops": lambda: FiveCrops(v1.FiveCrop((6, 9))),
    "five crops by v2": lambda: FiveCrops(v2.FiveCrop(7)),
    "five crops of tensors": lambda: v1.Compose([TO_TENSOR, v1.FiveCrop(7), v1.Lambda(LISTED)]),
    "FiveCrop's own program": lambda: v1.Compose([v1.FiveCrop((6, 9)), v1.Lambda(STACKED)]),
    "FiveCrop of tensors, joined": lambda: v1.Compose(
        [v2.ToImage(), v2.FiveCrop(7), v1.Lambda(JOINED)]
    ),
    "FiveCrop, normalised later": lambda: v1.Compose(
        [v1.Pad(1), v1.FiveCrop(6), v1.Lambda(STACKED), v1.Lambda(NORMALIZED)]
    ),
    "stacks": lambda: Stacks(v1.FiveCrop(7)),
    "TenCrop": lambda: FiveCrops(v1.TenCrop((6, 9))),
    "TenCrop's own program": lambda: v1.Compose([v1.TenCrop(7), v1.Lambda(STACKED)]),
    "TenCrop of tensors, by rows": lambda: v1.Compose(
        [TO_TENSOR, v2.TenCrop((5, 6), vertical_flip=True), v1.Lambda(JOINED)]
    ),
    "a stack of one": lambda: stack_of_one,
    "one of five crops": lambda: FiveCrops(v1.FiveCrop(6), only=3),
}

# What their code uses can't be replaced to record it: a transform that it makes, torch.stack itself.
CONSTRUCTING = {
    "torch.stack itself": lambda: v1.Compose([TO_TENSOR, v1.FiveCrop(7), v1.Lambda(torch.stack)]),
    "FiveCrop as documented": lambda: v1.Compose([v1.FiveCrop(6), v1.Lambda(MADE_THERE)]),
    "TenCrop as documented": lambda: v1.Compose(
        [v2.TenCrop(6, vertical_flip=True), v1.Lambda(MADE_THERE)]
    ),
    "FiveCrop and Normalize as documented": lambda: v1.Compose(
        [v1.FiveCrop(6), v1.Lambda(MADE_THERE), v1.Lambda(MADE_WITH)]
    ),
}
