"""Contract: a program goes on without its bad samples, alike wherever they are made."""

import os
import shutil

import headrace
import pytest
import torch
from headrace.errors import OptionError, SampleDeadline
from headrace.loader.seam import state_of
from headrace.process.bad_log import BadLog
from headrace.stage.bad_samples import Guard, GuardingInit, Policy
from support.compare import assert_same, seed_everything, trace
from support.pipelines import train_v1
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset
from torchvision import datasets

BROKEN = (3, 10)


@pytest.fixture
def broken(own_photos):
    """Two of its sixteen files are broken. Of the first a worker reads the size, and draws for it."""
    files = sorted(own_photos.rglob("*.jpg"))
    for index, share in zip(BROKEN, (0.7, 0.05), strict=True):
        file = files[index].read_bytes()
        files[index].write_bytes(file[: int(share * len(file))])
    return own_photos


class Pictures(Dataset):
    """Code of the program's own, which keeps state."""

    def __init__(self, root):
        self.folder = datasets.ImageFolder(root, train_v1())
        self.asked = 0

    def __len__(self):
        return len(self.folder)

    def __getitem__(self, index):
        self.asked += 1
        picture, label = self.folder[index]
        return picture * 2, label


def make(root, kind, **named):
    data = Pictures(root) if kind == "python" else datasets.ImageFolder(root, train_v1())
    named = {"batch_size": 4, "shuffle": True, "num_workers": 2} | named
    return DataLoader(data, **named)


def run(loader, epochs=2):
    seed_everything()
    return trace(loader, epochs)


@pytest.mark.parametrize("kind", ["native", "python"])
@pytest.mark.parametrize("way", ["skip", "substitute"])
@pytest.mark.parametrize("persistent", [False, True])
def test_batches_are_those_of_a_guarded_stock_loader(
    broken, seam, monkeypatch, kind, way, persistent
):
    named = {"persistent_workers": persistent}
    guard = Guard(Policy(way, covers_all=True), BadLog(), 0)
    headrace.uninstall()
    expected = run(make(broken, kind, worker_init_fn=GuardingInit(guard, None), **named))
    headrace.install()
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", way)
    loader = make(broken, kind, **named)
    assert_same(run(loader), expected)
    report = state_of(loader).report
    assert report.path == kind
    assert report.bad_samples[way] == guard.log.count == 2 * len(BROKEN)
    first = report.first_bad_samples[0]
    assert first["index"] in BROKEN and "OSError" in first["cause"]
    assert kind == "python" or first["path"].endswith(".jpg")
    assert report.counts["bad_samples"] in (
        0,
        report.bad_samples[way],
    )  # the session's, once closed


@pytest.mark.parametrize("rng", ["torch", "sample"])
@pytest.mark.parametrize("way", ["skip", "substitute"])
def test_with_no_workers(broken, seam, monkeypatch, way, rng):
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", way)
    monkeypatch.setenv("HEADRACE_RNG", rng)
    loader = make(broken, "native", num_workers=0)
    seen = run(loader)
    sizes = [len(value[1]) for what, value in seen if what == "batch"]
    assert len(sizes) == 8
    assert sum(sizes) == 32 - (2 * len(BROKEN) if way == "skip" else 0)
    assert state_of(loader).report.bad_samples[way] == 2 * len(BROKEN)
    assert_same(run(make(broken, "native", num_workers=0)), seen)


@pytest.mark.parametrize("way", ["skip", "substitute"])
def test_ranks_get_as_many_batches(broken, seam, monkeypatch, way):
    """A broken file on each; one rank's batch has nothing else."""
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", way)
    sizes = []
    for rank in range(2):
        data = datasets.ImageFolder(broken, train_v1())
        sampler = DistributedSampler(data, num_replicas=2, rank=rank, shuffle=False)
        loader = DataLoader(data, 1 + rank, sampler=sampler, num_workers=2)
        sizes.append([len(labels) for _, labels in loader])
        assert sum(state_of(loader).report.bad_samples.values()) == 1
    assert [len(of_rank) for of_rank in sizes] == [8, 4]
    assert sizes[0] == [1] * 8, "a batch of nothing gets a substitute"
    assert sum(sizes[1]) == (7 if way == "skip" else 8)


