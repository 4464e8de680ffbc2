"""What lanes read and decode is kept by the worker: for later epochs, for the next job, and never at the price of a
bit, whatever becomes of the worker."""

import contextlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    headrace,
    ready_workers,
    running,
    wait_for,
)

EPOCHS = 24
# Epochs of clouds and pictures that the code reads by itself. The last line are hashes of their batches.
_PROGRAM = """
import json, pathlib, random, sys, zlib
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

class Own(Dataset):
    def __init__(self, folder):
        self.clouds = sorted(folder.glob("*.txt"))

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, index):
        path = self.clouds[index]
        cloud = np.loadtxt(path).astype("float32")
        cloud -= cloud.mean(0)
        picture = Image.open(path.with_suffix(".png")).convert("RGB")
        left = random.randrange(picture.width - 32)
        part = np.array(picture.crop((left, 0, left + 32, 32)))
        part[0] = 0
        return cloud[torch.randperm(len(cloud))[:64].numpy()], part

if __name__ == "__main__":
    folder, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(folder), 4, shuffle=True, num_workers=2)
    seen = []
    for epoch in range(epochs):
        seen.append(0)
        for clouds, parts in loader:
            seen[-1] = zlib.crc32(clouds.numpy().tobytes() + parts.numpy().tobytes(), seen[-1])
        print(f"epoch {epoch}", file=sys.stderr, flush=True)
    print(json.dumps(seen))
"""

# The same of pictures in an archive, which are decoded from bytes.
_OF_BYTES = """
import io, json, pathlib, random, sys, zipfile, zlib
import cv2
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.io import decode_image

class Own(Dataset):
    def __init__(self, path):
        self.path, self.archive = path, None
        with zipfile.ZipFile(path) as archive:
            self.names = archive.namelist()

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path)
        content = self.archive.read(self.names[index])
        with self.archive.open(self.names[index]) as member:
            parts = [np.array(Image.open(member)), np.array(Image.open(io.BytesIO(content)))]
        parts.append(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR))
        parts.append(decode_image(torch.frombuffer(bytearray(content), dtype=torch.uint8)))
        parts[-1] = parts[-1].permute(1, 2, 0).numpy()
        left = random.randrange(parts[0].shape[1] - 32)
        for part in parts:
            part[0] = 0
        return np.stack([part[:32, left : left + 32] for part in parts])

if __name__ == "__main__":
    folder, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(folder / "pictures.zip"), 4, shuffle=True, num_workers=2)
    seen = []
    for epoch in range(epochs):
        seen.append(0)
        for parts in loader:
            seen[-1] = zlib.crc32(parts.numpy().tobytes(), seen[-1])
    print(json.dumps(seen))
"""

