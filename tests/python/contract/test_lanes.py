"""Contract: the processes that run a program's code are what the stock loader's workers are."""

import multiprocessing
import os
import random

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import check, seed_everything
from torch.utils.data import DataLoader, Dataset, get_worker_info
from torch.utils.data._utils.collate import default_collate


class Numbers(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return index


class AsksWhoItIs(Numbers):
    def __getitem__(self, index):
        process = multiprocessing.current_process()
        parent = multiprocessing.parent_process()
        info = get_worker_info()
        return (
            process.daemon,
            parent is not None and parent.pid == os.getppid(),
            info.id,
            info.num_workers,
            info.dataset is self,
            torch.get_num_threads(),
        )


@pytest.mark.parametrize("context", [None, "spawn", "forkserver"])
def test_the_process_is_a_worker_of_the_trainer(context):
    named = {"num_workers": 2, "collate_fn": list, "multiprocessing_context": context}
    seen = check(lambda loader: loader(AsksWhoItIs(), **named), path="python", epochs=1)
    assert {who[0] for kind, batch in seen if kind == "batch" for who in batch} == {True}


def test_the_iterator_has_the_names_of_the_stock_one(seam):
    iterator = iter(DataLoader(Numbers(), num_workers=2))
    next(iterator)
    assert [worker.is_alive() for worker in iterator._workers] == [True, True]
    iterator._shutdown_workers()
    assert [worker.exitcode for worker in iterator._workers] == [0, 0]


class Large(Numbers):
    """Batches for which the first slot is too small."""

    def __init__(self, calls):
        self.calls = calls

    def __getitem__(self, index):
        os.write(self.calls, b"%d\n" % index)
        return torch.full((300, 1000), float(index))


@pytest.mark.parametrize("collate", [None, list, lambda samples: default_collate(samples)])
def test_a_batch_that_does_not_fit_is_made_once(collate, seam, tmp_path):
    calls = os.open(tmp_path / "calls", os.O_CREAT | os.O_APPEND | os.O_RDWR)
    loader = DataLoader(Large(calls), batch_size=4, num_workers=2, collate_fn=collate)
    assert [[float(row[0, 0]) for row in batch] for batch in loader] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]
    assert state_of(loader).report.path == "python"
    assert sorted(map(int, os.pread(calls, 1000, 0).split())) == list(range(12))


def test_what_is_large_beside_its_arrays(seam):
    text = b"x" * (40 << 20)
    (batch,) = DataLoader([text], batch_size=None, num_workers=1, collate_fn=lambda value: [value])
    assert batch == [text]


def test_tensors_of_a_batch_share_what_they_shared():
    def collate(samples):
        whole = torch.tensor(samples, dtype=torch.float32)
        big = torch.arange(5000.0)
        return {
            "whole": whole,
            "first": whole[:1],
            "again": whole,
            "parts": big[10:2000:3],
            "all": big,
        }

    def shapes(loader):
        seen = []
        for batch in loader(Numbers(), batch_size=4, num_workers=1, collate_fn=collate):
            batch["whole"].mul_(2)
            batch["all"].add_(1)
            seen.append((batch["first"].tolist(), batch["parts"][:3].tolist()))
            seen.append((batch["again"] is batch["whole"], batch["parts"].stride()))
        return seen

    expected = shapes(DataLoader)
    headrace.install()
    try:
        assert shapes(DataLoader) == expected
    finally:
        headrace.uninstall()


class Named(torch.Tensor):
    """A tensor of the program's own class."""


def test_tensors_of_other_classes_and_orders():
    def collate(samples):
        made = torch.arange(4000.0).reshape(40, 100)
        return [
            made.as_subclass(Named),
            made.t(),
            made[:, ::2],
            torch.from_numpy(np.empty((0, 5))).to(torch.int64),
            np.arange(3, dtype=">i4"),
        ]

    def seen(loader):
        (batch,) = loader(Numbers(), batch_size=12, num_workers=1, collate_fn=collate)
        return [
            (type(x), x.shape, str(x.dtype), x.stride() if hasattr(x, "stride") else 0, x.tolist())
            for x in batch
        ]

    expected = seen(DataLoader)
    headrace.install()
    try:
        assert seen(DataLoader) == expected
    finally:
        headrace.uninstall()


class Pairs:
    """A sampler of (index, size) keys that draws as it goes."""

    begun = 0

    def __iter__(self):
        self.begun += 1
        order = list(range(12))
        random.shuffle(order)
        for index in order:
            yield index, int(torch.randint(5, ()).item())

    def __len__(self):
        return 12


class Sized(Numbers):
    def __getitem__(self, key):
        return key[0], key[1], type(key).__name__, random.random()


def test_keys_of_any_kind():
    def make(loader):
        return loader(Sized(), batch_size=3, sampler=Pairs(), num_workers=2)

    check(make, path="python")


def test_the_sampler_begins_as_often_as_with_the_stock_loader(seam):
    begun = []
    for loader in (DataLoader(Numbers(), sampler=Pairs(), num_workers=1, collate_fn=list),):
        loader.dataset.__class__ = Sized
        list(loader)
        begun.append(loader.sampler.begun)
    headrace.uninstall()
    stock = DataLoader(Sized(), sampler=Pairs(), num_workers=1, collate_fn=list)
    list(stock)
    assert begun == [stock.sampler.begun]


def test_a_loader_goes_on_in_a_child(seam):
    loader = DataLoader(Numbers(), batch_size=4, num_workers=1, collate_fn=list)
    expected = list(loader)

    def child(sender):
        sender.send(list(loader))

    receiver, sender = multiprocessing.get_context("fork").Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=child, args=(sender,))
    process.start()
    assert receiver.poll(60) and receiver.recv() == expected
    process.join(60)
    assert process.exitcode == 0


def test_settings_of_the_process_are_there():
    class Draws(Numbers):
        def __getitem__(self, index):
            return torch.rand(2), os.environ.get("HEADRACE_TEST_NOTE", ""), hash("text")

    def before(loader, epoch):
        os.environ["HEADRACE_TEST_NOTE"] = f"epoch {epoch}"

    torch.set_default_dtype(torch.float64)
    try:
        seed_everything()
        check(lambda loader: loader(Draws(), 4, num_workers=2), path="python", before=before)
    finally:
        torch.set_default_dtype(torch.float32)
        del os.environ["HEADRACE_TEST_NOTE"]


def test_out_of_order_the_next_batch_is_for_whoever_is_free(seam):
    loader = DataLoader(Numbers(), num_workers=3, in_order=False, collate_fn=list)
    assert sorted(batch[0] for batch in loader) == list(range(12))
