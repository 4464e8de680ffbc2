"""References: samples that a fork of the program makes, and what stays of it."""

import os
import random
import select
import signal
import struct
import threading

import numpy as np
import pytest
import torch
import torch.multiprocessing
from headrace.admission import reference_process
from headrace.admission.asks import Ask, Start
from headrace.admission.reference import Reference, ReferenceLost
from torch.utils.data import Dataset

WAIT = 60.0


class Draws(Dataset):
    """Samples that draw from all three generators; one that raises, one that ends its process."""

    def __init__(self):
        self.transform = None

    def __getitem__(self, key):
        if key == "raise":
            raise KeyError("no such sample")
        if key == "end":
            os._exit(7)
        if key == "settings":
            return os.getpid(), torch.get_num_threads(), signal.getsignal(signal.SIGINT).name
        return key, torch.rand(3), random.random(), np.random.rand()


@pytest.fixture
def reference():
    made = Reference(Draws())
    yield made
    made.close()


def ended(pid):
    """Whether it has ended and was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def expected(seed):
    torch.manual_seed(seed)
    return torch.rand(3), torch.rand(3)


def test_samples_from_a_state_a_seed_and_a_count_of_draws(reference):
    kept = torch.get_rng_state()
    first, second = expected(5)
    state = torch.Generator().manual_seed(5).get_state().numpy().tobytes()
    asks = [
        Ask(1, Start(state=state)),
        Ask(2),  # goes on
        Ask(3, Start(lane_seed=5, position=3)),
        Ask(4, Start(lane_seed=5)),  # back
        Ask(5, Start(seed=5)),
    ]
    made = reference.make(asks, WAIT)
    assert [sample.value[0] for sample in made] == [1, 2, 3, 4, 5]
    for sample, numbers in zip(made, [first, second, second, first, first], strict=True):
        assert sample.error is None and torch.equal(sample.value[1], numbers)
    assert made[1].state_after == made[2].state_after != made[3].state_after
    random.seed(5)
    np.random.seed(5)
    assert made[4].value[2:] == (random.random(), np.random.rand())
    torch.set_rng_state(kept)


@pytest.mark.parametrize("discarded", [0, 5, 700])
def test_position_with_a_normal_number_kept(reference, discarded):
    """torch draws them in pairs."""
    generator = torch.Generator().manual_seed(5)
    torch.rand(11, generator=generator)
    torch.empty((), dtype=torch.float64).normal_(generator=generator)
    torch.rand(discarded, generator=generator)
    position = 11 + 4 + discarded | (discarded + 1) << 48
    asks = [Ask(None, Start(lane_seed=5, position=at), length=0) for at in (3, position, 11)]
    assert reference.make(asks, WAIT)[1].state_after == generator.get_state().numpy().tobytes()


def test_program_s_generators_stay_where_they_are(reference):
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    reference.make([Ask(i, Start(seed=i)) for i in range(4)], WAIT)
    now = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    assert torch.equal(states[0], now[0]) and states[1:] == now[1:]


def test_error_is_a_stock_worker_s(reference):
    raised, after = reference.make(
        [Ask("raise", where="in DataLoader worker process 3"), Ask(1)], WAIT
    )
    assert raised.value is None and after.error is None
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 3"):
        raised.error.reraise()


def test_sample_that_does_not_pickle():
    class Odd(Dataset):
        def __getitem__(self, key):
            return lambda: key

    reference = Reference(Odd())
    (made,) = reference.make([Ask(1)], WAIT)
    with pytest.raises(RuntimeError, match="the sample cannot be sent to the trainer"):
        made.error.reraise()
    reference.close()


def test_process_is_a_worker_s(reference):
    pid, threads, on_interrupt = reference.make([Ask("settings")], WAIT)[0].value
    assert pid != os.getpid() and threads == 1 and on_interrupt == "SIG_IGN"
    assert torch.multiprocessing.active_children() == []


def test_its_end_is_an_error_that_says_so(reference):
    (sample,) = reference.make([Ask("settings")], WAIT)
    with pytest.raises(ReferenceLost, match="has ended with exit code 7"):
        reference.make([Ask("end")], WAIT)
    assert ended(sample.value[0])
    with pytest.raises(ReferenceLost, match="has ended with exit code 7"):
        reference.make([Ask(1)], WAIT)


@pytest.mark.parametrize("how", ["close", "drop"])
def test_nothing_is_left(how):
    reference = Reference(Draws())
    pid = reference.make([Ask("settings")], WAIT)[0].value[0]
    if how == "close":
        reference.close()
        reference.close()
    else:
        del reference
    assert ended(pid)


def test_fork_that_inherits_a_held_lock_is_made_again(monkeypatch):
    """Another thread may draw from torch's generator at the moment of the fork."""
    real, forks = reference_process._settle, []

    def settle():
        if len(forks) == 1:
            signal.pause()
        real()

    forked = Reference._fork
    monkeypatch.setattr(Reference, "_fork", lambda self: forks.append(1) or forked(self))
    monkeypatch.setattr(reference_process, "_settle", settle)
    monkeypatch.setattr("headrace.admission.reference._PATIENCE_TO_BEGIN", (0.1, WAIT))
    reference = Reference(Draws())
    assert reference.make([Ask(1)], WAIT)[0].value[0] == 1
    assert len(forks) == 2
    reference.close()


def test_not_asked_not_forked(monkeypatch):
    monkeypatch.setattr(os, "fork", None)
    reference = Reference(Draws())
    assert not reference.started
    reference.close()


def test_ends_with_a_program_that_is_killed():
    """It ends even while another child of the program lives on."""
    mine, theirs = os.pipe()
    program = os.fork()
    if program == 0:
        reference = Reference(Draws())
        pid = reference.make([Ask("settings")], WAIT)[0].value[0]
        heir = os.fork()  # holds what it inherited
        if heir:
            os.write(theirs, struct.pack("qq", pid, heir))
        signal.pause()
    try:
        pid, heir = struct.unpack("qq", os.read(mine, 16))
        watched = os.pidfd_open(pid)
    finally:
        os.kill(program, signal.SIGKILL)
        os.waitpid(program, 0)
        os.close(mine)
        os.close(theirs)
    try:
        # Sooner than it looks for its parent: by the end of the connection alone.
        assert select.select([watched], [], [], 4.0)[0]
    finally:
        os.close(watched)
        os.kill(heir, signal.SIGKILL)


def test_of_no_use_in_a_child(reference):
    reference.start()
    child = os.fork()
    if child == 0:
        try:
            reference.make([Ask(1)], WAIT)
        except ReferenceLost:
            reference.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert reference.make([Ask(1)], WAIT)[0].error is None  # the parent's goes on


def test_asked_by_several_threads(reference):
    found = []

    def ask(seed):
        for _ in range(20):
            (made,) = reference.make([Ask(seed, Start(lane_seed=seed))], WAIT)
            generator = torch.Generator().manual_seed(seed)
            found.append(torch.equal(made.value[1], torch.rand(3, generator=generator)))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 60


def test_answers_are_taken_when_they_are_there(reference):
    first, second = reference.ask([Ask(1), Ask(2)]), reference.ask([Ask(3)])
    assert [made.value[0] for made in reference.answers(second, WAIT)] == [3]
    assert [made.value[0] for made in reference.answers(first, 0.0)] == [1, 2]
    assert reference.make([], 0.0) == []
