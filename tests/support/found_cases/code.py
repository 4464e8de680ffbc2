"""Functions whose state, code, arguments or results are not what they seem; and functions that are kept."""

from .table import KEPT, NEVER, Case


def cases():
    yield from _state()
    yield from _changes()
    yield from _results()
    yield from _callers()
    yield from _kinds()
    yield from _kept()


def _state():
    yield Case("global counter", "global N\nN += 1\nreturn N", "N = 0")
    yield Case("global list", "LOG.append(i)\nreturn len(LOG)", "LOG = []")
    yield Case("global dict", "SEEN[i] = SEEN.get(i, 0) + 1\nreturn SEEN[i]", "SEEN = {}")
    yield Case("attribute counter", "self.n += 1\nreturn self.n", init="self.n = 0")
    yield Case("attribute list", "self.log.append(i)\nreturn len(self.log)", init="self.log = []")
    yield Case("alias of an attribute", "log = self.log\nlog.append(i)\nreturn len(log)", init="self.log = []")
    yield Case("counter of the class", "Data.n += 1\nreturn Data.n", methods="n = 0")
    yield Case("counter by type", "type(self).n += 1\nreturn type(self).n", methods="n = 0")
    yield Case("counter by __class__", "self.__class__.n += 1\nreturn self.n", methods="n = 0")
    yield Case("counter of a function", "f.n += 1\nreturn f.n", "def f(): pass\nf.n = 0")
    yield Case("counter in an array", "self.n[0] += 1\nreturn int(self.n[0])", init="self.n = np.zeros(1)")
    yield Case("counter in a tensor", "self.n.add_(1)\nreturn int(self.n)", init="self.n = torch.zeros(())")
    yield Case("counter by out", "np.add(self.n, 1, out=self.n)\nreturn self.n.copy()", init="self.n = np.zeros(1)")
    yield Case("counter by a view", "v = self.n[:1]\nv += 1\nreturn self.n.copy()", init="self.n = np.zeros(2)")
    yield Case("counter in a closure", "return tick() + i",
               "def made():\n    n = 0\n    def tick():\n        nonlocal n\n        n += 1\n        return n\n"
               "    return tick\ntick = made()")  # fmt: skip
    yield Case("list in a closure", "return tick() + i",
               "def made():\n    seen = []\n    def tick():\n        seen.append(1)\n        return len(seen)\n"
               "    return tick\ntick = made()")  # fmt: skip
    yield Case("mutable default", "return add(i)", "def add(i, seen=[]):\n    seen.append(i)\n    return len(seen)")
    yield Case("mutable keyword default", "return add(i)",
               "def add(i, *, seen={}):\n    seen[len(seen)] = i\n    return len(seen)")  # fmt: skip
    yield Case("counter in an object", "return self.c.tick() + i",
               "class C:\n    n = 0\n    def tick(self):\n        self.n += 1\n        return self.n",
               "self.c = C()")  # fmt: skip
    yield Case("counter by a local", "c = self.c\nc.n += 1\nreturn c.n", "class C:\n    n = 0", "self.c = C()")
    yield Case("counter in slots", "self.c.n += 1\nreturn self.c.n",
               "class C:\n    __slots__ = 'n',\n    def __init__(self): self.n = 0", "self.c = C()")  # fmt: skip
    yield Case("counter in a deque", "self.q.append(i)\nreturn len(self.q)",
               "from collections import deque", "self.q = deque()")  # fmt: skip
    yield Case("Counter", "self.c[i] += 1\nreturn sum(self.c.values())",
               "from collections import Counter", "self.c = Counter()")  # fmt: skip
    yield Case("defaultdict", "self.c[i] += 1\nreturn self.c[i]",
               "from collections import defaultdict", "self.c = defaultdict(int)")  # fmt: skip
    yield Case("bytearray", "self.b[0] = (self.b[0] + 1) % 250\nreturn int(self.b[0])", init="self.b = bytearray(1)")
    yield Case("set", "self.s.add(len(self.s))\nreturn len(self.s)", init="self.s = set()")
    yield Case("module of its own", "sys.n = getattr(sys, 'n', 0) + 1\nreturn sys.n")
    yield Case("attribute of numpy", "np.n = getattr(np, 'n', 0) + 1\nreturn np.n", check=NEVER)
    yield Case("module object", "M.n += 1\nreturn M.n", "import types\nM = types.ModuleType('m'); M.n = 0")
    yield Case("counter in the environment", "os.environ['N'] = str(int(os.environ.get('N', 0)) + 1)\nreturn os.environ['N']")
    yield Case("context variable", "V.set(V.get() + 1)\nreturn V.get()",
               "import contextvars\nV = contextvars.ContextVar('v', default=0)")  # fmt: skip
    yield Case("local of threads", "L.n = getattr(L, 'n', 0) + 1\nreturn L.n", "import threading\nL = threading.local()")
    yield Case("lru_cache", "return f(i) + i", "import functools\n@functools.lru_cache\ndef f(i): return i * 2")
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
    yield Case("lazy state", "if self.first is None: self.first = i\nreturn self.first", init="self.first = None")
    yield Case("last argument", "before, self.last = self.last, i\nreturn before", init="self.last = -1")
    yield Case("last argument in a list", "before = self.last[0]\nself.last[0] = i\nreturn before", init="self.last = [-1]")
    yield Case("swap of items", "self.a[0], self.a[1] = self.a[1], self.a[0]\nreturn self.a[0]", init="self.a = [1, 2]")
    yield Case("pop", "self.q.append(self.q.pop(0))\nreturn self.q[0]", init="self.q = [1, 2, 3]")
    yield Case("sort in place", "self.q.sort()\nself.q.reverse()\nreturn self.q[0] + i", init="self.q = [1, 3, 2]")
    yield Case("del of an item", "self.d.pop('a', None)\nself.d['a'] = len(self.d)\nreturn list(self.d)",
               init="self.d = {'a': 1, 'b': 2}")  # fmt: skip
    yield Case("weak dictionary", "W[i] = self\nreturn len(W)", "import weakref\nW = weakref.WeakValueDictionary()")
    yield Case("weak reference", "r = weakref.ref(Thing())\nreturn r() is None", "import weakref\nclass Thing: pass")
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


