"""What a program sets in the system for its process: limits, signals, descriptors, threads."""

import faulthandler
import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path

import torch
from bits import epochs, say
from cases import Look, case, looked, main
from torch.utils.data import DataLoader


@case(always=True)
def relative_files_after_a_change_of_folder():
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "data.txt").write_text(name)
    top = os.getcwd()
    looked(
        lambda i: Path("data.txt").read_text(),
        2,
        before=lambda epoch: os.chdir(os.path.join(top, ("one", "two")[epoch])),
    )


@case()
def mask_of_new_files():
    os.umask(0o137)

    def look(i):
        Path(f"made{i}").touch()
        return oct(Path(f"made{i}").stat().st_mode)

    looked(look)


@case(hosts=2)
def limits_of_the_process():
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    kinds = (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)
    looked(lambda i: str([resource.getrlimit(kind)[0] for kind in kinds]))


@case()
def niceness_and_processors():
    os.nice(3)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    looked(lambda i: str((os.nice(0), len(os.sched_getaffinity(0)))))


@case(hosts=2, always=True)
def handlers_of_signals():
    def own(number, frame):
        say("signal")

    signal.signal(signal.SIGUSR1, own)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def look(i):
        kept = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGHUP)
        return str((getattr(kept[0], "__name__", kept[0]), kept[1]))

    looked(look)


@case()
def blocked_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    looked(lambda i: str(signal.pthread_sigmask(signal.SIG_BLOCK, set())))


@case(always=True)
def time_out_of_sockets():
    socket.setdefaulttimeout(12.5)
    looked(lambda i: socket.getdefaulttimeout())


@case()
def fault_handler():
    faulthandler.enable()
    looked(lambda i: str(faulthandler.is_enabled()))


@case()
def open_file_descriptor():
    read, write = os.pipe()
    os.set_inheritable(read, True)
    looked(lambda i: os.write(write, b"x"))
    say(str(os.read(read, 100)))


@case(workers=2)
def parent_of_a_worker():
    ours, group = os.getpid(), os.getpgid(0)
    looked(lambda i: str((os.getppid() == ours, os.getpgid(0) == group, os.getsid(0) == group)))


@case()
def process_without_workers():
    ours = os.getpid()
    epochs(DataLoader(Look(lambda i: str(os.getpid() == ours)), 2))


@case()
def threads_of_the_interpreter():
    main = threading.main_thread()
    looked(lambda i: str((threading.current_thread().name, threading.main_thread() is main)))


@case()
def number_of_bytes_of_the_stack():
    threading.stack_size(1 << 20)
    looked(lambda i: threading.stack_size())


@case()
def flags_of_the_interpreter():
    looked(lambda i: str((sys.flags, sys.executable, sys.flags.optimize, __debug__)))


@case()
def at_exit_of_the_trainer():
    import atexit

    atexit.register(say, "the end")
    looked(lambda i: torch.ones(1) * i)


if __name__ == "__main__":
    main()
