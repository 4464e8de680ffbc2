"""Random numbers of loaders without workers, and things that processes share: values, queues, locks,
managers, memory."""

import json
import multiprocessing
import os
import random
import sqlite3
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import torch
from bits import epochs, say, show, states
from cases import Look, case, looked, main, photos
from torch.utils.data import DataLoader, TensorDataset, random_split
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import v2

CONTEXT = multiprocessing.get_context("fork")


def _folder(*steps):
    return datasets.ImageFolder(photos(), T.Compose([*steps, T.ToTensor()]))


def _random():
    return _folder(T.RandomResizedCrop(16), T.RandomHorizontalFlip())


@case(workers=2)
def random_augmentation_without_workers():
    dropout = torch.nn.Dropout(0.5)
    loader = DataLoader(_random(), 4, shuffle=True)
    epochs(loader, 2, each=lambda *_: show(dropout(torch.ones(4)), "dropout"))


@case(always=True)
def random_augmentation_without_workers_and_own_draws():
    loader = DataLoader(_random(), 4)

    def each(epoch, number, batch):
        show([torch.rand(2), random.random(), np.random.rand()], "drawn")
        if number == 2:
            torch.manual_seed(99)

    epochs(loader, 2, each=each)


@case()
def generators_put_back_by_the_loop():
    loader = DataLoader(_random(), 4)
    kept = torch.get_rng_state()
    epochs(loader, 2, each=lambda *_: torch.set_rng_state(kept))


@case()
def random_augmentation_broken_off():
    loader = DataLoader(_random(), 4, shuffle=True)
    epochs(loader, 3, stop=2)
    show(torch.rand(2))


@case(always=True)
def augmentation_that_draws_from_numpy_and_random():
    def jitter(picture):
        return picture.rotate(random.uniform(-9, 9) + np.random.normal())

    for workers in (0, 2):
        loader = DataLoader(_folder(T.Resize((16, 16)), jitter), 4, num_workers=workers)
        epochs(loader, 2)


@case(workers=2)
def augmentations_of_every_kind():
    steps = (
        T.RandomResizedCrop(24),
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.RandomApply([T.GaussianBlur(3)], 0.5),
        T.RandomChoice([T.RandomRotation(20), T.RandomGrayscale(0.5)]),
        T.RandomPerspective(),
    )
    epochs(DataLoader(_folder(*steps), 4, shuffle=True, num_workers=2), 2)


@case()
def auto_augmentation():
    steps = (T.Resize((24, 24)), T.TrivialAugmentWide(), T.RandAugment())
    for workers in (0, 2):
        epochs(DataLoader(_folder(*steps), 4, num_workers=workers), 1)


@case()
def mixup_in_the_collate():
    mix = v2.MixUp(num_classes=3)

    def collate(items):
        return mix(*torch.utils.data.default_collate(items))

    for workers in (0, 2):
        loader = DataLoader(_random(), 4, shuffle=True, num_workers=workers, collate_fn=collate)
        epochs(loader, 2)


@case()
def random_erasing_and_tensors():
    data = datasets.ImageFolder(
        photos(), T.Compose([T.Resize((16, 16)), T.ToTensor(), T.RandomErasing(0.9)])
    )
    for workers in (0, 1):
        epochs(DataLoader(data, 4, num_workers=workers), 2)


@case(workers=2)
def splits_drawn_from_the_program():
    one, two = random_split(_random(), [0.6, 0.4])
    epochs(DataLoader(one, 4, shuffle=True, num_workers=2), 2)
    epochs(DataLoader(two, 4), 2)


@case()
def shuffled_arrays_without_workers():
    epochs(DataLoader(TensorDataset(torch.arange(20.0)), 3, shuffle=True), 3)
    states()


@case()
def seeded_again_in_each_epoch():
    for workers in (0, 2):
        loader = DataLoader(_random(), 4, shuffle=True, num_workers=workers)
        epochs(loader, 3, before=lambda epoch: torch.manual_seed(epoch % 2))


@case()
def lazily_drawn_seed():
    loader = DataLoader(_random(), 4, shuffle=True, num_workers=2)
    iterator = iter(loader)
    states()
    torch.manual_seed(5)
    show(list(iterator), "all")
    states()