def _changes():
    yield Case("attribute that changes", "return i * self.k", init="self.k = 1", between="data.k = epoch + 1")
    yield Case("nested attribute", "return i * self.c.k", "class C: k = 1", "self.c = C()", between="data.c.k = epoch + 1")
    yield Case("attribute by a local", "c = self.c\nreturn i * c.k", "class C: k = 1", "self.c = C()", between="data.c.k = epoch")
    yield Case("class attribute", "return i * self.k", methods="k = 1", between="Data.k = epoch")
    yield Case("shadowed class attribute", "return i * self.k", methods="k = 1", between="if epoch > 1: data.k = 9")
    yield Case("attribute that is deleted", "return i * self.k", methods="k = 1", init="self.k = 5",
               between="if epoch == 2: del data.k")  # fmt: skip
    yield Case("global that changes", "return i * K", "K = 1", between="global K\nK = epoch + 1")
    yield Case("global of a helper", "return helper(i)", "K = 1\ndef helper(i): return i * K", between="global K\nK = epoch")
    yield Case("global dict that changes", "return i * CFG['k']", "CFG = {'k': 1}", between="CFG['k'] = epoch")
    yield Case("global by a local", "cfg = CFG\nreturn i * cfg['a']['k']", "CFG = {'a': {'k': 1}}", between="CFG['a']['k'] = epoch")
    yield Case("config class", "return i * CFG.k", "class CFG: k = 1", between="CFG.k = epoch")
    yield Case("config by getattr", "return i * getattr(CFG, 'k')", "class CFG: k = 1", between="CFG.k = epoch")
    yield Case("array that changes", "return self.a[i] * 2", init="self.a = np.arange(6)", between="data.a[:] = epoch")
    yield Case("large array that changes", "return float(self.a.sum()) + i", init="self.a = np.zeros(20000)",
               between="data.a[epoch * 7] = 1")  # fmt: skip
    yield Case("tensor that changes", "return self.a[i] * 2", init="self.a = torch.arange(6)", between="data.a.fill_(epoch)")
    yield Case("tensor by data", "return self.a * i", init="self.a = torch.ones(3)", between="data.a.data[0] = epoch")
    yield Case("list item", "return self.a[i] * 2", init="self.a = list(range(6))", between="data.a[2] = epoch")
    yield Case("long list", "return sum(self.a) + i", init="self.a = list(range(500))", between="data.a[250] = epoch")
    yield Case("0 and False", "return str(self.a[0]) + str(len(self.a)) + str(i)", init="self.a = [0] * 100",
               between="data.a[0] = [0, False, 0.0, -0.0, 0][epoch]")  # fmt: skip
    yield Case("sign of zero", "return str(self.k) + str(i)", init="self.k = 0.0", between="data.k = [0.0, -0.0][epoch % 2]")
    yield Case("1 and True", "return str(self.k) + str(i)", init="self.k = 1", between="data.k = [1, True, 1.0][epoch % 3]")
    yield Case("payload of NaN", "return np.array([self.k]).tobytes() + bytes([i])", init="self.k = float('nan')",
               between="import struct; data.k = struct.unpack('<d', struct.pack('<Q', (0x7ff8 << 48) + epoch))[0]")  # fmt: skip
    yield Case("order of a dict", "return list(self.d) + [i]", init="self.d = {'a': 1, 'b': 2}",
               between="data.d = dict(reversed(data.d.items()))")  # fmt: skip
    yield Case("order of a set", "return [str(x) for x in self.s] + [i]", init="self.s = {8, 0}",
               between="data.s = {0, 8} if epoch % 2 else {8, 0}")  # fmt: skip
    yield Case("dtype", "return str(self.a.dtype) + str(i)", init="self.a = np.zeros(2)",
               between="data.a = np.zeros(2, ['f4', 'f8'][epoch % 2])")  # fmt: skip
    yield Case("byte order", "return str(self.a.dtype) + str(i)", init="self.a = np.zeros(2)",
               between="data.a = np.zeros(2, ['<f4', '>f4'][epoch % 2])")  # fmt: skip
    yield Case("strides", "return str(self.a.strides) + str(i)", init="self.a = np.zeros((2, 2))",
               between="data.a = np.zeros((2, 2), order='CF'[epoch % 2])")  # fmt: skip
    yield Case("read-only array", "return str(self.a.flags.writeable) + str(i)", init="self.a = np.zeros(2)",
               between="data.a.flags.writeable = bool(epoch % 2)")  # fmt: skip
    yield Case("requires_grad", "return str(self.a.requires_grad) + str(i)", init="self.a = torch.zeros(2)",
               between="data.a.requires_grad_(bool(epoch % 2))")  # fmt: skip
    yield Case("method that is replaced", "return self.f(i)", methods="def f(self, i): return i",
               between="Data.f = lambda self, i: i + epoch")  # fmt: skip
    yield Case("method on the object", "return self.f(i)", methods="def f(self, i): return i",
               between="data.f = lambda i: i + epoch")  # fmt: skip
    yield Case("load that is replaced", "return i", between="Data.load = lambda self, i: i + epoch")
    yield Case("code that is replaced", "return helper(i)", "def helper(i): return i\ndef other(i): return i + 1",
               between="if epoch == 2: helper.__code__ = other.__code__")  # fmt: skip
    yield Case("default that is replaced", "return helper(i)", "def helper(i, k=1): return i * k",
               between="helper.__defaults__ = epoch,")  # fmt: skip
    yield Case("function that is redefined", "return helper(i)", "def helper(i): return i",
               between="global helper\nexec(f'def helper(i): return i + {epoch}', globals())")  # fmt: skip
    yield Case("function of a library, patched", "return np.mean([i, 1])", between="""
        import numpy
        before = numpy.mean
        numpy.mean = (lambda a: before(a) + epoch) if epoch < 3 else before""")  # fmt: skip
    yield Case("class that is patched", "return str(T(i))", "class T:\n    def __init__(self, i): self.i = i",
               between="T.__str__ = lambda t: f'{t.i} {epoch}'")  # fmt: skip
    yield Case("base class that is patched", "return T().f() + i", "class B:\n    def f(self): return 0\nclass T(B): pass",
               between="B.f = lambda t: epoch")  # fmt: skip
    yield Case("class of the object", "return self.c.f() + i",
               "class A:\n    def f(self): return 1\nclass B:\n    def f(self): return 2",
               "self.c = A()", between="if epoch == 2: data.c.__class__ = B")  # fmt: skip
    yield Case("cell that changes", "return f() + i",
               "def made():\n    k = 0\n    def f(): return k\n    def put(v):\n        nonlocal k\n        k = v\n    return f, put\n"
               "f, put = made()", between="put(epoch)")  # fmt: skip
    yield Case("partial that changes", "return self.f(i)", "import functools\ndef g(k, i): return k * i",
               "self.f = functools.partial(g, 1)", between="data.f = functools.partial(g, epoch)")  # fmt: skip
    yield Case("state of a partial", "return self.f(i)", "import functools\ndef g(k, i): return k[0] * i\nK = [1]",
               "self.f = functools.partial(g, K)", between="K[0] = epoch")  # fmt: skip
    yield Case("lambda that changes", "return self.f(i)", init="self.f = lambda i: i", between="data.f = lambda i: i + epoch")
    yield Case("lambdas of equal text", "return self.f(i)", init="self.f = lambda i: i",
               between="k = epoch; data.f = lambda i: i + k")  # fmt: skip
    yield Case("property that changes", "return self.v + i", init="self._v = 0", between="data._v = epoch",
               methods="@property\ndef v(self): return self._v")  # fmt: skip
    yield Case("class method", "return self.make(i)", methods="k = 1\n@classmethod\ndef make(cls, i): return cls.k * i",
               between="Data.k = epoch")  # fmt: skip
    yield Case("static method", "return self.make(i)", "K = 1", methods="@staticmethod\ndef make(i): return K * i",
               between="global K\nK = epoch")  # fmt: skip
    yield Case("__getattr__", "return self.anything + i", methods="def __getattr__(self, n):\n    return K[0]", before="K = [0]",
               between="K[0] = epoch")  # fmt: skip
    yield Case("__getattribute__", "return self.c.v + i",
               "K = [0]\nclass C:\n    def __getattribute__(self, n): return K[0]", "self.c = C()", between="K[0] = epoch")  # fmt: skip
    yield Case("descriptor of a class", "return self.d + i", "K = [0]\nclass G:\n    def __get__(self, o, t): return K[0]",
               methods="d = G()", between="K[0] = epoch")  # fmt: skip
    yield Case("enumeration", "return E.A.value * i", "import enum\nclass E(enum.Enum): A = 1",
               between="E.A._value_ = epoch")  # fmt: skip
    yield Case("named tuple", "return self.p.x + i", "from collections import namedtuple\nP = namedtuple('P', 'x')",
               "self.p = P(1)", between="data.p = P(epoch)")  # fmt: skip
    yield Case("data class", "return self.p.x + i", "from dataclasses import dataclass\n@dataclass\nclass P: x: int = 1",
               "self.p = P()", between="data.p.x = epoch")  # fmt: skip
    yield Case("slots", "return self.p.x + i", "class P:\n    __slots__ = 'x',", "self.p = P(); self.p.x = 1",
               between="data.p.x = epoch")  # fmt: skip
    yield Case("list of a class", "return self.p[0] + i", "class P(list): pass", "self.p = P([1])", between="data.p[0] = epoch")
    yield Case("dict of a class", "return self.p['a'] + i", "class P(dict):\n    def __missing__(self, k): return K[0]\nK = [0]",
               "self.p = P()", between="K[0] = epoch")  # fmt: skip
    yield Case("int of a class", "return int(self.p) + i", "class P(int):\n    def __int__(self): return K[0]\nK = [0]",
               "self.p = P()", between="K[0] = epoch")  # fmt: skip
    for name, put in {
        "threads of torch": "torch.set_num_threads(1 + epoch % 2)",
        "dtype of torch": "torch.set_default_dtype([torch.float32, torch.float64][epoch % 2])",
        "print options of torch": "torch.set_printoptions(precision=2 + epoch)",
    }.items():
        call = {"threads of torch": "torch.get_num_threads()", "dtype of torch": "torch.tensor(0.5).dtype"}
        yield Case(name, f"return str({call.get(name, 'torch.tensor([1 / 3])')}) + str(i)", between=put, compares=True)
    yield Case("print options", "return str(np.array([1 / 3])) + str(i)", between="np.set_printoptions(precision=2 + epoch)")
    yield Case("errstate", "return str(np.geterr()) + str(i)", between="np.seterr(over=['warn', 'ignore'][epoch % 2])")
    yield Case("errors that are raised", "try:\n    return np.array(1.0) / np.array(0.0)\nexcept FloatingPointError:\n    return i",
               between="np.seterr(divide=['ignore', 'raise'][epoch % 2])")  # fmt: skip
    yield Case("locale", "return f'{1.5:n}' + str(i)", "import locale",
               between="try: locale.setlocale(locale.LC_ALL, ['C', 'de_DE.UTF-8'][epoch % 2])\nexcept locale.Error: pass")  # fmt: skip
    yield Case("decimal context", "return str(decimal.Decimal(1) / 3) + str(i)", "import decimal",
               between="decimal.getcontext().prec = 3 + epoch")  # fmt: skip
    yield Case("OpenCV's switch", "return str(cv2.useOptimized()) + str(i)", "import cv2",
               between="cv2.setUseOptimized(bool(epoch % 2))")  # fmt: skip
    yield Case("PIL's switch", "return str(ImageFile.LOAD_TRUNCATED_IMAGES) + str(i)", "from PIL import ImageFile",
               between="ImageFile.LOAD_TRUNCATED_IMAGES = bool(epoch % 2)")  # fmt: skip
    yield Case("sys.argv", "return sys.argv[-1] + str(i)", between="sys.argv = ['a', str(epoch)]")
    yield Case("sys.path", "return len(sys.path) + i", between="sys.path.append(str(epoch))")
    yield Case("filter of warnings", "with warnings.catch_warnings(record=True) as w:\n    np.log(np.zeros(1))\nreturn len(w) + i",
               "import warnings", between="warnings.simplefilter(['always', 'ignore'][epoch % 2])")  # fmt: skip


