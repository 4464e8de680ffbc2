"""Programs of views, drawn: what follows of them is compared with what they do.

write(rng) is the text of a module with a function make(), which gives the transform. Each is made of
what views.py follows: branches by attributes, loops, comprehensions, iterators, helpers, closures.
"""

HEAD = '''"""Drawn: seed {seed}."""

import functools

from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

END, PAD = v1.ToTensor(), v1.Pad(1)
COUNT = {count}


def through(image, *, by=PAD):
    return by(image)


def twice(by, image):
    for _ in range(2):
        image = by(image)
    return image


def closed(by, count):
    def views(image):
        return [END(by(image)) for _ in range(count)]

    return views


class Program({base}):
    held = {held}

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = v1.Pad(2), v1.Compose([v1.Pad(3), v2.Pad(4)]), nn.Identity()
        self.end, self.norm = v1.Compose([v1.ToTensor()]), v1.Normalize([0.5], [0.5])
        self.ts, self.tt = [v1.Pad(i) for i in range({ts})], tuple(v1.Pad(i) for i in range({tt}))
        self.ml = nn.ModuleList([v2.Pad(i) for i in range({ml})])
        self.named = {{name: v1.Pad(5) for name in {names!r}}}
        self.flag, self.n, self.m, self.mode, self.none = {flag}, {n}, {m}, {mode!r}, None
        self.part, self.bound = functools.partial(twice, self.a), closed(self.b, {bound})

    def helper(self, image, by=None, last=2):
        by = self.a if by is None else by
        for i in range(3):
            if i >= last:
                break
            image = by(image)
        else:
            return self.c(image)
        return image

    @staticmethod
    def static(image):
        return PAD(image) if COUNT else image

    def {method}(self, x):
'''


