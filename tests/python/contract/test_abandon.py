"""Contract: break, exception, del, Ctrl-C, fork and a second iterator free everything at once."""

import gc
import os
import select
import signal
import time
from multiprocessing.process import BaseProcess

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import assert_same, check
from support.headrace_program import wait_for
from support.pipelines import train_v1
from support.programs import program, run_program
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets


def make_loader(photos, **named):
    named = {"batch_size": 3, "shuffle": True, "num_workers": 2, **named}
    return DataLoader(datasets.ImageFolder(photos, train_v1()), **named)


@pytest.mark.parametrize("stop", [0, 1, 4])
@pytest.mark.parametrize("persistent", [False, True])
def test_early_break(photos, stop, persistent):
    check(
        lambda loader: loader(
            datasets.ImageFolder(photos, train_v1()),
            batch_size=3,
            shuffle=True,
            num_workers=2,
            persistent_workers=persistent,
        ),
        stop=stop,
        epochs=3,
    )


def test_del_in_the_middle_closes_the_session(photos, seam):
    loader = make_loader(photos)
    iterator = iter(loader)
    next(iterator)
    handle = iterator._handle
    del iterator
    assert handle.raw is None and state_of(loader).idle is None


def test_abandoned_iterators_leave_no_descriptors(photos, seam):
    loader = make_loader(photos)
    next(iter(loader))
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        next(iter(loader))
    gc.collect()
    # A session's last part ends on the client's own thread.
    wait_for(lambda: len(os.listdir("/proc/self/fd")) <= before, "end of all descriptors")


@pytest.mark.parametrize("lanes", [False, True])
def test_iterators_that_the_garbage_collector_finds(photos, seam, lanes):
    """As when a caught error's traceback holds the iterator: it is finalized, and the handle of its
    session too, in either order."""
    loader = make_loader(photos, shuffle=False)
    if lanes:
        loader.dataset.target_transform = lambda label: label
    expected = [batch[1].tolist() for batch in loader]
    for _ in range(3):
        iterator = iter(loader)
        next(iterator)
        cycle = [iterator]
        cycle.append(cycle)
        del iterator, cycle
        gc.collect()
        assert [batch[1].tolist() for batch in loader] == expected


