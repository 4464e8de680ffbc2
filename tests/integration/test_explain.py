"""`headrace explain` as a user runs it: programs that stop at their DataLoader."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    ended,
    inspected,
    running,
    wait_for,
)
from support.photos import write_jpegs
from support.tree import documented_keys

LOADERS = """
import atexit, os, random, sys, threading
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import datasets, transforms as t

photos, mark = sys.argv[1:3]
print("the program's own words")

def left(word):
    with open(mark, "a") as file:
        file.write(word)

class Own(Dataset):
    def __init__(self, transform):
        self.files = sorted(os.path.join(d, f) for d, _, fs in os.walk(photos) for f in fs)
        self.transform = transform
    def __len__(self):
        return len(self.files)
    def __getitem__(self, index):
        return self.transform(Image.open(self.files[index]).convert("RGB").copy())

class Held(Own):
    def __init__(self):
        super().__init__(None)
        self.lock = threading.Lock()

def together(samples):
    return torch.stack(samples)

def seed_all(worker):
    torch.manual_seed(worker)

def seed_others(worker):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)

chain = t.Compose([t.Resize(40), t.RandomCrop(32), t.ToTensor(), t.Normalize([0.5] * 3, [0.5] * 3)])
mixed = t.Compose([t.Resize(40), t.CenterCrop(32), t.Lambda(lambda image: image), t.ToTensor()])
own = DataLoader(Own(mixed), 4, num_workers=1, collate_fn=together, worker_init_fn=seed_all)
held = DataLoader(Held(), 4, num_workers=1)
alone = DataLoader(Subset(datasets.ImageFolder(photos, chain), range(6)), 3)
bare = DataLoader(Own(mixed), 4)
train = DataLoader(datasets.ImageFolder(photos, chain), 4, shuffle=True, num_workers=2,
                   worker_init_fn=seed_others)
atexit.register(left, "atexit")
try:
    for batch in train:
        left("batch")
finally:
    left("finally")
left("end")
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=2, count=5)


@pytest.fixture(scope="module")
def explained(photos, tmp_path_factory):
    """One run of LOADERS: its JSON, its picture, and what came of the program."""
    folder = tmp_path_factory.mktemp("explained")
    words = ["explain", "--json", "--svg", str(folder / "graph.svg")]
    done = inspected(*words, program=LOADERS, arguments=(photos, folder / "mark"))
    assert done.returncode == 0, done.stderr
    done.folder = folder
    done.answer = json.loads(done.stdout)
    return done


def one_line(node):
    return all(text and "\n" not in text for text in (node["reason"], node["remedy"]))


def test_json_is_as_documented(explained):
    assert explained.answer["schema"] == 1 and explained.answer["rank"] == "0"
    for loader in explained.answer["loaders"]:
        assert set(loader) == documented_keys("docs/reference/explain.md", "A loader")
        ids = [node["id"] for node in loader["nodes"]]
        assert len(set(ids)) == len(ids)
        for node in loader["nodes"]:
            assert set(node) == documented_keys("docs/reference/explain.md", "A node")
            assert node["class"] in ("pure", "random", "stateful")
            assert node["form"] in ("native", "python")
            assert node["runs"] in ("workers", "trainer")
            stays = node["form"] == "python" or node["runs"] == "trainer"
            assert one_line(node) if stays else not node["reason"], node
        assert {loader["cut"], loader["cache"], loader["wire"]} <= {None, *ids}


def test_every_loader_is_described_and_the_iterated_one_is_first(explained):
    found = [(g["name"].split("(")[0], g["path"]) for g in explained.answer["loaders"]]
    assert found[0] == ("ImageFolder", "native")
    assert found[1:] == [
        ("Own", "python"),
        ("Held", "python"),
        ("Subset", "native"),
        ("Own", "local"),
    ]


def test_nothing_of_the_program_runs_behind_iter(explained):
    assert not (explained.folder / "mark").exists()
    assert "the program's own words" in explained.stderr
    assert "the program's own words" not in explained.stdout


