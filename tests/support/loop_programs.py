"""Programs that iterate once, and programs that are likely to iterate again, by their text.

Run as a program, with the path of serve/loops.py: under any Python, without a package."""

import importlib.util
import sys


class Loader:
    """Tells at each iter() whether the program is in a loop."""

    def __init__(self, loops):
        self.seen, self._loops = [], loops

    def __iter__(self):
        self.seen.append(self._loops.surround(sys._getframe(1)))
        return iter([1, 2])


def program(loops, text, **names):
    """What a loader was told in a program of that text, which is its main module."""
    made = Loader(loops)
    exec(compile(text, "<program>", "exec"), {"__name__": "__main__", "loader": made, **names})
    assert made.seen, "the program does not iterate"
    return made.seen


ONCE = {
    "one loop": "for batch in loader: pass",
    "one loop, with numbers": "for n, batch in enumerate(loader):\n if n: continue\n len([n for n in [n]])",
    "a list of it": "list(loader)",
    "after a loop": "for n in range(3): pass\nfor batch in loader: pass",
    "before a loop": "for batch in loader: pass\nfor n in range(3): pass",
    "in a function": "def train():\n for batch in loader: pass\ntrain()",
    # The loop that asks such a generator for its next item is the iteration.
    "by a generator": "def shown(it):\n for x in it: yield x\nfor batch in shown(loader): pass",
    "by two": "def a(it):\n for x in it: yield x\ndef b(it):\n yield from it\nfor x in a(b(loader)): pass",
    "by a generator, with much in it": "def shown(it):\n for x in it: yield x\nn = 0\nfor batch in shown(loader):\n"
    + " n = n + n\n" * 400,
    "after a try": "try: import os\nexcept ImportError: os = None\nfor batch in loader: pass",
    "after a with": "import io\nwith io.BytesIO() as f: f.read()\nfor batch in loader: pass",
    "in a with": "import io\nwith io.BytesIO() as f:\n for batch in loader: f.read()",
    "after a loop with a with": "import io\nfor n in range(3):\n with io.BytesIO() as f: f.read()\nfor batch in loader: pass",
    "after a loop with a try": "for n in range(3):\n try: n / 0\n except ZeroDivisionError: continue\nlist(loader)",
    "in a function with a with": "import io\ndef main():\n with io.BytesIO() as f:\n  for b in loader: pass\nmain()",
    "a generator that runs often": "def shown(it):\n for x in it: yield x\ndef run(gen):\n for x in gen: pass\n"
    "for n in [0]: pass\nrun(x for x in ()); run(x for x in ()); run(x for x in ()); run(shown(loader))",
    "a coroutine": "async def main():\n for batch in loader: pass\nimport asyncio\nasyncio.run(main())",
    "a thread": "import threading\nt = threading.Thread(target=lambda: list(loader))\nt.start(); t.join()",
    "a pool": "import concurrent.futures as f\nwith f.ThreadPoolExecutor() as pool: pool.submit(list, loader).result()",
    "many digits": "P = 0x" + "f" * 5000 + "\nfor n in range(2): pass\nlist(loader)",
    "by next()": "it = iter(loader)\nwhile True:\n try: next(it)\n except StopIteration: break",
}
AGAIN = {
    "epochs": "for epoch in range(2):\n for batch in loader: pass",
    "while": "n = 0\nwhile n < 2:\n n += 1\n for batch in loader: pass",
    "while not": "n = 2\nwhile not n == 0:\n n -= 1\n for batch in loader: pass",
    "for ever": "n = 0\nwhile True:\n n += 1\n for batch in loader: pass\n if n > 1: break",
    "a function of an epoch": "def train():\n for batch in loader: pass\nfor epoch in range(2): train()",
    "a generator in epochs": "def shown(it):\n for x in it: yield x\n"
    "for epoch in range(2):\n for batch in shown(loader): pass",
    "a list in epochs": "for epoch in range(2): list(loader)",
    "in a class": "class Trainer:\n def fit(self):\n  for epoch in range(2): self.epoch()\n"
    " def epoch(self):\n  for batch in loader: pass\nTrainer().fit()",
    "begun again": "n, it = 0, iter(())\nwhile n < 5:\n n += 1\n try: next(it)\n"
    " except StopIteration: it = iter(loader)",
    "many digits": "P = 0x" + "f" * 5000 + "\nfor epoch in range(2): list(loader)",
    "in a try": "for epoch in range(2):\n try:\n  for batch in loader: pass\n except KeyError: pass",
    "in a with": "import io\nfor epoch in range(2):\n with io.BytesIO() as f:\n  for batch in loader: f.read()",
    # More than 255 instructions after it.
    "far": "for epoch in range(2):\n for batch in loader: pass\n" + " n = epoch + epoch\n" * 400,
}


if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("loops", sys.argv[1])
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    wrong = [f"once: {name}" for name in ONCE if any(program(found, ONCE[name]))]
    wrong += [f"again: {name}" for name in AGAIN if not all(program(found, AGAIN[name]))]
    sys.exit(", ".join(wrong) or 0)
