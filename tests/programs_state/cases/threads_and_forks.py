"""Loaders in threads, and in processes that the program forks itself."""

import concurrent.futures
import multiprocessing
import os
import random
import sys
import threading
import time

import numpy as np
import torch
from bits import describe, epochs, say, show, states
from cases import Look, case, main, photos
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets
from torchvision import transforms as T


def _folder():
    crop = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    return datasets.ImageFolder(photos(), crop)


def _own_generator(data, seed, **named):
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(data, 3, shuffle=True, generator=generator, **named)


def _in_threads(make, count):
    """Each thread tells its lines after all have ended, in the order of the threads."""
    lines = [[] for _ in range(count)]

    def work(k):
        try:
            for _ in range(2):
                lines[k] += [describe(batch) for batch in make(k)]
        except Exception as error:
            lines[k].append(repr(error))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(count):
        for number, line in enumerate(lines[k]):
            show(line, f"thread {k}.{number}")


@case(workers=2, always=True)
def threads_on_one_data_set():
    data = _folder()
    _in_threads(lambda k: _own_generator(data, k, num_workers=2), 3)


@case()
def threads_with_data_sets_of_their_own():
    _in_threads(lambda k: _own_generator(_folder(), k, num_workers=1), 3)


@case(workers=2)
def threads_with_own_code():
    _in_threads(lambda k: _own_generator(Look(lambda i: torch.rand(2) + k), k, num_workers=2), 3)


@case()
def threads_without_workers():
    x = torch.arange(12.0)
    _in_threads(lambda k: _own_generator(TensorDataset(x + k), k), 3)


def _main_draws_while(make):
    """Another thread opens and reads loaders; the main thread's numbers are its own."""
    begin, end = threading.Event(), threading.Event()

    def work():
        begin.wait()
        for k in range(3):
            for _ in make(k):
                pass
        end.set()

    thread = threading.Thread(target=work)
    thread.start()
    drawn = []
    begin.set()
    while len(drawn) < 500 or not end.is_set():
        now = torch.rand(1).item(), float(np.random.rand()), random.random()
        if len(drawn) < 500:
            drawn.append(now)
        time.sleep(0.001)  # a worker that is forked while a generator is locked never begins
    thread.join()
    show(drawn, "drawn")


@case()
def main_thread_draws_while_another_opens_native_loaders():
    data = _folder()
    _main_draws_while(lambda k: _own_generator(data, k, num_workers=1))


@case()
def main_thread_draws_while_another_opens_loaders():
    _main_draws_while(lambda k: _own_generator(Look(lambda i: torch.ones(2)), k, num_workers=1))


@case()
def loader_in_a_thread_that_is_not_the_main_one():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    loader = DataLoader(_folder(), 3, shuffle=True, num_workers=2)
    pool.submit(epochs, loader, 2).result()
    states()


@case()
def made_in_one_thread_and_read_in_another():
    iterator = iter(DataLoader(_folder(), 3, shuffle=True, num_workers=2))
    show(next(iterator))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        show(pool.submit(list, iterator).result(), "rest")


@case()
def prefetch_in_a_thread():
    import queue

    batches = queue.Queue(2)

    def work():
        for batch in DataLoader(Look(lambda i: torch.rand(2)), 2, num_workers=2):
            batches.put(batch)
        batches.put(None)

    threading.Thread(target=work, daemon=True).start()
    while (batch := batches.get()) is not None:
        show(batch)


def _in_child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        random.seed(5)  # Python gives each fork other numbers
        try:
            work()
            code = 0
        except BaseException as error:
            say(f"child raised {type(error).__name__}: {error}")
        finally:
            os._exit(code)
    say(f"child ended {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}")


def _fork_after_use(make):
    loader = make()
    epochs(loader)
    _in_child(lambda: epochs(loader, 2))
    epochs(loader)


@case(workers=2)
def fork_after_use_native():
    _fork_after_use(lambda: DataLoader(_folder(), 3, shuffle=True, num_workers=2))


@case(workers=2)
def fork_after_use_own():
    _fork_after_use(lambda: DataLoader(Look(lambda i: torch.rand(2)), 2, num_workers=2))


