"""Errors of samples, of collate functions and of samplers, and workers that die: the same exception, at the
same place."""

import os
import signal
import sys

import torch
from bits import drain, epochs, say, show, states
from cases import Look, case, looked, main
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset


class OwnError(Exception):
    def __init__(self, index, note="plain"):
        super().__init__(f"sample {index} {note}")
        self.index = index


class NeedsTwo(Exception):
    """Cannot be made from its message."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def _raising(error, at=5):
    def look(i):
        if i == at:
            raise error
        return i

    return look


@case(workers=2, hosts=2, always=True)
def error_in_a_sample():
    looked(_raising(ValueError("of this sample")), 2)


@case()
def error_in_a_sample_without_workers():
    looked(_raising(ValueError("of this sample")), 2, num_workers=0)


@case()
def error_with_a_key():
    looked(lambda i: {0: 1}[i])


@case(hosts=2)
def error_of_ones_own():
    looked(_raising(OwnError(5)))


@case(always=True)
def error_that_needs_two():
    looked(_raising(NeedsTwo("one", "two")))


@case()
def error_with_a_cause():
    def look(i):
        try:
            return {}[i]
        except KeyError as error:
            raise RuntimeError("no such sample") from error

    looked(look)


@case()
def error_of_an_assertion():
    def look(i):
        assert i < 5, f"sample {i}"
        return i

    looked(look)


@case()
def stop_iteration_in_a_sample():
    looked(_raising(StopIteration("early")))


@case()
def index_error_in_a_sample():
    looked(_raising(IndexError("too far")))


@case()
def memory_error_in_a_sample():
    looked(_raising(MemoryError("too much")))


@case(workers=2)
def iterator_goes_on_after_errors():
    def look(i):
        if i in (2, 5):
            raise ValueError(f"sample {i}")
        return i

    drain(iter(DataLoader(Look(look), 2, num_workers=2)))
    states()


@case(always=True)
def iterator_goes_on_after_errors_with_random_samples():
    def look(i):
        x = torch.rand(1).item()
        if i in (3, 4):
            raise ValueError(f"sample {i}")
        return x

    drain(iter(DataLoader(Look(look), 1, num_workers=2)))
    states()


@case(workers=2)
def error_in_the_collate():
    def collate(items):
        if items[0][0] == 4:
            raise TypeError("such batches are not made")
        return items

    loader = DataLoader(Look(lambda i: i), 2, num_workers=2, collate_fn=collate)
    epochs(loader, 2)
    drain(iter(loader))


@case()
def samples_of_unequal_sizes():
    looked(lambda i: torch.ones(i + 1))


@case()
def samples_that_cannot_be_collated():
    looked(lambda i: object())


@case()
def samples_of_none():
    looked(lambda i: None)


@case(hosts=2)
def error_at_the_begin_of_a_worker():
    def begin(worker):
        if worker == 1:
            raise OSError("no such device for this worker")

    looked(lambda i: i, worker_init_fn=begin)


@case()
def error_in_the_iterator_of_a_data_set():
    class Stream(IterableDataset):
        def __iter__(self):
            yield 1
            yield 2
            raise ConnectionError("the other side is gone")

    epochs(DataLoader(Stream(), 1, num_workers=2), 2)


@case()
def error_before_the_first_item():
    class Stream(IterableDataset):
        def __iter__(self):
            raise PermissionError("not today")

    epochs(DataLoader(Stream(), 1, num_workers=1))


@case()
def error_in_the_sampler():
    class Sampler:
        def __iter__(self):
            yield from (0, 1, 2, 3, 4)
            raise RuntimeError("the sampler is empty")

    loader = DataLoader(TensorDataset(torch.arange(9.0)), 2, sampler=Sampler(), num_workers=2)
    epochs(loader, 2)


@case()
def error_in_the_length():
    class Endless(Dataset):
        def __getitem__(self, i):
            return i

    try:
        DataLoader(Endless(), 2, shuffle=True, num_workers=2)
    except TypeError as error:
        say(str(error))
    loader = DataLoader(Endless(), 2, sampler=[1, 2, 3], num_workers=2)
    epochs(loader)


@case()
def error_in_a_whole_batch():
    class Batches(Look):
        def __getitems__(self, indices):
            if 4 in indices:
                raise ValueError("this batch")
            return indices

    drain(iter(DataLoader(Batches(lambda i: i), 2, num_workers=2)))


@case()
def index_out_of_range():
    drain(
        iter(DataLoader(TensorDataset(torch.arange(4.0)), 2, sampler=[0, 9, 1, 2], num_workers=2))
    )


@case()
def index_out_of_range_without_workers():
    drain(iter(DataLoader(TensorDataset(torch.arange(4.0)), 2, sampler=[0, 9, 1, 2])))


def _dying(look, **named):
    """One batch at a time, so that no batch is on its way at the death. Whether the signal or the queue
    tells the trainer first decides which of two messages it gets."""
    data = Look(look)
    for _ in range(2):
        try:
            for batch in DataLoader(data, 2, num_workers=1, prefetch_factor=1, **named):
                show(batch)
        except RuntimeError as error:
            say(f"{type(error).__name__} {' '.join(str(error).split()[:2])}")
    states()


@case(workers=2, hosts=2)
def worker_that_exits():
    _dying(lambda i: os._exit(3) if i == 5 else i)


@case(workers=2, always=True)
def worker_that_is_killed():
    _dying(lambda i: os.kill(os.getpid(), signal.SIGKILL) if i == 5 else i)


@case()
def worker_that_crashes():
    _dying(lambda i: os.kill(os.getpid(), signal.SIGSEGV) if i == 5 else i)


@case()
def worker_that_is_terminated():
    _dying(lambda i: os.kill(os.getpid(), signal.SIGTERM) if i == 5 else i)


@case()
def worker_that_exits_at_its_begin():
    _dying(lambda i: i, worker_init_fn=lambda worker: os._exit(3))


@case()
def exit_in_a_sample():
    _dying(lambda i: sys.exit(4) if i == 5 else i)


@case()
def loader_goes_on_after_a_death():
    def look(i):
        if i == 5 and not os.path.exists("died"):
            open("died", "w").close()
            os._exit(3)
        return torch.rand(1)

    _dying(look)


@case()
def error_beyond_a_time_limit():
    import time

    looked(lambda i: time.sleep(3) or i, num_workers=1, timeout=1)


@case()
def arguments_that_are_refused():
    data = TensorDataset(torch.arange(4.0))
    for named in (
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"batch_size": 0},
        {"shuffle": True, "sampler": [0]},
        {"multiprocessing_context": "fork"},
        {"num_workers": 1, "multiprocessing_context": "spoon"},
        {"batch_size": None, "drop_last": True},
    ):
        try:
            iter(DataLoader(data, **named))
            say(f"{named} is fine")
        except (ValueError, AssertionError) as error:
            say(f"{type(error).__name__}: {error}")


@case()
def data_set_that_is_skipped_where_it_fails():
    def collate(items):
        kept = [item for item in items if item[1] is not None]
        return torch.utils.data.default_collate(kept) if kept else None

    looked(lambda i: i if i % 3 else None, 2, collate_fn=collate)


@case()
def error_of_the_loop_itself():
    loader = DataLoader(Look(lambda i: torch.rand(1)), 2, num_workers=2)

    def each(epoch, number, batch):
        if number == 1:
            raise ArithmeticError("loss is nan")

    epochs(loader, 3, each=each)
    show(torch.rand(2))


if __name__ == "__main__":
    main()
