"""Which memory maps travel to other hosts, and what is mapped there."""

import gc
import mmap
import os

import numpy as np
import pytest
import torch
from headrace.capture.handles import files as told_files
from headrace.stage.handles import files
from headrace.stage.handles.files import OtherFile
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bundled import dumped, made_again, reason

RECORD = np.dtype([("token", "<u2"), ("weights", "<f4", (3,)), ("kind", "S3")], align=True)


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.bin"
    np.arange(5000, dtype=np.uint16).tofile(path)
    return path


@pytest.fixture(scope="module")
def bytes_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("handles") / "bytes"
    path.write_bytes(np.random.default_rng(3).bytes(20_000))
    return path


def mapping_of(array):
    while not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else array.base
    return array


def place(array):
    begin = np.frombuffer(mapping_of(array), np.uint8).ctypes.data
    return array.__array_interface__["data"][0] - begin


def assert_same_view(made, array):
    assert type(made) is type(array)
    assert (made.shape, made.strides, made.dtype) == (array.shape, array.strides, array.dtype)
    assert made.dtype.metadata == array.dtype.metadata
    assert place(made) == place(array)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED", "OWNDATA"):
        assert made.flags[flag] == array.flags[flag], flag
    assert mapping_of(made)[:] == mapping_of(array)[:]
    if type(array) is np.memmap:
        assert (made.mode, made.offset, made.filename) == (array.mode, array.offset, array.filename)
        assert made._mmap is mapping_of(made)
    over = array.base
    if isinstance(over, np.ndarray) and over.flags.c_contiguous:
        if over.flags.writeable or not array.flags.writeable:
            assert type(made.base) is type(over) and made.base.shape == over.shape


dtypes = st.sampled_from(["u1", "<u2", ">i4", "<f8", "?", "S5", "V3", RECORD])
slices = st.builds(
    slice,
    st.none() | st.integers(-40, 40),
    st.none() | st.integers(-40, 40),
    st.none() | st.sampled_from([1, 2, 3, -1, -2]),
)
steps = st.one_of(
    slices.map(lambda s: lambda a: a[..., s]),
    slices.map(lambda s: lambda a: a[s] if a.ndim else a),
    st.just(lambda a: a.T),
    st.just(lambda a: a[None]),
    st.just(lambda a: a[..., 0, None] if a.ndim and a.shape[-1] else a),
    st.just(np.asarray),
    st.just(lambda a: a["weights"] if a.dtype.names else a),
    st.just(lambda a: a.view("u1") if a.flags.c_contiguous and a.ndim else a),
    st.just(lambda a: np.broadcast_to(a, (2, *a.shape))),
    st.just(lambda a: a[...]),
    st.just(lambda a: np.lib.stride_tricks.sliding_window_view(a, 2) if a.shape[:1] > (1,) and a.ndim == 1 else a),
)  # fmt: skip


@given(
    dtypes, st.sampled_from("rc"), st.integers(0, 9000), st.lists(steps, max_size=5), st.booleans()
)
@settings(max_examples=150, deadline=None)
def test_any_view_of_a_memory_map_is_made_again(bytes_file, dtype, mode, offset, chain, locked):
    dtype = np.dtype(dtype)
    shape = (6, 5, 4) if offset % 2 else (120,)
    whole = np.memmap(bytes_file, dtype, mode, offset=offset, shape=shape)
    view = whole
    for step in chain:
        view = step(view)
    if locked and view is not whole:
        view.flags.writeable = False
    if not np.shares_memory(view, whole) and view.size:
        return  # it was copied
    if not view.size:
        return
    first, second = made_again([view, whole])
    assert_same_view(first, view)
    assert_same_view(second, whole)
    assert mapping_of(first) is mapping_of(second), "two mappings for one"


def test_views_of_nothing_travel(tokens):
    whole = np.memmap(tokens, np.uint16, "r")
    for view in (whole[5:5], whole[len(whole) :], whole[2:2][::-1]):
        assert_same_view(made_again(view), view)