def test_native_chain(explained):
    train = explained.answer["loaders"][0]
    kinds = [node["kind"] for node in train["nodes"]]
    assert kinds == ["sampler", "source", *["operator"] * 5, "collate", "hook"]
    sampler, source, decode, resize, crop, *_, hook = train["nodes"]
    assert sampler["class"] == "stateful" and sampler["runs"] == "trainer"
    assert sampler["label"] == "RandomSampler, batches of 4"
    assert source["label"].endswith(": 10 files")
    assert (resize["class"], crop["class"]) == ("pure", "random")
    assert crop["label"].startswith("RandomCrop(size=(32, 32)")
    assert {node["form"] for node in train["nodes"][1:]} == {"native"}
    assert train["cut"] == hook["id"] and "not called" in hook["note"]
    # ToTensor and Normalize can be done at the other end of a network.
    assert train["wire"] == crop["id"]
    noted = [node["label"].split("(")[0] for node in train["nodes"] if "trainer" in node["note"]]
    assert noted == ["ToTensor", "Normalize"]
    assert (train["cache"], train["cached"]) == (resize["id"], "decoded")
    assert train["rng"] == "torch" and "num_workers=2" in train["rng_reason"]


def test_python_stage_names_each_part_that_is_not_native(explained):
    own = explained.answer["loaders"][1]
    dataset, *steps, collate, hook = own["nodes"][1:]
    assert dataset["kind"] == "dataset" and "Own is not a dataset" in dataset["reason"]
    assert [step["label"].split("(")[0] for step in steps] == [
        "Resize", "CenterCrop", "Lambda", "ToTensor",
    ]  # fmt: skip
    assert {step["within"] for step in steps} == {dataset["id"]}
    assert [step["form"] for step in steps] == ["native", "native", "python", "native"]
    assert steps[0]["class"] == "pure" and "where a Compose" in steps[0]["note"]
    assert "Lambda has no native form" in steps[2]["reason"]
    assert "together is Python code" in collate["reason"]
    assert "default_collate" in collate["remedy"]
    assert "seed_all" in hook["reason"] and "`numpy` only" in hook["remedy"]
    assert own["cut"] == hook["id"] and own["cache"] is None
    assert {node["runs"] for node in own["nodes"][1:]} == {"workers"}


def test_a_lock_changes_nothing_and_loaders_that_stay_say_why(explained):
    held, alone, bare = explained.answer["loaders"][2:]
    assert held["nodes"][1]["reason"] == (
        "Held is not a dataset with a native form: Own.__getitem__ (program.py:23) uses .copy of the "
        "picture"
    )
    assert held["cut"] == held["nodes"][-1]["id"]
    assert {node["runs"] for node in held["nodes"][1:]} == {"workers"}
    assert alone["rng"] == "torch" and "num_workers=0: the program's own" in alone["rng_reason"]
    assert bare["cut"] is None and {node["runs"] for node in bare["nodes"]} == {"trainer"}
    (whole,) = bare["reasons"]
    assert "num_workers=0" in whole["reason"] and whole["remedy"].startswith("num_workers=1")


