"""The subprocess that runs Python stages, spoken to as a data worker does."""

import collections
import ctypes
import functools
import os
import pickle
import random
import signal
import socket
import sys
import warnings

import numpy as np
import pytest
import torch
from headrace.stage import wire
from headrace.stage.pickling import Arena, Slot, collating, keeps_nothing, pickle_batch
from support import stage_peer
from torch.utils.data import (
    DataLoader,
    Dataset,
    default_collate,
    get_worker_info,
)
from torch.utils.data._utils import worker
from torch.utils.data._utils.collate import default_collate_fn_map

Stage = functools.partial(stage_peer.Stage, user_module=sys.modules[__name__])
Point = collections.namedtuple("Point", "x y")


class Noise(Dataset):
    """Draws from every generator that code can see, and from its own."""

    def __init__(self):
        self.own = np.random.default_rng(1)

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return {
            "torch": torch.rand(40, 10) + index,
            "numpy": np.random.rand(300),
            "python": random.random(),
            "own": self.own.random(),
            "worker": get_worker_info().id,
            "seed": get_worker_info().seed,
            "init": getattr(self, "init", -1),
        }


class Special(Dataset):
    def __getitem__(self, index):
        if index == 1:
            raise KeyError("no sample 1")
        if index == 2:
            raise Unpicklable("two", lambda: None)
        if index == 3:
            print("on its way")
            os.kill(os.getpid(), signal.SIGSEGV)
        if index == 4:
            print("hello from the dataset")
            warnings.warn("careful", stacklevel=1)
        if index == 5:
            return Point(torch.arange(6).view(2, 3).t(), torch.empty(0, 3))
        return torch.full((1000,), float(index))


class Unpicklable(Exception):
    def __init__(self, text, cause):
        super().__init__(text)
        self.cause = cause


class Batched(Dataset):
    def __getitems__(self, keys):
        return [torch.tensor(keys)]

    def __getitem__(self, key):
        raise AssertionError


def init_worker(lane):
    torch.rand(3)
    get_worker_info().dataset.init = lane


@pytest.fixture(scope="module")
def special():
    with Stage(dataset=Special()) as stage:
        yield stage


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return torch.equal(a, b) and a.dtype == b.dtype and a.stride() == b.stride()


def stock_batches(base_seed):
    """The batches of a stock loader with this base seed."""
    loader = DataLoader(Noise(), batch_size=4, num_workers=2, worker_init_fn=init_worker)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(base_seed)
        return list(loader)


def base_seed_of(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return torch.empty((), dtype=torch.int64).random_().item()


def test_lanes_make_the_stock_loaders_batches():
    stock = stock_batches(11)
    with Stage(dataset=Noise(), worker_init_fn=init_worker) as stage:
        hosts = [stage.host(), stage.host()]
        states = [b"", b""]
        for k, expected in enumerate(stock):
            lane = k % 2
            keys = range(4 * k, 4 * k + 4)
            answer = hosts[lane].ask(keys, lane, base_seed_of(11), states[lane])
            assert same(answer.value(), expected)
            states[lane] = answer.state


def test_any_host_can_go_on_with_a_lane():
    stock = stock_batches(12)[0::2]
    with Stage(dataset=Noise(), worker_init_fn=init_worker) as stage:
        state = b""
        for k, expected in enumerate(stock):
            answer = stage.host().ask(range(8 * k, 8 * k + 4), 0, base_seed_of(12), state)
            assert same(answer.value(), expected)
            state = answer.state


def mix_with_the_batch_before(samples):
    batch = default_collate(samples)
    before = getattr(mix_with_the_batch_before, "batch", batch)
    mix_with_the_batch_before.batch = batch
    return batch + 10 * before


def test_a_batch_that_code_keeps_is_its_own():
    with Stage(dataset=Special(), collate_fn=mix_with_the_batch_before) as stage:
        host = stage.host()
        first = host.ask([0, 6])
        host.arena.view[:] = b"z" * len(host.arena.view)  # the slot is used for something else
        second = host.ask([7, 8], state=first.state)
        expected = torch.tensor([7.0, 68.0]).view(2, 1).expand(2, 1000)
        assert torch.equal(second.value(), expected)


def test_tensors_lie_in_the_slot_and_small_values_stay_in_the_pickle():
    with Stage(dataset=Noise()) as stage:
        answer = stage.host().ask([0, 1, 2, 3])
        # torch: 4x40x10 float32, numpy: 4x300 float64; the scalars are a few bytes each.
        assert 4 * 40 * 10 * 4 in answer.sizes
        assert 4 * 300 * 8 in answer.sizes
        value = answer.value()
        address = ctypes.addressof(ctypes.c_char.from_buffer(answer.buffers[0]))
        assert value["torch"].data_ptr() == address
        assert len(answer.pickle) < 4000


def test_seeds_of_samples_do_not_depend_on_order_or_host():
    class Draws(Dataset):
        def __getitem__(self, index):
            assert get_worker_info() is None
            return torch.rand(2), random.random(), np.random.rand()

    with Stage(dataset=Draws(), num_workers=0) as stage:
        first = stage.host().ask([5, 6], seeds=[50, 2**63 + 60]).value()
        second = stage.host().ask([6, 5], seeds=[2**63 + 60, 50]).value()
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b.flip(0))
    torch.manual_seed(50)
    assert torch.equal(first[0][0], torch.rand(2))


