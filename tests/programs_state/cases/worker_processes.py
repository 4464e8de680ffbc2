"""What a worker process is: its id, name, parent, seeds, signals, and how loaders are told to have them."""

import ctypes
import multiprocessing
import os
import random
import signal
import sys
import threading
import time

import numpy as np
import torch
from bits import epochs, say, show
from cases import Look, case, looked, main
from torch.utils.data import DataLoader, Dataset, TensorDataset, get_worker_info

KEPT = {}


def _keep(worker):
    KEPT["id"] = worker
    KEPT["drawn"] = torch.rand(1).item(), float(np.random.rand()), random.random()


@case(workers=2, hosts=2)
def function_that_begins_a_worker():
    looked(lambda i: str(KEPT), 2, worker_init_fn=_keep)


@case(workers=2)
def function_that_begins_persistent_workers():
    looked(lambda i: str(KEPT), 3, worker_init_fn=_keep, persistent_workers=True)


@case(hosts=2)
def function_that_seeds_as_everybody_does():
    def begin(worker):
        seed = torch.initial_seed() % 2**32
        np.random.seed(seed)
        random.seed(seed)

    looked(lambda i: (np.random.rand(), random.random()), 2, worker_init_fn=begin)


@case(workers=2)
def function_that_changes_the_data_set():
    def begin(worker):
        info = get_worker_info()
        info.dataset.look = lambda i: i * 100 + info.id

    looked(lambda i: i, 2, worker_init_fn=begin)


@case()
def function_with_the_settings_of_one_worker():
    def begin(worker):
        torch.set_default_dtype(torch.float64 if worker else torch.float32)

    looked(lambda i: str(torch.ones(1).dtype), worker_init_fn=begin)


@case(workers=2, hosts=2, always=True)
def what_a_worker_knows_of_itself():
    def look(i):
        info = get_worker_info()
        return str((info.id, info.num_workers, info.seed, type(info.dataset).__name__))

    looked(look, 2)


@case(workers=2)
def a_worker_is_a_process_of_its_own():
    ours = os.getpid()

    def look(i):
        KEPT.setdefault("pid", os.getpid())
        return str((os.getpid() == ours, KEPT["pid"] == os.getpid(), os.getppid() == ours))

    looked(look, 2)


@case(workers=2, hosts=2)
def parent_and_name_of_the_process():
    ours = multiprocessing.current_process().pid

    def look(i):
        process, parent = multiprocessing.current_process(), multiprocessing.parent_process()
        same = parent is not None and parent.pid == ours
        return str((process.daemon, process.name.split("-")[0], same, parent and parent.name))

    looked(look)


@case()
def names_of_the_processes():
    looked(lambda i: multiprocessing.current_process().name, 2)


@case()
def children_of_the_trainer():
    iterator = iter(DataLoader(Look(lambda i: i), 2, num_workers=2))
    show(next(iterator))
    found = multiprocessing.active_children()
    show([(child.name.split("-")[0], child.daemon, child.is_alive()) for child in found])
    list(iterator)


@case()
def workers_end_with_the_iterator():
    iterator = iter(DataLoader(Look(lambda i: i), 2, num_workers=2))
    next(iterator)
    del iterator
    say(str(len(multiprocessing.active_children())))


@case()
def processes_of_the_iterator():
    iterator = iter(DataLoader(Look(lambda i: i), 2, num_workers=2))
    next(iterator)
    workers = iterator._workers
    show([(worker.is_alive(), worker.daemon) for worker in workers])
    iterator._shutdown_workers()
    show([worker.is_alive() for worker in workers])


@case(workers=2)
def seeds_of_workers():
    def look(i):
        return torch.initial_seed(), torch.rand(1).item(), np.random.rand(), random.random()

    looked(look, 2)


@case(hosts=2)
def seeds_of_persistent_workers():
    looked(lambda i: (torch.rand(1).item(), random.random()), 3, persistent_workers=True)


@case()
def generator_of_the_loader():
    generator = torch.Generator().manual_seed(3)
    looked(lambda i: torch.rand(1), 2, shuffle=True, generator=generator)
    show(generator.get_state())


@case()
def one_generator_for_two_loaders():
    generator = torch.Generator().manual_seed(3)
    for workers in (0, 2, 1):
        data = Look(lambda i: torch.rand(1))
        epochs(DataLoader(data, 2, shuffle=True, generator=generator, num_workers=workers))


@case()
def threads_in_a_worker():
    def look(i):
        thread = threading.Thread(target=KEPT.__setitem__, args=("x", i))
        thread.start()
        thread.join()
        return KEPT["x"], torch.get_num_threads()

    looked(look)


@case()
def thread_that_lives_in_a_worker():
    def look(i):
        if "thread" not in KEPT:
            event = threading.Event()
            KEPT["thread"] = threading.Thread(target=event.wait, daemon=True)
            KEPT["thread"].start()
        return str(KEPT["thread"].is_alive())

    looked(look, 2)


@case()
def handlers_that_the_program_has_set():
    signal.signal(signal.SIGINT, lambda *_: say("interrupted"))
    signal.signal(signal.SIGTERM, lambda *_: say("terminated"))
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    looked(lambda i: str([getattr(signal.getsignal(n), "__name__", "plain") for n in names]))
    show([getattr(signal.getsignal(n), "__name__", "plain") for n in names])