def _results():
    keeps = "return x, random.random()"
    for name, load, rest in (
        ("written by the caller", "return np.full(3, i)", "x += 1"),
        ("list written by the caller", "return [i, i]", "x.append(1)"),
        ("dict written by the caller", "return {'a': [i]}", "x['a'].append(len(x['a'])); x['b'] = 1"),
        ("tensor written by the caller", "return torch.full((3,), float(i))", "x.add_(1)"),
        ("resized by the caller", "return np.full(3, i)", "x.resize(5, refcheck=False)"),
        ("tensor resized by the caller", "return torch.full((3,), float(i))", "x.resize_(5)[3:] = 7"),
        ("made read-only by the caller", "return np.full(3, i)", "x.flags.writeable = False; x = [x, x.flags.writeable]"),
        ("given an attribute by the caller", "return torch.ones(2) * i", "x.tag = getattr(x, 'tag', 0) + 1; x = x.tag"),
        ("picture written by the caller", "return Image.new('L', (2, 2), i)", "x.putpixel((0, 0), x.getpixel((0, 0)) + 1)"),
        ("info written by the caller", "return Image.new('L', (2, 2), i)", "x.info['n'] = x.info.get('n', 0) + 1; x = x.info"),
    ):  # fmt: skip
        yield Case(name, load, "from PIL import Image", getitem=f"x = self.load(i)\n{rest}\n{keeps}")
    twice = "a, b = self.load(i), self.load(i)\n"
    for name, load, test in (
        ("is, of a constant", "return 'kind'", "a is b"),
        ("is, of a sentence", "return 'kind of thing'", "a is b"),
        ("is, of an attribute", "return self.names[i]", "a is self.names[i]"),
        ("is, of a number", "return self.big[i]", "a is self.big[i]"),
        ("is, of its argument", "return i", "a is i"),
        ("is, of an array", "return self.a", "a is b"),
        ("is, of an item", "return [self.a, i]", "a[0] is b[0]"),
        ("is, of a tuple", "return self.t", "a is b"),
        ("is, of a constant tuple", "return (1, 2)", "a is b"),
        ("is, of a new tuple", "return tuple([i, 300 + i])", "a is b"),
        ("is, of None", "return None", "a is None"),
        ("is, of a small number", "return i + 1", "a is b"),
        ("is, of a float", "return 0.5", "a is b"),
        ("is, of a new float", "return i + 0.5", "a is b"),
        ("is, of a new text", "return str(i) + 'x'", "a is b"),
        ("is, of parts", "x = str(i) + 'x'\nreturn [x, x]", "a[0] is a[1]"),
        ("is, of lists in it", "x = [i]\nreturn [x, x]", "a[0] is a[1]"),
        ("is, of a key", "return {KEY: i}", "next(iter(a)) is KEY"),
        ("is, of a type", "return [np.float32]", "a[0] is np.float32"),
        ("is, of a dtype", "return np.zeros(1, 'f4')", "a.dtype is np.dtype('f4')"),
        ("is, of an exception", "return [ERROR]", "a[0] is ERROR"),
        ("is, of a member", "return E.A", "a is E.A"),
        ("is, of an own object", "return [self]", "a[0] is self"),
        ("is, of a base", "return np.arange(6)[i:]", "a.base is b.base"),
        ("is, of memory", "return self.a[:2]", "np.shares_memory(a, self.a)"),
        ("memory of an argument", "return f(self.a)", "np.shares_memory(a, self.a)"),
        ("memory of a tensor", "return self.t2.view(3)", "a.data_ptr() == self.t2.data_ptr()"),
        ("memory between parts", "x = np.arange(4)\nreturn [x, x[:2]]", "np.shares_memory(a[0], a[1])"),
        ("memory between tensors", "x = torch.arange(4)\nreturn [x, x[:2]]", "a[0].data_ptr() == a[1].data_ptr()"),
        ("array and tensor", "x = np.arange(4)\nreturn [x, torch.from_numpy(x)]", "a[1].data_ptr() == a[0].ctypes.data"),
    ):  # fmt: skip
        yield Case(
            name, load, "import enum\nKEY = ''.join(['a', 'key'])\nERROR = ValueError('x')\nclass E(enum.Enum): A = 1\n"
            "def f(a): return a[1:]",
            "self.names = [f'name {n}' for n in range(6)]\nself.big = [10**6 + n for n in range(6)]\n"
            "self.a = np.arange(3)\nself.t = (1, [2])\nself.t2 = torch.arange(3)",
            getitem=f"{twice}return [{test}, random.random()]",
        )  # fmt: skip
    for name, load in {
        "signed zeros": "return np.array([0.0, -0.0]) * (i + 1)", "NaN": "return [float('nan'), np.array([np.nan])]",
        "NaN as a key": "return {float('nan'): i}", "keys of numbers": "return {1: 'a', 2.5: i, True: 'b'}",
        "key of a tuple": "return {(1, i): i}", "order of keys": "return {k: i for k in ('bac' if i % 2 else 'abc')}",
        "strides of a result": "return np.arange(12).reshape(3, 4).T + 0 if i % 2 else np.arange(12).reshape(3, 4).T",
        "negative strides": "return np.arange(6)[::-1]", "broadcast": "return np.broadcast_to(np.arange(3), (2, 3))",
        "Fortran": "return np.asfortranarray(np.arange(6).reshape(2, 3))", "empty": "return np.zeros((0, 3)), []",
        "scalar array": "return np.array(i)", "numpy scalar": "return np.float32(i)", "bool of numpy": "return np.bool_(i)",
        "complex": "return 1j * i, np.array([1j])", "half": "return np.full(3, i, np.float16)",
        "strings": "return np.array(['a', 'bc'])", "objects": "return np.array([[], i], dtype=object)",
        "records": "return np.zeros(2, [('a', 'i4'), ('b', 'f8')])", "dates": "return np.array(['2020-01-01'], 'M8[D]')",
        "byte order of a result": "return np.arange(3, dtype='>i4')", "masked": "return np.ma.masked_array([1, i], [0, 1])",
        "matrix": "return np.asmatrix([[i]])", "record array": "return np.rec.array([(1, 2.0)])",
        "own array class": "return np.arange(3).view(A)", "own tensor class": "return torch.ones(2).as_subclass(T)",
        "parameter": "return torch.nn.Parameter(torch.ones(2))", "gradient": "return torch.ones(2, requires_grad=True) * 2",
        "sparse": "return torch.eye(2).to_sparse()", "bfloat16": "return torch.full((2,), i, dtype=torch.bfloat16)",
        "channels last": "return torch.ones(1, 3, 2, 2).contiguous(memory_format=torch.channels_last)",
        "expanded": "return torch.ones(1).expand(4)", "view of a tensor": "return torch.arange(9)[2:5]",
        "conjugate": "return torch.tensor([1j]).conj()", "size": "return torch.Size([1, i])",
        "dtype as a result": "return torch.float32, np.dtype('f4')", "range": "return range(i)", "slice": "return slice(i)",
        "set": "return {i, 'a'}", "frozenset": "return frozenset([i])", "bytearray as a result": "return bytearray([i])",
        "named tuple as a result": "return P(i, 2)", "data class as a result": "return Q(i)", "own object": "return O(i)",
        "list of a class as a result": "return L([i])", "OrderedDict": "return OD(a=i)", "defaultdict as a result": "return DD(list, {'a': i})",
        "int of a class": "return I(i)", "text of a class": "return S('a')", "enumeration as a result": "return E.A",
        "generator": "return (x for x in range(i))", "iterator": "return iter([i])", "map": "return map(str, [i])",
        "function as a result": "return len", "lambda": "return lambda: i", "class as a result": "return O",
        "module": "return np", "path": "return Path('/a') / str(i)", "datetime": "return datetime.datetime(2020, 1, i + 1)",
        "big number": "return 1 << 100", "surrogates": "return 'a\\udc80'", "deep": "x = []\nfor _ in range(80): x = [x]\nreturn x",
        "circle": "x = [i]\nx.append(x)\nreturn len(x)", "Ellipsis": "return ..., NotImplemented", "memoryview": "return memoryview(bytes([i]))",
        "palette": "return Image.new('P', (2, 2), i)", "RGBA": "return Image.new('RGBA', (2, 2), (i, 1, 2, 3))",
        "pixels shown": "return np.asarray(Image.new('L', (2, 2), i))", "frombuffer": "return np.frombuffer(bytes([i, 1]), 'u1')",
        "empty_like": "x = np.empty_like(np.ones(3))\nx[:] = i\nreturn x",
    }.items():  # fmt: skip
        yield Case(
            f"result: {name}", load,
            "import datetime, enum\nfrom collections import OrderedDict as OD, defaultdict as DD, namedtuple\n"
            "from dataclasses import dataclass\nfrom pathlib import Path\nfrom PIL import Image\n"
            "P = namedtuple('P', 'x y')\n@dataclass\nclass Q: x: int\n"
            "class O:\n    def __init__(self, x): self.x = x\nclass L(list): pass\nclass I(int): pass\nclass S(str): pass\n"
            "class A(np.ndarray): pass\nclass T(torch.Tensor): pass\nclass E(enum.Enum): A = 1",
        )  # fmt: skip