def test_one_map_is_one_map_and_what_is_written_in_a_private_one_is_seen_by_its_views(tokens):
    whole = np.memmap(tokens, np.uint16, "c")
    left, right, again = made_again([whole[:100], whole[50:], whole[:100]])
    left[60] = 7
    assert right[10] == 7 and again[60] == 7
    assert np.fromfile(tokens, np.uint16)[60] == 60 and whole[60] == 60


def test_a_view_that_may_be_written_of_an_array_that_may_not(tokens):
    whole = np.memmap(tokens, np.uint16, "c")
    view = whole[5:]
    whole.flags.writeable = False
    made = made_again([view, whole])
    assert_same_view(made[0], view)
    assert_same_view(made[1], whole)


def test_a_file_of_numpy_that_is_mapped(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(60.0).reshape(12, 5))
    rows = np.load(path, mmap_mode="r")
    assert len(dumped(rows)) < 1500
    assert_same_view(made_again(rows), rows)
    np.save(path.with_name("f.npy"), np.asfortranarray(rows))
    in_columns = np.load(path.with_name("f.npy"), mmap_mode="r")[2:, ::2]
    assert_same_view(made_again(in_columns), in_columns)


def test_copies_of_a_memory_map_are_data(tokens):
    copy = np.memmap(tokens, np.uint16, "r").copy()
    tokens.unlink()
    made = made_again(copy)
    assert type(made) is np.memmap and (made == copy).all() and made._mmap is None


def test_a_map_without_numpy_keeps_its_place(tokens):
    with open(tokens, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ, offset=4096)
    mapped.read(10)
    made = made_again({"map": mapped, "array": np.frombuffer(mapped, "u1", offset=5)})
    assert made["map"].tell() == 10 and made["map"][:] == mapped[:]
    assert mapping_of(made["array"]) is made["map"]
    assert made["array"].tobytes() == mapped[5:]


def test_a_view_of_memory(tokens):
    """As Megatron's data sets have it, with arrays made from it."""
    whole = np.memmap(tokens, mode="r")
    view = memoryview(whole)
    array = np.frombuffer(view, np.uint16, count=100, offset=20)
    made = made_again({"view": view[6:90], "array": array, "none": view[:0]})
    assert made["view"].readonly and bytes(made["view"]) == bytes(view[6:90])
    assert made["none"].nbytes == 0 and (made["array"] == array).all()
    with open(tokens, "rb") as file:
        private = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    made = made_again([private, private.toreadonly()])
    assert [one.readonly for one in made] == [False, True]
    assert "no plain range" in reason(view[::2])
    private.release()
    assert "is released" in reason(private)


