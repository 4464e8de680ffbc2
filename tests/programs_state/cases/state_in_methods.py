"""State that changes in properties, descriptors and dunder methods."""

from cases import case, main
from keeps import Keeps


@case(workers=2, hosts=2, always=True)
class PropertySetter(Keeps):
    @property
    def level(self):
        return self.n

    @level.setter
    def level(self, value):
        self.n = value

    def count(self):
        self.level = self.level + 1
        return self.n


@case(workers=2)
class PropertyGetter(Keeps):
    @property
    def next(self):
        self.n += 1
        return self.n

    def count(self):
        return self.next


class _Cell:
    def __get__(self, holder, kind=None):
        holder.n += 1
        return holder.n


@case(workers=2, always=True)
class Descriptor(Keeps):
    cell = _Cell()

    def count(self):
        return self.cell


class _Odd:
    """Counts in every dunder method."""

    def __init__(self):
        self.n = 0

    def _step(self, *_):
        self.n += 1
        return True

    __contains__ = __bool__ = __enter__ = _step

    def __iter__(self):
        self.n += 1
        return iter(())

    def __add__(self, other):
        self.n += 1
        return other

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.n += 1
        return name

    def __getitem__(self, key):
        self.n += 1
        return key

    def __call__(self):
        self.n += 1

    def __len__(self):
        self.n += 1
        return 1

    def __eq__(self, other):
        self.n += 1
        return False

    def __hash__(self):
        self.n += 1
        return 1

    def __exit__(self, *_):
        return None

    def __format__(self, how):
        self.n += 1
        return ""

    def __matmul__(self, other):
        self.n += 1
        return other


class _WithOdd(Keeps):
    def __init__(self):
        super().__init__()
        self.odd = _Odd()

    def count(self):
        self.use(self.odd)
        return self.odd.n


@case(workers=2)
class ByContains(_WithOdd):
    def use(self, odd):
        return 1 in odd


@case(workers=2)
class ByIteration(_WithOdd):
    def use(self, odd):
        return list(odd)


@case(workers=2)
class ByAddition(_WithOdd):
    def use(self, odd):
        return odd + 1


@case(workers=2)
class ByWith(_WithOdd):
    def use(self, odd):
        with odd:
            pass


@case(workers=2)
class ByTruth(_WithOdd):
    def use(self, odd):
        return 1 if odd else 2


@case(workers=2)
class ByMissingAttribute(_WithOdd):
    def use(self, odd):
        return odd.anything


@case(workers=2)
class BySubscript(_WithOdd):
    def use(self, odd):
        return odd["key"]


@case(workers=2)
class ByCall(_WithOdd):
    def use(self, odd):
        odd()


@case(workers=2)
class ByLength(_WithOdd):
    def use(self, odd):
        return len(odd)


@case(workers=2)
class ByComparison(_WithOdd):
    def use(self, odd):
        return odd == 1


@case(workers=2)
class ByHash(_WithOdd):
    def use(self, odd):
        return {odd: 1}


@case(workers=2)
class ByFormat(_WithOdd):
    def use(self, odd):
        return f"{odd}"


@case(workers=2)
class ByMatrixProduct(_WithOdd):
    def use(self, odd):
        return odd @ 2


if __name__ == "__main__":
    main()