# Pictures without end: a first iteration that lasts, in the loop of a program's epochs.
_ENDLESS = """
import pathlib, sys
import numpy as np
from PIL import Image
from torch.utils.data import DataLoader, Dataset, RandomSampler

class Own(Dataset):
    def __init__(self, folder):
        self.pictures = sorted(folder.glob("*.png"))

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        part = np.array(Image.open(self.pictures[index]).convert("RGB"))[:32, :32].copy()
        part[0] = 0
        return part

if __name__ == "__main__":
    data, epochs = Own(pathlib.Path(sys.argv[1])), int(sys.argv[2])
    loader = DataLoader(data, 4, sampler=RandomSampler(data, True, 1 << 30), num_workers=2)
    for epoch in range(epochs):
        for batch in loader:
            pass
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(7)
    for number in range(24):
        np.savetxt(folder / f"{number}.txt", rng.normal(size=(600, 6)))
        pixels = np.cumsum(rng.integers(-3, 4, (400, 500, 3)), 1).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{number}.png")
    with zipfile.ZipFile(folder / "pictures.zip", "w") as archive:
        for number in range(24):
            archive.write(folder / f"{number}.png", f"{number}.png")
    (folder / "program.py").write_text(_PROGRAM)
    (folder / "of_bytes.py").write_text(_OF_BYTES)
    (folder / "endless.py").write_text(_ENDLESS)
    return folder


def command(files, epochs, *served, name="program.py"):
    program = [sys.executable, str(files / name), str(files), str(epochs)]
    return [HEADRACE, "run", *served, "--", *program] if served else program


def finished(process):
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@contextlib.contextmanager
def started(words):
    process = subprocess.Popen(
        words, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ran(words):
    with started(words) as process:
        return finished(process)


@pytest.fixture(scope="module")
def stock(files):
    return ran(command(files, EPOCHS))


def of_jobs(address):
    answer = headrace("cache", "--json", "--coordinator", address)
    return json.loads(answer.stdout)


def counted(address, name):
    """Of all that the cache says of jobs, the sum of one count."""

    def sums(value):
        if isinstance(value, dict):
            return sum(sums(one) for key, one in value.items() if key != name) + (
                value[name] if isinstance(value.get(name), int) else 0
            )
        return sum(map(sums, value)) if isinstance(value, list) else 0

    return sums(of_jobs(address))


@pytest.fixture
def pool():
    address = free_address()
    words = "--listen", address, "--heartbeat-ms", "100"
    with coordinator(*words):
        yield address


def worker(address, size="64M"):
    return running("worker", "--coordinator", address, "--cache", size, HEADRACE_LOG="error")


def test_later_epochs_and_the_next_job_find_what_was_read(files, stock, pool):
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
        wait_for(lambda: counted(pool, "hits") > 24, "hits of later epochs")
        entries, hits = counted(pool, "entries"), counted(pool, "hits")
        assert entries > 0
        with started(command(files, 4, "--coordinator", pool)) as second:
            assert finished(second) == stock[:4]
        wait_for(lambda: counted(pool, "hits") >= hits + 24, "hits of the next job, at once")
        assert counted(pool, "entries") >= entries


def test_a_program_with_a_loop_of_epochs_keeps_from_the_first_one_on(files, pool):
    """No picture takes 40 times its keeping, which is all that is kept where nobody knows of another iteration."""
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        with started(command(files, 2, "--coordinator", pool, name="endless.py")):
            wait_for(lambda: counted(pool, "entries") > 0, "entries of the first iteration", 90)


def test_what_is_decoded_of_bytes_is_found_by_later_epochs_and_by_the_next_job(
    files, pool, tmp_path
):
    report = tmp_path / "report.json"
    pytest.importorskip("cv2")
    stock = ran(command(files, EPOCHS, name="of_bytes.py"))
    with worker(pool, "256M"):
        wait_for(lambda: ready_workers(pool), "worker")
        words = "--coordinator", pool, "--report", str(report)
        assert ran(command(files, EPOCHS, *words, name="of_bytes.py")) == stock
        wait_for(lambda: counted(pool, "hits") > 96, "hits of later epochs")
        (loader,) = json.loads(report.read_text())["loaders"]
        counts = loader["counts"]
        assert counts["leaf_hits"] > 96 and counts["leaf_misses"] >= 96
        hits = counted(pool, "hits")
        second = command(files, 2, "--coordinator", pool, name="of_bytes.py")
        assert ran(second) == stock[:2]
        wait_for(lambda: counted(pool, "hits") >= hits + 96, "hits of the next job, at once")


def test_a_cache_of_nothing_costs_only_speed(files, stock, pool):
    with worker(pool, "0"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, 6, "--coordinator", pool)) == stock[:6]
        assert counted(pool, "entries") == 0


def test_a_small_cache_keeps_a_part(files, stock, pool):
    with worker(pool, "4M"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
        assert 0 < counted(pool, "entries") < 48


def test_a_worker_that_is_killed_costs_only_speed(files, stock, pool):
    with started(command(files, EPOCHS, "--coordinator", pool)) as program:
        for epoch in (6, 12):
            with worker(pool) as one:
                for line in program.stderr:
                    if line == f"epoch {epoch}\n":
                        break
                one.send_signal(signal.SIGKILL)
                one.wait()
        with worker(pool):
            assert finished(program) == stock


def disk_worker(address, folder, memory):
    """Whose memory has room for a part, and whose disk for all."""
    words = "--cache", memory, "--cache-tier", f"disk:size=128M,directory={folder}"
    return running("worker", "--coordinator", address, *words, HEADRACE_LOG="error")


def tier(address, name="disk"):
    (told,) = json.loads(headrace("workers", "--json", "--coordinator", address).stdout)["workers"]
    nothing = {"hits": 0, "entries": 0}  # before its first heartbeat
    return next((one for one in told["cache_tiers"] if one["tier"] == name), nothing)


def finds_where_nothing_is_kept(address):
    """Whether lookups at workers without an entry of their own found more than they missed. Lanes that go from one
    worker to another tell it of some that were before that, so a few hits say nothing."""
    told = [one["cache_tiers"] for one in ready_workers(address)]
    empty = [tier for tiers in told if not any(one["entries"] for one in tiers) for tier in tiers]
    return sum(tier["hits"] for tier in empty) > sum(tier["misses"] for tier in empty)


def ran_and_found(files, stock, pool):
    """Once more, where a neighbour had no time to answer: its leaves were made again then."""
    assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
    return finds_where_nothing_is_kept(pool)


def test_lanes_find_what_another_worker_of_their_host_keeps(files, stock, pool):
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, 8, "--coordinator", pool)) == stock[:8]
        with worker(pool, "64K"):  # no room for a segment
            wait_for(lambda: len(ready_workers(pool)) == 2, "second worker")
            wait_for(lambda: ran_and_found(files, stock, pool), "hits of the neighbour's", 90)


def test_lanes_find_what_another_worker_of_their_host_has_on_disk(files, stock, pool, tmp_path):
    with disk_worker(pool, tmp_path / "tier", "0"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, 8, "--coordinator", pool)) == stock[:8]
        with worker(pool, "64K"):
            wait_for(lambda: len(ready_workers(pool)) == 2, "second worker")
            wait_for(lambda: ran_and_found(files, stock, pool), "hits of the neighbour's", 90)


def test_a_neighbour_that_is_killed_costs_only_speed(files, stock, pool):
    with worker(pool) as one, worker(pool):
        wait_for(lambda: len(ready_workers(pool)) == 2, "workers")
        with started(command(files, EPOCHS, "--coordinator", pool)) as program:
            for line in program.stderr:
                if line == "epoch 8\n":
                    break
            one.send_signal(signal.SIGKILL)
            one.wait()
            assert finished(program) == stock


def test_what_memory_has_no_room_for_is_found_on_disk_and_by_the_next_worker(
    files, stock, pool, tmp_path
):
    with disk_worker(pool, tmp_path / "tier", "4M"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
        wait_for(lambda: tier(pool)["hits"] > 24, "hits of the disk in later epochs")
        assert tier(pool, "memory")["hits"] > 0
        kept = tier(pool)["entries"]
        assert kept > 5 and tier(pool, "memory")["entries"] > 0
    with disk_worker(pool, tmp_path / "tier", "4M"):
        wait_for(lambda: ready_workers(pool) and tier(pool)["entries"] >= kept, "what was left")
        assert tier(pool)["hits"] == 0
        assert ran(command(files, 2, "--coordinator", pool)) == stock[:2]
        wait_for(lambda: tier(pool)["hits"] >= 2 * kept, "hits in both epochs, at once")


def test_leaves_that_are_damaged_on_disk_are_made_again(files, stock, pool, tmp_path):
    folder, rng = tmp_path / "tier", random.Random(7)
    with disk_worker(pool, folder, "0"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, 8, "--coordinator", pool)) == stock[:8]
        wait_for(lambda: tier(pool)["hits"] > 24, "hits of the disk")
    for path in folder.glob("*.segment"):
        content = bytearray(path.read_bytes())
        for at in range(rng.randrange(1 << 16), len(content), 1 << 16):
            content[at] ^= 1
        path.write_bytes(content)
    with disk_worker(pool, folder, "0"):
        wait_for(lambda: ready_workers(pool) and tier(pool)["entries"] > 5, "what was left")
        assert ran(command(files, 4, "--coordinator", pool)) == stock[:4]


def test_files_that_change_between_epochs_are_read_again(tmp_path, pool):
    rng = random.Random(7)
    text = "import pathlib, random, sys, zlib\n" + _PROGRAM.replace(
        "        seen.append(0)\n",
        "        seen.append(0)\n"
        "        for path in sorted(folder.glob('*.txt'))[:: epoch % 3 + 1]:\n"
        "            text = path.read_text()\n"
        "            path.write_text(text.replace(text[3], str(epoch % 10)))\n",
    )
    seen = []
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        for served in ((), ("--coordinator", pool)):
            folder = pathlib.Path(tmp_path, str(len(seen)))
            folder.mkdir()
            generator = np.random.default_rng(rng.randrange(1) + 7)
            for number in range(12):
                np.savetxt(folder / f"{number}.txt", generator.normal(size=(300, 6)))
                pixels = generator.integers(0, 255, (90, 90, 3)).astype("uint8")
                Image.fromarray(pixels).save(folder / f"{number}.png")
            (folder / "program.py").write_text(text)
            seen.append(ran(command(folder, 12, *served)))
    assert seen[0] == seen[1]
