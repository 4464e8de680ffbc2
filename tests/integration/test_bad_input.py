"""What bad input gets, end to end: an unmodified program as it is and under `headrace run`.

It must see the same errors at the same batches, and lose nothing else.
"""

import collections
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment
from support.photos import write_jpegs

# Prints what each batch of one was: label and bits, or the error. Before each epoch something may
# happen.
PROGRAM = """
import hashlib, json, pathlib, sys
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

root, workers, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]

def lines(error):
    # Without the lines of a traceback, which name files and lines.
    return [line for line in str(error).splitlines() if not line.startswith(" ")]

size = transforms.RandomResizedCrop(32) if workers else transforms.Resize((32, 32))
data = datasets.ImageFolder(root, transforms.Compose([size, transforms.ToTensor()]))
torch.manual_seed(5)
loader = DataLoader(data, shuffle=True, num_workers=workers)
for number, happens in enumerate(epochs):
    exec(happens)
    batches = None
    while True:
        try:
            batches = batches or iter(loader)
            images, labels = next(batches)
        except StopIteration:
            break
        except Exception as error:
            for note in getattr(error, "__notes__", ()):
                print(note, file=sys.stderr)
            print(json.dumps([number, type(error).__name__, lines(error)]))
            if batches is None:
                break
        else:
            bits = hashlib.sha256(images.numpy().tobytes()).hexdigest()
            print(json.dumps([number, "batch", labels.tolist(), bits]))
"""

# Root may read everything; without these rights it is bound by a file's mode as everybody is.
AS_A_USER = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


class Run:
    def __init__(self, done: subprocess.CompletedProcess, report: Path) -> None:
        self.status, self.errors = done.returncode, done.stderr
        self.seen = [json.loads(line) for line in done.stdout.splitlines()]
        self.loaders = json.loads(report.read_text())["loaders"] if report.exists() else []

    def kinds(self, epoch: int) -> collections.Counter:
        """How many batches of an epoch were what."""
        return collections.Counter(seen[1] for seen in self.seen if seen[0] == epoch)


class Programs:
    """Runs PROGRAM on a fresh copy of a set of 16 photos: as it is, and under `headrace run`."""

    def __init__(self, place: Path, prefix: list[str]) -> None:
        self.place, self.prefix = place, prefix
        self.root = place / "photos"
        self._kept = write_jpegs(place / "kept", classes=2, count=8)

    def stock(self, epochs: Sequence[str], workers: int = 2) -> Run:
        return self._run([], epochs, workers)

    def served(self, epochs: Sequence[str], workers: int = 2, words: Sequence[str] = ()) -> Run:
        report = str(self.place / "report.json")
        return self._run([HEADRACE, "run", "--report", report, *words], epochs, workers)

    def same(self, epochs: Sequence[str], workers: int = 2) -> Run:
        """The program sees the same, and its batches came from the workers. Returns what it saw."""
        expected = self.stock(epochs, workers)
        assert expected.status == 0, expected.errors
        served = self.served(epochs, workers)
        assert served.seen == expected.seen, served.errors
        assert served.status == 0, served.errors
        assert [loader["path"] for loader in served.loaders] == ["native"], served.errors
        return served

    def _run(self, words: Sequence[str], epochs: Sequence[str], workers: int) -> Run:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._kept, self.root)
        program = [sys.executable, "-c", PROGRAM, str(self.root), str(workers), *epochs]
        return Run(self.run([*words, *program]), self.place / "report.json")

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*self.prefix, *command],
            capture_output=True,
            text=True,
            timeout=300,
            env=clean_environment(XDG_CACHE_HOME=str(self.place / "cache")),
        )


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path, [])


@pytest.fixture
def as_a_user(tmp_path: Path) -> Programs:
    """Programs that may not read what the mode of a file forbids."""
    prefix = AS_A_USER if os.geteuid() == 0 else []
    secret = tmp_path / "secret"
    secret.touch(mode=0)
    tried = subprocess.run([*prefix, "cat", str(secret)], capture_output=True, text=True)
    if "Permission denied" not in tried.stderr:
        pytest.skip(f"this root cannot give its rights up: {tried.stderr.strip()}")
    return Programs(tmp_path, prefix)


BAD_FILES = {
    "FileNotFoundError": "(root / 'class1/001.jpg').unlink()",
    "IsADirectoryError": "f = root / 'class1/002.jpg'; f.unlink(); f.mkdir()",
    "UnidentifiedImageError": "(root / 'class1/003.jpg').write_bytes(b'')",
    "UnidentifiedImageError ": "(root / 'class1/004.jpg').write_bytes(b'this is no picture')",
    "OSError": "f = root / 'class1/005.jpg'; f.write_bytes(f.read_bytes()[:500])",
    # Its quantization tables are not there any more.
    "OSError ": "f = root / 'class1/006.jpg'; "
    "f.write_bytes(f.read_bytes().replace(b'\\xff\\xdb', b'\\xff\\xfe'))",
}


@pytest.mark.parametrize("workers", [2, 0])
def test_bad_files_and_a_folder_that_vanishes_between_epochs(programs, workers):
    """The batch of a bad file raises, naming it; the others come, and all when it is good again."""
    away = "(root / 'class1').rename(root.parent / 'away')"
    back = "(root.parent / 'away').rename(root / 'class1')"
    served = programs.same(["", "\n".join(BAD_FILES.values()), away, back], workers)
    assert served.kinds(0) == {"batch": 16}
    bad = collections.Counter(kind.strip() for kind in BAD_FILES)
    assert served.kinds(1) == bad + collections.Counter(batch=10)
    assert served.kinds(2) == {"batch": 8, "FileNotFoundError": 8}
    assert served.kinds(3) == served.kinds(1)
    for number in range(1, 7):
        path = str(programs.root / f"class1/00{number}.jpg")
        seen = [line for seen in served.seen if seen[1] != "batch" for line in seen[2]]
        assert path in served.errors or any(path in line for line in seen), path


