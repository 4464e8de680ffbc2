"""Hooks that a program puts into its interpreter, and guards against what its code must not do: fork hooks,
audit hooks, blocked sockets, limits, other users."""

import contextvars
import copyreg
import os
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from multiprocessing.reduction import ForkingPickler

import numpy as np
import torch
from bits import drain, epochs, say
from cases import Look, case, looked, main, own_photos, photos
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets
from torchvision import transforms as T


def folder(root=None):
    steps = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    return datasets.ImageFolder(root or photos(), steps)


def picture(i):
    one = Image.open(sorted(photos().rglob("*.jpg"))[i]).convert("RGB")
    return T.ToTensor()(one.resize((20, 16)))


def every_kind(count=1, **named):
    """A native pipeline, code of one's own that reads pictures, and arrays."""
    for data in (folder(), Look(picture, 6), TensorDataset(torch.arange(6.0))):
        epochs(DataLoader(data, 2, num_workers=2, **named), count)


@case(workers=2, hosts=2)
def hooks_of_forks_are_counted():
    counts = {"before": 0, "after": 0}
    os.register_at_fork(
        before=lambda: counts.update(before=counts["before"] + 1),
        after_in_parent=lambda: counts.update(after=counts["after"] + 1),
    )
    for data in (folder(), Look(picture, 6)):
        epochs(DataLoader(data, 2, num_workers=2), 2)
        say(str(counts))


@case()
def hooks_of_forks_draw():
    os.register_at_fork(after_in_parent=lambda: torch.rand(1))
    every_kind(2)


@case(hosts=2)
def hooks_of_forks_seed_the_child():
    os.register_at_fork(after_in_child=lambda: setattr(sys, "of_this_fork", torch.rand(1).item()))
    looked(lambda i: sys.of_this_fork, 2)


@case()
def hooks_of_forks_forbid():
    def forbid():
        raise RuntimeError("no forks any more")

    os.register_at_fork(before=forbid)
    looked(lambda i: i)


@case()
def audit_hook_that_forbids_connections():
    def hook(event, words):
        network = event in ("socket.connect", "socket.bind") and isinstance(words[1], tuple)
        if network or event in ("subprocess.Popen", "os.system", "os.posix_spawn"):
            raise RuntimeError(f"{event} is forbidden here")

    sys.addaudithook(hook)
    every_kind()


@case()
def audit_hook_that_notes_what_samples_open():
    opened = []

    def hook(event, words):
        if event == "open" and str(words[0]).endswith(".jpg"):
            opened.append(os.path.basename(words[0]))

    sys.addaudithook(hook)
    looked(lambda i: picture(i).sum() and str(opened), num_workers=1)


class Guarded(socket.socket):
    """As tests forbid the network: torch's workers need sockets of this host themselves."""

    of_this_host = True

    def __new__(cls, family=-1, *words, **named):
        if family != socket.AF_UNIX or not cls.of_this_host:
            raise RuntimeError("this program must not use the network")
        return super().__new__(cls, family, *words, **named)


@case(workers=2, hosts=2, always=True)
def sockets_replaced_by_a_guard():
    socket.socket = Guarded
    every_kind()


@case(workers=2)
def sockets_that_nobody_may_have():
    socket.socket = Guarded
    Guarded.of_this_host = False
    for data in (folder(), Look(picture, 6)):
        epochs(DataLoader(data, 2), 2)


@case()
def programs_replaced_by_a_guard():
    def guard(*words, **named):
        raise RuntimeError("this program must not start others")

    subprocess.Popen.__init__ = guard
    os.posix_spawn = guard
    every_kind()


@case(hosts=2)
def clocks_that_stand_still():
    time.time = time.monotonic = time.perf_counter = lambda: 1000.0
    looked(lambda i: str((time.time(), time.perf_counter())))


@case()
def sleep_replaced():
    slept = []
    time.sleep = slept.append
    looked(lambda i: time.sleep(3) or len(slept), num_workers=1)
    every_kind()


@case()
def threads_of_another_class():
    class Own(threading.Thread):
        def start(self):
            self.daemon = True
            super().start()

    threading.Thread = Own
    looked(lambda i: str(threading.Thread is Own), 2)
    every_kind()


@case()
def hook_of_the_excepthook_of_threads():
    threading.excepthook = lambda words: say(f"thread failed: {words.exc_type.__name__}")
    every_kind()