class Fails(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 13:
            raise KeyError(i)
        return i


def test_workers_end_where_the_program_caught_an_error(seam, monkeypatch):
    """Its traceback makes the iterator garbage. torch's code waits 5 s for each worker that nobody
    told to end."""
    loader, late, join = DataLoader(Fails(), 8, num_workers=2), [], BaseProcess.join

    def watched(process, timeout=None):
        join(process, timeout)
        late.append(process.is_alive())

    monkeypatch.setattr(BaseProcess, "join", watched)

    def until_error():
        iterator = iter(loader)
        while True:
            try:
                yield next(iterator)
            except KeyError as error:
                yield str(error)
                return

    for _ in range(4):
        assert len(list(until_error())) == 2
    gc.collect()
    assert len(late) >= 8 and not any(late)


def test_two_iterators_of_one_loader(photos, seam):
    loader = make_loader(photos)

    def interleaved():
        torch.manual_seed(1)
        a, b = iter(loader), iter(loader)
        return [[tensor.clone() for tensor in next(it)] for _ in range(9) for it in (a, b)]

    mine = interleaved()
    headrace.uninstall()
    assert_same(mine, interleaved())


def test_tensors_outlive_everything(photos, seam):
    """A kept tensor keeps its memory after the batch, the iterator and the loader are gone."""
    loader = make_loader(photos)
    torch.manual_seed(1)
    kept = [tensor for batch in loader for tensor in batch]
    headrace.uninstall()
    torch.manual_seed(1)
    expected = [tensor for batch in make_loader(photos) for tensor in batch]
    del loader
    gc.collect()
    assert_same(kept, expected)


def test_every_tensor_of_many_epochs_kept_alive(photos, seam):
    loader = make_loader(photos, batch_size=2)
    kept = [[tensor for batch in loader for tensor in batch] for _ in range(4)]
    for epoch in kept:
        assert sum(len(tensor) for tensor in epoch) == 2 * 27
    for tensor in kept[0]:
        tensor.zero_()
    assert all(tensor.any() for tensor in kept[1][::2])


def test_program_writes_into_its_batches(photos, seam):
    loader = make_loader(photos)
    for images, _ in loader:
        images.zero_()
    torch.manual_seed(1)
    again = [batch[0].clone() for batch in loader]
    assert all(images.any() for images in again)


PROGRAM = """
import os, sys, time
from pathlib import Path
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms
import headrace
headrace.install()
transform = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
data = datasets.ImageFolder(sys.argv[1], transform)
loader = DataLoader(data, batch_size=3, num_workers=2, **eval(sys.argv[2]))
"""


def test_ctrl_c_in_training(photos):
    """KeyboardInterrupt reaches the program as always, and the program ends."""
    source = PROGRAM + (
        "try:\n"
        "    while True:\n"
        "        for batch in loader: print('batch', flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    with program(source, str(photos), "{}") as process:
        assert process.stdout.readline() == "batch\n"
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert out.endswith("interrupted\n") and process.returncode == 0, err
    assert time.monotonic() - started < 10


def test_ctrl_c_of_the_whole_process_group_in_the_middle_of_a_wait(photos):
    """Sends it as a terminal does: to the program and to all that it started."""
    source = (
        "import os; os.setpgid(0, 0)\n"
        + PROGRAM
        + (
            "it = iter(loader)\n"
            "next(it)\n"
            "try:\n"
            "    print('ready', flush=True)\n"
            "    while True: next(iter(loader))\n"
            "except KeyboardInterrupt:\n"
            "    rest = list(it)\n"
            "    print('rest', len(rest), flush=True)\n"
        )
    )
    with program(source, str(photos), "{}") as process:
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "rest 8\n", (process.returncode, err)


def test_fork_in_the_program(photos):
    """A child gets an error from the parent's iterator, not a hang; its own loaders work."""
    source = PROGRAM + (
        "it = iter(loader); next(it)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        next(it)\n"
        "    except headrace.HeadraceError as error:\n"
        "        print('error:', error, flush=True)\n"
        "    print('child', len(list(loader)), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print('parent', len(list(it)), flush=True)\n"
    )
    done = run_program(source, str(photos), "{}")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("error: this iterator belongs to process"), done.stderr
    assert lines[1:] == ["child 9", "parent 8"], done.stderr


def test_what_a_child_inherits_stays_as_it_was(photos):
    """The parent drops the batch and goes on through whole epochs; the child still reads it. What
    only a child reads is given back when it ends."""
    source = PROGRAM + (
        "from headrace.loader.seam import state_of\n"
        "batch = next(iter(loader))[0]\n"
        "seen = batch.clone()\n"
        "asks, tells = os.pipe(), os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.close(asks[1])\n"
        "    os.read(asks[0], 1)\n"
        "    os.write(tells[1], b'same' if torch.equal(batch, seen) else b'changed')\n"
        "    os._exit(0)\n"
        "os.close(asks[0])\n"
        "del batch\n"
        "for _ in range(4): list(loader)\n"
        "os.close(asks[1])\n"
        "print(os.read(tells[0], 9).decode())\n"
        "os.waitpid(child, 0)\n"
    )
    # persistent: the session, and so the arena, is the same all along
    done = run_program(source, str(photos), "{'persistent_workers': True}")
    assert done.stdout == "same\n", done.stderr


def test_forking_all_along_needs_no_more_memory(photos):
    """Children that end give back what they inherited, and leave no descriptor."""
    source = PROGRAM + (
        "from headrace.service import service\n"
        "open_now = lambda: len(os.listdir('/proc/self/fd'))\n"
        "count = 0\n"
        "for epoch in range(4):\n"
        "    for batch in loader:\n"
        "        child = os.fork()\n"
        "        if child == 0: os._exit(0)\n"
        "        os.waitpid(child, 0)\n"
        "        count = max(count, open_now()) if epoch else open_now()\n"
        "        first = open_now() if epoch == 0 else first\n"
        "loaders = service.REPORT.as_dict()['loaders']\n"
        "print(loaders[0]['counts']['arena_slots'], count - first)\n"
    )
    done = run_program(source, str(photos), "{'persistent_workers': True}")
    slots, more = map(int, done.stdout.split())
    assert slots <= 8 and more <= 2, done.stdout


def test_exit_in_the_middle_leaves_no_process(photos):
    source = PROGRAM + (
        "it = iter(loader); next(it)\n"
        "from headrace.service import service\n"
        "pid = os.getpid()\n"
        "print([int(p) for p in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()])\n"
    )
    done = run_program(source, str(photos), "{}")
    assert done.returncode == 0 and not done.stderr, done.stderr
    children = eval(done.stdout.splitlines()[-1])
    assert children
    wait_for_the_end(children)


def test_kill_of_the_program_leaves_no_process(photos):
    source = PROGRAM + (
        "it = iter(loader); next(it)\n"
        "pid = os.getpid()\n"
        "print([int(p) for p in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()])\n"
        "sys.stdout.flush()\n"
        "while True: next(iter(loader))\n"
    )
    with program(source, str(photos), "{}") as process:
        children = eval(process.stdout.readline())
        process.kill()
        process.wait()
        wait_for_the_end(children)


def wait_for_the_end(pids, seconds=10):
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([process], [], [], seconds)[0], f"process {pid} is still there"
        finally:
            os.close(process)
