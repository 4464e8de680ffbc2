"""Which data sets of arrays in files have a native form, and what of them is in the plan."""

import os
import resource
from contextlib import closing

import numpy as np
import pytest
import torch
from headrace import _client
from headrace.capture import NotNative, capture
from headrace.capture.captured import NativePlan, StagePlan
from headrace.capture.datasets import rows_of
from headrace.capture.fingerprint import Fingerprint
from headrace.capture.handles import Refused
from headrace.capture.rows import memory_of_file, windows_of
from headrace.service import options
from support.array_sets import Blocks, Checked, Rows, Sliding, write_tokens
from torch.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")


@pytest.fixture
def path(tmp_path):
    return write_tokens(tmp_path)


@pytest.fixture
def tokens(path):
    return np.memmap(path, np.uint16, "r")


def captured(dataset, num_workers=1):
    return capture(DataLoader(dataset, num_workers=num_workers), "auto")


def leaf_of(dataset):
    found = captured(dataset)
    assert isinstance(found, NativePlan), found.reason
    (leaf,) = found.plan.leaves
    return leaf


def test_windows_are_places_in_the_file(path, tokens):
    state = os.stat(path)
    leaf = leaf_of(Blocks(tokens[3:]))
    assert leaf.source == "array_files" and leaf.rows == (994 - 1) // 16
    assert leaf.args == {
        "path0": str(path),
        "version0": f"{state.st_size}-{state.st_mtime_ns}",
        "place0": [0, 6, 32],
        "place1": [0, 8, 32],
        "elements0": "<u2",
        "elements1": "<u2",
    }
    assert [(one.blob, one.dtype, one.row_shape) for one in leaf.arrays] == [
        (None, "int64", [16])
    ] * 2


def test_the_structure_is_the_samples(tokens):
    assert windows_of(Sliding(tokens)).result == {"input_ids": 0, "labels": 1}
    assert windows_of(Checked(tokens)).result == 0
    signed = tokens.view(np.int16)
    assert windows_of(Rows(signed, signed)).result == [0, 1]


def test_nothing_is_made_for_each_index(tmp_path):
    """A sparse file of 1 GiB: 536 million windows. Neither the plan nor the process gets any larger."""
    path = tmp_path / "sparse.bin"
    with open(path, "wb") as file:
        file.truncate(1 << 30)
    data = np.memmap(path, np.uint16, "r")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = captured(Sliding(data))
    again = captured(TensorDataset(torch.from_numpy(data.view(np.int16))))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found.plan.leaves[0].rows == (1 << 29) - 16
    for one in (found, again):
        assert isinstance(one, NativePlan) and one.plan.leaves[0].source == "array_files"
        assert len(one.signature) < 4000
    assert grown < 64 << 10, f"{grown} kB"


def test_what_the_program_replaces_is_not_numpys(tokens, monkeypatch):
    monkeypatch.setattr(
        np.memmap, "__getitem__", lambda array, key: np.ndarray.__getitem__(array, key)
    )
    with pytest.raises(NotNative, match="which the program has replaced"):
        windows_of(Blocks(tokens))


def test_the_reason_is_that_of_the_array(tokens):
    with pytest.raises(NotNative, match="calls sorted"):
        rows_of(Sorted(tokens), Fingerprint())


class Sorted(Blocks):
    def __getitem__(self, i):
        first = self.data[i]
        return sorted([first])


def test_what_changes_is_captured_again(path, tokens):
    dataset = Blocks(tokens)
    seen = captured(dataset).seen
    assert seen.same()
    os.utime(path, ns=(5, 5))
    assert not seen.same()
    seen = captured(dataset).seen
    dataset.block = 8
    assert not seen.same()
    seen = captured(dataset).seen
    dataset.data = tokens[:]
    assert not seen.same()
    seen = captured(dataset).seen
    dataset.data.shape = (997, 1)
    assert not seen.same()
    rows = TensorDataset(torch.from_numpy(tokens.view(np.int16)))
    seen = captured(rows).seen
    assert seen.same()
    rows.tensors[0].resize_(90)
    assert not seen.same()


class Drawn(Blocks):
    def __getitem__(self, i):
        start = int(torch.randint(len(self.data) - self.block, (1,)))
        return torch.from_numpy(self.data[start : start + self.block].astype(np.int64))


class Ragged(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[: i + 1].astype(np.int64))


