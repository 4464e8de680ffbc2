"""Samples that can't be made, in the processes that make them: stage/bad_samples.py and its log."""

import multiprocessing
import random
import signal
import time

import numpy as np
import pytest
import torch
from headrace.errors import SampleDeadline
from headrace.process.bad_log import BadLog
from headrace.serve.bad_samples import Sink
from headrace.serve.blame import Measured, blame
from headrace.service.bad_sample_policy import policy_of
from headrace.service.report import LoaderReport
from headrace.stage import bad_samples
from headrace.stage.bad_samples import Guard, GuardingInit, Place, Policy
from torch.utils.data import DataLoader, Dataset, SequentialSampler, Subset, SubsetRandomSampler

BAD = (2, 5)


class Numbers(Dataset):
    """Draws for each sample, and raises for some after it has drawn."""

    def __init__(self, bad=BAD, count=12):
        self.bad, self.count = bad, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        drawn = torch.rand(()) + random.random() + np.random.rand()
        if index in self.bad:
            raise ValueError(f"sample {index} is broken")
        return index, float(drawn)


class Slow(Numbers):
    def __getitem__(self, index):
        if index in self.bad:
            time.sleep(60)
        return super().__getitem__(index) if index not in self.bad else None


class AtOnce(Numbers):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


def stock(dataset):
    return torch.utils.data._utils.fetch._MapDatasetFetcher(
        dataset, True, torch.utils.data.default_collate, False
    )


def guarded(dataset, way="skip", **named):
    return Guard(Policy(way, covers_all=True, **named), BadLog(), 0).over(
        stock(dataset), Place(seed=7)
    )


def seed():
    torch.manual_seed(3), random.seed(3), np.random.seed(3)


def test_skip_leaves_a_sample_out_and_the_others_are_what_they_would_be():
    seed()
    indices, drawn = guarded(Numbers()).fetch([1, 2, 3])
    assert indices.tolist() == [1, 3]
    seed()
    every = [Numbers(bad=())[index][1] for index in (1, 2, 3)]
    assert drawn.tolist() == [every[0], every[2]], "the bad one drew before it raised"


@pytest.mark.parametrize("way", ["skip", "substitute"])
def test_a_batch_of_nothing_gets_a_substitute(way):
    indices, _ = guarded(Numbers(), way).fetch([2, 5])
    assert len(indices) == (1 if way == "skip" else 2), "each rank counts as many batches"
    assert not set(indices.tolist()) & set(BAD)


def test_a_substitute_depends_on_seed_epoch_and_index_and_leaves_the_generators_alone():
    def batch(place, state=3):
        torch.manual_seed(state), random.seed(state), np.random.seed(state)
        guard = Guard(Policy("substitute", covers_all=True), BadLog(), 0)
        indices, drawn = guard.over(stock(Numbers(count=1000)), place).fetch([1, 2, 3])
        return indices.tolist(), drawn.tolist(), torch.rand(()), random.random(), np.random.rand()

    first = batch(Place(7))
    assert batch(Place(7)) == first
    assert batch(Place(7), state=4)[0] == first[0]
    assert batch(Place(7), state=4)[1][1] == first[1][1], "it draws from a seed of its own"
    assert first[0][1] not in (*BAD, 1, 3)
    for other in (Place(8), Place(7, epoch=1)):
        assert batch(other)[0][1] != first[0][1]
        assert batch(other)[2:] == first[2:], "what comes next draws on as it would"


def test_where_the_sampler_takes_a_part_a_substitute_is_of_the_same_batch():
    """The rest of the data set may be what the program validates on."""
    part = SubsetRandomSampler([0, 1, 2, 3])
    loader = DataLoader(Numbers(), batch_size=4, sampler=part)
    assert not policy_of(loader).covers_all
    assert policy_of(DataLoader(Numbers(), batch_size=4, shuffle=True)).covers_all
    assert not policy_of(DataLoader(Numbers(), batch_sampler=[[1], [2]])).covers_all
    of_another = SequentialSampler(range(3))
    assert not policy_of(DataLoader(Numbers(), sampler=of_another)).covers_all
    own = type("Own", (SequentialSampler,), {})(data := Numbers())
    assert not policy_of(DataLoader(data, sampler=own)).covers_all, "it may do anything"
    for seeds in range(20):
        fetcher = Guard(Policy("substitute"), BadLog(), 0).over(stock(Numbers()), Place(seeds))
        indices, _ = fetcher.fetch([0, 2, 1])
        assert indices[1] in (0, 1)
        with pytest.raises(ValueError, match="sample 2 is broken"):
            fetcher.fetch([2])