class Writer:
    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.pictures, self.tensors, self.lists, self.dicts = ["x"], [], [], []

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def add(self, line, depth=2):
        self.lines.append("    " * depth + line)

    # Expressions.

    def number(self):
        return self.rng.choice(["self.n", "self.m", "COUNT", "self.held", "2", "self.n + 1",
                                "len(self.ts)", "len(self.named) - 1", "3 * self.m % 4"])  # fmt: skip

    def test(self):
        one = self.rng.choice(["self.flag", "not self.flag", "self.none is None", "self.mode == 'a'",
                               "self.n < self.m", "0 < self.n <= 2", "self.ts", "self.none", "self.a",
                               "self.none is not None", "self.held != COUNT"])  # fmt: skip
        if self.rng.random() < 0.3:
            return f"{one} {self.rng.choice(['and', 'or'])} {self.test()}"
        return one

    def transform(self):
        return self.rng.choice(["self.a", "self.b", "self.c", "PAD", "self.part", "self.helper",
                                "self.static", "through", "(self.a if self.flag else self.b)",
                                "functools_partial"]).replace("functools_partial", "self.part")  # fmt: skip

    def transforms(self):
        return self.rng.choice(["self.ts", "self.tt", "self.ml", "self.ts[1:]", "self.tt[::-1]",
                                "[self.a, *self.ts]", "(self.b, PAD)", "self.named.values()",
                                "self.ts + [self.c]", "[self.a] * self.n"])  # fmt: skip

    def picture(self, depth=2):
        if depth and self.rng.random() < 0.6:
            inner = self.picture(depth - 1)
            return self.rng.choice([
                f"{self.transform()}({inner})",
                f"self.helper({inner}, last={self.number()})",
                f"self.helper({inner}, {self.transform()})",
                f"through({inner}, by={self.transform()})",
                f"twice({self.transform()}, {inner})",
                f"({inner} if {self.test()} else {self.picture(0)})",
            ])  # fmt: skip
        return self.rng.choice(self.pictures)

    def tensor(self):
        if self.tensors and self.rng.random() < 0.3:
            one = self.rng.choice(self.tensors)
            return one if self.rng.random() < 0.5 else f"self.norm({one})"
        return f"{self.rng.choice(['self.end', 'END'])}({self.picture()})"

    def each(self):
        """Something to go through, of tensors."""
        p = self.picture(1)
        return self.rng.choice([
            f"[END(t({p})) for t in {self.transforms()}]",
            f"[END({p}) for _ in range({self.number()}) if {self.test()}]",
            f"(END(t(q)) for t in {self.transforms()} for q in [x, {p}])",
            f"map(self.end, [t({p}) for t in {self.transforms()}])",
            f"map(lambda t: END(t({p})), {self.transforms()})",
            f"self.bound({p})",
            f"[END(t({p})) for i, t in enumerate({self.transforms()}, 1) if i > {self.number()}]",
            f"[END(s(t({p}))) for s, t in zip({self.transforms()}, {self.transforms()})]",
            f"tuple(map(END, (t({p}) for t in {self.transforms()})))",
        ])  # fmt: skip

    # Statements.

    def statement(self, depth=2, branch=False):
        kinds = [self.assign, self.grow, self.loop, self.choose]
        if not branch:
            kinds += [self.make, self.make, self.make, self.function, self.unpack]
        self.rng.choice(kinds)(depth)

    def make(self, depth):
        name, kind = self.new(), self.rng.randrange(4)
        if kind == 0:
            self.add(f"{name} = {self.picture()}", depth)
            self.pictures.append(name)
        elif kind == 1:
            self.add(f"{name} = {self.tensor()}", depth)
            self.tensors.append(name)
        elif kind == 2:
            self.add(f"{name} = list({self.each()})", depth)
            self.lists.append(name)
        else:
            made = f"{{key: END(t({self.picture(1)})) for key, t in self.named.items()}}"
            self.add(f"{name} = {made}", depth)
            self.add(
                f"{name}[{self.rng.choice(['1', 'self.mode', repr('z')])}] = {self.tensor()}", depth
            )
            self.dicts.append(name)

    def assign(self, depth):
        name = self.rng.choice(self.pictures)
        self.add(f"{name} = {self.picture()}", depth)

    def grow(self, depth):
        if not self.lists:
            return self.assign(depth)
        name = self.rng.choice(self.lists)
        self.add(self.rng.choice([
            f"{name}.append({self.tensor()})",
            f"{name} += [{self.tensor()}]",
            f"{name}.extend({self.each()})",
            f"{name} += {self.each()}",
            f"{name} = {name}[:2] + [{self.tensor()}] * {self.rng.randrange(3)}",
        ]), depth)  # fmt: skip

    def loop(self, depth):
        before = self.lists, self.tensors, self.dicts
        over = self.rng.choice([f"range({self.number()})", self.transforms(), "range(2, 0, -1)"])
        self.add(f"for i{depth} in {over}:", depth)
        if self.rng.random() < 0.3:
            self.add(f"if {self.test()}:", depth + 1)
            self.add(self.rng.choice(["break", "continue"]), depth + 2)
        if not over.startswith("range") and self.rng.random() < 0.5:
            name = self.rng.choice(self.pictures)
            self.add(f"{name} = i{depth}({name})", depth + 1)
        self.block(depth + 1)
        self.lists, self.tensors, self.dicts = before

    def choose(self, depth):
        self.add(f"if {self.test()}:", depth)
        self.block(depth + 1)
        if self.rng.random() < 0.5:
            self.add("else:", depth)
            self.block(depth + 1)

    def block(self, depth):
        for _ in range(self.rng.randint(1, 2)):
            if depth < 5:
                self.statement(depth, branch=True)
            else:
                self.assign(depth)

    def function(self, depth):
        name, p = self.new(), self.rng.choice(self.pictures)
        if self.rng.random() < 0.5:
            self.add(f"{name} = lambda q, t={self.transform()}: t({self.transform()}(q))", depth)
        else:
            self.add(f"def {name}(q, n={self.number()}):", depth)
            self.add("for _ in range(n % 3):", depth + 1)
            self.add(f"q = {self.transform()}(q)", depth + 2)
            self.add(f"return q if {self.test()} else {p}", depth + 1)
        made = self.new()
        self.add(f"{made} = {name}({self.picture(1)})", depth)
        self.pictures.append(made)

    def unpack(self, depth):
        one, other = self.new(), self.new()
        self.add(f"{one}, ({other},) = {self.tensor()}, [{self.tensor()}]", depth)
        self.tensors += [one, other]

    def result(self, depth=2):
        if depth and self.rng.random() < 0.6:
            parts = [self.result(depth - 1) for _ in range(self.rng.randint(1, 3))]
            if self.rng.random() < 0.3:
                return "{" + ", ".join(f"{i!r}: {part}" for i, part in enumerate(parts)) + "}"
            kind = self.rng.choice(["[{}]", "({},)"])
            return kind.format(", ".join(parts))
        if self.lists + self.dicts and self.rng.random() < 0.5:
            return self.rng.choice(self.lists + self.dicts)
        return self.tensor()


def write(rng, seed):
    writer = Writer(rng)
    module = rng.random() < 0.4
    for _ in range(rng.randint(1, 9)):
        writer.statement()
    writer.add(f"return {writer.result()}, {writer.tensor()}")
    head = HEAD.format(
        seed=seed,
        count=rng.randrange(4),
        base="nn.Module" if module else "object",
        held=rng.randrange(4),
        ts=rng.randrange(4),
        tt=rng.randrange(4),
        ml=rng.randrange(4),
        names=rng.sample("abcd", rng.randrange(4)),
        flag=rng.random() < 0.5,
        n=rng.randrange(4),
        m=rng.randrange(4),
        mode=rng.choice("ab"),
        bound=rng.randrange(3),
        method="forward" if module else "__call__",
    )
    return head + "\n".join(writer.lines) + "\n\n\ndef make():\n    return Program()\n"
