"""Functions that depend on the clock, the process, the environment, folders, or random numbers, and that act."""

from .table import EQUAL, NEVER, Case

# Each is called in load(), and has another value each time, or in each process: nothing of it may be kept.
_CALLS = {
    "time.time": "import time|time.time()",
    "time.time_ns": "import time|time.time_ns()",
    "perf_counter": "import time|time.perf_counter()",
    "monotonic": "from time import monotonic|monotonic()",
    "process_time": "import time as t|t.process_time()",
    "thread_time": "import time|time.thread_time_ns()",
    "clock_gettime": "import time|time.clock_gettime(1)",
    "strftime": "import time|time.strftime('%S')",
    "ctime": "import time|time.ctime()",
    "gmtime": "import time|time.gmtime().tm_sec",
    "localtime": "import time|list(time.localtime())",
    "datetime.now": "import datetime|str(datetime.datetime.now())",
    "datetime of a class": "from datetime import datetime|datetime.utcnow().microsecond",
    "date.today": "import datetime|str(datetime.date.today())",
    "now by getattr": "import datetime|str(getattr(datetime.datetime, 'n' + 'ow')())",
    "time by getattr": "import time|getattr(time, 'ti' + 'me')()",
    "clock of numpy": "|str(np.datetime64('now', 'us'))",
    "clock of pandas": "import pandas as pd|str(pd.Timestamp.now())",
    "urandom": "|list(os.urandom(2))",
    "secrets": "import secrets|secrets.randbits(20)",
    "uuid4": "import uuid|uuid.uuid4().hex",
    "uuid1": "from uuid import uuid1|uuid1().int",
    "pid": "|os.getpid()",
    "parent": "|os.getppid()",
    "thread": "import threading|threading.get_ident()",
    "name of a thread": "import threading|threading.current_thread().name",
    "id": "|id(object())",
    "hash of an object": "|hash(object())",
    "hash of a text": "|hash('text')",
    "repr of an object": "class Thing: pass|Thing.__hash__(Thing())",
    "host": "import socket|socket.gethostname()",
    "platform": "import platform|platform.node()",
    "uname": "|os.uname().release",
    "load": "|os.getloadavg()[0]",
    "usage": "import resource|resource.getrusage(resource.RUSAGE_SELF).ru_utime",
    "system random": "|random.SystemRandom().random()",
    "own generator of Python": "|random.Random().random()",
    "unseeded generator": "|np.random.default_rng().random()",
    "unseeded RandomState": "|np.random.RandomState().rand()",
    "generator by another name": "from numpy.random import default_rng as made|made().random()",
    "unseeded torch generator": "|torch.Generator().seed()",
    "references": "|sys.getrefcount(np)",
    "objects": "import gc|len(gc.get_objects())",
    "frames": "|sys._getframe(1).f_lineno",
    "inspect": "import inspect|inspect.currentframe().f_back.f_code.co_name",
    "stack": "import traceback|len(traceback.extract_stack())",
    "worker": "from torch.utils.data import get_worker_info|get_worker_info() is None",
    "environment": "|os.environ.get('HEADRACE_CASE', '')",
    "environment by item": "|os.environ['PATH']",
    "getenv": "|os.getenv('HOME')",
    "getenv by name": "from os import getenv as look|look('HOME')",
    "tempfile": "import tempfile|tempfile.gettempdir()",
    "new file": "import tempfile|tempfile.mkstemp()[1]",
    "subprocess": "import subprocess|subprocess.check_output(['echo', 'a'])",
    "system": "|os.system('true')",
    "popen": "|os.popen('echo a').read()",
    "started thread": "import threading|threading.Thread(target=lambda: None).start()",
    "pool of threads": "from concurrent.futures import ThreadPoolExecutor as T|list(T(1).map(abs, [1]))",
    "fork": "|os.waitpid(os.fork() or os._exit(0), 0)[1]",
    "print": "|print('loaded')",
    "print to errors": "|print('loaded', file=sys.stderr)",
    "stdout": "|sys.stdout.write('loaded\\n')",
    "write to a descriptor": "|os.write(2, b'loaded\\n')",
    "logging": "import logging|logging.getLogger('a').warning('loaded')",
    "quiet logging": "import logging\nlog = logging.getLogger('b')|log.debug('loaded')",
    "warning": "import warnings|warnings.warn('loaded')",
    "warning of numpy": "|float(np.float64(1) / np.float64(0))",
    "warning of an array": "|np.log(np.zeros(3)).tolist()",
    "listdir": "|os.listdir('/proc/self/fd')",
    "scandir": "|len(list(os.scandir('/tmp')))",
    "walk": "|sum(1 for _ in os.walk('/proc/self/fd'))",
    "glob": "import glob|glob.glob('/proc/self/fd/*')",
    "Path.glob": "from pathlib import Path|len(list(Path('/proc/self/fd').glob('*')))",
    "iterdir": "from pathlib import Path|len(list(Path('/proc/self/fd').iterdir()))",
    "proc": "|open('/proc/self/stat').read()",
    "device": "|open('/dev/urandom', 'rb').read(2)",
    "breath of the collector": "import gc|gc.collect()",
    "recursion limit": "|sys.getrecursionlimit()",
    "set the recursion limit": "|sys.setrecursionlimit(sys.getrecursionlimit())",
    "profile hook": "|sys.setprofile(None)",
    "trace hook": "|sys.settrace(None)",
    "signal": "import signal|str(signal.getsignal(2))",
    "itimer": "import signal|signal.getitimer(0)",
    "exec": "|exec('import time; time.time()')",
    "eval": "|eval('len(str(i))')",
    "globals": "|len(globals())",
    "locals": "|sorted(locals())",
    "vars": "|sorted(vars(self))",
    "dict of an object": "|sorted(self.__dict__)",
    "set of an attribute": "|setattr(self, 'n', 1)",
    "import by name": "|__import__('ti' + 'me').time()",
    "importlib": "import importlib|importlib.import_module('time').time()",
    "attribute by operator": "import operator, time|operator.attrgetter('time')(time)()",
    "method by operator": "import operator, time|operator.methodcaller('time')(time)",
    "clock in map": "import time|list(map(lambda f: f(), [time.time]))[0]",
    "clock in a partial": "import functools, time\nnow = functools.partial(time.time)|now()",
    "clock in a dict": "import time\nCLOCKS = {'a': time.time}|CLOCKS['a']()",
    "clock in a default": "import time\ndef now(clock=time.time): return clock()|now()",
    "clock in a closure": "import time\ndef outer(c):\n    return lambda: c()\nnow = outer(time.time)|now()",
    "clock in a class": "import time\nclass C:\n    now_ = staticmethod(time.time)|C.now_()",
    "clock as a key": "import time|sorted([2, 1], key=lambda _: time.time())[0] + time.time()",
    "clock in a property": "import time\nclass C:\n    @property\n    def v(self): return time.time()|C().v",
    "clock in getattr": "import time\nclass C:\n    def __getattr__(self, n): return time.time()|C().v",
    "clock in an operator": "import time\nclass C:\n    def __add__(self, o): return time.time()|C() + 1",
    "clock in a descriptor": (
        "import time\nclass G:\n    def __get__(self, o, t): return time.time()\n"
        "class C:\n    v = G()|C().v"
    ),
    "clock in a metaclass": (
        "import time\nclass M(type):\n    def __call__(cls): return time.time()\n"
        "class C(metaclass=M): pass|C()"
    ),
    "clock in new": (
        "import time\nclass C(float):\n    def __new__(cls): return float.__new__(cls, time.time())"
        "|float(C())"
    ),
    "clock in a context": (
        "import time\nclass C:\n    def __enter__(self): return time.time()\n"
        "    def __exit__(self, *_): pass\ndef use():\n    with C() as c: return c|use()"
    ),
    "clock in a generator": "import time\ndef g():\n    yield time.time()|next(g())",
    "clock in a comprehension": "import time|[time.time() for _ in range(1)][0]",
    "clock in format": (
        "import time\nclass C:\n    def __format__(self, s): return str(time.time())|f'{C()}'"
    ),
    "clock in an iterator": "import time|next(iter(time.time, 0))",
    "clock in ctypes": "import ctypes|ctypes.CDLL(None).rand()",
    "clock in an lru_cache": (
        "import functools, time\n@functools.lru_cache\ndef now(i): return time.time()|now(i)"
    ),
}  # fmt: skip