def test_substitutes_are_tried_a_bounded_number_of_times():
    dataset = Numbers(bad=range(1000), count=1000)
    with pytest.raises(ValueError, match="sample 3 is broken"):
        guarded(dataset, "substitute").fetch([3])


def test_raise_is_what_the_stock_fetcher_raises():
    with pytest.raises(ValueError, match="sample 2 is broken"):
        guarded(Numbers(), "raise", deadline=60.0).fetch([1, 2])


def test_a_data_set_that_makes_batches_at_once_is_asked_one_by_one_after_it_raised():
    seed()
    indices, drawn = guarded(AtOnce()).fetch([1, 2, 3])
    assert indices.tolist() == [1, 3]
    seed()
    every = [Numbers(bad=())[index][1] for index in (1, 2, 3)]
    assert drawn.tolist() == [every[0], every[2]]
    subset = Subset(Numbers(), [4, 2, 1])
    assert guarded(subset).fetch([0, 1, 2])[0].tolist() == [4, 1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_any_kind_share_one_log(method):
    log = BadLog()
    guard = Guard(Policy("skip"), log, 4)
    loader = DataLoader(
        Numbers(),
        batch_size=4,
        num_workers=2 if method == "fork" else 1,  # each imports torch
        multiprocessing_context=method,
        worker_init_fn=GuardingInit(guard, None),
    )
    assert [len(batch[0]) for batch in loader] == [3, 3, 4]
    count, entries = log.after(0)
    assert count == 2 and {entry["index"] for entry in entries} == set(BAD)
    assert entries[0]["loader"] == 4 and "ValueError: sample" in entries[0]["cause"]
    assert log.after(count) == (2, [])


def test_after_so_many_bad_samples_the_next_ones_exception_is_raised():
    guard = Guard(Policy("skip", most=1), BadLog(), 0)
    fetcher = guard.over(stock(Numbers()), Place(0))
    assert len(fetcher.fetch([1, 2])[0]) == 1
    with pytest.raises(ValueError, match="sample 5 is broken"):
        fetcher.fetch([4, 5])


def test_a_sample_over_the_deadline_raises_at_its_batch_and_its_worker_goes_on():
    loader = DataLoader(
        Slow(bad=(2,)),
        batch_size=4,
        num_workers=1,
        worker_init_fn=GuardingInit(Guard(Policy(deadline=0.2), BadLog(), 0), None),
    )
    batches = iter(loader)
    with pytest.raises(SampleDeadline, match="sample 2 was not made within 0.2 s"):
        next(batches)
    assert [batch[0].tolist() for batch in batches] == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_the_programs_own_alarms_stay_its_own():
    def own(number, frame):
        pass

    kept = signal.signal(signal.SIGALRM, own)
    try:
        with bad_samples.within(0.05, "it"):
            time.sleep(0.1)
        assert signal.getsignal(signal.SIGALRM) is own
    finally:
        signal.signal(signal.SIGALRM, kept)


def add_many(log, count):
    for number in range(count):
        log.add({"loader": 0, "index": number, "cause": "x" * 5000, "way": "skip"})


def test_the_log_counts_what_many_processes_say():
    log = BadLog()
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=add_many, args=(log, 200)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    count, entries = log.after(0)
    assert count == log.count == 600
    assert len(entries) == 128 and len(entries[0]["cause"]) == 200


def test_what_is_told_is_bounded_to_a_line_a_second(capfd):
    now = [0.0]
    report = LoaderReport("Numbers", 2)
    sink = Sink(report, "Numbers", Numbers(), clock=lambda: now[0])
    for number in range(100):
        sink.met({"index": number, "cause": "ValueError: broken", "way": "skip"})
    now[0] = 1.0
    sink.met({"index": 100, "cause": "ValueError: broken", "way": "substitute"})
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        "headrace: DataLoader(Numbers) sample 0 is left out: ValueError: broken",
        "headrace: DataLoader(Numbers) sample 100 is replaced by another one: ValueError: broken "
        "(and 99 more before it)",
    ]
    assert report.bad_samples == {"skip": 100, "substitute": 1}
    assert len(report.first_bad_samples) == 64


def test_who_ended_the_workers():
    small = [Measured(position, 1 << 20) for position in range(3)]
    assert blame([*small, Measured(3, 264 << 20)]) == {3: "it takes 264 MiB of memory"}
    assert blame([*small, Measured(3, 9 << 20)]) == {}, "nobody ends by that"
    assert blame([Measured(0, 200 << 20), Measured(1, 264 << 20)]) == {}, "either may be it"
    assert blame([*small, Measured(3, 0, "it raises")]) == {3: "it raises"}
    assert blame([]) == {}
