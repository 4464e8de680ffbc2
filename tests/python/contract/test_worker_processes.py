"""Contract: `_workers` of a native loader's iterator are worker processes, for programs that look."""

import multiprocessing
import os
import signal
import time

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from support.processes import children
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.stateful_dataloader import _StatefulMultiProcessingDataLoaderIter

pytestmark = [
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),  # torchdata
    pytest.mark.usefixtures("seam"),
]

LOADERS = pytest.mark.parametrize("kind", [DataLoader, StatefulDataLoader])
STOCK = {
    DataLoader: _MultiProcessingDataLoaderIter,
    StatefulDataLoader: _StatefulMultiProcessingDataLoaderIter,
}
ROWS = torch.arange(20)


def loader_of(kind, **named):
    loader = kind(TensorDataset(ROWS), batch_size=2, num_workers=2, **named)
    return loader


def natively(loader):
    """Its iterator."""
    iterator = iter(loader)
    assert state_of(loader).report.path == "native"
    return iterator


@LOADERS
@pytest.mark.parametrize("context", [None, "spawn", "forkserver"])
def test_they_live_as_long_as_the_iterator(kind, context):
    iterator = natively(loader_of(kind, multiprocessing_context=context))
    next(iterator)
    workers = iterator._workers
    assert workers is iterator._workers
    assert [worker.is_alive() for worker in workers] == [True, True]
    assert [worker.daemon for worker in workers] == [True, True]
    if context != "forkserver":  # whose children are another process's
        assert {worker.pid for worker in workers} <= set(children(os.getpid()))
    del iterator
    assert [worker.exitcode for worker in workers] == [0, 0]


@LOADERS
@pytest.mark.parametrize("persistent", [False, True])
def test_the_end_of_an_epoch_ends_those_that_do_not_persist(kind, persistent):
    loader = loader_of(kind, persistent_workers=persistent)
    iterator = natively(loader)
    workers = iterator._workers
    assert len(list(iterator)) == 10
    assert [worker.is_alive() for worker in workers] == [persistent] * 2
    if persistent:
        assert iter(loader)._workers is workers


@LOADERS
def test_after_the_epoch_they_have_ended(kind):
    iterator = natively(loader_of(kind))
    list(iterator)
    assert [worker.exitcode for worker in iterator._workers] == [0, 0]


@LOADERS
@pytest.mark.parametrize("looks", [False, True])
def test_they_are_shut_down_by_the_program(kind, looks):
    """The program does it as Lightning does with iterators of this very class."""
    iterator = natively(loader_of(kind))
    assert isinstance(iterator, STOCK[kind])
    next(iterator)
    workers = iterator._workers if looks else []
    iterator._shutdown_workers()
    iterator._shutdown_workers()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    assert [worker.exitcode for worker in iterator._workers] == [0, 0]


@LOADERS
def test_after_the_shutdown_comes_nothing(kind):
    iterator = natively(loader_of(kind))
    next(iterator)
    iterator._shutdown_workers()
    with pytest.raises(StopIteration):
        next(iterator)


@LOADERS
def test_one_that_is_killed_is_an_error(kind):
    iterator = natively(loader_of(kind, persistent_workers=True))
    victim = iterator._workers[1]
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(?s?\)? ?{victim.pid}\)"):
        os.kill(victim.pid, signal.SIGKILL)
        time.sleep(60)  # until the signal of its end
    iterator._shutdown_workers()


def test_who_does_not_look_has_none():
    iterator = natively(loader_of(DataLoader))
    next(iterator)
    before = set(children(os.getpid()))
    workers = iterator._workers
    assert set(children(os.getpid())) - before == {worker.pid for worker in workers}


def test_nothing_of_them_stays():
    """No descriptor stays, and they keep no memory of batches that the program has released."""
    loader = loader_of(DataLoader)
    list(natively(loader))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        iterator = natively(loader)
        workers = iterator._workers
        list(iterator)
        for worker in workers:
            worker.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_workers_there_is_no_such_name():
    headrace.uninstall()
    assert not hasattr(iter(DataLoader(TensorDataset(ROWS))), "_workers")
    headrace.install()
    assert not hasattr(iter(DataLoader(TensorDataset(ROWS))), "_workers")


def test_in_a_child_they_are_the_parents():
    iterator = natively(loader_of(DataLoader))
    workers = iterator._workers

    def child(sender):
        iterator._shutdown_workers()
        sender.send([worker.pid for worker in iterator._workers])

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    assert receiver.poll(60) and receiver.recv() == [worker.pid for worker in workers]
    process.join(60)
    assert [worker.is_alive() for worker in workers] == [True, True]
    assert len(list(iterator)) == 10
