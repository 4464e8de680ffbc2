"""Calls of what is not followed, of too much, and what may not be returned."""

import abc

import torch
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import functional as F
from torchvision.transforms import v2

from .base import END, PAD, Base, case

# Calls.


@case("calls torch.stack along another dimension")
class StacksAlongAnother(Base):
    def __call__(self, x):
        return torch.stack([END(x), END(x)], 1)


@case("calls torch.stack along another dimension")
class StacksAlongABool(Base):
    def __call__(self, x):
        return torch.stack([END(x), END(x)], dim=False)


@case("calls torch.stack with arguments that are not followed")
class StacksIntoAnother(Base):
    def __call__(self, x):
        return torch.stack([END(x), END(x)], out=None)


@case("calls torch.stack with arguments that are not followed")
class StacksTwice(Base):
    def __call__(self, x):
        return torch.stack([END(x)], tensors=[END(x)])


@case("calls torch.stack with an iterator, not with a list or tuple")
class StacksAGenerator(Base):
    def __call__(self, x):
        return torch.stack(END(x) for _ in range(2))


@case("calls torch.stack with nothing")
class StacksNothing(Base):
    def __call__(self, x):
        return torch.stack([]), END(x)


@case("calls torch.stack with what torch.stack made in the list")
class StacksAStack(Base):
    def __call__(self, x):
        return torch.stack([torch.stack([END(x)])])


@case("calls torch.stack with the picture itself")
class StacksThePicture(Base):
    def __call__(self, x):
        return torch.stack([x, END(x)])


@case("returns a PIL image, not a tensor")
class StacksPil(Base):
    def __call__(self, x):
        return torch.stack([PAD(x), PAD(x)])


@case("applies .*Normalize.* to what torch.stack made, not to a picture")
class AppliesToAStack(Base):
    def __call__(self, x):
        return NORMALIZE(torch.stack([END(x)]))


@case("uses .view of what torch.stack made")
class CallsAMethodOfAStack(Base):
    def __call__(self, x):
        return torch.stack([END(x)]).view(-1)


@case("takes an entry of what torch.stack made")
class TakesAnEntryOfAStack(Base):
    def __call__(self, x):
        return torch.stack([END(x)])[0]


@case("joins tensors by torch.stack and does not return what it makes")
class StacksInVain(Base):
    def __call__(self, x):
        views = [END(x), END(PAD(x))]
        torch.stack(views)
        return views


@case("joins tensors by torch.stack and does not return what it makes")
class StacksHalfInVain(Base):
    """The bytes of the one become floats, since the other has some."""

    def __call__(self, x):
        one, other = torch.stack([BYTES(x), END(x)])
        return torch.stack([TO_FLOAT(one), other])


@case("joins tensors by torch.stack and does not return what it makes")
class StacksLessThanBefore(Base):
    def __call__(self, x):
        one, other = torch.stack([END(x), END(PAD(x))])
        return torch.stack([one])


@case("applies Normalize with inplace=True to a tensor that it uses elsewhere")
class ChangesWhatWasStacked(Base):
    def __call__(self, x):
        y = END(x)
        return torch.stack([y, y]), IN_PLACE(y)


@case("makes a ToTensor.* which raises TypeError")
class MakesItWithTooMuch(Base):
    def __call__(self, x):
        return v1.ToTensor(1)(x)


@case("makes a Normalize with .*, which is not followed")
class MakesItWithAnObject(Base):
    def __call__(self, x):
        return v1.Normalize(MEANS, [0.5])(END(x))


@case("calls v1.ColorJitter, which")
class MakesAnother(Base):
    def __call__(self, x):
        return END(v1.ColorJitter()(x))


@case("calls v2.ToTensor, which")
class MakesWhatWarns(Base):
    def __call__(self, x):
        return v2.ToTensor()(x)


BYTES, TO_FLOAT = v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)
NORMALIZE, MEANS = v1.Normalize([0.5], [0.5]), torch.tensor([0.5])


@case("calls torchvision.transforms.functional.affine")
class CallsAFunctionOfTorchvision(Base):
    def __call__(self, x):
        return END(F.affine(x, 5, (0, 0), 1.0, (0.0, 0.0)))


@case("calls print")
class Prints(Base):
    def __call__(self, x):
        print("a sample")
        return END(x)


@case("calls getattr")
class GetsByName(Base):
    def __call__(self, x):
        return getattr(self, "t")(x)  # noqa: B009


@case("uses .copy of the picture")
class CallsAMethodOfThePicture(Base):
    def __call__(self, x):
        return END(x.copy())


@case("applies .*ToTensor to a list, not to a picture")
class AppliesToAList(Base):
    def __call__(self, x):
        return END([x, x])


@case("applies .*ToTensor to 3, not to a picture")
class AppliesToANumber(Base):
    def __call__(self, x):
        return END(3)


