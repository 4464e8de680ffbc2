"""Contract: IterableDataset with workers. Lanes are iterators, which end by themselves."""

import copy
import os
import time
import warnings
from pathlib import Path

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from headrace.stage.lane import LanePort
from support.compare import assert_same, batches, check, errors, seed_everything, served, stock
from support.headrace_program import wait_for
from support.lost_worker import check_with_a_lost_worker
from support.photos import without_tables
from support.processes import hosts, zygotes
from support.streams import CannotBegin, Drawn, Growing, Lengthy, Pictures, RaisesOnce
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from torch.utils.data.datapipes.iter import IterableWrapper


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("lanes", "sizes"), [(1, (10,)), (2, (3, 14)), (3, (7, 0, 12))])
def test_same_batches(lanes, sizes, drop_last, persistent):
    check(
        lambda loader: loader(
            Drawn(*sizes),
            batch_size=3,
            num_workers=lanes,
            drop_last=drop_last,
            persistent_workers=persistent,
        ),
        path="python",
    )


def test_single_samples_without_a_batch_size():
    seen = check(lambda loader: loader(Drawn(4, 2), batch_size=None, num_workers=2), "python")
    assert len(batches(seen)) == 12


def count_samples(samples):
    return len(samples), get_worker_info().id, torch.rand(1)


def draw_and_mark(lane):
    torch.rand(lane + 1)
    get_worker_info().dataset.runs = 10 * lane


def test_collate_and_worker_init():
    check(
        lambda loader: loader(
            Drawn(5, 5),
            batch_size=2,
            num_workers=2,
            collate_fn=count_samples,
            worker_init_fn=draw_and_mark,
        ),
        path="python",
    )


@pytest.mark.parametrize("persistent", [False, True])
def test_early_break(persistent):
    """What persistent workers were asked for is made, and moves their random numbers."""
    check(
        lambda loader: loader(
            Drawn(500, 500), batch_size=2, num_workers=2, persistent_workers=persistent
        ),
        path="python",
        epochs=3,
        stop=5,
    )


def test_batches_that_outgrow_their_slot_are_made_once():
    check(lambda loader: loader(Growing(), batch_size=1, num_workers=2), path="python", epochs=1)


def test_any_order():
    def lanes(seen):
        return sorted((b["lane"].tolist(), b["number"].tolist()) for b in batches(seen))

    def make(loader):
        return loader(Drawn(9, 30, 3), batch_size=2, num_workers=3, in_order=False)

    assert lanes(served(make, "python", epochs=1)) == lanes(stock(make, epochs=1))


class LateInLane1(IterableDataset):
    """Lane 0 ends while all that it was asked for is still outstanding."""

    def __iter__(self):
        if get_worker_info().id == 1:
            time.sleep(0.3)
            yield from range(6)


@pytest.mark.parametrize("persistent", [False, True])
def test_in_any_order_a_lane_ends_once(persistent):
    """And what the iterator counts, by which torch's code hands out tasks, is then as ever."""

    def counts(iterator):
        known = iterator._workers_num_tasks, iterator._tasks_outstanding, iterator._workers_status
        return copy.deepcopy(known)

    def run():
        loader = DataLoader(
            LateInLane1(), num_workers=2, in_order=False, persistent_workers=persistent
        )
        for _ in range(2):
            iterator = iter(loader)
            for batch in iterator:
                yield batch.tolist(), counts(iterator)
            yield counts(iterator)

    expected = list(run())
    headrace.install()
    try:
        assert list(run()) == expected
    finally:
        headrace.uninstall()


def test_a_process_that_ends_with_its_lane_is_no_loss(monkeypatch):
    """Torch's code tells it to end when it has said so once; it may have been asked for more."""
    answer = LanePort._answer

    def ends_unasked(self, asked, made):
        if made.ended and self._iteration in told:
            os._exit(0)
        if made.ended:
            told.add(self._iteration)
        answer(self, asked, made)

    told = set()  # each lane's process has its own

    def run():
        loader = DataLoader(LateInLane1(), num_workers=2, in_order=False)
        return [batch.tolist() for _ in range(2) for batch in loader]

    expected = run()
    monkeypatch.setattr(LanePort, "_answer", ends_unasked)
    headrace.install()
    try:
        assert run() == expected
    finally:
        headrace.uninstall()


@pytest.mark.parametrize("ends", [False, True])
def test_error_of_item_7(ends):
    seen = check(
        lambda loader: loader(RaisesOnce(ends), batch_size=2, num_workers=2), "python", epochs=1
    )
    ((kind, text),) = errors(seen)
    assert kind is KeyError and "in DataLoader worker process 1" in text
    assert len(batches(seen)) == (9 if ends else 11)


def test_remote_traceback(seam):
    with pytest.raises(KeyError) as raised:
        list(DataLoader(RaisesOnce(True), batch_size=2, num_workers=2))
    assert "Original Traceback" in str(raised.value) and "in _item" in str(raised.value)


def test_error_of_iter():
    seen = check(lambda loader: loader(CannotBegin(), num_workers=2), "python", epochs=1, stop=1)
    assert errors(seen)[0][0] is OSError


def said_by_torch(loader):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = len(list(loader))
    return count, [str(w.message) for w in said if "Length of" in str(w.message)]