def test_a_relative_path_and_a_moved_file(tmp_path, tokens, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = np.memmap("tokens.bin", np.uint16, "r")
    tokens.rename(tmp_path / "sub\nline (deleted)")
    monkeypatch.chdir("/")
    assert (made_again(whole) == whole).all()


def test_maps_that_stay(tokens, tmp_path):
    class Own(np.memmap):
        pass

    def opened(mode):
        return np.memmap(tokens, np.uint16, mode, shape=(5000,))

    content = tokens.read_bytes()
    assert "may write to its file" in reason(opened("r+"))
    assert "may write to its file" in reason(opened("w+"))
    tokens.write_bytes(content)
    assert "Own in a memory map" in reason(Own(tokens, np.uint16, "r"))
    assert "shared with the trainer" in reason(np.frombuffer(mmap.mmap(-1, 4096), "u1"))

    written = opened("c")
    written[4000] += 1
    assert "was written to, in this process alone" in reason(written[:10])

    reading = opened("r")
    writing = opened("r+")
    assert "to which the program may still write" in reason(reading)
    del writing
    gc.collect()  # what was refused hangs on tracebacks
    with open(tokens, "r+b"):
        assert "to which the program may still write" in reason(reading)
    dumped(reading)

    whole = opened("r")
    closed = mmap.mmap(os.open(tokens, os.O_RDONLY), 0, access=mmap.ACCESS_READ)
    closed.close()
    assert "is closed" in reason(closed)
    tokens.with_name("new").write_bytes(content)
    tokens.with_name("new").rename(tokens)
    assert "not there any more" in reason(whole), "another file lies under its name"
    os.truncate(tmp_path / "tokens.bin", 100)
    short = np.memmap(tokens, np.uint16, "r")
    os.truncate(tokens, 50)
    assert "has become shorter" in reason(short)


def test_another_file_with_the_name_that_the_kernel_gives_a_deleted_one(tokens):
    whole = np.memmap(tokens, np.uint16, "r")
    content = tokens.read_bytes()
    tokens.unlink()
    tokens.with_name("tokens.bin (deleted)").write_bytes(content)
    assert "not there any more" in reason(whole)


def test_a_map_that_writes_needs_no_descriptor(tokens):
    """torch.from_file(shared=True) closes it."""
    whole = np.memmap(tokens, np.uint16, "r")
    writing = torch.from_file(str(tokens), shared=True, size=100, dtype=torch.int16)
    assert "to which the program may still write" in reason(whole)
    del writing
    dumped(whole)


def test_an_array_beyond_its_map_stays(tokens):
    few = np.memmap(tokens, np.uint16, "r", shape=(8,))
    beyond = np.lib.stride_tricks.as_strided(few, (9000,), (2,))
    assert "reaches beyond" in reason(beyond)


# What another host may have under the path.


def seen_elsewhere(path):
    """As a trainer of another boot sees the file."""
    seen = told_files.seen_at(str(path))
    return seen._replace(place=("another boot", *seen.place[1:]))


@pytest.mark.parametrize("size", [0, 10, 1 << 20, (1 << 20) + 1, 5_000_001])
def test_equal_content_is_the_same_file(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(np.random.default_rng(size).bytes(size))
    seen = seen_elsewhere(path)
    os.utime(path, ns=(1, 1))
    os.close(files.open_same(seen))


@pytest.mark.parametrize("at", [0, 70_000, 2_500_000, 4_999_999])
def test_other_content_is_another_file(tmp_path, at):
    content = bytearray(np.random.default_rng(1).bytes(5_000_000))
    path = tmp_path / "file"
    path.write_bytes(content)
    seen = seen_elsewhere(path)
    near = range(at - at % 4096, min(len(content), at - at % 4096 + 100_000))
    for i in near:  # about a step of the pages that are looked at
        content[i] ^= 1
    path.write_bytes(content)
    with pytest.raises(OtherFile, match="has other content here"):
        files.open_same(seen)


def test_a_file_that_is_absent_or_of_another_size_is_another_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    seen = seen_elsewhere(path)
    path.write_bytes(b"1234")
    with pytest.raises(OtherFile, match="4 bytes here, and 5 on the trainer's host"):
        files.open_same(seen)
    path.unlink()
    with pytest.raises(OtherFile, match="No such file"):
        files.open_same(seen)
    os.mkfifo(path)
    with pytest.raises(OtherFile, match="is no file here"):
        files.open_same(seen)


def test_a_file_that_is_changed_here_is_another_bundle(tokens):
    whole = np.memmap(tokens, np.uint16, "r")
    before = dumped(whole)
    with open(tokens, "r+b") as file:
        file.write(b"new")
    assert dumped(whole) != before


def test_content_is_read_once_for_each_state_of_a_file(tokens, monkeypatch):
    os.utime(tokens)
    monkeypatch.setattr(told_files, "_TICK", -(1 << 62))  # as if it were written long ago
    first = told_files.seen_at(str(tokens))
    monkeypatch.setattr(told_files, "content_of", None)
    assert told_files.seen_at(str(tokens)) == first