def cases():
    for name, text in _CALLS.items():
        before, call = text.split("|", 1)
        yield Case(name, f"x = {call}\nreturn [x, np.full(3, i)]", before, check=NEVER)
    # The same, where the whole sample could be kept.
    for name in ("time.time", "urandom", "pid", "own generator of Python", "environment"):
        before, call = _CALLS[name].split("|", 1)
        yield Case(
            f"{name}, deep", "return helper(i)",
            f"{before}\ndef helper(i):\n    return inner(i) + 1\ndef inner(i):\n    return len(str({call})) + i",
            getitem="return self.load(i)", check=NEVER,
        )  # fmt: skip
    yield from _random()
    yield from _files()


_DRAWS = {
    "random": "random.random()", "choice": "random.choice([1, 2, 3])", "randint": "random.randint(0, 9)",
    "shuffle": "random.shuffle([1, 2])", "gauss": "random.gauss(0, 1)", "numpy rand": "np.random.rand()",
    "numpy permutation": "np.random.permutation(4)", "numpy choice": "np.random.choice(4)",
    "numpy normal": "np.random.normal()", "torch rand": "torch.rand(2)", "torch randn": "torch.randn(2)",
    "torch randint": "torch.randint(0, 9, (1,))", "torch randperm": "torch.randperm(5)",
    "in place": "torch.zeros(2).uniform_()", "bernoulli": "torch.bernoulli(torch.full((3,), 0.5))",
    "dropout": "torch.nn.functional.dropout(torch.ones(4))", "rand_like": "torch.rand_like(torch.ones(3))",
    "multinomial": "torch.multinomial(torch.ones(4), 1)", "by getattr": "getattr(np.random, 'ra' + 'nd')()",
    "seed of Python": "random.seed(i)", "seed of numpy": "np.random.seed(i)",
    "seed of torch": "torch.manual_seed(i)", "rarely": "np.random.rand() if i == 5 else 0.5",
    "state": "random.getstate()[1][0]",
}  # fmt: skip