def _callers():
    yield Case("argument that is written", "x = np.full(3, i)\nfill(x)\nreturn x", "def fill(x): x += 1\n")
    yield Case("argument written and returned", "return fill(np.full(3, i))", "def fill(x):\n    x += 1\n    return x.sum()")
    yield Case("written by what is kept", "x = [i]\nadd(x)\nreturn x", "def add(x):\n    x.append(1)\n    return 1")
    yield Case("dict that is popped", "d = {'a': i, 'b': 1}\nreturn take(d) + len(d)", "def take(d): return d.pop('a')")
    yield Case("iterator as an argument", "it = iter([i, 2, 3])\nreturn take(it) + take(it)", "def take(it): return next(it)")
    yield Case("file as an argument", "f = io.BytesIO(b'abcdef')\nreturn take(f) + take(f)", "import io\ndef take(f): return f.read(1)")
    yield Case("exception", "if i == 3: raise ValueError(f'no {i}')\nreturn i",
               getitem="try:\n    return self.load(i), random.random()\nexcept ValueError as e:\n    return str(e)")  # fmt: skip
    yield Case("exception with a traceback", "if i == 3: raise ValueError('no')\nreturn i",
               "import traceback",
               getitem="try:\n    return self.load(i), random.random()\nexcept ValueError as e:\n    return str(e.__cause__), e.args")  # fmt: skip
    yield Case("sometimes an exception", "if i == 3 and self.bad: raise ValueError('no')\nreturn i", init="self.bad = False",
               getitem="try:\n    return self.load(i), random.random()\nexcept ValueError as e:\n    return str(e)",
               between="data.bad = epoch % 2 == 1")  # fmt: skip
    yield Case("finally that counts", "try:\n    return i\nfinally:\n    N.append(1)", "N = []",
               getitem="return self.load(i), len(N), random.random()")  # fmt: skip
    yield Case("recursion", "return fact(i + 3)", "def fact(n): return 1 if n < 2 else n * fact(n - 1)")
    yield Case("deep recursion", "return deep(700)", "def deep(n): return 0 if n == 0 else 1 + deep(n - 1)")
    yield Case("mutual recursion", "return even(i)", "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)")
    yield Case("depth of recursion", "return deep()", check=NEVER,
               before="def deep():\n    try:\n        return 1 + deep()\n    except RecursionError:\n        return 0")  # fmt: skip
    yield Case("name of the function", "return self.load.__name__ + str(i)")
    yield Case("text of the function", "return helper.__doc__ + str(i)", "def helper():\n    'text'")
    yield Case("code by inspect", "return i", "import inspect\ndef helper(a, b=1): return a",
               getitem="return str(inspect.signature(helper)), self.load(i), random.random()")  # fmt: skip
    yield Case("source by inspect", "return i", "import inspect\ndef helper(a, b=1): return a",
               getitem="helper(i)\nreturn inspect.getsource(helper), self.load(i), random.random()")  # fmt: skip
    yield Case("pickled", "return i", "import pickle\ndef helper(a): return a",
               getitem="helper(1)\nreturn pickle.loads(pickle.dumps(len)) is len, self.load(i), random.random()")  # fmt: skip
    yield Case("called with names", "return i", getitem="return self.load(i=i), helper(a=1, b=i), random.random()",
               before="def helper(a, /, b=2): return a + b\nhelper_ = helper\ndef helper(a, b=2, *c, d=3, **e): return [a, b, c, d, e]")  # fmt: skip
    yield Case("wrong arguments", "return i",
               getitem="try:\n    return self.load(i, 1, 2)\nexcept TypeError as e:\n    return str(e), random.random()")  # fmt: skip
    yield Case("equal numbers of other types", "return half(i), half(float(i)), half(bool(i))", "def half(x): return str(x)",
               getitem="return self.load(i), random.random()")  # fmt: skip
    yield Case("equal arrays of other strides", "a = np.arange(6).reshape(2, 3)\nreturn lay(a), lay(np.asfortranarray(a)), lay(a[::-1])",
               "def lay(a): return str(a.strides) + str(a.flags.owndata)")  # fmt: skip
    yield Case("argument by identity", "a, b = [i], [i]\nreturn same(a, a), same(a, b)", "def same(a, b): return a is b")
    yield Case("text by identity", "a = str(i) * 2\nb = str(i) * 2\nreturn same(a, a), same(a, b)", "def same(a, b): return a is b")
    yield Case("aliases within an argument", "x = [i]\nreturn put([x, x]), put([[i], [i]])",
               "def put(v):\n    v[0].append(1)\n    return len(v[1])")  # fmt: skip
    yield Case("memory shared by arguments", "a = np.arange(4)\nreturn add(a, a[:]), add(a, a.copy())",
               "def add(a, b):\n    b = b + 0\n    a[0] += 1\n    return a + b")  # fmt: skip
    yield Case("overlap of arguments", "a = np.arange(6.0)\nreturn lap(a, a[2:]), lap(a, a[2:].copy())",
               "def lap(a, b): return np.shares_memory(a, b)")  # fmt: skip
    yield Case("references to an argument", "return count(np.arange(3))", "def count(x): return sys.getrefcount(x)", check=NEVER)
    yield Case("hash of an argument", "return h(('a', i))", "def h(x): return hash(x)", check=NEVER)
    yield Case("caller by its frame", "return who()", "def who(): return sys._getframe(1).f_code.co_name", check=NEVER)
    yield Case("threads in a sample", "from concurrent.futures import ThreadPoolExecutor as T\n"
               "with T(2) as t: return list(t.map(helper, [i, i + 1]))", "def helper(x): return np.full(2, x)")  # fmt: skip