@case(workers=2, always=True)
def value_that_all_processes_share():
    value = CONTEXT.Value("i", 0)

    def look(i):
        with value.get_lock():
            value.value += 1
        return i + value.value * 0

    looked(look, 2)
    say(f"{value.value} samples")


@case(workers=2)
def epoch_in_a_shared_value():
    value = CONTEXT.Value("i", 0)
    looked(
        lambda i: i + 100 * value.value,
        3,
        before=lambda epoch: setattr(value, "value", epoch),
        persistent_workers=True,
    )


@case()
def shared_array():
    array = CONTEXT.Array("d", 8)

    def look(i):
        array[i] += i + 1
        return array[i]

    looked(look, 2)
    show(list(array))


@case()
def lock_and_event():
    lock, event = CONTEXT.Lock(), CONTEXT.Event()
    event.set()

    def look(i):
        with lock:
            return str(event.is_set())

    looked(look)


@case()
def queue_to_the_trainer():
    queue = CONTEXT.SimpleQueue()
    looked(lambda i: queue.put(i * i) or i)
    show(sorted(queue.get() for _ in range(8)))


@case()
def queue_from_the_trainer():
    queue = CONTEXT.SimpleQueue()
    for i in range(8):
        queue.put(i * 10)
    looked(lambda i: queue.get(), num_workers=1)


@case()
def pipe_to_the_trainer():
    ours, theirs = CONTEXT.Pipe()
    looked(lambda i: theirs.send(i) or i, num_workers=1)
    show([ours.recv() for _ in range(8)])


@case(workers=2, hosts=2)
def dictionary_of_a_manager():
    with CONTEXT.Manager() as manager:
        cache = manager.dict()

        def look(i):
            if i not in cache:
                cache[i] = f"made {i}"
            return cache[i]

        looked(look, 2)
        show(dict(sorted(cache.items())))


@case()
def list_of_a_manager():
    with CONTEXT.Manager() as manager:
        seen = manager.list()
        looked(lambda i: seen.append(i) or i)
        show(sorted(seen))


@case()
def memory_that_processes_share():
    memory = shared_memory.SharedMemory(create=True, size=64)

    def look(i):
        memory.buf[i] += i + 1
        return memory.buf[i]

    looked(look, 2)
    show(list(memory.buf[:8]))
    memory.unlink()


@case(workers=2, always=True)
def tensor_that_processes_share():
    cache, filled = torch.zeros(8, 3).share_memory_(), torch.zeros(8).share_memory_()

    def look(i):
        if not filled[i]:
            cache[i], filled[i] = torch.full((3,), i + 1.0), 1
        return cache[i] * 2

    looked(look, 2)
    show(cache)


@case(always=True)
def database_file():
    with sqlite3.connect("data.db") as base:
        base.execute("create table rows (i integer, value text)")
        base.executemany("insert into rows values (?, ?)", [(i, f"v{i}") for i in range(8)])

    def look(i):
        found = sqlite3.connect("data.db").execute("select value from rows where i = ?", (i,))
        return found.fetchone()[0]

    looked(look)
    with sqlite3.connect("data.db") as base:
        base.execute("update rows set value = 'changed'")
    looked(look)


@case()
def open_archive():
    import zipfile

    with zipfile.ZipFile("data.zip", "w") as archive:
        for i in range(8):
            archive.writestr(f"{i}.json", json.dumps({"i": i}))
    archive = zipfile.ZipFile("data.zip")
    looked(lambda i: json.loads(archive.read(f"{i}.json"))["i"], num_workers=1)


@case()
def file_that_samples_append_to():
    looked(lambda i: Path("log.txt").open("a").write(f"{i}\n") and i)
    say(str(sorted(Path("log.txt").read_text().split())))


@case()
def files_that_only_the_first_sample_makes():
    def look(i):
        file = Path(f"cache{i % 4}.json")
        if not file.exists():
            file.write_text(json.dumps({"made_by": i}))
        return json.loads(file.read_text())["made_by"]

    looked(look, 2, num_workers=1)
    show(sorted(os.listdir()))


@case(workers=2)
def settings_of_the_loop_that_samples_do_not_see():
    settings = {"scale": 1}

    def each(epoch, number, batch):
        settings["scale"] += 1

    loader = DataLoader(Look(lambda i: i * settings["scale"]), 2, num_workers=2)
    epochs(loader, 3, each=each)


if __name__ == "__main__":
    main()