def _random():
    for name, call in _DRAWS.items():
        for whole in (False, True):
            getitem = "return self.load(i)" if whole else "return self.load(i), random.random()"
            yield Case(
                f"draws: {name}{', whole' if whole else ''}", f"return [{call}, i]", getitem=getitem
            )
    yield Case(
        "own generator, seeded", "return self.rng.random() + i", init="self.rng = random.Random(3)"
    )
    yield Case(
        "own generator of numpy", "return self.rng.random() + i",
        init="self.rng = np.random.default_rng(3)",
    )  # fmt: skip
    yield Case(
        "own generator of torch", "return torch.rand(2, generator=self.rng)",
        init="self.rng = torch.Generator(); self.rng.manual_seed(3)",
    )  # fmt: skip
    yield Case("generator in a global", "return RNG.random() + i", "RNG = np.random.RandomState(1)")
    yield Case(
        "generator in a closure", "return draw() + i",
        "def made():\n    rng = random.Random(1)\n    return lambda: rng.random()\ndraw = made()",
    )  # fmt: skip
    yield Case(
        "generator in a default", "return draw() + i",
        "def draw(rng=np.random.default_rng(1)): return rng.random()",
    )  # fmt: skip
    yield Case(
        "bound method of a generator", "return DRAW() + i", "DRAW = np.random.RandomState(1).rand"
    )
    yield Case("iterator of numbers", "return next(NUMBERS) + i", "NUMBERS = iter(range(10**6))")
    yield Case("counter", "return next(COUNT) + i", "import itertools\nCOUNT = itertools.count()")
    yield Case("cycle", "return next(C), i", "import itertools\nC = itertools.cycle('abc')")