@case()
def fork_after_use_without_workers():
    _fork_after_use(lambda: DataLoader(TensorDataset(torch.arange(9.0)), 2, shuffle=True))


@case()
def fork_after_use_with_a_new_loader_in_the_child():
    data = _folder()
    epochs(DataLoader(data, 3, num_workers=2))
    _in_child(lambda: epochs(DataLoader(data, 3, num_workers=2)))


@case()
def fork_before_use():
    loader = DataLoader(_folder(), 3, num_workers=2)
    _in_child(lambda: epochs(loader))
    epochs(loader)


@case(always=True)
def fork_in_mid_epoch():
    loader = DataLoader(Look(lambda i: torch.rand(2)), 2, num_workers=2)
    iterator = iter(loader)
    show(next(iterator))
    _in_child(lambda: epochs(loader))
    show(list(iterator), "rest")


@case()
def fork_in_mid_epoch_and_batches_kept():
    iterator = iter(DataLoader(_folder(), 3, num_workers=2))
    batch = next(iterator)
    _in_child(lambda: show(batch, "in the child"))
    show(list(iterator), "rest")
    show(batch)


def _evaluate(loader):
    random.seed(5)
    say(f"daemon {multiprocessing.current_process().daemon}")
    epochs(loader)


@case(workers=2, always=True)
def process_that_evaluates_with_the_loader():
    loader = DataLoader(_folder(), 3, num_workers=2)
    epochs(loader)
    process = multiprocessing.get_context("fork").Process(target=_evaluate, args=(loader,))
    process.start()
    process.join()
    say(f"ended {process.exitcode}")


@case()
def daemon_that_may_have_no_children():
    loader = DataLoader(Look(lambda i: torch.rand(2)), 2, num_workers=2)

    def work():
        random.seed(5)
        epochs(loader)

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    process.join()
    say(f"ended {process.exitcode}")


@case()
def daemon_without_workers():
    loader = DataLoader(TensorDataset(torch.arange(9.0)), 2, shuffle=True)
    epochs(loader)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_evaluate, args=(loader,), daemon=True)
    process.start()
    process.join()
    say(f"ended {process.exitcode}")


@case()
def pool_of_processes_with_loaders():
    def total(seed):
        torch.manual_seed(seed)
        return describe(list(DataLoader(TensorDataset(torch.arange(6.0)), 2, shuffle=True)))

    global _total
    _total = total
    with multiprocessing.get_context("fork").Pool(2) as pool:
        show(pool.map(_call_total, range(3)))


def _call_total(seed):
    return _total(seed)


@case(always=True)
def samples_that_fork():
    def look(i):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, bytes([i]))
            os._exit(0)
        os.waitpid(pid, 0)
        return os.read(read, 1)

    epochs(DataLoader(Look(look), 2, num_workers=2))


@case()
def samples_that_run_programs():
    import subprocess

    def look(i):
        return subprocess.run(["printf", "%s", str(i)], capture_output=True, check=True).stdout

    epochs(DataLoader(Look(look), 2, num_workers=2))


@case()
def samples_that_use_a_pool():
    from multiprocessing.pool import ThreadPool

    def look(i):
        with ThreadPool(2) as pool:
            return sum(pool.map(lambda x: x * i, range(4)))

    epochs(DataLoader(Look(look), 2, num_workers=2))


@case()
def samples_that_start_a_process():
    def look(i):
        try:
            process = multiprocessing.get_context("fork").Process(target=int)
            process.start()
            return "started"
        except AssertionError as error:
            return str(error)

    epochs(DataLoader(Look(look), 2, num_workers=2))


@case()
def loaders_in_samples():
    def look(i):
        return [x for (x,) in DataLoader(TensorDataset(torch.arange(4.0) + i), 2)]

    epochs(DataLoader(Look(look), 2, num_workers=2))


@case()
def fork_twice():
    loader = DataLoader(_folder(), 3, num_workers=1)
    epochs(loader)

    def child():
        epochs(loader)
        _in_child(lambda: epochs(loader))

    _in_child(child)


if __name__ == "__main__":
    main()
