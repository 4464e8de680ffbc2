"""State, and what of Python's statements and expressions is not followed."""

import functools

import torch

from .base import END, PAD, RAN, Base, case

COUNT = 2

# State.


@case("sets an attribute")
class ACounter(Base):
    def __call__(self, x):
        self.n = self.n + 1
        return END(x)


@case("has an assignment to an attribute")
class ACounterInPlace(Base):
    def __call__(self, x):
        self.n += 1
        return END(x)


@case("uses .append of a list that is kept")
class KeepsThePicture(Base):
    def __call__(self, x):
        self.ts.append(x)
        return END(x)


@case("changes a kept list in place")
class GrowsAListUnderAnotherName(Base):
    def __call__(self, x):
        ts = self.ts
        ts += [END]
        return [t(x) for t in ts]


@case("uses .append of a list that is kept")
class KeepsInADefault(Base):
    def __call__(self, x, kept=[]):  # noqa: B006
        kept.append(x)
        return END(x)


@case("has a global statement")
class AGlobal(Base):
    def __call__(self, x):
        global COUNT
        COUNT = COUNT + 1
        return END(x)


@case("sets an entry of")
class SetsAnEntryOfItsDict(Base):
    def __call__(self, x):
        self.named["last"] = END(x)
        return END(x)


def counting():
    n = 0

    def views(x):
        nonlocal n
        n = n + 1
        return END(x)

    return views


case("has a nonlocal statement", "a nonlocal")(counting)


# Statements and expressions that are not followed.


@case("has an assignment inside an expression")
class AWalrus(Base):
    def __call__(self, x):
        return [(y := END(x)), y]


@case("which is a generator or a coroutine")
class AGenerator(Base):
    def __call__(self, x):
        yield END(x)


@case("which is a generator or a coroutine")
class ACoroutine(Base):
    async def __call__(self, x):
        return END(x)


@case("makes a generator")
class AGeneratorInside(Base):
    def __call__(self, x):
        def views():
            yield END(x)

        return list(views())


@case("makes a generator")
class ALambdaThatIsAGenerator(Base):
    def __call__(self, x):
        view = lambda: (yield) if not self.n else END(x)  # noqa: E731
        return view()


@case("makes a function with annotations")
class AnAnnotationThatRuns(Base):
    def __call__(self, x):
        def view(y: RAN.append(1)):
            return END(y)

        return view(x)


@case("returns 2, which is no picture")
class AGlobalInABranchThatIsNotTaken(Base):
    """The statement counts for the whole function."""

    def __call__(self, x):
        COUNT = END(x)

        def view():
            if not self.n:
                global COUNT
            return COUNT

        assert_free = [COUNT]
        return [view(), *assert_free]


@case("sets y, which is not its own")
class ANonlocalInABranchThatIsNotTaken(Base):
    def __call__(self, x):
        y = END(x)

        def view():
            if not self.n:
                nonlocal y
            y = PAD(x)
            return END(y)

        return view(), y


@case("whose name a class changes")
class AParameterThatTheClassRenames(Base):
    def one(self, __image):
        return END(__image)

    def __call__(self, x):
        return self.one(x)


@case("makes a function that takes any arguments")
class AnyArgumentsInside(Base):
    def __call__(self, x):
        return (lambda *y: END(x))(x)


@case("has a decorator")
class ADecoratorInside(Base):
    def __call__(self, x):
        @functools.cache
        def view():
            return END(x)

        return view()


@case("returns an iterator")
class ReturnsAnIterator(Base):
    def __call__(self, x):
        return (t(x) for t in self.ts)


@case("has a try statement")
class ATry(Base):
    def __call__(self, x):
        try:
            return END(x)
        except ValueError:
            return PAD(x)


@case("has a with statement")
class AWith(Base):
    def __call__(self, x):
        with torch.no_grad():
            return END(x)


@case("has a raise")
class ARaise(Base):
    def __call__(self, x):
        if self.n == 2:
            raise ValueError("two")
        return END(x)


@case("has a while loop")
class AWhile(Base):
    def __call__(self, x):
        views = []
        while len(views) < 2:
            views.append(END(x))
        return views


@case("has an import")
class AnImport(Base):
    def __call__(self, x):
        import random as chance

        return END(x) if chance.random() else x


@case("calls super")
class Super(Base):
    def __call__(self, x):
        return super().__call__(x)


@case("two stars before an argument")
class TwoStarsBeforeAnArgument(Base):
    def __call__(self, x):
        return END(**{"pic": x})


@case("which takes any arguments")
class AnyArguments(Base):
    def __call__(self, *args):
        return END(args[0])


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        RAN.append(args)
        return function(*args)

    return wrapper


@case("which is wrapped by a decorator")
class ADecorator(Base):
    @logged
    def __call__(self, x):
        return END(x)


def logged_plainly(function):
    def wrapper(self, x):
        RAN.append(x)
        return function(self, x)

    return wrapper


@case("uses .append of a list that is kept")
class ADecoratorThatHides(Base):
    @logged_plainly
    def __call__(self, x):
        return END(x)


@case("uses y before it is set")
class BeforeItIsSet(Base):
    def __call__(self, x):
        if not self.n:
            y = x
        return END(y)


@case("unpacks 2 values to 3 names")
class UnpacksWrongly(Base):
    def __call__(self, x):
        a, b, c = [END(x), END(x)]
        return a, b, c
