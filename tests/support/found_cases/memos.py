"""What functions depend on changes between two calls, in one lane: what is remembered of the call before must not be
taken for the next. Each draws which of a few states it has, so that names come again."""

from .table import Case


def cases():
    yield from _changed()


# Name: (what load() returns, what is before, what __init__ does, how state k of 0, 1 and 2 is made).
_STATES = {
    "attribute": ("i * self.k", "", "self.k = 0", "self.k = k"),
    "type of an attribute": ("repr(self.k)", "", "self.k = 0", "self.k = (0, False, 0.0)[k]"),
    "sign of an attribute": ("repr(self.k)", "", "self.k = 0", "self.k = (0.0, -0.0, 0)[k]"),
    "attribute that goes": ("i * self.k", "Data_k = 5", "self.k = 0",
                            "self.__dict__.pop('k', None)\nif k: self.k = k\nelse: type(self).k = 7"),
    "attribute over one of the class": ("i * self.k", "", "type(self).k = 5",
                                        "self.__dict__.pop('k', None)\nif k: self.k = k"),
    "attribute of the class": ("i * self.k", "", "type(self).k = 5", "type(self).k = k"),
    "nested attribute": ("i * self.c.k", "class C: k = 0", "self.c = C()", "self.c.k = k"),
    "nested object": ("i * self.c.k", "class C:\n    def __init__(self, k): self.k = k", "self.c = C(0)",
                      "self.c = C(k)"),
    "class of an object": ("i * self.c.k", "class A: k = 0\nclass B: k = 1\nclass C: k = 2", "self.c = A()",
                           "self.c.__class__ = (A, B, C)[k]"),
    "bases of a class": ("i * T().k", "class A: k = 1\nclass B: k = 2\nclass T(A): pass", "pass",
                         "T.__bases__ = ((A,), (B,), (A, B))[k]"),
    "base class": ("i * T().f()", "class A:\n    def f(self): return 0\nclass T(A): pass", "pass",
                   "A.f = (lambda t: 0, lambda t: 1, lambda t: 2)[k]"),
    "slot of an object": ("i * self.c.k", "class C:\n    __slots__ = 'k',", "self.c = C(); self.c.k = 0", "self.c.k = k"),
    "lookup of a class": ("i * self.c.k", "class C:\n    def __init__(self): self.k = 1", "self.c = C()",
                          "if k: C.__getattribute__ = lambda c, n: k\nelif '__getattribute__' in vars(C): del C.__getattribute__"),
    "item of a list": ("i * self.a[1]", "", "self.a = [0, 0, 0]", "self.a[1] = k"),
    "item of a long list": ("sum(self.a) + i", "", "self.a = [0] * 500", "self.a[250] = k"),
    "item of a long list, of another type": ("repr(self.a)", "", "self.a = [0] * 500", "self.a[250] = (0, False, 0.0)[k]"),
    "length of a list": ("len(self.a) + i", "", "self.a = [0] * 500", "self.a[:] = [0] * (500 + k)"),
    "list of lists": ("str(self.a) + str(i)", "", "self.a = [[0], [0]]", "self.a[0][0] = k"),
    "items of a dict": ("str(self.d) + str(i)", "", "self.d = {'a': 0}", "self.d['a'] = k"),
    "order of a dict": ("list(self.d)", "", "self.d = {}",
                        "self.d.clear()\nself.d.update({n: 0 for n in ('abc', 'bca', 'cab')[k]})"),
    "key of a dict": ("self.d.get(1) or i", "", "self.d = {}", "self.d.clear()\nself.d[k] = 9"),
    "type of a key": ("repr(self.d)", "", "self.d = {}", "self.d.clear()\nself.d[(1, True, 1.0)[k]] = i"),
    "constant key of a dict": ("self.d['a'] * i", "", "self.d = {'a': 0}", "self.d['a'] = k"),
    "set": ("sorted(self.s)", "", "self.s = {0}", "self.s.clear()\nself.s.add(k)"),
    "order of a set": ("[str(x) for x in self.s]", "", "self.s = {8, 0}", "self.s = ({8, 0}, {0, 8}, {16, 0, 8})[k]"),
    "element of an array": ("self.a * i", "", "self.a = np.zeros(3)", "self.a[1] = k"),
    "element of a large array": ("float(self.a.sum()) * i", "", "self.a = np.zeros(50_000)", "self.a[4321] = k"),
    "element of an array in another order": ("self.a * i", "", "self.a = np.zeros((3, 3), order='F')", "self.a[1, 2] = k"),
    "element of an array of records": ("self.a['x'] * i", "", "self.a = np.zeros(3, [('x', 'i4')])", "self.a['x'][1] = k"),
    "another array": ("self.a * i", "", "self.a = np.zeros(3)", "self.a = np.full(3, k)"),
    "type of an array": ("str(self.a.dtype)", "", "self.a = np.zeros(3)", "self.a = np.zeros(3, ('f4', 'f8', '>f4')[k])"),
    "shape of an array": ("str(self.a.shape)", "", "self.a = np.zeros(6)", "self.a.shape = ((6,), (2, 3), (3, 2))[k]"),
    "read-only array": ("str(self.a.flags.writeable)", "", "self.a = np.zeros(6)", "self.a.flags.writeable = k != 1"),
    "element of a tensor": ("self.a * i", "", "self.a = torch.zeros(3)", "self.a[1] = k"),
    "data of a tensor": ("self.a * i", "", "self.a = torch.zeros(3)", "self.a.data[1] = k"),
    "tensor by numpy": ("self.a * i", "", "self.b = np.zeros(3); self.a = torch.from_numpy(self.b)", "self.b[1] = k"),
    "tensor that has a gradient": ("str(self.a.requires_grad)", "", "self.a = torch.zeros(3)", "self.a.requires_grad_(k == 1)"),
    "picture": ("self.p.getpixel((0, 0))", "from PIL import Image", "self.p = Image.new('L', (2, 2))", "self.p.putpixel((0, 0), k)"),
    "info of a picture": ("str(self.p.info)", "from PIL import Image", "self.p = Image.new('L', (2, 2))", "self.p.info['k'] = k"),
    "method": ("self.f(i)", "", "pass", "Data.f = (lambda s, i: i, lambda s, i: i + 1, lambda s, i: i + 2)[k]"),
    "method of the object": ("self.f(i)", "", "type(self).f = lambda s, i: -i",
                             "self.__dict__.pop('f', None)\nif k: self.f = lambda i: i + k"),
    "bound method": ("self.f(i)", "class C:\n    def __init__(self, k): self.k = k\n    def f(self, i): return i * self.k",
                     "self.f = C(0).f", "self.f = C(k).f"),
    "property": ("self.v * i", "", "type(self).v = property(lambda s: 0)",
                 "type(self).v = (property(lambda s: 0), property(lambda s: 1), 2)[k]"),
    "code of a function": ("g(i)", "def g(i): return i\ndef a(i): return i + 1\ndef b(i): return i + 2\nORIGINAL = g.__code__", "pass",
                           "g.__code__ = (ORIGINAL, a.__code__, b.__code__)[k]"),
    "default": ("g(i)", "def g(i, k=0): return i * k", "pass", "g.__defaults__ = k,"),
    "mutable default": ("g(i)", "def g(i, k=[0]): return i * k[0]", "pass", "g.__defaults__[0][0] = k"),
    "default by name": ("g(i)", "def g(i, *, k=0): return i * k", "pass", "g.__kwdefaults__ = {'k': k}"),
    "default by name, in place": ("g(i)", "def g(i, *, k=0): return i * k", "pass", "g.__kwdefaults__['k'] = k"),
    "attribute of a function": ("g(i)", "def g(i): return i * g.k\ng.k = 0", "pass", "g.k = k"),
    "cell": ("g(i)", "def made():\n    k = 0\n    def g(i): return i * k\n    def put(v):\n        nonlocal k\n        k = v\n"
                     "    return g, put\ng, put = made()", "pass", "put(k)"),
    "object in a cell": ("g(i)", "def made(c): return lambda i: i * c[0]\nC = [0]\ng = made(C)", "pass", "C[0] = k"),
    "function of equal code": ("g(i)", "def made(k): return lambda i: i * k\ng = made(0)", "pass", "global g\ng = made(k)"),
    "global": ("i * K", "K = 0", "pass", "global K\nK = k"),
    "global that goes": ("i * K if 'K' else 0", "K = 1\nimport builtins\nbuiltins.K = 5", "pass",
                         "globals().pop('K', None)\nif k: globals()['K'] = k"),
    "global over a builtin": ("abs(-i)", "", "pass", "globals().pop('abs', None)\nif k: globals()['abs'] = lambda x: x - k"),
    "builtin": ("abs(-i)", "import builtins\nREAL = abs", "pass", "builtins.abs = (REAL, lambda x: 1, lambda x: 2)[k]"),
    "function of a library": ("np.mean([i, 1])", "REAL = np.mean", "pass",
                              "np.mean = (REAL, lambda a: 1, lambda a: 2)[k]"),
    "module in a global": ("m.floor(i + 0.5)", "import math, cmath, types\nm = math", "pass",
                           "global m\nm = (math, np, torch)[k]\nif k == 2: m = math"),
    "partial": ("self.f(i)", "import functools\ndef g(k, i): return k * i", "self.f = functools.partial(g, 0)",
                "self.f = functools.partial(g, k)"),
    "keywords of a partial": ("self.f(i)", "import functools\ndef g(i, k): return k * i", "self.f = functools.partial(g, k=0)",
                              "self.f.keywords['k'] = k"),
    "alias": ("str(self.a is self.b)", "", "self.a, self.b = [1], [1]",
              "self.a = [1]\nself.b = self.a if k == 1 else [1]"),
    "alias of arrays": ("str(self.a is self.b)", "", "self.a = self.b = np.zeros(2)",
                        "self.b = self.a if k == 1 else self.a.copy()"),
    "object by itself": ("helper(self)", "def helper(d): return d.k", "self.k = 0", "self.k = k"),
    "named tuple": ("i * self.p.x", "import collections\nP = collections.namedtuple('P', 'x')", "self.p = P(0)", "self.p = P(k)"),
    "errors of numpy": ("str(np.geterr())", "", "pass", "np.seterr(over=('warn', 'ignore', 'call')[k])"),
    "print options": ("str(np.array([1 / 3]))", "", "pass", "np.set_printoptions(precision=3 + k)"),
    "print options of torch": ("str(torch.tensor([1 / 3]))", "", "pass", "torch.set_printoptions(precision=3 + k)"),
    "type of tensors": ("torch.tensor(0.5) * i", "", "pass",
                        "torch.set_default_dtype((torch.float32, torch.float64, torch.float16)[k])"),
    "threads": ("str(torch.get_num_threads())", "", "pass", "torch.set_num_threads(1 + k)"),
    "deterministic algorithms": ("str(torch.are_deterministic_algorithms_enabled())", "", "pass",
                                 "torch.use_deterministic_algorithms(k == 1)"),
    "filters of warnings": ("str(len(w.filters))", "import warnings as w", "pass", "w.simplefilter(('always', 'ignore', 'error')[k])"),
    "switch of a library": ("str(ImageFile.LOAD_TRUNCATED_IMAGES)", "from PIL import ImageFile", "pass",
                            "ImageFile.LOAD_TRUNCATED_IMAGES = (False, True, 1)[k]"),
    "folder": ("np.fromfile('a', np.uint8).tolist()", "", "for n in range(3):\n    os.mkdir(f'{folder}/{n}')\n"
               "    with open(f'{folder}/{n}/a', 'w') as f: f.write(str(n))\nimport time; time.sleep(0.03)", "os.chdir(f'{self.folder}/{k}')"),
}  # fmt: skip