def test_warning_of_a_wrong_length(seam):
    def make():
        loader = DataLoader(Lengthy(8, 12, 12), batch_size=2, num_workers=2)
        assert len(loader) == 4
        return loader

    mine = said_by_torch(make())
    headrace.uninstall()
    count, said = said_by_torch(make())
    assert len(said) == 4 and mine[0] == count == 12
    headless = [text.partition("0x")[2].partition(" was")[2] for text in said]
    assert [text.partition("0x")[2].partition(" was")[2] for text in mine[1]] == headless


def test_lane_that_yields_nothing_is_named_once(seam, capfd):
    loader = DataLoader(Drawn(6, 0, 4), batch_size=2, num_workers=3)
    for _ in range(2):
        assert len(list(loader)) == 5
    lines = [line for line in capfd.readouterr().err.splitlines() if "yielded nothing" in line]
    assert len(lines) == 1
    assert lines[0].startswith("headrace: DataLoader(Drawn) lane 1 of 3 yielded nothing")
    assert len(list(DataLoader(Drawn(), num_workers=2))) == 0  # no lane has more than another
    assert "yielded nothing" not in capfd.readouterr().err


def test_samples_are_counted(seam):
    loader = DataLoader(Drawn(5, 0), batch_size=2, num_workers=2)
    list(loader)
    REPORT.as_dict()  # asks the sessions for their numbers
    report = state_of(loader).report
    assert (report.batches, report.samples_by_path["python"]) == (3, 5)
    assert sum(report.samples_by_worker.values()) == 5


class Counts(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def test_without_workers_it_stays_in_the_trainer(capfd):
    check(lambda loader: loader(Counts(), batch_size=2), path="local")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("headrace: DataLoader(Counts) stays in the trainer: an IterableDataset ")
    assert line.endswith("with num_workers=0 it may use the program's own state")


class Holds(Counts):
    def __init__(self, held):
        self.held = held


def test_what_does_not_pickle_is_there():
    with open(os.devnull) as file:
        check(lambda loader: loader(Holds(file), batch_size=2, num_workers=1), path="python")


def test_data_pipes_keep_their_own_workers(capfd):
    def make(loader):
        return loader(IterableWrapper(range(9)).shuffle(), batch_size=2, num_workers=2)

    check(make, path="local")
    assert "keeps its own workers: DataPipes rewrite" in capfd.readouterr().err


# Iterators that are lost.


@pytest.mark.parametrize("persistent", [False, True])
def test_worker_killed_in_the_middle_of_an_epoch(persistent, two_workers):
    """Each batch once, with the same bits. Data sets of persistent workers have a past, too."""
    check_with_a_lost_worker(
        lambda: DataLoader(
            Drawn(30, 5, 40), batch_size=2, num_workers=3, persistent_workers=persistent
        ),
        path="python",
        epochs=3,
        at=(1, 9),
    )


def test_pictures_are_native(own_photos, monkeypatch):
    """The exception is one which only PIL makes: its lane goes on after it as before."""
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
    files = sorted(map(str, own_photos.rglob("*.jpg")))[:12]
    reports = []

    def make(loader):
        made = loader(Pictures(files), batch_size=2, num_workers=2)
        reports.append(state_of(made).report)
        return made

    check(make, path="python", epochs=1)
    assert reports[-1].counts["native_images"] == 12
    damaged = Path(files[5])  # of the second batch in lane 1
    damaged.write_bytes(without_tables(damaged.read_bytes()))
    check(make, path="python", epochs=1)
    assert reports[-1].counts["native_images"] == 11


def test_early_break_frees_everything(two_workers):
    headrace.install()
    try:
        for _ in DataLoader(Drawn(500, 500), batch_size=2, num_workers=2):
            break
    finally:
        headrace.uninstall()
    wait_for(lambda: not zygotes() and not hosts(), "end of the stage hosts")


# State.


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("stop", [0, 3, 11])
def test_resume_in_the_second_epoch(stop, persistent):
    def make():
        return headrace.DataLoader(
            Drawn(9, 4, 12), batch_size=2, num_workers=3, persistent_workers=persistent
        )

    seed_everything()
    loader = make()
    list(loader)
    iterator = iter(loader)
    for _ in range(stop):
        next(iterator)
    state = loader.state_dict()
    rest = list(iterator)
    after = list(loader)

    seed_everything(99)
    resumed = make()
    # What the data set itself keeps is the program's to restore: it ran once in each lane.
    resumed.dataset.runs = 1 if persistent else loader.dataset.runs
    resumed.load_state_dict(state)
    assert_same(list(resumed), rest)
    if persistent:
        assert_same(list(resumed), after)


# Ranks.


class OfRank(IterableDataset):
    def __iter__(self):
        import torch.distributed as dist

        yield dist.get_rank(), dist.get_world_size(), int(os.environ["RANK"])


def test_code_on_workers_sees_the_trainers_rank(seam, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    torch.distributed.init_process_group("fake", rank=1, world_size=3, store=FakeStore())
    try:
        loader = DataLoader(OfRank(), batch_size=None, num_workers=1)
        assert list(loader) == [[1, 3, 1]]
        assert state_of(loader).report.path == "python"
    finally:
        torch.distributed.destroy_process_group()
