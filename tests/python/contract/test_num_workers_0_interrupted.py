"""Contract: what happens beside an iteration with num_workers=0, or breaks it off, changes no batch."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import headrace
import pytest
import torch
from headrace.service import service
from support.compare import assert_same, seed_everything
from support.lazily import both_ways, epoch, folder, generators
from support.pipelines import evaluate_v1, train_v1
from torch.utils.data import DataLoader


def test_iterations_of_one_loader_inside_of_each_other(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 5, shuffle=True)
        told: list[Any] = []
        for batch in loader:
            inner = iter(loader)
            told += [batch[0].clone(), generators(), next(inner)[0].clone(), generators()]
        return told

    both_ways(program)


def test_loaders_in_threads_leave_the_main_threads_numbers_alone(photos):
    """Uses transforms that draw nothing, because the order of draws of several threads varies."""

    def program() -> list[Any]:
        found: dict[int, list[Any]] = {}

        def load(number: int) -> None:
            loader = DataLoader(folder(photos, evaluate_v1()), 3)
            found[number] = [[part.clone() for part in batch] for batch in loader]

        DataLoader(folder(photos, evaluate_v1()), 3)
        threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [found[number] for number in range(3)]

    both_ways(program)


def test_in_a_forked_child_an_iteration_goes_on(photos, capfd):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 3, shuffle=True)
        told = [epoch(loader)]
        iterator = iter(loader)
        next(iterator)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                digest = hashlib.sha256()
                for batch in iterator:
                    digest.update(batch[0].numpy().tobytes())
                # Python seeds its own generator again in a child.
                digest.update(torch.get_rng_state().numpy().tobytes())
                os.write(write, digest.hexdigest().encode())
            finally:
                os._exit(0)
        os.close(write)
        with open(read) as pipe:
            told.append(pipe.read())
        assert os.waitpid(child, 0)[1] == 0
        assert len(told[-1]) == 64
        told.append([part.clone() for batch in iterator for part in batch])
        return [*told, generators()]

    both_ways(program)
    assert "goes on in the trainer" not in capfd.readouterr().err  # nothing went wrong there


def test_a_service_that_ends_leaves_the_epoch_to_the_trainer(photos, capfd):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 3, shuffle=True)
        return epoch(loader, lambda number: service.close() if number == 2 else None)

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 9, "python": 0, "local": 18}
    assert "goes on in the trainer" in capfd.readouterr().err


class Wrapped:
    """A session whose next() is another's. `wait`: (the session, its timeout) -> an event."""

    def __init__(self, raw: Any, wait: Callable[[Any, float], Any]) -> None:
        self._raw, self._wait = raw, wait

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def next(self, timeout: float) -> Any:
        return self._wait(self._raw, timeout)


@contextlib.contextmanager
def waiting(iterator: Any, wait: Callable[[Any, float], Any]) -> Iterator[None]:
    handle = iterator._dataset_fetcher.handle
    handle.raw, kept = Wrapped(handle.raw, wait), handle.raw
    yield
    handle.raw = kept


def same_with_and_without(program: Callable[[bool], list[Any]]) -> None:
    """The served program, in which it happens, and the stock one, which is told what to expect."""
    headrace.uninstall()
    expected = program(False)
    headrace.install()
    try:
        assert_same(program(True), expected)
    finally:
        headrace.uninstall()


@pytest.mark.parametrize("transform", [evaluate_v1, train_v1])
def test_after_ctrl_c_the_next_batch_is_that_of_the_next_keys(photos, transform):
    def press(raw: Any, timeout: float) -> Any:
        raise KeyboardInterrupt

    def program(served: bool) -> list[Any]:
        seed_everything()
        iterator = iter(DataLoader(folder(photos, transform()), 4))
        told = [next(iterator), next(iterator)]
        if served:
            with waiting(iterator, press), pytest.raises(KeyboardInterrupt):
                next(iterator)
        else:
            next(iterator._sampler_iter)  # as the stock loader, which has taken its keys
        return [*told, *iterator]

    same_with_and_without(program)


def test_what_another_thread_draws_meanwhile_is_not_taken_back(photos):
    def overtake(raw: Any, timeout: float) -> Any:
        event = raw.next(timeout)
        if event is not None:
            torch.rand(3)
        return event

    def program(served: bool) -> list[Any]:
        seed_everything()
        iterator = iter(DataLoader(folder(photos, train_v1()), 4))
        told = [next(iterator), next(iterator)]
        if served:
            with waiting(iterator, overtake):
                told.append(next(iterator))
        else:
            torch.rand(3)
            told.append(next(iterator))
        return [*told, *iterator, generators()]

    same_with_and_without(program)