def _files():
    write = "open(f'{self.folder}/{n}', 'w').write(str(n)) "
    init = f"for n in range(6): {write}"
    read = "return open(f'{self.folder}/{i}').read()"
    settle = "import time; time.sleep(0.03)"
    yield Case("file", read, init=init + "\n" + settle)
    yield Case(
        "file that changes", read, init=init,
        between="for n in range(3): open(f'{data.folder}/{n}', 'w').write(str(n + epoch))",
    )  # fmt: skip
    yield Case(
        "file of the same size and times", read, init=init,
        between="""
        for n in range(6):
            path = f'{data.folder}/{n}'
            state = os.stat(path)
            open(path, 'w').write(str((n + epoch) % 10))
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        """,
    )  # fmt: skip
    yield Case(
        "file that is written in place", read, init=init,
        between="""
        for n in range(6):
            fd = os.open(f'{data.folder}/{n}', os.O_WRONLY)
            os.pwrite(fd, str((n + epoch) % 10).encode(), 0)
            os.close(fd)
        """,
    )  # fmt: skip
    yield Case(
        "file that is replaced", read, init=init,
        between="""
        for n in range(6):
            open(f'{data.folder}/new', 'w').write(str((n + epoch) % 10))
            os.rename(f'{data.folder}/new', f'{data.folder}/{n}')
        """,
    )  # fmt: skip
    yield Case(
        "link that turns", "return open(f'{self.folder}/link').read() + str(i)", init=init,
        between="""
        if epoch: os.unlink(f'{data.folder}/link')
        os.symlink(f'{data.folder}/{epoch % 3}', f'{data.folder}/link')
        """,
    )  # fmt: skip
    yield Case(
        "folder that turns", "return open(f'{self.folder}/now/a').read() + str(i)",
        between="""
        os.makedirs(f'{data.folder}/{epoch}')
        open(f'{data.folder}/{epoch}/a', 'w').write(str(epoch))
        if epoch: os.unlink(f'{data.folder}/now')
        os.symlink(f'{data.folder}/{epoch}', f'{data.folder}/now')
        """,
    )  # fmt: skip
    yield Case(
        "relative path", "return open(str(i)).read()",
        between="""
        os.makedirs(f'{data.folder}/{epoch}')
        for n in range(6): open(f'{data.folder}/{epoch}/{n}', 'w').write(f'{epoch} {n}')
        os.chdir(f'{data.folder}/{epoch}')
        """,
    )  # fmt: skip
    yield Case(
        "file that comes", "try:\n    return open(f'{self.folder}/late').read()\nexcept OSError:\n    return i",
        between="if epoch == 2: open(f'{data.folder}/late', 'w').write('late')",
    )  # fmt: skip
    yield Case(
        "file that goes", "try:\n    return open(f'{self.folder}/{i}').read()\nexcept OSError:\n    return i",
        init=init, between="if epoch == 2: os.unlink(f'{data.folder}/3')",
    )  # fmt: skip
    for name, call in {
        "exists": "os.path.exists(p)", "isfile": "os.path.isfile(p)", "stat": "os.stat(p).st_size if i else 0",
        "getsize": "os.path.getsize(self.folder)", "access": "os.access(p, os.R_OK)",
        "lexists": "os.path.lexists(p)", "listdir": "sorted(os.listdir(self.folder))",
        "Path.exists": "Path(p).exists()", "Path.is_file": "Path(p).is_file()",
        "Path.stat": "Path(self.folder).stat().st_mtime_ns", "glob": "sorted(glob.glob(self.folder + '/*'))",
        "bound to a name": "check(p)",
    }.items():  # fmt: skip
        yield Case(
            f"looks: {name}", f"p = f'{{self.folder}}/late'\nreturn [{call}, i]",
            "import glob\nfrom pathlib import Path\ncheck = os.path.exists",
            between="if epoch != 1: open(f'{data.folder}/late', 'w').write('late' * epoch)\n"
            "else: os.unlink(f'{data.folder}/late')", check=NEVER,
        )  # fmt: skip
    yield Case("cwd", "return os.getcwd(), i", check=NEVER)
    yield Case(
        "abspath", "return os.path.abspath('a'), i", between="os.chdir('/tmp' if epoch else '/')"
    )
    yield Case(
        "expanduser", "return os.path.expanduser('~/a'), i", check=NEVER,
        between="os.environ['HOME'] = f'/home/{epoch}'",
    )  # fmt: skip
    yield Case(
        "environment that changes", "return os.environ.get('HEADRACE_CASE'), i", check=NEVER,
        between="os.environ['HEADRACE_CASE'] = str(epoch)",
    )  # fmt: skip
    yield Case(
        "open file", "self.file.seek(i)\nreturn self.file.read(1)",
        init="open(f'{self.folder}/a', 'w').write('abcdef'); self.file = open(f'{self.folder}/a')",
    )  # fmt: skip
    yield Case(
        "descriptor", "return os.pread(self.fd, 1, i)",
        init="open(f'{self.folder}/a', 'w').write('abcdef')\nself.fd = os.open(f'{self.folder}/a', 0)",
        between="open(f'{data.folder}/a', 'w').write('abcdef'[epoch:] + 'abcdef'[:epoch])",
    )  # fmt: skip
    yield Case(
        "memory map", "return self.map[i].copy()",
        init="np.arange(6).tofile(f'{self.folder}/a')\nself.map = np.memmap(f'{self.folder}/a', np.int64)",
        between="np.arange(epoch, 6 + epoch).tofile(f'{data.folder}/a')",
    )  # fmt: skip
    yield Case(
        "mapped in the call", "return np.load(f'{self.folder}/a.npy', mmap_mode='r')[i] + 1",
        between="np.save(f'{data.folder}/a.npy', np.arange(epoch, 6 + epoch))",
    )  # fmt: skip
    yield Case(
        "fromfile", "return np.fromfile(f'{self.folder}/a', np.int64)",
        between="np.arange(epoch, 6 + epoch).tofile(f'{data.folder}/a')",
    )  # fmt: skip
    yield Case(
        "writes", "open(f'{self.folder}/out', 'a').write('x')\n"
        "return len(open(f'{self.folder}/out').read())",
        check=NEVER,
    )  # fmt: skip
    yield Case(
        "writes by numpy", "np.save(f'{self.folder}/{i}.npy', np.arange(i))\nreturn i", check=NEVER
    )
    yield Case(
        "writes by tofile", "np.arange(3).tofile(f'{self.folder}/{i}')\nreturn i", check=NEVER
    )
    yield Case(
        "makes a folder", "os.makedirs(f'{self.folder}/a', exist_ok=True)\nreturn i", check=NEVER
    )
    yield Case(
        "text of a list", "return self.names[i], len(self.names)", init="self.names = list('abcdef')",
        between="data.names[epoch] = 'x' * epoch", check=EQUAL,
    )  # fmt: skip