@case("several pictures whose types are not known")
class AppliesToTwo(Base):
    def __call__(self, x):
        return v2_image(x, x)


v2_image = v2.ToImage()


@case("applies .*ToTensor.* to a tuple, not to a picture")
class AppliesToCrops(Base):
    def __call__(self, x):
        return END(FIVE(x))


@case("without x")
class CallsWithoutAnArgument(Base):
    def one(self, x):
        return END(x)

    def __call__(self, x):
        return self.one()


@case("in each other, more than")
class CallsItself(Base):
    def __call__(self, x):
        return self(x)


@case("goes on for too long")
class GoesOnForLong(Base):
    def __call__(self, x):
        for _ in range(1_000_000_000):
            y = END
        return y(x)


@case("goes on for too long")
class ListsANumberOfEntries(Base):
    def __call__(self, x):
        numbers = list(range(30_000))
        return [END(x) for _ in numbers[:2]]


@case("goes on for too long|makes over")
class ExtendsAListByItself(Base):
    def __call__(self, x):
        views = [END(x)]
        views.extend(view for view in views)
        return views


@case("makes over")
class Doubles(Base):
    def __call__(self, x):
        views = [END(x)]
        for _ in range(16):
            views = views + views
        return views


@case("goes on for too long")
class Nests(Base):
    def __call__(self, x):
        views = [END(x)]
        for _ in range(16):
            views = [views, views]
        return views


@case("applies over 1,000 transforms")
class AppliesForever(Base):
    def __call__(self, x):
        for _ in range(2000):
            x = PAD(x)
        return END(x)


@case("applies Normalize with inplace=True to a tensor that it uses elsewhere")
class ChangesASharedValue(Base):
    def __call__(self, x):
        y = v2_image(x)
        return y, IN_PLACE(IDENTITY(y))


@case("applies RandomApply with inplace=True to a tensor that it uses elsewhere")
class ChangesASharedValueAtTimes(Base):
    def __call__(self, x):
        y = self.t(x)
        return y, AT_TIMES(y)


@case("applies RandomApply with inplace=True to a tensor that it uses elsewhere")
class ChangesASharedValueDeepInside(Base):
    def __call__(self, x):
        y = v2_image(x)
        return AT_TIMES_TOO(v2_again(y)), y


@case("applies Normalize with inplace=True to a tensor that it uses elsewhere")
class ChangesAValueThatIsHandedOn(Base):
    """PILToTensor of v2 hands a tensor on as it is."""

    def __call__(self, x):
        y = v2_image(x)
        return IN_PLACE(v2_again(y)), y


@case("applies Normalize with inplace=True to a tensor that it uses elsewhere")
class ChangesOneOfFiveCrops(Base):
    """Crops of a tensor share its memory."""

    def __call__(self, x):
        return [IN_PLACE(crop) for crop in FIVE(v2_image(x))]


FIVE = v1.FiveCrop(4)
IN_PLACE, IDENTITY = v1.Normalize([0.5], [0.5], inplace=True), nn.Identity()
AT_TIMES = v1.RandomApply([v1.Compose([PAD, v1.RandomApply(nn.ModuleList([IN_PLACE]))])])
AT_TIMES_TOO = v2.RandomApply([v2.Compose([v2.Normalize([0.5], [0.5], inplace=True)])])
v2_again = v2.PILToTensor()


# What is returned.


@case("returns the picture itself, a PIL image")
class ReturnsThePicture(Base):
    def __call__(self, x):
        return x, END(x)


@case("returns a PIL image, not a tensor")
class ReturnsPil(Base):
    def __call__(self, x):
        return PAD(x), END(x)


@case("returns no picture")
class ReturnsNothing(Base):
    def __call__(self, x):
        return [[END(x)][1:], {}]


@case("returns None, which is no picture")
class ForgetsToReturn(Base):
    def __call__(self, x):
        END(x)


@case("returns 1, which is no picture")
class ReturnsANumberToo(Base):
    def __call__(self, x):
        return END(x), 1


@case("returns .*ToTensor")
class ReturnsATransform(Base):
    def __call__(self, x):
        return END(x), END


@case("keys are neither texts nor integers")
class ReturnsOddKeys(Base):
    def __call__(self, x):
        return {None: END(x)}


@case("has a set")
class ReturnsASet(Base):
    def __call__(self, x):
        return {END(x)}


two = lambda x: END(x), lambda x: PAD(x)  # noqa: E731
case("shares its line with another lambda", "two lambdas")(lambda: two[0])
case("is not what its file says", "no text")(lambda: eval("lambda x: END(x)", globals()))
case("has no native form", "an uncallable")(lambda: 3)
case("abs has no native form: it calls abs, which", "a builtin")(lambda: abs)
case("ABC has no native form$", "an abstract object")(abc.ABC)