def test_exceptions_keep_type_place_and_text(special):
    host = special.host()
    answer = host.ask([0, 1], lane=1)
    assert answer.outcome == wire.RAISED
    with pytest.raises(KeyError, match="(?s)in DataLoader worker process 1.*no sample 1"):
        pickle.loads(answer.error).reraise()
    # The trainer's own class, though the host had a copy by value.
    assert pickle.loads(host.ask([2]).error).exc_type is Unpicklable
    assert host.ask([0]).value().shape == (1, 1000)


def test_a_local_exception_class_becomes_a_runtime_error_with_its_text():
    class Local(Exception):
        pass

    class Raises(Dataset):
        def __getitem__(self, index):
            raise Local("where are we")

    with Stage(dataset=Raises()) as stage:
        wrapper = pickle.loads(stage.host().ask([0]).error)
    with pytest.raises(RuntimeError, match="(?s)Local: where are we"):
        wrapper.reraise()


def test_worker_init_fn_that_raises_fails_every_batch():
    def fails(lane):
        raise ValueError(f"no lane {lane}")

    with Stage(dataset=Special(), worker_init_fn=fails) as stage:
        host = stage.host()
        for _ in range(2):
            with pytest.raises(ValueError, match="no lane 1"):
                pickle.loads(host.ask([0], lane=1).error).reraise()


def test_containers_strides_and_classes_survive():
    with Stage(dataset=Special(), auto_collation=False, collate_fn=lambda x: x) as stage:
        value = stage.host().ask([5]).value()
    assert type(value) is Point
    assert value.x.stride() == (1, 3) and value.y.shape == (0, 3)


def test_getitems_is_honoured():
    with Stage(dataset=Batched()) as stage:
        assert stage.host().ask([3, 1]).value().tolist() == [[3, 1]]


def test_a_slot_too_small_says_what_it_takes(special):
    host = special.host()
    answer = host.ask([0, 6], size=4096)
    assert answer.outcome == wire.TOO_SMALL
    again = host.ask([0, 6], size=answer.needed)
    assert torch.equal(again.value()[1], torch.full((1000,), 6.0))


def test_nothing_outside_of_the_slot_is_written(special):
    host = special.host()
    host.arena.view[:] = b"z" * len(host.arena.view)
    answer = host.ask([0], offset=8192, size=8192)
    assert answer.outcome == wire.MADE
    assert bytes(host.arena.view[:8192]) == b"z" * 8192
    assert bytes(host.arena.view[16384:]) == b"z" * (len(host.arena.view) - 16384)


def test_the_trainers_channel_is_held_while_a_host_may_write():
    trainer, worker = socket.socketpair()
    with Stage(dataset=Special()) as stage:
        host = stage.host()
        head = wire.encode(wire.ARENA)
        socket.send_fds(host.sock, [head], [host.arena.fd, worker.fileno()])
        host.ask([0])
        worker.close()  # as when the worker dies
        trainer.setblocking(False)
        with pytest.raises(BlockingIOError):
            trainer.recv(1)
    trainer.settimeout(60)
    assert trainer.recv(1) == b""
    trainer.close()