def test_what_may_not_be_read(as_a_user):
    """A file, then its class folder, then all is well again."""
    file = "(root / 'class1/003.jpg').chmod({})"
    folder = "(root / 'class1').chmod({})"
    epochs = [
        "",
        file.format("0"),
        f"{file.format('0o600')}; {folder.format('0')}",
        folder.format("0o700"),
    ]
    served = as_a_user.same(epochs)
    assert served.kinds(0) == {"batch": 16}
    assert served.kinds(1) == {"batch": 15, "PermissionError": 1}
    assert served.kinds(2) == {"batch": 8, "PermissionError": 8}
    assert served.kinds(3) == {"batch": 16}
    lines = [line for seen in served.seen if seen[1] != "batch" for line in seen[2]]
    assert any(f"{as_a_user.root}/class1/003.jpg" in line for line in lines)


SETS = """
import pathlib, sys, torch
from torch.utils.data import DataLoader
from torchvision import datasets

root = pathlib.Path(sys.argv[1])
for folder in sorted(root.iterdir()):
    try:
        print(folder.name, len(datasets.ImageFolder(folder)))
    except Exception as error:
        print(folder.name, type(error).__name__, error)
    try:
        data = datasets.ImageFolder(folder, allow_empty=True)
        print(len(data), len(list(DataLoader(data, 4, num_workers=2))))
    except Exception as error:
        lines = str(error).splitlines()  # between them the frames of the worker's own code
        print(type(error).__name__, lines[0], lines[-1])
datasets.ImageFolder(root / "nowhere")
"""


def test_sets_without_pictures(programs):
    """The program ends with the same errors; nothing of ours is in its way."""
    root = programs.root
    for folder in ("nothing", "one empty class/full", "one empty class/empty", "no picture/class"):
        (root / folder).mkdir(parents=True)
    (root / "no class").mkdir()
    for folder in ("no class", "one empty class/full"):
        Image.new("RGB", (40, 40)).save(root / folder / "0.jpg")
    program = [sys.executable, "-c", SETS, str(root)]
    expected = programs.run(program)
    served = programs.run([HEADRACE, "run", *program])
    assert served.returncode == expected.returncode == 1
    assert served.stdout == expected.stdout
    # But for the lines that say why a loader is not native.
    said = [line for line in served.stderr.splitlines() if not line.startswith("headrace: Data")]
    assert said == expected.stderr.splitlines()
    assert served.stdout.count("FileNotFoundError") == 6, served.stdout
    assert f"FileNotFoundError: [Errno 2] No such file or directory: '{root}" in served.stderr


def test_batches_over_the_bound_of_memory(programs):
    """They are the stock loader's, and a line names the bound and the option; smaller ones are served."""
    epochs = ["size.size = (1200, 1200)", "size.size = (32, 32)"]  # 17 MB, 12 KB
    served = programs.served(epochs, workers=0, words=["--memory", "8M"])
    assert served.status == 0, served.errors
    assert served.kinds(1) == {"batch": 16}
    assert set(served.kinds(0)) == {"batch"}
    assert served.errors.count("`headrace run --memory`") == 1 and "batch_size" in served.errors


LIMITED = """
import os, resource, sys
import torch
from torch.utils.data import DataLoader, TensorDataset
import headrace
kind, room = getattr(resource, sys.argv[1]), int(sys.argv[2])
if sys.argv[1] == "RLIMIT_AS":
    with open("/proc/self/statm") as file:
        room += int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
before = resource.getrlimit(kind)
resource.setrlimit(kind, (room, before[1]))
data = TensorDataset(torch.arange(300_000.0).reshape(100, 3000))
headrace.install()
whole = torch.cat([batch[0] for batch in DataLoader(data, 4, num_workers=1)])
print("equal" if torch.equal(whole, data.tensors[0]) else "different")
resource.setrlimit(kind, before)
whole = torch.cat([batch[0] for batch in DataLoader(data, 4, num_workers=1)])
print("equal" if torch.equal(whole, data.tensors[0]) else "different")
"""


@pytest.mark.parametrize(
    ("limit", "room"),
    [
        ("RLIMIT_AS", 4 << 30),
        ("RLIMIT_AS", 512 << 20),
        ("RLIMIT_FSIZE", 64 << 20),
        ("RLIMIT_FSIZE", 1 << 20),
    ],
)
def test_limits_of_the_process(limit, room):
    """`ulimit -v` and `-f`: fewer slots, or the loader's own workers and a line that names them."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, limit, str(room)],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["equal", "equal"]
    assert ("`ulimit -v` and `ulimit -f`" in done.stderr) == (room == 1 << 20), done.stderr


def test_full_dev_shm(programs):
    """Batches are not there: the stock loader's tensors lie in it, ours in a memfd."""
    full = (
        "mount -t tmpfs -o size=8k none /dev/shm && { cat /dev/zero >/dev/shm/filler; "
        'test -s /dev/shm/filler && exec "$@"; }'
    )
    prefix = ["unshare", "--mount", "sh", "-c", full, "sh"]
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no private /dev/shm can be mounted here: {tried.stderr.strip()}")
    expected = programs.stock([""])
    programs.prefix = prefix
    served = programs.served([""])
    assert served.status == 0, served.errors
    assert served.seen == expected.seen
    assert [loader["path"] for loader in served.loaders] == ["native"], served.errors
