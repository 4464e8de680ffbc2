"""Functions that keep something from call to call."""

from .table import NEVER, Case


def cases():
    yield from _state()


def _state():
    yield Case("global counter", "global N\nN += 1\nreturn N", "N = 0")
    yield Case("global list", "LOG.append(i)\nreturn len(LOG)", "LOG = []")
    yield Case("global dict", "SEEN[i] = SEEN.get(i, 0) + 1\nreturn SEEN[i]", "SEEN = {}")
    yield Case("attribute counter", "self.n += 1\nreturn self.n", init="self.n = 0")
    yield Case("attribute list", "self.log.append(i)\nreturn len(self.log)", init="self.log = []")
    yield Case(
        "alias of an attribute",
        "log = self.log\nlog.append(i)\nreturn len(log)",
        init="self.log = []",
    )
    yield Case("counter of the class", "Data.n += 1\nreturn Data.n", methods="n = 0")
    yield Case("counter by type", "type(self).n += 1\nreturn type(self).n", methods="n = 0")
    yield Case("counter by __class__", "self.__class__.n += 1\nreturn self.n", methods="n = 0")
    yield Case("counter of a function", "f.n += 1\nreturn f.n", "def f(): pass\nf.n = 0")
    yield Case(
        "counter in an array", "self.n[0] += 1\nreturn int(self.n[0])", init="self.n = np.zeros(1)"
    )
    yield Case(
        "counter in a tensor", "self.n.add_(1)\nreturn int(self.n)", init="self.n = torch.zeros(())"
    )
    yield Case(
        "counter by out",
        "np.add(self.n, 1, out=self.n)\nreturn self.n.copy()",
        init="self.n = np.zeros(1)",
    )
    yield Case(
        "counter by a view",
        "v = self.n[:1]\nv += 1\nreturn self.n.copy()",
        init="self.n = np.zeros(2)",
    )
    yield Case("counter in a closure", "return tick() + i",
               "def made():\n    n = 0\n    def tick():\n        nonlocal n\n        n += 1\n        return n\n"
               "    return tick\ntick = made()")  # fmt: skip
    yield Case("list in a closure", "return tick() + i",
               "def made():\n    seen = []\n    def tick():\n        seen.append(1)\n        return len(seen)\n"
               "    return tick\ntick = made()")  # fmt: skip
    yield Case(
        "mutable default",
        "return add(i)",
        "def add(i, seen=[]):\n    seen.append(i)\n    return len(seen)",
    )
    yield Case("mutable keyword default", "return add(i)",
               "def add(i, *, seen={}):\n    seen[len(seen)] = i\n    return len(seen)")  # fmt: skip
    yield Case("counter in an object", "return self.c.tick() + i",
               "class C:\n    n = 0\n    def tick(self):\n        self.n += 1\n        return self.n",
               "self.c = C()")  # fmt: skip
    yield Case(
        "counter by a local",
        "c = self.c\nc.n += 1\nreturn c.n",
        "class C:\n    n = 0",
        "self.c = C()",
    )
    yield Case("counter in slots", "self.c.n += 1\nreturn self.c.n",
               "class C:\n    __slots__ = 'n',\n    def __init__(self): self.n = 0", "self.c = C()")  # fmt: skip
    yield Case("counter in a deque", "self.q.append(i)\nreturn len(self.q)",
               "from collections import deque", "self.q = deque()")  # fmt: skip
    yield Case("Counter", "self.c[i] += 1\nreturn sum(self.c.values())",
               "from collections import Counter", "self.c = Counter()")  # fmt: skip
    yield Case("defaultdict", "self.c[i] += 1\nreturn self.c[i]",
               "from collections import defaultdict", "self.c = defaultdict(int)")  # fmt: skip
    yield Case(
        "bytearray",
        "self.b[0] = (self.b[0] + 1) % 250\nreturn int(self.b[0])",
        init="self.b = bytearray(1)",
    )
    yield Case("set", "self.s.add(len(self.s))\nreturn len(self.s)", init="self.s = set()")
    yield Case("module of its own", "sys.n = getattr(sys, 'n', 0) + 1\nreturn sys.n")
    yield Case("attribute of numpy", "np.n = getattr(np, 'n', 0) + 1\nreturn np.n", check=NEVER)
    yield Case(
        "module object", "M.n += 1\nreturn M.n", "import types\nM = types.ModuleType('m'); M.n = 0"
    )
    yield Case(
        "counter in the environment",
        "os.environ['N'] = str(int(os.environ.get('N', 0)) + 1)\nreturn os.environ['N']",
    )
    yield Case("context variable", "V.set(V.get() + 1)\nreturn V.get()",
               "import contextvars\nV = contextvars.ContextVar('v', default=0)")  # fmt: skip
    yield Case(
        "local of threads",
        "L.n = getattr(L, 'n', 0) + 1\nreturn L.n",
        "import threading\nL = threading.local()",
    )
    yield Case(
        "lru_cache",
        "return f(i) + i",
        "import functools\n@functools.lru_cache\ndef f(i): return i * 2",
    )
    yield Case("lru_cache of a list", "b = f()\nb.append(i)\nreturn len(b)",
               "import functools\n@functools.lru_cache\ndef f(): return []")  # fmt: skip
    yield Case("lru_cache of an array", "b = f()\nb += i\nreturn b.copy()",
               "import functools\n@functools.lru_cache\ndef f(): return np.zeros(3)")  # fmt: skip
    yield Case("info of a cache", "f(i)\nreturn f.cache_info().hits",
               "import functools\n@functools.lru_cache\ndef f(i): return i")  # fmt: skip
    yield Case("cached property", "return self.v + i", "import functools\nN = [0]",
               methods="@functools.cached_property\ndef v(self):\n    N[0] += 1\n    return N[0]")  # fmt: skip
    yield Case("cache by index", "if i not in self.kept: self.kept[i] = np.full(3, i)\nreturn self.kept[i]",
               init="self.kept = {}", getitem="x = self.load(i)\nx += 1\nreturn x, random.random()")  # fmt: skip
    yield Case("cache within a cache", "return inner(i)",
               "A, B = {}, {}\ndef inner(i):\n    if i not in A:\n        B.setdefault(i, []).append(i)\n"
               "        A[i] = len(B[i])\n    return A[i] + len(B)")  # fmt: skip
    yield Case(
        "lazy state",
        "if self.first is None: self.first = i\nreturn self.first",
        init="self.first = None",
    )
    yield Case(
        "last argument", "before, self.last = self.last, i\nreturn before", init="self.last = -1"
    )
    yield Case(
        "last argument in a list",
        "before = self.last[0]\nself.last[0] = i\nreturn before",
        init="self.last = [-1]",
    )
    yield Case(
        "swap of items",
        "self.a[0], self.a[1] = self.a[1], self.a[0]\nreturn self.a[0]",
        init="self.a = [1, 2]",
    )
    yield Case("pop", "self.q.append(self.q.pop(0))\nreturn self.q[0]", init="self.q = [1, 2, 3]")
    yield Case(
        "sort in place",
        "self.q.sort()\nself.q.reverse()\nreturn self.q[0] + i",
        init="self.q = [1, 3, 2]",
    )
    yield Case("del of an item", "self.d.pop('a', None)\nself.d['a'] = len(self.d)\nreturn list(self.d)",
               init="self.d = {'a': 1, 'b': 2}")  # fmt: skip
    yield Case(
        "weak dictionary",
        "W[i] = self\nreturn len(W)",
        "import weakref\nW = weakref.WeakValueDictionary()",
    )
    yield Case(
        "weak reference",
        "r = weakref.ref(Thing())\nreturn r() is None",
        "import weakref\nclass Thing: pass",
    )
    yield Case("finaliser", "Thing()\nreturn len(ENDS)",
               "ENDS = []\nclass Thing:\n    def __del__(self): ENDS.append(1)")  # fmt: skip
    yield Case("finalise", "x = Thing()\nweakref.finalize(x, ENDS.append, 1)\ndel x\nreturn len(ENDS)",
               "import weakref\nENDS = []\nclass Thing: pass")  # fmt: skip
    yield Case("exception that counts", "try:\n    fail()\nexcept ValueError:\n    return len(N)",
               "N = []\ndef fail():\n    N.append(1)\n    raise ValueError")  # fmt: skip
    yield Case("decorator that counts", "return f(i)",
               "CALLS = []\ndef counted(f):\n    def inner(i):\n        CALLS.append(i)\n        return f(i) + len(CALLS)\n"
               "    return inner\n@counted\ndef f(i): return i")  # fmt: skip
    yield Case("decorator of a library that counts", "return f(i)",
               "import functools\nCALLS = []\ndef counted(f):\n    @functools.wraps(f)\n    def inner(i):\n"
               "        CALLS.append(i)\n        return f(i) + len(CALLS)\n    return inner\n@counted\ndef f(i): return i")  # fmt: skip
    yield Case("singledispatch that counts", "return f(i)",
               "import functools\nCALLS = []\n@functools.singledispatch\ndef f(i):\n    CALLS.append(i)\n    return len(CALLS)")  # fmt: skip
    yield Case("contextmanager that counts", "with c() as n: return n",
               "import contextlib\nN = []\n@contextlib.contextmanager\ndef c():\n    N.append(1)\n    yield len(N)")  # fmt: skip
    yield Case("observer of equality", "return int(E(i) == E(i)) + len(N)",
               "N = []\nclass E:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o):\n"
               "        N.append(1)\n        return self.v == o.v")  # fmt: skip
    yield Case("callable in a list", "return self.steps[0](i)",
               "class S:\n    n = 0\n    def __call__(self, i):\n        self.n += 1\n        return i + self.n",
               "self.steps = [S()]")  # fmt: skip
    yield Case("batch norm", "return self.n(torch.full((2, 3), float(i)))",
               init="self.n = torch.nn.BatchNorm1d(3)")  # fmt: skip
    yield Case(
        "own function on a library, by getattr",
        "return getattr(np, 'hea' + 'drace_case')(i)",
        "K = [1]\ndef own(i): return i * K[0]\nnp.headrace_case = own",
        between="K[0] = epoch",
    )
