"""Programs that need an interpreter of their own: how they are started, and how they end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.both_cases import SEED
from support.both_ways import IN_PROGRAMS
from support.headrace_program import HEADRACE, clean_environment

_HEAD = """
import os, random, signal, sys
import torch
from bits import epochs, say, seed_all, show, states
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Own(Dataset):
    def __init__(self, look=lambda i: torch.rand(1)):
        self.look = look
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return i, self.look(i)

def loader(look=lambda i: torch.rand(1), **named):
    return DataLoader(Own(look), 2, **{"num_workers": 2, **named})

seed_all()
"""

PROGRAMS = {
    "plain": "epochs(loader(), 2)",
    "exit code": "epochs(loader()); sys.exit(5)",
    "error that nobody catches": "epochs(loader()); raise LookupError('of the loop')",
    "exit in mid epoch": "it = iter(loader()); show(next(it)); sys.exit(3)",
    "error of a sample that nobody catches": "for b in loader(lambda i: {}[i]): show(b)",
    "interrupted": "it = iter(loader()); show(next(it)); os.kill(os.getpid(), signal.SIGINT); show(next(it))",
    "terminated": "it = iter(loader()); show(next(it)); os.kill(os.getpid(), signal.SIGTERM); show(next(it))",
    "aborted": "it = iter(loader()); show(next(it)); os.abort()",
    "ended at once": "it = iter(loader()); show(next(it)); os._exit(9)",
    "left open at the end": "it = iter(loader(persistent_workers=True)); show(next(it))",
    "kept in a global": "kept = list(loader()); show(kept)",
    "broken pipe ignored": "signal.signal(signal.SIGPIPE, signal.SIG_DFL); epochs(loader())",
    "order of sets": """
names = {f"name {i}" for i in range(40)}
order = list(names)
epochs(loader(lambda i: str(list({f"name {i}" for i in range(40)}) == order)))
""",
    "hash of strings": "h = hash('name'); epochs(loader(lambda i: str(hash('name') == h)))",
    "deleted modules": "del sys.modules['random']; epochs(loader(lambda i: str('random' in sys.modules)))",
    "draws at the end": """
import atexit
epochs(loader(num_workers=0)); atexit.register(lambda: show(torch.rand(1), 'at exit'))
""",
    "own excepthook": """
sys.excepthook = lambda kind, error, trace: say(f'hook {kind.__name__}')
for b in loader(lambda i: {}[i]): show(b)
""",
    "replaced modules": """
sys.modules['random'] = sys.modules['statistics'] = None
epochs(loader(lambda i: str([sys.modules.get(n, 5) for n in ('random', 'statistics')])))
say(str(sys.modules['random']))
""",
    "main module by name": """
import __main__
epochs(loader(lambda i: str((__main__.Own is Own, Own.__module__, __name__))))
""",
}
ALWAYS = (
    "deleted modules",
    "interrupted",
    "order of sets",
)  # by default; the others are marked `full`
# How a program is started: the words after the interpreter, and whether its text is its input.
STARTS = {
    "file": ["program.py"],
    "text": ["-c", "{text}"],
    "input": ["-"],
    "module": ["-m", "program"],
}
OPTIONS = {"isolated hash": {"PYTHONHASHSEED": "random"}, "fixed hash": {"PYTHONHASHSEED": "3"}}


def _start(
    prefix: list[str], folder: Path, text: str, start: str, settings: dict[str, str]
) -> subprocess.Popen:
    folder.mkdir()
    (folder / "program.py").write_text(text)
    words = [word.format(text=text) if word == "{text}" else word for word in STARTS[start]]
    return subprocess.Popen(
        [*prefix, sys.executable, *words],
        cwd=folder,
        env=clean_environment(
            PYTHONPATH=os.pathsep.join([str(IN_PROGRAMS), str(folder)]),
            OMP_NUM_THREADS="1",
            BITS_SEED=SEED,
            BITS_FOLDER=str(folder),
            **settings,
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen, text: str, start: str) -> subprocess.CompletedProcess:
    try:
        out, err = process.communicate(text if start == "input" else "", timeout=120)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _same(place: Path, text: str, start: str = "file", **settings: str) -> None:
    # Both at once: half of the time goes into imports.
    with _start([], place / "stock", text, start, settings) as one:
        with _start([HEADRACE, "run"], place / "served", text, start, settings) as other:
            stock, served = _ended(one, text, start), _ended(other, text, start)
    assert served.stdout == stock.stdout, f"seed {SEED}:\n{served.stderr}"
    assert served.returncode == stock.returncode, served.stderr
    last = stock.stderr.splitlines()[-1:]  # of a traceback: what the user reads
    assert set(last) <= set(served.stderr.splitlines())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.full) for name in PROGRAMS],
)
def test_same_output_and_end(name: str, tmp_path: Path):
    _same(tmp_path, _HEAD + PROGRAMS[name])


@pytest.mark.full
@pytest.mark.parametrize("start", STARTS)
def test_however_it_is_started(start: str, tmp_path: Path):
    _same(tmp_path, _HEAD + "epochs(loader(), 2)\n", start)


@pytest.mark.full
@pytest.mark.parametrize("option", OPTIONS)
def test_with_settings_of_the_interpreter(option: str, tmp_path: Path):
    _same(tmp_path, _HEAD + PROGRAMS["order of sets"], **OPTIONS[option])