class Cut(Blocks):
    def __len__(self):
        return -(-len(self.data) // self.block)


class FromTheEnd(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[i - 5 : i - 1].astype(np.int64))


class Computed(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[i : i + 4] * 2)


class Narrowed(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[i : i + 4].astype(np.uint8).astype(np.int64))


class Unsigned(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[i : i + 4])


class OfNumPy(Blocks):
    def __getitem__(self, i):
        return self.data[i : i + 4].astype(np.int64)


class Branching(Blocks):
    def __getitem__(self, i):
        start = i if i > 3 else i + 4
        return torch.from_numpy(self.data[start : start + 4].astype(np.int64))


class Squared(Blocks):
    def __getitem__(self, i):
        return torch.from_numpy(self.data[i * i : i * i + 4].astype(np.int64))


REFUSED = {
    Ragged: "length is not the same",
    Cut: "does not have, or from its end",
    FromTheEnd: "does not have, or from its end",
    Computed: "computes with",
    Narrowed: "changes the type of elements twice",
    Unsigned: "returns elements of uint16",
    OfNumPy: "returns elements of int64",
    Branching: "decides by the index",
    Squared: r"more than \+, - and \*",
    Drawn: "",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_more_than_windows_runs_as_the_programs_own_code(tokens, kind):
    found = captured(kind(tokens))
    assert isinstance(found, StagePlan)
    if text := REFUSED[kind]:
        with pytest.raises(NotNative, match=text) as refused:
            windows_of(kind(tokens))
        assert refused.value.remedy


@pytest.mark.parametrize("dtype", ["<c8", ">i4", "<u4", "<f2", "|b1"])
def test_types_that_torch_lacks_or_that_are_cast_otherwise(tmp_path, dtype):
    """What is the file's own type of torch's is native, and of others integers alone are cast."""
    array = np.memmap(write_tokens(tmp_path, 64, "<u2"), dtype, "r")
    as_they_are = isinstance(captured(Rows(array)), NativePlan)
    assert as_they_are == (dtype in ("<f2", "|b1"))
    cast = isinstance(captured(Blocks(array, 4)), NativePlan)
    assert cast == (dtype in (">i4", "<u4"))


def test_rows_that_are_no_range_of_bytes(tokens):
    square = tokens[:900].reshape(30, 30)
    for array in (square.T, square[:, ::2], square[:, :5].reshape(30, 5, 1)[:, ::-1]):
        with pytest.raises(NotNative, match="do not lie one after the other"):
            windows_of(Rows(array))
    assert leaf_of(Rows(square[::-3, 5:9].view(np.int16))).args["place0"] == [0, 29 * 60 + 10, -180]


@pytest.mark.parametrize(("mode", "text"), [("r+", "may write to its file"), ("c", "written to")])
def test_memory_that_somebody_may_write_to(path, mode, text):
    array = np.memmap(path, np.uint16, mode)
    if mode == "c":
        assert memory_of_file(array).first == 0
        array[3] = 1
    with pytest.raises(Refused, match=text):
        memory_of_file(array)
    assert isinstance(captured(Blocks(array)), StagePlan)


def test_memory_of_no_file():
    assert memory_of_file(np.arange(5)) is None
    assert memory_of_file(torch.arange(5)) is None


def test_tensors_of_a_map_that_is_written_to_are_copied(path):
    array = np.memmap(path, np.int16, "c")
    array[0] = 7
    leaf = leaf_of(TensorDataset(torch.from_numpy(array)))
    assert leaf.source == "arrays" and leaf.arrays[0].blob is not None


def test_no_worker_processes_means_no_service(tokens):
    assert "with num_workers=0" in captured(Blocks(tokens), num_workers=0).reason
    assert (
        "with num_workers=0"
        in captured(TensorDataset(torch.from_numpy(tokens.view(np.int16))), num_workers=0).reason
    )


def test_a_data_set_without_arrays_of_files_is_not_ours():
    assert windows_of(Blocks(np.arange(100))) is None
    assert windows_of(Rows(torch.arange(9))) is None
    with pytest.raises(NotNative, match="is not a dataset with a native form"):
        rows_of(Rows(torch.arange(9)), Fingerprint())


def leaf(path, **named):
    state = os.stat(path)
    version = f"{state.st_size}-{state.st_mtime_ns}"
    args = {"path0": str(path), "version0": version, "place0": [0, 0, 12]}
    arrays = [{"dtype": "uint8", "row_shape": [2, 2, 3]}]
    return {"source": "array_files", "rows": 5, "arrays": arrays, "args": args, **named}


def test_plans_that_no_program_makes_are_refused(path):
    """A row's bytes are free for others once a picture is made of them. So no column is made of them then."""
    fields = [{"kind": "chain"}, {"kind": "array", "index": 0}]
    plan = {"leaves": [leaf(path)], "chain": [{"op": "from_array", "args": {"mode": "RGB"}}]}
    plan["chain"].append({"op": "pil_to_tensor"})
    client = _client.Client(binary=options.find_binary(), workers=1, threads=1)
    with closing(client), pytest.raises(_client.UnsupportedError, match="beside what is computed"):
        session = client.open_session({**plan, "fields": fields}, max_outstanding=1)
        session.begin(base_seed=0)
        session.submit([0])
        session.next(30.0)
    client = _client.Client(binary=options.find_binary(), workers=1, threads=1)
    with closing(client), pytest.raises(_client.HeadraceError, match="not among the blobs"):
        client.open_session(
            {"leaves": [leaf(path, args={})], "fields": fields[1:]}, max_outstanding=1
        )
