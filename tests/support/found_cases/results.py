"""Results that are more than their bits, and functions that are kept."""

from .table import KEPT, Case


def cases():
    yield from _results()
    yield from _kept()


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
        yield Case(
            name, load, "from PIL import Image", getitem=f"x = self.load(i)\n{rest}\n{keeps}"
        )
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
