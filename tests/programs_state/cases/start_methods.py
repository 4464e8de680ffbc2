"""Workers that are spawned, or come from a fork server: they import this file anew."""

import multiprocessing
import os
import sys

import torch
from bits import epochs, say
from cases import case, main, photos
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

IMPORTED = []
IMPORTED.append(__name__)


class Sees(Dataset):
    def __init__(self, what):
        self.what, self.kept = what, 0

    def __len__(self):
        return 8

    def __getitem__(self, index):
        self.kept += 1
        if self.what == "draws":
            return index, torch.rand(2)
        if self.what == "state":
            return index, self.kept
        if self.what == "settings":
            return index, str(torch.get_default_dtype()), os.environ.get("OF_THIS_PROGRAM", "none")
        if self.what == "modules":
            return index, str((IMPORTED, __name__, "__mp_main__" in sys.modules))
        if self.what == "error" and index == 5:
            raise ValueError("of this sample")
        process, parent = multiprocessing.current_process(), multiprocessing.parent_process()
        name = process.name.split("-")[0]
        return index, str((process.daemon, name, parent is not None, get_worker_info().id))


def begin(worker):
    torch.manual_seed(worker)


def _epochs(what, method, count=1, workers=1, **named):
    context = multiprocessing.get_context(method)
    loader = DataLoader(
        Sees(what), 2, num_workers=workers, multiprocessing_context=context, **named
    )
    epochs(loader, count)


@case(workers=2, always=True)
def draws_of_spawned_workers():
    _epochs("draws", "spawn", workers=2)


@case()
def draws_of_workers_of_a_fork_server():
    _epochs("draws", "forkserver", 2)


@case(workers=2)
def state_of_spawned_persistent_workers():
    _epochs("state", "spawn", 3, persistent_workers=True)


@case(always=True)
def settings_that_spawned_workers_do_not_inherit():
    torch.set_default_dtype(torch.float64)
    os.environ["OF_THIS_PROGRAM"] = "set"
    _epochs("settings", "spawn")


@case()
def settings_that_workers_of_a_fork_server_do_not_inherit():
    torch.set_default_dtype(torch.float64)
    _epochs("settings", "forkserver")


@case()
def modules_of_spawned_workers():
    _epochs("modules", "spawn")


@case()
def processes_of_spawned_workers():
    _epochs("process", "spawn", worker_init_fn=begin)


@case()
def processes_of_a_fork_server():
    _epochs("process", "forkserver")


@case()
def processes_of_a_named_method():
    loader = DataLoader(Sees("process"), 2, num_workers=1, multiprocessing_context="spawn")
    epochs(loader)


@case()
def start_method_of_the_program():
    multiprocessing.set_start_method("spawn", force=True)
    epochs(DataLoader(Sees("process"), 2, num_workers=1))


@case()
def error_of_a_spawned_worker():
    _epochs("error", "spawn")


@case()
def local_code_that_cannot_be_spawned():
    loader = DataLoader(
        Sees("draws"), 2, num_workers=1, multiprocessing_context="spawn", collate_fn=lambda x: x
    )
    try:
        epochs(loader)
    finally:
        say("the end")


@case()
def folder_in_spawned_workers():
    from torchvision import datasets  # not in each spawned worker of the other cases
    from torchvision import transforms as T

    crop = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
    data = datasets.ImageFolder(photos(), crop)
    epochs(DataLoader(data, 4, shuffle=True, num_workers=1, multiprocessing_context="spawn"))


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(torch.arange(info.id, 11, info.num_workers).tolist())


@case()
def stream_of_spawned_workers():
    epochs(DataLoader(Stream(), 2, num_workers=2, multiprocessing_context="spawn"))


if __name__ == "__main__":
    main()