def _changed():
    for name, (load, before, init, put) in _STATES.items():
        state = f"k = int(random.random() * 3)\n{put}\n"
        uses = "\n".join(line for line in put.splitlines() if line.startswith("global "))
        state = "\n".join([uses, state.replace(uses, "")]) if uses else state
        yield Case(
            f"between calls: {name}", f"return [{load}, i]", before, init,
            getitem=f"{state}return self.load(i), random.random()",
        )  # fmt: skip
    # What is kept of one object is not taken for another one.
    yield Case(
        "between calls: another owner", "return i", "class C:\n    def __init__(self, k): self.k = k\n"
        "    def load(self, i): return [i * self.k]",
        getitem="return C(int(random.random() * 3)).load(i), random.random()",
    )  # fmt: skip
    yield Case(
        "between calls: an argument that is an attribute", "return [x is self.a for x in (i,)]",
        init="self.a = [1]", methods="def same(self, x, i): return [x is self.a, len(x), i]",
        getitem="x = self.a if random.random() < 0.5 else [1]\nreturn self.same(x, i % 2), random.random()",
    )  # fmt: skip
    yield Case(
        "between calls: the end of an object", "return [self.c.k * i]",
        "ENDS = []\nclass C:\n    k = 1\n    def __del__(self): ENDS.append(1)", "self.c = C()",
        getitem="made = self.load(i)\nself.c = C()\nreturn made, len(ENDS), random.random()",
    )  # fmt: skip
    yield Case(
        "between calls: the end of an object that is watched", "return [self.c.k * i]",
        "import weakref\nclass C: k = 1", "self.c = C()",
        getitem="r = weakref.ref(self.c)\nmade = self.load(i)\nself.c = C()\nreturn made, r() is None, random.random()",
    )  # fmt: skip