def test_picture_is_well_formed(explained):
    picture = xml.etree.ElementTree.parse(explained.folder / "graph.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    boxes = [r for r in picture.iter(f"{space}rect") if r.get("class", "").startswith("box")]
    assert len(boxes) == sum(len(g["nodes"]) for g in explained.answer["loaders"])
    cuts = [line for line in picture.iter(f"{space}line") if line.get("class") == "cut"]
    assert len(cuts) == 2 * sum(g["cut"] is not None for g in explained.answer["loaders"])
    words = "".join(picture.itertext())
    assert "RandomCrop" in words and "cache point (decoded)" in words


ODD = """
import sys
from headrace.native import transforms
from torch.utils.data import DataLoader, IterableDataset
from torchvision import datasets, transforms as t

real = transforms._TABLE["v1.Pad"]

def wider(transform):
    node = real(transform)
    node.args["padding"] = 5
    return node

transforms._TABLE["v1.Pad"] = wider  # its arguments are misread

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))

chain = t.Compose([t.Resize((32, 32)), t.Pad(3), t.ToTensor()])
misread = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 4, num_workers=1)
stream = DataLoader(Stream(), 2, num_workers=1)
names = DataLoader(["a", "b"], sampler=["0", "1"], num_workers=1)
iter(misread)
"""


def test_reasons_that_only_a_try_finds_stand_at_their_node(photos):
    done = inspected("explain", "--json", program=ODD, arguments=(photos,))
    assert done.returncode == 0, done.stderr
    misread, stream, names = json.loads(done.stdout)["loaders"]
    (blamed,) = [node for node in misread["nodes"] if node["label"].startswith("Pad(")]
    assert "gives other bits natively" in blamed["reason"] and "report it" in blamed["remedy"]
    assert misread["path"] == "python" and misread["nodes"][1]["reason"].startswith(
        "it has a native"
    )
    assert stream["path"] == "python"
    assert stream["nodes"][1]["reason"] == "an IterableDataset makes its own order"
    assert names["path"] == "python" and len(names["reasons"]) == 1  # whatever its keys are


TWO = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
first = DataLoader(TensorDataset(torch.arange(6.0)), 2, num_workers=1)
second = DataLoader(TensorDataset(torch.arange(8.0), torch.arange(8)), 2, num_workers=1)
unfinished = object.__new__(DataLoader)  # as a constructor that raised leaves it
for _ in range(2):
    list(first)
if "fail" in sys.argv:
    sys.exit(3)
if "second" in sys.argv:
    list(second)
"""


def test_text_at_the_second_loader():
    done = inspected("explain", "--loaders", "2", program=TWO, arguments=("second",))
    assert done.returncode == 0, done.stderr
    begin = "DataLoader(TensorDataset), num_workers=1: made natively on the workers\n"
    first, second = done.stdout.split("\n\n")[0], done.stdout.count(begin)
    assert first.startswith(begin) and second == 2
    assert "source: TensorDataset: 8 rows of arrays" in done.stdout
    cut = [line.strip(" -") for line in done.stdout.splitlines() if line.startswith("  ----")]
    assert cut[:2] == [
        "cut: row numbers go to the workers", "cut: batches come back to the trainer",
    ]  # fmt: skip
    assert "to change it: nothing has to change" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 1, "ended before the first iter() of DataLoader number 2; nothing to explain"),
        (("fail",), 3, "ended with exit code 3 before"),
    ],
)
def test_a_program_that_does_not_come_to_its_loader(words, code, says):
    done = inspected("explain", "--loaders", "2", program=TWO, arguments=words)
    assert done.returncode == code and done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("headrace: the program") and says in done.stderr


def test_a_program_that_is_not_there():
    done = subprocess.run(
        [HEADRACE, "explain", "no-such-program"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 127 and "no-such-program" in done.stderr


THREADS = """
import os, sys, threading, torch
from torch.utils.data import DataLoader, TensorDataset
first, second = (DataLoader(TensorDataset(torch.arange(6.0)), 2) for _ in range(2))

def train():
    while "HEADRACE_INSPECT" in os.environ:
        pass
    list(second)
    open(sys.argv[1], "w")

threading.Thread(target=train).start()
list(first)
"""


def test_other_threads_stop_at_their_loaders(tmp_path):
    done = inspected("explain", program=THREADS, arguments=(tmp_path / "trained",))
    assert done.returncode == 0 and done.stdout.count("DataLoader(TensorDataset)") == 2
    assert not (tmp_path / "trained").exists()


RANKS = """
import os, subprocess, sys
folder = sys.argv[1]
if "rank" not in sys.argv:  # a launcher, which closes all descriptors that it does not know
    ranks = [subprocess.Popen([sys.executable, *sys.argv, "rank", n]) for n in "01"]
    for rank in ranks:
        rank.wait()
    open(os.path.join(folder, "over"), "w")
    sys.exit()

import torch
from torch.utils.data import DataLoader, TensorDataset
pid = os.path.join(folder, str(os.getpid()))
open(pid, "w").close()
if sys.argv[-1] == "1":
    os.read(os.pipe()[0], 1)  # waits for the other one
while len(os.listdir(folder)) < 2:
    pass
list(DataLoader(TensorDataset(torch.arange(6.0)), 2))
open(os.path.join(folder, "trained"), "w")
"""


def test_all_ranks_end(tmp_path):
    done = inspected("explain", program=RANKS, arguments=(tmp_path,))
    assert done.returncode == 0, done.stderr
    names = {path.name for path in tmp_path.iterdir()}
    assert not names & {"trained", "over"} and len(names) == 2
    wait_for(lambda: all(ended(int(name)) for name in names), "end of the ranks")


WAITS = """
import os, sys, torch.utils.data
with open(sys.argv[1] + ".draft", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".draft", sys.argv[1])
os.read(os.pipe()[0], 1)
"""


def test_the_program_ends_with_the_command_line(tmp_path):
    (tmp_path / "program.py").write_text(WAITS)
    mark = tmp_path / "mark"
    with running("explain", "--", sys.executable, str(tmp_path / "program.py"), str(mark)) as line:
        pid = int(wait_for(lambda: mark.exists() and mark.read_text(), "the program's id"))
        line.kill()
        line.wait()
        wait_for(lambda: ended(pid), "end of the program")


def test_a_python_file_is_run_by_python(tmp_path):
    """Only the first word decides; the same holds for run."""
    (tmp_path / "show.py").write_text("import sys; print(sys.argv)")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [HEADRACE, "run", "show.py", "a.py"],
        env=clean_environment(PATH=path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "['show.py', 'a.py']\n", done.stderr
