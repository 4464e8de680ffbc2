"""What the cases share: a view that is native, and the table of those that are not."""

from torchvision import transforms as v1

END = v1.ToTensor()
PAD = v1.Pad(1)
RAN = []  # what was run of the code of the cases


class Base:
    """A view that is native; each case differs from it in one thing."""

    def __init__(self):
        self.t, self.n, self.ts, self.named = END, 2, [END, END], {"a": END}

    def __call__(self, x):
        return [self.t(x) for _ in range(self.n)]


CASES = {}  # by name: how it is made, and what the reason says


def case(text, name=""):
    def note(made):
        CASES[name or made.__name__] = (made, text)
        return made

    return note