@case()
def handlers_in_the_trainer_meanwhile():
    iterator = iter(DataLoader(Look(lambda i: i), 2, num_workers=2))
    next(iterator)
    child = signal.getsignal(signal.SIGCHLD)
    show([getattr(child, "__qualname__", str(child)), str(signal.getsignal(signal.SIGINT))])
    list(iterator)


@case()
def signal_to_the_trainer_in_mid_epoch():
    signal.signal(signal.SIGUSR1, lambda *_: say("signal"))

    def each(epoch, number, batch):
        if number == 1:
            os.kill(os.getpid(), signal.SIGUSR1)

    epochs(DataLoader(Look(lambda i: i), 2, num_workers=2), 2, each=each)


@case(always=True)
def interrupt_of_the_loop():
    def each(epoch, number, batch):
        if number == 1:
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = DataLoader(Look(lambda i: i), 2, num_workers=2)
    try:
        epochs(loader, each=each)
    except KeyboardInterrupt:
        say("interrupted")
    epochs(loader)


@case(always=True)
def alarm_in_a_sample():
    def look(i):
        fired = []
        signal.signal(signal.SIGALRM, lambda *_: fired.append(i))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while not fired:  # it may ring before a pause() would begin
            time.sleep(0.001)
        return fired

    looked(look)


@case()
def child_of_the_program_that_ends_meanwhile():
    """Torch's handler of SIGCHLD looks at its own workers alone."""
    loader = DataLoader(Look(lambda i: i), 2, num_workers=2)

    def each(epoch, number, batch):
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        say(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))

    epochs(loader, each=each)


@case()
def exit_functions_of_workers():
    import atexit
    import multiprocessing.util

    def begin(worker):
        atexit.register(say, "atexit of a worker")
        multiprocessing.util.Finalize(None, say, (f"finalizer of worker {worker}",), exitpriority=1)

    looked(lambda i: i, num_workers=1, worker_init_fn=begin)


@case()
def output_of_samples():
    def look(i):
        if i < 2:  # before the first batch is there
            print("line of", i, flush=True)
        return i

    looked(look, num_workers=1, prefetch_factor=1)


@case()
def write_without_a_flush():
    def look(i):
        print("line of", i, file=sys.stderr)
        return i

    looked(look, num_workers=1)


@case()
def environment_and_folder_of_one_worker():
    def begin(worker):
        os.makedirs(f"of{worker}", exist_ok=True)
        os.chdir(f"of{worker}")
        os.environ["OF"] = str(worker)

    looked(lambda i: (os.path.basename(os.getcwd()), os.environ["OF"]), 2, worker_init_fn=begin)


@case()
def dies_with_its_parent_setting():
    libc = ctypes.CDLL(None)

    def look(i):
        kept = ctypes.c_int()
        libc.prctl(2, ctypes.byref(kept), 0, 0, 0)  # PR_GET_PDEATHSIG
        return str(kept.value)

    looked(look)


@case(workers=2)
def more_workers_than_batches():
    looked(lambda i: (i, get_worker_info().id), num_workers=6, batch_size=3)


@case()
def one_batch_ahead():
    looked(lambda i: torch.rand(1), 2, prefetch_factor=1)


@case()
def many_batches_ahead():
    looked(lambda i: torch.rand(1), 2, prefetch_factor=16)


@case(always=True)
def how_far_ahead_the_sampler_is_read():
    read = []

    class Told:
        def __iter__(self):
            for i in range(20):
                read.append(i)
                yield i

        def __len__(self):
            return 20

    loader = DataLoader(
        TensorDataset(torch.arange(20.0)), 2, sampler=Told(), num_workers=2, prefetch_factor=2
    )
    epochs(loader, each=lambda epoch, number, batch: show(list(read), "read"))


@case()
def any_order():
    loader = DataLoader(Look(lambda i: torch.ones(2) * i), 2, num_workers=2, in_order=False)
    show(sorted(int(i) for indices, _ in loader for i in indices))


@case()
def any_order_with_one_worker():
    looked(lambda i: torch.rand(2) * i, 2, num_workers=1, in_order=False)


@case()
def pinned_memory_without_a_device():
    looked(lambda i: torch.ones(2) * i, 2, pin_memory=True)


@case()
def time_limit_that_is_kept():
    looked(lambda i: torch.ones(2) * i, 2, timeout=30)


@case()
def lengths_and_settings_of_the_loader():
    loader = DataLoader(Look(lambda i: i), 3, num_workers=2, drop_last=True)
    show(
        [len(loader), loader.num_workers, loader.prefetch_factor, loader.timeout, loader.batch_size]
    )
    epochs(loader, 2)
    for name, value in (("batch_size", 2), ("dataset", []), ("sampler", [])):
        try:
            setattr(loader, name, value)
        except ValueError as error:
            say(str(error))
    iterator = iter(loader)
    show([len(iterator), iterator._num_workers, iterator._prefetch_factor])


class Attributes(Dataset):
    def __init__(self):
        self.info = None

    def __len__(self):
        return 8

    def __getitem__(self, i):
        self.info = self.info or get_worker_info()
        return i, str(self.info.dataset is self)


@case(workers=2)
def the_data_set_of_a_worker_is_its_own():
    data = Attributes()
    epochs(DataLoader(data, 2, num_workers=2), 2)
    say(str((data.info, get_worker_info())))


if __name__ == "__main__":
    main()
