"""What callers give and see, and kinds of code."""

from .table import NEVER, Case


def cases():
    yield from _callers()
    yield from _kinds()


def _callers():
    yield Case(
        "argument that is written", "x = np.full(3, i)\nfill(x)\nreturn x", "def fill(x): x += 1\n"
    )
    yield Case(
        "argument written and returned",
        "return fill(np.full(3, i))",
        "def fill(x):\n    x += 1\n    return x.sum()",
    )
    yield Case(
        "written by what is kept",
        "x = [i]\nadd(x)\nreturn x",
        "def add(x):\n    x.append(1)\n    return 1",
    )
    yield Case(
        "dict that is popped",
        "d = {'a': i, 'b': 1}\nreturn take(d) + len(d)",
        "def take(d): return d.pop('a')",
    )
    yield Case(
        "iterator as an argument",
        "it = iter([i, 2, 3])\nreturn take(it) + take(it)",
        "def take(it): return next(it)",
    )
    yield Case(
        "file as an argument",
        "f = io.BytesIO(b'abcdef')\nreturn take(f) + take(f)",
        "import io\ndef take(f): return f.read(1)",
    )
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
    yield Case(
        "recursion", "return fact(i + 3)", "def fact(n): return 1 if n < 2 else n * fact(n - 1)"
    )
    yield Case(
        "deep recursion", "return deep(700)", "def deep(n): return 0 if n == 0 else 1 + deep(n - 1)"
    )
    yield Case(
        "mutual recursion",
        "return even(i)",
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)",
    )
    yield Case("depth of recursion", "return deep()", check=NEVER,
               before="def deep():\n    try:\n        return 1 + deep()\n    except RecursionError:\n        return 0")  # fmt: skip
    yield Case("name of the function", "return self.load.__name__ + str(i)")
    yield Case(
        "text of the function", "return helper.__doc__ + str(i)", "def helper():\n    'text'"
    )
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
    yield Case(
        "argument by identity",
        "a, b = [i], [i]\nreturn same(a, a), same(a, b)",
        "def same(a, b): return a is b",
    )
    yield Case(
        "text by identity",
        "a = str(i) * 2\nb = str(i) * 2\nreturn same(a, a), same(a, b)",
        "def same(a, b): return a is b",
    )
    yield Case("aliases within an argument", "x = [i]\nreturn put([x, x]), put([[i], [i]])",
               "def put(v):\n    v[0].append(1)\n    return len(v[1])")  # fmt: skip
    yield Case("memory shared by arguments", "a = np.arange(4)\nreturn add(a, a[:]), add(a, a.copy())",
               "def add(a, b):\n    b = b + 0\n    a[0] += 1\n    return a + b")  # fmt: skip
    yield Case("overlap of arguments", "a = np.arange(6.0)\nreturn lap(a, a[2:]), lap(a, a[2:].copy())",
               "def lap(a, b): return np.shares_memory(a, b)")  # fmt: skip
    yield Case(
        "references to an argument",
        "return count(np.arange(3))",
        "def count(x): return sys.getrefcount(x)",
        check=NEVER,
    )
    yield Case("hash of an argument", "return h(('a', i))", "def h(x): return hash(x)", check=NEVER)
    yield Case(
        "caller by its frame",
        "return who()",
        "def who(): return sys._getframe(1).f_code.co_name",
        check=NEVER,
    )
    yield Case("threads in a sample", "from concurrent.futures import ThreadPoolExecutor as T\n"
               "with T(2) as t: return list(t.map(helper, [i, i + 1]))", "def helper(x): return np.full(2, x)")  # fmt: skip


def _kinds():
    yield Case("generator function", "return list(gen(i))", "def gen(i):\n    yield from range(i)")
    yield Case("generator that is shared", "return next(self.g) + i", "def gen():\n    n = 0\n    while True:\n        n += 1\n        yield n",
               "self.g = gen()")  # fmt: skip
    yield Case(
        "coroutine", "return asyncio.run(co(i))", "import asyncio\nasync def co(i): return i"
    )
    yield Case("class with __call__", "return self.t(i)", "class T:\n    def __init__(self): self.k = 2\n    def __call__(self, x): return x * self.k",
               "self.t = T()", between="data.t.k = epoch")  # fmt: skip
    yield Case(
        "inner function",
        "def inner(x): return x * self.k\nreturn inner(i)",
        init="self.k = 1",
        between="data.k = epoch",
    )
    yield Case("super", "return super().__repr__()[:2] + str(i)")
    yield Case("super of a class", "return T().f(i)", "class B:\n    def f(self, i): return i * K[0]\nclass T(B):\n"
               "    def f(self, i): return super().f(i) + 1\nK = [1]", between="K[0] = epoch")  # fmt: skip
    yield Case("walrus", "return (y := self.k) * i", init="self.k = 1", between="data.k = epoch")
    yield Case(
        "match",
        "match self.k:\n    case 0: return i\n    case _: return -i",
        init="self.k = 0",
        between="data.k = epoch % 2",
    )
    yield Case(
        "star arguments",
        "return add(*self.a, i)",
        "def add(*x): return sum(x)",
        "self.a = [1]",
        between="data.a.append(epoch)",
    )
    yield Case("named arguments", "return add(**self.a, i=i)", "def add(**x): return sum(x.values())", "self.a = {'b': 1}",
               between="data.a['b'] = epoch")  # fmt: skip
    yield Case("import within", "import math\nreturn math.sqrt(i)")
    yield Case("import of what is new", "import colorsys\nreturn colorsys.rgb_to_hsv(i, 1, 2)")
    yield Case(
        "global that is defined later",
        "try:\n    return LATE * i\nexcept NameError:\n    return -1",
        between="if epoch == 2: globals()['LATE'] = 3",
    )
    yield Case(
        "builtin that is shadowed",
        "return len(range(i))",
        between="if epoch == 2: globals()['len'] = lambda x: 77",
    )
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
