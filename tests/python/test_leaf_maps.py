"""Parts of a segment of leaves that a program may write into (stage/leaf_maps.py)."""

import os
import random

import numpy as np
import pytest
import torch
from headrace.stage import leaf_maps
from headrace.stage.kept_entry import Entry
from headrace.stage.kept_results import Packed
from support.own_process import in_own_process

SEED = 20261201
SIZE = 4 << 20


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch):
    monkeypatch.setattr(leaf_maps, "_parts", leaf_maps._Parts())


def segment(content):
    """As a lane maps one: sealed memory, whose descriptor is closed then."""
    import fcntl

    fd = os.memfd_create("leaves", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    assert os.pwrite(fd, content, 0) == len(content)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    try:
        return leaf_maps.mapped(fd, len(content))
    finally:
        os.close(fd)


def noise(size, seed=SEED):
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 256, size, np.uint8)


def maps():
    """Of memory files, in this process."""
    with open("/proc/self/maps") as file:
        return sum("memfd:leaves" in line for line in file)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_parts_hold_what_the_segment_holds_and_are_written_alone():
    rng, content = random.Random(SEED), noise(SIZE)
    view = segment(content)
    assert view.readonly and bytes(view) == content.tobytes()
    areas = maps()
    for case in range(40):
        size = rng.choice(
            (leaf_maps.LEAST, leaf_maps.LEAST + 1, rng.randint(leaf_maps.LEAST, SIZE))
        )
        begin = rng.choice((0, SIZE - size, rng.randint(0, (SIZE - size) // 64) * 64))
        part, other = (leaf_maps.own(view[begin : begin + size]) for _ in range(2))
        assert maps() == areas + 2, (SEED, case)
        wanted = content[begin : begin + size]
        assert part.flags.writeable and part.dtype == np.uint8 and part.shape == (size,)
        assert part.tobytes() == wanted.tobytes(), (SEED, case, begin, size)
        part += 1
        part[rng.randrange(size) :] = 7
        assert other.tobytes() == wanted.tobytes(), (SEED, case, begin, size)
    assert bytes(view) == content.tobytes()


def test_little_and_other_memory_is_copied():
    content = noise(SIZE)
    view, before = segment(content), maps()
    small = leaf_maps.own(view[: leaf_maps.LEAST - 1])
    foreign = leaf_maps.own(memoryview(content.tobytes()))
    assert maps() == before
    for mine, wanted in ((small, content[: leaf_maps.LEAST - 1]), (foreign, content)):
        assert mine.flags.writeable and mine.flags.owndata and mine.tobytes() == wanted.tobytes()


def test_memory_and_descriptors_go_with_the_last_part():
    fds, areas = descriptors(), maps()
    view = segment(noise(SIZE))
    assert (descriptors(), maps()) == (fds + 1, areas + 1)
    parts = [leaf_maps.own(view) for _ in range(8)]
    assert (descriptors(), maps()) == (fds + 1, areas + 9)
    del view  # the worker has given it up
    assert (descriptors(), maps()) == (fds, areas + 8)
    assert all(part.tobytes() == noise(SIZE).tobytes() for part in parts)
    del parts
    assert (descriptors(), maps()) == (fds, areas)


def test_a_program_that_keeps_what_it_is_given_gets_copies(monkeypatch):
    monkeypatch.setattr(leaf_maps, "MOST", 16)
    monkeypatch.setattr(leaf_maps, "_parts", leaf_maps._Parts())
    content = noise(SIZE)
    view, areas = segment(content), maps()
    for _ in range(100):
        leaf_maps.own(view)  # nobody keeps these
    assert maps() == areas and leaf_maps.can_be_mapped(SIZE)
    kept = [leaf_maps.own(view) for _ in range(40)]
    assert areas + 16 <= maps() <= areas + 18
    assert not leaf_maps.can_be_mapped(SIZE)
    assert all(part.flags.writeable and part.tobytes() == content.tobytes() for part in kept)


@in_own_process
def test_the_program_closes_all_descriptors():
    content = noise(SIZE)
    view = segment(content)
    os.closerange(3, 64)
    others = [os.open("/dev/zero", os.O_RDONLY) for _ in range(8)]  # of other files now
    assert leaf_maps.own(view).tobytes() == content.tobytes()
    del view
    assert all(os.read(fd, 1) == b"\0" for fd in others)


def test_a_fork_writes_into_pages_of_its_own():
    content = noise(SIZE)
    view = segment(content)
    part = leaf_maps.own(view)
    child = os.fork()
    if child == 0:
        part[:] = 3
        leaf_maps.own(view)[:] = 4
        os._exit(0 if bytes(view) == content.tobytes() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert part.tobytes() == content.tobytes()


def results():
    """Tensors as functions return them."""
    array = noise(600_000).view(np.float32)[:140_000].reshape(2, 70_000).copy()
    yield torch.from_numpy(array)
    yield torch.from_numpy(array.copy()).view(4, 35_000)
    yield torch.from_numpy(array.copy())[1:]
    yield torch.from_numpy(array.copy()).t()
    yield torch.from_numpy(array.copy()).clone()
    yield {"image": torch.from_numpy(array.copy()), "mask": torch.ones(300, 400).long(), "id": 7}


def about(value):
    if isinstance(value, dict):
        return {key: about(one) for key, one in value.items()}
    if not isinstance(value, torch.Tensor):
        return value
    storage = value.untyped_storage()
    form = value.dtype, value.shape, value.stride(), value.storage_offset(), value._is_view()
    owner = storage.resizable(), storage.nbytes(), storage.is_shared(), value.is_contiguous()
    return form, owner, value.contiguous().numpy().tobytes()


def changed(value):
    for one in value.values() if isinstance(value, dict) else (value,):
        if isinstance(one, torch.Tensor):
            one.zero_()


@pytest.mark.parametrize("number", range(6))
def test_results_are_what_the_function_returned_and_the_programs_own(number):
    wanted = about(list(results())[number])
    value = list(results())[number]
    entry = b"".join(map(bytes, Packed(value).parts("about")))
    view = segment(entry + bytes(SIZE))[: len(entry)]
    areas, found = maps(), []
    for _ in range(3):
        found.append(Entry(view).value())
        assert about(found[-1]) == wanted
        changed(found[-1])
    is_torchs = number == 4  # whose memory can grow
    assert (maps() == areas) == is_torchs
    assert about(Entry(view).value()) == wanted