def _kinds():
    yield Case("generator function", "return list(gen(i))", "def gen(i):\n    yield from range(i)")
    yield Case("generator that is shared", "return next(self.g) + i", "def gen():\n    n = 0\n    while True:\n        n += 1\n        yield n",
               "self.g = gen()")  # fmt: skip
    yield Case("coroutine", "return asyncio.run(co(i))", "import asyncio\nasync def co(i): return i")
    yield Case("class with __call__", "return self.t(i)", "class T:\n    def __init__(self): self.k = 2\n    def __call__(self, x): return x * self.k",
               "self.t = T()", between="data.t.k = epoch")  # fmt: skip
    yield Case("inner function", "def inner(x): return x * self.k\nreturn inner(i)", init="self.k = 1", between="data.k = epoch")
    yield Case("super", "return super().__repr__()[:2] + str(i)")
    yield Case("super of a class", "return T().f(i)", "class B:\n    def f(self, i): return i * K[0]\nclass T(B):\n"
               "    def f(self, i): return super().f(i) + 1\nK = [1]", between="K[0] = epoch")  # fmt: skip
    yield Case("walrus", "return (y := self.k) * i", init="self.k = 1", between="data.k = epoch")
    yield Case("match", "match self.k:\n    case 0: return i\n    case _: return -i", init="self.k = 0", between="data.k = epoch % 2")
    yield Case("star arguments", "return add(*self.a, i)", "def add(*x): return sum(x)", "self.a = [1]", between="data.a.append(epoch)")
    yield Case("named arguments", "return add(**self.a, i=i)", "def add(**x): return sum(x.values())", "self.a = {'b': 1}",
               between="data.a['b'] = epoch")  # fmt: skip
    yield Case("import within", "import math\nreturn math.sqrt(i)")
    yield Case("import of what is new", "import colorsys\nreturn colorsys.rgb_to_hsv(i, 1, 2)")
    yield Case("global that is defined later", "try:\n    return LATE * i\nexcept NameError:\n    return -1", between="if epoch == 2: globals()['LATE'] = 3")
    yield Case("builtin that is shadowed", "return len(range(i))", between="if epoch == 2: globals()['len'] = lambda x: 77")
    yield Case("builtin that is replaced", "return abs(-i)",
               between="import builtins\nif epoch == 2: builtins.abs = lambda x, a=abs: a(x) + 1")  # fmt: skip
    yield Case("attribute that hides a method", "return self.f(i)", methods="def f(self, i): return i",
               between="if epoch == 2: data.__dict__['f'] = lambda i: -i")  # fmt: skip
    yield Case("delegating object", "return self.w.value + i",
               "class In: value = 1\nclass W:\n    def __init__(self): self._in = In()\n    def __getattr__(self, n): return getattr(self._in, n)",
               "self.w = W()", between="In.value = epoch")  # fmt: skip
    yield Case("two data sets of one class", "return i * self.k", init="self.k = 1\nself.other = None",
               getitem="o = Data.__new__(Data)\no.k = 5\nreturn self.load(i), o.load(i), random.random()")  # fmt: skip
    yield Case("monkey-patched library", "return torch.add(torch.ones(2), i)", between="""
        import torch
        before = torch.add
        if epoch == 2: torch.add = lambda a, b: before(a, b) + 1""")  # fmt: skip


