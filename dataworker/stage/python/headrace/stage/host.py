"""The subprocess of a data worker that runs pipelines which have no native form.

    python -m headrace.stage.host FD

FD is one end of a socket pair; the worker holds the other. Nothing but the standard library, torch
and cloudpickle is needed here.

One *base* a program imports what takes long, torch above all, and stays (base.py). One *zygote* a
session is forked from it and unpickles the bundle (zygote.py). It forks a *host* for each lane
(lane_host.py; virtual DataLoader worker), as the stock loader forks its workers: each begins with a
copy of the dataset as it was in the trainer. A host makes the batches of its lane one after the other;
the state of its random generators comes with each request and goes back with the answer, so any worker
can go on with the lane. What the code keeps beside it can't travel: such code is not sent here
(docs/adr/0028-elsewhere.md).

The bundle is a cloudpickle (protocol 5) of a dict:

    process          first: unpickling it makes this process as the trainer's (process_state.py)
    dataset          map-style
    fills            bool: filling in what is missing is proved to be no state (watch.py)
    collate_fn       of the loader
    worker_init_fn   of the loader, or None
    auto_collation   bool: False for batch_size=None, where a batch is one key
    drop_last        bool
    num_workers      int: of the loader; 0 means that get_worker_info() is None
    by_pil           steps of pictures that stay PIL's (images.py); if there are any, what
                     torchvision's transforms do is torchvision's (transforms.py)
    environ, group   the trainer's ranks (ranks.py)
    process_at_end   last: as process, with what is known when all else is pickled

After the pickle come the names of the installed modules that it refers to (modules.py).

Messages, in both directions: u32 kind, u32 number of parts, u64 size of each part, the parts; little
endian. Descriptors ride on a message's first byte.

    worker -> base     PREPARE  [json]               once, first
                       SESSION  [u64 id, json]       a zygote that serves on that socket
                                + socket + bundle
                                + door               where it asks for objects (object_reads.py)
                       END      [u64 id]             kills it
    base -> worker     FORKED   [u64 id, u64 pid]
                       BECAME   [u64 id]             this process is the zygote; it reads no more here
                       UNFIT    [u64 id]             not begun; for a fresh interpreter
                       ENDED    [u64 id, text]       a zygote has ended, and how
    worker -> zygote   FORK   [u64 id]   + socket       a host that serves on that socket
    zygote -> worker   READY  [text]                    why it can't serve; empty: it can
                       FORKED [u64 id, u64 pid]
                       ENDED  [u64 id, text]            a host has ended, and how
    worker -> host     ARENA             + memory       where the buffers of the next batches go
                                         + channel      held open: while it is, the trainer does
                                                        not use the memory for anything else
                       DOOR             + door         to a lane: as SESSION's
                       BATCH  [u64 request]  + request  a memory file: see Request
    host -> worker     DONE   [u64 request, u64 outcome, u64 needed, pickle, u64 offsets, u64 sizes,
                               state, error, output, error output, u64 images made natively,
                               u64 samples, u64 CPU time of this process, ns,
                               what the code was seen to keep, text: watch.py]
"""

import os
import signal
import socket
import sys

from .base import Base
from .forks import die_with_parent


def main() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's matter
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        Base(control).run()
    except (EOFError, ConnectionError):
        os._exit(0)  # nobody needs it any more; forks see it at their own sockets


if __name__ == "__main__":
    main()
