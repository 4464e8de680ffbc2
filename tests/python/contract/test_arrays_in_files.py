"""Contract: rows and windows of arrays in files are read by workers, with the bits that the program's own
memory map gives."""

import os

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.array_sets import Backwards, Blocks, Checked, Rows, Sliding, write_tokens
from support.compare import assert_same, check, served
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset

pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")


@pytest.fixture
def tokens(tmp_path):
    return np.memmap(write_tokens(tmp_path), np.uint16, "r")


def loader_of(dataset, **named):
    named = {"batch_size": 5, "shuffle": True, "num_workers": 2, **named}
    return lambda loader: loader(dataset, **named)


@pytest.mark.parametrize("kind", [Blocks, Sliding, Checked])
def test_windows_of_tokens(tokens, kind):
    check(loader_of(kind(tokens)))


def test_arrays_of_npy_files_of_every_version(tmp_path):
    """Also two files, a view of one, and what lies around them."""
    for version in ((1, 0), (2, 0), (3, 0)):
        images = np.random.default_rng(1).integers(0, 255, (11, 4, 3, 2)).astype(np.uint8)
        for name, array in (("x", images), ("y", np.arange(11, dtype=np.int64) - 5)):
            with open(tmp_path / f"{name}{version[0]}.npy", "wb") as file:
                np.lib.format.write_array(file, array, version=version)
        x, y = (np.load(tmp_path / f"{one}{version[0]}.npy", mmap_mode="r") for one in "xy")
        check(loader_of(Rows(x, y)))
    check(loader_of(Rows(x[2:9], y[::-1], np.asarray(x)[1:])))
    check(loader_of(Backwards(x)))


def test_tensors_of_a_memory_map_are_read_in_place(tokens):
    data = torch.from_numpy(tokens.view(np.int16)[:996].reshape(83, 12))
    targets = torch.arange(83)
    check(loader_of(TensorDataset(data, targets)))
    check(loader_of(TensorDataset(data[3:50:2], data[:24, 3])))


def test_subsets_and_parts_joined(tokens):
    one, other = Blocks(tokens[:500]), Blocks(tokens[400:])
    check(loader_of(ConcatDataset([Subset(one, [3, 4, 4, 0]), other])))
    check(loader_of(Subset(other, np.arange(7))), path=None)


def test_indices_that_the_programs_own_code_takes_otherwise(tokens):
    """Negative ones, and those beyond the end: what its code makes of them, or raises."""
    sampler = [[0, 5, -3], [np.int64(2), 4], [7, 3]]
    check(
        lambda loader: loader(Blocks(tokens), batch_sampler=sampler, num_workers=1),
        by_trainer=True,
    )
    check(
        lambda loader: loader(
            Rows(tokens.view(np.int16)), batch_sampler=[[0, -1], [1000]], num_workers=1
        ),
        by_trainer=True,
    )


TYPES = (
    "|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", "<u2", ">i4", ">f4", "<c8",
)  # fmt: skip


@settings(
    max_examples=int(os.environ.get("HEADRACE_ARRAY_EXAMPLES", "8")),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    dtype=st.sampled_from(TYPES),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    order=st.sampled_from("CF"),
    offset=st.sampled_from([0, 1, 24]),
    step=st.sampled_from([1, 2, -1]),
    seed=st.integers(0, 2**20),
)
def test_arrays_of_any_type_and_shape(tmp_path_factory, dtype, shape, order, offset, step, seed):
    """Native or not, and with torch's own error where it takes no such array."""
    path = tmp_path_factory.mktemp("arrays") / "a.bin"
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    noise = np.random.default_rng(seed).integers(0, 2 if dtype == "|b1" else 256, offset + count)
    path.write_bytes(noise.astype(np.uint8).tobytes())
    array = np.memmap(path, dtype, "r", offset, tuple(shape), order)
    check(loader_of(Rows(array[::step]), num_workers=1), path=None)


def test_a_file_that_grows_between_epochs(tmp_path):
    """What was appended is not the map's."""
    path = write_tokens(tmp_path)
    data = np.memmap(path, np.uint16, "r")
    seen = []

    def make(loader):
        seen.append(loader(Blocks(data), 5, num_workers=1))
        return seen[-1]

    def append(loader, epoch):
        with open(path, "ab") as file:
            file.write(b"more" * epoch)

    first = served(make, before=append)
    half = len(first) // 2
    for one, other in zip(first[:half], first[half:], strict=True):
        if one[0] == "batch":
            assert_same(one, other)
    assert state_of(seen[-1]).report.samples_by_path["local"] == 0


def test_a_file_that_is_cut_off_while_it_is_read_ends_no_worker_and_no_trainer(tmp_path):
    """Its samples are errors of a worker. The program's own code then makes them in the reference process,
    which the kernel ends, as it ends a worker of the stock loader."""
    path = write_tokens(tmp_path, 400_000)
    data = np.memmap(path, np.uint16, "r")
    headrace.install()
    try:
        loader = DataLoader(Blocks(data, 1000), 4, num_workers=1, prefetch_factor=1)
        batches = iter(loader)
        next(batches)
        os.truncate(path, 4096)
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            list(batches)
        assert state_of(loader).report.path == "native"
    finally:
        headrace.uninstall()