def test_what_it_prints_is_caught():
    with Stage(dataset=Special()) as stage:
        host = stage.host()
        answer = host.ask([4])
        assert answer.output == b"hello from the dataset\n"
        assert b"UserWarning: careful\n" in answer.error_output
        assert host.ask([0]).output == b""
        assert host.ask([4], size=100).output == b""  # too small: it is made once more
        assert host.ask([4]).output == b"hello from the dataset\n"


OTHER_STREAM = """
import sys
class Quiet:
    def write(self, text): pass
    def flush(self): pass
sys.stdout = Quiet()
"""


def test_code_may_have_put_another_stream_in_the_place_of_stdout():
    base = stage_peer.Base(before=OTHER_STREAM)
    with Stage(dataset=Special(), base=base) as stage:
        assert stage.host().ask([4]).output == b""
    base.close()


def test_a_crash_is_told_with_its_signal_and_its_last_words(special):
    host = special.host()
    with pytest.raises(EOFError):
        host.ask([3])
    kind, parts, _ = wire.receive(special.control)
    assert kind == wire.ENDED
    assert parts[1].endswith(
        b"is killed by signal: Segmentation fault. Its last output:\non its way\n"
    )
    assert special.host().ask([0]).value().shape == (1, 1000)


def test_hosts_end_with_their_zygote():
    with Stage(dataset=Special()) as stage:
        host = stage.host()
        host.ask([0])
        os.kill(stage.pid, signal.SIGKILL)
        assert host.sock.recv(1) == b""


def test_another_python_is_refused_with_both_versions():
    with Stage(dataset=Special(), version="2.7") as stage:
        assert "the trainer runs Python 2.7, this worker 3." in stage.problem


def test_read_only_arrays_give_no_warning():
    class ReadOnly(Dataset):
        def __getitem__(self, index):
            return np.frombuffer(bytes(range(256)) * 8, dtype=np.uint8)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Stage(dataset=ReadOnly(), collate_fn=lambda samples: samples) as stage:
            (value,) = stage.host().ask([0]).value()
    assert value.sum() == sum(range(256)) * 8


def slot_of(size):
    memory = os.memfd_create("arena")
    os.ftruncate(memory, 1 << 16)
    return Slot(Arena(memory), 128, size)


@pytest.fixture
def in_a_worker(monkeypatch):
    """Where default_collate stacks into storage of its own."""
    monkeypatch.setattr(
        worker, "_worker_info", worker.WorkerInfo(id=0, num_workers=1, seed=0, dataset=None)
    )


def test_torchs_own_collate_stacks_into_the_slot(in_a_worker):
    rows = [(torch.rand(3, 100), np.arange(200) + i, torch.tensor(i)) for i in range(4)]
    expected = default_collate(rows)
    slot = slot_of(40_000)
    begin = np.frombuffer(slot.arena.memory, np.uint8).ctypes.data
    with collating(slot):
        batch = default_collate(rows)
        data, offsets, sizes = pickle_batch(batch, slot)
    assert [t.data_ptr() - begin - 128 for t in batch[:2]] == offsets
    assert sizes == [4800, 6400] and slot.needed == offsets[1] + sizes[1]
    buffers = [slot.view(*place) for place in zip(offsets, sizes, strict=True)]
    made = pickle.loads(data, buffers=buffers)
    assert all(map(torch.equal, made, expected))


def test_a_slot_too_small_to_stack_into_says_what_it_takes(in_a_worker):
    rows = [torch.rand(3, 100) for _ in range(4)]
    slot = slot_of(4000)
    with collating(slot), pytest.raises(MemoryError):
        pickle_batch([default_collate(rows), default_collate(rows)], slot)
    assert slot.needed == 4800 * 2


def test_only_torchs_own_collate_keeps_nothing(monkeypatch):
    assert keeps_nothing(default_collate)
    assert not keeps_nothing(mix_with_the_batch_before)
    monkeypatch.setitem(default_collate_fn_map, Point, lambda batch, **named: batch)
    assert not keeps_nothing(default_collate)