def _kept():
    whole = "return self.load(i)"
    for name, load, before, init, getitem in (
        ("array", "return np.full(3, i)", "", "pass", ""),
        ("whole sample", "return np.full(3, i), i", "", "pass", whole),
        ("spectrogram", "return torch.stft(torch.arange(64.0) * i, 16, window=self.w, return_complex=True).abs()",
         "", "self.w = torch.hann_window(16)", ""),
        ("mel by a filled bank", "k = 'a'\nif k not in BANK: BANK[k] = np.ones((2, 3))\nreturn BANK[k] @ np.full(3, float(i))",
         "BANK = {}", "pass", ""),
        ("letterbox", "return letterbox(np.full((4, 6, 3), i, np.uint8))",
         "import cv2\ndef letterbox(im, shape=(8, 8)):\n    r = min(shape[0] / im.shape[0], shape[1] / im.shape[1])\n"
         "    im = cv2.resize(im, (int(im.shape[1] * r), int(im.shape[0] * r)))\n"
         "    return cv2.copyMakeBorder(im, 1, 1, 0, 0, cv2.BORDER_CONSTANT, value=(1, 1, 1)), r", "pass", whole),
        ("parse", "return [[float(x) for x in line.split()] for line in self.texts[i].splitlines()]",
         "", "self.texts = ['1 2.5\\n3 4'] * 6", ""),
        ("parse of a file", "with open(f'{self.folder}/{i}') as f: return json.load(f)", "import json",
         "for n in range(6): open(f'{self.folder}/{n}', 'w').write('{\"a\": [1.5, 2]}')\nimport time; time.sleep(0.1)", ""),
        ("text of an attribute", "return self.names[i], len(self.names[i])", "", "self.names = [f'n {k}' for k in range(6)]", ""),
        ("resize by a method", "return self.resize(np.full((4, 4), i, np.float32))",
         "import cv2", "self.size = 2", ""),
        ("zoom of scipy", "return zoom(np.arange(16.0).reshape(4, 4) + i, 2)", "from scipy.ndimage import zoom", "pass", ""),
        ("normalised cloud", "return normal(np.arange(12.0).reshape(4, 3) + i)",
         "def normal(p):\n    p = p - p.mean(0)\n    return p / np.max(np.sqrt((p ** 2).sum(1)))", "pass", ""),
        ("named sample", "return {'image': np.full(2, i), 'label': i, 'name': 'a text'}", "", "pass", ""),
        ("object of its own", "return T(3)(i)", "class T:\n    def __init__(self, k): self.k = k\n    def __call__(self, x): return np.full(2, x * self.k)",
         "pass", ""),
        ("picture", "return Image.new('RGB', (3, 2), (i, 1, 2)).resize((6, 4))", "from PIL import Image", "pass", ""),
        ("in a lambda", "return self.f(i)", "", "self.f = lambda x: np.arange(x + 1)", ""),
        ("in a partial", "return self.f(i)", "import functools\ndef power(k, x): return np.arange(x + 1) ** k",
         "self.f = functools.partial(power, 2)", ""),
    ):  # fmt: skip
        yield Case(
            f"kept: {name}", load, before, init, getitem or "return self.load(i), random.random()", check=KEPT,
            methods="def resize(self, im): return cv2.resize(im, (self.size, self.size))" if "resize(" in load else "",
        )  # fmt: skip
