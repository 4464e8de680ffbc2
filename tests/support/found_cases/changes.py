"""What functions depend on changes between iterations."""

from .table import Case


def cases():
    yield from _changes()


def _changes():
    yield Case(
        "attribute that changes",
        "return i * self.k",
        init="self.k = 1",
        between="data.k = epoch + 1",
    )
    yield Case(
        "nested attribute",
        "return i * self.c.k",
        "class C: k = 1",
        "self.c = C()",
        between="data.c.k = epoch + 1",
    )
    yield Case(
        "attribute by a local",
        "c = self.c\nreturn i * c.k",
        "class C: k = 1",
        "self.c = C()",
        between="data.c.k = epoch",
    )
    yield Case("class attribute", "return i * self.k", methods="k = 1", between="Data.k = epoch")
    yield Case(
        "shadowed class attribute",
        "return i * self.k",
        methods="k = 1",
        between="if epoch > 1: data.k = 9",
    )
    yield Case("attribute that is deleted", "return i * self.k", methods="k = 1", init="self.k = 5",
               between="if epoch == 2: del data.k")  # fmt: skip
    yield Case("global that changes", "return i * K", "K = 1", between="global K\nK = epoch + 1")
    yield Case(
        "global of a helper",
        "return helper(i)",
        "K = 1\ndef helper(i): return i * K",
        between="global K\nK = epoch",
    )
    yield Case(
        "global dict that changes",
        "return i * CFG['k']",
        "CFG = {'k': 1}",
        between="CFG['k'] = epoch",
    )
    yield Case(
        "global by a local",
        "cfg = CFG\nreturn i * cfg['a']['k']",
        "CFG = {'a': {'k': 1}}",
        between="CFG['a']['k'] = epoch",
    )
    yield Case("config class", "return i * CFG.k", "class CFG: k = 1", between="CFG.k = epoch")
    yield Case(
        "config by getattr",
        "return i * getattr(CFG, 'k')",
        "class CFG: k = 1",
        between="CFG.k = epoch",
    )
    yield Case(
        "array that changes",
        "return self.a[i] * 2",
        init="self.a = np.arange(6)",
        between="data.a[:] = epoch",
    )
    yield Case("large array that changes", "return float(self.a.sum()) + i", init="self.a = np.zeros(20000)",
               between="data.a[epoch * 7] = 1")  # fmt: skip
    yield Case(
        "tensor that changes",
        "return self.a[i] * 2",
        init="self.a = torch.arange(6)",
        between="data.a.fill_(epoch)",
    )
    yield Case(
        "tensor by data",
        "return self.a * i",
        init="self.a = torch.ones(3)",
        between="data.a.data[0] = epoch",
    )
    yield Case(
        "list item",
        "return self.a[i] * 2",
        init="self.a = list(range(6))",
        between="data.a[2] = epoch",
    )
    yield Case(
        "long list",
        "return sum(self.a) + i",
        init="self.a = list(range(500))",
        between="data.a[250] = epoch",
    )
    yield Case("0 and False", "return str(self.a[0]) + str(len(self.a)) + str(i)", init="self.a = [0] * 100",
               between="data.a[0] = [0, False, 0.0, -0.0, 0][epoch]")  # fmt: skip
    yield Case(
        "sign of zero",
        "return str(self.k) + str(i)",
        init="self.k = 0.0",
        between="data.k = [0.0, -0.0][epoch % 2]",
    )
    yield Case(
        "1 and True",
        "return str(self.k) + str(i)",
        init="self.k = 1",
        between="data.k = [1, True, 1.0][epoch % 3]",
    )
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
    yield Case(
        "lambda that changes",
        "return self.f(i)",
        init="self.f = lambda i: i",
        between="data.f = lambda i: i + epoch",
    )
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
    yield Case(
        "list of a class",
        "return self.p[0] + i",
        "class P(list): pass",
        "self.p = P([1])",
        between="data.p[0] = epoch",
    )
    yield Case("dict of a class", "return self.p['a'] + i", "class P(dict):\n    def __missing__(self, k): return K[0]\nK = [0]",
               "self.p = P()", between="K[0] = epoch")  # fmt: skip
    yield Case("int of a class", "return int(self.p) + i", "class P(int):\n    def __int__(self): return K[0]\nK = [0]",
               "self.p = P()", between="K[0] = epoch")  # fmt: skip
    for name, put in {
        "threads of torch": "torch.set_num_threads(1 + epoch % 2)",
        "dtype of torch": "torch.set_default_dtype([torch.float32, torch.float64][epoch % 2])",
        "print options of torch": "torch.set_printoptions(precision=2 + epoch)",
    }.items():
        call = {
            "threads of torch": "torch.get_num_threads()",
            "dtype of torch": "torch.tensor(0.5).dtype",
        }
        yield Case(
            name,
            f"return str({call.get(name, 'torch.tensor([1 / 3])')}) + str(i)",
            between=put,
        )
    yield Case(
        "print options",
        "return str(np.array([1 / 3])) + str(i)",
        between="np.set_printoptions(precision=2 + epoch)",
    )
    yield Case(
        "errstate",
        "return str(np.geterr()) + str(i)",
        between="np.seterr(over=['warn', 'ignore'][epoch % 2])",
    )
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