def test_after_so_many_the_program_gets_the_next_ones_exception(broken, seam, monkeypatch):
    from headrace.serve.bad_samples import PROGRAM

    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", "skip")
    monkeypatch.setenv("HEADRACE_MAX_BAD_SAMPLES", str(PROGRAM.log.count + 1))
    seen = run(make(broken, "native", shuffle=False), epochs=1)
    errors = [value for what, value in seen if what == "error"]
    assert len(errors) == 1 and errors[0][0] is OSError


def test_raise_is_the_default(broken, seam):
    loader = make(broken, "native")
    seen = run(loader)
    assert sum(what == "error" for what, _ in seen) >= 2
    assert sum(state_of(loader).report.bad_samples.values()) == 0
    headrace.uninstall()
    assert_same(run(make(broken, "native")), seen)


def test_a_loaders_own_word_counts(broken):
    data = datasets.ImageFolder(broken, train_v1())
    loader = headrace.DataLoader(data, 4, num_workers=2, on_bad_sample="skip")
    assert sum(len(labels) for _, labels in loader) == 14
    with pytest.raises(OptionError, match="on_bad_sample='ignore'"):
        headrace.DataLoader(data, on_bad_sample="ignore")


def test_a_native_sample_that_hangs_is_left_out(own_photos, seam, monkeypatch):
    """A pipe without a writer: no worker opens it, and the data set's own code waits for ever."""
    path = sorted(own_photos.rglob("*.jpg"))[13]

    def begun(way):
        monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", way)
        monkeypatch.setenv("HEADRACE_SAMPLE_DEADLINE", "1")
        path.unlink()
        shutil.copy(path.with_name("000.jpg"), path)
        loader = make(own_photos, "native", shuffle=False, batch_size=2)
        batches = iter(loader)
        path.unlink()  # after admission, and before it is asked for
        os.mkfifo(path)
        return loader, batches

    loader, batches = begun("raise")
    assert len([next(batches) for _ in range(6)]) == 6
    with pytest.raises(SampleDeadline, match="sample 13 was not made within 1 s"):
        next(batches)
    assert len(list(batches)) == 1, "the next one comes"
    loader, batches = begun("skip")
    assert [len(labels) for _, labels in batches] == [2] * 6 + [1, 2]
    report = state_of(loader).report
    assert report.path == "native"
    assert "SampleDeadline" in report.first_bad_samples[0]["cause"]


class Ends(Dataset):
    """Ends the process that makes one of its samples."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 5:
            os._exit(9)
        return torch.tensor(index)


def test_a_lane_that_ends_is_the_stock_loaders_error(seam, monkeypatch):
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", "skip")
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Ends(), 2, num_workers=2))


class Stream(IterableDataset):
    def __iter__(self):
        yield from range(4)
        raise ValueError("broken")


def test_an_iterable_data_set_raises_and_a_line_says_so(seam, monkeypatch, capfd):
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", "skip")
    for workers in (0, 1):
        with pytest.raises(ValueError, match="broken"):
            list(DataLoader(Stream(), 2, num_workers=workers))
    assert "only the data set knows how to go on" in capfd.readouterr().err


def test_a_file_that_PIL_alone_refuses_late_is_told_once(own_photos, seam, monkeypatch):
    """Its lane goes on as a fork of itself, which makes its batches again."""
    from support.photos import without_tables

    files = sorted(own_photos.rglob("*.jpg"))
    files[1].write_bytes(b"no picture")  # in the batch before, of the same lane
    files[9].write_bytes(without_tables(files[9].read_bytes()))
    monkeypatch.setenv("HEADRACE_ON_BAD_SAMPLE", "skip")
    loader = make(own_photos, "python", shuffle=False)
    assert sum(len(labels) for _, labels in loader) == 14
    assert state_of(loader).report.bad_samples["skip"] == 2