@case(hosts=2)
def reducer_of_ones_own():
    copyreg.pickle(complex, lambda value: (complex, (value.real + 100, value.imag)))
    looked(lambda i: complex(i, 1), collate_fn=list)


@case(hosts=2, always=True)
def reducer_for_queues_of_ones_own():
    ForkingPickler.register(np.ndarray, lambda value: (np.asarray, ([7, *value.tolist()],)))
    looked(lambda i: np.arange(i), collate_fn=list)


@case()
def pickling_replaced():
    plain = pickle.dumps
    pickle.dumps = lambda value, *words, **named: plain(("wrapped", value), *words, **named)
    looked(lambda i: str(pickle.loads(pickle.dumps(i))))


@case()
def children_are_reaped_by_the_system():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    every_kind(2)
    say(str(signal.getsignal(signal.SIGCHLD)))


@case(always=True)
def size_of_files_is_limited():
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    every_kind(2)


@case(hosts=2)
def short_time_out_of_sockets_and_a_damaged_picture():
    """Damage that shows when the pixels are wanted: the lane goes on as its sleeping fork."""
    files = sorted(own_photos().rglob("*.jpg"))[:8]
    content = files[5].read_bytes()
    while (at := content.find(b"\xff\xdb")) > 0:  # its quantisation tables
        content = content[:at] + content[at + 2 + int.from_bytes(content[at + 2 : at + 4], "big") :]
    files[5].write_bytes(content)
    socket.setdefaulttimeout(0.2)

    def look(i):
        time.sleep(0.5 if i == 0 else 0)
        return T.ToTensor()(Image.open(files[i]).convert("RGB").resize((9, 9))), torch.rand(1)

    drain(iter(DataLoader(Look(look), 1, num_workers=1)))


@case()
def number_of_files_is_limited():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, hard))
    every_kind(2)


@case()
def locked_memory_is_limited():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    every_kind()


@case(workers=2)
def another_user_from_the_second_epoch():
    if os.geteuid() != 0:
        return
    root = own_photos()
    os.chmod(".", 0o755)
    data = TensorDataset(torch.arange(12.0))

    def before(epoch):
        if epoch == 1:
            os.setegid(65534)
            os.seteuid(65534)

    epochs(DataLoader(data, 2, num_workers=2), 3, before=before)
    epochs(DataLoader(Look(lambda i: str(os.geteuid())), 2, num_workers=2), 2)
    os.seteuid(0)
    epochs(DataLoader(folder(root), 2, num_workers=2), 1)


@case()
def folders_of_the_user_are_not_there():
    for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        os.environ[name] = "/nonexistent/folder"
    tempfile.tempdir = "/nonexistent/folder"
    looked(lambda i: str((os.environ["TMPDIR"], tempfile.gettempdir())), 2)
    every_kind()


@case()
def memory_is_traced():
    tracemalloc.start(3)
    looked(lambda i: str((tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())))
    every_kind()


@case()
def lines_are_traced():
    seen = []

    def trace(frame, event, word):
        if frame.f_code.co_name == "marked":
            seen.append(event)
        return trace

    def marked(i):
        return i + 1

    sys.settrace(trace)
    looked(lambda i: str((marked(i), len(seen), sys.gettrace() is trace)))
    sys.settrace(None)


@case()
def calls_are_profiled():
    counts = {}

    def profile(frame, event, word):
        if event == "call" and frame.f_code.co_name == "marked":
            counts["calls"] = counts.get("calls", 0) + 1

    def marked(i):
        return i + 1

    sys.setprofile(profile)
    looked(lambda i: str((marked(i), counts)))
    sys.setprofile(None)
    say(str(counts))


@case()
def loop_in_a_context_of_its_own():
    name = contextvars.ContextVar("name", default="none")

    def loop():
        name.set("loop")
        looked(lambda i: name.get())
        epochs(DataLoader(Look(lambda i: name.get()), 4))

    contextvars.copy_context().run(loop)
    looked(lambda i: name.get())


@case()
def input_of_a_sample():
    looked(lambda i: sys.stdin.read(1) + str(sys.stdin.closed))


@case(always=True)
def standard_streams_are_closed():
    for number in (0, 2):
        os.close(number)
    every_kind()


@case()
def errors_are_written_elsewhere():
    sys.stderr = open("errors.txt", "w")  # noqa: SIM115 - as programs do
    every_kind()
    print("of the program", file=sys.stderr, flush=True)
    say(str("of the program" in open("errors.txt").read()))  # noqa: SIM115


if __name__ == "__main__":
    main()
